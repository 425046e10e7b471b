//! The plan of a campaign: points, replicates, and the keys under which results are stored.
//!
//! The plan is a pure function of the scenario, the contents of its input files, the seed and the results
//! version. It does not contain threads, shards or directories, so none of them can affect a result.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use towtank_report::SweepAxis;

use crate::fingerprint::Fingerprint;

/// The maximum number of (point, replicate) pairs of one campaign: a choice. Ten million files and their
/// outcomes are already more than a directory and a machine's memory hold comfortably.
pub const TASKS_MAX: u64 = 10_000_000;

/// Everything that a campaign will run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
pub struct Plan {
    header: Header,
    replicates: u32,
    axes: Vec<SweepAxis>,
    points: Vec<PointSpec>,
}

/// A plan as read from a file, before it is checked.
#[derive(Deserialize)]
struct Fields {
    header: Header,
    replicates: u32,
    axes: Vec<SweepAxis>,
    points: Vec<PointSpec>,
}

impl TryFrom<Fields> for Plan {
    type Error = PlanError;

    fn try_from(fields: Fields) -> Result<Self, PlanError> {
        let Fields { header, replicates, axes, points } = fields;
        Self::new(header, replicates, axes, points)
    }
}

/// What all points share, and what the report says about them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The study's name, as in `study = "…"`.
    pub study: String,
    /// The report's title.
    pub title: String,
    /// The study's results version.
    pub results_version: u32,
    /// The scenario's seed. Replicate r of every point draws from (seed, r), so that points can be paired.
    pub seed: u64,
    /// The resolved scenario with its sweep.
    pub scenario: Value,
    /// Its hash.
    pub scenario_hash: String,
}

/// One point: a scenario with every swept key set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointSpec {
    /// The swept keys with this point's values, in the order of the axes. Empty without a sweep.
    pub settings: Vec<(String, Value)>,
    /// The point's resolved scenario.
    pub scenario: Value,
    /// Identifies everything that the point's results depend on.
    pub key: PointKey,
}

impl PointSpec {
    /// The settings in words: `cluster.servers = 16, cluster.rate = 1GiB/s`. Empty without a sweep.
    #[must_use]
    pub fn label(&self) -> String {
        let words = self.settings.iter().map(|(key, value)| format!("{key} = {}", plain(value)));
        words.collect::<Vec<_>>().join(", ")
    }
}

impl PointSpec {
    /// The settings in short form for a legend: `servers=16, rate=1GiB/s`. Keys are written in full if their
    /// last parts are not distinct.
    #[must_use]
    pub(crate) fn short_label(&self) -> String {
        let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
        let mut lasts: Vec<String> = self.settings.iter().map(|(key, _)| last(key)).collect();
        lasts.sort();
        lasts.dedup();
        let short = lasts.len() == self.settings.len();
        let word = |(key, value): &(String, Value)| {
            let key = if short { last(key) } else { key.clone() };
            format!("{key}={}", plain(value))
        };
        self.settings.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

/// A value without the quotes that JSON puts around text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Identifies everything that the results of one point depend on. Equal keys mean equal results.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PointKey(String);

/// The inputs of a [`PointKey`].
#[derive(Clone, Copy, Debug)]
pub struct KeyParts<'a> {
    /// The study's name.
    pub study: &'a str,
    /// The hash of the point's resolved scenario. It should not include the number of replicates, so that
    /// raising that number keeps the finished replicates.
    pub scenario_hash: &'a str,
    /// The hashes of the contents of the input files, in the order in which the scenario names them.
    pub input_hashes: &'a [String],
    /// The scenario's seed.
    pub seed: u64,
    /// The study's results version.
    pub results_version: u32,
}

impl PointKey {
    /// The key of a point.
    #[must_use]
    pub fn new(parts: &KeyParts<'_>) -> Self {
        let mut print = Fingerprint::of("towtank point 1").part(parts.study).part(parts.scenario_hash);
        print = print.number(parts.input_hashes.len() as u64);
        for hash in parts.input_hashes {
            print = print.part(hash);
        }
        Self(print.number(parts.seed).number(u64::from(parts.results_version)).hex())
    }

    /// 32 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PointKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Identifies everything that the results of a whole campaign depend on, except the number of replicates:
/// further replicates add to the existing ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CampaignKey(String);

impl fmt::Display for CampaignKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One replicate of one point: the unit of work of a thread, and the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Index of the point in the plan, from 0.
    pub point: usize,
    /// Number of the replicate, from 0.
    pub replicate: u32,
}

/// Why a plan is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The sweep has no points.
    #[error("the sweep has no points: give every swept key at least one value")]
    NoPoints,
    /// Zero replicates.
    #[error("`replicates` is 0, but a mean needs at least 1: set `replicates` to 1 or more")]
    NoReplicates,
    /// More runs than the limit.
    #[error(
        "{points} points of {replicates} replicates are {} runs, and the limit is {TASKS_MAX}: sweep over fewer values or \
         split the scenario", *points as u64 * u64::from(*replicates)
    )]
    TooMany {
        /// Number of points of the sweep.
        points: usize,
        /// Replicates per point.
        replicates: u32,
    },
    /// Two points are equal.
    #[error(
        "points {} ({first_label}) and {} ({second_label}) of the sweep are the same scenario: remove one of the values",
        first + 1, second + 1
    )]
    SamePoint {
        /// Index of the earlier one, from 0.
        first: usize,
        /// Its settings.
        first_label: String,
        /// Index of the later one, from 0.
        second: usize,
        /// Its settings.
        second_label: String,
    },
}

impl Plan {
    /// A plan of `replicates` runs of each point. `axes` describe the sweep; empty without a sweep.
    ///
    /// # Errors
    /// If there are no runs, too many, or the same point twice.
    pub fn new(
        header: Header,
        replicates: u32,
        axes: Vec<SweepAxis>,
        points: Vec<PointSpec>,
    ) -> Result<Self, PlanError> {
        if points.is_empty() {
            return Err(PlanError::NoPoints);
        }
        if replicates == 0 {
            return Err(PlanError::NoReplicates);
        }
        if (points.len() as u64).saturating_mul(u64::from(replicates)) > TASKS_MAX {
            return Err(PlanError::TooMany { points: points.len(), replicates });
        }
        let mut seen = BTreeMap::new();
        for (second, point) in points.iter().enumerate() {
            if let Some(first) = seen.insert(&point.key, second) {
                let label = |index: usize| points[index].label();
                return Err(PlanError::SamePoint {
                    first,
                    first_label: label(first),
                    second,
                    second_label: label(second),
                });
            }
        }
        Ok(Self { header, replicates, axes, points })
    }

    /// What all points share.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The swept keys.
    #[must_use]
    pub fn axes(&self) -> &[SweepAxis] {
        &self.axes
    }

    /// The points, in sweep order.
    #[must_use]
    pub fn points(&self) -> &[PointSpec] {
        &self.points
    }

    /// Replicates of each point.
    #[must_use]
    pub fn replicates(&self) -> u32 {
        self.replicates
    }

    /// The key of the whole campaign.
    #[must_use]
    pub fn key(&self) -> CampaignKey {
        let header = &self.header;
        let mut print = Fingerprint::of("towtank campaign 1").part(&header.study).number(header.seed);
        print = print.number(u64::from(header.results_version));
        for point in &self.points {
            print = print.part(point.key.as_str());
        }
        CampaignKey(print.hex())
    }

    /// Every (point, replicate) pair, all replicates of the first point first. A task's position in this
    /// order is its index.
    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        let replicates = self.replicates;
        (0..self.points.len())
            .flat_map(move |point| (0..replicates).map(move |replicate| Task { point, replicate }))
    }

    /// Number of tasks.
    #[must_use]
    pub fn task_count(&self) -> usize {
        self.points.len() * self.replicates as usize
    }

    /// A task in words: `replicate 7 of point 3 (cluster.servers = 16)`. Points count from 1, and replicates
    /// from 0, as their random streams do.
    #[must_use]
    pub fn describe(&self, task: Task) -> String {
        let label = self.points[task.point].label();
        if label.is_empty() {
            return format!("replicate {}", task.replicate);
        }
        format!("replicate {} of point {} ({label})", task.replicate, task.point + 1)
    }

    /// Where a task is, for a reader of the answer: `in replicate 7 at servers = 16`, or `at servers = 16`
    /// where each point has one run.
    #[must_use]
    pub(crate) fn place(&self, task: Task) -> String {
        let label = self.points[task.point].label();
        match (label.is_empty(), self.replicates) {
            (true, _) => format!("in replicate {}", task.replicate),
            (false, 1) => format!("at {label}"),
            (false, _) => format!("in replicate {} at {label}", task.replicate),
        }
    }

    /// The word for the runs of all points: where each point has one run, they are the points.
    #[must_use]
    pub(crate) fn word_for_runs(&self) -> &'static str {
        if self.replicates == 1 && self.points.len() > 1 { "points" } else { "runs" }
    }
}

#[cfg(test)]
mod tests;
