//! Sizes in whole bytes.

use crate::quantity::{Quantity, quantity_text};
use crate::scale::{Print, Scale, Unit};

/// A size in bytes. `KiB` to `EiB` are powers of 1024, `kB` to `EB` powers of 1000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// The largest size, one byte less than 16 EiB.
    pub const MAX: Self = Self(u64::MAX);

    /// `count` bytes.
    #[inline]
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// `count` times 1024 bytes.
    ///
    /// # Panics
    /// Past [`Bytes::MAX`].
    #[must_use]
    pub const fn from_kib(count: u64) -> Self {
        Self(scaled(count, 1 << 10))
    }

    /// `count` times 1024² bytes.
    ///
    /// # Panics
    /// Past [`Bytes::MAX`].
    #[must_use]
    pub const fn from_mib(count: u64) -> Self {
        Self(scaled(count, 1 << 20))
    }

    /// `count` times 1024³ bytes.
    ///
    /// # Panics
    /// Past [`Bytes::MAX`].
    #[must_use]
    pub const fn from_gib(count: u64) -> Self {
        Self(scaled(count, 1 << 30))
    }

    /// The number of bytes.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Both sizes together, or `None` past [`Bytes::MAX`].
    #[inline]
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(count) => Some(Self(count)),
            None => None,
        }
    }

    /// Both sizes together, at most [`Bytes::MAX`].
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left after taking `other` away, or `None` if it is the larger one.
    #[inline]
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(count) => Some(Self(count)),
            None => None,
        }
    }

    /// What is left after taking `other` away, at least nothing.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This size `times` over, or `None` past [`Bytes::MAX`].
    #[inline]
    #[must_use]
    pub const fn checked_mul(self, times: u64) -> Option<Self> {
        match self.0.checked_mul(times) {
            Some(count) => Some(Self(count)),
            None => None,
        }
    }

    /// How many pieces of `piece` hold this size; the last one may be part empty. `None` for empty pieces.
    #[inline]
    #[must_use]
    pub const fn pieces_of(self, piece: Self) -> Option<u64> {
        if piece.0 == 0 { None } else { Some(self.0.div_ceil(piece.0)) }
    }
}

const fn scaled(count: u64, unit: u64) -> u64 {
    match count.checked_mul(unit) {
        Some(bytes) => bytes,
        None => panic!("a size is smaller than 16 EiB"),
    }
}

static BYTES: Scale = Scale {
    what: "a size",
    base_words: "bytes",
    step: "1B",
    likely: ("B", "bytes"),
    examples: &["4KiB", "1.5GiB", "60TiB", "1MB"],
    units: &[
        Unit::new("B", 1, Print::Decimal),
        Unit::new("kB", 1_000, Print::Decimal),
        Unit::new("KB", 1_000, Print::Never),
        Unit::new("KiB", 1 << 10, Print::Decimal),
        Unit::new("MB", 1_000_000, Print::Decimal),
        Unit::new("MiB", 1 << 20, Print::Decimal),
        Unit::new("GB", 1_000_000_000, Print::Decimal),
        Unit::new("GiB", 1 << 30, Print::Decimal),
        Unit::new("TB", 1_000_000_000_000, Print::Decimal),
        Unit::new("TiB", 1 << 40, Print::Decimal),
        Unit::new("PB", 1_000_000_000_000_000, Print::Decimal),
        Unit::new("PiB", 1 << 50, Print::Decimal),
        Unit::new("EB", 1_000_000_000_000_000_000, Print::Decimal),
        Unit::new("EiB", 1 << 60, Print::Decimal),
    ],
    mistaken: &[
        ("b", "`B` for bytes"),
        ("k", "`KiB` (1024 bytes) or `kB` (1000 bytes)"),
        ("K", "`KiB` (1024 bytes) or `kB` (1000 bytes)"),
        ("M", "`MiB` (1024² bytes) or `MB` (1000² bytes)"),
        ("G", "`GiB` (1024³ bytes) or `GB` (1000³ bytes)"),
        ("T", "`TiB` (1024⁴ bytes) or `TB` (1000⁴ bytes)"),
        ("P", "`PiB` (1024⁵ bytes) or `PB` (1000⁵ bytes)"),
        ("kb", "`kB`: a size is in bytes, not bits"),
        ("Mb", "`MB`: a size is in bytes, not bits"),
        ("Gb", "`GB`: a size is in bytes, not bits"),
        ("bytes", "`B` for bytes"),
    ],
};

impl Quantity for Bytes {
    fn scale() -> &'static Scale {
        &BYTES
    }
    fn base_units(self) -> u64 {
        self.0
    }
    fn from_base_units(count: u64) -> Option<Self> {
        Some(Self(count))
    }
}

quantity_text!(Bytes);
