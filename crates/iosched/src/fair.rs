//! Start-time fair queueing: flows share a resource in proportion to their weights (Goyal, Vin and Cheng,
//! SIGCOMM 1996).
//!
//! A request's start tag is the finish tag of the flow's previous request, or the virtual time if that is
//! later; its finish tag is the start tag plus its cost over the flow's weight. The least start tag goes
//! first, and the virtual time is the start tag of the request in service. The normalised service of two
//! flows that both have requests waiting never differs by more than one request of each.

use std::collections::VecDeque;

use towtank_units::SimTime;

use crate::{Discipline, FlowId, NoMessage, Request};

/// Tags count in this fraction of a unit of cost, so that division by weights is precise.
const PARTS: u64 = 1 << 10;

/// Requests of several flows that wait for one resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Fair<T> {
    flows: Vec<Flow<T>>,
    /// The start tag of the last request served; once all are served, the greatest finish tag.
    virtual_time: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    weight: u32,
    /// With their start tags.
    waiting: VecDeque<(u64, Request<T>)>,
    /// The finish tag of the request that arrived last.
    finish: u64,
}

impl<T> Fair<T> {
    /// One flow for each weight, numbered from 0.
    ///
    /// # Panics
    /// When a weight is zero: such a flow would never be served.
    #[must_use]
    pub fn new(weights: &[u32]) -> Fair<T> {
        assert!(weights.iter().all(|&weight| weight > 0), "a flow without weight is never served");
        let flow = |&weight| Flow { weight, waiting: VecDeque::new(), finish: 0 };
        Fair { flows: weights.iter().map(flow).collect(), virtual_time: 0 }
    }

    /// The state to which [`Fair::take_back`] returns. `arriving` is the flow of the request that arrives
    /// next, if one does before another is given.
    ///
    /// # Panics
    /// When the flow has no weight.
    #[must_use]
    pub fn mark(&self, arriving: Option<FlowId>) -> FairMark {
        let finish = arriving.map(|flow| (flow, self.flows[flow.0 as usize].finish));
        FairMark { virtual_time: self.virtual_time, finish }
    }

    /// Returns to a mark. Since then, only the announced request has arrived, and at most `given` was given
    /// after it.
    ///
    /// # Panics
    /// When the mark or the request is of a flow that has no weight.
    pub fn take_back(&mut self, mark: FairMark, given: Option<Request<T>>) {
        if let Some(request) = given {
            // The virtual time is the start tag of what was given last.
            let flow = &mut self.flows[request.flow.0 as usize];
            flow.waiting.push_front((self.virtual_time, request));
        }
        if let Some((flow, finish)) = mark.finish {
            let flow = &mut self.flows[flow.0 as usize];
            flow.waiting.pop_back();
            flow.finish = finish;
        }
        self.virtual_time = mark.virtual_time;
    }
}

/// What [`Fair::take_back`] needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairMark {
    virtual_time: u64,
    finish: Option<(FlowId, u64)>,
}

impl<T: Clone> Discipline for Fair<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the request is of a flow that has no weight.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let virtual_time = self.virtual_time;
        let flow = &mut self.flows[request.flow.0 as usize];
        let start = flow.finish.max(virtual_time);
        flow.finish = start.saturating_add(request.cost.saturating_mul(PARTS) / u64::from(flow.weight));
        flow.waiting.push_back((start, request));
    }

    /// Of equal tags, the flow with the lowest number.
    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        let first = |flow: &Flow<T>| flow.waiting.front().map(|waiting| waiting.0);
        let next =
            self.flows.iter_mut().filter(|flow| !flow.waiting.is_empty()).min_by_key(|flow| first(flow));
        let Some(flow) = next else {
            self.virtual_time = self.flows.iter().map(|flow| flow.finish).fold(self.virtual_time, u64::max);
            return None;
        };
        let (start, request) = flow.waiting.pop_front()?;
        assert!(start <= flow.finish, "a request begins at {start}, after the last one of its flow ends");
        assert!(start >= self.virtual_time, "virtual time goes back from {} to {start}", self.virtual_time);
        self.virtual_time = start;
        Some(request)
    }

    /// Flow by flow.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.flows.iter().flat_map(|flow| flow.waiting.iter().map(|waiting| &waiting.1)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FlowId;

    /// The discipline ignores the time.
    const NOW: SimTime = SimTime::ZERO;

    impl<T: Clone> Fair<T> {
        fn push(&mut self, flow: usize, cost: u64, item: T) {
            self.arrive(NOW, Request::new(FlowId(flow as u32), cost, item));
        }

        fn pop(&mut self) -> Option<T> {
            self.next(NOW).map(|request| request.item)
        }

        fn waits(&self, flow: u32) -> usize {
            self.waiting().filter(|request| request.flow == FlowId(flow)).count()
        }
    }

    #[test]
    fn equal_weights_take_turns() {
        let mut fair = Fair::new(&[1, 1]);
        (0..3).for_each(|number| fair.push(0, 10, (0, number)));
        (0..3).for_each(|number| fair.push(1, 10, (1, number)));
        let order: Vec<_> = std::iter::from_fn(|| fair.pop()).collect();
        assert_eq!(order, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
    }

    #[test]
    fn weights_divide_what_there_is() {
        let mut fair = Fair::new(&[3, 1]);
        (0..12).for_each(|_| fair.push(0, 10, 0));
        (0..12).for_each(|_| fair.push(1, 10, 1));
        let first_eight: Vec<_> = (0..8).filter_map(|_| fair.pop()).collect();
        assert_eq!(first_eight.iter().filter(|&&flow| flow == 0).count(), 6);
    }

    #[test]
    fn who_was_away_has_saved_nothing() {
        let mut fair = Fair::new(&[1, 1]);
        (0..100).for_each(|_| fair.push(0, 10, 0));
        (0..50).for_each(|_| assert_eq!(fair.pop(), Some(0)));
        (0..10).for_each(|_| fair.push(1, 10, 1));
        let next: Vec<_> = (0..10).filter_map(|_| fair.pop()).collect();
        assert!((4..=6).contains(&next.iter().filter(|&&flow| flow == 1).count()), "{next:?}");
        assert_eq!(fair.waits(0) + fair.waits(1), 50);
    }

    proptest! {
        /// The theorem of the paper: while both flows wait, the service they got, each over its weight,
        /// differs by at most one request of each.
        #[test]
        fn who_waits_gets_its_share(
            weights in (1u32..64, 1u32..64),
            costs in prop::collection::vec((1u64..1_000, 1u64..1_000), 20..60),
        ) {
            let mut fair = Fair::new(&[weights.0, weights.1]);
            for &(left, right) in &costs {
                fair.push(0, left, (0, left));
                fair.push(1, right, (1, right));
            }
            let weight = [f64::from(weights.0), f64::from(weights.1)];
            let most = |flow: usize| {
                let cost = costs.iter().map(|pair| if flow == 0 { pair.0 } else { pair.1 }).max().unwrap_or(0);
                cost as f64 / weight[flow]
            };
            let mut got = [0.0; 2];
            while fair.waits(0) > 0 && fair.waits(1) > 0 {
                let (flow, cost) = fair.pop().expect("both wait");
                got[flow] += cost as f64 / weight[flow];
                prop_assert!((got[0] - got[1]).abs() <= most(0) + most(1) + 0.1, "{:?}", got);
            }
        }

        /// No request is lost, and each flow keeps its order.
        #[test]
        fn all_are_served_in_the_order_of_their_flow(
            requests in prop::collection::vec((0usize..3, 0u64..100, prop::bool::ANY), 0..80)
        ) {
            let mut fair = Fair::new(&[1, 5, 2]);
            let (mut served, mut last) = (0, [None; 3]);
            let mut take = |popped: Option<(usize, usize)>| {
                if let Some((flow, number)) = popped {
                    assert!(last[flow] < Some(number));
                    last[flow] = Some(number);
                    served += 1;
                }
            };
            for (number, &(flow, cost, pop)) in requests.iter().enumerate() {
                fair.push(flow, cost, (flow, number));
                if pop {
                    take(fair.pop());
                }
            }
            while let Some(popped) = fair.pop() {
                take(Some(popped));
            }
            prop_assert_eq!(served, requests.len());
        }
    }

    proptest! {
        /// Taking back leads to the state of the mark; without the arrival that was announced, it does not.
        #[test]
        fn what_is_taken_back_never_was(
            steps in prop::collection::vec((0u32..3, 1u64..100, prop::bool::ANY, prop::bool::ANY), 1..40)
        ) {
            let mut fair = Fair::new(&[1, 5, 2]);
            for (number, &(flow, cost, arrives, gives)) in steps.iter().enumerate() {
                let (before, mark) = (fair.clone(), fair.mark(arrives.then_some(FlowId(flow))));
                let act = |fair: &mut Fair<usize>| {
                    if arrives {
                        fair.push(flow as usize, cost, number);
                    }
                    gives.then(|| fair.next(NOW)).flatten()
                };
                let given = act(&mut fair);
                let mut wrong = fair.clone();
                wrong.take_back(before.mark(None), given.clone());
                prop_assert_eq!(wrong == before, !arrives, "an arrival that nobody announced");
                fair.take_back(mark, given);
                prop_assert_eq!(&fair, &before);
                act(&mut fair);
            }
        }
    }

    #[test]
    #[should_panic(expected = "virtual time goes back")]
    fn virtual_time_that_goes_back_is_noticed() {
        let mut fair = Fair::new(&[1]);
        fair.push(0, 10, 'a');
        fair.virtual_time = 7;
        let _ = fair.pop();
    }

    #[test]
    #[should_panic(expected = "a request begins at 10240, after the last one of its flow ends")]
    fn a_request_that_begins_after_its_flow_ends_breaks_a_law() {
        let mut fair = Fair::new(&[1]);
        (0..2).for_each(|_| fair.push(0, 10, 'a'));
        fair.flows[0].finish = 0;
        while fair.pop().is_some() {}
    }
}
