//! A checked scenario: the groups of the cluster, what fails how often, and recoveries that say how long
//! repairs take.

use std::sync::Arc;

use towtank_durability::burst::Explicit;
use towtank_durability::fleet::{Device, Domain, Fleet, LossRule, System};
use towtank_durability::rates::Afr;
use towtank_durability::repair::STAGES_MAX;
use towtank_report::{Status, Warning, human};
use towtank_scenario::{Draft, Files, Problems};
use towtank_streams::Seed;
use towtank_study::RunContext;
use towtank_units::Bytes;

use super::bursts::{self, Burst};
use super::failures::{Failures, hours};
use super::layout::Layout;
use super::repairs::Recoveries;
use super::scenario::{Scenario, check_times};
use crate::exports::key_of_dump;
use crate::learning::without_places;
use crate::preview::dangers;
use crate::preview::moves::Moves;
use crate::states;
use crate::whatif::replay::Replay;
use crate::whatif::time_alone::Loaded;

/// A checked scenario.
pub struct Ready {
    pub(super) scenario: Scenario,
    pub(super) layout: Layout,
    pub(super) failures: Failures,
    pub(super) systems: Systems,
    pub(super) recoveries: Recoveries,
    pub(super) bursts: Vec<Burst>,
    pub(super) explicit: Option<Explicit>,
    pub(super) warnings: Vec<Warning>,
    memory: Bytes,
}

impl Ready {
    /// Reads the exports.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub(super) fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        check_times(&scenario, draft)?;
        let failures = Failures::of(&scenario, draft)?;
        for (key, named) in files(&scenario) {
            if named {
                draft.input(key)?;
            }
        }
        let files: Arc<dyn Files> = Arc::new(Loaded(draft.inputs()));
        let base = Replay::of(scenario.about(&[], None), Arc::clone(&files))
            .map_err(|problems| without_places(&problems))?;
        let mut layout = Layout::of(&base, false);
        if layout.homeless > 0 && scenario.replace_after.is_some() {
            layout = Layout::of(&base, true);
        }
        if failures.racks.is_some() && !layout.has_racks {
            let problem = draft.problem("rack_ruin_rate", "the map has no racks");
            return Err(problem.hint("leave it out, or set `server_ruin_rate`").into());
        }
        let key = key_of_dump(&scenario.exports);
        let warnings = can_be_asked(&base, &layout, key, draft)?;
        let bursts = bursts::read(&scenario.burst, layout.counts(), draft)?;
        let explicit = (!bursts.is_empty()).then(|| layout.explicit()).transpose();
        let explicit = explicit.map_err(|why| draft.problem("burst", why))?;
        let mut problems = Problems::new();
        for burst in &bursts {
            problems
                .extend(explicit.as_ref().map_or_else(Problems::new, |groups| burst.check(groups, draft)));
        }
        problems.into_result(())?;
        let systems = systems(&failures, &layout).map_err(|error| draft.problem(key, error))?;
        let recoveries = Recoveries::of(&scenario, &failures, (&layout, files));
        // A recovery at a time, beside the tables of the simulation.
        let memory = Bytes::new(base.ready.memory_estimate().get().saturating_mul(2));
        Ok(Ready { scenario, layout, failures, systems, recoveries, bursts, explicit, warnings, memory })
    }

    /// An estimate of the memory of a replicate.
    pub(super) fn memory_estimate(&self) -> Bytes {
        self.memory
    }

    /// The mission in hours.
    pub(super) fn mission_h(&self) -> f64 {
        hours(self.scenario.mission)
    }
}

fn files(scenario: &Scenario) -> [(&'static str, bool); 6] {
    let exports = &scenario.exports;
    [
        ("crush_map", exports.crush_map.is_some()),
        ("osd_dump", exports.osd_dump.is_some()),
        ("pg_dump", exports.pg_dump.is_some()),
        ("osd_df", exports.osd_df.is_some()),
        ("report", exports.report.is_some()),
        ("machines", scenario.machines.is_some()),
    ]
}

/// What `whatif` says of the cluster as it is; refuses one that is not whole, and groups for which one table
/// of repairs does not hold.
fn can_be_asked(base: &Replay, layout: &Layout, key: &str, draft: &Draft) -> Result<Vec<Warning>, Problems> {
    let refused = |message: String, hint: &str| Err(draft.problem(key, message).hint(hint).into());
    let whatif = &base.ready;
    let context = RunContext::alone(Seed(0), 0);
    let moves = Moves::of(&whatif.case, &context)
        .map_err(|error| draft.problem(key, error.to_string()))?
        .expect("nobody stops a context of its own");
    let standing = dangers::status(&moves);
    let stated = states::found(&moves.states, moves.groups);
    let hint = "`towtank whatif` without a change says more: ask again when it is answered safely there";
    if !stated.is_empty() || matches!(standing.status(), Status::NotSafe | Status::Unknown) {
        let why = stated.into_iter().next().map_or_else(|| standing.reason().to_owned(), |(_, why)| why);
        return refused(format!("`towtank whatif` says of the cluster as it is: {why}"), hint);
    }
    // What lacks something or moves is known; a group that is not clean for another reason is not.
    let known = whatif.staged.affected.records() as u64;
    if moves.states.unclean > known {
        let groups = human::plural(moves.states.unclean as f64, ["group is", "groups are"]);
        let why = format!("{groups} not active+clean, and the exports show what is left to do for {known}");
        return refused(why, hint);
    }
    if layout.homeless > 0 {
        let groups = human::plural(layout.homeless as f64, ["group lacks", "groups lack"]);
        let hint = "say when devices that are down are replaced by empty ones: `replace_after`";
        return refused(format!("{groups} a device, and the map has no other for it"), hint);
    }
    match layout.tolerance() {
        _ if layout.groups.is_empty() => {
            return refused("no group has data".to_owned(), "there is nothing to lose");
        }
        [0, _] => {
            let message = "a pool has one copy or no parity: each failure of a device loses data".to_owned();
            return refused(message, "ask about a cluster without that pool");
        }
        [_, most] if most > STAGES_MAX => {
            let message = format!("groups survive {most} lost devices, and {STAGES_MAX} are modelled");
            return refused(message, "ask for bursts of it with fewer disks by hand");
        }
        _ => {}
    }
    let mut warnings = whatif.case.warnings.clone();
    warnings.extend(whatif.staged.warnings.iter().cloned());
    if layout.classes > 1 {
        warnings.push(Warning::unknown(
            "data are on disks of several classes: each fails as often here, and repairs of all are drawn together",
        ));
    }
    Ok(warnings)
}

/// The cluster with the failure rate that is asked for, and with both ends of its interval where failures
/// were counted.
pub(super) struct Systems {
    pub asked: System,
    /// None of an end that is 0: nothing fails.
    pub ends: Option<[Option<System>; 2]>,
}

fn systems(failures: &Failures, layout: &Layout) -> Result<Systems, String> {
    let at = |rate: f64| system(failures, Afr::Rate(rate), layout);
    let end = |rate: f64| (rate > 0.0).then(|| at(rate)).transpose();
    let ends = match &failures.counts {
        Some(counts) => Some([end(counts.interval.low)?, end(counts.interval.high)?]),
        None => None,
    };
    Ok(Systems { asked: system(failures, failures.afr, layout)?, ends })
}

/// Devices in hosts in racks, with the groups on them.
fn system(failures: &Failures, afr: Afr, layout: &Layout) -> Result<System, String> {
    let mut lives = vec![failures.life(afr)?];
    let mut law = |a_year: Option<f64>| {
        a_year.map(|a_year| {
            lives.push(failures.ruin(a_year));
            lives.len() - 1
        })
    };
    let (of_host, of_rack) = (law(failures.hosts), law(failures.racks));
    let racks = layout.rack_of.iter().max().map_or(0, |last| last + 1);
    let mut domains = vec![Domain { ruin: of_rack, ..Domain::default() }; racks];
    let of_hosts =
        layout.rack_of.iter().map(|rack| Domain { parent: Some(*rack), ruin: of_host, outage: None });
    domains.extend(of_hosts);
    let age_h = failures.aging.map_or(0.0, |(_, age_h)| age_h);
    let host_of = layout.with_data.iter().map(|device| layout.host_of[*device]);
    let lacking: Vec<(usize, usize)> =
        layout.lacking.iter().map(|(device, group)| (layout.number(*device), *group)).collect();
    let fleet = Fleet {
        lives,
        devices: host_of.map(|host| Device { life: 0, domain: racks + host, age_h }).collect(),
        domains,
        groups: layout.groups.iter().map(|group| layout.renumbered(group)).collect(),
        rule: LossRule::AnyGroup,
        unreadable: failures.unreadable(layout)?,
        serves_without: layout.tolerance()[1],
    };
    let system = System::new(fleet).and_then(|system| system.lacking(&lacking));
    system.map(|system| system.of_kinds(layout.kinds.clone())).map_err(|error| error.to_string())
}
