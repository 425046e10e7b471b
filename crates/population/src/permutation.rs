//! A keyed permutation of the numbers below any bound, and its inverse.
//!
//! A Feistel network over mixed digits: a number is `high * base + low`, and each round adds a keyed function
//! of one digit to the other, modulo its range. A result outside the bound is permuted again until it is
//! inside (cycle walking). Both are described in Black and Rogaway, "Ciphers with Arbitrary Finite Domains"
//! (2002). Both digits have about the square root of the bound as their range, so few numbers fall outside.
//! The permutation mixes well enough that the order is independent of the ids (tested); it is not
//! cryptographically secure.

use towtank_streams::{Draws, Purpose, Seed, Uniform, mix};

const ROUND_KEYS: Purpose = Purpose(1);
const ROUNDS: usize = 6;

/// A permutation of `0..len`.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    len: u64,
    high: u64,
    base: u64,
    /// 2^64 / base, rounded down, at most 2^64 - 1.
    reciprocal: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..len` for a seed.
    ///
    /// # Panics
    /// If `len` is zero.
    #[must_use]
    pub fn new(len: u64, seed: Seed) -> Permutation {
        assert!(len > 0, "a permutation needs at least one number");
        let mut high = len.isqrt();
        if high * high < len {
            high += 1;
        }
        let base = len.div_ceil(high);
        let reciprocal = u64::try_from((1u128 << 64) / u128::from(base)).unwrap_or(u64::MAX);
        let mut draws = Draws::new(seed, 0, 0);
        let mut source = draws.of(ROUND_KEYS);
        Permutation { len, high, base, reciprocal, keys: std::array::from_fn(|_| source.next_u64()) }
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Always false: there is at least one element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The image of `number`.
    ///
    /// # Panics
    /// If `number` is not below the bound.
    #[inline]
    #[must_use]
    pub fn apply(&self, number: u64) -> u64 {
        assert!(number < self.len, "{number} is not below {}", self.len);
        let mut at = number;
        loop {
            at = self.forward(at);
            if at < self.len {
                return at;
            }
        }
    }

    /// The preimage of `number`.
    ///
    /// # Panics
    /// If `number` is not below the bound.
    #[inline]
    #[must_use]
    pub(crate) fn invert(&self, number: u64) -> u64 {
        assert!(number < self.len, "{number} is not below {}", self.len);
        let mut at = number;
        loop {
            at = self.backward(at);
            if at < self.len {
                return at;
            }
        }
    }

    #[inline]
    fn forward(&self, number: u64) -> u64 {
        let (mut high, mut low) = self.digits(number);
        for pair in self.keys.chunks_exact(2) {
            high = add(high, share(pair[0], low, self.high), self.high);
            low = add(low, share(pair[1], high, self.base), self.base);
        }
        high * self.base + low
    }

    #[inline]
    fn backward(&self, number: u64) -> u64 {
        let (mut high, mut low) = self.digits(number);
        for pair in self.keys.chunks_exact(2).rev() {
            low = subtract(low, share(pair[1], high, self.base), self.base);
            high = subtract(high, share(pair[0], low, self.high), self.high);
        }
        high * self.base + low
    }

    /// Quotient and remainder by the base. The product with the reciprocal gives the quotient or one less.
    #[inline]
    fn digits(&self, number: u64) -> (u64, u64) {
        let quotient = high_half(number, self.reciprocal);
        let rest = number - quotient * self.base;
        if rest >= self.base { (quotient + 1, rest - self.base) } else { (quotient, rest) }
    }
}

/// A keyed function of a digit, with results below `range`.
#[inline]
fn share(key: u64, digit: u64, range: u64) -> u64 {
    let place = key.wrapping_add(digit.wrapping_mul(0xa076_1d64_78bd_642f));
    high_half(mix(place, place ^ 0xe703_7ed1_a0b4_28db), range)
}

#[inline]
fn high_half(left: u64, right: u64) -> u64 {
    ((u128::from(left) * u128::from(right)) >> 64) as u64
}

/// Addition modulo `range`. Digits are below 2^33, so sums do not overflow.
#[inline]
fn add(left: u64, right: u64, range: u64) -> u64 {
    let sum = left + right;
    if sum >= range { sum - range } else { sum }
}

#[inline]
fn subtract(left: u64, right: u64, range: u64) -> u64 {
    if left >= right { left - right } else { left + range - right }
}

#[cfg(test)]
mod tests;
