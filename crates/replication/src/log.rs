//! The bounded log of a group: its latest changes in order, and the requests of some trimmed entries.
//!
//! A replica that was away catches up from the log of the others if the log reaches back to where the replica
//! stopped, and needs a backfill if not. Only entries that all replicas have committed are trimmed. So
//! whatever a replica must undo is still in its own log, and two logs that overlap at all have a common
//! entry.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::{Key, RequestId, Version};

/// The least number of entries for which more room is made at once; it is an eighth of a long log.
const GROWN_LEAST: usize = 64;

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Change {
    /// The object has new content.
    Write,
    /// The object is removed. Logged even if it did not exist, so that a late repetition is recognised.
    Delete,
    /// The object is what it was before its last change, whose version is the entry's `prior`: that version
    /// again, or none. Nobody has the bytes of that change, and nobody learned of it.
    Revert(Option<Version>),
}

/// A change of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// The number of the change; after a write also the object's version.
    pub version: Version,
    /// The version that the object had before; none if it did not exist. A reverted version: the object had
    /// it by the log only.
    pub prior: Option<Version>,
    /// The object.
    pub key: Key,
    /// The kind of change.
    pub change: Change,
    /// The client's request; of a revert, the request that is undone, and may be executed again.
    pub request: RequestId,
}

impl Entry {
    /// The approximate size of an entry in memory and on the wire: Ceph's take some 150 to 300 bytes, with
    /// the object's name.
    pub(crate) const BYTES: u64 = 160;

    /// The object's version after the change; none if it was removed.
    #[must_use]
    pub fn result(&self) -> Option<Version> {
        match self.change {
            Change::Write => Some(self.version),
            Change::Delete => None,
            Change::Revert(to) => to,
        }
    }

    /// The version that this entry undoes, if it is a revert.
    #[must_use]
    pub(crate) fn undoes(&self) -> Option<Version> {
        self.prior.filter(|_| matches!(self.change, Change::Revert(_)))
    }
}

/// A request whose entry was trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Done {
    /// The request.
    pub request: RequestId,
    /// The version that it was assigned.
    pub version: Version,
}

/// How a log changed since it had a given head and tail: what a store that keeps it as a list has to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LogChange {
    /// Append these entries, and trim the first ones up to a version; either may be nothing.
    Grown {
        /// The new entries.
        appended: Vec<Entry>,
        /// Entries up to this version become remembered requests.
        trimmed_to: Version,
    },
    /// Write the whole log again: entries were undone, or another replica's log was taken over.
    Rewritten,
}

/// The log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Parts", into = "Parts")]
pub struct Log {
    /// The last version that was trimmed: the log holds all changes after it.
    tail: Version,
    entries: VecDeque<Entry>,
    trimmed: VecDeque<Done>,
    /// The requests of `entries` and `trimmed`, without those that were undone.
    requests: BTreeMap<RequestId, Version>,
}

/// A log without the fields that are derived from the rest.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Parts {
    tail: Version,
    entries: Vec<Entry>,
    trimmed: Vec<Done>,
}

impl From<Log> for Parts {
    fn from(log: Log) -> Parts {
        Parts { tail: log.tail, entries: log.entries.into(), trimmed: log.trimmed.into() }
    }
}

impl From<Parts> for Log {
    fn from(parts: Parts) -> Log {
        Log::replaced(parts.tail, parts.trimmed, parts.entries)
    }
}

impl Log {
    /// An empty log that begins after a version.
    #[must_use]
    pub(crate) fn starting_at(tail: Version) -> Log {
        Log { tail, ..Log::default() }
    }

    /// A log received in full from another replica.
    #[must_use]
    pub fn replaced(tail: Version, trimmed: Vec<Done>, entries: Vec<Entry>) -> Log {
        let mut log = Log::starting_at(tail);
        log.requests.extend(trimmed.iter().map(|done| (done.request, done.version)));
        log.trimmed = trimmed.into();
        entries.into_iter().for_each(|entry| log.append(entry));
        log
    }

    /// The entry with a version, if it is not trimmed.
    #[must_use]
    pub fn get(&self, version: Version) -> Option<&Entry> {
        let at = self.entries.partition_point(|entry| entry.version < version);
        self.entries.get(at).filter(|entry| entry.version == version)
    }

    /// Whether this log would have a change of this version if it knew of it, and has none.
    #[must_use]
    pub(crate) fn is_unknown(&self, version: Version) -> bool {
        version > self.tail && self.get(version).is_none()
    }

    /// The first of the changes of one object that led to this version in the same interval, if the log still
    /// has the change that made it.
    #[must_use]
    pub(crate) fn first_leading_to(&self, version: Version) -> Option<Version> {
        let mut first = self.get(version)?;
        let before = |entry: &Entry| entry.prior.filter(|prior| prior.epoch == version.epoch);
        while let Some(prior) = before(first).and_then(|prior| self.get(prior)) {
            first = prior;
        }
        Some(first.version)
    }

    /// The version of the last change.
    #[must_use]
    pub fn head(&self) -> Version {
        self.entries.back().map_or(self.tail, |entry| entry.version)
    }

    /// The version after which it holds all changes.
    #[must_use]
    pub fn tail(&self) -> Version {
        self.tail
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Its entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> + '_ {
        self.entries.iter()
    }

    /// Requests whose entries were trimmed.
    pub fn trimmed(&self) -> impl ExactSizeIterator<Item = &Done> + '_ {
        self.trimmed.iter()
    }

    /// Adds the next change.
    ///
    /// # Panics
    ///
    /// If the entry does not follow the last one.
    pub fn append(&mut self, entry: Entry) {
        let head = self.head();
        assert!(entry.version > head, "entry {} does not follow {head}", entry.version);
        assert!(entry.prior.is_none_or(|prior| prior < entry.version), "{entry:?} has a later prior version");
        self.note_request(&entry);
        if self.entries.len() == self.entries.capacity() {
            // A list that doubles has room for 16,384 entries when it holds 10,000, in each group.
            self.entries.reserve_exact(GROWN_LEAST.max(self.entries.len() / 8));
        }
        self.entries.push_back(entry);
    }

    fn note_request(&mut self, entry: &Entry) {
        match entry.undoes() {
            None => drop(self.requests.insert(entry.request, entry.version)),
            Some(undone) if self.requests.get(&entry.request) == Some(&undone) => {
                self.requests.remove(&entry.request);
            }
            Some(_) => {}
        }
    }

    /// The version that a request was assigned, if the log still knows it.
    #[must_use]
    pub fn find(&self, request: RequestId) -> Option<Version> {
        self.requests.get(&request).copied()
    }

    /// Whether a replica whose last change is `last_update` can catch up from this log.
    #[must_use]
    pub(crate) fn reaches_back_to(&self, last_update: Version) -> bool {
        last_update >= self.tail
    }

    /// The last change that this log and one that ends with `last_update` have in common: the last one here
    /// that is not after `last_update`. The other log has every change of an authoritative log up to its own
    /// last one, because any change that it lacks was made in a later interval.
    ///
    /// # Panics
    ///
    /// If the log does not reach back to it.
    #[must_use]
    pub(crate) fn common_with(&self, last_update: Version) -> Version {
        assert!(self.reaches_back_to(last_update), "{last_update} lies before the tail {}", self.tail);
        let behind = self.entries.partition_point(|entry| entry.version <= last_update);
        behind.checked_sub(1).map_or(self.tail, |last| self.entries[last].version)
    }

    /// The entries after a version.
    #[must_use]
    pub fn after(&self, version: Version) -> Vec<Entry> {
        let first = self.entries.partition_point(|entry| entry.version <= version);
        self.entries.range(first..).copied().collect()
    }

    /// Removes all entries after a version, and returns them, oldest first.
    ///
    /// # Panics
    ///
    /// If the log does not hold that version: an entry that must be undone was trimmed, or one is missing.
    pub(crate) fn rewind(&mut self, to: Version) -> Vec<Entry> {
        let keep = self.entries.partition_point(|entry| entry.version <= to);
        let last = keep.checked_sub(1).map_or(self.tail, |last| self.entries[last].version);
        assert_eq!(last, to, "a log from {} to {} cannot be rewound", self.tail, self.head());
        let undone: Vec<Entry> = self.entries.drain(keep..).collect();
        for entry in &undone {
            if self.requests.get(&entry.request) == Some(&entry.version) {
                self.requests.remove(&entry.request);
            }
        }
        if undone.iter().any(|entry| entry.undoes().is_some()) {
            // What a revert had undone is done again.
            let trimmed = std::mem::take(&mut self.trimmed).into();
            let kept = std::mem::take(&mut self.entries).into();
            *self = Log::replaced(self.tail, trimmed, kept);
        }
        undone
    }

    /// Trims the entries up to a version, and remembers at most `requests_max` of their requests.
    ///
    /// # Panics
    ///
    /// If the log ends before that version.
    pub fn trim(&mut self, to: Version, requests_max: usize) {
        assert!(to <= self.head(), "a log that ends with {} cannot be trimmed to {to}", self.head());
        while let Some(entry) = self.entries.front().filter(|entry| entry.version <= to) {
            let done = Done { request: entry.request, version: entry.version };
            self.tail = done.version;
            match entry.undoes() {
                None => self.trimmed.push_back(done),
                Some(undone) => self.trimmed.retain(|done| done.version != undone),
            }
            self.entries.pop_front();
        }
        while self.trimmed.len() > requests_max {
            let done = self.trimmed.pop_front().expect("it is longer than it may be");
            if self.requests.get(&done.request) == Some(&done.version) {
                self.requests.remove(&done.request);
            }
        }
    }

    /// The version up to which it may be trimmed so that `keep` entries are left; none if there are fewer
    /// entries, or if fewer than `at_least` would be trimmed.
    #[must_use]
    pub(crate) fn surplus(&self, keep: usize, at_least: usize) -> Option<Version> {
        let surplus = self.entries.len().checked_sub(keep)?;
        (surplus >= at_least.max(1)).then(|| self.entries[surplus - 1].version)
    }

    /// How the log changed since it ended with `head` and began after `tail`. Versions are assigned once, so
    /// a log that still holds the entry `head` is unchanged up to there.
    #[must_use]
    pub fn change_since(&self, head: Version, tail: Version) -> LogChange {
        assert!(tail <= head, "a log from {tail} to {head}");
        let holds_head = self.tail == head || self.entries.iter().rev().any(|entry| entry.version == head);
        if holds_head && tail <= self.tail {
            LogChange::Grown { appended: self.after(head), trimmed_to: self.tail }
        } else {
            LogChange::Rewritten
        }
    }

    /// The last version before this one.
    #[must_use]
    pub fn before(&self, version: Version) -> Version {
        let first = self.entries.partition_point(|entry| entry.version < version);
        first.checked_sub(1).map_or(self.tail, |last| self.entries[last].version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(epoch: u32, counter: u64) -> Version {
        Version { epoch, counter }
    }

    fn entry(epoch: u32, counter: u64) -> Entry {
        Entry {
            version: version(epoch, counter),
            prior: None,
            key: Key { position: counter as u32, id: 0 },
            change: Change::Write,
            request: RequestId { client: 1, number: counter },
        }
    }

    fn log(versions: &[(u32, u64)]) -> Log {
        Log::replaced(
            Version::ZERO,
            Vec::new(),
            versions.iter().map(|(epoch, counter)| entry(*epoch, *counter)).collect(),
        )
    }

    #[test]
    fn trimming_keeps_the_requests_of_some() {
        let mut log = log(&[(1, 1), (1, 2), (1, 3), (2, 4)]);
        assert_eq!(log.surplus(2, 1), Some(version(1, 2)));
        assert_eq!((log.surplus(2, 3), log.surplus(4, 1), log.surplus(9, 0)), (None, None, None));
        log.trim(version(1, 3), 2);
        assert_eq!((log.tail(), log.head(), log.len()), (version(1, 3), version(2, 4), 1));
        let request = |number| RequestId { client: 1, number };
        assert_eq!(log.find(request(1)), None, "the oldest is forgotten");
        assert_eq!(log.find(request(2)), Some(version(1, 2)));
        assert_eq!(log.find(request(4)), Some(version(2, 4)));
        assert!(log.reaches_back_to(version(1, 3)) && !log.reaches_back_to(version(1, 2)));
    }

    #[test]
    fn a_log_has_little_room_that_it_does_not_need() {
        let is_close = |room: usize, count: usize| room <= count + GROWN_LEAST.max(count / 8);
        let (mut log, mut doubled) = (log(&[]), VecDeque::new());
        for counter in 1..=10_000 {
            log.append(entry(1, counter));
            doubled.push_back(counter);
            assert!(is_close(log.entries.capacity(), counter as usize), "{counter}");
        }
        assert!(!is_close(doubled.capacity(), 10_000), "planted: a list that doubles");
    }

    #[test]
    fn two_logs_meet_at_their_last_common_entry() {
        let ours = log(&[(1, 1), (1, 2), (3, 3), (3, 4)]);
        // The other log has two changes of epoch 2 that no other replica has.
        let mut theirs = log(&[(1, 1), (1, 2), (2, 3), (2, 4)]);
        let common = ours.common_with(theirs.head());
        assert_eq!(common, version(1, 2));
        let undone = theirs.rewind(common);
        assert_eq!(undone, [entry(2, 3), entry(2, 4)]);
        assert_eq!(
            theirs.find(RequestId { client: 1, number: 3 }),
            None,
            "what was undone may be done again"
        );
        ours.after(common).into_iter().for_each(|entry| theirs.append(entry));
        assert_eq!(theirs, ours);
        assert_eq!(ours.common_with(Version::ZERO), Version::ZERO);
        assert_eq!((ours.before(version(3, 3)), ours.before(version(1, 1))), (version(1, 2), Version::ZERO));
    }

    /// A write of request 3 is reverted, and executed again.
    #[test]
    fn a_request_whose_change_was_reverted_is_not_done() {
        let request = RequestId { client: 1, number: 3 };
        let mut log = log(&[(1, 1), (1, 2), (1, 3)]);
        assert_eq!(log.find(request), Some(version(1, 3)));
        let undo = Entry { change: Change::Revert(None), prior: Some(version(1, 3)), ..entry(1, 3) };
        log.append(Entry { version: version(2, 4), ..undo });
        assert_eq!(log.find(request), None);
        let again = Entry { version: version(2, 5), ..entry(1, 3) };
        let mut longer = log.clone();
        longer.append(again);
        assert_eq!(longer.find(request), Some(version(2, 5)));
        for keep in 0..=5 {
            let mut trimmed = longer.clone();
            trimmed.trim(version(1 + u32::from(keep > 3), keep), 9);
            let parts: Vec<Entry> = trimmed.iter().copied().collect();
            let loaded = Log::replaced(trimmed.tail(), trimmed.trimmed().copied().collect(), parts);
            assert_eq!(loaded, trimmed);
            assert_eq!(loaded.find(request), Some(version(2, 5)), "trimmed to {keep}");
            // Before it is executed again, it is not done either.
            let mut shorter = log.clone();
            shorter.trim(version(1 + u32::from(keep > 3), keep.min(4)), 9);
            let parts: Vec<Entry> = shorter.iter().copied().collect();
            let loaded = Log::replaced(shorter.tail(), shorter.trimmed().copied().collect(), parts);
            assert_eq!((loaded.find(request), shorter.find(request)), (None, None), "trimmed to {keep}");
        }
        // A revert that is itself undone leaves the request done, even if its entry was trimmed meanwhile.
        for tail in [version(1, 0), version(1, 3)] {
            let mut undone = longer.clone();
            undone.trim(tail, 9);
            undone.rewind(version(1, 3));
            assert_eq!(undone.find(request), Some(version(1, 3)));
        }
    }

    #[test]
    fn changes_of_one_interval_in_a_row_are_found() {
        let mut log = log(&[(1, 1), (2, 2)]);
        for counter in 3..6 {
            let prior =
                Some(version(if counter == 3 { 1 } else { 2 }, if counter == 3 { 1 } else { counter - 1 }));
            log.append(Entry { prior, ..entry(2, counter) });
        }
        assert_eq!(log.first_leading_to(version(2, 5)), Some(version(2, 3)));
        assert_eq!(log.first_leading_to(version(2, 9)), None);
        log.trim(version(2, 3), 0);
        assert_eq!(log.first_leading_to(version(2, 5)), Some(version(2, 4)));
    }

    #[test]
    fn a_store_learns_what_became_of_a_log() {
        let mut log = log(&[(1, 1), (1, 2), (1, 3)]);
        let (head, tail) = (log.head(), log.tail());
        let nothing = LogChange::Grown { appended: Vec::new(), trimmed_to: tail };
        assert_eq!(log.change_since(head, tail), nothing);
        log.append(entry(2, 4));
        log.trim(version(1, 2), 9);
        let grown = LogChange::Grown { appended: vec![entry(2, 4)], trimmed_to: version(1, 2) };
        assert_eq!(log.change_since(head, tail), grown);
        let head = log.head();
        log.rewind(version(1, 3));
        assert_eq!(log.change_since(head, version(1, 2)), LogChange::Rewritten);
        log.append(entry(3, 4));
        assert_eq!(
            log.change_since(head, version(1, 2)),
            LogChange::Rewritten,
            "another entry has its place"
        );
        let longer = self::log(&[(1, 1), (1, 2), (1, 3), (3, 4)]);
        assert_eq!(longer.change_since(version(3, 4), version(1, 2)), LogChange::Rewritten);
    }

    #[test]
    fn a_log_survives_being_written_down() {
        let mut log = log(&[(1, 1), (1, 2), (3, 3)]);
        log.trim(version(1, 1), 5);
        let text = serde_json::to_string(&log).expect("a log is plain data");
        assert_eq!(serde_json::from_str::<Log>(&text).expect("it was written by this crate"), log);
    }

    #[test]
    #[should_panic(expected = "does not follow")]
    fn an_entry_out_of_order_is_noticed() {
        log(&[(1, 2), (1, 1)]);
    }

    #[test]
    #[should_panic(expected = "cannot be rewound")]
    fn rewinding_past_the_tail_is_noticed() {
        let mut log = log(&[(1, 1), (1, 2), (1, 3)]);
        log.trim(version(1, 2), 0);
        log.rewind(version(1, 1));
    }
}
