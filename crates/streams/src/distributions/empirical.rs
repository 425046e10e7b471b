//! Samples that follow a measured histogram.

use super::{DistributionError, finite, ordered};
use crate::Uniform;
use towtank_units::SimSpan;

/// One bin of a measured histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedBin {
    /// The lower end.
    pub low: f64,
    /// The upper end; equal to `low` for a single value.
    pub high: f64,
    /// The number of measured samples in the bin, or any integer proportional to it.
    pub weight: u64,
}

/// How samples are distributed inside a bin, which the histogram does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Uniform.
    Uniform,
    /// Uniform in the logarithm, for bins whose width grows with their value. Bins must begin above zero.
    LogUniform,
}

/// Samples that follow a measured histogram. Consumes two words, rarely another: one for the bin and one for
/// the position in it. The second is consumed even if the bin is a single value, so that the number of words
/// does not depend on the outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Empirical {
    bins: Vec<WeightedBin>,
    /// `cumulative[i]` is the total weight of bins 0 to i.
    cumulative: Vec<u64>,
    spread: Spread,
}

impl Empirical {
    /// From bins in any order. Bins of weight zero are dropped; bins may overlap.
    ///
    /// # Errors
    /// If an end is not finite, an upper end is below its lower end, no bin has weight, the sum of the
    /// weights does not fit in 64 bits, or a log-uniform bin does not begin above zero.
    pub fn new(bins: &[WeightedBin], spread: Spread) -> Result<Self, DistributionError> {
        let mut cumulative: Vec<u64> = Vec::new();
        let mut kept = Vec::new();
        for bin in bins {
            ordered(bin.low, bin.high)?;
            finite("high - low", bin.high - bin.low)?;
            if spread == Spread::LogUniform && bin.low <= 0.0 {
                return Err(DistributionError::NotPositive { parameter: "low", value: bin.low });
            }
            if bin.weight == 0 {
                continue;
            }
            let total = cumulative.last().copied().unwrap_or(0_u64).checked_add(bin.weight);
            cumulative.push(total.ok_or(DistributionError::TooMuchWeight { bins: bins.len() })?);
            kept.push(*bin);
        }
        if kept.is_empty() {
            return Err(DistributionError::NoWeight { bins: bins.len() });
        }
        Ok(Self { bins: kept, cumulative, spread })
    }

    /// One sample.
    pub fn sample(&self, source: &mut impl Uniform) -> f64 {
        let place = source.below(self.total());
        let WeightedBin { low, high, .. } = self.bins[self.cumulative.partition_point(|end| *end <= place)];
        let along = source.unit_f64();
        let value = match self.spread {
            Spread::Uniform => low + (high - low) * along,
            Spread::LogUniform => low * libm::exp(along * libm::log(high / low)),
        };
        value.clamp(low, high)
    }

    /// One sample as nanoseconds, rounded down.
    pub fn sample_span(&self, source: &mut impl Uniform) -> SimSpan {
        SimSpan::from_ns_f64_floor(self.sample(source))
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let total = self.total() as f64;
        self.bins.iter().map(|bin| bin.weight as f64 / total * self.mean_of(bin)).sum()
    }

    fn mean_of(&self, bin: &WeightedBin) -> f64 {
        let width = bin.high - bin.low;
        match self.spread {
            Spread::LogUniform if width > 0.0 => width / libm::log(bin.high / bin.low),
            _ => bin.low + width / 2.0,
        }
    }

    fn total(&self) -> u64 {
        *self.cumulative.last().expect("there is at least one bin")
    }
}
