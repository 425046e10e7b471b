//! Requests of clients to the primary: reads of what all replicas have committed, and writes to all of them.

use super::primary::{Ask, InFlight, Stage};
use super::{After, Turn};
use crate::objects::{Objects, Payload};
use crate::{Body, Change, DeviceId, Entry, Key, Operation, Outcome, Planted, Version, Work};
use towtank_units::{SimSpan, SimTime};

/// The most entries that the log keeps beyond its limit for changes that may yet be reverted. Without its
/// entry a change cannot be reverted.
const HELD_MOST: usize = 100_000;

/// A primary uses its lease for so much less than was confirmed: a sixteenth. Clocks whose rates differ by up
/// to 6 % measure the same order then.
const LEASE_MARGIN: u64 = 16;

/// For how long a primary uses a lease, by its own clock: the others count from later on, by clocks that may
/// be faster.
fn used_of(lease: SimSpan, planted: Option<Planted>) -> SimSpan {
    let margin = if planted == Some(Planted::LeaseWithoutMargin) { 0 } else { lease.as_ns() / LEASE_MARGIN };
    SimSpan::from_ns(lease.as_ns() - margin)
}

impl<O: Objects> Turn<'_, O> {
    pub(super) fn take_ask(&mut self, ask: Ask<O::Payload>) {
        let serves = self.serves();
        let Some(primary) = self.it.primary.as_mut() else {
            self.reply(ask.request, Outcome::Retry);
            return;
        };
        if !serves {
            assert!(primary.stage != Stage::Active || primary.only_reverts(), "a write was let in");
            primary.waiting.push_back(ask);
        } else if let Some(queue) = primary.blocked.get_mut(&ask.key) {
            // Requests for one object are queued in order, so that none overtakes another.
            queue.push_back(ask);
        } else if let Some(ask) = self.try_ask(ask) {
            self.block(ask);
        }
    }

    fn block(&mut self, ask: Ask<O::Payload>) {
        let Some(primary) = self.it.primary.as_mut() else { return };
        primary.urgent.insert(ask.key);
        primary.blocked.entry(ask.key).or_default().push_back(ask);
        self.recover();
    }

    /// Retries the requests that waited for an object.
    pub(super) fn retry(&mut self, key: Key) {
        self.settle(key);
        let Some(primary) = self.it.primary.as_mut() else { return };
        let Some(mut queue) = primary.blocked.remove(&key) else { return };
        while let Some(ask) = queue.pop_front() {
            if let Some(ask) = self.try_ask(ask) {
                queue.push_front(ask);
                break;
            }
        }
        if let Some(primary) = self.it.primary.as_mut().filter(|_| !queue.is_empty()) {
            let before = primary.blocked.insert(key, queue);
            assert!(before.is_none(), "a request has passed those that waited");
        }
    }

    /// Tries a request, and returns it if it must wait.
    fn try_ask(&mut self, ask: Ask<O::Payload>) -> Option<Ask<O::Payload>> {
        match ask.operation {
            Operation::Read => self.try_read(ask),
            Operation::Write(_) | Operation::Delete => self.try_write(ask),
        }
    }

    fn try_read(&mut self, ask: Ask<O::Payload>) -> Option<Ask<O::Payload>> {
        let primary = self.it.primary.as_mut()?;
        // An uncommitted write might still be undone, so no read may return it.
        let is_open = primary.is_being_written(ask.key) || self.is_unsettled(ask.key);
        if self.it.durable.missing.contains_key(&ask.key) || is_open {
            return Some(ask);
        }
        if self.it.has_lease(self.now) {
            self.read(&ask);
        } else {
            self.it.primary.as_mut()?.reads.push(ask);
            self.ask_lease();
        }
        None
    }

    fn read(&mut self, ask: &Ask<O::Payload>) {
        let as_of = self.it.durable.log.head();
        let Some(listed) = self.objects.look_up(ask.key) else {
            self.reply(ask.request, Outcome::Read { found: None, as_of });
            return;
        };
        let payload = self.objects.read(ask.key, 0, listed.size).expect("it was just looked up");
        assert_eq!(payload.size(), listed.size, "{:?} was read in part", ask.key);
        assert!(listed.version <= as_of, "{:?} is in {}, after {as_of}", ask.key, listed.version);
        let outcome = Outcome::Read { found: Some((listed.version, payload)), as_of };
        let work = Work::Read { bytes: listed.size, is_recovery: false };
        self.work(work, After::Answer { request: ask.request, outcome });
    }

    pub(super) fn ask_lease(&mut self) {
        let (me, now) = (self.it.me, self.now);
        let others: Vec<DeviceId> = self.it.acting().iter().copied().filter(|device| *device != me).collect();
        let Some(primary) = self.it.primary.as_mut().filter(|primary| primary.renewing.is_none()) else {
            return;
        };
        primary.renewing = Some((now, others.iter().copied().collect()));
        others.into_iter().for_each(|device| self.say(device, Body::Renew(now)));
    }

    pub(super) fn renewed(&mut self, from: DeviceId, sent: SimTime) {
        let lease = self.it.config.lease.unwrap_or_default();
        let Some(primary) = self.it.primary.as_mut() else { return };
        let Some((asked, waits_for)) = primary.renewing.as_mut().filter(|(asked, _)| *asked == sent) else {
            return;
        };
        waits_for.remove(&from);
        if !waits_for.is_empty() {
            return;
        }
        primary.lease_until = asked.saturating_add(used_of(lease, self.it.config.planted));
        primary.renewing = None;
        let reads = std::mem::take(&mut primary.reads);
        reads.into_iter().for_each(|ask| self.take_ask(ask));
    }

    fn try_write(&mut self, ask: Ask<O::Payload>) -> Option<Ask<O::Payload>> {
        let is_unsettled = self.is_unsettled(ask.key);
        let primary = self.it.primary.as_mut()?;
        let forgets = self.it.config.planted == Some(Planted::ForgetsRequests);
        if let Some(version) = self.it.durable.log.find(ask.request).filter(|_| !forgets) {
            // The change may still be reverted.
            if is_unsettled {
                return Some(ask);
            }
            // If the write is still in flight, the client is answered when it is done.
            if !primary.in_flight.contains_key(&version) {
                self.reply(ask.request, Outcome::Done(version));
            }
            return None;
        }
        if self.it.durable.missing.contains_key(&ask.key) || primary.holds_up_writes(ask.key) {
            return Some(ask);
        }
        self.write(ask);
        None
    }

    fn write(&mut self, ask: Ask<O::Payload>) {
        let it = &mut *self.it;
        let key = ask.key;
        let (change, payload) = match ask.operation {
            Operation::Write(payload) => (Change::Write, Some(payload)),
            _ => (Change::Delete, None),
        };
        let version = it.durable.log.head().next_in(it.durable.epoch);
        let prior = self.objects.look_up(key).map(|listed| listed.version);
        let entry = Entry { version, prior, key, change, request: ask.request };
        it.durable.log.append(entry);
        match payload.clone() {
            Some(payload) => it.durable.put(self.objects, key, version, payload),
            None => it.durable.remove(self.objects, key),
        }
        self.replicate(entry, payload);
    }

    /// Sends a change that was made here to the other replicas.
    pub(super) fn replicate(&mut self, entry: Entry, payload: Option<O::Payload>) {
        let (key, version) = (entry.key, entry.version);
        let bytes = payload.as_ref().map_or(0, Payload::size);
        let trim_to = self.trim();
        let it = &mut *self.it;
        let Some(primary) = it.primary.as_mut() else { return };
        let mut waits_for: std::collections::BTreeSet<_> = primary.peers.keys().copied().collect();
        let mut messages = Vec::new();
        for (device, peer) in &primary.peers {
            let fill = primary.fills.get_mut(device);
            let started = fill.as_ref().map_or(peer.cursor, |fill| fill.started);
            assert!(started >= peer.cursor, "a backfill has fallen behind its target");
            let applies = started.covers(key);
            if let Some(fill) = fill.filter(|_| !applies) {
                fill.touch(&it.config, key);
            }
            let payload = payload.clone().filter(|_| applies);
            messages.push((*device, Body::Write { entry, payload, applies, trim_to }));
        }
        waits_for.insert(it.me);
        let acting = it.map.as_ref().map_or(&[][..], |map| &map.acting);
        assert!(acting.iter().all(|device| waits_for.contains(device)), "a write leaves out who acts");
        let is_revert = entry.undoes().is_some();
        let write = InFlight { request: entry.request, key, waits_for, is_answered: is_revert, is_revert };
        let before = primary.in_flight.insert(version, write);
        assert!(before.is_none(), "{version} was given twice");
        messages.into_iter().for_each(|(device, body)| self.say(device, body));
        self.work(Work::Apply { bytes, is_recovery: false }, After::Committed(version));
    }

    /// Trims committed entries down to the number that the log is to keep; returns the new tail.
    fn trim(&mut self) -> Version {
        let it = &mut *self.it;
        let Some(primary) = it.primary.as_ref() else { return it.durable.log.tail() };
        let config = &it.config;
        let keep = if primary.is_clean { config.log_entries_min } else { config.log_entries_max };
        let log = &it.durable.log;
        let may_hold = log.len() <= config.log_entries_max.saturating_add(HELD_MOST);
        let held = primary.unsettled.values().flatten().filter(|_| may_hold).min();
        let first_open = primary.in_flight.keys().next().into_iter().chain(held).min();
        let first_open = first_open.copied().unwrap_or(log.head());
        let committed = it.durable.log.before(first_open);
        let to = it.durable.log.surplus(keep, config.log_trim_min).map(|to| to.min(committed));
        if let Some(to) = to.filter(|to| *to > it.durable.log.tail()) {
            it.durable.log.trim(to, config.requests_max);
        }
        it.durable.log.tail()
    }

    pub(super) fn committed(&mut self, device: DeviceId, version: Version) {
        let answers_early = self.it.config.planted == Some(Planted::AnswersEarly);
        let Some(primary) = self.it.primary.as_mut() else { return };
        let write = primary.in_flight.get_mut(&version).expect("only a write in flight is committed");
        assert!(write.waits_for.remove(&device), "{device:?} commits {version} twice");
        let (request, key, is_done) = (write.request, write.key, write.waits_for.is_empty());
        assert!(is_done || version <= self.it.durable.log.head(), "{version} is committed and unknown");
        let answers = !write.is_answered && (is_done || answers_early);
        write.is_answered |= answers;
        if answers {
            self.reply(request, Outcome::Done(version));
        }
        if let Some(primary) = self.it.primary.as_mut().filter(|_| is_done) {
            let is_revert = primary.in_flight.remove(&version).is_some_and(|write| write.is_revert);
            self.retry(key);
            if is_revert {
                self.recover();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a lease that a clock measures ends before one that a clock faster by so many percent does.
    fn ends_first(lease: SimSpan, percent: u64, planted: Option<Planted>) -> bool {
        used_of(lease, planted).as_ns() * (100 + percent) <= lease.as_ns() * 100
    }

    #[test]
    fn a_lease_ends_before_what_the_others_have_promised() {
        for lease in [1, 300, 1_000, 2_500, 30_000].map(SimSpan::from_ms) {
            assert!(ends_first(lease, 6, None), "{lease}");
            assert!(!ends_first(lease, 1, Some(Planted::LeaseWithoutMargin)), "{lease}");
        }
    }
}
