//! The rollback-check executor: every event is done, undone and compared, then done again.
//!
//! It is the proof that a model is reversible, and that its handlers depend on nothing but their entity and context. It
//! uses the undo the optimistic executor would use.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Queue;
use crate::context::{Desk, Rules, TimerChange};
use crate::digest;
use crate::error::{Place, RunError};
use crate::key::{EntityId, EventKey, Scheduled};
use crate::model::{Model, Statistics, UndoBy};
use crate::options::RunOptions;
use crate::outcome::{RunStatistics, Share, Written};
use crate::pending::PendingSet;
use crate::sequential::panic_message;
use crate::slot::Slot;
use crate::timers::Timers;

/// Runs a model event by event, checking each.
pub(crate) struct Check<'m, M: Model> {
    rules: Rules<'m, M>,
    undo_by: UndoBy,
    slots: Vec<Slot<M, ()>>,
    queue: Queue<Scheduled<M::Event>>,
    desk: Desk<M>,
    outputs: Vec<Written<M::Output>>,
    run: RunStatistics,
    now: EventKey,
}

/// All a handler changed or put down, to be compared.
struct Effects<M: Model> {
    state: M::Entity,
    timers: Timers,
    sends: Vec<Scheduled<M::Event>>,
    samples: Vec<<M::Statistics as Statistics>::Sample>,
    outputs: Vec<M::Output>,
    timer_changes: Vec<TimerChange>,
}

impl<'m, M: Model> Check<'m, M> {
    pub(crate) fn new(rules: Rules<'m, M>, undo_by: UndoBy) -> Result<Self, RunError> {
        let mut all = Check {
            undo_by,
            slots: Vec::with_capacity(rules.entities as usize),
            queue: Queue::default(),
            desk: Desk::new(),
            outputs: Vec::new(),
            run: RunStatistics::default(),
            now: EventKey::MIN,
            rules,
        };
        for id in (0..all.rules.entities).map(EntityId) {
            let mut slot = Slot::start(&all.rules, &mut all.desk, id, ())?;
            if undo_by == UndoBy::Inverse {
                all.rules.model.begin_speculation(&mut slot.state);
            }
            all.slots.push(slot);
            let key = EventKey { origin: id, ..EventKey::MIN };
            all.outputs.extend(all.desk.outputs.drain(..).map(|output| Written { key, by: id, output }));
            all.desk.sends.drain(..).for_each(|send| all.queue.push(send));
        }
        all.run.peak_pending = all.queue.len() as u64;
        Ok(all)
    }

    pub(crate) fn run(mut self, options: &RunOptions<'_>) -> Result<Share<M>, RunError> {
        let end = options.end.map_or(EventKey::MAX, EventKey::first_at);
        let mut partial = false;
        while let Some(scheduled) = self.queue.pop_before(end) {
            if scheduled.timer && !self.slots[scheduled.to.index()].timers.remove(scheduled.key.sequence) {
                self.run.timers_dropped += 1;
                continue;
            }
            if self.run.committed == options.event_limit {
                let place = self.rules.place(&scheduled);
                return Err(RunError::TooManyEvents { place, limit: options.event_limit });
            }
            match catch_unwind(AssertUnwindSafe(|| self.event(&scheduled))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(*error),
                Err(payload) => {
                    let message = panic_message(payload.as_ref());
                    return Err(RunError::Panic { place: self.rules.place(&scheduled), message });
                }
            }
            if self.run.committed.is_multiple_of(u64::from(options.batch.max(1))) {
                options.report(self.now.at, self.run.committed);
                if options.stop_asked() {
                    partial = self.queue.peek().is_some_and(|next| next.key < end);
                    break;
                }
            }
        }
        Ok(self.share(end, partial))
    }

    /// Does, undoes, compares, does again and compares.
    fn event(&mut self, scheduled: &Scheduled<M::Event>) -> Result<(), Box<RunError>> {
        let Check { rules, slots, desk, .. } = self;
        let slot = &mut slots[scheduled.to.index()];
        let before = (slot.state.clone(), slot.timers.clone());
        let kernel_before = (slot.ordinal, slot.sequence, slot.chain);
        let undo = slot.perform(rules, desk, scheduled)?;
        let record = format!("{undo:?}");
        let first = take_effects(slot, desk);
        match self.undo_by {
            UndoBy::Inverse => rules.model.undo(&mut slot.state, &scheduled.event, undo),
            UndoBy::Clone => slot.state = before.0.clone(),
        }
        slot.take_back_timers(&first.timer_changes);
        (slot.ordinal, slot.sequence, slot.chain) = kernel_before;
        let place = || rules.place(scheduled);
        same(place, "the state", &before.0, &slot.state)?;
        same(place, "the set of timers", &before.1, &slot.timers)?;
        self.run.rolled_back += 1;

        let undo = slot.perform(rules, desk, scheduled)?;
        let second = take_effects(slot, desk);
        same(place, "the undo record", &record, &format!("{undo:?}"))?;
        same(place, "the state done again", &first.state, &second.state)?;
        same(place, "the set of timers done again", &first.timers, &second.timers)?;
        same(place, "what was sent", &first.sends, &second.sends)?;
        same(place, "what was counted", &first.samples, &second.samples)?;
        same(place, "what was written", &first.outputs, &second.outputs)?;
        same(place, "the timers set and cancelled", &first.timer_changes, &second.timer_changes)?;
        if self.undo_by == UndoBy::Inverse {
            rules.model.committed(&mut slot.state, undo);
        }
        self.commit(scheduled, second);
        Ok(())
    }

    fn commit(&mut self, scheduled: &Scheduled<M::Event>, effects: Effects<M>) {
        self.run.committed += 1;
        self.run.executed += 2;
        self.now = scheduled.key;
        let statistics = &mut self.slots[scheduled.to.index()].statistics;
        effects.samples.into_iter().for_each(|sample| statistics.add(sample));
        let (key, by) = (scheduled.key, scheduled.to);
        self.outputs.extend(effects.outputs.into_iter().map(|output| Written { key, by, output }));
        effects.sends.into_iter().for_each(|send| self.queue.push(send));
        self.run.peak_pending = self.run.peak_pending.max(self.queue.len() as u64);
    }

    fn share(self, end: EventKey, partial: bool) -> Share<M> {
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

fn take_effects<M: Model>(slot: &Slot<M, ()>, desk: &mut Desk<M>) -> Effects<M> {
    Effects {
        state: slot.state.clone(),
        timers: slot.timers.clone(),
        sends: std::mem::take(&mut desk.sends),
        samples: std::mem::take(&mut desk.samples),
        outputs: std::mem::take(&mut desk.outputs),
        timer_changes: std::mem::take(&mut desk.timer_changes),
    }
}

fn same<T: PartialEq + Debug>(
    place: impl FnOnce() -> Box<Place>,
    what: &str,
    before: &T,
    after: &T,
) -> Result<(), Box<RunError>> {
    if before == after {
        return Ok(());
    }
    Err(Box::new(RunError::Irreversible {
        place: place(),
        what: what.to_owned(),
        before: format!("{before:?}"),
        after: format!("{after:?}"),
    }))
}
