//! Log recovery: the primary fetches each object that a log names and that it misses itself, and then sends
//! it to all others that miss it. Objects that clients wait for go first.

use super::primary::{Recovering, Stage};
use super::{After, Turn};
use crate::objects::{Objects, Payload};
use crate::{Body, DeviceId, Key, Note, Planted, Version, Work};

impl<O: Objects> Turn<'_, O> {
    /// Begins as many recoveries as allowed; continues with backfills when nothing is missing any more.
    pub(super) fn recover(&mut self) {
        while let Some(key) = self.next_missing() {
            self.rest();
            let Some(primary) = self.it.primary.as_mut() else { return };
            let before = primary.recovering.insert(key, Recovering::default());
            assert!(before.is_none(), "{key:?} is being recovered already");
            if self.it.durable.missing.contains_key(&key) {
                self.pull(key);
            } else {
                self.push_to_all(key);
            }
        }
        let Some(primary) = self.it.primary.as_mut() else { return };
        let misses = |missing: &std::collections::BTreeMap<Key, Version>| !missing.is_empty();
        let is_missing =
            misses(&self.it.durable.missing) || primary.peers.values().any(|it| misses(&it.missing));
        let is_open = is_missing || !primary.recovering.is_empty() || primary.is_reverting();
        if primary.stage != Stage::Active || is_open {
            return;
        }
        primary.urgent.clear();
        if std::mem::take(&mut primary.recovers_by_log) {
            self.note(Note::LogRecoveryEnded);
        }
        self.fill_targets();
    }

    /// The next object to recover, if another recovery may begin now.
    fn next_missing(&self) -> Option<Key> {
        let primary = self.it.primary.as_ref()?;
        let may =
            primary.stage == Stage::Active && !primary.rests && primary.active() < self.it.config.active_max;
        if !may {
            return None;
        }
        let own = &self.it.durable.missing;
        let is_open = |key: &&Key| !primary.recovering.contains_key(key) && !primary.unfound.contains(key);
        let is_missing = |key: &&Key| {
            own.contains_key(key) || primary.peers.values().any(|peer| peer.missing.contains_key(key))
        };
        let urgent = primary.urgent.iter().find(|key| is_open(key) && is_missing(key));
        let of_others = || primary.peers.values().find_map(|peer| peer.missing.keys().find(is_open));
        urgent.or_else(|| own.keys().find(is_open)).or_else(of_others).copied()
    }

    /// Notes that an operation begins. If pauses are configured, the group pauses after it, and nothing else
    /// begins until then.
    pub(super) fn rest(&mut self) {
        let sleep = self.it.config.sleep;
        let Some(primary) = self.it.primary.as_mut().filter(|_| sleep.as_ns() > 0) else { return };
        assert!(!primary.rests, "an operation has begun while the group rests");
        primary.rests = true;
        primary.rest_is_due = true;
    }

    /// Begins the pause once the operation is done: as in Ceph, the pause follows the operation and does not
    /// overlap it.
    pub(super) fn begin_rest(&mut self) {
        let sleep = self.it.config.sleep;
        let Some(primary) = self.it.primary.as_mut().filter(|primary| primary.rest_is_due) else { return };
        if primary.active() == 0 && !primary.fills.values().any(super::fill::Fill::is_looking) {
            primary.rest_is_due = false;
            self.wake(sleep, After::Rested);
        }
    }

    pub(super) fn rested(&mut self) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        primary.rests = false;
        self.recover();
        self.fill_all();
    }

    /// Asks the next replica that may have the object.
    fn pull(&mut self, key: Key) {
        let me = self.it.me;
        let version = self.it.durable.missing[&key];
        if self.it.config.data_shards > 1 {
            if self.can_gather(key) {
                self.push(me, key, version);
            } else {
                self.give_up(key);
            }
            return;
        }
        let Some(primary) = self.it.primary.as_mut() else { return };
        let recovering = primary.recovering.get_mut(&key).expect("it is being recovered");
        let misses =
            |device: &DeviceId| primary.peers.get(device).is_some_and(|peer| peer.missing.contains_key(&key));
        let should_have = |device: &DeviceId| {
            let info = &primary.infos[device];
            info.last_update >= version && info.cursor.covers(key)
        };
        let untried =
            |device: &&DeviceId| **device != me && !recovering.tried.contains(device) && !misses(device);
        let mut others = primary.infos.keys().filter(untried).copied();
        // A target of a new backfill may be the last replica that has it.
        let any = others.clone().next();
        let source = others.find(should_have).or(any);
        match source {
            Some(source) => {
                assert!(recovering.tried.insert(source), "{source:?} is asked twice");
                self.say(source, Body::Pull(key, version));
            }
            None => self.give_up(key),
        }
    }

    /// No available replica has the object, or too few have a shard of it.
    fn give_up(&mut self, key: Key) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        let tried = primary.recovering.remove(&key).unwrap_or_default();
        match self.entry_to_revert(key, &tried.never_had) {
            Some(entry) => self.revert(entry),
            None => {
                let Some(primary) = self.it.primary.as_mut() else { return };
                primary.unfound.insert(key);
                self.note(Note::Unfound { key });
            }
        }
        self.recover();
    }

    pub(super) fn not_there(&mut self, from: DeviceId, key: Key, version: Version, never: bool) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        let recovering = primary.recovering.get_mut(&key).expect("only who was asked answers");
        assert!(recovering.tried.contains(&from), "{from:?} was not asked");
        assert_eq!(
            self.it.durable.missing.get(&key),
            Some(&version),
            "{from:?} was asked for another version"
        );
        if never {
            recovering.never_had.insert(from);
        }
        self.pull(key);
    }

    fn push_to_all(&mut self, key: Key) {
        if !self.can_gather(key) {
            self.give_up(key);
            return;
        }
        let Some(primary) = self.it.primary.as_mut() else { return };
        let version = self.objects.look_up(key).map(|listed| listed.version);
        let recovering = primary.recovering.get_mut(&key).expect("it is being recovered");
        for (device, peer) in &primary.peers {
            if let Some(missing) = peer.missing.get(&key) {
                assert_eq!(
                    Some(*missing),
                    version,
                    "{device:?} misses {key:?} in a version that is not ours"
                );
                recovering.waits_for.insert(*device);
            }
        }
        let waits_for = recovering.waits_for.clone();
        if waits_for.is_empty() {
            primary.recovering.remove(&key);
            self.retry(key);
            self.recover();
            self.fill_all();
            return;
        }
        let version = version.expect("it is missing elsewhere in this version");
        waits_for.into_iter().for_each(|device| self.push(device, key, version));
    }

    /// Begins to send an object.
    pub(super) fn push(&mut self, to: DeviceId, key: Key, version: Version) {
        self.it.sending.insert((to, key), version);
        self.send_part(to, key, version, 0);
    }

    fn send_part(&mut self, to: DeviceId, key: Key, version: Version, at: u64) {
        if self.it.config.data_shards > 1 {
            self.gather(to, key, version, at);
            return;
        }
        let (part, is_last) = self.part_of(key, version, at);
        let work = Work::Read { bytes: part.size(), is_recovery: true };
        self.work(work, After::Say { to, body: Body::Part { key, version, at, part, is_last } });
    }

    /// A part of an object on this device, and whether it is the last.
    pub(super) fn part_of(&self, key: Key, version: Version, at: u64) -> (O::Payload, bool) {
        let listed = self.objects.look_up(key).filter(|listed| listed.version == version);
        let listed = listed.expect("an object that is being sent does not change");
        assert!(at <= listed.size, "a part of {key:?} at {at}, of {} bytes", listed.size);
        let part = self.objects.read(key, at, self.it.config.chunk_bytes).expect("it was just looked up");
        let is_last = at + part.size() >= listed.size;
        assert!(is_last || part.size() > 0, "a part of {key:?} at {at} is empty");
        (part, is_last)
    }

    /// Handles the primary's request for an object that it misses.
    pub(super) fn give(&mut self, from: DeviceId, key: Key, version: Version) {
        if self.objects.look_up(key).is_some_and(|listed| listed.version == version) {
            self.push(from, key, version);
        } else {
            let never = self.it.durable.has_never_had(key, version);
            self.say(from, Body::NotHere(key, version, never));
        }
    }

    /// Takes a part of an object that the log names as missing here, or that a backfill found to differ.
    pub(super) fn take_part(
        &mut self,
        from: DeviceId,
        (key, version): (Key, Version),
        at: u64,
        part: O::Payload,
        is_last: bool,
    ) {
        let it = &mut *self.it;
        let is_missing = it.durable.missing.get(&key) == Some(&version);
        let have = self.objects.look_up(key).map(|listed| listed.version);
        assert!(is_missing || !it.durable.cursor.covers(key), "{from:?} sends {key:?}, which nobody misses");
        assert_ne!(have, Some(version), "{from:?} sends {key:?}, which does not differ");
        let bytes = part.size();
        let staged = it.staged.get(&key).filter(|(of, _)| at > 0 && *of == version).map_or(0, |(_, to)| *to);
        assert_eq!(staged, at, "a part of {key:?} is missing");
        let next = (!is_last).then_some(at + bytes);
        match next {
            Some(next) => {
                self.objects.stage(key, at, part);
                it.staged.insert(key, (version, next));
            }
            None => {
                // The first part from a stopped backfill may still be staged: publishing removes it.
                let is_staged = it.staged.remove(&key).is_some();
                self.keep(key, version, (at, is_staged), part, is_missing);
            }
        }
        self.work(Work::Apply { bytes, is_recovery: true }, After::Stored { from, key, version, next });
    }

    /// Stores an object whose last part has arrived.
    fn keep(
        &mut self,
        key: Key,
        version: Version,
        (at, is_staged): (u64, bool),
        part: O::Payload,
        is_missing: bool,
    ) {
        let durable = &mut self.it.durable;
        if is_missing && self.it.config.planted == Some(Planted::TreeMissesRecovery) {
            self.objects.put(key, version, part);
        } else if !is_staged {
            durable.put(self.objects, key, version, part);
        } else {
            self.objects.stage(key, at, part);
            durable.publish(self.objects, key, version);
        }
        durable.found(key);
    }

    /// A part is durable here; after the last part of an object that this primary missed, the others get it.
    pub(super) fn stored_here(&mut self, from: DeviceId, key: Key, version: Version, next: Option<u64>) {
        let me = self.it.me;
        if from != me {
            self.say(from, Body::Stored(key, version, next));
        } else if let Some(at) = next {
            self.gather(me, key, version, at);
        } else {
            self.it.sending.remove(&(me, key));
        }
        let Some(primary) = self.it.primary.as_ref().filter(|_| next.is_none()) else { return };
        assert!(primary.recovering.contains_key(&key), "{key:?} has come to a primary that did not ask");
        self.note(Note::Recovered { key, to: me, version });
        self.push_to_all(key);
    }

    /// A part is durable at another replica.
    pub(super) fn stored_there(&mut self, from: DeviceId, key: Key, version: Version, next: Option<u64>) {
        // The message may belong to a backfill that was stopped.
        if self.it.sending.get(&(from, key)) != Some(&version) {
            return;
        }
        if let Some(at) = next {
            let is_same = self.objects.look_up(key).is_some_and(|listed| listed.version == version);
            if is_same {
                self.send_part(from, key, version, at);
            }
            return;
        }
        self.it.sending.remove(&(from, key));
        let Some(primary) = self.it.primary.as_mut() else { return };
        let Some(recovering) = primary.recovering.get_mut(&key) else {
            self.filled_there(from, key, Some(version));
            return;
        };
        let Some(peer) = primary.peers.get_mut(&from).filter(|_| recovering.waits_for.remove(&from)) else {
            return;
        };
        let missed = peer.missing.remove(&key);
        assert_eq!(missed, Some(version), "{from:?} did not miss {key:?} in this version");
        let is_done = recovering.waits_for.is_empty();
        self.note(Note::Recovered { key, to: from, version });
        if let Some(primary) = self.it.primary.as_mut().filter(|_| is_done) {
            primary.recovering.remove(&key);
            primary.urgent.remove(&key);
            self.retry(key);
            self.recover();
            self.fill_all();
        }
    }
}
