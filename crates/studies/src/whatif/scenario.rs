//! The keys of a scenario: the exports of a cluster, what is changed, and how fast its machines are.
//!
//! Speeds and limits are those of a rebuild; a key that is left out takes the value of the release of Ceph
//! for the class of each disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_rebuild::ledger::{Gather, Order, Source};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use crate::preview::scenario::Texts;
use crate::rebuild::queue::{Profile, Queue};
use crate::rebuild::scenario::{Preset, Scenario as Rebuild, Seeks};
use crate::rebuild::settled::PEERING;

/// A cluster's exports, what is changed in it, and the speeds of its machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The CRUSH map, as text, binary, or JSON of `ceph osd crush dump`. Left out: that of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-aliases" = ["ceph_map"]))]
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
    /// Changes in their order, each as its flag would have it without the dashes: `["fail osd.3", "add-host
    /// h9=4x3.6@40min"]`. A time behind an `@` makes a change later, also while an earlier one is under way.
    /// The changes of the other keys come behind these, in the order of the keys below.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub changes: Texts,
    /// The new map; further changes are made to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_map: Option<String>,
    /// What fails: `osd.3`, `host=h1`, `rack=r1@2h`. It is marked out after `detection` and `down_out`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub fail: Texts,
    /// What failed and comes back with its data, and when: `osd.3@40min`. Only what clients wrote meanwhile
    /// is copied to it.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub returns: Texts,
    /// Devices that are replaced by empty ones under the same number: `osd.3`; with a time, `osd.3@2h`, those
    /// that have failed before.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub replace: Texts,
    /// New hosts: `h9=4x3.6`, four devices of weight 3.6; with a class and a location
    /// `h9=4x3.6:ssd@rack1`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub add_host: Texts,
    /// Devices or buckets to remove from the cluster and from the map at once: `osd.3`, `host=h2`. Drain them
    /// first to keep their data readable meanwhile.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub remove: Texts,
    /// Devices or buckets to empty while they still serve their data, as `ceph orch osd rm` does: their
    /// weight in the map becomes 0.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub drain: Texts,
    /// Weights in the map, as `ceph osd crush reweight` sets them: `osd.7=3.2`. The host's weight follows.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub crush_reweight: Texts,
    /// Devices to take out, as `ceph osd out` does: they stay in the map, and serve until they are empty.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub mark_out: Texts,
    /// Overrides from 0 to 1, as `ceph osd reweight` sets them: `osd.7=0.8`. The host keeps its weight.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub reweight: Texts,
    /// `pg_num` of pools: `rbd=128`. A split is made in place and moves nothing by itself.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub pg_num: Texts,
    /// `pgp_num` of pools: `rbd=128`. This moves groups after a split.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub pgp_num: Texts,
    /// CRUSH rules of pools, by name or id, as `ceph osd pool set POOL crush_rule` sets them: `rbd=by_rack`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub rule: Texts,
    /// A group and the devices that it is to have, as in `ceph osd pg-upmap`: `1.7 osd.3 osd.5 osd.8`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub upmap: Texts,
    /// A group and pairs of devices, from and to, as in `ceph osd pg-upmap-items`: `1.7 osd.3 osd.5`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub upmap_items: Texts,
    /// Type of all disks. Left out: as the daemons say in `report`, else the device class of the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
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
    /// and write-back merge requests. Left out: 16MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seek_extent: Option<Bytes>,
    /// Relative uncertainty of the disk speeds: each time comes with those of slower and faster disks.
    #[serde(default = "fifth")]
    pub speed_spread: Percent,
    /// Bandwidth of a server's NIC, in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<Rate>,
    /// Bandwidth of a rack's uplink, in each direction. Left out: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Rate>,
    /// Latency from NIC to NIC. Left out: 50us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<SimSpan>,
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
    /// Maximum number of groups that a disk leads at once, and of those that it receives. 0: no
    /// reservations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_024))]
    pub max_backfills: Option<u32>,
    /// Sleep of a disk after each rebuilt object: Ceph's `osd_recovery_sleep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_sleep: Option<SimSpan>,
    /// Ceph's own work on each object, in addition to reading, sending and writing it. Left out: 1.09 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_cost: Option<SimSpan>,
    /// Time that the backfill of a group takes to begin. Left out: 320ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill_begin: Option<SimSpan>,
    /// Time of a backfill for each object of the group that it looks at. Left out: 22us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill_look: Option<SimSpan>,
    /// Release of Ceph, from 14 to 20, for the defaults of its queue. Left out: `require_osd_release` of the
    /// osd dump.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 14, max = 20))]
    pub ceph_release: Option<u32>,
    /// Operation queue of the daemons, `osd_op_queue`: `wpq` with sleeps, or `mclock` with a profile. Left
    /// out: that of the release.
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
    /// Time from a change of the map to the first object that moves: new maps, peering and reservations. A
    /// failure changes the map when its devices are marked out.
    #[serde(default = "start")]
    pub start: SimSpan,
    /// Rate of client operations in the whole cluster while data move. Left out: the effect on clients is
    /// not answered.
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
    /// Weight of clients on a busy disk or link; recovery has weight 1. Left out: 21 with WPQ, and the shares
    /// of the profile with mClock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub client_weight: Option<u32>,
    /// Rate at which clients write objects in the whole cluster while a device is away that `returns`. Left
    /// out: the writes of `client_load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_writes: Option<Frequency>,
    /// Writes that the log of a group remembers. Left out: as Ceph sets it by the groups on each device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_entries: Option<u32>,
    /// Entries of a group's log that a device which `returns` may lack and lead the group all the same:
    /// `osd_async_recovery_min_cost` of Ceph. Left out: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub async_recovery_min_cost: Option<u32>,
    /// Which copy is read. Left out: that of the primary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Where shards are gathered and decoded. Left out: at the primary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gather: Option<Gather>,
    /// Which groups a disk recovers first, of those that it leads. Left out: those with the fewest copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Time from a failure until the cluster detects it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<SimSpan>,
    /// Time from then until failed devices are marked out and their data is rebuilt elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_out: Option<SimSpan>,
    /// Failed devices are never marked out: nothing is rebuilt. Left out: as the osd dump has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noout: Option<bool>,
    /// Whether a whole rack is marked out too; not in Ceph by default (`mon_osd_down_out_subtree_limit`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_out: Option<bool>,
    /// No disk accepts data beyond this share of its capacity. Left out: as the osd dump has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfillfull_ratio: Option<Percent>,
    /// Whether all objects are simulated, however many move.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// If more objects than this move, the recovery is estimated with some of them, where two such estimates
    /// agree. Left out: 1000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_objects: Option<u64>,
    /// Share of all devices that fails in a year, for the probability of data loss.
    #[serde(default = "failures_a_year")]
    pub failure_rate: Percent,
}

/// A choice.
fn fifth() -> Percent {
    Percent::from_percent(20).expect("less than all")
}

fn start() -> SimSpan {
    PEERING
}

/// About what Backblaze publishes for all its drives in a year ("Drive Stats", 1.4 to 1.7 % since 2022).
fn failures_a_year() -> Percent {
    Percent::from_billionths(15_000_000)
}

/// What a disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disk {
    /// A rotating disk of 7,200 rpm.
    Hdd,
    /// Flash behind SATA.
    Ssd,
    /// Flash behind NVMe.
    Nvme,
}

impl Disk {
    /// The device class of such a disk.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Disk::Hdd => "hdd",
            Disk::Ssd => "ssd",
            Disk::Nvme => "nvme",
        }
    }
}

impl Scenario {
    /// Whether clients read and write.
    #[must_use]
    pub fn has_clients(&self) -> bool {
        self.client_load.is_some() || self.client_depth.is_some()
    }

    /// The rebuild with these speeds and limits.
    #[must_use]
    pub fn rebuild(&self) -> Rebuild {
        let usual: Rebuild = serde_json::from_str("{}").expect("all keys of a rebuild have defaults");
        Rebuild {
            preset: Preset::CephWpq,
            crush_map: self.crush_map.clone(),
            osd_dump: self.osd_dump.clone(),
            pg_dump: self.pg_dump.clone(),
            osd_df: self.osd_df.clone(),
            report: self.report.clone(),
            disk_read: self.disk_read,
            disk_write: self.disk_write,
            seeks: self.seeks,
            io_cost: self.io_cost,
            seek_extent: self.seek_extent,
            nic: self.nic,
            latency: self.latency,
            uplink: self.uplink,
            stream_limit: self.stream_limit,
            rate_cap: self.rate_cap,
            server_rate_cap: self.server_rate_cap,
            unit: self.unit.unwrap_or(usual.unit),
            window: self.window.unwrap_or(usual.window),
            recovery_max_active: self.recovery_max_active,
            server_max_active: self.server_max_active,
            max_backfills: self.max_backfills,
            recovery_sleep: self.recovery_sleep,
            object_cost: self.object_cost,
            peering: Some(self.start),
            backfill_begin: self.backfill_begin,
            backfill_look: self.backfill_look,
            ceph_release: self.ceph_release,
            queue: self.queue,
            profile: self.profile,
            osd_capacity: self.osd_capacity,
            recovery_cost: self.recovery_cost,
            client_load: self.client_load,
            client_depth: self.client_depth,
            client_read: self.client_read,
            client_size: self.client_size,
            client_weight: self.client_weight,
            source: self.source.unwrap_or_default(),
            gather: self.gather.unwrap_or_default(),
            order: self.order.unwrap_or_default(),
            detection: self.detection,
            down_out: self.down_out,
            noout: self.noout.unwrap_or(false),
            rack_out: self.rack_out,
            exact: self.exact,
            exact_objects: self.exact_objects,
            backfillfull_ratio: self.backfillfull_ratio.unwrap_or(usual.backfillfull_ratio),
            ..usual
        }
    }
}
