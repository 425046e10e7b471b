//! Execution of events that are certain to happen, shared by the sequential, conservative and check
//! executors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use towtank_units::SimTime;

use crate::Queue;
use crate::context::{Desk, Rules};
use crate::digest;
use crate::error::RunError;
use crate::key::{EntityId, EventKey, Scheduled};
use crate::model::{Model, Statistics};
use crate::outcome::{RunStatistics, Share, Written};
use crate::partition::Realm;
use crate::pending::{PendingSet, precedes};
use crate::reach::Reach;
use crate::slot::Slot;

/// How many events ahead an entity is prefetched, and how many ahead a model asks for the parts of the
/// entity, for the parts of these, and so on: a choice, larger distances are equally fast.
const FETCH_AHEAD: [usize; 4] = [12, 9, 6, 3];

/// The entities of one realm, their pending events, and the results so far.
pub(crate) struct Plain<'m, M: Model, R> {
    pub rules: Rules<'m, M>,
    pub realm: R,
    pub slots: Vec<Slot<M, ()>>,
    pub queue: Queue<Scheduled<M::Event>>,
    pub desk: Desk<M>,
    pub outputs: Vec<Written<M::Output>>,
    /// Sends to entities of other realms.
    pub outgoing: Vec<Scheduled<M::Event>>,
    /// When pending events can reach other realms; `None` if not needed.
    pub reach: Option<Reach>,
    pub run: RunStatistics,
    /// The work that samples have reported.
    pub work: u64,
    /// The key and entity of the last committed event.
    pub last: Option<(EventKey, EntityId)>,
}

impl<'m, M: Model, R: Realm> Plain<'m, M, R> {
    /// An executor without entities.
    pub(crate) fn new(rules: Rules<'m, M>, realm: R) -> Self {
        Plain {
            slots: Vec::with_capacity(realm.len()),
            queue: Queue::default(),
            desk: Desk::new(),
            outputs: Vec::new(),
            outgoing: Vec::new(),
            reach: None,
            run: RunStatistics::default(),
            work: 0,
            last: None,
            rules,
            realm,
        }
    }

    /// Creates and starts the entities of the realm; if one cannot start, those after it are missing.
    pub(crate) fn start(&mut self) -> Result<(), RunError> {
        for local in 0..self.realm.len() {
            let id = self.realm.entity(local);
            let slot = Slot::start(&self.rules, &mut self.desk, id, ())?;
            self.slots.push(slot);
            self.take_desk(EventKey { origin: id, ..EventKey::MIN }, id, local);
        }
        self.run.peak_pending = self.queue.len() as u64;
        Ok(())
    }

    /// Runs up to `allowance` events before `bound`. Returns false if none is left before it.
    pub(crate) fn batch(&mut self, bound: EventKey, allowance: u64) -> Result<bool, RunError> {
        match catch_unwind(AssertUnwindSafe(|| self.events(bound, allowance))) {
            Ok(Ok(more)) => Ok(more),
            Ok(Err(error)) => Err(*error),
            Err(payload) => Err(self.panicked(payload.as_ref())),
        }
    }

    fn events(&mut self, bound: EventKey, allowance: u64) -> Result<bool, Box<RunError>> {
        let (committed, mut last) = (self.run.committed, self.last.unwrap_or((EventKey::MIN, EntityId(0))));
        let more = self.handle_events(&bound, allowance, &mut last)?;
        if self.run.committed > committed {
            self.last = Some(last);
        }
        Ok(more)
    }

    /// As [`Plain::events`]; `last` is the last event, and becomes the new one, unless an error is returned.
    // Not stored in `self` at once, and copied only once, because it is done for every event.
    #[inline(always)]
    fn handle_events(
        &mut self,
        bound: &EventKey,
        allowance: u64,
        last: &mut (EventKey, EntityId),
    ) -> Result<bool, Box<RunError>> {
        for _ in 0..allowance {
            // The event stays the first in the queue until all code of the model has run, so that a panic can
            // be reported, and because events may be large.
            let Some(scheduled) = self.queue.peek_before(bound) else { return Ok(false) };
            let id = scheduled.to;
            let local = self.realm.own(id);
            let slot = &mut self.slots[local];
            if scheduled.timer && !slot.timers.remove(scheduled.key.sequence) {
                self.run.timers_dropped += 1;
                self.queue.drop_first();
                continue;
            }
            law_of_order(&last.0, &scheduled.key);
            *last = (scheduled.key, id);
            slot.perform_for_good(&self.rules, &mut self.desk, scheduled)?;
            self.run.committed += 1;
            let sequence = slot.sequence;
            if !self.desk.has_only_sends() || self.reach.is_some() {
                self.take_results(last.0, id, local);
            }
            self.queue.drop_first();
            // An event without delay is the next, so as many as before are still ahead.
            if self.take_sends(id, last.0.at, sequence) > last.0.at {
                self.fetch_ahead();
            }
        }
        Ok(true)
    }

    /// Prefetches the entities of events that are due soon, and the parts of entities whose events are due
    /// sooner.
    #[inline]
    fn fetch_ahead(&self) {
        let [whole, parts @ ..] = self.queue.each_ahead(FETCH_AHEAD);
        if let Some(slot) = whole.and_then(|next| self.slot_of(next.to)) {
            slot.prefetch();
        }
        for (depth, next) in (0..).zip(parts) {
            if let Some(next) = next
                && let Some(slot) = self.slot_of(next.to)
            {
                self.rules.model.fetch((&slot.state, &slot.statistics), &next.event, depth);
            }
        }
    }

    #[inline]
    fn slot_of(&self, id: EntityId) -> Option<&Slot<M, ()>> {
        self.slots.get(self.realm.own(id))
    }

    /// Takes the effects of a handler from the desk.
    #[inline]
    pub(crate) fn take_desk(&mut self, key: EventKey, id: EntityId, local: usize) {
        self.take_results(key, id, local);
        self.take_sends(id, key.at, self.slots[local].sequence);
    }

    /// Takes what a handler has counted and written, and notes how soon its sends can reach other realms.
    #[inline(never)]
    fn take_results(&mut self, key: EventKey, id: EntityId, local: usize) {
        let desk = &mut self.desk;
        if let Some(reach) = &mut self.reach {
            for send in desk.sends.iter().filter(|send| self.realm.has(send.to())) {
                reach.note(self.rules.model, send.at, send.to(), &send.event);
            }
        }
        if !desk.samples.is_empty() {
            let statistics = &mut self.slots[local].statistics;
            for sample in desk.samples.drain(..) {
                self.work += M::Statistics::work(&sample);
                statistics.add(sample);
            }
        }
        if !desk.outputs.is_empty() {
            self.outputs.extend(desk.outputs.drain(..).map(|output| Written { key, by: id, output }));
        }
        desk.timer_changes.clear();
    }

    /// Takes what the handler of an entity has sent at `now`, and returns the time of the first send;
    /// `sequence` is the one after the last.
    #[inline(always)]
    fn take_sends(&mut self, origin: EntityId, now: SimTime, mut sequence: u64) -> SimTime {
        // An event that sends one more at most leaves no more pending than there were before it.
        let grows = self.desk.sends.len() > 1;
        let mut first = SimTime::MAX;
        while let Some(send) = self.desk.sends.pop() {
            sequence -= 1;
            first = send.at;
            if first < now {
                sent_into_the_past(now, first);
            }
            if self.realm.has(send.to()) {
                self.queue.push(send.scheduled(origin, sequence));
            } else {
                self.outgoing.push(send.scheduled(origin, sequence));
            }
        }
        if grows {
            self.run.peak_pending = self.run.peak_pending.max(self.queue.len() as u64);
        }
        first
    }

    /// Receives an event from another realm.
    #[inline]
    pub(crate) fn arrive(&mut self, event: Scheduled<M::Event>) {
        let to = event.to;
        assert!(
            self.realm.has(to),
            "an event reaches the worker that has its entity: entity {to} is not here"
        );
        if let Some(reach) = &mut self.reach {
            reach.note(self.rules.model, event.key.at, to, &event.event);
        }
        self.queue.push(event);
    }

    /// Removes the next live event before `bound`, if there is one.
    pub(crate) fn next_live(&mut self, bound: EventKey) -> Option<Scheduled<M::Event>> {
        while let Some(next) = self.queue.pop_before(bound) {
            if !next.timer || self.slots[self.realm.own(next.to)].timers.contains(next.key.sequence) {
                return Some(next);
            }
        }
        None
    }

    /// The least pending key.
    pub(crate) fn floor(&mut self) -> EventKey {
        self.queue.peek().map_or(EventKey::MAX, |next| next.key)
    }

    fn panicked(&mut self, payload: &(dyn Any + Send)) -> RunError {
        let scheduled = self.queue.peek().expect("a model panics only while it handles the first event");
        RunError::Panic { place: self.rules.place(scheduled), message: panic_message(payload) }
    }

    /// The result of the realm when the run is over: at `end`, or where it was stopped.
    pub(crate) fn share(&mut self, end: EventKey, partial: bool) -> Share<M> {
        self.run.executed = self.run.executed.max(self.run.committed);
        let mut sums = vec![0u64; self.slots.len()];
        let (mut pending, mut pending_count) = (Vec::new(), 0);
        let Plain { realm, slots, queue, outgoing, .. } = &*self;
        assert!(outgoing.is_empty(), "sends to other realms are delivered before a run ends");
        queue.for_each(|scheduled| {
            let local = realm.own(scheduled.to);
            if scheduled.timer && !slots[local].timers.contains(scheduled.key.sequence) {
                return;
            }
            sums[local] = sums[local].wrapping_add(digest::pending_word(scheduled));
            pending_count += 1;
            if M::AUDITS_PENDING {
                pending.push(scheduled.clone());
            }
        });
        let now = if partial || end == EventKey::MAX {
            self.last.map_or(SimTime::ZERO, |(key, _)| key.at)
        } else {
            end.at
        };
        let slots = std::mem::take(&mut self.slots).into_iter().zip(sums).enumerate();
        let remains = slots.map(|(local, (slot, sum))| slot.remains(self.realm.entity(local), sum)).collect();
        let outputs = std::mem::take(&mut self.outputs);
        Share { remains, outputs, pending, pending_count, now, partial, run: self.run }
    }
}

/// The next event's key is above that of the last one: a pending-event set that returns them in another order
/// would give a wrong result without a sign of it.
#[inline(always)]
pub(crate) fn law_of_order(last: &EventKey, next: &EventKey) {
    // Where times alone do not decide, the whole comparison is out of the way of the usual events.
    if last.at >= next.at {
        law_of_order_at_one_time(last, next);
    }
}

#[inline(never)]
fn law_of_order_at_one_time(last: &EventKey, next: &EventKey) {
    assert!(precedes(last, next), "events are handled in the order of their keys: {next} came after {last}");
}

/// Out of line, and with values: what a message borrows would have to lie in memory for each event.
#[cold]
#[inline(never)]
pub(crate) fn sent_into_the_past(now: SimTime, at: SimTime) -> ! {
    panic!("no event is sent into the past: sent at {now} for {at}");
}

/// The message of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is not text".to_owned())
}

#[cfg(test)]
mod tests;
