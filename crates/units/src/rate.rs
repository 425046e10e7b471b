//! Amounts per second: bytes ([`Rate`]), bits ([`BitRate`]) and events ([`Frequency`]).

use std::num::NonZeroU64;

use crate::amount::any_count;
use crate::bytes::Bytes;
use crate::quantity::{Quantity, quantity_text};
use crate::scale::{Print, Scale, Unit};
use crate::time::{NS_PER_SEC, SimSpan};

/// Bytes per second; never zero, so dividing by it is always defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// `count` bytes per second, or `None` for zero.
    #[inline]
    #[must_use]
    pub const fn from_bytes_per_second(count: u64) -> Option<Self> {
        match NonZeroU64::new(count) {
            Some(count) => Some(Self(count)),
            None => None,
        }
    }

    /// The rate in bytes per second.
    #[inline]
    #[must_use]
    pub const fn bytes_per_second(self) -> u64 {
        self.0.get()
    }

    /// How long `size` takes at this rate. A result above 584 years becomes [`SimSpan::MAX`], after which no
    /// event can lie.
    #[inline]
    #[must_use]
    pub fn span(self, size: Bytes, rounding: Rounding) -> SimSpan {
        span_of(size.get(), self.0, rounding).unwrap_or(SimSpan::MAX)
    }

    /// Like [`Rate::span`] with [`Rounding::Up`], which models use unless they have a reason for another
    /// rule.
    #[inline]
    #[must_use]
    pub fn span_for(self, size: Bytes) -> SimSpan {
        self.span(size, Rounding::Up)
    }

    /// The number of bytes transferred completely after `span`: rounded down, at most [`Bytes::MAX`].
    #[must_use]
    pub fn bytes_in(self, span: SimSpan) -> Bytes {
        let bytes = u128::from(self.0.get()) * u128::from(span.as_ns()) / u128::from(NS_PER_SEC);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// Bits per second; never zero. For links whose rate is divided: a share may not be a whole number of bytes
/// per second, which [`Rate`] requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[repr(transparent)]
pub struct BitRate(NonZeroU64);

impl BitRate {
    /// `count` bits per second, at least 1: a link must have a positive rate.
    #[must_use]
    pub const fn at_least_one(count: u64) -> Self {
        match NonZeroU64::new(count) {
            Some(count) => Self(count),
            None => Self(NonZeroU64::MIN),
        }
    }

    /// The rate in bits per second.
    #[inline]
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// How long `bits` take at this rate, at most [`SimSpan::MAX`].
    #[inline]
    #[must_use]
    pub fn span(self, bits: u64, rounding: Rounding) -> SimSpan {
        span_of(bits, self.0, rounding).unwrap_or(SimSpan::MAX)
    }

    /// The sum of both rates, at most `u64::MAX` bits per second.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0.get()))
    }

    /// The rate of each flow if `flows` flows share the link equally, in whole bits per second.
    #[inline]
    #[must_use]
    pub const fn shared_by(self, flows: u64) -> Self {
        if flows < 2 { self } else { Self::at_least_one(self.0.get() / flows) }
    }
}

impl From<Rate> for BitRate {
    fn from(rate: Rate) -> Self {
        Self(rate.0.saturating_mul(NonZeroU64::MIN.saturating_add(7)))
    }
}

/// How to round a span that is not a whole number of nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Up: a transfer does not end before its last byte has been transferred.
    Up,
    /// Down, for models that must agree with a program that truncates fractions.
    Down,
}

/// How long `count` units take at `per_second` units per second. All conversions of an amount and a rate into
/// a span use this function.
#[inline]
fn span_of(count: u64, per_second: NonZeroU64, rounding: Rounding) -> Option<SimSpan> {
    let (parts, per_second) = (u128::from(count) * u128::from(NS_PER_SEC), u128::from(per_second.get()));
    let ns = match rounding {
        Rounding::Up => parts.div_ceil(per_second),
        Rounding::Down => parts / per_second,
    };
    u64::try_from(ns).ok().map(SimSpan::from_ns)
}

/// How often something happens, in billionths per second; may be zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Frequency(u64);

impl Frequency {
    /// The frequency zero.
    pub const ZERO: Self = Self(0);

    /// `count` times per second, or `None` above about 18 billion.
    #[must_use]
    pub const fn from_per_second(count: u64) -> Option<Self> {
        match count.checked_mul(NS_PER_SEC) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// `count` times per billion seconds.
    #[must_use]
    pub const fn from_per_billion_seconds(count: u64) -> Self {
        Self(count)
    }

    /// The frequency in events per billion seconds.
    #[must_use]
    pub const fn per_billion_seconds(self) -> u64 {
        self.0
    }

    /// The frequency in events per second, for formulas.
    #[must_use]
    pub fn per_second_f64(self) -> f64 {
        self.0 as f64 / NS_PER_SEC as f64
    }

    /// The mean time between two events in nanoseconds, for drawing gaps; infinite if the frequency is zero.
    #[must_use]
    pub fn mean_gap_ns_f64(self) -> f64 {
        1e18 / self.0 as f64
    }

    /// Whether the frequency is zero.
    #[inline]
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

static RATE: Scale = Scale {
    what: "a rate",
    base_words: "bytes per second",
    step: "1B/s",
    likely: ("B/s", "bytes per second"),
    examples: &["1.5GiB/s", "10Gbit/s", "400MiB/s"],
    units: &[
        Unit::fraction("bit/s", 1, 8),
        Unit::new("B/s", 1, Print::Decimal),
        Unit::new("kbit/s", 125, Print::Never),
        Unit::new("kB/s", 1_000, Print::Decimal),
        Unit::new("KB/s", 1_000, Print::Never),
        Unit::new("KiB/s", 1 << 10, Print::Decimal),
        Unit::new("Mbit/s", 125_000, Print::Never),
        Unit::new("MB/s", 1_000_000, Print::Decimal),
        Unit::new("MiB/s", 1 << 20, Print::Decimal),
        Unit::new("Gbit/s", 125_000_000, Print::Never),
        Unit::new("GB/s", 1_000_000_000, Print::Decimal),
        Unit::new("GiB/s", 1 << 30, Print::Decimal),
        Unit::new("Tbit/s", 125_000_000_000, Print::Never),
        Unit::new("TB/s", 1_000_000_000_000, Print::Decimal),
        Unit::new("TiB/s", 1 << 40, Print::Decimal),
    ],
    mistaken: &[
        ("Gb/s", "`Gbit/s` for bits or `GB/s` for bytes"),
        ("Mb/s", "`Mbit/s` for bits or `MB/s` for bytes"),
        ("Gbps", "`Gbit/s`"),
        ("Mbps", "`Mbit/s`"),
        ("GBps", "`GB/s`"),
        ("MBps", "`MB/s`"),
        ("kbps", "`kbit/s`"),
        ("B", "`B/s`: a rate is per second"),
        ("KiB", "`KiB/s`: a rate is per second"),
        ("MB", "`MB/s`: a rate is per second"),
        ("MiB", "`MiB/s`: a rate is per second"),
        ("GB", "`GB/s`: a rate is per second"),
        ("GiB", "`GiB/s`: a rate is per second"),
        ("Gbit", "`Gbit/s`: a rate is per second"),
    ],
};

static FREQUENCY: Scale = Scale {
    what: "a frequency",
    base_words: "billionths per second",
    step: "0.000000001/s",
    likely: ("/s", "times per second"),
    examples: &["200000/s", "0.9/s", "50k/s", "6/min"],
    units: &[
        Unit::fraction("/d", NS_PER_SEC, 86_400),
        Unit::fraction("/h", NS_PER_SEC, 3_600),
        Unit::fraction("/min", NS_PER_SEC, 60),
        Unit::new("/s", NS_PER_SEC, Print::Decimal),
        Unit::new("k/s", 1_000 * NS_PER_SEC, Print::Never),
        Unit::new("/ms", 1_000 * NS_PER_SEC, Print::Never),
        Unit::new("M/s", 1_000_000 * NS_PER_SEC, Print::Never),
        Unit::new("/us", 1_000_000 * NS_PER_SEC, Print::Never),
    ],
    mistaken: &[
        ("Hz", "`/s`"),
        ("per second", "`/s`"),
        ("s", "`/s` for times per second"),
        ("ops", "`/s`"),
        ("ops/s", "`/s`"),
        ("iops", "`/s`"),
        ("IOPS", "`/s`"),
        ("m", "`/min` for times per minute"),
        ("/m", "`/min` for times per minute"),
        ("K/s", "`k/s` for thousands per second"),
        ("k", "`k/s` for thousands per second"),
    ],
};

impl Quantity for Rate {
    fn scale() -> &'static Scale {
        &RATE
    }
    fn base_units(self) -> u64 {
        self.0.get()
    }
    fn from_base_units(count: u64) -> Option<Self> {
        Self::from_bytes_per_second(count)
    }
}

any_count!(Frequency, FREQUENCY);
quantity_text!(Rate, Frequency);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(count: u64) -> Rate {
        Rate::from_bytes_per_second(count).expect("above zero")
    }

    #[test]
    fn what_is_no_whole_nanosecond_is_rounded_as_named() {
        let third = rate(3);
        assert_eq!(third.span(Bytes::new(1), Rounding::Down), SimSpan::from_ns(333_333_333));
        assert_eq!(third.span(Bytes::new(1), Rounding::Up), SimSpan::from_ns(333_333_334));
        assert_eq!(third.span_for(Bytes::new(1)), SimSpan::from_ns(333_333_334));
        assert_eq!(third.span(Bytes::new(3), Rounding::Down), SimSpan::from_secs(1));
        assert_eq!(third.span(Bytes::new(3), Rounding::Up), SimSpan::from_secs(1));
        assert_eq!(rate(1).span(Bytes::MAX, Rounding::Down), SimSpan::MAX);
    }

    #[test]
    fn a_share_of_a_link_is_in_bits() {
        let link = BitRate::from(rate(1_250_000_000));
        assert_eq!(link.bits_per_second(), 10_000_000_000);
        assert_eq!(link.shared_by(7).bits_per_second(), 1_428_571_428);
        assert_eq!((link.shared_by(0), link.shared_by(1)), (link, link));
        assert_eq!(BitRate::at_least_one(5).shared_by(9).bits_per_second(), 1);
        assert_eq!(BitRate::at_least_one(0), BitRate::at_least_one(1));
        assert_eq!(BitRate::from(rate(u64::MAX)).bits_per_second(), u64::MAX);
    }

    proptest! {
        /// A rate in bits and in bytes gives the same span, and the two roundings differ by at most a
        /// nanosecond.
        #[test]
        fn bits_are_eighths_of_bytes(bytes in 0u64..1 << 40, count in 1u64..1 << 40) {
            for rounding in [Rounding::Up, Rounding::Down] {
                let (size, rate) = (Bytes::new(bytes), rate(count));
                prop_assert_eq!(BitRate::from(rate).span(bytes * 8, rounding), rate.span(size, rounding));
            }
            let apart = rate(count).span(Bytes::new(bytes), Rounding::Up).as_ns()
                - rate(count).span(Bytes::new(bytes), Rounding::Down).as_ns();
            prop_assert_eq!(apart, u64::from(!(u128::from(bytes) * 1_000_000_000).is_multiple_of(u128::from(count))));
        }
    }
}
