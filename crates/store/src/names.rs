//! Where an object belongs: its group, and its key in the order of the group.

use towtank_placement::crush::objects::{name_hash, stable_mod};
use towtank_replication::Key;
use twox_hash::XxHash3_64;

/// The longest name of an object, in bytes: that of S3 (1,024), plus what a gateway adds to it.
const NAME_MAX: usize = 1_200;

/// The group and the key of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The number of the placement group.
    pub group: u32,
    /// The key in the order of the group.
    pub key: Key,
}

/// The address of a name in a store with this many groups. The group is the one that Ceph assigns to an
/// object of this name in a pool with as many groups (`name_hash` is rjenkins).
///
/// # Panics
/// If there are no groups.
#[must_use]
pub fn address(name: &str, groups: u32) -> Address {
    let hash = name_hash(name.as_bytes());
    let key = Key::of_hash(hash, XxHash3_64::oneshot(name.as_bytes()));
    Address { group: stable_mod(hash, groups), key }
}

/// The least name greater than this one.
#[must_use]
pub fn after(name: &str) -> String {
    [name, "\0"].concat()
}

/// The least name greater than all that begin with `prefix`; none if no name follows them.
#[must_use]
pub fn after_all(prefix: &str) -> Option<String> {
    let mut rest = prefix;
    while let Some(last) = rest.chars().next_back() {
        rest = &rest[..rest.len() - last.len_utf8()];
        // Surrogates are not characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            return Some([rest, next.encode_utf8(&mut [0; 4])].concat());
        }
    }
    None
}

/// Why a name is not valid for an object; `None` if it is valid.
#[must_use]
pub fn fault_of(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("the name of the object is empty".to_owned());
    }
    if name.len() > NAME_MAX {
        return Some(format!("the name has {} bytes, but the limit is {NAME_MAX}", name.len()));
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
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

    /// `osdmaptool --test-map-object` of Ceph 16.2.15 gives the group of `foo` in a pool of 64 groups: its
    /// number is the name's hash modulo the number of groups.
    #[test]
    fn the_group_is_that_of_ceph() {
        assert_eq!(address("foo", 64).key.hash(), 0x7fc1_f406);
        assert_eq!(address("foo", 64).group, 0x06);
    }

    proptest! {
        #[test]
        fn names_that_follow_are_the_first_that_do(prefix in "[a/\u{d7ff}\u{10ffff}]{0,4}", other in "[ab/0\0\u{d7ff}\u{e000}\u{10ffff}]{0,6}") {
            prop_assert_eq!(other > prefix, other >= after(&prefix));
            let is_past = !other.starts_with(&prefix) && other > prefix;
            prop_assert_eq!(is_past, after_all(&prefix).is_some_and(|first| other >= first));
        }
    }

    #[test]
    fn names_have_limits() {
        assert_eq!(fault_of("a"), None);
        assert!(fault_of("").is_some() && fault_of(&"x".repeat(NAME_MAX + 1)).is_some());
        assert_eq!(fault_of(&"x".repeat(NAME_MAX)), None);
    }
}
