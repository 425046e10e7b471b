//! Joins the exports of a cluster. Mismatches between them give warnings, or errors where no correct result
//! is possible.

use std::collections::{BTreeMap, BTreeSet};

use towtank_imports::ceph::{
    DeviceUse, GroupStat, GroupSum, Medium, OsdDump, PgDump, PoolEntry, Report, Version,
};
use towtank_placement::crush::pools::{Device, PgId};
use towtank_placement::crush::{Map, MsrFault, NONE, RuleKind};
use towtank_report::{Severity, Warning, human};
use towtank_units::Bytes;

use crate::cluster::{Cluster, Group, PoolState, Stated};
use crate::doubts;
use crate::rule::{rule_name, rules_of};
use crate::states::{self, GroupStates};
use crate::tree::device_list;
use crate::underway;
use crate::usage;

/// The most groups accepted: the largest known clusters have some 300,000.
pub const GROUPS_MAX: u64 = 1 << 22;

/// An export, and the file that it came from.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// Its content.
    pub value: T,
    /// Its name in messages.
    pub file: String,
}

/// The exports of one cluster.
#[derive(Clone, Debug)]
pub struct Exports<'a> {
    /// The CRUSH map.
    pub map: Named<Map>,
    /// `ceph osd dump`.
    pub osd_dump: Named<OsdDump>,
    /// `ceph pg dump`.
    pub pg_dump: Option<Named<PgDump>>,
    /// `ceph report`, for the sizes of pools if there is no `pg dump`.
    pub report: Option<&'a Report>,
    /// Its name in messages.
    pub report_file: &'a str,
    /// `ceph osd df`.
    pub fill: Option<Named<Vec<DeviceUse>>>,
    /// States of groups to warn about, each with its effect on the caller's result.
    pub states: &'a [(&'a str, &'a str)],
}

/// Exports that may be at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// `ceph osd dump`.
    OsdDump,
    /// `ceph pg dump`.
    PgDump,
}

/// The cluster, and what the user must know about it.
pub struct Joined {
    /// The state.
    pub cluster: Cluster,
    /// Warnings, as sentences.
    pub warnings: Vec<Warning>,
    /// The osd dump itself, for what placement does not need.
    pub osd_dump: OsdDump,
    /// The medium of each device by its id, if the report has it.
    pub media: BTreeMap<i32, Medium>,
    /// What the exports say of the states of groups.
    pub states: GroupStates,
    /// The versions of the daemons, in ascending order, if the report has them.
    pub versions: Vec<Version>,
    /// For how many seconds devices have been down that are, at least, as far as the exports say.
    pub down_for: BTreeMap<i32, u64>,
}

/// Why exports could not be joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// More groups than are accepted.
    #[error("`{file}`: the pools have {groups} groups, more than the {GROUPS_MAX} that are placed")]
    TooManyGroups {
        /// The osd dump.
        file: String,
        /// Number of groups.
        groups: u64,
    },
    /// A pool's rule is not in the map.
    #[error("`{file}`: `pools[{at}].crush_rule`: pool `{pool}` has rule {rule}, which `{map}` lacks")]
    NoRule {
        /// The osd dump.
        file: String,
        /// Index of the pool in the dump.
        at: usize,
        /// Name of the pool.
        pool: String,
        /// The rule.
        rule: u32,
        /// The map's file.
        map: String,
        /// The rules of the map.
        rules: Vec<String>,
    },
    /// A pool's multi-step-retry rule can find no device.
    #[error(
        "`{file}`: `pools[{at}].crush_rule`: pool `{pool}` has rule `{rule}`, which finds no device: {fault}"
    )]
    NoForm {
        /// The osd dump.
        file: String,
        /// Index of the pool in the dump.
        at: usize,
        /// Name of the pool.
        pool: String,
        /// Name of the rule.
        rule: String,
        /// Why not.
        fault: MsrFault,
    },
    /// A pool's profile does not give the number of data shards.
    #[error(
        "`{file}`: `pools[{at}].erasure_code_profile`: pool `{pool}` has profile `{profile}`, but `erasure_code_profiles` \
         has no `k` for it"
    )]
    NoProfile {
        /// The osd dump.
        file: String,
        /// Index of the pool in the dump.
        at: usize,
        /// Name of the pool.
        pool: String,
        /// The profile.
        profile: String,
    },
    /// The dump of groups was made too early and is empty.
    #[error("{}", not_ready(.file))]
    NotReady {
        /// The dump of groups.
        file: String,
    },
    /// A group is listed twice.
    #[error("`{file}`: group {group} is listed twice")]
    Twice {
        /// The dump of groups.
        file: String,
        /// The group.
        group: PgId,
    },
    /// A group has more devices than its pool asks for.
    #[error(
        "`{file}`: `{key}` of group {group} has {devices} devices, more than the {size} of pool `{pool}` (`size`)"
    )]
    TooMany {
        /// The dump of groups.
        file: String,
        /// The group.
        group: PgId,
        /// `up` or `acting`.
        key: &'static str,
        /// So many are in it.
        devices: usize,
        /// Its pool.
        pool: String,
        /// The size of the pool.
        size: u32,
    },
    /// A group has a device twice.
    #[error("`{file}`: `{key}` of group {group} has osd.{device} twice, and a group has each device once")]
    DeviceTwice {
        /// The dump of groups.
        file: String,
        /// The group.
        group: PgId,
        /// `up` or `acting`.
        key: &'static str,
        /// The device.
        device: i32,
    },
    /// A group has a device that the osd dump lacks.
    #[error("`{file}`: `{key}` of group {group} has osd.{device}, which `{dump}` lacks")]
    NoDevice {
        /// The dump of groups.
        file: String,
        /// The group.
        group: PgId,
        /// `up` or `acting`.
        key: &'static str,
        /// The device.
        device: i32,
        /// The osd dump.
        dump: String,
    },
    /// No export gives the sizes of groups.
    #[error("there is neither a dump of groups nor a report")]
    NoGroups,
}

fn not_ready(file: &str) -> String {
    format!("`{file}`: `pg_ready`: the manager had not heard from every device when it was made")
}

impl JoinError {
    /// The export at fault.
    #[must_use]
    pub fn export(&self) -> Export {
        match self {
            Self::TooManyGroups { .. }
            | Self::NoRule { .. }
            | Self::NoForm { .. }
            | Self::NoProfile { .. } => Export::OsdDump,
            Self::NotReady { .. }
            | Self::Twice { .. }
            | Self::TooMany { .. }
            | Self::DeviceTwice { .. }
            | Self::NoDevice { .. }
            | Self::NoGroups => Export::PgDump,
        }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::TooManyGroups { .. } => "check `pg_num` of its pools".to_owned(),
            Self::NoRule { rules, .. } => {
                format!("export both at the same time; the rules of the map are {}", rules.join(", "))
            }
            Self::NoForm { .. } => "give the pool another rule, or correct this one".to_owned(),
            Self::NoProfile { .. } => "export it again, in full: shards are 1/k of the data".to_owned(),
            Self::NotReady { .. } => {
                "wait until `ceph pg dump -f json` says \"pg_ready\": true, and export it again".to_owned()
            }
            Self::Twice { .. } | Self::DeviceTwice { .. } => "export it again".to_owned(),
            Self::TooMany { .. } | Self::NoDevice { .. } => {
                "export both at the same time: `ceph osd dump -f json` and `ceph pg dump -f json`".to_owned()
            }
            Self::NoGroups => "export it with `ceph pg dump -f json`".to_owned(),
        }
    }
}

/// Joins exports.
///
/// # Errors
/// All errors in the pools, or else the first one in the groups.
pub fn join(exports: Exports<'_>) -> Result<Joined, Vec<JoinError>> {
    let Exports { map, osd_dump, pg_dump, report, report_file, fill, states: named } = exports;
    let pools = pools_of(&osd_dump, &map)?;
    let mut warnings = Vec::new();
    let overlay = osd_dump.value.overlay();
    let mut cluster = Cluster { map: map.value, overlay, pools, fill: BTreeMap::new() };
    note_devices(&cluster, &map.file, &osd_dump.file, &mut warnings);
    warnings.extend(doubts::of_dump(&osd_dump.value, &osd_dump.file));
    let mut stated = Vec::new();
    let (group_states, (made, made_in)) = match (pg_dump, report) {
        (Some(Named { value: dump, file }), _) => {
            take_groups(&mut cluster, &dump, (&file, &osd_dump.file), &mut warnings)
                .map_err(|error| vec![error])?;
            note_negative(&dump, &file, &mut warnings);
            warnings.extend(doubts::of_groups(&dump, &file));
            let count = |word: &str| dump.groups.iter().filter(|stat| stat.is(word)).count() as u64;
            note_states(&count, (dump.groups.len() as u64, &file), named, &mut warnings);
            note_entries(dump.groups.iter().map(|stat| stat.sum), &mut warnings);
            let group_states = GroupStates::of_dump(&cluster, &dump);
            let groups = cluster.pools.iter_mut().flat_map(|pool| &mut pool.groups);
            groups.filter(|group| group.stated.is_none()).for_each(|group| {
                group.stated = Some(Stated { unknown: true, ..Stated::default() });
            });
            cluster.settle();
            stated = dump.devices;
            (group_states, (dump.stamp, file))
        }
        (None, Some(report)) => {
            share_sums(&mut cluster, report);
            let count = |word: &str| report.states.iter().filter(|of| of.is(word)).map(|of| of.groups).sum();
            let all = report.states.iter().map(|of| of.groups).sum();
            note_states(&count, (all, report_file), named, &mut warnings);
            note_entries(report.pools.iter().map(|(_, sum)| *sum), &mut warnings);
            warnings.push(Warning::note(WITHOUT_DUMP));
            cluster.settle();
            (GroupStates::of_report(&cluster, report), (report.timestamp.clone(), report_file.to_owned()))
        }
        (None, None) => return Err(vec![JoinError::NoGroups]),
    };
    let fill = fill.map_or(Vec::new(), |fill| {
        warnings.extend(doubts::of_usage(&cluster, &fill.value, &fill.file));
        fill.value
    });
    for used in stated.into_iter().chain(fill) {
        cluster.fill.insert(used.id, used);
    }
    if cluster.fill.is_empty()
        && let Some(estimated) = report.and_then(|report| usage::estimated(&cluster, report))
    {
        cluster.fill = estimated;
        warnings.push(Warning::unknown(
            "no export has the usage of single devices: it is estimated from their sizes and the usage of all of them \
             together, as if data lay where the map places them; set `osd_df` for what is used",
        ));
    }
    let group_states = GroupStates {
        stopped_pools: states::stopped_pools(&osd_dump.value),
        marked_full: states::marked_full(&osd_dump.value),
        older: doubts::of_time(&osd_dump.value, (&made, &made_in)),
        ..group_states
    };
    let media = report.map(|report| report.media.iter().copied().collect()).unwrap_or_default();
    let versions = report.map(|report| report.versions.clone()).unwrap_or_default();
    let osd_dump = osd_dump.value;
    // A report of another time says nothing of this map.
    let same = report.filter(|report| report.osd_dump.epoch == osd_dump.epoch);
    let down_for = osd_dump.down_for(same.map(|report| report.timestamp.as_str()));
    Ok(Joined { cluster, warnings, osd_dump, media, states: group_states, versions, down_for })
}

fn pools_of(dump: &Named<OsdDump>, map: &Named<Map>) -> Result<Vec<PoolState>, Vec<JoinError>> {
    let entries = &dump.value.pools;
    let groups: u64 = entries.iter().map(|pool| u64::from(pool.pg_num)).sum();
    if groups > GROUPS_MAX {
        return Err(vec![JoinError::TooManyGroups { file: dump.file.clone(), groups }]);
    }
    let (mut pools, mut errors) = (Vec::new(), Vec::new());
    for (at, entry) in entries.iter().enumerate() {
        errors.extend(no_rule(dump, map, at, entry));
        let placed = entry.placed();
        let data_shards = match placed.kind {
            RuleKind::Erasure => dump.value.data_shards(&entry.erasure_code_profile),
            _ => Some(1),
        };
        let Some(data_shards) = data_shards else {
            errors.push(JoinError::NoProfile {
                file: dump.file.clone(),
                at,
                pool: entry.name.clone(),
                profile: entry.erasure_code_profile.clone(),
            });
            continue;
        };
        let groups = vec![Group::default(); entry.pg_num as usize];
        // A pool of Ceph has at least 1.
        let (name, min_size) = (entry.name.clone(), entry.min_size.filter(|least| *least > 0));
        pools.push(PoolState { name, placed, data_shards, min_size, groups });
    }
    pools.sort_by_key(|pool| pool.placed.id);
    if errors.is_empty() { Ok(pools) } else { Err(errors) }
}

fn no_rule(dump: &Named<OsdDump>, map: &Named<Map>, at: usize, entry: &PoolEntry) -> Option<JoinError> {
    let rule = entry.placed().rule;
    if map.value.rule(rule as usize).is_some() {
        return map.value.msr_fault(rule as usize).map(|fault| JoinError::NoForm {
            file: dump.file.clone(),
            at,
            pool: entry.name.clone(),
            rule: rule_name(&map.value, rule),
            fault,
        });
    }
    Some(JoinError::NoRule {
        file: dump.file.clone(),
        at,
        pool: entry.name.clone(),
        rule,
        map: map.file.clone(),
        rules: rules_of(&map.value, None),
    })
}

/// Warns of devices that only one of the files has.
fn note_devices(cluster: &Cluster, map_file: &str, dump_file: &str, warnings: &mut Vec<Warning>) {
    let held: BTreeSet<i32> = cluster
        .map
        .each_bucket()
        .flat_map(|bucket| bucket.items.iter().copied())
        .filter(|id| *id >= 0)
        .collect();
    let known = |id: i32| cluster.overlay.devices.get(id as usize).is_some_and(|device| device.exists);
    let strange: Vec<i32> = held.iter().copied().filter(|id| !known(*id)).collect();
    if !strange.is_empty() {
        warnings.push(Warning::note(format!(
            "`{map_file}` contains {}, which `{dump_file}` lacks; nothing is placed there",
            device_list(&strange)
        )));
    }
    let serving = |device: &Device| device.exists && device.weight > 0;
    let ids = (0..).zip(&cluster.overlay.devices);
    let apart: Vec<i32> =
        ids.filter(|(id, device)| serving(device) && !held.contains(id)).map(|(id, _)| id).collect();
    if !apart.is_empty() {
        warnings.push(Warning::note(format!(
            "{} of `{dump_file}` is in no bucket of `{map_file}`, so it gets no data",
            device_list(&apart)
        )));
    }
}

fn take_groups(
    cluster: &mut Cluster,
    dump: &PgDump,
    (file, osd_dump): (&str, &str),
    warnings: &mut Vec<Warning>,
) -> Result<(), JoinError> {
    if dump.ready == Some(false) {
        if dump.groups.is_empty() {
            return Err(JoinError::NotReady { file: file.to_owned() });
        }
        let message = not_ready(file);
        let doubt = "sizes and locations of some groups may be out of date";
        warnings.push(Warning::unknown(format!("{message}; {doubt}")));
    }
    let mut seen = BTreeSet::new();
    let mut unknown_pools: BTreeMap<i64, u64> = BTreeMap::new();
    let mut beyond = 0u64;
    for stat in &dump.groups {
        if !seen.insert(stat.group) {
            return Err(JoinError::Twice { file: file.to_owned(), group: stat.group });
        }
        let Some(pool) = cluster.pools.iter_mut().find(|pool| pool.placed.id == stat.group.pool) else {
            *unknown_pools.entry(stat.group.pool).or_default() += 1;
            continue;
        };
        if let Some(wrong) = misplaced(stat, pool, &cluster.overlay.devices, (file, osd_dump)) {
            return Err(wrong);
        }
        let copied = underway::copied(stat, pool);
        match pool.groups.get_mut(stat.group.seed as usize) {
            Some(group) => *group = Group { copied, ..Group::of(stat) },
            None => beyond += 1,
        }
    }
    for (pool, groups) in unknown_pools {
        warnings.push(Warning::unknown(format!(
            "`{file}` has {} of pool {pool}, which the osd dump lacks: left out",
            counted(groups)
        )));
    }
    if beyond > 0 {
        warnings.push(Warning::unknown(format!(
            "`{file}` has {} beyond the `pg_num` of a pool: left out; was the cluster splitting?",
            counted(beyond)
        )));
    }
    for pool in &cluster.pools {
        let absent: Vec<u32> = (0..)
            .zip(&pool.groups)
            .filter(|(_, group)| group.acting.is_none())
            .map(|(seed, _)| seed)
            .collect();
        let absent: Vec<PgId> = absent
            .iter()
            .map(|&seed| PgId { pool: pool.placed.id, seed })
            .filter(|group| !seen.contains(group))
            .collect();
        if let Some(first) = absent.first() {
            warnings.push(Warning::unknown(format!(
                "`{file}` lacks {} of pool `{}`, such as {first}: counted as empty",
                counted(absent.len() as u64),
                pool.name
            )));
        }
    }
    Ok(())
}

/// What is wrong with the devices of a group. What nobody has reported for a while may have devices that are
/// gone since, and the size that its pool had.
fn misplaced(
    stat: &GroupStat,
    pool: &PoolState,
    devices: &[Device],
    (file, dump): (&str, &str),
) -> Option<JoinError> {
    if stat.is("stale") || stat.is("unknown") {
        return None;
    }
    let (file, group) = (file.to_owned(), stat.group);
    for (key, own) in [("up", &stat.up), ("acting", &stat.acting)] {
        let size = pool.placed.size;
        if own.len() > size as usize {
            let (devices, pool) = (own.len(), pool.name.clone());
            return Some(JoinError::TooMany { file, group, key, devices, pool, size });
        }
        // CRUSH draws none twice; but a device may serve two shards of a code for a while.
        let is_shared = key == "acting" && pool.placed.kind == RuleKind::Erasure;
        let mut sorted: Vec<i32> = own.iter().copied().filter(|id| *id != NONE && !is_shared).collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Some(JoinError::DeviceTwice { file, group, key, device: pair[0] });
        }
        let exists = |id: i32| devices.get(id as usize).is_some_and(|device| device.exists);
        if let Some(device) = own.iter().copied().find(|id| *id != NONE && !exists(*id)) {
            return Some(JoinError::NoDevice { file, group, key, device, dump: dump.to_owned() });
        }
    }
    None
}

/// A number of groups in words.
fn counted(groups: u64) -> String {
    human::plural(groups as f64, ["group", "groups"])
}

/// What is assumed of groups where only a report has them.
const WITHOUT_DUMP: &str = "there is no `pg_dump`, so all groups of a pool are assumed to have the same size and to be served \
    where the map and its temporary mappings (`pg_temp`) have them";

/// Names groups whose sums are negative.
fn note_negative(dump: &PgDump, file: &str, warnings: &mut Vec<Warning>) {
    let mut negative = dump.groups.iter().filter(|stat| stat.sum.is_negative);
    if let Some(first) = negative.next() {
        let all = counted(1 + negative.count() as u64);
        warnings.push(Warning::unknown(format!(
            "`{file}` has {all} with negative sums, such as {}: Ceph's statistics are wrong there until a scrub, \
             and what is negative counts as 0",
            first.group
        )));
    }
}

/// Warns of groups in states that affect the result. `count` has the groups with a word in their state.
fn note_states(
    count: &dyn Fn(&str) -> u64,
    (all, file): (u64, &str),
    states: &[(&str, &str)],
    warnings: &mut Vec<Warning>,
) {
    for (word, effect) in states {
        let count = count(word);
        if count > 0 {
            let text = format!("{count} of {all} groups in `{file}` are {word}: {effect}");
            warnings.push(Warning { severity: severity_of(word), text });
        }
    }
}

/// Says that bytes of entries are among those of objects, if there are any.
fn note_entries(sums: impl Iterator<Item = GroupSum>, warnings: &mut Vec<Warning>) {
    let entries = sums.fold(0, |all: u64, sum| all.saturating_add(sum.num_omap_bytes));
    if entries > 0 {
        warnings.push(Warning::note(format!(
            "{} of objects' entries (omap) count as bytes of their groups, as Ceph counted them at the last deep scrub; they \
             are copied like data, though they lie with the metadata",
            Bytes::new(entries)
        )));
    }
}

/// How serious it is that groups are in this state.
fn severity_of(state: &str) -> Severity {
    match state {
        "degraded" | "undersized" | "incomplete" | "down" | "inactive" => Severity::Danger,
        "unknown" | "stale" => Severity::Unknown,
        _ => Severity::Note,
    }
}

/// Without a dump of groups, divides each pool's sums equally among its groups.
fn share_sums(cluster: &mut Cluster, report: &Report) {
    for pool in &mut cluster.pools {
        let sum = report.pools.iter().find(|(id, _)| *id == pool.placed.id);
        let (bytes, objects) = sum.map_or((0, 0), |(_, sum)| (sum.bytes(), sum.num_objects));
        let count = pool.groups.len() as u64;
        for (seed, group) in (0..count).zip(&mut pool.groups) {
            group.bytes = bytes / count + u64::from(seed < bytes % count);
            group.objects = objects / count + u64::from(seed < objects % count);
        }
    }
}
