//! Statistical checks of the keyed generator on the keys that simulations use. Seeds are fixed, so the
//! results do not vary.

use super::*;

const PURPOSE: Purpose = Purpose(3);

/// The chi-square statistic of `words`, sorted into `bins` by their top bits.
fn chi_square(words: impl Iterator<Item = u64>, bins: usize) -> f64 {
    let mut counts = vec![0u64; bins];
    let mut total = 0u64;
    for word in words {
        counts[((u128::from(word) * bins as u128) >> 64) as usize] += 1;
        total += 1;
    }
    let expected = total as f64 / bins as f64;
    counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
}

/// With 255 degrees of freedom the statistic lies in 255 ± 5 × sqrt(510) for all but one draw in a million.
fn assert_uniform(what: &str, words: impl Iterator<Item = u64>) {
    let statistic = chi_square(words, 256);
    assert!(
        (142.0..368.0).contains(&statistic),
        "{what}: chi-square {statistic} over 255 degrees of freedom"
    );
}

fn first(seed: u64, entity: u32, ordinal: u64, purpose: Purpose) -> u64 {
    Draws::new(Seed(seed), entity, ordinal).of(purpose).next_u64()
}

#[test]
fn neighbouring_keys_give_uniform_words() {
    assert_uniform("entities", (0..200_000).map(|entity| first(1, entity, 0, PURPOSE)));
    assert_uniform("ordinals", (0..200_000).map(|ordinal| first(1, 7, ordinal, PURPOSE)));
    assert_uniform("seeds", (0..200_000).map(|seed| first(seed, 7, 3, PURPOSE)));
    assert_uniform("purposes", (0..200_000).map(|purpose| first(1, 7, 3, Purpose(purpose))));
    let mut draws = Draws::new(Seed(5), 9, 2);
    assert_uniform("index", (0..200_000).map(|_| draws.of(PURPOSE).next_u64()));
}

#[test]
fn low_bits_are_uniform_too() {
    assert_uniform("low bits", (0..200_000).map(|entity| first(1, entity, 0, PURPOSE) << 56));
    assert_uniform("low bits, ordinals", (0..200_000).map(|ordinal| first(1, 3, ordinal, PURPOSE) << 56));
}

/// Differences between neighbouring keys would not be uniform if the mixing were weak.
#[test]
fn neighbours_are_independent() {
    assert_uniform(
        "entity differences",
        (0..200_000)
            .map(|entity| first(1, entity, 0, PURPOSE).wrapping_sub(first(1, entity + 1, 0, PURPOSE))),
    );
    assert_uniform(
        "ordinal differences",
        (0..200_000).map(|ordinal| first(1, 1, ordinal, PURPOSE) ^ first(1, 1, ordinal + 1, PURPOSE)),
    );
    assert_uniform(
        "purpose differences",
        (0..200_000u32).map(|e| first(1, e, 0, Purpose(0)) ^ first(1, e, 0, Purpose(1))),
    );
}

#[test]
fn a_draw_depends_on_every_part_of_its_key() {
    let base = first(1, 2, 3, Purpose(4));
    assert_ne!(base, first(2, 2, 3, Purpose(4)));
    assert_ne!(base, first(1, 3, 3, Purpose(4)));
    assert_ne!(base, first(1, 2, 4, Purpose(4)));
    assert_ne!(base, first(1, 2, 3, Purpose(5)));
    assert_eq!(base, first(1, 2, 3, Purpose(4)));
}

#[test]
fn asking_twice_for_one_purpose_never_repeats() {
    let mut draws = Draws::new(Seed(1), 2, 3);
    let first = draws.of(PURPOSE).next_u64();
    let second = draws.of(PURPOSE).next_u64();
    assert_ne!(first, second);
    assert_eq!(draws.taken(), 2);
}

#[test]
fn unit_draws_stay_in_their_interval() {
    struct Fixed(u64);
    impl Uniform for Fixed {
        fn next_u64(&mut self) -> u64 {
            self.0
        }
    }
    assert_eq!(Fixed(0).unit_f64(), 0.0);
    assert!(Fixed(u64::MAX).unit_f64() < 1.0);
    assert!(Fixed(0).open_unit_f64() > 0.0);
    assert_eq!(Fixed(u64::MAX).open_unit_f64(), 1.0);
}

#[test]
fn below_covers_its_range_evenly() {
    let mut counts = [0u32; 10];
    for entity in 0..100_000 {
        counts[Draws::new(Seed(11), entity, 0).of(PURPOSE).below(10) as usize] += 1;
    }
    for count in counts {
        assert!((9_500..10_500).contains(&count), "{counts:?}");
    }
    assert_eq!(Draws::new(Seed(11), 0, 0).of(PURPOSE).below(1), 0);
}

#[test]
#[should_panic(expected = "at least one possibility")]
fn below_zero_is_refused() {
    Draws::new(Seed(11), 0, 0).of(PURPOSE).below(0);
}

#[test]
fn replicate_zero_is_the_seed_itself() {
    assert_eq!(Seed(5).replicate(0), Seed(5));
    assert_ne!(Seed(5).replicate(1), Seed(5).replicate(2));
    assert_ne!(Seed(5).replicate(1), Seed(6).replicate(1));
}
