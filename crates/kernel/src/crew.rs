//! The workers of a parallel run, as step functions over a transport.
//!
//! [`Crew`] does not depend on threads: its driver calls [`Crew::step`] for each worker, on any thread or all
//! on one, until every worker has finished. [`threads`](crate::threads) is one driver; a test with a seeded,
//! reordering transport is another. If workers live in several processes, each process builds its own with
//! [`Crew::member`].

use crate::error::RunError;
use crate::key::EntityId;
use crate::member::Member;
use crate::model::{Model, UndoBy};
use crate::options::{Executor, RunOptions};
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
    /// If the executor is not a parallel one, an option is invalid, or an entity cannot start.
    pub fn new(model: &'m M, options: RunOptions<'o>) -> Result<Self, RunError> {
        let (plan, notices) = divide(model, &options)?;
        if let (Some(tell), Some(notice)) = (options.notice, warning(model, &options)) {
            tell(&notice);
        }
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

    /// One worker of a crew whose other workers live in other processes; `me` is from zero up to the
    /// `workers` of the options, exclusive. Only the worker's own entities are created. Model and options
    /// must be the same in all processes, except for the observers of the run (stop flag, progress, notices),
    /// which belong to the member.
    ///
    /// # Errors
    /// If the executor is not a parallel one, an option is invalid, or there is no such member. An entity
    /// that cannot start ends the run for all members: see [`Member::finish`].
    pub fn member(model: &'m M, options: RunOptions<'o>, me: usize) -> Result<Member<'m, 'o, M>, RunError> {
        Member::new(model, options, me)
    }

    /// The number of workers, at most the number requested.
    #[must_use]
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Always false: there is at least one worker.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// Runs one step of a worker. `transport` must be that worker's own.
    pub fn step(&mut self, worker: usize, transport: &mut impl Transport<M>) -> Step {
        self.workers[worker].step(transport, &self.options)
    }

    /// The outcome, after every worker has finished.
    ///
    /// # Errors
    /// If the model failed, broke its own declarations, or a limit was reached.
    pub fn finish(self) -> Result<Ended<M>, RunError> {
        let first = self.workers.into_iter().next().expect("there is always one worker");
        match first.into_shares()? {
            Ok(shares) => Ok(Ended::Outcome(Box::new(assemble(self.model, shares, self.notices)?))),
            Err(again) => Ok(Ended::Restart(again)),
        }
    }
}

/// What a user should know before a run: that no event is speculative, or that each costs a copy with parts
/// on the heap. A model that knows its slack runs well in windows; where windows are as short as the
/// shortest delay, one worker is better.
fn warning<M: Model>(model: &M, options: &RunOptions<'_>) -> Option<Notice> {
    // Whoever chose the way of undo in the options knows what it costs.
    if options.executor != Executor::Optimistic || options.undo.is_some() {
        return None;
    }
    let slack = options.workers > 1 && !model.usual_slack().is_zero();
    if (0..model.entities()).all(|id| !model.speculative(EntityId(id))) {
        return Some(Notice::NoneSpeculates { slack });
    }
    let copies = M::UNDO == UndoBy::Clone && std::mem::needs_drop::<M::Entity>();
    copies.then_some(Notice::UndoneByCopies { slack })
}

impl<M: Model> std::fmt::Debug for Crew<'_, '_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("workers", &self.workers.len()).finish_non_exhaustive()
    }
}
