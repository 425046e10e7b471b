//! The progress bar: runs done, rate, time left. Only on a terminal.

// A face may look at the clock; nothing it reads there reaches a result.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::screen;

/// Steps of the bar for each run: a single run moves it too.
const STEPS: u64 = 1000;

/// A bar over all runs of a campaign. All of it may be called from any thread.
pub struct Bar {
    bar: ProgressBar,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: usize,
    total: usize,
    reused: usize,
    /// How far each run in flight is, and its events.
    running: BTreeMap<(usize, u32), studies::Progress>,
    /// Events of runs that have ended.
    events: u64,
}

impl Bar {
    /// A bar on stderr, or none if nobody would see it.
    pub fn new(quiet: bool) -> Bar {
        let shown = !quiet && screen::stderr().terminal;
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let style = if screen::stderr().unicode { "━╸─" } else { "=>-" };
        let template = ProgressStyle::with_template("{bar:30} {msg}").expect("the template is well-formed");
        bar.set_style(template.progress_chars(style));
        if shown {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Bar { bar, began: Instant::now(), state: Mutex::default() }
    }

    /// Runs have ended, or the campaign begins.
    pub fn campaign(&self, progress: campaign::Progress) {
        self.change(|state| {
            (state.done, state.total, state.reused) = (progress.done, progress.total, progress.reused);
        });
    }

    /// A run is further than before.
    pub fn run(&self, point: usize, replicate: u32, progress: studies::Progress) {
        self.change(|state| {
            state.running.insert((point, replicate), progress);
        });
    }

    /// A run has ended.
    pub fn ended(&self, point: usize, replicate: u32, events: u64) {
        self.change(|state| {
            state.running.remove(&(point, replicate));
            state.events += events;
        });
    }

    /// Writes a line above the bar.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| screen::say(line));
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        if self.bar.is_hidden() {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let elapsed = self.began.elapsed();
        self.bar.set_length((state.total as u64 * STEPS).max(1));
        self.bar.set_position(state.steps());
        self.bar.set_message(state.message(elapsed));
    }
}

impl State {
    fn fraction_running(&self) -> f64 {
        self.running.values().map(|progress| progress.fraction.clamp(0.0, 1.0)).sum()
    }

    fn steps(&self) -> u64 {
        self.done as u64 * STEPS + (self.fraction_running() * STEPS as f64) as u64
    }

    fn message(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64();
        let fresh = (self.done - self.reused.min(self.done)) as f64 + self.fraction_running();
        let events = self.events + self.running.values().map(|progress| progress.events).sum::<u64>();
        let mut words =
            vec![format!("{}/{} {}", self.done, self.total, if self.total == 1 { "run" } else { "runs" })];
        if seconds > 0.5 && events > 0 {
            words.push(format!("{} events/s", rate(events as f64 / seconds)));
        }
        let open = (self.total - self.reused.min(self.total)) as f64 - fresh;
        if seconds > 0.5 && fresh > 0.0 && open > 0.0 {
            words.push(format!("{} left", span(seconds * open / fresh)));
        }
        words.join(", ")
    }
}

fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate >= 1e6 => format!("{:.1} M", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.0} k", rate / 1e3),
        rate => format!("{rate:.0}"),
    }
}

fn span(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 60.0 => format!("{} s", seconds.ceil()),
        seconds if seconds < 3_600.0 => format!("{} min", (seconds / 60.0).ceil()),
        seconds if seconds < 360_000.0 => format!("{:.1} h", seconds / 3_600.0),
        seconds => format!("{:.0} d", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_done_rate_and_time_left() {
        let mut state = State { done: 6, total: 10, reused: 2, events: 3_000_000, ..State::default() };
        assert_eq!(state.message(Duration::from_secs(2)), "6/10 runs, 1.5 M events/s, 2 s left");
        state.running.insert((0, 1), studies::Progress { fraction: 0.5, events: 1_000 });
        assert_eq!(state.steps(), 6_500);
        assert_eq!(State { total: 1, ..State::default() }.message(Duration::ZERO), "0/1 run");
    }
}
