//! What replicas of a group say to each other.
//!
//! Messages are numbered in each direction of each pair and carry their interval. A replica takes each once
//! and in order, however the network repeats and reorders them; it drops those of intervals that are over and
//! keeps those of intervals that it has not heard of yet. A message may be late but not lost: where one is
//! lost, a replica must leave the map and come back.

use serde::{Deserialize, Serialize};
use towtank_units::{SimSpan, SimTime};

use crate::objects::Payload;
use crate::{Cursor, Done, Entry, Epoch, Info, Key, Version};

/// A message with its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message<P> {
    /// The interval in which it was sent.
    pub interval: Epoch,
    /// Counts the messages of that interval from this sender to this receiver.
    pub sequence: u64,
    /// What it says.
    pub body: Body<P>,
}

/// All keys from `from` to before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// The first.
    pub from: Key,
    /// Where it ends.
    pub to: Cursor,
}

/// What a replica needs to follow the primary of a new interval.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Activate {
    /// The last change that both have.
    pub common: Version,
    /// The changes after it.
    pub entries: Vec<Entry>,
    /// The replica cannot catch up from the log: it is filled anew. `common` is then the log's tail, and
    /// these are the requests that it remembers.
    pub refill: Option<Vec<Done>>,
    /// How long an earlier primary may still answer reads.
    pub promised: SimSpan,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body<P> {
    /// Peering: what have you?
    Query,
    /// This.
    Info(Info),
    /// Your log counts. Send it to me.
    GetLog,
    /// All of my log.
    Log {
        /// Behind which it tells all changes.
        tail: Version,
        /// The requests that it remembers of those before.
        trimmed: Vec<Done>,
        /// The changes.
        entries: Vec<Entry>,
    },
    /// Follow me.
    Activate(Activate),
    /// I do, and miss these.
    Activated(Vec<(Key, Version)>),

    /// A client's change.
    Write {
        /// The change.
        entry: Entry,
        /// The object's new content; none for a delete, and where only the log is to know.
        payload: Option<P>,
        /// Whether the object is to be changed: it is below the target's cursor.
        applies: bool,
        /// Up to which the log is to be trimmed.
        trim_to: Version,
    },
    /// The change is durable here.
    Committed(Version),

    /// Recovery: send me this object.
    Pull(Key, Version),
    /// I do not have it in this version.
    NotHere(Key, Version),
    /// A part of an object.
    Part {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// Where the part begins.
        at: u64,
        /// The part.
        part: P,
        /// Whether it is the last.
        is_last: bool,
    },
    /// A part is durable here: of which object and version, and where the next begins; none after the last.
    Stored(Key, Version, Option<u64>),
    /// Backfill: this object is not to be. And the round.
    Remove(u64, Key),
    /// It is no more. And the round.
    Removed(u64, Key),

    /// A slot, please.
    Reserve {
        /// Of the question.
        round: u64,
        /// Higher goes first.
        priority: u8,
        /// What the primary's objects take.
        bytes: u64,
    },
    /// You have one, in this round.
    Reserved(u64),
    /// I would become too full. And the round.
    Refused(u64),
    /// I have given the slot of this round to another.
    Revoked(u64),
    /// I do not need the slot any more.
    Release,

    /// A message of the exchange of trees and sketches, in the encoding of `towtank-merkle`, and its round.
    Exchange(u64, Vec<u8>),
    /// What was written to where you are?
    GetBitmap(u64),
    /// The interval since which it is known, and the bitmap, encoded; none where none is kept. And the round.
    Bitmap(u64, Option<(Epoch, Vec<u8>)>),
    /// Which objects have you in these runs, at most so many? And the round.
    Scan(u64, Vec<Run>, usize),
    /// These, and the runs are looked at up to here.
    Listed(u64, Vec<(Key, Version)>, Cursor),
    /// The backfill has come so far.
    Progress(Cursor),
    /// I have written that down.
    ProgressKept(Cursor),
    /// All replicas are equal and complete.
    Clean,

    /// May I answer reads? The time is the asker's.
    Renew(SimTime),
    /// As far as I know, for the agreed time from when you asked.
    Renewed(SimTime),

    /// Recovery of a coded group: send me a part of your shard. Its number, the object, its version and where
    /// it begins.
    Gather(u64, Key, Version, u64),
    /// This is the part of that number, and whether it is the last.
    Gathered(u64, P, bool),
}

/// Of every message: kind, interval, group, sequence, and the checksum of a frame.
const HEAD_BYTES: u64 = 48;
/// A key, as a store writes it.
const KEY_BYTES: u64 = 12;
/// A version.
const VERSION_BYTES: u64 = 12;

/// What a client's write takes on the wire beside its object.
pub const WRITE_BYTES: u64 = HEAD_BYTES + Entry::BYTES;

impl<P: Payload> Message<P> {
    /// What it takes on the wire, about.
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
        // 512 objects of a batch: what a target tells of them, 24 bytes each.
        assert_eq!(wire_bytes(listed(512)) - wire_bytes(listed(0)), 512 * 24);
        assert!(wire_bytes(Body::Query) > 0);
    }
}
