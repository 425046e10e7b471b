//! How long repairs take: recoveries of this very cluster by the model of `whatif`, in which one device
//! fails, or several at once, in one host or in several.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use towtank_ceph::Joined;
use towtank_durability::Group;
use towtank_durability::fleet::Span;
use towtank_durability::repair::{Restored, Row, Table};
use towtank_rebuild::model::SPARES;
use towtank_scenario::{Files, Problems};
use towtank_streams::{Draws, Purpose, Seed, Uniform as _};
use towtank_study::{RunContext, StudyError};

use super::failures::Failures;
use super::layout::Layout;
use super::scenario::Scenario;
use crate::whatif::replay::{Exposed, Replay};
use crate::whatif::time_alone;

/// So many devices are tried as the one that fails; of several at once there are fewer.
const SINGLES: usize = 5;
const SEVERAL: usize = 3;

/// So many whole hosts are tried.
const HOSTS: usize = 2;

/// At most so many devices are tried at once: if more fail, repairs are taken to be as long.
const AT_ONCE: usize = 4;

/// Which devices and groups are tried.
const CHOICE: Purpose = Purpose(1);

/// A repair has at least this time: a second.
const LEAST_H: f64 = 1.0 / 3_600.0;

/// Recoveries after the same number of failures.
struct Tried {
    /// Devices that fail at once, and their hosts.
    pub devices: usize,
    pub hosts: usize,
    /// What fails in each.
    pub cases: Vec<Case>,
    /// Whether it is left out where it never ends, since it only says how long the repairs of others take.
    pub is_beside: bool,
}

/// A recovery: the scenarios of `whatif` without and with a replacement.
struct Case {
    names: Vec<String>,
    text: String,
    replaced: Option<String>,
    /// When the replacement comes, in seconds.
    replaced_s: f64,
}

/// How long recoveries took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Devices that failed at once, and their hosts.
    pub devices: u64,
    /// The hosts.
    pub hosts: u64,
    /// Hours from the failure until nothing lacked anything any more, in ascending order.
    pub whole_h: Vec<f64>,
    /// The mean over all groups that lacked something.
    pub mean_h: Vec<f64>,
    /// The same until no group lacked as many devices as had failed; empty where no group did.
    pub exposed_h: Vec<f64>,
    /// How many of them waited for a replacement.
    pub replaced: u64,
}

/// The times of all recoveries.
pub(super) struct Found {
    /// After failures.
    pub times: Vec<Times>,
    /// Of what is lacking now.
    pub start: Option<Times>,
    /// A table of them.
    pub table: Table,
}

/// Some of so many things, drawn, so that no order of devices in hosts shows.
fn drawn(all: usize, most: usize, purpose: u64) -> Vec<usize> {
    let mut draws = Draws::new(Seed(0), 0, purpose);
    let mut source = draws.of(CHOICE);
    let mut left: Vec<usize> = (0..all).collect();
    (0..most.min(all)).map(|_| left.swap_remove(source.below(left.len() as u64) as usize)).collect()
}

/// Sets of devices to fail, by their number and that of their hosts. One more than groups survive is among
/// them: others may fail meanwhile that share no group.
fn sets(layout: &Layout) -> Vec<(usize, usize, Vec<Vec<usize>>)> {
    let all = layout.with_data.len();
    let mut singles = drawn(all, SINGLES, all as u64);
    singles.sort_unstable();
    let mut sets = vec![(1, 1, singles.into_iter().map(|at| vec![layout.with_data[at]]).collect::<Vec<_>>())];
    let most = layout.tolerance()[1];
    let groups: Vec<&Group> = layout.groups.iter().filter(|group| group.tolerance == most).collect();
    for devices in 2..=(most + 1).min(AT_ONCE).min(all) {
        // As many devices of a group as it survives, and others.
        let set = |(number, at): (usize, usize)| {
            let mut set = groups[at].devices[..devices.min(most)].to_vec();
            let others = drawn(all, all, number as u64).into_iter().map(|at| layout.with_data[at]);
            set.extend(
                others.filter(|device| !groups[at].devices.contains(device)).take(devices - set.len()),
            );
            set.sort_unstable();
            set
        };
        let mut found: Vec<Vec<usize>> =
            drawn(groups.len(), SEVERAL, groups.len() as u64).into_iter().enumerate().map(set).collect();
        found.sort_unstable();
        found.dedup();
        for count in 1..=devices {
            let hosts =
                |set: &[usize]| set.iter().map(|device| layout.host_of[*device]).collect::<BTreeSet<_>>();
            let those: Vec<Vec<usize>> = found
                .iter()
                .filter(|set| set.len() == devices && hosts(set).len() == count)
                .cloned()
                .collect();
            if !those.is_empty() {
                sets.push((devices, count, those));
            }
        }
    }
    sets
}

/// Some hosts with all their devices that have data.
fn whole_hosts(layout: &Layout) -> Vec<(usize, usize, Vec<Vec<usize>>)> {
    let mut hosts: Vec<usize> = layout.with_data.iter().map(|device| layout.host_of[*device]).collect();
    hosts.dedup();
    hosts.sort_unstable();
    hosts.dedup();
    let mut by_size: BTreeMap<usize, Vec<Vec<usize>>> = BTreeMap::new();
    for at in drawn(hosts.len(), HOSTS, hosts.len() as u64) {
        let on = |device: &usize| layout.host_of[*device] == hosts[at];
        let set: Vec<usize> = layout.with_data.iter().copied().filter(on).collect();
        by_size.entry(set.len()).or_default().push(set);
    }
    by_size
        .into_iter()
        .filter(|(devices, _)| *devices > 1)
        .map(|(devices, sets)| (devices, 1, sets))
        .collect()
}

/// The recoveries to run, and the files that they read.
pub(super) struct Recoveries {
    all: Vec<Tried>,
    /// The scenario in which nothing fails.
    as_it_is: String,
    files: Arc<dyn Files>,
}

impl Recoveries {
    pub fn of(
        scenario: &Scenario,
        failures: &Failures,
        (layout, files): (&Layout, Arc<dyn Files>),
    ) -> Recoveries {
        let replaced: Vec<String> =
            layout.replaced.iter().map(|device| layout.names[*device].clone()).collect();
        let as_it_is = scenario.about_replaced(&replaced);
        Recoveries { all: all(scenario, failures, layout), as_it_is, files }
    }
}

fn all(scenario: &Scenario, failures: &Failures, layout: &Layout) -> Vec<Tried> {
    let of = |set: &Vec<usize>| {
        let names: Vec<String> = set.iter().map(|device| layout.names[*device].clone()).collect();
        let replaced = scenario.replace_after.map(|after| scenario.about(&names, Some(after)));
        let replaced_s = scenario.replace_after.map_or(0.0, |after| after.as_secs_f64());
        Case { text: scenario.about(&names, None), replaced, replaced_s, names }
    };
    let most = layout.tolerance()[1];
    let tried = |(devices, hosts, sets): (usize, usize, Vec<Vec<usize>>)| Tried {
        devices,
        hosts,
        cases: sets.iter().map(of).collect(),
        is_beside: devices > most,
    };
    let mut all: Vec<Tried> = sets(layout).into_iter().map(tried).collect();
    if failures.hosts.is_some() || failures.racks.is_some() {
        let whole = whole_hosts(layout).into_iter().map(tried);
        all.extend(whole.map(|tried| Tried { is_beside: false, ..tried }));
    }
    all
}

impl Case {
    fn is_sooner(&self, waited_s: f64) -> bool {
        self.replaced.is_some() && self.replaced_s < waited_s
    }

    /// The recovery in a drawn order of groups, with whether it waits for a replacement; or why it never
    /// ends.
    fn run(
        &self,
        order: u32,
        (layout, files): (&Layout, &Arc<dyn Files>),
        context: &RunContext<'_>,
    ) -> Result<Result<(Exposed, bool), String>, StudyError> {
        let (mut why, mut later) = (String::new(), None);
        for (text, is_replaced) in [(Some(&self.text), false), (self.replaced.as_ref(), true)] {
            let Some(text) = text else { continue };
            // What is left to do now is over by then.
            let settle = |joined: &mut Joined| layout.settle(joined);
            let replay = Replay::of_changed(text.clone(), Arc::clone(files), settle).map_err(refused)?;
            match replay.exposed(order, context)? {
                // A replacement that comes before the device is marked out is what repairs it.
                Ok(exposed) if !is_replaced && self.is_sooner(exposed.waited_s) => later = Some(exposed),
                Ok(exposed) if is_replaced => {
                    let waited_s = exposed.waited_s.min(self.replaced_s);
                    return Ok(Ok((Exposed { waited_s, ..exposed }, true)));
                }
                Ok(exposed) => return Ok(Ok((exposed, false))),
                Err(stuck) => why = stuck,
            }
        }
        if let Some(exposed) = later {
            return Ok(Ok((exposed, false)));
        }
        let verb = if self.names.len() == 1 { "fails" } else { "fail" };
        let next = match self.replaced {
            Some(_) => "; so also with a replacement (`replace_after`)",
            // A flag is unset, not replaced.
            None if why.contains(" is set") => "",
            None => "; say when failed devices are replaced: `replace_after`",
        };
        Ok(Err(format!("when {} {verb}, {why}{next}", self.names.join(" and "))))
    }
}

fn refused(problems: Problems) -> StudyError {
    let first = problems.iter().next().map(|problem| problem.message().to_owned());
    StudyError::Model { message: first.unwrap_or_default(), hint: None }
}

/// The times of all recoveries, and a table of them for the simulation; or what is never repaired.
///
/// # Errors
/// When the model fails.
pub(super) fn table(
    recoveries: &Recoveries,
    layout: &Layout,
    context: &RunContext<'_>,
) -> Result<Option<Result<Found, String>>, StudyError> {
    let all = &recoveries.all;
    let [least, most] = layout.tolerance();
    let start = match start(recoveries, layout, context)? {
        _ if context.stopped() => return Ok(None),
        Err(why) => return Ok(Some(Err(why))),
        Ok(start) => start,
    };
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    let mut waited_s = 0.0_f64;
    let cases: usize = all.iter().map(|tried| tried.cases.len()).sum();
    let mut done = 0;
    for tried in all {
        let mut restored = vec![Vec::new(); (tried.devices + most - least).min(most).max(1)];
        let mut times =
            Times { devices: tried.devices as u64, hosts: tried.hosts as u64, ..Times::default() };
        for case in &tried.cases {
            let part = |done: usize| 0.5 * done as f64 / cases as f64;
            let ran = context.within(part(done)..part(done + 1), |context| {
                case.run(done as u32, (layout, &recoveries.files), context)
            })?;
            if context.stopped() {
                return Ok(None);
            }
            let (exposed, is_replaced) = match ran {
                Ok(found) => found,
                Err(_) if tried.is_beside => continue,
                Err(why) => return Ok(Some(Err(why))),
            };
            times.replaced += u64::from(is_replaced);
            waited_s = exposed.waited_s;
            add(&exposed, (most, tried.devices), &mut restored, &mut times);
            done += 1;
        }
        if times.whole_h.is_empty() {
            continue;
        }
        rows.push(Row { devices: tried.devices, hosts: tried.hosts, restored: filled(restored) });
        [&mut times.whole_h, &mut times.mean_h, &mut times.exposed_h]
            .into_iter()
            .for_each(|all| all.sort_by(f64::total_cmp));
        found.push(times);
    }
    let (start, start_row) = start.unzip();
    let table = Table { delay: Span::Constant(waited_s / 3_600.0), rows, start: start_row };
    Ok(Some(Ok(Found { times: found, start, table })))
}

/// The shortest and the longest time of the first recovery that needs no replacement, as shares of its usual
/// one, both without the wait before it: by the order of groups, and by the speed of machines where that is
/// known no better.
///
/// # Errors
/// When the model fails; inside, why it is not known.
pub(super) fn range(
    recoveries: &Recoveries,
    waited_s: f64,
    context: &RunContext<'_>,
) -> Result<Result<[f64; 2], String>, StudyError> {
    let first = recoveries.all.first().and_then(|tried| tried.cases.first());
    let Some(case) = first else { return Ok(Err("no recovery was tried".to_owned())) };
    let mut why = String::new();
    for text in [Some(&case.text), case.replaced.as_ref()].into_iter().flatten() {
        match time_alone::time(text.clone(), Arc::clone(&recoveries.files), context)? {
            Ok(time) => {
                let after = |at_s: f64| (at_s - waited_s).max(1e-9);
                return Ok(Ok(time.range_s.map(|end| (after(end) / after(time.clean_s)).max(1e-3))));
            }
            Err(stuck) => why = stuck,
        }
    }
    Ok(Err(why))
}

/// How long what is lacking now takes, if something is; or why it is never restored.
fn start(
    recoveries: &Recoveries,
    layout: &Layout,
    context: &RunContext<'_>,
) -> Result<Result<Option<(Times, Row)>, String>, StudyError> {
    if layout.lacking.is_empty() {
        return Ok(Ok(None));
    }
    let most = layout.tolerance()[1];
    let replay = Replay::of(recoveries.as_it_is.clone(), Arc::clone(&recoveries.files)).map_err(refused)?;
    let exposed = match replay.exposed(0, context)? {
        Ok(exposed) => Exposed { waited_s: 0.0, ..exposed },
        Err(why) => return Ok(Err(format!("of what is lacking now, {why}"))),
    };
    let mut restored = vec![Vec::new(); most];
    let mut times = Times::default();
    add(&exposed, (most, 1), &mut restored, &mut times);
    Ok(Ok(Some((times, Row { devices: 1, hosts: 1, restored: filled(restored) }))))
}

/// The row of recoveries that has the groups that are so exposed: the degree counts from 1 for the groups
/// that survive most; those that survive more than there are rows share the last one with what only moves.
fn spare(most: usize, degree: usize) -> usize {
    (most - degree.min(most)).min(SPARES - 1)
}

/// Adds a recovery: for each degree of exposure when its groups are restored, from its beginning on.
fn add(
    exposed: &Exposed,
    (most, devices): (usize, usize),
    restored: &mut [Vec<Restored>],
    times: &mut Times,
) {
    let since_out_h = |at_s: f64| ((at_s - exposed.waited_s) / 3_600.0).max(LEAST_H);
    for (at, restored) in restored.iter_mut().enumerate() {
        let spare = spare(most, at + 1);
        let each: Vec<(f64, u64)> =
            exposed.completed[spare].iter().map(|(at_s, groups)| (since_out_h(*at_s), *groups)).collect();
        let whole = || exposed.by_spare[spare].map(|end_s| Restored::at_once(since_out_h(end_s)));
        restored.extend(Restored::of(&each).or_else(whole));
    }
    let mut rows: Vec<usize> = (1..=most).map(|degree| spare(most, degree)).collect();
    rows.dedup();
    let lacking = rows.into_iter().flat_map(|row| &exposed.completed[row]);
    let all: Vec<(f64, u64)> = lacking.map(|(at_s, groups)| (at_s / 3_600.0, *groups)).collect();
    times.mean_h.extend(Restored::of(&all).map(|all| all.mean_h()));
    // A device without objects is whole when it is marked out.
    let whole_s = exposed.by_spare[spare(most, 1)].unwrap_or(exposed.waited_s);
    times.whole_h.push(whole_s / 3_600.0);
    if devices > 1 {
        times.exposed_h.extend(exposed.by_spare[spare(most, devices)].map(|at| at / 3_600.0));
    }
}

/// The times of each degree, sorted: a degree that no group had takes no longer than the one below it.
fn filled(mut restored: Vec<Vec<Restored>>) -> Vec<Vec<Restored>> {
    for degree in 0..restored.len() {
        if restored[degree].is_empty() {
            restored[degree] =
                if degree == 0 { vec![Restored::at_once(LEAST_H)] } else { restored[degree - 1].clone() };
        }
        restored[degree].sort_by(|one, next| one.end_h().total_cmp(&next.end_h()));
    }
    restored
}
