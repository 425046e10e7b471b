//! The cluster after each change of its map, in order of time: what a user asks for, and what the monitors do
//! by themselves about devices that are down in the exports.
//!
//! A device that is down and in is marked out when `down_out` has passed, as `OSDMonitor::tick` does. Since
//! when it is down is in no export, so the time counts from the beginning: an upper bound. `noout` of the map
//! or of what the device is in keeps it in, while its time runs on; so do a whole rack that is down
//! (`mon_osd_down_out_subtree_limit`) and too few devices that are in (`mon_osd_min_in_ratio`). What fails
//! here has its times from the recovery, but for `noout` of a part of the cluster that is unset later; which
//! of it stays in since too few devices are in is found here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use towtank_ceph::{Cluster, device_list, upmaps};
use towtank_placement::crush::ItemId;
use towtank_placement::crush::pools::FULL;
use towtank_report::{Warning, human};
use towtank_scenario::{Draft, Problems};
use towtank_units::SimSpan;

use super::scenario::Scenario;
use crate::asked::{Asked, Change, SET, Told};
use crate::changes::{self, Changed};
use crate::flags::{ClusterFlags, Flagged};

/// Until the monitors look at what is down: half of `mon_tick_interval`.
const LOOK: SimSpan = SimSpan::from_ms(2_500);

/// What is in for longer than this after its time is in for a reason: a few looks of the monitors. A choice.
const LATE: SimSpan = SimSpan::from_secs(60);

/// Ceph's `mon_osd_min_in_ratio`.
const IN_RATIO_MIN: f64 = 0.75;

/// The course of the map.
#[derive(Default)]
pub(super) struct Stages {
    /// When each stage begins, the first at the beginning.
    pub(super) times: Vec<SimSpan>,
    /// The cluster in each.
    pub(super) after: Vec<Cluster>,
    /// Explicit mappings that the monitors drop.
    pub(super) upmaps_dropped: usize,
    /// What becomes of devices that are down.
    pub(super) down: DownAndIn,
    /// The cluster without what is asked, but for its groups; none if it stays as it is.
    pub(super) left_alone: Option<Cluster>,
    /// Whether the user asks for each stage; the others the monitors make.
    pub(super) by_user: Vec<bool>,
    /// Devices that fail and stay in, since too few others are in when their time is over.
    pub(super) kept: BTreeSet<ItemId>,
    /// Devices that fail and that a stage marks out, and not the recovery.
    pub(super) late: BTreeSet<ItemId>,
    /// Devices that fail and are out before the monitors would mark them out.
    pub(super) was_out: BTreeSet<ItemId>,
}

/// What becomes of devices that are down and in at the beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DownAndIn {
    /// When some are marked out, in seconds, and which.
    pub out: Vec<(f64, String)>,
    /// What fails here and is marked out by a stage: when a flag of a part of the cluster is unset, a rack is
    /// no more down as a whole, or others are in again.
    pub freed: Vec<(f64, String)>,
    /// For how long some of these have been down by the exports, in words.
    pub since: Vec<String>,
    /// Whether that is not known of some.
    pub some_unknown: bool,
    /// Those that are in after longer than it takes, though nothing in the exports keeps them in.
    pub overdue: Vec<String>,
    /// Why the others stay in, and which these are.
    pub stay: Vec<(String, String)>,
}

impl DownAndIn {
    /// What is assumed of those that are marked out.
    pub(super) fn assumed(&self) -> Option<String> {
        let of = |(at, devices): &(f64, String)| format!("{devices} after {}", human::quantity(*at, "s"));
        let all: Vec<String> = self.out.iter().map(of).collect();
        let unknown = "their time (`--down-out`) counts from the beginning, since no export says when they failed: it may be \
                       over sooner";
        let down = match self.since.as_slice() {
            [] => None,
            since => Some(format!("down already: {} (`down_stamp`)", since.join(", "))),
        };
        let unknown = self.some_unknown.then(|| unknown.to_owned());
        let rest: Vec<String> = down.into_iter().chain(unknown).collect();
        (!all.is_empty())
            .then(|| format!("what is down and in is marked out: {}; {}", all.join(", "), rest.join("; ")))
    }

    /// What is to be said of those that are in for longer than they should be.
    pub(super) fn overdue(&self) -> Option<Warning> {
        (!self.overdue.is_empty()).then(|| {
            Warning::unknown(format!(
                "why Ceph has not marked out {}, which nothing in the exports keeps in: it is marked out at once here; \
                 `mon_osd_down_out_interval` may be changed or 0, or the monitors may have another leader since (--down-out)",
                self.overdue.join(", ")
            ))
        })
    }

    /// What is to be said of those that stay in.
    pub(super) fn staying(&self) -> Option<Warning> {
        let of = |(why, devices): &(String, String)| format!("{devices} because of {why}");
        let all: Vec<String> = self.stay.iter().map(of).collect();
        (!all.is_empty()).then(|| Warning::note(format!("down and not marked out: {}", all.join(", "))))
    }
}

/// What the monitors do at some time.
#[derive(Default)]
struct Acts {
    out: BTreeSet<ItemId>,
    back: BTreeSet<ItemId>,
    /// What has failed here, and is marked out in the recovery.
    given_up: BTreeSet<ItemId>,
}

/// What becomes of devices so far.
#[derive(Default)]
struct SoFar {
    /// Why devices that are down stay in.
    stay: BTreeMap<String, BTreeSet<ItemId>>,
    /// What has failed and is marked out in the recovery.
    given_up: BTreeSet<ItemId>,
    /// What stays in because too few others are in.
    kept: BTreeSet<ItemId>,
    /// What has failed and was marked out after it had stayed in, or came back before that.
    late: BTreeSet<ItemId>,
    /// What has failed and is out already when it would be marked out.
    was_out: BTreeSet<ItemId>,
    /// What is down and in, of racks that are down as a whole.
    held: BTreeSet<ItemId>,
    /// When what was held is marked out: its time begins anew when its rack is no more down as a whole.
    freed: BTreeMap<ItemId, SimSpan>,
}

/// All that decides when a device is marked out.
struct Monitors<'a> {
    start: &'a Cluster,
    flags: &'a ClusterFlags,
    /// When each device fails, and when it comes back.
    fails: BTreeMap<ItemId, SimSpan>,
    returns: BTreeMap<ItemId, SimSpan>,
    /// Those that are down at the beginning, and replaced later.
    replaced: BTreeSet<ItemId>,
    detection: SimSpan,
    down_out: SimSpan,
    /// Whether the user says that nothing is marked out.
    noout: bool,
    rack_out: bool,
    /// Whether the user unsets `noout`, which has kept devices in until then.
    was_held: bool,
    /// For how long devices have been down, as far as it is known.
    down_for: &'a BTreeMap<ItemId, u64>,
}

impl Monitors<'_> {
    /// How long it takes until a device that is down is marked out: what is left of the time that it takes,
    /// or until the monitors look again. None if it is not known since when it is down.
    fn left(&self, device: ItemId) -> Option<SimSpan> {
        let since = SimSpan::from_secs(*self.down_for.get(&device)?);
        Some(self.down_out.saturating_sub(since).max(LOOK))
    }

    /// When a device is marked out at the earliest, if the recovery of failures does not see to it; or why it
    /// stays in.
    fn due(&self, device: ItemId) -> Option<Result<SimSpan, String>> {
        let failed = self.fails.get(&device).filter(|_| self.fails_here(device));
        let was_down = self.start.device(device).is_some_and(|own| !own.up && own.weight > 0);
        let due = match failed {
            Some(at) => at.saturating_add(self.detection).saturating_add(self.down_out),
            None if was_down => self.left(device).unwrap_or(self.down_out),
            None => return None,
        };
        if failed.is_some() && (self.noout || !self.flags.of_device("noout", device, due)) {
            return None;
        }
        if self.noout {
            return Some(Err("`noout`, as you say".to_owned()));
        }
        Some(self.flags.first_without("noout", device, due).ok_or_else(|| {
            let held = self.flags.holder("noout", device, SimSpan::MAX);
            kept_by(held.expect("what is never free of a flag has it in the end"))
        }))
    }

    /// Whether a device fails, or is replaced, and so is marked out in the recovery: not where it was down
    /// before.
    fn fails_here(&self, device: ItemId) -> bool {
        let was_down = self.start.device(device).is_some_and(|own| !own.up && own.weight > 0);
        self.fails.contains_key(&device) && (!was_down || self.replaced.contains(&device))
    }

    /// When a device that fails here is marked out in the recovery; none if it is not, or is back by then.
    fn given_up_at(&self, device: ItemId) -> Option<SimSpan> {
        let failed = *self.fails.get(&device)?;
        let usual = failed.saturating_add(self.detection).saturating_add(self.down_out);
        let at = self.left(device).filter(|_| self.replaced.contains(&device)).unwrap_or(usual);
        let is_back = self.returns.get(&device).is_some_and(|back| *back <= at);
        (!self.noout && !is_back).then_some(at)
    }

    /// Notes since when devices are down that are marked out.
    fn note_since(&self, out: &[ItemId], down: &mut DownAndIn) {
        let mut by_words: BTreeMap<String, Vec<ItemId>> = BTreeMap::new();
        let mut overdue = Vec::new();
        for device in out {
            let Some(&since) = self.down_for.get(device) else {
                down.some_unknown = true;
                continue;
            };
            by_words.entry(human::quantity(since as f64, "s")).or_default().push(*device);
            let late = SimSpan::from_secs(since) > self.down_out.saturating_add(LATE);
            if late && !self.was_held && self.flags.holder("noout", *device, SimSpan::ZERO).is_none() {
                overdue.push(*device);
            }
        }
        let words = by_words.iter().map(|(since, devices)| format!("{} for {since}", device_list(devices)));
        down.since.extend(words);
        down.overdue.extend((!overdue.is_empty()).then(|| device_list(&overdue)));
    }

    /// Whether a device is of a rack that is down as a whole, where that keeps it in.
    fn is_of_dead_rack(&self, cluster: &Cluster, device: ItemId, at: SimSpan) -> bool {
        let is_up = |item| self.is_back(item, at) || (!self.has_failed(item, at) && cluster.serves(item));
        !self.rack_out && cluster.in_rack_without(device, is_up)
    }

    /// Whether a device is known to be down.
    fn is_down(&self, device: ItemId, at: SimSpan) -> bool {
        let was_down = self.start.device(device).is_some_and(|own| !own.up);
        (was_down || self.has_failed(device, at)) && !self.is_back(device, at)
    }

    /// Whether a failure of it here has been detected.
    fn has_failed(&self, device: ItemId, at: SimSpan) -> bool {
        self.fails.get(&device).is_some_and(|failed| failed.saturating_add(self.detection) <= at)
    }

    /// Whether the recovery takes a failure for one of a whole rack, which it never marks out.
    fn is_struck_as_rack(&self, device: ItemId) -> bool {
        let Some(failed) = self.fails.get(&device).filter(|_| !self.rack_out) else { return false };
        let by_then = failed.saturating_add(self.down_out);
        let known = self.fails.iter().filter(|(_, at)| **at <= by_then);
        self.start.in_dead_rack(device, &known.map(|(device, _)| *device).collect())
    }

    fn is_back(&self, device: ItemId, at: SimSpan) -> bool {
        self.returns.get(&device).is_some_and(|back| *back <= at)
    }

    /// Whether too few devices are in to mark another one out.
    fn are_few_in(&self, cluster: &Cluster, at: SimSpan, given_up: &BTreeSet<ItemId>) -> bool {
        let out = given_up.iter().copied().filter(|device| !self.is_back(*device, at)).collect();
        cluster.share_in(&out) < IN_RATIO_MIN
    }
}

/// Why the monitors mark no more devices out.
pub(super) fn too_few() -> String {
    format!("less than {:.0} % of devices in (`mon_osd_min_in_ratio`)", 100.0 * IN_RATIO_MIN)
}

/// Why the monitors mark no device of a rack out that is down as a whole.
pub(super) fn whole_rack() -> String {
    "a whole rack that is down (`mon_osd_down_out_subtree_limit`)".to_owned()
}

/// What keeps a device in, in words with the command that ends it.
pub(super) fn kept_by(flag: &Flagged) -> String {
    format!("{} (`{}`)", flag.in_words(), flag.unset())
}

/// The cluster at the beginning.
pub(super) struct Begins<'a> {
    /// As the exports have it.
    pub start: &'a Cluster,
    /// The same at the end of what the manager goes on with by itself, where it does.
    pub goes_on: Option<Cluster>,
    /// For how many seconds devices have been down, as far as it is known.
    pub down_for: &'a BTreeMap<ItemId, u64>,
    /// What is down and in in the exports, of racks that are down as a whole.
    pub of_dead_racks: BTreeSet<ItemId>,
}

/// The stages of a map.
///
/// # Errors
/// Each change that cannot be made, with its place in `draft`.
pub(super) fn stages(
    (asked, flags): (&Asked, &ClusterFlags),
    (scenario, draft): (&Scenario, &Draft),
    Begins { start, goes_on, down_for, of_dead_racks }: &Begins<'_>,
    words: &mut Vec<Told>,
    warnings: &mut Vec<Warning>,
) -> Result<Stages, Problems> {
    let monitors = monitors(asked, flags, scenario, (start, down_for));
    let mut so_far = SoFar::default();
    if !monitors.rack_out {
        so_far.held.clone_from(of_dead_racks);
    }
    let mut acts = acts(&monitors, &mut so_far.stay);
    let mut stages = Stages::default();
    let mut by_itself: Vec<ItemId> = Vec::new();
    let mut steps: BTreeMap<SimSpan, _> = asked.stages().into_iter().collect();
    let mut times: BTreeSet<SimSpan> = steps.keys().chain(acts.keys()).copied().collect();
    while let Some(at) = times.pop_first() {
        let before = stages.after.last().or(goes_on.as_ref()).unwrap_or(start);
        let by_user = steps.remove(&at);
        let mut then = match &by_user {
            Some(steps) => {
                let after_map = scenario.map.after_map.is_some() && stages.after.is_empty();
                let asked = changes::Asked { after_map, steps: steps.clone() };
                let Changed { after, upmaps_dropped, words: of_map } =
                    changes::apply(&asked, draft, before, warnings)?;
                words.extend(of_map.into_iter().map(|words| Told { at, words }));
                stages.upmaps_dropped += upmaps_dropped;
                after
            }
            None => before.clone(),
        };
        times.extend(free_of_racks(&monitors, (&then, at), &mut so_far, &mut acts));
        let acts = acts.remove(&at).unwrap_or_default();
        let out = mark_out(&monitors, (&mut then, at), &acts, &mut so_far);
        let back = acts.back;
        if !out.is_empty() {
            stages.upmaps_dropped += upmaps::drop_broken(&mut then);
            let (freed, were_down): (Vec<ItemId>, Vec<ItemId>) =
                out.iter().partition(|device| monitors.fails_here(**device));
            if !freed.is_empty() {
                stages.down.freed.push((at.as_secs_f64(), device_list(&freed)));
            }
            if !were_down.is_empty() {
                stages.down.out.push((at.as_secs_f64(), device_list(&were_down)));
                monitors.note_since(&were_down, &mut stages.down);
                by_itself.extend(were_down);
            }
        }
        back.iter().for_each(|device| mark_in((&mut then, start), *device));
        if by_user.is_some() || !out.is_empty() || !back.is_empty() {
            stages.times.push(at);
            stages.by_user.push(by_user.is_some());
            stages.after.push(then);
        }
    }
    close(&mut stages, so_far, &monitors);
    stages.left_alone = left_alone((start, goes_on.as_ref()), &by_itself);
    Ok(stages)
}

/// Notes what stays in in the end, and what the recovery does not mark out.
fn close(stages: &mut Stages, so_far: SoFar, monitors: &Monitors<'_>) {
    let listed = |(why, devices): (String, BTreeSet<ItemId>)| {
        (why, device_list(&devices.into_iter().collect::<Vec<_>>()))
    };
    let (failed, down) = so_far.kept.into_iter().partition(|device| monitors.fails_here(*device));
    let mut stay = so_far.stay;
    let flagged: BTreeSet<ItemId> = stay.values().flatten().copied().collect();
    let of_rack = so_far.held.into_iter().filter(|device| !monitors.fails_here(*device));
    stay.entry(whole_rack()).or_default().extend(of_rack.filter(|device| !flagged.contains(device)));
    stay.entry(too_few()).or_default().extend(down);
    // For what is put out, removed or drained nothing waits any more.
    if let Some(end) = stages.after.last() {
        stay.values_mut().for_each(|devices| devices.retain(|device| is_placed_on(end, *device)));
    }
    let stay = stay.into_iter().filter(|(_, devices)| !devices.is_empty());
    stages.down.stay = stay.map(listed).collect();
    (stages.kept, stages.late, stages.was_out) = (failed, so_far.late, so_far.was_out);
    // What was down before is marked out by these stages, whether it is said to fail or not.
    let were_down = monitors.fails.keys().filter(|device| !monitors.fails_here(**device));
    stages.late.extend(were_down);
}

/// Whether the map places groups on a device: it is in, and has a weight in the map.
fn is_placed_on(cluster: &Cluster, device: ItemId) -> bool {
    let is_in = cluster.device(device).is_some_and(|own| own.weight > 0);
    is_in
        && cluster.map.each_bucket().any(|bucket| {
            bucket.items.iter().enumerate().any(|(at, item)| *item == device && bucket.item_weight(at) > 0)
        })
}

/// The cluster in the end if only these devices are marked out, without its groups; none where it stays as it
/// is.
fn left_alone((start, goes_on): (&Cluster, Option<&Cluster>), out: &[ItemId]) -> Option<Cluster> {
    let stays = out.is_empty() && goes_on.is_none();
    let mut alone = (!stays).then(|| goes_on.unwrap_or(start).without_groups())?;
    for device in out {
        if let Some(own) = alone.device_mut(*device) {
            own.weight = 0;
        }
    }
    upmaps::drop_broken(&mut alone);
    Some(alone)
}

fn monitors<'a>(
    asked: &Asked,
    flags: &'a ClusterFlags,
    scenario: &Scenario,
    (start, down_for): (&'a Cluster, &'a BTreeMap<ItemId, u64>),
) -> Monitors<'a> {
    let delays = &scenario.keys.delays;
    // What a name does not mean is refused elsewhere.
    let below = |change: &Change| {
        let name = change.text.split_once('=').map_or(change.text.as_str(), |(_, name)| name.trim());
        start.item(name).map(|item| start.devices_below(item)).unwrap_or_default()
    };
    let of = |changes: &[Change]| {
        let each =
            changes.iter().flat_map(|change| below(change).into_iter().map(|device| (device, change.at)));
        each.collect::<BTreeMap<ItemId, SimSpan>>()
    };
    let (mut fails, returns) = (of(&asked.fail), of(&asked.returns));
    let replaced = replaced_later(asked, start);
    for device in &replaced {
        fails.entry(*device).or_insert(SimSpan::ZERO);
    }
    Monitors {
        start,
        flags,
        fails,
        returns,
        replaced,
        detection: delays.detection.unwrap_or(SimSpan::from_secs(20)),
        down_out: delays.down_out.unwrap_or(SimSpan::from_secs(600)),
        noout: delays.noout == Some(true),
        rack_out: delays.rack_out == Some(true),
        was_held: asked.flags.iter().any(|change| change.verb != SET && change.text.starts_with("noout")),
        down_for,
    }
}

/// Devices that are down in the exports, and replaced by empty ones later.
pub(super) fn replaced_later(asked: &Asked, start: &Cluster) -> BTreeSet<ItemId> {
    let replaced = asked.returns.iter().filter(|change| change.verb == "replace");
    let items = replaced.filter_map(|change| start.item(&change.text)).filter(|item| *item >= 0);
    items.filter(|item| !start.serves(*item)).collect()
}

/// What is due when; what never is goes to `stay`.
fn acts(monitors: &Monitors<'_>, stay: &mut BTreeMap<String, BTreeSet<ItemId>>) -> BTreeMap<SimSpan, Acts> {
    let mut acts: BTreeMap<SimSpan, Acts> = BTreeMap::new();
    // Then the monitors look at racks and at how many devices are in.
    let known = monitors.fails.values().map(|failed| failed.saturating_add(monitors.detection));
    for at in known.chain(monitors.returns.values().copied()) {
        acts.entry(at).or_default();
    }
    for device in monitors.start.devices() {
        let back = monitors.returns.get(&device);
        match monitors.due(device) {
            Some(Ok(at)) if back.is_none_or(|back| *back > at) => {
                acts.entry(at).or_default().out.insert(device);
                // `mon_osd_auto_mark_auto_out_in`.
                if let Some(back) = back {
                    acts.entry(*back).or_default().back.insert(device);
                }
            }
            Some(Err(why)) if !monitors.fails_here(device) => {
                stay.entry(why).or_default().insert(device);
            }
            None => {
                if let Some(at) = monitors.given_up_at(device) {
                    acts.entry(at).or_default().given_up.insert(device);
                }
            }
            _ => {}
        }
    }
    acts
}

/// What is down and in and no more of a rack that is down as a whole, with the time when it is marked out:
/// while the rack was, each look of the monitors has reset its time (`OSDMonitor::tick`).
fn look_at_racks(
    monitors: &Monitors<'_>,
    (cluster, at): (&Cluster, SimSpan),
    so_far: &mut SoFar,
) -> Vec<(ItemId, SimSpan)> {
    if monitors.rack_out {
        return Vec::new();
    }
    let mut due = Vec::new();
    for device in monitors.start.devices() {
        let is_in = cluster.device(device).is_some_and(|own| own.weight > 0);
        let waits = is_in && monitors.is_down(device, at) && !so_far.given_up.contains(&device);
        let held = waits && monitors.is_of_dead_rack(cluster, device, at);
        if held {
            so_far.held.insert(device);
            so_far.freed.remove(&device);
        } else if so_far.held.remove(&device) && waits {
            let usual = at.saturating_add(monitors.down_out);
            match monitors.flags.first_without("noout", device, usual).filter(|_| !monitors.noout) {
                Some(at) => {
                    so_far.freed.insert(device, at);
                    due.push((device, at));
                }
                None => {
                    so_far.freed.insert(device, SimSpan::MAX);
                    let flag = monitors.flags.holder("noout", device, SimSpan::MAX);
                    let why = flag.map_or_else(|| "`noout`, as you say".to_owned(), kept_by);
                    so_far.stay.entry(why).or_default().insert(device);
                }
            }
        }
    }
    due
}

/// Plans what becomes of what is no more of a rack that is down as a whole; tells when.
fn free_of_racks(
    monitors: &Monitors<'_>,
    now: (&Cluster, SimSpan),
    so_far: &mut SoFar,
    acts: &mut BTreeMap<SimSpan, Acts>,
) -> Vec<SimSpan> {
    let mut times = Vec::new();
    for (device, due) in look_at_racks(monitors, now, so_far) {
        acts.entry(due).or_default().out.insert(device);
        times.push(due);
        if let Some(back) = monitors.returns.get(&device).filter(|back| **back > due) {
            acts.entry(*back).or_default().back.insert(device);
            times.push(*back);
        }
    }
    times
}

/// Marks devices out, one after the other, and tells which; those that the monitors keep in are noted, and
/// looked at again. What has failed here stays as it is in the map where it is marked out in the recovery.
fn mark_out(
    monitors: &Monitors<'_>,
    (cluster, at): (&mut Cluster, SimSpan),
    acts: &Acts,
    so_far: &mut SoFar,
) -> Vec<ItemId> {
    let mut out = Vec::new();
    let due: BTreeSet<ItemId> =
        [&acts.out, &acts.given_up, &so_far.kept].into_iter().flatten().copied().collect();
    for device in due {
        let was_kept = so_far.kept.remove(&device);
        let is_of_recovery = acts.given_up.contains(&device);
        let is_out = cluster.device(device).is_none_or(|own| own.weight == 0);
        if is_out && is_of_recovery {
            so_far.was_out.insert(device);
        }
        if is_out || monitors.is_back(device, at) {
            if was_kept && !is_out && monitors.fails_here(device) {
                so_far.late.insert(device);
            }
            continue;
        }
        if so_far.held.contains(&device) || so_far.freed.get(&device).is_some_and(|due| *due > at) {
            continue;
        }
        let is_of_recovery = is_of_recovery && !monitors.is_struck_as_rack(device);
        if monitors.are_few_in(cluster, at, &so_far.given_up) {
            so_far.kept.insert(device);
        } else if is_of_recovery {
            so_far.given_up.insert(device);
        } else if let Some(own) = cluster.device_mut(device) {
            own.weight = 0;
            out.push(device);
            if (was_kept || acts.given_up.contains(&device) || so_far.freed.contains_key(&device))
                && monitors.fails_here(device)
            {
                so_far.late.insert(device);
            }
        }
    }
    out
}

/// Marks a device in again, with the weight that it had.
fn mark_in((cluster, start): (&mut Cluster, &Cluster), device: ItemId) {
    let had = start.device(device).map_or(FULL, |own| own.weight);
    if let Some(own) = cluster.device_mut(device).filter(|own| own.weight == 0) {
        own.weight = had;
    }
}
