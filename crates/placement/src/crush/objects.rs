//! From an object's name to its placement group.
//!
//! Source: the reference notes on Ceph 16.2.15 (section 3.8): the name, preceded by its namespace, is hashed
//! with Robert Jenkins' lookup hash; a modulo that moves little when the number of groups grows selects the
//! group.

use super::hash::mix;

/// The separator of namespace and name.
const NAMESPACE_END: u8 = 0x1f;

/// The part of an object's identity that determines its placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectKey<'a> {
    /// The namespace; usually empty.
    pub namespace: &'a str,
    /// The locator key if there is one, else the name.
    pub key: &'a str,
}

impl ObjectKey<'_> {
    /// The hash that determines the placement group.
    #[must_use]
    pub fn hash(self) -> u32 {
        if self.namespace.is_empty() {
            return name_hash(self.key.as_bytes());
        }
        let mut bytes = Vec::with_capacity(self.namespace.len() + 1 + self.key.len());
        bytes.extend(self.namespace.as_bytes());
        bytes.push(NAMESPACE_END);
        bytes.extend(self.key.as_bytes());
        name_hash(&bytes)
    }
}

/// The hash of a name's bytes ("rjenkins" as Ceph names it).
#[must_use]
pub fn name_hash(name: &[u8]) -> u32 {
    const GOLDEN: u32 = 0x9e37_79b9;
    let (mut a, mut b, mut c) = (GOLDEN, GOLDEN, 0u32);
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let blocks = name.chunks_exact(12);
    let tail = blocks.remainder();
    for block in blocks {
        a = a.wrapping_add(word(&block[..4]));
        b = b.wrapping_add(word(&block[4..8]));
        c = c.wrapping_add(word(&block[8..]));
        mix(&mut a, &mut b, &mut c);
    }
    // The lowest byte of the last word holds the length, so the last three bytes of the tail are shifted by
    // one byte.
    let mut padded = [0u8; 12];
    for (at, &byte) in tail.iter().enumerate() {
        padded[if at < 8 { at } else { at + 1 }] = byte;
    }
    a = a.wrapping_add(word(&padded[..4]));
    b = b.wrapping_add(word(&padded[4..8]));
    c = c.wrapping_add(word(&padded[8..])).wrapping_add(name.len() as u32);
    mix(&mut a, &mut b, &mut c);
    c
}

/// `value` modulo `count`, such that increasing `count` by one moves only values to the new number.
///
/// # Panics
/// If `count` is 0.
#[must_use]
pub fn stable_mod(value: u32, count: u32) -> u32 {
    assert!(count > 0, "a pool has at least one placement group");
    let mask = (1u64 << (32 - (count - 1).leading_zeros())) as u32;
    let mask = mask.wrapping_sub(1);
    if value & mask < count { value & mask } else { value & (mask >> 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_name_hashes_as_in_ceph() {
        assert_eq!(name_hash(b""), 0xbd49_d10d);
    }

    #[test]
    fn the_stable_modulo_stays_below_its_count() {
        for count in [1, 2, 3, 12, 37, 64, 100, 1_000, 1 << 31, u32::MAX] {
            for value in [0, 1, 2, 11, 12, 13, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                assert!(stable_mod(value, count) < count, "{value} mod {count}");
            }
        }
    }
}
