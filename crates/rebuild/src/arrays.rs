//! Disk arrays of one server: RAID with hot spares, and dRAID, a declustered array with distributed spares.
//!
//! - *RAID*: the disks but the spares form disjoint arrays of k+m disks, and every stripe of an array lies on
//!   all of its disks. A spare takes the place of a disk that is given up, in the order of the failures; a
//!   spare that fails in use is replaced by the next one. The places of data and parity rotate. So each
//!   survivor is left out of one turn of k+m, where k of them are read, and the one before the lost place of
//!   two.
//! - *dRAID*, as OpenZFS lays it out (the comment at the head of `module/zfs/vdev_draid.c` and
//!   `vdev_draid_get_perm`): groups of k+m places follow each other over all places but the last ones, which
//!   are the spares. A slice has as many groups as fill whole rows. Each slice maps places to disks by
//!   another permutation: one of 256 base permutations (512 from 32 disks on), turned by 0, 1, 2, … disks.
//!   OpenZFS has fixed base permutations that were selected for evenness; here they are drawn from the seed.
//!
//! With disks that replace the failed ones, the second phase follows: each takes back what the failed one
//! held, from the spares. Left out: the healing resilver of ZFS, which goes block by block; the scrub after a
//! sequential one; and disks of different sizes.

use std::collections::VecDeque;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_population::Population;
use towtank_streams::{Draws, Purpose, Seed, Uniform};

use crate::affected::{Affected, Held, Kind};
use crate::homes::{Homes, Wanted};
use crate::plan::{DeviceId, NOWHERE};
use crate::redundancy::Redundancy;

/// How the disks of one server form arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Disjoint arrays of k+m disks, and whole disks as spares.
    Raid,
    /// One declustered array with distributed spares, as dRAID of OpenZFS.
    Draid,
}

/// Which parts of a stripe a rebuild reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reads {
    /// As many as it needs: k of k+m.
    Needed,
    /// All that are left, as a sequential resilver of OpenZFS does.
    All,
}

/// The arrays of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrays {
    /// How they are laid out.
    pub form: Form,
    /// Disks, spares included.
    pub disks: u32,
    /// Spare disks, or distributed spares of the size of a disk.
    pub spares: u32,
    /// Data and parity of a stripe.
    pub redundancy: Redundancy,
}

impl Arrays {
    /// Disks' worth of places that hold data and parity.
    #[must_use]
    pub fn filled(&self) -> u32 {
        self.disks - self.spares
    }

    /// Groups of places before the pattern of a slice, or of all arrays, begins again.
    fn groups_at_once(&self) -> u32 {
        let Redundancy { width, .. } = self.redundancy;
        match self.form {
            Form::Raid => self.filled() / width,
            // As many groups as fill whole rows: lcm(width, places) / width.
            Form::Draid => self.filled() / gcd(width, self.filled()),
        }
    }

    /// The permutations of a dRAID, or the turns of a RAID's stripes, before all begins again.
    fn patterns(&self) -> u32 {
        match self.form {
            Form::Raid => self.redundancy.width,
            Form::Draid => self.bases() * self.disks,
        }
    }

    /// The number of base permutations in OpenZFS.
    fn bases(&self) -> u32 {
        if self.disks < 32 { 256 } else { 512 }
    }

    /// The number of different groups over which so many stripes are spread.
    #[must_use]
    pub fn groups(&self, stripes: u64) -> u32 {
        let each = self.groups_at_once();
        let patterns = stripes.div_ceil(u64::from(each)).clamp(1, u64::from(self.patterns()));
        u32::try_from(patterns).unwrap_or(u32::MAX).saturating_mul(each)
    }
}

fn gcd(left: u32, right: u32) -> u32 {
    if right == 0 { left } else { gcd(right, left % right) }
}

/// Where the stripes of arrays are, and where parts of them go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayPlaces {
    arrays: Arrays,
    groups: u32,
    /// Base permutations of a dRAID, one after the other.
    bases: Vec<u16>,
    /// The number of the spare that each disk has, once it is given up.
    spare_of: Vec<Option<u32>>,
    /// The disk that replaces each failed one in the end; empty where nothing is replaced.
    replaced_by: Vec<Option<DeviceId>>,
}

const BASES: Purpose = Purpose(50);

impl ArrayPlaces {
    /// `failing` has the disks that fail, in order. With `replaced`, the disks after those of the arrays
    /// replace them, in the same order.
    ///
    /// # Panics
    /// If the arrays do not fill their disks.
    #[must_use]
    pub fn new(arrays: Arrays, groups: u32, failing: &[DeviceId], replaced: bool, seed: Seed) -> ArrayPlaces {
        let Arrays { form, disks, redundancy: Redundancy { data, width }, .. } = arrays;
        assert!((1..width).contains(&data) && width <= arrays.filled(), "{arrays:?} has no stripe");
        assert!(form == Form::Draid || arrays.filled().is_multiple_of(width), "{arrays:?} has a part of one");
        assert!(groups.is_multiple_of(arrays.groups_at_once()), "{groups} groups end within a pattern");
        let replaced_by = if replaced {
            let order = |disk| failing.iter().position(|failed| *failed == DeviceId(disk));
            (0..disks).map(|disk| order(disk).map(|at| DeviceId(disks + at as u32))).collect()
        } else {
            Vec::new()
        };
        let bases = if form == Form::Draid { permutations(&arrays, seed) } else { Vec::new() };
        ArrayPlaces { arrays, groups, bases, spare_of: spares(&arrays, failing), replaced_by }
    }

    /// The disk at a place of the pattern with this number. Spares have the last places.
    fn disk_at(&self, pattern: u32, place: u32) -> DeviceId {
        let Arrays { disks, .. } = self.arrays;
        debug_assert!(place < disks, "place {place} of {disks}");
        match self.arrays.form {
            Form::Raid => DeviceId(place),
            Form::Draid => {
                let (base, turn) = (pattern / disks * disks, pattern % disks);
                DeviceId((u32::from(self.bases[(base + place) as usize]) + turn) % disks)
            }
        }
    }

    /// The disks of a group before any failure.
    fn list(&self, group: u32, list: &mut [DeviceId]) {
        let (each, width) = (self.arrays.groups_at_once(), self.arrays.redundancy.width);
        let (pattern, at) = (group / each, group % each);
        let turn = if self.arrays.form == Form::Raid { pattern } else { 0 };
        for (place, disk) in (0u32..).zip(list) {
            let within = at * width + (place + turn) % width;
            *disk = self.disk_at(pattern, within % self.arrays.filled());
        }
    }

    /// Where the part of a disk is once these are given up.
    fn home(&self, pattern: u32, disk: DeviceId, replaces: bool, out: &[bool]) -> DeviceId {
        if replaces && out[disk.index()] {
            return self.replaced_by[disk.index()].unwrap_or(NOWHERE);
        }
        let mut home = disk;
        for _ in 0..=self.arrays.spares {
            if !out[home.index()] {
                return home;
            }
            let Some(spare) = self.spare_of[home.index()] else { break };
            // The first spare is the last place of a dRAID, and the first disk after the arrays of a RAID.
            let place = match self.arrays.form {
                Form::Raid => self.arrays.filled() + spare,
                Form::Draid => self.arrays.disks - 1 - spare,
            };
            home = self.disk_at(pattern, place);
        }
        NOWHERE
    }

    /// The groups with a part on a disk that fails; none if the user stopped the search.
    pub fn affected(
        &self,
        population: &Population,
        failing: &[bool],
        stopped: &dyn Fn() -> bool,
    ) -> Option<Affected> {
        let redundancy = self.arrays.redundancy;
        let kind = Kind { redundancy, min_size: redundancy.data, by_place: true };
        let mut affected = Affected::of_groups(vec![kind], Arc::new(self.clone()));
        affected.follows = !self.replaced_by.is_empty();
        affected.asked = u64::from(self.groups);
        let mut held = Held::Groups(vec![0; failing.len()]);
        let mut list = vec![NOWHERE; redundancy.width as usize];
        for group in 0..self.groups {
            if group % 1_024 == 0 && stopped() {
                return None;
            }
            self.list(group, &mut list);
            held.add(&list, || 0);
            if list.iter().any(|disk| failing[disk.index()]) {
                let ids = population.ids_in_residue(u64::from(group), u64::from(self.groups));
                let part = |id| population.object(id).size.get().div_ceil(u64::from(redundancy.data));
                affected.push_group_of(0, u64::from(group), &list, ids.map(part));
            }
        }
        affected.held = Some(held);
        affected.assert_whole();
        Some(affected)
    }
}

/// The spare of each disk that fails. A spare that fails before it is in use is none for those that follow.
fn spares(arrays: &Arrays, failing: &[DeviceId]) -> Vec<Option<u32>> {
    let mut free: VecDeque<u32> = (0..arrays.spares).collect();
    let mut spare_of = vec![None; arrays.disks as usize];
    for disk in failing {
        let own = disk.0.checked_sub(arrays.filled()).filter(|_| arrays.form == Form::Raid);
        if let Some(at) = free.iter().position(|spare| Some(*spare) == own) {
            free.remove(at);
        } else {
            spare_of[disk.index()] = free.pop_front();
        }
    }
    spare_of
}

/// Base permutations, each drawn by exchanging every place with one up to it.
fn permutations(arrays: &Arrays, seed: Seed) -> Vec<u16> {
    let mut all = Vec::with_capacity((arrays.bases() * arrays.disks) as usize);
    for base in 0..arrays.bases() {
        let mut draws = Draws::new(seed, u32::MAX - 4, u64::from(base));
        let mut draws = draws.of(BASES);
        let mut one: Vec<u16> = (0..arrays.disks as u16).collect();
        for place in (1..one.len()).rev() {
            one.swap(place, draws.below(place as u64 + 1) as usize);
        }
        all.extend(one);
    }
    all
}

struct Asked<'a> {
    places: &'a ArrayPlaces,
    replaces: bool,
    out: &'a [bool],
}

impl Homes for ArrayPlaces {
    fn with_out<'a>(&'a self, changes: usize, out: &'a [bool]) -> Box<dyn Wanted + 'a> {
        Box::new(Asked { places: self, replaces: changes > 0 && !self.replaced_by.is_empty(), out })
    }
}

impl Wanted for Asked<'_> {
    fn find(&mut self, (number, _): (u64, u64), devices: &mut [DeviceId]) {
        let group = u32::try_from(number).expect("groups are numbered in 32 bits");
        self.places.list(group, devices);
        let pattern = group / self.places.arrays.groups_at_once();
        for device in devices {
            *device = self.places.home(pattern, *device, self.replaces, self.out);
        }
    }
}

#[cfg(test)]
mod tests;
