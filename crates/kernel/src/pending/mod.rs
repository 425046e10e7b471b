//! The pending-event set: events that have been sent and not handled, returned in key order.
//!
//! Three designs implement [`PendingSet`] and are measured against each other; [`Pending`] is the one that
//! the executors use. All of them allow a push below the last pop, because a rollback puts events back. The
//! table behind the choice is in `docs/measurements/pending-set.md`.
//!
//! Deliberately absent: cancelling by key. A cancelled event is popped and dropped by its executor.

mod bucket_sort;
mod chunks;
mod dary_heap;
mod key_heap;
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
pub(crate) type Pending<R> = Ladder<R>;

/// A priority queue of events, in key order.
pub trait PendingSet<R: Keyed> {
    /// Adds a record. Its key may be below the last one popped.
    fn push(&mut self, record: R);

    /// Removes the record with the least key.
    fn pop(&mut self) -> Option<R>;

    /// Removes the record with the least key if that key is below `limit`.
    fn pop_before(&mut self, limit: EventKey) -> Option<R>;

    /// The record with the least key. May reorganise the set.
    fn peek(&mut self) -> Option<&R>;

    /// The record with the least key if that key is below `limit`. May reorganise the set.
    fn peek_before(&mut self, limit: &EventKey) -> Option<&R>;

    /// Removes the record that [`PendingSet::peek_before`] has just returned.
    fn take_first(&mut self) -> Option<R> {
        self.pop()
    }

    /// Removes the record that [`PendingSet::peek_before`] has just returned, without copying it.
    fn drop_first(&mut self) {
        self.pop();
    }

    /// A record that will be popped about `n` pops from now, so that its entity can be prefetched. Only a
    /// hint: pushes in between may change it, and there may be none. Never reorganises the set.
    fn ahead(&self, n: usize) -> Option<&R>;

    /// As [`PendingSet::ahead`], for several distances, the largest first.
    fn each_ahead<const N: usize>(&self, distances: [usize; N]) -> [Option<&R>; N] {
        distances.map(|n| self.ahead(n))
    }

    /// The number of records.
    fn len(&self) -> usize;

    /// Whether there are no records.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits every record once, in no particular order.
    fn for_each(&self, visit: impl FnMut(&R));
}

/// Whether `left` sorts before `right`. Times are seldom equal, so they are compared first, by reference:
/// copying whole keys that were just written costs more than comparing them.
#[inline]
pub(crate) fn precedes(left: &EventKey, right: &EventKey) -> bool {
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
