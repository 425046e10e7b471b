//! The interface of every queue discipline: a state that is notified of events and says which request is
//! served next.
//!
//! # Who calls what
//!
//! 1. A request arrives: [`Discipline::arrive`]. A request has been served: [`Discipline::complete`]. A
//!    message from another scheduler arrives: [`Discipline::hear`]. The instant of [`Discipline::wake_at`]
//!    has come: [`Discipline::wake`].
//! 2. After each of these, as long as the resource has a free slot: [`Discipline::next`], until it returns
//!    `None`. `None` means that nothing waits, or that nothing may go yet: because as many requests are in
//!    service as the discipline allows (SFQ(D)), or because tokens are missing.
//! 3. Then [`Discipline::tell`] until it returns `None` (messages to other schedulers), and
//!    [`Discipline::wake_at`]. An instant that was requested may be dropped only when a call returns another
//!    one; waking too soon or in vain does no harm.
//!
//! `now` never decreases and is always an argument: the crate reads no clock, so a simulator and a store call
//! it in the same way.
//!
//! # How the kinds fit
//!
//! - Fair queueing tags a request on arrival, by its flow and cost; with a depth (SFQ(D)) it counts `next`
//!   and `complete`.
//! - Priorities and deadlines choose by [`Request::flow`] and [`Request::due`]. A class that is promoted
//!   after waiting too long requests a wake-up for that instant.
//! - A token bucket returns `None` until it holds enough tokens, and requests a wake-up for that instant.
//! - Distributed fair queueing (DSFQ, and its variants that exchange virtual times) tells the others how much
//!   service its flows got or its virtual time, and advances its own tags by such messages. The transport
//!   decides how long a message takes and whether it arrives.
//!
//! # One scheduler before several servers
//!
//! A scheduler in front of several servers reads [`About::server`] of the request that [`Discipline::next`]
//! gives. The discipline itself counts the free slots of each server, since it sees every completion.
//!
//! # Requests given in pieces
//!
//! A discipline may cut a request: it gives clones of it that carry a [`Piece`] and the piece's cost and
//! offset. Each piece is served and reported to [`Discipline::complete`] by itself; [`Discipline::finishes`]
//! says which piece completes the request.
//!
//! # How it is undone
//!
//! A discipline is part of the state of an entity, and undoing an event undoes its effect on the discipline.
//! Every discipline can be cloned, which is all that undo by clone needs. One with many requests may instead
//! keep them in containers that journal (a mark before an event, `revert` to it, `forget` when it has
//! committed); it then offers the marks of these containers to the entity that holds it. The trait does not
//! require this, since most disciplines do not need it.

use std::convert::Infallible;
use std::hash::{Hash, Hasher};

use towtank_units::SimTime;

/// The owner of a request: a tenant, a client or a class of work. Its properties were given to the discipline
/// at construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct FlowId(pub u32);

/// One of several schedulers that exchange messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct SchedulerId(pub u32);

/// A request for service.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Request<T> {
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// How much of the resource it takes, in any unit that all flows share.
    pub cost: u64,
    /// Its deadline, if it has one of its own.
    pub due: Option<SimTime>,
    /// What it touches and where it comes from, for disciplines that use more than the flow.
    pub about: About,
    /// The caller's payload; disciplines do not read it.
    pub item: T,
}

impl<T> Request<T> {
    /// A request without a deadline and with default [`About`].
    #[must_use]
    pub fn new(flow: FlowId, cost: u64, item: T) -> Request<T> {
        Request { flow, cost, due: None, about: About::default(), item }
    }

    /// The same request with this [`About`].
    #[must_use]
    pub fn about(self, about: About) -> Request<T> {
        Request { about, ..self }
    }
}

impl<T: Hash> Hash for Request<T> {
    /// A default [`About`] is not hashed, so that the digests of models that do not set it do not depend on
    /// its fields.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Request { flow, cost, due, about, item } = self;
        (flow, cost, due).hash(state);
        if *about != About::default() {
            about.hash(state);
        }
        item.hash(state);
    }
}

/// The direction of an access.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Access {
    /// Reads data.
    #[default]
    Read,
    /// Writes data.
    Write,
}

/// What a request touches and where it comes from. Each discipline documents which fields it uses; the others
/// may keep the values of [`About::default`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct About {
    /// The machine that sends it: Lustre's client NID.
    pub client: u32,
    /// The server that it is for, where one scheduler stands before several.
    pub server: u32,
    /// The file or object that it touches.
    pub object: u64,
    /// The offset of its first byte in the object.
    pub offset: u64,
    /// Whether it reads or writes.
    pub access: Access,
    /// When it was issued at its client; deadlines count from this instant.
    pub rose: SimTime,
    /// The larger request that it is a part of.
    pub record: Record,
    /// The service that its client got since its last request to this server (dmClock).
    pub feedback: Feedback,
    /// The piece of a request that this is. A discipline that cuts requests sets it when it gives a piece.
    pub piece: Piece,
    /// A mark that the discipline sets on a request when it gives it; the server returns it unchanged.
    pub ticket: u64,
}

/// A larger request whose parts go to several servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Record {
    /// Its number; unique among records under way.
    pub id: u64,
    /// The number of requests that it consists of.
    pub jobs: u32,
}

impl Default for Record {
    fn default() -> Record {
        Record { id: 0, jobs: 1 }
    }
}

/// The service that a client got elsewhere, in units of cost: the delta and rho of dmClock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Feedback {
    /// All service.
    pub delta: u64,
    /// Service under a reservation.
    pub rho: u64,
}

/// A piece of a request, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Piece {
    /// The number of this piece.
    pub number: u32,
    /// The number of pieces.
    pub of: u32,
}

impl Piece {
    /// An uncut request.
    pub const WHOLE: Piece = Piece { number: 0, of: 1 };

    /// Whether more pieces of the request follow this one.
    #[must_use]
    pub fn has_more(self) -> bool {
        self.number.saturating_add(1) < self.of
    }
}

impl Default for Piece {
    fn default() -> Piece {
        Piece::WHOLE
    }
}

/// The receivers of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Audience {
    /// One scheduler.
    One(SchedulerId),
    /// All others.
    Others,
}

/// The message type of disciplines that send none.
pub type NoMessage = Infallible;

/// A queue discipline. The module documentation says who calls what.
pub trait Discipline: Clone {
    /// The payload of requests.
    type Item;
    /// What schedulers tell each other; [`NoMessage`] for those that decide alone.
    type Message;

    /// A request arrives.
    fn arrive(&mut self, now: SimTime, request: Request<Self::Item>);

    /// The next request to serve, if one waits and may go. It is in service from now on.
    fn next(&mut self, now: SimTime) -> Option<Request<Self::Item>>;

    /// A request that [`Discipline::next`] gave has been served.
    fn complete(&mut self, now: SimTime, served: &Request<Self::Item>) {
        let _ = (now, served);
    }

    /// Whether an arrived request is wholly served once `served` is; called before [`Discipline::complete`].
    /// Always true, except for a discipline that gives requests in pieces.
    fn finishes(&self, served: &Request<Self::Item>) -> bool {
        let _ = served;
        true
    }

    /// When the discipline wants to be woken even if nothing arrives or completes.
    fn wake_at(&self) -> Option<SimTime> {
        None
    }

    /// The requested instant has come; being called at any other instant does no harm.
    fn wake(&mut self, now: SimTime) {
        let _ = now;
    }

    /// A message from another scheduler arrives.
    fn hear(&mut self, now: SimTime, from: SchedulerId, message: Self::Message) {
        let _ = (now, from, message);
    }

    /// The next message that this scheduler wants to send; each is returned once.
    fn tell(&mut self) -> Option<(Audience, Self::Message)> {
        None
    }

    /// The waiting requests, in any order that does not change from one call to the next.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<Self::Item>> + '_>;
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;

    fn hash(value: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    /// Recorded outcomes hold digests of states with requests in them.
    #[test]
    fn what_is_not_known_of_a_request_is_not_hashed() {
        let due = Some(SimTime::from_ns(7));
        let request = Request { due, ..Request::new(FlowId(3), 5, 9_u32) };
        assert_eq!(hash(&request), hash((FlowId(3), 5_u64, due, 9_u32)));
        let about = About { client: 1, ..About::default() };
        assert_ne!(hash(request.clone().about(about)), hash(&request));
    }
}
