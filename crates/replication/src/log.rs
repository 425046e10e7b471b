//! The bounded log of a group: its latest changes in order, and the requests of some trimmed entries.
//!
//! A replica that was away catches up from the log of the others if the log reaches back to where the replica
//! stopped, and needs a backfill if not. Only entries that all replicas have committed are trimmed. So
//! whatever a replica must undo is still in its own log, and two logs that overlap at all have a common
//! entry.

mod packed;
mod requests;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::{Key, RequestId, Version};
use packed::Entries;
use requests::Requests;

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
    entries: Entries,
    trimmed: VecDeque<Done>,
    /// The requests of `entries` and `trimmed`, without those that were undone.
    requests: Requests,
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
        Parts { tail: log.tail, entries: log.iter().collect(), trimmed: log.trimmed.into() }
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
        log.trimmed = trimmed.into();
        log.index();
        entries.into_iter().for_each(|entry| log.append(entry));
        log
    }

    /// The entry with a version, if it is not trimmed.
    #[must_use]
    pub fn get(&self, version: Version) -> Option<Entry> {
        self.entries.at(self.entries.before(version)).filter(|entry| entry.version == version)
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
        while let Some(prior) = before(&first).and_then(|prior| self.get(prior)) {
            first = prior;
        }
        Some(first.version)
    }

    /// The version of the last change.
    #[must_use]
    pub fn head(&self) -> Version {
        self.entries.last_version().unwrap_or(self.tail)
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
        self.entries.len() == 0
    }

    /// Its entries, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Entry> + '_ {
        self.entries.from(0)
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
        self.entries.push(&entry);
        self.note_request(&entry);
    }

    fn note_request(&mut self, entry: &Entry) {
        let of = request_of(&self.entries, &self.trimmed);
        match entry.undoes() {
            None => self.requests.set(entry.request, entry.version, of),
            Some(undone) => self.requests.remove(entry.request, undone),
        }
    }

    /// Makes the table of requests anew.
    fn index(&mut self) {
        self.requests = Requests::for_versions(self.entries.len() + self.trimmed.len());
        let of = request_of(&self.entries, &self.trimmed);
        for Done { request, version } in &self.trimmed {
            self.requests.set(*request, *version, &of);
        }
        for entry in self.entries.from(0) {
            match entry.undoes() {
                None => self.requests.set(entry.request, entry.version, &of),
                Some(undone) => self.requests.remove(entry.request, undone),
            }
        }
    }

    /// The version that a request was assigned, if the log still knows it.
    #[must_use]
    pub fn find(&self, request: RequestId) -> Option<Version> {
        self.requests.get(request, request_of(&self.entries, &self.trimmed))
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
        self.last_of(self.entries.up_to(last_update))
    }

    /// The entries after a version.
    #[must_use]
    pub fn after(&self, version: Version) -> Vec<Entry> {
        self.entries.from(self.entries.up_to(version)).collect()
    }

    /// Removes all entries after a version, and returns them, oldest first.
    ///
    /// # Panics
    ///
    /// If the log does not hold that version: an entry that must be undone was trimmed, or one is missing.
    pub(crate) fn rewind(&mut self, to: Version) -> Vec<Entry> {
        let keep = self.entries.up_to(to);
        let last = self.last_of(keep);
        assert_eq!(last, to, "a log from {} to {} cannot be rewound", self.tail, self.head());
        let undone: Vec<Entry> = self.entries.from(keep).collect();
        undone.iter().for_each(|entry| self.requests.remove(entry.request, entry.version));
        self.entries.truncate(keep);
        if undone.iter().any(|entry| entry.undoes().is_some()) {
            // What a revert had undone is done again.
            self.index();
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
        while self.entries.version_at(0).is_some_and(|version| version <= to) {
            let entry = self.entries.pop().expect("there is a first one");
            let done = Done { request: entry.request, version: entry.version };
            self.tail = done.version;
            match entry.undoes() {
                None => packed::push(&mut self.trimmed, done),
                Some(undone) => self.trimmed.retain(|done| done.version != undone),
            }
        }
        while self.trimmed.len() > requests_max {
            let done = self.trimmed.pop_front().expect("it is longer than it may be");
            self.requests.remove(done.request, done.version);
        }
    }

    /// The version up to which it may be trimmed so that `keep` entries are left; none if there are fewer
    /// entries, or if fewer than `at_least` would be trimmed.
    #[must_use]
    pub(crate) fn surplus(&self, keep: usize, at_least: usize) -> Option<Version> {
        let surplus = self.entries.len().checked_sub(keep)?;
        (surplus >= at_least.max(1)).then(|| self.last_of(surplus))
    }

    /// How the log changed since it ended with `head` and began after `tail`. Versions are assigned once, so
    /// a log that still holds the entry `head` is unchanged up to there.
    #[must_use]
    pub fn change_since(&self, head: Version, tail: Version) -> LogChange {
        assert!(tail <= head, "a log from {tail} to {head}");
        let holds_head = self.tail == head || self.get(head).is_some();
        if holds_head && tail <= self.tail {
            LogChange::Grown { appended: self.after(head), trimmed_to: self.tail }
        } else {
            LogChange::Rewritten
        }
    }

    /// The last version before this one.
    #[must_use]
    pub fn before(&self, version: Version) -> Version {
        self.last_of(self.entries.before(version))
    }

    /// The version of the last of so many entries; without any, the one after which the log begins.
    fn last_of(&self, count: usize) -> Version {
        count.checked_sub(1).and_then(|last| self.entries.version_at(last)).unwrap_or(self.tail)
    }
}

/// The request of a change that a log has or remembers.
fn request_of<'l>(
    entries: &'l Entries,
    trimmed: &'l VecDeque<Done>,
) -> impl Fn(Version) -> Option<RequestId> + 'l {
    move |version| {
        let of_trimmed = || {
            let at = trimmed.partition_point(|done| done.version < version);
            trimmed.get(at).filter(|done| done.version == version).map(|done| done.request)
        };
        entries.request_of(version).or_else(of_trimmed)
    }
}
