//! The messages between the processes of a cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_replication::{Epoch, Incarnation, Key, Message, Operation, RequestId, Version};

use crate::content::Encoded;
use crate::engine::ObjectHead;
use crate::identity::Shown;
use crate::loss::Loss;
use crate::map::{ClusterMap, MapId};

/// Requests to the monitor. Each is answered by one [`FromMonitor`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToMonitor {
    /// A daemon has started.
    Boot {
        /// The daemon.
        osd: u32,
        /// The number of its run.
        instance: u64,
        /// The address on which it listens.
        address: String,
        /// The identity of its directory.
        shown: Shown,
        /// The last map that its directory knows.
        known: Option<MapId>,
    },
    /// A daemon is running.
    Ping {
        /// The daemon.
        osd: u32,
        /// The number of its run.
        instance: u64,
        /// Its state.
        report: Report,
    },
    /// A daemon ends.
    Leave {
        /// The daemon.
        osd: u32,
        /// The number of its run.
        instance: u64,
    },
    /// A primary asks for other acting replicas.
    Wants {
        /// The group.
        group: u32,
        /// The interval in which the need was found.
        epoch: Epoch,
        /// The daemons wanted, the primary first.
        acting: Vec<u32>,
    },
    /// Requests the maps after an epoch; the answer is delayed until there is one.
    Maps {
        /// The last epoch known.
        after: Epoch,
        /// The digest of that map, of a sender that takes further ones from nobody who has another one.
        digest: Option<u64>,
        /// The longest time to wait, in milliseconds.
        wait_ms: u32,
    },
    /// Requests the state of the cluster.
    Status,
    /// Marks a daemon as in or out: whether objects are placed on it.
    Mark {
        /// The daemon.
        osd: u32,
        /// Whether objects are placed on it.
        is_in: bool,
    },
    /// Adds another daemon to the cluster.
    Add {
        /// Its number.
        osd: u32,
        /// The life of its directory, which has just been made.
        incarnation: Incarnation,
    },
    /// Asks what the cluster loses without the directory of a daemon.
    Losing {
        /// The daemon, which does not run.
        osd: u32,
    },
    /// Goes on without the directory of a daemon: nobody waits for it any more, and it may not come back.
    Lose {
        /// The daemon, which does not run.
        osd: u32,
        /// What may be lost at most. If the cluster has changed and more may be lost, nothing is done, and
        /// the answer is what may be lost now.
        accepted: Loss,
        /// What becomes of the daemon.
        then: Then,
    },
}

/// What becomes of a daemon whose directory is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Then {
    /// It stays, and does not start before it is replaced.
    Stays,
    /// It begins again with a directory that has just been made.
    Begins(Incarnation),
    /// It is removed.
    Goes,
}

/// Answers of the monitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromMonitor {
    /// The request is done.
    Done,
    /// The request is refused, with the reason.
    Refused(String),
    /// Nothing is done now, with the reason: the same may be asked again later.
    Later(String),
    /// Maps, in order.
    Maps(Vec<ClusterMap>),
    /// The state of the cluster.
    Status(Standing),
    /// What the cluster loses.
    Loses(Loss),
    /// The answer to a ping: of the groups that the daemon should not hold, those that are clean elsewhere,
    /// with the interval.
    Clean(Vec<(u32, Epoch)>),
}

/// The state of a daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The last map that it has applied.
    pub epoch: Epoch,
    /// The last map that its directory knows.
    pub known: Option<MapId>,
    /// The groups of which it is the primary.
    pub led: BTreeMap<u32, GroupReport>,
    /// The number of objects on it, over all groups.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that its tables take on disk.
    pub disk_bytes: u64,
    /// Bytes of trees, sketches and bitmaps in its memory.
    pub summary_bytes: u64,
    /// Bytes that are free on its file system.
    pub free_bytes: u64,
    /// Whether its file system is nearly full: then it takes no new data.
    pub is_full: bool,
    /// Groups that it holds but should not, with the interval that each replica knows.
    pub strays: Vec<(u32, Epoch)>,
    /// Groups of which it may have lost changes, with the first interval of these.
    pub undecided: Vec<(u32, Epoch)>,
    /// Its counters since it started.
    pub counters: Counters,
}

impl Report {
    /// Whether the daemon may have lost changes of a group that it made in an interval.
    #[must_use]
    pub(crate) fn doubts(&self, group: u32, interval: Epoch) -> bool {
        self.undecided.iter().any(|(other, since)| *other == group && *since <= interval)
    }
}

/// The counters of a daemon since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests of clients that it answered.
    pub requests: u64,
    /// Transactions that it made durable.
    pub transactions: u64,
    /// Objects that its groups recovered to replicas, by logs and by backfills.
    pub recovered: u64,
    /// Objects that the backfills it led looked at.
    pub looked_at: u64,
    /// Bytes of trees, sketches and bitmaps, in both directions.
    pub exchanged_bytes: u64,
    /// The total duration in nanoseconds of the ended backfills that it led.
    pub backfill_ns: u64,
    /// The number of backfills that have ended.
    pub backfills: u64,
    /// The total time in nanoseconds from the beginning of a backfill to the end of its discovery.
    pub discovery_ns: u64,
    /// Backfills whose discovery has ended.
    pub discovered: u64,
    /// Objects copied by backfills.
    pub backfilled: u64,
    /// Objects found damaged on this daemon.
    pub damaged: u64,
}

/// The state of a group, as reported by its primary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Its current interval.
    pub epoch: Epoch,
    /// The replicas that serve.
    pub acting: Vec<u32>,
    /// Whether all replicas are equal and complete, and as many as intended.
    pub is_clean: bool,
    /// Whether it is peering.
    pub is_peering: bool,
    /// Whether it waits for daemons that are not available.
    pub is_down: bool,
    /// Whether it accepts requests.
    pub serves: bool,
    /// Objects missing on some replica, as far as logs tell.
    pub missing: u64,
    /// Replicas that are being backfilled.
    pub targets: u32,
    /// Objects of which no daemon that runs has a valid copy: requests for them wait.
    pub unfound: u64,
    /// The daemons that may have one, and do not run.
    pub awaited: Vec<u32>,
    /// The number of its objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The state of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The newest map.
    pub map: ClusterMap,
    /// The number of replicas of an object.
    pub replicas: u32,
    /// The number of placement groups.
    pub groups: u32,
    /// The latest reports of the daemons that are up.
    pub reports: BTreeMap<u32, Report>,
    /// Why the monitor changes nothing any more: it is an older copy.
    pub older: Option<String>,
}

/// The first frame of a connection to a device daemon, which identifies the sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hello {
    /// Another daemon, which sends [`PeerFrame`]s and receives [`Taken`].
    Peer {
        /// The sending daemon.
        osd: u32,
        /// The number of its run.
        instance: u64,
        /// The run of the receiver that it addresses.
        to_instance: u64,
        /// The number of the first frame.
        first: u64,
    },
    /// A client, which sends [`Ask`]s and receives [`Answer`]s.
    Client,
}

/// A message from one replica to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerFrame {
    /// Counts frames across connections.
    pub sequence: u64,
    /// The group.
    pub group: u32,
    /// The message.
    pub message: Message<Encoded>,
}

/// All frames up to this number have been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken(pub u64);

/// A request of a client to a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The request id for the answer; the same when the request is repeated.
    pub request: RequestId,
    /// The group.
    pub group: u32,
    /// What is requested.
    pub what: Wanted,
}

/// What a client requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// An operation on an object.
    Object {
        /// The object.
        key: Key,
        /// The operation.
        operation: Operation<Encoded>,
    },
    /// The heads of objects of the group, in the order of their names. No data is read.
    Names {
        /// Only names with this prefix.
        prefix: String,
        /// Only names from this one on.
        from: String,
        /// The most heads to return.
        most: u32,
    },
    /// The head of one object. No data is read. It is the primary's state, which may include a write that is
    /// not answered yet.
    Head {
        /// The object.
        key: Key,
    },
    /// Versions and checksums of all objects that this daemon holds of the group.
    Inventory {
        /// Whether to repair damaged objects from other replicas.
        repairs: bool,
    },
}

/// The answer to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The request that is answered.
    pub request: RequestId,
    /// The result.
    pub reply: Reply,
}

/// The result of a client's request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The object is written or removed on all replicas that serve.
    Done(Version),
    /// The object's version and bytes; none if it does not exist.
    Found(Option<(Version, Encoded)>),
    /// Heads of objects, in the order of their names.
    Names {
        /// The heads.
        heads: Vec<ObjectHead>,
        /// Whether no name follows.
        is_last: bool,
    },
    /// The head of an object; none if it does not exist.
    Head(Option<ObjectHead>),
    /// The objects of one replica.
    Inventory(Inventory),
    /// Repeat the request: the group is not ready, or a newer map names another primary.
    Retry(Epoch),
    /// The request cannot be executed, with the reason.
    Refused(String),
}

/// The objects of a replica.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// Whether the replica is complete.
    pub is_complete: bool,
    /// Key, version and checksum of each object.
    pub objects: Vec<(Key, Version, u64)>,
    /// Objects whose bytes are not those that were written, with their names.
    pub damaged: Vec<(Key, String)>,
    /// Whether tree and sketch match the objects.
    pub sums_up: bool,
}
