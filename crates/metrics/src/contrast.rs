//! Comparison of two samples: their difference, the ratio of their means and the ratio of their spreads, each
//! with its 95 % interval.
//!
//! Paired samples (the same seeds on both sides) use Student's t of the differences; independent ones use
//! Welch's t, whose degrees of freedom (Satterthwaite 1946) are rounded down, so that rounding never makes
//! the interval too narrow. Ratios of means are computed on logarithms, so they are ratios of geometric
//! means. The ratio of spreads uses Fisher's F and assumes normal values; samples far from normal need
//! another test, which is not included.

use crate::interval::{f_975, mean_interval_95, student_t_975};

/// A difference or a ratio of two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The difference or the ratio.
    pub value: f64,
    /// Its 95 % interval; `None` if a sample has too few values.
    pub range: Option<(f64, f64)>,
}

/// How the values of two samples are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// In pairs: the values at one index come from the same seed.
    Paired,
    /// Not at all: the samples are independent.
    Independent,
}

/// The mean of `left` minus the mean of `right`; `None` if a sample is empty or a value is not finite.
///
/// # Panics
/// If paired samples differ in length.
#[must_use]
pub(crate) fn difference_95(left: &[f64], right: &[f64], pairing: Pairing) -> Option<Contrast> {
    match pairing {
        Pairing::Paired => {
            assert_eq!(left.len(), right.len(), "paired samples have one value a seed each");
            let apart: Vec<f64> = left.iter().zip(right).map(|(left, right)| left - right).collect();
            let mean = mean_interval_95(&apart)?;
            Some(Contrast { value: mean.mean, range: mean.range })
        }
        Pairing::Independent => {
            let (left, right) = (Moments::of(left)?, Moments::of(right)?);
            let value = left.mean - right.mean;
            let half = left.half_width(&right);
            Some(Contrast { value, range: half.map(|half| (value - half, value + half)) })
        }
    }
}

/// The geometric mean of `left` divided by that of `right`; `None` if a sample is empty or a value is not
/// above 0.
///
/// # Panics
/// If paired samples differ in length.
#[must_use]
pub fn ratio_95(left: &[f64], right: &[f64], pairing: Pairing) -> Option<Contrast> {
    let logs = |values: &[f64]| {
        let log = |value: &f64| (*value > 0.0).then(|| libm::log(*value));
        values.iter().map(log).collect::<Option<Vec<f64>>>()
    };
    let apart = difference_95(&logs(left)?, &logs(right)?, pairing)?;
    let ends = |(low, high)| (libm::exp(low), libm::exp(high));
    Some(Contrast { value: libm::exp(apart.value), range: apart.range.map(ends) })
}

/// The coefficient of variation (deviation over mean) of `left` divided by that of `right`; `None` if one of
/// them has fewer than two values, zero variance, a mean that is not above 0, or a value that is not finite.
#[must_use]
pub fn spread_ratio_95(left: &[f64], right: &[f64]) -> Option<Contrast> {
    let (left, right) = (Moments::of(left)?, Moments::of(right)?);
    let relative = |of: &Moments| {
        let variance = of.variance? / (of.mean * of.mean);
        (of.mean > 0.0 && variance > 0.0).then_some(variance)
    };
    let ratio = relative(&left)? / relative(&right)?;
    let (one, other) = (left.count - 1, right.count - 1);
    let range = (ratio / f_975(one, other), ratio * f_975(other, one));
    Some(Contrast { value: ratio.sqrt(), range: Some((range.0.sqrt(), range.1.sqrt())) })
}

/// The statistics of a sample that Welch's t needs.
struct Moments {
    mean: f64,
    /// `None` for fewer than two values.
    variance: Option<f64>,
    count: u64,
}

impl Moments {
    fn of(values: &[f64]) -> Option<Self> {
        let mean = mean_interval_95(values)?.mean;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let variance = (values.len() > 1).then(|| squares / (values.len() - 1) as f64);
        Some(Self { mean, variance, count: values.len() as u64 })
    }

    fn half_width(&self, other: &Self) -> Option<f64> {
        let (one, two) = (self.variance? / self.count as f64, other.variance? / other.count as f64);
        let sum = one + two;
        if sum == 0.0 {
            return Some(0.0);
        }
        let shares = one * one / (self.count - 1) as f64 + two * two / (other.count - 1) as f64;
        let degrees = (sum * sum / shares).floor().max(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 1, and at most the count of both samples"
        )]
        let degrees = degrees as u64;
        Some(student_t_975(degrees) * sum.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(contrast: Option<Contrast>, want: (f64, f64, f64)) {
        let contrast = contrast.expect("there is one");
        let (low, high) = contrast.range.expect("it has a range");
        for (got, want) in [(contrast.value, want.0), (low, want.1), (high, want.2)] {
            assert!((got - want).abs() < 1e-6 * want.abs().max(1.0), "{contrast:?} {want:?}");
        }
    }

    #[test]
    fn a_paired_difference_is_students_interval_of_the_differences() {
        // Differences 1, 2, 3: mean 2, deviation 1, half width 4.302653 / √3.
        let half = 4.302_652_73 / 3.0_f64.sqrt();
        let found = difference_95(&[11.0, 22.0, 33.0], &[10.0, 20.0, 30.0], Pairing::Paired);
        close(found, (2.0, 2.0 - half, 2.0 + half));
    }

    #[test]
    fn an_independent_difference_is_welchs() {
        // Variances 1 and 4, three values each: 5/3 in the sum; (5/3)² / (1/18 + 16/18) = 2.94 degrees,
        // rounded down to 2.
        let half = 4.302_652_73 * (5.0_f64 / 3.0).sqrt();
        let found = difference_95(&[9.0, 10.0, 11.0], &[1.0, 3.0, 5.0], Pairing::Independent);
        close(found, (7.0, 7.0 - half, 7.0 + half));
    }

    #[test]
    fn a_ratio_is_the_difference_of_logarithms() {
        let (left, right) = ([2.0, 8.0], [1.0, 1.0]);
        let half = 12.706_204_74 * 2.0_f64.ln();
        let found = ratio_95(&left, &right, Pairing::Paired);
        close(found, (4.0, 4.0 * (-half).exp(), 4.0 * half.exp()));
        assert_eq!(ratio_95(&[0.0, 1.0], &right, Pairing::Paired), None, "0 has no logarithm");
    }

    #[test]
    fn spreads_compare_by_fishers_f() {
        // Variances 4 and 1 about 10 with three values each: F(2, 2) at 97.5 % is 39.
        let found = spread_ratio_95(&[8.0, 10.0, 12.0], &[9.0, 10.0, 11.0]);
        close(found, (2.0, (4.0_f64 / 39.0).sqrt(), (4.0_f64 * 39.0).sqrt()));
        assert_eq!(spread_ratio_95(&[8.0], &[9.0, 10.0]), None, "one value has no spread");
    }

    #[test]
    fn a_single_value_has_no_range_and_none_has_no_contrast() {
        let one = Contrast { value: 1.0, range: None };
        assert_eq!(difference_95(&[3.0], &[2.0], Pairing::Paired), Some(one));
        assert_eq!(difference_95(&[3.0], &[2.0], Pairing::Independent), Some(one));
        assert_eq!(difference_95(&[], &[2.0], Pairing::Independent), None);
        assert_eq!(difference_95(&[f64::NAN], &[2.0], Pairing::Independent), None);
    }

    /// Two thousand experiments on equal means: about 950 in a thousand must cover 0 (Welch) and 1 (spreads).
    #[test]
    fn the_intervals_cover_the_truth_as_often_as_they_say() {
        let mut state = 7_u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || 100.0 + (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        let (mut apart, mut spread) = (0, 0);
        for _ in 0..2_000 {
            let left: Vec<f64> = (0..5).map(|_| normal()).collect();
            let right: Vec<f64> = (0..8).map(|_| normal()).collect();
            let covers = |found: Option<Contrast>, truth: f64| {
                let (low, high) = found.expect("values").range.expect("enough of them");
                u32::from(low <= truth && truth <= high)
            };
            apart += covers(difference_95(&left, &right, Pairing::Independent), 0.0);
            spread += covers(spread_ratio_95(&left, &right), 1.0);
        }
        // Four standard deviations of a binomial count of 2,000 at 0.95; rounding degrees of freedom down
        // makes Welch's interval cover more.
        assert!((1_861..=1_960).contains(&apart), "{apart}");
        assert!((1_861..=1_939).contains(&spread), "{spread}");
    }
}
