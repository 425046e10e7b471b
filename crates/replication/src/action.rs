//! The inputs of a replica, and the actions that it requests of its host.

use serde::{Deserialize, Serialize};
use towtank_units::SimSpan;

use crate::{DeviceId, Discovery, Epoch, Key, Lot, Member, Message, RequestId, Token, Version};

/// Which devices serve a group from an epoch on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Map {
    /// The map's number. A new epoch begins a new interval.
    pub epoch: Epoch,
    /// The devices that should hold the group, the primary first.
    pub up: Vec<DeviceId>,
    /// The devices that serve it, the primary first: `up`, unless others were requested
    /// ([`Action::WantActing`]).
    pub acting: Vec<DeviceId>,
    /// All devices that are alive, including those of `up` and `acting`. Earlier holders that are alive are
    /// queried too.
    pub alive: Vec<Member>,
    /// Those whose objects are lost for ever, by the word of an operator: nobody waits for them.
    pub gone: Vec<Member>,
}

impl Map {
    /// A device that is alive, in its present life.
    pub(crate) fn member(&self, device: DeviceId) -> Option<Member> {
        self.alive.iter().find(|member| member.device == device).copied()
    }
}

/// What a client requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation<P> {
    /// Set the object's content.
    Write(P),
    /// Remove the object.
    Delete,
    /// Return the object's content.
    Read,
}

/// An event that a replica handles.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input<P> {
    /// A new interval begins. The host passes all maps that concerned the group, in order; those before the
    /// replica's `last_epoch_clean` may be left out.
    Map(Map),
    /// A message from another replica.
    Message {
        /// The sender.
        from: DeviceId,
        /// The message.
        message: Message<P>,
    },
    /// A client's request.
    Client {
        /// The request's identity.
        request: RequestId,
        /// The object concerned.
        key: Key,
        /// The operation requested.
        operation: Operation<P>,
    },
    /// A client wants to see what needs no data: the primary asks for a lease, if it has none.
    Lease,
    /// The work with this token is done.
    Done(Token),
    /// The wait with this token is over.
    Woken(Token),
    /// The slot requested with this token is granted.
    Granted(Token),
    /// The slot is refused: the device would become too full.
    Rejected(Token),
    /// The slot was given to another request.
    Revoked(Token),
}

/// Work that takes the device time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Work {
    /// Look up the metadata of some objects, one after the other.
    Look {
        /// The number of objects.
        objects: u64,
    },
    /// Read part of an object.
    Read {
        /// The number of bytes.
        bytes: u64,
        /// Whether it is for recovery rather than for a client.
        is_recovery: bool,
    },
    /// Make a change of one object, and of the log, durable.
    Apply {
        /// The bytes of the object that are written.
        bytes: u64,
        /// Whether it is for recovery rather than for a client.
        is_recovery: bool,
    },
}

/// The answer to a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome<P> {
    /// The write or delete is done, and has this version.
    Done(Version),
    /// The object's content.
    Read {
        /// Its version and content; none if it does not exist.
        found: Option<(Version, P)>,
        /// The version of the group's last change at the time of the read; it may be of another object and
        /// not committed yet.
        as_of: Version,
    },
    /// Not done, or not known to be done: repeat the same request to the primary that the map names.
    Retry,
}

/// An action that a replica requests of its host. The changes of the call that returned it are durable before
/// the host carries it out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Action<P> {
    /// Send a message. The order of messages to one device need not be kept.
    Send {
        /// The receiver.
        to: DeviceId,
        /// The message.
        message: Message<P>,
    },
    /// Do this work, then report [`Input::Done`]; immediately if time is not modelled or the work has been
    /// done already.
    Work {
        /// The token of the report.
        token: Token,
        /// The work.
        work: Work,
    },
    /// Report [`Input::Woken`] after a while.
    Wake {
        /// The token of the report.
        token: Token,
        /// How long to wait.
        after: SimSpan,
    },
    /// Answer a client.
    Reply {
        /// The request that is answered.
        request: RequestId,
        /// The answer.
        outcome: Outcome<P>,
    },
    /// Ask the device's [`Reserver`](crate::Reserver) for a slot, and report its verdict.
    Reserve {
        /// The token of the report.
        token: Token,
        /// The side of a backfill.
        lot: Lot,
        /// Higher priorities go first.
        priority: u8,
        /// The most bytes that the backfill will add to this device.
        bytes: u64,
    },
    /// Give a slot back, or withdraw the request for it.
    Release {
        /// The token of the request.
        token: Token,
        /// The side of the backfill.
        lot: Lot,
    },
    /// Ask the monitor for other acting replicas. Until they come, the group makes no further progress.
    WantActing {
        /// The interval in which the need was found.
        epoch: Epoch,
        /// The devices wanted, the primary first.
        acting: Vec<DeviceId>,
    },
    /// An observation for measurements. Nothing depends on it.
    Note(Note),
}

/// The cost of one target's backfill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tally {
    /// Objects that the primary looked at.
    pub looked_at: u64,
    /// Objects that the target looked at.
    pub looked_at_by_target: u64,
    /// Batches compared.
    pub batches: u64,
    /// Objects sent to the target.
    pub recovered: u64,
    /// Bytes of the objects sent.
    pub recovered_bytes: u64,
    /// Objects removed at the target.
    pub removed: u64,
    /// Bytes of trees, sketches and bitmaps, in both directions.
    pub exchanged_bytes: u64,
}

/// An observation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Note {
    /// This replica began peering as the primary.
    PeeringBegan,
    /// The group waits: writes of this interval may have been acknowledged, and no replica that is available
    /// knows them.
    Down {
        /// The interval's first epoch.
        interval: Epoch,
    },
    /// The group is active. With fewer than `size_min` replicas it accepts no requests.
    Active {
        /// Whether it accepts requests.
        serves: bool,
    },
    /// All replicas are equal and complete.
    Clean,
    /// Log recovery began: objects in the log are missing on some replica.
    LogRecoveryBegan {
        /// The number of objects.
        objects: u64,
    },
    /// No object is missing any more.
    LogRecoveryEnded,
    /// No available replica has the object in the version that the log names. It is found when a holder
    /// returns.
    Unfound {
        /// The object.
        key: Key,
    },
    /// No available replica has the object in the version that the log names, and nobody learned of that
    /// version: the object is what it was before.
    Reverted {
        /// The object.
        key: Key,
        /// The version that is undone. Its request may be executed again.
        undone: Version,
        /// The version before; none if the object did not exist.
        to: Option<Version>,
    },
    /// An object was recovered to a replica, by log recovery or by a backfill.
    Recovered {
        /// The object.
        key: Key,
        /// The replica that received it.
        to: DeviceId,
        /// Its version.
        version: Version,
    },
    /// A target refused a backfill because it would become too full.
    TargetFull {
        /// The target.
        target: DeviceId,
    },
    /// The backfill of a target began.
    BackfillBegan {
        /// The target.
        target: DeviceId,
        /// How it finds out what differs.
        discovery: Discovery,
        /// Whether it continues an earlier backfill that was interrupted.
        resumed: bool,
    },
    /// Discovery has ended: it is known what must be looked at.
    Discovered {
        /// The target.
        target: DeviceId,
        /// The method used, which differs from the one requested if that could not be used.
        by: Discovery,
        /// The number of ranges to look at, or of objects if a sketch named them.
        differing: u64,
        /// The bytes exchanged.
        bytes: u64,
    },
    /// The backfill of a target ended; the target is complete.
    BackfillEnded {
        /// The target.
        target: DeviceId,
        /// The cost of the backfill.
        tally: Tally,
    },
}
