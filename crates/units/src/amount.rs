//! What spans and sizes have in common: both are amounts of something, in 64 bits, that are added, taken away
//! and repeated.

/// The arithmetic of a type that is an amount: `$type(u64)`, of which none is zero.
macro_rules! amount {
    ($type:ident) => {
        impl $type {
            /// None at all.
            pub const ZERO: Self = Self(0);
            /// The most that 64 bits hold: about 584 years, or one byte less than 16 EiB.
            pub const MAX: Self = Self(u64::MAX);

            /// Whether there is none.
            #[inline]
            #[must_use]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }

            /// Both together, or `None` past the most.
            #[inline]
            #[must_use]
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                $crate::amount::some!(self.0.checked_add(other.0))
            }

            /// Both together, at most the most.
            #[inline]
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// What is left after taking `other` away, or `None` if it is the larger one.
            #[inline]
            #[must_use]
            pub const fn checked_sub(self, other: Self) -> Option<Self> {
                $crate::amount::some!(self.0.checked_sub(other.0))
            }

            /// What is left after taking `other` away, at least nothing.
            #[inline]
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// This `times` over, or `None` past the most.
            #[inline]
            #[must_use]
            pub const fn checked_mul(self, times: u64) -> Option<Self> {
                $crate::amount::some!(self.0.checked_mul(times))
            }

            /// This `times` over, at most the most.
            #[inline]
            #[must_use]
            pub const fn saturating_mul(self, times: u64) -> Self {
                Self(self.0.saturating_mul(times))
            }
        }
    };
}

/// `Option::map` into `Self`, where a constant expression is wanted.
macro_rules! some {
    ($count:expr) => {
        match $count {
            Some(count) => Some(Self(count)),
            None => None,
        }
    };
}

/// What its text needs of a type that any number of base units is a value of.
macro_rules! any_count {
    ($type:ident, $scale:expr) => {
        impl $crate::Quantity for $type {
            fn scale() -> &'static $crate::Scale {
                &$scale
            }
            fn base_units(self) -> u64 {
                self.0
            }
            fn from_base_units(count: u64) -> Option<Self> {
                Some(Self(count))
            }
        }
    };
}

pub(crate) use {amount, any_count, some};

/// `count` times `unit`, as a constant expression where possible.
///
/// # Panics
/// With `past_the_most` where 64 bits do not hold it.
pub(crate) const fn scaled(count: u64, unit: u64, past_the_most: &'static str) -> u64 {
    match count.checked_mul(unit) {
        Some(product) => product,
        None => panic!("{}", past_the_most),
    }
}
