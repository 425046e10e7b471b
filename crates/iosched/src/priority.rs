//! Strict priorities: the flow with the lower priority number goes first, however long the others have
//! waited; flows of equal priority go in order of arrival. Requests of low priority may starve: that is the
//! rule, and the reason to compare others with it.

use std::collections::BTreeMap;

use towtank_units::SimTime;

use crate::room::Room;
use crate::{Discipline, Flows, NoMessage, Request};

/// Requests by the priority of their flow, then in order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Priority<T> {
    /// By flow.
    priorities: Vec<u32>,
    /// By priority and arrival number.
    #[serde(with = "towtank_units::pairs", bound(serialize = "T: serde::Serialize"))]
    #[serde(bound(deserialize = "T: serde::Deserialize<'de>"))]
    waiting: BTreeMap<(u32, u64), Request<T>>,
    came: u64,
    room: Room,
}

impl<T> Priority<T> {
    /// Without a depth, the number of requests in service is not bounded.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn new(depth: Option<u32>, flows: &Flows) -> Priority<T> {
        let priorities = flows.specs().iter().map(|spec| spec.priority).collect();
        Priority { priorities, waiting: BTreeMap::new(), came: 0, room: Room::new(depth) }
    }
}

impl<T: Clone> Discipline for Priority<T> {
    type Item = T;
    type Message = NoMessage;

    /// # Panics
    /// When the flow of the request is unknown.
    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        let priority = self.priorities[request.flow.0 as usize];
        let other = self.waiting.insert((priority, self.came), request);
        debug_assert!(other.is_none(), "two requests have number {}", self.came);
        self.came += 1;
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_full() {
            return None;
        }
        let ((priority, _), request) = self.waiting.pop_first()?;
        let own = self.priorities[request.flow.0 as usize];
        debug_assert_eq!(priority, own, "the priority of flow {}", request.flow.0);
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
    use crate::FlowSpec;
    use crate::trial::{at, given, push, served};

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
    #[should_panic(expected = "the priority of flow 0")]
    fn a_request_of_another_priority_is_noticed() {
        let mut priority = Priority::new(None, &Flows::equal(1));
        crate::trial::push(&mut priority, 0, 10, 0);
        priority.priorities[0] = 3;
        let _ = crate::trial::served(&mut priority);
    }
}
