//! The reservations of one server: bids that it has offered, and bids that were accepted.

mod holes;
mod own;

pub use holes::CommonBids;
pub use own::OwnBids;

use towtank_units::{SimSpan, SimTime};

use crate::{PutId, Window};

/// The state of a bid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum State {
    /// Offered; its gateway has not replied.
    Tentative,
    /// Accepted by its gateway.
    Accepted,
    /// Not accepted; the time may be offered again.
    Cancelled,
}

/// A reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Reservation<Id = PutId> {
    /// The put or other operation that the time is reserved for.
    pub put: Id,
    /// The reserved time.
    pub window: Window,
    /// The state of the bid.
    pub state: State,
}

/// The request for a bid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<Id = PutId> {
    /// The put or other operation that the time is for.
    pub put: Id,
    /// When the request was received.
    pub now: SimTime,
    /// A bid that begins earlier is of no use to the gateway.
    pub from: SimTime,
    /// The earliest time that data can arrive after the negotiation.
    pub soonest: SimTime,
    /// How much longer the disk is too busy.
    pub disk_wait: SimSpan,
    /// The width of a bid.
    pub bid: SimSpan,
    /// The transfer time of the data alone.
    pub net: SimSpan,
    /// The gap kept after the previous window.
    pub trip: SimSpan,
}

impl<Id> Wanted<Id> {
    /// How much a server without other work adds to its bid.
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
