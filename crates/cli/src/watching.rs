//! Shows how a run goes: the bar, remarks, and the wish to stop.

use std::sync::{Arc, Mutex, PoisonError};

use towtank::{Observer, Remark, Which};
use towtank_campaign::Stop;

use crate::progress::Bar;
use crate::{interrupt, screen};

/// What a terminal is told while something runs.
pub struct Watching {
    quiet: bool,
    /// There while runs go on.
    bar: Mutex<Option<Arc<Bar>>>,
}

impl Watching {
    /// Tells progress and remarks unless somebody wants to hear nothing.
    pub fn new(quiet: bool) -> Watching {
        Watching { quiet, bar: Mutex::default() }
    }

    /// Not held while anything is drawn: another thread may panic meanwhile, and tell it.
    fn bar(&self) -> Option<Arc<Bar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, bar: Option<Arc<Bar>>) -> Option<Arc<Bar>> {
        std::mem::replace(&mut *self.bar.lock().unwrap_or_else(PoisonError::into_inner), bar)
    }

    /// Says something, above the bar if there is one.
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
        self.put(Some(Arc::new(Bar::new(self.quiet))));
    }

    fn campaign(&self, progress: towtank_campaign::Progress) {
        if let Some(bar) = self.bar() {
            bar.campaign(progress);
        }
    }

    fn run(&self, which: Which, progress: towtank_studies::Progress) {
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
        if let Some(bar) = self.put(None) {
            bar.clear();
        }
    }

    fn remark(&self, remark: &Remark<'_>) {
        let lines = |word: &str, lines: &[String]| {
            lines.iter().for_each(|line| self.say(&format!("{word}: {line}\n")));
        };
        match remark {
            // What is not in the whole must be known, however quiet it shall be.
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
