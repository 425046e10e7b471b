//! What the monitor's maps are, from what the directories of the devices know of them.

use std::collections::{BTreeMap, BTreeSet};

use towtank_replication::{Epoch, Incarnation, Member};

use crate::loss::{GroupLoss, Loss};
use crate::map::{Change, ClusterMap, OsdState, Places};
use crate::runs::Runs;
use crate::saved::Outline;
use crate::settings::Settings;

/// How far the new map's epoch is above all that are known: the lost monitor may have published maps that
/// reached no device.
const AHEAD: Epoch = 1_000;

/// What the directory of a device knows.
#[derive(Clone, Debug)]
pub(super) struct Testimony {
    pub incarnation: Incarnation,
    pub runs: Runs,
    pub maps: BTreeMap<Epoch, ClusterMap>,
    pub outlines: BTreeMap<u32, Outline>,
}

/// All that was found in the directory of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    pub testimonies: BTreeMap<u32, Testimony>,
    /// Directories that cannot be used, with the reason.
    pub faults: BTreeMap<u32, String>,
    /// Devices that have run here, whether they have a directory or not.
    pub traces: BTreeSet<u32>,
    /// The newest map of an older copy of the monitor's directory.
    pub copy: Option<Epoch>,
}

impl Findings {
    /// The newest map that any directory has; 0 if none has one.
    pub(super) fn newest(&self) -> Epoch {
        let known = self.testimonies.values().filter_map(|it| it.maps.last_key_value());
        known.map(|(epoch, _)| *epoch).chain(self.copy).max().unwrap_or(0)
    }
}

/// Why no maps follow from what was found.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Gap {
    /// No directory keeps a map.
    #[error("no directory of a device keeps a map of the cluster")]
    Nothing,
    /// There are maps after these and before those, and nobody has them.
    #[error("the maps between {0} and {1} are missing in all directories")]
    Missing(Epoch, Epoch),
    /// Devices that must be there, or be given up, with what is wrong with each.
    #[error("{}", .0.values().cloned().collect::<Vec<_>>().join("; "))]
    Devices(BTreeMap<u32, String>),
}

/// The maps of the new monitor, and what is lost with them.
#[derive(Debug)]
pub(super) struct Plan {
    /// In order; the last one is new.
    pub maps: Vec<ClusterMap>,
    /// The newest map that a device knows.
    pub newest: Epoch,
    /// What may be lost with the devices that are given up.
    pub loss: Loss,
    /// Whether those devices may have served without any other after the newest known map.
    pub may_have_gone_on: bool,
}

/// The maps from the oldest that is still needed to the newest that a device knows.
fn history(testimonies: &BTreeMap<u32, Testimony>) -> Result<Vec<ClusterMap>, Gap> {
    let mut all: BTreeMap<Epoch, (u32, &ClusterMap)> = BTreeMap::new();
    for (osd, testimony) in testimonies {
        for (epoch, map) in &testimony.maps {
            let (other, known) = *all.entry(*epoch).or_insert((*osd, map));
            if known != map {
                // One of them followed a copy of the monitor, and nothing tells which.
                let words = format!("osd.{other} and osd.{osd} know different maps {epoch}");
                return Err(Gap::Devices(BTreeMap::from([(*osd, words)])));
            }
        }
    }
    let Some((_, (_, newest))) = all.last_key_value() else { return Err(Gap::Nothing) };
    let maps: Vec<&ClusterMap> = all.range(newest.oldest..).map(|(_, (_, map))| *map).collect();
    let is_next =
        |pair: &[&ClusterMap]| pair[1].change == Change::Rebuilt || pair[1].epoch == pair[0].epoch + 1;
    if let Some(pair) = maps.windows(2).find(|pair| !is_next(pair)) {
        return Err(Gap::Missing(pair[0].epoch, pair[1].epoch));
    }
    if maps.first().is_none_or(|first| first.epoch != newest.oldest) {
        return Err(Gap::Missing(newest.oldest.saturating_sub(1), maps.first().map_or(0, |map| map.epoch)));
    }
    Ok(maps.into_iter().cloned().collect())
}

/// What is wrong with a device of the newest map, whose directory was read.
fn fault_in(osd: u32, state: &OsdState, testimony: &Testimony) -> Option<String> {
    if state.incarnation != Some(testimony.incarnation) {
        return Some(format!("the directory of osd.{osd} is not the one that the other devices know"));
    }
    (!testimony.runs.reach(state.last_run))
        .then(|| format!("the directory of osd.{osd} is an older copy: a run that others know is not in it"))
}

/// The devices that are wanting, each with what is wrong, besides those that are given up.
fn wanting(found: &Findings, newest: &ClusterMap, without: &BTreeSet<u32>) -> BTreeMap<u32, String> {
    let mut wanting = BTreeMap::new();
    let lost = newest.lost();
    for (osd, state) in newest.osds.iter().filter(|(osd, _)| !lost.contains(osd)) {
        let why = match (found.faults.get(osd), found.testimonies.get(osd)) {
            (Some(why), _) => Some(why.clone()),
            (None, Some(testimony)) => fault_in(*osd, state, testimony),
            (None, None) => Some(format!("osd.{osd}: its directory is missing")),
        };
        wanting.extend(why.map(|why| (*osd, why)));
    }
    let is_known = |osd: &u32| newest.osds.contains_key(osd);
    for (osd, why) in found.faults.iter().filter(|(osd, _)| !is_known(osd)) {
        wanting.insert(*osd, why.clone());
    }
    for (osd, testimony) in found.testimonies.iter().filter(|(osd, _)| !is_known(osd)) {
        // A device that was added, and that has not heard of a map yet, holds nothing.
        if !testimony.maps.is_empty() || gone_of(newest, *osd).contains(&testimony.incarnation) {
            wanting.insert(*osd, format!("osd.{osd} is no device of the newest map: it was removed"));
        }
    }
    for osd in found.traces.iter().filter(|osd| !is_known(osd)) {
        let is_found = found.testimonies.contains_key(osd) || found.faults.contains_key(osd);
        if !is_found && gone_of(newest, *osd).is_empty() {
            wanting
                .insert(*osd, format!("osd.{osd} has run here, and no directory that is left knows of it"));
        }
    }
    wanting.retain(|osd, _| !without.contains(osd));
    wanting
}

/// The former lives of a device.
fn gone_of(map: &ClusterMap, osd: u32) -> Vec<Incarnation> {
    let of_osd = map.gone.iter().filter(|member| member.device.0 == osd);
    of_osd.map(|member| member.incarnation).collect()
}

/// The maps of the new monitor, if all devices that may know of an acknowledged write are there, or given up.
pub(super) fn made(settings: &Settings, found: &Findings, without: &BTreeSet<u32>) -> Result<Plan, Gap> {
    let (mut found, highest) = (found.clone(), found.newest());
    found.testimonies.retain(|osd, _| !without.contains(osd));
    let mut maps = match history(&found.testimonies) {
        // What is wrong with the others is what to begin with.
        Err(Gap::Nothing) if found.faults.keys().any(|osd| !without.contains(osd)) => {
            found.faults.retain(|osd, _| !without.contains(osd));
            return Err(Gap::Devices(found.faults));
        }
        history => history?,
    };
    let newest = maps.last().expect("a history has at least one map").clone();
    let wanting = wanting(&found, &newest, without);
    if !wanting.is_empty() {
        return Err(Gap::Devices(wanting));
    }
    let former = newest.gone.clone();
    let given_up = without.iter().filter_map(|osd| newest.member(*osd)).filter(|it| !former.contains(it));
    let given_up: Vec<Member> = given_up.collect();
    let loss = if given_up.is_empty() { Loss::default() } else { losing(settings, &found, &maps) };
    let size_min = settings.config(0).size_min;
    let may_have_gone_on = !without.is_empty() && without.len() >= size_min;
    maps.push(ClusterMap { epoch: highest + AHEAD, ..next(&newest, &found, given_up) });
    Ok(Plan { maps, newest: newest.epoch, loss, may_have_gone_on })
}

/// The new map, without its epoch: all are down, and who is given up is gone.
fn next(newest: &ClusterMap, found: &Findings, given_up: Vec<Member>) -> ClusterMap {
    let mut map = ClusterMap { change: Change::Rebuilt, ..newest.clone() };
    map.temporary.clear();
    map.gone.extend(given_up);
    for state in map.osds.values_mut() {
        (state.is_up, state.is_full) = (false, false);
    }
    let lost = map.lost();
    for (osd, testimony) in &found.testimonies {
        let state = map.osds.entry(*osd).or_insert_with(|| OsdState::begins_with(testimony.incarnation));
        if !lost.contains(osd) {
            // The lost monitor may have let in a run of which no map is left.
            state.last_run = testimony.runs.last();
        }
    }
    map
}

/// What the cluster may lose: what was acknowledged in an interval in which no device acted that is left. All
/// that was acknowledged before an interval that a complete replica took part in is known to that replica.
fn losing(settings: &Settings, found: &Findings, maps: &[ClusterMap]) -> Loss {
    let size_min = settings.config(0).size_min;
    let newest = maps.last().expect("a history has at least one map");
    let is_left = |member: &Member| {
        let testimony = found.testimonies.get(&member.device.0);
        testimony.is_some_and(|it| it.incarnation == member.incarnation) && !newest.gone.contains(member)
    };
    let is_given_up = |member: &Member| !is_left(member) && !newest.gone.contains(member);
    let placed: Vec<(&ClusterMap, Places)> =
        maps.iter().map(|map| (map, Places::new(settings, map))).collect();
    let mut loss = Loss::default();
    for group in 0..settings.groups {
        let outlines = found.testimonies.values().filter_map(|it| it.outlines.get(&group));
        let complete: Vec<&Outline> = outlines.filter(|outline| outline.is_complete).collect();
        let started = complete.iter().map(|outline| outline.last_epoch_started).max().unwrap_or(0);
        let mut since = None;
        for (map, places) in placed.iter().filter(|(map, _)| map.begins_interval_of(group)) {
            let acting = places.map_of(map, group).acting;
            let members: Vec<Member> = acting.iter().filter_map(|device| map.member(device.0)).collect();
            let may_have_served = map.epoch >= started && members.len() >= size_min;
            if may_have_served && !members.iter().any(is_left) && members.iter().any(is_given_up) {
                since = since.or(Some(map.epoch));
            }
        }
        if let Some(since) = since {
            loss.groups.push(GroupLoss { group, since, others: BTreeSet::new() });
            continue;
        }
        // Objects that everybody lacks who knows all.
        let mut lacking = complete.iter().filter(|it| it.last_epoch_started == started).map(|it| &it.missing);
        let first = lacking.next().cloned().unwrap_or_default();
        let all = lacking.fold(first, |all, missing| all.intersection(missing).cloned().collect());
        loss.unfound += all.len() as u64;
    }
    loss
}

#[cfg(test)]
mod tests;
