//! The keys that studies of recoveries share, in blocks: machines, how recovery is paced, clients, and
//! delays.
//!
//! A scenario has all four as [`Keys`], flattened: for a user they are keys like any others. A key that is
//! left out has no value here; [`Settings`](crate::settings::Settings) says which one it then has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_rebuild::ledger::{Gather, Order, Source};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use crate::queue::{Profile, Queue};
use crate::releases::CephRelease;

/// All blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Keys {
    /// Machines.
    #[serde(flatten)]
    pub machines: Machines,
    /// How recovery is paced.
    #[serde(flatten)]
    pub pacing: Pacing,
    /// Clients.
    #[serde(flatten)]
    pub clients: Clients,
    /// Delays between a failure and its recovery.
    #[serde(flatten)]
    pub delays: Delays,
}

/// The keys that name exports of a cluster of Ceph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exports {
    /// The CRUSH map, as text, binary, or JSON of `ceph osd crush dump`. Left out: that of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-aliases" = ["ceph_map", "map"]))]
    pub crush_map: Option<String>,
    /// Output of `ceph osd dump -f json`. Left out: that of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-aliases" = ["ceph_dump"]))]
    pub osd_dump: Option<String>,
    /// Output of `ceph pg dump -f json`. Left out: groups of equal size, from the sums of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pg_dump: Option<String>,
    /// Output of `ceph osd df -f json`, for the fill of devices. Left out: that of `pg_dump`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub osd_df: Option<String>,
    /// Output of `ceph report`, in place of single dumps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// The speeds of machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machines {
    /// Read bandwidth of a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_read: Option<Rate>,
    /// Write bandwidth of a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_write: Option<Rate>,
    /// Seek times of a disk: the published table, a typical 7,200 rpm disk, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeks: Option<Seeks>,
    /// Time of each request of a disk besides its bytes, in place of `seeks`, whether it reads or writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_cost: Option<SimSpan>,
    /// Bytes of an object that one seek covers, even if several objects are in progress, because read-ahead
    /// and write-back merge requests. Left out: 16MiB for Ceph, else 18MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seek_extent: Option<Bytes>,
    /// Bandwidth of a server's NIC, in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<Rate>,
    /// Latency from NIC to NIC. Left out: 50us for Ceph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<SimSpan>,
    /// Bandwidth of a rack's uplink, in each direction. Left out: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Rate>,
}

/// What limits and paces a recovery.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pacing {
    /// Maximum rate of the copy of one object. Left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<Rate>,
    /// Maximum rate of all copies that a disk leads. Left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_cap: Option<Rate>,
    /// Maximum rate of all copies that the disks of a server lead. Left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_rate_cap: Option<Rate>,
    /// Size of the units in which objects are transferred. Left out: 4MiB, and 8MiB with mClock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Bytes>,
    /// Number of units of an object in flight at once. Left out: 4, and 1 with mClock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16))]
    pub window: Option<u32>,
    /// Number of objects that a disk rebuilds at once: Ceph's `osd_recovery_max_active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_024))]
    pub recovery_max_active: Option<u32>,
    /// Number of objects that all disks of a server together rebuild at once; its disks take turns. Left out:
    /// no limit but that of each disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub server_max_active: Option<u32>,
    /// Maximum number of groups that a disk leads at once, and of those that it receives. 0: no reservations.
    /// Only with groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_024))]
    pub max_backfills: Option<u32>,
    /// Sleep of a disk after each rebuilt object: Ceph's `osd_recovery_sleep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_sleep: Option<SimSpan>,
    /// Ceph's own work on each object, in addition to reading, sending and writing it. Left out: 1.09 ms for
    /// groups of Ceph, else nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_cost: Option<SimSpan>,
    /// Time that the backfill of a group takes to begin. Left out: 320ms for groups of Ceph, else 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill_begin: Option<SimSpan>,
    /// Time of a backfill for each object of the group that it looks at. Left out: 22us for groups of Ceph,
    /// else 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill_look: Option<SimSpan>,
    /// Release of Ceph, 15 to 21 (`18`) or one version of it (`"18.2.5"`), for its defaults. Left out: the
    /// version that the report has, or `require_osd_release` of the osd dump, or that of `preset`. Of a
    /// release, its newest version. Only with groups of Ceph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceph_release: Option<CephRelease>,
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
    /// Bytes that a work item of recovery counts for in mClock before Ceph 17.2.7, whatever the size of its
    /// object: `osd_recovery_cost`. Left out: 20MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_cost: Option<Bytes>,
    /// Which copy is read. Left out: that of the primary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Where shards are gathered and decoded. Left out: at the primary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gather: Option<Gather>,
    /// Which objects or groups a disk rebuilds first, of those that it leads. Left out: those with the fewest
    /// copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// No disk accepts data beyond this share of its capacity. Left out: as the osd dump has it, else 90%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfillfull_ratio: Option<Percent>,
}

/// Clients that read and write meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clients {
    /// Rate of client operations in the whole cluster while data move. Left out: there are no clients, and
    /// the effect on them is not answered.
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
    /// Size of each operation. In `whatif` also what is copied of an object that clients wrote while a device
    /// was away, for each write (log recovery); the whole object is, if neither this nor a load is given.
    /// Left out: 64KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_size: Option<Bytes>,
    /// Weight of clients on a busy disk or link; recovery has weight 1. Left out: 1; for Ceph 21 with WPQ,
    /// from its priorities of 63 and 3, and the shares of the profile with mClock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub client_weight: Option<u32>,
}

/// What passes between a failure and its recovery.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delays {
    /// Time from a failure until the cluster detects it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<SimSpan>,
    /// Time from then until failed devices are marked out and their data is rebuilt elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_out: Option<SimSpan>,
    /// Failed devices are never marked out: nothing is rebuilt, unless they are replaced or come back. Left
    /// out: as the osd dump has it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noout: Option<bool>,
    /// Whether a whole rack is marked out too; not in Ceph by default (`mon_osd_down_out_subtree_limit`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_out: Option<bool>,
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

impl Clients {
    /// Whether clients read and write.
    #[must_use]
    pub fn any(&self) -> bool {
        self.client_load.is_some() || self.client_depth.is_some()
    }
}
