//! One worker of a crew whose other workers live in other processes.
//!
//! Every process builds the same model, and from it the same division of the entities, but creates only its
//! own entities. Everything else goes through its transport: events, the messages of the executor, and at the
//! end the share of each member, sent to member 0.

use crate::error::RunError;
use crate::model::Model;
use crate::options::RunOptions;
use crate::outcome::{Ended, Notice, assemble};
use crate::transport::{Step, Transport};
use crate::worker::{Worker, divide};

/// One worker of a crew that spans several processes. Made by [`Crew::member`](crate::Crew::member).
pub struct Member<'m, 'o, M: Model> {
    model: &'m M,
    options: RunOptions<'o>,
    notices: Vec<Notice>,
    me: usize,
    partitions: usize,
    /// `None` if there are fewer partitions than members and this one has none.
    worker: Option<Worker<'m, M>>,
}

impl<'m, 'o, M: Model> Member<'m, 'o, M> {
    pub(crate) fn new(model: &'m M, options: RunOptions<'o>, me: usize) -> Result<Self, RunError> {
        let (plan, notices) = divide(model, &options)?;
        if me >= options.workers as usize {
            return Err(RunError::Options(format!(
                "there is no member {me} in a crew of {}; members count from 0",
                options.workers
            )));
        }
        let partitions = plan.partitions();
        let worker = (me < partitions).then(|| Worker::new(model, &options, &plan, me));
        Ok(Member { model, options, notices, me, partitions, worker })
    }

    /// The number of members that have entities: members `0..partitions()`. The others finish at once, and no
    /// messages are sent to them.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// Runs one step of the member; repeat until it has finished.
    pub fn step(&mut self, transport: &mut impl Transport<M>) -> Step {
        self.worker.as_mut().map_or(Step::Finished, |worker| worker.step(transport, &self.options))
    }

    /// How the run ended, after the member has finished. Member 0 has the outcome. The others have nothing,
    /// unless the run must be restarted, which is reported to every member that has entities.
    ///
    /// # Errors
    /// If the model failed, broke its own declarations, or a limit was reached: the same error at every
    /// member that has entities. A failed audit is known only to member 0.
    pub fn finish(self) -> Result<Option<Ended<M>>, RunError> {
        let Some(worker) = self.worker else { return Ok(None) };
        match worker.into_shares()? {
            Err(again) => Ok(Some(Ended::Restart(again))),
            Ok(shares) if self.me == 0 => {
                Ok(Some(Ended::Outcome(Box::new(assemble(self.model, shares, self.notices)?))))
            }
            Ok(_) => Ok(None),
        }
    }
}

impl<M: Model> std::fmt::Debug for Member<'_, '_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member")
            .field("me", &self.me)
            .field("partitions", &self.partitions)
            .finish_non_exhaustive()
    }
}
