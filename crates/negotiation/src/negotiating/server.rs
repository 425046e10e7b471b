//! The server's side: a bid for each request, a write for each chunk that has arrived.

use towtank_devices::{Lane, Service};
use towtank_units::{SimSpan, SimTime};

use super::Room;
use crate::bids::{CommonBids, OwnBids, Reservation, State, Wanted};
use crate::getting::{Accepted, Asked, Deliveries, answered};
use crate::{Action, ChunkName, Message, Protocol, PutId, ServerId, Size, Step, Terms, Wake};

/// The reservations of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Reservations {
    /// SURGE's list for Replicast-M.
    Common(CommonBids),
    /// The list of all others.
    Own(OwnBids),
}

/// A server of a negotiating group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct NegotiatingServer {
    me: ServerId,
    reservations: Reservations,
    deliveries: Deliveries,
    disk: Lane,
    room: Room,
}

impl NegotiatingServer {
    /// A server without work.
    #[must_use]
    pub fn new(me: ServerId, terms: &Terms) -> NegotiatingServer {
        let holes = terms.fixed.protocol == Protocol::ReplicastM && terms.fixed.rules.keeps_holes;
        let reservations = if holes {
            Reservations::Common(CommonBids::default())
        } else {
            Reservations::Own(OwnBids::default())
        };
        let (deliveries, disk, room) = (Deliveries::new(me), Lane::default(), Room::default());
        NegotiatingServer { me, reservations, deliveries, disk, room }
    }

    /// The reservations offered and promised.
    #[must_use]
    pub fn reservations(&self) -> &[Reservation] {
        match &self.reservations {
            Reservations::Common(bids) => bids.list(),
            Reservations::Own(bids) => bids.list(),
        }
    }

    /// The transfers to readers offered and promised.
    #[must_use]
    pub fn deliveries(&self) -> &Deliveries {
        &self.deliveries
    }

    /// The room for new chunks: what is reserved and stored.
    #[must_use]
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// The disk.
    #[must_use]
    pub fn disk(&self) -> &Lane {
        &self.disk
    }

    /// Handles a message. Answers to bids that it no longer knows change nothing.
    pub fn hear(&mut self, message: &Message, step: &mut Step<'_>) {
        if let Reservations::Common(bids) = &mut self.reservations
            && !matches!(message, Message::Trim { .. })
        {
            let reach = step.now.saturating_add(step.terms.control_and_trip());
            bids.expire(reach, least_bid(step.terms));
        }
        match *message {
            Message::Request { put, size, chunk, round, from } => {
                if let Some(holds) = self.declines(put, size, chunk, step.terms) {
                    let message = Message::Declined { put, server: self.me, round, holds };
                    step.tell(put.gateway, message, SimSpan::ZERO);
                } else {
                    self.bid(put, size, (round, from), step);
                }
            }
            Message::Accept { put, window } => {
                match &mut self.reservations {
                    Reservations::Common(bids) => bids.accept(put, window, step.terms.control),
                    Reservations::Own(bids) => bids.accept(put, window),
                };
                // A window that was not offered ends the reservation.
                if !self.reserves(put) {
                    self.room.release(put);
                }
            }
            Message::Cancel { put } => {
                match &mut self.reservations {
                    Reservations::Common(bids) => bids.cancel(put),
                    Reservations::Own(bids) => bids.cancel(put),
                };
                if !self.reserves(put) {
                    self.room.release(put);
                }
            }
            Message::Trim { put, window } => {
                if let Reservations::Own(bids) = &mut self.reservations {
                    bids.trim(put, window);
                }
            }
            _ => self.hear_of_get(message, step),
        }
    }

    /// Whether the server has a bid of this put that was not cancelled.
    fn reserves(&self, put: PutId) -> bool {
        self.reservations().iter().any(|one| one.put == put && one.state != State::Cancelled)
    }

    /// Whether the server does not bid: because it holds the chunk (true), or has no room for it (false).
    fn declines(&mut self, put: PutId, size: Size, chunk: Option<ChunkName>, terms: &Terms) -> Option<bool> {
        if chunk.is_some_and(|chunk| terms.holders(chunk).contains(&self.me)) {
            debug_assert!(!self.reserves(put), "a server that holds the chunk has bid for it");
            return Some(true);
        }
        let capacity = terms.fixed.capacity?;
        let fits = self.room.reserve(put, terms.size(size).bytes, capacity);
        (!fits).then_some(false)
    }

    fn hear_of_get(&mut self, message: &Message, step: &mut Step<'_>) {
        match *message {
            Message::GetRequest { get, chunk, size, round, from } => {
                let writes = self.writes_before(answered(round, step), step);
                self.deliveries.offer(&Asked { get, chunk, size, round, from }, &self.disk, writes, step);
            }
            Message::GetAccept { get, size, window } => {
                self.deliveries.accept(Accepted { get, size, window }, &mut self.disk, step);
            }
            Message::GetCancel { get } => self.deliveries.cancel(get),
            _ => {}
        }
    }

    /// Handles a timer that the state machine has set.
    pub fn wake(&mut self, wake: Wake, step: &mut Step<'_>) {
        if let Wake::Deliver { get, size } = wake {
            self.deliveries.send(get, size, step);
        }
    }

    /// The time that the disk may need for puts whose data can arrive before a bid made now is answered.
    /// Reservations do not record sizes, so each counts as the largest.
    fn writes_before(&self, answered: SimTime, step: &Step<'_>) -> SimSpan {
        let terms = step.terms;
        let coming = |one: &&Reservation| one.state != State::Cancelled && one.window.right <= answered;
        let count = self.reservations().iter().filter(coming).count();
        let sizes = (0..terms.sizes.len()).map(|at| terms.write(self.me, Size(at as u8)));
        sizes.max().unwrap_or_default().saturating_mul(count as u64)
    }

    /// All data of a put have arrived: queues the write, and returns the reservation that they used, if any.
    pub fn receive(&mut self, put: PutId, size: Size, step: &mut Step<'_>) -> Option<Reservation> {
        let reservation = match &mut self.reservations {
            Reservations::Common(bids) => bids.remove(put),
            Reservations::Own(bids) => bids.remove(put),
        };
        if step.terms.fixed.capacity.is_some() {
            self.room.store(put, step.terms.size(size).bytes);
        }
        let Service { begin, end } = self.disk.serve(step.now, step.terms.write(self.me, size));
        debug_assert!(self.disk.audit().is_ok(), "a disk has more work than time");
        step.act(Action::Write { put, size, begin, end });
        step.tell(put.gateway, Message::Ack { put, server: self.me }, end.since(step.now));
        reservation
    }

    fn bid(&mut self, put: PutId, size: Size, (round, from): (u8, SimTime), step: &mut Step<'_>) {
        let (terms, now) = (step.terms, step.now);
        let of_size = terms.size(size);
        let wanted = Wanted {
            put,
            now,
            from,
            soonest: now.saturating_add(terms.lead),
            disk_wait: self.disk_wait(size, step),
            bid: of_size.bid,
            net: of_size.net,
            trip: terms.fixed.trip,
        };
        let window = match &mut self.reservations {
            Reservations::Common(bids) => bids.offer(&wanted),
            Reservations::Own(bids) => {
                // A repeated request, or one retried after a lost message, gets a new bid, unless the server
                // has already accepted this put.
                bids.cancel(put);
                if bids.list().iter().any(|one| one.put == put) {
                    return;
                }
                // Idle servers of Replicast-M always make wide bids, those of Replicast-H at random.
                let idle = bids.list().is_empty();
                let wide = idle && (terms.fixed.protocol == Protocol::ReplicastM || step.draws.below(2) == 1);
                bids.offer(&wanted, wide)
            }
        };
        debug_assert!(window.right > step.now, "a window in the past is offered: {window:?}");
        let offered = |one: &Reservation| one.put == put && one.state == State::Tentative;
        debug_assert!(self.reservations().iter().any(offered), "a bid is not recorded");
        step.tell(put.gateway, Message::Bid { put, server: self.me, round, window }, SimSpan::ZERO);
    }

    /// How much longer the disk's queue is too long to promise more writes.
    fn disk_wait(&self, size: Size, step: &Step<'_>) -> SimSpan {
        let of_size = step.terms.size(size);
        let backlog = self.disk.backlog(step.now);
        let depth = self.disk.depth(step.now, step.terms.write(self.me, size));
        if depth < of_size.queue || backlog <= of_size.net {
            SimSpan::ZERO
        } else if depth > of_size.queue {
            backlog
        } else {
            backlog.saturating_sub(of_size.net)
        }
    }
}

/// The width of the narrowest bid that may be requested.
fn least_bid(terms: &Terms) -> SimSpan {
    terms.sizes.iter().map(|size| size.bid).min().unwrap_or(SimSpan::ZERO)
}
