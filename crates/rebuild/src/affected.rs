//! Which objects, or placement groups, have a copy or shard on a device that fails.
//!
//! All failures of a run are known in advance, so the search runs once ([`search`](crate::search));
//! [`recovery`](crate::recovery) then follows the affected records.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::homes::Homes;
use crate::plan::{DeviceId, NOWHERE};
use crate::redundancy::Redundancy;

/// How the affected records were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// By inverting the placement.
    ByInverse,
    /// By computing the placement of every object or group.
    ByAsking,
    /// Drawn from the exact distribution.
    Drawn,
}

/// The redundancy of a record, and how its places are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Copies or shards.
    pub redundancy: Redundancy,
    /// The record accepts writes while at least this many copies or shards are left.
    pub min_size: u32,
    /// Whether each shard belongs to one place of the list. If not, the order of the devices has no meaning.
    pub by_place: bool,
}

/// What each device held before any failure. It is known where the search looked at every group or object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Number of groups with a copy or shard there, by device.
    Groups(Vec<u64>),
    /// Bytes of copies or shards, by device.
    Bytes(Vec<u64>),
}

impl Held {
    /// Adds to what the devices of one group or object hold; places without a device do not count.
    pub(crate) fn add(&mut self, devices: &[DeviceId], bytes: impl FnOnce() -> u64) {
        let (each, amount) = match self {
            Held::Groups(each) => (each, 1),
            Held::Bytes(each) => (each, bytes()),
        };
        devices.iter().filter(|device| **device != NOWHERE).for_each(|device| each[device.index()] += amount);
    }

    /// The amounts by device.
    #[must_use]
    pub fn by_device(&self) -> &[u64] {
        let (Held::Groups(each) | Held::Bytes(each)) = self;
        each
    }
}

/// How far the copy of a group had come before anything happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// So many of its objects are there.
    pub objects: u64,
    /// On each of these devices, which are its new homes.
    pub homes: Vec<DeviceId>,
}

/// The affected records. A record is an object that is placed by itself, or a placement group.
#[derive(Debug)]
pub struct Affected {
    /// Copies or shards of the widest kind of record.
    pub width: usize,
    /// The kinds of records.
    pub(crate) kinds: Vec<Kind>,
    /// The kind of each record; empty if there is only one kind.
    pub(crate) kind_of: Vec<u16>,
    /// The devices of each record in order: `length` of them, at least `width`, so that later ones can take
    /// over.
    pub(crate) lists: Vec<DeviceId>,
    pub(crate) length: usize,
    /// The first object of each record, with one more entry at the end. Empty if each record is one object.
    pub(crate) first_object: Vec<u32>,
    /// The bytes per copy or shard of each object.
    pub(crate) sizes: Vec<u64>,
    /// The number of each record: that of the group or of the object.
    pub numbers: Vec<u64>,
    /// The source of new homes where it is not `lists`: a CRUSH map, or servers with several disks.
    pub homes: Option<Arc<dyn Homes>>,
    /// The key of each record, where `homes` needs it.
    pub(crate) keys: Vec<u64>,
    /// How the records were found.
    pub found: Found,
    /// How many objects or groups were examined.
    pub asked: u64,
    /// Whether records are groups.
    pub grouped: bool,
    /// Whether copies and shards that are left are moved too, where `homes` wants them elsewhere: the map was
    /// changed, or a device was added. Only for groups.
    pub follows: bool,
    /// What each device held before any failure, where that is known.
    pub held: Option<Held>,
    /// The objects of each record and their bytes, where `sizes` has only some of them or none; else empty.
    pub(crate) all: Vec<All>,
    /// How many objects there are, where they are only counted, and not in `sizes` yet: those of a record are
    /// of equal size.
    pub(crate) counted: Option<u32>,
    /// Groups that were being copied already.
    pub(crate) copied: BTreeMap<u32, Copied>,
}

/// The objects of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct All {
    /// How many.
    pub objects: u64,
    /// Their bytes per copy or shard.
    pub bytes: u64,
}

impl All {
    /// The sizes of so many objects that have all of these bytes; the remainder goes to the first ones.
    pub(crate) fn even(self, objects: u64) -> impl Iterator<Item = u64> + use<> {
        let (each, more) = (self.bytes.checked_div(objects).unwrap_or(0), self.bytes.checked_rem(objects));
        (0..objects).map(move |at| each + u64::from(more.is_some_and(|more| at < more)))
    }
}

impl Affected {
    /// Checks that every record has its list, and a kind and a key where records have them, and that every
    /// object has a size.
    /// # Panics
    /// When the tables do not have as many rows as there are records.
    pub(crate) fn assert_whole(&self) {
        let records = self.numbers.len();
        assert_eq!(self.lists.len(), records * self.length, "places of all records");
        assert!(self.width <= self.length, "{} of {} places count", self.width, self.length);
        assert!(self.kind_of.is_empty() || self.kind_of.len() == records, "records without a kind");
        assert!(self.keys.is_empty() || self.keys.len() == records, "records without a key");
        assert!(self.asked == 0 || self.asked >= records as u64, "records that were not asked for");
        assert!(self.all.is_empty() || self.all.len() == records, "records without all of their objects");
        assert!(self.counted.is_none(), "objects that are only counted have no state");
        if self.first_object.is_empty() {
            assert_eq!(self.sizes.len(), records, "objects, and records of one object");
            return;
        }
        assert_eq!(self.first_object.len(), records + 1, "groups, and where their objects begin");
        assert!(self.first_object.is_sorted(), "a group begins before the one ahead of it");
        let end = self.first_object.last().copied();
        assert_eq!(end, Some(self.sizes.len() as u32), "objects of all groups");
    }

    /// Number of records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.numbers.len()
    }

    /// The devices of a record before any failure, followed by the devices that can take over.
    #[inline]
    #[must_use]
    pub fn list(&self, record: usize) -> &[DeviceId] {
        &self.lists[record * self.length..(record + 1) * self.length]
    }

    /// Bytes per copy or shard of each object of a record.
    #[inline]
    #[must_use]
    pub fn sizes(&self, record: usize) -> &[u64] {
        debug_assert!(self.counted.is_none(), "objects of record {record} are only counted");
        if self.first_object.is_empty() {
            return std::slice::from_ref(&self.sizes[record]);
        }
        &self.sizes[self.first_object[record] as usize..self.first_object[record + 1] as usize]
    }

    /// Index of a record's first object among all objects.
    #[inline]
    #[must_use]
    pub(crate) fn first_object(&self, record: usize) -> usize {
        if self.first_object.is_empty() { record } else { self.first_object[record] as usize }
    }

    /// Number of objects in `sizes`, or that are counted.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.counted.map_or(self.sizes.len(), |objects| objects as usize)
    }

    /// How much work an object is on average, where one of copies is 1: devices that it is read from and
    /// written to, in pairs.
    #[must_use]
    pub fn weight(&self) -> f64 {
        let parts = |record| self.objects_of(record) * (1 + u64::from(self.kind(record).redundancy.data));
        let (objects, parts) = (0..self.records())
            .fold((0, 0), |(objects, sum), record| (objects + self.objects_of(record), sum + parts(record)));
        if objects == 0 { 1.0 } else { parts as f64 / (2 * objects) as f64 }
    }

    /// Whether objects of the records are left out, and each that is left stands for several.
    #[must_use]
    pub(crate) fn is_thinned(&self) -> bool {
        self.counted.is_none() && !self.all.is_empty()
    }

    /// The same records with a size for each object, where objects are only counted; none where each has its
    /// size already.
    #[must_use]
    pub(crate) fn laid_out(&self) -> Option<Affected> {
        self.counted.map(|_| {
            let mut laid_out = self.without_objects(self.objects());
            for all in &self.all {
                laid_out.sizes.extend(all.even(all.objects));
                laid_out.first_object.push(laid_out.sizes.len() as u32);
            }
            laid_out
        })
    }

    /// The same records without objects, and with room for so many.
    pub(crate) fn without_objects(&self, room: usize) -> Affected {
        let mut first_object = Vec::with_capacity(self.records() + 1);
        first_object.push(0);
        Affected {
            kinds: self.kinds.clone(),
            kind_of: self.kind_of.clone(),
            lists: self.lists.clone(),
            first_object,
            sizes: Vec::with_capacity(room),
            numbers: self.numbers.clone(),
            homes: self.homes.as_ref().map(Arc::clone),
            keys: self.keys.clone(),
            held: None,
            all: Vec::new(),
            counted: None,
            copied: self.copied.clone(),
            ..*self
        }
    }

    /// Objects of a record, with those that are left out.
    #[inline]
    #[must_use]
    pub fn objects_of(&self, record: usize) -> u64 {
        self.all.get(record).map_or_else(|| self.sizes(record).len() as u64, |all| all.objects)
    }

    /// Bytes per copy or shard of all objects of a record, with those that are left out.
    #[inline]
    #[must_use]
    pub fn bytes_of(&self, record: usize) -> u64 {
        self.all.get(record).map_or_else(|| self.sizes(record).iter().sum(), |all| all.bytes)
    }

    /// How many objects an object stands for, and their bytes per copy or shard: those of a record add up to
    /// all of it.
    #[must_use]
    pub(crate) fn stands_for(&self, record: usize, object: usize) -> All {
        let Some(all) = self.all.get(record) else {
            return All { objects: 1, bytes: self.sizes[object] };
        };
        let (at, count) = ((object - self.first_object(record)) as u64, self.sizes(record).len() as u64);
        let part = |of: u64| of / count + u64::from(at < of % count);
        All { objects: part(all.objects), bytes: part(all.bytes) }
    }

    /// How many objects an object stands for.
    #[inline]
    #[must_use]
    pub(crate) fn stands_for_objects(&self, record: usize, object: usize) -> u64 {
        // Its bytes are not looked up, which takes longer than the rest.
        if self.is_thinned() { self.stands_for(record, object).objects } else { 1 }
    }

    /// A record's number and key.
    #[must_use]
    pub fn name(&self, record: usize) -> (u64, u64) {
        (self.numbers[record], self.keys.get(record).copied().unwrap_or(0))
    }

    /// The redundancy of a record.
    #[inline]
    #[must_use]
    pub fn kind(&self, record: usize) -> Kind {
        self.kinds[self.kind_of.get(record).copied().map_or(0, usize::from)]
    }

    /// An empty table for groups that are then added one by one, as in the exports of real clusters.
    #[must_use]
    pub fn of_groups(kinds: Vec<Kind>, homes: Arc<dyn Homes>) -> Affected {
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
            follows: false,
            held: None,
            all: Vec::new(),
            counted: None,
            copied: BTreeMap::new(),
        }
    }

    /// The group that was added last was being copied already.
    pub fn was_begun(&mut self, copied: Copied) {
        let last = self.records().checked_sub(1).expect("a group was added");
        assert!(
            copied.objects < self.objects_of(last),
            "all objects of group {last} were copied, so it was clean"
        );
        self.copied.insert(last as u32, copied);
    }

    /// A group has its reservations before those that wait for theirs, though nothing of it was copied.
    pub fn goes_first(&mut self, record: usize) {
        self.copied.entry(record as u32).or_insert(Copied { objects: 0, homes: Vec::new() });
    }

    /// How many groups were being copied already.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.copied.len() as u64
    }

    /// Adds a group of a given kind of which only the objects are counted, and their bytes per copy or shard:
    /// all of equal size, the remainder in the first ones. Such groups are not mixed with others.
    ///
    /// # Panics
    /// If there are more objects than fit in 32 bits.
    pub fn push_counted(&mut self, kind: u16, number: u64, list: &[DeviceId], (objects, bytes): (u64, u64)) {
        assert!(self.sizes.is_empty(), "group {number} is counted among others whose objects have sizes");
        self.push_group_of(kind, number, list, std::iter::empty());
        self.all.push(All { objects, bytes });
        let before = u64::from(self.counted.unwrap_or(0));
        let all = u32::try_from(before.saturating_add(objects)).expect("objects are numbered in 32 bits");
        self.counted = Some(all);
    }

    /// Adds a group of a given kind: its devices, padded with [`NOWHERE`], and its objects.
    pub(crate) fn push_group_of(
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

    /// Adds a group where there is only one kind.
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
