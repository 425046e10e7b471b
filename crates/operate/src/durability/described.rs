//! A system that is described by keys, without exports of a cluster: arrays, declustered pools, drawn groups,
//! sets of servers, stacks of two codes.
//!
//! Exact where a chain has it, which a simulation confirms; else by two methods of simulation, or by one with
//! a closed form beside it. Where they disagree, there is no probability. What it leaves out: operators,
//! batches of disks, loads of clients, repairs that wait for room.
//!
//! - `allowed`: which keys go together; `code`, `plan`: the checked system;
//! - `unit`, `placed`: the part that is simulated, and where its groups lie;
//! - `closed`, `sampling`, `bursts`: closed forms, simulations, what fails at once;
//! - `observed`, `measures`, `answer`, `present`: one replicate, its measures, the answer and its tables.

mod allowed;
mod answer;
mod bursts;
mod closed;
mod code;
mod measures;
mod observed;
mod placed;
mod plan;
mod present;
mod sampling;
#[cfg(test)]
mod tests;
mod unit;

use towtank_scenario::{Draft, Problems};
use towtank_streams::Seed;
use towtank_units::{Bytes, SimSpan};

pub(super) use self::allowed::is_described;
pub(super) use self::answer::View;
pub(super) use self::measures::measures;
pub(super) use self::observed::run;
pub use self::observed::{Kept, Seen};
use self::plan::{DISKS_MAX, Plan};
pub(super) use self::present::present;
use self::unit::Unit;
use super::bursts::Burst;
use super::keys::Law;
use super::scenario::{Scenario, check_times};
use crate::durability::bursts as words;

/// A checked description.
pub struct Ready {
    pub(super) scenario: Scenario,
    plan: Plan,
    bursts: Vec<Burst>,
    /// Whether it says how long repairs take, so that a mission can be simulated.
    has_repairs: bool,
}

impl Ready {
    /// Checks a description.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub(super) fn check(mut scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        if let Some(year) = scenario.described.failures.year.filter(|_| !draft.says("mission")) {
            scenario.mission = year;
        }
        check_times(&scenario, draft)?;
        let plan = Plan::of(&scenario, draft)?;
        let bursts = words::read(&scenario.burst, bursts::counts(&plan), draft)?;
        let mut problems = Problems::new();
        for burst in &bursts {
            if let Err(why) = bursts::lost(&plan, burst, Seed(0)) {
                let message = format!("`burst` has \"{}\": {why}", burst.text());
                problems.refuse(draft, burst.key(), message, "ask for one that can be");
            }
        }
        problems.into_result(())?;
        let repair = &scenario.described.repair;
        let has_time = repair.repair_time.is_some() || repair.repair_rate.is_some();
        let has_repairs = has_time || plan.law == Law::Never;
        if has_repairs && plan.afr != towtank_durability::rates::Afr::Rate(0.0) {
            Unit::of(&plan, plan.afr, Seed(0)).map_err(|why| {
                let hint = "ask for fewer, or for a burst without `repair_time`";
                draft.problem("servers", why).hint(hint)
            })?;
        }
        Ok(Ready { scenario, plan, bursts, has_repairs })
    }

    /// The scenario without `failure_rate` where another key says how often disks fail.
    pub(super) fn resolved(&self) -> serde_json::Value {
        let mut all =
            serde_json::to_value(&self.scenario).expect("a scenario came out of text and goes back into it");
        let failures = &self.scenario.described.failures;
        if let Some(table) = all.as_object_mut()
            && (failures.failure_probability.is_some() || failures.failures.is_some())
        {
            table.remove("failure_rate");
        }
        all
    }

    /// An estimate of the memory of a replicate: states of all disks that are simulated together.
    pub(super) fn memory_estimate(&self) -> Bytes {
        let disks = self.plan.disks().min(DISKS_MAX) as u64;
        Bytes::new(20_000_000 + 200_000 * disks.min(2_000))
    }
}

/// A time that is not zero, in words.
fn span(span: SimSpan) -> String {
    towtank_report::human::quantity(span.as_secs_f64(), "s")
}
