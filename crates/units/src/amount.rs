//! Arithmetic that spans and sizes share: both are 64-bit amounts that can be added, subtracted and
//! multiplied by a number.

/// Implements the arithmetic of an amount type `$type(u64)` that may be zero.
macro_rules! amount {
    ($type:ident) => {
        impl $type {
            /// The amount zero.
            pub const ZERO: Self = Self(0);
            /// The largest amount: about 584 years, or one byte less than 16 EiB.
            pub const MAX: Self = Self(u64::MAX);

            /// Whether the amount is zero.
            #[inline]
            #[must_use]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }

            /// The sum, or `None` if it is above [`Self::MAX`].
            #[inline]
            #[must_use]
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                $crate::amount::some!(self.0.checked_add(other.0))
            }

            /// The sum, or [`Self::MAX`] if it is larger.
            #[inline]
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// The difference `self - other`, or `None` if `other` is larger.
            #[inline]
            #[must_use]
            pub const fn checked_sub(self, other: Self) -> Option<Self> {
                $crate::amount::some!(self.0.checked_sub(other.0))
            }

            /// The difference `self - other`, or zero if `other` is larger.
            #[inline]
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// The product, or `None` if it is above [`Self::MAX`].
            #[inline]
            #[must_use]
            pub const fn checked_mul(self, times: u64) -> Option<Self> {
                $crate::amount::some!(self.0.checked_mul(times))
            }

            /// The product, or [`Self::MAX`] if it is larger.
            #[inline]
            #[must_use]
            pub const fn saturating_mul(self, times: u64) -> Self {
                Self(self.0.saturating_mul(times))
            }
        }
    };
}

/// `Option::map(Self)` in a form that constant expressions allow.
macro_rules! some {
    ($count:expr) => {
        match $count {
            Some(count) => Some(Self(count)),
            None => None,
        }
    };
}

/// Implements [`crate::Quantity`] for a type that accepts every number of base units, including zero.
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
/// With the message `past_the_most` if the product does not fit in 64 bits.
pub(crate) const fn scaled(count: u64, unit: u64, past_the_most: &'static str) -> u64 {
    match count.checked_mul(unit) {
        Some(product) => product,
        None => panic!("{}", past_the_most),
    }
}
