//! Count, mean and variance of integer values, computed from exact integer sums.

use crate::interval::{MeanInterval, student_t_975};
use crate::wide::{SquareSum, Sum, can_be, variance_numerator};
use serde::{Deserialize, Serialize};

/// Count, sum and sum of squares of 64-bit values. Merging is commutative, and a value can be removed again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Tally {
    count: u64,
    sum: Sum,
    squares: SquareSum,
}

/// A deserialised tally whose invariants have not been checked.
#[derive(Deserialize)]
struct Stored {
    count: u64,
    sum: Sum,
    squares: SquareSum,
}

impl TryFrom<Stored> for Tally {
    type Error = String;

    /// Refuses sums that no set of values has, for example those with a negative variance.
    fn try_from(Stored { count, sum, squares }: Stored) -> Result<Self, String> {
        if can_be(count, sum, squares) {
            Ok(Self { count, sum, squares })
        } else {
            Err(format!("the sums of a tally cannot be those of {count} values, or of more than can be read"))
        }
    }
}

impl Tally {
    /// An empty tally.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.sum.add(value);
        self.squares.add(value);
    }

    /// Adds all values that another tally has recorded.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.0 += other.sum.0;
        self.squares.merge(&other.squares);
    }

    /// The number of values.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact sum of the values.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum.0
    }

    /// The mean, or `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.0 as f64 / self.count as f64)
    }

    /// The sample variance (divisor n − 1), or `None` for fewer than two values.
    #[must_use]
    pub(crate) fn variance(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let count = self.count as f64;
        Some(variance_numerator(self.count, self.sum, self.squares) / (count * (count - 1.0)))
    }

    /// The mean with its 95 % interval, for independent values. Successive values of one run are seldom
    /// independent (waits in a queue are correlated); take the interval over replicates then.
    #[must_use]
    pub fn mean_interval_95(&self) -> Option<MeanInterval> {
        let mean = self.mean()?;
        let Some(variance) = self.variance() else {
            return Some(MeanInterval { mean, range: None, count: self.count });
        };
        let half = student_t_975(self.count - 1) * libm::sqrt(variance / self.count as f64);
        Some(MeanInterval { mean, range: Some((mean - half, mean + half)), count: self.count })
    }
}

/// The smallest and the largest value. Merging is commutative, but a value cannot be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Extremes {
    // Without values `least` is above `most`, so that merging needs no special case.
    least: u64,
    most: u64,
}

impl Default for Extremes {
    fn default() -> Self {
        Self { least: u64::MAX, most: 0 }
    }
}

impl Extremes {
    /// No recorded values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Adds all values that another instance has recorded.
    pub fn merge(&mut self, other: &Self) {
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// The smallest and the largest value, or `None` without values.
    #[must_use]
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.least <= self.most).then_some((self.least, self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tally(values: &[u64]) -> Tally {
        let mut tally = Tally::new();
        values.iter().for_each(|value| tally.record(*value));
        tally
    }

    #[test]
    fn a_forged_tally_is_refused_and_a_true_one_read_back() {
        for values in [vec![], vec![7], vec![u64::MAX; 9], vec![1, 2, u64::MAX]] {
            let text = serde_json::to_string(&tally(&values)).unwrap();
            assert_eq!(serde_json::from_str::<Tally>(&text).unwrap(), tally(&values));
        }
        for forged in [
            // Squares too small for the sum: the variance would be negative, and its subtraction would
            // overflow.
            r#"{"count":2,"sum":[0,4],"squares":[0,0,7]}"#,
            r#"{"count":0,"sum":[0,1],"squares":[0,0,1]}"#,
            r#"{"count":0,"sum":[0,0],"squares":[0,0,1]}"#,
            r#"{"count":1,"sum":[1,0],"squares":[9,0,0]}"#,
            r#"{"count":18446744073709551615,"sum":[0,0],"squares":[0,0,0]}"#,
        ] {
            assert!(serde_json::from_str::<Tally>(forged).is_err(), "{forged}");
        }
    }

    #[test]
    fn textbook_values() {
        assert_eq!(tally(&[]).mean(), None);
        assert_eq!(tally(&[5]).mean(), Some(5.0));
        assert_eq!(tally(&[5]).variance(), None);
        let eight = tally(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(eight.mean(), Some(5.0));
        assert_eq!(eight.variance(), Some(32.0 / 7.0));
        // Large values that differ in the last digit: a float sum of squares would lose the variance
        // entirely.
        let base = 1 << 62;
        assert_eq!(tally(&[base, base + 1, base + 2]).variance(), Some(1.0));
        assert_eq!(tally(&[u64::MAX; 9]).variance(), Some(0.0));
    }

    #[test]
    fn the_mean_has_an_interval_from_two_values_on() {
        assert_eq!(tally(&[]).mean_interval_95(), None);
        assert_eq!(tally(&[3]).mean_interval_95().unwrap().range, None);
        let (low, high) = tally(&[1, 3]).mean_interval_95().unwrap().range.unwrap();
        assert!((low - (2.0 - 12.706_204_736)).abs() < 1e-8, "{low}");
        assert!((high - (2.0 + 12.706_204_736)).abs() < 1e-8, "{high}");
    }

    proptest! {
        #[test]
        fn merging_in_any_order_is_the_same(values in prop::collection::vec(any::<u64>(), 0..40), cuts in any::<(usize, usize)>()) {
            let (a, b) = (cuts.0 % (values.len() + 1), cuts.1 % (values.len() + 1));
            let parts = [&values[..a.min(b)], &values[a.min(b)..a.max(b)], &values[a.max(b)..]];
            let whole = tally(&values);
            for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
                let mut merged = Tally::new();
                let mut extremes = Extremes::new();
                for part in order {
                    merged.merge(&tally(parts[part]));
                    let mut own = Extremes::new();
                    parts[part].iter().for_each(|value| own.record(*value));
                    extremes.merge(&own);
                }
                prop_assert_eq!(merged, whole);
                let range = values.iter().min().copied().zip(values.iter().max().copied());
                prop_assert_eq!(extremes.range(), range);
            }
        }

        /// Compared with a two-pass computation in floats, for values where floats are exact enough.
        #[test]
        fn variance_agrees_with_two_passes(values in prop::collection::vec(0..1_000_000_u64, 2..50)) {
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            let two_pass = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
            let got = tally(&values).variance().expect("at least two values");
            prop_assert!((got - two_pass).abs() <= 1e-9 * two_pass.max(1.0), "{got} {two_pass}");
        }
    }
}
