//! Where objects were rebuilt: on each device the number of copies or shards, and of the groups that they are
//! of.
//!
//! A group counts once on a device, however many of its objects were written there and in however many
//! phases, as in the histogram of the first paper's slides. A copy counts again if it is written again after
//! a later failure.

use std::collections::BTreeSet;

use crate::ledger::{Planned, Progress};
use crate::plan::DeviceId;

/// What was rebuilt on each device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Targets {
    /// Copies or shards, by device.
    parts: Vec<u64>,
    /// Each device with the groups of which it took anything; empty without groups.
    groups: BTreeSet<(DeviceId, u32)>,
}

impl Targets {
    /// Nothing is rebuilt yet on so many devices.
    #[must_use]
    pub fn none(devices: u32) -> Targets {
        Targets { parts: vec![0; devices as usize], groups: BTreeSet::new() }
    }

    /// Adds the jobs that a phase finished. `count` says how many objects an object of a record stands for.
    pub fn take(&mut self, planned: &Planned, progress: &[Progress], count: impl Fn(u32, u32) -> u64) {
        let plan = &planned.plan;
        for ((job, &(record, object)), progress) in plan.jobs().iter().zip(&planned.jobs).zip(progress) {
            if *progress != Progress::Whole {
                continue;
            }
            for &target in plan.writes(job) {
                self.parts[target.index()] += count(record, object);
                if plan.grouped() {
                    self.groups.insert((target, record));
                }
            }
        }
    }

    /// Number of copies or shards that were rebuilt on a device.
    #[must_use]
    pub fn parts(&self, device: DeviceId) -> u64 {
        self.parts[device.index()]
    }

    /// Number of copies or shards that were rebuilt on all devices together.
    #[must_use]
    pub(crate) fn all_parts(&self) -> u64 {
        self.parts.iter().sum()
    }

    /// Number of groups of which these devices took anything; a group counts once.
    #[must_use]
    pub fn groups_on(&self, devices: impl Iterator<Item = DeviceId>) -> u64 {
        let of =
            |device: DeviceId| self.groups.range((device, 0)..=(device, u32::MAX)).map(|(_, record)| *record);
        devices.flat_map(of).collect::<BTreeSet<u32>>().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Stuck;
    use crate::plan::Plan;

    /// A plan of two groups: both objects of the first go to devices 1 and 2, the object of the second to 2.
    fn planned(grouped: bool) -> Planned {
        let mut plan = Plan::new().of_groups(grouped);
        plan.next_driver();
        plan.next_task(7, (0, false), &[]);
        plan.next_job(10, 0, &[DeviceId(0)], &[DeviceId(1), DeviceId(2)]);
        plan.next_job(10, 0, &[DeviceId(0)], &[DeviceId(1), DeviceId(2)]);
        plan.next_task(9, (0, false), &[]);
        plan.next_job(10, 0, &[DeviceId(0)], &[DeviceId(2)]);
        plan.next_driver();
        plan.next_driver();
        Planned { plan, jobs: vec![(0, 0), (0, 1), (1, 2)], stuck: Stuck::default(), below_min_size: 0 }
    }

    fn groups(targets: &Targets, devices: &[u32]) -> u64 {
        targets.groups_on(devices.iter().copied().map(DeviceId))
    }

    #[test]
    fn a_group_counts_once_and_a_copy_as_often_as_it_is_written() {
        let mut targets = Targets::none(3);
        // The second object of the first group is cut off, and written in the next phase.
        targets.take(&planned(true), &[Progress::Whole, Progress::Units(1), Progress::Whole], |_, _| 1);
        assert_eq!([0, 1, 2].map(|device| targets.parts(DeviceId(device))), [0, 1, 2]);
        assert_eq!([0, 1, 2].map(|device| groups(&targets, &[device])), [0, 1, 2]);
        targets.take(&planned(true), &[Progress::Units(0), Progress::Whole, Progress::Units(0)], |_, _| 1);
        assert_eq!([0, 1, 2].map(|device| targets.parts(DeviceId(device))), [0, 2, 3]);
        assert_eq!([0, 1, 2].map(|device| groups(&targets, &[device])), [0, 1, 2]);
        assert_eq!(targets.all_parts(), 5);
        // Two disks of one server: the first group is on both, and counts once.
        assert_eq!(groups(&targets, &[1, 2]), 2);
    }

    #[test]
    fn objects_that_are_placed_one_by_one_are_of_no_group() {
        let mut targets = Targets::none(3);
        targets.take(&planned(false), &[Progress::Whole; 3], |_, _| 1);
        assert_eq!((targets.all_parts(), groups(&targets, &[0, 1, 2])), (5, 0));
    }
}
