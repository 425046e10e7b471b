//! The limit of mClock by itself: when a request may go if nothing but the limit of its flow holds it back.
//!
//! A flow's limit tag is L = max(t, L' + c/l), as in [`Mclock`](crate::Mclock). Where a server has room for
//! all requests whose limit has come, requests of a flow go in their order at their tags, so the instant is
//! known on arrival and no queue is needed. Reservations are left out: they let a request go ahead of its
//! limit tag, but do not change the tags, and so not the rate.

use towtank_units::SimTime;

use crate::tag::Tag;

/// The limit tag of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Limiter {
    last: Option<Tag>,
}

impl Limiter {
    /// When a request of this cost, which arrives now, may go at `per_second` units of cost per second.
    ///
    /// # Panics
    /// When the limit is zero.
    pub fn admit(&mut self, now: SimTime, cost: u64, per_second: u64) -> SimTime {
        assert!(per_second > 0, "a flow with a limit of zero never goes");
        let at = Tag::at(now);
        let tag = self.last.map_or(at, |last| at.max(last.plus(Tag::span_of(cost, per_second))));
        self.last = Some(tag);
        tag.instant()
    }

    /// When the last request goes; none before the first.
    #[must_use]
    pub fn last(&self) -> Option<SimTime> {
        self.last.map(Tag::instant)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{AtLimit, Discipline, FlowId, FlowSpec, Flows, Mclock, Request};

    /// The instants at which mClock lets the requests of one flow go, which has a weight and this limit.
    fn by_mclock(arrivals: &[(u64, u64)], limit: u64) -> Vec<u64> {
        let flows = Flows::new(vec![FlowSpec { weight: 1, limit, ..FlowSpec::default() }]);
        let mut mclock: Mclock<usize> = Mclock::new(None, AtLimit::Wait, &flows);
        let mut gone = Vec::new();
        let mut coming = arrivals.iter().enumerate().peekable();
        let mut now = SimTime::ZERO;
        while gone.len() < arrivals.len() {
            while let Some((number, &(_, cost))) = coming.next_if(|(_, arrival)| arrival.0 <= now.as_ns()) {
                mclock.arrive(now, Request::new(FlowId(0), cost, number));
            }
            while let Some(request) = mclock.next(now) {
                assert_eq!(request.item, gone.len(), "requests of a flow go in their order");
                gone.push(now.as_ns());
            }
            let next = coming.peek().map(|(_, arrival)| SimTime::from_ns(arrival.0));
            let Some(then) = next.into_iter().chain(mclock.wake_at()).min() else { break };
            now = then;
        }
        gone
    }

    fn alone(arrivals: &[(u64, u64)], limit: u64) -> Vec<u64> {
        let mut limiter = Limiter::default();
        let admit = |&(at, cost): &(u64, u64)| limiter.admit(SimTime::from_ns(at), cost, limit).as_ns();
        arrivals.iter().map(admit).collect()
    }

    proptest! {
        /// The instants are those of mClock with a weight and a limit.
        #[test]
        fn a_limit_alone_is_that_of_mclock(
            gaps in prop::collection::vec((0u64..4_000_000_000, 1u64..200), 1..40),
            limit in 1u64..300,
        ) {
            let mut at = 0;
            let arrivals: Vec<(u64, u64)> = gaps.iter().map(|&(gap, cost)| { at += gap; (at, cost) }).collect();
            prop_assert_eq!(alone(&arrivals, limit), by_mclock(&arrivals, limit));
        }
    }

    /// Ceph 16.2.15 with a limit of 63: an item of cost 109 every 1.730 s, as its log has it.
    #[test]
    fn work_items_go_at_the_limit() {
        let items = alone(&[(0, 109), (0, 109), (0, 109), (9_000_000_000, 109)], 63);
        assert_eq!(items, [0, 1_730_158_731, 3_460_317_461, 9_000_000_000]);
        assert_ne!(alone(&[(0, 109), (0, 108)], 63)[1], items[1], "the cost counts");
    }

    #[test]
    #[should_panic(expected = "a limit of zero")]
    fn a_limit_of_zero_is_refused() {
        Limiter::default().admit(SimTime::ZERO, 1, 0);
    }
}
