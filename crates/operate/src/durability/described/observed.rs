//! One replicate of a described system: the probability of loss, and what stands beside it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_durability::rates::{Afr, nines};
use towtank_report::Outcome;
use towtank_study::{Replicate, RunContext, StudyError, Value};

use super::Ready;
use super::bursts::{self, Lost};
use super::closed;
use super::plan::{Plan, windows};
use super::sampling::{self, Sampled, any};
use super::unit::Unit;
use crate::durability::keys::Lie;
use crate::durability::observed::{failed, name_of};

/// What a replicate found: its measures by name, and what is presented besides them.
pub struct Seen {
    values: BTreeMap<&'static str, Value>,
    pub(super) kept: Kept,
}

/// What is presented besides the measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// What bursts lose.
    pub bursts: Vec<Lost>,
    /// How the probability was found, in words.
    pub found_by: String,
    /// What confirms it, in words.
    pub confirmed: String,
    /// Disks in no array.
    pub left_over: u64,
}

impl Seen {
    /// A measure.
    pub fn value(&self, name: &str) -> Value {
        let none = || Err("it is not asked of a described system".to_owned());
        self.values.get(name).cloned().unwrap_or_else(none)
    }

    /// What is kept of it.
    pub fn keep(self) -> Kept {
        self.kept
    }
}

/// Runs one replicate.
pub(in crate::durability) fn run(
    ready: &Ready,
    context: &RunContext<'_>,
) -> Result<Replicate<Seen>, StudyError> {
    let plan = &ready.plan;
    let mut seen = Seen { values: BTreeMap::new(), kept: Kept::default() };
    seen.kept.left_over = plan.left_over() as u64;
    for burst in &ready.bursts {
        seen.kept.bursts.push(bursts::lost(plan, burst, context.seed).map_err(failed)?);
    }
    let most = seen.kept.bursts.iter().map(|burst| burst.loss).max_by(f64::total_cmp);
    seen.put("burst_loss", most.ok_or_else(|| "no burst is asked for (`burst`)".to_owned()));
    beside(plan, &mut seen);
    let stopped = Replicate {
        seen: Err("the run was stopped before enough was seen"),
        beside: Outcome { partial: true, ..Outcome::default() },
    };
    let found = match probability(plan, plan.afr, ready, context)? {
        None => return Ok(stopped),
        Some(found) => found,
    };
    match found {
        Ok((found, count)) => results(plan, &found, count, &mut seen),
        Err(why) => {
            for name in RESULTS {
                seen.put(name, Err(why.clone()));
            }
        }
    }
    if !ends(ready, context, &mut seen)? {
        return Ok(stopped);
    }
    Ok(Replicate { seen: Ok(seen), beside: Outcome::default() })
}

/// The measures that a simulation or a chain has.
const RESULTS: [&str; 11] = [
    "loss_probability",
    "loss_low",
    "loss_high",
    "loss_nines",
    "array_loss",
    "groups_lost",
    "mttdl_years",
    "effective_losses",
    "loss_by_other",
    "methods_apart",
    "below_share",
];

type Asked = Result<(Sampled, f64), String>;

fn probability(
    plan: &Plan,
    afr: Afr,
    ready: &Ready,
    context: &RunContext<'_>,
) -> Result<Option<Asked>, StudyError> {
    if !ready.has_repairs {
        let why = "how long a repair takes is not given: `repair_time`, or `repair_rate` and `disk_capacity`";
        return Ok(Some(Err(why.to_owned())));
    }
    if afr == Afr::Rate(0.0) {
        return Ok(Some(Err(
            "no failure was counted: only the upper end of the rate says something".to_owned()
        )));
    }
    let unit = match Unit::of(plan, afr, context.seed) {
        Ok(unit) => unit,
        Err(why) => return Ok(Some(Err(why))),
    };
    let found = sampling::found(plan, afr, &unit, context)?;
    Ok(found.map(|found| found.map(|found| (found, unit.count))))
}

fn results(plan: &Plan, found: &Sampled, count: f64, seen: &mut Seen) {
    let loss = any(found.loss, count);
    seen.put("loss_probability", Ok(loss));
    seen.put("loss_low", Ok(any(found.range[0], count)));
    seen.put("loss_high", Ok(any(found.range[1], count)));
    seen.put("loss_nines", Ok(nines(loss).max(0.0)));
    let arrays = matches!(plan.lie, Lie::Arrays | Lie::Pool) && plan.top.is_none();
    let is_one = arrays && count == plan.arrays() as f64;
    let not_one = || "arrays depend on each other, or are no arrays".to_owned();
    let chain = || closed::chain(plan, plan.afr)?.loss_within(0, plan.mission_h).ok();
    seen.put("array_loss", is_one.then_some(found.loss).or_else(chain).ok_or_else(not_one));
    seen.put("groups_lost", Ok(found.groups_lost));
    seen.put("mttdl_years", mean_time(plan, found, loss));
    let exact = || "an exact chain has no courses".to_owned();
    let estimate = found.estimate.as_ref();
    seen.put("effective_losses", estimate.map(|one| one.effective).ok_or_else(exact));
    let unseen = || "the other method saw no loss".to_owned();
    let other = found.other.as_ref();
    seen.put("loss_by_other", other.map(|other| any(other.loss, count)).ok_or_else(unseen));
    seen.put("methods_apart", other.and_then(|other| other.apart).ok_or_else(unseen));
    let below = closed::below(plan, plan.afr).or(found.below.filter(|share| *share > 0.0));
    let unknown = || "it was not seen in the missions that were simulated".to_owned();
    seen.put("below_share", below.ok_or_else(unknown));
    seen.kept.found_by = match estimate {
        None => "an exact chain".to_owned(),
        Some(one) => format!(
            "{} ({} losses in {} courses)",
            name_of(one.method),
            towtank_report::human::digits(one.hits as f64),
            towtank_report::human::digits(one.cycles as f64)
        ),
    };
    seen.kept.confirmed = confirmed(found, count);
}

fn confirmed(found: &Sampled, count: f64) -> String {
    let Some(other) = &found.other else {
        return "another method saw no loss, so nothing confirms it".to_owned();
    };
    let off = towtank_report::human::quantity(other.error, "share");
    let loss = crate::durability::answer::probability(any(other.loss, count));
    match other.error {
        error if error > COARSE => {
            format!("{} says {loss}, with an error of {off}: too coarse to confirm it", other.name)
        }
        _ => format!("{} says {loss}, with an error of {off}: they agree", other.name),
    }
}

/// An error above this share confirms nothing. A choice: a factor of two lies within two of them.
const COARSE: f64 = 0.3;

fn mean_time(plan: &Plan, found: &Sampled, loss: f64) -> Value {
    let exact = closed::chain(plan, plan.afr).filter(|_| plan.arrays() == 1);
    if let Some(hours) = exact.and_then(|chain| chain.mean_time_to_loss_h(0).ok()) {
        return Ok(plan.years(hours));
    }
    let is_short = plan.is_repaired() && plan.delay_h + plan.repair_h < 0.01 * plan.mission_h;
    let is_steady = found.mean_h.is_some() || (found.estimate.is_none() && is_short);
    match is_steady {
        true => Ok(plan.years(-plan.mission_h / libm::log1p(-loss))),
        false => {
            Err("the hazard of a loss changes during the mission, so that no mean time implies it".to_owned())
        }
    }
}

impl Seen {
    fn put(&mut self, name: &'static str, value: Value) {
        self.values.insert(name, value);
    }
}

/// What needs no simulation.
fn beside(plan: &Plan, seen: &mut Seen) {
    for name in ["loss_if_fast", "loss_if_slow"] {
        seen.put(name, Err("the time of a repair is given".to_owned()));
    }
    let [one, two] = windows(plan);
    let no_repair = || "no repair time is given, or nothing is repaired".to_owned();
    seen.put("repair_s", one.map(|hours| hours * 3_600.0).ok_or_else(no_repair));
    let no_pool = || "it depends on who shares the rate of repairs; a pool has it".to_owned();
    seen.put("repair_two_s", two.map(|hours| hours * 3_600.0).ok_or_else(no_pool));
    let top = plan.top.map_or(1.0, |top| top.overhead());
    seen.put("overhead", Ok(plan.code.overhead() * top));
    let rate = plan.per_h(plan.afr).map(|per_h| per_h * plan.year.hours());
    let ages = || "it depends on age".to_owned();
    seen.put("failure_rate_per_year", rate.ok_or_else(ages));
    let not_counted = || "failures were not counted: `failures`, `disk_years`".to_owned();
    let interval = plan.counts.map(|counts| counts.interval);
    seen.put("failure_rate_low", interval.map(|interval| interval.low).ok_or_else(not_counted));
    seen.put("failure_rate_high", interval.map(|interval| interval.high).ok_or_else(not_counted));
    let moved = (plan.code.data + 1) as f64 * plan.disks() as f64;
    let bytes = plan.bytes.zip(rate).filter(|_| plan.is_repaired()).map(|(bytes, rate)| moved * bytes * rate);
    let unsized_ =
        || "`disk_capacity` is not given, nothing is repaired, or failures depend on age".to_owned();
    seen.put("repair_traffic_bytes", bytes.ok_or_else(unsized_));
    let no_errors = || "`errors_per_bit` is not given".to_owned();
    seen.put("unreadable_read", plan.unreadable.ok_or_else(no_errors));
    let no_outage = || "no outage is given: `server_outage_rate`, `rack_outage_rate`".to_owned();
    seen.put("unreachable_share", closed::unreachable(plan).ok_or_else(no_outage));
    let no_windows = || "it is of arrays with repairs of a constant time".to_owned();
    let leading = closed::leading(plan, plan.afr).map(|one| one.loss * plan.arrays() as f64);
    seen.put("leading_order_loss", leading.ok_or_else(no_windows));
    let no_periods =
        || "it is of arrays with repairs of a constant time, a `failure_rate`, and `year` 365d".to_owned();
    let periods = closed::periods(plan);
    seen.put("period_loss", periods.map(|(period, _)| period).ok_or_else(no_periods));
    seen.put("periods_loss", periods.map(|(_, year)| year).ok_or_else(no_periods));
    let no_groups = || "it is of copies in groups".to_owned();
    let old = closed::old_model(plan);
    seen.put("old_model_loss", old.map(|(all, _)| all).ok_or_else(no_groups));
    seen.put("old_model_object_loss", old.map(|(_, object)| object).ok_or_else(no_groups));
}

/// P(loss) at the ends of the interval of a rate that was counted; false if the user stopped it.
fn ends(ready: &Ready, context: &RunContext<'_>, seen: &mut Seen) -> Result<bool, StudyError> {
    for (name, end) in [("loss_at_low_rate", 0), ("loss_at_high_rate", 1)] {
        let Some(counts) = ready.plan.counts else {
            seen.put(name, Err("failures were not counted: `failures`, `disk_years`".to_owned()));
            continue;
        };
        let rate = [counts.interval.low, counts.interval.high][end];
        let value = match (rate > 0.0, ready.has_repairs) {
            (false, true) => Ok(0.0),
            _ => match probability(&ready.plan, Afr::Rate(rate), ready, context)? {
                None => return Ok(false),
                Some(found) => found.map(|(found, count)| any(found.loss, count)),
            },
        };
        seen.put(name, value);
    }
    Ok(true)
}
