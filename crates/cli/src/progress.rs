//! The progress bar: finished runs, rate, time left. Only on a terminal.

// The command line may read the clock; it does not affect results.
#![allow(clippy::disallowed_methods)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic;
use std::sync::{Mutex, PoisonError, TryLockError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use towtank::Which;

use crate::screen;

/// Steps of the bar per run, so that a single run moves it too.
const STEPS: u64 = 1000;

/// The visible bar, for code that writes to the terminal without a reference to it.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

thread_local! {
    /// This thread is drawing: it must not wait for itself.
    static DRAWING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `write` while the bar, if there is one, is hidden.
pub(crate) fn aside<R>(write: impl FnOnce() -> R) -> R {
    let shown = match SHOWN.try_lock() {
        Ok(shown) => shown.clone(),
        Err(TryLockError::Poisoned(shown)) => shown.into_inner().clone(),
        // The bar is being added or removed right now: a panic must not wait for that.
        Err(TryLockError::WouldBlock) => None,
    };
    match shown.filter(|_| !DRAWING.get()) {
        Some(bar) if thread::panicking() => suspend_from_elsewhere(&bar, write),
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// `indicatif` does not draw on a thread that panics, so another thread hides the bar meanwhile.
fn suspend_from_elsewhere<R>(bar: &ProgressBar, write: impl FnOnce() -> R) -> R {
    let (cleared, wait_for_clear) = mpsc::channel();
    let (written, wait_for_written) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let hold = move || {
            bar.suspend(|| {
                // If the other end is gone, nothing waits.
                let _ = cleared.send(());
                let _ = wait_for_written.recv();
            });
        };
        // If no thread can be started, the bar is damaged, and the panic is still reported.
        if thread::Builder::new().spawn_scoped(scope, hold).is_ok() {
            let _ = wait_for_clear.recv();
        }
        let result = write();
        drop(written);
        result
    })
}

/// Makes the standard panic hook hide the bar while it reports a panic, from any thread.
pub(crate) fn keep_panics_off_the_bar() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| aside(|| tell(panic))));
}

fn show(bar: Option<&ProgressBar>) {
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = bar.cloned();
}

fn draw<R>(drawing: impl FnOnce() -> R) -> R {
    let before = DRAWING.replace(true);
    let drawn = drawing();
    DRAWING.set(before);
    drawn
}

/// A bar over all runs of a campaign. All its methods may be called from any thread.
pub(crate) struct Bar {
    bar: ProgressBar,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: usize,
    total: usize,
    reused: usize,
    /// The progress of each run in flight.
    running: BTreeMap<Which, Running>,
    /// Events of runs that have ended.
    events: u64,
}

/// A run in flight.
#[derive(Clone, Copy, Default)]
struct Running {
    progress: towtank_study::Progress,
    /// Events of the models that the run has finished.
    before: u64,
}

impl Running {
    /// Takes the next report. Events count from 0 again with each model of a run.
    fn take(&mut self, progress: towtank_study::Progress) {
        if progress.events < self.progress.events {
            self.before += self.progress.events;
        }
        self.progress = progress;
    }
}

impl Bar {
    /// A bar on stderr; hidden with `quiet` or if stderr is not a terminal.
    pub fn new(quiet: bool) -> Bar {
        let shown = !quiet && screen::stderr().terminal;
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Bar::on(target)
    }

    fn on(target: ProgressDrawTarget) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let style = if screen::stderr().unicode { "━╸─" } else { "=>-" };
        let template = ProgressStyle::with_template("{bar:30} {msg}").expect("the template is well-formed");
        bar.set_style(template.progress_chars(style));
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(250));
            show(Some(&bar));
        }
        Bar { bar, began: Instant::now(), state: Mutex::default() }
    }

    /// Runs have ended, or the campaign begins.
    pub fn campaign(&self, progress: towtank_campaign::Progress) {
        self.change(|state| {
            (state.done, state.total, state.reused) = (progress.done, progress.total, progress.reused);
        });
    }

    /// A run has made progress.
    pub fn run(&self, which: Which, progress: towtank_study::Progress) {
        self.change(|state| {
            state.running.entry(which).or_default().take(progress);
        });
    }

    /// A run has ended.
    pub fn ended(&self, which: Which, events: u64) {
        self.change(|state| {
            state.running.remove(&which);
            state.events += events;
        });
    }

    /// Writes a line above the bar.
    pub(crate) fn say(&self, line: &str) {
        draw(|| self.bar.suspend(|| screen::say(line)));
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        show(None);
        draw(|| self.bar.finish_and_clear());
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        if self.bar.is_hidden() {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let elapsed = self.began.elapsed();
        draw(|| {
            self.bar.set_length((state.total as u64 * STEPS).max(1));
            self.bar.set_position(state.steps());
            self.bar.set_message(state.message(elapsed));
        });
    }
}

impl State {
    fn fraction_running(&self) -> f64 {
        self.running.values().map(|running| running.progress.fraction.clamp(0.0, 1.0)).sum()
    }

    fn steps(&self) -> u64 {
        self.done as u64 * STEPS + (self.fraction_running() * STEPS as f64) as u64
    }

    fn message(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64();
        let fresh = (self.done - self.reused.min(self.done)) as f64 + self.fraction_running();
        let in_flight = self.running.values().map(|running| running.before + running.progress.events);
        let events = self.events + in_flight.sum::<u64>();
        let mut words =
            vec![format!("{}/{} {}", self.done, self.total, if self.total == 1 { "run" } else { "runs" })];
        words.extend(self.inside());
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

impl State {
    /// How far the only run is: the share that is done, or where that is not known the simulated time.
    fn inside(&self) -> Option<String> {
        let (1, Some(Running { progress, .. })) = (self.total, self.running.values().next()) else {
            return None;
        };
        let simulated = progress.now.as_secs_f64();
        if progress.fraction > 0.0 {
            // Rounded down: a run that goes on is not at 100 %.
            Some(format!("{:.0} % done", (100.0 * progress.fraction).floor().min(99.0)))
        } else {
            (simulated > 0.0).then(|| format!("{simulated:.1} s of simulated time"))
        }
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
    use std::io;
    use std::sync::Arc;

    use indicatif::TermLike;

    use super::*;
    use towtank_units::SimTime;

    /// A terminal that records its calls.
    #[derive(Clone, Debug, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    impl Notes {
        fn note(&self, what: &str) -> io::Result<()> {
            self.0.lock().unwrap().push(what.to_owned());
            Ok(())
        }
    }

    impl TermLike for Notes {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.note(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.note(text)
        }

        fn clear_line(&self) -> io::Result<()> {
            self.note("CLEAR")
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_is_shown_with_the_bar_out_of_its_way() {
        let notes = Notes::default();
        let bar = Bar::on(ProgressDrawTarget::term_like(Box::new(notes.clone())));
        bar.campaign(towtank_campaign::Progress { done: 1, total: 4, reused: 0 });
        bar.bar.tick();
        let teller = notes.clone();
        let silent = panic::take_hook();
        panic::set_hook(Box::new(move |_| teller.note("PANIC").unwrap()));
        keep_panics_off_the_bar();
        thread::spawn(|| panic!("a model broke")).join().unwrap_err();
        panic::set_hook(silent);
        bar.clear();
        let notes = notes.0.lock().unwrap();
        let panic_at = notes.iter().position(|note| note == "PANIC").expect("it is noted");
        let drawn = |note: &String| note.contains("1/4 runs");
        assert!(notes[..panic_at].iter().any(drawn), "the bar was there: {notes:?}");
        let before = notes[..panic_at].iter().rposition(|note| note != "CLEAR" && !note.is_empty());
        let cleared =
            notes[before.expect("something was drawn")..panic_at].iter().any(|note| note == "CLEAR");
        assert!(cleared, "the bar was in the way: {notes:?}");
        assert!(SHOWN.lock().unwrap().is_none());
    }

    #[test]
    fn the_message_says_done_rate_and_time_left() {
        let mut state = State { done: 6, total: 10, reused: 2, events: 3_000_000, ..State::default() };
        assert_eq!(state.message(Duration::from_secs(2)), "6/10 runs, 1.5 M events/s, 2 s left");
        let which = Which { point: 0, replicate: 1 };
        let half = towtank_study::Progress { fraction: 0.5, events: 1_000, ..Default::default() };
        state.running.insert(which, Running { progress: half, before: 0 });
        assert_eq!(state.steps(), 6_500);
        assert_eq!(State { total: 1, ..State::default() }.message(Duration::ZERO), "0/1 run");
    }

    #[test]
    fn a_single_run_says_how_far_it_is() {
        let mut state = State { total: 1, ..State::default() };
        let which = Which { point: 0, replicate: 0 };
        let mut after = |fraction, events, now| {
            let progress = towtank_study::Progress { fraction, events, now: SimTime::from_ns(now) };
            state.running.entry(which).or_default().take(progress);
            state.message(Duration::from_secs(4))
        };
        // Without an end, there is neither a share nor a time left.
        assert_eq!(after(0.0, 8_000, 1_500_000_000), "0/1 run, 1.5 s of simulated time, 2 k events/s");
        assert_eq!(after(0.25, 20_000, 0), "0/1 run, 25 % done, 5 k events/s, 12 s left");
        // The next model of the same run: its events are added to those before.
        assert_eq!(after(0.5, 4_000, 0), "0/1 run, 50 % done, 6 k events/s, 4 s left");
        assert_eq!(after(1.0, 4_000, 0), "0/1 run, 99 % done, 6 k events/s");
    }
}
