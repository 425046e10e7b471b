//! The durable state of a group, as rows of a table: written with the objects that changed, in one
//! transaction.
//!
//! The key of a row in the table of groups is the group's number, a letter and a suffix that depends on the
//! letter. `h` is the head, `l` an entry of the log, `d` a request whose entry was trimmed, `m` an object
//! that is missing, `n` a version that it has never had, `b` the bitmap. `t` and `s` are the images of tree
//! and sketch, `u` and `v` the records of the changes since.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use towtank_merkle::{Bitmap, Restorable, Saver, Sketch, Tree, restore};
use towtank_replication::{
    Config, Cursor, Dirty, Done, Durable, Entry, Epoch, Interval, Key, Log, LogChange, Summary, Version,
};

use crate::engine::{EngineError, ObjectHead, Table, Transaction, key_bytes, key_of, read, written};
use crate::objects::Totals;

/// Records are replaced by a new image when they exceed the image's length and this many bytes.
const RECORDS_LEAST: usize = 64 << 10;

/// The row that is written with each transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct GroupHead {
    epoch: Epoch,
    intervals: Vec<Interval>,
    last_epoch_started: Epoch,
    last_epoch_clean: Epoch,
    cursor: Cursor,
    undecided: Option<Epoch>,
    log_tail: Version,
    totals: Totals,
    /// The numbers of the first records of tree and sketch.
    first_records: [u64; 2],
}

/// What a replica knows, without its log and its objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    /// The epoch of the last map that it received.
    pub epoch: Epoch,
    /// It knows every write that was acknowledged before this interval.
    pub last_epoch_started: Epoch,
    /// Whether it needs no backfill.
    pub is_complete: bool,
    /// The rows of the objects that it does not have in the version that its log names.
    pub missing: BTreeSet<(Vec<u8>, Vec<u8>)>,
}

/// What the disk holds of a group's durable state.
#[derive(Debug)]
pub struct Saved {
    group: u32,
    head: Option<GroupHead>,
    log_head: Version,
    /// The versions of trimmed requests, oldest first.
    trimmed: std::collections::VecDeque<Version>,
    missing: BTreeMap<Key, Version>,
    never_had: BTreeSet<(Key, Version)>,
    tree: Track<Tree>,
    sketch: Track<Sketch>,
    dirty: Option<(Epoch, usize)>,
}

/// An image and its records.
#[derive(Debug)]
struct Track<T> {
    letters: [u8; 2],
    saver: Option<Saver<T>>,
    image_bytes: usize,
    record_bytes: usize,
    first: u64,
    next: u64,
}

impl<T: Restorable> Track<T> {
    fn new(letters: [u8; 2]) -> Track<T> {
        Track { letters, saver: None, image_bytes: 0, record_bytes: 0, first: 0, next: 0 }
    }

    fn save(&mut self, group: u32, of: &mut T, transaction: &mut Transaction<'_>) {
        let is_long = self.record_bytes > RECORDS_LEAST.max(self.image_bytes);
        if let Some(saver) = self.saver.as_mut().filter(|_| !is_long) {
            let Some(record) = saver.record(of) else { return };
            self.record_bytes += record.len();
            transaction.set(Table::Groups, row(group, self.letters[1], &self.next.to_be_bytes()), record);
            self.next += 1;
            return;
        }
        for number in self.first..self.next {
            transaction.remove(Table::Groups, row(group, self.letters[1], &number.to_be_bytes()));
        }
        let (saver, image) = Saver::image(of);
        (self.image_bytes, self.record_bytes, self.first) = (image.len(), 0, self.next);
        self.saver = Some(saver);
        transaction.set(Table::Groups, row(group, self.letters[0], &[]), image);
    }

    /// Removes the image and its records.
    fn forget(&mut self, group: u32, transaction: &mut Transaction<'_>) {
        for number in self.first..self.next {
            transaction.remove(Table::Groups, row(group, self.letters[1], &number.to_be_bytes()));
        }
        transaction.remove_if_there(Table::Groups, row(group, self.letters[0], &[]));
        (self.saver, self.image_bytes, self.record_bytes, self.first) = (None, 0, 0, self.next);
    }

    fn load(&mut self, group: u32, transaction: &mut Transaction<'_>) -> Result<Option<T>, EngineError> {
        let Some(image) = transaction.get(Table::Groups, &row(group, self.letters[0], &[])) else {
            return Ok(None);
        };
        let prefix = row(group, self.letters[1], &[]);
        // Those before the first were removed, and the tree may still hold them: it would read them all.
        let first = row(group, self.letters[1], &self.first.to_be_bytes());
        let mut records = Vec::new();
        for (key, record) in transaction.scan(Table::Groups, &prefix, &first, usize::MAX) {
            let number = key.last_chunk::<8>().map_or(0, |number| u64::from_be_bytes(*number));
            self.first = if records.is_empty() { number } else { self.first };
            self.next = number + 1;
            records.extend(record);
        }
        let damaged =
            |why: String| EngineError::Damaged { what: format!("the tree or sketch of group {group}"), why };
        let restored = restore::<T>(&image, &records).map_err(|error| damaged(error.to_string()))?;
        if restored.torn_bytes > 0 {
            return Err(damaged(format!("{} bytes of its records are damaged", restored.torn_bytes)));
        }
        (self.image_bytes, self.record_bytes) = (image.len(), records.len());
        self.saver = Some(restored.saver);
        Ok(Some(restored.state))
    }
}

impl Saved {
    /// The state of a group that has nothing on disk.
    #[must_use]
    pub fn nothing(group: u32) -> Saved {
        Saved {
            group,
            head: None,
            log_head: Version::ZERO,
            trimmed: std::collections::VecDeque::new(),
            missing: BTreeMap::new(),
            never_had: BTreeSet::new(),
            tree: Track::new([b't', b'u']),
            sketch: Track::new([b's', b'v']),
            dirty: None,
        }
    }

    /// Writes the changes since the last call.
    pub fn save(&mut self, durable: &mut Durable, totals: Totals, transaction: &mut Transaction<'_>) {
        self.save_log(&durable.log, transaction);
        self.save_missing(&durable.missing, transaction);
        self.save_never_had(&durable.never_had, transaction);
        if let Some(tree) = durable.summary.tree_mut() {
            self.tree.save(self.group, tree, transaction);
        }
        if let Some(sketch) = durable.summary.sketch_mut() {
            self.sketch.save(self.group, sketch, transaction);
        }
        if let Some(dirty) = durable.summary.dirty() {
            let now = Some((dirty.since, dirty.ranges.marked()));
            if self.dirty != now {
                self.dirty = now;
                let value = written(&(dirty.since, dirty.ranges.encode()));
                transaction.set(Table::Groups, row(self.group, b'b', &[]), value);
            }
        }
        let head = GroupHead {
            epoch: durable.epoch,
            intervals: durable.intervals.clone(),
            last_epoch_started: durable.last_epoch_started,
            last_epoch_clean: durable.last_epoch_clean,
            cursor: durable.cursor,
            undecided: durable.undecided,
            log_tail: durable.log.tail(),
            totals,
            first_records: [self.tree.first, self.sketch.first],
        };
        if self.head.as_ref() != Some(&head) {
            transaction.set(Table::Groups, row(self.group, b'h', &[]), written(&head));
            self.head = Some(head);
        }
    }

    fn save_log(&mut self, log: &Log, transaction: &mut Transaction<'_>) {
        let tail = self.head.as_ref().map_or(Version::ZERO, |head| head.log_tail);
        let change = match &self.head {
            Some(_) => log.change_since(self.log_head, tail),
            None => LogChange::Rewritten,
        };
        let group = self.group;
        let entry_row = |entry: Entry| (row(group, b'l', &version_bytes(entry.version)), written(&entry));
        match change {
            LogChange::Grown { appended, trimmed_to } => {
                for (row, value) in appended.into_iter().map(entry_row) {
                    transaction.set(Table::Groups, row, value);
                }
                if trimmed_to > tail {
                    self.trim(log, tail, transaction);
                }
            }
            LogChange::Rewritten => {
                for letter in [b'l', b'd'] {
                    let prefix = row(group, letter, &[]);
                    for (key, _) in transaction.scan(Table::Groups, &prefix, &prefix, usize::MAX) {
                        transaction.remove(Table::Groups, key);
                    }
                }
                for (row, value) in log.iter().map(entry_row) {
                    transaction.set(Table::Groups, row, value);
                }
                self.trimmed = log.trimmed().map(|done| done.version).collect();
                for done in log.trimmed() {
                    let at = row(group, b'd', &version_bytes(done.version));
                    transaction.set(Table::Groups, at, written(done));
                }
            }
        }
        self.log_head = log.head();
    }

    /// Turns entries after `tail` that the log no longer holds into remembered requests, and drops requests
    /// that it no longer remembers.
    fn trim(&mut self, log: &Log, tail: Version, transaction: &mut Transaction<'_>) {
        let prefix = row(self.group, b'l', &[]);
        let first = row(self.group, b'l', &version_bytes(tail));
        for (key, _) in transaction.scan(Table::Groups, &prefix, &first, usize::MAX) {
            let is_kept = key.get(5..).is_some_and(|version| version > &version_bytes(log.tail())[..]);
            if is_kept {
                break;
            }
            transaction.remove(Table::Groups, key);
        }
        let last = self.trimmed.back().copied().unwrap_or(Version::ZERO);
        for done in log.trimmed().filter(|done| done.version > last) {
            self.trimmed.push_back(done.version);
            let at = row(self.group, b'd', &version_bytes(done.version));
            transaction.set(Table::Groups, at, written(done));
        }
        let kept = log
            .trimmed()
            .next()
            .map_or(Version { epoch: Epoch::MAX, counter: u64::MAX }, |done| done.version);
        while let Some(version) = self.trimmed.front().copied().filter(|version| *version < kept) {
            self.trimmed.pop_front();
            transaction.remove(Table::Groups, row(self.group, b'd', &version_bytes(version)));
        }
        // A request whose change was reverted is not remembered.
        if self.trimmed.len() != log.trimmed().len() {
            let kept: BTreeSet<Version> = log.trimmed().map(|done| done.version).collect();
            for version in self.trimmed.iter().filter(|version| !kept.contains(version)) {
                transaction.remove(Table::Groups, row(self.group, b'd', &version_bytes(*version)));
            }
            self.trimmed = kept.into_iter().collect();
        }
    }

    fn save_missing(&mut self, missing: &BTreeMap<Key, Version>, transaction: &mut Transaction<'_>) {
        if self.missing == *missing {
            return;
        }
        let at = |key: &Key| row(self.group, b'm', &key_bytes(self.group, *key)[4..]);
        for key in self.missing.keys().filter(|key| !missing.contains_key(key)) {
            transaction.remove(Table::Groups, at(key));
        }
        for (key, version) in missing.iter().filter(|(key, version)| self.missing.get(key) != Some(version)) {
            transaction.set(Table::Groups, at(key), written(version));
        }
        self.missing.clone_from(missing);
    }

    fn save_never_had(&mut self, now: &BTreeSet<(Key, Version)>, transaction: &mut Transaction<'_>) {
        if self.never_had == *now {
            return;
        }
        let group = self.group;
        let at = |(key, version): &(Key, Version)| {
            row(group, b'n', &[&key_bytes(group, *key)[4..], &version_bytes(*version)].concat())
        };
        for gone in self.never_had.difference(now) {
            transaction.remove(Table::Groups, at(gone));
        }
        for new in now.difference(&self.never_had) {
            transaction.set(Table::Groups, at(new), written(new));
        }
        self.never_had.clone_from(now);
    }

    /// Loads a group from disk; none if nothing is stored.
    ///
    /// # Errors
    /// When the disk or the rows cannot be read.
    pub fn load(
        group: u32,
        config: &Config,
        transaction: &mut Transaction<'_>,
    ) -> Result<Option<(Saved, Durable, Totals)>, EngineError> {
        let Some(bytes) = transaction.get(Table::Groups, &row(group, b'h', &[])) else { return Ok(None) };
        let head: GroupHead = read("the head of a group", &bytes)?;
        let mut saved = Saved::nothing(group);
        let entries: Vec<Entry> = rows(group, b'l', &version_bytes(head.log_tail), transaction)?;
        let trimmed: Vec<Done> = rows(group, b'd', &[], transaction)?;
        saved.trimmed = trimmed.iter().map(|done| done.version).collect();
        let prefix = row(group, b'm', &[]);
        for (at, value) in transaction.scan(Table::Groups, &prefix, &prefix, usize::MAX) {
            // The key has four bytes of group and a letter; `key_of` expects only four bytes before the
            // object.
            let key = at.get(1..).and_then(key_of).expect("the rows of a group have keys");
            saved.missing.insert(key, read("a missing object", &value)?);
        }
        // A store of an earlier version has no such rows: then nothing is reverted that was missing before.
        saved.never_had = rows(group, b'n', &[], transaction)?.into_iter().collect();
        let summary = saved.load_summary(config, &head, transaction)?;
        let log = Log::replaced(head.log_tail, trimmed, entries);
        saved.log_head = log.head();
        let durable = Durable {
            epoch: head.epoch,
            intervals: head.intervals.clone(),
            last_epoch_started: head.last_epoch_started,
            last_epoch_clean: head.last_epoch_clean,
            cursor: head.cursor,
            log,
            missing: saved.missing.clone(),
            never_had: saved.never_had.clone(),
            undecided: head.undecided,
            summary,
        };
        let totals = head.totals;
        saved.head = Some(head);
        Ok(Some((saved, durable, totals)))
    }

    /// The summaries that the group's settings require: as stored, or built from the objects if not stored.
    fn load_summary(
        &mut self,
        config: &Config,
        head: &GroupHead,
        transaction: &mut Transaction<'_>,
    ) -> Result<Summary, EngineError> {
        let (group, wanted) = (self.group, Summary::new(config));
        [self.tree.next, self.sketch.next] = head.first_records;
        (self.tree.first, self.sketch.first) = (self.tree.next, self.sketch.next);
        let mut tree = self.tree.load(group, transaction)?;
        if tree.as_ref().map(Tree::shape) != wanted.tree().map(Tree::shape) {
            self.tree.forget(group, transaction);
            tree = None;
        }
        let mut sketch = self.sketch.load(group, transaction)?;
        let cells = |sketch: &Sketch| sketch.cells().len();
        if sketch.as_ref().map(cells) != wanted.sketch().map(cells) {
            self.sketch.forget(group, transaction);
            sketch = None;
        }
        let lacks =
            (tree.is_none() && wanted.tree().is_some()) || (sketch.is_none() && wanted.sketch().is_some());
        if lacks {
            let made = Summary::of_objects(config, versions(group, transaction)?);
            (tree, sketch) = (tree.or(made.tree().cloned()), sketch.or(made.sketch().cloned()));
        }
        let dirty = self.load_bitmap(&wanted, transaction)?;
        Ok(Summary::of_parts(tree, sketch, dirty))
    }

    /// A bitmap that was not stored has all ranges marked, until the group is clean.
    fn load_bitmap(
        &mut self,
        wanted: &Summary,
        transaction: &mut Transaction<'_>,
    ) -> Result<Option<Dirty>, EngineError> {
        let at = row(self.group, b'b', &[]);
        let Some(wanted) = wanted.dirty() else {
            transaction.remove_if_there(Table::Groups, at);
            return Ok(None);
        };
        let all = || Dirty { since: 0, ranges: Bitmap::of_all(wanted.ranges.shape()) };
        let Some(bytes) = transaction.get(Table::Groups, &at) else { return Ok(Some(all())) };
        let (since, ranges): (Epoch, Vec<u8>) = read("a bitmap", &bytes)?;
        let ranges = Bitmap::decode(&ranges).map_err(|error| EngineError::Damaged {
            what: format!("the bitmap of group {}", self.group),
            why: error.to_string(),
        })?;
        if ranges.shape() != wanted.ranges.shape() {
            return Ok(Some(all()));
        }
        self.dirty = Some((since, ranges.marked()));
        Ok(Some(Dirty { since, ranges }))
    }

    /// What the replica of a group knows; none if nothing is stored.
    ///
    /// # Errors
    /// When the disk or the rows cannot be read.
    pub(crate) fn outline(
        group: u32,
        transaction: &mut Transaction<'_>,
    ) -> Result<Option<Outline>, EngineError> {
        let Some(bytes) = transaction.get(Table::Groups, &row(group, b'h', &[])) else { return Ok(None) };
        let head: GroupHead = read("the head of a group", &bytes)?;
        let prefix = row(group, b'm', &[]);
        let missing = transaction.scan(Table::Groups, &prefix, &prefix, usize::MAX);
        Ok(Some(Outline {
            epoch: head.epoch,
            last_epoch_started: head.last_epoch_started,
            is_complete: head.cursor == Cursor::End,
            missing: missing.into_iter().collect(),
        }))
    }

    /// The groups that have rows on disk.
    pub fn groups(groups: u32, transaction: &mut Transaction<'_>) -> Vec<u32> {
        (0..groups)
            .filter(|group| transaction.get(Table::Groups, &row(*group, b'h', &[])).is_some())
            .collect()
    }
}

/// The versions of all objects of a group.
fn versions(group: u32, transaction: &mut Transaction<'_>) -> Result<Vec<(Key, Version)>, EngineError> {
    let prefix = group.to_be_bytes();
    let rows = transaction.scan(Table::Heads, &prefix, &prefix, usize::MAX);
    let version = |(at, head): &(Vec<u8>, Vec<u8>)| {
        let head: ObjectHead = read("the head of an object", head)?;
        let key = key_of(at).ok_or_else(|| EngineError::Damaged {
            what: "the key of an object".to_owned(),
            why: format!("{} bytes", at.len()),
        })?;
        Ok((key, head.version))
    };
    rows.iter().map(version).collect()
}

fn row(group: u32, letter: u8, rest: &[u8]) -> Vec<u8> {
    [&group.to_be_bytes()[..], &[letter], rest].concat()
}

fn version_bytes(version: Version) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&version.epoch.to_be_bytes());
    bytes[4..].copy_from_slice(&version.counter.to_be_bytes());
    bytes
}

/// The rows of a letter, from the suffix `from` on.
fn rows<T: for<'a> Deserialize<'a>>(
    group: u32,
    letter: u8,
    from: &[u8],
    transaction: &mut Transaction<'_>,
) -> Result<Vec<T>, EngineError> {
    let prefix = row(group, letter, &[]);
    let found = transaction.scan(Table::Groups, &prefix, &row(group, letter, from), usize::MAX);
    found.iter().map(|(_, value)| read("a row of a group", value)).collect()
}

#[cfg(test)]
mod tests;
