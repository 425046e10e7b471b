//! The clean ranges of a cache in the order of their last use.
//!
//! Pages are usually used later than all that are clean already, so most ranges are appended to a queue; only
//! those that became clean long after their last use (by being written back) take a tree. A range that
//! changes leaves an outdated entry in the queue, which is dropped when it is met: the range at its key shows
//! whether an entry is outdated. A range may have an entry in both.

use std::collections::{BTreeSet, VecDeque};

use super::{FileId, Key, Piece, State};

/// When a range was last used, and its key.
pub(super) type Used = (u64, FileId, u64);

/// The number of outdated entries that are always allowed.
const OUTDATED: usize = 64;

/// The clean ranges, and outdated entries.
#[derive(Clone, Debug, Default)]
pub(super) struct CleanOrder {
    /// In order.
    queue: VecDeque<Used>,
    /// Ranges that were used between those in the queue.
    late: BTreeSet<Used>,
}

impl CleanOrder {
    /// A range is clean from now on. `get` looks up a range, and there are `ranges` of them.
    #[inline]
    pub fn insert<'p>(&mut self, used: Used, ranges: usize, get: impl Fn(Key) -> Option<&'p Piece>) {
        if self.queue.back().is_none_or(|last| *last < used) {
            if self.queue.len() > 2 * ranges + OUTDATED {
                self.queue.retain(|one| is_true(*one, get((one.1, one.2))));
            }
            self.queue.push_back(used);
        } else if self.queue.front().is_some_and(|first| used < *first) {
            self.queue.push_front(used);
        } else {
            self.late.insert(used);
        }
    }

    /// A range changes, and was clean.
    #[inline]
    pub fn remove(&mut self, used: Used) {
        if !self.late.is_empty() {
            self.late.remove(&used);
        }
    }

    /// Removes the range that was used first.
    pub fn pop_first<'p>(&mut self, get: impl Fn(Key) -> Option<&'p Piece>) -> Option<Key> {
        while self.queue.pop_front_if(|one| !is_true(*one, get((one.1, one.2)))).is_some() {}
        let (_, file, start) = match (self.queue.front(), self.late.first()) {
            (Some(one), Some(late)) if late < one => self.late.pop_first(),
            (Some(_), _) => self.queue.pop_front(),
            (None, _) => self.late.pop_first(),
        }?;
        Some((file, start))
    }

    /// Removes the range that was used last.
    pub(super) fn pop_last<'p>(&mut self, get: impl Fn(Key) -> Option<&'p Piece>) -> Option<Key> {
        while self.queue.pop_back_if(|one| !is_true(*one, get((one.1, one.2)))).is_some() {}
        let (_, file, start) = match (self.queue.back(), self.late.last()) {
            (Some(one), Some(late)) if late > one => self.late.pop_last(),
            (Some(_), _) => self.queue.pop_back(),
            (None, _) => self.late.pop_last(),
        }?;
        Some((file, start))
    }
}

/// Whether an entry is not outdated, by the range at its key.
fn is_true(used: Used, piece: Option<&Piece>) -> bool {
    piece.is_some_and(|piece| piece.state == State::Clean && piece.used == used.0)
}
