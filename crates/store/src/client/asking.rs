//! How a client asks for something until it is answered: whom, how long it waits, and when it gives up. It
//! has no clock and no connection.

use towtank_units::{SimSpan, SimTime};

/// How long to wait before a group that is not ready is asked again: at first, and at most.
pub(super) const RETRY: SimSpan = SimSpan::from_ms(20);
const RETRY_MAX: SimSpan = SimSpan::from_ms(320);

/// How many times as long a client waits at most for a daemon that has not answered before.
const SLOWER_MAX: u64 = 8;

/// A request that is asked for, and not answered yet. It is the same each time, so that nothing is done
/// twice.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    until: SimTime,
    answer_time: SimSpan,
    wait: SimSpan,
    pause: SimSpan,
}

impl Asking {
    /// A request that is given up after `patience`. A daemon that does not answer within `answer_time` is
    /// waited for longer the next time.
    #[must_use]
    pub fn new(now: SimTime, patience: SimSpan, answer_time: SimSpan) -> Asking {
        // Both grow from one attempt to the next: clients that repeat fast would take the time that a slow
        // cluster needs to answer.
        let until = now.saturating_add(patience);
        Asking { until, answer_time, wait: answer_time, pause: RETRY }
    }

    /// How long to wait for the answer to an attempt that begins now.
    #[must_use]
    pub fn wait(&self, now: SimTime) -> SimSpan {
        let left = self.until.checked_since(now).unwrap_or(SimSpan::ZERO);
        left.min(self.wait).max(RETRY)
    }

    /// A daemon has not answered in time.
    pub fn timed_out(&mut self) {
        let longer = SimSpan::from_ns(self.wait.as_ns().saturating_mul(2));
        let most = SimSpan::from_ns(self.answer_time.as_ns().saturating_mul(SLOWER_MAX));
        self.wait = longer.min(most);
    }

    /// How long to rest before the next attempt, for which a newer map is asked for first; none if it is time
    /// to give up.
    pub fn rest(&mut self, now: SimTime) -> Option<SimSpan> {
        let pause = self.pause;
        self.pause = SimSpan::from_ns(2 * pause.as_ns()).min(RETRY_MAX);
        (now < self.until).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_and_rests_grow_up_to_a_limit() {
        let ms = SimSpan::from_ms;
        let at = |millis: u64| SimTime::from_ns(ms(millis).as_ns());
        let mut asking = Asking::new(at(0), ms(10_000), ms(100));
        assert_eq!(asking.wait(at(0)), ms(100));
        let rests: Vec<_> = (0..6).map(|_| asking.rest(at(5))).collect();
        assert_eq!(rests, [20, 40, 80, 160, 320, 320].map(|millis| Some(ms(millis))));
        (0..6).for_each(|_| asking.timed_out());
        assert_eq!(asking.wait(at(0)), ms(800));
        assert_eq!(asking.wait(at(9_700)), ms(300), "no longer than it is asked for");
        assert_eq!((asking.wait(at(10_001)), asking.rest(at(10_001))), (RETRY, None));
    }
}
