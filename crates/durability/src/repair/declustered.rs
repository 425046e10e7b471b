//! A declustered pool: every choice of `width` devices holds a stripe, so the data of a failed device is read
//! from and written to all others. Stripes that have lost more devices are repaired first.
//!
//! The j-th failure that is present has the highest stage present plus one. With `good` devices left and
//! `failed` failed, stage p of a device has the share C(good, width - p) C(failed - 1, p - 1) / C(good +
//! failed - 1, width - 1) of its data, of each unit of which `data + p` units are moved by `good` devices. A
//! device whose stage is the number of failed devices has the full rate, the others have a share of it (the
//! model of ucare-uchicago/mlec-sim as of 2022, commit dca32d8).

use towtank_streams::Uniform;

use super::{Job, Repair, STAGES_MAX, Stages};
use crate::error::{DurabilityError, positive, within};
use crate::fleet::{Span, System};
use crate::sums::choose;

/// Units that are read and written for each unit that is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amplification {
    /// As many as the data, and one for each lost unit.
    DataAndStage,
    /// As many as the data, and one.
    DataAndOne,
}

/// Repairs of a declustered pool, in stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Declustered {
    /// Until the work of a device begins.
    pub delay: Span,
    /// The time in which one device writes all its data.
    pub device_h: f64,
    /// Units of data of a stripe.
    pub data: usize,
    /// All units of a stripe.
    pub width: usize,
    /// What is moved for each unit.
    pub amplification: Amplification,
    /// Whether lower stages wait while a stripe may have lost a unit on each failed device; else each has the
    /// share of its device.
    pub lower_waits: bool,
}

impl Repair for Declustered {
    fn stages(&self) -> Stages {
        Stages::OfPool
    }

    fn check(&self, system: &System) -> Result<(), DurabilityError> {
        self.delay.check("the delay of a repair in hours")?;
        positive("the time in which a device writes its data", self.device_h)?;
        within("the units of data of a stripe", self.data as f64, 1.0, self.width as f64)?;
        let most = system.fleet.groups.iter().map(|pool| pool.devices.len()).min().unwrap_or(0);
        within("the width of a stripe", self.width as f64, 1.0, most as f64)?;
        within("the tolerance of a pool", system.tolerance_max as f64, 0.0, STAGES_MAX as f64)?;
        if (0..system.fleet.devices.len()).any(|device| system.places(device).len() != 1) {
            let next = "give each device one pool, or use a table of repair times";
            let what = "a device in no declustered pool, or in several";
            return Err(DurabilityError::NotModelled { what, next });
        }
        if !system.lacking.is_empty() {
            let next = "ask from a whole pool, or use a table of repair times";
            return Err(DurabilityError::NotModelled {
                what: "a declustered pool in which something is lacking at the start",
                next,
            });
        }
        Ok(())
    }

    fn begin(&self, system: &System, others: &[Job], job: &mut Job, source: &mut impl Uniform) {
        job.wait_h = self.delay.draw(source);
        let failed = 1 + others.iter().filter(|other| other.group == job.group).count();
        let devices = system.fleet.groups[job.group].devices.len();
        let good = devices.saturating_sub(failed).max(1);
        let all = choose((good + failed - 1) as u64, self.width as u64 - 1);
        for stage in 1..=job.stage.min(STAGES_MAX).min(self.width) {
            let share = choose(good as u64, (self.width - stage) as u64)
                * choose(failed as u64 - 1, stage as u64 - 1)
                / all;
            let moved = match self.amplification {
                Amplification::DataAndStage => self.data + stage,
                Amplification::DataAndOne => self.data + 1,
            };
            job.left_h[stage - 1] = share * self.device_h * moved as f64 / good as f64;
        }
    }

    fn pace(&self, _: &System, jobs: &mut [Job]) {
        for index in 0..jobs.len() {
            let own = jobs[index];
            let others = || jobs.iter().filter(|other| other.group == own.group);
            let failed = others().count();
            let is_critical = others().any(|other| other.stage >= failed);
            jobs[index].pace = match (own.stage >= failed, self.lower_waits && is_critical) {
                (true, _) => 1.0,
                (false, true) => 0.0,
                (false, false) => 1.0 / failed as f64,
            };
        }
    }

    fn mean_h(&self, system: &System) -> f64 {
        let devices = system.fleet.groups.iter().map(|pool| pool.devices.len()).min().unwrap_or(2);
        self.delay.mean_h() + self.device_h * (self.data + 1) as f64 / (devices - 1).max(1) as f64
    }
}
