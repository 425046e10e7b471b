//! The keys of a scenario of a rebuild.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_placement::algorithms::Algorithm;
use towtank_rebuild::arrays::{Form, Reads};
use towtank_rebuild::placing::{Domain, LostSet};
use towtank_recovery::keys::{Exports, Keys};
use towtank_study::Texts;
use towtank_units::{Bytes, SimSpan};

use super::population::PopulationSpec;
use super::units::Units;

/// A cluster, its data, its failures, and how lost copies are rebuilt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Scenario {
    /// Source of the defaults: the published study, or Ceph up to 16 as shipped.
    #[serde(default)]
    pub preset: Preset,
    /// Exports of a cluster of Ceph, which this study refuses, with the command of `whatif` to run.
    #[serde(flatten)]
    pub exports: Exports,
    /// A ring of OpenStack Swift, as `swift-ring-builder FILE write_ring` writes it, in place of a generated
    /// cluster: its servers, disks, zones and partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<String>,
    /// The ring that follows the failure, after `remove` and `rebalance`. Left out: handoffs of `ring` take
    /// what was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_after: Option<String>,
    /// Number of servers. 1 is one chassis, with `failure_domain = "disk"`.
    #[serde(default = "servers")]
    #[schemars(range(min = 1, max = 16_384))]
    pub servers: u32,
    /// Number of racks; servers are numbered rack by rack. Copies of an object are in different racks if
    /// `failure_domain` is `rack`.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4_096))]
    pub racks: u32,
    /// Number of disks per server, which share its data.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 128))]
    pub disks_per_server: u32,
    /// Data per server, all copies counted. Left out: 60 TiB, unless `objects` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_server: Option<Bytes>,
    /// Number of objects, in place of `per_server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub objects: Option<u64>,
    /// The data set.
    #[serde(default)]
    pub population: PopulationSpec,
    /// Placement algorithm for objects, or for groups of objects.
    #[serde(default = "vring")]
    pub placement: Algorithm,
    /// Number of virtual nodes per server, for `ring` and `multiring`. Left out: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub vnodes: Option<u32>,
    /// Number of placement groups: objects of one group are on the same servers. Left out, or 0: each
    /// object is placed by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4_194_304))]
    pub groups: Option<u32>,
    /// Number of the pool of Ceph whose groups these are: they are placed as Ceph places the groups of that
    /// pool on devices of equal weight. Only with `groups`, `placement = "crush-straw2"` and one disk per
    /// server. Left out: they are placed at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub pool: Option<u32>,
    /// Number of copies or shards of groups per server, in place of `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub groups_per_server: Option<u32>,
    /// Failure domain: what copies of an object must not share. `disk` only with `servers = 1`.
    #[serde(default)]
    pub failure_domain: Domain,
    /// How the disks of one chassis form arrays of the stripes that `ec` describes, in place of `placement`.
    /// Left out: objects or groups are placed on all disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Form>,
    /// Number of spare disks of `array = "raid"`, the last ones, or of distributed spares of `draid`. Left
    /// out: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    pub spares: Option<u32>,
    /// Which parts of a stripe the rebuild of an array reads. Left out: `needed` for `raid`, and `all` for
    /// `draid`, as in OpenZFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Reads>,
    /// Number of copies of an object.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: u32,
    /// Erasure coding in place of copies: `8+3` cuts an object into 8 data shards and adds 3 parity shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ec: Option<String>,
    /// What fails, and when: `server`, `disk`, `rack` draw one; `server=5`, `disk=3`, `rack=1` name one;
    /// `@30s` behind it is the time. In a ring: `d12` or `10.0.0.3/sdc`, `10.0.0.3`, `r1z2`. Left out: a
    /// server, or a disk of one chassis.
    #[serde(default = "server")]
    pub fail: Texts,
    /// How lost objects are found: by looking up every object, or drawn from the exact distribution if the
    /// placement has no inverse.
    #[serde(default)]
    pub lost_set: LostSet,
    /// Capacity of a disk. Left out: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_capacity: Option<Bytes>,
    /// Speeds, pacing, clients, delays.
    #[serde(flatten)]
    pub keys: Keys,
    /// Which units are simulated: those of `unit`, or larger ones where a run would take longer than
    /// `within` and checks in the run show about the same times.
    #[serde(default, skip_serializing_if = "Units::are_exact")]
    pub units: Units,
    /// With `units = "auto"`: time that a run may take, at 4 million events per second. Left out: 2s. A run
    /// of fewer than 2 million events always has the units of `unit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<SimSpan>,
    /// Time from a new map until the first object moves: maps, peering and reservations. Left out: 3.1s
    /// with `preset = "ceph-wpq"` and groups, else 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peering: Option<SimSpan>,
    /// Time from the detection of a failure until empty disks replace what failed, in place: each takes back
    /// what the lost one held, and nothing goes elsewhere. In arrays with spares, from the detection of the
    /// last failure until disks replace the failed ones and take back their data from the spares. Left out:
    /// nothing is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<SimSpan>,
    /// Time from the detection of a failure until what failed comes back in place with its old data, after
    /// every object was written once: the log of a group of Ceph says what is missing, if it reaches that
    /// far. In place of `replace`. Left out: nothing comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<SimSpan>,
    /// Entries of a group's log that a device which `returns` may lack and lead the group all the same:
    /// `osd_async_recovery_min_cost` of Ceph. Left out: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub async_recovery_min_cost: Option<u32>,
}

fn servers() -> u32 {
    64
}

fn one() -> u32 {
    1
}

fn three() -> u32 {
    3
}

fn vring() -> Algorithm {
    Algorithm::CrushVring
}

fn server() -> Texts {
    Texts::One("server".to_owned())
}

/// The source of defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The published study: its disks and network, no reservations, no sleeps, no delays.
    #[default]
    Paper,
    /// Ceph up to 16 as shipped, with its queue WPQ, on rotating disks: one backfill per disk, three
    /// objects, a sleep of 0.1 s, ten minutes until out. With exports, `queue` says which queue paces
    /// recovery.
    CephWpq,
    /// The same as ceph-wpq.
    Ceph,
}

impl Scenario {
    /// Whether objects of a generated cluster are placed in groups.
    #[must_use]
    pub(super) fn has_groups(&self) -> bool {
        self.groups.is_some_and(|groups| groups > 0) || self.groups_per_server.is_some()
    }

    /// Whether what failed is replaced or comes back in place, so that it is never marked out.
    #[must_use]
    pub(super) fn is_in_place(&self) -> bool {
        (self.replace.is_some() && !self.rebalances()) || self.returns.is_some()
    }

    /// Whether objects are placed by groups: the partitions of a ring, or generated ones.
    #[must_use]
    pub(super) fn is_grouped(&self) -> bool {
        self.ring.is_some() || self.has_groups()
    }
}
