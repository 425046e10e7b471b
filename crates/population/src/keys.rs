//! The mapping from ranks (positions in the order of keys) to 64-bit keys, and its inverse.
//!
//! The key space is divided into as many slots of equal width as there are objects. Each slot holds one key
//! at a pseudo-random position, so the low bits of keys are as random as the high ones. If a placement
//! divides keys by a modulus (groups, or the rings of a multiring), each key has the remainder of its rank,
//! so that the objects with a given remainder can be listed without trying keys. Keys are spread more evenly
//! than by a hash: a share p of the key space holds p·n objects within ±1, where a hash gives ±√(p·n).

use std::ops::Range;

use towtank_streams::mix;

use crate::error::PopulationError;

/// The mapping from ranks to keys and back.
#[derive(Clone, Copy, Debug)]
pub struct KeySpacing {
    objects: u64,
    /// The width of a slot in units of 2^-64, rounded down.
    step: u128,
    modulus: u64,
    salt: u64,
}

impl KeySpacing {
    /// Keys for `objects` ranks; the key of rank `r` has the remainder `r % modulus` modulo `modulus`.
    ///
    /// # Errors
    /// If slots are narrower than the modulus.
    ///
    /// # Panics
    /// If `objects` or `modulus` is zero.
    pub fn new(objects: u64, modulus: u64, salt: u64) -> Result<KeySpacing, PopulationError> {
        assert!(objects > 0 && modulus > 0, "there are {objects} objects, and the modulus is {modulus}");
        let step = u128::MAX / u128::from(objects);
        if (step >> 64) < u128::from(modulus) {
            return Err(PopulationError::NoRoom { objects, modulus });
        }
        Ok(KeySpacing { objects, step, modulus, salt })
    }

    /// The modulus whose remainders keys keep; 1 for none.
    #[must_use]
    pub fn modulus(&self) -> u64 {
        self.modulus
    }

    /// The key of a rank.
    ///
    /// # Panics
    /// If `rank` is not below the number of objects.
    #[inline]
    #[must_use]
    pub fn key(&self, rank: u64) -> u64 {
        assert!(rank < self.objects, "rank {rank} is not below {}", self.objects);
        let from = u128::from(rank) * self.step;
        let start = (from >> 64) as u64;
        let width = (((from + self.step) >> 64) - u128::from(start)) as u64;
        let word = rank.wrapping_mul(0xa076_1d64_78bd_642f).wrapping_add(self.salt);
        let word = mix(word, word ^ 0xe703_7ed1_a0b4_28db);
        let room = u128::from(width - self.modulus) + 1;
        let drawn = start + ((u128::from(word) * room) >> 64) as u64;
        if self.modulus == 1 {
            return drawn;
        }
        let (wanted, found) = (rank % self.modulus, drawn % self.modulus);
        drawn + if found <= wanted { wanted - found } else { wanted + self.modulus - found }
    }

    /// The rank of a key; `None` if no object has it.
    #[must_use]
    pub fn rank(&self, key: u64) -> Option<u64> {
        let slot = self.slot(key);
        (self.key(slot) == key).then_some(slot)
    }

    /// The ranks of the keys from `first` to `last`, both included.
    #[must_use]
    pub fn ranks(&self, first: u64, last: u64) -> Range<u64> {
        if first > last {
            return 0..0;
        }
        let (low, high) = (self.slot(first), self.slot(last));
        let start = low + u64::from(self.key(low) < first);
        let end = high + u64::from(self.key(high) <= last);
        start..end.max(start)
    }

    /// The slot of a key; keys beyond the last slot belong to it.
    fn slot(&self, key: u64) -> u64 {
        let within = u128::from(key) << 64 | u128::from(u64::MAX);
        u64::try_from(within / self.step).unwrap_or(u64::MAX).min(self.objects - 1)
    }
}

#[cfg(test)]
mod tests;
