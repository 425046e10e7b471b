//! The rollback-check executor: every event is done, undone and compared, then done again.
//!
//! It is the proof that a model is reversible, and that its handlers depend on nothing but their entity and context. It
//! uses the undo the optimistic executor would use.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use units::SimSpan;

use crate::context::{Desk, Rules, TimerChange};
use crate::error::{Place, RunError};
use crate::key::{EventKey, Scheduled};
use crate::model::{Model, Statistics, UndoBy};
use crate::options::RunOptions;
use crate::outcome::Share;
use crate::partition::Whole;
use crate::pending::PendingSet;
use crate::plain::{Plain, panic_message};
use crate::slot::Slot;
use crate::timers::Timers;

/// Runs a model event by event, checking each.
pub(crate) struct Check<'m, M: Model> {
    plain: Plain<'m, M, Whole>,
    undo_by: UndoBy,
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
    pub(crate) fn new(mut plain: Plain<'m, M, Whole>, undo_by: UndoBy) -> Self {
        if undo_by == UndoBy::Inverse {
            plain.slots.iter_mut().for_each(|slot| plain.rules.model.begin_speculation(&mut slot.state));
        }
        Check { plain, undo_by }
    }

    pub(crate) fn run(mut self, options: &RunOptions<'_>) -> Result<Share<M>, RunError> {
        let end = options.end.map_or(EventKey::MAX, EventKey::first_at);
        let mut partial = false;
        while let Some(scheduled) = self.plain.queue.pop_before(end) {
            let slot = &mut self.plain.slots[scheduled.to.index()];
            if scheduled.timer && !slot.timers.remove(scheduled.key.sequence) {
                self.plain.run.timers_dropped += 1;
                continue;
            }
            let place = || self.plain.rules.place(scheduled.due());
            if self.plain.run.committed == options.event_limit {
                return Err(RunError::TooManyEvents { place: place(), limit: options.event_limit });
            }
            match catch_unwind(AssertUnwindSafe(|| self.event(&scheduled))) {
                Ok(done) => done.map_err(|error| *error)?,
                Err(payload) => {
                    let message = panic_message(payload.as_ref());
                    return Err(RunError::Panic { place: self.plain.rules.place(scheduled.due()), message });
                }
            }
            if self.plain.run.committed.is_multiple_of(u64::from(options.batch)) {
                options.report(scheduled.key.at, self.plain.run.committed);
                if options.stop_asked() {
                    partial = self.plain.floor() < end;
                    break;
                }
            }
        }
        Ok(self.plain.share(end, partial))
    }

    /// Does, undoes, compares, does again and compares.
    fn event(&mut self, scheduled: &Scheduled<M::Event>) -> Result<(), Box<RunError>> {
        let Plain { rules, slots, desk, .. } = &mut self.plain;
        let slot = &mut slots[scheduled.to.index()];
        let place = || rules.place(scheduled.due());
        let before = (slot.state.clone(), slot.timers.clone());
        let kernel_before = (slot.ordinal, slot.sequence, slot.chain);

        let undo = slot.perform(rules, desk, scheduled.due())?;
        let record = format!("{undo:?}");
        let first = take_effects(slot, desk);
        match self.undo_by {
            UndoBy::Inverse => rules.model.undo(&mut slot.state, &scheduled.event, undo),
            UndoBy::Clone => slot.state = before.0.clone(),
        }
        slot.take_back_timers(&first.timer_changes);
        (slot.ordinal, slot.sequence, slot.chain) = kernel_before;
        same(place, "the state", &before.0, &slot.state)?;
        same(place, "the set of timers", &before.1, &slot.timers)?;

        let undo = slot.perform(rules, desk, scheduled.due())?;
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
        if let Some(early) = too_soon(rules, scheduled, &second.sends) {
            return Err(Box::new(early));
        }
        (desk.sends, desk.samples, desk.outputs) = (second.sends, second.samples, second.outputs);
        self.commit(scheduled);
        Ok(())
    }

    fn commit(&mut self, scheduled: &Scheduled<M::Event>) {
        let plain = &mut self.plain;
        plain.run.committed += 1;
        plain.run.executed += 2;
        plain.run.rolled_back += 1;
        plain.last = Some((scheduled.key, scheduled.to));
        plain.take_desk(scheduled.key, scheduled.to, scheduled.to.index());
    }
}

/// The first send that breaks what the event's slack promised. A send to the entity itself must promise as much again.
fn too_soon<M: Model>(
    rules: &Rules<'_, M>,
    scheduled: &Scheduled<M::Event>,
    sends: &[Scheduled<M::Event>],
) -> Option<RunError> {
    if rules.model.usual_slack() == SimSpan::ZERO {
        return None;
    }
    let promised = scheduled.key.at.saturating_add(rules.model.slack(scheduled.to, &scheduled.event));
    let felt = |send: &Scheduled<M::Event>| {
        let own = send.to == scheduled.to;
        let slack = if own { rules.model.slack(send.to, &send.event) } else { SimSpan::ZERO };
        send.key.at.saturating_add(slack)
    };
    let early = sends.iter().find(|send| felt(send) < promised)?;
    Some(rules.too_soon(early, felt(early), promised))
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
