//! The messages between gateways and servers.

use towtank_units::{BitRate, SimTime};

use crate::{ChunkName, Window};

/// A gateway: the initiator of puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct GatewayId(pub u32);

/// A server: the target of puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ServerId(pub u32);

/// One put of one chunk, numbered by its gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct PutId {
    /// The gateway.
    pub gateway: GatewayId,
    /// Its number at the gateway.
    pub number: u32,
}

/// One get of one chunk, numbered by its gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct GetId {
    /// The gateway.
    pub gateway: GatewayId,
    /// Its number at the gateway.
    pub number: u32,
}

/// The index of a chunk's size in [`Terms::sizes`](crate::Terms).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Size(pub u8);

/// A control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Message {
    /// To a server: a chunk is to be put.
    Request {
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// The name of the chunk, if it may be stored already.
        chunk: Option<ChunkName>,
        /// The round of the negotiation.
        round: u8,
        /// The earliest useful start of a window.
        from: SimTime,
    },
    /// To a server: its bid is accepted for this window.
    Accept {
        /// The put.
        put: PutId,
        /// The part of the bid that is used.
        window: Window,
    },
    /// To a server: its bid is cancelled.
    Cancel {
        /// The put.
        put: PutId,
    },
    /// To a server, in SURGE only and there without any delay: its bid is trimmed to this window.
    Trim {
        /// The put.
        put: PutId,
        /// The part of the bid that remains.
        window: Window,
    },
    /// To a gateway: this server could receive the chunk in this window, and reserves it until it gets an
    /// answer.
    Bid {
        /// The put.
        put: PutId,
        /// The bidding server.
        server: ServerId,
        /// The round that the bid answers.
        round: u8,
        /// The window.
        window: Window,
    },
    /// To a gateway: this server does not bid.
    Declined {
        /// The put.
        put: PutId,
        /// The server.
        server: ServerId,
        /// The round that the reply is for.
        round: u8,
        /// Whether it holds the chunk already; else it has no room for it.
        holds: bool,
    },
    /// To a gateway: the flow may start at this rate. For AIMD, where the sender chooses its rate, only that
    /// it may start.
    RateInit {
        /// The put.
        put: PutId,
        /// The server.
        server: ServerId,
        /// The rate.
        rate: BitRate,
    },
    /// To a gateway: the flow continues at this rate.
    RateSet {
        /// The put.
        put: PutId,
        /// The server.
        server: ServerId,
        /// The rate.
        rate: BitRate,
    },
    /// To a gateway: slow down the flow.
    Ding {
        /// The put.
        put: PutId,
        /// The server.
        server: ServerId,
    },
    /// To a gateway: the replica is durable.
    Ack {
        /// The put.
        put: PutId,
        /// The server that stores it.
        server: ServerId,
    },
    /// To a server: requests a chunk.
    GetRequest {
        /// The get.
        get: GetId,
        /// The chunk.
        chunk: ChunkName,
        /// Its size.
        size: Size,
        /// The round of the negotiation, or the number of the attempt.
        round: u8,
        /// The earliest useful start of a window.
        from: SimTime,
    },
    /// To a server: it is to send the chunk in this window of its bid.
    GetAccept {
        /// The get.
        get: GetId,
        /// The size of the chunk.
        size: Size,
        /// The part of the bid that is used.
        window: Window,
    },
    /// To a server: its bid is cancelled.
    GetCancel {
        /// The get.
        get: GetId,
    },
    /// To a gateway: this server could read the chunk in time and send it in this window, and reserves it
    /// until it gets an answer.
    GetBid {
        /// The get.
        get: GetId,
        /// The bidding server.
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
        /// The server.
        server: ServerId,
        /// The round that the reply is for.
        round: u8,
    },
    /// To a gateway: the chosen server cannot read the chunk in time.
    GetDeclined {
        /// The get.
        get: GetId,
        /// The server.
        server: ServerId,
    },
}

/// The operation that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Task {
    /// A put.
    Put(PutId),
    /// A get.
    Get(GetId),
}

impl Message {
    /// The put or get that the message belongs to.
    #[must_use]
    pub fn task(&self) -> Task {
        match *self {
            Message::Request { put, .. }
            | Message::Accept { put, .. }
            | Message::Cancel { put }
            | Message::Trim { put, .. }
            | Message::Bid { put, .. }
            | Message::Declined { put, .. }
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
