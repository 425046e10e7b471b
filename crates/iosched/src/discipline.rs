//! What every queue discipline is to those who ask it: a state that is told what happens and says who is
//! served next.
//!
//! # Who calls what
//!
//! 1. A request comes: [`Discipline::arrive`]. A place of the resource falls free: [`Discipline::complete`].
//!    A scheduler elsewhere says something: [`Discipline::hear`]. The instant of [`Discipline::wake_at`] has
//!    come: [`Discipline::wake`].
//! 2. After each of these, and as long as the resource has room: [`Discipline::next`], until it gives
//!    nothing. Nothing may mean that nothing waits, or that nobody may go yet: because as many are in service
//!    as the discipline wants there (SFQ(D)), or because tokens are missing.
//! 3. Then [`Discipline::tell`] until it gives nothing: messages to other schedulers; and
//!    [`Discipline::wake_at`]. An instant that has been asked for may be forgotten only when a call gives
//!    another one; being woken too soon or in vain does no harm.
//!
//! `now` never goes back and is always an argument: the crate reads no clock, so a simulator and a store ask
//! in the same way.
//!
//! # How the kinds fit
//!
//! - Fair queueing tags a request when it comes, by its flow and cost; with a depth (SFQ(D)) it counts `next`
//!   and `complete`.
//! - Priorities and deadlines choose by [`Request::flow`] and [`Request::due`]. A class that is promoted when
//!   it has waited too long asks to be woken then.
//! - A token bucket gives nothing until it holds enough, and asks to be woken at that instant.
//! - Distributed fair queueing (DSFQ, and its variants that exchange virtual times) tells the others what its
//!   flows got or how far its virtual time is, and moves its tags on when it hears the same of them. How long
//!   a message takes, and whether it arrives, is decided by who carries it.
//!
//! # One scheduler before several servers
//!
//! Who stands before several servers reads [`About::server`] of what [`Discipline::next`] gives. Whether a
//! server has room is counted by the discipline, which is told of every completion.
//!
//! # Requests given in pieces
//!
//! A discipline may cut a request: it gives clones of it that carry a [`Piece`] and the piece's cost and
//! offset. Each is served and told to [`Discipline::complete`] by itself; [`Discipline::finishes`] says with
//! which one the request is done.
//!
//! # How it is undone
//!
//! A discipline is part of the state of an entity, and an event that is taken back takes it back too. Every
//! discipline can be cloned, which is all that undo by clone needs. One with many requests may keep them in
//! containers that journal instead (a mark before an event, `revert` to it, `forget` when it has committed):
//! these are fields of its own, so it offers their marks to the entity that holds it, in the way of these
//! containers. The trait does not ask for it, since most need none.

use std::convert::Infallible;
use std::hash::{Hash, Hasher};

use towtank_units::SimTime;

/// Whose a request is: a tenant, a client, a class of work. What it means to a discipline was said when that
/// was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct FlowId(pub u32);

/// One of several schedulers that exchange messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct SchedulerId(pub u32);

/// Something that wants to be served.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Request<T> {
    /// Whose it is.
    pub flow: FlowId,
    /// What it will take of the resource, in any unit that all flows share.
    pub cost: u64,
    /// By when it should be done, if it is in a hurry.
    pub due: Option<SimTime>,
    /// What it touches and where it comes from, for the disciplines that look at more than the flow.
    pub about: About,
    /// What whoever serves it needs to know of it.
    pub item: T,
}

impl<T> Request<T> {
    /// A request that is in no hurry, and of which nothing else is known.
    #[must_use]
    pub fn new(flow: FlowId, cost: u64, item: T) -> Request<T> {
        Request { flow, cost, due: None, about: About::default(), item }
    }

    /// The same request, and what else is known of it.
    #[must_use]
    pub fn about(self, about: About) -> Request<T> {
        Request { about, ..self }
    }
}

impl<T: Hash> Hash for Request<T> {
    /// What is not known of a request is not hashed: the digests of models that say nothing of it do not
    /// depend on what there is to say.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Request { flow, cost, due, about, item } = self;
        (flow, cost, due).hash(state);
        if *about != About::default() {
            about.hash(state);
        }
        item.hash(state);
    }
}

/// What a request does.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Access {
    /// It takes data out.
    #[default]
    Read,
    /// It puts data in.
    Write,
}

/// What a request touches and where it comes from. Each discipline says which fields it looks at; the rest
/// may be left as [`About::default`] has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct About {
    /// The machine that sends it: Lustre's client NID.
    pub client: u32,
    /// The server that it is for, where one scheduler stands before several.
    pub server: u32,
    /// The file or object that it touches.
    pub object: u64,
    /// Its first byte there.
    pub offset: u64,
    /// Whether it reads or writes.
    pub access: Access,
    /// When it rose at its client; deadlines count from there.
    pub rose: SimTime,
    /// The larger request that it is a part of.
    pub record: Record,
    /// What its client got since it last sent to this server (dmClock).
    pub feedback: Feedback,
    /// Which piece of a request this is. A discipline that cuts requests sets it when it gives a piece.
    pub piece: Piece,
    /// A mark by which the discipline that gave it knows it again; whoever serves it leaves it as it is.
    pub ticket: u64,
}

/// A larger request whose parts go to several servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Record {
    /// Which; unique among those under way.
    pub id: u64,
    /// How many requests it has in all.
    pub jobs: u32,
}

impl Default for Record {
    fn default() -> Record {
        Record { id: 0, jobs: 1 }
    }
}

/// What a client says of the service that it got elsewhere, in units of cost: the delta and rho of dmClock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Feedback {
    /// Served in any way.
    pub delta: u64,
    /// Served to keep a reservation.
    pub rho: u64,
}

/// A piece of a request, by number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Piece {
    /// Which.
    pub number: u32,
    /// Of how many.
    pub of: u32,
}

impl Piece {
    /// A request that is not cut.
    pub const WHOLE: Piece = Piece { number: 0, of: 1 };

    /// Whether pieces of the request are given after this one.
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

/// Who is to hear a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Audience {
    /// One scheduler.
    One(SchedulerId),
    /// All others.
    Others,
}

/// The message of those that have nothing to tell.
pub type NoMessage = Infallible;

/// A queue discipline. See the crate for who calls what.
pub trait Discipline: Clone {
    /// What requests carry.
    type Item;
    /// What schedulers tell each other; [`NoMessage`] for those that decide alone.
    type Message;

    /// A request comes.
    fn arrive(&mut self, now: SimTime, request: Request<Self::Item>);

    /// Who is served next, if somebody waits and may go. It is in service from now on.
    fn next(&mut self, now: SimTime) -> Option<Request<Self::Item>>;

    /// A request that [`Discipline::next`] gave has been served.
    fn complete(&mut self, now: SimTime, served: &Request<Self::Item>) {
        let _ = (now, served);
    }

    /// Whether a request that came is wholly served once `served` is; to be asked before
    /// [`Discipline::complete`] is told. Always, but for a discipline that gives requests in pieces.
    fn finishes(&self, served: &Request<Self::Item>) -> bool {
        let _ = served;
        true
    }

    /// When this wants to be woken although nothing comes and nothing is done.
    fn wake_at(&self) -> Option<SimTime> {
        None
    }

    /// An instant has come that was asked for, or another.
    fn wake(&mut self, now: SimTime) {
        let _ = now;
    }

    /// Another scheduler has told this one something.
    fn hear(&mut self, now: SimTime, from: SchedulerId, message: Self::Message) {
        let _ = (now, from, message);
    }

    /// The next message that this scheduler wants sent; each is given once.
    fn tell(&mut self) -> Option<(Audience, Self::Message)> {
        None
    }

    /// Who waits, in any order that does not change from one call to the next.
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

    /// Outcomes on record hold digests of states with requests in them.
    #[test]
    fn what_is_not_known_of_a_request_is_not_hashed() {
        let due = Some(SimTime::from_ns(7));
        let request = Request { due, ..Request::new(FlowId(3), 5, 9_u32) };
        assert_eq!(hash(&request), hash((FlowId(3), 5_u64, due, 9_u32)));
        let about = About { client: 1, ..About::default() };
        assert_ne!(hash(request.clone().about(about)), hash(&request));
    }
}
