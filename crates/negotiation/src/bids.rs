//! The reservations of one server: what it has offered, and what was taken.

mod holes;
mod own;

pub use holes::CommonBids;
pub use own::OwnBids;

use towtank_units::{SimSpan, SimTime};

use crate::{PutId, Window};

/// What became of a bid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum State {
    /// Offered; its gateway has not answered.
    Tentative,
    /// Taken.
    Accepted,
    /// Not taken; the time may be offered again.
    Cancelled,
}

/// A reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Reservation<Id = PutId> {
    /// For which put, or for which other thing.
    pub put: Id,
    /// The time set aside.
    pub window: Window,
    /// What became of it.
    pub state: State,
}

/// What a bid is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<Id = PutId> {
    /// The put, or what else the time is for.
    pub put: Id,
    /// When the request was heard.
    pub now: SimTime,
    /// A bid of no use to the gateway begins before.
    pub from: SimTime,
    /// The soonest that data can come after all is said.
    pub soonest: SimTime,
    /// How much longer the disk is too busy.
    pub disk_wait: SimSpan,
    /// How wide a bid is.
    pub bid: SimSpan,
    /// How long the data alone take.
    pub net: SimSpan,
    /// What lies between two windows.
    pub trip: SimSpan,
}

impl<Id> Wanted<Id> {
    /// What a server without other work adds to its bid.
    fn bonus(&self, idle: bool) -> SimSpan {
        if idle && self.disk_wait < self.net { self.net.saturating_mul(2) } else { SimSpan::ZERO }
    }
}

/// Two accepted reservations that overlap, if there are any.
#[must_use]
pub fn overlapping<Id: Copy>(reservations: &[Reservation<Id>]) -> Option<(Reservation<Id>, Reservation<Id>)> {
    let accepted = || reservations.iter().enumerate().filter(|(_, one)| one.state == State::Accepted);
    for (at, one) in accepted() {
        if let Some((_, other)) =
            accepted().find(|(next, other)| *next > at && other.window.overlaps(&one.window))
        {
            return Some((*one, *other));
        }
    }
    None
}
