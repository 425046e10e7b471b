//! Changes that nobody can know of: clients do not see an object before it is certain that it will stay, and
//! an object that no replica has any more is what it was before.
//!
//! A write is acknowledged when all acting replicas have it. One that was interrupted may be on a single
//! device, be named by the log that all take over, and then be damaged there. As long as clients neither were
//! informed that it is done nor have read it, it need not have happened.

use std::collections::BTreeSet;

use super::Turn;
use super::primary::{Primary, Stage};
use crate::objects::Objects;
use crate::{Change, DeviceId, Entry, Interval, Key, Member, Note, Planted, Version};

impl<O: Objects> Turn<'_, O> {
    /// Whether clients must not see an object yet.
    pub(super) fn is_unsettled(&self, key: Key) -> bool {
        let is_planted = self.it.config.planted == Some(Planted::ConfirmsEarly);
        !is_planted && self.it.primary.as_ref().is_some_and(|primary| primary.unsettled.contains_key(&key))
    }

    /// With all replicas following: notes which objects clients must not see yet.
    pub(super) fn note_unsettled(&mut self) {
        // The shards of a coded group are never reverted.
        let Some(primary) = self.it.primary.as_ref().filter(|_| self.it.config.data_shards == 1) else {
            return;
        };
        let durable = &self.it.durable;
        let of_others = primary.peers.values().filter(|peer| !peer.is_target).flat_map(|peer| &peer.missing);
        let missing = durable.missing.iter().chain(of_others);
        let open = missing.filter(|(key, version)| !self.is_settled(**key, **version));
        // Who led the interval of a change has had it: without another replica there is no proof.
        let may_be_proven = |version: Version| {
            let is = |interval: &Interval| interval.epoch == version.epoch && interval.acting.len() > 1;
            durable.intervals.iter().any(is)
        };
        let first = |version| durable.log.first_leading_to(version).filter(|_| may_be_proven(version));
        let unsettled = open.map(|(key, version)| (*key, first(*version))).collect();
        if let Some(primary) = self.it.primary.as_mut() {
            primary.unsettled = unsettled;
        }
    }

    /// Whether all acting replicas of some interval are known to have had a version: then it can never be
    /// reverted.
    fn is_settled(&self, key: Key, version: Version) -> bool {
        let me = self.it.me;
        let Some(primary) = self.it.primary.as_ref() else { return false };
        let has = |member: &Member| match primary.peers.get(&member.device) {
            _ if !primary.has_heard(*member) => false,
            Some(peer) => !peer.is_target && !peer.missing.contains_key(&key),
            None => member.device == me && !self.it.durable.missing.contains_key(&key),
        };
        let mut intervals = self.served_since(version);
        version.epoch < self.it.durable.last_epoch_clean
            || intervals.any(|interval| interval.acting.iter().all(has))
    }

    /// The earlier intervals in which clients may have seen a version.
    fn served_since(&self, version: Version) -> impl Iterator<Item = &Interval> + '_ {
        let earlier = self.it.durable.intervals.split_last().map_or(&[][..], |(_, earlier)| earlier);
        let size_min = self.it.config.size_min;
        earlier
            .iter()
            .filter(move |interval| interval.epoch >= version.epoch && interval.acting.len() >= size_min)
    }

    /// Notes that no acting replica misses an object any more, if that is so.
    pub(super) fn settle(&mut self, key: Key) {
        let is_missing = self.it.durable.missing.contains_key(&key);
        if let Some(primary) = self.it.primary.as_mut()
            && !is_missing
            && !primary.is_missing_at_acting(key)
        {
            primary.unsettled.remove(&key);
        }
    }

    /// The change that undoes the version of an object that no available replica has: none if that version
    /// may have been acknowledged or read. `others` have answered that they never had it.
    pub(super) fn entry_to_revert(&self, key: Key, others: &BTreeSet<DeviceId>) -> Option<Entry> {
        let durable = &self.it.durable;
        let undone = *durable.missing.get(&key)?;
        // With too few replicas to serve, only if others are to be filled, which waits for this.
        let is_active = |primary: &Primary<_>| primary.stage == Stage::Active;
        let primary = self.it.primary.as_deref().filter(|primary| is_active(primary))?;
        let may_revert = self.serves() || primary.targets().next().is_some();
        if self.it.config.data_shards > 1 || !may_revert || !self.was_never_seen(key, undone, others) {
            return None;
        }
        let made = durable.log.get(undone)?;
        let version = durable.log.head().next_in(durable.epoch);
        let change = Change::Revert(made.prior);
        Some(Entry { version, prior: Some(undone), key, change, request: made.request })
    }

    /// Whether in each interval in which clients might have seen a version, a replica acted that has never
    /// had it.
    fn was_never_seen(&self, key: Key, version: Version, others: &BTreeSet<DeviceId>) -> bool {
        let (me, durable) = (self.it.me, &self.it.durable);
        let Some(primary) = self.it.primary.as_ref() else { return false };
        let missed = |device: &DeviceId| primary.peers.get(device).map(|peer| peer.missed.get(&key));
        let never_had = |member: &Member| match missed(&member.device) {
            // A device without its former objects does not know what it has had.
            _ if !primary.has_heard(*member) => false,
            _ if others.contains(&member.device) => true,
            Some(missed) => missed.is_some_and(|missed| missed.never_had.contains(&version)),
            None => member.device == me && durable.never_had.contains(&(key, version)),
        };
        let is_known = durable.intervals.iter().any(|interval| interval.epoch == version.epoch);
        let is_planted = self.it.config.planted == Some(Planted::RevertsAnything);
        is_planted
            || is_known && self.served_since(version).all(|interval| interval.acting.iter().any(never_had))
    }

    /// Undoes a version on all replicas: what was there before is there again, or missing.
    pub(super) fn revert(&mut self, entry: Entry) {
        let (key, to) = (entry.key, entry.result());
        let undone = entry.undoes().expect("it is a revert");
        self.it.durable.revert(self.objects, entry);
        let Some(primary) = self.it.primary.as_mut() else { return };
        for peer in primary.peers.values_mut().filter(|peer| peer.cursor.covers(key)) {
            let missed = peer.missing.remove(&key);
            assert_eq!(missed, Some(undone), "a replica has what is undone");
            let has = peer.missed.get(&key).and_then(|missed| missed.has);
            if let Some(to) = to.filter(|_| has != to) {
                peer.missing.insert(key, to);
            }
        }
        self.note(Note::Reverted { key, undone, to });
        self.replicate(entry, None);
        self.settle(key);
    }
}
