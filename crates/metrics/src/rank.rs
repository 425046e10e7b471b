//! Spearman's rank correlation: whether one quantity tends to rise with another, however it does so.
//!
//! It is Pearson's correlation of the ranks. Equal values get the mean of the ranks that they cover, as in
//! Kendall and Gibbons, *Rank Correlation Methods* (1990), section 3; the shortcut with squared differences
//! of ranks is exact only without ties, and is not used.

/// The rank of each value, from 1; equal values share the mean of their ranks.
///
/// # Panics
/// If a value is not a number.
#[must_use]
pub(crate) fn mean_ranks(values: &[f64]) -> Vec<f64> {
    assert!(!values.iter().any(|value| value.is_nan()), "a value that is not a number has no rank");
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|left, right| values[*left].total_cmp(&values[*right]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    // `==` and not `total_cmp`: 0 and -0 are equal. They are neighbours in the order.
    for equal in order.chunk_by(|left, right| values[*left] == values[*right]) {
        let last = before + equal.len();
        let mean = (before + 1 + last) as f64 / 2.0;
        equal.iter().for_each(|at| ranks[*at] = mean);
        before = last;
    }
    ranks
}

/// Spearman's rank correlation of pairs of values, from -1 to 1. `None` if there are fewer than two pairs, if
/// one of the quantities is the same everywhere, or if a value is not finite.
///
/// # Panics
/// If the two have different lengths.
#[must_use]
pub fn spearman(left: &[f64], right: &[f64]) -> Option<f64> {
    assert_eq!(left.len(), right.len(), "a correlation is one of pairs");
    if left.len() < 2 || !left.iter().chain(right).all(|value| value.is_finite()) {
        return None;
    }
    // The mean of all ranks is the same with ties and without.
    let middle = (left.len() + 1) as f64 / 2.0;
    let (left, right) = (mean_ranks(left), mean_ranks(right));
    let products = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(one, other)| (one - middle) * (other - middle)).sum()
    };
    let squares = products(&left, &left) * products(&right, &right);
    // Rounding can exceed the ends by one last digit.
    (squares > 0.0).then(|| (products(&left, &right) / libm::sqrt(squares)).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(mean_ranks(&[]), [0.0; 0]);
        assert_eq!(mean_ranks(&[30.0, 10.0, 20.0]), [3.0, 1.0, 2.0]);
        // The two 10s cover the ranks 1 and 2, the three 20s the ranks 3, 4 and 5.
        assert_eq!(mean_ranks(&[20.0, 10.0, 20.0, 99.0, 10.0, 20.0]), [4.0, 1.5, 4.0, 6.0, 1.5, 4.0]);
        assert_eq!(mean_ranks(&[0.0, -0.0, f64::NEG_INFINITY]), [2.5, 2.5, 1.0]);
    }

    /// Without ties it is 1 - 6 Σd² / (n (n² - 1)); with ties the values are worked by hand.
    #[test]
    fn the_correlation_is_that_of_the_ranks() {
        let cases: [(&[f64], &[f64], f64); 5] = [
            (&[1.0, 2.0, 3.0, 4.0], &[1.0, 8.0, 27.0, 64.0], 1.0),
            (&[1.0, 2.0, 3.0, 4.0], &[9.0, 7.0, 2.0, 0.0], -1.0),
            // Differences of ranks 0, -1, 1, -1, 1: 1 - 6 · 4 / (5 · 24).
            (&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 5.0, 4.0, 9.0, 8.0], 0.8),
            // Ranks 1.5, 1.5, 3 and 1, 2, 3: products -0.5 · -1 + 0 + 1, squares 1.5 and 2.
            (&[1.0, 1.0, 2.0], &[5.0, 6.0, 7.0], 1.5 / 3.0_f64.sqrt()),
            // Ranks 1.5, 1.5, 3.5, 3.5 and 1, 2.5, 2.5, 4: products 1.5 + 0 + 0 + 1.5, squares 4 and 4.5.
            (&[1.0, 1.0, 2.0, 2.0], &[1.0, 2.0, 2.0, 3.0], 3.0 / 18.0_f64.sqrt()),
        ];
        for (left, right, want) in cases {
            let found = spearman(left, right).expect("the values differ");
            assert!((found - want).abs() < 1e-12, "{found}, not {want}: {left:?} {right:?}");
            assert_eq!(spearman(right, left), Some(found), "it is symmetric");
        }
    }

    #[test]
    fn what_does_not_vary_correlates_with_nothing() {
        assert_eq!(spearman(&[], &[]), None);
        assert_eq!(spearman(&[1.0], &[2.0]), None);
        assert_eq!(spearman(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }
}
