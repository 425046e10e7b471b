//! The whole distribution of integer values in a small amount of memory.
//!
//! Values up to 127 have a bucket each; above that, every power of two is divided into 128 buckets of equal
//! width. So a bucket is never wider than 1/128 of its least value, and its middle is at most 1/256 (0.4 %)
//! from any value in it. The layout is that of HdrHistogram (Gil Tene), with a fixed precision so that all
//! histograms can be merged.
//!
//! Memory is 8 bytes per bucket between the least and the largest recorded value: one kilobyte per doubling.

use crate::quantile::{interval_ranks_95, nearest_rank};
use crate::wide::{COUNT_MAX, Sum};
use serde::{Deserialize, Serialize};

/// Counts of values by size. Merging is commutative, and a recorded value can be removed again.
///
/// **Invariant:** `counts` begins and ends with a non-zero bucket, so equal contents are equal structs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Histogram {
    count: u64,
    sum: Sum,
    first: u32,
    counts: Vec<u64>,
}

/// A deserialised histogram whose invariants have not been checked.
#[derive(Deserialize)]
struct Stored {
    count: u64,
    sum: Sum,
    first: u32,
    counts: Vec<u64>,
}

/// One bucket: `count` values from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The least value of the bucket.
    pub low: u64,
    /// The largest value of the bucket.
    pub high: u64,
    /// The number of values in the bucket.
    pub count: u64,
}

/// A quantile estimated from a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileEstimate {
    /// The middle of the bucket that contains the quantile: off by at most one part in `2 * SUB`.
    pub value: f64,
    /// The largest value of that bucket: at least the share `q` of values is at most this. It is above the
    /// quantile by at most twice the error of `value`.
    pub at_most: f64,
    /// The ends of the 95 % interval, for independent values; `None` if there are too few.
    pub range: Option<(f64, f64)>,
}

/// The binary logarithm of the number of buckets per power of two.
const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;

/// The number of buckets that cover all 64-bit values.
const BUCKETS: u64 = (64 - SUB_BITS as u64 + 1) << SUB_BITS;

impl TryFrom<Stored> for Histogram {
    type Error = String;

    /// Files are not trusted: a histogram whose parts contradict each other is refused here, because it would
    /// cause a panic or a wrong result where it is used.
    fn try_from(stored: Stored) -> Result<Self, String> {
        let Stored { count, sum, first, counts } = stored;
        let total = counts.iter().try_fold(0u64, |total, count| total.checked_add(*count));
        if total != Some(count) || count > COUNT_MAX {
            return Err(format!(
                "a histogram claims {count} values, but its buckets have another number, or more than {COUNT_MAX}"
            ));
        }
        let ends = [counts.first(), counts.last()];
        if ends.contains(&Some(&0)) || (counts.is_empty() && first != 0) {
            return Err("a histogram starts or ends with an empty bucket".to_owned());
        }
        if u64::from(first) + counts.len() as u64 > BUCKETS {
            return Err(format!("a histogram has a bucket beyond the last, which is number {}", BUCKETS - 1));
        }
        let histogram = Self { count, sum, first, counts };
        let total_of = |value: fn(Bin) -> u64| -> u128 {
            histogram.bins().map(|bin| u128::from(value(bin)) * u128::from(bin.count)).sum()
        };
        if (total_of(|bin| bin.low)..=total_of(|bin| bin.high)).contains(&sum.0) {
            Ok(histogram)
        } else {
            Err(format!("the sum of a histogram is {}, but its buckets add up to another", sum.0))
        }
    }
}

impl Histogram {
    /// The largest relative error of a quantile.
    #[cfg(test)]
    const RELATIVE_ERROR: f64 = 1.0 / (2 * SUB) as f64;

    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.sum.add(value);
        let bucket = bucket_of(value);
        match bucket.checked_sub(self.first).and_then(|at| self.counts.get_mut(at as usize)) {
            Some(count) => *count += 1,
            None => self.grow_to(bucket, 1),
        }
    }

    /// Adds all values that another histogram has recorded.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.0 += other.sum.0;
        let Some(last) = other.counts.len().checked_sub(1) else {
            return;
        };
        self.grow_to(other.first, 0);
        self.grow_to(other.first + last as u32, 0);
        let offset = (other.first - self.first) as usize;
        for (mine, theirs) in self.counts[offset..].iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// The number of values.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact sum of all values.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum.0
    }

    /// The exact mean, computed from the sum and not from the buckets.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.0 as f64 / self.count as f64)
    }

    /// The quantile of `q` by nearest rank, or `None` without values.
    ///
    /// # Panics
    /// If `q` is outside [0, 1].
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<QuantileEstimate> {
        if self.count == 0 {
            return None;
        }
        let bin = self.at_rank(nearest_rank(self.count, q));
        let range = interval_ranks_95(self.count, q)
            .map(|(low, high)| (self.at_rank(low).middle(), self.at_rank(high).middle()));
        // No value is above the sum of all: of a single value, the bound is exact.
        let at_most = bin.high.min(u64::try_from(self.sum.0).unwrap_or(u64::MAX)) as f64;
        Some(QuantileEstimate { value: bin.middle(), at_most, range })
    }

    /// The non-empty buckets in ascending order.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        let numbered = self.counts.iter().zip(self.first..);
        numbered.filter(|(count, _)| **count > 0).map(|(count, bucket)| {
            let (low, high) = bounds_of(bucket);
            Bin { low, high, count: *count }
        })
    }

    fn at_rank(&self, rank: u64) -> Bin {
        let mut below = 0;
        let found = self.bins().find(|bin| {
            below += bin.count;
            below >= rank
        });
        found.expect("a rank is at most the number of values")
    }

    /// Extends the range to include `bucket` and adds `count` to it.
    fn grow_to(&mut self, bucket: u32, count: u64) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let missing = (self.first - bucket) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let at = (bucket - self.first) as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += count;
    }
}

impl Bin {
    /// The value that represents the bucket.
    #[must_use]
    pub fn middle(&self) -> f64 {
        self.low as f64 + (self.high - self.low) as f64 / 2.0
    }
}

/// The index of the bucket of `value`: the power of two, then the next seven bits.
#[inline]
fn bucket_of(value: u64) -> u32 {
    if value < SUB {
        return value as u32;
    }
    let shift = value.ilog2() - SUB_BITS;
    (shift << SUB_BITS) + (value >> shift) as u32
}

fn bounds_of(bucket: u32) -> (u64, u64) {
    if u64::from(bucket) < SUB {
        return (u64::from(bucket), u64::from(bucket));
    }
    let shift = (bucket >> SUB_BITS) - 1;
    let low = (u64::from(bucket) - (u64::from(shift) << SUB_BITS)) << shift;
    (low, low + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    /// Values of all magnitudes, not only large ones.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift), 0..60)
    }

    #[test]
    fn the_last_bucket_is_that_of_the_greatest_value() {
        assert_eq!(u64::from(bucket_of(u64::MAX)) + 1, BUCKETS);
    }

    #[test]
    fn a_forged_histogram_is_refused_and_a_true_one_read_back() {
        let true_one = histogram(&[5, 5, 130, 1 << 40, u64::MAX]);
        let text = serde_json::to_string(&true_one).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), true_one);
        let empty = serde_json::to_string(&Histogram::new()).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&empty).unwrap(), Histogram::new());
        for forged in [
            // More values than the buckets contain: the search for a quantile found no bucket and panicked.
            r#"{"count":3,"sum":[0,2],"first":1,"counts":[2]}"#,
            r#"{"count":1,"sum":[0,0],"first":0,"counts":[]}"#,
            // A bucket index above the largest, whose bounds overflow.
            r#"{"count":1,"sum":[0,1],"first":4294967295,"counts":[1]}"#,
            r#"{"count":1,"sum":[0,1],"first":7424,"counts":[1]}"#,
            // Sums that overflow, and sums of other values.
            r#"{"count":0,"sum":[0,0],"first":1,"counts":[9223372036854775808,9223372036854775808]}"#,
            r#"{"count":2,"sum":[0,3],"first":1,"counts":[2]}"#,
            r#"{"count":18446744073709551615,"sum":[0,0],"first":0,"counts":[18446744073709551615]}"#,
            // Not the normalised form that equal contents share.
            r#"{"count":1,"sum":[0,1],"first":0,"counts":[0,1]}"#,
            r#"{"count":0,"sum":[0,0],"first":1,"counts":[]}"#,
        ] {
            assert!(serde_json::from_str::<Histogram>(forged).is_err(), "{forged}");
        }
    }

    #[test]
    fn buckets_tile_all_integers() {
        assert_eq!(bounds_of(bucket_of(0)), (0, 0));
        assert_eq!(bounds_of(bucket_of(127)), (127, 127));
        assert_eq!(bounds_of(bucket_of(255)), (255, 255));
        assert_eq!(bounds_of(bucket_of(256)), (256, 257));
        assert_eq!(bounds_of(bucket_of(u64::MAX)).1, u64::MAX);
        let mut next = 0_u64;
        for bucket in 0..=bucket_of(u64::MAX) {
            let (low, high) = bounds_of(bucket);
            assert_eq!(low, next, "bucket {bucket}");
            assert!(high - low < (low / SUB).max(1), "bucket {bucket} is too wide");
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the last integer");
    }

    #[test]
    fn small_values_are_exact() {
        let histogram = histogram(&[1, 2, 3, 4, 100]);
        assert_eq!(histogram.mean(), Some(22.0));
        assert_eq!(histogram.quantile(0.5).unwrap().value, 3.0);
        assert_eq!(histogram.quantile(1.0).unwrap().value, 100.0);
        assert_eq!(Histogram::new().quantile(0.5), None);
        let bins: Vec<u64> = histogram.bins().map(|bin| bin.low).collect();
        assert_eq!(bins, [1, 2, 3, 4, 100]);
    }

    /// A former bug: of equal values, the middle of their bucket was shown as what 99 % take at most,
    /// although all of them, and their mean, were above it.
    #[test]
    fn no_more_than_the_rest_is_above_what_a_share_takes_at_most() {
        let equal = histogram(&[156_900_000; 100]);
        let p99 = equal.quantile(0.99).unwrap();
        assert!(p99.value < 156_900_000.0 && p99.at_most >= 156_900_000.0, "{p99:?}");
        assert_eq!(histogram(&[156_900_000]).quantile(0.99).unwrap().at_most, 156_900_000.0);
    }

    proptest! {
        #[test]
        fn quantiles_stay_within_the_stated_error(mut values in values(), q in 0.0..=1.0_f64) {
            let got = histogram(&values).quantile(q);
            values.sort_unstable();
            let want = quantile::of_sorted(&values, q);
            prop_assert_eq!(got.is_some(), want.is_some());
            if let (Some(got), Some(want)) = (got, want) {
                let error = (got.value - want as f64).abs();
                prop_assert!(error <= want as f64 * Histogram::RELATIVE_ERROR * (1.0 + 1e-12), "{} {want}", got.value);
                let above = got.at_most - want as f64;
                let most = want as f64 * 2.0 * Histogram::RELATIVE_ERROR * (1.0 + 1e-12);
                prop_assert!((0.0..=most).contains(&above), "{} {want}", got.at_most);
                let below = values.iter().filter(|value| **value as f64 <= got.at_most).count();
                prop_assert!(below as f64 >= q * values.len() as f64);
            }
        }

        #[test]
        fn merging_in_any_order_is_the_same(a in values(), b in values(), c in values()) {
            let parts = [histogram(&a), histogram(&b), histogram(&c)];
            let whole = histogram(&[a, b, c].concat());
            for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
                let mut merged = Histogram::new();
                order.iter().for_each(|part: &usize| merged.merge(&parts[*part]));
                prop_assert_eq!(&merged, &whole);
            }
            let text = serde_json::to_string(&whole).expect("plain integers");
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).expect("just written"), whole);
        }
    }
}
