//! A page cache: which pages of which files are in memory, which of them are dirty, and which are evicted
//! when space is needed.
//!
//! Pages are kept as ranges with one state each, so the cost of a sequential stream grows with its requests,
//! not with its pages; the result is that of a list of single pages. Dirty pages, pages that are being
//! written back and pages that are being read stay; clean ones are evicted in the order of the
//! [`Replacement`].
//!
//! The cache does no input or output and has no clock: its owner reads what is missing, writes what
//! [`PageCache::take_dirty`] picks, and reports when that is done.

mod clean;
mod pieces;
mod saved;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::Broken;
use clean::CleanOrder;
use pieces::Pieces;
use saved::Saved;

/// The identifier of a file in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct FileId(pub u64);

/// Consecutive pages of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Extent {
    /// The file.
    pub file: FileId,
    /// The page numbers.
    pub pages: Range<u64>,
}

impl Extent {
    /// The number of pages.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.pages.end.saturating_sub(self.pages.start)
    }

    /// Whether the extent has no pages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The order in which clean pages are evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Replacement {
    /// Least recently read or written first.
    #[default]
    Lru,
    /// The page that was loaded or written longest ago first; reading does not keep a page.
    Fifo,
    /// Most recently read or written first, which suits a scan that is repeated.
    Mru,
}

/// The state of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
enum State {
    Clean,
    Dirty,
    /// Being written back; no longer counted as dirty.
    Writing,
    /// Being read: its content is not yet available.
    Reading,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Piece {
    end: u64,
    state: State,
    /// The step of the cache at which it was last used.
    used: u64,
}

type Key = (FileId, u64);

/// The state of the leading pages of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// This many are in memory.
    Here(u64),
    /// This many are being read.
    Coming(u64),
    /// This many are not in the cache.
    Missing(u64),
}

/// The pages in the memory of one server.
///
/// **Conservation:** the ranges sum up to `used_pages`, the dirty ones to `dirty_pages`; ranges do not
/// overlap; the used pages do not exceed the capacity ([`PageCache::audit`]).
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct PageCache {
    capacity: u64,
    replacement: Replacement,
    pieces: Pieces,
    /// Clean ranges, ordered by last use.
    clean: CleanOrder,
    dirty: BTreeSet<Key>,
    used_pages: u64,
    dirty_pages: u64,
    step: u64,
}

impl PageCache {
    /// An empty cache of `capacity` pages.
    #[must_use]
    pub fn new(capacity: u64, replacement: Replacement) -> PageCache {
        PageCache {
            capacity,
            replacement,
            pieces: Pieces::default(),
            clean: CleanOrder::default(),
            dirty: BTreeSet::new(),
            used_pages: 0,
            dirty_pages: 0,
            step: 0,
        }
    }

    /// Pages that differ from the disk and are not being written back.
    #[must_use]
    pub fn dirty_pages(&self) -> u64 {
        self.dirty_pages
    }

    /// The state of the leading pages of `extent`.
    #[must_use]
    pub fn find(&self, extent: &Extent) -> Found {
        let Range { start, end } = extent.pages;
        let Some(runs) = self.pieces.of(extent.file) else { return Found::Missing(end - start) };
        match runs.last_before(start + 1).filter(|(_, piece)| piece.end > start) {
            Some((_, piece)) if piece.state == State::Reading => Found::Coming(piece.end.min(end) - start),
            // Most requests lie within one range.
            Some((_, piece)) if piece.end >= end => Found::Here(end - start),
            Some((first, _)) => Found::Here(here_until(runs, first, extent) - start),
            None => {
                let next = runs.range(start..end).next();
                Found::Missing(next.map_or(end, |(first, _)| first) - start)
            }
        }
    }

    /// The number of pages of `extent` that a write would newly make dirty.
    #[must_use]
    pub fn not_dirty(&self, extent: &Extent) -> u64 {
        let Range { start, end } = extent.pages;
        let Some(runs) = self.pieces.of(extent.file) else { return extent.len() };
        let before = runs.last_before(start).filter(|(_, piece)| piece.end > start);
        let dirty: u64 = before
            .into_iter()
            .chain(runs.range(start..end))
            .filter(|(_, piece)| piece.state == State::Dirty)
            .map(|(at, piece)| piece.end.min(end) - at.max(start))
            .sum();
        extent.len() - dirty
    }

    /// Whether the cache holds any page of the extent.
    fn overlaps(&self, extent: &Extent) -> bool {
        let last = self.pieces.of(extent.file).and_then(|runs| runs.last_before(extent.pages.end));
        last.is_some_and(|(_, piece)| piece.end > extent.pages.start)
    }

    /// Records a read from memory, which renews the pages unless the replacement is FIFO.
    pub fn touch(&mut self, extent: &Extent) {
        if self.replacement == Replacement::Fifo {
            return;
        }
        let step = self.next_step();
        let again = |piece: &mut Piece| piece.used = step;
        if self.change_whole(extent, again) {
            return;
        }
        self.split(extent);
        for key in self.keys_in(extent) {
            self.change(key, again);
        }
    }

    /// Changes in place a range that equals `extent`; returns whether there is one. The change must not alter
    /// whether the range is dirty.
    fn change_whole(&mut self, extent: &Extent, into: impl Fn(&mut Piece)) -> bool {
        let (file, start) = (extent.file, extent.pages.start);
        let Some(piece) = self.pieces.get_mut((file, start)).filter(|piece| piece.end == extent.pages.end)
        else {
            return false;
        };
        let before = *piece;
        into(piece);
        let after = *piece;
        debug_assert_eq!(
            before.state == State::Dirty,
            after.state == State::Dirty,
            "dirty pages are counted elsewhere"
        );
        if before.state == State::Clean {
            self.clean.remove((before.used, file, start));
        }
        if after.state == State::Clean {
            self.now_clean((file, start), after.used);
        }
        true
    }

    /// Evicts clean pages until `pages` fit; returns whether they do.
    fn make_room(&mut self, pages: u64) -> bool {
        while self.capacity.saturating_sub(self.used_pages) < pages {
            let needed = pages - self.capacity.saturating_sub(self.used_pages);
            let get = |key| self.pieces.get(key);
            let victim = match self.replacement {
                Replacement::Lru | Replacement::Fifo => self.clean.pop_first(get),
                Replacement::Mru => self.clean.pop_last(get),
            };
            let Some((file, start)) = victim else { return false };
            let Some(mut piece) = self.take((file, start)) else { return false };
            let there = piece.end - start;
            if there > needed {
                // Only as many pages as needed are evicted: the first ones, or the last ones under MRU.
                match self.replacement {
                    Replacement::Lru | Replacement::Fifo => self.put((file, start + needed), piece),
                    Replacement::Mru => {
                        piece.end -= needed;
                        self.put((file, start), piece);
                    }
                }
            }
        }
        true
    }

    /// Marks missing pages as being read. Returns whether they fit; if not, nothing changes.
    pub fn begin_read(&mut self, extent: &Extent) -> bool {
        if !self.make_room(extent.len()) {
            return false;
        }
        let used = self.next_step();
        let piece = Piece { end: extent.pages.end, state: State::Reading, used };
        self.put((extent.file, extent.pages.start), piece);
        true
    }

    /// Marks pages as read.
    pub fn end_read(&mut self, extent: &Extent) {
        let used = self.next_step();
        self.settle(extent, State::Reading, |piece| *piece = Piece { state: State::Clean, used, ..*piece });
    }

    /// Writes pages in memory. Returns whether they fit; if not, nothing is written.
    pub fn write(&mut self, extent: &Extent) -> bool {
        let mut own: Vec<(Key, Option<Piece>)> = Vec::new();
        if self.overlaps(extent) {
            self.split(extent);
            own = self.keys_in(extent).into_iter().map(|key| (key, self.take(key))).collect();
        }
        if !self.make_room(extent.len()) {
            for (key, piece) in own {
                piece.into_iter().for_each(|piece| self.put(key, piece));
            }
            return false;
        }
        let used = self.next_step();
        let piece = Piece { end: extent.pages.end, state: State::Dirty, used };
        self.put((extent.file, extent.pages.start), piece);
        true
    }

    /// Picks dirty pages to be written back, at most `most`: those of `first` before those of other files, in
    /// order within each file. They no longer count as dirty.
    pub fn take_dirty(&mut self, first: Option<FileId>, most: u64) -> Vec<Extent> {
        let mut taken: Vec<Extent> = Vec::new();
        let mut left = most;
        while left > 0 {
            let own = first.and_then(|file| self.dirty.range((file, 0)..=(file, u64::MAX)).next());
            let Some(&(file, start)) = own.or_else(|| self.dirty.first()) else { break };
            let Some(piece) = self.take((file, start)) else { break };
            let end = piece.end.min(start + left);
            if end < piece.end {
                self.put((file, end), piece);
            }
            self.put((file, start), Piece { end, state: State::Writing, ..piece });
            left -= end - start;
            match taken.last_mut().filter(|last| last.file == file && last.pages.end == start) {
                Some(last) => last.pages.end = end,
                None => taken.push(Extent { file, pages: start..end }),
            }
        }
        taken
    }

    /// Marks pages as written back. Pages that were written in memory meanwhile are dirty again and stay so.
    pub fn end_write(&mut self, extent: &Extent) {
        self.settle(extent, State::Writing, |piece| piece.state = State::Clean);
    }

    /// Drops all pages of a file, including dirty ones.
    pub fn forget(&mut self, file: FileId) {
        for key in self.keys_in(&Extent { file, pages: 0..u64::MAX }) {
            self.take(key);
        }
    }

    fn next_step(&mut self) -> u64 {
        self.step += 1;
        self.step
    }

    fn settle(&mut self, extent: &Extent, from: State, into: impl Fn(&mut Piece)) {
        let only_from = |piece: &mut Piece| {
            if piece.state == from {
                into(piece);
            }
        };
        if self.change_whole(extent, only_from) {
            return;
        }
        self.split(extent);
        for key in self.keys_in(extent) {
            if self.pieces.get(key).is_some_and(|piece| piece.state == from) {
                self.change(key, &into);
            }
        }
    }

    fn change(&mut self, key: Key, into: impl Fn(&mut Piece)) {
        if let Some(mut piece) = self.take(key) {
            into(&mut piece);
            self.put(key, piece);
        }
    }

    fn keys_in(&self, extent: &Extent) -> Vec<Key> {
        let runs = self.pieces.of(extent.file).into_iter();
        runs.flat_map(|runs| runs.range(extent.pages.clone())).map(|(at, _)| (extent.file, at)).collect()
    }

    /// Splits the ranges that cross an end of `extent`.
    fn split(&mut self, extent: &Extent) {
        let file = extent.file;
        for at in [extent.pages.start, extent.pages.end] {
            let before = self.pieces.of(file).and_then(|runs| runs.last_before(at));
            let Some((start, &piece)) = before.filter(|(_, piece)| piece.end > at) else { continue };
            self.take((file, start));
            self.put((file, start), Piece { end: at, ..piece });
            self.put((file, at), piece);
        }
    }

    fn now_clean(&mut self, (file, start): Key, used: u64) {
        self.clean.insert((used, file, start), self.pieces.len(), |key| self.pieces.get(key));
    }

    fn put(&mut self, key: Key, piece: Piece) {
        let pages = piece.end - key.1;
        self.used_pages += pages;
        match piece.state {
            State::Clean => self.now_clean(key, piece.used),
            State::Dirty => {
                self.dirty_pages += pages;
                self.dirty.insert(key);
            }
            State::Writing | State::Reading => {}
        }
        self.pieces.insert(key, piece);
    }

    fn take(&mut self, key: Key) -> Option<Piece> {
        let piece = self.pieces.remove(key)?;
        let pages = piece.end - key.1;
        self.used_pages -= pages;
        match piece.state {
            State::Clean => self.clean.remove((piece.used, key.0, key.1)),
            State::Dirty => {
                self.dirty_pages -= pages;
                self.dirty.remove(&key);
            }
            State::Writing | State::Reading => {}
        }
        Some(piece)
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&self) -> Result<(), Broken> {
        let mut last: Option<(FileId, u64)> = None;
        let (mut used, mut dirty) = (0_u64, 0_u64);
        for ((file, start), piece) in self.pieces.sorted() {
            if last.is_some_and(|(before, end)| before == file && end > start) || piece.end <= start {
                return Err(Broken::Pages("page ranges overlap, or one is empty"));
            }
            used += piece.end - start;
            dirty += if piece.state == State::Dirty { piece.end - start } else { 0 };
            last = Some((file, piece.end));
        }
        if used != self.used_pages || dirty != self.dirty_pages {
            return Err(Broken::Pages("the counts of pages in memory or of dirty pages are wrong"));
        }
        if used > self.capacity {
            return Err(Broken::Pages("more pages are in memory than its capacity"));
        }
        Ok(())
    }
}

/// The end of the gapless run of pages in memory that begins with the first page of `extent`, which is in the
/// range that begins at `first`.
fn here_until(runs: &pieces::Runs, first: u64, extent: &Extent) -> u64 {
    let Range { start, end } = extent.pages;
    let mut until = start;
    for (at, piece) in runs.range(first..end) {
        if at > until || piece.state == State::Reading {
            break;
        }
        until = piece.end;
    }
    until.min(end)
}

#[cfg(test)]
mod tests;
