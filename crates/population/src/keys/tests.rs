//! Keys increase with ranks, and the inverse returns the rank.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn keys_rise_and_lead_back(
        objects in prop_oneof![1u64..50, 1u64..1 << 40, 1u64..=u64::MAX], salt: u64, word: u64, modulus in 1u64..1000,
    ) {
        let modulus = if objects < 1 << 50 { modulus } else { 1 };
        let spacing = KeySpacing::new(objects, modulus, salt).unwrap();
        for rank in [0, objects - 1, word % objects] {
            let key = spacing.key(rank);
            prop_assert_eq!(key % modulus, rank % modulus);
            prop_assert_eq!(spacing.rank(key), Some(rank));
            prop_assert_eq!(spacing.ranks(key, key), rank..rank + 1);
            prop_assert_eq!(spacing.ranks(0, key), 0..rank + 1);
            prop_assert_eq!(spacing.ranks(key, u64::MAX), rank..objects);
            if rank + 1 < objects {
                let next = spacing.key(rank + 1);
                prop_assert!(key < next);
                prop_assert!(spacing.ranks(key + 1, next - 1).is_empty() || next == key + 1);
            }
        }
        prop_assert_eq!(spacing.ranks(0, u64::MAX), 0..objects);
    }
}

#[test]
fn a_share_of_keys_is_that_share_of_objects() {
    let spacing = KeySpacing::new(1_000_000, 1, 7).unwrap();
    for eighth in 1..=8u64 {
        let last = ((u128::from(eighth) << 61) - 1) as u64;
        let ranks = spacing.ranks(0, last);
        assert!(ranks.end.abs_diff(eighth * 125_000) <= 1, "{ranks:?}");
    }
}

#[test]
fn there_is_no_range_upside_down() {
    assert!(KeySpacing::new(100, 1, 7).unwrap().ranks(9, 8).is_empty());
}
