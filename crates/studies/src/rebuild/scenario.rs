//! The keys of a scenario of a rebuild.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_placement::algorithms::Algorithm;
use towtank_rebuild::ledger::{Gather, Source};
use towtank_rebuild::placing::{Domain, LostSet};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use super::population::PopulationSpec;

/// A cluster, what it holds, what fails, and how the lost copies are made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where defaults come from: the published study, or Ceph up to 16 as it is shipped.
    #[serde(default)]
    pub preset: Preset,
    /// A real cluster's CRUSH map, as text, binary, or JSON of `ceph osd crush dump`, in place of a generated
    /// one. Left out: that of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-aliases" = ["ceph_map"]))]
    pub crush_map: Option<String>,
    /// What `ceph osd dump -f json` printed. Left out: that of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-aliases" = ["ceph_dump"]))]
    pub osd_dump: Option<String>,
    /// What `ceph pg dump -f json` printed. Left out: groups of equal size, from the sums of `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pg_dump: Option<String>,
    /// What `ceph osd df -f json` printed, for the fill of devices. Left out: as `pg_dump` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub osd_df: Option<String>,
    /// What `ceph report` printed, in place of single dumps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// Servers.
    #[serde(default = "servers")]
    #[schemars(range(min = 2, max = 16_384))]
    pub servers: u32,
    /// Racks, in which servers are numbered one after the other; copies of an object lie in different ones
    /// where `failure_domain` is `rack`.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4_096))]
    pub racks: u32,
    /// Disks of a server, which share what it holds.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 128))]
    pub disks_per_server: u32,
    /// What a server holds, all copies counted. Left out: 60 TiB, unless `objects` says how much there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_server: Option<Bytes>,
    /// How many objects there are, in place of `per_server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub objects: Option<u64>,
    /// What the data are.
    #[serde(default)]
    pub population: PopulationSpec,
    /// How objects, or groups of them, find their servers.
    #[serde(default = "vring")]
    pub placement: Algorithm,
    /// Virtual nodes of a server, for rings.
    #[serde(default = "vnodes")]
    #[schemars(range(min = 1, max = 65_536))]
    pub vnodes: u32,
    /// Placement groups: objects of one group lie on the same servers. Left out, or 0: each object is placed
    /// by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 4_194_304))]
    pub groups: Option<u32>,
    /// Copies or shards of groups on a server, in place of `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub groups_per_server: Option<u32>,
    /// What copies of an object must not share.
    #[serde(default)]
    pub failure_domain: Domain,
    /// Copies of an object.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: u32,
    /// Erasure coding in place of copies: `8+3` cuts an object into 8 shards and adds 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ec: Option<String>,
    /// What fails, and when: `server`, `disk`, `rack` draw one; `server=5`, `osd.3`, `rack=1`, `host=node7`
    /// name one; `@30s` behind it says when.
    #[serde(default)]
    pub fail: FailWords,
    /// How lost objects are found: by asking every object, or drawn from the exact distribution where
    /// placement has no inverse.
    #[serde(default)]
    pub lost_set: LostSet,
    /// Bytes a disk reads in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_read: Option<Rate>,
    /// Bytes a disk writes in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_write: Option<Rate>,
    /// Bytes a disk holds. Left out: as many as come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_capacity: Option<Bytes>,
    /// What moving a disk's head costs: the published table, a usual 7,200 rpm disk, or nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeks: Option<Seeks>,
    /// How much of an object one seek is good for, however many objects are in work: what read-ahead and
    /// write-back gather.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seek_extent: Option<Bytes>,
    /// A server's card, each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<Rate>,
    /// From one card to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<SimSpan>,
    /// A rack's uplink, each way. Left out: never the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Rate>,
    /// The most one object's rebuild moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<Rate>,
    /// The most one disk's rebuilds move together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_cap: Option<Rate>,
    /// Objects go in units of this size.
    #[serde(default = "unit")]
    pub unit: Bytes,
    /// Units of an object under way at once.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 16))]
    pub window: u32,
    /// Objects that a disk's rebuilds work on at once: Ceph's `osd_recovery_max_active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_024))]
    pub recovery_max_active: Option<u32>,
    /// Groups that a disk leads at once, and as many again that it takes in. 0: no reservations. Only for
    /// groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_024))]
    pub max_backfills: Option<u32>,
    /// How long a disk's rebuilds rest after each object: Ceph's `osd_recovery_sleep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_sleep: Option<SimSpan>,
    /// Operations of clients in a second, in the whole cluster, while it rebuilds. Left out: nobody else uses
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_load: Option<Frequency>,
    /// Which share of them reads. Left out: 70%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_read: Option<Percent>,
    /// Bytes of each. Left out: 64KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_size: Option<Bytes>,
    /// How much of a busy disk or link is clients', against one for the rebuild. Left out: 1; with `preset =
    /// "ceph-wpq"` 21, as its priorities of 63 and 3 have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub client_weight: Option<u32>,
    /// Which copy is read.
    #[serde(default)]
    pub source: Source,
    /// Where shards are gathered and decoded.
    #[serde(default)]
    pub gather: Gather,
    /// From a failure until the cluster knows of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<SimSpan>,
    /// From then on until what failed is given up and its data are made again elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_out: Option<SimSpan>,
    /// What failed is never given up: nothing is made again.
    #[serde(default)]
    pub noout: bool,
    /// Whether a whole rack is given up too; Ceph by default does not (`mon_osd_down_out_subtree_limit`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_out: Option<bool>,
    /// No disk takes anything in beyond this share of its capacity.
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

/// What fails: one text, or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FailWords {
    /// One.
    One(String),
    /// Any number.
    Many(Vec<String>),
}

impl Default for FailWords {
    fn default() -> FailWords {
        FailWords::One("server".to_owned())
    }
}

impl FailWords {
    pub(super) fn all(&self) -> &[String] {
        match self {
            FailWords::One(text) => std::slice::from_ref(text),
            FailWords::Many(texts) => texts,
        }
    }
}

/// Where defaults come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The published study: its disks and network, no reservations, no rests, no waiting.
    #[default]
    Paper,
    /// Ceph up to 16 as it is shipped, with its queue WPQ, on rotating disks: one backfill a disk, three
    /// objects, a rest of 0.1 s, ten minutes until out. mClock, which paces recovery from 17 on, is not
    /// modelled.
    CephWpq,
    /// The same as ceph-wpq.
    Ceph,
}

/// What moving a disk's head costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Seeks {
    /// The table of a JBOD that CODES' guide prints.
    Jbod,
    /// 8 ms before a read and 4 ms before a write, as data sheets of 7,200 rpm disks have it.
    Hdd,
    /// Flash: nothing.
    None,
}

impl Scenario {
    /// Whether the cluster comes from exports of a real one.
    #[must_use]
    pub fn is_real(&self) -> bool {
        let files = [&self.crush_map, &self.osd_dump, &self.pg_dump, &self.osd_df, &self.report];
        files.into_iter().any(Option::is_some)
    }
}
