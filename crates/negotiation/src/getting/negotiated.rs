//! The gateway's side of a get in Replicast: ask a group, accept one bid, wait for the data.

use towtank_units::{SimSpan, SimTime};

use crate::choice::Offer;
use crate::{
    Action, ChunkName, DoneGet, GatewayId, GetId, Message, Peer, ServerId, Size, Step, Terms, Wake, Window,
};

/// The gets of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct NegotiatedGets {
    me: GatewayId,
    next_number: u32,
    gets: Vec<Get>,
    /// When servers send to this gateway; past windows are removed at the next choice.
    receiving: Vec<(GetId, Window)>,
}

/// A get in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Get {
    number: u32,
    chunk: ChunkName,
    size: Size,
    created: SimTime,
    round: u8,
    /// Servers asked in this round.
    asked: Vec<ServerId>,
    /// Servers that have replied in this round.
    heard: Vec<ServerId>,
    /// Whether bids of this round are still expected.
    open: bool,
    offers: Vec<Offer>,
    chosen: Option<(ServerId, Window)>,
    /// Servers that did not reply in time.
    avoided: Vec<ServerId>,
    /// The earliest useful start of a window.
    from: SimTime,
    attempt: u32,
    /// Consecutive rounds without success.
    futile: u32,
}

/// How often the wait before another round doubles, at most.
const BACKOFFS_MAX: u32 = 8;

impl NegotiatedGets {
    /// A gateway without gets.
    #[must_use]
    pub fn new(me: GatewayId) -> NegotiatedGets {
        NegotiatedGets { me, next_number: 0, gets: Vec::new(), receiving: Vec::new() }
    }

    /// Number of gets in progress.
    #[must_use]
    pub fn len(&self) -> usize {
        self.gets.len()
    }

    /// The numbers of the gets in progress.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.gets.iter().map(|get| get.number)
    }

    /// Whether no get is in progress.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gets.is_empty()
    }

    /// Starts a get that was requested at `created`.
    pub fn submit(&mut self, size: Size, created: SimTime, step: &mut Step<'_>) {
        let number = self.next_number;
        self.next_number += 1;
        self.gets.push(Get {
            number,
            chunk: ChunkName(step.draws.next_u64()),
            size,
            created,
            round: 0,
            asked: Vec::new(),
            heard: Vec::new(),
            open: false,
            offers: Vec::new(),
            chosen: None,
            avoided: Vec::new(),
            from: step.now,
            attempt: 0,
            futile: 0,
        });
        self.ask(self.gets.len() - 1, step);
    }

    /// Handles a message about a get.
    pub fn hear(&mut self, message: &Message, step: &mut Step<'_>) {
        match *message {
            Message::GetBid { get, server, round, window } => self.consider(get, server, round, window, step),
            Message::GetLacks { get, server, round } => {
                if let Some(at) = self.awaiting(get.number, server, round) {
                    self.gets[at].heard.push(server);
                    self.decide_if_all_is_said(at, step);
                }
            }
            Message::GetDeclined { get, server } => {
                let declined = |one: &Get| one.chosen.is_some_and(|(chosen, _)| chosen == server);
                let Some(at) = self.find(get.number).filter(|at| declined(&self.gets[*at])) else { return };
                self.gets[at].chosen = None;
                self.receiving.retain(|(id, _)| *id != get);
                self.ask_later(at, step.now, step);
            }
            _ => {}
        }
    }

    /// All data of a get have arrived.
    pub fn receive(&mut self, get: GetId, step: &mut Step<'_>) {
        let Some(at) = self.find(get.number) else { return };
        // A server that was considered failed has sent after all, so no other server that was asked needs to
        // send.
        self.close_round(at, None, step);
        debug_assert!(self.gets.is_sorted_by_key(|get| get.number), "gets are out of order");
        let get = self.gets.remove(at);
        step.act(Action::GetDone(get.done(self.me)));
    }

    /// Handles a timer that the state machine has set.
    pub fn wake(&mut self, wake: Wake, step: &mut Step<'_>) {
        match wake {
            Wake::GetRound { number, round } => {
                let due = |get: &Get| get.round == round && !get.open && get.chosen.is_none();
                if let Some(at) = self.find(number).filter(|at| due(&self.gets[*at])) {
                    self.ask(at, step);
                }
            }
            Wake::GetBidsDue { number, round } => {
                let due = |get: &Get| get.round == round && get.open;
                let Some(at) = self.find(number).filter(|at| due(&self.gets[*at])) else { return };
                let get = &mut self.gets[at];
                let silent = get.asked.iter().filter(|server| !get.heard.contains(server));
                get.avoided.extend(silent.copied());
                self.decide(at, step);
            }
            Wake::GetDataDue { number, attempt } => {
                let due = |get: &Get| get.attempt == attempt && get.chosen.is_some();
                let Some(at) = self.find(number).filter(|at| due(&self.gets[*at])) else { return };
                let get = &mut self.gets[at];
                get.avoided.extend(get.chosen.take().map(|(server, _)| server));
                get.from = step.now;
                step.act(Action::GetRetried(GetId { gateway: self.me, number }));
                self.ask(at, step);
            }
            _ => {}
        }
    }

    fn find(&self, number: u32) -> Option<usize> {
        self.gets.iter().position(|get| get.number == number)
    }

    /// The get that waits for this server's reply.
    fn awaiting(&self, number: u32, server: ServerId, round: u8) -> Option<usize> {
        let waits = |get: &Get| {
            get.open && get.round == round && get.asked.contains(&server) && !get.heard.contains(&server)
        };
        self.find(number).filter(|at| waits(&self.gets[*at]))
    }

    fn consider(&mut self, id: GetId, server: ServerId, round: u8, window: Window, step: &mut Step<'_>) {
        let Some(at) = self.awaiting(id.number, server, round) else {
            // The bid is too late to be chosen, or a duplicate: unless the server is the chosen one, it must
            // not wait any longer.
            let chosen = |get: &Get| get.chosen.is_some_and(|(chosen, _)| chosen == server);
            let undecided = |get: &Get| get.open && get.heard.contains(&server);
            let known = self.find(id.number).map(|at| &self.gets[at]);
            if !known.is_some_and(|get| chosen(get) || undecided(get)) {
                let (to, message) = (Peer::Server(server), Message::GetCancel { get: id });
                step.act(Action::Send { to, message, after: SimSpan::ZERO });
            }
            return;
        };
        let get = &mut self.gets[at];
        get.heard.push(server);
        debug_assert!(get.offers.len() < get.heard.len(), "more servers have bid than have answered");
        debug_assert!(get.heard.len() <= get.asked.len(), "more servers have answered than were asked");
        get.offers.push(Offer { window, lot: step.draws.next_u64(), server });
        self.decide_if_all_is_said(at, step);
    }

    fn decide_if_all_is_said(&mut self, at: usize, step: &mut Step<'_>) {
        let get = &self.gets[at];
        if get.offers.len() >= step.terms.replicas() || get.heard.len() >= get.asked.len() {
            self.decide(at, step);
        }
    }

    /// Accepts the bid whose data would arrive first, at a time when no other server sends to this gateway.
    fn decide(&mut self, at: usize, step: &mut Step<'_>) {
        self.receiving.retain(|(_, window)| window.right > step.now);
        let busy: Vec<Window> = self.receiving.iter().map(|(_, window)| *window).collect();
        let get = &self.gets[at];
        let span = step.terms.size(get.size).window;
        let usable = |offer: &Offer| {
            let window = Window::of(Window::first_free(offer.window.left, span, &busy), span);
            (window.right <= offer.window.right).then_some((window, offer.lot, offer.server))
        };
        let best = get.offers.iter().filter_map(usable).min();
        let nobody = get.offers.is_empty();
        let chosen = best.map(|(window, _, server)| (server, window));
        self.close_round(at, chosen, step);
        if let Some(chosen) = chosen {
            self.await_data(at, chosen, step);
        } else if nobody {
            let get = self.gets.remove(at);
            step.act(Action::GetFailed(get.done(self.me)));
        } else {
            let from = busy.iter().map(|window| window.right).max().unwrap_or(step.now);
            self.ask_later(at, from, step);
        }
    }

    /// Tells all servers asked in an open round whether they were chosen.
    fn close_round(&mut self, at: usize, chosen: Option<(ServerId, Window)>, step: &mut Step<'_>) {
        let get = &mut self.gets[at];
        if !get.open {
            return;
        }
        get.open = false;
        let id = GetId { gateway: self.me, number: get.number };
        let size = get.size;
        let verdict = |server: &ServerId| match chosen {
            Some((chosen, window)) if chosen == *server => {
                (*server, Message::GetAccept { get: id, size, window })
            }
            _ => (*server, Message::GetCancel { get: id }),
        };
        step.act(Action::Multicast(get.asked.iter().map(verdict).collect()));
    }

    fn await_data(&mut self, at: usize, chosen: (ServerId, Window), step: &mut Step<'_>) {
        let get = &mut self.gets[at];
        get.chosen = Some(chosen);
        get.attempt += 1;
        debug_assert!(get.asked.contains(&chosen.0), "server {} sends and was not asked", chosen.0.0);
        debug_assert!(!get.avoided.contains(&chosen.0), "server {} sends and is avoided", chosen.0.0);
        debug_assert!(
            !self.receiving.iter().any(|(_, window)| window.overlaps(&chosen.1)),
            "two servers send to one gateway in {:?}",
            chosen.1
        );
        self.receiving.push((GetId { gateway: self.me, number: get.number }, chosen.1));
        if let Some(timeouts) = step.terms.fixed.timeouts {
            let wake = Wake::GetDataDue { number: get.number, attempt: get.attempt };
            step.act(Action::Wake { at: chosen.1.right.max(step.now).saturating_add(timeouts.acks), wake });
        }
    }

    /// Asks the group again after a random wait; asking at once would add to the load that caused the
    /// failure.
    fn ask_later(&mut self, at: usize, from: SimTime, step: &mut Step<'_>) {
        let get = &mut self.gets[at];
        let least = step.terms.size(get.size).net.max(step.terms.lead).as_ns();
        let wait = step.draws.below((least << get.futile.min(BACKOFFS_MAX)).max(1));
        get.futile += 1;
        get.from = from;
        let wake = Wake::GetRound { number: get.number, round: get.round };
        step.act(Action::Wake { at: step.now.saturating_add(SimSpan::from_ns(wait)), wake });
    }

    /// Multicasts a request to all servers of the group that may still reply; if there are none, the get has
    /// failed.
    fn ask(&mut self, at: usize, step: &mut Step<'_>) {
        let get = &mut self.gets[at];
        get.begin_round(step.terms);
        if get.asked.is_empty() {
            let get = self.gets.remove(at);
            step.act(Action::GetFailed(get.done(self.me)));
            return;
        }
        let message = Message::GetRequest {
            get: GetId { gateway: self.me, number: get.number },
            chunk: get.chunk,
            size: get.size,
            round: get.round,
            from: get.from.max(step.now),
        };
        step.act(Action::Multicast(get.asked.iter().map(|server| (*server, message)).collect()));
        if let Some(timeouts) = step.terms.fixed.timeouts {
            let wake = Wake::GetBidsDue { number: get.number, round: get.round };
            step.act(Action::Wake { at: step.now.saturating_add(timeouts.bids), wake });
        }
    }
}

impl Get {
    fn done(&self, gateway: GatewayId) -> DoneGet {
        DoneGet { get: GetId { gateway, number: self.number }, size: self.size, created: self.created }
    }

    fn begin_round(&mut self, terms: &Terms) {
        self.round = self.round.wrapping_add(1);
        self.open = true;
        self.heard.clear();
        self.offers.clear();
        let members = terms.members(terms.group_of(self.chunk));
        self.asked = members.filter(|server| !self.avoided.contains(server)).collect();
        debug_assert!(
            self.chosen.is_none(),
            "a get is requested although its sender is chosen: {:?}",
            self.chosen
        );
    }
}
