//! How to run: which executor, how many workers, and the limits.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use towtank_streams::Seed;
use towtank_units::SimTime;

use crate::context::Rules;
use crate::error::RunError;
use crate::model::{Model, UndoBy};
use crate::outcome::Notice;

/// How events are executed. The result is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Executor {
    /// One event after the other.
    #[default]
    Sequential,
    /// Workers in windows bounded by look-ahead.
    Conservative,
    /// Workers that speculate and roll back (Time Warp).
    Optimistic,
    /// One event after the other, each done, undone, compared and done again.
    Check,
}

impl Executor {
    /// All of them, in the order of the documentation.
    pub const ALL: [Executor; 4] =
        [Executor::Sequential, Executor::Conservative, Executor::Optimistic, Executor::Check];

    /// The name used in flags and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Executor::Sequential => "sequential",
            Executor::Conservative => "conservative",
            Executor::Optimistic => "optimistic",
            Executor::Check => "check",
        }
    }

    /// Whether more than one worker can be used.
    #[must_use]
    pub const fn is_parallel(self) -> bool {
        matches!(self, Executor::Conservative | Executor::Optimistic)
    }
}

impl fmt::Display for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Executor {
    type Err = String;

    fn from_str(text: &str) -> Result<Executor, String> {
        Executor::ALL.into_iter().find(|executor| executor.name() == text).ok_or_else(|| {
            format!("`{text}` is not an executor; use sequential, conservative, optimistic or check")
        })
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Nothing before this can change any more.
    pub now: SimTime,
    /// Events committed so far, by this worker's share where there are several.
    pub committed: u64,
}

/// Undo history by default. Measured on PHOLD: few enough that the history stays in the second-level cache,
/// and that a worker whose peer is held up does not run far ahead into events it would have to take back.
const HISTORY_MAX: u32 = 8192;

/// What a run may be told. Only `seed` and `end` (and the limits, when they are hit) change the result.
#[derive(Clone)]
pub struct RunOptions<'a> {
    /// Where all random draws come from.
    pub seed: Seed,
    /// Events at or after this time stay pending; with none, the run ends when no events are left.
    pub end: Option<SimTime>,
    /// How events are executed.
    pub executor: Executor,
    /// How many workers a parallel executor may use.
    pub workers: u32,
    /// How speculation takes events back; what the model prefers, if nothing is said.
    pub undo: Option<UndoBy>,
    /// Events between looking for messages (optimistic), or between looking at the stop flag (sequential).
    pub batch: u32,
    /// Batches between two computations of global virtual time.
    pub gvt_interval: u32,
    /// Events and early messages a worker may hold before it waits for global virtual time.
    pub history_max: u32,
    /// Events that may be committed in all.
    pub event_limit: u64,
    /// Sends without delay that may follow each other.
    pub step_limit: u32,
    /// Ends the run early.
    pub stop: Option<&'a AtomicBool>,
    /// Told now and then how far the run is.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Told at once what a user should know while it is still of use; what can wait is among the outcome's
    /// notices.
    pub notice: Option<&'a (dyn Fn(&Notice) + Sync)>,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions {
            seed: Seed(1),
            end: None,
            executor: Executor::Sequential,
            workers: 1,
            undo: None,
            batch: 256,
            gvt_interval: 16,
            history_max: HISTORY_MAX,
            event_limit: u64::MAX,
            step_limit: 1_000_000,
            stop: None,
            progress: None,
            notice: None,
        }
    }
}

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("seed", &self.seed)
            .field("end", &self.end)
            .field("executor", &self.executor)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

impl RunOptions<'_> {
    /// What of the options every event's handling depends on, with what the model declares.
    pub(crate) fn rules<'m, M: Model>(&self, model: &'m M) -> Rules<'m, M> {
        Rules {
            model,
            links: model.links(),
            entities: model.entities(),
            seed: self.seed,
            step_limit: self.step_limit,
        }
    }

    /// Refuses options that cannot be used.
    pub(crate) fn examine(&self) -> Result<(), RunError> {
        let counts = [
            ("workers", self.workers),
            ("batch", self.batch),
            ("gvt_interval", self.gvt_interval),
            ("history_max", self.history_max),
        ];
        for (name, value) in counts {
            if value == 0 {
                return Err(RunError::Options(format!("`{name}` is 0; it must be at least 1")));
            }
        }
        if self.workers > 1 && !self.executor.is_parallel() {
            return Err(RunError::Options(format!(
                "`workers` is {}, but the {} executor uses one; choose conservative or optimistic",
                self.workers, self.executor
            )));
        }
        Ok(())
    }

    /// Whether somebody has asked the run to end.
    #[inline]
    pub(crate) fn stop_asked(&self) -> bool {
        self.stop.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn report(&self, now: SimTime, committed: u64) {
        if let Some(progress) = self.progress {
            progress(Progress { now, committed });
        }
    }
}
