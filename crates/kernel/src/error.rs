//! Why a run cannot start or continue. Every message names the entity, the event and the times.

use crate::key::{EntityId, EventKey};

/// An error that the model itself reports: a violated invariant, an invalid input.
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

/// The event during which an error occurred, in serialisable form.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// The key of the event; of several errors, the one with the least key is reported.
    pub key: EventKey,
    /// The entity that was handling it.
    pub entity: EntityId,
    /// The entity's name.
    pub name: String,
    /// The event as the model's `Debug` prints it.
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
        /// The event that failed.
        place: Box<Place>,
        /// The fault that the model returned.
        fault: Fault,
    },
    /// The model panicked.
    #[error("{place}: panicked: {message}")]
    Panic {
        /// The event that failed.
        place: Box<Place>,
        /// The message of the panic.
        message: String,
    },
    /// A send shorter than its link allows.
    #[error("{place}: sent to {to_name} after {after_ns} ns, but the link from entity {} to entity {to} declares at least {least_ns} ns; declare a shorter delay or send later", place.entity)]
    ShortLink {
        /// The event that sent it.
        place: Box<Place>,
        /// The receiver.
        to: EntityId,
        /// The receiver's name.
        to_name: String,
        /// The requested delay.
        after_ns: u64,
        /// The declared least delay.
        least_ns: u64,
    },
    /// A consequence of an event can reach another entity sooner than the model's slack promised.
    #[error(
        "{place}: this event for {to_name} can affect another entity at {at_ns} ns, but the model's slack promised no effect before {promised_ns} ns; promise less for the event that caused it"
    )]
    ShortSlack {
        /// The event that was sent.
        place: Box<Place>,
        /// The receiver's name.
        to_name: String,
        /// When it can first reach another entity.
        at_ns: u64,
        /// The promised earliest time.
        promised_ns: u64,
    },
    /// A send between entities that no link joins.
    #[error("{place}: sent to {to_name}, but no link from entity {} to entity {to} is declared; add it to the model's links", place.entity)]
    NoLink {
        /// The event that sent it.
        place: Box<Place>,
        /// The receiver.
        to: EntityId,
        /// The receiver's name.
        to_name: String,
    },
    /// A send to an entity that does not exist.
    #[error("{place}: sent to entity {to}, but the model has only {entities} entities")]
    NoEntity {
        /// The event that sent it.
        place: Box<Place>,
        /// The receiver.
        to: EntityId,
        /// The number of entities.
        entities: u32,
    },
    /// An event scheduled for a time before that of its cause.
    #[error("{place}: scheduled an event at {at_ns} ns, which is in the past; the earliest possible is {} ns", place.key.at.as_ns())]
    Past {
        /// The event that scheduled it.
        place: Box<Place>,
        /// The requested time.
        at_ns: u64,
    },
    /// A time that does not fit in 64 bits of nanoseconds.
    #[error("{place}: a delay of {after_ns} ns exceeds the latest possible time, {} ns", u64::MAX)]
    TimeOverflow {
        /// The event that sent it.
        place: Box<Place>,
        /// The requested delay.
        after_ns: u64,
    },
    /// A chain of zero-delay sends that exceeds the limit.
    #[error(
        "{place}: time did not advance in a chain of {limit} sends without delay; give one of these sends a delay, or raise the limit of zero-delay steps"
    )]
    ZeroDelayChain {
        /// The event that exceeded the limit.
        place: Box<Place>,
        /// The maximum length of a chain.
        limit: u32,
    },
    /// More committed events than the run allows.
    #[error(
        "{place}: more than {limit} events were committed; check whether the model ends, or raise the limit of events"
    )]
    TooManyEvents {
        /// The event that exceeded the limit.
        place: Box<Place>,
        /// The maximum number of events.
        limit: u64,
    },
    /// A fault while an entity was started.
    #[error("{name} at the start: {fault}")]
    Start {
        /// The entity.
        entity: EntityId,
        /// The entity's name.
        name: String,
        /// The fault that the model returned.
        fault: Fault,
    },
    /// An undo that does not restore the previous state.
    #[error("{place}: {what} differs after undo; before: {before}; after: {after}")]
    Irreversible {
        /// The event that was undone.
        place: Box<Place>,
        /// Which part differs.
        what: String,
        /// The value before the event.
        before: String,
        /// The value after the undo.
        after: String,
    },
    /// A conservation law that does not hold.
    #[error("the audit of the committed state failed: {0}")]
    Audit(Fault),
    /// The thread of a worker was lost, which is a defect of the kernel itself.
    #[error(
        "worker {worker} stopped: {message}; this is a bug in Towtank, please report it with the scenario and seed"
    )]
    WorkerLost {
        /// The number of the worker.
        worker: u32,
        /// The message of its panic.
        message: String,
    },
    /// An invalid option.
    #[error("{0}")]
    Options(String),
}

impl RunError {
    /// The key of the event of the error; of several errors, the one with the least key is reported.
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

    /// Of two errors, the one with the lesser key.
    #[must_use]
    pub fn earlier(left: Option<RunError>, right: Option<RunError>) -> Option<RunError> {
        match (left, right) {
            (Some(left), Some(right)) => Some(if right.key() < left.key() { right } else { left }),
            (left, right) => left.or(right),
        }
    }
}
