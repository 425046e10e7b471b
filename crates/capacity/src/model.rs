//! The model of a system.

use crate::curvature::{Bent, Curvature, evenness};
use crate::elastic::{Elastic, Ranged};
use crate::mix::{Mix, Shares};
use crate::run::mean;
use crate::spread::Spread;

/// The model of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name, if the measurements give one.
    pub system: Option<String>,
    /// The scatter of runs of one point; none if no point was run twice.
    pub spread: Option<Spread>,
    /// Sizes, the smallest first; never empty.
    pub sizes: Vec<SizeModel>,
    /// Measured mixes of sizes.
    pub mixtures: Vec<Mixture>,
    /// How much more mixes of sizes cost than their parts, from mixtures with shares of operations.
    pub curvature: Option<Curvature>,
}

/// The model of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeModel {
    /// Bytes per operation.
    pub size_bytes: u64,
    /// Pure reads: T100r, which is C.
    pub reads: Measured,
    /// Pure writes: T100w.
    pub writes: Measured,
    /// Measured mixes of reads and writes, fewest reads first.
    pub mixes: Vec<MeasuredMix>,
    /// How much more mixes cost than on the straight line.
    pub curvature: Option<Curvature>,
}

/// A rate and the runs of which it is the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Operations per second, with the interval from the spread of all runs.
    pub iops: Ranged,
    /// One rate per run.
    pub runs: Vec<f64>,
}

/// A measured mix of reads and writes of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredMix {
    /// The read share, above 0 and below 1.
    pub reads: f64,
    /// The measured rate.
    pub iops: Measured,
}

/// A measured mix of several sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// The mix.
    pub mix: Mix,
    /// What its shares refer to.
    pub shares: Shares,
    /// The measured rate.
    pub iops: Measured,
}

impl Measured {
    pub(crate) fn new(runs: Vec<f64>, spread: Option<Spread>) -> Self {
        let half = spread.map(|spread| spread.half_width(runs.len()));
        Self { iops: Ranged::around(mean(&runs), half), runs }
    }
}

impl SizeModel {
    /// The cost of a write in reads (4); may be below 1.
    #[must_use]
    pub fn f_rw(&self) -> f64 {
        self.reads.iops.value / self.writes.iops.value
    }

    /// The total at a read share (6), on the straight line.
    #[must_use]
    pub fn straight(&self, reads: f64) -> f64 {
        1.0 / (reads / self.reads.iops.value + (1.0 - reads) / self.writes.iops.value)
    }

    /// C computed from a measured total (3): the rate of reads alone.
    #[must_use]
    pub fn capacity(&self, reads: f64, total: f64) -> f64 {
        total * (reads + (1.0 - reads) * self.f_rw())
    }

    pub(crate) fn bent(&self) -> Vec<Bent> {
        let bent = |mix: &MeasuredMix| Bent {
            x: evenness(mix.reads),
            straight: self.straight(mix.reads),
            measured: mix.iops.iops.value,
        };
        self.mixes.iter().map(bent).collect()
    }

    /// The size with a unit.
    #[must_use]
    pub fn size(&self) -> String {
        towtank_units::Bytes::new(self.size_bytes).to_string()
    }

    /// Errors (8) of the straight line at the measured mixes, in percent.
    #[must_use]
    pub(crate) fn errors_percent(&self) -> Vec<f64> {
        self.bent().iter().map(|mix| 100.0 * (mix.straight - mix.measured).abs() / mix.measured).collect()
    }
}

impl Model {
    /// Half widths of the logarithms of all pure rates: reads and writes of each size in turn.
    #[must_use]
    pub(crate) fn half_widths(&self) -> Option<Vec<f64>> {
        let spread = self.spread?;
        let half = |measured: &Measured| spread.half_width(measured.runs.len());
        Some(self.sizes.iter().flat_map(|size| [half(&size.reads), half(&size.writes)]).collect())
    }

    pub(crate) fn pure(&self, at: usize) -> (Elastic, Elastic) {
        let (count, size) = (2 * self.sizes.len(), &self.sizes[at]);
        (
            Elastic::measured(size.reads.iops.value, 2 * at, count),
            Elastic::measured(size.writes.iops.value, 2 * at + 1, count),
        )
    }

    /// The errors of interpolating each inner size from its neighbours: for pure reads and pure writes, in
    /// percent.
    #[must_use]
    pub(crate) fn interpolation_errors(&self) -> Vec<(&SizeModel, f64, f64)> {
        let error = |three: &[SizeModel], rate: &dyn Fn(&SizeModel) -> f64| {
            let log = |at: usize| libm::log(three[at].size_bytes as f64);
            let at = (log(1) - log(0)) / (log(2) - log(0));
            let guess = libm::exp((1.0 - at) * libm::log(rate(&three[0])) + at * libm::log(rate(&three[2])));
            100.0 * (guess - rate(&three[1])).abs() / rate(&three[1])
        };
        let of = |three| {
            (error(three, &|size| size.reads.iops.value), error(three, &|size| size.writes.iops.value))
        };
        self.sizes.windows(3).map(|three| (&three[1], of(three).0, of(three).1)).collect()
    }

    /// `f_rw` of a size with its interval.
    #[must_use]
    pub fn f_rw(&self, size: &SizeModel) -> Ranged {
        let half =
            |measured: &Measured| self.spread.map_or(0.0, |spread| spread.half_width(measured.runs.len()));
        let both = libm::hypot(half(&size.reads), half(&size.writes));
        Ranged::around(size.f_rw(), self.spread.map(|_| both))
    }
}
