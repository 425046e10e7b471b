//! Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): flows take turns; in each turn a flow may
//! spend its quantum, and what it could not spend because its next request costs more carries over to its
//! next turn, as long as it has requests.
//!
//! The quantum of a flow is its weight times q, the quantum for a weight of 1. The service of two backlogged
//! flows, each over its weight, differs by at most q + c_f/w_f + c_g/w_g. With quanta of at least the
//! costliest request, a request takes the same time for any number of flows.

use std::collections::VecDeque;

use towtank_units::SimTime;

use crate::room::Room;
use crate::{Discipline, Flows, NoMessage, Request};

/// Flows that take turns, each with a quantum of cost.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Drr<T> {
    flows: Vec<Flow<T>>,
    /// Flows with requests; the flow at the front has the turn.
    turns: VecDeque<u32>,
    /// Whether the first flow has received its quantum in this turn.
    begun: bool,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    quantum: u64,
    waiting: VecDeque<Request<T>>,
    /// The cost that it may still spend.
    deficit: u64,
}

/// The default quantum for a weight of 1: 64 KiB where costs are bytes, PFSsim's stripe. A free choice.
pub(crate) const QUANTUM: u64 = 64 << 10;

impl<T> Drr<T> {
    /// `quantum` is that of a weight of 1. Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth, the quantum or a weight is zero: some flow would never be served.
    #[must_use]
    pub fn new(depth: Option<u32>, quantum: u64, flows: &Flows) -> Drr<T> {
        assert!(quantum > 0, "a flow without quantum is never served");
        let flow = |weight| Flow {
            quantum: quantum.saturating_mul(u64::from(weight)),
            waiting: VecDeque::new(),
            deficit: 0,
        };
        Drr {
            flows: flows.weights().map(flow).collect(),
            turns: VecDeque::new(),
            begun: false,
            room: Room::new(depth),
        }
    }

    /// Skips rounds in which no flow can afford its head: all flows gain one quantum less than the number of
    /// quanta that some flow needs, so that it can afford its head in its next turn.
    fn skip_rounds(&mut self) {
        let rounds_needed = |flow: &Flow<T>| {
            let cost = flow.waiting.front().map_or(0, |head| head.cost);
            cost.saturating_sub(flow.deficit).div_ceil(flow.quantum)
        };
        let needed = self.turns.iter().map(|&flow| rounds_needed(&self.flows[flow as usize])).min();
        let skipped = needed.unwrap_or(0).saturating_sub(1);
        for &flow in &self.turns {
            let flow = &mut self.flows[flow as usize];
            flow.deficit = flow.deficit.saturating_add(flow.quantum.saturating_mul(skipped));
        }
    }
}

impl<T: Clone> Discipline for Drr<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let number = request.flow.0;
        let flow = &mut self.flows[number as usize];
        if flow.waiting.is_empty() {
            assert!(flow.deficit == 0, "flow {number} saved {} while it was idle", flow.deficit);
            self.turns.push_back(number);
        }
        flow.waiting.push_back(request);
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let mut passed_over = 0;
        loop {
            let &number = self.turns.front()?;
            let flow = &mut self.flows[number as usize];
            if !self.begun {
                flow.deficit = flow.deficit.saturating_add(flow.quantum);
                self.begun = true;
            }
            if let Some(request) = flow.waiting.pop_front_if(|head| head.cost <= flow.deficit) {
                flow.deficit -= request.cost;
                if flow.waiting.is_empty() {
                    flow.deficit = 0;
                    self.turns.pop_front();
                    self.begun = false;
                }
                let idle = |flow: &Flow<T>| flow.waiting.is_empty() && flow.deficit > 0;
                debug_assert!(!self.flows.iter().any(idle), "a flow saves what it is owed while it is idle");
                let waiting = || self.flows.iter().filter(|flow| !flow.waiting.is_empty()).count();
                debug_assert_eq!(self.turns.len(), waiting(), "flows that take turns, and that wait");
                self.room.take();
                return Some(request);
            }
            self.turns.rotate_left(1);
            self.begun = false;
            passed_over += 1;
            if passed_over == self.turns.len() {
                self.skip_rounds();
                passed_over = 0;
            }
        }
    }

    fn complete(&mut self, _: SimTime, _: &Request<T>) {
        self.room.release();
    }

    /// Flow by flow.
    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.flows.iter().flat_map(|flow| flow.waiting.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{at, push, served};

    /// The example of the paper's section on DRR: quanta of 500; flow 0 has 200, 750, 20, flow 1 has 500,
    /// 500, flow 2 has 200, 600, 100.
    #[test]
    fn deficits_by_hand() {
        let mut drr = Drr::new(None, 500, &Flows::equal(3));
        for (flow, costs) in [(0, vec![200, 750, 20]), (1, vec![500, 500]), (2, vec![200, 600, 100])] {
            (0..).zip(costs).for_each(|(number, cost)| push(&mut drr, flow, cost, flow * 10 + number));
        }
        // Round 1: 200 (300 left), 500 (0 left), 200 (300 left). Round 2: 750 of 800, then 20; 500; 600 and
        // 100 of 800.
        assert_eq!(served(&mut drr), [0, 10, 20, 1, 2, 11, 21, 22]);
    }

    /// Requests that cost 10^9 quanta are reached at once, in the order that turn after turn would give.
    #[test]
    fn rounds_in_which_nobody_can_go_are_skipped() {
        let mut drr = Drr::new(None, 1, &Flows::weighted(&[1, 3]));
        push(&mut drr, 0, 1_000_000_000, 0);
        push(&mut drr, 1, 1_500_000_000, 1);
        push(&mut drr, 1, 1_500_000_000, 2);
        // Flow 1 needs 5 * 10^8 rounds for each of its requests, flow 0 10^9 for its one; flow 0's turn comes
        // first in a round.
        assert_eq!(served(&mut drr), [1, 0, 2]);
        let mut slow = Drr::new(None, 1, &Flows::weighted(&[1, 3]));
        (0..)
            .zip([(0, 10), (1, 15), (1, 15)])
            .for_each(|(item, (flow, cost))| push(&mut slow, flow, cost, item));
        assert_eq!(served(&mut slow), [1, 0, 2]);
    }

    #[test]
    fn a_flow_that_leaves_saves_nothing() {
        let mut drr = Drr::new(None, 100, &Flows::equal(2));
        push(&mut drr, 0, 1, 0);
        assert_eq!(served(&mut drr), [0]);
        assert_eq!((drr.flows[0].deficit, drr.next(at(0))), (0, None));
    }

    #[test]
    #[should_panic(expected = "a flow saves what it is owed while it is idle")]
    fn what_an_idle_flow_saves_is_noticed() {
        let mut drr = Drr::new(None, 10, &Flows::weighted(&[1, 1]));
        crate::trial::push(&mut drr, 0, 10, 0);
        drr.flows[1].deficit = 5;
        let _ = crate::trial::served(&mut drr);
    }

    #[test]
    #[should_panic(expected = "flow 1 saved 5 while it was idle")]
    fn a_flow_that_returns_with_savings_breaks_a_law() {
        let mut drr = Drr::new(None, 10, &Flows::equal(2));
        drr.flows[1].deficit = 5;
        push(&mut drr, 1, 10, 0);
    }
}
