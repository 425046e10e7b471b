//! A page cache: which pages of which files are in memory, which of them are dirty, and which go when room is
//! needed.
//!
//! Pages are kept as ranges with one state each, so that a sequential stream costs as many steps as it makes
//! requests, not as many as it has pages; what comes out is what a list of single pages would give. Dirty
//! pages, pages that are being written back and pages that are being read stay; clean ones go in the order of
//! the [`Replacement`].
//!
//! The cache does no input or output and knows no time: whoever holds it reads what is missing, writes what
//! [`PageCache::take_dirty`] picks, and says when that is done.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::Broken;

/// A file of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct FileId(pub u64);

/// Pages of a file that lie one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Extent {
    /// Whose.
    pub file: FileId,
    /// Which.
    pub pages: Range<u64>,
}

impl Extent {
    /// How many pages.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.pages.end.saturating_sub(self.pages.start)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Which clean pages go first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Replacement {
    /// Those that were read or written longest ago.
    #[default]
    Lru,
    /// Those that came, or were written, longest ago: reading does not keep a page.
    Fifo,
    /// Those that were read or written last: what is left of a scan that begins again.
    Mru,
}

/// The state of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
enum State {
    Clean,
    Dirty,
    /// Being written back; it counts as dirty no more.
    Writing,
    /// Being read: its content is not there yet.
    Reading,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Piece {
    end: u64,
    state: State,
    /// When it was used, in steps of the cache.
    used: u64,
}

type Key = (FileId, u64);

/// What there is of some pages, from the first of them on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// So many are in memory.
    Here(u64),
    /// So many are being read.
    Coming(u64),
    /// So many are not there.
    Missing(u64),
}

/// The pages of one server.
///
/// **Conservation:** the pages of all ranges are what is counted as used, and dirty ones what is counted as
/// dirty; ranges do not overlap; no more is used than fits ([`PageCache::audit`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct PageCache {
    capacity: u64,
    replacement: Replacement,
    #[serde(with = "towtank_units::pairs")]
    pieces: BTreeMap<Key, Piece>,
    /// Clean ranges by when they were used.
    clean: BTreeSet<(u64, FileId, u64)>,
    dirty: BTreeSet<Key>,
    used_pages: u64,
    dirty_pages: u64,
    step: u64,
}

impl PageCache {
    /// An empty cache that holds so many pages.
    #[must_use]
    pub fn new(capacity: u64, replacement: Replacement) -> PageCache {
        PageCache {
            capacity,
            replacement,
            pieces: BTreeMap::new(),
            clean: BTreeSet::new(),
            dirty: BTreeSet::new(),
            used_pages: 0,
            dirty_pages: 0,
            step: 0,
        }
    }

    /// Pages that differ from the disk and are not being written.
    #[must_use]
    pub fn dirty_pages(&self) -> u64 {
        self.dirty_pages
    }

    /// Pages in memory.
    #[must_use]
    pub fn used_pages(&self) -> u64 {
        self.used_pages
    }

    /// What there is of `extent`, from its first page on.
    #[must_use]
    pub fn find(&self, extent: &Extent) -> Found {
        let Range { start, end } = extent.pages;
        // What is asked for is mostly what came at once.
        if let Some(piece) = self.pieces.get(&(extent.file, start)).filter(|piece| piece.end >= end) {
            let pages = end - start;
            return if piece.state == State::Reading { Found::Coming(pages) } else { Found::Here(pages) };
        }
        let at = self.pieces.range(..=(extent.file, start)).next_back();
        match at.filter(|((file, _), piece)| *file == extent.file && piece.end > start) {
            Some((_, piece)) if piece.state == State::Reading => Found::Coming(piece.end.min(end) - start),
            Some(_) => Found::Here(self.here_until(extent) - start),
            None => {
                let next = self.pieces.range((extent.file, start)..(extent.file, end)).next();
                Found::Missing(next.map_or(end, |((_, first), _)| *first) - start)
            }
        }
    }

    /// Where the pages end that are in memory without a gap from the first of `extent` on.
    fn here_until(&self, extent: &Extent) -> u64 {
        let Range { start, end } = extent.pages;
        let mut until = start;
        let first = self.pieces.range(..=(extent.file, start)).next_back().map_or(start, |((_, at), _)| *at);
        for ((_, at), piece) in self.pieces.range((extent.file, first)..(extent.file, end)) {
            if *at > until || piece.state == State::Reading {
                break;
            }
            until = piece.end;
        }
        until.min(end)
    }

    /// Pages of `extent` that would become dirty if it were written.
    #[must_use]
    pub fn not_dirty(&self, extent: &Extent) -> u64 {
        let Range { start, end } = extent.pages;
        if !self.overlaps(extent) {
            return extent.len();
        }
        let before = self.pieces.range(..(extent.file, start)).next_back();
        let before = before.filter(|((file, _), piece)| *file == extent.file && piece.end > start);
        let within = self.pieces.range((extent.file, start)..(extent.file, end));
        let dirty: u64 = before
            .into_iter()
            .chain(within)
            .filter(|(_, piece)| piece.state == State::Dirty)
            .map(|((_, at), piece)| piece.end.min(end) - (*at).max(start))
            .sum();
        extent.len() - dirty
    }

    /// Whether any page of it is here.
    fn overlaps(&self, extent: &Extent) -> bool {
        let last = self.pieces.range(..(extent.file, extent.pages.end)).next_back();
        last.is_some_and(|((file, _), piece)| *file == extent.file && piece.end > extent.pages.start)
    }

    /// Pages were read from memory: those that are kept by reading move on.
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

    /// Changes a range that is exactly these pages, in its place. Says whether there is one; it does not
    /// become dirty, nor does it cease to be.
    fn change_whole(&mut self, extent: &Extent, into: impl Fn(&mut Piece)) -> bool {
        let (file, start) = (extent.file, extent.pages.start);
        let Some(piece) = self.pieces.get_mut(&(file, start)).filter(|piece| piece.end == extent.pages.end)
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
            self.clean.remove(&(before.used, file, start));
        }
        if after.state == State::Clean {
            self.clean.insert((after.used, file, start));
        }
        true
    }

    /// Makes room for so many pages by letting clean ones go. Says whether there is room now.
    fn make_room(&mut self, pages: u64) -> bool {
        while self.capacity.saturating_sub(self.used_pages) < pages {
            let needed = pages - self.capacity.saturating_sub(self.used_pages);
            let victim = match self.replacement {
                Replacement::Lru | Replacement::Fifo => self.clean.first(),
                Replacement::Mru => self.clean.last(),
            };
            let Some(&(_, file, start)) = victim else { return false };
            let Some(mut piece) = self.take((file, start)) else { return false };
            let there = piece.end - start;
            if there > needed {
                // It loses as many as are needed: the first ones, or the last ones where the newest go first.
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

    /// Pages that are missing begin to be read. Says whether there is room for them; without, nothing has
    /// begun.
    pub fn begin_read(&mut self, extent: &Extent) -> bool {
        if !self.make_room(extent.len()) {
            return false;
        }
        let used = self.next_step();
        let piece = Piece { end: extent.pages.end, state: State::Reading, used };
        self.put((extent.file, extent.pages.start), piece);
        true
    }

    /// They have been read.
    pub fn end_read(&mut self, extent: &Extent) {
        let used = self.next_step();
        self.settle(extent, State::Reading, |piece| *piece = Piece { state: State::Clean, used, ..*piece });
    }

    /// Pages are written in memory. Says whether there is room for them; without, nothing was written.
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

    /// Picks dirty pages to be written back, `most` at most: those of `first` before those of other files,
    /// each file's in order. They count as dirty no more.
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

    /// Pages have been written back. Those that were written in memory meanwhile are dirty again and stay so.
    pub fn end_write(&mut self, extent: &Extent) {
        self.settle(extent, State::Writing, |piece| piece.state = State::Clean);
    }

    /// All pages of a file go, dirty ones too.
    pub fn forget(&mut self, file: FileId) {
        let keys: Vec<Key> = self.pieces.range((file, 0)..=(file, u64::MAX)).map(|(key, _)| *key).collect();
        for key in keys {
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
            if self.pieces.get(&key).is_some_and(|piece| piece.state == from) {
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
        let Range { start, end } = extent.pages;
        self.pieces.range((extent.file, start)..(extent.file, end)).map(|(key, _)| *key).collect()
    }

    /// Cuts the ranges that lie across an end of `extent`.
    fn split(&mut self, extent: &Extent) {
        for at in [extent.pages.start, extent.pages.end] {
            let before = self.pieces.range(..(extent.file, at)).next_back();
            let Some((&key, &piece)) =
                before.filter(|((file, _), piece)| *file == extent.file && piece.end > at)
            else {
                continue;
            };
            self.take(key);
            self.put(key, Piece { end: at, ..piece });
            self.put((extent.file, at), piece);
        }
    }

    fn put(&mut self, key: Key, piece: Piece) {
        let pages = piece.end - key.1;
        self.used_pages += pages;
        match piece.state {
            State::Clean => drop(self.clean.insert((piece.used, key.0, key.1))),
            State::Dirty => {
                self.dirty_pages += pages;
                self.dirty.insert(key);
            }
            State::Writing | State::Reading => {}
        }
        self.pieces.insert(key, piece);
    }

    fn take(&mut self, key: Key) -> Option<Piece> {
        let piece = self.pieces.remove(&key)?;
        let pages = piece.end - key.1;
        self.used_pages -= pages;
        match piece.state {
            State::Clean => drop(self.clean.remove(&(piece.used, key.0, key.1))),
            State::Dirty => {
                self.dirty_pages -= pages;
                self.dirty.remove(&key);
            }
            State::Writing | State::Reading => {}
        }
        Some(piece)
    }

    /// Checks the laws.
    ///
    /// # Errors
    /// The first that does not hold.
    pub fn audit(&self) -> Result<(), Broken> {
        let mut last: Option<(FileId, u64)> = None;
        let (mut used, mut dirty) = (0_u64, 0_u64);
        for (&(file, start), piece) in &self.pieces {
            if last.is_some_and(|(before, end)| before == file && end > start) || piece.end <= start {
                return Err(Broken::Pages("ranges of pages overlap, or one is empty"));
            }
            used += piece.end - start;
            dirty += if piece.state == State::Dirty { piece.end - start } else { 0 };
            last = Some((file, piece.end));
        }
        if used != self.used_pages || dirty != self.dirty_pages {
            return Err(Broken::Pages(
                "the pages in memory, or the dirty ones, are not those that are counted",
            ));
        }
        if used > self.capacity {
            return Err(Broken::Pages("more pages are in memory than fit"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
