//! The exports of a cluster, brought together: what is in one and not in the other is told, or refused where nothing right
//! could come out.

use std::collections::{BTreeMap, BTreeSet};

use towtank_imports::ceph::{self, DeviceUse, GroupStat, OsdDump, PgDump, Report};
use towtank_imports::{File, ImportError, Imported};
use towtank_placement::crush::pools::{Device, Overlay, PgId, Pool};
use towtank_placement::crush::{Map, RuleKind};
use towtank_scenario::{Draft, Input, Problem, Problems};

use super::safety::Stated;

/// The files that a user names, and the keys that name them. `pg_dump`, `osd_df` and `report` are called so everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exported<'a> {
    /// The CRUSH map.
    pub map: Option<&'a str>,
    /// `ceph osd dump`.
    pub osd_dump: Option<&'a str>,
    /// `ceph pg dump`.
    pub pg_dump: Option<&'a str>,
    /// `ceph osd df`.
    pub osd_df: Option<&'a str>,
    /// `ceph report`.
    pub report: Option<&'a str>,
    /// What states of groups mean to the study, by the words of the dump.
    pub states: &'a [(&'a str, &'a str)],
}

/// More groups than this are refused: the largest known clusters have some 300,000.
pub const GROUPS_MAX: u64 = 1 << 22;

/// A state of a cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The CRUSH map.
    pub map: Map,
    /// Devices, and what is laid over CRUSH.
    pub overlay: Overlay,
    /// The pools, by id.
    pub pools: Vec<PoolState>,
    /// How full devices are, by id.
    pub fill: BTreeMap<i32, DeviceUse>,
}

/// A pool with its groups as they are.
#[derive(Clone, Debug)]
pub struct PoolState {
    /// Its name.
    pub name: String,
    /// As placement takes it.
    pub placed: Pool,
    /// How many shards an object's data are cut into; 1 for copies.
    pub data_shards: u32,
    /// With fewer copies or shards, its groups take no writes; nothing where the dump does not say.
    pub min_size: Option<u32>,
    /// Its groups by number; shared by the states before and after.
    pub groups: Vec<Group>,
}

/// A group as it is.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Bytes of its objects, each counted once.
    pub bytes: u64,
    /// Its objects; 0 where a dump counts none, though it may have bytes.
    pub objects: u64,
    /// Where it is served, or nothing where no dump says so.
    pub acting: Option<Vec<i32>>,
    /// Where it should be, as the cluster sees it.
    pub up: Option<Vec<i32>>,
    /// Who leads it.
    pub primary: Option<i32>,
    /// What the dump says of its state; nothing where no dump lists it.
    pub stated: Option<Stated>,
}

/// The cluster as it is, and what must be known about it.
pub struct Loaded {
    /// The state.
    pub cluster: Cluster,
    /// Sentences.
    pub warnings: Vec<String>,
    /// The osd dump itself, for what placement does not need.
    pub osd_dump: OsdDump,
}

/// The files as they were read.
struct Exports {
    map: Option<(Map, String)>,
    osd_dump: Option<(OsdDump, String)>,
    pg_dump: Option<(PgDump, String)>,
    fill: Option<Vec<DeviceUse>>,
    report: Option<Report>,
}

/// Reads and joins the exports.
pub(crate) fn load(named: &Exported<'_>, draft: &Draft) -> Result<Loaded, Problems> {
    let mut warnings = Vec::new();
    let exports = read_all(named, draft, &mut warnings)?;
    let report = exports.report;
    let (map, map_file) = exports
        .map
        .or_else(|| Some((report.as_ref()?.map.clone(), named.report?.to_owned())))
        .ok_or_else(|| missing(draft, "crush_map", "`ceph osd getcrushmap -o FILE`"))?;
    let (osd_dump, dump_file) = exports
        .osd_dump
        .or_else(|| Some((report.as_ref()?.osd_dump.clone(), named.report?.to_owned())))
        .ok_or_else(|| missing(draft, "osd_dump", "`ceph osd dump -f json`"))?;
    let osd_key = if named.osd_dump.is_some() { "osd_dump" } else { "report" };
    let pools = pools_of(draft, osd_key, &dump_file, (&osd_dump, &map, &map_file))?;
    let mut cluster = Cluster { map, overlay: osd_dump.overlay(), pools, fill: BTreeMap::new() };
    note_devices(&cluster, &map_file, &dump_file, &mut warnings);
    note_targets(&osd_dump, &mut warnings);
    let mut stated = Vec::new();
    match (&exports.pg_dump, &report) {
        (Some((dump, file)), _) => {
            take_groups(&mut cluster, dump, file, draft, &mut warnings)?;
            note_states(&dump.groups, file, named.states, &mut warnings);
            stated.clone_from(&dump.devices);
        }
        (None, Some(report)) => {
            share_sums(&mut cluster, report);
            warnings.push(
                "there is no `pg_dump`, so the groups of a pool are taken as equally large, and where the map puts them"
                    .to_owned(),
            );
        }
        (None, None) => return Err(missing(draft, "pg_dump", "`ceph pg dump -f json`").into()),
    }
    for used in stated.into_iter().chain(exports.fill.unwrap_or_default()) {
        cluster.fill.insert(used.id, used);
    }
    Ok(Loaded { cluster, warnings, osd_dump })
}

fn missing(draft: &Draft, key: &str, export: &str) -> Problem {
    let flag = key.replace('_', "-");
    draft.problem(key, format!("`{key}` is missing")).hint(format!(
        "name the file that {export} wrote: --{flag} FILE, or {key} = \"FILE\"; a `ceph report` as `report` does too"
    ))
}

fn read_all(named: &Exported<'_>, draft: &Draft, warnings: &mut Vec<String>) -> Result<Exports, Problems> {
    let mut problems = Problems::new();
    let mut reader = Reader { draft, warnings, problems: &mut problems };
    let exports = Exports {
        map: reader.read(named.map.is_some(), "crush_map", ceph::read_map),
        osd_dump: reader.read(named.osd_dump.is_some(), "osd_dump", ceph::read_osd_dump),
        pg_dump: reader.read(named.pg_dump.is_some(), "pg_dump", ceph::read_pg_dump),
        fill: reader.read(named.osd_df.is_some(), "osd_df", ceph::read_osd_df).map(|(fill, _)| fill),
        report: reader.read(named.report.is_some(), "report", ceph::read_report).map(|(report, _)| report),
    };
    problems.into_result(exports)
}

/// Reads a map that a key names.
pub fn read_map(draft: &Draft, key: &str, warnings: &mut Vec<String>) -> Result<Option<Map>, Problems> {
    let mut problems = Problems::new();
    let mut reader = Reader { draft, warnings, problems: &mut problems };
    let read = reader.read(true, key, ceph::read_map);
    problems.into_result(read.map(|(map, _)| map))
}

struct Reader<'a> {
    draft: &'a Draft,
    warnings: &'a mut Vec<String>,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    /// What the key's file holds, with the file's name; nothing without the key, or with a problem.
    fn read<T>(
        &mut self,
        named: bool,
        key: &str,
        read: impl Fn(File<'_>) -> Result<Imported<T>, ImportError>,
    ) -> Option<(T, String)> {
        if !named {
            return None;
        }
        let input: Input = match self.draft.input(key) {
            Ok(input) => input,
            Err(problem) => {
                self.problems.push(problem);
                return None;
            }
        };
        match read(File { name: &input.path, bytes: &input.bytes }) {
            Ok(Imported { value, notes }) => {
                self.warnings.extend(notes);
                Some((value, input.path))
            }
            Err(error) => {
                let hint = error.hint.clone().unwrap_or_else(|| format!("export `{key}` again, or mend it"));
                self.problems.push(self.draft.problem(key, error.to_string()).hint(hint));
                None
            }
        }
    }
}

fn pools_of(
    draft: &Draft,
    key: &str,
    file: &str,
    (dump, map, map_file): (&OsdDump, &Map, &str),
) -> Result<Vec<PoolState>, Problems> {
    let mut problems = Problems::new();
    let mut pools = Vec::new();
    let groups: u64 = dump.pools.iter().map(|pool| u64::from(pool.pg_num)).sum();
    if groups > GROUPS_MAX {
        let message =
            format!("`{file}`: the pools have {groups} groups, more than the {GROUPS_MAX} that are placed");
        return Err(draft.problem(key, message).hint("check `pg_num` of its pools").into());
    }
    for (at, entry) in dump.pools.iter().enumerate() {
        let placed = entry.placed();
        if map.rule(placed.rule as usize).is_none() {
            let rules: Vec<String> =
                map.rule_names.iter().map(|(id, name)| format!("{id} ({name})")).collect();
            let message = format!(
                "`{file}`: `pools[{at}].crush_rule`: pool `{}` has rule {}, which `{map_file}` lacks",
                entry.name, placed.rule
            );
            let hint = format!("export both at the same time; the rules of the map are {}", rules.join(", "));
            problems.push(draft.problem(key, message).hint(hint));
        }
        let data_shards = match placed.kind {
            RuleKind::Erasure => dump.data_shards(&entry.erasure_code_profile),
            _ => Some(1),
        };
        let Some(data_shards) = data_shards else {
            let message = format!(
                "`{file}`: `pools[{at}].erasure_code_profile`: pool `{}` has profile `{}`, but `erasure_code_profiles` \
                 has no `k` for it",
                entry.name, entry.erasure_code_profile
            );
            problems.push(
                draft.problem(key, message).hint("export it again, in full: shards are 1/k of the data"),
            );
            continue;
        };
        let groups = vec![Group::default(); entry.pg_num as usize];
        let (name, min_size) = (entry.name.clone(), entry.min_size);
        pools.push(PoolState { name, placed, data_shards, min_size, groups });
    }
    pools.sort_by_key(|pool| pool.placed.id);
    problems.into_result(pools)
}

/// Devices that are in one file alone.
fn note_devices(cluster: &Cluster, map_file: &str, dump_file: &str, warnings: &mut Vec<String>) {
    let held: BTreeSet<i32> = cluster
        .map
        .each_bucket()
        .flat_map(|bucket| bucket.items.iter().copied())
        .filter(|id| *id >= 0)
        .collect();
    let known = |id: i32| cluster.overlay.devices.get(id as usize).is_some_and(|device| device.exists);
    let strange: Vec<i32> = held.iter().copied().filter(|id| !known(*id)).collect();
    if !strange.is_empty() {
        warnings.push(format!(
            "`{map_file}` holds {}, which `{dump_file}` lacks; nothing is placed there",
            device_list(&strange)
        ));
    }
    let serving = |device: &Device| device.exists && device.weight > 0;
    let ids = (0..).zip(&cluster.overlay.devices);
    let apart: Vec<i32> =
        ids.filter(|(id, device)| serving(device) && !held.contains(id)).map(|(id, _)| id).collect();
    if !apart.is_empty() {
        warnings.push(format!(
            "{} of `{dump_file}` is in no bucket of `{map_file}`, so it gets no data",
            device_list(&apart)
        ));
    }
}

/// Pools whose number of groups is changing already.
fn note_targets(dump: &OsdDump, warnings: &mut Vec<String>) {
    for pool in &dump.pools {
        let going = |now: u32, target: Option<u32>| target.filter(|target| *target != now && *target > 0);
        for (what, now, target) in
            [("pg_num", pool.pg_num, pool.pg_num_target), ("pgp_num", pool.pgp_num, pool.pgp_num_target)]
        {
            if let Some(target) = going(now, target) {
                warnings.push(format!(
                    "`{what}` of pool `{}` is on its way from {now} to {target}; it is taken as {now}",
                    pool.name
                ));
            }
        }
    }
}

/// Some devices in words: the first few by name.
pub fn device_list(ids: &[i32]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = ids.iter().take(SHOWN).map(|id| format!("osd.{id}")).collect();
    match ids.len() {
        0..=SHOWN => names.join(", "),
        all => format!("{} and {} more", names.join(", "), all - SHOWN),
    }
}

fn take_groups(
    cluster: &mut Cluster,
    dump: &PgDump,
    file: &str,
    draft: &Draft,
    warnings: &mut Vec<String>,
) -> Result<(), Problems> {
    if dump.ready == Some(false) {
        let message =
            format!("`{file}`: `pg_ready`: the manager had not heard from every device when it was made");
        if dump.groups.is_empty() {
            let hint = "wait until `ceph pg dump -f json` says \"pg_ready\": true, and export it again";
            return Err(draft.problem("pg_dump", message).hint(hint).into());
        }
        warnings.push(format!("{message}; sizes and places of some groups may be out of date"));
    }
    let mut seen = BTreeSet::new();
    let mut unknown_pools: BTreeMap<i64, u64> = BTreeMap::new();
    let mut beyond = 0u64;
    for stat in &dump.groups {
        if !seen.insert(stat.group) {
            let message = format!("`{file}`: group {} is there twice", stat.group);
            return Err(draft.problem("pg_dump", message).hint("export it again").into());
        }
        let Some(pool) = cluster.pools.iter_mut().find(|pool| pool.placed.id == stat.group.pool) else {
            *unknown_pools.entry(stat.group.pool).or_default() += 1;
            continue;
        };
        match pool.groups.get_mut(stat.group.seed as usize) {
            Some(group) => *group = group_of(stat),
            None => beyond += 1,
        }
    }
    for (pool, groups) in unknown_pools {
        warnings.push(format!(
            "`{file}` has {groups} groups of pool {pool}, which the osd dump lacks; they are left out"
        ));
    }
    if beyond > 0 {
        warnings.push(format!(
            "`{file}` has {beyond} groups beyond the `pg_num` of their pools, which are left out; was the cluster splitting?"
        ));
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
            warnings.push(format!(
                "`{file}` lacks {} groups of pool `{}`, such as {first}; they count as empty",
                absent.len(),
                pool.name
            ));
        }
    }
    Ok(())
}

fn group_of(stat: &GroupStat) -> Group {
    let placed = |devices: &Vec<i32>| {
        let held = devices.iter().any(|device| *device != towtank_placement::crush::NONE);
        (held && !stat.is("unknown")).then(|| devices.clone())
    };
    Group {
        bytes: stat.sum.num_bytes,
        objects: stat.sum.num_objects,
        acting: placed(&stat.acting),
        up: placed(&stat.up),
        primary: i32::try_from(stat.acting_primary).ok().filter(|primary| *primary >= 0),
        stated: Some(Stated::of(stat)),
    }
}

/// States in which what the dump says is not all there is.
fn note_states(groups: &[GroupStat], file: &str, states: &[(&str, &str)], warnings: &mut Vec<String>) {
    for (word, effect) in states {
        let count = groups.iter().filter(|stat| stat.is(word)).count();
        if count > 0 {
            let all = groups.len();
            warnings.push(format!("{count} of {all} groups in `{file}` are {word}: {effect}"));
        }
    }
}

/// Without a dump of groups: equal parts of what the pool holds.
fn share_sums(cluster: &mut Cluster, report: &Report) {
    for pool in &mut cluster.pools {
        let sum = report.pools.iter().find(|(id, _)| *id == pool.placed.id);
        let (bytes, objects) = sum.map_or((0, 0), |(_, sum)| (sum.num_bytes, sum.num_objects));
        let count = pool.groups.len() as u64;
        for (seed, group) in (0..count).zip(&mut pool.groups) {
            group.bytes = bytes / count + u64::from(seed < bytes % count);
            group.objects = objects / count + u64::from(seed < objects % count);
        }
    }
}
