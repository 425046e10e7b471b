//! The server's side of a get in Replicast: offers times to read and send, and sends when it is chosen.

use towtank_devices::{Lane, Service};
use towtank_units::{SimSpan, SimTime};

use crate::bids::{OwnBids, Reservation, State, Wanted};
use crate::{Action, ChunkName, GetId, Message, ServerId, Size, Step, Wake, Window};

/// The transfers to readers that a server has offered and promised.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Deliveries {
    me: ServerId,
    list: OwnBids<GetId>,
}

/// A request for a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The get.
    pub get: GetId,
    /// The chunk.
    pub chunk: ChunkName,
    /// Its size.
    pub size: Size,
    /// The round of the negotiation.
    pub round: u8,
    /// The earliest useful start of a window.
    pub from: SimTime,
}

/// A bid that a gateway has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The get.
    pub get: GetId,
    /// The size of its chunk.
    pub size: Size,
    /// When the chunk is sent.
    pub window: Window,
}

/// When the reply to a bid made now should arrive. [`Terms::lead`](crate::Terms) lasts until a gateway that
/// has decided can send, so a trip time is added. A gateway that asks again was answered too late before, so
/// each round gets more time.
#[must_use]
pub fn answered(round: u8, step: &Step<'_>) -> SimTime {
    let lead = step.terms.lead.saturating_mul(u64::from(round.clamp(1, ROUNDS_MAX)));
    step.now.saturating_add(lead).saturating_add(step.terms.fixed.trip)
}

/// The largest multiple of the lead for which a bid waits for its reply.
const ROUNDS_MAX: u8 = 16;

impl Deliveries {
    /// A server that has offered nothing.
    #[must_use]
    pub fn new(me: ServerId) -> Deliveries {
        Deliveries { me, list: OwnBids::default() }
    }

    /// Offered and promised transfers in order of their start times.
    #[must_use]
    pub fn list(&self) -> &[Reservation<GetId>] {
        self.list.list()
    }

    /// Replies to a gateway's request with a bid, or that this server lacks the chunk. `writes` may reach the
    /// disk before the gateway's answer does.
    pub fn offer(&mut self, asked: &Asked, disk: &Lane, writes: SimSpan, step: &mut Step<'_>) {
        let (terms, now, get, round) = (step.terms, step.now, asked.get, asked.round);
        self.list.forget(now);
        if !terms.holders(asked.chunk).contains(&self.me) {
            step.tell(get.gateway, Message::GetLacks { get, server: self.me, round }, SimSpan::ZERO);
            return;
        }
        // A repeated request gets a new bid, unless the server has already promised to send.
        self.list.cancel(get);
        if self.list().iter().any(|one| one.put == get) {
            return;
        }
        let size = terms.size(asked.size);
        let read = terms.read(self.me, asked.size);
        let others = self.list().iter().filter(|one| one.state == State::Tentative).count();
        let before = writes.saturating_add(read.saturating_mul(others as u64));
        let answered = answered(asked.round, step);
        let free = now.saturating_add(disk.backlog(now)).saturating_add(before).max(answered);
        let ready = free.saturating_add(read);
        let wanted = Wanted {
            put: get,
            now,
            from: asked.from,
            soonest: ready,
            disk_wait: SimSpan::ZERO,
            bid: size.bid,
            net: size.net,
            trip: terms.fixed.trip,
        };
        let window = self.list.offer(&wanted, false);
        debug_assert!(window.left >= answered, "{window:?} begins before its answer can arrive");
        step.tell(get.gateway, Message::GetBid { get, server: self.me, round, window }, SimSpan::ZERO);
    }

    /// The bid is accepted: the chunk is read now, to be sent in its window. If it cannot be read in time,
    /// the gateway is notified.
    pub fn accept(&mut self, bid: Accepted, disk: &mut Lane, step: &mut Step<'_>) {
        let Accepted { get, size, window } = bid;
        let read = step.terms.read(self.me, size);
        let begin = step.now.saturating_add(disk.backlog(step.now));
        if self.list().iter().any(|one| one.put == get && one.state == State::Accepted) {
            return;
        }
        if begin.saturating_add(read) > window.left || !self.list.accept(get, window) {
            self.list.cancel(get);
            step.tell(get.gateway, Message::GetDeclined { get, server: self.me }, SimSpan::ZERO);
            return;
        }
        let Service { begin, end } = disk.serve(step.now, read);
        debug_assert!(end <= window.left, "a chunk is read by {end}, after {window:?} has begun");
        step.act(Action::Read { get, begin, end });
        step.act(Action::Wake { at: window.left, wake: Wake::Deliver { get, size } });
    }

    /// The bid is cancelled.
    pub fn cancel(&mut self, get: GetId) {
        self.list.cancel(get);
    }

    /// The window of a get begins: sends the data.
    pub fn send(&mut self, get: GetId, size: Size, step: &mut Step<'_>) {
        let promised = |one: &&Reservation<GetId>| one.put == get && one.state == State::Accepted;
        if let Some(one) = self.list().iter().find(promised) {
            let span = step.terms.size(size).net;
            step.act(Action::Deliver { get, size, span, window: one.window });
        }
    }
}
