//! A queue in front of one server, first come first served. Its whole state is the instant at which it will
//! be idle.

use towtank_units::{SimSpan, SimTime};

use crate::Broken;

/// The interval in which a resource serves one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Service {
    /// When service begins.
    pub begin: SimTime,
    /// When service ends.
    pub end: SimTime,
}

/// One resource that serves requests one after the other.
///
/// **Conservation:** its total work is at most the time until it will be idle ([`Lane::audit`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Lane {
    /// When all work that has arrived will be done.
    pub idle_at: SimTime,
    /// The total work so far, including the part that lies in the future.
    pub busy: SimSpan,
}

impl Lane {
    /// Serves work that arrives now and takes `span`.
    #[inline]
    pub fn serve(&mut self, now: SimTime, span: SimSpan) -> Service {
        let begin = self.idle_at.max(now);
        self.idle_at = begin.saturating_add(span);
        self.busy = self.busy.saturating_add(span);
        Service { begin, end: self.idle_at }
    }

    /// Receives a message that streamed in while it was sent, no faster than this lane receives, and whose
    /// last byte arrives at `last_byte`. If the lane was free while the bytes came, it is done with the last
    /// one; otherwise it receives them after the earlier work.
    #[inline]
    pub fn receive(&mut self, last_byte: SimTime, span: SimSpan) -> Service {
        self.idle_at = self.idle_at.saturating_add(span).max(last_byte);
        self.busy = self.busy.saturating_add(span);
        Service { begin: self.idle_at.saturating_sub(span), end: self.idle_at }
    }

    /// Like [`Lane::receive`], for a lane that may be slower than the sender, which sent for `sent_in`. The
    /// lane forwards bytes as they come (cut through): it begins with the first byte, or when it is free, and
    /// ends no sooner than the last byte arrives.
    #[inline]
    pub fn cut_through(&mut self, last_byte: SimTime, sent_in: SimSpan, span: SimSpan) -> Service {
        let begin = self.idle_at.max(last_byte.saturating_sub(sent_in));
        self.idle_at = begin.saturating_add(span).max(last_byte);
        self.busy = self.busy.saturating_add(span);
        Service { begin, end: self.idle_at }
    }

    /// The remaining work at `now`.
    #[must_use]
    pub fn backlog(&self, now: SimTime) -> SimSpan {
        self.idle_at.checked_since(now).unwrap_or(SimSpan::ZERO)
    }

    /// The backlog as a number of requests that take `each`, rounded to the nearest.
    #[must_use]
    pub fn depth(&self, now: SimTime, each: SimSpan) -> u64 {
        let each = each.as_ns().max(1);
        self.backlog(now).as_ns().saturating_add(each / 2) / each
    }

    /// Checks the conservation law.
    ///
    /// # Errors
    /// If the lane was given more work than there is time for.
    pub fn audit(&self) -> Result<(), Broken> {
        let (busy, idle_at) = (self.busy, self.idle_at);
        if busy.as_ns() > idle_at.as_ns() { Err(Broken::MoreThanTime { busy, idle_at }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    fn at(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    fn ns(ns: u64) -> SimSpan {
        SimSpan::from_ns(ns)
    }

    #[test]
    fn who_comes_while_it_is_busy_waits() {
        let mut lane = Lane::default();
        assert_eq!(lane.serve(at(10), ns(5)).end, at(15));
        assert_eq!(lane.serve(at(12), ns(5)).end, at(20));
        assert_eq!(lane.serve(at(30), ns(5)).end, at(35));
        assert_eq!(lane.busy, ns(15));
    }

    #[test]
    fn what_streams_in_costs_no_time_of_its_own_where_the_lane_is_free() {
        let mut lane = Lane::default();
        // Sent from 0 to 10: received with its last byte.
        assert_eq!(lane.receive(at(10), ns(10)).end, at(10));
        // From another sender, from 2 to 12: it waits until 10 and takes ten more.
        assert_eq!(lane.receive(at(12), ns(10)).end, at(20));
        // A third one, from 50 to 60.
        assert_eq!(lane.receive(at(60), ns(10)).end, at(60));
        assert_eq!(lane.busy, ns(30));
    }

    #[test]
    fn a_slow_lane_saves_no_idle_time() {
        let mut lane = Lane::default();
        // Sent from 100 to 110 to a lane that is four times as slow: it starts with the first byte.
        assert_eq!(lane.cut_through(at(110), ns(10), ns(40)).end, at(140));
        // The next comes while the lane is busy, the one after it when the lane has been idle for long.
        assert_eq!(lane.cut_through(at(120), ns(10), ns(40)).end, at(180));
        assert_eq!(lane.cut_through(at(1_000), ns(10), ns(40)).end, at(1_030));
        // A faster lane ends with the last byte.
        assert_eq!(lane.cut_through(at(2_000), ns(10), ns(4)).end, at(2_000));
    }

    #[test]
    fn what_is_served_begins_when_the_lane_is_free() {
        let mut lane = Lane::default();
        assert_eq!(lane.serve(at(10), ns(5)), Service { begin: at(10), end: at(15) });
        assert_eq!(lane.serve(at(12), ns(5)), Service { begin: at(15), end: at(20) });
        assert_eq!(lane.receive(at(22), ns(5)), Service { begin: at(20), end: at(25) });
        assert_eq!(lane.cut_through(at(40), ns(4), ns(10)), Service { begin: at(36), end: at(46) });
        assert_eq!(lane.cut_through(at(40), ns(4), ns(1)), Service { begin: at(46), end: at(47) });
    }

    #[test]
    fn the_backlog_is_also_a_number_of_things() {
        let mut lane = Lane::default();
        lane.serve(at(50), ns(100));
        lane.serve(at(60), ns(100));
        assert_eq!([60, 249, 250, 900].map(|now| lane.backlog(at(now)).as_ns()), [190, 1, 0, 0]);
        assert_eq!([60, 100, 101, 200, 201, 300].map(|now| lane.depth(at(now), ns(100))), [2, 2, 1, 1, 0, 0]);
    }

    #[test]
    fn work_from_nowhere_is_noticed() {
        let mut lane = Lane::default();
        lane.serve(at(0), ns(7));
        assert_eq!(lane.audit(), Ok(()));
        let planted = Lane { busy: ns(8), ..lane };
        assert_eq!(planted.audit(), Err(Broken::MoreThanTime { busy: ns(8), idle_at: at(7) }));
    }

    proptest::proptest! {
        /// Services in order of arrival end when a step-by-step simulation of each nanosecond says.
        #[test]
        fn a_lane_is_a_queue_looked_at_each_nanosecond(comes in proptest::collection::vec((0u64..20, 0u64..9), 1..25)) {
            let (mut lane, mut came, mut comings, mut ends) = (Lane::default(), 0, VecDeque::new(), Vec::new());
            for (gap, span) in comes {
                came += gap;
                comings.push_back((came, span));
                ends.push(lane.serve(at(came), ns(span)).end.as_ns());
            }
            let (mut waiting, mut slow) = (VecDeque::new(), Vec::new());
            for now in 0.. {
                while let Some((_, span)) = comings.pop_front_if(|coming| coming.0 == now) {
                    waiting.push_back(span);
                }
                while waiting.pop_front_if(|left| *left == 0).is_some() {
                    slow.push(now);
                }
                match waiting.front_mut() {
                    Some(left) => *left -= 1,
                    None if comings.is_empty() => break,
                    None => {}
                }
            }
            proptest::prop_assert_eq!(ends, slow);
        }
    }

    proptest::proptest! {
        /// The bytes of one sender arrive one after the other: a lane is never given more work than there is
        /// time for, and if it is as fast as the sender both rules agree.
        #[test]
        fn a_lane_is_never_busier_than_there_is_time(sends in proptest::collection::vec((1u64..50, 0u64..90), 1..30), slow in 1u64..5) {
            let (mut lane, mut equal, mut plain) = (Lane::default(), Lane::default(), Lane::default());
            let mut now = 0;
            for (span, gap) in sends {
                now += gap + span;
                let done = lane.cut_through(at(now), ns(span), ns(span * slow)).end;
                proptest::prop_assert!(lane.busy.as_ns() <= done.as_ns());
                proptest::prop_assert_eq!(equal.cut_through(at(now), ns(span), ns(span)).end, plain.receive(at(now), ns(span)).end);
                proptest::prop_assert!(lane.audit().is_ok() && plain.audit().is_ok());
            }
        }
    }
}
