//! One queue in order of a key, and the two disciplines that it makes; requests of equal keys go in order of
//! arrival, and the depth counts as in FIFO(D).
//!
//! - [`Edf`], earliest deadline first: the deadline of a request is its flow's delay after it was issued at
//!   its client ([`crate::About::rose`]), or the request's own deadline ([`Request::due`]).
//! - [`Priority`], strict priorities: the flow with the lower priority number goes first, however long the
//!   others have waited. Requests of low priority may starve: that is the rule, and the reason to compare
//!   others with it.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use towtank_units::{SimSpan, SimTime};

use crate::room::Room;
use crate::{Discipline, FlowSpec, Flows, NoMessage, Request};

/// Requests in order of their deadlines, by the delays of flows.
pub type Edf<T> = Keyed<SimSpan, T>;

/// Requests by the priority of their flow, then in order of arrival.
pub type Priority<T> = Keyed<u32, T>;

/// What a flow is given beforehand, and how it makes the key of a request.
pub trait Order: Copy {
    /// The request with the least key goes first.
    type Key: Copy + Ord + Debug;

    /// What the flow is given.
    fn of(spec: &FlowSpec) -> Self;

    /// The key of a request of the flow.
    fn key<T>(self, request: &Request<T>) -> Self::Key;
}

impl Order for SimSpan {
    type Key = SimTime;

    fn of(spec: &FlowSpec) -> SimSpan {
        spec.delay
    }

    fn key<T>(self, request: &Request<T>) -> SimTime {
        request.due.unwrap_or(request.about.rose.saturating_add(self))
    }
}

impl Order for u32 {
    type Key = u32;

    fn of(spec: &FlowSpec) -> u32 {
        spec.priority
    }

    fn key<T>(self, _: &Request<T>) -> u32 {
        self
    }
}

/// Requests in order of their keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound(
    serialize = "O: Serialize, O::Key: Serialize, T: Serialize",
    deserialize = "O: Deserialize<'de>, O::Key: Deserialize<'de>, T: Deserialize<'de>"
))]
pub struct Keyed<O: Order, T> {
    /// By flow.
    orders: Vec<O>,
    /// By key and arrival number.
    #[serde(with = "towtank_units::pairs")]
    waiting: BTreeMap<(O::Key, u64), Request<T>>,
    came: u64,
    room: Room,
}

impl<O: Order, T> Keyed<O, T> {
    /// Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> Keyed<O, T> {
        let orders = flows.specs().iter().map(O::of).collect();
        Keyed { orders, waiting: BTreeMap::new(), came: 0, room: Room::new(depth) }
    }
}

impl<O: Order, T: Clone> Discipline for Keyed<O, T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let key = self.orders[request.flow.0 as usize].key(&request);
        let other = self.waiting.insert((key, self.came), request);
        debug_assert!(other.is_none(), "two requests have number {}", self.came);
        self.came += 1;
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let ((key, _), request) = self.waiting.pop_first()?;
        debug_assert_eq!(
            key,
            self.orders[request.flow.0 as usize].key(&request),
            "the key of a request of flow {}",
            request.flow.0
        );
        self.room.take();
        Some(request)
    }

    fn complete(&mut self, _: SimTime, _: &Request<T>) {
        self.room.release();
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.waiting.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::About;
    use crate::trial::{at, given, ms, push, request, served};

    fn rose(at: SimTime) -> About {
        About { rose: at, ..About::default() }
    }

    /// Section 1.13, EDF: time of issue at the client plus the flow's delay; ties go in order of arrival.
    #[test]
    fn deadlines_count_from_the_client() {
        let delay = |delay| FlowSpec { delay: SimSpan::from_ms(delay), ..FlowSpec::default() };
        let mut edf = Edf::new(None, &Flows::new(vec![delay(100), delay(10)]));
        // Due at 100, 60, 105, 60 and, by its own deadline, 1.
        edf.arrive(ms(7), request(0, 1, 0).about(rose(ms(0))));
        edf.arrive(ms(70), request(1, 1, 1).about(rose(ms(50))));
        edf.arrive(ms(70), request(0, 1, 2).about(rose(ms(5))));
        edf.arrive(ms(71), request(1, 1, 3).about(rose(ms(50))));
        edf.arrive(ms(72), Request { due: Some(ms(1)), ..request(0, 1, 4) });
        assert_eq!(served(&mut edf), [4, 1, 3, 0, 2]);
    }

    #[test]
    fn a_depth_bounds_what_is_in_service() {
        let mut edf = Edf::new(Some(1), &Flows::equal(1));
        (0..2).for_each(|item| edf.arrive(at(0), request(0, 1, item)));
        assert_eq!(given(&mut edf, at(0)), [0]);
    }

    #[test]
    fn the_lower_priority_number_goes_first() {
        let spec = |priority| FlowSpec { priority, ..FlowSpec::default() };
        let mut strict = Priority::new(Some(1), &Flows::new(vec![spec(2), spec(0), spec(2)]));
        for (item, flow) in (0..).zip([0, 2, 1, 0, 1]) {
            push(&mut strict, flow, 1, item);
        }
        assert_eq!(served(&mut strict), [2, 4, 0, 1, 3]);
        push(&mut strict, 0, 1, 5);
        push(&mut strict, 0, 1, 6);
        assert_eq!(given(&mut strict, at(0)), [5]);
    }

    #[test]
    #[should_panic(expected = "two requests have number 0")]
    fn a_number_that_is_used_twice_is_noticed() {
        let mut edf = Edf::new(None, &Flows::equal(1));
        push(&mut edf, 0, 10, 0);
        edf.came = 0;
        push(&mut edf, 0, 10, 1);
    }

    #[test]
    #[should_panic(expected = "the key of a request of flow 0")]
    fn a_request_of_another_priority_is_noticed() {
        let mut priority = Priority::new(None, &Flows::equal(1));
        push(&mut priority, 0, 10, 0);
        priority.orders[0] = 3;
        let _ = served(&mut priority);
    }
}
