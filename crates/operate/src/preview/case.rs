//! A cluster before and after the changes of a scenario.

use towtank_ceph::{Cluster, FillLimits, GroupStates, Joined, device_list, upmaps};
use towtank_placement::crush::ItemId;
use towtank_report::Warning;
use towtank_scenario::{Draft, Problems};

use super::scenario::Scenario;
use crate::asked::{Asked, Change};
use crate::changes::{self, Changed};
use crate::exports;
use crate::features;
use crate::flags::ClusterFlags;
use crate::release::{Found, GroupLimits};
use crate::states;
use crate::targets::Targets;

/// A cluster before and after.
#[derive(Clone, Debug)]
pub struct Case {
    /// The cluster as it is.
    pub before: Cluster,
    /// The cluster as it would be; the groups are those of `before`.
    pub after: Cluster,
    /// The cluster without the changes, but for its groups, where it does not stay as it is.
    pub left_alone: Option<Cluster>,
    /// What the exports say of the states of groups.
    pub states: GroupStates,
    /// Warnings about the exports and about the changes.
    pub warnings: Vec<Warning>,
    /// The number of explicit mappings that the monitors would drop or change.
    pub upmaps_dropped: usize,
    /// The changes in words.
    pub changes: Vec<String>,
    /// The limits of fill of a device.
    pub limits: FillLimits,
    /// More groups on a device than this bring a warning: `mon_max_pg_per_osd`.
    pub groups_max: u32,
    /// What a flag keeps from moving, in words.
    pub halts: Option<String>,
    /// Changes that Ceph refuses because of flags of pools, in words.
    pub locked: Vec<String>,
    /// Whether devices are down and never marked out.
    pub never_out: bool,
    /// What moves because of splits under way, which is not known, in words.
    pub splits: Option<String>,
}

/// States of groups in which the dump does not tell everything.
const STATES: [(&str, &str); 6] = [
    ("unknown", "their location is taken from the map"),
    ("stale", "they have not been reported for a while, so their sizes are old"),
    ("degraded", "their missing copies are counted as bytes to move where the map has a device for them"),
    (
        "undersized",
        "they have fewer copies than their pool requires; what the map has a device for is counted as bytes to move",
    ),
    ("remapped", "they are not where they should be; data in transit is counted as bytes to move"),
    ("incomplete", "their data may be lost, which no change of the map repairs"),
];

impl Case {
    /// Reads the exports and applies the changes.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn of(scenario: &Scenario, draft: &Draft) -> Result<Case, Problems> {
        let loaded = exports::load(&scenario.exports, &STATES, draft)?;
        let release = Found::of(&loaded).release;
        let groups_max = GroupLimits::of(release).max;
        let Joined { cluster: before, mut warnings, osd_dump, states, .. } = loaded;
        warnings.extend(features::named(&osd_dump));
        warnings.extend(states::of_sums(&states));
        let asked = Asked::of(&scenario.keyed(), draft)?;
        timeless(&asked, draft).into_result(())?;
        let targets = Targets::of(&before, &osd_dump, &asked, &mut warnings);
        let goes_on = targets.reached.as_ref().unwrap_or(&before);
        let steps = asked.map.iter().map(Change::step).collect();
        let steps = changes::Asked { after_map: scenario.map.after_map.is_some(), steps };
        let Changed { after, upmaps_dropped, words } = changes::apply(&steps, draft, goes_on, &mut warnings)?;
        warnings.extend(features::of_rules(&after, release));
        if words.is_empty() && targets.reached.is_none() {
            warnings.push(Warning::note("nothing is changed; data that moves is already in transit"));
        }
        let limits = FillLimits::of(&osd_dump);
        let flags = ClusterFlags::of((&before, &osd_dump), &asked, draft, &mut warnings)?;
        let noout = flags.always("noout");
        let down = down_and_in(&after, noout);
        let never_out = noout && down.is_some();
        warnings.extend(down);
        let splits = targets.not_known();
        let left_alone = targets.reached.map(|own| {
            let mut alone = own.without_groups();
            upmaps::drop_broken(&mut alone);
            alone
        });
        Ok(Case {
            before,
            after,
            left_alone,
            states,
            warnings,
            upmaps_dropped,
            changes: words,
            limits,
            groups_max,
            halts: flags.of_moves(),
            locked: features::locked(&osd_dump, &asked),
            never_out,
            splits,
        })
    }
}

/// Names devices that are down and in: groups wait for them, so that nothing moves until they are marked out.
fn down_and_in(cluster: &Cluster, noout: bool) -> Option<Warning> {
    let is_down = |id: &ItemId| cluster.device(*id).is_some_and(|own| !own.up && own.weight > 0);
    let down: Vec<ItemId> = cluster.devices().into_iter().filter(is_down).collect();
    let first = down.first()?;
    let (who, whom, they) = if down.len() == 1 { ("is", "it", "it is") } else { ("are", "them", "they are") };
    let when = match noout {
        true => format!("`noout` keeps {whom} in, so nothing of these moves until it is unset"),
        false => format!(
            "nothing of these moves until {they} marked out, which `towtank whatif` does after `down_out`"
        ),
    };
    Some(Warning::note(format!(
        "{} {who} down and in: groups wait for {whom}, and {when}; --mark-out osd.{first} shows what moves then",
        device_list(&down)
    )))
}

/// Only what moves in the end is answered, so that a time means nothing.
fn timeless(asked: &Asked, draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    for change in asked.map.iter().filter(|change| !change.at.is_zero()) {
        let message = "only what moves in the end is answered here, so that its time has no effect";
        let hint = "leave the time out; `towtank whatif` without moves_only says how long it takes";
        problems.push(change.problem(draft, message).hint(hint));
    }
    problems
}
