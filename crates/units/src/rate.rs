//! How much in how long: bytes per second ([`Rate`]) and happenings per second ([`Frequency`]).

use std::num::NonZeroU64;

use crate::bytes::Bytes;
use crate::quantity::{Quantity, quantity_text};
use crate::scale::{Print, Scale, Unit};
use crate::time::{NS_PER_SEC, SimSpan};

/// Bytes per second; never zero, so dividing by it is always defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// `count` bytes in a second, or `None` for zero.
    #[inline]
    #[must_use]
    pub const fn from_bytes_per_second(count: u64) -> Option<Self> {
        match NonZeroU64::new(count) {
            Some(count) => Some(Self(count)),
            None => None,
        }
    }

    /// Bytes in a second.
    #[inline]
    #[must_use]
    pub const fn bytes_per_second(self) -> u64 {
        self.0.get()
    }

    /// How long `size` takes. Rounds up: a transfer must not end before its last byte has moved. What would
    /// take longer than 584 years takes [`SimSpan::MAX`], which no event can lie after.
    #[inline]
    #[must_use]
    pub fn span_for(self, size: Bytes) -> SimSpan {
        self.checked_span_for(size).unwrap_or(SimSpan::MAX)
    }

    /// As [`Rate::span_for`], or `None` past [`SimSpan::MAX`].
    #[must_use]
    pub fn checked_span_for(self, size: Bytes) -> Option<SimSpan> {
        let ns = (u128::from(size.get()) * u128::from(NS_PER_SEC)).div_ceil(u128::from(self.0.get()));
        u64::try_from(ns).ok().map(SimSpan::from_ns)
    }

    /// The bytes that have moved for certain after `span`: rounded down, at most [`Bytes::MAX`].
    #[must_use]
    pub fn bytes_in(self, span: SimSpan) -> Bytes {
        let bytes = u128::from(self.0.get()) * u128::from(span.as_ns()) / u128::from(NS_PER_SEC);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// How often something happens, in billionths per second; may be zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Frequency(u64);

impl Frequency {
    /// Never.
    pub const ZERO: Self = Self(0);

    /// `count` times a second, or `None` past about 18 billion.
    #[must_use]
    pub const fn from_per_second(count: u64) -> Option<Self> {
        match count.checked_mul(NS_PER_SEC) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// `count` times in a billion seconds.
    #[must_use]
    pub const fn from_per_billion_seconds(count: u64) -> Self {
        Self(count)
    }

    /// How many times in a billion seconds.
    #[must_use]
    pub const fn per_billion_seconds(self) -> u64 {
        self.0
    }

    /// How many times a second, for formulas.
    #[must_use]
    pub fn per_second_f64(self) -> f64 {
        self.0 as f64 / NS_PER_SEC as f64
    }

    /// The mean time between two, in nanoseconds, for drawing gaps; infinite for zero.
    #[must_use]
    pub fn mean_gap_ns_f64(self) -> f64 {
        1e18 / self.0 as f64
    }

    /// Whether it never happens.
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

impl Quantity for Frequency {
    fn scale() -> &'static Scale {
        &FREQUENCY
    }
    fn base_units(self) -> u64 {
        self.0
    }
    fn from_base_units(count: u64) -> Option<Self> {
        Some(Self(count))
    }
}

quantity_text!(Rate, Frequency);
