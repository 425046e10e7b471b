//! The workers of a parallel run, as step functions over a transport.
//!
//! [`Crew`] knows nothing of threads: whoever drives it calls [`Crew::step`] for each worker, on any thread or all on one,
//! until every worker has finished. [`threads`](crate::threads) is one driver; a test with a seeded, reordering transport
//! is another.

use crate::conservative::Conservative;
use crate::context::Rules;
use crate::error::RunError;
use crate::model::Model;
use crate::optimistic::Optimistic;
use crate::options::{Executor, RunOptions};
use crate::outcome::{Notice, Outcome, Share, assemble};
use crate::partition::{Joined, Plan};
use crate::run::examine;
use crate::transport::{Step, Transport};

/// The workers of a parallel run.
pub struct Crew<'m, 'o, M: Model> {
    model: &'m M,
    pub(crate) options: RunOptions<'o>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) workers: Vec<Worker<'m, M>>,
}

/// One worker.
pub(crate) enum Worker<'m, M: Model> {
    Conservative(Box<Conservative<'m, M>>),
    Optimistic(Box<Optimistic<'m, M>>),
}

/// How a parallel run ended.
pub enum Ended<M: Model> {
    /// With an outcome.
    Outcome(Box<Outcome<M>>),
    /// An event failed under speculation and had to be taken back, which a hand-written undo cannot do: run it again with
    /// [`UndoBy::Clone`](crate::UndoBy::Clone).
    Restart,
}

impl<'m, 'o, M: Model> Crew<'m, 'o, M> {
    /// Divides the entities among workers, creates and starts them.
    ///
    /// # Errors
    /// When the executor is not a parallel one, an option cannot be used, or an entity cannot start.
    pub fn new(model: &'m M, options: RunOptions<'o>) -> Result<Self, RunError> {
        examine(&options)?;
        let joined = match options.executor {
            Executor::Optimistic => Joined::MayPart,
            _ => Joined::StayTogether,
        };
        let plan = Plan::new(&rules(model, &options), options.workers, joined);
        let partitions = plan.partitions() as u32;
        let mut notices = Vec::new();
        if partitions < options.workers {
            notices.push(Notice::FewerPartitions { workers: options.workers, partitions });
        }
        let undo_by = options.undo.unwrap_or(M::UNDO);
        let create = |me: usize| -> Result<Worker<'m, M>, RunError> {
            let rules = rules(model, &options);
            match options.executor {
                Executor::Conservative => {
                    Conservative::new(rules, &plan, me).map(Box::new).map(Worker::Conservative)
                }
                Executor::Optimistic => {
                    Optimistic::new(rules, &plan, me, undo_by).map(Box::new).map(Worker::Optimistic)
                }
                other => {
                    Err(RunError::Options(format!("the {other} executor has no workers; use `prepare`")))
                }
            }
        };
        let mut created: Vec<Result<Worker<'m, M>, RunError>> = Vec::new();
        std::thread::scope(|scope| {
            let create = &create;
            let others: Vec<_> = (1..plan.partitions()).map(|me| scope.spawn(move || create(me))).collect();
            created.push(create(0));
            created.extend(
                others
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))),
            );
        });
        let mut workers = Vec::with_capacity(created.len());
        let mut error = None;
        for worker in created {
            match worker {
                Ok(worker) => workers.push(worker),
                Err(failed) => error = RunError::earlier(error, Some(failed)),
            }
        }
        error.map_or(Ok(Crew { model, options, notices, workers }), Err)
    }

    /// How many workers there are. No more than asked for.
    #[must_use]
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Never: there is always one worker.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// Lets one worker go on. `transport` must be its own.
    pub fn step(&mut self, worker: usize, transport: &mut impl Transport<M>) -> Step {
        self.workers[worker].step(transport, &self.options)
    }

    /// The outcome, when every worker has finished.
    ///
    /// # Errors
    /// When the model failed, broke its own declarations, or a limit was reached.
    pub fn finish(self) -> Result<Ended<M>, RunError> {
        let first = self.workers.into_iter().next().expect("there is always one worker");
        match first.into_shares()? {
            Some(shares) => Ok(Ended::Outcome(Box::new(assemble(self.model, shares, self.notices)?))),
            None => Ok(Ended::Restart),
        }
    }
}

impl<M: Model> Worker<'_, M> {
    pub(crate) fn step(&mut self, transport: &mut impl Transport<M>, options: &RunOptions<'_>) -> Step {
        match self {
            Worker::Conservative(worker) => worker.step(transport, options),
            Worker::Optimistic(worker) => worker.step(transport, options),
        }
    }

    fn into_shares(self) -> Result<Option<Vec<Share<M>>>, RunError> {
        match self {
            Worker::Conservative(worker) => worker.into_shares().map(Some),
            Worker::Optimistic(worker) => worker.into_shares(),
        }
    }
}

pub(crate) fn rules<'m, M: Model>(model: &'m M, options: &RunOptions<'_>) -> Rules<'m, M> {
    Rules {
        model,
        links: model.links(),
        entities: model.entities(),
        seed: options.seed,
        step_limit: options.step_limit,
    }
}

impl<M: Model> std::fmt::Debug for Crew<'_, '_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("workers", &self.workers.len()).finish_non_exhaustive()
    }
}
