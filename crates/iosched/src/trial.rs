//! Shorthand for tests: requests by flow, cost and item, and the order in which they are given.

use towtank_units::SimTime;

use crate::{Discipline, FlowId, Request};

/// An instant in nanoseconds.
pub fn at(ns: u64) -> SimTime {
    SimTime::from_ns(ns)
}

pub fn ms(ms: u64) -> SimTime {
    SimTime::from_ns(ms * 1_000_000)
}

pub fn request(flow: u32, cost: u64, item: u32) -> Request<u32> {
    Request::new(FlowId(flow), cost, item)
}

/// A request that arrives at instant 0.
pub fn push<D: Discipline<Item = u32>>(to: &mut D, flow: u32, cost: u64, item: u32) {
    to.arrive(at(0), request(flow, cost, item));
}

/// All that is given now, by item, while nothing completes.
pub fn given<D: Discipline<Item = u32>>(by: &mut D, now: SimTime) -> Vec<u32> {
    std::iter::from_fn(|| by.next(now)).map(|request| request.item).collect()
}

/// All that is given at instant 0 if each is done at once.
pub fn served<D: Discipline<Item = u32>>(by: &mut D) -> Vec<u32> {
    served_at(by, at(0))
}

/// All that is given now if each is done at once.
pub(crate) fn served_at<D: Discipline<Item = u32>>(by: &mut D, now: SimTime) -> Vec<u32> {
    let one = || {
        let request = by.next(now)?;
        by.complete(now, &request);
        Some(request.item)
    };
    std::iter::from_fn(one).collect()
}

/// Reports that a request of this flow, cost and item is done.
pub fn done<D: Discipline<Item = u32>>(to: &mut D, now: SimTime, flow: u32, cost: u64, item: u32) {
    to.complete(now, &request(flow, cost, item));
}
