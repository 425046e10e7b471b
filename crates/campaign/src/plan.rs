//! What a campaign will do, before it does anything: points, replicates, and the keys under which results are
//! kept.
//!
//! The plan is a pure function of the scenario, the contents of its input files, the seed and the results
//! version. It knows nothing of threads, shards or directories, so none of them can show in a result.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use towtank_report::SweepAxis;

use crate::fingerprint::Fingerprint;

/// The most (point, replicate) pairs of one campaign: a choice. Ten million files and their outcomes are
/// already more than a directory and a machine's memory hold with comfort.
pub const TASKS_MAX: u64 = 10_000_000;

/// Everything a campaign will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
pub struct Plan {
    header: Header,
    replicates: u32,
    axes: Vec<SweepAxis>,
    points: Vec<PointSpec>,
}

/// A plan as it lies in a file, before anybody looked at it.
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
    /// The scenario's seed. Replicate r of every point draws from (seed, r), so that points pair up.
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
    /// Names everything that the point's results depend on.
    pub key: PointKey,
}

impl PointSpec {
    /// The settings as people read them: `cluster.servers = 16, cluster.rate = 1GiB/s`. Empty without a
    /// sweep.
    #[must_use]
    pub fn label(&self) -> String {
        let words = self.settings.iter().map(|(key, value)| format!("{key} = {}", plain(value)));
        words.collect::<Vec<_>>().join(", ")
    }
}

impl PointSpec {
    /// The settings as a legend has room for them: `servers=16, rate=1GiB/s`. Keys are written out where
    /// their last words alone would be the same.
    #[must_use]
    pub fn short_label(&self) -> String {
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

/// Names everything that the results of one point depend on. Equal keys, equal results.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PointKey(String);

/// What goes into a [`PointKey`].
#[derive(Clone, Copy, Debug)]
pub struct KeyParts<'a> {
    /// The study's name.
    pub study: &'a str,
    /// The hash of the point's resolved scenario. The number of replicates should not be in it: raising it
    /// then keeps the replicates that are done.
    pub scenario_hash: &'a str,
    /// The hashes of the contents of the input files, in the order the scenario names them.
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

/// Names everything that the results of a whole campaign depend on, but for the number of replicates: more of
/// them add to what is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CampaignKey(String);

impl fmt::Display for CampaignKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One replicate of one point: what a worker takes, and what a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// The point's place in the plan, from 0.
    pub point: usize,
    /// From 0.
    pub replicate: u32,
}

/// Why there is no such plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A sweep over nothing.
    #[error("the sweep has no points: give every swept key at least one value")]
    NoPoints,
    /// Zero replicates.
    #[error("`replicates` is 0, but a mean needs at least 1: set `replicates` to 1 or more")]
    NoReplicates,
    /// More than anybody can keep.
    #[error(
        "{points} points of {replicates} replicates are {} runs, and the limit is {TASKS_MAX}: sweep over fewer values or \
         split the scenario", *points as u64 * u64::from(*replicates)
    )]
    TooMany {
        /// Points of the sweep.
        points: usize,
        /// Replicates of each.
        replicates: u32,
    },
    /// Two points are one.
    #[error(
        "points {} ({first_label}) and {} ({second_label}) of the sweep are the same scenario: take one of the values out",
        first + 1, second + 1
    )]
    SamePoint {
        /// The earlier one, from 0.
        first: usize,
        /// Its settings.
        first_label: String,
        /// The later one, from 0.
        second: usize,
        /// Its settings.
        second_label: String,
    },
}

impl Plan {
    /// A plan of `replicates` runs of each of the points. `axes` tell where the points came from; empty
    /// without a sweep.
    ///
    /// # Errors
    /// When there is nothing to run, too much, or the same point twice.
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

    /// Runs of each point.
    #[must_use]
    pub fn replicates(&self) -> u32 {
        self.replicates
    }

    /// The name of the whole.
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

    /// Every (point, replicate), all replicates of the first point first. A task's place in this order is its
    /// index.
    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        let replicates = self.replicates;
        (0..self.points.len())
            .flat_map(move |point| (0..replicates).map(move |replicate| Task { point, replicate }))
    }

    /// How many tasks there are.
    #[must_use]
    pub fn task_count(&self) -> usize {
        self.points.len() * self.replicates as usize
    }

    /// A task in words: `replicate 7 of point 3 (cluster.servers = 16)`; points count from 1 there, as people
    /// do, and replicates from 0, as their random streams do.
    #[must_use]
    pub fn describe(&self, task: Task) -> String {
        let label = self.points[task.point].label();
        if label.is_empty() {
            return format!("replicate {}", task.replicate);
        }
        format!("replicate {} of point {} ({label})", task.replicate, task.point + 1)
    }
}

#[cfg(test)]
mod tests;
