//! A page cache in a form that does not depend on how it came to its state: to be compared, hashed and
//! serialised.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use super::{FileId, Key, PageCache, Piece, Replacement, State};

/// All that a cache consists of; the rest follows from the ranges.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Saved {
    capacity: u64,
    replacement: Replacement,
    pieces: Vec<(Key, Piece)>,
    step: u64,
}

impl From<PageCache> for Saved {
    fn from(cache: PageCache) -> Saved {
        let PageCache { capacity, replacement, pieces, step, .. } = cache;
        Saved { capacity, replacement, pieces: pieces.sorted(), step }
    }
}

impl From<Saved> for PageCache {
    fn from(saved: Saved) -> PageCache {
        let Saved { capacity, replacement, mut pieces, step } = saved;
        let mut cache = PageCache { step, ..PageCache::new(capacity, replacement) };
        // In the order in which they were used, which is that of the queue of clean ranges.
        pieces.sort_unstable_by_key(|(key, piece)| (piece.used, *key));
        pieces.into_iter().for_each(|(key, piece)| cache.put(key, piece));
        cache
    }
}

impl PartialEq for PageCache {
    fn eq(&self, other: &PageCache) -> bool {
        let counts = |cache: &PageCache| {
            let PageCache { capacity, replacement, used_pages, dirty_pages, step, .. } = *cache;
            (capacity, replacement, used_pages, dirty_pages, step)
        };
        counts(self) == counts(other) && self.pieces == other.pieces && self.dirty == other.dirty
    }
}

impl Eq for PageCache {}

/// The hash is that of ordered trees of all ranges, of the clean ones by last use, and of the dirty ones:
/// recorded digests of runs contain it.
impl Hash for PageCache {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let pieces: BTreeMap<Key, Piece> = self.pieces.sorted().into_iter().collect();
        let clean = pieces.iter().filter(|(_, piece)| piece.state == State::Clean);
        let clean: BTreeSet<(u64, FileId, u64)> =
            clean.map(|((file, start), piece)| (piece.used, *file, *start)).collect();
        (self.capacity, self.replacement).hash(state);
        (pieces, clean, &self.dirty).hash(state);
        (self.used_pages, self.dirty_pages, self.step).hash(state);
    }
}
