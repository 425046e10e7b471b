//! A point of the sweep, in the form that tables and figures use.

use serde_json::Value;
use towtank_metrics::MeanInterval;

use super::Rebuild;
use super::settled::Settled;
use towtank_rebuild::arrays::Form;
use towtank_recovery::observed::Observed;
use towtank_recovery::slowest::Runs;
use towtank_report::human;
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
        let label = named(result, scenario, |key, setting| format!("{key} = {}", text(setting))).join("; ");
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

    /// The name for a sentence, in which settings are in words.
    #[must_use]
    pub fn said(&self) -> String {
        let one = |key: &str, setting: &Value| human::settings(&[(key.to_owned(), setting.clone())]);
        let parts = named(self.result, self.scenario, one);
        if parts.is_empty() { placed(self.scenario) } else { parts.join(", ") }
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

/// The swept settings of a point: placement and groups together, then the others, each as `one` says it.
fn named(result: &PointResult<'_>, scenario: &Settled, one: impl Fn(&str, &Value) -> String) -> Vec<String> {
    let setting = |(key, setting): &(String, Value)| match key.as_str() {
        "servers" => format!("{} servers", text(setting)),
        _ => one(key, setting),
    };
    let together = |key: &str| ["placement", "groups", "groups_per_server"].contains(&key);
    let (how, other): (Vec<_>, Vec<_>) = result.settings.iter().partition(|(key, _)| together(key));
    let how = (!how.is_empty()).then(|| placed(scenario));
    how.into_iter().chain(other.into_iter().map(setting)).collect()
}

/// How objects are placed, in words.
#[must_use]
pub fn placed(scenario: &Settled) -> String {
    if scenario.ring.is_some() {
        return "partitions of the ring".to_owned();
    }
    match scenario.array {
        Some(Form::Raid) => return "RAID with spares".to_owned(),
        Some(Form::Draid) => return "dRAID".to_owned(),
        None => {}
    }
    let name = scenario.placement.name();
    match scenario.groups {
        Some(groups) => format!("{name}, {groups} groups"),
        None => format!("{name}, object by object"),
    }
}
