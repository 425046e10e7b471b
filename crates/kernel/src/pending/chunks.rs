//! Unsorted piles of records, kept in chunks of one size that are used again and again.
//!
//! A pile that grows by doubling would copy its records and hold twice the memory of the largest size it ever
//! had; a [`Chain`] copies nothing and wastes at most one chunk. In steady state no chunk is allocated:
//! drained ones are handed out again, the last drained first, since it is still in the cache.

use super::{Keyed, time_of};
use crate::prefetch::prefetch;

/// Bytes in a chunk: a choice. Long enough that reading one chunk hides fetching the next, short enough that
/// a thousand half-empty ones are nothing.
const CHUNK_BYTES: usize = 2048;

/// Bytes in a cache line, on every machine this was measured on.
const LINE_BYTES: usize = 64;

/// How many cache lines of the next chunk are fetched early; the processor sees the pattern and fetches the
/// rest.
const FETCHED_LINES: usize = 8;

/// Marks the end of a chain.
const NONE: u32 = u32::MAX;

/// An unsorted pile of records. Belongs to one [`ChunkPool`], which does everything with it.
pub(super) struct Chain<R> {
    /// The chunk being filled.
    tail: Vec<R>,
    /// Where the pool keeps the full chunk before it.
    before: u32,
    /// How many full chunks there are.
    full: u32,
}

impl<R> Chain<R> {
    const CHUNK: usize = if CHUNK_BYTES / size_of::<R>() < 8 { 8 } else { CHUNK_BYTES / size_of::<R>() };

    #[inline]
    pub fn len(&self) -> usize {
        self.full as usize * Self::CHUNK + self.tail.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        // A chain is never left with an empty tail behind a full chunk.
        self.tail.is_empty()
    }
}

impl<R> Default for Chain<R> {
    #[inline]
    fn default() -> Self {
        Chain { tail: Vec::new(), before: NONE, full: 0 }
    }
}

/// The chunks of all chains.
pub(super) struct ChunkPool<R> {
    /// Empty chunks.
    spare: Vec<Vec<R>>,
    /// Full chunks, each with the place of the one before it.
    parked: Vec<(Vec<R>, u32)>,
    /// Places in `parked` that are free.
    vacant: Vec<u32>,
}

impl<R> Default for ChunkPool<R> {
    fn default() -> Self {
        ChunkPool { spare: Vec::new(), parked: Vec::new(), vacant: Vec::new() }
    }
}

impl<R: Keyed> ChunkPool<R> {
    /// Adds a record to a chain.
    #[inline]
    pub fn push(&mut self, chain: &mut Chain<R>, record: R) {
        if chain.tail.len() == chain.tail.capacity() {
            self.extend(chain);
        }
        chain.tail.push(record);
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self, chain: &mut Chain<R>) {
        let fresh = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(Chain::<R>::CHUNK));
        let full = std::mem::replace(&mut chain.tail, fresh);
        if full.is_empty() {
            return;
        }
        let entry = (full, chain.before);
        chain.full += 1;
        chain.before = match self.vacant.pop() {
            Some(place) => {
                self.parked[place as usize] = entry;
                place
            }
            None => {
                self.parked.push(entry);
                u32::try_from(self.parked.len() - 1).expect("fewer than 2^32 chunks fit into memory")
            }
        };
    }

    /// Takes the last chunk off a chain.
    fn take_chunk(&mut self, chain: &mut Chain<R>) -> Option<Vec<R>> {
        if chain.tail.capacity() == 0 {
            return None;
        }
        let previous = if chain.before == NONE {
            Vec::new()
        } else {
            self.vacant.push(chain.before);
            chain.full -= 1;
            let (chunk, before) = std::mem::take(&mut self.parked[chain.before as usize]);
            chain.before = before;
            for line in 0..FETCHED_LINES {
                if let Some(record) = chunk.get(line * LINE_BYTES / size_of::<R>()) {
                    prefetch(record);
                }
            }
            chunk
        };
        Some(std::mem::replace(&mut chain.tail, previous))
    }

    /// Empties a chain, giving each record to `each` together with the pool, which may push it elsewhere.
    pub fn drain(&mut self, mut chain: Chain<R>, mut each: impl FnMut(&mut Self, R)) {
        while let Some(mut chunk) = self.take_chunk(&mut chain) {
            for record in chunk.drain(..) {
                each(self, record);
            }
            self.spare.push(chunk);
        }
    }

    /// Empties a chain into a vector.
    pub fn drain_into(&mut self, mut chain: Chain<R>, into: &mut Vec<R>) {
        while let Some(mut chunk) = self.take_chunk(&mut chain) {
            into.append(&mut chunk);
            self.spare.push(chunk);
        }
    }

    /// Times of records spread evenly over a chain, at most as many as `sample` has room for; returns how
    /// many. Evenly, because records often lie in the order of their times, and a part would not stand for
    /// the whole.
    pub fn sample(&self, chain: &Chain<R>, sample: &mut [u64]) -> usize {
        let stride = chain.len().div_ceil(sample.len()).max(1);
        let (mut taken, mut skip) = (0, stride / 2);
        let (mut chunk, mut before) = (&chain.tail, chain.before);
        loop {
            while let Some(record) = chunk.get(skip) {
                sample[taken] = time_of(record);
                taken += 1;
                skip += stride;
            }
            skip -= chunk.len();
            if before == NONE {
                return taken;
            }
            let (next, next_before) = &self.parked[before as usize];
            (chunk, before) = (next, *next_before);
        }
    }

    /// Visits the records of a chain.
    pub fn for_each(&self, chain: &Chain<R>, visit: &mut impl FnMut(&R)) {
        chain.tail.iter().for_each(&mut *visit);
        let mut before = chain.before;
        while before != NONE {
            let (chunk, next) = &self.parked[before as usize];
            chunk.iter().for_each(&mut *visit);
            before = *next;
        }
    }
}
