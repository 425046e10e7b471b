//! A recovery that happened, run again with other constants of the machines: the same exports, changes, model
//! and orders of groups as an answer about time has, without its trials. For fits, which run it often.
//!
//! What was seen are objects times copies that are left. Here these are the jobs that have not begun, since a
//! group has one object in progress: of a recovery that lasts, an object more or less.

use std::collections::BTreeSet;
use std::sync::Arc;

use towtank_ceph::Joined;
use towtank_rebuild::ledger::Rules;
use towtank_rebuild::model::SPARES;
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::{Recovered, Recovery, Waiting};
use towtank_rebuild::thinned::Thinned;
use towtank_recovery::observed::left;
use towtank_recovery::running;
use towtank_scenario::{Files, Problems};
use towtank_streams::Seed;
use towtank_study::{RunContext, StudyError};
use towtank_units::SimTime;

use super::case::Ready;
use super::orders;
use super::time_alone;
use crate::real::factors::{self, Constants, Factors};
use crate::release::Paced;

/// A run has about so many objects: a fit makes hundreds of runs, and is to take seconds.
const OBJECTS: usize = 5_000;

/// A group keeps at least so many objects on average.
const OF_A_GROUP: usize = 10;

/// A recovery that can be run again.
pub(crate) struct Replay {
    pub(crate) ready: Ready,
    /// The class of disks whose constants are changed, among those present, and its name.
    class: (usize, &'static str),
}

/// How a recovery went.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Course {
    /// From the change to the first object, in seconds.
    pub first_s: f64,
    /// Jobs that begun until a time, in seconds from the change; bytes that were written, where groups have
    /// several objects in progress.
    pub begun: Vec<(f64, u64)>,
    /// When the last object was written, in seconds from the change.
    pub last_s: f64,
    /// When the objects of each step of the manager began to move, in seconds from the change.
    pub steps: Vec<f64>,
    /// For how many seconds groups were being copied, summed over them, where they reserve.
    pub copying_s: Option<f64>,
    /// Groups that were copied, once for each time.
    pub groups: u64,
    /// Objects that were copied or made again, once for each time.
    pub jobs: u64,
    /// Copies and shards of them.
    pub parts: u64,
    /// The device that was busy last.
    pub last: Option<DeviceId>,
}

/// How long groups of a recovery lack copies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exposed {
    /// Seconds from the failure, by the number of copies or shards to spare.
    pub by_spare: [Option<f64>; SPARES],
    /// How many groups are complete at which times, in seconds from the failure, by the same number.
    pub completed: [Vec<(f64, u64)>; SPARES],
    /// Of it, until the failed devices are marked out.
    pub waited_s: f64,
}

/// From a failure until it is marked out.
fn waited_s(recovery: &Recovery<'_>) -> f64 {
    let [detection, down_out] = recovery.waiting.of(None);
    detection.saturating_add(down_out).as_secs_f64()
}

impl Replay {
    /// The recovery of a scenario of `whatif`.
    ///
    /// # Errors
    /// Each problem of the scenario.
    pub(crate) fn of(scenario: String, files: Arc<dyn Files>) -> Result<Replay, Problems> {
        Replay::of_changed(scenario, files, |_| {})
    }

    /// The same of a cluster that is changed after its exports are read.
    ///
    /// # Errors
    /// Each problem of the scenario.
    pub(crate) fn of_changed(
        scenario: String,
        files: Arc<dyn Files>,
        change: impl FnOnce(&mut Joined),
    ) -> Result<Replay, Problems> {
        let ready = time_alone::ready_as(scenario, files, change)?;
        let class = factors::main_class(&ready.real.groups.machines);
        Ok(Replay { ready, class })
    }

    /// Groups that are whole in a later moment go before those that are not: they had their reservations.
    pub(crate) fn follow(&mut self, later: &Replay) {
        let left: BTreeSet<u64> = later.ready.staged.affected.numbers.iter().copied().collect();
        let affected = &mut self.ready.staged.affected;
        for record in 0..affected.records() {
            if !left.contains(&affected.numbers[record]) {
                affected.goes_first(record);
            }
        }
    }

    /// The name of the class of disks whose constants are changed.
    pub(crate) fn class(&self) -> &'static str {
        self.class.1
    }

    /// What is assumed of it.
    pub(crate) fn assumed(&self) -> Option<Constants> {
        factors::assumed((&self.ready.staged.hardware, &self.ready.staged.limits), self.class.0)
    }

    /// The release, and the queue of its daemons.
    pub(crate) fn paced(&self) -> Paced {
        self.ready.real.paced()
    }

    /// How long groups lack copies, in the order of groups of one draw: until the last that lacked some and
    /// had at most so many to spare was complete, in seconds from the change, none where there was no such
    /// group. Or why some stay as they are.
    ///
    /// # Errors
    /// When the model fails.
    pub(crate) fn exposed(
        &self,
        draw: u32,
        context: &RunContext<'_>,
    ) -> Result<Result<Exposed, String>, StudyError> {
        let base = self.ready.real.recovery(&self.ready.staged, &RunContext::alone(Seed(0), 0));
        let rules = Rules { count_completed: true, ..base.rules };
        let base = Recovery { clients: None, quiet: false, rules, ..base };
        let recovery = orders::with_ties(&base, Seed(0).part(draw));
        let recovered = ran(&recovery, context)?;
        let start_s = self.ready.start.as_secs_f64();
        let after = |at: SimTime| start_s + at.as_secs_f64();
        let completed = |spare: usize| {
            let own =
                recovered.completed.iter().filter(|((_, own), _)| usize::from(*own).min(SPARES - 1) == spare);
            own.map(|(_, at)| (after(*at), 1)).collect()
        };
        let exposed = Exposed {
            by_spare: std::array::from_fn(|spare| recovered.until(spare).map(after)),
            completed: std::array::from_fn(completed),
            waited_s: waited_s(&recovery),
        };
        // What is lost needs no repair.
        Ok(match recovered.stuck.objects() - recovered.stuck.lost {
            0 => Ok(exposed),
            _ => Err(left(&recovered, "wait for devices that are not marked out").unwrap_or_default()),
        })
    }

    /// How many objects are lost, in the order of groups of one draw.
    ///
    /// # Errors
    /// When the model fails.
    #[cfg(test)]
    pub(crate) fn lost(&self, draw: u32, context: &RunContext<'_>) -> Result<u64, StudyError> {
        let base = self.ready.real.recovery(&self.ready.staged, &RunContext::alone(Seed(0), 0));
        let base = Recovery { clients: None, quiet: false, ..base };
        let recovery = orders::with_ties(&base, Seed(0).part(draw));
        let recovered = ran(&recovery, context)?;
        Ok(recovered.stuck.lost)
    }

    /// Runs it with other constants, in the order of groups of one draw.
    ///
    /// # Errors
    /// When the model fails.
    pub(crate) fn course(&self, factors: &Factors, draw: u32) -> Result<Course, StudyError> {
        let context = RunContext::alone(Seed(0), 0);
        let staged = &self.ready.staged;
        let (hardware, limits) = factors::with((&staged.hardware, &staged.limits), self.class.0, factors);
        let base = self.ready.real.recovery(staged, &context);
        let waiting =
            Waiting { peering: factors::times(base.waiting.peering, factors.start), ..base.waiting };
        let base =
            Recovery { hardware: &hardware, limits: &limits, waiting, clients: None, quiet: false, ..base };
        let recovery = orders::with_ties(&base, Seed(0).part(draw));
        let recovered = ran(&recovery, &context)?;
        let course = course(&recovered, self.ready.start.as_secs_f64() * factors.start);
        // Without reservations all groups of a device take turns, and none has a time of its own.
        Ok(Course { copying_s: course.copying_s.filter(|_| limits.reservations.is_some()), ..course })
    }
}

/// Runs a recovery, with some of its objects where it has many.
fn ran(recovery: &Recovery<'_>, context: &RunContext<'_>) -> Result<Recovered, StudyError> {
    match thinned(recovery) {
        Some(thinned) => Ok(thinned.whole(recovery, running::run(&thinned.of(recovery), context)?)),
        None => running::run(recovery, context),
    }
}

/// The recovery with some of its objects, where it has many.
fn thinned(recovery: &Recovery<'_>) -> Option<Thinned> {
    let by = Thinned::one_in_how_many(recovery, OBJECTS, OF_A_GROUP)?;
    Some(Thinned::at_once_by(recovery, by))
}

fn course(recovered: &Recovered, start_s: f64) -> Course {
    let mut sum = 0;
    let series = if recovered.begun.is_empty() { &recovered.progress } else { &recovered.begun };
    let begun = series.iter().map(|(at, jobs)| {
        sum += jobs;
        (start_s + at.as_secs_f64(), sum)
    });
    let devices = || (0..recovered.last_on.len() as u32).map(DeviceId);
    let last_on = |device: &DeviceId| recovered.last_on[device.index()];
    Course {
        begun: begun.collect(),
        first_s: start_s + recovered.first_transfer.as_secs_f64(),
        last_s: start_s + recovered.last().as_secs_f64(),
        steps: recovered.steps.iter().map(|at| start_s + at.as_secs_f64()).collect(),
        copying_s: (recovered.copied > 0).then(|| recovered.copying.as_secs_f64()),
        groups: recovered.copied,
        jobs: recovered.jobs,
        parts: devices().map(|device| recovered.targets.parts(device)).sum(),
        last: devices().filter(|device| last_on(device).is_some()).max_by_key(last_on),
    }
}

impl Course {
    /// When a share of all objects was left, in seconds since the first one moved.
    pub fn left(&self, share: f64) -> f64 {
        self.at_left(share) - self.first_s
    }

    /// The same in seconds from the change.
    pub(crate) fn at_left(&self, share: f64) -> f64 {
        let all = self.begun.last().map_or(0, |(_, sum)| *sum) as f64;
        if share <= 0.0 || all == 0.0 {
            return self.last_s;
        }
        let wanted = (1.0 - share) * all;
        let mut before = (self.first_s, 0.0);
        for (at, sum) in &self.begun {
            let now = (at.min(self.last_s), *sum as f64);
            if now.1 >= wanted {
                let part = (wanted - before.1) / (now.1 - before.1).max(1.0);
                return before.0 + part * (now.0 - before.0);
            }
            before = now;
        }
        self.last_s
    }

    /// The share of all objects that is done at a time, in seconds from the change.
    pub(crate) fn done_by(&self, at_s: f64) -> f64 {
        let all = self.begun.last().map_or(0, |(_, sum)| *sum).max(1) as f64;
        let next = self.begun.partition_point(|(at, _)| *at <= at_s);
        if at_s >= self.last_s || next == self.begun.len() {
            return 1.0;
        }
        let (from, sum) = next.checked_sub(1).map_or((self.first_s, 0), |last| self.begun[last]);
        let (to, more) = self.begun[next];
        let part = if to > from { ((at_s - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
        (sum as f64 + part * (more - sum) as f64) / all
    }
}
