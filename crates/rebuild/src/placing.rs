//! How objects are placed on disks in a synthetic cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_placement::algorithms::Algorithm;

use crate::redundancy::Redundancy;

/// How objects, or placement groups, are placed on disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placing {
    /// The placement algorithm.
    pub algorithm: Algorithm,
    /// Virtual nodes per server, for rings.
    pub vnodes: u32,
    /// The failure domain: copies of an object must not share one.
    pub domain: Domain,
    /// Number of placement groups; none if each object is placed by itself.
    pub groups: Option<u32>,
    /// The number of Ceph's pool whose groups these are: CRUSH places them as those of that pool. None: they
    /// are placed at random.
    pub pool: Option<u32>,
    /// The redundancy of objects.
    pub redundancy: Redundancy,
    /// How affected objects are found.
    pub lost_set: LostSet,
}

/// The failure domain: what two copies of an object must not share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// A server.
    #[default]
    Server,
    /// A rack.
    Rack,
    /// A disk, where one server has all of them.
    Disk,
}

/// How lost objects are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostSet {
    /// By inverting the placement; if it has no inverse, by checking every object, or drawn above 100,000.
    #[default]
    Auto,
    /// By checking the placement of every object.
    Enumerate,
    /// Drawn from the exact distribution.
    Draw,
}
