//! How an interval begins: the primary queries the others, takes over the authoritative log, and has them
//! follow.

use std::collections::BTreeSet;

use super::primary::{Peer, Primary, Slot, Stage};
use super::{After, Turn};
use crate::objects::Objects;
use crate::{
    Action, Activate, Ballot, Body, Config, Cursor, DeviceId, Done, Entry, Info, Log, Lot, Missed, Note,
    Outcome, Planted, Version,
};

impl<O: Objects> Turn<'_, O> {
    /// Tells all waiting clients to retry: only the next primary can know the outcome of their requests.
    pub(super) fn end_primary(&mut self) {
        let Some(primary) = self.it.primary.take() else { return };
        let asks = primary.waiting.iter().chain(primary.blocked.values().flatten()).chain(&primary.reads);
        let unknown = primary.in_flight.values().filter(|write| !write.is_answered);
        let mut requests: BTreeSet<_> = asks.map(|ask| ask.request).collect();
        requests.extend(unknown.map(|write| write.request));
        requests.into_iter().for_each(|request| self.reply(request, Outcome::Retry));
        if let Slot::Asked(token) | Slot::Held(token) = primary.slot {
            self.actions.push(Action::Release { token, lot: Lot::Local });
        }
    }

    pub(super) fn own_info(&mut self, asker: DeviceId) -> Info {
        let promised = self.promised_to_others(asker);
        let durable = &self.it.durable;
        Info {
            incarnation: self.it.incarnation,
            last_update: durable.log.head(),
            tail: durable.log.tail(),
            last_epoch_started: durable.last_epoch_started,
            cursor: durable.cursor,
            undecided: durable.undecided,
            bytes: self.objects.bytes(),
            promised,
        }
    }

    pub(super) fn begin_peering(&mut self) {
        let me = self.it.me;
        let own = self.own_info(me);
        let map = self.it.map.as_ref().expect("an interval has begun");
        let earlier = self.it.durable.intervals.iter().flat_map(|interval| &interval.acting);
        let earlier = earlier.filter(|member| map.alive.contains(member)).map(|member| &member.device);
        let mut asked: BTreeSet<DeviceId> = earlier.chain(&map.up).chain(&map.acting).copied().collect();
        asked.remove(&me);
        if self.it.config.planted == Some(Planted::ForgetsIntervals) {
            asked.retain(|device| map.acting.contains(device) || map.up.contains(device));
        }
        let mut primary = Box::new(Primary::new(self.now.saturating_add(own.promised)));
        primary.infos.insert(me, own);
        primary.asked = asked.clone();
        self.it.primary = Some(primary);
        self.note(Note::PeeringBegan);
        asked.iter().for_each(|device| self.say(*device, Body::Query));
        if asked.is_empty() {
            self.choose();
        }
    }

    pub(super) fn take_info(&mut self, from: DeviceId, info: Info) {
        let until = self.now.saturating_add(info.promised);
        let Some(primary) = self.it.primary.as_mut() else { return };
        if !primary.asked.remove(&from) {
            return;
        }
        primary.promised_until = primary.promised_until.max(until);
        assert!(info.tail <= info.last_update, "{from:?} tells of a log that ends before it begins");
        let before = primary.infos.insert(from, info);
        assert!(before.is_none(), "{from:?} answers twice");
        if primary.asked.is_empty() {
            self.choose();
        }
    }

    fn choose(&mut self) {
        let me = self.it.me;
        let Some(primary) = self.it.primary.as_mut() else { return };
        let map = self.it.map.as_ref().expect("an interval has begun");
        let (_, intervals) = self.it.durable.intervals.split_last().expect("the present one is noted");
        let forgets = self.it.config.planted == Some(Planted::ForgetsIntervals);
        let intervals = if forgets { &[] } else { intervals };
        let Config { size_min, planted, .. } = self.it.config;
        let ballot = Ballot { infos: &primary.infos, intervals, gone: &map.gone, size_min, planted };
        let blocked_by = ballot.blocked_by().map(|interval| interval.epoch);
        let authority = ballot.authority(me);
        let (None, Some(authority)) = (blocked_by, authority) else {
            primary.stage = Stage::Down;
            let interval = blocked_by.unwrap_or(map.epoch);
            self.note(Note::Down { interval });
            return;
        };
        let acting = ballot.acting(authority, &map.up, &map.acting);
        if !is_same_choice(&acting, &map.acting) {
            primary.stage = Stage::WantsOthers;
            let epoch = map.epoch;
            self.actions.push(Action::WantActing { epoch, acting });
        } else if authority == me {
            self.activate();
        } else {
            primary.stage = Stage::Fetching;
            self.say(authority, Body::GetLog);
        }
    }

    pub(super) fn take_log(&mut self, tail: Version, trimmed: Vec<Done>, entries: Vec<Entry>) {
        if self.it.primary.as_ref().is_none_or(|primary| primary.stage != Stage::Fetching) {
            return;
        }
        let theirs = Log::replaced(tail, trimmed, entries);
        let it = &mut *self.it;
        let common = theirs.common_with(it.durable.log.head());
        it.durable.merge(&it.config, self.objects, common, theirs.after(common));
        if it.config.planted != Some(Planted::KeepsDivergent) {
            assert_eq!(it.durable.log.head(), theirs.head(), "a log was taken over in part");
            // The other log may reach back further, and other replicas may need that.
            if theirs.tail() < it.durable.log.tail() {
                it.durable.log = theirs;
            }
        }
        self.activate();
    }

    /// Sends all other replicas what they need to follow.
    fn activate(&mut self) {
        let me = self.it.me;
        let promised = self.it.primary.as_ref().map_or(self.now, |primary| primary.promised_until);
        let promised = promised.checked_since(self.now).unwrap_or_default();
        let it = &mut *self.it;
        let Some(primary) = it.primary.as_mut() else { return };
        let map = it.map.as_ref().expect("an interval has begun");
        assert!(it.durable.is_complete(), "a primary is to be filled itself");
        assert_eq!(map.epoch, it.durable.epoch, "the last map is the one of the interval");
        it.durable.begin_with_the_log();
        primary.stage = Stage::Activating;
        let others: BTreeSet<DeviceId> = map.acting.iter().chain(&map.up).copied().collect();
        let mut messages = Vec::new();
        for device in others.into_iter().filter(|device| *device != me) {
            let info = primary.infos[&device];
            let is_target = !map.acting.contains(&device);
            let meets = it.durable.log.reaches_back_to(info.last_update);
            assert!(is_target || meets && info.is_complete(), "{device:?} acts and cannot catch up");
            let refills = !meets || is_target && info.is_complete();
            let log = &it.durable.log;
            let common = if refills { log.tail() } else { log.common_with(info.last_update) };
            let refill = refills.then(|| log.trimmed().copied().collect());
            let body = Activate { common, entries: log.after(common), refill, promised };
            messages.push((device, Body::Activate(body)));
            assert!(common >= log.tail() && common <= log.head(), "{device:?} is to follow from {common}");
            let cursor = if refills { Cursor::START } else { info.cursor };
            let (missing, missed) = Default::default();
            let peer = Peer { follows: false, missing, missed, cursor, is_target, resumes: !refills };
            primary.peers.insert(device, peer);
        }
        messages.into_iter().for_each(|(device, body)| self.say(device, body));
        self.activate_if_all_follow();
    }

    pub(super) fn take_activated(&mut self, from: DeviceId, missing: Vec<Missed>) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        let peer = primary.peers.get_mut(&from).expect("only who was told to follow does");
        assert!(!peer.follows, "{from:?} follows twice");
        peer.follows = true;
        peer.missing = missing.iter().map(|missed| (missed.key, missed.version)).collect();
        peer.missed = missing.into_iter().map(|missed| (missed.key, missed)).collect();
        self.activate_if_all_follow();
    }

    /// Makes the group active once all follow and no earlier primary may answer reads any more.
    pub(super) fn activate_if_all_follow(&mut self) {
        let now = self.now;
        let Some(primary) = self.it.primary.as_mut() else { return };
        if primary.stage != Stage::Activating || primary.peers.values().any(|peer| !peer.follows) {
            return;
        }
        let waits = self.it.config.lease.and(primary.promised_until.checked_since(now));
        let waits = waits.filter(|span| span.as_ns() > 0);
        if let Some(span) = waits.filter(|_| self.it.config.planted != Some(Planted::ServesDuringPromises)) {
            self.wake(span, After::PromisesOver);
            return;
        }
        primary.stage = Stage::Active;
        let missing =
            self.it.durable.missing.keys().chain(primary.peers.values().flat_map(|it| it.missing.keys()));
        let objects = missing.collect::<BTreeSet<_>>().len() as u64;
        primary.recovers_by_log = objects > 0;
        self.note_unsettled();
        let Some(primary) = self.it.primary.as_mut() else { return };
        let waiting = std::mem::take(&mut primary.waiting);
        let serves = self.serves();
        self.note(Note::Active { serves });
        if objects > 0 {
            self.note(Note::LogRecoveryBegan { objects });
        }
        waiting.into_iter().for_each(|ask| self.take_ask(ask));
        self.recover();
    }

    pub(super) fn serves(&self) -> bool {
        let is_active = self.it.primary.as_ref().is_some_and(|primary| primary.stage == Stage::Active);
        is_active && self.it.acting().len() >= self.it.config.size_min
    }

    /// Asks for other acting replicas if a better choice is possible now.
    pub(super) fn want_acting(&mut self) {
        let me = self.it.me;
        let (head, tail) = (self.it.durable.log.head(), self.it.durable.log.tail());
        let Some(primary) = self.it.primary.as_mut() else { return };
        let map = self.it.map.as_ref().expect("an interval has begun");
        for (device, info) in &mut primary.infos {
            if let Some(peer) = primary.peers.get(device) {
                *info = Info { last_update: head, tail, cursor: peer.cursor, ..*info };
            } else if *device == me {
                *info = Info { last_update: head, tail, ..*info };
            }
        }
        let Config { size_min, planted, .. } = self.it.config;
        let ballot = Ballot { infos: &primary.infos, intervals: &[], gone: &[], size_min, planted };
        let acting = ballot.acting(me, &map.up, &map.acting);
        if !is_same_choice(&acting, &map.acting) {
            let epoch = map.epoch;
            self.actions.push(Action::WantActing { epoch, acting });
        }
    }
}

/// Whether both have the same primary and the same other replicas, in any order.
fn is_same_choice(ours: &[DeviceId], theirs: &[DeviceId]) -> bool {
    let others = |devices: &[DeviceId]| devices.iter().copied().collect::<BTreeSet<_>>();
    ours.first() == theirs.first() && others(ours) == others(theirs)
}
