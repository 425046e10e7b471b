//! The undo history of a worker: one entry per event, in the order of execution.
//!
//! Entries of one entity are linked backwards. A rollback leaves holes. Commits remove entries from the
//! front; because the order of execution differs slightly from the order of keys, an entry may have to wait
//! for an earlier executed one that lies after global virtual time. The log is a ring that reuses its memory,
//! so it allocates nothing in steady state.

use std::collections::VecDeque;

use towtank_units::SimTime;

use crate::context::TimerChange;
use crate::error::RunError;
use crate::key::EntityId;
use crate::model::{Model, Statistics};
use crate::transport::Sent;

/// The position that stands for no entry.
pub(crate) const NOWHERE: u64 = u64::MAX;

/// One executed event.
pub(crate) struct Entry<M: Model> {
    pub sent: Sent<M::Event>,
    pub deed: Deed<M>,
    /// The position of the previous entry of the same entity.
    pub previous: u64,
    /// The entity's chain before the event.
    pub chain_before: u64,
    /// The transmission id of its first send; the others are numbered consecutively.
    pub first_id: u64,
    /// Its first send. Most events have one send and no other effect, so this one is stored here and the rest
    /// separately.
    pub first_send: Option<Sending>,
    /// The position of its first other side effect.
    effects_from: u64,
    effects: u32,
}

/// The state of an executed event.
pub(crate) enum Deed<M: Model> {
    /// Its handler is running or has panicked. Holds the entity's state before it, if undo is by clone.
    Running(Option<M::Entity>),
    /// Executed; can be undone.
    Executed(Back<M>),
    /// A cancelled timer; no handler was run.
    Skipped,
    /// The model failed. Its entity is suspended until this event commits or is undone.
    Faulted(Box<RunError>),
    /// Undone.
    Undone,
}

/// How to undo an event.
pub(crate) enum Back<M: Model> {
    Inverse(M::Undo),
    Clone(M::Entity),
}

/// A recorded send; its origin and sequence follow from the entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub at: SimTime,
    pub step: u32,
    pub to: EntityId,
}

/// A side effect of an event other than the change of its entity.
pub(crate) enum Effect<M: Model> {
    Sent(Sending),
    Timer(TimerChange),
    Sample(<M::Statistics as Statistics>::Sample),
    Output(M::Output),
}

/// The undo history of all entities of a worker.
pub(crate) struct History<M: Model> {
    entries: VecDeque<Entry<M>>,
    first_entry: u64,
    effects: VecDeque<Option<Effect<M>>>,
    first_effect: u64,
}

impl<M: Model> History<M> {
    pub(crate) fn new() -> History<M> {
        History { entries: VecDeque::new(), first_entry: 0, effects: VecDeque::new(), first_effect: 0 }
    }

    /// The number of entries, including holes, which the memory bound limits.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Appends an entry, whose side effects are noted afterwards; returns its position.
    #[inline]
    pub(crate) fn push(
        &mut self,
        sent: Sent<M::Event>,
        deed: Deed<M>,
        (previous, chain_before, first_id): (u64, u64, u64),
    ) -> u64 {
        let effects_from = self.first_effect + self.effects.len() as u64;
        self.entries.push_back(Entry {
            sent,
            deed,
            previous,
            chain_before,
            first_id,
            first_send: None,
            effects_from,
            effects: 0,
        });
        self.first_entry + self.entries.len() as u64 - 1
    }

    /// The entry that was pushed last.
    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut Entry<M>> {
        self.entries.back_mut()
    }

    /// Records a side effect of the entry that was pushed last.
    #[inline]
    pub(crate) fn note(&mut self, effect: Effect<M>) {
        self.effects.push_back(Some(effect));
        self.entries.back_mut().expect("an effect belongs to an entry").effects += 1;
    }

    /// The entry at a position; `None` if it was released.
    #[inline]
    pub(crate) fn get(&self, place: u64) -> Option<&Entry<M>> {
        self.entries.get(place.checked_sub(self.first_entry)? as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u64) -> Option<&mut Entry<M>> {
        self.entries.get_mut(place.checked_sub(self.first_entry)? as usize)
    }

    /// The positions of an entry's side effects.
    pub(crate) fn effect_places(entry: &Entry<M>) -> std::ops::Range<u64> {
        entry.effects_from..entry.effects_from + u64::from(entry.effects)
    }

    /// Removes a side effect from the log.
    #[inline]
    pub(crate) fn take_effect(&mut self, place: u64) -> Effect<M> {
        self.effects[(place - self.first_effect) as usize].take().expect("a side effect is taken once")
    }

    /// The first entry.
    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut Entry<M>> {
        self.entries.front_mut()
    }

    /// Releases the first entry; passes its side effects to `show`.
    #[inline]
    pub(crate) fn drop_front(&mut self, mut show: impl FnMut(Effect<M>)) {
        let effects = self.entries.front().map_or(0, |entry| entry.effects);
        self.entries.pop_front();
        self.first_entry += 1;
        for _ in 0..effects {
            self.first_effect += 1;
            if let Some(Some(effect)) = self.effects.pop_front() {
                show(effect);
            }
        }
    }

    /// Releases undone entries at the back: a rollback usually undoes the latest events.
    pub(crate) fn trim(&mut self) {
        while let Some(entry) = self.entries.back()
            && matches!(entry.deed, Deed::Undone)
        {
            let left = (entry.effects_from - self.first_effect) as usize;
            self.entries.pop_back();
            self.effects.truncate(left);
        }
    }
}
