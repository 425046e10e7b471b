//! WF2Q+ (Bennett and Zhang, SIGCOMM 1996 and 1997): of the requests that a fluid server would have begun by
//! now, the one goes first that it would finish first. A flow can neither fall behind its share nor run ahead
//! of it by more than one request, whereas WFQ lets a heavy flow run ahead by many.
//!
//! The virtual time is V = max(V + cost / sum of weights, the least start tag of a head), which does not
//! require simulating the fluid server.

use std::collections::{BTreeSet, VecDeque};

use towtank_units::SimTime;

use crate::room::Room;
use crate::tag::Tag;
use crate::{Discipline, Flows, NoMessage, Request};

/// Requests in the order of finish tags, among those that are eligible.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Wf2q<T> {
    flows: Vec<Flow<T>>,
    /// Heads that are not yet eligible: start tag and flow.
    early: BTreeSet<(Tag, u32)>,
    /// Heads that are eligible: finish tag and flow.
    eligible: BTreeSet<(Tag, u32)>,
    virtual_time: Tag,
    weights: u64,
    room: Room,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow<T> {
    weight: u64,
    waiting: VecDeque<Request<T>>,
    /// The start tag of the head, if anything waits.
    start: Tag,
    /// The finish tag of the head, or of the last request given.
    finish: Tag,
}

impl<T> Wf2q<T> {
    /// Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth or a weight is zero: some flow would never be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> Wf2q<T> {
        let flow = |weight| Flow {
            weight: u64::from(weight),
            waiting: VecDeque::new(),
            start: Tag::ZERO,
            finish: Tag::ZERO,
        };
        Wf2q {
            flows: flows.weights().map(flow).collect(),
            early: BTreeSet::new(),
            eligible: BTreeSet::new(),
            virtual_time: Tag::ZERO,
            weights: flows.weights().map(u64::from).sum(),
            room: Room::new(depth),
        }
    }

    /// Tags the new head of a flow.
    fn tag(&mut self, number: u32, start: Tag) {
        let flow = &mut self.flows[number as usize];
        let Some(head) = flow.waiting.front() else { return };
        assert!(start >= flow.start, "flow {number} begins earlier than before");
        flow.start = start;
        flow.finish = start.plus(Tag::of(head.cost, flow.weight));
        if start <= self.virtual_time {
            self.eligible.insert((flow.finish, number));
        } else {
            self.early.insert((start, number));
        }
    }

    /// Advances the virtual time and makes heads eligible by it.
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
}

impl<T: Clone> Discipline for Wf2q<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let number = request.flow.0;
        let flow = &mut self.flows[number as usize];
        let was_empty = flow.waiting.is_empty();
        flow.waiting.push_back(request);
        if was_empty {
            let start = flow.finish.max(self.virtual_time);
            self.tag(number, start);
        }
    }

    /// Of equal finish tags, the flow with the lowest number.
    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        if self.eligible.is_empty() {
            let &(least, _) = self.early.first()?;
            self.advance(least);
        }
        let (_, number) = self.eligible.pop_first()?;
        let flow = &mut self.flows[number as usize];
        assert!(flow.start <= self.virtual_time, "flow {number} is served before it begins");
        let finish = flow.finish;
        let request = flow.waiting.pop_front()?;
        self.tag(number, finish);
        let after = self.virtual_time.plus(Tag::of(request.cost, self.weights));
        self.advance(after);
        let waiting = || self.flows.iter().filter(|flow| !flow.waiting.is_empty()).count();
        debug_assert_eq!(
            self.early.len() + self.eligible.len(),
            waiting(),
            "flows with a tag, and that wait"
        );
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

    /// Section 3.1, WF2Q+, on the example in which WFQ lets the heavy flow run ten requests ahead: here it
    /// takes every second turn.
    #[test]
    fn a_heavy_flow_takes_turns() {
        let weights: Vec<u32> = [10].into_iter().chain([1; 10]).collect();
        let mut wf2q = Wf2q::new(Some(1), &Flows::weighted(&weights));
        (0..11).for_each(|item| push(&mut wf2q, 0, 10, item));
        (1..11).for_each(|flow| push(&mut wf2q, flow, 10, 100 + flow));
        let order = served(&mut wf2q);
        assert_eq!(order[..6], [0, 101, 1, 102, 2, 103]);
        assert_eq!(order.iter().position(|&item| item == 10), Some(20));
    }

    /// V = max(V + cost / weights, least start): weights 1 and 3, requests of 12. Starts 0, 12, 24 against 0,
    /// 4, 8, 12; V goes 3, 6, 9, 12 with each.
    #[test]
    fn tags_by_hand() {
        let mut wf2q = Wf2q::new(None, &Flows::weighted(&[1, 3]));
        (0..2).for_each(|item| push(&mut wf2q, 0, 12, item));
        (10..15).for_each(|item| push(&mut wf2q, 1, 12, item));
        let mut seen = Vec::new();
        while let Some(request) = wf2q.next(SimTime::ZERO) {
            seen.push((request.item, wf2q.virtual_time.whole()));
        }
        // After 10 at V = 3 the next of flow 1 starts at 4: flow 0 goes. At 6 it may, at 9 the one after it.
        assert_eq!(seen, [(10, 3), (0, 6), (11, 9), (12, 12), (13, 15), (1, 18), (14, 21)]);
    }

    /// With only early heads the virtual time jumps to the least start: the server does not idle.
    #[test]
    fn nobody_waits_while_the_server_is_free() {
        let mut wf2q = Wf2q::new(None, &Flows::weighted(&[1, 99]));
        (0..3).for_each(|item| push(&mut wf2q, 0, 1_000, item));
        assert_eq!(served(&mut wf2q), [0, 1, 2]);
    }

    #[test]
    #[should_panic(expected = "flows with a tag, and that wait")]
    fn a_flow_that_lost_its_tag_is_noticed() {
        let mut wf2q = Wf2q::new(None, &Flows::weighted(&[1, 1]));
        (0..6).for_each(|item| crate::trial::push(&mut wf2q, item % 2, 10, item));
        wf2q.early.clear();
        wf2q.eligible.pop_last();
        let _ = crate::trial::served(&mut wf2q);
    }

    #[test]
    #[should_panic(expected = "flow 0 begins earlier than before")]
    fn a_start_that_goes_back_breaks_a_law() {
        let mut wf2q = Wf2q::new(None, &Flows::equal(1));
        wf2q.flows[0].start = Tag::NEVER;
        push(&mut wf2q, 0, 10, 0);
    }

    #[test]
    #[should_panic(expected = "flow 0 is served before it begins")]
    fn a_flow_that_is_served_too_early_breaks_a_law() {
        let mut wf2q = Wf2q::new(None, &Flows::equal(1));
        push(&mut wf2q, 0, 10, 0);
        wf2q.flows[0].start = Tag::NEVER;
        let _ = served(&mut wf2q);
    }
}
