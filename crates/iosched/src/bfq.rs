//! Budget fair queueing, after Linux's BFQ: one flow at a time has exclusive use of the resource, for a
//! budget in units of cost; B-WF2Q+ over the budgets used decides which flow is next.
//!
//! - A flow's turn ends when its budget does not suffice for its next request, when the turn has lasted for
//!   the timeout, or when the flow has no request left. In the last case the scheduler first idles for a
//!   while, since the flow may send its next request as soon as it has the reply to the last.
//! - A flow that used up its budget gets twice as much next time, up to the maximum; one that ran empty or
//!   out of time gets what it used, and at least the minimum. So sequential flows get long turns, and
//!   sporadic ones short turns.
//! - Tags are corrected when a turn ends: the finish tag becomes the start tag plus the cost used over the
//!   weight.
//!
//! Left out: raising weights for interactive flows, merging of queues, injection, and BFQ's estimate of the
//! device's peak rate.

use std::collections::{BTreeSet, VecDeque};

use towtank_units::{SimSpan, SimTime};

use crate::room::Room;
use crate::tag::Tag;
use crate::{Discipline, Flows, NoMessage, Request};

/// Budgets, and durations of turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct BfqSpec {
    /// The least budget, in units of cost, and the first budget of each flow.
    pub budget_min: u64,
    /// The greatest budget, in units of cost.
    pub budget_max: u64,
    /// How long the scheduler waits for the next request of a flow that has run empty; with zero it does not
    /// wait.
    pub idle: SimSpan,
    /// The longest duration of a turn.
    pub timeout: SimSpan,
}

impl Default for BfqSpec {
    /// Budgets from 512 KiB to 8 MiB (2^14 sectors, BFQ's default), 8 ms of idling, and Linux's timeout of
    /// 125 ms.
    fn default() -> BfqSpec {
        BfqSpec {
            budget_min: 512 << 10,
            budget_max: 8 << 20,
            idle: SimSpan::from_ms(8),
            timeout: SimSpan::from_ms(125),
        }
    }
}

/// The BFQ scheduler: one flow at a time is served, for a budget.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Bfq<T> {
    spec: BfqSpec,
    flows: Vec<Flow<T>>,
    turn: Option<Turn>,
    /// Waiting flows that are not yet eligible: start tag and flow.
    early: BTreeSet<(Tag, u32)>,
    /// Waiting flows that are eligible: finish tag and flow.
    eligible: BTreeSet<(Tag, u32)>,
    virtual_time: Tag,
    /// Sum of the weights of the flows that wait or have their turn.
    weights: u64,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    weight: u64,
    waiting: VecDeque<Request<T>>,
    in_service: u32,
    budget: u64,
    start: Tag,
    finish: Tag,
}

/// The turn of the flow that has the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Turn {
    flow: u32,
    used: u64,
    began: SimTime,
    /// Until when the scheduler idles for this flow.
    idle_until: Option<SimTime>,
}

/// The reason why a turn ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Spent,
    TooLong,
    Empty,
}

impl<T> Bfq<T> {
    /// Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth, a weight, the least budget or the timeout is zero, or the most is less than the least.
    #[must_use]
    pub fn new(depth: Option<u32>, spec: BfqSpec, flows: &Flows) -> Bfq<T> {
        let BfqSpec { budget_min, budget_max, timeout, .. } = spec;
        assert!(0 < budget_min && budget_min <= budget_max, "budgets are from {budget_min} to {budget_max}");
        assert!(!timeout.is_zero(), "a turn lasts some time");
        let flow = |weight| Flow {
            weight: u64::from(weight),
            waiting: VecDeque::new(),
            in_service: 0,
            budget: budget_min,
            start: Tag::ZERO,
            finish: Tag::ZERO,
        };
        Bfq {
            spec,
            flows: flows.weights().map(flow).collect(),
            turn: None,
            early: BTreeSet::new(),
            eligible: BTreeSet::new(),
            virtual_time: Tag::ZERO,
            weights: 0,
            room: Room::new(depth),
        }
    }

    /// Adds a flow to those that wait for a turn.
    fn enqueue(&mut self, number: u32, start: Tag) {
        let flow = &mut self.flows[number as usize];
        // A turn lets at least one request through.
        flow.budget = flow.budget.max(flow.waiting.front().map_or(0, |head| head.cost));
        assert!(!flow.waiting.is_empty(), "flow {number} wants a turn and has nothing to do");
        assert!(start >= flow.start, "flow {number} begins earlier than before");
        flow.start = start;
        flow.finish = start.plus(Tag::of(flow.budget, flow.weight));
        self.weights += flow.weight;
        if start <= self.virtual_time {
            self.eligible.insert((flow.finish, number));
        } else {
            self.early.insert((start, number));
        }
    }

    fn advance(&mut self, to: Tag) {
        self.virtual_time = self.virtual_time.max(to);
        while let Some(&(start, number)) = self.early.first() {
            if start > self.virtual_time {
                break;
            }
            self.early.pop_first();
            self.eligible.insert((self.flows[number as usize].finish, number));
        }
    }

    /// Gives the resource to the next flow.
    fn begin(&mut self, now: SimTime) -> Option<Turn> {
        if self.eligible.is_empty() {
            let &(least, _) = self.early.first()?;
            self.advance(least);
        }
        let (_, flow) = self.eligible.pop_first()?;
        assert!(self.turn.is_none(), "flow {flow} gets a turn in that of another");
        assert!(self.flows[flow as usize].start <= self.virtual_time, "flow {flow} gets a turn too early");
        let turn = Turn { flow, used: 0, began: now, idle_until: None };
        self.turn = Some(turn);
        Some(turn)
    }

    fn end(&mut self, turn: Turn, end: End) {
        self.turn = None;
        let BfqSpec { budget_min, budget_max, .. } = self.spec;
        let after = self.virtual_time.plus(Tag::of(turn.used, self.weights.max(1)));
        let flow = &mut self.flows[turn.flow as usize];
        self.weights -= flow.weight;
        flow.finish = flow.start.plus(Tag::of(turn.used, flow.weight));
        flow.budget = match end {
            End::Spent => flow.budget.saturating_mul(2).min(budget_max),
            End::TooLong | End::Empty => turn.used.clamp(budget_min, budget_max),
        };
        assert!(
            (budget_min..=budget_max).contains(&flow.budget),
            "flow {} has a budget of {}",
            turn.flow,
            flow.budget
        );
        let (finish, waits) = (flow.finish, !flow.waiting.is_empty());
        self.advance(after);
        if waits {
            self.enqueue(turn.flow, finish);
        }
        let queued = self.early.iter().chain(&self.eligible);
        let weights = queued.map(|&(_, flow)| self.flows[flow as usize].weight);
        debug_assert_eq!(self.weights, weights.sum::<u64>(), "the weight of all that wait, and of each");
    }

    /// The reason why the turn is over, if it is; starts to idle where needed.
    fn is_over(&mut self, now: SimTime) -> Option<End> {
        let turn = self.turn.as_mut()?;
        let flow = &self.flows[turn.flow as usize];
        let spent = |head: &Request<T>| turn.used > 0 && turn.used.saturating_add(head.cost) > flow.budget;
        match flow.waiting.front() {
            _ if turn.began.saturating_add(self.spec.timeout) <= now && turn.used > 0 => Some(End::TooLong),
            Some(head) => spent(head).then_some(End::Spent),
            None if self.spec.idle.is_zero() => Some(End::Empty),
            // Its next request may depend on a reply that is still outstanding.
            None if flow.in_service > 0 => None,
            None => {
                let until = *turn.idle_until.get_or_insert(now.saturating_add(self.spec.idle));
                (until <= now).then_some(End::Empty)
            }
        }
    }
}

impl<T: Clone> Discipline for Bfq<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let number = request.flow.0;
        let flow = &mut self.flows[number as usize];
        let was_empty = flow.waiting.is_empty();
        flow.waiting.push_back(request);
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.flow == number) {
            turn.idle_until = None;
        } else if was_empty {
            let start = flow.finish.max(self.virtual_time);
            self.enqueue(number, start);
        }
    }

    fn next(&mut self, now: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        if let Some(turn) = self.turn
            && let Some(end) = self.is_over(now)
        {
            self.end(turn, end);
        }
        if self.turn.is_none() {
            self.begin(now)?;
        }
        let turn = self.turn.as_mut()?;
        let flow = &mut self.flows[turn.flow as usize];
        let request = flow.waiting.pop_front()?;
        turn.used = turn.used.saturating_add(request.cost).max(1);
        flow.in_service += 1;
        self.room.take();
        Some(request)
    }

    fn complete(&mut self, _: SimTime, served: &Request<T>) {
        self.room.release();
        let flow = &mut self.flows[served.flow.0 as usize];
        assert!(flow.in_service > 0, "flow {} has completed more than it was given", served.flow.0);
        flow.in_service -= 1;
    }

    fn wake_at(&self) -> Option<SimTime> {
        self.turn.and_then(|turn| turn.idle_until)
    }

    /// The turn of a flow for which nobody idles any more ends at the next call of `next`.
    fn wake(&mut self, now: SimTime) {
        let Some(turn) = self.turn else { return };
        if turn.idle_until.is_some_and(|until| until <= now) {
            self.end(turn, End::Empty);
        }
    }

    /// Flow by flow.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.flows.iter().flat_map(|flow| flow.waiting.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{given, ms, push, request, served, served_at};

    fn bfq(idle_ms: u64, weights: &[u32]) -> Bfq<u32> {
        let spec = BfqSpec {
            budget_min: 20,
            budget_max: 80,
            idle: SimSpan::from_ms(idle_ms),
            timeout: SimSpan::from_ms(100),
        };
        Bfq::new(Some(1), spec, &Flows::weighted(weights))
    }

    /// Section 3.1, BFQ: exclusive turns; a budget that is used up doubles: 2, 4 and 8 requests of 10, then 8
    /// again.
    #[test]
    fn turns_grow_with_use() {
        let mut bfq = bfq(0, &[1, 1]);
        (0..22).for_each(|item| push(&mut bfq, 0, 10, item));
        (100..122).for_each(|item| push(&mut bfq, 1, 10, item));
        let order = served(&mut bfq);
        let turns: Vec<usize> =
            order.chunk_by(|one, next| (*one < 100) == (*next < 100)).map(<[u32]>::len).collect();
        assert_eq!(turns, [2, 2, 4, 4, 8, 8, 8, 8]);
    }

    /// The scheduler waits for the flow with the turn and serves no other flow; the turn ends if no request
    /// arrives.
    #[test]
    fn who_has_run_empty_is_waited_for() {
        let mut bfq = bfq(8, &[1, 1]);
        push(&mut bfq, 0, 10, 0);
        push(&mut bfq, 1, 10, 100);
        assert_eq!(given(&mut bfq, ms(0)), [0]);
        bfq.complete(ms(3), &request(0, 10, 0));
        assert_eq!((given(&mut bfq, ms(3)), bfq.wake_at()), (vec![], Some(ms(11))));
        bfq.arrive(ms(4), request(0, 10, 1));
        assert_eq!((given(&mut bfq, ms(4)), bfq.wake_at()), (vec![1], None));
        bfq.complete(ms(5), &request(0, 10, 1));
        assert_eq!((given(&mut bfq, ms(5)), bfq.wake_at()), (vec![], Some(ms(13))));
        bfq.wake(ms(13));
        assert_eq!((given(&mut bfq, ms(13)), bfq.wake_at()), (vec![100], None));
    }

    #[test]
    fn a_turn_ends_with_its_time() {
        let mut bfq = bfq(8, &[1, 1]);
        bfq.flows[0].budget = 80;
        (0..8).for_each(|item| push(&mut bfq, 0, 10, item));
        push(&mut bfq, 1, 10, 100);
        bfq.flows[1].budget = 80;
        let first = given(&mut bfq, ms(0));
        bfq.complete(ms(100), &request(first[0] / 100, 10, 0));
        let second = given(&mut bfq, ms(100));
        assert_ne!(first[0] / 100, second[0] / 100, "{first:?}, {second:?}");
    }

    /// The service is divided by weight, whatever the budgets are.
    #[test]
    fn weights_divide_what_there_is() {
        let mut bfq = bfq(0, &[3, 1]);
        (0..600).for_each(|item| push(&mut bfq, 0, 10, item));
        (1_000..1_600).for_each(|item| push(&mut bfq, 1, 10, item));
        let order = served_at(&mut bfq, ms(0));
        let light = order[..480].iter().filter(|&&item| item >= 1_000).count();
        assert!((104..=136).contains(&light), "{light} of 480 for a quarter");
    }

    #[test]
    fn a_request_larger_than_any_budget_goes() {
        let mut bfq = bfq(0, &[1]);
        push(&mut bfq, 0, 1_000, 0);
        push(&mut bfq, 0, 1, 1);
        assert_eq!(served(&mut bfq), [0, 1]);
    }

    #[test]
    #[should_panic(expected = "the weight of all that wait, and of each")]
    fn a_weight_that_nobody_has_is_noticed() {
        let mut bfq = bfq(0, &[1, 1]);
        (0..4).for_each(|item| push(&mut bfq, item % 2, 10, item));
        bfq.weights += 1;
        let _ = served(&mut bfq);
    }

    #[test]
    #[should_panic(expected = "flow 0 has completed more than it was given")]
    fn what_was_not_given_is_not_completed() {
        let mut bfq = bfq(0, &[1, 1]);
        push(&mut bfq, 1, 10, 0);
        assert_eq!(given(&mut bfq, ms(0)), [0]);
        bfq.complete(ms(1), &request(0, 10, 0));
    }

    #[test]
    #[should_panic(expected = "flow 0 wants a turn and has nothing to do")]
    fn a_turn_for_nothing_breaks_a_law() {
        bfq(0, &[1]).enqueue(0, Tag::ZERO);
    }

    #[test]
    #[should_panic(expected = "flow 0 begins earlier than before")]
    fn a_start_that_goes_back_breaks_a_law_of_turns() {
        let mut bfq = bfq(0, &[1]);
        bfq.flows[0].start = Tag::NEVER;
        push(&mut bfq, 0, 10, 0);
    }

    #[test]
    #[should_panic(expected = "flow 0 gets a turn in that of another")]
    fn two_turns_at_once_break_a_law() {
        let mut bfq = bfq(0, &[1, 1]);
        push(&mut bfq, 0, 10, 0);
        bfq.turn = Some(Turn { flow: 1, used: 0, began: ms(0), idle_until: None });
        bfq.begin(ms(0));
    }

    #[test]
    #[should_panic(expected = "flow 0 gets a turn too early")]
    fn a_turn_that_comes_too_early_breaks_a_law() {
        let mut bfq = bfq(0, &[1]);
        push(&mut bfq, 0, 10, 0);
        bfq.flows[0].start = Tag::NEVER;
        bfq.begin(ms(0));
    }

    #[test]
    #[should_panic(expected = "flow 0 has a budget of 2")]
    fn a_budget_below_the_least_breaks_a_law() {
        let mut bfq = bfq(0, &[1]);
        push(&mut bfq, 0, 10, 0);
        let turn = bfq.begin(ms(0)).expect("it waits");
        bfq.flows[0].budget = 1;
        bfq.end(turn, End::Spent);
    }
}
