//! Distributions over any [`Uniform`] source.
//!
//! The table gives the number of 64-bit words that one sample consumes. Logarithms, powers and cosines come
//! from `libm`, whose results do not depend on the machine or its C library, so a sample has the same bits on
//! every machine.
//!
//! | distribution | words a sample | method |
//! | --- | --- | --- |
//! | [`Exponential`] | 1 | inversion |
//! | [`LogNormal`] | 2 | Box and Muller 1958, one of the pair |
//! | [`Pareto`], [`BoundedPareto`] | 1 | inversion |
//! | [`Empirical`] | 2, rarely another | cumulative table, then inversion inside the bin |
//! | [`Zipf`] | 1, now and then another | Hörmann and Derflinger 1996 |
//!
//! Distributions of real numbers have no unit. Where the unit is the nanosecond, `sample_span` returns the
//! sample as simulated time, rounded down.
//!
//! ```
//! # use towtank_streams as streams;
//! use towtank_streams::distributions::Exponential;
//! use towtank_streams::{Draws, Purpose, Seed};
//! use towtank_units::SimSpan;
//!
//! const SERVICE: Purpose = Purpose(1);
//! let service = Exponential::with_mean_span(SimSpan::from_ms(5))?;
//! let mut draws = Draws::new(Seed(7), 3, 0);
//! let span = service.sample_span(&mut draws.of(SERVICE));
//! assert!(span > SimSpan::ZERO);
//! # Ok::<(), towtank_streams::distributions::DistributionError>(())
//! ```

mod empirical;
mod heavy_tail;
mod zipf;

pub use empirical::{Empirical, Spread, WeightedBin};
pub use heavy_tail::{BoundedPareto, LogNormal, Pareto};
pub use zipf::Zipf;

use crate::Uniform;
use towtank_units::SimSpan;

/// Why the parameters do not define a distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DistributionError {
    /// A parameter is infinite or not a number.
    #[error("`{parameter}` is {value}, and must be a finite number")]
    NotFinite {
        /// The name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: f64,
    },
    /// A parameter is zero or negative.
    #[error("`{parameter}` is {value}, and must be above zero")]
    NotPositive {
        /// The name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: f64,
    },
    /// A parameter is negative.
    #[error("`{parameter}` is {value}, and must be zero or more")]
    Negative {
        /// The name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: f64,
    },
    /// The upper end of a range is below its lower end.
    #[error("the range from {low} to {high} ends before it begins")]
    UpsideDown {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// No bin has a weight above zero.
    #[error("all {bins} bins have weight 0, and at least one must have more")]
    NoWeight {
        /// The number of bins.
        bins: usize,
    },
    /// The sum of the weights does not fit in 64 bits.
    #[error("the weights of {bins} bins add up to more than {max}: divide them all by the same number", max = u64::MAX)]
    TooMuchWeight {
        /// The number of bins.
        bins: usize,
    },
    /// The number of ranks is zero or too large to be drawn exactly.
    #[error("`ranks` is {ranks}, and must be from 1 to {max}", max = zipf::RANKS_MAX)]
    Ranks {
        /// The requested number of ranks.
        ranks: u64,
    },
}

/// Returns `value` if it is finite and above zero.
fn positive(parameter: &'static str, value: f64) -> Result<f64, DistributionError> {
    let value = finite(parameter, value)?;
    if value > 0.0 { Ok(value) } else { Err(DistributionError::NotPositive { parameter, value }) }
}

fn finite(parameter: &'static str, value: f64) -> Result<f64, DistributionError> {
    if value.is_finite() { Ok(value) } else { Err(DistributionError::NotFinite { parameter, value }) }
}

fn ordered(low: f64, high: f64) -> Result<(f64, f64), DistributionError> {
    let (low, high) = (finite("low", low)?, finite("high", high)?);
    if low <= high { Ok((low, high)) } else { Err(DistributionError::UpsideDown { low, high }) }
}

/// The exponential distribution: the time until an event with constant rate. Consumes one word; a sample is
/// at most 36.8 times the mean, because the smallest uniform number above zero is 2^-53.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    /// With the given mean, the reciprocal of the rate.
    ///
    /// # Errors
    /// If the mean is not a finite number above zero.
    pub fn with_mean(mean: f64) -> Result<Self, DistributionError> {
        positive("mean", mean).map(|mean| Self { mean })
    }

    /// With a mean in simulated time, for [`Exponential::sample_span`].
    ///
    /// # Errors
    /// If the mean is zero.
    pub fn with_mean_span(mean: SimSpan) -> Result<Self, DistributionError> {
        Self::with_mean(mean.as_ns() as f64)
    }

    /// One sample.
    #[inline]
    pub fn sample(&self, source: &mut impl Uniform) -> f64 {
        self.mean * source.unit_exponential()
    }

    /// One sample as nanoseconds, rounded down.
    #[inline]
    pub fn sample_span(&self, source: &mut impl Uniform) -> SimSpan {
        SimSpan::from_ns_f64_floor(self.sample(source))
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests;
