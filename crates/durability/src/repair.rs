//! How fast which repair proceeds. Each failed device has a job with an amount of work, in hours at full
//! pace, for each degree of exposure; a policy says how much work a new job has, and at what pace each job
//! proceeds given all that are under way. What is done of a job is kept when its pace changes. Groups of a
//! device that are as exposed may be restored one after the other: in parts of its work, each with a share of
//! them.

mod declustered;
mod table;

pub use declustered::{Amplification, Declustered};
pub use table::{PARTS, Restored, Row, Table};

use towtank_streams::{Draws, Purpose, Seed, Uniform};

use crate::error::DurabilityError;
use crate::fleet::{Span, System};

/// In which part of a repair a group is restored.
const PART: Purpose = Purpose(0x7061_7274);

/// At most so many failures at once in one group have work of their own.
pub const STAGES_MAX: usize = 6;

/// A repair under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// The failed device; of a whole group, one of its devices.
    pub device: usize,
    /// The first group of the device.
    pub group: usize,
    /// The innermost domain of the device.
    pub domain: usize,
    /// The degree of exposure that is worked on: it falls to 0, when the device is good again.
    pub stage: usize,
    /// The degree at which it began.
    pub top: usize,
    /// For how long nothing is done yet.
    pub wait_h: f64,
    /// The work that is left of each degree, from 1.
    pub left_h: [f64; STAGES_MAX],
    /// The part of the present degree that is worked on, from 0.
    pub part: usize,
    /// The work that is left of the degree when this part of it ends: 0 for the last one.
    pub part_ends_h: f64,
    /// Work done per hour.
    pub pace: f64,
    /// Whether a whole group is rebuilt.
    pub is_whole: bool,
    /// Whether it is what was lacking at the start: then it has no device, and no domain that others are in.
    pub is_start: bool,
    /// A number in [0, 1) that was drawn for this job.
    pub luck: f64,
}

impl Job {
    /// Until a part of its stage or its wait ends, at the present pace.
    #[must_use]
    pub fn rest_h(&self) -> f64 {
        match self.wait_h > 0.0 {
            true => self.wait_h,
            false => (self.left_h[self.stage - 1] - self.part_ends_h).max(0.0) / self.pace,
        }
    }

    /// The places that it restores.
    pub(crate) fn places<'a>(&self, system: &'a System) -> impl Iterator<Item = usize> + use<'a> {
        let (own, start): (_, &[usize]) = match self.is_start {
            true => (0..0, &system.lacking),
            false => (system.places(self.device), &[]),
        };
        own.chain(start.iter().copied())
    }

    /// The part of the work of its degree in which a group is restored: drawn for each group of the device.
    pub(crate) fn part_of(&self, group: usize, parts: usize) -> usize {
        match parts {
            1 => 0,
            _ => {
                let mut draws = Draws::new(Seed(self.luck.to_bits()), 0, group as u64);
                draws.of(PART).below(parts as u64) as usize
            }
        }
    }

    /// Whether something is done.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.wait_h <= 0.0
    }
}

/// What a repair finishes when a stage of it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// All at once: there is one stage.
    One,
    /// A stage restores those groups of the device that are as exposed as its degree: that miss so many
    /// members, or of groups that survive less than others as many fewer.
    OfGroups,
    /// The group is a pool in which every choice of devices holds a stripe: it is as exposed as the highest
    /// stage of its jobs.
    OfPool,
}

/// A policy of repairs.
pub trait Repair {
    /// What ends with a stage.
    fn stages(&self) -> Stages {
        Stages::One
    }

    /// In how many parts the groups of a device that are as exposed are restored, each as many.
    fn parts(&self) -> usize {
        1
    }

    /// Refuses a system for which the policy has no rule.
    ///
    /// # Errors
    /// If it has none.
    fn check(&self, system: &System) -> Result<(), DurabilityError>;

    /// Gives a new job its wait and its work. `others` are under way already.
    fn begin(&self, system: &System, others: &[Job], job: &mut Job, source: &mut impl Uniform);

    /// Gives each job its pace and the end of its part, and may scale what is left of it.
    fn pace(&self, system: &System, jobs: &mut [Job]);

    /// The mean time of one repair alone, with its wait.
    fn mean_h(&self, system: &System) -> f64;
}

/// Who shares the rate of repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nobody: each has the full rate.
    Nobody,
    /// The failed devices of a group; of a device in several, of its first.
    Group,
    /// The failed devices of the innermost domain, such as an enclosure.
    Domain,
}

/// Repairs that work at one rate, alone or shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Simple {
    /// Until the work begins: detection, marking out, a spare.
    pub delay: Span,
    /// The work of a device, at the full rate.
    pub work: Span,
    /// Who shares the rate. Whole groups that are rebuilt share it among each other.
    pub shared_by: Scope,
}

impl Repair for Simple {
    fn check(&self, _: &System) -> Result<(), DurabilityError> {
        self.delay.check("the delay of a repair in hours")?;
        self.work.check("the work of a repair in hours")?;
        crate::error::positive("the mean work of a repair in hours", self.work.mean_h()).map(|_| ())
    }

    fn begin(&self, _: &System, _: &[Job], job: &mut Job, source: &mut impl Uniform) {
        job.wait_h = self.delay.draw(source);
        job.left_h[0] = self.work.draw(source);
    }

    fn pace(&self, _: &System, jobs: &mut [Job]) {
        let shares = |one: &Job, other: &Job| {
            one.is_whole == other.is_whole
                && match (one.is_whole, self.shared_by) {
                    (true, _) => true,
                    (false, Scope::Nobody) => false,
                    (false, Scope::Group) => one.group == other.group,
                    (false, Scope::Domain) => one.domain == other.domain,
                }
        };
        for index in 0..jobs.len() {
            let one = jobs[index];
            let count = jobs.iter().filter(|other| other.is_active() && shares(&one, other)).count();
            jobs[index].pace = 1.0 / count.max(1) as f64;
        }
    }

    fn mean_h(&self, _: &System) -> f64 {
        self.delay.mean_h() + self.work.mean_h()
    }
}
