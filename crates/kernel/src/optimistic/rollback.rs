//! Undoing events, and cancelling what they had sent.
//!
//! Only the entity that received a late event is rolled back, not its whole partition. The sends of undone
//! events are cancelled: by an anti-message if another worker has the event, at once if this one has it. A
//! cancelled event that was executed rolls back its own entity in turn; this uses a work list, not recursion,
//! so chains may be long.

use super::Optimistic;
use super::history::{Deed, Effect, History, NOWHERE, Sending};
use crate::context::TimerChange;
use crate::key::{EntityId, EventKey};
use crate::model::Model;
use crate::partition::Realm;
use crate::pending::PendingSet;
use crate::slot::Slot;
use crate::transport::{Letter, Sent};

/// A send that must be cancelled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cancellation {
    pub id: u64,
    pub key: EventKey,
    pub to: EntityId,
}

impl<M: Model> Optimistic<'_, M> {
    /// Undoes the events of an entity that come after a late event; returns whether there were any.
    pub(super) fn make_way(&mut self, local: usize, key: EventKey) -> bool {
        let late = |&(_, other): &(u64, EventKey)| other > key;
        if !self.latest(local).is_some_and(|latest| late(&latest)) {
            return false;
        }
        self.run.primary_rollbacks += 1;
        while let Some((place, _)) = self.latest(local).filter(late) {
            let sent = self.take_back(place, local);
            self.requeue(sent);
        }
        self.work_off_cancellations();
        self.history.trim();
        true
    }

    /// Cancels an event of this worker, executed or not, and its consequences.
    pub(super) fn cancel(&mut self, cancellation: Cancellation) {
        self.cancellations.push(cancellation);
        self.work_off_cancellations();
        self.history.trim();
    }

    /// Undoes every event at or after a key, on all entities, but for one at global virtual time that was
    /// executed without a way back.
    pub(super) fn rewind(&mut self, key: EventKey) {
        for local in 0..self.slots.len() {
            while let Some((place, _)) = self.latest(local).filter(|&(_, other)| other >= key) {
                let sent = self.take_back(place, local);
                self.requeue(sent);
            }
        }
        self.work_off_cancellations();
        self.history.trim();
    }

    /// The latest event of an entity that can still be undone.
    fn latest(&self, local: usize) -> Option<(u64, EventKey)> {
        let place = self.slots[local].extra.latest;
        let entry = self.history.get(place).filter(|entry| !entry.is_certain())?;
        Some((place, entry.sent.scheduled.key))
    }

    fn requeue(&mut self, sent: Sent<M::Event>) {
        self.queue.push(sent);
    }

    fn work_off_cancellations(&mut self) {
        while let Some(cancellation) = self.cancellations.pop() {
            let local = self.territory.own(cancellation.to);
            if self.was_executed(local, cancellation) {
                self.run.cancelled_after += 1;
                self.run.secondary_rollbacks += 1;
                while let Some((place, _)) = self.latest(local).filter(|&(_, key)| key >= cancellation.key) {
                    let sent = self.take_back(place, local);
                    if sent.id != cancellation.id {
                        self.requeue(sent);
                    }
                }
            } else {
                // It is queued somewhere, or has not arrived yet: it is dropped when it is found.
                self.doomed.insert(cancellation.id);
            }
        }
    }

    fn was_executed(&self, local: usize, cancellation: Cancellation) -> bool {
        let mut place = self.slots[local].extra.latest;
        while let Some(entry) = self.history.get(place) {
            if entry.sent.scheduled.key < cancellation.key {
                return false;
            }
            if entry.sent.id == cancellation.id {
                return true;
            }
            place = History::previous(place, entry);
        }
        false
    }

    /// Undoes the latest event of an entity; returns the event, to be executed again or dropped.
    fn take_back(&mut self, place: u64, local: usize) -> Sent<M::Event> {
        let entry = self.history.get_mut(place).expect("an event that is taken back is in the history");
        let key = entry.sent.scheduled.key;
        assert!(key >= self.gvt, "rolling back {key}, which lies before global virtual time {}", self.gvt);
        let deed = std::mem::replace(&mut entry.deed, Deed::Undone);
        let (sent, first_id, chain) = (entry.sent.clone(), entry.first_id, entry.chain_before);
        let (first_send, effects) = (entry.take_first(), History::effect_places(entry));
        let previous = History::previous(place, entry);
        let slot = &mut self.slots[local];
        slot.extra.latest = previous;
        match deed {
            Deed::Inverse(_) | Deed::Clone(_) => {
                match deed {
                    // After an undone fault there is no state left to which an inverse applies.
                    Deed::Inverse(undo) if !self.restart => {
                        self.rules.model.undo(&mut slot.state, &sent.scheduled.event, undo);
                    }
                    Deed::Clone(state) => slot.state = *state,
                    _ => {}
                }
                assert!(slot.ordinal > 1, "an entity takes back no more events than it has handled");
                slot.ordinal -= 1;
                slot.chain = chain;
                self.run.rolled_back += 1;
                self.take_back_effects(local, sent.scheduled.to, (first_id, first_send), effects);
            }
            Deed::Faulted(_) => {
                self.run.faults_forgiven += 1;
                self.resume(local);
            }
            Deed::Skipped => return sent,
            Deed::Undone | Deed::Running | Deed::Certain(_) => {
                unreachable!("the latest entry that can be undone is neither undone nor running")
            }
        }
        if sent.scheduled.timer {
            self.slots[local].timers.insert(sent.scheduled.key.sequence);
        }
        sent
    }

    /// Cancels the sends of an event and undoes its changes of timers, latest first.
    fn take_back_effects(
        &mut self,
        local: usize,
        origin: EntityId,
        (first_id, first_send): (u64, Option<Sending>),
        effects: std::ops::Range<u64>,
    ) {
        let first = self.cancellations.len();
        for place in effects.rev() {
            let slot = &mut self.slots[local];
            match self.history.take_effect(place) {
                Effect::Sent(send) => self.cancellations.push(slot.unsend(origin, send)),
                Effect::Timer(TimerChange::Set(sequence)) => {
                    slot.timers.remove(sequence);
                }
                Effect::Timer(TimerChange::Cancelled(sequence)) => slot.timers.insert(sequence),
                Effect::Sample(_) | Effect::Output(_) => {}
            }
        }
        if let Some(send) = first_send {
            self.cancellations.push(self.slots[local].unsend(origin, send));
        }
        // They were collected latest first; ids count up from the first.
        for (id, cancellation) in (first_id..).zip(self.cancellations[first..].iter_mut().rev()) {
            cancellation.id = id;
        }
        let mut index = first;
        while index < self.cancellations.len() {
            let Cancellation { id, key, to } = self.cancellations[index];
            if self.territory.has(to) {
                index += 1;
            } else {
                self.cancellations.swap_remove(index);
                self.run.anti_messages += 1;
                self.outbox[self.plan.owner(to)].push(Letter::Anti { id, key, to });
            }
        }
    }

    /// Resumes a suspended entity.
    fn resume(&mut self, local: usize) {
        if self.undo_by == crate::model::UndoBy::Inverse {
            // The failed handler may have left any state behind, and no inverse is known.
            self.restart = true;
        }
        for sent in self.suspended.remove(&local).unwrap_or_default() {
            self.requeue(sent);
        }
    }
}

impl<M: Model> Slot<M, Trail> {
    /// Undoes the latest send; the caller fills in its id.
    fn unsend(&mut self, origin: EntityId, Sending { at, step, to }: Sending) -> Cancellation {
        assert!(self.sequence > 0, "an entity takes back no more sends than it has made");
        self.sequence -= 1;
        Cancellation { id: 0, key: EventKey { at, step, origin, sequence: self.sequence }, to }
    }
}

/// What an entity has executed and committed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trail {
    /// The position of its latest entry in the history.
    pub latest: u64,
    /// The key of the last event that it has committed.
    pub committed: EventKey,
}

impl Trail {
    /// Of an entity that has executed nothing.
    pub(super) const NONE: Trail = Trail { latest: NOWHERE, committed: EventKey::MIN };
}
