//! The one way partitions speak to each other: packets, in batches, that may be delayed and reordered.
//!
//! It is narrow so that it can be something else than memory: nothing above it shares anything with another
//! worker, and what a worker leaves at the end goes through it too. Whoever implements it promises that each
//! packet arrives exactly once; nothing about when, or in what order.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use towtank_units::SimTime;

use crate::error::RunError;
use crate::key::{EntityId, EventKey, Scheduled};
use crate::model::Model;
use crate::outcome::Share;

/// A model whose workers may live in several processes: what they send each other, and what they leave, can
/// be serialised. Every model with serde's traits on its entities, events, statistics and outputs is one.
/// Tables that the model itself borrows or owns stay where they are: each process builds its own.
pub trait Portable:
    Model<
        Entity: Serialize + DeserializeOwned,
        Event: Serialize + DeserializeOwned,
        Statistics: Serialize + DeserializeOwned,
        Output: Serialize + DeserializeOwned,
    >
{
}

impl<M> Portable for M where
    M: Model<
            Entity: Serialize + DeserializeOwned,
            Event: Serialize + DeserializeOwned,
            Statistics: Serialize + DeserializeOwned,
            Output: Serialize + DeserializeOwned,
        >
{
}

/// Carries the packets of one worker.
pub trait Transport<M: Model> {
    /// Sends a packet to another worker.
    fn send(&mut self, to: usize, packet: Packet<M>);

    /// The next packet that has arrived, if any.
    fn receive(&mut self) -> Option<Packet<M>>;
}

/// How a step of a worker went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It did something.
    Worked,
    /// It waits for a packet.
    Waiting,
    /// It is done and has sent its share.
    Finished,
}

/// What one worker sends another. Opaque to transports, which may serialise it.
#[derive(Serialize, Deserialize)]
#[serde(bound(
    serialize = "M::Event: Serialize, M::Entity: Serialize, M::Statistics: Serialize, M::Output: Serialize",
    deserialize = "M::Event: Deserialize<'de>, M::Entity: Deserialize<'de>, M::Statistics: Deserialize<'de>, M::Output: Deserialize<'de>"
))]
pub struct Packet<M: Model>(pub(crate) Message<M>);

#[derive(Serialize, Deserialize)]
#[serde(bound(
    serialize = "M::Event: Serialize, M::Entity: Serialize, M::Statistics: Serialize, M::Output: Serialize",
    deserialize = "M::Event: Deserialize<'de>, M::Entity: Deserialize<'de>, M::Statistics: Deserialize<'de>, M::Output: Deserialize<'de>"
))]
pub(crate) enum Message<M: Model> {
    /// All that a conservative worker has to say about a window.
    Window(Window<M::Event>),
    /// Speculative events and anti-messages.
    Mail(Mail<M::Event>),
    /// The token that computes global virtual time.
    Token(Token),
    /// A new global virtual time, and what follows from it.
    Announcement(Announcement),
    /// What a worker leaves.
    Share(Box<Share<M>>),
}

/// What a conservative worker sends each peer once a window.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Window<E> {
    pub round: u64,
    pub events: Vec<Scheduled<E>>,
    /// The least key this worker still has or has sent, after the window.
    pub floor: EventKey,
    /// Before that nothing of it can be felt by another worker.
    #[serde(with = "crate::key::nanoseconds")]
    pub reach: SimTime,
    pub committed: u64,
    pub last: Option<(EventKey, EntityId)>,
    pub error: Option<RunError>,
    pub stop: bool,
}

/// A batch of speculative messages.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mail<E> {
    /// The round of global virtual time the sender was in.
    pub epoch: u32,
    pub letters: Vec<Letter<E>>,
}

/// One speculative message. `id` is unique to this transmission, so that a key sent again never meets an old
/// cancellation.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Letter<E> {
    Event(Sent<E>),
    Anti { id: u64, key: EventKey, to: EntityId },
}

/// An event with the id of its transmission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sent<E> {
    pub scheduled: Scheduled<E>,
    pub id: u64,
}

impl<E> crate::key::Keyed for Sent<E> {
    #[inline]
    fn key(&self) -> EventKey {
        self.scheduled.key
    }
}

/// Goes round all workers, gathering the least key and the count of mail in transit (Mattern 1993).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Token {
    /// Which computation this is; it also halts workers that have not heard of it yet.
    pub round: u32,
    /// Mail of earlier epochs sent, less received.
    pub in_transit: i64,
    pub floor: EventKey,
    pub committed: u64,
    pub rolled_back: u64,
    pub last: Option<(EventKey, EntityId)>,
    /// A worker holds more than its bound.
    pub pressed: bool,
    /// A worker's undo met a fault it cannot step back over.
    pub restart: bool,
    pub error: Option<RunError>,
    /// No worker may speculate any more: only mail is delivered, until none is left.
    pub halt: Option<EventKey>,
}

/// The result of a computation of global virtual time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Announcement {
    pub round: u32,
    pub gvt: EventKey,
    pub pressed: bool,
    pub halt: Option<EventKey>,
    pub verdict: Option<Verdict>,
}

/// How the run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// Everything before the end has happened.
    Done,
    /// Somebody asked for it.
    Partial,
    /// The run must begin again with clones as undo.
    Restart,
    /// A committed event failed.
    Failed(RunError),
}

impl<M: Model> std::fmt::Debug for Packet<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Message::Window(_) => "Packet(Window)",
            Message::Mail(_) => "Packet(Mail)",
            Message::Token(_) => "Packet(Token)",
            Message::Announcement(_) => "Packet(Announcement)",
            Message::Share(_) => "Packet(Share)",
        })
    }
}
