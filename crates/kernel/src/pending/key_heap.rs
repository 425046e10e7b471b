//! A heap of keys, for large records: each record stays in one place while its key moves.
//!
//! A heap moves what it holds once per level. Events of some models take more than a hundred bytes, and a key
//! with the place of its record takes 32, so that four children lie in two cache lines.
//!
//! Most pushes are for soon, because simulated delays are short compared with the time that the set covers.
//! So the next few keys are kept in a sorted line in front of the heap: a key that belongs near its end is
//! inserted there, which moves few others, and is popped without any search.

use super::precedes;
use crate::key::{EventKey, Keyed};

/// Children per node, as in [`super::DaryHeap`].
const ARITY: usize = 4;

/// A key is inserted into the line if it is among this many least ones: a choice, 24 to 64 are equally fast.
const LINE_MOVES: usize = 32;

/// A key, and the place of its record.
#[derive(Clone, Copy)]
struct Node {
    key: EventKey,
    place: u32,
}

/// A 4-ary heap of keys, and a sorted line of some of the least ones.
pub(super) struct KeyHeap<R> {
    /// Latest first.
    line: Vec<Node>,
    heap: Vec<Node>,
    /// The records; places that are free hold none.
    records: Vec<Option<R>>,
    free: Vec<u32>,
}

impl<R> Default for KeyHeap<R> {
    fn default() -> Self {
        KeyHeap { line: Vec::new(), heap: Vec::new(), records: Vec::new(), free: Vec::new() }
    }
}

impl<R: Keyed> KeyHeap<R> {
    #[inline]
    pub fn len(&self) -> usize {
        self.line.len() + self.heap.len()
    }

    /// The node with the least key, and whether it is in the line.
    #[inline]
    fn first_node(&self) -> Option<(&Node, bool)> {
        match (self.line.last(), self.heap.first()) {
            (Some(line), Some(heap)) if precedes(&heap.key, &line.key) => Some((heap, false)),
            (Some(line), _) => Some((line, true)),
            (None, Some(heap)) => Some((heap, false)),
            (None, None) => None,
        }
    }

    /// The least key.
    #[inline]
    pub(super) fn first_key(&self) -> Option<&EventKey> {
        self.first_node().map(|(node, _)| &node.key)
    }

    /// The record with the least key.
    #[inline]
    pub fn first(&self) -> Option<&R> {
        let (node, _) = self.first_node()?;
        self.records[node.place as usize].as_ref()
    }

    #[inline]
    pub fn push(&mut self, record: R) {
        let key = record.key();
        let place = match self.free.pop() {
            Some(place) => {
                self.records[place as usize] = Some(record);
                place
            }
            None => {
                self.records.push(Some(record));
                u32::try_from(self.records.len() - 1).expect("fewer than 2^32 records fit into memory")
            }
        };
        let node = Node { key, place };
        let end = self.line.len().saturating_sub(LINE_MOVES);
        if self.line.get(end).is_none_or(|far| precedes(&key, &far.key)) || end == 0 {
            let later = self.line[end..].partition_point(|other| precedes(&key, &other.key));
            self.line.insert(end + later, node);
        } else {
            self.heap.push(node);
            self.sift_up(node);
        }
    }

    /// Removes the record with the least key.
    #[inline]
    pub fn pop(&mut self) -> Option<R> {
        let place = self.drop_first_node()?;
        let record = self.records[place].take();
        assert!(record.is_some(), "a key in the heap has its record: place {place} is empty");
        record
    }

    /// Removes the record with the least key without copying it.
    #[inline]
    pub(crate) fn drop_first(&mut self) {
        if let Some(place) = self.drop_first_node() {
            self.records[place] = None;
        }
    }

    /// Removes the node with the least key; returns the place of its record.
    #[inline]
    fn drop_first_node(&mut self) -> Option<usize> {
        let (node, is_in_line) = self.first_node()?;
        let place = node.place;
        if is_in_line {
            self.line.pop();
        } else if let Some(last) = self.heap.pop().filter(|_| !self.heap.is_empty()) {
            self.sift_down(last);
        }
        self.free.push(place);
        Some(place as usize)
    }

    /// Removes all records, in no particular order.
    pub fn drain(&mut self) -> impl Iterator<Item = R> {
        self.line.clear();
        self.heap.clear();
        self.free.clear();
        self.records.drain(..).flatten()
    }

    pub fn for_each(&self, visit: impl FnMut(&R)) {
        self.records.iter().flatten().for_each(visit);
    }

    /// Moves the heap's last node, which is `node`, up to where it belongs.
    fn sift_up(&mut self, node: Node) {
        let mut child = self.heap.len() - 1;
        while child > 0 {
            let parent = (child - 1) / ARITY;
            if !precedes(&node.key, &self.heap[parent].key) {
                break;
            }
            self.heap[child] = self.heap[parent];
            child = parent;
        }
        self.heap[child] = node;
    }

    /// Replaces the heap's first node by `node`, and moves that down to where it belongs.
    fn sift_down(&mut self, node: Node) {
        let mut parent = 0;
        while let Some(child) = self.least_child(parent) {
            if !precedes(&self.heap[child].key, &node.key) {
                break;
            }
            self.heap[parent] = self.heap[child];
            parent = child;
        }
        self.heap[parent] = node;
    }

    #[inline]
    fn least_child(&self, parent: usize) -> Option<usize> {
        let first = parent * ARITY + 1;
        // Two and two: which child is the least is hard to predict, so there are few branches on it.
        if let Some([one, two, three, four]) = self.heap.get(first..).and_then(<[Node]>::first_chunk) {
            let left = usize::from(precedes(&two.key, &one.key));
            let right = 2 + usize::from(precedes(&four.key, &three.key));
            let right_is_less = precedes(&self.heap[first + right].key, &self.heap[first + left].key);
            return Some(first + if right_is_less { right } else { left });
        }
        let children = self.heap.get(first..)?;
        let mut least: Option<(usize, &EventKey)> = None;
        for (place, node) in children.iter().enumerate() {
            if least.is_none_or(|(_, key)| precedes(&node.key, key)) {
                least = Some((place, &node.key));
            }
        }
        least.map(|(place, _)| first + place)
    }
}

#[cfg(test)]
mod tests {
    use towtank_units::SimTime;

    use super::*;
    use crate::key::{EntityId, Scheduled};

    #[test]
    #[should_panic(expected = "a key in the heap has its record: place 0 is empty")]
    fn a_key_without_its_record_breaks_a_law() {
        let mut heap = KeyHeap::default();
        let key = EventKey::first_at(SimTime::from_ns(5));
        heap.push(Scheduled { key, to: EntityId(0), timer: false, event: () });
        heap.records[0] = None;
        heap.pop();
    }
}
