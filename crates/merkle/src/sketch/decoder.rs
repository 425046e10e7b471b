//! Reads the objects that differ from the cells of two sketches, as cells come.

use super::cell::{Key, Mapping, weight_of};
use super::{Cell, field};
use crate::{ObjectId, Position, Version};

/// An object that two replicas do not hold in the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Differing {
    /// The hash of its name.
    pub hash: u32,
    /// Its id.
    pub id: ObjectId,
    /// Who holds it, in which version.
    pub held: Held,
}

/// Who holds an object that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Held {
    /// We alone.
    ByUs(Version),
    /// They alone.
    ByThem(Version),
    /// Both, in different versions: ours less theirs, modulo 2^64. Whoever looks up one knows the other.
    ByBoth {
        /// Our version less theirs.
        ahead: u64,
    },
}

impl Held {
    /// Their version of an object that we hold in version `ours`, if at all; none where they do not have it.
    #[must_use]
    pub fn theirs(self, ours: Option<Version>) -> Option<Version> {
        match (self, ours) {
            (Held::ByThem(version), _) => Some(version),
            (Held::ByBoth { ahead }, Some(ours)) => Some(Version(ours.0.wrapping_sub(ahead))),
            (Held::ByUs(_), _) | (Held::ByBoth { .. }, None) => None,
        }
    }
}

/// How far a decoder has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every object that differs is known.
    Complete,
    /// More cells are needed.
    NeedsMore,
    /// The cells are not those of two sketches: damaged, or made with another rule. More will not help.
    Contradiction,
}

/// What was found, and what it still is in cells to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Found {
    key: Key,
    /// What it adds to each of its cells.
    part: Cell,
    /// At its first cell after those that there are.
    mapping: Mapping,
}

/// Takes cells of both sides and finds what differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Decoder {
    /// Ours less theirs, and less what was found.
    cells: Vec<Cell>,
    found: Vec<Found>,
    contradicted: bool,
}

impl Decoder {
    /// Without cells yet.
    #[must_use]
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// How many cells it has taken.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Takes the next cells of both, as many as both have, and finds what can be found with them.
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
    }

    /// How far it has come.
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

    /// The objects found so far, in the order of positions: all that differ where the outcome is complete.
    #[must_use]
    pub fn objects(&self) -> Vec<Differing> {
        let mut objects: Vec<Differing> = self.found.iter().map(Found::object).collect();
        objects.sort_unstable_by_key(|object| (Position::of_hash(object.hash), object.id));
        objects
    }

    /// Looks at the cells that changed, takes out the objects that stand alone in one, and goes on with the
    /// cells that these were in.
    ///
    /// An object is in most of the first cells and in few of the last, so that the first change with every
    /// object taken out, and hold one alone only towards the end. They are looked at when the others give
    /// nothing more.
    fn peel(&mut self, changed: Vec<u32>) {
        let dense = (self.cells.len() / 4) as u32;
        let mut changed = Changed::new(self.cells.len(), changed);
        while !changed.cells.is_empty() && !self.contradicted {
            let alone = self.alone_in(&changed.take_from(dense));
            // No set has more members than equations; without this bound, cells that contradict each other
            // would give one object back and forth.
            self.contradicted = self.found.len() + alone.len() > self.cells.len();
            for (key, at) in alone {
                self.take_out(key, at, &mut changed);
            }
        }
    }

    /// The keys of objects that seem to be all there is in one of these cells, each once, with that cell's
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

    /// Takes an object out of its cells. If the cell that gave it is not one of them, it was a sum that looks
    /// like a key by chance, and all is put back. To walk the cells once and seldom back is cheaper than to
    /// ask beforehand.
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

/// A cell in which one object seems to be alone, and what is in it.
#[derive(Clone, Copy)]
struct Alone {
    at: usize,
    part: Cell,
}

/// Cells that changed since they were looked at, each once.
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

    /// As if those that were marked after the first so many had not been.
    fn forget_after(&mut self, count: usize) {
        let marked = self.cells.drain(count..);
        marked.for_each(|at| self.is_marked[at as usize] = false);
    }

    /// Those from a cell on, or all where there are none.
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
