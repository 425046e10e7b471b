//! The pending-event set: events on their way, given back in key order.
//!
//! Three designs stand side by side behind [`PendingSet`] and are measured against each other; [`Pending`]
//! names the one the executors use. All of them allow a push below the last pop, because a rollback puts
//! events back. The table that chose the winner is in `docs/measurements/pending-set.md`.
//!
//! What is deliberately absent: cancelling by key. An event that must not happen is popped and dropped by its
//! executor.

mod bucket_sort;
mod chunks;
mod dary_heap;
mod ladder;
mod radix;
mod rung;

#[cfg(test)]
mod tests;

pub use dary_heap::DaryHeap;
pub use ladder::Ladder;
pub use radix::RadixQueue;

use crate::key::{EventKey, Keyed};

/// The pending-event set of the executors.
pub type Pending<R> = Ladder<R>;

/// Events on their way, in key order.
pub trait PendingSet<R: Keyed> {
    /// Adds a record. Its key may lie below the last one popped.
    fn push(&mut self, record: R);

    /// Takes the record with the least key.
    fn pop(&mut self) -> Option<R>;

    /// Takes the record with the least key if that key lies below `limit`.
    fn pop_before(&mut self, limit: EventKey) -> Option<R>;

    /// Shows the record with the least key. May reorganise.
    fn peek(&mut self) -> Option<&R>;

    /// Shows a record that will be popped about `n` pops from now, so that its entity can be fetched early.
    /// Only a hint: pushes in between may change it, and there may be none to show. Never reorganises.
    fn ahead(&self, n: usize) -> Option<&R>;

    /// How many records are held.
    fn len(&self) -> usize;

    /// Whether none is held.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits every record once, in no particular order.
    fn for_each(&self, visit: impl FnMut(&R));
}

/// Whether `left` sorts before `right`. Times rarely tie, so they are compared alone first, and what they are
/// read from stays where it is: copying whole keys just written costs more than comparing them.
#[inline]
fn precedes(left: &EventKey, right: &EventKey) -> bool {
    if left.at == right.at {
        (left.step, left.origin, left.sequence) < (right.step, right.origin, right.sequence)
    } else {
        left.at < right.at
    }
}

/// The time of a record in nanoseconds.
#[inline]
fn time_of<R: Keyed>(record: &R) -> u64 {
    record.key().at.as_ns()
}
