//! The entries of a log as they are kept: without the padding of their parts, and without the version to
//! which a change is reverted, which hardly any entry has.

use std::collections::{BTreeMap, VecDeque};

use super::{Change, Entry};
use crate::{Key, RequestId, Version};

/// The least number of items for which more room is made at once; it is an eighth of a long list.
pub(super) const GROWN_LEAST: usize = 64;

/// Adds an item to a list that has little room which it does not need: one that doubles has room for 16,384
/// items when it holds 10,000, in each group.
pub(super) fn push<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(GROWN_LEAST.max(list.len() / 8));
    }
    list.push_back(item);
}

/// An entry, in 56 bytes instead of 96.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Packed {
    counter: u64,
    /// With the epoch, the prior version; the version before all changes if there is none.
    prior_counter: u64,
    id: u64,
    request: RequestId,
    epoch: u32,
    prior_epoch: u32,
    position: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Write,
    Delete,
    Revert,
}

impl Packed {
    fn version(&self) -> Version {
        Version { epoch: self.epoch, counter: self.counter }
    }
}

/// Entries in the order of their versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Entries {
    entries: VecDeque<Packed>,
    /// The versions to which entries revert, by the versions of those entries.
    reverted_to: BTreeMap<Version, Version>,
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn at(&self, at: usize) -> Option<Entry> {
        self.entries.get(at).map(|packed| self.unpacked(packed))
    }

    pub(super) fn version_at(&self, at: usize) -> Option<Version> {
        self.entries.get(at).map(Packed::version)
    }

    pub(super) fn last_version(&self) -> Option<Version> {
        self.entries.back().map(Packed::version)
    }

    /// The number of entries before a version.
    pub(super) fn before(&self, version: Version) -> usize {
        self.entries.partition_point(|entry| entry.version() < version)
    }

    /// The number of entries up to a version.
    pub(super) fn up_to(&self, version: Version) -> usize {
        self.entries.partition_point(|entry| entry.version() <= version)
    }

    /// The request of the entry with a version.
    pub(super) fn request_of(&self, version: Version) -> Option<RequestId> {
        let entry = self.entries.get(self.before(version))?;
        (entry.version() == version).then_some(entry.request)
    }

    /// The entries from a place on.
    pub(super) fn from(&self, first: usize) -> impl DoubleEndedIterator<Item = Entry> + '_ {
        self.entries.range(first..).map(|packed| self.unpacked(packed))
    }

    pub(super) fn push(&mut self, entry: &Entry) {
        assert!(entry.prior != Some(Version::ZERO), "{entry:?} follows the version before all changes");
        let prior = entry.prior.unwrap_or(Version::ZERO);
        let kind = match entry.change {
            Change::Write => Kind::Write,
            Change::Delete => Kind::Delete,
            Change::Revert(to) => {
                self.reverted_to.extend(to.map(|to| (entry.version, to)));
                Kind::Revert
            }
        };
        let packed = Packed {
            counter: entry.version.counter,
            prior_counter: prior.counter,
            id: entry.key.id,
            request: entry.request,
            epoch: entry.version.epoch,
            prior_epoch: prior.epoch,
            position: entry.key.position,
            kind,
        };
        push(&mut self.entries, packed);
    }

    /// Removes the first entry.
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let packed = self.entries.pop_front()?;
        let entry = self.unpacked(&packed);
        self.reverted_to.remove(&entry.version);
        Some(entry)
    }

    /// Removes the entries from a place on.
    pub(super) fn truncate(&mut self, keep: usize) {
        for packed in self.entries.drain(keep..) {
            self.reverted_to.remove(&packed.version());
        }
    }

    fn unpacked(&self, packed: &Packed) -> Entry {
        let version = packed.version();
        let prior = Version { epoch: packed.prior_epoch, counter: packed.prior_counter };
        Entry {
            version,
            prior: (prior != Version::ZERO).then_some(prior),
            key: Key { position: packed.position, id: packed.id },
            change: match packed.kind {
                Kind::Write => Change::Write,
                Kind::Delete => Change::Delete,
                Kind::Revert => Change::Revert(self.reverted_to.get(&version).copied()),
            },
            request: packed.request,
        }
    }

    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.entries.capacity()
    }
}
