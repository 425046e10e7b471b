//! The keys of a scenario: the exports of a cluster, how often what fails, and how fast its machines are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_recovery::keys::{Exports, Keys};
use towtank_report::human;
use towtank_scenario::{Draft, Problems};
use towtank_study::{Texts, keys_of};
use towtank_units::{Percent, SimSpan};

use super::keys::Described;
use crate::whatif::{Disk, failures_a_year};

/// The exports of a cluster, how often what fails, and how fast its machines are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Scenario {
    /// The exports.
    #[serde(flatten)]
    pub exports: Exports,
    /// A system that is described, in place of exports.
    #[serde(flatten)]
    pub described: Described,
    /// Speeds, pacing, delays: they say how long a repair takes.
    #[serde(flatten)]
    pub keys: Keys,
    /// What `towtank learn` found of these machines: it is used in place of typical values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<String>,
    /// Type of all disks. Left out: as the daemons say in `report`, else the device class of the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// Failures of each device in a year: a rate, so that 100 % is one failure a year on average.
    #[serde(default = "failures_a_year")]
    pub failure_rate: Percent,
    /// For how long the cluster is looked at: the probability is that of any loss in this time.
    #[serde(default = "year")]
    pub mission: SimSpan,
    /// From a failure until its device is replaced by an empty one, where the rest of the cluster cannot take
    /// its data. Left out: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_after: Option<SimSpan>,
    /// What fails at once, to be asked how likely a loss is then: `3 disks`, `3 disks in 2 racks`, `2 hosts`,
    /// `1 % of hosts`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub burst: Texts,
}

/// Refuses a mission or a failure rate that cannot be.
pub(super) fn check_times(scenario: &Scenario, draft: &Draft) -> Result<(), Problems> {
    let mut problems = Problems::new();
    if scenario.mission.is_zero() || scenario.mission > year().saturating_mul(500) {
        let message = format!("`mission` is {}", human::quantity(scenario.mission.as_secs_f64(), "s"));
        problems.refuse(draft, "mission", message, "give a time above 0 and up to 500 years");
    }
    if scenario.failure_rate.fraction_f64() <= 0.0 {
        let message = "`failure_rate` is 0: then nothing is ever lost";
        problems.refuse(draft, "failure_rate", message, "1.5% is what is taken if it is left out");
    }
    problems.into_result(())
}

/// 365.25 days.
pub(super) fn year() -> SimSpan {
    SimSpan::from_secs(8_766 * 3_600)
}

/// Keys that `whatif` does not have, or that mean nothing to it here.
const OWN: [&str; 4] = ["failure_rate", "mission", "replace_after", "burst"];

impl Scenario {
    /// The scenario of `whatif` in which these devices fail at once.
    pub(super) fn about(&self, fail: &[String], replaced: Option<SimSpan>) -> String {
        let keys = serde_json::to_value(self).expect("a scenario came out of text and goes back into it");
        let mut table = toml::Table::try_from(keys).expect("keys of scenarios are what TOML has");
        for key in OWN.map(str::to_owned).into_iter().chain(keys_of::<Described>()) {
            table.remove(&key);
        }
        table.insert("study".to_owned(), "whatif".into());
        let list = |each: &dyn Fn(&String) -> String| -> toml::Value {
            fail.iter().map(each).map(toml::Value::from).collect::<Vec<_>>().into()
        };
        if !fail.is_empty() {
            table.insert("fail".to_owned(), list(&String::clone));
        }
        if let Some(after) = replaced.filter(|_| !fail.is_empty()) {
            table.insert("replace".to_owned(), list(&|name| format!("{name}@{after}")));
        }
        table.to_string()
    }
}
