//! What a replica does for its primary.

use super::After;
use super::Turn;
use crate::objects::{Objects, Payload};
use crate::{
    Action, Activate, Body, Change, Cursor, DeviceId, Entry, Key, Lot, Missed, Run, Token, Version, Work,
};
use towtank_units::SimTime;

impl<O: Objects> Turn<'_, O> {
    pub(super) fn tell_info(&mut self, to: DeviceId) {
        let info = self.own_info(to);
        self.say(to, Body::Info(info));
    }

    pub(super) fn tell_log(&mut self, to: DeviceId) {
        let log = &self.it.durable.log;
        let trimmed = log.trimmed().copied().collect();
        let body = Body::Log { tail: log.tail(), trimmed, entries: log.after(log.tail()) };
        self.say(to, body);
    }

    /// Takes over the log of the interval's primary, and reports what is missing.
    pub(super) fn follow(&mut self, from: DeviceId, activate: Activate) {
        let it = &mut *self.it;
        assert!(it.durable.last_epoch_started < it.durable.epoch, "an interval begins twice");
        assert!(it.primary.is_none(), "a primary is told to follow");
        let Activate { common, entries, refill, promised } = activate;
        match refill {
            Some(trimmed) => it.durable.begin_backfill(&it.config, self.objects, common, trimmed, entries),
            None => it.durable.merge(&it.config, self.objects, common, entries),
        }
        it.durable.begin_with_the_log();
        let until = self.now.saturating_add(promised);
        let known = it.promises.entry(None).or_insert(until);
        *known = until.max(*known);
        let missed = |(key, version): (&Key, &Version)| Missed {
            key: *key,
            version: *version,
            has: self.objects.look_up(*key).map(|listed| listed.version),
            never_had: it.durable.never_had_of(*key).collect(),
        };
        let missing = it.durable.missing.iter().map(missed).collect();
        self.say(from, Body::Activated(missing));
    }

    pub(super) fn take_write(
        &mut self,
        from: DeviceId,
        entry: Entry,
        payload: Option<O::Payload>,
        applies: bool,
        trim_to: Version,
    ) {
        let it = &mut *self.it;
        let (key, version) = (entry.key, entry.version);
        assert_eq!(version.epoch, it.durable.epoch, "a write of another interval");
        assert!(applies || !it.durable.cursor.covers(key), "{key:?} lies below the cursor and was left out");
        let bytes = payload.as_ref().map_or(0, Payload::size);
        if entry.undoes().is_some() {
            it.durable.revert(self.objects, entry);
        } else {
            assert!(!it.durable.missing.contains_key(&key), "{key:?} is missing here and was written");
            it.durable.log.append(entry);
        }
        if !applies {
            it.durable.note_new(self.objects, &entry);
        }
        if applies && entry.undoes().is_none() {
            assert_eq!(payload.is_some(), entry.change == Change::Write, "a write without content");
            match payload {
                Some(payload) => it.durable.put(self.objects, key, version, payload),
                None => it.durable.remove(self.objects, key),
            }
        }
        if trim_to > it.durable.log.tail() {
            it.durable.log.trim(trim_to, it.config.requests_max);
        }
        let work = Work::Apply { bytes, is_recovery: false };
        self.work(work, After::Say { to: from, body: Body::Committed(version) });
    }

    pub(super) fn remove_for(&mut self, from: DeviceId, round: u64, key: Key) {
        assert!(!self.it.durable.cursor.covers(key), "a backfill removes {key:?} below its cursor");
        self.it.durable.remove(self.objects, key);
        let work = Work::Apply { bytes: 0, is_recovery: true };
        self.work(work, After::Say { to: from, body: Body::Removed(round, key) });
    }

    /// Lists the objects of some runs, at most as many as requested.
    pub(super) fn look_for(&mut self, from: DeviceId, round: u64, runs: &[Run], most: usize) {
        let mut listed = Vec::new();
        let mut end = runs.last().map_or(Cursor::End, |run| run.to);
        for run in runs {
            let left = most - listed.len();
            let found = self.objects.scan(run.from, run.to, left);
            assert!(found.len() <= left, "a scan found more than was asked for");
            listed.extend(found.iter().map(|object| (object.key, object.version)));
            if let Some((last, _)) = listed.last().filter(|_| listed.len() == most) {
                end = Cursor::after(*last).min(end);
                break;
            }
        }
        assert!(listed.is_sorted_by(|left, right| left.0 < right.0), "a scan is out of order");
        let work = Work::Look { objects: listed.len() as u64 };
        self.work(work, After::Say { to: from, body: Body::Listed(round, listed, end) });
    }

    /// Stores how far this replica is backfilled.
    pub(super) fn keep_progress(&mut self, from: DeviceId, cursor: Cursor) {
        let durable = &mut self.it.durable;
        assert!(cursor >= durable.cursor, "a backfill goes back from {:?} to {cursor:?}", durable.cursor);
        durable.cursor = cursor;
        if cursor == Cursor::End {
            self.it.snapshot = None;
        }
        self.say(from, Body::ProgressKept(cursor));
    }

    /// All replicas are equal: forgets earlier intervals.
    pub(super) fn note_clean(&mut self) {
        let durable = &mut self.it.durable;
        assert!(durable.is_complete() && durable.missing.is_empty(), "a replica is clean and misses objects");
        durable.never_had.clear();
        let epoch = durable.epoch;
        durable.last_epoch_clean = epoch;
        durable.intervals.retain(|interval| interval.epoch >= epoch);
        durable.summary.begin_bitmap(epoch);
    }

    pub(super) fn renew_for(&mut self, from: DeviceId, sent: SimTime) {
        let until = self.now.saturating_add(self.it.config.lease.unwrap_or_default());
        let known = self.it.promises.entry(Some(from)).or_insert(until);
        *known = until.max(*known);
        self.say(from, Body::Renewed(sent));
    }

    /// Requests a slot for a primary that wants to backfill this replica.
    pub(super) fn reserve_for(&mut self, round: u64, priority: u8, bytes: u64) {
        self.give_back_remote_slot();
        let token = self.token();
        self.it.remote_slot = Some((token, round));
        let bytes = bytes.saturating_sub(self.objects.bytes());
        self.actions.push(Action::Reserve { token, lot: Lot::Remote, priority, bytes });
    }

    pub(super) fn take_slot(&mut self, token: Token) {
        match self.it.remote_slot.filter(|(asked, _)| *asked == token) {
            Some((_, round)) => self.tell_primary(Body::Reserved(round)),
            None => self.take_local_slot(token),
        }
    }

    /// A slot was refused or revoked; `body` makes the message to the primary from the round.
    pub(super) fn lose_slot(&mut self, token: Token, body: fn(u64) -> Body<O::Payload>) {
        match self.it.remote_slot.take_if(|(asked, _)| *asked == token) {
            Some((_, round)) => self.tell_primary(body(round)),
            None => self.lose_local_slot(token),
        }
    }

    fn tell_primary(&mut self, body: Body<O::Payload>) {
        let primary = self.it.acting().first().copied();
        self.say(primary.expect("a primary has asked for the slot"), body);
    }
}
