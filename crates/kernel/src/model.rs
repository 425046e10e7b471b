//! What a model author writes: entities, events, and what an event does.
//!
//! A model is a shared, immutable description ([`Model`]) and one state a entity. The kernel calls
//! [`Model::handle`] for each event in the order of their keys; the handler changes its entity and speaks to
//! others only by sending events. What it must not do: keep state outside its entity, read a clock, or draw
//! random numbers from anywhere but its context.

use std::fmt::Debug;
use std::hash::Hash;

use towtank_units::SimSpan;

use crate::context::Context;
use crate::error::Fault;
use crate::key::EntityId;
use crate::links::Links;
use crate::outcome::Committed;

/// How speculation takes an event back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoBy {
    /// [`Model::undo`] restores the entity from the small value its handler returned.
    Inverse,
    /// The kernel clones the entity before each event. No work for the author; costs a clone an event, only
    /// in executors that speculate.
    Clone,
}

/// A model: its entities, how they are linked, and what their events do.
pub trait Model: Sized + Sync {
    /// The state of one entity. Where kinds differ, an enum.
    type Entity: Clone + PartialEq + Debug + Hash + Send;
    /// What entities send each other: a plain value.
    type Event: Clone + PartialEq + Debug + Hash + Send;
    /// What [`Model::undo`] needs to take an event back; `()` with [`UndoBy::Clone`].
    type Undo: PartialEq + Debug + Send;
    /// What is counted at each entity.
    type Statistics: Statistics;
    /// What a run writes down as it goes, in the order of keys; `()` if nothing.
    type Output: Clone + PartialEq + Debug + Send;

    /// How speculation undoes this model's events, unless the run asks for something else.
    const UNDO: UndoBy = UndoBy::Clone;

    /// Whether [`Model::audit`] looks at pending events. They are gathered only then.
    const AUDITS_PENDING: bool = false;

    /// How many entities there are; their ids are `0..entities()`.
    fn entities(&self) -> u32;

    /// Who may send to whom, and with what delay at least. Look-ahead comes from here, and every executor
    /// checks it.
    fn links(&self) -> Links;

    /// The state of an entity before anything happens.
    fn create(&self, id: EntityId) -> Self::Entity;

    /// What an entity does at time zero, before the first event. Its sends carry step 1 if they have no
    /// delay.
    ///
    /// # Errors
    /// A fault ends the run before it starts.
    fn start(&self, entity: &mut Self::Entity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        let _ = (entity, context);
        Ok(())
    }

    /// What an event does. Returns what [`Model::undo`] will need.
    ///
    /// # Errors
    /// A fault ends the run, naming the entity, the event and the time. Under speculation it counts only if
    /// the event commits: a state that will be rolled back may well look impossible.
    fn handle(
        &self,
        entity: &mut Self::Entity,
        event: &Self::Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Self::Undo, Fault>;

    /// Takes an event back: leaves `entity` exactly as it was before [`Model::handle`]. Sends, draws, timers
    /// and statistics are the kernel's to undo. Only called with [`UndoBy::Inverse`].
    fn undo(&self, entity: &mut Self::Entity, event: &Self::Event, undo: Self::Undo) {
        let _ = (entity, event, undo);
        unreachable!("a model undone by inverse implements `undo`");
    }

    /// Told once at the start of a speculative run with hand-written undo, so that journaling containers
    /// record from here on. Elsewhere they need not.
    fn begin_speculation(&self, entity: &mut Self::Entity) {
        let _ = entity;
    }

    /// Told when an event can no longer be taken back, with what its undo would have needed.
    fn committed(&self, entity: &mut Self::Entity, undo: Self::Undo) {
        let _ = (entity, undo);
    }

    /// Whether events at this entity may run before it is certain that they happen. `false` for models that
    /// call code outside: their events run only when nothing earlier is left anywhere.
    fn speculative(&self, id: EntityId) -> bool {
        let _ = id;
        true
    }

    /// How long after `event`, for entity `id`, anything that follows from it can reach another entity at the
    /// soonest: by its own sends, or by those of the events that the entity sends itself. What the links
    /// declare is granted to every event; a model that knows more lets conservative workers run further
    /// before they wait for each other. They and the check executor end a run in which the promise is not
    /// kept.
    fn slack(&self, id: EntityId, event: &Self::Event) -> SimSpan {
        let _ = (id, event);
        SimSpan::ZERO
    }

    /// The slack that most events have at least. Those with less cost a place in a heap each; with nothing
    /// here, slack is not asked for.
    fn usual_slack(&self) -> SimSpan {
        SimSpan::ZERO
    }

    /// How much of the work falls to an entity, for sharing entities out among workers.
    fn weight(&self, id: EntityId) -> u32 {
        let _ = id;
        1
    }

    /// The entity's name in errors.
    fn describe(&self, id: EntityId) -> String {
        format!("entity {id}")
    }

    /// Checks the model's conservation laws on committed state, when the run is over.
    ///
    /// # Errors
    /// A fault says which law does not hold, and by how much.
    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        let _ = committed;
        Ok(())
    }
}

/// What is counted at an entity. Samples are taken when events happen and added when they commit, so nothing
/// here is ever undone. Integers only, or merging would depend on the order.
pub trait Statistics: Default + Clone + PartialEq + Debug + Hash + Send {
    /// One thing worth counting.
    type Sample: Clone + PartialEq + Debug + Send;

    /// Adds a sample taken at the entity.
    fn add(&mut self, sample: Self::Sample);

    /// Joins the statistics of another entity to these.
    fn merge(&mut self, other: &Self);
}

/// For models that count nothing.
impl Statistics for () {
    type Sample = ();

    fn add(&mut self, (): ()) {}

    fn merge(&mut self, (): &()) {}
}
