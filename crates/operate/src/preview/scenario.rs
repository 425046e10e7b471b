//! The keys of a scenario: the exports of a cluster, and the changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_recovery::keys::Exports;
use towtank_study::Texts;

use crate::asked::{Keyed, MapChanges};

/// The exports of a cluster, and the changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Scenario {
    /// The exports.
    #[serde(flatten)]
    pub exports: Exports,
    /// Changes in their order, each as its flag would have it without the dashes: `["add-host h9=4x3.6",
    /// "drain host=h1"]`. The changes of the other keys come behind these, in the order of the keys below.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub changes: Texts,
    /// Changes of the map, one key for each kind.
    #[serde(flatten)]
    pub map: MapChanges,
}

impl Scenario {
    /// The texts of each kind of change, in the order in which they are made.
    #[must_use]
    pub(crate) fn keyed(&self) -> Keyed<'_> {
        Keyed { changes: &self.changes, keyed: self.map.keyed().collect() }
    }
}
