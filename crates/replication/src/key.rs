//! The terms of the protocol: objects by their place in the order of a group, versions, devices, requests,
//! cursors.

use serde::{Deserialize, Serialize};
use towtank_merkle::{ObjectId, Position};

/// An object of a group. The order of keys is that of the Merkle trees and of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The 32-bit hash of the object's name, its bits reversed.
    pub position: u32,
    /// Distinguishes objects whose names have the same hash.
    pub id: u64,
}

impl Key {
    /// The least key.
    pub const MIN: Key = Key { position: 0, id: 0 };

    /// The object with this id whose name has this hash.
    #[must_use]
    pub const fn of_hash(hash: u32, id: u64) -> Key {
        Key { position: hash.reverse_bits(), id }
    }

    /// The hash of the object's name.
    #[must_use]
    pub const fn hash(self) -> u32 {
        self.position.reverse_bits()
    }

    /// Its position in trees and skip ranges.
    #[must_use]
    pub const fn at(self) -> Position {
        Position(self.position)
    }

    pub(crate) const fn object(self) -> ObjectId {
        ObjectId(self.id)
    }
}

/// Progress in the order of keys: everything below it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cursor {
    /// All keys below this one are done, but not this key.
    At(Key),
    /// All keys are done.
    End,
}

impl Cursor {
    /// Nothing is done.
    pub(crate) const START: Cursor = Cursor::At(Key::MIN);

    /// Whether this key is done.
    #[must_use]
    pub fn covers(self, key: Key) -> bool {
        match self {
            Cursor::At(next) => key < next,
            Cursor::End => true,
        }
    }

    /// The cursor after this key: all keys up to it are done.
    #[must_use]
    pub fn after(key: Key) -> Cursor {
        match (key.id.checked_add(1), key.position.checked_add(1)) {
            (Some(id), _) => Cursor::At(Key { id, ..key }),
            (None, Some(position)) => Cursor::At(Key { position, id: 0 }),
            (None, None) => Cursor::End,
        }
    }

    /// The cursor at a position: all keys below it are done; all keys if it is `None`.
    #[must_use]
    pub(crate) fn at_position(position: Option<u32>) -> Cursor {
        position.map_or(Cursor::End, |position| Cursor::At(Key { position, id: 0 }))
    }
}

/// The number of a map of the cluster.
pub type Epoch = u32;

/// The version of an object, and the place of its last change in the group's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version {
    /// The interval in which the primary assigned the number.
    pub epoch: Epoch,
    /// Counts the changes of the group across all intervals.
    pub counter: u64,
}

impl Version {
    /// The version before all changes.
    pub const ZERO: Version = Version { epoch: 0, counter: 0 };

    /// Bits for the epoch: enough for a new map every second for 194 days.
    const EPOCH_BITS: u32 = 24;

    /// The version as the number used in trees and sketches; distinct versions give distinct numbers.
    ///
    /// # Panics
    ///
    /// If the epoch is at least 2^24 or the counter at least 2^40.
    #[must_use]
    pub fn packed(self) -> towtank_merkle::Version {
        const COUNTER_BITS: u32 = 64 - Version::EPOCH_BITS;
        assert!(self.epoch >> Version::EPOCH_BITS == 0, "epoch {} does not fit 24 bits", self.epoch);
        assert!(self.counter >> COUNTER_BITS == 0, "change {} does not fit 40 bits", self.counter);
        towtank_merkle::Version(u64::from(self.epoch) << COUNTER_BITS | self.counter)
    }

    /// The next version within this interval.
    #[must_use]
    pub(crate) fn next_in(self, epoch: Epoch) -> Version {
        assert!(epoch >= self.epoch, "a primary of epoch {epoch} has a log of epoch {}", self.epoch);
        Version { epoch, counter: self.counter + 1 }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}'{}", self.epoch, self.counter)
    }
}

/// A storage device with the daemon that serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeviceId(pub u32);

/// The life of a device: a directory or disk gets one when it is made. A device that comes back without its
/// objects has another one, although its id is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub u64);

/// A device in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// The device.
    pub device: DeviceId,
    /// Its life.
    pub incarnation: Incarnation,
}

impl Member {
    /// A device of a model in which no device is replaced.
    #[must_use]
    pub const fn original(device: DeviceId) -> Member {
        Member { device, incarnation: Incarnation(1) }
    }
}

/// A placement group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupId(pub u32);

/// A client's request. A repeated request has the same id, so that it is not executed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId {
    /// The client.
    pub client: u64,
    /// The client's count of its requests.
    pub number: u64,
}

/// A replica's identifier for an operation that takes time or that others decide. Unique since the replica
/// started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_covers_what_lies_below_it() {
        let key = |position, id| Key { position, id };
        assert!(!Cursor::START.covers(Key::MIN));
        assert!(Cursor::End.covers(key(u32::MAX, u64::MAX)));
        for key in [key(0, 0), key(7, u64::MAX), key(9, 4)] {
            assert!(Cursor::after(key).covers(key) && !Cursor::At(key).covers(key), "{key:?}");
        }
        assert_eq!(Cursor::after(key(7, u64::MAX)), Cursor::At(key(8, 0)));
        assert_eq!(Cursor::after(key(u32::MAX, u64::MAX)), Cursor::End);
        assert!(Cursor::At(key(u32::MAX, u64::MAX)) < Cursor::End);
    }

    #[test]
    fn versions_are_packed_in_their_order() {
        let version = |epoch, counter| Version { epoch, counter };
        let some = [version(0, 0), version(0, 1), version(1, 0), version(1, 9), version((1 << 24) - 1, 3)];
        for pair in some.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].packed() < pair[1].packed(), "{pair:?}");
        }
        assert_eq!(version(3, 17).to_string(), "3'17");
        assert_eq!(version(3, 17).next_in(5), version(5, 18));
    }

    #[test]
    #[should_panic(expected = "does not fit 24 bits")]
    fn a_version_that_does_not_fit_is_noticed() {
        let _ = Version { epoch: 1 << 24, counter: 0 }.packed();
    }
}
