//! Measured runs, and runs grouped by point.

use crate::mix::{Mix, Shares};

/// One run of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The name of the system, if given.
    pub system: Option<String>,
    /// The requested mix.
    pub mix: Mix,
    /// What the shares of the mix refer to.
    pub shares: Shares,
    /// Operations per second, reads and writes together; above zero.
    pub iops: f64,
    /// The source file.
    pub file: String,
    /// The place in the file.
    pub place: String,
}

/// The runs of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The requested mix.
    pub mix: Mix,
    /// What the shares of the mix refer to.
    pub shares: Shares,
    /// Operations per second of each run, in the order given.
    pub iops: Vec<f64>,
}

impl Group {
    /// The mean over the runs.
    #[must_use]
    pub fn mean(&self) -> f64 {
        mean(&self.iops)
    }
}

/// The mean of some numbers.
pub(crate) fn mean(values: &[f64]) -> f64 {
    towtank_metrics::mean_interval_95(values).map_or(f64::NAN, |found| found.mean)
}

/// Groups runs by point, in the order in which the points first occur.
#[must_use]
pub fn groups(runs: &[Run]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        let shares = if run.mix.parts().len() == 1 { Shares::default() } else { run.shares };
        match groups.iter_mut().find(|group| group.shares == shares && group.mix.is(&run.mix)) {
            Some(group) => group.iops.push(run.iops),
            None => groups.push(Group { mix: run.mix.clone(), shares, iops: vec![run.iops] }),
        }
    }
    groups
}
