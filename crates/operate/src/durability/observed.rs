//! One replicate: how long repairs take, and how likely a loss is with them.

use serde::{Deserialize, Serialize};
use towtank_durability::fleet::System;
use towtank_durability::repair::{Repair, Table};
use towtank_durability::simulate::{
    Agreement, Batch, Cause, Estimate, Method, Question, agreement, batch, estimate, mean_time,
};
use towtank_metrics::interval::student_t_beyond;
use towtank_report::Outcome;
use towtank_study::{Progress, Replicate, RunContext, StudyError, Value};

use super::bursts::Lost;
use super::case::Ready;
use super::repairs::{self, Times};

/// The fewest courses with a loss.
const HITS: u64 = 100;

/// How much is done of a method.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub method: Method,
    /// Courses of a batch, and the most batches.
    pub cycles: u32,
    pub most: u32,
    /// The standard error that is enough, as a share of the probability.
    pub error: f64,
    /// The part of the progress of a run that it is.
    pub part: (f64, f64),
}

const BIASED: Effort =
    Effort { method: Method::Biased, cycles: 5_000, most: 200, error: 0.02, part: (0.5, 0.7) };
/// It takes longer, and is there to be compared with.
const SPLITTING: Effort =
    Effort { method: Method::Splitting, cycles: 500, most: 20, error: 0.15, part: (0.7, 1.0) };
const PLAIN: Effort = Effort { method: Method::Plain, cycles: 500, most: 40, error: 0.05, part: (0.7, 1.0) };

/// What methods that say the same exceed once in 10,000 cases, in standard errors.
const CHANCE: f64 = 1e-4;
pub(super) const APART: f64 = 3.9;

/// For the ends of a range.
const ENDS: Effort = Effort { cycles: 2_000, most: 40, error: 0.04, part: (0.9, 1.0), ..BIASED };

/// Where a loss is at least as likely, missions are simulated as they happen.
pub(super) const OFTEN: f64 = 0.02;

/// What a replicate found.
pub struct Seen {
    pub(super) found: Result<Found, String>,
    pub(super) observed: Observed,
}

/// A probability of loss, and how it was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub estimate: Estimate,
    pub other: Option<Estimate>,
    pub agreement: Option<Agreement>,
    pub mean_h: Option<(f64, bool)>,
    /// The probability at both ends of the failure rate, where it was counted; the lower one may be 0.
    pub at_rates: Option<[f64; 2]>,
    /// The probability with repairs that take as short and as long as `whatif` gives.
    pub at_times: Result<[f64; 2], String>,
}

/// What is presented besides the measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Devices with data.
    pub devices: u64,
    /// How long repairs take.
    pub times: Vec<Times>,
    /// Groups that lack something now, and how long that takes.
    pub lack: u64,
    /// The same.
    pub start: Option<Times>,
    /// The names of pools, and P(loss) by the pool of the group that was lost first.
    pub pools: Vec<(String, f64)>,
    /// P(loss) by what caused the first loss, in words, the most likely first.
    pub causes: Vec<(String, f64)>,
    /// What fails how often, and what is left out, in words.
    pub assumed: Vec<String>,
    pub left_out: String,
    /// What bursts lose.
    pub bursts: Vec<Lost>,
    /// The method, in words.
    pub method: String,
    /// Courses that were looked at, and those with a loss.
    pub courses: [u64; 2],
    /// The standard error of the other method, as a share of its probability.
    pub other_error: f64,
    /// Whether constants were learned from a recovery.
    pub calibrated: bool,
}

/// Runs one replicate.
pub(super) fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
    let beside = Outcome { warnings: ready.warnings.clone(), ..Outcome::default() };
    let stopped = |beside: Outcome| Replicate {
        seen: Err("the run was stopped before enough was seen"),
        beside: Outcome { partial: true, ..beside },
    };
    let table = repairs::table(&ready.recoveries, &ready.layout, context)?;
    let Some(table) = table else { return Ok(stopped(beside)) };
    let mut observed = Observed {
        devices: ready.layout.with_data.len() as u64,
        lack: ready.layout.lack() as u64,
        calibrated: ready.scenario.machines.is_some(),
        assumed: ready.failures.assumed(ready.layout.with_data.len()),
        left_out: ready.failures.left_out(),
        ..Observed::default()
    };
    for burst in &ready.bursts {
        let groups = ready.explicit.as_ref().expect("bursts are asked of groups");
        observed.bursts.push(burst.lost(groups, context.seed).map_err(failed)?);
    }
    let found = match table {
        Err(why) => Err(why),
        Ok(repairs::Found { times, start, table }) => {
            observed.times = times;
            observed.start = start;
            let found = probability(ready, &table, context)?;
            if context.stopped() {
                return Ok(stopped(beside));
            }
            found.inspect(|found| note(found, &ready.layout.pools, &mut observed))
        }
    };
    Ok(Replicate { seen: Ok(Seen { found, observed }), beside })
}

pub(super) fn failed(message: impl ToString) -> StudyError {
    StudyError::Model { message: message.to_string(), hint: None }
}

fn note(found: &Found, pools: &[String], observed: &mut Observed) {
    let by_pool = pools.iter().zip(&found.estimate.by_kind).map(|(name, loss)| (name.clone(), *loss));
    observed.pools = by_pool.filter(|(_, loss)| *loss > 0.0).collect();
    observed.pools.sort_by(|one, next| next.1.total_cmp(&one.1));
    let of_cause = |(cause, loss): &(Cause, f64)| {
        let words = match cause {
            Cause::Devices => "devices that fail",
            Cause::Domain => "a host or rack that is ruined",
            Cause::Unreadable => "an unreadable place",
        };
        (words.to_owned(), *loss)
    };
    let causes = found.estimate.by_cause.iter().map(of_cause);
    observed.causes = causes.filter(|(_, loss)| *loss > 0.0).collect();
    observed.causes.sort_by(|one, next| next.1.total_cmp(&one.1));
    let Estimate { method, cycles, hits, .. } = &found.estimate;
    observed.courses = [*cycles, *hits];
    observed.other_error = found.other.as_ref().map_or(0.0, |other| other.standard_error / other.loss);
    observed.method = name_of(*method).to_owned();
}

/// A method in words.
pub(super) fn name_of(method: Method) -> &'static str {
    match method {
        Method::Plain => "missions as they happen",
        Method::Biased => "importance sampling",
        Method::Splitting => "splitting",
    }
}

/// What is asked of a system with these repairs.
fn question<'a>(
    ready: &Ready,
    (system, repair): (&'a System, &'a Table),
    context: &RunContext<'_>,
) -> Question<'a, Table> {
    Question { system, repair, mission_h: ready.mission_h(), failed: &[], seed: context.seed }
}

/// The probability by two methods: one that looks at rare courses, and splitting; where a loss is likely,
/// missions as they happen.
fn probability(
    ready: &Ready,
    table: &Table,
    context: &RunContext<'_>,
) -> Result<Result<Found, String>, StudyError> {
    let question = question(ready, (&ready.systems.asked, table), context);
    let first = sampled(&question, &BIASED, context)?;
    let Some(first) = first else { return Ok(Err("the run was stopped".to_owned())) };
    let is_often = first.loss >= OFTEN;
    let effort = if is_often { &PLAIN } else { &SPLITTING };
    let Some(second) = sampled(&question, effort, context)? else {
        return Ok(Err("the run was stopped".to_owned()));
    };
    let (estimate, other) = if is_often { (second, first) } else { (first, second) };
    if estimate.loss <= 0.0 {
        let courses = towtank_report::human::digits(estimate.cycles as f64);
        return Ok(Err(format!("no loss was seen in {courses} courses, which bounds nothing")));
    }
    let mean = mean_time(&question, &estimate);
    let agreement = agreement(&estimate, &other);
    if agreement.is_some_and(|one| one.deviations.abs() > allowed(&estimate, &other)) {
        return Ok(Err(format!(
            "two methods disagree, {:.2e} and {:.2e}: neither is to be trusted",
            estimate.loss, other.loss
        )));
    }
    let others = beside(ready, table, &estimate, context)?;
    let Some((at_rates, at_times)) = others else { return Ok(Err("the run was stopped".to_owned())) };
    Ok(Ok(Found {
        at_rates,
        at_times,
        agreement,
        mean_h: mean.map(|mean| (mean.hours, mean.implies_loss)),
        estimate,
        other: (other.loss > 0.0).then_some(other),
    }))
}

/// The standard errors that two methods may be apart.
pub(super) fn allowed(left: &Estimate, right: &Estimate) -> f64 {
    let split = [left, right].into_iter().filter(|one| one.method == Method::Splitting);
    let fewest = split.map(|one| one.batches.len() as u64 - 1).min();
    fewest.map_or(APART, |degrees| student_t_beyond(degrees, CHANCE))
}

/// What the probability is at the ends of the failure rate and of the repair times.
type Beside = (Option<[f64; 2]>, Result<[f64; 2], String>);

fn beside(
    ready: &Ready,
    table: &Table,
    estimate: &Estimate,
    context: &RunContext<'_>,
) -> Result<Option<Beside>, StudyError> {
    let at = |system: &System, table: &Table| -> Result<Option<f64>, StudyError> {
        let question = question(ready, (system, table), context);
        Ok(sampled(&question, &ENDS, context)?.map(|found| found.loss))
    };
    let mut at_rates = None;
    if let Some(ends) = &ready.systems.ends {
        let mut found = [0.0; 2];
        for (found, system) in found.iter_mut().zip(ends) {
            let Some(system) = system else { continue };
            let Some(loss) = at(system, table)? else { return Ok(None) };
            *found = loss;
        }
        at_rates = Some(found);
    }
    let waited_s = 3_600.0 * table.delay.mean_h();
    let ratios = match repairs::range(&ready.recoveries, waited_s, context)? {
        Ok(ratios) => ratios,
        Err(why) => return Ok(Some((at_rates, Err(why)))),
    };
    // The same courses with other times: their ratio has less scatter than they have.
    let Some(usual) = at(&ready.systems.asked, table)? else { return Ok(None) };
    let mut at_times = [0.0; 2];
    for (found, ratio) in at_times.iter_mut().zip(ratios) {
        let Some(loss) = at(&ready.systems.asked, &table.slower(ratio))? else { return Ok(None) };
        *found = estimate.loss * if usual > 0.0 { loss / usual } else { 1.0 };
    }
    Ok(Some((at_rates, Ok(at_times))))
}

/// Batches of a method until the error is small enough; none if the user stopped it.
pub(super) fn sampled<R: Repair>(
    question: &Question<'_, R>,
    effort: &Effort,
    context: &RunContext<'_>,
) -> Result<Option<Estimate>, StudyError> {
    let Effort { method, cycles, most, error, part: (from, to) } = *effort;
    let mut batches: Vec<Batch> = Vec::new();
    for number in 0..most {
        if context.stopped() {
            return Ok(None);
        }
        batches.push(batch(question, method, cycles, number).map_err(failed)?);
        let share = f64::from(number + 1) / f64::from(most);
        (context.progress)(Progress { fraction: from + (to - from) * share, ..Progress::default() });
        if batches.len() < 4 {
            continue;
        }
        let found = estimate(&batches).map_err(failed)?;
        let enough = found.loss > 0.0 && found.standard_error <= error * found.loss && found.hits >= HITS;
        if enough {
            return Ok(Some(found));
        }
    }
    estimate(&batches).map(Some).map_err(failed)
}

impl Seen {
    /// What is kept of it.
    pub(super) fn keep(self) -> Observed {
        self.observed
    }

    fn found(&self) -> Result<&Found, String> {
        self.found.as_ref().map_err(Clone::clone)
    }

    pub(super) fn loss(&self) -> Value {
        Ok(self.found()?.estimate.loss)
    }

    /// The lower (0) and the upper (1) end of its interval of 95 %, by sampling alone.
    pub(super) fn loss_range(&self, end: usize) -> Value {
        let interval = self.found()?.estimate.interval();
        let interval = interval.ok_or_else(|| "no loss was seen".to_owned())?;
        Ok([interval.low, interval.high][end])
    }

    pub(super) fn nines(&self) -> Value {
        Ok(self.found()?.estimate.nines().0)
    }

    pub(super) fn groups_lost(&self) -> Value {
        Ok(self.found()?.estimate.groups_lost)
    }

    pub(super) fn effective(&self) -> Value {
        Ok(self.found()?.estimate.effective)
    }

    pub(super) fn other(&self) -> Value {
        let found = self.found()?;
        found.other.as_ref().map(|other| other.loss).ok_or_else(|| "the other method saw no loss".to_owned())
    }

    pub(super) fn apart(&self) -> Value {
        let found = self.found()?;
        found
            .agreement
            .map(|one| one.deviations.abs())
            .ok_or_else(|| "the other method saw no loss".to_owned())
    }

    pub(super) fn at_rate(&self, end: usize) -> Value {
        let not_counted = || "failures were not counted: `failures`, `disk_years`".to_owned();
        Ok(self.found()?.at_rates.ok_or_else(not_counted)?[end])
    }

    pub(super) fn at_time(&self, end: usize) -> Value {
        Ok(self.found()?.at_times.clone()?[end])
    }

    pub(super) fn mttdl_years(&self) -> Value {
        let (hours, implies) = self.found()?.mean_h.ok_or_else(|| "no loss was seen".to_owned())?;
        match implies {
            true => Ok(hours / 8_766.0),
            false => {
                Err("the hazard of a loss changes during the mission, so that no mean time implies it"
                    .to_owned())
            }
        }
    }

    /// The median of repairs after one failure (0), or of the exposure of groups that lack two devices (1),
    /// in seconds from the failure.
    pub(super) fn repair_s(&self, which: usize) -> Value {
        self.found()?;
        let of = |times: &&Times| times.devices as usize == which + 1;
        let mut all: Vec<f64> = Vec::new();
        for times in self.observed.times.iter().filter(of) {
            all.extend(if which == 0 { &times.whole_h } else { &times.exposed_h });
        }
        all.sort_by(f64::total_cmp);
        let none = || "no group lacks two devices without a loss".to_owned();
        all.get(all.len() / 2).map(|hours| hours * 3_600.0).ok_or_else(none)
    }

    pub(super) fn burst_loss(&self) -> Value {
        let most = self.observed.bursts.iter().map(|burst| burst.loss).max_by(f64::total_cmp);
        most.ok_or_else(|| "no burst is asked for (`burst`)".to_owned())
    }
}
