//! The interface that a model author implements: entities, events, and event handlers.
//!
//! A model is a shared, immutable description ([`Model`]) and one state per entity. The kernel calls
//! [`Model::handle`] for each event in the order of their keys; the handler changes its entity and affects
//! others only by sending events. It must not keep state outside its entity, read a clock, or draw random
//! numbers from anywhere but its context.

use std::fmt::Debug;
use std::hash::Hash;

use towtank_units::SimSpan;

use crate::context::Context;
use crate::error::Fault;
use crate::key::EntityId;
use crate::links::Links;
use crate::outcome::Committed;

/// How speculation undoes an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoBy {
    /// [`Model::undo`] restores the entity from the small value its handler returned.
    Inverse,
    /// The kernel clones the entity before each event that it may have to undo. This needs no work by the
    /// author; it costs one clone per speculative event.
    Clone,
}

/// A model: its entities, their links, and the handling of their events.
pub trait Model: Sized + Sync {
    /// The state of one entity; an enum if there are several kinds.
    type Entity: Clone + PartialEq + Debug + Hash + Send;
    /// The payload of events: a plain value.
    type Event: Clone + PartialEq + Debug + Hash + Send;
    /// The data that [`Model::undo`] needs to undo an event; `()` with [`UndoBy::Clone`].
    type Undo: PartialEq + Debug + Send;
    /// The statistics of each entity.
    type Statistics: Statistics;
    /// The outputs of a run, collected in the order of keys; `()` if there are none.
    type Output: Clone + PartialEq + Debug + Send;

    /// How speculation undoes this model's events, unless the run options say otherwise.
    const UNDO: UndoBy = UndoBy::Clone;

    /// Whether [`Model::audit`] reads pending events. They are collected only then.
    const AUDITS_PENDING: bool = false;

    /// The number of entities; their ids are `0..entities()`.
    fn entities(&self) -> u32;

    /// Which entities may send to which others, and the least delays. Look-ahead is computed from this, and
    /// every executor checks it.
    fn links(&self) -> Links;

    /// The initial state of an entity.
    fn create(&self, id: EntityId) -> Self::Entity;

    /// Runs for each entity at time zero, before the first event. Its zero-delay sends have step 1.
    ///
    /// # Errors
    /// A fault ends the run before it starts.
    fn start(&self, entity: &mut Self::Entity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        let _ = (entity, context);
        Ok(())
    }

    /// Handles an event. Returns what [`Model::undo`] will need.
    ///
    /// # Errors
    /// A fault ends the run; the error names the entity, the event and the time. Under speculation it counts
    /// only if the event commits: a state that will be rolled back may look impossible.
    fn handle(
        &self,
        entity: &mut Self::Entity,
        event: &Self::Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Self::Undo, Fault>;

    /// Undoes an event: restores `entity` exactly to its state before [`Model::handle`]. The kernel undoes
    /// sends, draws, timers and statistics. Called only with [`UndoBy::Inverse`].
    fn undo(&self, entity: &mut Self::Entity, event: &Self::Event, undo: Self::Undo) {
        let _ = (entity, event, undo);
        unreachable!("a model undone by inverse implements `undo`");
    }

    /// Called once at the start of a speculative run with hand-written undo, so that journaling containers
    /// start recording. In other runs they need not record.
    fn begin_speculation(&self, entity: &mut Self::Entity) {
        let _ = entity;
    }

    /// Called when an event can no longer be undone, with the data that its undo would have needed.
    fn committed(&self, entity: &mut Self::Entity, undo: Self::Undo) {
        let _ = (entity, undo);
    }

    /// Whether events at this entity may run speculatively. `false` is for models that call external code:
    /// their events run only when no earlier event is left anywhere. They are not undone, so they cost no
    /// clone.
    fn speculative(&self, id: EntityId) -> bool {
        let _ = id;
        true
    }

    /// The least time after `event`, at entity `id`, at which a consequence of it can reach another entity:
    /// by its own sends, or by those of events that the entity sends to itself. Every event has at least the
    /// slack that the links declare; a model that knows more lets conservative workers run further before
    /// they wait for each other. Conservative workers and the check executor end a run in which the promise
    /// is broken.
    fn slack(&self, id: EntityId, event: &Self::Event) -> SimSpan {
        let _ = (id, event);
        SimSpan::ZERO
    }

    /// A lower bound of the slack of most events. Each event with less takes an entry in a heap; if this is
    /// zero, slack is not used.
    fn usual_slack(&self) -> SimSpan {
        SimSpan::ZERO
    }

    /// Asks for memory that the handler will need beyond the entity itself ([`prefetch`](crate::prefetch)),
    /// and, where it will record samples, for what these change in the entity's statistics. Executors
    /// prefetch the entity and then call this three times before the event: at depth 0 for the parts to which
    /// the entity points, later at depth 1 for those to which these point, and at depth 2 for what these tell
    /// of. Only a hint: an earlier event may still change the entity.
    fn fetch(
        &self,
        (entity, statistics): (&Self::Entity, &Self::Statistics),
        event: &Self::Event,
        depth: u32,
    ) {
        let _ = (entity, statistics, event, depth);
    }

    /// The relative amount of work of an entity, used to balance entities among workers.
    fn weight(&self, id: EntityId) -> u32 {
        let _ = id;
        1
    }

    /// The entity's name in error messages.
    fn describe(&self, id: EntityId) -> String {
        format!("entity {id}")
    }

    /// The share of the run that is done once its samples have reported this much work
    /// ([`Statistics::work`]); `None` if the model does not know how much there is. Only shown as progress.
    fn share_done(&self, work: u64) -> Option<f64> {
        let _ = work;
        None
    }

    /// Checks the model's conservation laws on the committed state at the end of the run.
    ///
    /// # Errors
    /// A fault says which law does not hold, and by how much.
    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        let _ = committed;
        Ok(())
    }
}

/// The statistics of an entity. Samples are taken when events are executed and added when they commit, so
/// nothing here is ever undone. Use integers only; otherwise the result of merging would depend on the order.
pub trait Statistics: Default + Clone + PartialEq + Debug + Hash + Send {
    /// One observation.
    type Sample: Clone + PartialEq + Debug + Send;

    /// Adds a sample taken at the entity.
    fn add(&mut self, sample: Self::Sample);

    /// Merges the statistics of another entity into these.
    fn merge(&mut self, other: &Self);

    /// The work that a sample reports as done, in a unit of the model's choice. The executors add it up for
    /// the progress of the run.
    fn work(sample: &Self::Sample) -> u64 {
        let _ = sample;
        0
    }
}

/// For models without statistics.
impl Statistics for () {
    type Sample = ();

    fn add(&mut self, (): ()) {}

    fn merge(&mut self, (): &()) {}
}
