//! What a worker needs to take events back: one entry an event, in the order in which they were executed.
//!
//! Entries of one entity are chained backwards. A rollback leaves holes. Commits take entries from the front;
//! since the order of execution is not quite that of keys, an entry may wait there for one that was executed
//! before it and lies after global virtual time. So the log is a ring that reuses its memory and needs no
//! allocation in steady state.

use std::collections::VecDeque;

use towtank_units::SimTime;

use crate::context::TimerChange;
use crate::error::RunError;
use crate::key::EntityId;
use crate::model::{Model, Statistics};
use crate::transport::Sent;

/// The place of no entry.
pub(crate) const NOWHERE: u64 = u64::MAX;

/// One executed event.
pub(crate) struct Entry<M: Model> {
    pub sent: Sent<M::Event>,
    pub deed: Deed<M>,
    /// The entry of the same entity before this one.
    pub previous: u64,
    /// The entity's chain before.
    pub chain_before: u64,
    /// The transmission id of its first send; the others follow.
    pub first_id: u64,
    /// Its first send. Most events send one other and do nothing else, so that one is kept here, the rest
    /// apart.
    pub first_send: Option<Sending>,
    /// Where its other side effects lie.
    effects_from: u64,
    effects: u32,
}

/// What became of an event.
pub(crate) enum Deed<M: Model> {
    /// Its handler runs, or has panicked. With the entity before it, where clones are the undo.
    Running(Option<M::Entity>),
    /// Executed; can be taken back.
    Executed(Back<M>),
    /// A timer that had been cancelled; nothing was executed.
    Skipped,
    /// The model failed. Its entity is suspended until this commits or is taken back.
    Faulted(Box<RunError>),
    /// Taken back.
    Undone,
}

/// How to take an event back.
pub(crate) enum Back<M: Model> {
    Inverse(M::Undo),
    Clone(M::Entity),
}

/// What is remembered of a send; its origin and number follow from where it is remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub at: SimTime,
    pub step: u32,
    pub to: EntityId,
}

/// Something an event did beside changing its entity.
pub(crate) enum Effect<M: Model> {
    Sent(Sending),
    Timer(TimerChange),
    Sample(<M::Statistics as Statistics>::Sample),
    Output(M::Output),
}

/// The log.
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

    /// Entries held, holes included: what the memory bound counts.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds an entry; its side effects are noted after it. Gives its place.
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

    /// The entry pushed last.
    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut Entry<M>> {
        self.entries.back_mut()
    }

    /// Notes a side effect of the entry pushed last.
    #[inline]
    pub(crate) fn note(&mut self, effect: Effect<M>) {
        self.effects.push_back(Some(effect));
        self.entries.back_mut().expect("an effect belongs to an entry").effects += 1;
    }

    /// The entry at a place; none if it was given back.
    #[inline]
    pub(crate) fn get(&self, place: u64) -> Option<&Entry<M>> {
        self.entries.get(place.checked_sub(self.first_entry)? as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u64) -> Option<&mut Entry<M>> {
        self.entries.get_mut(place.checked_sub(self.first_entry)? as usize)
    }

    /// Where an entry's side effects lie.
    pub(crate) fn effect_places(entry: &Entry<M>) -> std::ops::Range<u64> {
        entry.effects_from..entry.effects_from + u64::from(entry.effects)
    }

    /// Takes a side effect out of the log.
    #[inline]
    pub(crate) fn take_effect(&mut self, place: u64) -> Effect<M> {
        self.effects[(place - self.first_effect) as usize].take().expect("a side effect is taken once")
    }

    /// The first entry.
    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut Entry<M>> {
        self.entries.front_mut()
    }

    /// Gives back the space of the first entry; its side effects are shown to `show`.
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

    /// Gives back the space of entries at the back that were taken back: a rollback usually undoes the
    /// latest.
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
