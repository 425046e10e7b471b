//! What gateways and servers say to each other.

use towtank_units::{BitRate, SimTime};

use crate::{ChunkName, Window};

/// A gateway: the initiator of puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct GatewayId(pub u32);

/// A server: the target of puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ServerId(pub u32);

/// One put of one chunk, as its gateway numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct PutId {
    /// Whose it is.
    pub gateway: GatewayId,
    /// Which one.
    pub number: u32,
}

/// One get of one chunk, as its gateway numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct GetId {
    /// Whose it is.
    pub gateway: GatewayId,
    /// Which one.
    pub number: u32,
}

/// Which of the sizes of [`Terms::sizes`](crate::Terms) a chunk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Size(pub u8);

/// A control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Message {
    /// To a server: a chunk is to be put.
    Request {
        /// The put.
        put: PutId,
        /// How large the chunk is.
        size: Size,
        /// Which round of the negotiation this is.
        round: u8,
        /// Windows before this are of no use.
        from: SimTime,
    },
    /// To a server: its bid is taken, for this window of it.
    Accept {
        /// The put.
        put: PutId,
        /// What is left of the bid.
        window: Window,
    },
    /// To a server: its bid is not taken.
    Cancel {
        /// The put.
        put: PutId,
    },
    /// To a server, in SURGE only and there without any delay: its bid is cut to this window.
    Trim {
        /// The put.
        put: PutId,
        /// What is left of the bid.
        window: Window,
    },
    /// To a gateway: this server could take the chunk in this window, and keeps it free until it hears more.
    Bid {
        /// The put.
        put: PutId,
        /// Who bids.
        server: ServerId,
        /// The round that the bid answers.
        round: u8,
        /// The window.
        window: Window,
    },
    /// To a gateway: the flow may begin at this rate. For AIMD, where rates are the sender's, only that it
    /// may begin.
    RateInit {
        /// The put.
        put: PutId,
        /// Who says so.
        server: ServerId,
        /// Which.
        rate: BitRate,
    },
    /// To a gateway: the flow goes on at this rate.
    RateSet {
        /// The put.
        put: PutId,
        /// Who says so.
        server: ServerId,
        /// Which.
        rate: BitRate,
    },
    /// To a gateway: slow down.
    Ding {
        /// The put.
        put: PutId,
        /// Who says so.
        server: ServerId,
    },
    /// To a gateway: the replica is on disk.
    Ack {
        /// The put.
        put: PutId,
        /// Who has it.
        server: ServerId,
    },
    /// To a server: a chunk is wanted.
    GetRequest {
        /// The get.
        get: GetId,
        /// Of which chunk.
        chunk: ChunkName,
        /// How large it is.
        size: Size,
        /// Which round of the negotiation this is, or which attempt.
        round: u8,
        /// Windows before this are of no use.
        from: SimTime,
    },
    /// To a server: it is to send the chunk, in this window of its bid.
    GetAccept {
        /// The get.
        get: GetId,
        /// How large the chunk is.
        size: Size,
        /// What is taken of the bid.
        window: Window,
    },
    /// To a server: its bid is not taken.
    GetCancel {
        /// The get.
        get: GetId,
    },
    /// To a gateway: this server could have read the chunk and send it in this window, and keeps it free
    /// until it hears more.
    GetBid {
        /// The get.
        get: GetId,
        /// Who bids.
        server: ServerId,
        /// The round that the bid answers.
        round: u8,
        /// The window.
        window: Window,
    },
    /// To a gateway: this server does not hold the chunk.
    GetLacks {
        /// The get.
        get: GetId,
        /// Who lacks it.
        server: ServerId,
        /// The round that this answers.
        round: u8,
    },
    /// To a gateway: the server that was chosen cannot have read the chunk in time.
    GetDeclined {
        /// The get.
        get: GetId,
        /// Who says so.
        server: ServerId,
    },
}

/// What something is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Task {
    /// A put.
    Put(PutId),
    /// A get.
    Get(GetId),
}

impl Message {
    /// The put or get that it is about.
    #[must_use]
    pub fn task(&self) -> Task {
        match *self {
            Message::Request { put, .. }
            | Message::Accept { put, .. }
            | Message::Cancel { put }
            | Message::Trim { put, .. }
            | Message::Bid { put, .. }
            | Message::RateInit { put, .. }
            | Message::RateSet { put, .. }
            | Message::Ding { put, .. }
            | Message::Ack { put, .. } => Task::Put(put),
            Message::GetRequest { get, .. }
            | Message::GetAccept { get, .. }
            | Message::GetCancel { get }
            | Message::GetBid { get, .. }
            | Message::GetLacks { get, .. }
            | Message::GetDeclined { get, .. } => Task::Get(get),
        }
    }
}
