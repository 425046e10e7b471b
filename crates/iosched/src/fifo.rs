//! First come, first served: whose a request is, what it costs and when it is due do not matter.

use std::collections::VecDeque;

use towtank_units::SimTime;

use crate::{Discipline, NoMessage, Request};

/// Requests in the order in which they came.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Fifo<T> {
    waiting: VecDeque<Request<T>>,
}

impl<T> Fifo<T> {
    /// Nobody waits.
    #[must_use]
    pub fn new() -> Fifo<T> {
        Fifo { waiting: VecDeque::new() }
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
        self.waiting.pop_front()
    }

    fn waiting(&self) -> Box<dyn Iterator<Item = &Request<T>> + '_> {
        Box::new(self.waiting.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;

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
}
