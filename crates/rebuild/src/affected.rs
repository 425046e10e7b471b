//! What the failures touch: every object, or group of objects, with a copy on something that fails.
//!
//! All failures of a run are known beforehand, so it is found once ([`search`](crate::search));
//! [`recovery`](crate::recovery) follows what becomes of it.

use crate::homes::Homes;
use crate::plan::{DeviceId, NOWHERE};
use crate::redundancy::Redundancy;

/// How the affected were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// By the placement's inverse.
    ByInverse,
    /// Every object, or group, was asked.
    ByAsking,
    /// Drawn from the exact distribution.
    Drawn,
}

/// How the objects of a record are kept safe, and what its places mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Copies or shards.
    pub redundancy: Redundancy,
    /// With fewer left, it takes no writes.
    pub min_size: u32,
    /// Each shard has its own place; else any order of the devices means the same.
    pub by_place: bool,
}

/// What is affected. A record is an object placed by itself, or a group.
#[derive(Debug)]
pub struct Affected {
    /// Copies or shards of a record, of the kind that has most.
    pub width: usize,
    /// The kinds of records that there are.
    pub(crate) kinds: Vec<Kind>,
    /// For each record its kind; empty where there is but one.
    pub(crate) kind_of: Vec<u16>,
    /// For each record its devices in order, more than `width` of them, so that the next ones can take over.
    pub(crate) lists: Vec<DeviceId>,
    pub(crate) length: usize,
    /// For each record, its first object; one more at the end. Empty where each record is one object.
    pub(crate) first_object: Vec<u32>,
    /// For each object, the bytes of a copy or shard.
    pub(crate) sizes: Vec<u64>,
    /// For each record its number: the group, or the object's.
    pub numbers: Vec<u64>,
    /// Where new homes come from something else than the lists: a CRUSH map, or servers with several disks.
    pub homes: Option<Box<dyn Homes>>,
    /// For each record its key, where `homes` needs it.
    pub(crate) keys: Vec<u64>,
    /// How they were found.
    pub found: Found,
    /// How many objects, or groups, were looked at.
    pub asked: u64,
    /// Whether records are groups.
    pub grouped: bool,
}

impl Affected {
    /// How many records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.numbers.len()
    }

    /// A record's devices before anything fails, and who comes next.
    #[inline]
    #[must_use]
    pub fn list(&self, record: usize) -> &[DeviceId] {
        &self.lists[record * self.length..(record + 1) * self.length]
    }

    /// The bytes of the copies or shards of a record's objects.
    #[inline]
    #[must_use]
    pub fn sizes(&self, record: usize) -> &[u64] {
        if self.first_object.is_empty() {
            return std::slice::from_ref(&self.sizes[record]);
        }
        &self.sizes[self.first_object[record] as usize..self.first_object[record + 1] as usize]
    }

    /// The place of a record's first object among all.
    #[inline]
    #[must_use]
    pub fn first_object(&self, record: usize) -> usize {
        if self.first_object.is_empty() { record } else { self.first_object[record] as usize }
    }

    /// How many objects.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.sizes.len()
    }

    /// A record's number and key.
    #[must_use]
    pub fn name(&self, record: usize) -> (u64, u64) {
        (self.numbers[record], self.keys.get(record).copied().unwrap_or(0))
    }

    /// How a record is kept safe.
    #[inline]
    #[must_use]
    pub fn kind(&self, record: usize) -> Kind {
        self.kinds[self.kind_of.get(record).copied().map_or(0, usize::from)]
    }

    /// Records given one by one, as real clusters list their groups.
    #[must_use]
    pub fn of_groups(kinds: Vec<Kind>, homes: Box<dyn Homes>) -> Affected {
        let width = kinds.iter().map(|kind| kind.redundancy.width as usize).max().unwrap_or(0);
        Affected {
            width,
            kinds,
            kind_of: Vec::new(),
            lists: Vec::new(),
            length: width,
            first_object: vec![0],
            sizes: Vec::new(),
            numbers: Vec::new(),
            homes: Some(homes),
            keys: Vec::new(),
            found: Found::ByAsking,
            asked: 0,
            grouped: true,
        }
    }

    /// Adds a group of a kind with its devices, padded with [`NOWHERE`], and its objects.
    pub fn push_group_of(
        &mut self,
        kind: u16,
        number: u64,
        list: &[DeviceId],
        sizes: impl Iterator<Item = u64>,
    ) {
        self.kind_of.push(kind);
        self.push_group(number, list, sizes);
    }

    /// Adds a group of the only kind.
    pub(crate) fn push_group(&mut self, number: u64, list: &[DeviceId], sizes: impl Iterator<Item = u64>) {
        self.numbers.push(number);
        self.lists.extend_from_slice(list);
        self.lists.resize(self.numbers.len() * self.length, NOWHERE);
        self.sizes.extend(sizes);
        self.first_object.push(self.sizes.len() as u32);
    }

    pub(crate) fn push_object(&mut self, id: u64, list: &[DeviceId], size: u64) {
        self.numbers.push(id);
        self.lists.extend_from_slice(list);
        self.sizes.push(size);
    }
}
