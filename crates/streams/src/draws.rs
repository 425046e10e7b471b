//! The keyed generator: each draw is a hash of its key.
//!
//! The mixing step is the folded 64 × 64 → 128 bit product of wyhash and wyrand (Wang Yi, public domain),
//! whose counter form passes BigCrush and PractRand; the tests check the structured keys that simulations use
//! (neighbouring entities, consecutive ordinals). The generator is not cryptographic.

use std::fmt;

/// The seed of a run; replicates differ by it alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of replicate number `replicate`. Replicate 0 has the seed itself, so that a single run equals
    /// the first of many.
    #[must_use]
    pub fn replicate(self, replicate: u32) -> Seed {
        if replicate == 0 { self } else { Seed(mix(self.0 ^ SPREAD[0], u64::from(replicate) ^ SPREAD[1])) }
    }
}

impl Seed {
    /// The seed of one part of a run that consists of several consecutive parts, each counting from zero.
    /// Part 0 has the seed itself.
    #[must_use]
    pub fn part(self, part: u32) -> Seed {
        if part == 0 { self } else { Seed(mix(self.0 ^ SPREAD[1], u64::from(part) ^ SPREAD[0])) }
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The purpose of a draw. Draws for different purposes have different keys, even within one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Purpose(pub u32);

/// A source of uniform 64-bit words.
pub trait Uniform {
    /// The next word, uniform over all 2^64 values.
    fn next_u64(&mut self) -> u64;

    /// A number in `[0, 1)` that is a multiple of 2^-53.
    #[inline]
    fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * UNIT
    }

    /// A number in `(0, 1]` that is a multiple of 2^-53, so its logarithm is finite.
    #[inline]
    fn open_unit_f64(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * UNIT
    }

    /// An exponential variate of mean one, from one word.
    #[inline]
    fn unit_exponential(&mut self) -> f64 {
        crate::exponential::unit_exponential(self.next_u64())
    }

    /// An unbiased integer in `[0, bound)` (Lemire 2019). Consumes one word, rarely another.
    ///
    /// # Panics
    /// If `bound` is zero.
    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a choice needs at least one possibility");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }
}

const UNIT: f64 = 1.0 / (1u64 << 53) as f64;

/// Odd words with about half their bits set, from the binary expansion of the fractional parts of sqrt(2),
/// sqrt(3), sqrt(5), sqrt(7).
const SPREAD: [u64; 4] =
    [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

/// The folded product: the two halves of the 128-bit product, xored. All mixing in this crate uses it.
#[inline]
#[must_use]
pub fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The draws of one event: a base word from (seed, entity, ordinal), and the number of words taken.
#[derive(Clone, Debug)]
pub struct Draws {
    base: u64,
    taken: u32,
}

impl Draws {
    /// The draws of event number `ordinal` at `entity`.
    #[inline]
    #[must_use]
    pub fn new(seed: Seed, entity: u32, ordinal: u64) -> Draws {
        let entity_word = mix(seed.0 ^ SPREAD[0], u64::from(entity) ^ SPREAD[1]);
        Draws { base: mix(entity_word ^ SPREAD[2], ordinal ^ SPREAD[3]), taken: 0 }
    }

    /// A source for one purpose. The index continues over all purposes of the event, so asking twice for the
    /// same purpose never repeats a value.
    #[inline]
    pub fn of(&mut self, purpose: Purpose) -> Source<'_> {
        Source { purpose_word: u64::from(purpose.0).wrapping_mul(SPREAD[1]), draws: self }
    }

    /// The number of words taken so far.
    #[must_use]
    pub fn taken(&self) -> u32 {
        self.taken
    }
}

/// The draws of one event for one purpose.
#[derive(Debug)]
pub struct Source<'a> {
    purpose_word: u64,
    draws: &'a mut Draws,
}

impl Uniform for Source<'_> {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.draws.taken += 1;
        let place = (self.draws.base ^ self.purpose_word)
            .wrapping_add(u64::from(self.draws.taken).wrapping_mul(0xa076_1d64_78bd_642f));
        mix(place, place ^ 0xe703_7ed1_a0b4_28db)
    }
}

#[cfg(test)]
mod tests;
