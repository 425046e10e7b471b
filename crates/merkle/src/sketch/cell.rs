//! A cell of a sketch, the contribution of one object to it, and the cells that an object is in.

use super::field;
use crate::object::{digest, digest_of_pair};
use crate::{ObjectId, Version};

/// Sums over the objects that map to this cell. If a single object makes up the sums, it can be read from
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cell {
    /// The sum of the weights of (id, version).
    weight: u64,
    /// The sum of weight times the first half of the key.
    first: u64,
    /// The sum of weight times the second half of the key.
    second: u64,
    /// The sum of the versions, modulo 2^64.
    version: u64,
}

impl Cell {
    /// Bytes of an encoded cell.
    pub const BYTES: usize = 32;

    /// What a change of one object adds to each of the object's cells.
    pub(super) fn of_change(key: Key, id: ObjectId, old: Option<Version>, new: Option<Version>) -> Cell {
        let weight = |version: Option<Version>| version.map_or(0, |version| weight_of(id, version));
        let number = |version: Option<Version>| version.map_or(0, |version| version.0);
        let weight = field::subtract(weight(new), weight(old));
        Cell {
            weight,
            first: field::multiply(weight, key.first),
            second: field::multiply(weight, key.second),
            version: number(new).wrapping_sub(number(old)),
        }
    }

    #[inline]
    pub(super) fn add(&mut self, other: &Cell) {
        self.weight = field::add(self.weight, other.weight);
        self.first = field::add(self.first, other.first);
        self.second = field::add(self.second, other.second);
        self.version = self.version.wrapping_add(other.version);
    }

    #[inline]
    pub(super) fn subtract(&mut self, other: &Cell) {
        self.weight = field::subtract(self.weight, other.weight);
        self.first = field::subtract(self.first, other.first);
        self.second = field::subtract(self.second, other.second);
        self.version = self.version.wrapping_sub(other.version);
    }

    pub(super) fn is_zero(&self) -> bool {
        *self == Cell::default()
    }

    pub(super) fn weight(&self) -> u64 {
        self.weight
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The key of the single object in this cell, if it holds just one; `inverse` is the inverse of the
    /// cell's weight.
    pub(super) fn key(&self, inverse: u64) -> Option<Key> {
        let first = field::multiply(self.first, inverse);
        if first >> HALF_BITS != 0 {
            return None;
        }
        let second = field::multiply(self.second, inverse);
        Key { first, second }.checked()
    }

    pub(crate) fn to_bytes(self) -> [u8; Cell::BYTES] {
        let mut bytes = [0; Cell::BYTES];
        let sums = [self.weight, self.first, self.second];
        let reduced = sums.iter().all(|sum| *sum < field::P);
        assert!(reduced, "the sums of a cell are below the modulus: {sums:?} cannot be read again");
        let numbers = [self.weight, self.first, self.second, self.version];
        for (bytes, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// None if a number is not an element of the field.
    pub(crate) fn from_bytes(bytes: &[u8; Cell::BYTES]) -> Option<Cell> {
        let mut numbers = [0; 4];
        for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = u64::from_le_bytes(bytes.try_into().expect("chunks have eight bytes"));
        }
        let [weight, first, second, version] = numbers;
        let is_reduced = weight < field::P && first < field::P && second < field::P;
        is_reduced.then_some(Cell { weight, first, second, version })
    }
}

/// The weight with which an object in this version is added to its cells. Two versions of one object have
/// different weights, so that a changed object does not cancel, and its two versions count as one object to
/// find.
pub(super) fn weight_of(id: ObjectId, version: Version) -> u64 {
    field::reduced(digest(id, version))
}

/// The hash and id of an object as two numbers of the field, 60 bits each: the hash with 28 bits of the id,
/// and the other 36 bits with 24 bits of a digest, which exposes a number that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(super) struct Key {
    first: u64,
    second: u64,
}

const HALF_BITS: u32 = 60;
const LOW_BITS: u32 = 36;
const CHECK_BITS: u32 = HALF_BITS - LOW_BITS;

impl Key {
    pub(super) fn new(hash: u32, id: ObjectId) -> Key {
        let first = u64::from(hash) << (HALF_BITS - 32) | id.0 >> LOW_BITS;
        let second = id.0 & ((1 << LOW_BITS) - 1) | check_of(hash, id) << LOW_BITS;
        Key { first, second }
    }

    pub(super) fn hash(self) -> u32 {
        (self.first >> (HALF_BITS - 32)) as u32
    }

    pub(super) fn id(self) -> ObjectId {
        ObjectId(self.first << LOW_BITS | self.second & ((1 << LOW_BITS) - 1))
    }

    fn checked(self) -> Option<Key> {
        let is_in_range = (self.first | self.second) >> HALF_BITS == 0;
        (is_in_range && Key::new(self.hash(), self.id()) == self).then_some(self)
    }

    /// Iterates over the cells that the key is in.
    pub(super) fn mapping(self) -> Mapping {
        Mapping { state: digest_of_pair(self.first, self.second), at: 0 }
    }
}

/// The digest bits that identify a valid key.
fn check_of(hash: u32, id: ObjectId) -> u64 {
    digest_of_pair(id.0, u64::from(hash)) >> (64 - CHECK_BITS)
}

/// The cells of one object, in order: the first cell always, and cell i with probability 1 / (1 + i/2) (Yang,
/// Gilad, Alizadeh: Practical Rateless Set Reconciliation, SIGCOMM 2024). With this density a prefix of 1.35
/// to 1.72 cells per difference is enough, whatever the number of differences, and an object is in about 2 ln
/// m of the first m cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Mapping {
    state: u64,
    at: i64,
}

impl Mapping {
    /// The index of the current cell.
    pub(super) fn at(&self) -> usize {
        usize::try_from(self.at).unwrap_or(usize::MAX)
    }

    /// Advances to the next cell.
    ///
    /// The probability of being in none of the cells after i and before j is about ((1.5 + i) / (1.5 + j))²,
    /// so a uniform u gives the gap (1.5 + i) (u^-1/2 - 1), rounded up. Square roots and quotients are exact
    /// on all machines.
    #[inline]
    pub(super) fn advance(&mut self) {
        // SplitMix64 (Steele, Lea, Flood 2014).
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        // Converted through a signed number, which all processors convert in one instruction.
        let uniform = ((mixed ^ mixed >> 31) >> 11) as i64 as f64 + 0.5;
        const SCALE: f64 = (1_u64 << 53) as f64;
        let gap = (1.5 + self.at as f64) * ((SCALE / uniform).sqrt() - 1.0);
        self.at = self.at.saturating_add(gap as i64 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_back_hash_and_id() {
        for (hash, id) in [(0, 0), (u32::MAX, u64::MAX), (1, 1 << 63), (0x1234_5678, 0x9abc_def0_1234_5678)] {
            let key = Key::new(hash, ObjectId(id)).checked().expect("a key is known as one");
            assert_eq!((key.hash(), key.id()), (hash, ObjectId(id)));
            let damaged = Key { second: key.second ^ 1, ..key };
            assert_eq!(damaged.checked(), None);
        }
    }

    #[test]
    fn an_object_is_in_a_cell_as_often_as_it_should() {
        const OBJECTS: u32 = 20_000;
        let mut count = [0_u32; 100];
        for hash in 0..OBJECTS {
            let mut mapping = Key::new(hash, ObjectId(7)).mapping();
            while mapping.at() < count.len() {
                count[mapping.at()] += 1;
                mapping.advance();
            }
        }
        for (at, count) in count.into_iter().enumerate() {
            let share = 1.0 / (1.0 + at as f64 / 2.0);
            let deviation = (share * (1.0 - share) / f64::from(OBJECTS)).sqrt();
            let found = f64::from(count) / f64::from(OBJECTS);
            // The gaps follow the density to a few percent in the first cells, and closely after them.
            assert!((found - share).abs() < 5.0 * deviation + 0.03 * share, "cell {at}: {found} of {share}");
        }
    }

    #[test]
    #[should_panic(expected = "the sums of a cell are below the modulus")]
    fn a_sum_that_was_not_reduced_breaks_a_law() {
        Cell { second: field::P, ..Cell::default() }.to_bytes();
    }

    #[test]
    fn a_created_and_deleted_object_leaves_nothing() {
        let key = Key::new(3, ObjectId(4));
        let mut cell = Cell::default();
        for (old, new) in [(None, Some(1)), (Some(1), Some(9)), (Some(9), None)] {
            cell.add(&Cell::of_change(key, ObjectId(4), old.map(Version), new.map(Version)));
        }
        assert!(cell.is_zero());
    }
}
