//! Backfill, the primary's side: a local slot, a slot at the target, discovery, and then the differences
//! batch by batch.
//!
//! Each target has its own [`Fill`]. Writes below its `started` go to the target too; those above go to its
//! log only, and the objects they touch will be looked at. The target's durable cursor is advanced when a
//! batch is done.

use std::collections::BTreeMap;

use super::fill::{Fill, Phase};
use super::look::{Batch, Look, Runs, Verdict};
use super::primary::Slot;
use super::{After, Turn};
use crate::objects::Objects;
use crate::{Action, Body, Cursor, DeviceId, Key, Lot, Note, Planted, Tally, Token, Version, Work};

/// Ceph's backfill priority of a degraded group, and of a group below its `size_min`.
const PRIORITY: u8 = 140;
const PRIORITY_INACTIVE: u8 = 220;

impl<O: Objects> Turn<'_, O> {
    fn priority(&self) -> u8 {
        let (acting, config) = (self.it.acting().len(), &self.it.config);
        let lacking = config.size.saturating_sub(acting).min(20) as u8;
        if acting < config.size_min { PRIORITY_INACTIVE + lacking } else { PRIORITY + lacking }
    }

    /// Nothing is missing any more: starts backfills of the targets, or reports that the group is clean.
    pub(super) fn fill_targets(&mut self) {
        let priority = self.priority();
        // A shard is decoded from others: with too few of them no target can be backfilled.
        let can_fill = self.it.acting().len() >= self.it.config.data_shards;
        let Some(primary) = self.it.primary.as_mut() else { return };
        if primary.targets().next().is_none() {
            self.note_clean_if_whole();
        } else if primary.slot == Slot::None && can_fill {
            let token = self.token();
            if let Some(primary) = self.it.primary.as_mut() {
                primary.slot = Slot::Asked(token);
            }
            self.actions.push(Action::Reserve { token, lot: Lot::Local, priority, bytes: 0 });
        } else {
            self.fill_all();
        }
    }

    fn note_clean_if_whole(&mut self) {
        let is_whole = self.it.acting().len() >= self.it.config.size;
        let Some(primary) = self.it.primary.as_mut().filter(|primary| is_whole && !primary.is_clean) else {
            return;
        };
        primary.is_clean = true;
        let others: Vec<DeviceId> = primary.peers.keys().copied().collect();
        self.note_clean();
        self.note(Note::Clean);
        others.into_iter().for_each(|device| self.say(device, Body::Clean));
    }

    pub(super) fn take_local_slot(&mut self, token: Token) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        if primary.slot != Slot::Asked(token) {
            return;
        }
        primary.slot = Slot::Held(token);
        assert!(primary.fills.is_empty(), "a backfill was begun without a slot");
        let targets: Vec<DeviceId> = primary.targets().collect();
        assert!(!targets.is_empty(), "a slot was asked for and nobody is to be filled");
        targets.into_iter().for_each(|target| self.ask_remote_slot(target));
    }

    /// Stops all backfills; they continue from the targets' cursors once there is a slot again.
    pub(super) fn lose_local_slot(&mut self, token: Token) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        if !matches!(primary.slot, Slot::Asked(held) | Slot::Held(held) if held == token) {
            return;
        }
        primary.slot = Slot::None;
        let targets: Vec<DeviceId> = primary.fills.keys().copied().collect();
        for target in targets {
            self.stop_fill(target);
            self.say(target, Body::Release);
        }
        self.recover();
    }

    fn stop_fill(&mut self, target: DeviceId) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        let Some(fill) = primary.fills.remove(&target) else { return };
        primary.gathers.retain(|_, gather| gather.to != target);
        // A part that is being read must not arrive after what the next backfill finds out.
        let is_part = |after: &After<O::Payload>| matches!(after, After::Say { to, body: Body::Part { .. } } if *to == target);
        self.it.pending.retain(|_, after| !is_part(after));
        for key in fill.in_flight.into_keys() {
            self.it.sending.remove(&(target, key));
            self.retry(key);
        }
    }

    pub(super) fn ask_remote_slot(&mut self, target: DeviceId) {
        let priority = self.priority();
        let bytes = self.objects.bytes();
        let Some(primary) = self.it.primary.as_mut() else { return };
        let is_target = primary.peers.get(&target).is_some_and(|peer| peer.is_target);
        let is_filled =
            primary.fills.get(&target).is_some_and(|fill| !matches!(fill.phase, Phase::Reserving));
        if !is_target || is_filled || !matches!(primary.slot, Slot::Held(_)) {
            return;
        }
        primary.rounds += 1;
        let round = primary.rounds;
        let started = primary.peers[&target].cursor;
        let (in_flight, tally) = (BTreeMap::new(), Tally::default());
        let fill = Fill { round, started, in_flight, phase: Phase::Reserving, tally };
        primary.fills.insert(target, fill);
        self.say(target, Body::Reserve { round, priority, bytes });
    }

    pub(super) fn reserved_there(&mut self, from: DeviceId, round: u64) {
        if self.fill_of(from, round).is_some() {
            self.discover(from);
        }
    }

    pub(super) fn refused_there(&mut self, from: DeviceId, round: u64) {
        if self.fill_of(from, round).is_some() {
            self.note(Note::TargetFull { target: from });
            let retry = self.it.config.retry;
            self.wake(retry, After::AskSlot { target: from });
        }
    }

    pub(super) fn revoked_there(&mut self, from: DeviceId, round: u64) {
        if self.fill_of(from, round).is_some() {
            self.stop_fill(from);
            self.ask_remote_slot(from);
            // The stopped backfill's objects in flight may have held up other targets.
            self.fill_all();
        }
    }

    pub(super) fn fill_of(&mut self, target: DeviceId, round: u64) -> Option<&mut Fill> {
        self.it.primary.as_mut()?.fills.get_mut(&target).filter(|fill| fill.round == round)
    }

    pub(super) fn fill_all(&mut self) {
        let targets: Vec<DeviceId> =
            self.it.primary.as_ref().map_or(Vec::new(), |primary| primary.fills.keys().copied().collect());
        targets.into_iter().for_each(|target| self.fill(target));
    }

    /// Continues the backfill of a target as far as possible.
    pub(super) fn fill(&mut self, target: DeviceId) {
        loop {
            let Some(primary) = self.it.primary.as_mut() else { return };
            let may_begin = !primary.rests && primary.active() < self.it.config.active_max;
            let Some(fill) = primary.fills.get_mut(&target) else { return };
            let Phase::Looking(look) = &mut fill.phase else { return };
            let most = self.it.config.scan_max;
            let key = match look {
                Look::Objects { named, taken } if named.is_empty() || *taken >= most => {
                    if named.is_empty() {
                        fill.started = Cursor::End;
                    }
                    if !self.move_cursor(target) {
                        return;
                    }
                    continue;
                }
                Look::Objects { named, taken } => {
                    if !may_begin {
                        return;
                    }
                    let key = named.pop_first().expect("it is not empty");
                    assert!(!fill.started.covers(key), "{key:?} was compared before");
                    *taken += 1;
                    fill.tally.looked_at += 1;
                    key
                }
                Look::Ranges { batch: None, .. } => {
                    if fill.in_flight.is_empty() && !primary.rests {
                        self.begin_batch(target);
                    }
                    return;
                }
                Look::Ranges { batch: Some(batch), .. } => match batch.verdict() {
                    None => return,
                    Some(Verdict::Same(key)) if self.it.config.planted != Some(Planted::SendsWhatIsEqual) => {
                        batch.take(key);
                        fill.started = Cursor::after(key);
                        continue;
                    }
                    Some(Verdict::Differs(key) | Verdict::Same(key)) => {
                        if !may_begin {
                            return;
                        }
                        batch.take(key);
                        key
                    }
                    Some(Verdict::UpTo(end)) => {
                        assert!(end >= fill.started, "a batch ends before it began");
                        fill.started = end;
                        if end < batch.end {
                            let runs = batch.go_on_from(end);
                            let body = Body::Scan(fill.round, runs, most);
                            self.say(target, body);
                            return;
                        }
                        if !self.move_cursor(target) {
                            return;
                        }
                        continue;
                    }
                },
            };
            self.bring(target, key);
        }
    }

    /// Makes an object at a target equal to the one here.
    fn bring(&mut self, target: DeviceId, key: Key) {
        let found = self.objects.look_up(key);
        if found.is_some() {
            self.rest();
        }
        let Some(primary) = self.it.primary.as_mut() else { return };
        let Some(fill) = primary.fills.get_mut(&target) else { return };
        let version = found.map(|listed| listed.version);
        assert!(!fill.started.covers(key), "{key:?} was compared before");
        fill.started = Cursor::after(key);
        let before = fill.in_flight.insert(key, version);
        assert!(before.is_none(), "{key:?} is on its way already");
        let round = fill.round;
        match found {
            Some(listed) => {
                fill.tally.recovered += 1;
                fill.tally.recovered_bytes += listed.size;
                self.push(target, key, listed.version);
            }
            None => {
                fill.tally.removed += 1;
                self.say(target, Body::Remove(round, key));
            }
        }
    }

    pub(super) fn removed_there(&mut self, from: DeviceId, round: u64, key: Key) {
        if self.fill_of(from, round).is_some() {
            self.filled_there(from, key, None);
        }
    }

    /// An object at the target now equals the one here.
    pub(super) fn filled_there(&mut self, from: DeviceId, key: Key, version: Option<Version>) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        let Some(fill) = primary.fills.get_mut(&from) else { return };
        if fill.in_flight.get(&key) != Some(&version) {
            return;
        }
        fill.in_flight.remove(&key);
        if let Some(version) = version {
            self.note(Note::Recovered { key, to: from, version });
        }
        self.retry(key);
        self.fill_all();
    }

    /// When nothing is in flight, tells the target to store its new cursor. False while something is in
    /// flight.
    fn move_cursor(&mut self, target: DeviceId) -> bool {
        let Some(primary) = self.it.primary.as_mut() else { return false };
        let Some(fill) = primary.fills.get_mut(&target).filter(|fill| fill.in_flight.is_empty()) else {
            return false;
        };
        if self.it.config.planted == Some(Planted::CursorTooFar)
            && let Cursor::At(from) = fill.started
            && let Some(next) = self.objects.scan(from, Cursor::End, 1).first()
        {
            fill.started = Cursor::after(next.key);
        }
        let started = fill.started;
        if started == Cursor::End {
            fill.phase = Phase::Ending;
        } else if let Phase::Looking(look) = &mut fill.phase {
            match look {
                Look::Ranges { batch, .. } => *batch = None,
                Look::Objects { taken, .. } => *taken = 0,
            }
        }
        let peer = primary.peers.get_mut(&target).expect("a target is a peer");
        assert!(started >= peer.cursor, "a backfill goes back");
        assert!(peer.is_target, "{target:?} is filled and need not be");
        peer.cursor = started;
        self.say(target, Body::Progress(started));
        true
    }

    /// Looks at the next objects here, and then requests the target's objects in the same runs.
    fn begin_batch(&mut self, target: DeviceId) {
        let config = &self.it.config;
        let Some(primary) = self.it.primary.as_mut() else { return };
        let Some(fill) = primary.fills.get_mut(&target) else { return };
        let Phase::Looking(Look::Ranges { skipped, batch }) = &mut fill.phase else { return };
        assert!(batch.is_none() && fill.in_flight.is_empty(), "a batch is begun before the last has ended");
        let mut runs = Vec::new();
        let mut ours = Vec::new();
        let mut end = Cursor::End;
        for mut run in Runs::new(config.shape, skipped, fill.started) {
            let found = self.objects.scan(run.from, run.to, config.scan_max - ours.len());
            ours.extend(found.iter().map(|listed| (listed.key, listed.version)));
            let is_full = ours.len() == config.scan_max;
            if let Some(last) = found.last().filter(|_| is_full) {
                run.to = run.to.min(Cursor::after(last.key));
            }
            runs.push(run);
            // Many runs without objects here also end a batch.
            if is_full || ours.len() >= config.scan_min && runs.len() >= config.scan_max {
                end = run.to;
                break;
            }
        }
        let objects = ours.len() as u64;
        assert!(objects <= config.scan_max as u64, "a batch is larger than it may be");
        if runs.is_empty() {
            fill.started = Cursor::End;
            self.move_cursor(target);
            return;
        }
        fill.tally.looked_at += objects;
        fill.tally.batches += 1;
        *batch = Some(Batch::new(runs, end, ours));
        let round = fill.round;
        self.rest();
        self.work(Work::Look { objects }, After::Looked { target, round });
    }

    pub(super) fn looked_here(&mut self, target: DeviceId, round: u64) {
        let most = self.it.config.scan_max;
        let Some(fill) = self.fill_of(target, round) else { return };
        let Phase::Looking(Look::Ranges { batch: Some(batch), .. }) = &fill.phase else { return };
        let runs = batch.runs.clone();
        self.say(target, Body::Scan(round, runs, most));
    }

    pub(super) fn take_listed(
        &mut self,
        from: DeviceId,
        round: u64,
        objects: &[(Key, Version)],
        end: Cursor,
    ) {
        let Some(fill) = self.fill_of(from, round) else { return };
        let Phase::Looking(Look::Ranges { batch: Some(batch), .. }) = &mut fill.phase else { return };
        fill.tally.looked_at_by_target += objects.len() as u64;
        batch.take_theirs(objects, end);
        self.fill(from);
    }

    pub(super) fn progress_kept(&mut self, from: DeviceId, cursor: Cursor) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        if cursor != Cursor::End || primary.fills.get(&from).is_none_or(|fill| fill.started != cursor) {
            return;
        }
        let Some(fill) = primary.fills.remove(&from) else { return };
        let peer = primary.peers.get_mut(&from).expect("a target is a peer");
        peer.is_target = false;
        self.note(Note::BackfillEnded { target: from, tally: fill.tally });
        if self.it.config.planted != Some(Planted::KeepsSlot) {
            self.say(from, Body::Release);
        }
        let Some(primary) = self.it.primary.as_mut() else { return };
        if primary.targets().next().is_some() {
            return;
        }
        if let Slot::Held(token) = std::mem::replace(&mut primary.slot, Slot::None) {
            self.actions.push(Action::Release { token, lot: Lot::Local });
        }
        self.want_acting();
    }
}
