//! The digest of a run, which must be equal for every executor and any number of workers.
//!
//! A digest folds, in the order of entities: the final state, the chain of committed (key, payload), the
//! statistics, and the events still pending. The chain depends on order; the words of pending events are
//! summed, so they need no sorting. The digest distinguishes runs; it is not secure against deliberate
//! collisions.

use std::fmt;
use std::hash::{Hash, Hasher};

use towtank_streams::mix;

use crate::key::{EventKey, Scheduled};

/// The digest of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Digest(pub u64);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Odd words with half their bits set, from the fractional parts of sqrt(11), sqrt(13), sqrt(17).
const FOLD: [u64; 3] = [0x510e_527f_ade6_82d1, 0x9b05_688c_2b3e_6c1f, 0x1f83_d9ab_fb41_bd6b];

/// A hasher whose result is the same on every machine: integers are widened to 64 bits, never read as raw
/// memory.
#[derive(Clone, Debug)]
pub struct Folder(u64);

impl Folder {
    /// Starts with a fixed initial value.
    #[must_use]
    pub fn new() -> Folder {
        Folder(FOLD[0])
    }

    /// Folds one word.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.0 = mix(self.0 ^ FOLD[1], word ^ FOLD[2]);
    }
}

impl Default for Folder {
    fn default() -> Folder {
        Folder::new()
    }
}

impl Hasher for Folder {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.word(u64::from_le_bytes(chunk.try_into().expect("a chunk of eight bytes has eight bytes")));
        }
        let mut last = [0u8; 8];
        let rest = chunks.remainder();
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last) ^ ((rest.len() as u64) << 56));
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.word(u64::from(value));
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.word(u64::from(value));
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.word(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }

    #[inline]
    fn write_u128(&mut self, value: u128) {
        self.word(value as u64);
        self.word((value >> 64) as u64);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }

    #[inline]
    fn write_i8(&mut self, value: i8) {
        self.word(i64::from(value) as u64);
    }

    #[inline]
    fn write_i16(&mut self, value: i16) {
        self.word(i64::from(value) as u64);
    }

    #[inline]
    fn write_i32(&mut self, value: i32) {
        self.word(i64::from(value) as u64);
    }

    #[inline]
    fn write_i64(&mut self, value: i64) {
        self.word(value as u64);
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.word(value as u64);
    }
}

/// Extends the chain of an entity by one committed event.
#[inline]
pub(crate) fn link<E: Hash>(chain: u64, key: &EventKey, event: &E) -> u64 {
    let place = (u64::from(key.origin.0) << 32) | u64::from(key.step);
    let head = mix(chain ^ key.at.as_ns() ^ FOLD[0], place ^ FOLD[1]);
    let mut folder = Folder(mix(head ^ FOLD[2], key.sequence ^ FOLD[1]));
    event.hash(&mut folder);
    folder.finish()
}

/// The contribution of a pending event to its entity's sum.
pub(crate) fn pending_word<E: Hash>(scheduled: &Scheduled<E>) -> u64 {
    link(FOLD[0], &scheduled.key, &scheduled.event)
}

/// The digest of one value.
pub(crate) fn of<T: Hash>(value: &T) -> u64 {
    let mut folder = Folder::new();
    value.hash(&mut folder);
    folder.finish()
}

/// The digest of a run from the digests of its entities, in order.
pub(crate) fn of_entities(words: impl Iterator<Item = u64>) -> Digest {
    let mut folder = Folder::new();
    let mut count = 0u64;
    for word in words {
        folder.word(word);
        count += 1;
    }
    folder.word(count);
    Digest(folder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::EntityId;
    use towtank_units::SimTime;

    #[test]
    fn a_chain_depends_on_order() {
        let key = |at| EventKey { at: SimTime::from_ns(at), step: 0, origin: EntityId(1), sequence: at };
        let forward = link(link(0, &key(1), &7u32), &key(2), &8u32);
        let backward = link(link(0, &key(2), &8u32), &key(1), &7u32);
        assert_ne!(forward, backward);
    }

    #[test]
    fn every_part_of_an_event_counts() {
        let key = EventKey { at: SimTime::from_ns(4), step: 3, origin: EntityId(2), sequence: 1 };
        let base = link(9, &key, &5u64);
        assert_ne!(base, link(9, &EventKey { at: SimTime::from_ns(5), ..key }, &5u64));
        assert_ne!(base, link(9, &EventKey { step: 4, ..key }, &5u64));
        assert_ne!(base, link(9, &EventKey { origin: EntityId(3), ..key }, &5u64));
        assert_ne!(base, link(9, &EventKey { sequence: 2, ..key }, &5u64));
        assert_ne!(base, link(9, &key, &6u64));
        assert_ne!(base, link(8, &key, &5u64));
    }

    #[test]
    fn bytes_of_different_lengths_differ() {
        let of_bytes = |bytes: &[u8]| {
            let mut folder = Folder::new();
            folder.write(bytes);
            folder.finish()
        };
        assert_ne!(of_bytes(&[0]), of_bytes(&[0, 0]));
        assert_ne!(of_bytes(&[]), of_bytes(&[0]));
    }
}
