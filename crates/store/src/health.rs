//! The health of a cluster, from what the monitor knows of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::frames::{GroupReport, Standing};

/// The health of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The number of groups in each state, in Ceph's terms. Groups without a current report count as
    /// `unknown`.
    pub states: BTreeMap<String, u32>,
    /// Groups that accept no requests now, including those without a current report.
    pub unavailable: u32,
    /// Groups of which some object has fewer copies than intended.
    pub degraded: u32,
    /// Objects missing on a replica, as far as logs tell.
    pub missing: u64,
    /// Replicas that are being backfilled or wait for a backfill.
    pub targets: u32,
    /// Objects of which no daemon that runs has a valid copy.
    pub unfound: u64,
    /// The daemons that may have one, and do not run.
    pub awaited: BTreeSet<u32>,
    /// Daemons whose disks are full.
    pub full: Vec<u32>,
    /// Why the monitor changes nothing any more: it is an older copy.
    pub older: Option<String>,
    groups: u32,
    clean: u32,
}

impl Health {
    /// The health that follows from the monitor's state of the cluster.
    #[must_use]
    pub fn of(standing: &Standing) -> Health {
        // Reports from before the last change of the map may be out of date.
        let reports = standing.reports.values().filter(|report| report.epoch == standing.map.epoch);
        let newest: BTreeMap<u32, &GroupReport> =
            reports.flat_map(|report| &report.led).map(|(group, report)| (*group, report)).collect();
        let mut health = Health {
            states: BTreeMap::new(),
            unavailable: 0,
            degraded: 0,
            missing: 0,
            targets: 0,
            unfound: 0,
            awaited: BTreeSet::new(),
            full: full_of(standing),
            older: standing.older.clone(),
            groups: 0,
            clean: 0,
        };
        for group in 0..standing.groups {
            health.groups += 1;
            let Some(report) = newest.get(&group) else {
                *health.states.entry("unknown".to_owned()).or_default() += 1;
                health.unavailable += 1;
                health.degraded += 1;
                continue;
            };
            let is_undersized = (report.acting.len() as u32) < standing.replicas;
            let is_degraded = is_undersized || report.missing > 0 || report.targets > 0;
            *health.states.entry(state_of(report, is_undersized, is_degraded)).or_default() += 1;
            health.unavailable += u32::from(!report.serves);
            health.degraded += u32::from(is_degraded || !report.is_clean);
            health.clean += u32::from(report.is_clean && report.serves && !is_degraded);
            health.missing += report.missing;
            health.targets += report.targets;
            health.unfound += report.unfound;
            health.awaited.extend(&report.awaited);
        }
        health
    }

    /// Whether every group is known to be clean.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.clean == self.groups
    }

    /// Ceph's term for it: `HEALTH_OK`, `HEALTH_WARN` or `HEALTH_ERR`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            _ if self.older.is_some() || !self.full.is_empty() => "HEALTH_ERR",
            _ if self.unavailable > 0 || self.unfound > 0 => "HEALTH_ERR",
            _ if !self.is_clean() => "HEALTH_WARN",
            _ => "HEALTH_OK",
        }
    }
}

/// What is wrong with objects of which no daemon that runs has a valid copy.
#[must_use]
pub fn words_of_unfound(unfound: u64, awaited: &BTreeSet<u32>) -> String {
    let objects = if unfound == 1 { "1 object".to_owned() } else { format!("{unfound} objects") };
    let names: Vec<String> = awaited.iter().map(|osd| format!("osd.{osd}")).collect();
    let rest = match names.len() {
        0 => "none that is away can have one either".to_owned(),
        1 => format!("{}, which is away, may have one", names[0]),
        _ => format!("{}, which are away, may have one", names.join(", ")),
    };
    format!("no running daemon has a valid copy of {objects}; {rest}")
}

/// Running daemons whose disks are full.
fn full_of(standing: &Standing) -> Vec<u32> {
    let is_full = |(id, osd): &(&u32, &crate::map::OsdState)| {
        osd.is_up && (osd.is_full || standing.reports.get(id).is_some_and(|report| report.is_full))
    };
    standing.map.osds.iter().filter(is_full).map(|(id, _)| *id).collect()
}

/// The state in Ceph's terms: `active+undersized+degraded+backfilling`.
fn state_of(report: &GroupReport, is_undersized: bool, is_degraded: bool) -> String {
    if report.is_down {
        return "down".to_owned();
    }
    if report.is_peering {
        return "peering".to_owned();
    }
    let mut words = vec![if report.serves { "active" } else { "inactive" }];
    let more = [
        (report.is_clean && !is_degraded, "clean"),
        (is_undersized, "undersized"),
        (is_degraded, "degraded"),
        (report.missing > 0 && report.unfound == 0, "recovering"),
        (report.unfound > 0, "recovery_unfound"),
        (report.targets > 0, "backfilling"),
    ];
    words.extend(more.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word));
    words.join("+")
}
