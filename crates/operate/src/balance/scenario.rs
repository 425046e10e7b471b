//! The keys of a scenario: the exports of a cluster, and the limits of the plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_recovery::keys::Exports;
use towtank_units::Rate;

use towtank_study::Texts;

/// The exports of a cluster, and the limits of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Scenario {
    /// The exports.
    #[serde(flatten)]
    pub exports: Exports,
    /// Maximum number of copies and shards that the plan moves.
    #[serde(default = "moves")]
    #[schemars(range(max = 100_000))]
    pub max_moves: u32,
    /// Number of stages into which the plan is divided, with equally many moves each.
    #[serde(default = "stages")]
    #[schemars(range(min = 1, max = 100))]
    pub stages: u32,
    /// Devices or buckets that may take data: `osd.7`, `host=h9`. Left out: all that the rules allow.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub destination: Texts,
    /// Rate at which a device takes data. Left out: the write rate of its class in `rebuild`:
    /// 190MB/s for hdd, 500MB/s for ssd, 2GB/s for nvme and for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_rate: Option<Rate>,
}

/// A choice: what an operator can still look at.
fn moves() -> u32 {
    100
}

/// A choice.
fn stages() -> u32 {
    4
}
