//! A transfer in a reserved window: frames at the data rate, one after the other.
//!
//! The gateway sends nothing else at that rate, so the frames need no events of their own: the last one marks
//! the end. The plan changes during the transfer only if control messages hold data back (a rule of SURGE's
//! hybrid).

use towtank_units::{SimSpan, SimTime};

use crate::{ServerId, SizeTerms, Window};

/// A transfer as planned by its gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Flow {
    /// The receivers: one, or all of a common window.
    pub to: Vec<ServerId>,
    /// The accepted window.
    pub window: Window,
    /// When the first frame is started.
    pub began: SimTime,
    /// Number of changes of the plan.
    pub generation: u32,
    next: SimTime,
    left: u64,
}

impl Flow {
    /// A transfer whose first frame starts at `begin`.
    #[must_use]
    pub fn new(to: Vec<ServerId>, window: Window, begin: SimTime, size: &SizeTerms) -> Flow {
        debug_assert!(!to.is_empty(), "a transfer has no receiver");
        debug_assert!(begin >= window.left, "a transfer begins at {begin}, before {window:?}");
        Flow { to, window, began: begin, generation: 0, next: begin, left: size.frames }
    }

    /// Whether frames remain to be started.
    #[must_use]
    pub(super) fn goes_on(&self) -> bool {
        self.left > 0
    }

    /// When the last frame starts.
    #[must_use]
    pub(crate) fn last_frame(&self, frame: SimSpan) -> SimTime {
        self.next.saturating_add(frame.saturating_mul(self.left.saturating_sub(1)))
    }

    /// Marks the last frame as started.
    pub fn finish(&mut self) {
        self.left = 0;
    }

    /// Starts no frame from `now` until `free`; returns whether that changes the plan.
    pub fn hold(&mut self, now: SimTime, free: SimTime, frame: SimSpan) -> bool {
        if self.left == 0 {
            return false;
        }
        if let Some(since) = now.checked_since(self.next) {
            // The last frame has not started, or `finish` would have been called.
            let begun = since.as_ns().div_ceil(frame.as_ns().max(1)).min(self.left - 1);
            self.left -= begun;
            self.next = self.next.saturating_add(frame.saturating_mul(begun));
        }
        if self.next >= free {
            return false;
        }
        if self.began == self.next {
            self.began = free;
        }
        self.next = free;
        self.generation += 1;
        debug_assert!(self.left > 0, "a transfer that has started its last frame is held");
        debug_assert!(
            self.began <= self.next,
            "frames continue at {}, before the first at {}",
            self.next,
            self.began
        );
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::terms::tests::fixed;
    use crate::{Protocol, Size, Terms};

    #[test]
    fn a_control_message_holds_the_frames_that_have_not_begun() {
        let terms = Terms::new(fixed(Protocol::ReplicastH));
        let (size, at) = (terms.size(Size(1)), SimTime::from_ns);
        let window = Window::of(at(1_000), size.window);
        let mut flow = Flow::new(vec![ServerId(3)], window, at(1_000), size);
        assert_eq!(flow.last_frame(size.frame), at(1_000 + 14 * 8_080));
        // A message sent before the first frame: all frames wait.
        assert!(flow.hold(at(500), at(2_924), size.frame));
        assert_eq!((flow.began, flow.last_frame(size.frame)), (at(2_924), at(2_924 + 14 * 8_080)));
        // The second frame would start 80 ns after the message: it and all later ones wait.
        assert!(flow.hold(at(10_924), at(13_348), size.frame));
        assert_eq!((flow.began, flow.last_frame(size.frame)), (at(2_924), at(13_348 + 13 * 8_080)));
        // A message in the middle of a frame that ends before the next one: no frame waits.
        assert!(!flow.hold(at(13_400), at(15_824), size.frame));
        assert_eq!(flow.generation, 2);
        flow.finish();
        assert!(!flow.goes_on() && !flow.hold(at(20_000), at(30_000), size.frame));
    }

    proptest! {
        /// Control messages only delay frames: no frame is lost, and none starts while a message is being
        /// sent.
        #[test]
        fn frames_are_held_back_and_never_lost(waits in prop::collection::vec((0u64..20_000, 1u64..9_000), 0..40)) {
            let terms = Terms::new(fixed(Protocol::ReplicastH));
            let size = terms.size(Size(1));
            let begin = SimTime::from_ns(1_000);
            let mut flow = Flow::new(vec![ServerId(3)], Window::of(begin, size.window), begin, size);
            let (mut now, mut last) = (SimTime::ZERO, flow.last_frame(size.frame));
            for (wait, message) in waits {
                now = now.saturating_add(SimSpan::from_ns(wait));
                if now > last {
                    break;
                }
                let (left, began) = (flow.left, flow.began);
                let free = now.saturating_add(SimSpan::from_ns(message));
                let changed = flow.hold(now, free, size.frame);
                prop_assert!(flow.left <= left && flow.left > 0);
                prop_assert!(flow.began >= began && flow.began <= flow.next);
                prop_assert!(!changed || flow.next == free);
                let after = flow.last_frame(size.frame);
                prop_assert_eq!(changed, after > last, "{} after {}", after, last);
                // No later than if all remaining frames had waited for the message.
                prop_assert!(after <= last.saturating_add(free.since(now)));
                last = after;
            }
            prop_assert!(flow.goes_on());
            flow.finish();
            prop_assert!(!flow.goes_on());
        }
    }

    #[test]
    #[should_panic(expected = "a transfer has no receiver")]
    fn a_transfer_for_nobody_is_noticed() {
        let terms = Terms::new(fixed(Protocol::ReplicastH));
        let window = Window::of(SimTime::ZERO, SimSpan::from_ns(9));
        let _ = Flow::new(Vec::new(), window, SimTime::ZERO, terms.size(Size(1)));
    }

    #[test]
    #[should_panic(expected = "before Window")]
    fn a_transfer_before_its_window_is_noticed() {
        let terms = Terms::new(fixed(Protocol::ReplicastH));
        let window = Window::of(SimTime::from_ns(9), SimSpan::from_ns(9));
        let _ = Flow::new(vec![ServerId(3)], window, SimTime::ZERO, terms.size(Size(1)));
    }
}
