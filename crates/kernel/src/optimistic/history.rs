//! The undo history of a worker: one entry per event, in the order of execution.
//!
//! Entries of one entity are linked backwards. A rollback leaves holes. Commits remove entries from the
//! front; because the order of execution differs slightly from the order of keys, an entry may have to wait
//! for an earlier executed one that lies after global virtual time. The log is a ring that reuses its memory,
//! so it allocates nothing in steady state.
//!
//! Each event writes an entry and reads it once more when it commits, so entries are kept small: a clone lies
//! outside, and links are distances of 32 bits.

use std::collections::VecDeque;

use towtank_units::SimTime;

use crate::context::{Draft, TimerChange};
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
    /// The entity's chain before the event.
    pub chain_before: u64,
    /// The transmission id of its first send; the others are numbered consecutively.
    pub first_id: u64,
    /// Its first send. Most events have one send and no other effect, so this one is stored here and the rest
    /// separately.
    first_send: Sending,
    /// How many entries back the previous one of the same entity is; 0 if it had none, or was released.
    back: u32,
    /// The number of its other side effects.
    effects: u32,
    /// The position of the first of them.
    effects_from: u64,
}

/// The state of an executed event.
pub(crate) enum Deed<M: Model> {
    /// Its handler is running or has panicked.
    Running,
    /// Executed; undone by the model's inverse.
    Inverse(M::Undo),
    /// Executed; undone by this state of the entity before it.
    Clone(Box<M::Entity>),
    /// Executed, or failed, at global virtual time: it is never undone, and nothing was copied for it.
    Certain(Result<(), Box<RunError>>),
    /// A cancelled timer; no handler was run.
    Skipped,
    /// The model failed. Its entity is suspended until this event commits or is undone.
    Faulted(Box<RunError>),
    /// Undone.
    Undone,
}

/// A recorded send; its origin and sequence follow from the entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub at: SimTime,
    pub step: u32,
    pub to: EntityId,
}

impl Sending {
    /// Stands for no send: no entity has this number, because entities are counted in 32 bits.
    const NONE: Sending = Sending { at: SimTime::ZERO, step: 0, to: EntityId(u32::MAX) };

    #[inline]
    pub(crate) fn of<E>(send: &Draft<E>) -> Sending {
        Sending { at: send.at, step: send.step(), to: send.to() }
    }
}

/// A side effect of an event other than the change of its entity.
pub(crate) enum Effect<M: Model> {
    Sent(Sending),
    Timer(TimerChange),
    Sample(<M::Statistics as Statistics>::Sample),
    Output(M::Output),
}

/// What an entity and its worker were before an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    /// The position of the entity's latest entry.
    pub latest: u64,
    pub chain: u64,
    /// The worker's next transmission id.
    pub next_id: u64,
}

impl<M: Model> Entry<M> {
    /// The number of its side effects but for its first send.
    #[inline]
    pub(crate) fn effects(&self) -> u32 {
        self.effects
    }

    /// Whether it is never undone.
    pub(crate) fn is_certain(&self) -> bool {
        matches!(self.deed, Deed::Certain(_))
    }

    /// Records the first send of the event.
    #[inline]
    pub(crate) fn note_first(&mut self, send: &Draft<M::Event>) {
        self.first_send = Sending::of(send);
    }

    /// Removes the first send, if there is one.
    pub(crate) fn take_first(&mut self) -> Option<Sending> {
        let first = std::mem::replace(&mut self.first_send, Sending::NONE);
        (first.to != Sending::NONE.to).then_some(first)
    }
}

/// The undo history of all entities of a worker.
pub(crate) struct History<M: Model> {
    entries: VecDeque<Entry<M>>,
    first_entry: u64,
    effects: VecDeque<Option<Effect<M>>>,
    first_effect: u64,
}

/// The side effects of all entries.
pub(crate) struct Effects<'h, M: Model> {
    effects: &'h mut VecDeque<Option<Effect<M>>>,
    first: &'h mut u64,
}

impl<M: Model> Effects<'_, M> {
    /// Releases the first one; `None` if it was undone.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<Effect<M>> {
        *self.first += 1;
        self.effects.pop_front().flatten()
    }
}

impl<M: Model> History<M> {
    pub(crate) fn new() -> History<M> {
        History { entries: VecDeque::new(), first_entry: 0, effects: VecDeque::new(), first_effect: 0 }
    }

    /// The number of entries, including holes, which the memory bound limits.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Appends an entry, whose side effects are noted afterwards; returns its position, and the entry.
    // Always inlined, so that the event is written straight into the log: to copy what was just written in
    // parts would stall.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        sent: Sent<M::Event>,
        deed: Deed<M>,
        before: Before,
    ) -> (u64, &mut Entry<M>) {
        let place = self.first_entry + self.entries.len() as u64;
        // An entity whose latest entry was released has nothing that could be undone. `NOWHERE` and released
        // positions give no distance; live ones are at most `history_max` back, which has 32 bits.
        let live = before.latest >= self.first_entry && before.latest < place;
        let back = if live { (place - before.latest) as u32 } else { 0 };
        let entry = self.entries.push_back_mut(Entry {
            sent,
            deed,
            chain_before: before.chain,
            first_id: before.next_id,
            first_send: Sending::NONE,
            back,
            effects: 0,
            effects_from: self.first_effect + self.effects.len() as u64,
        });
        (place, entry)
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

    /// The position of the entry before the one at `place`, of the same entity.
    #[inline]
    pub(crate) fn previous(place: u64, entry: &Entry<M>) -> u64 {
        if entry.back == 0 { NOWHERE } else { place - u64::from(entry.back) }
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

    /// The entries, the first one first, and their side effects.
    pub(crate) fn parts(&mut self) -> (impl Iterator<Item = &mut Entry<M>>, Effects<'_, M>) {
        let effects = Effects { effects: &mut self.effects, first: &mut self.first_effect };
        (self.entries.iter_mut(), effects)
    }

    /// Releases so many entries, whose side effects have been taken.
    pub(crate) fn release(&mut self, entries: usize) {
        self.entries.drain(..entries);
        self.first_entry += entries as u64;
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
