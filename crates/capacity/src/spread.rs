//! The scatter of runs of one point, estimated from all points that were run more than once.
//!
//! Two runs alone give Student's t with one degree of freedom, 12.7: an interval from nothing to twice the
//! mean. Runs of different points scatter by about the same *factor*, so the deviations of the logarithms are
//! pooled over all points; a mean of n runs then has the factor `exp(± t·s/√n)`, with t for all degrees of
//! freedom together. That the factor is the same everywhere is an assumption; a point that was run once gets
//! its interval from it.

use serde::{Deserialize, Serialize};

use crate::run::Group;

/// The scatter of single runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Standard deviation of the logarithm of a run: 0.1 is about 10 %.
    pub deviation: f64,
    /// Degrees of freedom: runs beyond the first of each point.
    pub degrees: u64,
}

impl Spread {
    /// The pooled spread; `None` if no point was run twice.
    #[must_use]
    pub(crate) fn pooled<'a>(groups: impl IntoIterator<Item = &'a Group>) -> Option<Self> {
        let (mut squares, mut degrees) = (0.0, 0_u64);
        for group in groups {
            let logs: Vec<f64> = group.iops.iter().map(|iops| libm::log(*iops)).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            squares += logs.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>();
            degrees += logs.len() as u64 - 1;
        }
        (degrees > 0).then(|| Self { deviation: libm::sqrt(squares / degrees as f64), degrees })
    }

    /// Half the width of the 95 % interval of the logarithm of a mean over this many runs.
    #[must_use]
    pub(crate) fn half_width(self, runs: usize) -> f64 {
        towtank_metrics::student_t_975(self.degrees) * self.deviation / libm::sqrt(runs.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::{Mix, Shares};

    fn group(iops: &[f64]) -> Group {
        Group { mix: Mix::alone(4096, 1.0), shares: Shares::Operations, iops: iops.to_vec() }
    }

    #[test]
    fn points_are_pooled() {
        assert_eq!(Spread::pooled(&[group(&[10.0]), group(&[20.0])]), None);
        // Each pair lies ±ln(1.1) around its middle: s² = (2·ln²1.1 + 2·ln²1.1) / 2.
        let pairs = [group(&[100.0 / 1.1, 110.0]), group(&[1.0 / 1.1, 1.1]), group(&[7.0])];
        let spread = Spread::pooled(&pairs).unwrap();
        assert_eq!(spread.degrees, 2);
        let step = libm::log(1.1);
        assert!((spread.deviation - libm::sqrt(2.0) * step).abs() < 1e-12, "{spread:?}");
        // Student's t for two degrees of freedom is 4.3027.
        assert!((spread.half_width(1) - 4.3027 * spread.deviation).abs() < 1e-4);
        assert!((spread.half_width(4) * 2.0 - spread.half_width(1)).abs() < 1e-12);
    }
}
