//! mClock and dmClock (Gulati, Merchant and Varman, OSDI 2010): each flow has a reservation that it gets in
//! any case, a limit that it does not exceed, and a weight by which flows share what lies between. Tags are
//! instants:
//!
//! - R = max(t, R' + (rho + c)/r), P = max(t, P' + (delta + c)/w), L = max(t, L' + (delta + c)/l), with t the
//!   instant of arrival, c the cost, and rho and delta the service that the client got elsewhere
//!   ([`crate::Feedback`]; none in plain mClock).
//! - First goes the least R, if it has come. Else, of the heads whose L has come, the least P; the
//!   reservation of the flow is then brought forward by (rho + c)/r, since this request did not use it. Else,
//!   at the limit: wait, or let the least P go.
//! - A flow that returns from idling starts at the least P of those that wait, or where it left off if that
//!   is later.
//!
//! Reservation, weight and limit are all in units of cost per second; without a limit L has always come,
//! without a reservation R never does. Tags are computed when a request becomes its flow's head, with the
//! latest feedback, as Ceph's library does when it chooses a request. The third way of that library at the
//! limit, to refuse, is left out: every request that arrived is served here.

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
    /// The P and the flow of the last request given.
    last: Option<(Tag, u32)>,
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
    /// Since when nothing waits; `None` for a flow that never sent.
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
            empty_since: None,
        }
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
            share: or(self.weight, next(|tags| tags.share, self.weight, delta), Tag::NEVER),
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
            last: None,
            alarm: None,
            room: Room::new(depth),
        }
    }

    /// The same, but a flow counts as idle only when none of its requests has waited for this long. Until
    /// then it keeps its P and thus its claim to unused service.
    #[must_use]
    pub fn idle_after(self, idle_after: SimSpan) -> Mclock<T> {
        Mclock { idle_after, ..self }
    }

    /// Tags the new head of a flow. A flow that was idle does not go ahead of those that wait.
    fn tag(&mut self, number: u32, was_idle: bool) {
        let least = self.least_share();
        let flow = &mut self.flows[number as usize];
        let Some(&(at, ref head)) = flow.waiting.front() else { return };
        let mut tags = flow.tags_for(at, head.cost);
        if was_idle
            && flow.weight > 0
            && let Some(least) = least
        {
            // Ignores the instant of arrival: with a backlog of old requests, P lies before it.
            let step = Tag::span_of(head.cost.saturating_add(flow.feedback.delta), flow.weight);
            tags.share = flow.tags.map_or(least, |tags| least.max(tags.share.plus(step)));
        }
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

    /// The least P of the active flows: those that wait, or that have just been given their last request.
    fn least_share(&self) -> Option<Tag> {
        let last = self.last.filter(|last| self.flows[last.1 as usize].waiting.is_empty()).map(|last| last.0);
        self.by_share.first().map(|head| head.0).into_iter().chain(last).min()
    }

    /// Gives the head of a flow.
    fn give(&mut self, now: SimTime, number: u32, phase: Phase) -> Option<Request<T>> {
        let flow = &mut self.flows[number as usize];
        let (came, mut request) = flow.waiting.pop_front()?;
        debug_assert!(came <= now, "a request of flow {number} came at {came} and is given at {now}");
        debug_assert!(
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
        flow.empty_since = Some(now);
        if flow.weight > 0 {
            self.last = Some((tags.share, number));
        }
        self.tag(number, false);
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
        flow.feedback = request.about.feedback;
        let was_empty = flow.waiting.is_empty();
        flow.waiting.push_back((now, request));
        if was_empty {
            let idle_at = flow.empty_since.map(|since| since.saturating_add(self.idle_after));
            self.tag(number, idle_at.is_none_or(|at| at <= now));
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

    fn complete(&mut self, _: SimTime, _: &Request<T>) {
        self.room.release();
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
