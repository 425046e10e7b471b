//! The keys of a scenario of a rebuild.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_placement::algorithms::Algorithm;
use towtank_rebuild::ledger::{Gather, Order, Source};
use towtank_rebuild::placing::{Domain, LostSet};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use super::population::PopulationSpec;
use super::queue::{Profile, Queue};
use super::units::Units;
use crate::exports::Texts;

/// A cluster, its data, its failures, and how lost copies are rebuilt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Source of the defaults: the published study, or Ceph up to 16 as shipped.
    #[serde(default)]
    pub preset: Preset,
    /// The CRUSH map of a cluster of Ceph: for `towtank whatif`. The same holds for the next four keys, which
    /// this study refuses, with the command to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-aliases" = ["ceph_map"]))]
    pub crush_map: Option<String>,
    /// Output of `ceph osd dump`: for `towtank whatif`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-aliases" = ["ceph_dump"]))]
    pub osd_dump: Option<String>,
    /// Output of `ceph pg dump`: for `towtank whatif`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pg_dump: Option<String>,
    /// Output of `ceph osd df`: for `towtank whatif`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub osd_df: Option<String>,
    /// Output of `ceph report`: for `towtank whatif`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// A ring of OpenStack Swift, as `swift-ring-builder FILE write_ring` writes it, in place of a generated
    /// cluster: its servers, disks, zones and partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<String>,
    /// The ring that follows the failure, after `remove` and `rebalance`. Left out: handoffs of `ring` take
    /// what was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_after: Option<String>,
    /// Number of servers.
    #[serde(default = "servers")]
    #[schemars(range(min = 2, max = 16_384))]
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
    /// Number of virtual nodes per server, for rings.
    #[serde(default = "vnodes")]
    #[schemars(range(min = 1, max = 65_536))]
    pub vnodes: u32,
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
    /// Failure domain: what copies of an object must not share.
    #[serde(default)]
    pub failure_domain: Domain,
    /// Number of copies of an object.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: u32,
    /// Erasure coding in place of copies: `8+3` cuts an object into 8 data shards and adds 3 parity shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ec: Option<String>,
    /// What fails, and when: `server`, `disk`, `rack` draw one; `server=5`, `disk=3`, `rack=1` name one;
    /// `@30s` behind it is the time. In a ring: `d12` or `10.0.0.3/sdc`, `10.0.0.3`, `r1z2`.
    #[serde(default = "server")]
    pub fail: Texts,
    /// How lost objects are found: by looking up every object, or drawn from the exact distribution if the
    /// placement has no inverse.
    #[serde(default)]
    pub lost_set: LostSet,
    /// Read bandwidth of a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_read: Option<Rate>,
    /// Write bandwidth of a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_write: Option<Rate>,
    /// Capacity of a disk. Left out: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_capacity: Option<Bytes>,
    /// Seek times of a disk: the published table, a typical 7,200 rpm disk, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeks: Option<Seeks>,
    /// Time of each request of a disk besides its bytes, in place of `seeks`, whether it reads or writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_cost: Option<SimSpan>,
    /// Bytes of an object that one seek covers, even if several objects are in progress, because read-ahead
    /// and write-back merge requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seek_extent: Option<Bytes>,
    /// Bandwidth of a server's NIC, in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<Rate>,
    /// Latency from NIC to NIC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<SimSpan>,
    /// Bandwidth of a rack's uplink, in each direction. Left out: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Rate>,
    /// Maximum rate of the rebuild of one object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<Rate>,
    /// Maximum rate of all rebuilds of one disk together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_cap: Option<Rate>,
    /// Maximum rate of all rebuilds that the disks of a server lead. Left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_rate_cap: Option<Rate>,
    /// Size of the units in which objects are transferred.
    #[serde(default = "unit")]
    pub unit: Bytes,
    /// Which units are simulated: those of `unit`, or larger ones where a run would take longer than
    /// `within` and checks in the run show about the same times.
    #[serde(default, skip_serializing_if = "Units::are_exact")]
    pub units: Units,
    /// With `units = "auto"`: time that a run may take, at 4 million events per second. Left out: 2s. A run
    /// of fewer than 2 million events always has the units of `unit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<SimSpan>,
    /// Number of units of an object in flight at once.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 16))]
    pub window: u32,
    /// Number of objects that a disk rebuilds at once: Ceph's `osd_recovery_max_active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_024))]
    pub recovery_max_active: Option<u32>,
    /// Number of objects that all disks of a server together rebuild at once; its disks take turns. Left out:
    /// no limit but that of each disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub server_max_active: Option<u32>,
    /// Maximum number of groups that a disk leads at once, and of those that it receives. 0: no
    /// reservations. Only with groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_024))]
    pub max_backfills: Option<u32>,
    /// Sleep of a disk after each rebuilt object: Ceph's `osd_recovery_sleep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_sleep: Option<SimSpan>,
    /// Ceph's own work on each object, in addition to reading, sending and writing it. Left out: 1.09 ms
    /// with `preset = "ceph-wpq"` and groups, else nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_cost: Option<SimSpan>,
    /// Time from a new map until the first object moves: maps, peering and reservations. Left out: 3.1s
    /// with `preset = "ceph-wpq"` and groups, else 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peering: Option<SimSpan>,
    /// Time that the backfill of a group takes to begin. Left out: 320ms with `preset = "ceph-wpq"` and
    /// groups, else 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill_begin: Option<SimSpan>,
    /// Time of a backfill for each object of the group that it looks at. Left out: 22us with `preset =
    /// "ceph-wpq"` and groups, else 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill_look: Option<SimSpan>,
    /// Release of Ceph, from 14 to 20, for the defaults of its queue. Left out: that of `preset`. Only with
    /// `preset = "ceph-wpq"` and groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 14, max = 20))]
    pub ceph_release: Option<u32>,
    /// Operation queue of the daemons, `osd_op_queue`: `wpq` with sleeps, or `mclock` with a profile. Left
    /// out: that of the release. As `ceph_release`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Profile of mClock, `osd_mclock_profile`. Left out: that of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Random writes of 4 KiB per second of a device, as mClock measured them:
    /// `osd_mclock_max_capacity_iops`. Left out: 315 of a rotating disk, 21,500 of flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub osd_capacity: Option<u32>,
    /// Bytes that a work item of recovery counts for in mClock up to Ceph 17, whatever the size of its
    /// object: `osd_recovery_cost`. Left out: 20MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_cost: Option<Bytes>,
    /// Rate of client operations in the whole cluster during the rebuild. Left out: there are no clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_load: Option<Frequency>,
    /// Operations of clients under way in the whole cluster, each followed by the next one, in place of
    /// `client_load`: their rate is then a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub client_depth: Option<u32>,
    /// Share of reads among them. Left out: 70%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_read: Option<Percent>,
    /// Size of each operation. Left out: 64KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_size: Option<Bytes>,
    /// Weight of clients on a busy disk or link; the rebuild has weight 1. Left out: 1; with `preset =
    /// "ceph-wpq"` 21, from its priorities of 63 and 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub client_weight: Option<u32>,
    /// Which copy is read.
    #[serde(default)]
    pub source: Source,
    /// Where shards are gathered and decoded.
    #[serde(default)]
    pub gather: Gather,
    /// Which objects or groups a disk rebuilds first, of those that it leads.
    // The default is not written into the resolved scenario: results are what they were without the key, so
    // the hashes of stored campaigns stay what they were too.
    #[serde(default, skip_serializing_if = "Order::is_usual")]
    pub order: Order,
    /// Time from a failure until the cluster detects it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<SimSpan>,
    /// Time from then until failed devices are marked out and their data is rebuilt elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_out: Option<SimSpan>,
    /// Time from the detection of a failure until empty disks replace what failed, in place: each takes back
    /// what the lost one held, and nothing goes elsewhere. Left out: nothing is replaced.
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
    /// Failed devices are never marked out: nothing is rebuilt, unless they are replaced or come back.
    #[serde(default)]
    pub noout: bool,
    /// Whether a whole rack is marked out too; not in Ceph by default (`mon_osd_down_out_subtree_limit`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_out: Option<bool>,
    /// Whether all objects are simulated, however many are rebuilt: for `towtank whatif`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// If more objects than this are rebuilt, the recovery is estimated with some of them: for `towtank
    /// whatif`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_objects: Option<u64>,
    /// No disk accepts rebuilt data beyond this share of its capacity.
    #[serde(default = "ninety")]
    pub backfillfull_ratio: Percent,
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

fn four() -> u32 {
    4
}

fn vring() -> Algorithm {
    Algorithm::CrushVring
}

fn vnodes() -> u32 {
    64
}

fn unit() -> Bytes {
    Bytes::from_mib(4)
}

fn ninety() -> Percent {
    Percent::from_percent(90).expect("less than all")
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

/// Seek times of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Seeks {
    /// The table of a JBOD that CODES' guide prints.
    Jbod,
    /// 8 ms before a read and 4 ms before a write, from data sheets of 7,200 rpm disks.
    Hdd,
    /// Flash: nothing.
    None,
}

impl Scenario {
    /// Whether objects of a generated cluster are placed in groups.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        self.groups.is_some_and(|groups| groups > 0) || self.groups_per_server.is_some()
    }

    /// Whether the cluster comes from exports of a real one.
    #[must_use]
    pub fn is_real(&self) -> bool {
        let files = [&self.crush_map, &self.osd_dump, &self.pg_dump, &self.osd_df, &self.report];
        files.into_iter().any(Option::is_some)
    }

    /// Whether what failed is replaced or comes back in place, so that it is never marked out.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.replace.is_some() || self.returns.is_some()
    }

    /// Whether objects are placed by groups: those of exports, the partitions of a ring, or generated ones.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        self.is_real() || self.ring.is_some() || self.has_groups()
    }
}
