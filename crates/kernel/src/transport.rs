//! The only communication between partitions: packets, in batches, that may be delayed and reordered.
//!
//! The interface is narrow so that it can be implemented over something other than memory: workers share
//! nothing above it, and even the final share of a worker goes through it. An implementation guarantees that
//! each packet arrives exactly once; it guarantees nothing about time or order.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use towtank_units::SimTime;

use crate::error::RunError;
use crate::key::{EntityId, EventKey, Scheduled};
use crate::model::Model;
use crate::outcome::{Again, Share};

/// A model whose workers may live in several processes: their messages and results can be serialised. Every
/// model whose entities, events, statistics and outputs implement serde's traits is portable. Tables that the
/// model itself borrows or owns are not sent: each process builds its own.
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

/// The result of a step of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The worker made progress.
    Worked,
    /// The worker is waiting for a packet: until one comes, another step would change and send nothing.
    Waiting,
    /// The worker is done and has sent its share.
    Finished,
}

/// A message between workers. Opaque to transports, which may serialise it.
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
    /// Everything that a conservative worker reports about a window.
    Window(Window<M::Event>),
    /// Speculative events and anti-messages.
    Mail(Mail<M::Event>),
    /// The token that computes global virtual time.
    Token(Token),
    /// A new global virtual time, and what follows from it.
    Announcement(Announcement),
    /// The final result of a worker.
    Share(Box<Share<M>>),
}

/// The packet that a conservative worker sends to each peer once per window.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Window<E> {
    pub round: u64,
    pub events: Vec<Scheduled<E>>,
    /// The least key that this worker still has or has sent, after the window.
    pub floor: EventKey,
    /// The time before which none of its pending events can reach another worker.
    #[serde(with = "crate::key::nanoseconds")]
    pub reach: SimTime,
    pub committed: u64,
    /// The work that its samples have reported.
    pub work: u64,
    pub last: Option<(EventKey, EntityId)>,
    pub error: Option<RunError>,
    pub stop: bool,
}

/// A batch of speculative messages.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mail<E> {
    /// The epoch of global virtual time in which the sender was.
    pub epoch: u32,
    pub letters: Vec<Letter<E>>,
}

/// One speculative message. `id` is unique to this transmission, so that a key that is sent again never meets
/// an old cancellation.
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

/// A token that visits all workers, collecting the least key and the count of mail in transit (Mattern 1993).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Token {
    /// The number of this computation; it also halts workers that have not heard of it yet.
    pub round: u32,
    /// Mail of earlier epochs sent minus received.
    pub in_transit: i64,
    pub floor: EventKey,
    pub committed: u64,
    /// The work that committed samples have reported.
    pub work: u64,
    pub rolled_back: u64,
    pub last: Option<(EventKey, EntityId)>,
    /// Whether a worker holds more than its bound.
    pub pressed: bool,
    /// Whether a worker's undo met a fault that it cannot undo.
    pub restart: bool,
    pub error: Option<RunError>,
    /// If set, no worker may speculate any more: only mail is delivered, until none is left.
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
    /// Every event before the end has happened.
    Done,
    /// The run was stopped on request.
    Partial,
    /// The run must be restarted in another way.
    Restart(Again),
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
