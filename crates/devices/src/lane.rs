//! A queue in front of one server, first come first served: all that must be known of it is when it will be idle.

use towtank_units::{SimSpan, SimTime};

/// One resource that serves one thing after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Lane {
    /// When all that has come so far will be done.
    pub idle_at: SimTime,
    /// How long it has been given to do so far, the future part of it included.
    pub busy: SimSpan,
}

impl Lane {
    /// Something comes now and takes `span`: when it will be done.
    #[inline]
    pub fn serve(&mut self, now: SimTime, span: SimSpan) -> SimTime {
        self.idle_at = self.idle_at.max(now).saturating_add(span);
        self.busy = self.busy.saturating_add(span);
        self.idle_at
    }

    /// Something has streamed in while it was sent, no faster than this lane takes it in, and its last byte is here now: when
    /// it will have been taken in. A lane that was free while the bytes came is done with the last one; else it takes them in
    /// after what came before.
    #[inline]
    pub fn receive(&mut self, last_byte: SimTime, span: SimSpan) -> SimTime {
        self.idle_at = self.idle_at.saturating_add(span).max(last_byte);
        self.busy = self.busy.saturating_add(span);
        self.idle_at
    }

    /// The same for a lane that may be slower than the sender, which sent for `sent_in`: the lane forwards bytes as they come
    /// (cut through), so it begins with the first byte, or when it is free, and ends no sooner than the last byte is here.
    #[inline]
    pub fn cut_through(&mut self, last_byte: SimTime, sent_in: SimSpan, span: SimSpan) -> SimTime {
        let first_byte = last_byte.saturating_sub(sent_in);
        self.idle_at = self.idle_at.max(first_byte).saturating_add(span).max(last_byte);
        self.busy = self.busy.saturating_add(span);
        self.idle_at
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(lane.serve(at(10), ns(5)), at(15));
        assert_eq!(lane.serve(at(12), ns(5)), at(20));
        assert_eq!(lane.serve(at(30), ns(5)), at(35));
        assert_eq!(lane.busy, ns(15));
    }

    #[test]
    fn what_streams_in_costs_no_time_of_its_own_where_the_lane_is_free() {
        let mut lane = Lane::default();
        // Sent from 0 to 10: taken in with its last byte.
        assert_eq!(lane.receive(at(10), ns(10)), at(10));
        // Another sender's, from 2 to 12: it was held up until 10 and takes ten more.
        assert_eq!(lane.receive(at(12), ns(10)), at(20));
        // A third one from 50 to 60.
        assert_eq!(lane.receive(at(60), ns(10)), at(60));
        assert_eq!(lane.busy, ns(30));
    }

    #[test]
    fn a_slow_lane_saves_no_idle_time() {
        let mut lane = Lane::default();
        // Sent from 100 to 110 to a lane that takes four times as long: from the first byte on.
        assert_eq!(lane.cut_through(at(110), ns(10), ns(40)), at(140));
        // The next comes while it is busy, and the one after when it has been idle for long.
        assert_eq!(lane.cut_through(at(120), ns(10), ns(40)), at(180));
        assert_eq!(lane.cut_through(at(1_000), ns(10), ns(40)), at(1_030));
        // A faster lane ends with the last byte.
        assert_eq!(lane.cut_through(at(2_000), ns(10), ns(4)), at(2_000));
    }

    proptest::proptest! {
        /// The bytes of one sender arrive one after the other: a lane is never given more than there is time for, and where it
        /// is as fast as the sender both rules are one.
        #[test]
        fn a_lane_is_never_busier_than_there_is_time(sends in proptest::collection::vec((1u64..50, 0u64..90), 1..30), slow in 1u64..5) {
            let (mut lane, mut equal, mut plain) = (Lane::default(), Lane::default(), Lane::default());
            let mut now = 0;
            for (span, gap) in sends {
                now += gap + span;
                let done = lane.cut_through(at(now), ns(span), ns(span * slow));
                proptest::prop_assert!(lane.busy.as_ns() <= done.as_ns());
                proptest::prop_assert_eq!(equal.cut_through(at(now), ns(span), ns(span)), plain.receive(at(now), ns(span)));
            }
        }
    }
}
