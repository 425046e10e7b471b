//! Measured runs, and runs of one point together.

use crate::mix::{Mix, Shares};

/// One run of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The system, where it is named.
    pub system: Option<String>,
    /// What was asked of it.
    pub mix: Mix,
    /// What the shares of the mix are of.
    pub shares: Shares,
    /// Operations per second, reads and writes together; above zero.
    pub iops: f64,
    /// The file that it comes from.
    pub file: String,
    /// Where in the file.
    pub place: String,
}

/// Runs of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What was asked.
    pub mix: Mix,
    /// What the shares of the mix are of.
    pub shares: Shares,
    /// Operations per second, run by run, in the order they were given.
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

/// Runs of one point put together, in the order in which the points first come.
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
