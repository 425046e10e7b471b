//! A checked scenario: the groups of the cluster, what fails how often, and recoveries that say how long
//! repairs take.

use std::sync::Arc;

use towtank_durability::burst::Explicit;
use towtank_durability::fleet::{Device, Domain, Fleet, LossRule, System};
use towtank_durability::rates::{Afr, Life, Year};
use towtank_report::{Status, Warning, human};
use towtank_scenario::{Draft, Files, Problems};
use towtank_units::{Bytes, SimSpan};

use super::bursts::{self, Burst};
use super::layout::Layout;
use super::repairs::{self, Tried};
use super::scenario::Scenario;
use crate::exports::key_of_dump;
use crate::learning::without_places;
use crate::states;
use crate::whatif::replay::Replay;
use crate::whatif::time_alone::Loaded;

/// A checked scenario.
pub struct Ready {
    pub(super) scenario: Scenario,
    pub(super) layout: Layout,
    pub(super) system: System,
    pub(super) repairs: Vec<Tried>,
    pub(super) bursts: Vec<Burst>,
    pub(super) explicit: Option<Explicit>,
    pub(super) warnings: Vec<Warning>,
    pub(super) files: Arc<dyn Files>,
    memory: Bytes,
}

impl Ready {
    /// Reads the exports.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub(super) fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        let mut problems = Problems::new();
        let year = SimSpan::from_secs(8_766 * 3_600);
        if scenario.mission.is_zero() || scenario.mission > year.saturating_mul(500) {
            let message = format!("`mission` is {}", human::quantity(scenario.mission.as_secs_f64(), "s"));
            problems.refuse(draft, "mission", message, "give a time above 0 and up to 500 years");
        }
        if scenario.failure_rate.fraction_f64() <= 0.0 {
            let message = "`failure_rate` is 0: then nothing is ever lost";
            problems.refuse(draft, "failure_rate", message, "1.5% is what is taken if it is left out");
        }
        problems.into_result(())?;
        for (key, named) in files(&scenario) {
            if named {
                draft.input(key)?;
            }
        }
        let files: Arc<dyn Files> = Arc::new(Loaded(draft.inputs()));
        let base = Replay::of(scenario.about(&[], None), Arc::clone(&files))
            .map_err(|problems| without_places(&problems))?;
        let layout = Layout::of(&base);
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
        let system = system(&scenario, &layout).map_err(|error| draft.problem(key, error))?;
        let repairs = repairs::all(&scenario, &layout);
        // A recovery at a time, beside the tables of the simulation.
        let memory = Bytes::new(base.ready.memory_estimate().get().saturating_mul(2));
        Ok(Ready { scenario, layout, system, repairs, files, bursts, explicit, warnings, memory })
    }

    /// An estimate of the memory of a replicate.
    pub(super) fn memory_estimate(&self) -> Bytes {
        self.memory
    }

    /// The mission in hours.
    pub(super) fn mission_h(&self) -> f64 {
        self.scenario.mission.as_secs_f64() / 3_600.0
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

/// What the states of groups say; refuses clusters of which nobody knows what they have.
fn can_be_asked(base: &Replay, layout: &Layout, key: &str, draft: &Draft) -> Result<Vec<Warning>, Problems> {
    let states = &base.ready.case.states;
    let refused = |message: String| {
        let hint = "ask `towtank whatif` what it waits for, and ask again when all groups can be read";
        Err(draft.problem(key, message).hint(hint).into())
    };
    if layout.unread + states.lost + states.incomplete > 0 {
        let groups = layout.unread.max(states.lost).max(states.incomplete);
        return refused(format!(
            "{} cannot be read now, so that a loss is past or not ruled out",
            human::plural(groups as f64, ["group", "groups"])
        ));
    }
    if layout.groups.is_empty() {
        return refused("no group has data".to_owned());
    }
    let all = layout.groups.len() as u64;
    let mut warnings: Vec<Warning> = states::found(states, all)
        .into_iter()
        .filter(|(status, _)| *status == Status::Unknown)
        .map(|(_, text)| Warning::unknown(text))
        .collect();
    if layout.lacking > 0 {
        warnings.push(Warning::danger(format!(
            "{} copies or shards now: it starts there, as if their devices had just failed",
            human::plural(layout.lacking as f64, ["group lacks", "groups lack"])
        )));
    }
    Ok(warnings)
}

/// Devices in hosts, with the groups on them.
fn system(scenario: &Scenario, layout: &Layout) -> Result<System, String> {
    let rate = |share: f64| Life::constant(Afr::Rate(share), Year::Julian).map_err(|error| error.to_string());
    let mut lives = vec![rate(scenario.failure_rate.fraction_f64())?];
    let of_hosts = scenario.host_failure_rate.fraction_f64();
    if of_hosts > 0.0 {
        lives.push(rate(of_hosts)?);
    }
    let ruin = (of_hosts > 0.0).then_some(1);
    let hosts = layout.rack_of.len();
    let mut domains: Vec<Domain> = (0..hosts).map(|_| Domain { ruin, ..Domain::default() }).collect();
    let mut devices: Vec<Device> =
        layout.host_of.iter().map(|host| Device { life: 0, domain: *host, age_h: 0.0 }).collect();
    for _ in &layout.failed {
        devices.push(Device { life: 0, domain: domains.len(), age_h: 0.0 });
        domains.push(Domain::default());
    }
    let fleet = Fleet {
        lives,
        devices,
        domains,
        groups: layout.groups.clone(),
        rule: LossRule::AnyGroup,
        unreadable: 0.0,
        serves_without: layout.tolerance(),
    };
    System::new(fleet).map_err(|error| error.to_string())
}
