//! The server's side of a get in Replicast: when it could read and send, and that it does so when it is
//! chosen.

use towtank_devices::{Lane, Service};
use towtank_units::{SimSpan, SimTime};

use crate::bids::{OwnBids, Reservation, State, Wanted};
use crate::{Action, ChunkName, GetId, Message, ServerId, Size, Step, Wake, Window};

/// What a server has offered and promised to send.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Deliveries {
    me: ServerId,
    list: OwnBids<GetId>,
}

/// What a request for a chunk says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The get.
    pub get: GetId,
    /// Of which chunk.
    pub chunk: ChunkName,
    /// How large it is.
    pub size: Size,
    /// Which round of the negotiation this is.
    pub round: u8,
    /// Windows before this are of no use.
    pub from: SimTime,
}

/// When the answer to a bid made now should be here. [`Terms::lead`](crate::Terms) is until a gateway that
/// has decided can send, so that a trip is missing. Who asks again has been told too late before: it is given
/// more time in each round.
#[must_use]
pub fn answered(round: u8, step: &Step<'_>) -> SimTime {
    let lead = step.terms.lead.saturating_mul(u64::from(round.clamp(1, ROUNDS_MAX)));
    step.now.saturating_add(lead).saturating_add(step.terms.fixed.trip)
}

/// The most leads that a bid waits for its answer.
const ROUNDS_MAX: u8 = 16;

impl Deliveries {
    /// Nothing offered yet.
    #[must_use]
    pub fn new(me: ServerId) -> Deliveries {
        Deliveries { me, list: OwnBids::default() }
    }

    /// What is offered and promised, in the order of their beginnings.
    #[must_use]
    pub fn list(&self) -> &[Reservation<GetId>] {
        self.list.list()
    }

    /// A gateway asks: a bid, or that this server lacks the chunk. `writes` may come to the disk before the
    /// answer does.
    pub fn offer(&mut self, asked: &Asked, disk: &Lane, writes: SimSpan, step: &mut Step<'_>) {
        let (terms, now, get, round) = (step.terms, step.now, asked.get, asked.round);
        self.list.forget(now);
        if !terms.holders(asked.chunk).contains(&self.me) {
            step.tell(get.gateway, Message::GetLacks { get, server: self.me, round }, SimSpan::ZERO);
            return;
        }
        // Asked twice, it offers anew; what it has promised it does not offer.
        self.list.cancel(get);
        if self.list().iter().any(|one| one.put == get) {
            return;
        }
        let size = terms.size(asked.size);
        let read = terms.write(self.me, asked.size);
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
        debug_assert!(window.left >= answered, "{window:?} begins before its answer can be here");
        step.tell(get.gateway, Message::GetBid { get, server: self.me, round, window }, SimSpan::ZERO);
    }

    /// The bid is taken: the chunk is read now, to be sent in its window. If it cannot be read by then, the
    /// gateway is told.
    pub fn accept(
        &mut self,
        (get, size, window): (GetId, Size, Window),
        disk: &mut Lane,
        step: &mut Step<'_>,
    ) {
        let read = step.terms.write(self.me, size);
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

    /// The bid is not taken.
    pub fn cancel(&mut self, get: GetId) {
        self.list.cancel(get);
    }

    /// The window of a get begins: the data go.
    pub fn send(&mut self, get: GetId, size: Size, step: &mut Step<'_>) {
        let promised = |one: &&Reservation<GetId>| one.put == get && one.state == State::Accepted;
        if let Some(one) = self.list().iter().find(promised) {
            let span = step.terms.size(size).net;
            step.act(Action::Deliver { get, size, span, window: one.window });
        }
    }
}
