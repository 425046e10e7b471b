//! The keys of a scenario: the exports of a cluster, and the changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use towtank_study::Texts;

use crate::exports::Exports;

/// The exports of a cluster, and the changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Scenario {
    /// The exports.
    #[serde(flatten)]
    pub exports: Exports,
    /// The new map; further changes are made to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_map: Option<String>,
    /// Devices to take out, as `ceph osd out` does: they stay in the map. `osd.3`, or `host=h2` for all of a
    /// bucket.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub mark_out: Texts,
    /// Devices or buckets to remove from the cluster and from the map: `osd.3`, `host=h2`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub remove: Texts,
    /// Overrides from 0 to 1, as `ceph osd reweight` sets them: `osd.7=0.8`. The host keeps its weight.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub reweight: Texts,
    /// Weights in the map, as `ceph osd crush reweight` sets them: `osd.7=3.2`. The host's weight follows.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub crush_reweight: Texts,
    /// `pg_num` of pools: `rbd=128`. A split is made in place and moves nothing by itself.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub pg_num: Texts,
    /// `pgp_num` of pools: `rbd=128`. This moves groups after a split.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub pgp_num: Texts,
    /// CRUSH rules of pools, by name or id, as `ceph osd pool set POOL crush_rule` sets them: `rbd=by_rack`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub rule: Texts,
    /// New hosts: `h9=4x3.6`, four devices of weight 3.6; with a class and a location `h9=4x3.6:ssd@rack1`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub add_host: Texts,
    /// A profile of tunables: legacy, argonaut, bobtail, firefly, hammer, jewel, optimal or default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunables: Option<String>,
}
