//! Why a run cannot start or go on. Every message names the entity, the event and the times.

use crate::key::{EntityId, EventKey};

/// A model's own complaint: an invariant that does not hold, an input that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Fault(message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Fault {
        Fault(message.to_owned())
    }
}

/// The event during which something went wrong, in words that can travel.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// Where the event stands in the run: of several errors, the least key is the one reported.
    pub key: EventKey,
    /// Who was handling it.
    pub entity: EntityId,
    /// The entity's name.
    pub name: String,
    /// The event as the model prints it.
    pub event: String,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} at {} ns, handling {} (step {}, from entity {})",
            self.name,
            self.key.at.as_ns(),
            self.event,
            self.key.step,
            self.key.origin
        )
    }
}

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model returned a fault.
    #[error("{place}: {fault}")]
    Model {
        /// Where.
        place: Box<Place>,
        /// What the model said.
        fault: Fault,
    },
    /// The model panicked.
    #[error("{place}: panicked: {message}")]
    Panic {
        /// Where.
        place: Box<Place>,
        /// What the panic said.
        message: String,
    },
    /// A send shorter than its link allows.
    #[error("{place}: sent to {to_name} after {after_ns} ns, but the link from entity {} to entity {to} declares at least {least_ns} ns; declare a shorter delay or send later", place.entity)]
    ShortLink {
        /// Where.
        place: Box<Place>,
        /// Whom it was sent to.
        to: EntityId,
        /// The receiver's name.
        to_name: String,
        /// The delay asked for.
        after_ns: u64,
        /// The delay declared.
        least_ns: u64,
    },
    /// Something that followed from an event reached another entity sooner than the model's slack promised.
    #[error(
        "{place}: this event for {to_name} can be felt by another entity at {at_ns} ns, but the model's slack promised nothing before {promised_ns} ns; promise less for what led to it"
    )]
    ShortSlack {
        /// Where; the event is the one sent.
        place: Box<Place>,
        /// The receiver's name.
        to_name: String,
        /// When it can be felt.
        at_ns: u64,
        /// Before that nothing should have been.
        promised_ns: u64,
    },
    /// A send between entities that no link joins.
    #[error("{place}: sent to {to_name}, but no link from entity {} to entity {to} is declared; add it to the model's links", place.entity)]
    NoLink {
        /// Where.
        place: Box<Place>,
        /// Whom it was sent to.
        to: EntityId,
        /// The receiver's name.
        to_name: String,
    },
    /// A send to an entity that does not exist.
    #[error("{place}: sent to entity {to}, but the model has only {entities} entities")]
    NoEntity {
        /// Where.
        place: Box<Place>,
        /// Whom it was sent to.
        to: EntityId,
        /// How many there are.
        entities: u32,
    },
    /// An event scheduled before the one that schedules it.
    #[error("{place}: scheduled an event at {at_ns} ns, which lies in the past; the earliest possible is {} ns", place.key.at.as_ns())]
    Past {
        /// Where.
        place: Box<Place>,
        /// The time asked for.
        at_ns: u64,
    },
    /// A time beyond what 64 bits of nanoseconds hold.
    #[error("{place}: a delay of {after_ns} ns leads past the end of time, {} ns", u64::MAX)]
    TimeOverflow {
        /// Where.
        place: Box<Place>,
        /// The delay asked for.
        after_ns: u64,
    },
    /// A chain of sends without delay that does not end.
    #[error(
        "{place}: a chain of {limit} sends without delay has not let time move on; give one of its sends a delay, or raise the limit of zero-delay steps"
    )]
    ZeroDelayChain {
        /// Where.
        place: Box<Place>,
        /// How long a chain may be.
        limit: u32,
    },
    /// More events than the run allows.
    #[error(
        "{place}: more than {limit} events were committed; the model may run away, or raise the limit of events"
    )]
    TooManyEvents {
        /// Where.
        place: Box<Place>,
        /// How many events are allowed.
        limit: u64,
    },
    /// A fault while an entity was being started.
    #[error("{name} at the start: {fault}")]
    Start {
        /// Which entity.
        entity: EntityId,
        /// The entity's name.
        name: String,
        /// What is wrong.
        fault: Fault,
    },
    /// An undo that does not restore what was there.
    #[error("{place}: {what} differs after undo; before: {before}; after: {after}")]
    Irreversible {
        /// Where.
        place: Box<Place>,
        /// What differs.
        what: String,
        /// What was there.
        before: String,
        /// What is there now.
        after: String,
    },
    /// A conservation law that does not hold.
    #[error("the audit of the committed state failed: {0}")]
    Audit(Fault),
    /// A worker's thread was lost: a defect of the kernel itself.
    #[error(
        "worker {worker} stopped: {message}; this is a defect of towtank, please report it with the scenario and seed"
    )]
    WorkerLost {
        /// Which worker.
        worker: u32,
        /// What its panic said.
        message: String,
    },
    /// An option that cannot be used.
    #[error("{0}")]
    Options(String),
}

impl RunError {
    /// Where in the run it happened; of several errors the least is the one to report.
    #[must_use]
    pub fn key(&self) -> EventKey {
        match self {
            RunError::Model { place, .. }
            | RunError::Panic { place, .. }
            | RunError::ShortLink { place, .. }
            | RunError::ShortSlack { place, .. }
            | RunError::NoLink { place, .. }
            | RunError::NoEntity { place, .. }
            | RunError::Past { place, .. }
            | RunError::TimeOverflow { place, .. }
            | RunError::ZeroDelayChain { place, .. }
            | RunError::TooManyEvents { place, .. }
            | RunError::Irreversible { place, .. } => place.key,
            RunError::Start { entity, .. } => EventKey { origin: *entity, ..EventKey::MIN },
            RunError::Audit(_) | RunError::WorkerLost { .. } | RunError::Options(_) => EventKey::MAX,
        }
    }

    /// Of two errors, the one that happened first.
    #[must_use]
    pub fn earlier(left: Option<RunError>, right: Option<RunError>) -> Option<RunError> {
        match (left, right) {
            (Some(left), Some(right)) => Some(if right.key() < left.key() { right } else { left }),
            (left, right) => left.or(right),
        }
    }
}
