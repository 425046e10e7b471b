//! A cluster before and after: as it is, as the map is changed, and as it is in the end, when what fails is
//! given up.

use std::collections::BTreeSet;

use towtank_ceph::{Cluster, FillLimits, Joined, device_list, upmaps};
use towtank_placement::crush::pools::FULL;
use towtank_placement::crush::{ItemId, NONE, RuleKind};
use towtank_rebuild::failures::Struck;
use towtank_rebuild::plan::DeviceId;
use towtank_recovery::estimate;
use towtank_recovery::settings::PEERING;
use towtank_scenario::{Draft, Problems};
use towtank_streams::Seed;
use towtank_units::{Bytes, SimSpan};

use super::calibrated;
use super::later;
use super::orders;
use super::scenario::Scenario;
use super::stages::{self, Begins, DownAndIn, Stages};
use super::steps::{self, Way};
use crate::asked::{self, Asked, SET, Told};
use crate::exports;
use crate::features;
use crate::flags::ClusterFlags;
use crate::preview::case::Case;
use crate::real::{self, Change, Staged, failing};
use crate::release::GroupLimits;
use crate::states;
use crate::targets::Targets;
use towtank_study::RunContext;

/// A checked scenario.
pub struct Ready {
    /// The scenario.
    pub scenario: Scenario,
    /// The cluster before, and in the end.
    pub case: Case,
    /// The machines, and what is to be done on them.
    pub real: real::Ready,
    /// What a recovery takes: the same for each seed, since what fails is named. Made here so that the memory
    /// of a run is known before it starts.
    pub(crate) staged: Staged,
    /// What happens later.
    pub(super) added: later::Added,
    /// Whether something fails, or is replaced.
    pub fails: bool,
    /// Whether anything happens after the beginning.
    pub lasts: bool,
    /// From the beginning to the first object that moves, where nothing fails at once.
    pub start: SimSpan,
    /// What becomes of devices that are down and in.
    pub down: DownAndIn,
    /// Devices that fail and stay in, since too few others are in.
    pub(super) kept: BTreeSet<ItemId>,
    /// Devices that fail and are out before the monitors would mark them out.
    pub(super) was_out: BTreeSet<ItemId>,
    /// What the manager changes in steps.
    pub(super) way: Option<Way>,
    /// The changes in words, in order of time.
    pub(crate) told: Vec<Told>,
}

/// States of groups in which the dump does not tell everything.
const STATES: [(&str, &str); 3] = [
    ("unknown", "their location is taken from the map"),
    ("stale", "they have not been reported for a while, so their sizes are old"),
    ("incomplete", "their data may be lost, which no change of the map repairs"),
];

impl Ready {
    /// Reads the exports and applies the changes.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        Ready::check_as(scenario, draft, |_| {})
    }

    /// The same of a cluster that is changed after its exports are read.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub(super) fn check_as(
        scenario: Scenario,
        draft: &Draft,
        change: impl FnOnce(&mut Joined),
    ) -> Result<Ready, Problems> {
        let asked = Asked::of(&scenario.keyed(), draft)?;
        check_shares(&scenario, draft).into_result(())?;
        let (mut joined, flags) = loaded(&scenario, &asked, draft)?;
        change(&mut joined);
        Ready::of((scenario, draft), &asked, joined, flags)
    }

    /// Applies the changes to the exports.
    fn of(
        (scenario, draft): (Scenario, &Draft),
        asked: &Asked,
        mut joined: Joined,
        flags: ClusterFlags,
    ) -> Result<Ready, Problems> {
        let (learned, starts) = calibrated::load(&scenario, draft)?;
        let mut words: Vec<Told> = asked.fail.iter().map(|change| change.told("fails")).collect();
        let of_dead_racks = of_dead_racks(&joined.cluster);
        replace(&mut joined.cluster, asked, draft, &mut words)?;
        let start = joined.cluster.clone();
        let limits = FillLimits::of(&joined.osd_dump);
        let mut warnings = Vec::new();
        let targets = Targets::of(&start, &joined.osd_dump, asked, &mut warnings);
        let splits = targets.not_known();
        let begins =
            Begins { start: &start, goes_on: targets.reached, down_for: &joined.down_for, of_dead_racks };
        let course = stages::stages((asked, &flags), (&scenario, draft), &begins, &mut words, &mut warnings)?;
        let Stages { times, mut after, upmaps_dropped, down, left_alone, by_user, kept, late, was_out } =
            course;
        let disks = classes(&start, &after, &joined, &scenario);
        let end = after.last().expect("there is a stage at the beginning").clone();
        let (way, then) = Way::of(&start, (&mut after, &by_user), &mut warnings).unzip();
        steps::check_used(way.as_ref(), &after, &start, draft).into_result(())?;
        let change = Change { after, disks, then: then.unwrap_or_default() };
        let fail: Vec<failing::Asked<'_>> = asked.fail.iter().map(failing_of).collect();
        let of_cluster = real::Asked {
            exports: &scenario.exports,
            keys: &scenario.keys,
            start: starts.after(PEERING),
            learned: learned.as_ref(),
            exact_objects: if scenario.exact { Some(u64::MAX) } else { scenario.exact_objects },
            fail: &fail,
            flags: &flags,
            replaced: &stages::replaced_later(asked, &start),
        };
        let group_states = joined.states.clone();
        let locked = features::locked(&joined.osd_dump, asked);
        let real = real::Ready::of(of_cluster, joined, change, draft)?;
        check_replaced(asked, &real, draft).into_result(())?;
        warnings.extend(features::of_rules(&end, real.paced().release));
        let mut staged =
            real.staged(&RunContext::alone(Seed(0), 0)).expect("nobody stops a context of its own");
        keep_in(&mut staged.struck, &(&kept | &late), &real);
        staged.warnings.extend(real.warnings_about_racks(&staged.struck));
        in_order(&mut words, asked);
        let starts = starts.when(!words.is_empty());
        let added = later::add(&mut staged, (asked, &times), (&scenario, starts), (&real, &flags), draft)?;
        if let Some(way) = &way {
            later::add_steps(&mut staged, (way, &times), (&scenario, starts), added.start, &start);
        }
        let (after, dropped) = given_up(end, (&real, &staged), &added.back);
        let case = Case {
            before: start,
            after,
            left_alone,
            states: group_states,
            warnings,
            upmaps_dropped: upmaps_dropped + dropped,
            changes: words.iter().map(Told::phrase).collect(),
            limits,
            groups_max: GroupLimits::of(real.paced().release).max,
            halts: None,
            locked,
            never_out: false,
            splits,
        };
        let (lasts, start, told, fails) = (asked.lasts(), added.start, words, asked.fails());
        Ok(Ready { scenario, case, real, staged, added, fails, lasts, start, down, kept, was_out, way, told })
    }

    /// Whether anything is asked for.
    pub(crate) fn asks(&self) -> bool {
        !self.told.is_empty()
    }

    /// Recoveries of at most so many objects are simulated with all of them.
    pub(super) fn exact_objects(&self) -> u64 {
        self.real.exact_objects.unwrap_or_else(|| estimate::exact_usually(&self.staged.affected))
    }

    /// An estimate of the memory of a replicate: the tables of its records, and for each object that is
    /// simulated its size, its state, a job and its progress.
    #[must_use]
    pub fn memory_estimate(&self) -> Bytes {
        let context = RunContext::alone(Seed(0), 0);
        let recovery = self.real.recovery(&self.staged, &context);
        let affected = &self.staged.affected;
        let few = !orders::by_chance(&recovery) && affected.records() < estimate::GROUPS;
        let exact_objects = if few { u64::MAX } else { self.exact_objects() };
        let objects = estimate::objects_at_once(&recovery, exact_objects);
        let records = affected.records() as u64 * (64 + 16 * affected.width as u64);
        Bytes::new(objects * 56 + records + self.real.memory_of_machines())
    }
}

/// The exports and the flags of the cluster.
fn loaded(scenario: &Scenario, asked: &Asked, draft: &Draft) -> Result<(Joined, ClusterFlags), Problems> {
    let mut joined = exports::load(&scenario.exports, &STATES, draft)?;
    let mut said = features::named(&joined.osd_dump);
    said.extend(states::of_sums(&joined.states));
    said.extend(states::halfway(&joined.states));
    let flags = ClusterFlags::of((&joined.cluster, &joined.osd_dump), asked, draft, &mut said)?;
    let flags = if draft.says("noout") { flags.without("noout") } else { flags };
    check_paused(&flags, asked, scenario, draft).into_result(())?;
    joined.warnings.extend(said);
    Ok((joined, flags))
}

/// Adds what comes back, and flags, in the order of time.
fn in_order(words: &mut Vec<Told>, asked: &Asked) {
    words.extend(returns_and_flags(asked));
    words.sort_by_key(|one| one.at);
}

/// What is down and in, of racks that are down as a whole.
fn of_dead_racks(cluster: &Cluster) -> BTreeSet<ItemId> {
    let waits = |device: &ItemId| cluster.device(*device).is_some_and(|own| !own.up && own.weight > 0);
    let down = cluster.devices().into_iter().filter(waits);
    down.filter(|device| cluster.in_dead_rack(*device, &BTreeSet::new())).collect()
}

/// What fails and stays in, since too few other devices are in, is a failure by itself.
fn keep_in(struck: &mut Vec<Struck>, kept: &BTreeSet<ItemId>, real: &real::Ready) {
    let part = |one| failing::parts(one, &real.groups, |osd| kept.contains(&osd));
    *struck = std::mem::take(struck).into_iter().flat_map(part).collect();
}

fn failing_of(change: &asked::Change) -> failing::Asked<'_> {
    failing::Asked { key: &change.key, written: &change.written, name: &change.text, at: change.at }
}

fn check_shares(scenario: &Scenario, draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    if scenario.speed_spread.fraction_f64() > 0.9 {
        let message = format!("`speed_spread` is {}, at most 90%", scenario.speed_spread);
        problems.refuse(draft, "speed_spread", message, "20% is what is taken if it is left out");
    }
    if scenario.failure_rate.fraction_f64() > 1.0 {
        let message = format!("`failure_rate` is {} a year, more than all", scenario.failure_rate);
        problems.refuse(draft, "failure_rate", message, "1.5% is what is taken if it is left out");
    }
    problems.extend(steps::check(scenario, draft));
    problems
}

/// Refuses clients where they are paused.
fn check_paused(flags: &ClusterFlags, asked: &Asked, scenario: &Scenario, draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    let changes = asked.flags.iter().any(|change| change.text == "pause");
    let writes = scenario.client_writes.is_some_and(|rate| rate.per_second_f64() > 0.0);
    if writes && (changes || flags.has("pause", SimSpan::ZERO)) {
        let message =
            "`client_writes` is set, but clients are paused (`pause`), if only for a part of the time";
        let hint = "a client that is paused writes nothing: set client_writes to 0/s, or leave the flag out";
        problems.push(draft.problem("client_writes", message).hint(hint));
    }
    if flags.has("pause", SimSpan::ZERO) && scenario.keys.clients.any() {
        let key = if draft.says("client_load") { "client_load" } else { "client_depth" };
        let message = format!("`{key}` is set, but clients are paused (`pause`)");
        problems
            .push(draft.problem(key, message).hint("leave it out, or unset the flag: --unset-flag pause"));
    }
    problems
}

/// Refuses devices that fail at the beginning and are replaced without a time: which comes first is not
/// known.
fn check_replaced(asked: &Asked, real: &real::Ready, draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    let struck = real.struck();
    for change in &asked.replace {
        let osd = real.groups.cluster.item(&change.text);
        let device = osd.and_then(|osd| real.groups.machines.devices.get(&osd));
        let fails = |device| struck.iter().any(|one| one.at.is_zero() && one.devices.contains(device));
        if device.is_some_and(fails) {
            let message =
                format!("{} fails at the same time, and it does not say when it is replaced", change.text);
            let hint = format!(
                "write the time: replace {}@1h; or leave out the failure, which a replacement is",
                change.text
            );
            problems.push(change.problem(draft, &message).hint(hint));
        }
    }
    problems
}

/// What comes back, and what becomes of flags.
fn returns_and_flags(asked: &Asked) -> impl Iterator<Item = Told> {
    let returns = asked
        .returns
        .iter()
        .map(|change| change.told(if change.verb == "returns" { "returns" } else { "replaced" }));
    let flags = asked.flags.iter().map(|change| {
        let verb = if change.verb == SET { "set" } else { "unset" };
        Told { at: change.at, words: format!("`{}` {verb}", change.text) }
    });
    returns.chain(flags)
}

/// Takes the data from devices that are replaced, which are then up and in.
fn replace(
    cluster: &mut Cluster,
    asked: &Asked,
    draft: &Draft,
    words: &mut Vec<Told>,
) -> Result<(), Problems> {
    for change in &asked.replace {
        let (key, text) = (change.key.as_str(), &change.text);
        let found = cluster.item(text).filter(|item| *item >= 0);
        let Some(osd) = found.filter(|osd| cluster.device(*osd).is_some()) else {
            let message = format!("`{key}` names \"{text}\", which is no device of the osd dump");
            let name = text.split_once('=').map_or(text.as_str(), |(_, name)| name.trim());
            let hint = match cluster.item(name).map(|bucket| cluster.devices_below(bucket)) {
                Some(below) if !below.is_empty() => format!("name its devices: {}", device_list(&below)),
                _ => "name a device, such as osd.3".to_owned(),
            };
            return Err(draft.problem(key, message).hint(hint).into());
        };
        if let Some(device) = cluster.device_mut(osd) {
            device.up = true;
            device.weight = if device.weight == 0 { FULL } else { device.weight };
        }
        if let Some(fill) = cluster.fill.get_mut(&osd) {
            fill.used_bytes = 0;
        }
        for pool in &mut cluster.pools {
            let coded = pool.placed.kind == RuleKind::Erasure;
            for group in &mut pool.groups {
                let Some(acting) = &mut group.acting else { continue };
                group.emptied += u32::from(acting.contains(&osd));
                if coded {
                    acting.iter_mut().filter(|id| **id == osd).for_each(|id| *id = NONE);
                } else {
                    acting.retain(|id| *id != osd);
                }
                group.primary = group.primary.filter(|primary| *primary != osd);
                // The dump is of the cluster before, in which the device may have been down.
                group.up = None;
            }
        }
        words.push(change.told("replaced"));
    }
    // What is down and replaced later holds nothing that comes back.
    for osd in stages::replaced_later(asked, cluster) {
        cluster.fill.entry(osd).and_modify(|fill| fill.used_bytes = 0);
    }
    Ok(())
}

/// The cluster at the beginning and after each change, each with its devices in the class of their disks.
fn classes(start: &Cluster, after: &[Cluster], joined: &Joined, scenario: &Scenario) -> Vec<Cluster> {
    let clusters = std::iter::once(start).chain(after);
    clusters.map(|cluster| classed(cluster, joined, scenario)).collect()
}

/// A cluster with each device in the class that its disk is of: as the user says, as the daemons say, or as
/// the map has it.
fn classed(cluster: &Cluster, joined: &Joined, scenario: &Scenario) -> Cluster {
    let mut classed = cluster.clone();
    for osd in cluster.devices() {
        let said = joined.media.get(&osd).map(|medium| medium.class());
        if let Some(class) = scenario.disk.map(|disk| disk.class()).or(said) {
            let class = classed.map.class_id_or_new(class);
            classed.map.item_classes.insert(osd, class);
        }
    }
    classed
}

/// The cluster when what fails has been given up, without what comes back; what is never given up stays in,
/// and is down. With the number of explicit mappings that the monitors drop then.
fn given_up(
    after: Cluster,
    (real, staged): (&real::Ready, &Staged),
    back: &BTreeSet<DeviceId>,
) -> (Cluster, usize) {
    let mut end = after;
    let context = RunContext::alone(Seed(0), 0);
    let recovery = real.recovery(staged, &context);
    for struck in &staged.struck {
        let stays = recovery.moments_of(struck).1.is_none();
        for device in struck.devices.iter().filter(|device| !back.contains(device)) {
            let osd = real.groups.machines.osds[device.index()];
            if let Some(state) = end.device_mut(osd) {
                state.up = false;
                state.weight = if stays { state.weight } else { 0 };
            }
        }
    }
    for device in back {
        let osd = real.groups.machines.osds[device.index()];
        if let Some(state) = end.device_mut(osd).filter(|state| !state.up) {
            state.up = true;
            state.weight = if state.weight == 0 { FULL } else { state.weight };
        }
    }
    let dropped = upmaps::drop_broken(&mut end);
    (end, dropped)
}
