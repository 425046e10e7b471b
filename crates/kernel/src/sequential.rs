//! The sequential executor: the least event, then the next. What every other executor is compared with.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Queue;
use crate::context::{Desk, Rules};
use crate::digest;
use crate::error::RunError;
use crate::key::{EntityId, EventKey, Scheduled};
use crate::model::{Model, Statistics};
use crate::options::RunOptions;
use crate::outcome::{RunStatistics, Share, Written};
use crate::pending::PendingSet;
use crate::prefetch::prefetch;
use crate::slot::Slot;

/// Events between two looks at the stop flag. Some tens of microseconds.
const BATCH: u64 = 4096;

/// How many events ahead an entity's state is fetched into the cache.
const FETCH_AHEAD: usize = 6;

/// One partition that holds everything, and its pending events.
pub(crate) struct Sequential<'m, M: Model> {
    rules: Rules<'m, M>,
    slots: Vec<Slot<M, ()>>,
    queue: Queue<Scheduled<M::Event>>,
    desk: Desk<M>,
    outputs: Vec<Written<M::Output>>,
    run: RunStatistics,
    current: Option<Scheduled<M::Event>>,
    now: EventKey,
}

impl<'m, M: Model> Sequential<'m, M> {
    pub(crate) fn new(rules: Rules<'m, M>) -> Result<Self, RunError> {
        let mut all = Sequential {
            slots: Vec::with_capacity(rules.entities as usize),
            queue: Queue::default(),
            desk: Desk::new(),
            outputs: Vec::new(),
            run: RunStatistics::default(),
            current: None,
            now: EventKey::MIN,
            rules,
        };
        for id in (0..all.rules.entities).map(EntityId) {
            let slot = Slot::start(&all.rules, &mut all.desk, id, ())?;
            all.slots.push(slot);
            let key = EventKey { origin: id, ..EventKey::MIN };
            all.outputs.extend(all.desk.outputs.drain(..).map(|output| Written { key, by: id, output }));
            for scheduled in all.desk.sends.drain(..) {
                all.queue.push(scheduled);
            }
        }
        all.run.peak_pending = all.queue.len() as u64;
        Ok(all)
    }

    pub(crate) fn run(mut self, options: &RunOptions<'_>) -> Result<Share<M>, RunError> {
        let end = options.end.map_or(EventKey::MAX, EventKey::first_at);
        let mut partial = false;
        loop {
            let allowance = BATCH.min(options.event_limit - self.run.committed);
            if allowance == 0 {
                break;
            }
            let more = catch_unwind(AssertUnwindSafe(|| self.batch(end, allowance)));
            match more {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => break,
                Ok(Err(error)) => return Err(*error),
                Err(payload) => return Err(self.panicked(payload.as_ref())),
            }
            options.report(self.now.at, self.run.committed);
            if options.stop_asked() {
                partial = self.queue.peek().is_some_and(|next| next.key < end);
                break;
            }
        }
        if !partial && self.run.committed == options.event_limit {
            self.too_many(end, options.event_limit)?;
        }
        Ok(self.share(end, partial))
    }

    /// Runs up to `allowance` events; false when none before `end` is left.
    fn batch(&mut self, end: EventKey, allowance: u64) -> Result<bool, Box<RunError>> {
        for _ in 0..allowance {
            self.current = self.queue.pop_before(end);
            let Some(scheduled) = &self.current else { return Ok(false) };
            if let Some(next) = self.queue.ahead(FETCH_AHEAD) {
                prefetch(&self.slots[next.to.index()]);
            }
            let slot = &mut self.slots[scheduled.to.index()];
            if scheduled.timer && !slot.timers.remove(scheduled.key.sequence) {
                self.run.timers_dropped += 1;
                continue;
            }
            slot.perform(&self.rules, &mut self.desk, scheduled)?;
            self.run.committed += 1;
            self.now = scheduled.key;
            for send in self.desk.sends.drain(..) {
                self.queue.push(send);
            }
            if !self.desk.samples.is_empty() {
                self.desk.samples.drain(..).for_each(|sample| slot.statistics.add(sample));
            }
            if !self.desk.outputs.is_empty() {
                let (key, by) = (scheduled.key, scheduled.to);
                self.outputs.extend(self.desk.outputs.drain(..).map(|output| Written { key, by, output }));
            }
            if !self.desk.timer_changes.is_empty() {
                self.desk.timer_changes.clear();
            }
            self.run.peak_pending = self.run.peak_pending.max(self.queue.len() as u64);
        }
        Ok(true)
    }

    /// An error if a live event before the end is left.
    fn too_many(&mut self, end: EventKey, limit: u64) -> Result<(), RunError> {
        while let Some(next) = self.queue.pop_before(end) {
            if !next.timer || self.slots[next.to.index()].timers.contains(next.key.sequence) {
                return Err(RunError::TooManyEvents { place: self.rules.place(&next), limit });
            }
        }
        Ok(())
    }

    fn panicked(&self, payload: &(dyn std::any::Any + Send)) -> RunError {
        let scheduled = self.current.as_ref().expect("a model panics only while it handles an event");
        RunError::Panic { place: self.rules.place(scheduled), message: panic_message(payload) }
    }

    fn share(mut self, end: EventKey, partial: bool) -> Share<M> {
        self.run.executed = self.run.committed;
        let mut sums = vec![0u64; self.slots.len()];
        let (mut pending, mut pending_count) = (Vec::new(), 0);
        self.queue.for_each(|scheduled| {
            let slot = &self.slots[scheduled.to.index()];
            if scheduled.timer && !slot.timers.contains(scheduled.key.sequence) {
                return;
            }
            let sum = &mut sums[scheduled.to.index()];
            *sum = sum.wrapping_add(digest::pending_word(scheduled));
            pending_count += 1;
            if M::AUDITS_PENDING {
                pending.push(scheduled.clone());
            }
        });
        let now = if partial || end == EventKey::MAX { self.now.at } else { end.at };
        let remains = self
            .slots
            .into_iter()
            .zip(sums)
            .enumerate()
            .map(|(id, (slot, sum))| slot.remains(EntityId(id as u32), sum));
        Share {
            remains: remains.collect(),
            outputs: self.outputs,
            pending,
            pending_count,
            now,
            partial,
            run: self.run,
        }
    }
}

/// What a panic said.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is not text".to_owned())
}
