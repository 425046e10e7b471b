//! The gateway's side: ask a group, choose among its bids, send in the chosen windows.

use towtank_units::{SimSpan, SimTime};

use super::Flow;
use crate::choice::{self, CommonWanted, Offer, Pick, SequenceWanted};
use crate::getting::NegotiatedGets;
use crate::{
    Action, ChunkName, Done, GatewayId, Message, Peer, Protocol, PutId, ServerId, Size, Step, Terms, Wake,
    Window,
};

/// A gateway of Replicast.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct NegotiatingGateway {
    me: GatewayId,
    next_number: u32,
    previous_group: Option<u32>,
    puts: Vec<Put>,
    /// Its gets.
    pub gets: NegotiatedGets,
}

/// A put in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Put {
    number: u32,
    size: Size,
    created: SimTime,
    group: u32,
    /// The name of the chunk, if it may be stored already.
    chunk: Option<ChunkName>,
    round: u8,
    /// Bids still expected; 0 outside a negotiation.
    expected: u32,
    offers: Vec<Offer>,
    /// The chosen servers, and whether they have acknowledged.
    holders: Vec<(ServerId, bool)>,
    /// Servers that did not reply in time, or have no room.
    avoided: Vec<ServerId>,
    flows: Vec<Flow>,
    /// The end of the chosen windows from which an earlier round was planned.
    planned_from: Option<SimTime>,
    /// The earliest start of windows in the next round.
    from: SimTime,
    attempt: u32,
    groups_tried: u32,
    /// Consecutive rounds that found no window.
    futile: u32,
}

/// How often the wait before another round doubles, at most.
const BACKOFFS_MAX: u32 = 8;

impl NegotiatingGateway {
    /// A gateway without puts.
    #[must_use]
    pub fn new(me: GatewayId) -> NegotiatingGateway {
        let gets = NegotiatedGets::new(me);
        NegotiatingGateway { me, next_number: 0, previous_group: None, puts: Vec::new(), gets }
    }

    /// Number of puts in progress.
    #[must_use]
    pub fn puts(&self) -> usize {
        self.puts.len()
    }

    /// The numbers of the puts in progress.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.puts.iter().map(|put| put.number)
    }

    /// Number of puts whose data have not all been sent.
    #[must_use]
    pub fn sending(&self, terms: &Terms) -> usize {
        self.puts.iter().filter(|put| put.is_sending(terms)).count()
    }

    /// Starts a put of a new chunk that was created at `created`.
    pub fn submit(&mut self, size: Size, created: SimTime, step: &mut Step<'_>) {
        let group = self.draw_group(step);
        self.begin((size, None), group, created, step);
    }

    /// Starts a put of a chunk that is stored already; its name determines its group and its holders.
    pub fn submit_stored(&mut self, size: Size, created: SimTime, step: &mut Step<'_>) {
        let chunk = ChunkName(step.draws.next_u64());
        let group = step.terms.group_of(chunk);
        self.previous_group = Some(group);
        self.begin((size, Some(chunk)), group, created, step);
    }

    fn begin(
        &mut self,
        (size, chunk): (Size, Option<ChunkName>),
        group: u32,
        created: SimTime,
        step: &mut Step<'_>,
    ) {
        let number = self.next_number;
        self.next_number += 1;
        let mut put = Put {
            number,
            size,
            created,
            group,
            chunk,
            round: 0,
            expected: 0,
            offers: Vec::new(),
            holders: Vec::new(),
            avoided: Vec::new(),
            flows: Vec::new(),
            planned_from: None,
            from: step.now,
            attempt: 0,
            groups_tried: 1,
            futile: 0,
        };
        put.ask(self.me, step);
        let newer = self.puts.last().is_none_or(|last| last.number < number);
        debug_assert!(newer, "put {number} starts after a later one");
        self.puts.push(put);
        self.hold_data(step);
    }

    /// Handles a message.
    pub fn hear(&mut self, message: &Message, step: &mut Step<'_>) {
        match *message {
            Message::Bid { put, server, round, window } => self.consider(put, server, round, window, step),
            Message::Declined { put, server, round, holds } => {
                self.declined(put, (server, round), holds, step)
            }
            Message::Ack { put, server } => self.acknowledge(put.number, server, step),
            _ => self.gets.hear(message, step),
        }
    }

    /// Handles a timer that the state machine has set.
    pub fn wake(&mut self, wake: Wake, step: &mut Step<'_>) {
        match wake {
            Wake::LastFrame { number, server, generation } => {
                self.finish_flow(number, server, generation, step);
            }
            Wake::Round { number, round } => {
                let Some(at) = self.find(number).filter(|at| self.puts[*at].round == round) else { return };
                self.puts[at].ask(self.me, step);
                self.hold_data(step);
                if self.puts[at].expected == 0 {
                    self.try_next_group(at, step);
                }
            }
            Wake::BidsDue { number, round } => {
                let due = |put: &Put| put.round == round && put.expected > 0;
                let Some(at) = self.find(number).filter(|at| due(&self.puts[*at])) else { return };
                self.puts[at].give_up_silent(step.terms);
                self.decide(at, step);
            }
            Wake::AcksDue { number, attempt } => {
                if let Some(at) = self.find(number).filter(|at| self.puts[*at].attempt == attempt) {
                    self.replace_holders(at, step);
                }
            }
            _ => self.gets.wake(wake, step),
        }
    }

    /// Draws any group but the previous one, like a hash that never repeats.
    fn draw_group(&mut self, step: &mut Step<'_>) -> u32 {
        let groups = step.terms.groups().max(1);
        let mut group = step.draws.below(u64::from(groups)) as u32;
        if Some(group) == self.previous_group {
            group = step.draws.below(u64::from(groups)) as u32;
        }
        if Some(group) == self.previous_group {
            group = (group + 1) % groups;
        }
        debug_assert!(group < groups, "group {group} of {groups}");
        let again = groups > 1 && self.previous_group == Some(group);
        debug_assert!(!again, "group {group} is drawn twice in a row");
        self.previous_group = Some(group);
        group
    }

    fn find(&self, number: u32) -> Option<usize> {
        self.puts.iter().position(|put| put.number == number)
    }

    fn consider(&mut self, id: PutId, server: ServerId, round: u8, window: Window, step: &mut Step<'_>) {
        let Some(at) = self.find(id.number).filter(|at| self.puts[*at].wants_bid(server, round)) else {
            // The bid came too late to be chosen; the server must not wait for an answer.
            let late = self.find(id.number).is_none_or(|at| !self.puts[at].holds(server));
            if late {
                let (to, message) = (Peer::Server(server), Message::Cancel { put: id });
                step.act(Action::Send { to, message, after: SimSpan::ZERO });
            }
            return;
        };
        let put = &mut self.puts[at];
        put.offers.push(Offer { window, lot: step.draws.next_u64(), server });
        put.expected -= 1;
        let (offers, expected) = (put.offers.len(), put.expected);
        debug_assert!(
            offers + expected as usize <= step.terms.fixed.group as usize,
            "{offers} servers have bid and {expected} will, more than are in a group"
        );
        if put.expected == 0 {
            self.decide(at, step);
        }
    }

    /// A server does not bid: it holds the chunk, which counts as a replica, or it has no room.
    fn declined(&mut self, id: PutId, (server, round): (ServerId, u8), holds: bool, step: &mut Step<'_>) {
        let waits = |at: &usize| self.puts[*at].wants_bid(server, round);
        let Some(at) = self.find(id.number).filter(waits) else { return };
        let put = &mut self.puts[at];
        if holds {
            put.holders.push((server, true));
        } else {
            put.avoided.push(server);
        }
        put.expected -= 1;
        if put.expected == 0 {
            self.decide(at, step);
        }
    }

    /// All replicas exist: nothing is sent, and those that bid are notified.
    fn end_stored(&mut self, at: usize, step: &mut Step<'_>) {
        let mut put = self.puts.remove(at);
        if !put.offers.is_empty() {
            let id = PutId { gateway: self.me, number: put.number };
            put.answer(id, &[], step);
        }
        step.act(Action::Done(put.done(self.me)));
    }

    /// Chooses among the bids of a round.
    fn decide(&mut self, at: usize, step: &mut Step<'_>) {
        let terms = step.terms;
        let busy: Vec<Window> = self.busy();
        let put = &mut self.puts[at];
        put.expected = 0;
        choice::rank(&mut put.offers);
        let id = PutId { gateway: self.me, number: put.number };
        if put.holders.iter().filter(|holder| holder.1).count() >= terms.replicas() {
            self.end_stored(at, step);
            return;
        }
        if put.offers.is_empty() {
            self.try_next_group(at, step);
            return;
        }
        let picks = match terms.fixed.protocol {
            Protocol::ReplicastH => put.pick_sequence(&busy, step),
            _ => put.pick_common(&busy, step),
        };
        if terms.fixed.rules.trims_at_once {
            for pick in picks.iter().filter(|pick| pick.trimmed) {
                let message = Message::Trim { put: id, window: pick.window };
                step.act(Action::AtOnce { to: pick.server, message });
            }
        }
        put.answer(id, &picks, step);
        self.hold_data(step);
        let put = &mut self.puts[at];
        if picks.is_empty() && terms.fixed.rules.drops_chunks {
            self.puts.remove(at);
            step.act(Action::Dropped(id));
            return;
        }
        put.begin_flows(self.me, &picks, step);
        put.plan_round(&picks, step);
    }

    /// The windows in which this gateway sends data.
    fn busy(&self) -> Vec<Window> {
        let flows = self.puts.iter().flat_map(|put| &put.flows);
        flows.filter(|flow| flow.goes_on()).map(|flow| flow.window).collect()
    }

    /// A control message is being sent, and the frames of data wait for it if the rules say so.
    fn hold_data(&mut self, step: &mut Step<'_>) {
        if !step.terms.fixed.rules.control_holds_data || step.terms.fixed.protocol != Protocol::ReplicastH {
            return;
        }
        let (now, free) = (step.now, step.terms.control_end(step.now));
        for put in &mut self.puts {
            let (number, frame) = (put.number, step.terms.size(put.size).frame);
            for flow in &mut put.flows {
                if flow.hold(now, free, frame) {
                    remind(number, flow, frame, step);
                }
            }
        }
    }

    fn finish_flow(&mut self, number: u32, server: ServerId, generation: u32, step: &mut Step<'_>) {
        let Some(at) = self.find(number) else { return };
        let put = &mut self.puts[at];
        let current =
            |flow: &&mut Flow| flow.to[0] == server && flow.generation == generation && flow.goes_on();
        let Some(flow) = put.flows.iter_mut().find(current) else { return };
        flow.finish();
        let (to, began, window) = (flow.to.clone(), flow.began, flow.window);
        let id = PutId { gateway: self.me, number };
        step.act(Action::Data {
            to,
            put: id,
            size: put.size,
            began,
            span: step.terms.size(put.size).last,
            window,
        });
        if let Some(timeouts) = step.terms.fixed.timeouts {
            put.attempt += 1;
            let wake = Wake::AcksDue { number, attempt: put.attempt };
            step.act(Action::Wake { at: step.now.saturating_add(timeouts.acks), wake });
        }
    }

    fn acknowledge(&mut self, number: u32, server: ServerId, step: &mut Step<'_>) {
        let Some(at) = self.find(number) else { return };
        let put = &mut self.puts[at];
        if let Some(holder) = put.holders.iter_mut().find(|holder| holder.0 == server) {
            holder.1 = true;
        }
        let acknowledged = put.holders.iter().filter(|holder| holder.1).count();
        debug_assert!(acknowledged <= step.terms.replicas(), "{acknowledged} servers have a put");
        if acknowledged == step.terms.replicas() {
            let put = self.puts.remove(at);
            step.act(Action::Done(put.done(self.me)));
        }
    }

    /// Replaces servers that have not acknowledged in time by others of the group.
    fn replace_holders(&mut self, at: usize, step: &mut Step<'_>) {
        let put = &mut self.puts[at];
        let silent: Vec<ServerId> = put
            .holders
            .iter()
            .filter(|holder| !holder.1 && !put.sends_to(holder.0))
            .map(|holder| holder.0)
            .collect();
        if silent.is_empty() || put.expected > 0 {
            return;
        }
        put.holders.retain(|holder| !silent.contains(&holder.0));
        debug_assert!(
            !silent.iter().any(|server| put.avoided.contains(server)),
            "servers that did not answer were chosen: {silent:?}"
        );
        put.avoided.extend(silent);
        put.from = step.now;
        step.act(Action::Retried(PutId { gateway: self.me, number: put.number }));
        put.ask(self.me, step);
        if put.expected == 0 {
            self.try_next_group(at, step);
        }
    }

    /// No server of the group is left: continues with the next group, or fails after the last one.
    fn try_next_group(&mut self, at: usize, step: &mut Step<'_>) {
        let put = &mut self.puts[at];
        while put.groups_tried < step.terms.groups() {
            put.groups_tried += 1;
            put.group = (put.group + 1) % step.terms.groups();
            put.from = step.now;
            step.act(Action::Retried(PutId { gateway: self.me, number: put.number }));
            put.ask(self.me, step);
            if put.expected > 0 {
                return;
            }
        }
        let put = self.puts.remove(at);
        debug_assert!(
            put.groups_tried <= step.terms.groups().max(1),
            "{} groups were tried",
            put.groups_tried
        );
        step.act(Action::Failed(put.done(self.me)));
    }
}

/// Sets a timer for the start of a flow's last frame.
fn remind(number: u32, flow: &Flow, frame: SimSpan, step: &mut Step<'_>) {
    let wake = Wake::LastFrame { number, server: flow.to[0], generation: flow.generation };
    step.act(Action::Wake { at: flow.last_frame(frame), wake });
}

impl Put {
    fn done(&self, gateway: GatewayId) -> Done {
        let put = PutId { gateway, number: self.number };
        Done { put, size: self.size, created: self.created }
    }

    fn holds(&self, server: ServerId) -> bool {
        self.holders.iter().any(|holder| holder.0 == server)
    }

    fn sends_to(&self, server: ServerId) -> bool {
        self.flows.iter().any(|flow| flow.goes_on() && flow.to.contains(&server))
    }

    /// Whether replicas are still to be negotiated, or frames to be sent.
    fn is_sending(&self, terms: &Terms) -> bool {
        self.missing(terms) > 0 || self.flows.iter().any(Flow::goes_on)
    }

    fn wants_bid(&self, server: ServerId, round: u8) -> bool {
        let heard = self.offers.iter().any(|offer| offer.server == server);
        self.expected > 0 && self.round == round && !heard && !self.holds(server)
    }

    fn missing(&self, terms: &Terms) -> usize {
        terms.replicas().saturating_sub(self.holders.len())
    }

    /// Members of the group that may still be asked.
    fn candidates(&self, terms: &Terms) -> Vec<ServerId> {
        terms
            .members(self.group)
            .filter(|server| !self.holds(*server) && !self.avoided.contains(server))
            .collect()
    }

    /// Multicasts a request.
    fn ask(&mut self, gateway: GatewayId, step: &mut Step<'_>) {
        self.round = self.round.wrapping_add(1);
        self.offers.clear();
        let id = PutId { gateway, number: self.number };
        let (size, chunk, round) = (self.size, self.chunk, self.round);
        let message = Message::Request { put: id, size, chunk, round, from: self.from.max(step.now) };
        let to: Vec<(ServerId, Message)> =
            self.candidates(step.terms).into_iter().map(|server| (server, message)).collect();
        self.expected = to.len() as u32;
        if to.is_empty() {
            return;
        }
        step.act(Action::Multicast(to));
        if let Some(timeouts) = step.terms.fixed.timeouts {
            let wake = Wake::BidsDue { number: self.number, round: self.round };
            step.act(Action::Wake { at: step.now.saturating_add(timeouts.bids), wake });
        }
    }

    /// Servers that have not bid by now are not asked again.
    fn give_up_silent(&mut self, terms: &Terms) {
        let heard = |server: &ServerId| self.offers.iter().any(|offer| offer.server == *server);
        let silent: Vec<ServerId> =
            self.candidates(terms).into_iter().filter(|server| !heard(server)).collect();
        self.avoided.extend(silent);
    }

    fn pick_common(&self, busy: &[Window], step: &Step<'_>) -> Vec<Pick> {
        let terms = step.terms;
        let wanted = CommonWanted {
            servers: self.missing(terms).min(self.offers.len()),
            span: terms.size(self.size).window,
            floor: terms.control_end(step.now),
            skips_last: terms.fixed.rules.skips_last_choice,
            busy,
        };
        let Some((servers, window)) = choice::common(&self.offers, &wanted) else { return Vec::new() };
        servers.into_iter().map(|server| Pick { server, window, trimmed: false }).collect()
    }

    fn pick_sequence(&self, busy: &[Window], step: &Step<'_>) -> Vec<Pick> {
        let terms = step.terms;
        let size = terms.size(self.size);
        let mut offers = self.offers.clone();
        if !terms.fixed.rules.trims_at_once {
            // A gateway that is already sending, or received the bid late, can use less of it.
            offers.retain_mut(|offer| {
                let left = offer.window.left.max(terms.control_end(step.now));
                offer.window.left = Window::first_free(left, size.window, busy);
                offer.window.span() >= size.window
            });
            choice::rank(&mut offers);
        }
        let wanted = SequenceWanted {
            servers: self.missing(terms),
            span: size.window,
            gap: terms.gap,
            frame: size.frame,
        };
        choice::sequence(&offers, &wanted)
    }

    /// Tells all servers that bid whether they were chosen.
    fn answer(&mut self, id: PutId, picks: &[Pick], step: &mut Step<'_>) {
        let verdict = |offer: &Offer| match picks.iter().find(|pick| pick.server == offer.server) {
            Some(pick) => (offer.server, Message::Accept { put: id, window: pick.window }),
            None => (offer.server, Message::Cancel { put: id }),
        };
        let mut answers: Vec<(ServerId, Message)> = self.offers.iter().map(verdict).collect();
        answers.sort_unstable_by_key(|(server, _)| *server);
        debug_assert!(answers.windows(2).all(|pair| pair[0].0 < pair[1].0), "a server is answered twice");
        step.act(Action::Multicast(answers));
        debug_assert!(
            !picks.iter().any(|pick| self.holds(pick.server)),
            "a server is chosen again: {picks:?}"
        );
        self.holders.extend(picks.iter().map(|pick| (pick.server, false)));
        let (holders, replicas) = (self.holders.len(), step.terms.replicas());
        debug_assert!(holders <= replicas, "{holders} servers are chosen for {replicas} replicas");
    }

    fn begin_flows(&mut self, gateway: GatewayId, picks: &[Pick], step: &mut Step<'_>) {
        let (terms, number) = (step.terms, self.number);
        let size = terms.size(self.size);
        let put = PutId { gateway, number };
        let mut begin = |to: Vec<ServerId>, window: Window| {
            let flow = Flow::new(to, window, window.left.max(terms.control_end(step.now)), size);
            if !terms.fixed.rules.control_holds_data {
                let (to, begin) = (flow.to.clone(), flow.began);
                step.act(Action::Planned { to, put, size: self.size, begin });
            }
            remind(number, &flow, size.frame, step);
            let elsewhere =
                |other: &Flow| !other.goes_on() || flow.to.iter().all(|to| !other.to.contains(to));
            debug_assert!(self.flows.iter().all(elsewhere), "a put is sent to one server twice at once");
            self.flows.push(flow);
        };
        if terms.fixed.protocol == Protocol::ReplicastH {
            picks.iter().for_each(|pick| begin(vec![pick.server], pick.window));
        } else if let Some(first) = picks.first() {
            begin(picks.iter().map(|pick| pick.server).collect(), first.window);
        }
    }

    /// If replicas are missing, plans another round, early enough for its windows to follow the chosen ones.
    fn plan_round(&mut self, picks: &[Pick], step: &mut Step<'_>) {
        if self.missing(step.terms) == 0 {
            return;
        }
        let (terms, now) = (step.terms, step.now);
        let at = match picks {
            // No window could be used. Asking again at once would add to the load that caused this.
            [] => {
                let most = terms.size(self.size).net.max(terms.lead).as_ns() << self.futile.min(BACKOFFS_MAX);
                self.futile += 1;
                let wait = step.draws.below(most.max(1));
                let at = now.saturating_add(SimSpan::from_ns(wait));
                self.from = at;
                at
            }
            [first, rest @ ..] => {
                let last = rest.last().unwrap_or(first);
                let end = last.window.right;
                let room = |earlier: SimTime, later: SimTime| {
                    later.checked_since(earlier).is_some_and(|room| room > terms.control)
                };
                let planned = self.planned_from.filter(|planned| {
                    let reachable =
                        planned.checked_since(now).is_some_and(|wait| wait > terms.control_and_trip());
                    room(*planned, first.window.left) && reachable
                });
                let between = (picks.len() == 2 && room(first.window.right, last.window.left))
                    .then_some(first.window.right);
                let ahead = terms.lead.saturating_sub(terms.fixed.trip);
                self.futile = 0;
                self.from = end;
                self.planned_from = Some(end);
                planned.or(between).unwrap_or(end.saturating_sub(ahead).max(last.window.left))
            }
        };
        let wake = Wake::Round { number: self.number, round: self.round };
        step.act(Action::Wake { at: at.max(now), wake });
    }
}
