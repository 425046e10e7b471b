//! An entity as the executors hold it: the model's state and the kernel's own data.

use std::hash::Hash;

use crate::context::{Context, Desk, Refusal, Rules, TimerChange};
use crate::digest;
use crate::error::{Fault, RunError};
use crate::key::{EntityId, EventKey, Scheduled};
use crate::model::{Model, Statistics};
use crate::outcome::Remains;
use crate::prefetch::prefetch_front;
use crate::timers::Timers;

/// The most bytes of an entity that are prefetched: a choice. Four lines hold the state of most models.
const FETCHED_BYTES: usize = 256;

/// One entity. `X` is executor-specific data. What every event needs comes first, in a fixed order, so that
/// it can be prefetched without the statistics, which may be large.
#[repr(C)]
pub(crate) struct Slot<M: Model, X> {
    /// The number of events it has handled, which keys its draws.
    pub ordinal: u64,
    /// The number of events it has sent.
    pub sequence: u64,
    /// The chain of its committed (key, payload).
    pub chain: u64,
    pub timers: Timers,
    pub extra: X,
    pub state: M::Entity,
    pub statistics: M::Statistics,
}

impl<M: Model, X> Slot<M, X> {
    /// Creates and starts an entity; its first sends are on the desk.
    pub(crate) fn start(
        rules: &Rules<'_, M>,
        desk: &mut Desk<M>,
        id: EntityId,
        extra: X,
    ) -> Result<Self, RunError> {
        let mut slot: Self = Slot {
            state: rules.model.create(id),
            ordinal: 0,
            sequence: 0,
            chain: 0,
            timers: Timers::default(),
            extra,
            statistics: M::Statistics::default(),
        };
        let key = EventKey { origin: id, ..EventKey::MIN };
        let mut context = Context::new(rules, desk, &mut slot.timers, (&key, id), (0, 0));
        let name = || rules.model.describe(id);
        let started = rules.model.start(&mut slot.state, &mut context);
        (slot.ordinal, slot.sequence) = (1, context.sequence());
        started.map_err(|fault| RunError::Start { entity: id, name: name(), fault })?;
        if let Some(refusal) = desk.refusal.take() {
            let place = crate::error::Place { key, entity: id, name: name(), event: "the start".to_owned() };
            return Err(rules.refused(Box::new(place), refusal));
        }
        desk.timer_changes.clear();
        for sample in desk.samples.drain(..) {
            slot.statistics.add(sample);
        }
        Ok(slot)
    }

    /// Prefetches what every event of the entity needs; of a large state, its front.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch_front(self, std::mem::offset_of!(Self, statistics).min(FETCHED_BYTES));
    }

    /// Runs the handler. On success the slot has advanced by one event and the desk holds the handler's
    /// effects; on failure the state is arbitrary and the desk is empty.
    #[inline]
    pub(crate) fn perform(
        &mut self,
        rules: &Rules<'_, M>,
        desk: &mut Desk<M>,
        due: &Scheduled<M::Event>,
    ) -> Result<M::Undo, Box<RunError>> {
        let (handled, sequence) = self.handle(rules, desk, due);
        match handled {
            Ok(undo) if desk.refusal.is_none() => {
                self.advance(due, sequence);
                Ok(undo)
            }
            handled => Err(self.fail(rules, desk, due, handled.err())),
        }
    }

    /// Runs the handler of an event that will not be undone. What an undo would need is dropped where the
    /// handler has put it: it may be large, and reading it just after it was written in parts would stall.
    #[inline(always)]
    pub(crate) fn perform_for_good(
        &mut self,
        rules: &Rules<'_, M>,
        desk: &mut Desk<M>,
        due: &Scheduled<M::Event>,
    ) -> Result<(), Box<RunError>> {
        let (handled, sequence) = self.handle(rules, desk, due);
        if handled.is_err() || desk.refusal.is_some() {
            return Err(self.fail(rules, desk, due, handled.err()));
        }
        self.advance(due, sequence);
        Ok(())
    }

    /// Runs the handler; returns its result, and the number of events that the entity has sent.
    #[inline]
    fn handle(
        &mut self,
        rules: &Rules<'_, M>,
        desk: &mut Desk<M>,
        due: &Scheduled<M::Event>,
    ) -> (Result<M::Undo, Fault>, u64) {
        let mut context =
            Context::new(rules, desk, &mut self.timers, (&due.key, due.to), (self.ordinal, self.sequence));
        let handled = rules.model.handle(&mut self.state, &due.event, &mut context);
        (handled, context.sequence())
    }

    /// The entity has handled one more event.
    #[inline]
    fn advance(&mut self, due: &Scheduled<M::Event>, sequence: u64) {
        self.ordinal += 1;
        self.sequence = sequence;
        self.chain = digest::link(self.chain, &due.key, &due.event);
    }

    #[cold]
    fn fail(
        &mut self,
        rules: &Rules<'_, M>,
        desk: &mut Desk<M>,
        due: &Scheduled<M::Event>,
        fault: Option<Fault>,
    ) -> Box<RunError> {
        let place = rules.place(due);
        let refusal: Option<Refusal> = desk.refusal.take();
        self.take_back_timers(&desk.timer_changes);
        desk.clear();
        Box::new(match (fault, refusal) {
            (Some(fault), _) => RunError::Model { place, fault },
            (None, Some(refusal)) => rules.refused(place, refusal),
            (None, None) => unreachable!("a handler fails by a fault or by a refusal"),
        })
    }

    /// Undoes the timer changes of an event.
    pub(crate) fn take_back_timers(&mut self, changes: &[TimerChange]) {
        for change in changes.iter().rev() {
            match *change {
                TimerChange::Set(sequence) => {
                    self.timers.remove(sequence);
                }
                TimerChange::Cancelled(sequence) => self.timers.insert(sequence),
            }
        }
    }

    /// The final result of the entity; `pending` is the sum over its pending events.
    pub(crate) fn remains(self, id: EntityId, pending: u64) -> Remains<M::Entity, M::Statistics> {
        let words = (digest::of(&self.state), self.chain, digest::of(&self.statistics), pending);
        let mut folder = digest::Folder::new();
        words.hash(&mut folder);
        let digest = std::hash::Hasher::finish(&folder);
        Remains { id, state: self.state, statistics: self.statistics, digest }
    }
}
