//! One step of a machine: what it knows of the world, and what it wants done.

use std::fmt;

use towtank_streams::Uniform;
use towtank_units::{SimSpan, SimTime};

use crate::{GatewayId, GetId, Message, PutId, ServerId, Size, Task, Terms, Window};

/// What a machine gets when it is moved on: the numbers it was set up with, the time, chance, and a place for
/// its actions.
pub struct Step<'a> {
    /// The numbers that all nodes share.
    pub terms: &'a Terms,
    /// The time.
    pub now: SimTime,
    /// Chance.
    pub draws: &'a mut dyn Uniform,
    /// What the machine wants done, in this order.
    pub actions: Vec<Action>,
}

impl<'a> Step<'a> {
    /// A step at `now`.
    #[must_use]
    pub fn new(terms: &'a Terms, now: SimTime, draws: &'a mut dyn Uniform) -> Step<'a> {
        Step { terms, now, draws, actions: Vec::new() }
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn tell(&mut self, gateway: GatewayId, message: Message, after: SimSpan) {
        self.act(Action::Send { to: Peer::Gateway(gateway), message, after });
    }
}

impl fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("now", &self.now).field("actions", &self.actions).finish_non_exhaustive()
    }
}

/// Who a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Peer {
    /// A gateway.
    Gateway(GatewayId),
    /// A server.
    Server(ServerId),
}

/// What a machine wants to be reminded of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Wake {
    /// A frame of a flow can go now.
    Frame {
        /// Of which put.
        number: u32,
        /// Only the latest reminder counts.
        generation: u32,
    },
    /// The last frame of a reserved transfer begins.
    LastFrame {
        /// Of which put.
        number: u32,
        /// To whom, where the transfer is unicast; else the first of them.
        server: ServerId,
        /// Only the latest reminder counts.
        generation: u32,
    },
    /// The next round of a negotiation.
    Round {
        /// Of which put.
        number: u32,
        /// Which one.
        round: u8,
    },
    /// Bids that have not come by now will not come.
    BidsDue {
        /// Of which put.
        number: u32,
        /// In which round.
        round: u8,
    },
    /// Acknowledgements that have not come by now will not come.
    AcksDue {
        /// Of which put.
        number: u32,
        /// For which attempt.
        attempt: u32,
    },
    /// The next round of a get.
    GetRound {
        /// Of which get.
        number: u32,
        /// Which one came before.
        round: u8,
    },
    /// Answers to a get that have not come by now will not come.
    GetBidsDue {
        /// Of which get.
        number: u32,
        /// In which round.
        round: u8,
    },
    /// Data of a get that have not come by now will not come.
    GetDataDue {
        /// Of which get.
        number: u32,
        /// For which attempt.
        attempt: u32,
    },
    /// A server: the window of a get begins.
    Deliver {
        /// The get.
        get: GetId,
        /// How large its chunk is.
        size: Size,
    },
    /// A server: a chunk is read.
    HasRead {
        /// For which get.
        get: GetId,
        /// How large it is.
        size: Size,
        /// For which attempt.
        round: u8,
    },
    /// A server, when all else that happens now has happened: tell flows of a new rate.
    Settle,
}

impl Wake {
    /// The put or get that it is about, where `gateway` is who asked to be reminded, if a gateway did.
    #[must_use]
    pub fn task(&self, gateway: GatewayId) -> Option<Task> {
        match *self {
            Wake::Frame { number, .. }
            | Wake::LastFrame { number, .. }
            | Wake::Round { number, .. }
            | Wake::BidsDue { number, .. }
            | Wake::AcksDue { number, .. } => Some(Task::Put(PutId { gateway, number })),
            Wake::GetRound { number, .. }
            | Wake::GetBidsDue { number, .. }
            | Wake::GetDataDue { number, .. } => Some(Task::Get(GetId { gateway, number })),
            Wake::Deliver { get, .. } | Wake::HasRead { get, .. } => Some(Task::Get(get)),
            Wake::Settle => None,
        }
    }
}

/// A put that has ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Done {
    /// The put.
    pub put: PutId,
    /// The size of its chunk.
    pub size: Size,
    /// When the chunk came into being.
    pub created: SimTime,
}

/// A get that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DoneGet {
    /// The get.
    pub get: GetId,
    /// The size of its chunk.
    pub size: Size,
    /// When it was wanted.
    pub created: SimTime,
}

/// What a machine wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a control message, after a wait of its own (for the disk) if that is not zero.
    Send {
        /// To whom.
        to: Peer,
        /// What.
        message: Message,
        /// When.
        after: SimSpan,
    },
    /// Send one message that reaches several servers, each of which reads its own part.
    Multicast(Vec<(ServerId, Message)>),
    /// Change a server's own record without any delay: what SURGE's shared memory does.
    AtOnce {
        /// Whose record.
        to: ServerId,
        /// How.
        message: Message,
    },
    /// Call `wake` again then.
    Wake {
        /// When; never before now.
        at: SimTime,
        /// What for.
        wake: Wake,
    },
    /// Ask the link for room for one frame; `frame_started` tells when there is.
    Offer {
        /// The receiver.
        to: ServerId,
        /// The put.
        put: PutId,
        /// How long the frame is.
        bits: u64,
    },
    /// One frame goes out now.
    Frame {
        /// The receiver.
        to: ServerId,
        /// The put.
        put: PutId,
        /// How long it is.
        bits: u64,
        /// How long its sender takes over it.
        span: SimSpan,
    },
    /// A reserved transfer will go out, all frames one after the other: for whoever sends each of them by
    /// itself. Not in SURGE, where control messages may hold it up.
    Planned {
        /// The receivers.
        to: Vec<ServerId>,
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When the first frame goes out.
        begin: SimTime,
    },
    /// The last frame of a reserved transfer goes out now.
    Data {
        /// The receivers.
        to: Vec<ServerId>,
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When the first frame went out.
        began: SimTime,
        /// How long the last frame takes.
        span: SimSpan,
        /// The window that was accepted for it.
        window: Window,
    },
    /// A server writes a replica.
    Write {
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When the disk begins.
        begin: SimTime,
        /// When it is done.
        end: SimTime,
    },
    /// All replicas of a put are on disk.
    Done(Done),
    /// No common window was found: the chunk is given up, and another one should come in its place.
    Dropped(PutId),
    /// A put goes on with other servers, since some did not answer.
    Retried(PutId),
    /// A put is given up: so many servers fail that no others are left.
    Failed(Done),
    /// A server reads a chunk.
    Read {
        /// For which get.
        get: GetId,
        /// When the disk begins.
        begin: SimTime,
        /// When it is done.
        end: SimTime,
    },
    /// A chunk goes from a server to its reader, in a reserved window that begins now.
    Deliver {
        /// The get.
        get: GetId,
        /// The size of the chunk.
        size: Size,
        /// How long the data take.
        span: SimSpan,
        /// The window that was accepted for it.
        window: Window,
    },
    /// Ask a server's link for room for one frame to a reader; `get_frame_started` tells when there is.
    GetOffer {
        /// The get.
        get: GetId,
        /// Which attempt.
        round: u8,
        /// How long the frame is.
        bits: u64,
    },
    /// One frame goes from a server to a reader now.
    GetFrame {
        /// The get.
        get: GetId,
        /// Which attempt.
        round: u8,
        /// How long it is.
        bits: u64,
    },
    /// A chunk has come to its reader.
    GetDone(DoneGet),
    /// A get goes on with another server, since one did not answer.
    GetRetried(GetId),
    /// A get is given up: no holder answers.
    GetFailed(DoneGet),
}
