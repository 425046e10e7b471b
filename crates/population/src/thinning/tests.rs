//! Thinning compared with the binomial distribution, and its independence of where an enumeration begins.

use super::*;
use crate::tests::spread::check_even;
use proptest::prelude::*;

proptest! {
    #[test]
    fn an_answer_does_not_depend_on_the_range(
        probability in prop_oneof![Just(0.0), Just(1.0), 1e-7..1.0f64], seed: u64, start in 0u64..200_000, length in 0u64..200_000,
        cut in 0u64..400_000,
    ) {
        let thinning = Thinning::new(probability, Seed(seed), Purpose(2));
        let all: Vec<u64> = thinning.ids(0..400_000).collect();
        let part: Vec<u64> = thinning.ids(start..start + length).collect();
        let want: Vec<u64> = all.iter().copied().filter(|id| (start..start + length).contains(id)).collect();
        prop_assert_eq!(part, want);
        let joined: Vec<u64> = thinning.ids(0..cut).chain(thinning.ids(cut..400_000)).collect();
        prop_assert_eq!(&joined, &all);
        prop_assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(thinning.passes(cut), all.contains(&cut));
    }
}

#[test]
fn as_many_pass_as_expected() {
    for (probability, ids) in [
        (0.5, 1u64 << 22),
        (0.9, 1 << 20),
        (0.01, 1 << 26),
        (1e-4, 1 << 33),
        (1e-7, 1 << 42),
        (1e-12, 1 << 59),
    ] {
        for seed in [1, 2] {
            let count = Thinning::new(probability, Seed(seed), Purpose(0)).ids(0..ids).count() as f64;
            let mean = probability * ids as f64;
            let deviation = (mean * (1.0 - probability)).sqrt();
            assert!(
                (count - mean).abs() < 4.0 * deviation,
                "{probability}: {count} of {ids}, expected {mean}"
            );
        }
    }
}

#[test]
fn counts_of_windows_are_binomial() {
    // Windows of 100 ids with a probability of 0.03: expected numbers of windows with 0 … 9 or more selected
    // ids.
    let (windows, probability) = (200_000u64, 0.03f64);
    let mut counts = [0u64; 10];
    let mut held = vec![0u8; windows as usize];
    for id in Thinning::new(probability, Seed(5), Purpose(7)).ids(0..windows * 100) {
        held[(id / 100) as usize] += 1;
    }
    held.iter().for_each(|held| counts[usize::from(*held).min(9)] += 1);
    let mut chance = (1.0 - probability).powi(100);
    let (mut distance, mut rest) = (0.0, 1.0);
    for (passing, count) in counts.into_iter().enumerate() {
        let expected = windows as f64 * if passing == 9 { rest } else { chance };
        distance += (count as f64 - expected).powi(2) / expected;
        rest -= chance;
        chance *= (100 - passing) as f64 / (passing + 1) as f64 * probability / (1.0 - probability);
    }
    // The 0.1 % point of chi-square with 9 degrees.
    assert!(distance < 27.88, "{distance}");
}

#[test]
fn places_in_a_block_are_alike() {
    let mut counts = [0; 64];
    for id in Thinning::new(0.002, Seed(8), Purpose(1)).ids(0..1 << 26) {
        counts[(id % 65_536 / 1024) as usize] += 1;
    }
    check_even("places in a block", &counts);
}

#[test]
fn purposes_are_independent() {
    let of = |purpose| Thinning::new(0.1, Seed(8), Purpose(purpose)).ids(0..1_000_000);
    let first: Vec<u64> = of(1).collect();
    let both = of(2).filter(|id| first.binary_search(id).is_ok()).count() as f64;
    assert!((both - 10_000.0).abs() < 400.0, "{both} pass both");
}
