//! The rate model: an overhead per request plus size over rate, for each direction, with or without noise.
//!
//! Noise of either kind keeps the mean. Uniform noise is exact to a billionth of the time; log-normal noise
//! comes from `libm`, which gives the same result on all machines, and is rounded down.

use towtank_streams::Uniform;
use towtank_streams::distributions::LogNormal;
use towtank_units::{Bytes, Percent, Rate, SimSpan};

use super::{DriveError, Io};

/// The variation of service times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// No variation. Consumes no words.
    #[default]
    None,
    /// Uniform, by at most this share up or down. Consumes one word.
    Uniform(Percent),
    /// Log-normal, with this coefficient of variation. Consumes two words.
    LogNormal(Percent),
}

/// The parameters of a `rate` drive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct RateSpec {
    /// Read rate in bytes per second.
    pub read: Rate,
    /// Write rate in bytes per second.
    pub write: Rate,
    /// The fixed time per read.
    pub read_overhead: SimSpan,
    /// The fixed time per write.
    pub write_overhead: SimSpan,
    /// The variation of the whole service time.
    pub noise: Noise,
}

impl RateSpec {
    pub(super) fn check(&self) -> Result<(), DriveError> {
        match self.noise {
            Noise::Uniform(share) if share > Percent::FULL => {
                Err(DriveError::new("noise", share, "at most 100%: service times cannot be negative"))
            }
            _ => Ok(()),
        }
    }

    /// The service time of a request without noise.
    #[must_use]
    fn mean_span(&self, io: Io) -> SimSpan {
        let (rate, overhead) =
            if io.write { (self.write, self.write_overhead) } else { (self.read, self.read_overhead) };
        rate.span_for(Bytes::new(io.bytes)).saturating_add(overhead)
    }

    /// The service time of a request, with noise.
    pub fn span(&self, io: Io, source: &mut impl Uniform) -> SimSpan {
        let mean = self.mean_span(io);
        match self.noise {
            Noise::None => mean,
            Noise::Uniform(share) => {
                let (one, share) = (Percent::FULL.billionths(), share.billionths());
                let factor = one - share + source.below(2 * share + 1);
                let ns = u128::from(mean.as_ns()) * u128::from(factor) / u128::from(one);
                SimSpan::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
            }
            Noise::LogNormal(variation) => {
                // The only mean without such a distribution is zero.
                LogNormal::with_mean(mean.as_ns() as f64, variation.fraction_f64())
                    .map_or(mean, |spread| spread.sample_span(source))
            }
        }
    }
}
