//! The options of a run: executor, number of workers, and limits.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use towtank_streams::Seed;
use towtank_units::{SimSpan, SimTime};

use crate::context::Rules;
use crate::error::RunError;
use crate::model::{Model, UndoBy};
use crate::outcome::Notice;

/// How events are executed. All executors give the same result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Executor {
    /// One event after the other.
    #[default]
    Sequential,
    /// Parallel workers in windows bounded by look-ahead.
    Conservative,
    /// Parallel workers that speculate and roll back (Time Warp).
    Optimistic,
    /// One event after the other, each executed, undone, compared and executed again.
    Check,
}

impl Executor {
    /// All executors, in the order of the documentation.
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

    /// Whether the executor can use more than one worker.
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

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The simulated time reached: global virtual time with the optimistic executor, else the time of the
    /// last event (with the conservative executor, of worker 0).
    pub now: SimTime,
    /// The number of events committed so far; with the conservative executor, by worker 0 alone.
    pub committed: u64,
    /// The work that committed samples have reported; with the conservative executor, that of other workers
    /// as of the last window.
    pub work: u64,
}

/// The default limit of undo history. Measured on PHOLD: small enough that the history stays in the
/// second-level cache, and that a worker with a delayed peer does not run far ahead into events it would have
/// to undo.
const HISTORY_MAX: u32 = 8192;

/// The options of a run. Only `seed` and `end` (and the limits, if they are reached) change the result.
#[derive(Clone)]
pub struct RunOptions<'a> {
    /// The seed of all random draws.
    pub seed: Seed,
    /// Events at or after this time stay pending; if `None`, the run ends when no events are left.
    pub end: Option<SimTime>,
    /// How events are executed.
    pub executor: Executor,
    /// The maximum number of workers of a parallel executor.
    pub workers: u32,
    /// How speculation undoes events; if `None`, as the model prefers.
    pub undo: Option<UndoBy>,
    /// Whether a run on several optimistic workers that undo most of their events, or mostly wait for each
    /// other, is started again with the sequential executor, which then needs less time. Without it, a notice
    /// says so.
    pub may_switch: bool,
    /// The number of events between two polls for messages (optimistic), or between two checks of the stop
    /// flag (sequential).
    pub batch: u32,
    /// The number of batches between two computations of global virtual time.
    pub gvt_interval: u32,
    /// The number of events and early messages that a worker may hold before it waits for global virtual
    /// time.
    pub history_max: u32,
    /// The maximum number of committed events.
    pub event_limit: u64,
    /// The maximum length of a chain of zero-delay sends.
    pub step_limit: u32,
    /// A flag that ends the run early.
    pub stop: Option<&'a AtomicBool>,
    /// Called from time to time with the progress of the run.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Called at once with notices that are useful during the run; other notices are part of the outcome.
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
            may_switch: false,
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
    /// The part of the options that event handling depends on, with what the model declares.
    pub(crate) fn rules<'m, M: Model>(&self, model: &'m M) -> Rules<'m, M> {
        let (links, entities) = (model.links(), model.entities());
        let any = links.of_any_pair();
        Rules {
            model,
            entities,
            seed: self.seed,
            step_limit: self.step_limit,
            sure_entities: if any.is_some() { entities } else { 0 },
            sure_after: any.unwrap_or(SimSpan::MAX),
            links,
        }
    }

    /// Refuses invalid options.
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

    /// Whether the stop flag is set.
    #[inline]
    pub(crate) fn stop_asked(&self) -> bool {
        self.stop.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn report(&self, now: SimTime, committed: u64, work: u64) {
        if let Some(progress) = self.progress {
            progress(Progress { now, committed, work });
        }
    }
}
