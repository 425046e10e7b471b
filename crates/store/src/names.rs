//! Where an object belongs: its group, and its place in the order of the group.

use towtank_placement::crush::objects::{name_hash, stable_mod};
use towtank_replication::Key;
use twox_hash::XxHash3_64;

/// The longest name of an object, in bytes: that of S3.
pub const NAME_MAX: usize = 1024;

/// The group and the key of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The number of the placement group.
    pub group: u32,
    /// The place in the order of the group.
    pub key: Key,
}

/// The address of a name in a store with so many groups. The group is the one that Ceph gives an object of
/// this name in a pool with as many groups (`name_hash` is rjenkins).
///
/// # Panics
/// If there are no groups.
#[must_use]
pub fn address(name: &str, groups: u32) -> Address {
    let hash = name_hash(name.as_bytes());
    let key = Key::of_hash(hash, XxHash3_64::oneshot(name.as_bytes()));
    Address { group: stable_mod(hash, groups), key }
}

/// Why a name cannot be one of an object; `None` if it can.
#[must_use]
pub fn fault_of(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("an object needs a name".to_owned());
    }
    if name.len() > NAME_MAX {
        return Some(format!("the name has {} bytes, and at most {NAME_MAX} are possible", name.len()));
    }
    None
}

#[cfg(test)]
mod tests {
    use towtank_merkle::Subspace;

    use super::*;

    #[test]
    fn objects_lie_in_the_part_of_the_hash_space_of_their_group() {
        for groups in [1, 3, 8, 12, 64] {
            let mut counts = vec![0_u32; groups as usize];
            for number in 0..4_000 {
                let at = address(&format!("object-{number}"), groups);
                let space = Subspace::of_group(at.group, groups).expect("the group is one of them");
                assert!(space.contains(at.key.at()), "{at:?} of {groups} groups");
                counts[at.group as usize] += 1;
            }
            let (least, most) = (counts.iter().min(), counts.iter().max());
            assert!(counts.iter().all(|count| *count > 0), "{groups} groups: {least:?} to {most:?}");
        }
    }

    /// `osdmaptool --test-map-object` of Ceph 16.2.15 puts `foo` of a pool of 64 groups into group 1.1f... of
    /// which the number is the name's hash modulo the groups.
    #[test]
    fn the_group_is_that_of_ceph() {
        assert_eq!(address("foo", 64).key.hash(), 0x7fc1_f406);
        assert_eq!(address("foo", 64).group, 0x06);
    }

    #[test]
    fn names_have_limits() {
        assert_eq!(fault_of("a"), None);
        assert!(fault_of("").is_some() && fault_of(&"x".repeat(NAME_MAX + 1)).is_some());
        assert_eq!(fault_of(&"x".repeat(NAME_MAX)), None);
    }
}
