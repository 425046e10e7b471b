//! Numbers with their elasticities: by how many percent a number changes when a measured rate changes by one
//! percent.
//!
//! Every estimate is a product, a mean or a harmonic mean of measured rates, so its elasticities have closed
//! forms. Together with the half width of each rate's logarithm they give the half width of the estimate's:
//! errors of different points are independent and add as squares.

/// A number and its elasticities.
#[derive(Clone, Debug, PartialEq)]
pub struct Elastic {
    /// The number.
    pub value: f64,
    by: Vec<f64>,
}

/// A number with its 95 % interval, if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranged {
    /// The number.
    pub value: f64,
    /// The ends of the interval.
    pub range: Option<(f64, f64)>,
}

/// An interval from a tenth of a number to ten times it is of no use, so wider intervals count as unknown.
/// The factor is a choice. Two runs that differ by 40 %, with no others, are just within it.
const FACTOR_MAX: f64 = 10.0;

impl Ranged {
    /// A number whose logarithm is known to ± `half`; without a range if that is a factor of more than
    /// `FACTOR_MAX`.
    #[must_use]
    pub fn around(value: f64, half: Option<f64>) -> Self {
        let useful = half.filter(|half| *half <= libm::log(FACTOR_MAX));
        Self { value, range: useful.map(|half| (value * libm::exp(-half), value * libm::exp(half))) }
    }
}

impl Elastic {
    /// The measured rate number `at` of `count`.
    pub(crate) fn measured(value: f64, at: usize, count: usize) -> Self {
        let mut by = vec![0.0; count];
        by[at] = 1.0;
        Self { value, by }
    }

    /// A number whose elasticities are weighted means of those of others.
    fn weighted<'a>(value: f64, others: impl Iterator<Item = (f64, &'a Self)>) -> Self {
        let mut by = Vec::new();
        for (weight, other) in others {
            by.resize(other.by.len(), 0.0);
            by.iter_mut().zip(&other.by).for_each(|(sum, one)| *sum += weight * one);
        }
        Self { value, by }
    }

    /// The number times an exact factor.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        Self { value: self.value * factor, by: self.by.clone() }
    }

    /// `1 / Σ(share / rate)`: shares of work done one after the other. Shares of zero are ignored.
    pub(crate) fn harmonic(parts: &[(f64, &Self)]) -> Self {
        let time: f64 = parts.iter().map(|(share, rate)| share / rate.value).sum();
        let value = 1.0 / time;
        Self::weighted(value, parts.iter().map(|(share, rate)| (share / rate.value * value, *rate)))
    }

    /// `Σ(share · rate)`: shares of capacity.
    pub(crate) fn arithmetic(parts: &[(f64, &Self)]) -> Self {
        let value: f64 = parts.iter().map(|(share, rate)| share * rate.value).sum();
        let part = |share: &f64, rate: &Self| if value > 0.0 { share * rate.value / value } else { 0.0 };
        Self::weighted(value, parts.iter().map(|(share, rate)| (part(share, rate), *rate)))
    }

    /// The point at fraction `at` between this and `other`, in logarithms; outside them for `at` below 0 or
    /// above 1.
    pub(crate) fn between(&self, other: &Self, at: f64) -> Self {
        let value = libm::exp((1.0 - at) * libm::log(self.value) + at * libm::log(other.value));
        Self::weighted(value, [(1.0 - at, self), (at, other)].into_iter())
    }

    /// Half the width of the interval of the number's logarithm.
    pub(crate) fn half_width(&self, halves: &[f64]) -> f64 {
        libm::sqrt(self.by.iter().zip(halves).map(|(by, half)| by * half * by * half).sum())
    }

    /// The number with its interval.
    #[must_use]
    pub(crate) fn ranged(&self, halves: Option<&[f64]>) -> Ranged {
        // A number that is zero by the question is exactly zero.
        Ranged::around(self.value, halves.filter(|_| self.value != 0.0).map(|halves| self.half_width(halves)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes each rate by a millionth, and compares.
    fn check(make: impl Fn(&Elastic, &Elastic) -> Elastic) {
        let rate = |value, at| Elastic::measured(value, at, 2);
        let found = make(&rate(300.0, 0), &rate(50.0, 1));
        let (step, halves) = (1e-6, [[1.0, 0.0], [0.0, 1.0]]);
        for (at, halves) in halves.iter().enumerate() {
            let up = |which: usize| if which == at { 1.0 + step } else { 1.0 };
            let moved = make(&rate(300.0 * up(0), 0), &rate(50.0 * up(1), 1));
            let seen = libm::log(moved.value / found.value) / libm::log(1.0 + step);
            assert!((seen.abs() - found.half_width(halves)).abs() < 1e-5, "{seen} {found:?}");
        }
    }

    /// Two runs of 100 and 200 per second, and nothing else: Student's t of 12.7 gave an interval of 500
    /// times in either direction, and for runs a billion times apart one of 10^115.
    #[test]
    fn an_interval_that_says_nothing_is_unknown() {
        let with = |half: f64| Ranged::around(100.0, Some(half)).range;
        let two = |one: f64, other: f64| {
            let apart = libm::log(other / one) / core::f64::consts::SQRT_2;
            with(towtank_metrics::student_t_975(1) * apart / core::f64::consts::SQRT_2)
        };
        assert_eq!(two(100.0, 200.0), None);
        assert_eq!(two(1.0, 1e9), None);
        let (low, high) = two(100.0, 110.0).expect("10 % apart");
        assert!((50.0..60.0).contains(&low) && (180.0..190.0).contains(&high), "{low} {high}");
        assert_eq!(Ranged::around(100.0, None).range, None);
    }

    #[test]
    fn elasticities_are_derivatives() {
        check(|reads, writes| Elastic::harmonic(&[(0.7, reads), (0.3, writes)]));
        check(|reads, writes| Elastic::arithmetic(&[(0.7, reads), (0.3, writes)]));
        check(|reads, writes| reads.between(writes, 0.25));
        check(|reads, writes| reads.between(writes, -0.5).times(3.0));
        check(|reads, writes| {
            let mixed = Elastic::harmonic(&[(0.5, reads), (0.5, writes)]);
            Elastic::arithmetic(&[(0.2, reads), (0.8, &mixed)])
        });
    }
}
