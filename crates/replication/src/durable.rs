//! The state, besides its objects, that a replica must not lose in a crash, and how it takes over another
//! replica's log.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::objects::Objects;
use crate::{Change, Config, Cursor, Done, Entry, Epoch, Key, Log, Member, Planted, Summary, Version};

/// A period in which the acting replicas of the group stayed the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Interval {
    /// The epoch of the map with which it began.
    pub epoch: Epoch,
    /// The replicas that served, the primary first.
    pub acting: Vec<Member>,
}

/// The durable state of one replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durable {
    /// The epoch of the last map that it received.
    pub epoch: Epoch,
    /// The intervals since the group was last clean, as far as it knows.
    pub intervals: Vec<Interval>,
    /// The last interval for which it took over the authoritative log: it knows every write that was
    /// acknowledged before.
    pub last_epoch_started: Epoch,
    /// The last interval in which all replicas were known to be equal.
    pub last_epoch_clean: Epoch,
    /// Objects below the cursor are as the log says; a backfill handles those above.
    pub cursor: Cursor,
    /// The last changes of the group.
    pub log: Log,
    /// Objects that it does not have in the version that its log names, with that version.
    #[serde(with = "towtank_units::pairs")]
    pub missing: BTreeMap<Key, Version>,
    /// Versions of objects whose bytes it has never had, of those that it has learned of since the group was
    /// clean: from another replica's log, or above the cursor of a backfill. A version that it had and lost
    /// is not among them: as far as it knows, that version may have been acknowledged.
    pub never_had: BTreeSet<(Key, Version)>,
    /// If the end of its disk's journal could not be read, the interval that it was in by then: what it did
    /// in it and in later ones may be lost, or was never finished. None once it has taken over the
    /// authoritative log.
    pub undecided: Option<Epoch>,
    /// The summaries of its objects.
    pub summary: Summary,
}

impl Durable {
    /// The state of a replica that has never held anything.
    #[must_use]
    pub fn new(config: &Config) -> Durable {
        Durable {
            epoch: 0,
            intervals: Vec::new(),
            last_epoch_started: 0,
            last_epoch_clean: 0,
            cursor: Cursor::End,
            log: Log::default(),
            missing: BTreeMap::new(),
            never_had: BTreeSet::new(),
            undecided: None,
            summary: Summary::new(config),
        }
    }

    /// The state of each replica of a filled and clean group, for the start of a study. `last_update` is the
    /// version of the last change; no object has a later version.
    #[must_use]
    pub fn of_clean_group(epoch: Epoch, last_update: Version, summary: Summary) -> Durable {
        assert!(last_update.epoch <= epoch, "a change of epoch {} before its map", last_update.epoch);
        let mut durable = Durable {
            epoch,
            intervals: Vec::new(),
            last_epoch_started: epoch,
            last_epoch_clean: epoch,
            cursor: Cursor::End,
            log: Log::starting_at(last_update),
            missing: BTreeMap::new(),
            never_had: BTreeSet::new(),
            undecided: None,
            summary,
        };
        durable.summary.begin_bitmap(epoch);
        durable
    }

    /// Whether the replica holds all that its log names, or knows what is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.cursor == Cursor::End
    }

    /// Notes that the changes after these may have been lost, or may never have been finished: the end of the
    /// disk's journal cannot be read. Call it before the replica starts.
    pub fn doubt(&mut self) {
        self.undecided = Some(self.undecided.map_or(self.epoch, |since| since.min(self.epoch)));
    }

    /// Notes that it has taken over the authoritative log of its interval: it knows every write that was
    /// acknowledged before.
    pub(crate) fn begin_with_the_log(&mut self) {
        self.last_epoch_started = self.epoch;
        self.undecided = None;
    }

    /// Writes an object. Every change of an object goes through this method, `publish` or `remove`, which
    /// update the summaries.
    pub(crate) fn put<O: Objects>(
        &mut self,
        objects: &mut O,
        key: Key,
        version: Version,
        payload: O::Payload,
    ) {
        let old = objects.look_up(key).map(|listed| listed.version);
        self.summary.update(key, old, Some(version));
        objects.put(key, version, payload);
    }

    /// Like [`Durable::put`], from a temporary object.
    pub(crate) fn publish<O: Objects>(&mut self, objects: &mut O, key: Key, version: Version) {
        let old = objects.look_up(key).map(|listed| listed.version);
        self.summary.update(key, old, Some(version));
        objects.publish(key, version);
    }

    /// Removes an object, if it exists.
    pub(crate) fn remove<O: Objects>(&mut self, objects: &mut O, key: Key) {
        if let Some(listed) = objects.look_up(key) {
            self.summary.update(key, Some(listed.version), None);
            objects.remove(key);
        }
    }

    /// Takes over the group's log from `common` on: undoes what this replica has after it, and records as
    /// missing what it does not have. Deletes are done immediately.
    pub(crate) fn merge<O: Objects>(
        &mut self,
        config: &Config,
        objects: &mut O,
        common: Version,
        entries: Vec<Entry>,
    ) {
        if config.planted == Some(Planted::KeepsDivergent) && self.log.head() > common {
            let head = self.log.head();
            entries.into_iter().filter(|entry| entry.version > head).for_each(|entry| self.log.append(entry));
            return;
        }
        let undone = self.log.rewind(common);
        assert_eq!(self.log.head(), common, "more was undone than differs");
        // Each object's version by the merged log: before the first change that is undone, or after the last
        // change that is added.
        let mut wanted: BTreeMap<Key, Option<Version>> = BTreeMap::new();
        let mut divergent: BTreeMap<Key, Vec<Version>> = BTreeMap::new();
        for entry in undone {
            wanted.entry(entry.key).or_insert(entry.prior);
            divergent.entry(entry.key).or_default().push(entry.version);
        }
        for entry in entries {
            self.note_new(objects, &entry);
            wanted.insert(entry.key, entry.result());
            divergent.entry(entry.key).or_default().extend(entry.undoes());
            self.log.append(entry);
        }
        let last = wanted.values().flatten().max();
        assert!(last.is_none_or(|last| *last <= self.log.head()), "{last:?} is wanted after the last change");
        for (key, want) in wanted {
            if self.cursor.covers(key) {
                let undone = divergent.get(&key).map_or(&[][..], |undone| undone);
                self.want(objects, key, want, undone);
            }
        }
    }

    /// Takes over a revert of an object whose reverted version is missing here.
    pub(crate) fn revert<O: Objects>(&mut self, objects: &mut O, entry: Entry) {
        let undone = entry.undoes().expect("it is a revert");
        self.log.append(entry);
        if self.cursor.covers(entry.key) {
            assert_eq!(self.missing.get(&entry.key), Some(&undone), "{entry:?} undoes what is here");
            self.want(objects, entry.key, entry.result(), &[undone]);
        }
    }

    /// Notes that a write was learned of, without its bytes. Whoever may have lost changes may have had it.
    pub(crate) fn note_new<O: Objects>(&mut self, objects: &O, entry: &Entry) {
        let has = objects.look_up(entry.key).is_some_and(|listed| listed.version == entry.version);
        let may_have_had = self.undecided.is_some_and(|since| entry.version.epoch >= since);
        if entry.change == Change::Write && !has && !may_have_had {
            self.never_had.insert((entry.key, entry.version));
        }
    }

    /// The versions of an object that it has never had.
    pub(crate) fn never_had_of(&self, key: Key) -> impl Iterator<Item = Version> + '_ {
        let last = Version { epoch: Epoch::MAX, counter: u64::MAX };
        self.never_had.range((key, Version::ZERO)..=(key, last)).map(|(_, version)| *version)
    }

    /// Whether it has certainly never had a version that it does not have now: it learned of the version from
    /// another's log, or not at all.
    pub(crate) fn has_never_had(&self, key: Key, version: Version) -> bool {
        self.log.is_unknown(version) || self.never_had.contains(&(key, version))
    }

    /// The object has arrived in the version that is wanted.
    pub(crate) fn found(&mut self, key: Key) {
        self.missing.remove(&key);
        let had: Vec<Version> = self.never_had_of(key).collect();
        for version in had {
            self.never_had.remove(&(key, version));
        }
    }

    fn want<O: Objects>(&mut self, objects: &mut O, key: Key, want: Option<Version>, undone: &[Version]) {
        let have = objects.look_up(key).map(|listed| listed.version);
        self.missing.remove(&key);
        if have == want {
            return;
        }
        // A version that the group has not accepted must never be visible again.
        if want.is_none() || have.is_some_and(|have| undone.contains(&have)) {
            self.remove(objects, key);
        }
        if let Some(want) = want {
            assert!(want <= self.log.head(), "{key:?} is wanted in {want}, after {}", self.log.head());
            self.missing.insert(key, want);
        }
    }

    /// Begins a new backfill: the objects stay, and each will be compared.
    pub(crate) fn begin_backfill<O: Objects>(
        &mut self,
        config: &Config,
        objects: &O,
        tail: Version,
        trimmed: Vec<Done>,
        entries: Vec<Entry>,
    ) {
        for entry in &entries {
            if self.log.is_unknown(entry.version) {
                self.note_new(objects, entry);
            }
        }
        self.log = Log::replaced(tail, trimmed, entries);
        assert_eq!(self.log.tail(), tail, "a log was taken over in part");
        if config.planted != Some(Planted::KeepsCursor) {
            self.cursor = Cursor::START;
        }
        self.missing.clear();
    }
}

#[cfg(test)]
mod tests {
    use towtank_merkle::Subspace;

    use super::*;
    use crate::RequestId;
    use crate::objects::{Memory, Size};

    /// A claim that a version was never here is a proof that it was not acknowledged.
    #[test]
    fn who_may_have_lost_a_write_does_not_say_that_it_never_had_it() {
        let config = Config::new(2, Subspace::WHOLE, 4).expect("few leaves");
        let written = |epoch| {
            let version = Version { epoch, counter: u64::from(epoch) };
            let request = RequestId { client: 1, number: version.counter };
            let key = Key::of_hash(epoch, u64::from(epoch));
            Entry { version, prior: None, key, change: Change::Write, request }
        };
        let never_had = |doubts: bool, refills: bool| {
            let mut durable = Durable::new(&config);
            durable.epoch = 5;
            if doubts {
                durable.doubt();
            }
            durable.epoch = 7;
            let (objects, entries) = (&mut Memory::<Size>::new(), vec![written(4), written(5), written(6)]);
            if refills {
                durable.begin_backfill(&config, objects, Version::ZERO, Vec::new(), entries);
            } else {
                durable.merge(&config, objects, Version::ZERO, entries);
            }
            durable.begin_with_the_log();
            assert_eq!((durable.undecided, durable.last_epoch_started), (None, 7));
            durable.never_had.iter().map(|(_, version)| version.epoch).collect::<BTreeSet<Epoch>>()
        };
        for refills in [false, true] {
            assert_eq!(never_had(false, refills), BTreeSet::from([4, 5, 6]));
            assert_eq!(never_had(true, refills), BTreeSet::from([4]));
        }
    }
}
