//! Selects each id independently with the same probability, without testing each id.
//!
//! The number of ids between two selected ones is geometric, so one draw gives the next. Ids are divided into
//! fixed blocks with one random stream each, so the answer for an id does not depend on where an enumeration
//! begins.

use std::ops::Range;

use towtank_streams::{Draws, Purpose, Seed, Uniform};

/// A random subset of all ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thinning {
    /// The gap between two selected ids is exponential with this rate, rounded down, which makes it
    /// geometric.
    rate: f64,
    block_bits: u32,
    seed: Seed,
    purpose: Purpose,
}

const GAPS: Purpose = Purpose(1);
/// The binary logarithm of the block size, unless fewer than [`PASSING_MIN`] ids of such a block are expected
/// to pass.
const BLOCK_BITS: i32 = 16;
const BLOCK_BITS_MAX: i32 = 48;
/// Blocks are large enough that about this many ids pass, so that the cost per block is small.
const PASSING_MIN: f64 = 64.0;

impl Thinning {
    /// Selects each id with `probability`. Draws for different purposes are independent.
    ///
    /// # Panics
    /// If `probability` is not from 0 to 1.
    #[must_use]
    pub fn new(probability: f64, seed: Seed, purpose: Purpose) -> Thinning {
        assert!((0.0..=1.0).contains(&probability), "{probability} is not a probability");
        let bits = libm::ilogb(PASSING_MIN / probability.max(f64::MIN_POSITIVE));
        let block_bits = bits.clamp(BLOCK_BITS, BLOCK_BITS_MAX) as u32;
        Thinning { rate: -libm::log1p(-probability), block_bits, seed, purpose }
    }

    /// The selected ids among `ids`, in ascending order.
    #[must_use]
    pub fn ids(self, ids: Range<u64>) -> Thinned {
        let mut thinned =
            Thinned { thinning: self, block: 0, at: 0, block_end: 0, draws: self.draws(0), ids };
        if self.rate > 0.0 && !thinned.ids.is_empty() {
            thinned.enter(thinned.ids.start >> self.block_bits);
        } else {
            thinned.ids = 0..0;
        }
        thinned
    }

    /// Whether the id is selected. Walks through part of its block.
    #[must_use]
    pub fn passes(self, id: u64) -> bool {
        id < u64::MAX && self.ids(id..id + 1).next().is_some()
    }

    fn draws(self, block: u64) -> Draws {
        // Entity 0 draws the sizes of files; the purposes of thinning are entities from 1 on.
        Draws::new(self.seed, self.purpose.0.wrapping_add(1), block)
    }
}

/// An iterator over selected ids, in ascending order.
#[derive(Clone, Debug)]
pub struct Thinned {
    thinning: Thinning,
    block: u64,
    /// The next candidate id.
    at: u64,
    block_end: u64,
    draws: Draws,
    ids: Range<u64>,
}

impl Thinned {
    fn enter(&mut self, block: u64) {
        self.block = block;
        self.at = block << self.thinning.block_bits;
        self.block_end = self.at.saturating_add(1 << self.thinning.block_bits);
        self.draws = self.thinning.draws(block);
    }
}

impl Iterator for Thinned {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            if self.at >= self.ids.end {
                return None;
            }
            let gap = (self.draws.of(GAPS).unit_exponential() / self.thinning.rate) as u64;
            let id = self.at.saturating_add(gap);
            if id >= self.block_end {
                self.at = self.block_end;
                if self.at < self.ids.end {
                    self.enter(self.block + 1);
                }
                continue;
            }
            self.at = id + 1;
            if self.ids.contains(&id) {
                return Some(id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
