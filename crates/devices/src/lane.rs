//! A queue in front of one server, first come first served: all that must be known of it is when it will be idle.

use units::{SimSpan, SimTime};

/// One resource that serves one thing after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

    /// Something has streamed in while it was sent, and its last byte is here now: when it will have been taken in. A lane that
    /// was free while the bytes came is done with the last one; else it takes them in after what came before.
    #[inline]
    pub fn receive(&mut self, last_byte: SimTime, span: SimSpan) -> SimTime {
        self.idle_at = self.idle_at.saturating_add(span).max(last_byte);
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
}
