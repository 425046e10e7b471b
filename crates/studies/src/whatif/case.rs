//! A cluster before and after: as it is, as the map is changed, and as it is in the end, when what fails is
//! given up.

use towtank_ceph::{Cluster, FillLimits, Joined, LaidOut, upmaps};
use towtank_placement::crush::pools::FULL;
use towtank_placement::crush::{NONE, RuleKind};
use towtank_scenario::{Draft, Problems};
use towtank_streams::Seed;
use towtank_units::Bytes;

use super::asked::Asked;
use super::scenario::Scenario;
use crate::RunContext;
use crate::exports::{self, Exported};
use crate::preview::case::Case;
use crate::preview::changes::{self, Changed};
use crate::rebuild::real::{self, Change, Staged};

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
    /// Whether anything is asked for.
    pub asks: bool,
    /// Whether something fails, or is replaced.
    pub fails: bool,
}

/// States of groups in which the dump does not tell everything.
const STATES: [(&str, &str); 5] = [
    ("unknown", "their location is taken from the map"),
    ("stale", "they have not been reported for a while, so their sizes are old"),
    ("backfilling", "what they have copied already is not known, so they are copied as a whole"),
    ("recovering", "what they have recovered already is not known, so they are copied as a whole"),
    ("incomplete", "their data may be lost, which no change of the map repairs"),
];

impl Ready {
    /// Reads the exports and applies the changes.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        let asked = Asked::of(&scenario, draft)?;
        check_shares(&scenario, draft).into_result(())?;
        let exported = Exported {
            map: scenario.crush_map.as_deref(),
            osd_dump: scenario.osd_dump.as_deref(),
            pg_dump: scenario.pg_dump.as_deref(),
            osd_df: scenario.osd_df.as_deref(),
            report: scenario.report.as_deref(),
            states: &STATES,
        };
        let mut joined = exports::load(&exported, draft)?;
        let mut words: Vec<String> = asked.fail.iter().map(|text| format!("{text} fails")).collect();
        replace(&mut joined.cluster, &asked, draft, &mut words)?;
        let start = joined.cluster.clone();
        let limits = FillLimits::of(&joined.osd_dump);
        let mut warnings = Vec::new();
        let steps = changes::Asked { after_map: scenario.after_map.is_some(), steps: asked.steps() };
        let changed = changes::apply(&steps, draft, &start, &mut warnings)?;
        let Changed { after, upmaps_dropped, words: of_map } = changed;
        words.extend(of_map);
        let change = Change {
            disks_before: classed(&start, &joined, &scenario),
            disks_after: classed(&after, &joined, &scenario),
            after: after.clone(),
        };
        let real = real::Ready::of(scenario.rebuild(asked.fail.clone()), joined, Some(change), draft)?;
        let end = given_up(after, &real);
        let case = Case { before: start, after: end, warnings, upmaps_dropped, changes: words, limits };
        let fails = !asked.fail.is_empty() || !asked.replace.is_empty();
        let asks = !case.changes.is_empty();
        let staged = real.staged(&RunContext::alone(Seed(0), 0)).expect("nobody stops a context of its own");
        Ok(Ready { scenario, case, real, staged, asks, fails })
    }

    /// An estimate of the memory of a replicate: a size, its state, a job with its devices, and its progress
    /// for each object.
    #[must_use]
    pub fn memory_estimate(&self) -> Bytes {
        Bytes::new(self.staged.affected.objects() as u64 * 96 + self.real.memory_estimate().get())
    }
}

fn check_shares(scenario: &Scenario, draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    if scenario.speed_spread.fraction_f64() > 0.9 {
        let message = format!("`speed_spread` is {}, at most 90%", scenario.speed_spread);
        problems.push(draft.problem("speed_spread", message).hint("20% is what is taken if it is left out"));
    }
    if scenario.failure_rate.fraction_f64() > 1.0 {
        let message = format!("`failure_rate` is {} a year, more than all", scenario.failure_rate);
        problems.push(draft.problem("failure_rate", message).hint("1.5% is what is taken if it is left out"));
    }
    problems
}

/// Writes down where each group is, where only the map says it.
fn settle(cluster: &mut Cluster) -> Result<(), String> {
    let plain = cluster.clone();
    let mut laid_out = LaidOut::new(&plain).map_err(|fault| fault.to_string())?;
    for (pool, of_plain) in cluster.pools.iter_mut().zip(&plain.pools) {
        for (seed, group) in (0u32..).zip(&mut pool.groups).filter(|(_, group)| group.acting.is_none()) {
            let acting = laid_out.place(&of_plain.placed, seed).acting;
            group.acting = Some(acting.devices);
            group.primary = group.primary.or(acting.primary);
        }
    }
    Ok(())
}

/// Takes the data from devices that are replaced, which are then up and in.
fn replace(
    cluster: &mut Cluster,
    asked: &Asked,
    draft: &Draft,
    words: &mut Vec<String>,
) -> Result<(), Problems> {
    if !asked.replace.is_empty() {
        settle(cluster).map_err(|fault| draft.problem("crush_map", fault).hint("mend the map"))?;
    }
    for text in &asked.replace {
        let key = if draft.says("replace") { "replace" } else { "changes" };
        let found = cluster.item(text.trim()).filter(|item| *item >= 0);
        let Some(osd) = found.filter(|osd| cluster.device(*osd).is_some()) else {
            let message = format!("`{key}` names \"{text}\", which is no device of the osd dump");
            return Err(draft.problem(key, message).hint("name a device, such as osd.3").into());
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
                if coded {
                    acting.iter_mut().filter(|id| **id == osd).for_each(|id| *id = NONE);
                } else {
                    acting.retain(|id| *id != osd);
                }
                group.primary = group.primary.filter(|primary| *primary != osd);
            }
        }
        words.push(format!("{text} replaced"));
    }
    Ok(())
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

/// The cluster when what fails has been given up; what is never given up stays in, and is down.
fn given_up(after: Cluster, real: &real::Ready) -> Cluster {
    let mut end = after;
    let waiting = real.waiting();
    // What fails is named, so no seed matters.
    for struck in real.struck(Seed(0)) {
        let stays = waiting.noout || (struck.rack && !waiting.rack_out);
        for device in &struck.devices {
            let osd = real.groups.machines.osds[device.index()];
            if let Some(state) = end.device_mut(osd) {
                state.up = false;
                state.weight = if stays { state.weight } else { 0 };
            }
        }
    }
    upmaps::drop_broken(&mut end);
    end
}
