//! First come, first served: the flow, cost and deadline of a request do not matter. FIFO(D) allows at most D
//! requests in service.

use std::collections::VecDeque;

use towtank_units::SimTime;

use crate::room::Room;
use crate::{Discipline, NoMessage, Request};

/// Requests in order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Fifo<T> {
    waiting: VecDeque<Request<T>>,
    /// `None` where the number in service is not counted: then completions need not be reported.
    room: Option<Room>,
}

impl<T> Fifo<T> {
    /// An empty queue without a bound on the number in service.
    #[must_use]
    pub fn new() -> Fifo<T> {
        Fifo { waiting: VecDeque::new(), room: None }
    }

    /// FIFO(D); without a depth, the number in service is not bounded.
    ///
    /// # Panics
    /// When the depth is zero: no request would ever be served.
    #[must_use]
    pub fn with_depth(depth: Option<u32>) -> Fifo<T> {
        Fifo { room: depth.map(|depth| Room::new(Some(depth))), ..Fifo::new() }
    }
}

impl<T> Default for Fifo<T> {
    fn default() -> Fifo<T> {
        Fifo::new()
    }
}

impl<T: Clone> Discipline for Fifo<T> {
    type Item = T;
    type Message = NoMessage;

    fn arrive(&mut self, _: SimTime, request: Request<T>) {
        self.waiting.push_back(request);
    }

    fn next(&mut self, _: SimTime) -> Option<Request<T>> {
        if self.room.is_some_and(Room::is_full) {
            return None;
        }
        let request = self.waiting.pop_front()?;
        self.room.iter_mut().for_each(Room::take);
        Some(request)
    }

    fn complete(&mut self, _: SimTime, _: &Request<T>) {
        self.room.iter_mut().for_each(Room::release);
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.waiting.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;
    use crate::trial::{at, done, given, push};

    #[test]
    fn the_order_is_that_of_coming() {
        let mut fifo = Fifo::default();
        for (item, (flow, cost)) in (0..).zip([(1, 5), (0, 900), (1, 0), (7, 1)]) {
            fifo.arrive(SimTime::from_ns(item), Request::new(FlowId(flow), cost, item));
        }
        assert_eq!(fifo.waiting().count(), 4);
        let order: Vec<u64> =
            std::iter::from_fn(|| fifo.next(SimTime::from_ns(9))).map(|one| one.item).collect();
        assert_eq!(order, [0, 1, 2, 3]);
        assert_eq!((fifo.waiting().count(), fifo.wake_at(), fifo.tell()), (0, None, None));
    }

    /// Section 1.13: arrival order while fewer than D are outstanding.
    #[test]
    fn a_depth_bounds_what_is_in_service() {
        let mut fifo = Fifo::with_depth(Some(2));
        (0..4).for_each(|item| push(&mut fifo, 0, 1, item));
        assert_eq!(given(&mut fifo, at(0)), [0, 1]);
        done(&mut fifo, at(1), 0, 1, 0);
        assert_eq!(given(&mut fifo, at(1)), [2]);
        let mut boundless = Fifo::with_depth(None);
        (0..4).for_each(|item| push(&mut boundless, 0, 1, item));
        assert_eq!(given(&mut boundless, at(0)), [0, 1, 2, 3]);
    }
}
