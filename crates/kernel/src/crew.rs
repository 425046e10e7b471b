//! The workers of a parallel run, as step functions over a transport.
//!
//! [`Crew`] knows nothing of threads: whoever drives it calls [`Crew::step`] for each worker, on any thread
//! or all on one, until every worker has finished. [`threads`](crate::threads) is one driver; a test with a
//! seeded, reordering transport is another. Where workers live in several processes, each builds its own with
//! [`Crew::member`].

use crate::error::RunError;
use crate::member::Member;
use crate::model::Model;
use crate::options::RunOptions;
use crate::outcome::{Ended, Notice, assemble};
use crate::transport::{Step, Transport};
use crate::worker::{Worker, divide};

/// The workers of a parallel run.
pub struct Crew<'m, 'o, M: Model> {
    model: &'m M,
    pub(crate) options: RunOptions<'o>,
    notices: Vec<Notice>,
    pub(crate) workers: Vec<Worker<'m, M>>,
}

impl<'m, 'o, M: Model> Crew<'m, 'o, M> {
    /// Divides the entities among workers, creates and starts them.
    ///
    /// # Errors
    /// When the executor is not a parallel one, an option cannot be used, or an entity cannot start.
    pub fn new(model: &'m M, options: RunOptions<'o>) -> Result<Self, RunError> {
        let (plan, notices) = divide(model, &options)?;
        let create = |me: usize| Worker::new(model, &options, &plan, me);
        let mut workers = Vec::with_capacity(plan.partitions());
        std::thread::scope(|scope| {
            let create = &create;
            let others: Vec<_> = (1..plan.partitions()).map(|me| scope.spawn(move || create(me))).collect();
            workers.push(create(0));
            workers.extend(
                others
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))),
            );
        });
        let error =
            workers.iter().fold(None, |first, worker| RunError::earlier(first, worker.error().cloned()));
        error.map_or(Ok(Crew { model, options, notices, workers }), Err)
    }

    /// One worker of a crew whose others live in other processes; `me` counts from zero up to the `workers`
    /// of the options. Only its own entities are created. Models and options must be the same everywhere, but
    /// for what watches the run (the stop flag, progress, notices), which is the member's own.
    ///
    /// # Errors
    /// When the executor is not a parallel one, an option cannot be used, or there is no such member. An
    /// entity that cannot start ends the run for all members: see [`Member::finish`].
    pub fn member(model: &'m M, options: RunOptions<'o>, me: usize) -> Result<Member<'m, 'o, M>, RunError> {
        Member::new(model, options, me)
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

impl<M: Model> std::fmt::Debug for Crew<'_, '_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("workers", &self.workers.len()).finish_non_exhaustive()
    }
}
