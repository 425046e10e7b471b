//! Sums that cannot overflow, and the exact products that a variance needs.
//!
//! A sum of 64-bit values fits in 128 bits for as many values as a 64-bit counter can count, and a sum of
//! their squares fits in 192. Wide numbers are serialised as 64-bit words, most significant first, because
//! many formats support at most 64 bits.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A sum of 64-bit values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sum(pub u128);

/// A sum of the squares of 64-bit values: `high` × 2^128 + `low`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SquareSum {
    high: u64,
    low: u128,
}

impl Sum {
    /// Adds one value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.0 += u128::from(value);
    }

    /// Removes one value that was added.
    #[inline]
    pub fn take(&mut self, value: u64) {
        self.0 = self.0.checked_sub(u128::from(value)).expect("only a value that was added is taken back");
    }
}

impl SquareSum {
    /// Adds the square of one value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let square = u128::from(value) * u128::from(value);
        let (low, carry) = self.low.overflowing_add(square);
        self.low = low;
        self.high += u64::from(carry);
    }

    /// Removes the square of one value that was added.
    #[inline]
    pub fn take(&mut self, value: u64) {
        let square = u128::from(value) * u128::from(value);
        let (low, borrow) = self.low.overflowing_sub(square);
        self.low = low;
        let high = self.high.checked_sub(u64::from(borrow));
        self.high = high.expect("only a value that was added is taken back");
    }

    /// Adds all squares of another instance.
    pub fn merge(&mut self, other: &Self) {
        let (low, carry) = self.low.overflowing_add(other.low);
        self.low = low;
        self.high += other.high + u64::from(carry);
    }
}

/// `count · Σx² − (Σx)²`, rounded only at the end: the population variance times `count²`. Never negative, by
/// the Cauchy–Schwarz inequality.
pub(crate) fn variance_numerator(count: u64, sum: Sum, squares: SquareSum) -> f64 {
    let scaled =
        U256::product(squares.low, u128::from(count)).plus_high(u128::from(squares.high) * u128::from(count));
    scaled.minus(U256::product(sum.0, sum.0)).to_f64()
}

/// The largest count that is accepted when sums are deserialised: days of any run, and small enough that
/// those of ten million runs can be added.
pub(crate) const COUNT_MAX: u64 = 1 << 40;

/// Whether `count` 64-bit values with these sums can exist: the sums are not too large, and the
/// Cauchy–Schwarz inequality holds.
pub(crate) fn can_be(count: u64, sum: Sum, squares: SquareSum) -> bool {
    let most = u128::from(count) * u128::from(u64::MAX);
    if count > COUNT_MAX || sum.0 > most || squares.high > count {
        return false;
    }
    let scaled =
        U256::product(squares.low, u128::from(count)).plus_high(u128::from(squares.high) * u128::from(count));
    let square = U256::product(sum.0, sum.0);
    (scaled.high, scaled.low) >= (square.high, square.low) && (count > 0 || squares == SquareSum::default())
}

/// An unsigned 256-bit integer, which the variance needs.
#[derive(Clone, Copy)]
struct U256 {
    high: u128,
    low: u128,
}

impl U256 {
    fn product(left: u128, right: u128) -> Self {
        const HALF: u128 = u64::MAX as u128;
        let (left_high, left_low) = (left >> 64, left & HALF);
        let (right_high, right_low) = (right >> 64, right & HALF);
        let low = left_low * right_low;
        let (middle, carry) = (left_high * right_low).overflowing_add(left_low * right_high);
        let (low, low_carry) = low.overflowing_add(middle << 64);
        let high =
            left_high * right_high + (middle >> 64) + (u128::from(carry) << 64) + u128::from(low_carry);
        Self { high, low }
    }

    fn plus_high(self, high: u128) -> Self {
        Self { high: self.high + high, low: self.low }
    }

    fn minus(self, other: Self) -> Self {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Self { high: self.high - other.high - u128::from(borrow), low }
    }

    fn to_f64(self) -> f64 {
        const TWO_TO_128: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
        self.high as f64 * TWO_TO_128 + self.low as f64
    }
}

impl Serialize for Sum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        words(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <[u64; 2]>::deserialize(deserializer).map(|words| Self(from_words(words)))
    }
}

impl Serialize for SquareSum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [middle, low] = words(self.low);
        [self.high, middle, low].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SquareSum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [high, middle, low] = <[u64; 3]>::deserialize(deserializer)?;
        Ok(Self { high, low: from_words([middle, low]) })
    }
}

fn words(value: u128) -> [u64; 2] {
    [(value >> 64) as u64, value as u64]
}

fn from_words([high, low]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_differences_are_exact() {
        let all = U256::product(u128::MAX, u128::MAX);
        assert_eq!((all.high, all.low), (u128::MAX - 1, 1));
        let small = U256::product(3 << 100, 5 << 60);
        assert_eq!((small.high, small.low), (15 << 32, 0));
        let difference = all.minus(small);
        assert_eq!((difference.high, difference.low), (u128::MAX - 1 - (15 << 32), 1));
    }

    #[test]
    fn sums_of_squares_carry_and_come_back() {
        let mut squares = SquareSum::default();
        for _ in 0..5 {
            squares.add(u64::MAX);
        }
        assert_eq!(squares.high, 4);
        let text = serde_json::to_string(&squares).unwrap();
        assert_eq!(serde_json::from_str::<SquareSum>(&text).unwrap(), squares);
        for _ in 0..5 {
            squares.take(u64::MAX);
        }
        assert_eq!(squares, SquareSum::default());
    }

    #[test]
    fn a_sum_survives_formats_without_wide_integers() {
        let sum = Sum(7 << 90 | 3);
        let value = serde_json::to_value(sum).unwrap();
        assert_eq!(value, serde_json::json!([7 << 26, 3]));
        assert_eq!(serde_json::from_value::<Sum>(value).unwrap(), sum);
    }
}
