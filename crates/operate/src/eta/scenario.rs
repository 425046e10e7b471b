//! The keys of a scenario: reports of a recovery that is under way, and what is known of the machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_recovery::keys::Keys;
use towtank_study::Texts;
use towtank_units::Percent;

use crate::whatif::Disk;

/// Reports of a recovery that is under way, and what is known of the machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Scenario {
    /// What `ceph report` wrote: the latest says what is left, and those before it how fast it goes.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub report: Texts,
    /// `ceph pg dump -f json` of the time of the latest report: how far each group has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pg_dump: Option<String>,
    /// `ceph osd df -f json` of the time of the latest report: how full each device is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub osd_df: Option<String>,
    /// Speeds, pacing, clients, delays: what is assumed, where the reports do not measure it.
    #[serde(flatten)]
    pub keys: Keys,
    /// What `towtank learn` found of these machines: it is used in place of typical values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<String>,
    /// Type of all disks. Left out: as the daemons say, else the device class of the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// Relative uncertainty of the disk speeds, where they are assumed. Left out: 20 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_spread: Option<Percent>,
}

/// Keys of this study alone, or of the files of the latest report.
const OWN: [&str; 3] = ["report", "pg_dump", "osd_df"];

impl Scenario {
    /// The scenario of `whatif` about a report, with the files beside it.
    pub(super) fn about(&self, report: &str, beside: bool) -> String {
        let keys = serde_json::to_value(self).expect("a scenario came out of text and goes back into it");
        let mut table = toml::Table::try_from(keys).expect("keys of scenarios are what TOML has");
        OWN.iter().filter(|key| !beside || **key == "report").for_each(|key| {
            table.remove(*key);
        });
        table.insert("study".to_owned(), "whatif".into());
        table.insert("report".to_owned(), report.into());
        table.to_string()
    }
}
