//! What a replicate gets beside its scenario, and how it runs its model on the kernel.
//!
//! **Invariant:** whoever hears that the user wants to stop leaves something out, so the replicate is then
//! partial, and is computed again when the campaign goes on. Nobody has to remember that: the flag can only
//! be read through [`RunContext::stopped`] and the runs of [`RunContext::simulate`], which record the answer,
//! and [`check`](crate::check) hands out points that add the record to their outcome.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use towtank_kernel::{Executor, Notice, RunError, RunOptions, RunStatistics, Runs, Simulator};
use towtank_streams::Seed;
use towtank_units::SimTime;

/// What a replicate gets beside its scenario.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// The seed of this replicate: [`Seed::replicate`] of the scenario's seed.
    pub seed: Seed,
    /// The number of this replicate, from 0.
    pub replicate: u32,
    /// The executor of the kernel that runs the model. Never changes the result.
    pub executor: Executor,
    /// Threads for one run, at least 1. Never changes the result.
    pub workers: u32,
    /// Whether the user wants to stop. Asked with [`RunContext::stopped`].
    pub stop: StopAsked<'a>,
    /// Called from time to time with the progress of the run, from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Receives messages for the user about how the replicate was run (not about its result: those are
    /// warnings of the outcome).
    pub notice: &'a (dyn Fn(&str) + Sync),
}

/// Whether the user wants to stop, for [`RunContext::stop`]. The flag itself cannot be read: a study asks
/// [`RunContext::stopped`], which records that something may be left out.
#[derive(Clone, Copy)]
pub struct StopAsked<'a> {
    flag: &'a AtomicBool,
    look: Option<&'a (dyn Fn() + Sync)>,
    record: Option<&'a Record>,
}

/// What is noted of a replicate while it runs.
#[derive(Debug, Default)]
struct Record {
    /// Somebody heard that the user wants to stop.
    cut_short: AtomicBool,
    /// Several workers did not pay in one of its runs.
    in_sequence: AtomicBool,
}

impl<'a> StopAsked<'a> {
    /// The user wants to stop once this flag is set.
    #[must_use]
    pub const fn by(flag: &'a AtomicBool) -> StopAsked<'a> {
        StopAsked { flag, look: None, record: None }
    }

    /// Calls this before each look at the flag, from any thread: a test that stops a run at its n-th look.
    #[must_use]
    pub const fn looked_at(self, look: &'a (dyn Fn() + Sync)) -> StopAsked<'a> {
        StopAsked { look: Some(look), ..self }
    }

    fn look(&self) {
        if let Some(look) = self.look {
            look();
        }
    }

    /// Whether several workers did not pay in this replicate.
    fn is_in_sequence(&self) -> bool {
        self.record.is_some_and(|record| record.in_sequence.load(Ordering::Relaxed))
    }

    fn note_in_sequence(&self) {
        if let Some(record) = self.record {
            record.in_sequence.store(true, Ordering::Relaxed);
        }
    }

    fn note_cut_short(&self) {
        if let Some(record) = self.record {
            record.cut_short.store(true, Ordering::Relaxed);
        }
    }
}

impl Default for StopAsked<'_> {
    /// The user never wants to stop.
    fn default() -> Self {
        StopAsked::by(&NEVER)
    }
}

/// The progress of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Share of the run that is done, from 0 to 1. Stays 0 where the end is not known.
    pub fraction: f64,
    /// Events committed so far, by the model that runs now: a replicate may run several, one after the other.
    pub events: u64,
    /// The simulated time that the model has reached, where the share that is done is not known; else zero.
    pub now: SimTime,
}

/// A stop flag that is never set.
static NEVER: AtomicBool = AtomicBool::new(false);

impl RunContext<'static> {
    /// The context of a single replicate: the sequential executor, one worker, no way to stop it, and
    /// progress and notices discarded. Override single fields as in `RunContext { workers: 2,
    /// ..RunContext::alone(seed, 0) }`.
    #[must_use]
    pub fn alone(seed: Seed, replicate: u32) -> RunContext<'static> {
        RunContext {
            seed,
            replicate,
            executor: Executor::Sequential,
            workers: 1,
            stop: StopAsked::default(),
            progress: &|_| {},
            notice: &|_| {},
        }
    }
}

impl RunContext<'_> {
    /// Whether the user wants to stop, so that the replicate should soon return what it has. If so, the
    /// replicate is partial from here on, whatever it returns.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.look();
        let stopped = self.stop.flag.load(Ordering::Relaxed);
        if stopped {
            self.stop.note_cut_short();
        }
        stopped
    }

    /// Does all of a replicate. Returns also whether something of it was cut short, because the user wants to
    /// stop.
    pub(crate) fn whole<R>(&self, work: impl FnOnce(&RunContext<'_>) -> R) -> (R, bool) {
        let record = Record::default();
        let stop = StopAsked { record: Some(&record), ..self.stop };
        let done = work(&RunContext { stop, ..*self });
        let cut_short = record.cut_short.load(Ordering::Relaxed);
        if cut_short {
            self.stop.note_cut_short();
        }
        (done, cut_short)
    }

    /// Does a part of the replicate, whose own progress from 0 to 1 is shown as that of the replicate from
    /// `part.start` to `part.end`.
    pub fn within<R>(&self, part: Range<f64>, work: impl FnOnce(&RunContext<'_>) -> R) -> R {
        let tell = |progress: Progress| {
            let fraction = part.start + progress.fraction * (part.end - part.start);
            (self.progress)(Progress { fraction, ..progress });
        };
        work(&RunContext { progress: &tell, ..*self })
    }

    /// Runs a model on the kernel until `end` (or until no events are left), with the settings of this
    /// context. The bound on `M` ensures that the model of every study can be divided among processes.
    ///
    /// # Errors
    /// When the model fails or a limit of the kernel is reached. A run that was stopped is no error: its
    /// outcome is flagged `partial`.
    pub fn simulate<M: Runs>(
        &self,
        model: &M,
        end: Option<SimTime>,
    ) -> Result<towtank_kernel::Outcome<M>, RunError> {
        let tell = |progress: towtank_kernel::Progress| {
            // The executors look at the flag after they have reported their progress.
            self.stop.look();
            let towtank_kernel::Progress { now, committed, work } = progress;
            let of_time = || end.map(|end| now.as_ns() as f64 / end.as_ns().max(1) as f64);
            let (fraction, now) = match model.share_done(work).or_else(of_time) {
                Some(share) => (share.min(1.0), SimTime::ZERO),
                None => (0.0, now),
            };
            (self.progress)(Progress { fraction, events: committed, now });
        };
        // What did not pay in one run of a replicate does not pay in another one of the same model.
        let (executor, workers) = match self.executor.is_parallel() && self.stop.is_in_sequence() {
            true => (Executor::Sequential, 1),
            false => (self.executor, self.workers),
        };
        let at_once = |notice: &Notice| (self.notice)(&notice.to_string());
        let options = RunOptions {
            seed: self.seed,
            end,
            executor,
            workers,
            may_switch: true,
            stop: Some(self.stop.flag),
            progress: Some(&tell),
            notice: Some(&at_once),
            ..RunOptions::default()
        };
        let outcome = model.run(options)?;
        if outcome.partial {
            self.stop.note_cut_short();
        }
        if outcome.notices.iter().any(|notice| matches!(notice, Notice::RestartedInSequence(_))) {
            self.stop.note_in_sequence();
        }
        if let Some(notice) = narrow_windows(&outcome.run).filter(|_| workers > 1) {
            self.stop.note_in_sequence();
            (self.notice)(&notice);
        }
        for notice in &outcome.notices {
            (self.notice)(&notice.to_string());
        }
        Ok(outcome)
    }
}

/// Windows with fewer events each, on average, cost more than their events: a choice, as the optimistic
/// executor has it for rounds.
const EVENTS_PER_WINDOW: u64 = 64;

/// With fewer windows nothing is said.
const WINDOWS_TO_JUDGE: u64 = 1_000;

/// What is said of a run of the conservative executor whose windows were too narrow to pay.
fn narrow_windows(run: &RunStatistics) -> Option<String> {
    let RunStatistics { windows, committed, .. } = *run;
    (windows >= WINDOWS_TO_JUDGE && committed < windows.saturating_mul(EVENTS_PER_WINDOW)).then(|| {
        format!(
            "the conservative executor took {windows} windows for {committed} events: the sequential one is faster here, \
             with the same result, and does what follows in this replicate"
        )
    })
}

impl Simulator for RunContext<'_> {
    fn seed(&self) -> Seed {
        self.seed
    }

    fn run_model<M: Runs>(
        &self,
        model: &M,
        seed: Seed,
        end: Option<SimTime>,
    ) -> Result<towtank_kernel::Outcome<M>, RunError> {
        RunContext { seed, ..*self }.simulate(model, end)
    }
}

/// Why a replicate yielded nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// The kernel could not run the model, or the model failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The study cannot continue.
    #[error("{message}")]
    Model {
        /// What happened: value, limit, place.
        message: String,
        /// How to correct it.
        hint: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A former fault: `whatif` took 25 times as long on parallel executors, and nothing was said.
    #[test]
    fn windows_that_hold_few_events_are_reported() {
        let run = |windows, committed| RunStatistics { windows, committed, ..RunStatistics::default() };
        assert!(
            narrow_windows(&run(10_000, 15_000)).is_some_and(|text| text.contains("10000 windows for 15000"))
        );
        assert_eq!(narrow_windows(&run(10_000, 1_000_000)), None);
        assert_eq!(narrow_windows(&run(100, 150)), None);
        assert_eq!(narrow_windows(&run(0, 1_000_000)), None, "no windows");
    }

    #[test]
    fn whoever_hears_that_the_user_wants_to_stop_is_recorded() {
        let asked = AtomicBool::new(false);
        let context = RunContext { stop: StopAsked::by(&asked), ..RunContext::alone(Seed(1), 0) };
        assert_eq!(context.whole(|context| context.stopped()), (false, false));
        asked.store(true, Ordering::Relaxed);
        assert_eq!(context.whole(|_| ()), ((), false), "nobody asked");
        let part = |context: &RunContext<'_>| context.within(0.0..0.5, |part| part.stopped());
        assert_eq!(context.whole(part), (true, true));
        let inner = |context: &RunContext<'_>| context.whole(|context| context.stopped());
        assert_eq!(context.whole(inner), ((true, true), true), "a record within a record");
    }
}
