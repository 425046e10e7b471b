//! Weighted round robin: flows take turns, and in each turn a flow sends as many requests as its weight. The
//! cost of requests does not matter; where costs differ, [`crate::Drr`] divides more evenly.

use std::collections::VecDeque;

use towtank_units::SimTime;

use crate::room::Room;
use crate::{Discipline, Flows, NoMessage, Request};

/// Flows in turn, each with as many requests as its weight.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Wrr<T> {
    flows: Vec<Flow<T>>,
    /// Flows with requests; the flow at the front has the turn.
    turns: VecDeque<u32>,
    /// Requests that the first flow has sent in this turn.
    sent: u32,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    weight: u32,
    waiting: VecDeque<Request<T>>,
}

impl<T> Wrr<T> {
    /// Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth or a weight is zero: some flow would never be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> Wrr<T> {
        let flow = |weight| Flow { weight, waiting: VecDeque::new() };
        Wrr {
            flows: flows.weights().map(flow).collect(),
            turns: VecDeque::new(),
            sent: 0,
            room: Room::new(depth),
        }
    }
}

impl<T: Clone> Discipline for Wrr<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let number = request.flow.0;
        let flow = &mut self.flows[number as usize];
        if flow.waiting.is_empty() {
            self.turns.push_back(number);
        }
        flow.waiting.push_back(request);
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let &number = self.turns.front()?;
        let flow = &mut self.flows[number as usize];
        let request = flow.waiting.pop_front()?;
        self.sent += 1;
        assert!(self.sent <= flow.weight, "flow {number} has sent {} in a turn", self.sent);
        if flow.waiting.is_empty() {
            self.turns.pop_front();
            self.sent = 0;
        } else if self.sent >= flow.weight {
            self.turns.rotate_left(1);
            self.sent = 0;
        }
        let waiting = || self.flows.iter().filter(|flow| !flow.waiting.is_empty()).count();
        debug_assert_eq!(self.turns.len(), waiting(), "flows that take turns, and that wait");
        self.room.take();
        Some(request)
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
    use crate::trial::{push, served};

    /// Section 3.1: weights 3 and 1, whatever requests cost.
    #[test]
    fn each_turn_is_as_long_as_the_weight() {
        let mut wrr = Wrr::new(None, &Flows::weighted(&[3, 1]));
        (0..7).for_each(|item| push(&mut wrr, 0, 1 + u64::from(item) * 99, item));
        (10..12).for_each(|item| push(&mut wrr, 1, 1, item));
        assert_eq!(served(&mut wrr), [0, 1, 2, 10, 3, 4, 5, 11, 6]);
    }

    #[test]
    fn a_flow_that_runs_empty_gives_its_turn_up() {
        let mut wrr = Wrr::new(None, &Flows::weighted(&[3, 1]));
        push(&mut wrr, 0, 1, 0);
        push(&mut wrr, 1, 1, 10);
        assert_eq!(served(&mut wrr), [0, 10]);
        // Its next turn is a whole one again.
        (1..5).for_each(|item| push(&mut wrr, 0, 1, item));
        push(&mut wrr, 1, 1, 11);
        assert_eq!(served(&mut wrr), [1, 2, 3, 11, 4]);
    }

    #[test]
    #[should_panic(expected = "flows that take turns, and that wait")]
    fn a_flow_without_a_turn_is_noticed() {
        let mut wrr = Wrr::new(None, &Flows::weighted(&[2, 1]));
        (0..6).for_each(|item| crate::trial::push(&mut wrr, item % 2, 10, item));
        wrr.turns.pop_back();
        let _ = crate::trial::served(&mut wrr);
    }

    #[test]
    #[should_panic(expected = "flow 0 has sent 4 in a turn")]
    fn a_turn_longer_than_its_weight_breaks_a_law() {
        let mut wrr = Wrr::new(None, &Flows::weighted(&[3, 1]));
        push(&mut wrr, 0, 10, 0);
        wrr.sent = 3;
        let _ = served(&mut wrr);
    }
}
