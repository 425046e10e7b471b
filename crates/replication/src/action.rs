//! What a replica is told, and what it asks of its host in return.

use serde::{Deserialize, Serialize};
use towtank_units::SimSpan;

use crate::{DeviceId, Discovery, Epoch, Key, Lot, Message, RequestId, Token, Version};

/// Who serves a group from an epoch on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Map {
    /// Its number. A new one begins a new interval.
    pub epoch: Epoch,
    /// Who should hold the group, the primary first.
    pub up: Vec<DeviceId>,
    /// Who serves it, the primary first: `up`, but where others were asked for ([`Action::WantActing`]).
    pub acting: Vec<DeviceId>,
    /// All devices that are alive, those of `up` and `acting` among them. Earlier holders that are alive are
    /// asked too.
    pub alive: Vec<DeviceId>,
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation<P> {
    /// Set the object.
    Write(P),
    /// Remove it.
    Delete,
    /// Tell what it holds.
    Read,
}

/// What happens to a replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input<P> {
    /// A new interval begins. A host tells all that concerned the group, in order; those before the replica's
    /// `last_epoch_clean` may be left out.
    Map(Map),
    /// Another replica's message.
    Message {
        /// Whose.
        from: DeviceId,
        /// What it says.
        message: Message<P>,
    },
    /// A client's request.
    Client {
        /// Which.
        request: RequestId,
        /// Of which object.
        key: Key,
        /// What.
        operation: Operation<P>,
    },
    /// Work is done.
    Done(Token),
    /// Time is up.
    Woken(Token),
    /// A slot is the replica's.
    Granted(Token),
    /// The device would become too full.
    Rejected(Token),
    /// A slot is another's now.
    Revoked(Token),
}

/// What takes a device time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Work {
    /// Look at the metadata of so many objects, one after the other.
    Look {
        /// How many.
        objects: u64,
    },
    /// Read from an object.
    Read {
        /// So much.
        bytes: u64,
        /// For recovery, and not for a client.
        is_recovery: bool,
    },
    /// Make a change of one object, and the log's, durable.
    Apply {
        /// What is written of the object.
        bytes: u64,
        /// For recovery, and not for a client.
        is_recovery: bool,
    },
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome<P> {
    /// The write or delete is done, and this is its version.
    Done(Version),
    /// What the object holds; none where it does not exist.
    Read {
        /// Its version and content.
        found: Option<(Version, P)>,
        /// The last change of the group when it was read, which may be one of another object that is not
        /// committed yet.
        as_of: Version,
    },
    /// Not done, or not known to be: ask again, with the same request, whom the map names.
    Retry,
}

/// What a replica asks of its host. The changes of the call that gave it are durable before it is carried
/// out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Action<P> {
    /// Send a message. Messages to one device stay in order, or not: both are right.
    Send {
        /// To whom.
        to: DeviceId,
        /// What.
        message: Message<P>,
    },
    /// Do this, and answer [`Input::Done`]; at once, where time does not matter or the work has been done
    /// already.
    Work {
        /// For the answer.
        token: Token,
        /// What.
        work: Work,
    },
    /// Answer [`Input::Woken`] after a while.
    Wake {
        /// For the answer.
        token: Token,
        /// When.
        after: SimSpan,
    },
    /// Answer a client.
    Reply {
        /// Whose request.
        request: RequestId,
        /// The answer.
        outcome: Outcome<P>,
    },
    /// Ask the device's [`Reserver`](crate::Reserver) for a slot, and answer what it says.
    Reserve {
        /// For the answer.
        token: Token,
        /// Which side of a backfill.
        lot: Lot,
        /// Higher goes first.
        priority: u8,
        /// What the backfill will add here, at most.
        bytes: u64,
    },
    /// Give the slot back, or take the question back.
    Release {
        /// Of the question.
        token: Token,
        /// Which side.
        lot: Lot,
    },
    /// Ask whoever makes maps for other acting replicas. Nothing goes on in the group, or nothing more, until
    /// they come.
    WantActing {
        /// In which interval this was found.
        epoch: Epoch,
        /// Whom, the primary first.
        acting: Vec<DeviceId>,
    },
    /// Something to be measured. Nothing depends on it.
    Note(Note),
}

/// What a backfill of one target has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tally {
    /// Objects that the primary looked at.
    pub looked_at: u64,
    /// Objects that the target looked at.
    pub looked_at_by_target: u64,
    /// Batches.
    pub batches: u64,
    /// Objects that were sent.
    pub recovered: u64,
    /// Their bytes.
    pub recovered_bytes: u64,
    /// Objects that were removed.
    pub removed: u64,
    /// Bytes of trees, sketches and bitmaps, both ways.
    pub exchanged_bytes: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Note {
    /// This replica leads peering.
    PeeringBegan,
    /// No acknowledged write may be lost, and nobody is there who knows those of this interval: the group
    /// waits.
    Down {
        /// The interval's first epoch.
        interval: Epoch,
    },
    /// The group is active; with fewer replicas than it may have it takes no requests.
    Active {
        /// Whether it takes requests.
        serves: bool,
    },
    /// All replicas are equal and complete.
    Clean,
    /// Objects that the log names are missing somewhere.
    LogRecoveryBegan {
        /// How many.
        objects: u64,
    },
    /// None is missing any more.
    LogRecoveryEnded,
    /// Nobody who is there has the object in the version that the log says. It is found when its holder comes
    /// back.
    Unfound {
        /// Which.
        key: Key,
    },
    /// An object was recovered to a replica, by its log or by a backfill.
    Recovered {
        /// Which.
        key: Key,
        /// To whom.
        to: DeviceId,
        /// Its version.
        version: Version,
    },
    /// A target refused: it would become too full.
    TargetFull {
        /// Which.
        target: DeviceId,
    },
    /// A target's backfill began.
    BackfillBegan {
        /// Whose.
        target: DeviceId,
        /// How it finds what differs.
        discovery: Discovery,
        /// Whether it goes on where an earlier one was interrupted.
        resumed: bool,
    },
    /// What must be looked at is known.
    Discovered {
        /// Whose backfill.
        target: DeviceId,
        /// By which method; another than asked for, where that could not be used.
        by: Discovery,
        /// Ranges to look at, or objects, where a sketch has named them.
        differing: u64,
        /// What the exchange took.
        bytes: u64,
    },
    /// A target is complete.
    BackfillEnded {
        /// Which.
        target: DeviceId,
        /// What it took.
        tally: Tally,
    },
}
