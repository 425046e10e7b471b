//! A heap with four children per node, in one vector: the simple design that the others are compared with.
//!
//! Four children halve the depth of a binary heap and lie in one or two cache lines, which compensates for
//! the extra comparisons (LaMarca and Ladner, "The influence of caches on the performance of heaps", 1996).

use super::{PendingSet, precedes};
use crate::key::{EventKey, Keyed};

/// Children per node: the usual choice for records of about half a cache line.
const ARITY: usize = 4;

/// A 4-ary heap.
#[derive(Clone, Debug)]
pub struct DaryHeap<R> {
    records: Vec<R>,
}

impl<R> Default for DaryHeap<R> {
    fn default() -> Self {
        DaryHeap { records: Vec::new() }
    }
}

impl<R: Keyed> DaryHeap<R> {
    /// An empty heap.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The record with the least key, without the mutable borrow that [`PendingSet::peek`] needs.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<&R> {
        self.records.first()
    }

    /// Removes all records, in no particular order.
    pub fn drain(&mut self) -> impl Iterator<Item = R> {
        self.records.drain(..)
    }

    fn sift_up(&mut self, mut child: usize) {
        while child > 0 {
            let parent = (child - 1) / ARITY;
            if !precedes(&self.records[child].key(), &self.records[parent].key()) {
                break;
            }
            self.records.swap(child, parent);
            child = parent;
        }
    }

    fn sift_down(&mut self, mut parent: usize) {
        while let Some(child) = self.least_child(parent) {
            if !precedes(&self.records[child].key(), &self.records[parent].key()) {
                break;
            }
            self.records.swap(child, parent);
            parent = child;
        }
    }

    #[inline]
    fn least_child(&self, parent: usize) -> Option<usize> {
        let first = parent * ARITY + 1;
        let children = self.records.get(first..(first + ARITY).min(self.records.len()))?;
        let mut least = 0;
        let mut least_key = children.first()?.key();
        for (place, record) in children.iter().enumerate().skip(1) {
            let key = record.key();
            if precedes(&key, &least_key) {
                least = place;
                least_key = key;
            }
        }
        Some(first + least)
    }
}

impl<R: Keyed> PendingSet<R> for DaryHeap<R> {
    #[inline]
    fn push(&mut self, record: R) {
        self.records.push(record);
        self.sift_up(self.records.len() - 1);
    }

    #[inline]
    fn pop(&mut self) -> Option<R> {
        if self.records.is_empty() {
            return None;
        }
        let least = self.records.swap_remove(0);
        self.sift_down(0);
        Some(least)
    }

    #[inline]
    fn pop_before(&mut self, limit: EventKey) -> Option<R> {
        if precedes(&self.records.first()?.key(), &limit) { self.pop() } else { None }
    }

    #[inline]
    fn peek(&mut self) -> Option<&R> {
        self.records.first()
    }

    #[inline]
    fn peek_before(&mut self, limit: &EventKey) -> Option<&R> {
        self.records.first().filter(|first| precedes(&first.key(), limit))
    }

    #[inline]
    fn ahead(&self, n: usize) -> Option<&R> {
        self.records.get(n)
    }

    #[inline]
    fn len(&self) -> usize {
        self.records.len()
    }

    fn for_each(&self, visit: impl FnMut(&R)) {
        self.records.iter().for_each(visit);
    }
}
