//! Shows the progress of a run: the bar, remarks, and the stop flag.

use std::sync::{Arc, Mutex, PoisonError};

use towtank::{Observer, Remark, Which};
use towtank_campaign::Stop;

use crate::progress::Bar;
use crate::{interrupt, screen};

/// Reports progress and remarks on the terminal.
pub(crate) struct Watching {
    quiet: bool,
    /// The bar; present while runs go on.
    bar: Mutex<Option<Arc<Bar>>>,
}

impl Watching {
    /// Reports progress and remarks, unless `quiet` is set.
    pub fn new(quiet: bool) -> Watching {
        Watching { quiet, bar: Mutex::default() }
    }

    /// Does not hold the lock while drawing: another thread may panic meanwhile and report it.
    fn bar(&self) -> Option<Arc<Bar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, bar: Option<Arc<Bar>>) -> Option<Arc<Bar>> {
        std::mem::replace(&mut *self.bar.lock().unwrap_or_else(PoisonError::into_inner), bar)
    }

    /// Prints a line, above the bar if there is one.
    fn say(&self, text: &str) {
        match self.bar() {
            Some(bar) => bar.say(text),
            None => screen::say(text),
        }
    }
}

impl Observer for Watching {
    fn stop(&self) -> &Stop {
        interrupt::watch()
    }

    fn scenario(&self, name: &str) {
        if !self.quiet {
            screen::say(&format!("running {name}\n"));
        }
    }

    fn begins(&self) {
        interrupt::runs_begin();
        self.put(Some(Arc::new(Bar::new(self.quiet))));
    }

    fn campaign(&self, progress: towtank_campaign::Progress) {
        interrupt::runs_finished(progress.done, progress.total);
        if let Some(bar) = self.bar() {
            bar.campaign(progress);
        }
    }

    fn run(&self, which: Which, progress: towtank_study::Progress) {
        if let Some(bar) = self.bar() {
            bar.run(which, progress);
        }
    }

    fn ended(&self, which: Which, events: u64) {
        if let Some(bar) = self.bar() {
            bar.ended(which, events);
        }
    }

    fn ends(&self) {
        interrupt::runs_end();
        if let Some(bar) = self.put(None) {
            bar.clear();
        }
    }

    fn remark(&self, remark: &Remark<'_>) {
        let lines = |word: &str, lines: &[String]| {
            lines.iter().for_each(|line| self.say(&format!("{word}: {line}\n")));
        };
        match remark {
            // Runs that are missing in the whole must be reported even with `quiet`.
            Remark::Missing(missing) => lines("missing", missing),
            Remark::Unusable(_) => self.say(&format!("note: {remark}\n")),
            _ if self.quiet => {}
            Remark::Double(double) => {
                self.say(&format!("note: {remark}\n"));
                lines("double", double);
            }
            _ => self.say(&format!("note: {remark}\n")),
        }
    }
}
