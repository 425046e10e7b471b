//! Heavy-tailed distributions: log-normal, Pareto and bounded Pareto.

use super::{DistributionError, finite, ordered, positive};
use crate::Uniform;
use towtank_units::SimSpan;

/// The exponential of a normal variable. Consumes two words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    log_median: f64,
    log_deviation: f64,
}

impl LogNormal {
    /// From the mean and the standard deviation of the logarithm (μ and σ).
    ///
    /// # Errors
    /// If either is not finite, or the deviation is negative.
    pub fn new(log_mean: f64, log_deviation: f64) -> Result<Self, DistributionError> {
        let log_median = finite("log_mean", log_mean)?;
        let log_deviation = finite("log_deviation", log_deviation)?;
        if log_deviation < 0.0 {
            return Err(DistributionError::Negative { parameter: "log_deviation", value: log_deviation });
        }
        Ok(Self { log_median, log_deviation })
    }

    /// From the mean and the coefficient of variation (standard deviation over mean) of the samples
    /// themselves.
    ///
    /// # Errors
    /// If the mean is not a finite number above zero, or the variation is not a finite number of zero or
    /// more.
    pub fn with_mean(mean: f64, variation: f64) -> Result<Self, DistributionError> {
        let mean = positive("mean", mean)?;
        let variation = finite("variation", variation)?;
        if variation < 0.0 {
            return Err(DistributionError::Negative { parameter: "variation", value: variation });
        }
        let log_variance = libm::log1p(variation * variation);
        Self::new(libm::log(mean) - log_variance / 2.0, libm::sqrt(log_variance))
    }

    /// One sample, at most `f64::MAX`.
    #[inline]
    pub fn sample(&self, source: &mut impl Uniform) -> f64 {
        libm::exp(self.log_median + self.log_deviation * standard_normal(source)).min(f64::MAX)
    }

    /// One sample as nanoseconds, rounded down.
    #[inline]
    pub fn sample_span(&self, source: &mut impl Uniform) -> SimSpan {
        SimSpan::from_ns_f64_floor(self.sample(source))
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        libm::exp(self.log_median + self.log_deviation * self.log_deviation / 2.0)
    }

    /// The median.
    #[must_use]
    pub fn median(&self) -> f64 {
        libm::exp(self.log_median)
    }
}

/// A standard normal variate by Box and Muller (1958). The second of the pair is discarded: keeping it would
/// be state that outlives the event.
fn standard_normal(source: &mut impl Uniform) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(source.open_unit_f64()));
    radius * libm::cos(2.0 * std::f64::consts::PI * source.unit_f64())
}

/// The Pareto distribution: P(X > x) = (minimum / x)^shape. Consumes one word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    minimum: f64,
    shape: f64,
}

impl Pareto {
    /// From the smallest value and the shape; a smaller shape gives a heavier tail.
    ///
    /// # Errors
    /// If either is not a finite number above zero.
    pub fn new(minimum: f64, shape: f64) -> Result<Self, DistributionError> {
        Ok(Self { minimum: positive("minimum", minimum)?, shape: positive("shape", shape)? })
    }

    /// One sample, at most `f64::MAX`.
    #[inline]
    pub fn sample(&self, source: &mut impl Uniform) -> f64 {
        (self.minimum * libm::pow(source.open_unit_f64(), -1.0 / self.shape)).min(f64::MAX)
    }

    /// One sample as nanoseconds, rounded down.
    #[inline]
    pub fn sample_span(&self, source: &mut impl Uniform) -> SimSpan {
        SimSpan::from_ns_f64_floor(self.sample(source))
    }

    /// The mean, or `None` if it is infinite (shape of 1 or less).
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.shape > 1.0).then(|| self.shape * self.minimum / (self.shape - 1.0))
    }
}

/// A Pareto distribution truncated at `maximum`, as if larger samples were drawn again. Consumes one word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedPareto {
    minimum: f64,
    maximum: f64,
    shape: f64,
    /// The probability that the untruncated distribution gives at most `maximum`.
    share: f64,
}

impl BoundedPareto {
    /// From the smallest and the largest value, and the shape.
    ///
    /// # Errors
    /// If one of them is not a finite number above zero, or the largest is below the smallest.
    pub fn new(minimum: f64, maximum: f64, shape: f64) -> Result<Self, DistributionError> {
        let (minimum, maximum) = ordered(positive("minimum", minimum)?, positive("maximum", maximum)?)?;
        let shape = positive("shape", shape)?;
        // 1 − (minimum/maximum)^shape, without cancellation where the two are close.
        let share = -libm::expm1(shape * libm::log(minimum / maximum));
        Ok(Self { minimum, maximum, shape, share })
    }

    /// One sample.
    #[inline]
    pub fn sample(&self, source: &mut impl Uniform) -> f64 {
        let log_tail = libm::log1p(-self.share * source.unit_f64());
        (self.minimum * libm::exp(-log_tail / self.shape)).clamp(self.minimum, self.maximum)
    }

    /// One sample as nanoseconds, rounded down.
    #[inline]
    pub fn sample_span(&self, source: &mut impl Uniform) -> SimSpan {
        SimSpan::from_ns_f64_floor(self.sample(source))
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let log_ratio = libm::log(self.maximum / self.minimum);
        if self.share == 0.0 || log_ratio == 0.0 {
            return self.minimum;
        }
        // ∫ x dF = a·m/share · ∫₁^r y^(−a) dy, written so that a shape at or near 1 causes no division by
        // zero.
        let exponent = (1.0 - self.shape) * log_ratio;
        let integral = log_ratio * if exponent == 0.0 { 1.0 } else { libm::expm1(exponent) / exponent };
        self.shape * self.minimum / self.share * integral
    }
}
