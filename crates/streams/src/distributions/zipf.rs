//! The Zipf distribution: rank k has probability proportional to k^−exponent.
//!
//! Sampled by rejection-inversion (W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates
//! from monotone discrete distributions", ACM TOMACS 6(3), 1996): the area under the continuous hat
//! x^−exponent is inverted, and a sample is accepted if it falls under the step of its rank. No table is
//! needed, so the cost does not depend on the number of ranks.

use super::{DistributionError, finite};
use crate::Uniform;

/// Ranks are computed as floats, which represent every integer up to this one.
pub(super) const RANKS_MAX: u64 = 1 << 53;

/// Ranks from 1 to `ranks`; rank k has probability proportional to k^−exponent. Consumes one word, and
/// another for each rejection: below 1.3 on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    ranks: u64,
    exponent: f64,
    /// The area under the hat up to half a step past the last rank.
    area_end: f64,
    /// The area under the hat before the first step, chosen so that the first step has exactly its own area.
    area_start: f64,
    /// A sample at most this far below its rank is accepted without the full comparison.
    surely_within: f64,
}

impl Zipf {
    /// A distribution over `ranks` ranks. Exponent 0 makes them equally likely; YCSB uses 0.99.
    ///
    /// # Errors
    /// If `ranks` is zero or above 2^53, or the exponent is not finite or is negative.
    pub fn new(ranks: u64, exponent: f64) -> Result<Self, DistributionError> {
        if !(1..=RANKS_MAX).contains(&ranks) {
            return Err(DistributionError::Ranks { ranks });
        }
        let exponent = finite("exponent", exponent)?;
        if exponent < 0.0 {
            return Err(DistributionError::Negative { parameter: "exponent", value: exponent });
        }
        let hat = Hat { exponent };
        Ok(Self {
            ranks,
            exponent,
            area_end: hat.area(ranks as f64 + 0.5),
            area_start: hat.area(1.5) - 1.0,
            surely_within: 2.0 - hat.inverse(hat.area(2.5) - hat.height(2.0)),
        })
    }

    /// One rank, counted from 1.
    pub fn sample(&self, source: &mut impl Uniform) -> u64 {
        let hat = Hat { exponent: self.exponent };
        loop {
            let area = self.area_end + source.unit_f64() * (self.area_start - self.area_end);
            let x = hat.inverse(area);
            let rank = (x + 0.5).floor().clamp(1.0, self.ranks as f64);
            if rank - x <= self.surely_within || area >= hat.area(rank + 0.5) - hat.height(rank) {
                return rank as u64;
            }
        }
    }

    /// The probability of `rank`; zero outside the ranks.
    #[must_use]
    pub fn chance(&self, rank: u64) -> f64 {
        if !(1..=self.ranks).contains(&rank) {
            return 0.0;
        }
        libm::pow(rank as f64, -self.exponent) / harmonic(self.ranks, self.exponent)
    }

    /// The mean rank.
    #[must_use]
    pub fn mean(&self) -> f64 {
        harmonic(self.ranks, self.exponent - 1.0) / harmonic(self.ranks, self.exponent)
    }
}

/// The continuous function x^−exponent, and the area under it from 1.
struct Hat {
    exponent: f64,
}

impl Hat {
    fn height(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// (x^(1−e) − 1)/(1−e), with the limit ln x as e approaches 1.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        log * expm1_over((1.0 - self.exponent) * log)
    }

    fn inverse(&self, area: f64) -> f64 {
        // Rounding can make the argument of the logarithm slightly negative.
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        libm::exp(area * log1p_over(scaled))
    }
}

/// (e^x − 1)/x, with its limit at zero.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x)/x, with its limit at zero.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x / 2.0 }
}

/// The sum of k^−exponent for k from 1 to `count`: the first thousand terms directly, the rest by the
/// Euler–Maclaurin formula, whose error is then below the last digit.
fn harmonic(count: u64, exponent: f64) -> f64 {
    const TERMS: u64 = 1_000;
    let term = |k: f64| libm::pow(k, -exponent);
    let direct: f64 = (1..=count.min(TERMS)).rev().map(|k| term(k as f64)).sum();
    if count <= TERMS {
        return direct;
    }
    let (from, to) = (TERMS as f64, count as f64);
    let hat = Hat { exponent };
    let slope = |k: f64| -exponent * libm::pow(k, -exponent - 1.0);
    let third = |k: f64| -exponent * (exponent + 1.0) * (exponent + 2.0) * libm::pow(k, -exponent - 3.0);
    direct
        + (hat.area(to) - hat.area(from))
        + (term(to) - term(from)) / 2.0
        + (slope(to) - slope(from)) / 12.0
        - (third(to) - third(from)) / 720.0
}
