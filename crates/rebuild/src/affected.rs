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
    /// Each record has a list, a kind and a key where records have some, and objects with a size.
    ///
    /// # Panics
    /// When the tables do not have as many rows as there are records.
    pub fn assert_whole(&self) {
        let records = self.numbers.len();
        assert_eq!(self.lists.len(), records * self.length, "places of all records");
        assert!(self.width <= self.length, "{} of {} places count", self.width, self.length);
        assert!(self.kind_of.is_empty() || self.kind_of.len() == records, "records without a kind");
        assert!(self.keys.is_empty() || self.keys.len() == records, "records without a key");
        assert!(self.asked == 0 || self.asked >= records as u64, "records that were not asked for");
        if self.first_object.is_empty() {
            assert_eq!(self.sizes.len(), records, "objects, and records of one object");
            return;
        }
        assert_eq!(self.first_object.len(), records + 1, "groups, and where their objects begin");
        assert!(self.first_object.is_sorted(), "a group begins before the one ahead of it");
        let end = self.first_object.last().copied();
        assert_eq!(end, Some(self.sizes.len() as u32), "objects of all groups");
    }

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
        for Kind { redundancy: Redundancy { data, width }, min_size, .. } in &kinds {
            assert!((1..=*width).contains(data), "a group of {width} shards is read from {data}");
            assert!(*min_size <= *width, "a group of {width} shards takes writes with {min_size}");
        }
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
        assert!(usize::from(kind) < self.kinds.len(), "group {number} is of kind {kind}, which is none");
        assert_eq!(self.kind_of.len(), self.numbers.len(), "groups with a kind, and groups");
        self.kind_of.push(kind);
        self.push_group(number, list, sizes);
    }

    /// Adds a group of the only kind.
    pub(crate) fn push_group(&mut self, number: u64, list: &[DeviceId], sizes: impl Iterator<Item = u64>) {
        assert!(self.grouped, "group {number} is among objects that are placed one by one");
        assert!(list.len() <= self.length, "group {number} has {} devices of {}", list.len(), self.length);
        let before = self.first_object.last().map(|&first| first as usize);
        assert_eq!(before, Some(self.sizes.len()), "objects of the groups before group {number}");
        self.numbers.push(number);
        self.lists.extend_from_slice(list);
        self.lists.resize(self.numbers.len() * self.length, NOWHERE);
        self.sizes.extend(sizes);
        let objects = u32::try_from(self.sizes.len()).expect("objects are numbered in 32 bits");
        self.first_object.push(objects);
    }

    pub(crate) fn push_object(&mut self, id: u64, list: &[DeviceId], size: u64) {
        debug_assert!(!self.grouped, "object {id} is placed by itself among groups");
        debug_assert_eq!(list.len(), self.length, "devices of object {id}");
        debug_assert!(self.numbers.last().is_none_or(|&last| last < id), "object {id} comes out of order");
        self.numbers.push(id);
        self.lists.extend_from_slice(list);
        self.sizes.push(size);
    }
}
