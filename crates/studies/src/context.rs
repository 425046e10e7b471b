//! What a replicate gets from outside its scenario, and the usual way to put it to work.

use std::sync::atomic::{AtomicBool, Ordering};

use towtank_kernel::{Executor, RunError, RunOptions, Runs, Simulator};
use towtank_streams::Seed;
use towtank_units::SimTime;

/// What a replicate gets from outside its scenario.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// The seed of this replicate: [`Seed::replicate`] of the scenario's seed.
    pub seed: Seed,
    /// Which replicate this is, from 0.
    pub replicate: u32,
    /// How the kernel runs the model. Never changes the result.
    pub executor: Executor,
    /// Threads for one run, at least 1. Never changes the result.
    pub workers: u32,
    /// Raised when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Called now and then with how far the run is, from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Told what a user should know about how it was run (not about its result: that is a warning of the
    /// outcome).
    pub notice: &'a (dyn Fn(&str) + Sync),
}

/// How far one run is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Part done, from 0 to 1. Stays 0 where the end is not known.
    pub fraction: f64,
    /// Events committed so far.
    pub events: u64,
}

/// Never raised.
static NEVER: AtomicBool = AtomicBool::new(false);

impl RunContext<'static> {
    /// One replicate by itself: the sequential executor, nobody who stops it, nobody who is told. What
    /// differs is said beside it: `RunContext { workers: 2, ..RunContext::alone(seed, 0) }`.
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
    /// Whether to come back soon with what there is.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs a model on the kernel until `end` (or until no events are left), as this context says. Every
    /// study's model can be divided among processes: its bound says so.
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
            let end_ns = end.map_or(f64::INFINITY, |end| end.as_ns() as f64);
            let fraction = (progress.now.as_ns() as f64 / end_ns).min(1.0);
            (self.progress)(Progress { fraction, events: progress.committed });
        };
        let at_once = |notice: &towtank_kernel::Notice| (self.notice)(&notice.to_string());
        let options = RunOptions {
            seed: self.seed,
            end,
            executor: self.executor,
            workers: self.workers,
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
    /// The study found something that it cannot go on from.
    #[error("{message}")]
    Model {
        /// What happened: value, limit, place.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}
