//! Flags of a cluster: those that its exports have, and those that are set and unset as planned.
//!
//! What each does is read from Ceph 15 to 20 (`OSD::activate_map`, `PrimaryLogPG::start_recovery_ops`,
//! `OSDMonitor::can_mark_out` and its like). A flag that is not in these lists is named in the answer: what
//! it does is not known here.

use std::collections::BTreeSet;

use towtank_ceph::Cluster;
use towtank_imports::ceph::{OsdDump, Part};
use towtank_placement::crush::ItemId;
use towtank_rebuild::flags::{Flags, FlagsOverTime};
use towtank_report::Warning;
use towtank_scenario::{Draft, Problems, did_you_mean};
use towtank_units::{SimSpan, SimTime};

use crate::asked::{Asked, Change, SET};

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
    /// The flags of the whole map from each time on, in order; the first set is in force at the beginning.
    stages: Vec<(SimSpan, BTreeSet<String>)>,
    /// Devices that have a flag themselves, or by their host, rack or class: the flag and the device.
    of_devices: BTreeSet<(String, ItemId)>,
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
        let mut now: BTreeSet<String> = BTreeSet::new();
        for flag in dump.flags() {
            if PAUSED.contains(&flag) {
                now.insert("pause".to_owned());
            } else if EFFECTIVE.contains(&flag) {
                now.insert(flag.to_owned());
            } else if !WITHOUT_EFFECT.contains(&flag) {
                warnings.push(Warning::unknown(format!(
                    "the flag `{flag}` is set in the osd dump, and what it does is not modelled"
                )));
            }
        }
        let mut problems = Problems::new();
        let mut stages = vec![(SimSpan::ZERO, now)];
        for change in &asked.flags {
            if let Some((message, hint)) = wrong(&change.text) {
                problems.push(change.problem(draft, &message).hint(hint));
                continue;
            }
            let (from, mut flags) = stages.last().expect("there is one at the beginning").clone();
            let sets = change.verb == SET;
            let changes = if sets { flags.insert(change.text.clone()) } else { flags.remove(&change.text) };
            if !changes {
                let state = if sets { "set already" } else { "not set" };
                let message = format!("`{}` is {state} then", change.text);
                problems.push(change.problem(draft, &message).hint("leave it out"));
            }
            match stages.last_mut() {
                Some(last) if from == change.at => last.1 = flags,
                _ => stages.push((change.at, flags)),
            }
        }
        let of_devices = of_parts(cluster, dump);
        problems.into_result(ClusterFlags { stages, of_devices })
    }

    /// The same without a flag, whenever it is set.
    #[must_use]
    pub(crate) fn without(mut self, flag: &str) -> ClusterFlags {
        for (_, flags) in &mut self.stages {
            flags.remove(flag);
        }
        self
    }

    /// Whether a flag of the whole map is set at this time.
    pub(crate) fn has(&self, flag: &str, at: SimSpan) -> bool {
        let begun = self.stages.iter().take_while(|(from, _)| *from <= at);
        begun.last().is_some_and(|(_, flags)| flags.contains(flag))
    }

    /// Whether a flag of the whole map is set from the beginning on, and never unset.
    pub(crate) fn always(&self, flag: &str) -> bool {
        self.stages.iter().all(|(_, flags)| flags.contains(flag))
    }

    /// Whether a device has a flag of its own, or by its host, rack or class.
    pub(crate) fn of_device(&self, flag: &str, device: ItemId) -> bool {
        self.of_devices.contains(&(flag.to_owned(), device))
    }

    /// Whether a device has a flag at this time, of its own or of the whole map.
    fn holds(&self, flag: &str, device: ItemId, at: SimSpan) -> bool {
        self.has(flag, at) || self.of_device(flag, device)
    }

    /// What they keep from happening, with times as `moment` counts them.
    pub(crate) fn over_time(&self, moment: impl Fn(SimSpan) -> SimTime) -> FlagsOverTime {
        let of = |(at, flags): &(SimSpan, BTreeSet<String>)| {
            let has = |flag: &str| flags.contains(flag);
            let flags = Flags {
                no_recovery: has("norecover"),
                no_backfill: has("nobackfill"),
                no_rebalance: has("norebalance"),
                no_out: has("noout"),
                no_down: has("nodown"),
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

    /// What they mean where only places of data are answered.
    pub(crate) fn of_moves(&self) -> Option<Warning> {
        let stop = ["norecover", "nobackfill", "norebalance"];
        let set: Vec<String> = stop
            .iter()
            .filter(|flag| self.has(flag, SimSpan::ZERO))
            .map(|flag| format!("`{flag}`"))
            .collect();
        let verb = if set.len() == 1 { "is" } else { "are" };
        let text = || format!("nothing of this moves while {} {verb} set", set.join(" and "));
        (!set.is_empty()).then(|| Warning::danger(text()))
    }

    /// Refuses devices that are to be up or in while a flag keeps them from it.
    pub(crate) fn check_boots(&self, boots: &[Boot<'_>], draft: &Draft) -> Problems {
        let mut problems = Problems::new();
        for Boot { change, devices, was_out } in boots {
            for flag in ["noup", "noin"].into_iter().filter(|flag| *flag == "noup" || *was_out) {
                let Some(device) = devices.iter().find(|device| self.holds(flag, **device, change.at)) else {
                    continue;
                };
                let state = if flag == "noup" { "up" } else { "in" };
                let message = format!("`{flag}` keeps osd.{device} from being marked {state}");
                let at = if change.at.is_zero() { String::new() } else { format!("@{}", change.at) };
                let hint = if self.has(flag, change.at) {
                    format!("unset it before: --unset-flag {flag}{at}")
                } else {
                    "the device, its host or its class has the flag: export again without it".to_owned()
                };
                problems.push(change.problem(draft, &message).hint(hint));
            }
        }
        problems
    }
}

/// What is wrong with the name of a flag, and a hint.
fn wrong(flag: &str) -> Option<(String, String)> {
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

/// The devices that have flags themselves, or by a bucket or class.
fn of_parts(cluster: &Cluster, dump: &OsdDump) -> BTreeSet<(String, ItemId)> {
    let mut found = BTreeSet::new();
    for (part, name, flag) in dump.flags_of_parts() {
        let devices: Vec<ItemId> = match part {
            Part::Device | Part::Bucket => match cluster.map.item_id(&name) {
                Some(item) => cluster.devices_below(item).into_iter().collect(),
                None => name.strip_prefix("osd.").and_then(|id| id.parse().ok()).into_iter().collect(),
            },
            Part::Class => {
                let is = |device: &ItemId| {
                    let class = cluster.map.item_classes.get(device);
                    class.and_then(|class| cluster.map.class_names.get(class)).is_some_and(|own| *own == name)
                };
                cluster.devices().into_iter().filter(is).collect()
            }
        };
        found.extend(devices.into_iter().map(|device| (flag.to_owned(), device)));
    }
    found
}
