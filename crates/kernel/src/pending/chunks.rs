//! Unsorted collections of records, stored in chunks of one size that are reused.
//!
//! A vector that grows by doubling would copy its records and keep twice the memory of its largest size; a
//! [`Chain`] copies nothing and wastes at most one chunk. In steady state no chunk is allocated: drained ones
//! are reused, the most recently drained first, because it is still in the cache.

use super::{Keyed, time_of};
use crate::prefetch::prefetch;

/// Bytes per chunk: a choice. Large enough that reading one chunk hides fetching the next, small enough that
/// a thousand half-empty ones do not matter.
const CHUNK_BYTES: usize = 2048;

/// Bytes per cache line, on every machine this was measured on.
const LINE_BYTES: usize = 64;

/// The number of cache lines of the next chunk that are prefetched; the hardware prefetcher fetches the rest.
const FETCHED_LINES: usize = 8;

/// Marks the end of a chain.
const NONE: u32 = u32::MAX;

/// An unsorted collection of records. It belongs to one [`ChunkPool`], which implements its operations.
pub(super) struct Chain<R> {
    /// The chunk being filled.
    tail: Vec<R>,
    /// The position in the pool of the full chunk before the tail.
    before: u32,
    /// The number of full chunks.
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
        // A chain never has an empty tail behind a full chunk.
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
    /// Full chunks, each with the position of the one before it.
    parked: Vec<(Vec<R>, u32)>,
    /// Free positions in `parked`.
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
        self.make_room(chain).push(record);
    }

    /// Makes room in a chain for one record; returns the chunk to which it must be pushed.
    #[inline]
    pub fn make_room<'c>(&mut self, chain: &'c mut Chain<R>) -> &'c mut Vec<R> {
        if chain.tail.len() == chain.tail.capacity() {
            self.extend(chain);
        }
        // By the next push to this chain, the place behind this one would no longer be in the nearest cache.
        if let Some(after) = chain.tail.spare_capacity_mut().get(1) {
            prefetch(after);
        }
        &mut chain.tail
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

    /// Removes the last chunk of a chain.
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

    /// Empties a chain, passing each record to `each` together with the pool, so that it can be pushed
    /// elsewhere.
    pub fn drain(&mut self, mut chain: Chain<R>, mut each: impl FnMut(&mut Self, R)) {
        while let Some(mut chunk) = self.take_chunk(&mut chain) {
            for record in chunk.drain(..) {
                each(self, record);
            }
            self.spare.push(chunk);
        }
    }

    /// Samples the times of records at even distances over a chain, at most as many as `sample` holds;
    /// returns the number. Even distances, because records are often in the order of their times, so a
    /// contiguous part would not be representative.
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
