//! Reads the objects that differ from the cells of two sketches, as cells arrive.

use super::cell::{Key, Mapping, weight_of};
use super::{Cell, field};
use crate::{ObjectId, Position, Version};

/// An object of which two replicas hold different versions, or which only one of them holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Differing {
    /// The hash of its name.
    pub hash: u32,
    /// Its id.
    pub id: ObjectId,
    /// Which side holds it, in which version.
    pub held: Held,
}

/// Which side holds an object that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Held {
    /// Only our side, in this version.
    ByUs(Version),
    /// Only their side, in this version.
    ByThem(Version),
    /// Both, in different versions: ours less theirs, modulo 2^64. A side that looks up its own version knows
    /// the other.
    ByBoth {
        /// Our version less theirs.
        ahead: u64,
    },
}

impl Held {
    /// Their version of an object, given our version `ours`; none if they do not hold it, or if it cannot be
    /// known.
    #[must_use]
    pub fn theirs(self, ours: Option<Version>) -> Option<Version> {
        match (self, ours) {
            (Held::ByThem(version), _) => Some(version),
            (Held::ByBoth { ahead }, Some(ours)) => Some(Version(ours.0.wrapping_sub(ahead))),
            (Held::ByUs(_), _) | (Held::ByBoth { .. }, None) => None,
        }
    }
}

/// The state of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every object that differs has been found.
    Complete,
    /// More cells are needed.
    NeedsMore,
    /// The cells are not those of two sketches: damaged, or made by another rule. More cells will not help.
    Contradiction,
}

/// An object that was found, and its contribution to cells still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Found {
    key: Key,
    /// The contribution of the object to each of its cells.
    part: Cell,
    /// Positioned at the object's first cell beyond those received.
    mapping: Mapping,
}

/// Takes cells of both sides and finds the objects that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Decoder {
    /// Our cells less theirs, less the objects found.
    cells: Vec<Cell>,
    found: Vec<Found>,
    contradicted: bool,
}

impl Decoder {
    /// A decoder without cells.
    #[must_use]
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// The number of cells taken so far.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Takes the next cells of both sides, as many as both have, and finds the objects that they reveal.
    pub fn extend(&mut self, ours: &[Cell], theirs: &[Cell]) {
        let first = self.cells.len();
        let less = |(mut ours, theirs): (Cell, &Cell)| {
            ours.subtract(theirs);
            ours
        };
        self.cells.extend(ours.iter().copied().zip(theirs).map(less));
        for found in &mut self.found {
            while let Some(cell) = self.cells.get_mut(found.mapping.at()) {
                cell.subtract(&found.part);
                found.mapping.advance();
            }
        }
        self.peel((first as u32..self.cells.len() as u32).collect());
        let (found, cells) = (self.found.len(), self.cells.len());
        assert!(
            self.contradicted || found <= cells,
            "no more objects are found than there are cells: {found} in {cells}"
        );
    }

    /// The state of the decoder.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.contradicted {
            Outcome::Contradiction
        } else if !self.cells.is_empty() && self.cells.iter().all(Cell::is_zero) {
            Outcome::Complete
        } else {
            Outcome::NeedsMore
        }
    }

    /// The objects found so far, in the order of positions: all that differ if the outcome is complete.
    #[must_use]
    pub fn objects(&self) -> Vec<Differing> {
        let mut objects: Vec<Differing> = self.found.iter().map(Found::object).collect();
        objects.sort_unstable_by_key(|object| (Position::of_hash(object.hash), object.id));
        objects
    }

    /// Inspects the cells that changed, removes the objects that are alone in one, and continues with the
    /// other cells of those objects.
    ///
    /// An object is in most of the first cells and in few of the last. The first cells therefore change with
    /// every object removed, and hold a single object only towards the end, so they are inspected only when
    /// the others yield nothing more.
    fn peel(&mut self, changed: Vec<u32>) {
        let dense = (self.cells.len() / 4) as u32;
        let mut changed = Changed::new(self.cells.len(), changed);
        while !changed.cells.is_empty() && !self.contradicted {
            let alone = self.alone_in(&changed.take_from(dense));
            // A set cannot have more members than there are equations. Without this bound, cells that
            // contradict each other could yield one object again and again.
            self.contradicted = self.found.len() + alone.len() > self.cells.len();
            for (key, at) in alone {
                self.take_out(key, at, &mut changed);
            }
        }
    }

    /// The keys of objects that seem to be alone in one of these cells, each key once, with that cell's
    /// content.
    fn alone_in(&self, changed: &[u32]) -> Vec<(Key, Alone)> {
        let weight = |at: &u32| self.cells[*at as usize].weight();
        let cells: Vec<u32> = changed.iter().copied().filter(|at| weight(at) != 0).collect();
        let mut inverses: Vec<u64> = cells.iter().map(weight).collect();
        field::invert_all(&mut inverses);
        let candidate = |(at, inverse): (&u32, u64)| {
            let part = self.cells[*at as usize];
            Some((part.key(inverse)?, Alone { at: *at as usize, part }))
        };
        let mut alone: Vec<(Key, Alone)> = cells.iter().zip(inverses).filter_map(candidate).collect();
        alone.sort_unstable_by_key(|(key, alone)| (*key, alone.at));
        alone.dedup_by_key(|(key, _)| *key);
        alone
    }

    /// Removes an object from its cells. If the cell that yielded it is not one of them, it was a sum that
    /// looks like a key by chance, and everything is restored. Removing first and rarely undoing is cheaper
    /// than checking beforehand.
    fn take_out(&mut self, key: Key, Alone { at, part }: Alone, changed: &mut Changed) {
        let before = changed.cells.len();
        let (mut mapping, mut was_met) = (key.mapping(), false);
        while let Some(cell) = self.cells.get_mut(mapping.at()) {
            cell.subtract(&part);
            changed.mark(mapping.at());
            was_met |= mapping.at() == at;
            mapping.advance();
        }
        if was_met {
            self.found.push(Found { key, part, mapping });
            return;
        }
        changed.forget_after(before);
        let mut mapping = key.mapping();
        while let Some(cell) = self.cells.get_mut(mapping.at()) {
            cell.add(&part);
            mapping.advance();
        }
    }
}

/// A cell in which one object seems to be alone, and its content.
#[derive(Clone, Copy)]
struct Alone {
    at: usize,
    part: Cell,
}

/// Cells that changed since they were inspected, each once.
struct Changed {
    cells: Vec<u32>,
    is_marked: Vec<bool>,
}

impl Changed {
    fn new(all: usize, cells: Vec<u32>) -> Changed {
        let mut is_marked = vec![false; all];
        cells.iter().for_each(|at| is_marked[*at as usize] = true);
        Changed { cells, is_marked }
    }

    #[inline]
    fn mark(&mut self, at: usize) {
        if !std::mem::replace(&mut self.is_marked[at], true) {
            self.cells.push(at as u32);
        }
    }

    /// Unmarks all cells marked after the first `count`.
    fn forget_after(&mut self, count: usize) {
        let marked = self.cells.drain(count..);
        marked.for_each(|at| self.is_marked[at as usize] = false);
    }

    /// Takes the cells from `first` on, or all cells if there are none.
    fn take_from(&mut self, first: u32) -> Vec<u32> {
        let mut taken: Vec<u32> = self.cells.extract_if(.., |at| *at >= first).collect();
        if taken.is_empty() {
            taken = std::mem::take(&mut self.cells);
        }
        taken.iter().for_each(|at| self.is_marked[*at as usize] = false);
        taken
    }
}

impl Found {
    fn object(&self) -> Differing {
        let (hash, id) = (self.key.hash(), self.key.id());
        let (ours, theirs) = (Version(self.part.version()), Version(self.part.version().wrapping_neg()));
        let held = if self.part.weight() == weight_of(id, ours) {
            Held::ByUs(ours)
        } else if field::add(self.part.weight(), weight_of(id, theirs)) == 0 {
            Held::ByThem(theirs)
        } else {
            Held::ByBoth { ahead: self.part.version() }
        };
        Differing { hash, id, held }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "no more objects are found than there are cells: 1 in 0")]
    fn an_object_found_in_no_cell_breaks_a_law() {
        let key = Key::new(1, ObjectId(2));
        let found = Found { key, part: Cell::default(), mapping: key.mapping() };
        Decoder { cells: Vec::new(), found: vec![found], contradicted: false }.extend(&[], &[]);
    }
}
