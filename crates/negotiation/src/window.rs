//! A time interval that a server reserves for one sender.

use towtank_units::{SimSpan, SimTime};

/// The interval from `left` up to `right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Window {
    /// Its start.
    pub left: SimTime,
    /// Its end.
    pub right: SimTime,
}

impl Window {
    /// A window of the given length.
    #[must_use]
    pub fn of(left: SimTime, span: SimSpan) -> Window {
        Window { left, right: left.saturating_add(span) }
    }

    /// Its length; zero if it ends before it begins.
    #[must_use]
    pub fn span(&self) -> SimSpan {
        self.right.checked_since(self.left).unwrap_or(SimSpan::ZERO)
    }

    /// Whether the two have time in common.
    #[must_use]
    pub fn overlaps(&self, other: &Window) -> bool {
        self.left < other.right && other.left < self.right
    }

    /// Whether it lies within another, or equals it.
    #[must_use]
    pub fn lies_in(&self, other: &Window) -> bool {
        other.left <= self.left && self.right <= other.right
    }

    /// The first time from `left` on at which an interval of length `span` overlaps none of `busy`.
    #[must_use]
    pub fn first_free(left: SimTime, span: SimSpan, busy: &[Window]) -> SimTime {
        let mut at = left;
        // Each pass that moves `at` skips at least one window, so there are at most as many passes as
        // windows.
        for _ in 0..=busy.len() {
            let wanted = Window::of(at, span);
            match busy.iter().filter(|window| window.overlaps(&wanted)).map(|window| window.right).max() {
                Some(right) => at = right,
                None => break,
            }
        }
        debug_assert!(
            !busy.iter().any(|window| window.overlaps(&Window::of(at, span))),
            "the interval of {span} at {at} is not free"
        );
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(left: u64, right: u64) -> Window {
        Window { left: SimTime::from_ns(left), right: SimTime::from_ns(right) }
    }

    #[test]
    fn windows_that_touch_do_not_overlap() {
        assert!(window(0, 5).overlaps(&window(4, 9)));
        assert!(!window(0, 5).overlaps(&window(5, 9)));
        assert!(window(0, 9).overlaps(&window(3, 4)));
    }

    #[test]
    fn the_first_free_stretch_lies_behind_what_is_in_its_way() {
        let busy = [window(10, 20), window(22, 30), window(5, 11)];
        let free =
            |left, span| Window::first_free(SimTime::from_ns(left), SimSpan::from_ns(span), &busy).as_ns();
        assert_eq!(free(0, 5), 0);
        assert_eq!(free(0, 6), 30);
        assert_eq!(free(0, 2), 0);
        assert_eq!(free(6, 2), 20);
        assert_eq!(free(40, 100), 40);
    }
}
