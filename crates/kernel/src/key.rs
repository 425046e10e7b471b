//! The identity of entities, and the keys that order events.

use std::fmt;

use serde::{Deserialize, Serialize};
use towtank_units::SimTime;

/// One of the model's entities, numbered from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityId(pub u32);

impl EntityId {
    /// The id as an index.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The position of an event in the run. Ties are broken by (step, origin, sequence), never by arrival order:
/// that depends on which worker ran first, and a result must not. `step` counts zero-delay sends since the
/// time last advanced, so that a child never sorts before its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventKey {
    /// When the event happens.
    #[serde(with = "nanoseconds")]
    pub at: SimTime,
    /// Zero for a send with a positive delay; the cause's step + 1 for a zero-delay send.
    pub step: u32,
    /// The entity that sent it.
    pub origin: EntityId,
    /// The number of events that its origin had sent before.
    pub sequence: u64,
}

impl EventKey {
    /// The key that sorts before every other key.
    pub const MIN: EventKey = EventKey::first_at(SimTime::ZERO);
    /// A key that sorts after every key that an event can have.
    pub const MAX: EventKey =
        EventKey { at: SimTime::MAX, step: u32::MAX, origin: EntityId(u32::MAX), sequence: u64::MAX };

    /// The least key at a time: below or equal to every event at `at` and above every earlier event.
    #[inline]
    #[must_use]
    pub(crate) const fn first_at(at: SimTime) -> EventKey {
        EventKey { at, step: 0, origin: EntityId(0), sequence: 0 }
    }
}

impl fmt::Display for EventKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ns, step {}, origin {}, sequence {}",
            self.at.as_ns(),
            self.step,
            self.origin,
            self.sequence
        )
    }
}

/// A sent event: its key, its receiver, and the model's payload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scheduled<E> {
    /// Its position in the run.
    pub key: EventKey,
    /// The entity that handles it.
    pub to: EntityId,
    /// Whether it is a timer: it is handled only if it has not been cancelled.
    pub timer: bool,
    /// The model's payload.
    pub event: E,
}

/// A record that a pending-event set can order.
pub trait Keyed {
    /// The record's key.
    fn key(&self) -> EventKey;
}

impl<E> Keyed for Scheduled<E> {
    #[inline]
    fn key(&self) -> EventKey {
        self.key
    }
}

/// Serialises times as plain nanoseconds: exact, short and the same in every format.
pub(crate) mod nanoseconds {
    use serde::{Deserialize, Deserializer, Serializer};
    use towtank_units::SimTime;

    pub(crate) fn serialize<S: Serializer>(at: &SimTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(at.as_ns())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SimTime, D::Error> {
        u64::deserialize(deserializer).map(SimTime::from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_delay_child_sorts_after_its_cause() {
        let cause = EventKey { at: SimTime::from_ns(5), step: 0, origin: EntityId(9), sequence: 40 };
        let child = EventKey { at: SimTime::from_ns(5), step: 1, origin: EntityId(0), sequence: 0 };
        assert!(child > cause);
        assert!(EventKey::first_at(SimTime::from_ns(5)) <= cause);
        assert!(EventKey::first_at(SimTime::from_ns(6)) > child);
    }
}
