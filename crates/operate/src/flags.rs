//! Flags of a cluster: those that its exports have, and those that are set and unset as planned.
//!
//! What each does is read from Ceph 15 to 20 (`OSD::activate_map`, `PrimaryLogPG::start_recovery_ops`,
//! `OSDMonitor::can_mark_out` and its like). A flag that is not in these lists is named in the answer: what
//! it does is not known here.

mod scope;

use std::collections::{BTreeMap, BTreeSet};

use towtank_ceph::Cluster;
use towtank_imports::ceph::OsdDump;
use towtank_placement::crush::ItemId;
use towtank_rebuild::flags::{Flags, FlagsOverTime};
use towtank_report::Warning;
use towtank_scenario::{Draft, Problems, did_you_mean};
use towtank_units::{SimSpan, SimTime};

use crate::asked::{Asked, Change, SET};
pub(crate) use scope::Flagged;
use scope::{Scope, Wrong};

/// Flags that change what is answered here.
const EFFECTIVE: [&str; 8] =
    ["norecover", "nobackfill", "norebalance", "noout", "nodown", "noup", "noin", "pause"];

/// `pause` as the map has it.
const PAUSED: [&str; 2] = ["pauserd", "pausewr"];

/// Flags that say nothing about recovery, requests or devices.
const WITHOUT_EFFECT: [&str; 12] = [
    "sortbitwise",
    "recovery_deletes",
    "purged_snapdirs",
    "pglog_hardlimit",
    "require_jewel_osds",
    "require_kraken_osds",
    "require_luminous_osds",
    "noscrub",
    "nodeep-scrub",
    "nosnaptrim",
    "notieragent",
    "noautoscale",
];

/// The flags of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterFlags {
    /// The flags from each time on, in order; the first set is in force at the beginning.
    stages: Vec<(SimSpan, BTreeSet<Flagged>)>,
    /// The devices of each part of the cluster that has a flag at some time.
    devices: BTreeMap<Flagged, BTreeSet<ItemId>>,
}

/// Devices that start.
pub(crate) struct Boot<'a> {
    /// Why they do.
    pub(crate) change: &'a Change,
    /// The devices.
    pub(crate) devices: Vec<ItemId>,
    /// Whether they were out, so that they are to be marked in.
    pub(crate) was_out: bool,
}

impl ClusterFlags {
    /// The flags of the exports, changed as the user asks.
    ///
    /// # Errors
    /// Each change that is none, with its place in `draft`.
    pub(crate) fn of(
        (cluster, dump): (&Cluster, &OsdDump),
        asked: &Asked,
        draft: &Draft,
        warnings: &mut Vec<Warning>,
    ) -> Result<ClusterFlags, Problems> {
        let mut problems = Problems::new();
        let mut stages = vec![(SimSpan::ZERO, at_first((cluster, dump), warnings))];
        for change in &asked.flags {
            let flagged = match Flagged::read(&change.text, cluster) {
                Ok(flagged) => flagged,
                Err((message, hint)) => {
                    problems.push(change.problem(draft, &message).hint(hint));
                    continue;
                }
            };
            if let Some((message, hint)) = wrong(&flagged.flag) {
                problems.push(change.problem(draft, &message).hint(hint));
                continue;
            }
            let (from, mut flags) = stages.last().expect("there is one at the beginning").clone();
            let sets = change.verb == SET;
            let changes = if sets { flags.insert(flagged.clone()) } else { flags.remove(&flagged) };
            if !changes {
                let (message, hint) = needless(&flagged, sets, &flags);
                problems.push(change.problem(draft, &message).hint(hint));
            }
            match stages.last_mut() {
                Some(last) if from == change.at => last.1 = flags,
                _ => stages.push((change.at, flags)),
            }
        }
        let all = stages.iter().flat_map(|(_, flags)| flags);
        let devices = all.map(|flagged| (flagged.clone(), flagged.devices(cluster))).collect();
        problems.into_result(ClusterFlags { stages, devices })
    }

    /// The same without a flag of the whole map, whenever it is set.
    #[must_use]
    pub(crate) fn without(mut self, flag: &str) -> ClusterFlags {
        for (_, flags) in &mut self.stages {
            flags.remove(&Flagged::of_map(flag));
        }
        self
    }

    fn at(&self, at: SimSpan) -> impl Iterator<Item = &Flagged> {
        let begun = self.stages.iter().take_while(move |(from, _)| *from <= at);
        begun.last().into_iter().flat_map(|(_, flags)| flags)
    }

    /// Whether a flag of the whole map is set at this time.
    pub(crate) fn has(&self, flag: &str, at: SimSpan) -> bool {
        self.at(at).any(|own| *own == Flagged::of_map(flag))
    }

    /// Whether a flag of the whole map is set from the beginning on, and never unset.
    pub(crate) fn always(&self, flag: &str) -> bool {
        self.stages.iter().all(|(_, flags)| flags.contains(&Flagged::of_map(flag)))
    }

    /// What has a flag at this time because of which a device has it: the whole map, or a part of it.
    pub(crate) fn holder(&self, flag: &str, device: ItemId, at: SimSpan) -> Option<&Flagged> {
        let covers = |own: &Flagged| {
            own.scope == Scope::All || self.devices.get(own).is_some_and(|all| all.contains(&device))
        };
        self.at(at).find(|own| own.flag == flag && covers(own))
    }

    /// Whether a device has a flag at this time of its own, or by its host, rack or class.
    pub(crate) fn of_device(&self, flag: &str, device: ItemId, at: SimSpan) -> bool {
        let mut own = self.at(at).filter(|own| own.flag == flag);
        own.any(|own| self.devices.get(own).is_some_and(|all| all.contains(&device)))
    }

    /// The first time from `from` on at which a device does not have a flag; none where it always has.
    pub(crate) fn first_without(&self, flag: &str, device: ItemId, from: SimSpan) -> Option<SimSpan> {
        let later = self.stages.iter().map(|(at, _)| *at).filter(|at| *at > from);
        std::iter::once(from).chain(later).find(|at| self.holder(flag, device, *at).is_none())
    }

    /// What they keep from happening, with times as `moment` counts them. `nodown` of parts of the cluster
    /// is that of the whole map where all devices that fail have it.
    pub(crate) fn over_time(&self, failing: &[ItemId], moment: impl Fn(SimSpan) -> SimTime) -> FlagsOverTime {
        let of = |(at, flags): &(SimSpan, BTreeSet<Flagged>)| {
            let has = |flag: &str| flags.contains(&Flagged::of_map(flag));
            let stays_up = |device: &ItemId| self.holder("nodown", *device, *at).is_some();
            let flags = Flags {
                no_recovery: has("norecover"),
                no_backfill: has("nobackfill"),
                no_rebalance: has("norebalance"),
                no_out: has("noout"),
                no_down: !failing.is_empty() && failing.iter().all(stays_up),
            };
            // Those of the beginning are in force before anything moves.
            (if at.is_zero() { SimTime::ZERO } else { moment(*at) }, flags)
        };
        let mut changes: Vec<(SimTime, Flags)> = self.stages.iter().map(of).collect();
        changes.dedup_by(|later, earlier| later.1 == earlier.1);
        if changes.len() == 1 && changes[0].1 == Flags::default() {
            changes.clear();
        }
        FlagsOverTime { changes }
    }

    /// What is to be said where only some of the devices that fail have `nodown`.
    pub(crate) fn nodown_of_some(&self, failing: &[ItemId]) -> Option<String> {
        let held = |at: SimSpan| failing.iter().filter_map(move |device| self.holder("nodown", *device, at));
        let parted = |at: &SimSpan| (1..failing.len()).contains(&held(*at).count());
        let at = self.stages.iter().map(|(at, _)| *at).find(parted)?;
        let words = held(at).next().map(Flagged::in_words).unwrap_or_default();
        Some(format!(
            "{words} keeps some of what fails from being marked down and the rest not, which is not modelled: all of it is \
             marked down here"
        ))
    }

    /// What they mean where only places of data are answered, and something is to move.
    pub(crate) fn of_moves(&self) -> Option<String> {
        let is_set = |flag: &&&str| self.has(flag, SimSpan::ZERO);
        let all: Vec<String> =
            ["norecover", "nobackfill"].iter().filter(is_set).map(|flag| format!("`{flag}`")).collect();
        let verb = if all.len() == 1 { "is" } else { "are" };
        match all[..] {
            [] if self.has("norebalance", SimSpan::ZERO) => {
                Some("of this, what lacks no copy stays where it is while `norebalance` is set".to_owned())
            }
            [] => None,
            _ => Some(format!("nothing of this moves while {} {verb} set", all.join(" and "))),
        }
    }

    /// Refuses devices that are to be up or in while a flag keeps them from it.
    pub(crate) fn check_boots(&self, boots: &[Boot<'_>], draft: &Draft) -> Problems {
        let mut problems = Problems::new();
        for Boot { change, devices, was_out } in boots {
            for flag in ["noup", "noin"].into_iter().filter(|flag| *flag == "noup" || *was_out) {
                let held = devices
                    .iter()
                    .find_map(|device| self.holder(flag, *device, change.at).map(|by| (device, by)));
                let Some((device, by)) = held else { continue };
                let state = if flag == "noup" { "up" } else { "in" };
                let message = format!("{} keeps osd.{device} from being marked {state}", by.in_words());
                let at = if change.at.is_zero() { String::new() } else { format!("@{}", change.at) };
                let hint = format!("unset it before: --unset-flag {}{at}", by.written());
                problems.push(change.problem(draft, &message).hint(hint));
            }
        }
        problems
    }
}

/// What is wrong with the name of a flag, and a hint.
fn wrong(flag: &str) -> Option<Wrong> {
    if EFFECTIVE.contains(&flag) {
        return None;
    }
    let all = format!("flags are {}", EFFECTIVE.join(", "));
    if WITHOUT_EFFECT.contains(&flag) {
        return Some((format!("`{flag}` has no effect on what is answered here"), "leave it out".to_owned()));
    }
    let hint = did_you_mean(flag, EFFECTIVE).unwrap_or(all);
    Some((format!("`{flag}` is no flag that is modelled"), hint))
}

/// The flags of the exports.
fn at_first((cluster, dump): (&Cluster, &OsdDump), warnings: &mut Vec<Warning>) -> BTreeSet<Flagged> {
    let mut now: BTreeSet<Flagged> = BTreeSet::new();
    for flag in dump.flags() {
        if PAUSED.contains(&flag) {
            now.insert(Flagged::of_map("pause"));
        } else if EFFECTIVE.contains(&flag) {
            now.insert(Flagged::of_map(flag));
        } else if !WITHOUT_EFFECT.contains(&flag) {
            warnings.push(Warning::unknown(format!(
                "the flag `{flag}` is set in the osd dump, and what it does is not modelled"
            )));
        }
    }
    let of_parts = dump.flags_of_parts();
    now.extend(of_parts.iter().map(|(part, name, flag)| Flagged::of_export(*part, name, flag, cluster)));
    now
}

/// Why a flag cannot be set or unset, with the place where it is set instead.
fn needless(flagged: &Flagged, sets: bool, flags: &BTreeSet<Flagged>) -> Wrong {
    let state = if sets { "set already" } else { "not set" };
    let message = format!("`{}` is {state} then", flagged.written());
    let elsewhere = flags.iter().find(|own| own.flag == flagged.flag && own.scope != flagged.scope);
    let hint = match elsewhere.filter(|_| !sets) {
        Some(own) => format!("{} is set: --unset-flag {}", own.in_words(), own.written()),
        None if !sets && flagged.flag == "noout" => {
            "leave it out; `--noout` holds for the whole time, and --set-flag noout for a part of it"
                .to_owned()
        }
        None => "leave it out".to_owned(),
    };
    (message, hint)
}
