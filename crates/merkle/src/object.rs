//! What identifies the state of an object: its id, its version, and the 64-bit digest of both.

use twox_hash::XxHash3_64;

/// Identifies an object within a pool. A simulator numbers its objects; a store has names and uses their
/// 64-bit hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ObjectId(pub u64);

impl ObjectId {
    /// The id of a name. Two of n names share an id with probability n²/2^65: 3e-8 for a million names.
    #[must_use]
    pub fn of_name(name: &[u8]) -> ObjectId {
        ObjectId(XxHash3_64::oneshot(name))
    }
}

/// A number that differs between any two states of one object. Ceph gives an object its group's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Version(pub u64);

/// xxHash3 of two numbers, as 16 little-endian bytes.
#[inline]
pub(crate) fn digest_of_pair(first: u64, second: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    XxHash3_64::oneshot(&bytes)
}

/// The digest of an object in one version; a leaf is the XOR of such digests.
#[inline]
pub(crate) fn digest(id: ObjectId, version: Version) -> u64 {
    digest_of_pair(id.0, version.0)
}

/// The value that a change from one version to another XORs into a leaf; `None` means that the object does
/// not exist.
#[inline]
pub(crate) fn change(id: ObjectId, old: Option<Version>, new: Option<Version>) -> u64 {
    let part = |version: Option<Version>| version.map_or(0, |version| digest(id, version));
    part(old) ^ part(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_xxhash3_of_the_pair() {
        // From the reference implementation (xxhsum -H3), for no bytes and for "a".
        assert_eq!(XxHash3_64::oneshot(b""), 0x2d06_8005_38d3_94c2);
        assert_eq!(ObjectId::of_name(b"a"), ObjectId(0xe6c6_32b6_1e96_4e1f));
        let bytes = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(digest(ObjectId(1), Version(2)), XxHash3_64::oneshot(&bytes));
    }

    #[test]
    fn a_change_and_its_reverse_cancel() {
        let id = ObjectId(7);
        let (four, six) = (Some(Version(4)), Some(Version(6)));
        let all = change(id, None, four) ^ change(id, four, six) ^ change(id, six, None);
        assert_eq!(all, 0, "an object was created, changed and deleted");
        assert_ne!(change(id, four, six), 0);
    }
}
