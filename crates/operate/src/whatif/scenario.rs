//! The keys of a scenario: the exports of a cluster, what is changed, and how fast its machines are.
//!
//! Speeds and limits are those of a rebuild; a key that is left out takes the value of the release of Ceph
//! for the class of each disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_recovery::keys::{Exports, Keys};
use towtank_study::Texts;
use towtank_units::{Frequency, Percent, SimSpan};

use crate::asked::{Keyed, MapChanges, SET};

/// A cluster's exports, what is changed in it, and the speeds of its machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Scenario {
    /// The exports.
    #[serde(flatten)]
    pub exports: Exports,
    /// Changes in their order, each as its flag would have it without the dashes: `["fail osd.3", "add-host
    /// h9=4x3.6@40min"]`. A time behind an `@` makes a change later, also while an earlier one is under way.
    /// The changes of the other keys come behind these, in the order of the keys below.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub changes: Texts,
    /// What fails: `osd.3`, `host=h1`, `rack=r1@2h`. It is marked out after `detection` and `down_out`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub fail: Texts,
    /// What failed and comes back with its data, and when: `osd.3@40min`. Only what clients wrote meanwhile
    /// is copied to it.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub returns: Texts,
    /// Devices that are replaced by empty ones under the same number: `osd.3`; with a time, `osd.3@2h`, those
    /// that have failed before or are down in the exports.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub replace: Texts,
    /// Flags of the cluster that are set, as `ceph osd set` does: `noout`, `norebalance@10min`; and of a
    /// device, a bucket or a class, as `ceph osd set-group` does: `noout:host=h1@1h`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub set_flag: Texts,
    /// Flags that are unset, as `ceph osd unset` and `unset-group` do: `noout@2h`.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub unset_flag: Texts,
    /// Changes of the map, one key for each kind.
    #[serde(flatten)]
    pub map: MapChanges,
    /// Whether only what moves is answered, as in `towtank preview`: no speeds are needed then, and nothing
    /// is said of time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moves_only: bool,
    /// Speeds, pacing, clients, delays.
    #[serde(flatten)]
    pub keys: Keys,
    /// What `towtank learn` found of these machines: it is used in place of typical values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<String>,
    /// Type of all disks. Left out: as the daemons say in `report`, else the device class of the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// Relative uncertainty of the disk speeds: each time comes with those of slower and faster disks.
    #[serde(default = "fifth")]
    pub speed_spread: Percent,
    /// Time from a change to the first object that moves: new maps, peering and reservations. A failure
    /// changes the map when its devices are marked out. Left out: 3.1 s after devices are marked out, 2.3 s
    /// after other changes of the map, 1 s after devices came back with their data and 1.6 s without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<SimSpan>,
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
    /// The share of objects that may be misplaced while the manager goes on with a new number of groups:
    /// `target_max_misplaced_ratio` of Ceph. Left out: 5 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_max_misplaced_ratio: Option<Percent>,
    /// Time between two looks of the manager at this: `mgr_tick_period` of Ceph. Left out: 2 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mgr_tick_period: Option<SimSpan>,
    /// Time between two statistics that a daemon sends to it: `mgr_stats_period` of Ceph. Left out: 5 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mgr_stats_period: Option<SimSpan>,
    /// Whether all objects are simulated, however many move.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// If more objects than this move, the recovery is estimated with some of them. Left out: 1000000, or
    /// fewer where an object is read in several shards.
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

/// About what Backblaze publishes for all its drives in a year ("Drive Stats", 1.4 to 1.7 % since 2022).
pub(crate) fn failures_a_year() -> Percent {
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
    /// The texts of each kind of change, in the order in which they are made.
    #[must_use]
    pub(crate) fn keyed(&self) -> Keyed<'_> {
        let mut keyed = vec![
            ("fail", &self.fail),
            ("returns", &self.returns),
            ("replace", &self.replace),
            (SET, &self.set_flag),
            ("unset_flag", &self.unset_flag),
        ];
        keyed.extend(self.map.keyed());
        Keyed { changes: &self.changes, keyed }
    }
}
