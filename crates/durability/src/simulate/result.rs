//! What simulation found: batches, the estimate of all of them, and whether two methods agree.

use towtank_metrics::interval::{student_t_975, student_t_beyond};

use super::{Cause, Method, Question};
use crate::error::{DurabilityError, within};
use crate::fleet::System;
use crate::rates::Life;
use crate::repair::Repair;
use crate::state::Loss;
use crate::sums::{Bounds, clopper_pearson, sum};

/// What one batch of work found. Sums are over its cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub(super) method: Method,
    pub(super) cycles: u64,
    /// Weights of cycles, where the mean is P(loss); with splitting, that probability times the cycles.
    pub(super) weight: f64,
    pub(super) square: f64,
    /// Cycles with a loss; with splitting, the fewest that reached a degree of damage from the one before.
    pub(super) hits: u64,
    /// Weights times groups that were lost.
    pub(super) groups: f64,
    pub(super) causes: [f64; 3],
    /// Weights by the kind of the lost group with the lowest number.
    pub(super) kinds: Vec<f64>,
    /// Time in which groups could not serve, summed over groups, and time that was looked at.
    pub(super) below_h: f64,
    pub(super) observed_h: f64,
    pub(super) all_groups: u64,
}

impl Batch {
    pub(super) fn new(method: Method, cycles: u32, system: &System) -> Batch {
        Batch {
            method,
            cycles: u64::from(cycles),
            weight: 0.0,
            square: 0.0,
            hits: 0,
            groups: 0.0,
            causes: [0.0; 3],
            kinds: vec![0.0; system.all_kinds()],
            below_h: 0.0,
            observed_h: 0.0,
            all_groups: system.groups() as u64,
        }
    }

    /// Adds a weighted loss to causes and groups.
    pub(super) fn lose(&mut self, system: &System, weight: f64, loss: Loss) {
        self.causes[loss.cause as usize] += weight;
        self.kinds[system.kind(loss.group)] += weight;
        self.groups += weight * loss.groups as f64;
    }
}

/// What all batches found.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// How.
    pub method: Method,
    /// P(any loss in the mission).
    pub loss: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// As many losses as happen in a plain simulation with the same relative error: with few, the error is
    /// not to be trusted.
    pub effective: f64,
    /// Cycles in all.
    pub cycles: u64,
    /// Cycles in which something was lost; with splitting, the fewest in all batches that reached a degree of
    /// damage from the one before.
    pub hits: u64,
    /// The expected share of groups that the first loss takes; of objects, if groups have equally many.
    pub groups_lost: f64,
    /// P(loss) by what caused the first: devices, a domain, an unreadable place.
    pub by_cause: [(Cause, f64); 3],
    /// P(loss) by the kind of group that was lost first.
    pub by_kind: Vec<f64>,
    /// The share of its time in which a group cannot serve; none where only rare courses were looked at.
    pub below: Option<f64>,
    /// P(loss) of each batch.
    pub batches: Vec<f64>,
}

impl Estimate {
    /// An interval of 95 % for P(loss): exact for plain simulation, else for its logarithm (normal, or
    /// Student's t where the error comes from the spread of batches). None where nothing was lost in courses
    /// that are weighted, which says nothing.
    #[must_use]
    pub fn interval(&self) -> Option<Bounds> {
        if self.method == Method::Plain {
            return Some(clopper_pearson(self.hits, self.cycles, 0.05));
        }
        if self.loss <= 0.0 {
            return None;
        }
        let reach = match self.method {
            Method::Splitting => student_t_975(self.batches.len() as u64 - 1),
            Method::Plain | Method::Biased => 1.96,
        };
        let factor = libm::exp(reach * self.standard_error / self.loss);
        Some(Bounds { low: self.loss / factor, high: (self.loss * factor).min(1.0) })
    }

    /// Nines of P(loss), and their standard error.
    #[must_use]
    pub fn nines(&self) -> (f64, f64) {
        let error = self.standard_error / self.loss / std::f64::consts::LN_10;
        (crate::rates::nines(self.loss), error)
    }
}

/// Puts batches of one question and method together, in any order of running; their own order counts for the
/// last bits of sums.
///
/// # Errors
/// If there are fewer than two, of which no spread is known, or they differ in method or size.
pub fn estimate(batches: &[Batch]) -> Result<Estimate, DurabilityError> {
    within("the number of batches", batches.len() as f64, 2.0, 1e6)?;
    let first = &batches[0];
    let same = batches.iter().filter(|batch| (batch.method, batch.cycles) == (first.method, first.cycles));
    within("the number of batches of one method and size", same.count() as f64, batches.len() as f64, 1e6)?;
    let total = |of: fn(&Batch) -> f64| sum(batches.iter().map(of));
    let cycles: u64 = batches.iter().map(|batch| batch.cycles).sum();
    let count = cycles as f64;
    let values: Vec<f64> = batches.iter().map(|batch| batch.weight / batch.cycles as f64).collect();
    let loss = total(|batch| batch.weight) / count;
    let variance = if first.method == Method::Splitting {
        let apart = sum(values.iter().map(|value| (value - loss) * (value - loss)));
        apart / (values.len() - 1) as f64 / values.len() as f64
    } else {
        (total(|batch| batch.square) / count - loss * loss).max(0.0) / (count - 1.0).max(1.0)
    };
    let observed = total(|batch| batch.observed_h) * first.all_groups as f64;
    let by = |cause: Cause| (cause, sum(batches.iter().map(|batch| batch.causes[cause as usize])) / count);
    let kinds = |kind: usize| sum(batches.iter().map(|batch| batch.kinds[kind])) / count;
    Ok(Estimate {
        by_kind: (0..first.kinds.len()).map(kinds).collect(),
        method: first.method,
        loss,
        standard_error: libm::sqrt(variance),
        effective: if variance > 0.0 { loss * loss / variance } else { 0.0 },
        cycles,
        hits: batches.iter().map(|batch| batch.hits).sum(),
        groups_lost: total(|batch| batch.groups) / count / first.all_groups as f64,
        by_cause: [by(Cause::Devices), by(Cause::Domain), by(Cause::Unreadable)],
        below: (observed > 0.0).then(|| total(|batch| batch.below_h) / observed),
        batches: values,
    })
}

/// Whether two estimates say the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Their difference, in standard errors of it.
    pub deviations: f64,
    /// What they exceed by chance in one of 100 cases: 2.58, or Student's t where an error comes from the
    /// spread of few batches.
    pub allowed: f64,
    /// Whether they are at most that.
    pub agrees: bool,
}

/// Compares two estimates of one probability. None where one of them saw no loss, which says nothing of the
/// other.
#[must_use]
pub fn agreement(left: &Estimate, right: &Estimate) -> Option<Agreement> {
    if left.loss <= 0.0 || right.loss <= 0.0 {
        return None;
    }
    let squares = left.standard_error * left.standard_error + right.standard_error * right.standard_error;
    let apart = left.loss - right.loss;
    let deviations = if apart == 0.0 { 0.0 } else { apart / libm::sqrt(squares) };
    let split = [left, right].into_iter().filter(|found| found.method == Method::Splitting);
    let fewest = split.map(|found| found.batches.len() as u64 - 1).min();
    let allowed = fewest.map_or(2.58, |degrees| student_t_beyond(degrees, 0.01));
    Some(Agreement { deviations, allowed, agrees: deviations.abs() <= allowed })
}

/// The mean time to loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanTime {
    /// At the rate of the mission: T / -ln(1 - P).
    pub hours: f64,
    /// Whether 1 - exp(-t / mean) is P(loss by t) for other times t, too: with constant hazards, a clean
    /// start, and repairs that take less than a hundredth of the mission.
    pub implies_loss: bool,
}

/// The mean time to loss at the rate of the mission. None where no loss was seen.
#[must_use]
pub fn mean_time<R: Repair>(question: &Question<'_, R>, found: &Estimate) -> Option<MeanTime> {
    let is_constant = |life: &Life| matches!(life, Life::Constant { .. });
    let is_steady = question.system.fleet.lives.iter().all(is_constant) && !question.starts_damaged();
    let is_short = question.repair.mean_h(question.system) < 0.01 * question.mission_h;
    (found.loss > 0.0).then(|| MeanTime {
        hours: -question.mission_h / libm::log1p(-found.loss),
        implies_loss: is_steady && is_short,
    })
}
