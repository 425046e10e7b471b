//! The keys that touch a server, computed without examining other keys.
//!
//! If an algorithm has an inverse, the keys of a server form runs: all keys between a first and a last one
//! that have a certain remainder. The arcs of a ring are runs of remainder 0 modulo 1; the groups of a hash
//! modulo the number of groups are runs over the whole key space.

use super::cluster::ServerId;
use super::hashing::{gather, scatter};

/// The keys from `first` to `last`, both included, with remainder `residue` modulo `modulus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRun {
    /// The lower end of the run.
    pub first: u64,
    /// The upper end of the run.
    pub last: u64,
    /// The remainder.
    pub residue: u64,
    /// The modulus; 1 selects all positions.
    pub modulus: u64,
}

impl KeyRun {
    /// All positions from `first` to `last`.
    #[must_use]
    pub fn all(first: u64, last: u64) -> KeyRun {
        KeyRun { first, last, residue: 0, modulus: 1 }
    }

    /// All positions with this remainder.
    #[must_use]
    pub(super) fn residue_class(residue: u64, modulus: u64) -> KeyRun {
        assert!(residue < modulus, "a remainder is below what it is a remainder of: {residue} of {modulus}");
        KeyRun { first: 0, last: u64::MAX, residue, modulus }
    }

    /// Whether the position belongs to the run.
    #[must_use]
    pub fn contains(&self, position: u64) -> bool {
        (self.first..=self.last).contains(&position) && position % self.modulus == self.residue
    }

    /// The part of the run from `first` to `last`.
    #[must_use]
    pub fn within(&self, first: u64, last: u64) -> KeyRun {
        KeyRun { first: self.first.max(first), last: self.last.min(last), ..*self }
    }

    /// The number of positions in the run.
    #[must_use]
    pub fn len(&self) -> u128 {
        match self.lowest() {
            Some(lowest) => u128::from((self.last - lowest) / self.modulus) + 1,
            None => 0,
        }
    }

    /// Whether the run has no positions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lowest().is_none()
    }

    /// The positions in ascending order.
    pub fn positions(self) -> impl Iterator<Item = u64> {
        let next = move |position: &u64| position.checked_add(self.modulus).filter(|next| *next <= self.last);
        std::iter::successors(self.lowest(), next)
    }

    fn lowest(&self) -> Option<u64> {
        let past = self.first % self.modulus;
        let ahead =
            if past <= self.residue { self.residue - past } else { self.modulus - past + self.residue };
        self.first.checked_add(ahead).filter(|lowest| *lowest <= self.last)
    }
}

/// Whether an algorithm divides keys as given, or after scattering them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySpace {
    /// Runs contain keys.
    AsGiven,
    /// Runs contain [`scatter`]ed keys.
    Scattered,
}

impl KeySpace {
    /// The position of a key in the space that is divided.
    #[inline]
    #[must_use]
    pub fn position(self, key: u64) -> u64 {
        match self {
            KeySpace::AsGiven => key,
            KeySpace::Scattered => scatter(key),
        }
    }

    /// The key at a position.
    #[must_use]
    pub fn key(self, position: u64) -> u64 {
        match self {
            KeySpace::AsGiven => position,
            KeySpace::Scattered => gather(position),
        }
    }
}

/// How a list of runs relates to the keys that touch a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Territory {
    /// Every key of the runs touches the server, and no other key does. Runs do not overlap.
    Exact(KeySpace),
    /// No key outside the runs touches the server; keys within them may or may not. Runs do not overlap.
    Superset(KeySpace),
    /// The algorithm has no inverse; no run was listed.
    Unknown,
}

/// The arguments of a territory query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touching {
    /// The server.
    pub server: ServerId,
    /// The number of replicas per object.
    pub replicas: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_hold_what_they_contain(first in 0u64..200, last in 0u64..200, residue in 0u64..9, more in 1u64..9) {
            let run = KeyRun { first, last, residue, modulus: residue + more };
            let want: Vec<u64> = (0..250).filter(|position| run.contains(*position)).collect();
            prop_assert_eq!(run.len(), want.len() as u128);
            prop_assert_eq!(run.is_empty(), want.is_empty());
            prop_assert_eq!(run.positions().collect::<Vec<_>>(), want);
        }
    }

    #[test]
    fn runs_reach_the_end_of_the_key_space() {
        let end = KeyRun::all(u64::MAX - 2, u64::MAX);
        assert_eq!(end.positions().collect::<Vec<_>>(), [u64::MAX - 2, u64::MAX - 1, u64::MAX]);
        assert_eq!(KeyRun::all(0, u64::MAX).len(), 1 << 64);
        let thirds = KeyRun::residue_class(2, 3);
        assert_eq!(thirds.within(u64::MAX - 3, u64::MAX).positions().collect::<Vec<_>>(), [u64::MAX - 1]);
    }

    #[test]
    #[should_panic(expected = "a remainder is below what it is a remainder of: 3 of 3")]
    fn a_remainder_that_is_none_breaks_a_law() {
        let _ = KeyRun::residue_class(3, 3);
    }
}
