//! What a replicate gets beside its scenario, and how it runs its model on the kernel.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use towtank_kernel::{Executor, RunError, RunOptions, Runs, Simulator};
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
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Called from time to time with the progress of the run, from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Receives messages for the user about how the replicate was run (not about its result: those are
    /// warnings of the outcome).
    pub notice: &'a (dyn Fn(&str) + Sync),
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
            stop: &NEVER,
            progress: &|_| {},
            notice: &|_| {},
        }
    }
}

impl RunContext<'_> {
    /// Whether the user wants to stop, so that the replicate should soon return what it has.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
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
            let towtank_kernel::Progress { now, committed, work } = progress;
            let of_time = || end.map(|end| now.as_ns() as f64 / end.as_ns().max(1) as f64);
            let (fraction, now) = match model.share_done(work).or_else(of_time) {
                Some(share) => (share.min(1.0), SimTime::ZERO),
                None => (0.0, now),
            };
            (self.progress)(Progress { fraction, events: committed, now });
        };
        let at_once = |notice: &towtank_kernel::Notice| (self.notice)(&notice.to_string());
        let options = RunOptions {
            seed: self.seed,
            end,
            executor: self.executor,
            workers: self.workers,
            may_switch: true,
            stop: Some(self.stop),
            progress: Some(&tell),
            notice: Some(&at_once),
            ..RunOptions::default()
        };
        #[cfg(test)]
        let again = options.clone();
        let outcome = model.run(options)?;
        #[cfg(test)]
        crate::travel::compare(model, &again, &outcome);
        for notice in &outcome.notices {
            (self.notice)(&notice.to_string());
        }
        Ok(outcome)
    }
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
