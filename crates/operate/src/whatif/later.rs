//! What happens after the beginning: later changes of the map, and devices that come back.

use std::collections::BTreeSet;

use towtank_ceph::Cluster;
use towtank_placement::crush::ItemId;
use towtank_rebuild::failures::Struck;
use towtank_rebuild::ledger::{LEADS_MOST, ToEach, Writes};
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::{Later, Return, Waiting};
use towtank_report::Warning;
use towtank_scenario::{Draft, Problems};
use towtank_units::{Frequency, Percent, SimSpan, SimTime};

use super::calibrated::Starts;
use super::scenario::Scenario;
use super::steps::Way;
use crate::asked::{Asked, Change};
use crate::flags::{Boot, ClusterFlags};
use crate::real::groups::Groups;
use crate::real::{self, Staged, failing};
use towtank_recovery::log;
use towtank_recovery::settings::{AFTER_BOOT, AFTER_MAP, PEERING};

/// Adds what happens later. Times of the recovery count from the first object that can move, except where
/// something fails at once: returns when that is, and the devices that come back.
///
/// # Errors
/// Each return that cannot be, with its place in `draft`.
pub fn add(
    staged: &mut Staged,
    (asked, times): (&Asked, &[SimSpan]),
    (scenario, starts): (&Scenario, Starts),
    (real, flags): (&real::Ready, &ClusterFlags),
    draft: &Draft,
) -> Result<Added, Problems> {
    let asks = starts.asks;
    let returns = returns(asked, real, &staged.struck, draft, &mut staged.warnings)?;
    let after = |usual: SimSpan| if asks { starts.after(usual) } else { SimSpan::ZERO };
    let start = if asked.fails_at_once() { SimSpan::ZERO } else { after(AFTER_MAP) };
    let moment_after = |at: SimSpan, usual: SimSpan| {
        SimTime::ZERO.saturating_add(at.saturating_add(after(usual)).saturating_sub(start))
    };
    let moment = |at: SimSpan| moment_after(at, AFTER_MAP);
    let detection = real.waiting().detection;
    check_boots(asked, &returns, (real, flags), &staged.struck, draft).into_result(())?;
    let mut back = Vec::with_capacity(returns.len());
    for (change, devices) in &returns {
        // That all of what failed boots shows that it was down. If a part does, the rest has to be missed
        // first, and what is back before that is filled from then on.
        let missed = last_failure(&staged.struck, change, devices).saturating_add(detection);
        let is_a_part = |struck: &Struck| {
            struck.devices.iter().any(|device| devices.contains(device))
                && !struck.devices.iter().all(|device| devices.contains(device))
        };
        let is_late = change.at <= missed && staged.struck.iter().any(is_a_part);
        if is_late {
            staged.warnings.push(Warning::note(format!(
                "{} is back before its failure is detected ({detection}), so that its recovery begins when it is",
                change.text
            )));
        }
        let empty = change.verb != "returns";
        let up = if is_late { missed.saturating_add(SimSpan::from_ns(1)) } else { change.at };
        let at = moment_after(up, AFTER_BOOT[usize::from(empty)]);
        back.push(Return { at, devices: devices.clone(), empty });
    }
    // Where nothing is asked, what is under way goes on at once; a new map takes its time all the same.
    let marked_out = starts.after(PEERING);
    let map_at = |at: SimSpan| if asks { moment(at) } else { moment(at.saturating_add(marked_out)) };
    let osds = &real.groups.machines.osds;
    let down = real.groups.down();
    let struck = staged.struck.iter().flat_map(|struck| &struck.devices);
    let failing: Vec<ItemId> = struck
        .filter(|device| !down.contains(device))
        .map(|device| osds[device.index()])
        .filter(|osd| real.groups.cluster.serves(*osd))
        .collect();
    let parted = flags.nodown_of_some(&failing);
    staged.later = Later {
        steps: None,
        changes: times.iter().skip(1).map(|at| map_at(*at)).collect(),
        returns: back,
        writes: writes(scenario, asked, real, draft)?,
        flags: flags.over_time(&failing, |at| SimTime::ZERO.saturating_add(at.saturating_sub(start))),
    };
    for struck in &mut staged.struck {
        struck.at = struck.at.saturating_sub(start);
    }
    let devices = |fits: &dyn Fn(&Change) -> bool| {
        let fitting = returns.iter().filter(|(change, _)| fits(change));
        fitting.flat_map(|(_, devices)| devices.clone()).collect()
    };
    let back_with_data = devices(&|change| change.verb == "returns");
    Ok(Added { start, back: devices(&|_| true), back_with_data, parted })
}

/// Adds the steps in which the manager changes `pgp_num`. Times of the recovery count from `begins`.
pub(super) fn add_steps(
    staged: &mut Staged,
    (way, times): (&Way, &[SimSpan]),
    (scenario, starts): (&Scenario, Starts),
    begins: SimSpan,
    cluster: &Cluster,
) {
    let lag = starts.after(AFTER_MAP);
    let moment = |at: SimSpan| SimTime::ZERO.saturating_add(at.saturating_add(lag).saturating_sub(begins));
    staged.later.steps = Some(way.steps(scenario, times, cluster, (moment, lag)));
}

/// What was added to a recovery.
pub struct Added {
    /// From the beginning to the moment from which times of the recovery count.
    pub start: SimSpan,
    /// Devices that fail and come back.
    pub back: BTreeSet<DeviceId>,
    /// Those that come back with their data.
    pub back_with_data: BTreeSet<DeviceId>,
    /// Why it is not known what of that is marked down, where flags are of a part of it.
    pub parted: Option<String>,
}

/// Refuses what is to be up or in while a flag keeps it from that.
fn check_boots(
    asked: &Asked,
    returns: &[(&Change, Vec<DeviceId>)],
    (real, flags): (&real::Ready, &ClusterFlags),
    struck: &[Struck],
    draft: &Draft,
) -> Problems {
    let osd = |device: &DeviceId| real.groups.machines.osds[device.index()];
    let Waiting { detection, down_out, noout, .. } = real.waiting();
    let boot = |change, devices: &[DeviceId], was_out| {
        let devices: Vec<ItemId> = devices.iter().map(osd).collect();
        Boot { change, devices, was_out }
    };
    let mut boots: Vec<Boot<'_>> = Vec::new();
    for (change, devices) in returns {
        let given_up =
            last_failure(struck, change, devices).saturating_add(detection).saturating_add(down_out);
        let was_out = change.verb != "returns" || (!noout && change.at >= given_up);
        boots.push(boot(*change, devices, was_out));
    }
    for change in &asked.replace {
        let named = failing::named(&change.verb, &change.text, &real.groups);
        boots.extend(named.ok().map(|(devices, _)| boot(change, &devices, true)));
    }
    let mut problems = flags.check_boots(&boots, draft);
    for change in asked.map.iter().filter(|change| change.verb == "add_host") {
        for flag in ["noup", "noin"].into_iter().filter(|flag| flags.has(flag, change.at)) {
            let message = format!("`{flag}` is set then, so that new devices take no data");
            problems
                .push(change.problem(draft, &message).hint(format!("unset it before: --unset-flag {flag}")));
        }
    }
    problems
}

/// When any of these devices failed last before it came back: `returns` refuses what never did.
fn last_failure(struck: &[Struck], change: &Change, devices: &[DeviceId]) -> SimSpan {
    let of_it =
        |one: &&Struck| one.at < change.at && one.devices.iter().any(|device| devices.contains(device));
    struck.iter().filter(of_it).map(|one| one.at).max().expect("what comes back has failed before")
}

/// The names of devices.
fn names(devices: &[DeviceId], name: impl Fn(&DeviceId) -> String) -> String {
    devices.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// What comes back, with its devices.
fn returns<'a>(
    asked: &'a Asked,
    real: &real::Ready,
    struck: &[Struck],
    draft: &Draft,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<(&'a Change, Vec<DeviceId>)>, Problems> {
    let down = real.groups.down();
    let mut found: Vec<(&Change, Vec<DeviceId>)> = Vec::new();
    let mut problems = Problems::new();
    for change in &asked.returns {
        let devices = match failing::named(&change.verb, &change.text, &real.groups) {
            Ok((devices, _)) => devices,
            Err((message, hint)) => {
                problems.push(draft.problem_with(&change.key, &change.written, message).hint(hint));
                continue;
            }
        };
        let name = |device: &DeviceId| format!("osd.{}", real.groups.machines.osds[device.index()]);
        // What a device lacks that is down in the exports is not known, so it stays down with its host.
        let (was_down, devices): (Vec<_>, Vec<_>) =
            devices.into_iter().partition(|device| down.contains(device));
        if devices.is_empty() {
            let names = names(&was_down, name);
            let message = format!("down in the exports already, so what it lacks is not known: {names}");
            let replace: Vec<String> =
                was_down.iter().map(|device| format!("--replace {}", name(device))).collect();
            let hint = format!("have an empty one in its place from the beginning: {}", replace.join(" "));
            problems.push(change.problem(draft, &message).hint(hint));
            continue;
        }
        if !was_down.is_empty() {
            let names = names(&was_down, name);
            let message = format!("of {}, what was down before does not come back: {names}", change.text);
            warnings.push(Warning::danger(message));
        }
        let fails_before = |device: &DeviceId| {
            struck.iter().any(|struck| struck.at < change.at && struck.devices.contains(device))
        };
        if let Some(device) = devices.iter().find(|device| !fails_before(device)) {
            let message = format!("{} has not failed before {}", name(device), change.at);
            let how = if change.verb == "replace" { "fails or is pulled" } else { "fails" };
            let hint = format!("say when it {how}, before {}: --fail {}", change.at, change.text);
            problems.push(change.problem(draft, &message).hint(hint));
        }
        let again = devices.iter().find(|device| found.iter().any(|(_, earlier)| earlier.contains(device)));
        if let Some(device) = again {
            let message = format!("{} has come back before", name(device));
            problems.push(change.problem(draft, &message).hint("leave one of them out"));
        }
        found.push((change, devices));
    }
    problems.into_result(found)
}

/// What clients write while devices are away.
fn writes(scenario: &Scenario, asked: &Asked, real: &real::Ready, draft: &Draft) -> Result<Writes, Problems> {
    let Some(change) = asked.returns.iter().find(|change| change.verb == "returns") else {
        let key = "async_recovery_min_cost";
        if draft.says(key) {
            let message = format!("`{key}` is about devices that come back, but nothing does");
            let hint = "say what comes back: --returns osd.3@40min, or leave it out";
            return Err(draft.problem(key, message).hint(hint).into());
        }
        return Ok(Later::NOTHING.writes);
    };
    let read = scenario.keys.clients.client_read.unwrap_or(CLIENT_READ).fraction_f64();
    let of_load = scenario.keys.clients.client_load.map(|load| load.per_second_f64() * (1.0 - read));
    let rate = scenario.client_writes.map(Frequency::per_second_f64).or(of_load);
    let Some(rate) = rate else {
        let message = "how much clients write meanwhile is not given, and all of that is copied";
        let hint = "set client_writes to the writes of all clients: 200/s; 0/s if there are none";
        return Err(change.problem(draft, message).hint(hint).into());
    };
    let cluster = &real.groups.cluster;
    let groups = || cluster.pools.iter().flat_map(|pool| &pool.groups);
    let objects: u64 = groups().map(Groups::objects).sum();
    let shards: u64 =
        cluster.pools.iter().map(|pool| u64::from(pool.placed.pg_num) * u64::from(pool.placed.size)).sum();
    let devices = cluster.devices().len() as u64;
    let log = scenario.log_entries.map_or_else(|| log::entries(shards / devices.max(1)), u64::from);
    let leads_most = scenario.async_recovery_min_cost.map_or(LEADS_MOST, u64::from);
    Ok(Writes {
        to_each: ToEach::PerSecond(rate / objects.max(1) as f64),
        log,
        leads_most,
        size: real.bytes_of_a_write(),
    })
}

/// The share of reads where it is left out, as in a rebuild.
const CLIENT_READ: Percent = Percent::from_billionths(700_000_000);
