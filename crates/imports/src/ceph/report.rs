//! `ceph report`: one file with the osd map, the CRUSH map, sums per pool and the sizes of devices, but
//! without the groups and the usage of single devices.

use serde::Deserialize;

use towtank_placement::crush::Map;

use super::crush_dump::CrushDump;
use super::fields;
use super::osd_dump::OsdDump;
use super::pg_dump::{GroupSum, is_in};
use super::version::Version;
use crate::envelope::{FILE_MAX_BYTES, read_json, unpack};
use crate::{File, ImportError, Imported};

/// The parts of a report needed for placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The CRUSH map.
    pub map: Map,
    /// The osd map.
    pub osd_dump: OsdDump,
    /// Bytes and objects of each pool, by its id.
    pub pools: Vec<(i64, GroupSum)>,
    /// The medium of each device, if its daemon reports it.
    pub media: Vec<(i32, Medium)>,
    /// The size in bytes of each device, if its daemon reports it.
    pub sizes: Vec<(i32, u64)>,
    /// Bytes used on all devices together, if the report says so.
    pub used: Option<UsedSum>,
    /// States of groups, and how many groups are in each.
    pub states: Vec<GroupsInState>,
    /// The number of groups that each device serves; empty if the report does not say.
    pub served: Vec<Served>,
    /// The versions of the daemons of devices, in ascending order, each once; that of the monitor if no
    /// daemon says its own. Empty if neither is known.
    pub versions: Vec<Version>,
    /// When it was made; empty if it does not say.
    pub timestamp: String,
}

/// How many groups a device serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Served {
    /// Its id; of the places without a device, [`towtank_placement::crush::NONE`].
    #[serde(rename = "osd")]
    pub id: i64,
    /// Number of groups.
    #[serde(rename = "num_acting_pg")]
    pub groups: u64,
}

/// Bytes used on all devices together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedSum {
    /// By the data of objects.
    pub data_bytes: u64,
    /// By the databases and journals of the daemons.
    pub meta_bytes: u64,
}

/// Groups in one state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GroupsInState {
    /// The state, such as `active+clean`.
    pub state: String,
    /// Number of groups.
    #[serde(rename = "num")]
    pub groups: u64,
}

impl GroupsInState {
    /// Whether `word` is one of the state's flags.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        is_in(&self.state, word)
    }
}

/// The medium of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A rotating disk.
    Hdd,
    /// A rotating disk with its journal and metadata on flash.
    Hybrid,
    /// Flash.
    Ssd,
    /// Flash behind NVMe.
    Nvme,
}

impl Medium {
    /// The device class that Ceph assigns by default; `hybrid` for a disk with metadata on flash, which Ceph
    /// counts among `hdd`.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Medium::Hdd => "hdd",
            Medium::Hybrid => "hybrid",
            Medium::Ssd => "ssd",
            Medium::Nvme => "nvme",
        }
    }
}

/// An entry of `osd_metadata`: values are texts.
#[derive(Deserialize)]
struct Metadata {
    id: i32,
    /// `1` or `0`: of the data device.
    #[serde(default)]
    rotational: Option<String>,
    /// The same of the device with the write-ahead log.
    #[serde(default)]
    journal_rotational: Option<String>,
    /// Names of the block devices, such as `sda` or `nvme0n1`.
    #[serde(default)]
    devices: Option<String>,
    /// Bytes of the data device.
    #[serde(default)]
    bluestore_bdev_size: Option<String>,
    /// The version of the daemon: `ceph version 18.2.0 (5dd2413) reef (stable)`.
    #[serde(default)]
    ceph_version: Option<String>,
}

impl Metadata {
    fn medium(&self) -> Option<(i32, Medium)> {
        let nvme = self.devices.as_ref().is_some_and(|names| names.contains("nvme"));
        let medium = match self.rotational.as_deref()? {
            "1" if self.journal_rotational.as_deref() == Some("0") => Medium::Hybrid,
            "1" => Medium::Hdd,
            "0" if nvme => Medium::Nvme,
            "0" => Medium::Ssd,
            _ => return None,
        };
        Some((self.id, medium))
    }

    fn size(&self) -> Option<(i32, u64)> {
        let bytes = self.bluestore_bdev_size.as_ref()?.parse().ok().filter(|bytes| *bytes > 0)?;
        Some((self.id, bytes))
    }
}

/// `osd_sum`: sums over all devices.
#[derive(Deserialize)]
struct DeviceSum {
    #[serde(default, deserialize_with = "fields::count")]
    kb_used: u64,
    #[serde(default, deserialize_with = "fields::count")]
    kb_used_data: u64,
    #[serde(default, deserialize_with = "fields::count")]
    kb_used_omap: u64,
}

impl DeviceSum {
    /// Releases before Nautilus do not say what is data.
    fn used(&self) -> Option<UsedSum> {
        let bytes = |kb: u64| kb.saturating_mul(1024);
        let data = bytes(self.kb_used_data.saturating_add(self.kb_used_omap));
        let all = bytes(self.kb_used);
        (data > 0 && data <= all).then(|| UsedSum { data_bytes: data, meta_bytes: all - data })
    }
}

/// The versions of the daemons of devices, or else that of the monitor.
fn versions(of_monitor: Option<&str>, devices: &[Metadata]) -> Vec<Version> {
    let of_devices = devices.iter().filter_map(|device| Version::in_text(device.ceph_version.as_deref()?));
    let mut found: Vec<Version> = of_devices.collect();
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        found.extend(of_monitor.and_then(Version::in_text));
    }
    found
}

/// Says which daemons of devices have a version that cannot be read, or none though others have one.
fn unread_versions(file: &str, devices: &[Metadata]) -> Option<String> {
    let some_have = devices.iter().any(|device| device.ceph_version.is_some());
    let is_unread = |device: &&Metadata| match &device.ceph_version {
        Some(text) => Version::in_text(text).is_none(),
        None => some_have && device.bluestore_bdev_size.is_some(),
    };
    let unread: Vec<&Metadata> = devices.iter().filter(is_unread).collect();
    let first = unread.first()?;
    let of_first = first.ceph_version.as_deref().unwrap_or("nothing").trim();
    let rest = match unread.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    Some(format!(
        "`{file}` has no version of Ceph that can be read for osd.{}{rest} (`{of_first}`): the release is that of the other          daemons, or the one that the osd map requires",
        first.id
    ))
}

#[derive(Deserialize)]
struct Fields {
    /// That of the monitor.
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    timestamp: String,
    osdmap: OsdDump,
    crushmap: CrushDump,
    pool_stats: Vec<PoolStatistic>,
    #[serde(default)]
    osd_metadata: Vec<Metadata>,
    #[serde(default)]
    osd_sum: Option<DeviceSum>,
    #[serde(default)]
    num_pg_by_state: Vec<GroupsInState>,
    #[serde(default)]
    num_pg_by_osd: Vec<Served>,
}

#[derive(Deserialize)]
struct PoolStatistic {
    poolid: i64,
    stat_sum: GroupSum,
}

/// Reads the report.
///
/// # Errors
/// If it is no report, or has values that Ceph would not write.
pub fn read_report(file: File<'_>) -> Result<Imported<Report>, ImportError> {
    let bytes = unpack(file, FILE_MAX_BYTES)?;
    let Imported { value: fields, mut notes } =
        read_json::<Fields>(file, &bytes).map_err(|error| match error.hint {
            Some(_) => error,
            None => error.hint("it should be the output of `ceph report`"),
        })?;
    fields.osdmap.check(file.name, "osdmap.")?;
    notes.extend(unread_versions(file.name, &fields.osd_metadata));
    let value = Report {
        map: fields.crushmap.map(file.name, "crushmap.")?,
        osd_dump: fields.osdmap,
        media: fields.osd_metadata.iter().filter_map(Metadata::medium).collect(),
        sizes: fields.osd_metadata.iter().filter_map(Metadata::size).collect(),
        used: fields.osd_sum.as_ref().and_then(DeviceSum::used),
        states: fields.num_pg_by_state,
        timestamp: fields.timestamp,
        served: fields.num_pg_by_osd,
        versions: versions(fields.version.as_deref(), &fields.osd_metadata),
        pools: fields.pool_stats.iter().map(|pool| (pool.poolid, pool.stat_sum)).collect(),
    };
    Ok(Imported { value, notes })
}
