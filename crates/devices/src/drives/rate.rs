//! A drive that is a rate: an overhead for each request and size over rate, each way, with or without noise.
//!
//! The mean of noise is the time without it, whichever kind. Uniform noise is exact to a billionth of the
//! time; log-normal noise comes from `libm`, which is the same on all machines, and is rounded down.

use towtank_streams::Uniform;
use towtank_streams::distributions::LogNormal;
use towtank_units::{Bytes, Percent, Rate, SimSpan};

use super::{DriveError, Io};

/// How service times scatter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Not at all. Draws nothing.
    #[default]
    None,
    /// By at most this share, up or down, all equally likely. Draws one word.
    Uniform(Percent),
    /// Log-normally, with this standard deviation over the mean. Draws two words.
    LogNormal(Percent),
}

/// What such a drive can do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct RateSpec {
    /// Bytes read in a second.
    pub read: Rate,
    /// Bytes written in a second.
    pub write: Rate,
    /// What each read costs beside.
    pub read_overhead: SimSpan,
    /// What each write costs beside.
    pub write_overhead: SimSpan,
    /// How all of it scatters.
    pub noise: Noise,
}

impl RateSpec {
    pub(super) fn check(&self) -> Result<(), DriveError> {
        match self.noise {
            Noise::Uniform(share) if share > Percent::FULL => {
                Err(DriveError::new("noise", share, "at most 100%: no request takes less than nothing"))
            }
            _ => Ok(()),
        }
    }

    /// How long a request takes without noise.
    #[must_use]
    pub fn mean_span(&self, io: Io) -> SimSpan {
        let (rate, overhead) =
            if io.write { (self.write, self.write_overhead) } else { (self.read, self.read_overhead) };
        rate.span_for(Bytes::new(io.bytes)).saturating_add(overhead)
    }

    /// How long a request takes.
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
                // Only a mean of nothing has no such distribution.
                LogNormal::with_mean(mean.as_ns() as f64, variation.fraction_f64())
                    .map_or(mean, |spread| spread.sample_span(source))
            }
        }
    }
}
