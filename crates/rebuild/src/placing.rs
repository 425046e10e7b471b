//! How objects find their disks in a cluster that is made up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_placement::algorithms::Algorithm;

use crate::redundancy::Redundancy;

/// How objects, or groups of them, find their disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placing {
    /// By which algorithm.
    pub algorithm: Algorithm,
    /// Virtual nodes of a server, for rings.
    pub vnodes: u32,
    /// What copies of an object must not share.
    pub domain: Domain,
    /// Placement groups; none: each object is placed by itself.
    pub groups: Option<u32>,
    /// How objects are kept safe.
    pub redundancy: Redundancy,
    /// How lost objects are found.
    pub lost_set: LostSet,
}

/// What copies of an object must not share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// A server.
    #[default]
    Server,
    /// A rack.
    Rack,
}

/// How lost objects are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostSet {
    /// By the placement's inverse; else by asking every object, or drawn where there are more than 100,000.
    #[default]
    Auto,
    /// By asking every object.
    Enumerate,
    /// Drawn from the exact distribution.
    Draw,
}
