//! The rollback-check executor: every event is executed, undone and compared, then executed again.
//!
//! It proves that a model is reversible, and that its handlers depend on nothing but their entity and
//! context. It uses the same kind of undo as the optimistic executor.
//!
//! Each entity has a twin on which every event is executed once and never undone. Before an event the twin is
//! the reference for the undone entity; after it, for the entity on which the event was executed again. So
//! nothing is cloned for the comparison. What an event sends, records, emits and returns is compared for
//! every event. The states of small entities are compared at every event too; those of large entities at
//! intervals, so that the cost per event is about that of a small one, and at the end of the run. An undo
//! that leaves a large entity wrong is found then, unless later events correct it: the error says since when
//! the states were not compared.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use towtank_units::SimSpan;

use crate::context::{Desk, Draft, Rules, TimerChange};
use crate::digest;
use crate::error::{Place, RunError};
use crate::key::{EventKey, Scheduled};
use crate::model::{Model, Statistics, UndoBy};
use crate::options::RunOptions;
use crate::outcome::Share;
use crate::partition::{Realm, Whole};
use crate::pending::PendingSet;
use crate::plain::{Plain, law_of_order, panic_message};
use crate::slot::Slot;

/// The number of words of a state that are compared at every event: as many as take about the time of an
/// event. An entity n times as large is compared at one event in n.
const WORDS_AN_EVENT: u64 = 256;

/// The number of comparisons of an entity between two counts of its words; it seldom grows much meanwhile.
const COMPARISONS_A_COUNT: u64 = 16;

/// The state of a checked run.
pub(crate) struct Check<'m, M: Model> {
    plain: Plain<'m, M, Whole>,
    twins: Vec<Slot<M, Watch>>,
    undo_by: UndoBy,
}

/// When an entity is compared with its twin.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    /// The ordinal of the next event at which it is compared.
    next: u64,
    /// The ordinal of the last event at which it was compared.
    last: u64,
    /// The approximate number of events between two comparisons; 0 for a small entity.
    gap: u64,
    /// The number of comparisons so far. Words are counted at only some of them, because counting costs as
    /// much as comparing.
    count: u64,
}

/// Everything a handler put on the desk, for comparison.
struct Effects<M: Model> {
    undo: M::Undo,
    sends: Vec<Draft<M::Event>>,
    samples: Vec<<M::Statistics as Statistics>::Sample>,
    outputs: Vec<M::Output>,
    timer_changes: Vec<TimerChange>,
}

impl<'m, M: Model> Check<'m, M> {
    pub(crate) fn new(mut plain: Plain<'m, M, Whole>, undo_by: UndoBy) -> Self {
        let mut twins: Vec<Slot<M, Watch>> = plain.slots.iter().map(twin).collect();
        if undo_by == UndoBy::Inverse {
            let model = plain.rules.model;
            plain.slots.iter_mut().for_each(|slot| model.begin_speculation(&mut slot.state));
            twins.iter_mut().for_each(|twin| model.begin_speculation(&mut twin.state));
        }
        Check { plain, twins, undo_by }
    }

    pub(crate) fn run(mut self, options: &RunOptions<'_>) -> Result<Share<M>, RunError> {
        let end = options.end.map_or(EventKey::MAX, EventKey::first_at);
        let mut partial = false;
        while let Some(scheduled) = self.plain.queue.pop_before(end) {
            let local = scheduled.to.index();
            if scheduled.timer {
                self.twins[local].timers.remove(scheduled.key.sequence);
                if !self.plain.slots[local].timers.remove(scheduled.key.sequence) {
                    self.plain.run.timers_dropped += 1;
                    continue;
                }
            }
            let place = || self.plain.rules.place(&scheduled);
            if self.plain.run.committed == options.event_limit {
                return Err(RunError::TooManyEvents { place: place(), limit: options.event_limit });
            }
            match catch_unwind(AssertUnwindSafe(|| self.event(&scheduled))) {
                Ok(done) => done.map_err(|error| *error)?,
                Err(payload) => {
                    let message = panic_message(payload.as_ref());
                    return Err(RunError::Panic { place: self.plain.rules.place(&scheduled), message });
                }
            }
            if self.plain.run.committed.is_multiple_of(u64::from(options.batch)) {
                options.report(scheduled.key.at, self.plain.run.committed, self.plain.work);
                if options.stop_asked() {
                    partial = self.plain.floor() < end;
                    break;
                }
            }
        }
        self.compare_all()?;
        Ok(self.plain.share(end, partial))
    }

    /// Executes, undoes and compares an event, then executes it again and compares.
    fn event(&mut self, scheduled: &Scheduled<M::Event>) -> Result<(), Box<RunError>> {
        let Plain { rules, slots, desk, run, .. } = &mut self.plain;
        let slot = &mut slots[scheduled.to.index()];
        let twin = &mut self.twins[scheduled.to.index()];
        let place = || rules.place(scheduled);
        let compared = twin.ordinal >= twin.extra.next;
        if compared && twin.ordinal > twin.extra.last + 1 {
            let unseen = twin.ordinal - 1 - twin.extra.last;
            let what = format!("the state, at this entity's last {unseen} events before this one,");
            same(place, &what, &twin.state, &slot.state)?;
        }
        let mut first = None;
        // Undo by clone costs the clone, and can only fail if handlers have hidden dependencies; the
        // comparison with the twin shows these too.
        if compared || self.undo_by == UndoBy::Inverse {
            let kernel_before = (slot.ordinal, slot.sequence, slot.chain);
            let undo = slot.perform(rules, desk, scheduled)?;
            let Effects { undo, sends, samples, outputs, timer_changes } = take_effects(undo, desk);
            match self.undo_by {
                UndoBy::Inverse => rules.model.undo(&mut slot.state, &scheduled.event, undo),
                UndoBy::Clone => slot.state = twin.state.clone(),
            }
            slot.take_back_timers(&timer_changes);
            (slot.ordinal, slot.sequence, slot.chain) = kernel_before;
            run.executed += 1;
            run.rolled_back += 1;
            if compared {
                same(place, "the state", &twin.state, &slot.state)?;
                same(place, "the set of timers", &twin.timers, &slot.timers)?;
            }
            first = Some((sends, samples, outputs, timer_changes));
        }
        let undo = slot.perform(rules, desk, scheduled)?;
        let again = take_effects(undo, desk);
        let undo = twin.perform(rules, desk, scheduled)?;
        let once = take_effects(undo, desk);
        run.executed += 1;
        compare_twins(place, (twin, &once), (slot, &again), compared)?;
        law_of_twins(twin, slot);
        if let Some((sends, samples, outputs, timer_changes)) = first {
            same(place, "what was sent", &sends, &again.sends)?;
            same(place, "what was counted", &samples, &again.samples)?;
            same(place, "what was written", &outputs, &again.outputs)?;
            same(place, "the timers set and cancelled", &timer_changes, &again.timer_changes)?;
        }
        if self.undo_by == UndoBy::Inverse {
            rules.model.committed(&mut slot.state, again.undo);
            rules.model.committed(&mut twin.state, once.undo);
        }
        if let Some(early) = too_soon(rules, scheduled, &again.sends, slot.sequence) {
            return Err(Box::new(early));
        }
        if compared {
            twin.extra = Watch::after(twin, u64::from(scheduled.to.0));
        }
        (desk.sends, desk.samples, desk.outputs) = (again.sends, again.samples, again.outputs);
        self.commit(scheduled);
        Ok(())
    }

    fn commit(&mut self, scheduled: &Scheduled<M::Event>) {
        let plain = &mut self.plain;
        plain.run.committed += 1;
        plain.run.executed += 1;
        let last = plain.last.map_or(EventKey::MIN, |(key, _)| key);
        law_of_order(&last, &scheduled.key);
        plain.last = Some((scheduled.key, scheduled.to));
        plain.take_desk(scheduled.key, scheduled.to, scheduled.to.index());
    }

    /// Compares each entity a last time, so that no wrong state gets into the result.
    fn compare_all(&self) -> Result<(), RunError> {
        let Some((key, _)) = self.plain.last else { return Ok(()) };
        for (local, (slot, twin)) in self.plain.slots.iter().zip(&self.twins).enumerate() {
            let id = self.plain.realm.entity(local);
            let place = || {
                let name = self.plain.rules.model.describe(id);
                Box::new(Place { key, entity: id, name, event: "the last comparison of the run".to_owned() })
            };
            let unseen = (twin.ordinal - 1).saturating_sub(twin.extra.last);
            let what = format!("the state, at this entity's last {unseen} events,");
            same(place, &what, &twin.state, &slot.state).map_err(|error| *error)?;
            same(place, "the set of timers", &twin.timers, &slot.timers).map_err(|error| *error)?;
        }
        Ok(())
    }
}

/// Once an event has been executed on both, an entity and its twin have handled and sent the same.
fn law_of_twins<M: Model>(twin: &Slot<M, Watch>, slot: &Slot<M, ()>) {
    assert_eq!(
        (twin.ordinal, twin.sequence, twin.chain),
        (slot.ordinal, slot.sequence, slot.chain),
        "a twin has handled and sent what its entity has"
    );
}

/// A copy of an entity on which every event will be executed once.
fn twin<M: Model>(slot: &Slot<M, ()>) -> Slot<M, Watch> {
    Slot {
        state: slot.state.clone(),
        ordinal: slot.ordinal,
        sequence: slot.sequence,
        chain: slot.chain,
        timers: slot.timers.clone(),
        extra: Watch::default(),
        statistics: M::Statistics::default(),
    }
}

impl Watch {
    /// The time of the next comparison of an entity: its next event if it is small, later the larger it is.
    /// The gaps vary, because equal gaps might always meet the same kind of event.
    fn after<M: Model>(twin: &Slot<M, Watch>, id: u64) -> Watch {
        let Watch { mut gap, count, .. } = twin.extra;
        if count.is_multiple_of(COMPARISONS_A_COUNT) {
            let mut words = Words(0);
            twin.state.hash(&mut words);
            gap = words.0 / WORDS_AN_EVENT;
        }
        let last = twin.ordinal - 1;
        let more = if gap == 0 { 0 } else { digest::of(&(id, last)) % (2 * gap) };
        Watch { next: twin.ordinal + more, last, gap, count: count + 1 }
    }
}

/// Counts the words of a state as a digest would fold them.
struct Words(u64);

impl Hasher for Words {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len().div_ceil(8) as u64;
    }
}

/// Compares the repeated execution with the single one, and the two entities if `states` is set.
fn compare_twins<M: Model>(
    place: impl Fn() -> Box<Place> + Copy,
    (twin, once): (&Slot<M, Watch>, &Effects<M>),
    (slot, again): (&Slot<M, ()>, &Effects<M>),
    states: bool,
) -> Result<(), Box<RunError>> {
    if states {
        same(place, "the re-executed state", &twin.state, &slot.state)?;
        same(place, "the re-executed set of timers", &twin.timers, &slot.timers)?;
    }
    same(place, "the undo record", &once.undo, &again.undo)?;
    same(place, "what was sent", &once.sends, &again.sends)?;
    same(place, "what was counted", &once.samples, &again.samples)?;
    same(place, "what was written", &once.outputs, &again.outputs)?;
    same(place, "the timers set and cancelled", &once.timer_changes, &again.timer_changes)
}

/// The first send that breaks the slack promised for the event; `sequence` is the one after the last send. A
/// send to the entity itself must promise the same bound.
fn too_soon<M: Model>(
    rules: &Rules<'_, M>,
    scheduled: &Scheduled<M::Event>,
    sends: &[Draft<M::Event>],
    sequence: u64,
) -> Option<RunError> {
    if rules.model.usual_slack() == SimSpan::ZERO {
        return None;
    }
    let promised = scheduled.key.at.saturating_add(rules.model.slack(scheduled.to, &scheduled.event));
    let felt = |send: &Draft<M::Event>| {
        let own = send.to() == scheduled.to;
        let slack = if own { rules.model.slack(send.to(), &send.event) } else { SimSpan::ZERO };
        send.at.saturating_add(slack)
    };
    let place = sends.iter().position(|send| felt(send) < promised)?;
    let (felt, sequence) = (felt(&sends[place]), sequence - (sends.len() - place) as u64);
    let early = sends[place].clone().scheduled(scheduled.to, sequence);
    Some(rules.too_soon(&early, felt, promised))
}

fn take_effects<M: Model>(undo: M::Undo, desk: &mut Desk<M>) -> Effects<M> {
    Effects {
        undo,
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

#[cfg(test)]
mod tests;
