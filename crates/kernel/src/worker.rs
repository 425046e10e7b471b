//! One worker of a parallel run, for either executor, and the division of entities among workers.

use crate::conservative::Conservative;
use crate::error::RunError;
use crate::model::Model;
use crate::optimistic::Optimistic;
use crate::options::{Executor, RunOptions};
use crate::outcome::{Again, Notice, Share};
use crate::partition::{Joined, Plan};
use crate::transport::{Step, Transport};

/// One worker.
pub(crate) enum Worker<'m, M: Model> {
    Conservative(Box<Conservative<'m, M>>),
    Optimistic(Box<Optimistic<'m, M>>),
}

/// Divides the entities among workers: a function of the model and the options, so that workers in different
/// processes compute the same division without communication.
pub(crate) fn divide<M: Model>(model: &M, options: &RunOptions<'_>) -> Result<(Plan, Vec<Notice>), RunError> {
    options.examine()?;
    let joined = match options.executor {
        Executor::Optimistic => Joined::MayPart,
        Executor::Conservative => Joined::StayTogether,
        other => {
            return Err(RunError::Options(format!("the {other} executor has no workers; use `prepare`")));
        }
    };
    let plan = Plan::new(&options.rules(model), options.workers, joined);
    let partitions = plan.partitions() as u32;
    let mut notices = Vec::new();
    if partitions < options.workers {
        notices.push(Notice::FewerPartitions { workers: options.workers, partitions });
    }
    Ok((plan, notices))
}

impl<'m, M: Model> Worker<'m, M> {
    /// Creates and starts the entities of one partition.
    pub(crate) fn new(model: &'m M, options: &RunOptions<'_>, plan: &Plan, me: usize) -> Self {
        let rules = options.rules(model);
        if options.executor == Executor::Optimistic {
            let undo_by = options.undo.unwrap_or(M::UNDO);
            Worker::Optimistic(Box::new(Optimistic::new(rules, plan, me, undo_by)))
        } else {
            Worker::Conservative(Box::new(Conservative::new(rules, plan, me)))
        }
    }

    /// An error that occurred here and has not been reported to others. Before the first step: why an entity
    /// could not start.
    pub(crate) fn error(&self) -> Option<&RunError> {
        match self {
            Worker::Conservative(worker) => worker.error(),
            Worker::Optimistic(worker) => worker.error(),
        }
    }

    pub(crate) fn step(&mut self, transport: &mut impl Transport<M>, options: &RunOptions<'_>) -> Step {
        match self {
            Worker::Conservative(worker) => worker.step(transport, options),
            Worker::Optimistic(worker) => worker.step(transport, options),
        }
    }

    /// The shares of all workers at worker 0, and an empty list at the others; or how the run must be
    /// restarted.
    pub(crate) fn into_shares(self) -> Result<Result<Vec<Share<M>>, Again>, RunError> {
        match self {
            Worker::Conservative(worker) => worker.into_shares().map(Ok),
            Worker::Optimistic(worker) => worker.into_shares(),
        }
    }
}
