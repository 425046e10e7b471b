//! A radix heap: records wait in one of 64 piles, by the highest bit in which their time differs from the
//! last one popped.
//!
//! After Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem" (1990). A pile
//! is processed when all below it are empty, and each of its records then moves to a lower pile, so a record
//! moves at most 64 times. The design requires that times never decrease; here, records below the last pop go
//! to a side heap.

use super::{DaryHeap, PendingSet, precedes, time_of};
use crate::key::{EventKey, Keyed};

/// One pile for each bit of a time, and one for records at the last time popped.
const PILES: usize = 65;

/// A radix heap with a side heap.
#[derive(Clone, Debug)]
pub struct RadixQueue<R> {
    /// Records at `last` or earlier.
    now: DaryHeap<R>,
    /// Pile `b` holds records that differ from `last` in bit `b - 1` and in none above; pile 0 stays empty.
    piles: Vec<Vec<R>>,
    last: u64,
    len: usize,
}

impl<R> Default for RadixQueue<R> {
    fn default() -> Self {
        let piles = (0..PILES).map(|_| Vec::new()).collect();
        RadixQueue { now: DaryHeap::default(), piles, last: 0, len: 0 }
    }
}

impl<R: Keyed> RadixQueue<R> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[inline]
    fn place(&mut self, record: R) {
        let at = time_of(&record);
        if at <= self.last {
            self.now.push(record);
        } else {
            self.piles[(u64::BITS - (at ^ self.last).leading_zeros()) as usize].push(record);
        }
    }

    /// Advances to the next time for which there is a record.
    fn advance(&mut self) {
        let Some(pile) = self.piles.iter().position(|pile| !pile.is_empty()) else { return };
        let mut records = std::mem::take(&mut self.piles[pile]);
        self.last = records.iter().map(time_of).min().expect("the pile is not empty");
        for record in records.drain(..) {
            self.place(record);
        }
        self.piles[pile] = records;
    }
}

impl<R: Keyed> PendingSet<R> for RadixQueue<R> {
    #[inline]
    fn push(&mut self, record: R) {
        self.len += 1;
        self.place(record);
    }

    #[inline]
    fn pop(&mut self) -> Option<R> {
        if self.now.is_empty() {
            self.advance();
        }
        let popped = self.now.pop();
        self.len -= usize::from(popped.is_some());
        popped
    }

    #[inline]
    fn pop_before(&mut self, limit: EventKey) -> Option<R> {
        if precedes(&self.peek()?.key(), &limit) { self.pop() } else { None }
    }

    #[inline]
    fn peek(&mut self) -> Option<&R> {
        if self.now.is_empty() {
            self.advance();
        }
        self.now.first()
    }

    #[inline]
    fn peek_before(&mut self, limit: &EventKey) -> Option<&R> {
        self.peek().filter(|first| precedes(&first.key(), limit))
    }

    #[inline]
    fn ahead(&self, _: usize) -> Option<&R> {
        None
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    fn for_each(&self, mut visit: impl FnMut(&R)) {
        self.now.for_each(&mut visit);
        self.piles.iter().flatten().for_each(visit);
    }
}
