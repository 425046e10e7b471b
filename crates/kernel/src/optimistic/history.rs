//! What a worker needs to take events back: one entry an event, in the order in which they were executed.
//!
//! Entries of one entity are chained backwards. A rollback leaves holes; commits happen anywhere, since the order of
//! execution is not quite that of keys. Space is given back from the front, so the log is a ring that reuses its memory and
//! needs no allocation in steady state.

use std::collections::VecDeque;

use units::SimTime;

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
    /// Where its side effects lie.
    effects_from: u64,
    effects: u32,
}

/// What became of an event.
pub(crate) enum Deed<M: Model> {
    /// Executed; can be taken back.
    Executed(Back<M>),
    /// A timer that had been cancelled; nothing was executed.
    Skipped,
    /// The model failed. Its entity is suspended until this commits or is taken back.
    Faulted(Box<RunError>),
    /// Taken back.
    Undone,
    /// Can no longer be taken back.
    Committed,
}

/// How to take an event back.
pub(crate) enum Back<M: Model> {
    Inverse(M::Undo),
    Clone(M::Entity),
}

/// Something an event did beside changing its entity.
pub(crate) enum Effect<M: Model> {
    Sent { at: SimTime, step: u32, to: EntityId },
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

    /// Puts down a side effect of the entry that is pushed next.
    #[inline]
    pub(crate) fn note(&mut self, effect: Effect<M>) {
        self.effects.push_back(Some(effect));
    }

    /// The place the next side effect will have.
    #[inline]
    pub(crate) fn effects_end(&self) -> u64 {
        self.first_effect + self.effects.len() as u64
    }

    /// Adds an entry whose side effects were noted since `effects_from`; gives its place.
    #[inline]
    pub(crate) fn push(
        &mut self,
        sent: Sent<M::Event>,
        deed: Deed<M>,
        (previous, chain_before, first_id): (u64, u64, u64),
        effects_from: u64,
    ) -> u64 {
        let effects = (self.effects_end() - effects_from) as u32;
        self.entries.push_back(Entry { sent, deed, previous, chain_before, first_id, effects_from, effects });
        self.first_entry + self.entries.len() as u64 - 1
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

    /// The places held.
    pub(crate) fn places(&self) -> std::ops::Range<u64> {
        self.first_entry..self.first_entry + self.entries.len() as u64
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

    /// Gives back the space of entries that are over.
    pub(crate) fn trim(&mut self) {
        while let Some(entry) = self.entries.front()
            && matches!(entry.deed, Deed::Undone | Deed::Committed)
        {
            let end = entry.effects_from + u64::from(entry.effects);
            self.entries.pop_front();
            self.first_entry += 1;
            while self.first_effect < end {
                self.effects.pop_front();
                self.first_effect += 1;
            }
        }
        // Entries at the back that were taken back: a rollback usually undoes the latest.
        while let Some(entry) = self.entries.back()
            && matches!(entry.deed, Deed::Undone)
        {
            let from = entry.effects_from;
            self.entries.pop_back();
            self.effects.truncate((from - self.first_effect) as usize);
        }
    }
}
