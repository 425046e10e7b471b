//! The messages between replicas of a group.
//!
//! Messages are numbered per direction of each pair and carry their interval. A replica handles each once and
//! in order, however the network repeats and reorders them; it drops those of past intervals and keeps those
//! of intervals that it has not heard of yet. A message may be late but not lost: if one is lost, a replica
//! must leave the map and return.

use serde::{Deserialize, Serialize};
use towtank_units::{SimSpan, SimTime};

use crate::objects::Payload;
use crate::{Cursor, Done, Entry, Epoch, Info, Key, Version};

/// A message with its interval and sequence number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message<P> {
    /// The interval in which it was sent.
    pub interval: Epoch,
    /// Counts the messages in that interval from this sender to this receiver.
    pub sequence: u64,
    /// The content.
    pub body: Body<P>,
}

/// All keys from `from` up to but not including `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// The first key.
    pub from: Key,
    /// The end, excluded.
    pub to: Cursor,
}

/// An object that a replica misses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Missed {
    /// The object.
    pub key: Key,
    /// The version that is wanted.
    pub version: Version,
    /// The version that the replica has instead.
    pub has: Option<Version>,
    /// The versions that it has certainly never had; usually the one wanted, unless it was lost.
    pub never_had: Vec<Version>,
}

/// What a replica needs in order to follow the primary of a new interval.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Activate {
    /// The last change that both have.
    pub common: Version,
    /// The changes after it.
    pub entries: Vec<Entry>,
    /// If present, the replica cannot catch up from the log and is backfilled. `common` is then the log's
    /// tail, and these are the requests that the log remembers.
    pub refill: Option<Vec<Done>>,
    /// How long an earlier primary may still answer reads.
    pub promised: SimSpan,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body<P> {
    /// Peering: asks for the receiver's state.
    Query,
    /// The sender's state.
    Info(Info),
    /// Asks for the receiver's log, which is authoritative.
    GetLog,
    /// The sender's whole log.
    Log {
        /// The version after which it holds all changes.
        tail: Version,
        /// The requests of trimmed entries that it remembers.
        trimmed: Vec<Done>,
        /// The changes after `tail`.
        entries: Vec<Entry>,
    },
    /// Tells the receiver to follow the sender.
    Activate(Activate),
    /// The sender follows, and misses these objects.
    Activated(Vec<Missed>),

    /// A client's change.
    Write {
        /// The change.
        entry: Entry,
        /// The object's new content; none for a delete or a revert, or if only the log is to have the change.
        payload: Option<P>,
        /// Whether the object is to be changed: it is below the target's cursor.
        applies: bool,
        /// The version up to which the log is to be trimmed.
        trim_to: Version,
    },
    /// The change with this version is durable at the sender.
    Committed(Version),

    /// Recovery: asks for this object.
    Pull(Key, Version),
    /// The sender does not have the object in this version; and whether it has certainly never had it.
    NotHere(Key, Version, bool),
    /// A part of an object.
    Part {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// The offset of the part.
        at: u64,
        /// The content of the part.
        part: P,
        /// Whether it is the last part.
        is_last: bool,
    },
    /// A part is durable at the sender: object, version, and the offset of the next part; none after the
    /// last.
    Stored(Key, Version, Option<u64>),
    /// Backfill, with the round: the receiver must remove this object.
    Remove(u64, Key),
    /// The object is removed at the sender, with the round.
    Removed(u64, Key),

    /// Asks for a slot.
    Reserve {
        /// The round of the request.
        round: u64,
        /// Higher priorities go first.
        priority: u8,
        /// The bytes of the primary's objects.
        bytes: u64,
    },
    /// The slot of this round is granted.
    Reserved(u64),
    /// The slot of this round is refused: the sender would become too full.
    Refused(u64),
    /// The sender gave the slot of this round to another request.
    Revoked(u64),
    /// The slot is not needed any more.
    Release,

    /// A round and a message of the exchange of trees and sketches, in the encoding of `towtank-merkle`.
    Exchange(u64, Vec<u8>),
    /// Asks, with the round, for the ranges written to at the receiver.
    GetBitmap(u64),
    /// The round, the interval since which writes are recorded, and the encoded bitmap; none if none is kept.
    Bitmap(u64, Option<(Epoch, Vec<u8>)>),
    /// Asks for the objects in these runs, at most this many; with the round.
    Scan(u64, Vec<Run>, usize),
    /// The round, the objects found, and the cursor up to which the runs were looked at.
    Listed(u64, Vec<(Key, Version)>, Cursor),
    /// The backfill has reached this cursor.
    Progress(Cursor),
    /// The sender has stored this cursor.
    ProgressKept(Cursor),
    /// All replicas are equal and complete.
    Clean,

    /// Asks to confirm the lease. The time is the sender's.
    Renew(SimTime),
    /// Confirms the lease, as far as the sender knows, for the agreed time from the time in the request.
    Renewed(SimTime),

    /// Recovery of a coded group: asks for a part of the receiver's shard. The request's number, the object,
    /// its version and the part's offset.
    Gather(u64, Key, Version, u64),
    /// The part that was requested with this number, and whether it is the last.
    Gathered(u64, P, bool),
}

/// Bytes of every message: kind, interval, group, sequence, and the checksum of a frame.
const HEAD_BYTES: u64 = 48;
/// Bytes of an encoded key.
const KEY_BYTES: u64 = 12;
/// Bytes of an encoded version.
const VERSION_BYTES: u64 = 12;

/// Bytes of a client's write on the wire, without its object.
pub const WRITE_BYTES: u64 = HEAD_BYTES + Entry::BYTES;

impl<P: Payload> Message<P> {
    /// The approximate number of bytes on the wire.
    #[must_use]
    pub fn wire_bytes(&self) -> u64 {
        let some = |count: usize, each: u64| count as u64 * each;
        let listed = KEY_BYTES + VERSION_BYTES;
        HEAD_BYTES
            + match &self.body {
                Body::Info(_) => 64,
                Body::Log { entries, trimmed, .. } => {
                    some(entries.len(), Entry::BYTES) + some(trimmed.len(), 16 + VERSION_BYTES)
                }
                Body::Activate(activate) => {
                    let trimmed = activate.refill.as_ref().map_or(0, Vec::len);
                    some(activate.entries.len(), Entry::BYTES) + some(trimmed, 16 + VERSION_BYTES)
                }
                Body::Activated(missing) => some(missing.len(), listed),
                Body::Write { payload, .. } => Entry::BYTES + payload.as_ref().map_or(0, Payload::size),
                Body::Part { part, .. } => listed + 9 + part.size(),
                Body::Exchange(_, bytes) => bytes.len() as u64,
                Body::Bitmap(_, bitmap) => bitmap.as_ref().map_or(0, |(_, bytes)| bytes.len() as u64),
                Body::Scan(_, runs, _) => some(runs.len(), 2 * KEY_BYTES),
                Body::Listed(_, objects, _) => some(objects.len(), listed) + KEY_BYTES,
                Body::Gather(..) => listed + 16,
                Body::Gathered(_, part, _) => 9 + part.size(),
                Body::Pull(..) | Body::NotHere(..) | Body::Stored(..) => listed + 8,
                _ => KEY_BYTES,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestId;
    use crate::objects::Size;

    fn wire_bytes(body: Body<Size>) -> u64 {
        Message { interval: 1, sequence: 0, body }.wire_bytes()
    }

    #[test]
    fn messages_are_as_long_as_what_they_carry() {
        let key = Key::MIN;
        let part = |size| Body::Part { key, version: Version::ZERO, at: 0, part: Size(size), is_last: true };
        assert_eq!(wire_bytes(part(5000)) - wire_bytes(part(0)), 5000);
        let shard = |size| Body::Gathered(1, Size(size), true);
        assert_eq!(wire_bytes(shard(5000)) - wire_bytes(shard(0)), 5000);
        assert_eq!(wire_bytes(Body::Exchange(1, vec![0; 77])), HEAD_BYTES + 77);
        let listed = |count| Body::Listed(1, vec![(key, Version::ZERO); count], Cursor::End);
        // A target lists the 512 objects of a batch with 24 bytes each.
        assert_eq!(wire_bytes(listed(512)) - wire_bytes(listed(0)), 512 * 24);
        let scan = |count| Body::Scan(1, vec![Run { from: key, to: Cursor::End }; count], 1);
        assert_eq!(wire_bytes(scan(3)) - wire_bytes(scan(0)), 3 * 24);
        // Head and one key; a notice about an object has its version and a number as well.
        assert_eq!(wire_bytes(Body::Query), 48 + 12);
        assert_eq!(wire_bytes(Body::NotHere(key, Version::ZERO, false)), 48 + 12 + 12 + 8);
        assert_eq!(wire_bytes(part(0)), 48 + 24 + 9);
        assert_eq!(wire_bytes(shard(0)), 48 + 9);
        assert_eq!(wire_bytes(listed(0)), 48 + 12);
        let done = Done { request: RequestId { client: 1, number: 2 }, version: Version::ZERO };
        let trimmed = |count| Body::Log { tail: Version::ZERO, trimmed: vec![done; count], entries: vec![] };
        assert_eq!(wire_bytes(trimmed(2)), 48 + 2 * (16 + 12));
    }
}
