//! `ceph pg dump -f json` in each of its forms: complete, `pgs` alone, or `pg ls`; the size and the devices
//! of each group.

use serde::Deserialize;
use towtank_placement::crush::NONE;
use towtank_placement::crush::pools::PgId;

use super::fields;
use super::osd_df::{DeviceUse, Statistic};
use crate::envelope::{GROUPS_MAX_BYTES, read_json, unpack};
use crate::{File, ImportError, Imported};

/// Groups, and devices if the dump has them.
#[derive(Clone, Debug, PartialEq)]
pub struct PgDump {
    /// False if the manager had not heard from all devices yet; none if the dump does not say.
    pub ready: Option<bool>,
    /// The groups, in the order of the file.
    pub groups: Vec<GroupStat>,
    /// The usage of devices, by id; empty if the dump has only groups.
    pub devices: Vec<DeviceUse>,
    /// When it was made; empty if it does not say.
    pub stamp: String,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct GroupStat {
    /// Its id.
    #[serde(rename = "pgid", deserialize_with = "fields::group")]
    pub group: PgId,
    /// State flags separated by `+`: `active+clean`.
    pub state: String,
    /// Its size.
    #[serde(rename = "stat_sum")]
    pub sum: GroupSum,
    /// The devices where it should be, as the cluster sees it; holes are [`towtank_placement::crush::NONE`].
    #[serde(deserialize_with = "fields::devices")]
    pub up: Vec<i32>,
    /// The devices that serve it.
    #[serde(deserialize_with = "fields::devices")]
    pub acting: Vec<i32>,
    /// The acting primary; below 0 if there is none.
    #[serde(default)]
    pub acting_primary: i64,
    /// Whether its sums are guesses: after a split, until it is scrubbed.
    #[serde(default)]
    pub stats_invalid: bool,
}

/// The size of a group; what is negative in the dump is 0.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "Sums")]
pub struct GroupSum {
    /// Bytes of its objects, without copies.
    pub num_bytes: u64,
    /// Number of objects.
    pub num_objects: u64,
    /// Bytes of the entries of its objects (omap), as counted at the last deep scrub.
    pub num_omap_bytes: u64,
    /// Copies and shards of objects that are missing.
    pub num_objects_degraded: u64,
    /// Copies and shards of objects that are to be elsewhere, and are not there yet.
    pub num_objects_misplaced: u64,
    /// Objects that are found on no device; 4 billion stands for more, so that a group takes less memory.
    pub num_objects_unfound: u32,
    /// Whether some of these are negative in the dump: its statistics are wrong.
    pub is_negative: bool,
}

/// The same as the dump has it.
#[derive(Deserialize)]
struct Sums {
    #[serde(deserialize_with = "fields::sum")]
    num_bytes: i64,
    #[serde(default, deserialize_with = "fields::sum")]
    num_objects: i64,
    #[serde(default, deserialize_with = "fields::sum")]
    num_omap_bytes: i64,
    #[serde(default, deserialize_with = "fields::sum")]
    num_objects_degraded: i64,
    #[serde(default, deserialize_with = "fields::sum")]
    num_objects_misplaced: i64,
    #[serde(default, deserialize_with = "fields::sum")]
    num_objects_unfound: i64,
}

impl From<Sums> for GroupSum {
    fn from(sums: Sums) -> GroupSum {
        let all = [
            sums.num_bytes,
            sums.num_objects,
            sums.num_omap_bytes,
            sums.num_objects_degraded,
            sums.num_objects_misplaced,
            sums.num_objects_unfound,
        ];
        let [num_bytes, num_objects, num_omap_bytes, num_objects_degraded, num_objects_misplaced, unfound] =
            all.map(|sum| u64::try_from(sum).unwrap_or(0));
        let is_negative = all.iter().any(|sum| *sum < 0);
        GroupSum {
            num_bytes,
            num_objects,
            num_omap_bytes,
            num_objects_degraded,
            num_objects_misplaced,
            num_objects_unfound: u32::try_from(unfound).unwrap_or(u32::MAX),
            is_negative,
        }
    }
}

impl GroupSum {
    /// What is copied with it: the bytes of objects and of their entries.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.num_bytes.saturating_add(self.num_omap_bytes)
    }
}

impl GroupStat {
    /// Whether it serves requests by its state, and on no device: the primary of a group that serves is one
    /// of its devices. What nobody has reported for a while may be out of date.
    fn serves_from_nowhere(&self) -> bool {
        self.is("active") && !self.is("stale") && self.acting.iter().all(|device| *device == NONE)
    }

    /// Whether `word` is one of its state flags.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        is_in(&self.state, word)
    }
}

/// Whether `word` is one of the flags of a state such as `active+clean`.
pub(super) fn is_in(state: &str, word: &str) -> bool {
    state.split('+').any(|own| own == word)
}

/// The fields that a dump may have at its top level or below `pg_map`.
#[derive(Deserialize)]
struct Fields {
    pg_ready: Option<bool>,
    pg_map: Option<Inner>,
    pg_stats: Option<Vec<GroupStat>>,
    #[serde(default)]
    osd_stats: Vec<Statistic>,
    #[serde(default)]
    stamp: String,
}

#[derive(Deserialize)]
struct Inner {
    pg_stats: Vec<GroupStat>,
    #[serde(default)]
    osd_stats: Vec<Statistic>,
    #[serde(default)]
    stamp: String,
}

/// Reads the dump.
///
/// # Errors
/// If it is no such dump, or has values that Ceph would not write.
pub fn read_pg_dump(file: File<'_>) -> Result<Imported<PgDump>, ImportError> {
    let bytes = unpack(file, GROUPS_MAX_BYTES)?;
    let hinted = |error: ImportError| match error.hint {
        Some(_) => error,
        None => error.hint("it should be the output of `ceph pg dump -f json`"),
    };
    let is_list = bytes.iter().find(|byte| matches!(byte, b'{' | b'[')) == Some(&b'[');
    if is_list {
        let groups = read_json::<Vec<GroupStat>>(file, &bytes).map_err(hinted)?;
        check(file.name, "", &groups.value)?;
        return Ok(groups.map(|groups| PgDump {
            ready: None,
            groups,
            devices: Vec::new(),
            stamp: String::new(),
        }));
    }
    let Imported { value: fields, notes } = read_json::<Fields>(file, &bytes).map_err(hinted)?;
    let Fields { pg_ready: ready, pg_map, pg_stats, osd_stats, stamp } = fields;
    let (at, groups, devices, stamp) = match (pg_map, pg_stats) {
        (Some(inner), _) => ("pg_map.pg_stats", inner.pg_stats, inner.osd_stats, inner.stamp),
        (None, Some(groups)) => ("pg_stats", groups, osd_stats, stamp),
        (None, None) => {
            return Err(hinted(ImportError::new(file.name, "it has neither `pg_map` nor `pg_stats`")));
        }
    };
    check(file.name, at, &groups)?;
    let devices = devices.iter().map(Statistic::used).collect();
    Ok(Imported { value: PgDump { ready, groups, devices, stamp }, notes })
}

/// Checks what the types of the fields do not; `at` is the place of the groups in the file.
fn check(file: &str, at: &str, groups: &[GroupStat]) -> Result<(), ImportError> {
    let Some((number, stat)) = groups.iter().enumerate().find(|(_, stat)| stat.serves_from_nowhere()) else {
        return Ok(());
    };
    let reason = format!(
        "group {} is `{}` and has no device, but what is active is served by one at least",
        stat.group, stat.state
    );
    Err(ImportError::new(file, reason).key(format!("{at}[{number}].acting")).hint("export it again"))
}
