//! What the processes of a cluster say to each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_replication::{Epoch, Key, Message, Operation, RequestId, Version};

use crate::engine::ObjectHead;
use crate::map::ClusterMap;

/// To the monitor. Each is answered by one [`FromMonitor`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToMonitor {
    /// A daemon has started.
    Boot {
        /// Which.
        osd: u32,
        /// Which of its runs.
        instance: u64,
        /// Where it listens.
        address: String,
    },
    /// It runs.
    Ping {
        /// Which.
        osd: u32,
        /// Which of its runs.
        instance: u64,
        /// How it stands.
        report: Report,
    },
    /// It ends.
    Leave {
        /// Which.
        osd: u32,
        /// Which of its runs.
        instance: u64,
    },
    /// A primary asks for others to act.
    Wants {
        /// Of which group.
        group: u32,
        /// In which interval this was found.
        epoch: Epoch,
        /// Whom, the primary first.
        acting: Vec<u32>,
    },
    /// The maps after one; the answer waits until there is one.
    Maps {
        /// After which.
        after: Epoch,
        /// Milliseconds to wait at most.
        wait_ms: u32,
    },
    /// How the cluster stands.
    Status,
    /// Objects are placed on a daemon, or no more.
    Mark {
        /// On which.
        osd: u32,
        /// Whether.
        is_in: bool,
    },
    /// Another daemon will come.
    Add,
}

/// From the monitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromMonitor {
    /// It is done.
    Done,
    /// It is not done.
    Refused(String),
    /// Maps, in order.
    Maps(Vec<ClusterMap>),
    /// How the cluster stands.
    Status(Standing),
    /// The number of the daemon that was added.
    Added(u32),
    /// The answer to a ping: of the groups that the daemon should not hold, those that are clean elsewhere,
    /// with the interval.
    Clean(Vec<(u32, Epoch)>),
}

/// How a daemon stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The last map that it has worked with.
    pub epoch: Epoch,
    /// The groups that it leads.
    pub led: BTreeMap<u32, GroupReport>,
    /// Objects on it, of all groups.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes on its disk.
    pub disk_bytes: u64,
    /// Bytes of trees, sketches and bitmaps in its memory.
    pub summary_bytes: u64,
    /// Bytes that are free on its file system.
    pub free_bytes: u64,
    /// Its file system is nearly full: it takes no new data.
    pub is_full: bool,
    /// Groups that it holds and should not, with the interval that each replica knows.
    pub strays: Vec<(u32, Epoch)>,
    /// Since it started.
    pub counters: Counters,
}

/// What a daemon has counted since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests of clients that were answered.
    pub requests: u64,
    /// Transactions that were made durable.
    pub transactions: u64,
    /// Objects that its groups have recovered to replicas, by logs and by backfills.
    pub recovered: u64,
    /// Objects that backfills that it led have looked at.
    pub looked_at: u64,
    /// Bytes of trees, sketches and bitmaps, both ways.
    pub exchanged_bytes: u64,
    /// Nanoseconds of backfills that it led, and how many of them have ended.
    pub backfill_ns: u64,
    /// Backfills that have ended.
    pub backfills: u64,
    /// Nanoseconds from the beginning of a backfill until it was known where to look, and how many times that
    /// was known.
    pub discovery_ns: u64,
    /// Backfills that found out where to look before they looked at objects.
    pub discovered: u64,
    /// Objects that backfills have copied.
    pub backfilled: u64,
    /// Objects that were found to be damaged here.
    pub damaged: u64,
}

/// How a group stands, by its primary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Its last interval.
    pub epoch: Epoch,
    /// Replicas that serve.
    pub acting: Vec<u32>,
    /// All are equal and complete, and as many as they should be.
    pub is_clean: bool,
    /// It finds out who has what.
    pub is_peering: bool,
    /// It waits for daemons that are not there.
    pub is_down: bool,
    /// It takes requests.
    pub serves: bool,
    /// Objects that are missing on some replica, as far as logs say.
    pub missing: u64,
    /// Replicas that are being backfilled.
    pub targets: u32,
    /// Its objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How the cluster stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The newest map.
    pub map: ClusterMap,
    /// Replicas of an object.
    pub replicas: u32,
    /// Placement groups.
    pub groups: u32,
    /// What daemons have reported last, of those that are up.
    pub reports: BTreeMap<u32, Report>,
}

/// To a device daemon: the first frame of a connection says who comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hello {
    /// Another daemon, which sends [`PeerFrame`]s and hears [`Taken`].
    Peer {
        /// Which.
        osd: u32,
        /// Which of its runs.
        instance: u64,
        /// The run that it means.
        to_instance: u64,
        /// The number of the first frame.
        first: u64,
    },
    /// A client, which sends [`Ask`]s and hears [`Answer`]s.
    Client,
}

/// A message of a replica to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerFrame {
    /// Counts on over connections.
    pub sequence: u64,
    /// Of which group.
    pub group: u32,
    /// What it says.
    pub message: Message<Vec<u8>>,
}

/// All frames up to this one have been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken(pub u64);

/// What a client asks a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// For the answer; the same where it is asked again.
    pub request: RequestId,
    /// The group.
    pub group: u32,
    /// What.
    pub what: Wanted,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// An operation on an object.
    Object {
        /// Which.
        key: Key,
        /// What to do with it.
        operation: Operation<Vec<u8>>,
    },
    /// Heads of objects of the group, in the order of their names. No data is read.
    Names {
        /// Of those whose names begin so.
        prefix: String,
        /// From this name on.
        from: String,
        /// At most so many.
        most: u32,
    },
    /// The head of one object. No data is read. It is what the primary has, which may be a write that is not
    /// answered yet.
    Head {
        /// Which.
        key: Key,
    },
    /// Versions and checksums of all objects that this daemon holds of the group.
    Inventory {
        /// Whether those that are damaged are to be made good from other replicas.
        repairs: bool,
    },
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Of which request.
    pub request: RequestId,
    /// What.
    pub told: Told,
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    /// It is written or removed, on all replicas that serve.
    Done(Version),
    /// What an object holds; none where there is none.
    Found(Option<(Version, Vec<u8>)>),
    /// Heads of objects, in the order of their names.
    Names {
        /// The heads.
        heads: Vec<ObjectHead>,
        /// Whether no name follows.
        is_last: bool,
    },
    /// The head of an object; none where there is none.
    Head(Option<ObjectHead>),
    /// Objects of one replica.
    Inventory(Inventory),
    /// Ask again: who asked is told by a newer map, or the group is not ready.
    Retry(Epoch),
    /// It cannot be done.
    Refused(String),
}

/// What a replica holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// Whether the replica is complete.
    pub is_complete: bool,
    /// Key, version and checksum of each object.
    pub objects: Vec<(Key, Version, u64)>,
    /// Objects of which the bytes are not those that were written, with their names.
    pub damaged: Vec<(Key, String)>,
    /// Whether tree and sketch are those of the objects.
    pub sums_up: bool,
}
