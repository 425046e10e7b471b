//! Which points are published set-ups, so that a claim of a paper is judged only on the set-up of the paper.
//!
//! A claim about one published set-up says nothing about another: a run with other disks that comes near a
//! paper's number does so by chance. A study therefore calls this module before it judges a claim: a point is
//! published if all of its resolved settings equal those of a point of a built-in scenario that the study
//! names in [`Study::published`]. Title, seed and replicates do not count; they are no part of a point.
//! Claims of theory hold for any set-up and need no such check.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use towtank_report::Reading;
use towtank_scenario::{Document, Source};

use towtank_metrics::{MeanInterval, mean_interval_95};

use towtank_study::Study;

macro_rules! papers {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../scenarios/papers/", $name, ".toml")))),*]
    };
}

/// The published scenarios as they are shipped, by name.
const TEXTS: &[(&str, &str)] = papers![
    "pfs-reads",
    "pfs-shares",
    "pfs-writes",
    "put-1m-80ms",
    "put-6x18",
    "put-900-servers",
    "put-figure8",
    "put-figure9",
    "put-figures-12-13",
    "put-figures-9-10",
    "put-gains-1m",
    "put-reads",
    "put-table2-128k",
    "put-table2-16k",
    "put-table2-1m",
    "put-table3-128k",
    "put-table3-16k",
    "put-table3-1m",
    "put-table4",
    "qos-mclock",
    "qos-wpq",
    "qos-wpq-boosted",
    "rebuild-64",
    "rebuild-data-sets",
    "rebuild-groups",
    "rebuild-pair",
    "rebuild-peers",
    "rebuild-scaling",
    "rebuild-scaling-boxes",
    "backfill-thesis",
    "backfill-thesis-thousand",
    "backfill-ceph16",
];

/// Whether a resolved point equals a point of one of the study's published scenarios. Keys in `apart` are
/// ignored: they only select which of several independent runs are made.
#[must_use]
pub(crate) fn is_published(study: &dyn Study, point: &Json, apart: &[&str]) -> bool {
    let compared = |point: &Json| match point {
        Json::Object(keys) => {
            let kept = keys.iter().filter(|(key, _)| !apart.contains(&key.as_str()));
            Json::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        other => other.clone(),
    };
    let point = compared(point);
    points_of(study).iter().any(|published| compared(published) == point)
}

/// All points of the study's published scenarios, resolved. They are constant for the life of the process and
/// resolved once.
fn points_of(study: &dyn Study) -> Arc<Vec<Json>> {
    static RESOLVED: Mutex<BTreeMap<&'static str, Arc<Vec<Json>>>> = Mutex::new(BTreeMap::new());
    let mut resolved = RESOLVED.lock().unwrap_or_else(PoisonError::into_inner);
    let points = resolved.entry(study.name()).or_insert_with(|| {
        let texts = TEXTS.iter().filter(|(name, _)| study.published().contains(name));
        Arc::new(texts.flat_map(|(name, text)| resolve(study, name, text)).collect())
    });
    Arc::clone(points)
}

fn resolve(study: &dyn Study, name: &str, text: &str) -> Vec<Json> {
    let legal = "a published scenario is legal: a test reads each of them";
    let document = Document::parse(&Source::file(format!("{name}.toml"), text)).expect(legal);
    let outline = document.outline().expect(legal);
    let points = outline.points().iter().map(|point| study.check(point.draft()));
    points.map(|point| point.map_or_else(|_| panic!("{legal}"), |point| point.resolved())).collect()
}

/// The mean over seeds with Student's 95 % interval, by which claims are judged: their tolerances are about
/// that one, whatever values a measure can have.
pub(crate) fn student(values: &[f64]) -> Option<MeanInterval> {
    mean_interval_95(values)
}

/// The same as the reading of a claim.
pub(crate) fn reading(values: &[f64]) -> Reading {
    match student(values) {
        Some(mean) => {
            let (low, high) = mean.range.unwrap_or((mean.mean, mean.mean));
            Reading::with_range(mean.mean, low, high)
        }
        None => Reading::default(),
    }
}

#[cfg(test)]
mod tests;
