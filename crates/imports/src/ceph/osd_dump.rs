//! `ceph osd dump -f json`: pools, devices, and the settings that override CRUSH.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use towtank_placement::crush::RuleKind;
use towtank_placement::crush::pools::{Device, Overlay, PgId, Pool};

use super::{POOL_SIZE_MAX, fields, version};
use crate::envelope::{FILE_MAX_BYTES, read_json, unpack};
use crate::moment::nanoseconds_of_any;
use crate::{File, ImportError, Imported};

/// The releases before those that are modelled, the newest first.
const OLDER: [&str; 9] =
    ["nautilus", "mimic", "luminous", "kraken", "jewel", "infernalis", "hammer", "giant", "firefly"];

/// The release of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// It is modelled.
    Known(u32),
    /// It is older than those.
    Older,
    /// Its name is none that is known here: it is newer.
    Newer,
    /// The dump does not say.
    Unnamed,
}

impl Release {
    /// The oldest that is modelled.
    pub const OLDEST: u32 = version::FIRST_NAMED;
    /// The newest that is modelled.
    pub const NEWEST: u32 = Release::OLDEST + version::NAMES.len() as u32 - 1;
}

/// The fields of the osd map needed for placement and capacity.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct OsdDump {
    /// Its epoch.
    #[serde(default)]
    pub epoch: u64,
    /// The id of the cluster.
    #[serde(default)]
    pub fsid: String,
    /// The pools.
    pub pools: Vec<PoolEntry>,
    /// The devices.
    pub osds: Vec<OsdEntry>,
    /// Flags separated by `,`: `noout,sortbitwise`.
    #[serde(default, deserialize_with = "fields::words")]
    flags: Vec<String>,
    /// The same as a list, from 12 on.
    #[serde(default, deserialize_with = "fields::words")]
    flags_set: Vec<String>,
    /// The oldest release that all devices run: `pacific`.
    #[serde(default)]
    require_osd_release: Option<String>,
    /// Fraction of its size above which a device takes no backfill.
    #[serde(default, deserialize_with = "fields::ratio")]
    backfillfull_ratio: Option<f64>,
    /// Fraction of its size above which a device warns.
    #[serde(default, deserialize_with = "fields::ratio")]
    nearfull_ratio: Option<f64>,
    /// Fraction of its size above which a device accepts no writes.
    #[serde(default, deserialize_with = "fields::ratio")]
    full_ratio: Option<f64>,
    #[serde(default)]
    pg_upmap: Vec<WholeMapping>,
    #[serde(default)]
    pg_upmap_items: Vec<Swaps>,
    #[serde(default)]
    pg_temp: Vec<WholeMapping>,
    #[serde(default)]
    primary_temp: Vec<Primary>,
    /// Primaries that the read balancer has set.
    #[serde(default)]
    pg_upmap_primaries: Vec<UpmapPrimary>,
    /// Flags of buckets of the CRUSH map, by their name.
    #[serde(default)]
    crush_node_flags: BTreeMap<String, Vec<String>>,
    /// Flags of device classes, by their name.
    #[serde(default)]
    device_class_flags: BTreeMap<String, Vec<String>>,
    /// When its last change was made.
    #[serde(default)]
    modified: String,
    /// What else is known of devices.
    #[serde(default)]
    osd_xinfo: Vec<Xinfo>,
    #[serde(default)]
    stretch_mode: StretchMode,
    /// Profiles of erasure-coded pools by name, each a table of strings.
    #[serde(default)]
    pub erasure_code_profiles: BTreeMap<String, BTreeMap<String, String>>,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PoolEntry {
    /// Its id.
    #[serde(rename = "pool")]
    pub id: i64,
    /// Its name.
    #[serde(rename = "pool_name")]
    pub name: String,
    #[serde(rename = "type")]
    kind: u8,
    /// Copies, or data and parity shards together.
    pub size: u32,
    /// With fewer copies or shards, groups accept no writes.
    #[serde(default)]
    pub min_size: Option<u32>,
    /// The id of its rule.
    pub crush_rule: u32,
    /// Number of groups.
    pub pg_num: u32,
    /// Number of groups that CRUSH distinguishes.
    #[serde(rename = "pg_placement_num")]
    pub pgp_num: u32,
    /// The target of a change of `pg_num`.
    #[serde(default)]
    pub pg_num_target: Option<u32>,
    /// The target of a change of `pgp_num`.
    #[serde(default, rename = "pg_placement_num_target")]
    pub pgp_num_target: Option<u32>,
    #[serde(default)]
    flags: u64,
    /// Names of flags separated by `,`: `hashpspool,bulk`.
    #[serde(default, deserialize_with = "fields::words")]
    flags_names: Vec<String>,
    /// The profile of an erasure-coded pool.
    #[serde(default)]
    pub erasure_code_profile: String,
    /// The pool that this one is a cache of; below 0 if there is none.
    #[serde(default)]
    tier_of: Option<i64>,
    /// The pools that are caches of this one.
    #[serde(default)]
    tiers: Vec<i64>,
    #[serde(default)]
    pg_autoscale_mode: String,
    #[serde(default)]
    options: PoolOptions,
}

/// Options of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
struct PoolOptions {
    #[serde(default)]
    target_size_ratio: Option<f64>,
    #[serde(default)]
    target_size_bytes: Option<f64>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OsdEntry {
    /// Its id.
    #[serde(rename = "osd", deserialize_with = "fields::device")]
    pub id: i32,
    /// Whether it is up.
    #[serde(deserialize_with = "fields::flag")]
    pub up: bool,
    /// Its reweight, in 16.16 fixed point.
    #[serde(deserialize_with = "fields::share")]
    pub weight: u32,
    /// The epoch in which it came up last; 0 where the dump does not say.
    #[serde(default)]
    pub up_from: u64,
    /// Its primary affinity, in 16.16 fixed point.
    #[serde(default = "fields::full", deserialize_with = "fields::share")]
    pub primary_affinity: u32,
    /// Words such as `exists`, `up` and `noout`.
    #[serde(default)]
    pub state: Vec<String>,
}

/// What else is known of a device.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Xinfo {
    #[serde(deserialize_with = "fields::device")]
    osd: i32,
    /// When it was last marked down.
    #[serde(default)]
    down_stamp: String,
}

/// Two sites that hold the same data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
struct StretchMode {
    #[serde(default)]
    stretch_mode_enabled: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct WholeMapping {
    #[serde(rename = "pgid", deserialize_with = "fields::group")]
    group: PgId,
    #[serde(deserialize_with = "fields::devices")]
    osds: Vec<i32>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Swaps {
    #[serde(rename = "pgid", deserialize_with = "fields::group")]
    group: PgId,
    mappings: Vec<Swap>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
struct Swap {
    #[serde(deserialize_with = "fields::device")]
    from: i32,
    #[serde(deserialize_with = "fields::device")]
    to: i32,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Primary {
    #[serde(rename = "pgid", deserialize_with = "fields::group")]
    group: PgId,
    #[serde(deserialize_with = "fields::device")]
    osd: i32,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct UpmapPrimary {
    #[serde(rename = "pgid", deserialize_with = "fields::group")]
    group: PgId,
    #[serde(rename = "primary_osd", deserialize_with = "fields::device")]
    osd: i32,
}

/// The flag of pools whose id is hashed into the input of CRUSH.
const HASHPSPOOL: u64 = 1;

/// Reads the dump.
///
/// # Errors
/// If it is no such dump, or has values that Ceph would not write.
pub fn read_osd_dump(file: File<'_>) -> Result<Imported<OsdDump>, ImportError> {
    let bytes = unpack(file, FILE_MAX_BYTES)?;
    let read = read_json::<OsdDump>(file, &bytes).map_err(|error| match error.hint {
        Some(_) => error,
        None => error.hint("it should be the output of `ceph osd dump -f json`"),
    })?;
    read.value.check(file.name, "")?;
    Ok(read)
}

impl OsdDump {
    /// Checks what the types of the fields do not. `prefix` is where in the file the dump begins.
    pub(super) fn check(&self, file: &str, prefix: &str) -> Result<(), ImportError> {
        let mut seen = BTreeMap::new();
        for (at, pool) in self.pools.iter().enumerate() {
            let wrong = |key: &str, reason: String| {
                Err(ImportError::new(file, reason).key(format!("{prefix}pools[{at}].{key}")))
            };
            if !matches!(pool.kind, 1 | 3) {
                return wrong(
                    "type",
                    format!("{} is not a pool type; 1 is replicated and 3 erasure-coded", pool.kind),
                );
            }
            if !(1..=POOL_SIZE_MAX).contains(&pool.size) {
                return wrong(
                    "size",
                    format!("{} is not a pool size; sizes go from 1 to {POOL_SIZE_MAX}", pool.size),
                );
            }
            if pool.pg_num == 0 {
                return wrong("pg_num", "it is 0, but a pool has at least 1 placement group".to_owned());
            }
            if !(1..=pool.pg_num).contains(&pool.pgp_num) {
                let reason =
                    format!("{} is not between 1 and `pg_num`, which is {}", pool.pgp_num, pool.pg_num);
                return wrong("pg_placement_num", reason);
            }
            if let Some(first) = seen.insert(pool.id, at) {
                return wrong("pool", format!("{} is also the id of `{prefix}pools[{first}]`", pool.id));
            }
        }
        let mut seen = BTreeMap::new();
        for (at, device) in self.osds.iter().enumerate() {
            if let Some(first) = seen.insert(device.id, at) {
                let reason = format!("{} is also the id of `{prefix}osds[{first}]`", device.id);
                return Err(ImportError::new(file, reason).key(format!("{prefix}osds[{at}].osd")));
            }
        }
        Ok(())
    }

    /// Devices and overrides of CRUSH, in the form that placement needs.
    #[must_use]
    pub fn overlay(&self) -> Overlay {
        let ids = self.osds.iter().map(|device| device.id as usize + 1).max().unwrap_or(0);
        let mut devices = vec![Device::ABSENT; ids];
        for entry in &self.osds {
            let OsdEntry { id, up, weight, primary_affinity, .. } = *entry;
            devices[id as usize] = Device { exists: true, up, weight, primary_affinity };
        }
        let whole = |mappings: &[WholeMapping]| {
            mappings.iter().map(|mapping| (mapping.group, mapping.osds.clone())).collect()
        };
        let swaps = |swaps: &Swaps| swaps.mappings.iter().map(|swap| (swap.from, swap.to)).collect();
        Overlay {
            devices,
            upmap: whole(&self.pg_upmap),
            upmap_items: self.pg_upmap_items.iter().map(|entry| (entry.group, swaps(entry))).collect(),
            pg_temp: whole(&self.pg_temp),
            primary_temp: self.primary_temp.iter().map(|entry| (entry.group, entry.osd)).collect(),
            upmap_primary: self.pg_upmap_primaries.iter().map(|entry| (entry.group, entry.osd)).collect(),
        }
    }

    /// The oldest release that devices may run.
    #[must_use]
    pub fn release(&self) -> Release {
        let Some(name) = self.release_name() else { return Release::Unnamed };
        match version::of_name(name) {
            Some(number) => Release::Known(number),
            None if OLDER.contains(&name) => Release::Older,
            None => Release::Newer,
        }
    }

    /// The name of the oldest release that devices may run, where the dump says it: Ceph writes `unknown` if
    /// no release was ever required.
    #[must_use]
    pub fn release_name(&self) -> Option<&str> {
        self.require_osd_release.as_deref().filter(|name| !name.is_empty() && *name != "unknown")
    }

    /// The flags of the whole map, such as `noout`.
    pub fn flags(&self) -> impl Iterator<Item = &str> {
        let more = self.flags_set.iter().filter(|flag| !self.flags.contains(flag));
        self.flags.iter().chain(more).map(String::as_str)
    }

    /// Flags of single devices, of buckets and of device classes: the kind of thing, its name, and the flag.
    #[must_use]
    pub fn flags_of_parts(&self) -> Vec<(Part, String, &str)> {
        let of_devices = self.osds.iter().flat_map(|osd| {
            let words = osd.state.iter().filter(|word| PART_FLAGS.contains(&word.as_str()));
            words.map(|word| (Part::Device, format!("osd.{}", osd.id), word.as_str()))
        });
        let of_buckets = self
            .crush_node_flags
            .iter()
            .flat_map(|(name, flags)| flags.iter().map(|flag| (Part::Bucket, name.clone(), flag.as_str())));
        let of_classes = self
            .device_class_flags
            .iter()
            .flat_map(|(name, flags)| flags.iter().map(|flag| (Part::Class, name.clone(), flag.as_str())));
        of_devices.chain(of_buckets).chain(of_classes).collect()
    }

    /// For how many seconds devices have been down that are: at a moment, such as that of a report, or at
    /// least until the last change of the map.
    #[must_use]
    pub fn down_for(&self, moment: Option<&str>) -> BTreeMap<i32, u64> {
        let moments = [moment.unwrap_or_default(), &self.modified];
        let Some(now) = moments.iter().filter_map(|text| nanoseconds_of_any(text)).max() else {
            return BTreeMap::new();
        };
        let down: BTreeSet<i32> = self.osds.iter().filter(|osd| !osd.up).map(|osd| osd.id).collect();
        let of = |own: &Xinfo| {
            let since = nanoseconds_of_any(&own.down_stamp)?;
            Some((own.osd, u64::try_from((now - since) / 1_000_000_000).ok()?))
        };
        self.osd_xinfo.iter().filter(|own| down.contains(&own.osd)).filter_map(of).collect()
    }

    /// By how many seconds the map is newer than what was made at a moment, such as a dump of groups; none if
    /// it is not, or one of them does not say.
    #[must_use]
    pub fn newer_than(&self, moment: &str) -> Option<u64> {
        let (moment, changed) = (nanoseconds_of_any(moment)?, nanoseconds_of_any(&self.modified)?);
        u64::try_from((changed - moment) / 1_000_000_000).ok().filter(|seconds| *seconds > 0)
    }

    /// Whether two sites hold the same data, each by itself.
    #[must_use]
    pub fn is_stretched(&self) -> bool {
        self.stretch_mode.stretch_mode_enabled
    }

    /// The fraction of its size above which a device takes no backfill, if the dump gives one from 0 to 1.
    #[must_use]
    pub fn backfillfull_ratio(&self) -> Option<f64> {
        self.backfillfull_ratio
    }

    /// The fraction of its size above which a device warns, if the dump gives one from 0 to 1.
    #[must_use]
    pub fn nearfull_ratio(&self) -> Option<f64> {
        self.nearfull_ratio
    }

    /// The fraction of its size above which a device accepts no writes, if the dump gives one from 0 to 1.
    #[must_use]
    pub fn full_ratio(&self) -> Option<f64> {
        self.full_ratio
    }

    /// The plugin of a profile, such as `jerasure`; none if the dump does not say.
    #[must_use]
    pub fn plugin(&self, profile: &str) -> Option<&str> {
        self.erasure_code_profiles.get(profile)?.get("plugin").map(String::as_str)
    }

    /// The number of data shards of a profile.
    #[must_use]
    pub fn data_shards(&self, profile: &str) -> Option<u32> {
        self.erasure_code_profiles.get(profile)?.get("k")?.parse().ok().filter(|&shards| shards > 0)
    }
}

/// What a flag is set on that is not set on the whole map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A device.
    Device,
    /// A bucket of the CRUSH map.
    Bucket,
    /// A device class.
    Class,
}

/// The flags that single devices can have.
const PART_FLAGS: [&str; 4] = ["noup", "nodown", "noin", "noout"];

impl PoolEntry {
    /// Whether it has a flag such as `bulk`.
    #[must_use]
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags_names.iter().any(|own| own == flag)
    }

    /// The names of its flags.
    pub fn flags(&self) -> impl Iterator<Item = &str> {
        self.flags_names.iter().map(String::as_str)
    }

    /// Whether it is a cache of another pool, or has one.
    #[must_use]
    pub fn is_tiered(&self) -> bool {
        self.tier_of.is_some_and(|pool| pool >= 0) || !self.tiers.is_empty()
    }

    /// Whether the autoscaler changes its number of groups by itself.
    #[must_use]
    pub fn is_scaled(&self) -> bool {
        self.pg_autoscale_mode == "on"
    }

    /// Whether the autoscaler is told how large it will be.
    #[must_use]
    pub fn has_target_size(&self) -> bool {
        let PoolOptions { target_size_ratio, target_size_bytes } = self.options;
        [target_size_ratio, target_size_bytes].iter().flatten().any(|target| *target > 0.0)
    }

    /// Replicated or erasure-coded.
    #[must_use]
    pub fn kind(&self) -> RuleKind {
        RuleKind::from_number(self.kind)
    }

    /// The pool in the form that placement needs.
    #[must_use]
    pub fn placed(&self) -> Pool {
        Pool {
            id: self.id,
            kind: self.kind(),
            size: self.size,
            rule: self.crush_rule,
            pg_num: self.pg_num,
            pgp_num: self.pgp_num,
            hashpspool: self.flags & HASHPSPOOL != 0,
        }
    }
}
