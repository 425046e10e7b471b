//! Quantiles of sorted data, and their confidence intervals.
//!
//! The quantile of q is the smallest value such that at least a share q of all values is no larger: the
//! nearest rank. It is always one of the values, and q = 1 gives the maximum. Its interval comes from order
//! statistics: the number of n values below the true quantile is binomial, whatever their distribution.

use crate::interval::Z_975;

/// The rank (from 1 to `count`) of the quantile among `count` sorted values.
///
/// # Panics
/// If `q` is outside [0, 1], or `count` is zero.
#[must_use]
pub(crate) fn nearest_rank(count: u64, q: f64) -> u64 {
    assert!((0.0..=1.0).contains(&q), "a quantile lies between 0 and 1, not at {q}");
    assert!(count > 0, "no values have no quantile");
    // 0.07 × 100 is 7.000000000000001 in floats, but the intended rank is 7.
    let place = q * count as f64;
    let whole = place.round();
    let rank = if (place - whole).abs() <= place * 4.0 * f64::EPSILON { whole } else { place.ceil() };
    (rank as u64).clamp(1, count)
}

/// The quantile of values sorted in ascending order, or `None` without values.
#[must_use]
pub fn of_sorted<T: Copy + PartialOrd>(sorted: &[T], q: f64) -> Option<T> {
    debug_assert!(sorted.is_sorted(), "quantiles are taken of sorted values");
    if sorted.is_empty() {
        return None;
    }
    let rank = nearest_rank(sorted.len() as u64, q);
    Some(sorted[rank as usize - 1])
}

/// The quantile with linear interpolation between neighbours, as in spreadsheets, R (type 7) and NumPy.
#[must_use]
pub fn interpolated(sorted: &[f64], q: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&q), "a quantile lies between 0 and 1, not at {q}");
    let last = sorted.len().checked_sub(1)?;
    let place = q * last as f64;
    let below = place.floor();
    let (low, high) = (sorted[below as usize], sorted[(below as usize + 1).min(last)]);
    Some(low + (place - below) * (high - low))
}

/// The ranks (from 1) of two of `count` sorted values that enclose the true quantile with at least 95 %
/// confidence, or `None` if there are too few values. The values must be independent.
#[must_use]
pub(crate) fn interval_ranks_95(count: u64, q: f64) -> Option<(u64, u64)> {
    assert!((0.0..=1.0).contains(&q), "a quantile lies between 0 and 1, not at {q}");
    // Up to this count the binomial is summed term by term; above it, the normal approximation is used.
    const EXACT_TO: u64 = 10_000;
    if q == 0.0 || q == 1.0 || count == 0 {
        return None;
    }
    if count <= EXACT_TO {
        let low = ranks_in_tail(count, q);
        let high = (count + 1).checked_sub(ranks_in_tail(count, 1.0 - q))?;
        return (low >= 1 && high <= count).then_some((low, high));
    }
    let (mean, half) = (count as f64 * q, Z_975 * libm::sqrt(count as f64 * q * (1.0 - q)));
    let (low, high) = ((mean - half).floor(), (mean + half).ceil() + 1.0);
    (low >= 1.0 && high <= count as f64).then_some((low as u64, high as u64))
}

/// The largest k with P(B ≤ k − 1) ≤ 2.5 % for B binomial with `count` trials of probability `q`.
fn ranks_in_tail(count: u64, q: f64) -> u64 {
    let n = count as f64;
    let log_odds = (libm::log(q), libm::log1p(-q));
    let log_all = libm::lgamma(n + 1.0);
    let mut cumulative = 0.0;
    for k in 0..count {
        let x = k as f64;
        let log_chance = log_all - libm::lgamma(x + 1.0) - libm::lgamma(n - x + 1.0)
            + x * log_odds.0
            + (n - x) * log_odds.1;
        cumulative += libm::exp(log_chance);
        if cumulative > 0.025 {
            return k;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nearest_ranks() {
        for (count, q, want) in [
            (1, 0.0, 1),
            (1, 1.0, 1),
            (4, 0.5, 2),
            (5, 0.5, 3),
            (100, 0.99, 99),
            (100, 0.07, 7),
            (1000, 0.999, 999),
            (3, 0.34, 2),
        ] {
            assert_eq!(nearest_rank(count, q), want, "{count} {q}");
        }
        assert_eq!(of_sorted::<u64>(&[], 0.5), None);
        assert_eq!(of_sorted(&[1, 2, 3, 4], 0.5), Some(2));
        assert_eq!(of_sorted(&[1, 2, 3, 4], 1.0), Some(4));
    }

    /// Expected values from R: `quantile(c(1, 2, 4, 8), c(0, .25, .5, .9, 1))`.
    #[test]
    fn interpolation_is_that_of_r() {
        let values = [1.0, 2.0, 4.0, 8.0];
        for (q, want) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.0), (0.9, 6.8), (1.0, 8.0)] {
            assert!((interpolated(&values, q).unwrap() - want).abs() < 1e-12, "{q}");
        }
        assert_eq!(interpolated(&[], 0.5), None);
    }

    /// Expected ranks: Conover, *Practical Nonparametric Statistics*, and tables of the sign test.
    #[test]
    fn intervals_of_the_median_are_those_of_the_sign_test() {
        for (count, want) in [
            (5, None),
            (6, Some((1, 6))),
            (10, Some((2, 9))),
            (20, Some((6, 15))),
            (50, Some((18, 33))),
            (100, Some((40, 61))),
        ] {
            assert_eq!(interval_ranks_95(count, 0.5), want, "{count}");
        }
        assert_eq!(interval_ranks_95(100, 0.99), None, "a hundred values do not bound their 99th percentile");
    }

    #[test]
    fn exact_and_normal_ranks_meet() {
        let (low, high) = interval_ranks_95(10_000, 0.9).unwrap();
        let (low_next, high_next) = interval_ranks_95(10_001, 0.9).unwrap();
        assert!(
            low.abs_diff(low_next) <= 2 && high.abs_diff(high_next) <= 2,
            "{low} {low_next} {high} {high_next}"
        );
    }

    proptest! {
        #[test]
        fn a_share_of_at_least_q_is_no_larger(mut values in prop::collection::vec(any::<u32>(), 1..200), q in 0.0..=1.0_f64) {
            values.sort_unstable();
            let quantile = of_sorted(&values, q).expect("there are values");
            let share = |count: usize| count as f64 / values.len() as f64;
            prop_assert!(share(values.iter().filter(|value| **value <= quantile).count()) >= q - 1e-12);
            prop_assert!(share(values.iter().filter(|value| **value < quantile).count()) < q + 1e-12 || quantile == values[0]);
        }
    }
}
