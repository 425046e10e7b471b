//! The permutation is one to one and its inverse is correct: all small bounds, and samples of large ones.

use super::*;
use proptest::prelude::*;

#[test]
fn every_small_bound_is_permuted() {
    for len in (1..260).chain([1000, 1023, 1024, 1025, 4095, 4096, 4097, 10_007]) {
        for seed in [0, 1, 99] {
            let permutation = Permutation::new(len, Seed(seed));
            let mut seen = vec![false; len as usize];
            for number in 0..len {
                let at = permutation.apply(number);
                assert!(!std::mem::replace(&mut seen[at as usize], true), "{len}: two go to {at}");
                assert_eq!(permutation.invert(at), number, "{len}");
            }
            assert_eq!((permutation.len(), permutation.is_empty()), (len, false));
        }
    }
}

#[test]
fn a_million_are_permuted() {
    let permutation = Permutation::new(1_000_003, Seed(3));
    let mut seen: Vec<u64> = (0..permutation.len()).map(|number| permutation.apply(number)).collect();
    // Few numbers are fixed points, and few neighbours stay neighbours.
    let stay = seen.iter().zip(0..).filter(|(at, number)| **at == *number).count();
    let follow = seen.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    assert!(stay < 10 && follow < 10, "{stay} stay, {follow} follow");
    seen.sort_unstable();
    assert!(seen.iter().zip(0..).all(|(at, number)| *at == number));
}

fn bounds() -> impl Strategy<Value = u64> {
    let around = |power: u64| prop_oneof![Just(power - 1), Just(power), Just(power.saturating_add(1))];
    prop_oneof![
        around(1_300_000_000),
        around(10_000_000_000),
        (1u32..64).prop_flat_map(move |power| around(1 << power)),
        Just(u64::MAX),
        Just(u64::MAX - 1),
        1u64..=u64::MAX,
        1u64..100,
    ]
}

proptest! {
    #[test]
    fn the_inverse_undoes(len in bounds(), seed: u64, word: u64) {
        let permutation = Permutation::new(len, Seed(seed));
        for number in [0, len - 1, word % len] {
            let at = permutation.apply(number);
            prop_assert!(at < len);
            prop_assert_eq!(permutation.invert(at), number);
            prop_assert_eq!(permutation.apply(permutation.invert(number)), number);
        }
    }
}
