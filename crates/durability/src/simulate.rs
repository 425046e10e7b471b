//! The probability of loss within a mission, by simulation. Three methods have the same system, policy and
//! state, and differ in which courses of events they look at:
//!
//! - [`Method::Plain`]: missions as they happen. It needs some hundred losses.
//! - [`Method::Biased`]: failures are put into missions at random times, and from each the course is followed
//!   until its groups are whole again, with more failures than there are in their most damaged groups; each
//!   course counts as often as it happens (importance sampling).
//! - [`Method::Splitting`]: missions that reach a degree of damage are continued many times, from the state
//!   in which they were, up to the next degree (fixed effort).
//!
//! All count the first loss of a mission, and all are unbiased, for any law of age, policy and mission time.
//! Work is divided into batches; a batch depends on its number and the seed alone, so any thread may run any
//! batch, and [`estimate`] puts them together.
//!
//! The estimator of `Biased`: a loss has a root, the failure since which the lost group has not been whole.
//! By Mecke's formula the expected number of first losses is the integral, over the mission and all parts, of
//! hazard times P(the first loss has its root in a failure here and now). So there are no long products of
//! weights, whatever the number of failures in a mission.

mod biased;
mod plain;
mod result;
mod splitting;

pub use crate::state::Cause;
pub use result::{Agreement, Batch, Estimate, MeanTime, agreement, estimate, mean_time};

use towtank_streams::{Draws, Seed};

use crate::error::{DurabilityError, positive, within};
use crate::fleet::System;
use crate::repair::Repair;
use crate::state::{Happened, State};

/// How courses of events are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As they happen.
    Plain,
    /// With failures added where they matter.
    Biased,
    /// Continued from each degree of damage.
    Splitting,
}

/// What is asked.
#[derive(Debug)]
pub struct Question<'a, R> {
    /// The system.
    pub system: &'a System,
    /// Its policy of repairs.
    pub repair: &'a R,
    /// For how long.
    pub mission_h: f64,
    /// Devices that are failed at the start; their repair begins then.
    pub failed: &'a [usize],
    /// Of all draws.
    pub seed: Seed,
}

impl<R: Repair> Question<'_, R> {
    fn check(&self) -> Result<(), DurabilityError> {
        positive("the mission time in hours", self.mission_h)?;
        self.repair.check(self.system)?;
        let there = self.system.fleet.devices.len();
        match self.failed.iter().enumerate().find(|(_, device)| **device >= there) {
            None => Ok(()),
            Some((index, named)) => {
                let what = "failed device";
                Err(DurabilityError::Unknown { what, index, named: *named, there })
            }
        }
    }

    /// Whether something is lacking at the start.
    fn starts_damaged(&self) -> bool {
        !self.failed.is_empty() || !self.system.lacking.is_empty()
    }

    /// The state at the start, with what the failures before it did.
    fn start(&self, blank: &State, state: &mut State, draws: &mut Draws) -> Happened {
        state.copy(blank);
        state.redraw(self.system, draws);
        let mut all =
            Happened { reached: state.start(self.system, self.repair, draws), ..Happened::default() };
        for device in self.failed {
            let happened = state.fail(self.system, self.repair, *device, draws);
            all.reached = all.reached.max(happened.reached);
            all.loss = all.loss.or(happened.loss);
        }
        all
    }
}

/// A part of the work: so many cycles, which are missions or, with splitting, courses from each degree of
/// damage.
///
/// # Errors
/// If the policy refuses the system, or a number is out of range.
pub fn batch<R: Repair>(
    question: &Question<'_, R>,
    method: Method,
    cycles: u32,
    number: u32,
) -> Result<Batch, DurabilityError> {
    question.check()?;
    within("the number of cycles of a batch", f64::from(cycles), 1.0, 1e8)?;
    Ok(match method {
        Method::Plain => plain::batch(question, cycles, number),
        Method::Biased => biased::batch(question, cycles, number),
        Method::Splitting => splitting::batch(question, cycles, number),
    })
}

/// All batches of an estimate, one after the other.
///
/// # Errors
/// As [`batch`].
pub fn simulate<R: Repair>(
    question: &Question<'_, R>,
    method: Method,
    cycles: u32,
    batches: u32,
) -> Result<Estimate, DurabilityError> {
    within("the number of batches", f64::from(batches), 2.0, 1e6)?;
    let all = (0..batches).map(|number| batch(question, method, cycles, number));
    estimate(&all.collect::<Result<Vec<Batch>, DurabilityError>>()?)
}
