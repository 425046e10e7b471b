//! Shares of a whole, as people write them: "35%", "0.8%".

use crate::quantity::{Quantity, quantity_text};
use crate::scale::{Print, Scale, Unit};

/// A share in billionths of the whole. It may exceed 100 %; a field that must not exceed it checks that
/// itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Percent(u64);

/// Billionths in one.
const ONE: u64 = 1_000_000_000;

impl Percent {
    /// 0 %.
    pub const ZERO: Self = Self(0);
    /// 100 %.
    pub const FULL: Self = Self(ONE);

    /// `count` per cent, or `None` if its billionths do not fit in 64 bits (above about 18 billion times the
    /// whole).
    #[must_use]
    pub const fn from_percent(count: u64) -> Option<Self> {
        match count.checked_mul(ONE / 100) {
            Some(billionths) => Some(Self(billionths)),
            None => None,
        }
    }

    /// `count` billionths of the whole.
    #[must_use]
    pub const fn from_billionths(count: u64) -> Self {
        Self(count)
    }

    /// Billionths of the whole.
    #[must_use]
    pub const fn billionths(self) -> u64 {
        self.0
    }

    /// As a fraction of one, for formulas.
    #[must_use]
    pub fn fraction_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }

    /// This share of the range of 64-bit words: a uniform word is below the result with this probability.
    #[must_use]
    pub fn of_words(self) -> u64 {
        ((u128::from(self.billionths()) << 64) / u128::from(ONE)).min(u64::MAX.into()) as u64
    }

    /// This share of `count`, rounded down, at most `u64::MAX`.
    #[must_use]
    pub fn of(self, count: u64) -> u64 {
        let share = u128::from(count) * u128::from(self.0) / u128::from(ONE);
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

static PERCENT: Scale = Scale {
    what: "a percentage",
    base_words: "ten-millionths of a percent",
    step: "0.0000001%",
    likely: ("%", "hundredths"),
    examples: &["35%", "0.8%"],
    units: &[Unit::new("%", ONE / 100, Print::Decimal)],
    mistaken: &[("percent", "`%`")],
};

impl Quantity for Percent {
    fn scale() -> &'static Scale {
        &PERCENT
    }
    fn base_units(self) -> u64 {
        self.0
    }
    fn from_base_units(count: u64) -> Option<Self> {
        Some(Self(count))
    }
}

quantity_text!(Percent);
