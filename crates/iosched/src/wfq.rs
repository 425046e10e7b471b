//! Weighted fair queueing (Demers, Keshav and Shenker, SIGCOMM 1989; as PGPS, Parekh and Gallager 1993):
//! simulates a fluid server that serves all flows at once, each by its weight, and gives first the request
//! that this server would finish first.
//!
//! The fluid server does as much work as the real one: it advances by the cost of each completion, so that
//! the rate of the resource need not be known and may vary. Its virtual time advances by work over the
//! weights of the flows for which it still has work. No request ends later than in the fluid server by more
//! than the costliest request.

use std::collections::{BTreeSet, VecDeque};

use towtank_units::SimTime;

use crate::room::Room;
use crate::tag::Tag;
use crate::{Discipline, Flows, NoMessage, Request};

/// Requests in the order in which a fluid server would finish them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Wfq<T> {
    flows: Vec<Flow<T>>,
    /// The finish tag of each flow's head, and the flow.
    heads: BTreeSet<(Tag, u32)>,
    fluid: Fluid,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    weight: u64,
    /// With their finish tags.
    waiting: VecDeque<(Tag, Request<T>)>,
    /// The finish tag of the request that arrived last.
    finish: Tag,
}

/// The fluid server, which serves all flows at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Fluid {
    virtual_time: Tag,
    /// The finish of each flow's last request in the fluid server, for flows for which it has work.
    busy: BTreeSet<(Tag, u32)>,
    /// The sum of the weights of the busy flows.
    weight: u64,
}

impl Fluid {
    /// Advances the fluid server by this much work.
    fn work<T>(&mut self, cost: u64, flows: &[Flow<T>]) {
        let mut left = Tag::of(cost, 1);
        while let Some(&(finish, flow)) = self.busy.first() {
            let needed = finish.minus(self.virtual_time).times(self.weight);
            if needed > left {
                self.virtual_time = self.virtual_time.plus(left.over(self.weight));
                return;
            }
            left = left.minus(needed);
            assert!(finish >= self.virtual_time, "flow {flow} was done before now");
            self.virtual_time = finish;
            self.busy.pop_first();
            let (weight, all) = (flows[flow as usize].weight, self.weight);
            assert!(weight <= all, "flow {flow} weighs no more than all that are busy: {weight} of {all}");
            self.weight -= weight;
        }
    }
}

impl<T> Wfq<T> {
    /// Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth or a weight is zero: some flow would never be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> Wfq<T> {
        let flow = |weight| Flow { weight: u64::from(weight), waiting: VecDeque::new(), finish: Tag::ZERO };
        Wfq {
            flows: flows.weights().map(flow).collect(),
            heads: BTreeSet::new(),
            fluid: Fluid::default(),
            room: Room::new(depth),
        }
    }
}

impl<T: Clone> Discipline for Wfq<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let number = request.flow.0;
        let flow = &mut self.flows[number as usize];
        let start = flow.finish.max(self.fluid.virtual_time);
        let finish = start.plus(Tag::of(request.cost, flow.weight));
        if !self.fluid.busy.remove(&(flow.finish, number)) {
            self.fluid.weight += flow.weight;
        }
        self.fluid.busy.insert((finish, number));
        if flow.waiting.is_empty() {
            self.heads.insert((finish, number));
        }
        debug_assert!(finish >= flow.finish, "flow {number} finishes this before what came earlier");
        flow.finish = finish;
        flow.waiting.push_back((finish, request));
        let busy = self.fluid.busy.iter().map(|&(_, flow)| self.flows[flow as usize].weight);
        debug_assert_eq!(busy.sum::<u64>(), self.fluid.weight, "weights of busy flows, and their sum");
    }

    /// Of equal tags, the flow with the lowest number.
    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let (_, number) = self.heads.pop_first()?;
        let flow = &mut self.flows[number as usize];
        let (_, request) = flow.waiting.pop_front()?;
        self.heads.extend(flow.waiting.front().map(|head| (head.0, number)));
        let waiting = || self.flows.iter().filter(|flow| !flow.waiting.is_empty()).count();
        debug_assert_eq!(self.heads.len(), waiting(), "heads, and flows that wait");
        self.room.take();
        Some(request)
    }

    fn complete(&mut self, _: SimTime, served: &Request<T>) {
        self.room.release();
        self.fluid.work(served.cost, &self.flows);
    }

    /// Flow by flow.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.flows.iter().flat_map(|flow| flow.waiting.iter().map(|waiting| &waiting.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{push, served};

    /// Section 3.1, WFQ, after the example of Parekh and Gallager: a flow of half the weight and ten of a
    /// twentieth. All its eleven requests but the last finish in the fluid server before the first of the
    /// others.
    #[test]
    fn a_heavy_flow_runs_ahead() {
        let weights: Vec<u32> = [10].into_iter().chain([1; 10]).collect();
        let mut wfq = Wfq::new(Some(1), &Flows::weighted(&weights));
        (0..11).for_each(|item| push(&mut wfq, 0, 10, item));
        (1..11).for_each(|flow| push(&mut wfq, flow, 10, 100 + flow));
        let order = served(&mut wfq);
        // Finishes: 1, 2, .., 11 for the heavy flow, 10 for each of the others; of equal ones the lower flow.
        assert_eq!(order[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!((order[10], order[20]), (101, 10));
    }

    /// The fluid server's virtual time: 20 units of work over weights 1 and 1 bring it to 10; then one flow
    /// is left, and 5 more bring it to 15.
    #[test]
    fn virtual_time_follows_the_work() {
        let mut wfq: Wfq<u32> = Wfq::new(None, &Flows::equal(2));
        push(&mut wfq, 0, 10, 0);
        push(&mut wfq, 1, 30, 1);
        wfq.fluid.work(20, &wfq.flows);
        assert_eq!((wfq.fluid.virtual_time.whole(), wfq.fluid.weight), (10, 1));
        wfq.fluid.work(5, &wfq.flows);
        assert_eq!(wfq.fluid.virtual_time.whole(), 15);
        wfq.fluid.work(100, &wfq.flows);
        assert_eq!((wfq.fluid.virtual_time.whole(), wfq.fluid.weight), (30, 0));
    }

    /// A flow that was idle enters at the virtual time and has saved nothing.
    #[test]
    fn who_was_away_has_saved_nothing() {
        let mut wfq = Wfq::new(Some(1), &Flows::equal(2));
        (0..10).for_each(|item| push(&mut wfq, 0, 10, item));
        assert_eq!(served(&mut wfq).len(), 10);
        (0..4).for_each(|item| push(&mut wfq, 1, 10, 20 + item));
        (0..4).for_each(|item| push(&mut wfq, 0, 10, 10 + item));
        assert_eq!(served(&mut wfq), [10, 20, 11, 21, 12, 22, 13, 23]);
    }

    #[test]
    #[should_panic(expected = "weights of busy flows, and their sum")]
    fn a_weight_that_nobody_has_is_noticed() {
        let mut wfq = Wfq::new(None, &Flows::weighted(&[1, 1]));
        wfq.fluid.weight = 1;
        crate::trial::push(&mut wfq, 0, 10, 0);
    }

    #[test]
    #[should_panic(expected = "heads, and flows that wait")]
    fn a_flow_that_lost_its_head_is_noticed() {
        let mut wfq = Wfq::new(None, &Flows::weighted(&[1, 1]));
        (0..6).for_each(|item| crate::trial::push(&mut wfq, item % 2, 10, item));
        wfq.heads.pop_last();
        let _ = crate::trial::served(&mut wfq);
    }

    #[test]
    #[should_panic(expected = "flow 0 was done before now")]
    fn a_flow_that_was_done_before_now_breaks_a_law() {
        let mut wfq = Wfq::new(None, &Flows::equal(1));
        push(&mut wfq, 0, 10, 0);
        wfq.fluid.virtual_time = Tag::of(11, 1);
        wfq.fluid.work(10, &wfq.flows);
    }

    #[test]
    #[should_panic(expected = "flow 0 weighs no more than all that are busy: 2 of 1")]
    fn a_sum_of_weights_that_is_too_small_breaks_a_law() {
        let mut wfq = Wfq::new(None, &Flows::weighted(&[2]));
        push(&mut wfq, 0, 10, 0);
        wfq.fluid.weight = 1;
        wfq.fluid.work(10, &wfq.flows);
    }
}
