//! Sizes in whole bytes.

use crate::amount::{amount, any_count, scaled};
use crate::quantity::quantity_text;
use crate::scale::{Print, Scale, Unit};

/// A size in bytes. `KiB` to `EiB` are powers of 1024, `kB` to `EB` powers of 1000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// `count` bytes.
    #[inline]
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// `count` times 1024 bytes.
    ///
    /// # Panics
    /// If the size is above [`Bytes::MAX`].
    #[must_use]
    pub const fn from_kib(count: u64) -> Self {
        Self(scaled(count, 1 << 10, PAST_MAX))
    }

    /// `count` times 1024² bytes.
    ///
    /// # Panics
    /// If the size is above [`Bytes::MAX`].
    #[must_use]
    pub const fn from_mib(count: u64) -> Self {
        Self(scaled(count, 1 << 20, PAST_MAX))
    }

    /// `count` times 1024³ bytes.
    ///
    /// # Panics
    /// If the size is above [`Bytes::MAX`].
    #[must_use]
    pub const fn from_gib(count: u64) -> Self {
        Self(scaled(count, 1 << 30, PAST_MAX))
    }

    /// The number of bytes.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// How many pieces of `piece` bytes hold this size; the last one may be partly empty. `None` if `piece`
    /// is zero.
    #[inline]
    #[must_use]
    pub const fn pieces_of(self, piece: Self) -> Option<u64> {
        if piece.0 == 0 { None } else { Some(self.0.div_ceil(piece.0)) }
    }
}

const PAST_MAX: &str = "a size is smaller than 16 EiB";

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

amount!(Bytes);
any_count!(Bytes, BYTES);
quantity_text!(Bytes);
