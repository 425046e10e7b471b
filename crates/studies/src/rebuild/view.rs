//! A point of the sweep, in the form that tables and figures use.

use towtank_metrics::MeanInterval;

use super::Rebuild;
use super::settled::Settled;
use towtank_recovery::observed::Observed;
use towtank_recovery::slowest::Runs;
use towtank_study::points::text;
use towtank_study::{Point, PointResult};

/// The waits and the transfers follow each other where their sum is the whole time, but for this share.
pub(super) const FOLLOWS: f64 = 1e-6;

/// One point with the results of its replicates.
pub struct View<'a> {
    pub(super) point: &'a Point<'a, Rebuild>,
    /// The point.
    pub result: &'a PointResult<'a>,
    /// Its scenario.
    pub scenario: &'a Settled,
    /// The results of its replicates.
    pub observed: Vec<&'a Observed>,
    /// The settings that distinguish it from the other points.
    pub label: String,
}

impl<'a> View<'a> {
    pub(super) fn of(point: &'a Point<'a, Rebuild>) -> Self {
        let (result, scenario) = (point.result, &point.scenario);
        let setting = |(key, setting): &(String, serde_json::Value)| match key.as_str() {
            "servers" => format!("{} servers", text(setting)),
            _ => format!("{key} = {}", text(setting)),
        };
        // Placement and groups come together in the label.
        let together = |key: &str| ["placement", "groups", "groups_per_server"].contains(&key);
        let (how, other): (Vec<_>, Vec<_>) = result.settings.iter().partition(|(key, _)| together(key));
        let how = (!how.is_empty()).then(|| placed(scenario));
        let label = how.into_iter().chain(other.into_iter().map(setting)).collect::<Vec<_>>().join("; ");
        let observed = point.kept.iter().map(|kept| &kept.observed).collect();
        Self { point, result, scenario, observed, label }
    }

    /// The mean of a measure over the replicates that have it.
    #[must_use]
    pub fn mean(&self, measure: &str) -> Option<MeanInterval> {
        self.point.mean(measure)
    }

    /// The values of a measure, of all replicates that have it.
    #[must_use]
    pub fn values(&self, measure: &str) -> Vec<f64> {
        self.point.values(measure)
    }

    /// The label, or the placement where nothing is swept.
    #[must_use]
    pub fn name(&self) -> String {
        if self.label.is_empty() { placed(self.scenario) } else { self.label.clone() }
    }
}

impl<'a> View<'a> {
    /// Its replicates, for a closer look at the slowest of them.
    pub(super) fn runs(&self) -> Runs<'a> {
        let why_not_held = format!(
            "the lost objects were {}, and the others were not placed; `lost_set = \"enumerate\"` places all",
            self.observed[0].found
        );
        Runs { name: self.name(), observed: self.observed.clone(), why_not_held }
    }
}

/// How objects are placed, in words.
#[must_use]
pub fn placed(scenario: &Settled) -> String {
    if scenario.ring.is_some() {
        return "partitions of the ring".to_owned();
    }
    let name = scenario.placement.name();
    match scenario.groups {
        Some(groups) => format!("{name}, {groups} groups"),
        None => format!("{name}, object by object"),
    }
}
