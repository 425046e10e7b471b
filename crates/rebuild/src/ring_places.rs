//! Placement by a ring of OpenStack Swift: the partitions that failures touch, and their new homes.
//!
//! With the ring that follows (after `swift-ring-builder … remove` and `rebalance`), a partition belongs on
//! the devices of its new rows, from the moment at which that ring is in place. Copies that are left move too
//! where the new rows name other devices. Without it, handoffs stand in for devices that are out, in the
//! order of the ring.
//!
//! Left out: codes of Swift's EC policies, whose shards belong to their rows; and a change of the number of
//! partitions.

use std::ops::ControlFlow;
use std::sync::Arc;

use towtank_placement::swift::Ring;
use towtank_population::Population;

use crate::affected::{Affected, Kind};
use crate::homes::{Homes, Wanted};
use crate::plan::{DeviceId, NOWHERE};
use crate::redundancy::Redundancy;

/// A ring, and which of the machines each of its devices is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The ring.
    pub ring: Arc<Ring>,
    /// The disk of each device, by its id in the ring; [`NOWHERE`] for ids that are not in use.
    pub disks: Vec<DeviceId>,
}

/// Placement by a ring, and by the one that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingPlaces {
    before: Mapped,
    after: Option<Mapped>,
}

impl Mapped {
    /// The disks of a partition, each once.
    pub fn primaries(&self, partition: usize) -> impl Iterator<Item = DeviceId> + '_ {
        self.ring.primaries(partition).map(|id| self.disks[id as usize])
    }
}

impl RingPlaces {
    /// # Panics
    /// If the two rings have different numbers of partitions, or a device of a ring is no disk.
    #[must_use]
    pub fn new(before: Mapped, after: Option<Mapped>) -> RingPlaces {
        for Mapped { ring, disks } in std::iter::once(&before).chain(&after) {
            assert_eq!(ring.partitions(), before.ring.partitions(), "both rings have the same partitions");
            assert_eq!(ring.devices().len(), disks.len(), "each device of a ring is a disk");
            let is = |(device, disk): (&Option<_>, &DeviceId)| device.is_some() == (*disk != NOWHERE);
            assert!(ring.devices().iter().zip(disks).all(is), "a device of a ring is no disk");
        }
        RingPlaces { before, after }
    }

    /// The ring before the failures.
    #[must_use]
    pub fn before(&self) -> &Mapped {
        &self.before
    }

    /// The ring that follows, if there is one.
    #[must_use]
    pub fn after(&self) -> Option<&Mapped> {
        self.after.as_ref()
    }

    /// The number of partitions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.before.ring.partitions()
    }

    /// For each disk, the number of partitions that it holds a copy of.
    #[must_use]
    pub fn held(&self, disks: usize) -> Vec<u64> {
        let mut held = vec![0; disks];
        let all = (0..self.partitions()).flat_map(|partition| self.before.primaries(partition));
        all.for_each(|disk| held[disk.index()] += 1);
        held
    }

    /// Whether the ring that follows puts a copy of a partition on a disk that has none.
    #[must_use]
    pub fn moves(&self, partition: usize) -> bool {
        let had = |disk: DeviceId| self.before.primaries(partition).any(|before| before == disk);
        self.after.as_ref().is_some_and(|after| !after.primaries(partition).all(had))
    }

    /// The partitions with a copy on what fails, and those that the ring that follows moves; none if the
    /// user stopped the search.
    ///
    /// # Panics
    /// If a failing disk is not numbered, or copies are lost from the count.
    pub fn affected(
        &self,
        population: &Population,
        failing: &[bool],
        stopped: &dyn Fn() -> bool,
    ) -> Option<Affected> {
        let widest = self.before.ring.rows() as u32;
        let kind = |width: u32| {
            let redundancy = Redundancy { data: 1, width };
            Kind { redundancy, min_size: redundancy.min_size(), by_place: false }
        };
        let mut affected = Affected::of_groups((1..=widest).map(kind).collect(), Arc::new(self.clone()));
        let partitions = self.partitions() as u64;
        affected.asked = partitions;
        affected.follows = self.after.is_some();
        for partition in 0..partitions {
            if stopped() {
                return None;
            }
            let list: Vec<DeviceId> = self.before.primaries(partition as usize).collect();
            assert!(!list.is_empty(), "partition {partition} is on no disk");
            let touched = list.iter().any(|disk| failing[disk.index()]);
            if touched || self.moves(partition as usize) {
                let ids = population.ids_in_residue(partition, partitions);
                let sizes = ids.map(|id| population.object(id).size.get());
                // Where two rows name one disk, a partition has fewer copies; the next ring may add some.
                let after =
                    self.after.as_ref().map_or(0, |after| after.primaries(partition as usize).count());
                let width = list.len().max(after) as u16;
                affected.push_group_of(width - 1, partition, &list, sizes);
            }
        }
        affected.assert_whole();
        Some(affected)
    }
}

struct Asked<'a> {
    places: &'a RingPlaces,
    /// The ring that follows, once it is in place.
    after: Option<&'a Mapped>,
    out: &'a [bool],
}

impl Homes for RingPlaces {
    fn with_out<'a>(&'a self, changes: usize, out: &'a [bool]) -> Box<dyn Wanted + 'a> {
        let after = self.after.as_ref().filter(|_| changes > 0);
        Box::new(Asked { places: self, after, out })
    }
}

impl Wanted for Asked<'_> {
    fn find(&mut self, (number, _): (u64, u64), devices: &mut [DeviceId]) {
        devices.fill(NOWHERE);
        let partition = number as usize;
        let before = &self.places.before;
        match (self.after, &self.places.after) {
            (Some(after), _) => fill(devices, &mut after.primaries(partition)),
            // Until the new ring is in place, nothing belongs elsewhere.
            (None, Some(_)) => fill(devices, &mut before.primaries(partition)),
            (None, None) => {
                let stays = |disk: &DeviceId| !self.out[disk.index()];
                let mut found: Vec<DeviceId> = before.primaries(partition).filter(stays).collect();
                let want = devices.len();
                if found.len() < want {
                    before.ring.visit_handoffs(partition, &mut |id| {
                        found.extend(Some(before.disks[id as usize]).filter(stays));
                        if found.len() < want { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                    });
                }
                fill(devices, &mut found.into_iter());
            }
        }
    }
}

/// Writes disks to the first places.
fn fill(devices: &mut [DeviceId], disks: &mut dyn Iterator<Item = DeviceId>) {
    devices.iter_mut().zip(disks).for_each(|(place, disk)| *place = disk);
}

#[cfg(test)]
mod tests;
