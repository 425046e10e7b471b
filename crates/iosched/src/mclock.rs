//! mClock and dmClock (Gulati, Merchant and Varman, OSDI 2010): each flow has a reservation that it gets in
//! any case, a limit that it does not exceed, and a weight by which flows share what lies between. Tags are
//! instants:
//!
//! - R = max(t, R' + (rho + c)/r), P = S + (delta + c)/w, L = max(t, L' + (delta + c)/l), with t the instant
//!   of arrival, c the cost, S the P of the flow's previous request, and rho and delta the service that the
//!   client got elsewhere ([`crate::Feedback`]; none in plain mClock).
//! - First goes the least R, if it has come. Else, of the heads whose L has come, the least P; the
//!   reservation of the flow is then brought forward by (rho + c)/r, since this request did not use it. Else,
//!   at the limit: wait, or let the least P go.
//! - A flow is idle if none of its requests has waited or been in service for longer than a given time. One
//!   that returns from idling has the least S of the flows that are not idle, or its own if that is later; if
//!   all are idle, the greatest P of all requests given. The claim of any other flow never changes, so that
//!   the service of flows that are not idle follows their weights.
//!
//! Reservation and limit are in units of cost per second; without a limit L has always come, without a
//! reservation R never does. Weights are relative. Tags are computed when a request becomes its flow's head,
//! with the latest feedback, as Ceph's library does when it chooses a request. The third way of that library
//! at the limit, to refuse, is left out: every request that arrived is served here.
//!
//! # Where this differs from Ceph's library
//!
//! - The library does not see when a request completes: a client is idle when none of its requests was
//!   tagged for the idle age, looked at once a minute. With the age of [`Profile::IDLE_AGE`] that is seldom
//!   noticed. With a short age it would take a client's claim while its requests are in service: of weights
//!   1 and 4, the heavy client gets 67 % of the service in place of 80 %.
//! - The library's P is never before t. Where weights exceed the throughput, requests then go in order of
//!   arrival, whatever the weights. Here P is a virtual time.
//! - A client that returns has the least P of the others there, without a step of its own. With a short age a
//!   heavy client with one request at a time would wait for the step of a lighter one each time.

use std::collections::{BTreeSet, VecDeque};

use towtank_units::{SimSpan, SimTime};

use crate::room::Room;
use crate::tag::Tag;
use crate::{About, Discipline, Feedback, FlowSpec, Flows, NoMessage, Request};

mod profile;
mod tracker;

pub use profile::{Class, Profile};
pub use tracker::Tracker;

/// What happens when all waiting flows are at their limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum AtLimit {
    /// They wait.
    #[default]
    Wait,
    /// They go, in order of their shares: limits bind only while some flow is below its limit.
    Allow,
}

/// What a request was served for; only service under a reservation counts as rho.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Phase {
    /// Under a reservation.
    Reservation,
    /// By weight.
    Share,
}

impl Phase {
    /// The phase that [`Mclock`] wrote into the ticket of a request that it gave.
    #[must_use]
    pub fn of(about: &About) -> Phase {
        if about.ticket == 1 { Phase::Reservation } else { Phase::Share }
    }
}

/// Flows with reservations, weights and limits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Mclock<T> {
    flows: Vec<Flow<T>>,
    at_limit: AtLimit,
    idle_after: SimSpan,
    /// Heads of flows with a reservation, by R.
    by_reservation: BTreeSet<(Tag, u32)>,
    /// Heads that were at their limits when last examined, by L.
    by_limit: BTreeSet<(Tag, u32)>,
    /// Heads whose L has come, by P.
    ready: BTreeSet<(Tag, u32)>,
    /// All heads of flows with a weight, by P.
    by_share: BTreeSet<(Tag, u32)>,
    /// Flows with a weight by S: all that are not idle, and idle ones that were not looked at since.
    active: BTreeSet<(Tag, u32)>,
    /// The greatest P of all requests given.
    latest: Tag,
    /// The next instant at which some flow may go, when none could.
    alarm: Option<SimTime>,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    reservation: u64,
    weight: u64,
    limit: u64,
    /// With the instants of arrival.
    waiting: VecDeque<(SimTime, Request<T>)>,
    /// The tags of the head, or of the last request given.
    tags: Option<Tags>,
    /// The feedback of the newest request.
    feedback: Feedback,
    /// S: the P of the last request given, or where the flow returned from idling.
    start: Tag,
    /// The number of its requests in service.
    in_service: u32,
    /// Since when nothing waits and nothing is in service; `None` for a flow that never sent.
    empty_since: Option<SimTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Tags {
    reservation: Tag,
    share: Tag,
    limit: Tag,
}

impl<T> Flow<T> {
    fn new(spec: &FlowSpec) -> Flow<T> {
        assert!(
            spec.weight > 0 || spec.reservation > 0,
            "a flow without weight or reservation is never served"
        );
        Flow {
            reservation: spec.reservation,
            weight: u64::from(spec.weight),
            limit: spec.limit,
            waiting: VecDeque::new(),
            tags: None,
            feedback: Feedback::default(),
            start: Tag::ZERO,
            in_service: 0,
            empty_since: None,
        }
    }

    /// Whether nothing of the flow has waited or been in service for longer than this.
    fn is_idle(&self, now: SimTime, after: SimSpan) -> bool {
        self.waiting.is_empty()
            && self.in_service == 0
            && self.empty_since.is_none_or(|since| since.saturating_add(after) < now)
    }

    /// The tags of a head of this cost that came at `at`.
    fn tags_for(&self, at: SimTime, cost: u64) -> Tags {
        let at = Tag::at(at);
        let next = |last: fn(&Tags) -> Tag, rate: u64, elsewhere: u64| {
            let step = Tag::span_of(cost.saturating_add(elsewhere), rate.max(1));
            self.tags.as_ref().map_or(at, |tags| at.max(last(tags).plus(step)))
        };
        let or = |rate: u64, tag: Tag, without: Tag| if rate == 0 { without } else { tag };
        let Feedback { delta, rho } = self.feedback;
        Tags {
            reservation: or(
                self.reservation,
                next(|tags| tags.reservation, self.reservation, rho),
                Tag::NEVER,
            ),
            share: or(
                self.weight,
                self.start.plus(Tag::span_of(cost.saturating_add(delta), self.weight.max(1))),
                Tag::NEVER,
            ),
            limit: or(self.limit, next(|tags| tags.limit, self.limit, delta), Tag::ZERO),
        }
    }
}

impl<T> Mclock<T> {
    /// Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth is zero, or a flow has neither weight nor reservation: it would never be served.
    #[must_use]
    pub fn new(depth: Option<u32>, at_limit: AtLimit, flows: &Flows) -> Mclock<T> {
        Mclock {
            flows: flows.specs().iter().map(Flow::new).collect(),
            at_limit,
            idle_after: SimSpan::ZERO,
            by_reservation: BTreeSet::new(),
            by_limit: BTreeSet::new(),
            ready: BTreeSet::new(),
            by_share: BTreeSet::new(),
            active: BTreeSet::new(),
            latest: Tag::ZERO,
            alarm: None,
            room: Room::new(depth),
        }
    }

    /// The same, but a flow counts as idle only when none of its requests has waited or been in service for
    /// longer than this. Until then it keeps its claim to the service that it did not use, and takes that
    /// from the others when it returns.
    #[must_use]
    pub fn idle_after(self, idle_after: SimSpan) -> Mclock<T> {
        Mclock { idle_after, ..self }
    }

    /// Tags the new head of a flow.
    fn tag(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        let Some(&(at, ref head)) = flow.waiting.front() else { return };
        let tags = flow.tags_for(at, head.cost);
        if flow.reservation > 0 {
            self.by_reservation.insert((tags.reservation, number));
        }
        if flow.weight > 0 {
            self.by_share.insert((tags.share, number));
            if tags.limit == Tag::ZERO {
                self.ready.insert((tags.share, number));
            } else {
                self.by_limit.insert((tags.limit, number));
            }
        }
        flow.tags = Some(tags);
    }

    /// A flow returns from idling: it does not go ahead of those that are not idle.
    fn return_from_idling(&mut self, now: SimTime, number: u32) {
        let own = self.flows[number as usize].start;
        self.active.remove(&(own, number));
        let mut base = self.latest;
        while let Some(&(start, other)) = self.active.first() {
            if !self.flows[other as usize].is_idle(now, self.idle_after) {
                base = start;
                break;
            }
            self.active.pop_first();
        }
        self.start_at(number, own.max(base));
    }

    /// Sets S of a flow that is not idle.
    fn start_at(&mut self, number: u32, start: Tag) {
        let flow = &mut self.flows[number as usize];
        if flow.weight > 0 {
            self.active.remove(&(flow.start, number));
            self.active.insert((start, number));
            flow.start = start;
        }
    }

    /// Gives the head of a flow.
    fn give(&mut self, now: SimTime, number: u32, phase: Phase) -> Option<Request<T>> {
        let flow = &mut self.flows[number as usize];
        let (came, mut request) = flow.waiting.pop_front()?;
        assert!(came <= now, "a request of flow {number} came at {came} and is given at {now}");
        assert!(
            phase == Phase::Share || flow.reservation > 0,
            "flow {number} is served for a reservation that it does not have"
        );
        let tags = flow.tags.as_mut()?;
        self.by_reservation.remove(&(tags.reservation, number));
        self.by_limit.remove(&(tags.limit, number));
        self.ready.remove(&(tags.share, number));
        self.by_share.remove(&(tags.share, number));
        if phase == Phase::Share && flow.reservation > 0 {
            let unused = request.cost.saturating_add(flow.feedback.rho);
            tags.reservation = tags.reservation.minus(Tag::span_of(unused, flow.reservation));
        }
        let given = tags.share;
        flow.in_service += 1;
        if flow.weight > 0 {
            self.latest = self.latest.max(given);
            self.start_at(number, given);
        }
        self.tag(number);
        let waiting = |has: fn(&Flow<T>) -> bool| {
            self.flows.iter().filter(|flow| !flow.waiting.is_empty() && has(flow)).count()
        };
        debug_assert_eq!(
            self.by_reservation.len(),
            waiting(|flow| flow.reservation > 0),
            "reservations that wait"
        );
        debug_assert_eq!(self.by_share.len(), waiting(|flow| flow.weight > 0), "shares that wait");
        debug_assert_eq!(
            self.ready.len() + self.by_limit.len(),
            self.by_share.len(),
            "ready or limited, and all"
        );
        self.room.take();
        self.alarm = None;
        request.about.ticket = u64::from(phase == Phase::Reservation);
        Some(request)
    }

    /// The flow that may go now, and in which phase.
    fn choose(&mut self, now: SimTime) -> Option<(u32, Phase)> {
        let now = Tag::at(now);
        if let Some(&(_, flow)) = self.by_reservation.first().filter(|head| head.0 <= now) {
            return Some((flow, Phase::Reservation));
        }
        while let Some(&(_, flow)) = self.by_limit.first().filter(|head| head.0 <= now) {
            self.by_limit.pop_first();
            let share = self.flows[flow as usize].tags.as_ref().map_or(Tag::NEVER, |tags| tags.share);
            self.ready.insert((share, flow));
        }
        if let Some(&(_, flow)) = self.ready.first() {
            return Some((flow, Phase::Share));
        }
        if self.at_limit == AtLimit::Allow {
            let shares = self.by_share.first().map(|head| (head.1, Phase::Share));
            return shares.or(self.by_reservation.first().map(|head| (head.1, Phase::Reservation)));
        }
        None
    }
}

impl<T: Clone> Discipline for Mclock<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, now: SimTime, request: Request<T>) {
        let number = request.flow.0;
        let flow = &mut self.flows[number as usize];
        let was_idle = flow.is_idle(now, self.idle_after);
        flow.feedback = request.about.feedback;
        flow.waiting.push_back((now, request));
        let is_head = flow.waiting.len() == 1;
        if was_idle {
            self.return_from_idling(now, number);
        }
        if is_head {
            self.tag(number);
        }
    }

    /// Of equal tags, the flow with the lowest number.
    fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        self.alarm = None;
        if self.room.is_full() {
            return None;
        }
        if let Some((flow, phase)) = self.choose(now) {
            return self.give(now, flow, phase);
        }
        let first = |heads: &BTreeSet<(Tag, u32)>| heads.first().map(|head| head.0);
        let soonest = first(&self.by_reservation).into_iter().chain(first(&self.by_limit)).min();
        self.alarm = soonest.map(Tag::instant);
        None
    }

    /// # Panics
    /// When nothing of the flow is in service: a completion was reported twice.
    fn complete(&mut self, now: SimTime, served: &Request<T>) {
        self.room.release();
        let flow = &mut self.flows[served.flow.0 as usize];
        assert!(flow.in_service > 0, "more of flow {} was completed than was given", served.flow.0);
        flow.in_service -= 1;
        if flow.in_service == 0 && flow.waiting.is_empty() {
            flow.empty_since = Some(now);
        }
    }

    fn wake_at(&self) -> Option<SimTime> {
        self.alarm
    }

    fn wake(&mut self, now: SimTime) {
        self.alarm = self.alarm.filter(|&alarm| alarm > now);
    }

    /// Flow by flow.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.flows.iter().flat_map(|flow| flow.waiting.iter().map(|waiting| &waiting.1)))
    }
}

#[cfg(test)]
mod tests;
