//! Runs a plan: stored runs are not repeated, the others are distributed to threads, and outcomes are stored
//! at once.
//!
//! **Invariant:** the results of a run depend only on its plan. Jobs, shards, interruptions and the order in
//! which tasks end can only change how many of them exist.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use towtank_report::Outcome;

use crate::crew::{self, Then};
use crate::point_file::Stored;
use crate::{Damaged, Ledger, Plan, PointSpec, Shard, Stop, Store, StoreError, Task, Unstorable};

/// What to run, and how.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// The whole plan.
    pub plan: &'a Plan,
    /// The part of it to run.
    pub shard: Shard,
    /// Number of concurrent runs. Never changes a result.
    pub jobs: NonZeroUsize,
    /// Where finished runs are stored, if anywhere. Must have been opened for this plan.
    pub store: Option<&'a Store>,
    /// Raised when the user wants to stop.
    pub stop: &'a Stop,
    /// Called at the start and whenever a run ends, from any thread, but never concurrently.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

/// The progress of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Finished runs, including those found in the store.
    pub done: usize,
    /// Runs of this shard.
    pub total: usize,
    /// Runs found in the store.
    pub reused: usize,
}

/// The result of running a campaign.
#[derive(Debug)]
#[must_use]
pub struct Ran<E> {
    /// All outcomes, new or from the store.
    pub ledger: Ledger,
    /// Runs of this shard found in the store.
    pub reused: usize,
    /// Stored files that could not be used; their runs were repeated.
    pub damaged: Vec<Damaged>,
    /// How it ended.
    pub end: End<E>,
}

/// How a campaign ended.
#[derive(Debug)]
pub enum End<E> {
    /// Every run of the shard is finished.
    Done,
    /// It was stopped; the same command continues from here.
    Interrupted,
    /// Runs failed: at least one, in plan order. The first is the same for any number of jobs.
    Failed(Vec<Failure<E>>),
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The study returned an error.
    #[error("{place} failed: {error}")]
    Study {
        /// The run.
        task: Task,
        /// The run in words.
        place: String,
        /// The study's error.
        error: E,
    },
    /// The study panicked.
    #[error("{place} panicked: {message}; please report this with the scenario and the seed")]
    Panic {
        /// The run.
        task: Task,
        /// The run in words.
        place: String,
        /// The panic's message.
        message: String,
    },
    /// The outcome cannot be stored.
    #[error("{place} failed: {source}; please report this with the scenario and the seed")]
    Unstorable {
        /// The run.
        task: Task,
        /// The run in words.
        place: String,
        /// The reason.
        source: Unstorable,
    },
    /// The run is finished, but its outcome could not be stored. It is in the ledger.
    #[error("{place} is done but not stored: {source}")]
    Store {
        /// The run.
        task: Task,
        /// The run in words.
        place: String,
        /// The reason.
        source: StoreError,
    },
}

/// Runs an order. `work` runs one replicate of one point; when `stop` is raised it returns soon with an
/// outcome marked `partial` (an empty one if it has nothing to show).
///
/// After a failure no new run is started; those in flight end and are stored.
///
/// # Panics
/// If the order's store was opened for another plan.
pub fn run<E: Send>(
    order: &Order<'_>,
    work: &(dyn Fn(&PointSpec, u32, &Stop) -> Result<Outcome, E> + Sync),
) -> Ran<E> {
    let plan = order.plan;
    let mut ledger = Ledger::new(plan);
    let mut damaged = Vec::new();
    if let Some(store) = order.store {
        assert!(store.plan() == plan, "the store was opened for another plan");
        damaged = store.load(&mut ledger);
    }
    let ours: Vec<Task> =
        plan.tasks().enumerate().filter(|(i, _)| order.shard.holds(*i)).map(|(_, t)| t).collect();
    let open: Vec<Task> = ours.iter().copied().filter(|task| !ledger.is_finished(*task)).collect();
    let reused = ours.len() - open.len();
    let progress = Counter { done: Mutex::new(reused), total: ours.len(), reused, tell: order.progress };
    progress.tell_now();
    let ends = crew::run(open.len(), order.jobs, order.stop, &|index| {
        let back = attempt(order, open[index], work);
        let then = if back.failure.is_none() { Then::GoOn } else { Then::TakeNoMore };
        if back.outcome.as_ref().is_some_and(|outcome| !outcome.partial) {
            progress.one_more();
        }
        (Box::new(back), then)
    });
    let failures = settle(plan, &open, ends, &mut ledger);
    let done = ours.iter().all(|task| ledger.is_finished(*task));
    let end = match (failures.is_empty(), done) {
        (false, _) => End::Failed(failures),
        (true, true) => End::Done,
        (true, false) => End::Interrupted,
    };
    Ran { ledger, reused, damaged, end }
}

/// Runs one task, and returns the bytes of its point file, which [`Store::accept`] and [`Ledger::accept`]
/// take: for runs that are done by another process than the one that holds the campaign.
///
/// # Errors
/// The failure of the run, in the words that [`run`] has for it.
pub fn run_one<E: Send>(
    plan: &Plan,
    task: Task,
    stop: &Stop,
    work: &(dyn Fn(&PointSpec, u32, &Stop) -> Result<Outcome, E> + Sync),
) -> Result<Vec<u8>, Failure<E>> {
    let order =
        Order { plan, shard: Shard::WHOLE, jobs: NonZeroUsize::MIN, store: None, stop, progress: &|_| () };
    // A crew of one thread turns a panic into a failure. It is given a flag of its own: a run that is
    // stopped returns what it has.
    let ends = crew::run(1, NonZeroUsize::MIN, &Stop::new(), &|_| (attempt(&order, task, work), Then::GoOn));
    let outcome = match ends.into_iter().next() {
        Some(crew::End::Back(back)) => match (back.outcome, back.failure) {
            (_, Some(failure)) => return Err(failure),
            (outcome, None) => outcome,
        },
        Some(crew::End::Panicked(message)) => {
            return Err(Failure::Panic { task, place: plan.describe(task), message });
        }
        Some(crew::End::NotStarted) | None => None,
    };
    let outcome = outcome.expect("a crew that nobody stops starts its task");
    let stored = Stored::new(&outcome).map_err(|source| Failure::Unstorable {
        task,
        place: plan.describe(task),
        source,
    })?;
    Ok(stored.to_file(&plan.points()[task.point], task.replicate))
}

/// What a run returned: an outcome, a failure, or both if the outcome could not be stored.
struct Back<E> {
    outcome: Option<Outcome>,
    failure: Option<Failure<E>>,
}

fn attempt<E>(
    order: &Order<'_>,
    task: Task,
    work: &(dyn Fn(&PointSpec, u32, &Stop) -> Result<Outcome, E> + Sync),
) -> Back<E> {
    let place = || order.plan.describe(task);
    let failed = |failure| Back { outcome: None, failure: Some(failure) };
    let outcome = match work(&order.plan.points()[task.point], task.replicate, order.stop) {
        Ok(outcome) => outcome,
        Err(error) => return failed(Failure::Study { task, place: place(), error }),
    };
    let stored = match Stored::new(&outcome) {
        Ok(stored) => stored,
        Err(source) => return failed(Failure::Unstorable { task, place: place(), source }),
    };
    let saved = match order.store {
        Some(store) if !stored.outcome.partial => store.save_stored(task, &stored),
        _ => Ok(()),
    };
    let failure = saved.err().map(|source| Failure::Store { task, place: place(), source });
    Back { outcome: Some(stored.outcome), failure }
}

fn settle<E>(
    plan: &Plan,
    open: &[Task],
    ends: Vec<crew::End<Box<Back<E>>>>,
    ledger: &mut Ledger,
) -> Vec<Failure<E>> {
    let mut failures = Vec::new();
    for (&task, end) in open.iter().zip(ends) {
        match end {
            crew::End::NotStarted => {}
            crew::End::Back(back) => {
                if let Some(outcome) = back.outcome {
                    ledger.enter(task, outcome);
                }
                failures.extend(back.failure);
            }
            crew::End::Panicked(message) => {
                failures.push(Failure::Panic { task, place: plan.describe(task), message });
            }
        }
    }
    failures
}

struct Counter<'a> {
    done: Mutex<usize>,
    total: usize,
    reused: usize,
    tell: &'a (dyn Fn(Progress) + Sync),
}

impl Counter<'_> {
    fn tell_now(&self) {
        self.add(0);
    }

    fn one_more(&self) {
        self.add(1);
    }

    /// Reports progress under the lock, so that the count never appears to decrease.
    fn add(&self, count: usize) {
        // A panic in a progress callback does not affect the count.
        let mut done = self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *done += count;
        (self.tell)(Progress { done: *done, total: self.total, reused: self.reused });
    }
}

#[cfg(test)]
mod tests;
