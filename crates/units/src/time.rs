//! Simulated time: an instant ([`SimTime`]) and a length of time ([`SimSpan`]), both in whole nanoseconds.
//!
//! Nanoseconds in 64 bits reach 584 years. Time is never a float: two events must compare the same on every
//! machine, and a sum must not depend on the order of its terms.

use crate::amount::{amount, any_count, scaled};
use crate::quantity::quantity_text;
use crate::scale::{Print, Scale, Unit};

/// An instant of simulated time: nanoseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct SimTime(u64);

/// A length of simulated time in nanoseconds; never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct SimSpan(u64);

/// Nanoseconds in a microsecond.
pub(crate) const NS_PER_US: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub(crate) const NS_PER_MS: u64 = 1_000_000;
/// Nanoseconds in a second.
pub(crate) const NS_PER_SEC: u64 = 1_000_000_000;

impl SimTime {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// The last representable instant, about 584 years after the beginning.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ns` nanoseconds after the beginning.
    #[inline]
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the beginning.
    #[inline]
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning, for figures and statistics; never for event order.
    #[inline]
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NS_PER_SEC as f64
    }

    /// The instant `span` later, or `None` past [`SimTime::MAX`].
    #[inline]
    #[must_use]
    pub const fn checked_add(self, span: SimSpan) -> Option<Self> {
        match self.0.checked_add(span.0) {
            Some(ns) => Some(Self(ns)),
            None => None,
        }
    }

    /// The instant `span` later, or [`SimTime::MAX`].
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, span: SimSpan) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The instant `span` earlier, or `None` before [`SimTime::ZERO`].
    #[inline]
    #[must_use]
    pub const fn checked_sub(self, span: SimSpan) -> Option<Self> {
        match self.0.checked_sub(span.0) {
            Some(ns) => Some(Self(ns)),
            None => None,
        }
    }

    /// The instant `span` earlier, or [`SimTime::ZERO`].
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, span: SimSpan) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// The span from `earlier` to this instant.
    ///
    /// # Panics
    /// If `earlier` is later than this instant: spans are never negative. Use [`SimTime::checked_since`] if
    /// the order is not known.
    #[inline]
    #[must_use]
    #[track_caller]
    pub const fn since(self, earlier: Self) -> SimSpan {
        match self.0.checked_sub(earlier.0) {
            Some(ns) => SimSpan(ns),
            None => panic!("the earlier instant lies after the later one"),
        }
    }

    /// The span from `earlier` to this instant, or `None` if `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn checked_since(self, earlier: Self) -> Option<SimSpan> {
        match self.0.checked_sub(earlier.0) {
            Some(ns) => Some(SimSpan(ns)),
            None => None,
        }
    }
}

impl SimSpan {
    /// `ns` nanoseconds.
    #[inline]
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    ///
    /// # Panics
    /// If the span is above [`SimSpan::MAX`].
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(scaled(us, NS_PER_US, PAST_MAX))
    }

    /// `ms` milliseconds.
    ///
    /// # Panics
    /// If the span is above [`SimSpan::MAX`].
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(scaled(ms, NS_PER_MS, PAST_MAX))
    }

    /// `secs` seconds.
    ///
    /// # Panics
    /// If the span is above [`SimSpan::MAX`].
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(scaled(secs, NS_PER_SEC, PAST_MAX))
    }

    /// The span in nanoseconds.
    #[inline]
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The span in seconds, for figures and statistics; never for event order.
    #[inline]
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NS_PER_SEC as f64
    }

    /// Rounds a number of nanoseconds down to a whole one. Negative numbers and NaN give zero, and numbers
    /// above the maximum give [`SimSpan::MAX`]. This is the only conversion from a float to event time.
    #[inline]
    #[must_use]
    pub const fn from_ns_f64_floor(ns: f64) -> Self {
        // Processors convert to signed integers in one instruction, and spans of 292 years are not drawn.
        if ns < i64::MAX as f64 {
            let whole = ns as i64;
            Self(if whole < 0 { 0 } else { whole as u64 })
        } else {
            Self(ns as u64)
        }
    }
}

const PAST_MAX: &str = "a span is shorter than 584 years";

/// A year of 365.25 days, as used in durability figures.
const SECS_PER_YEAR: u64 = 31_557_600;

static SPAN: Scale = Scale {
    what: "a duration",
    base_words: "nanoseconds",
    step: "1ns",
    likely: ("s", "seconds"),
    examples: &["250us", "1.5ms", "30s", "2h"],
    units: &[
        Unit::new("ns", 1, Print::Decimal),
        Unit::new("us", NS_PER_US, Print::Decimal),
        Unit::new("µs", NS_PER_US, Print::Never),
        Unit::new("ms", NS_PER_MS, Print::Decimal),
        Unit::new("s", NS_PER_SEC, Print::Decimal),
        Unit::new("min", 60 * NS_PER_SEC, Print::Whole),
        Unit::new("h", 3_600 * NS_PER_SEC, Print::Whole),
        Unit::new("d", 86_400 * NS_PER_SEC, Print::Whole),
        Unit::new("y", SECS_PER_YEAR * NS_PER_SEC, Print::Whole),
    ],
    mistaken: &[
        ("m", "`min` for minutes or `ms` for milliseconds"),
        ("M", "`min` for minutes or `ms` for milliseconds"),
        ("\u{3bc}s", "`us` for microseconds"),
        ("sec", "`s` for seconds"),
        ("secs", "`s` for seconds"),
        ("seconds", "`s` for seconds"),
        ("minutes", "`min` for minutes"),
        ("hours", "`h` for hours"),
        ("days", "`d` for days"),
        ("w", "`d` for days: a week is 7d"),
        ("months", "`d` for days or `y` for years of 365.25 days"),
        ("years", "`y` for years of 365.25 days"),
    ],
};

amount!(SimSpan);
any_count!(SimTime, SPAN);
any_count!(SimSpan, SPAN);
quantity_text!(SimTime, SimSpan);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_stops_at_both_ends() {
        let one = SimSpan::from_ns(1);
        assert_eq!(SimTime::MAX.checked_add(one), None);
        assert_eq!(SimTime::MAX.saturating_add(one), SimTime::MAX);
        assert_eq!(SimTime::ZERO.checked_sub(one), None);
        assert_eq!(SimTime::ZERO.saturating_sub(one), SimTime::ZERO);
        assert_eq!(SimTime::from_ns(5).since(SimTime::from_ns(2)), SimSpan::from_ns(3));
        assert_eq!(SimTime::from_ns(2).checked_since(SimTime::from_ns(5)), None);
        assert_eq!(SimSpan::MAX.checked_add(one), None);
        assert_eq!(SimSpan::ZERO.checked_sub(one), None);
        assert_eq!(SimSpan::MAX.checked_mul(2), None);
        assert_eq!(SimSpan::from_ms(2).checked_mul(3), Some(SimSpan::from_us(6_000)));
    }

    #[test]
    fn drawn_spans_round_down_and_never_leave_the_range() {
        for (drawn, want) in [(-1.0, 0), (f64::NAN, 0), (0.999, 0), (1.999, 1), (f64::INFINITY, u64::MAX)] {
            assert_eq!(SimSpan::from_ns_f64_floor(drawn).as_ns(), want, "{drawn}");
        }
    }
}
