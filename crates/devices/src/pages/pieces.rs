//! The ranges of pages of all files, found by file and first page.
//!
//! Most lookups are for a file of which one range is in memory, or none. So files are found by hashing, and a
//! file keeps a single range in its place; only several ranges of one file take a tree. Nothing iterates in
//! the order of the hash table.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{FileId, Key, Piece};

/// 2^64 over the golden ratio, an odd number with evenly spread bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The smallest table of places.
const PLACES_MIN: usize = 16;

/// The ranges of one file; never none.
#[derive(Clone, Debug)]
pub(super) enum Runs {
    One(u64, Piece),
    Many(BTreeMap<u64, Piece>),
}

/// A position of the table: the place of a file's ranges, with a part of the hash of the file.
#[derive(Clone, Copy, Debug)]
struct Place {
    hash: u32,
    entry: u32,
}

/// The place of nothing.
const FREE: Place = Place { hash: 0, entry: u32::MAX };

impl Place {
    #[inline]
    fn is_free(self) -> bool {
        self.entry == FREE.entry
    }
}

/// The ranges of all files.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    /// A table with open addressing: a file lies at the position of its hash, or behind it without a gap.
    /// Its length is a power of two, and at most half of it is in use.
    places: Vec<Place>,
    /// Files and their ranges, at places that do not change.
    entries: Vec<Option<(FileId, Runs)>>,
    free: Vec<u32>,
    /// The number of files.
    files: usize,
    /// The number of ranges.
    len: usize,
}

impl Runs {
    /// The range that begins at a page.
    #[inline]
    pub fn get(&self, start: u64) -> Option<&Piece> {
        match self {
            Runs::One(at, piece) => Some(piece).filter(|_| *at == start),
            Runs::Many(runs) => runs.get(&start),
        }
    }

    /// The last range that begins before a page.
    #[inline]
    pub(super) fn last_before(&self, page: u64) -> Option<(u64, &Piece)> {
        match self {
            Runs::One(at, piece) => Some((*at, piece)).filter(|_| *at < page),
            Runs::Many(runs) => runs.range(..page).next_back().map(|(at, piece)| (*at, piece)),
        }
    }

    /// The ranges that begin at one of these pages, in order.
    pub fn range(&self, pages: Range<u64>) -> impl Iterator<Item = (u64, &Piece)> {
        let (one, many) = match self {
            Runs::One(at, piece) => (Some((*at, piece)).filter(|_| pages.contains(at)), None),
            Runs::Many(runs) => (None, Some(runs.range(pages).map(|(at, piece)| (*at, piece)))),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

impl Pieces {
    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The ranges of a file.
    #[inline]
    pub fn of(&self, file: FileId) -> Option<&Runs> {
        let (_, entry) = self.find(file)?;
        self.entries[entry as usize].as_ref().map(|(_, runs)| runs)
    }

    /// The range that begins at a page of a file.
    #[inline]
    pub fn get(&self, (file, start): Key) -> Option<&Piece> {
        self.of(file)?.get(start)
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, (file, start): Key) -> Option<&mut Piece> {
        let (_, entry) = self.find(file)?;
        match self.entries[entry as usize].as_mut()? {
            (_, Runs::One(at, piece)) => Some(piece).filter(|_| *at == start),
            (_, Runs::Many(runs)) => runs.get_mut(&start),
        }
    }

    /// Adds a range, or replaces the one that begins at the same page.
    pub fn insert(&mut self, (file, start): Key, piece: Piece) {
        let Some((_, entry)) = self.find(file) else {
            self.len += 1;
            self.add_file(file, Runs::One(start, piece));
            return;
        };
        let Some((_, runs)) = &mut self.entries[entry as usize] else { return };
        let is_new = match runs {
            Runs::One(at, old) if *at == start => {
                *old = piece;
                false
            }
            Runs::One(at, old) => {
                *runs = Runs::Many(BTreeMap::from([(*at, *old), (start, piece)]));
                true
            }
            Runs::Many(runs) => runs.insert(start, piece).is_none(),
        };
        self.len += usize::from(is_new);
    }

    /// Removes a range.
    pub fn remove(&mut self, (file, start): Key) -> Option<Piece> {
        let (place, entry) = self.find(file)?;
        let (piece, is_last) = match self.entries[entry as usize].as_mut()? {
            (_, Runs::One(at, piece)) if *at == start => (*piece, true),
            (_, Runs::One(..)) => return None,
            (_, Runs::Many(runs)) => (runs.remove(&start)?, runs.is_empty()),
        };
        self.len -= 1;
        if is_last {
            self.entries[entry as usize] = None;
            self.free.push(entry);
            self.files -= 1;
            self.close_gap(place);
        }
        Some(piece)
    }

    /// All ranges, by file and first page.
    pub fn sorted(&self) -> Vec<(Key, Piece)> {
        let mut all: Vec<(Key, Piece)> = self.iter().collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all
    }

    /// All ranges, in an order that depends on how they came and went.
    fn iter(&self) -> impl Iterator<Item = (Key, Piece)> {
        let of = |(file, runs): &(FileId, Runs)| {
            let file = *file;
            runs.range(0..u64::MAX).map(|(at, piece)| ((file, at), *piece)).collect::<Vec<_>>()
        };
        self.entries.iter().flatten().flat_map(of)
    }

    /// A file's position in the table, and the place of its ranges.
    #[inline]
    fn find(&self, file: FileId) -> Option<(usize, u32)> {
        if self.places.is_empty() {
            return None;
        }
        let hash = hash_of(file);
        let mut at = self.home(hash);
        loop {
            let place = self.places[at];
            if place.is_free() {
                return None;
            }
            let is_it = |(found, _): &(FileId, Runs)| *found == file;
            if place.hash == hash && self.entries[place.entry as usize].as_ref().is_some_and(is_it) {
                return Some((at, place.entry));
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    /// The position of a hash in the table, by its upper bits.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.places.len() as u64) >> 32) as usize
    }

    fn add_file(&mut self, file: FileId, runs: Runs) {
        self.files += 1;
        if self.files * 2 > self.places.len() {
            self.grow();
        }
        let entry = match self.free.pop() {
            Some(entry) => {
                self.entries[entry as usize] = Some((file, runs));
                entry
            }
            None => {
                self.entries.push(Some((file, runs)));
                u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 files fit into memory")
            }
        };
        self.settle(Place { hash: hash_of(file), entry });
    }

    /// Puts a place at the first free position from that of its hash.
    fn settle(&mut self, place: Place) {
        let mut at = self.home(place.hash);
        while !self.places[at].is_free() {
            at = (at + 1) & (self.places.len() - 1);
        }
        self.places[at] = place;
    }

    fn grow(&mut self) {
        let length = (self.places.len() * 2).max(PLACES_MIN);
        let before = std::mem::replace(&mut self.places, vec![FREE; length]);
        before.into_iter().filter(|place| !place.is_free()).for_each(|place| self.settle(place));
    }

    /// Empties a position of the table, and moves those behind it that would no longer be found.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.places.len() - 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let place = self.places[at];
            if place.is_free() {
                break;
            }
            // It may move unless its own position lies behind the gap.
            let behind_home = at.wrapping_sub(self.home(place.hash)) & mask;
            if behind_home >= (at.wrapping_sub(gap) & mask) {
                self.places[gap] = place;
                gap = at;
            }
        }
        self.places[gap] = FREE;
    }
}

impl PartialEq for Pieces {
    fn eq(&self, other: &Pieces) -> bool {
        self.len == other.len && self.iter().all(|(key, piece)| other.get(key) == Some(&piece))
    }
}

impl Eq for Pieces {}

/// The upper half of a product: a table takes its upper bits.
fn hash_of(file: FileId) -> u32 {
    ((file.0 ^ (file.0 >> 32)).wrapping_mul(SPREAD) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pages::State;

    fn piece(end: u64) -> Piece {
        Piece { end, state: State::Clean, used: end }
    }

    fn same(pieces: &Pieces, oracle: &BTreeMap<Key, Piece>) -> Result<(), String> {
        let expected: Vec<(Key, Piece)> = oracle.iter().map(|(key, piece)| (*key, *piece)).collect();
        if pieces.sorted() != expected || pieces.len() != oracle.len() {
            return Err(format!("{:?}, {expected:?} expected", pieces.sorted()));
        }
        for (file, page) in (0..40).flat_map(|file| (0..10).map(move |page| (FileId(file << 28), page))) {
            let runs = pieces.of(file);
            let before = oracle.range((file, 0)..(file, page)).next_back().map(|((_, at), one)| (*at, one));
            let within: Vec<(u64, &Piece)> =
                oracle.range((file, page)..(file, 8.max(page))).map(|((_, at), one)| (*at, one)).collect();
            if pieces.get((file, page)) != oracle.get(&(file, page))
                || runs.and_then(|runs| runs.last_before(page)) != before
                || runs.map_or(Vec::new(), |runs| runs.range(page..8.max(page)).collect()) != within
            {
                return Err(format!("page {page} of {file:?}"));
            }
        }
        Ok(())
    }

    proptest! {
        /// Files whose numbers differ in a few bits, so that some share a position of the table.
        #[test]
        fn pieces_are_what_a_tree_holds(steps in proptest::collection::vec((0_u8..5, 0_u64..40, 0_u64..9), 1..200)) {
            let (mut pieces, mut oracle) = (Pieces::default(), BTreeMap::new());
            for (at, (what, file, page)) in steps.into_iter().enumerate() {
                let key = (FileId(file << 28), page);
                if what < 3 {
                    pieces.insert(key, piece(at as u64));
                    oracle.insert(key, piece(at as u64));
                } else {
                    prop_assert_eq!(pieces.remove(key), oracle.remove(&key));
                }
                if let Some(found) = pieces.get_mut(key) {
                    found.used += 1;
                    oracle.get_mut(&key).unwrap().used += 1;
                }
            }
            prop_assert_eq!(same(&pieces, &oracle), Ok(()));
            let mut anew = Pieces::default();
            oracle.iter().rev().for_each(|(key, piece)| anew.insert(*key, *piece));
            prop_assert!(anew == pieces);
            if let Some((key, piece)) = oracle.pop_first() {
                anew.insert(key, Piece { used: piece.used + 1, ..piece });
                prop_assert!(anew != pieces && same(&pieces, &oracle).is_err());
            }
        }
    }
}
