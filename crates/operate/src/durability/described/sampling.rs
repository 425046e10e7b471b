//! The probability of loss of one unit: its closed form confirmed by a simulation, or two simulations.

use towtank_durability::rates::Afr;
use towtank_durability::repair::Repair;
use towtank_durability::simulate::{Agreement, Estimate, Method, Question, agreement, mean_time};
use towtank_study::{RunContext, StudyError};

use super::closed::{self, Leading};
use super::plan::Plan;
use super::unit::{Policy, Unit};
use crate::durability::observed::{APART, Effort, OFTEN, allowed, failed, sampled};

const BIASED: Effort =
    Effort { method: Method::Biased, cycles: 1_000, most: 60, error: 0.015, part: (0.0, 0.5) };
/// Beside an exact value.
const CHECK: Effort = Effort { error: 0.05, part: (0.0, 1.0), ..BIASED };
const SPLITTING: Effort =
    Effort { method: Method::Splitting, cycles: 1_000, most: 20, error: 0.1, part: (0.5, 1.0) };
/// Where importance sampling does not get there, which is so for stacks that survive several failures.
const THOROUGH: Effort = Effort { cycles: 3_000, most: 120, error: 0.015, ..SPLITTING };
const PLAIN: Effort =
    Effort { method: Method::Plain, cycles: 2_000, most: 100, error: 0.02, part: (0.5, 1.0) };

/// A standard error that is enough for an answer, as a share of the probability.
const FINE: f64 = 0.02;

/// Estimates with fewer effective losses neither confirm nor refute anything.
const EFFECTIVE: f64 = 30.0;

/// The probability of one unit, and how it was found.
#[derive(Clone, Debug)]
pub(super) struct Sampled {
    pub loss: f64,
    /// The ends of its interval of 95 %, by sampling alone; equal to it where it is exact.
    pub range: [f64; 2],
    /// None where the chain has it.
    pub estimate: Option<Estimate>,
    pub other: Option<Other>,
    /// The mean time to a loss, where a simulation implies it.
    pub mean_h: Option<f64>,
    /// As simulated, beside an exact value too.
    pub below: Option<f64>,
    pub groups_lost: f64,
}

/// What another method says.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub name: &'static str,
    pub loss: f64,
    /// Its standard error, or for what it is off, as a share of it.
    pub error: f64,
    /// In standard errors of the difference.
    pub apart: Option<f64>,
}

/// P(any of so many independent parts loses something).
pub(super) fn any(one: f64, count: f64) -> f64 {
    -libm::expm1(count * libm::log1p(-one.min(1.0)))
}

/// A probability, or why there is none.
pub(super) type Found = Result<Sampled, String>;

/// The probability of one unit of a system whose disks fail so often. None if the user stopped it.
///
/// # Errors
/// When the model fails.
pub(super) fn found(
    plan: &Plan,
    afr: Afr,
    unit: &Unit,
    context: &RunContext<'_>,
) -> Result<Option<Found>, StudyError> {
    match &unit.policy {
        Policy::Simple(repair) => with(plan, afr, &question(plan, unit, repair, context), context),
        Policy::Pool(repair) => with(plan, afr, &question(plan, unit, repair, context), context),
    }
}

fn question<'a, R>(plan: &Plan, unit: &'a Unit, repair: &'a R, context: &RunContext<'_>) -> Question<'a, R> {
    Question { system: &unit.system, repair, mission_h: plan.mission_h, failed: &[], seed: context.seed }
}

fn with<R: Repair>(
    plan: &Plan,
    afr: Afr,
    question: &Question<'_, R>,
    context: &RunContext<'_>,
) -> Result<Option<Found>, StudyError> {
    if let Some(chain) = closed::chain(plan, afr) {
        let one = chain.loss_within(0, plan.mission_h).map_err(failed)?;
        let exact = any(one, question.system.groups() as f64);
        let Some(check) = sampled(question, &CHECK, context)? else { return Ok(None) };
        return Ok(Some(confirmed(exact, one, check)));
    }
    let Some(first) = sampled(question, &BIASED, context)? else { return Ok(None) };
    let arrays = question.system.groups() as f64;
    let leading = closed::leading(plan, afr).map(|one| Leading { loss: one.loss * arrays, ..one });
    if let Some(leading) = leading.filter(|leading| leading.off + leading.loss < 0.1) {
        return Ok(Some(beside(question, first, leading)));
    }
    let is_fine = first.loss > 0.0 && first.standard_error <= FINE * first.loss;
    let effort = match (first.loss >= OFTEN / 4.0, is_fine) {
        (true, _) => &PLAIN,
        (false, true) => &SPLITTING,
        (false, false) => &THOROUGH,
    };
    let Some(second) = sampled(question, effort, context)? else { return Ok(None) };
    Ok(Some(two(question, first, second)))
}

/// The value of a chain, which a simulation confirms.
fn confirmed(exact: f64, one: f64, check: Estimate) -> Found {
    let apart = (check.loss > 0.0).then(|| (check.loss - exact) / check.standard_error);
    if apart.is_some_and(|apart| apart.abs() > APART) && check.effective >= EFFECTIVE {
        return Err(disagree(exact, check.loss));
    }
    Ok(Sampled {
        loss: exact,
        range: [exact; 2],
        mean_h: None,
        below: check.below,
        groups_lost: one,
        other: other(&check, apart),
        estimate: None,
    })
}

/// A simulation, with the leading order beside it.
fn beside<R: Repair>(question: &Question<'_, R>, first: Estimate, leading: Leading) -> Found {
    if first.loss <= 0.0 {
        return Err(unseen(&first));
    }
    let error = first.standard_error / first.loss;
    let ratio = first.loss / leading.loss - 1.0;
    if ratio.abs() > leading.off + APART * error {
        return Err(disagree(first.loss, leading.loss));
    }
    let other = Other {
        name: "the closed form to leading order",
        loss: leading.loss,
        error: leading.off,
        apart: Some((ratio.abs() - leading.off).max(0.0) / error),
    };
    Ok(of(question, first, Some(other)))
}

fn two<R: Repair>(question: &Question<'_, R>, first: Estimate, second: Estimate) -> Found {
    let is_seen = |one: &Estimate| one.loss > 0.0;
    let error = |one: &Estimate| if is_seen(one) { one.standard_error / one.loss } else { f64::INFINITY };
    let (best, rest) = if error(&first) <= error(&second) { (first, second) } else { (second, first) };
    if !is_seen(&best) {
        return Err(unseen(&best));
    }
    let found = agreement(&best, &rest);
    let is_strong = [&best, &rest].into_iter().all(|one| one.effective >= EFFECTIVE);
    if found.is_some_and(|one| is_strong && one.deviations.abs() > allowed(&best, &rest)) {
        return Err(disagree(best.loss, rest.loss));
    }
    let apart = found.map(|Agreement { deviations, .. }| deviations);
    let other = other(&rest, apart);
    Ok(of(question, best, other))
}

fn other(estimate: &Estimate, apart: Option<f64>) -> Option<Other> {
    (estimate.loss > 0.0).then(|| Other {
        name: crate::durability::observed::name_of(estimate.method),
        loss: estimate.loss,
        error: estimate.standard_error / estimate.loss,
        apart: apart.map(f64::abs),
    })
}

fn of<R: Repair>(question: &Question<'_, R>, estimate: Estimate, other: Option<Other>) -> Sampled {
    let range = estimate.interval().map_or([estimate.loss; 2], |bounds| [bounds.low, bounds.high]);
    let mean = mean_time(question, &estimate).filter(|mean| mean.implies_loss);
    Sampled {
        loss: estimate.loss,
        range,
        mean_h: mean.map(|mean| mean.hours),
        below: estimate.below,
        groups_lost: estimate.groups_lost,
        estimate: Some(estimate),
        other,
    }
}

fn disagree(one: f64, other: f64) -> String {
    format!("two methods disagree, {one:.2e} and {other:.2e}: neither is to be trusted")
}

fn unseen(estimate: &Estimate) -> String {
    let courses = towtank_report::human::digits(estimate.cycles as f64);
    format!("no loss was seen in {courses} courses, which bounds nothing")
}

#[cfg(test)]
mod tests {
    use towtank_durability::simulate::Cause;

    use super::*;

    fn estimate(method: Method, loss: f64, standard_error: f64) -> Estimate {
        Estimate {
            method,
            loss,
            standard_error,
            effective: (loss / standard_error).powi(2),
            cycles: 1_000,
            hits: 500,
            groups_lost: loss,
            by_kind: Vec::new(),
            by_cause: [(Cause::Devices, loss), (Cause::Domain, 0.0), (Cause::Unreadable, 0.0)],
            below: None,
            batches: vec![loss; 20],
        }
    }

    /// Planted: a chain of one array in place of three, and a simulation that is off by as much, have no
    /// number.
    #[test]
    fn methods_that_disagree_have_no_number() {
        let seen = estimate(Method::Biased, 3e-5, 1e-6);
        assert!(confirmed(1e-5, 1e-5, seen.clone()).unwrap_err().contains("two methods disagree"));
        assert_eq!(confirmed(3.1e-5, 1e-5, seen).map(|found| found.loss), Ok(3.1e-5));
    }

    /// An estimate with few effective losses neither confirms nor refutes.
    #[test]
    fn a_coarse_estimate_refutes_nothing() {
        let coarse = estimate(Method::Biased, 3e-5, 1e-5);
        assert!(confirmed(8e-5, 8e-5, coarse).is_ok());
        assert!(allowed(&estimate(Method::Splitting, 1.0, 0.1), &estimate(Method::Biased, 1.0, 0.1)) > APART);
    }

    #[test]
    fn the_probability_of_any_keeps_small_ones() {
        assert!((any(1e-20, 1e3) / 1e-17 - 1.0).abs() < 1e-12);
        assert_eq!((any(1.0, 2.0), any(0.0, 5.0)), (1.0, 0.0));
    }
}
