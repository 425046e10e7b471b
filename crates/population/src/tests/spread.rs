//! Ranks and keys do not depend on the size of an object, and the inverse look-ups are correct.

use proptest::prelude::*;
use towtank_streams::{Purpose, Seed};
use towtank_units::Bytes;

use crate::{Extent, Layout, Population, PopulationError, SizeHistogram};

fn genomes(objects: u64, seed: u64) -> Population {
    let histogram = SizeHistogram::thousand_genomes();
    Population::new(&histogram, Layout::CHUNKS, Extent::Objects(objects), Seed(seed)).unwrap()
}

/// Checks that Pearson's distance of counts from equal ones is below its 0.1 % point, by Wilson and Hilferty.
pub(crate) fn check_even(what: &str, counts: &[u64]) {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    assert!(mean >= 5.0, "{what}: a cell expects only {mean}");
    let distance: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2) / mean).sum();
    let degrees = (counts.len() - 1) as f64;
    let spread = 2.0 / (9.0 * degrees);
    let limit = degrees * (1.0 - spread + 3.09 * spread.sqrt()).powi(3);
    assert!(distance < limit, "{what}: {distance} with {degrees} degrees, limit {limit}");
}

#[test]
fn sizes_do_not_show_in_keys() {
    for seed in [1, 2, 3] {
        let population = genomes(2_000_000, seed);
        // The last ids are the largest files, the first the smallest; checks their positions in the order of
        // keys.
        let largest = population.objects() - population.objects() / 100..population.objects();
        let smallest = 0..population.objects() / 100;
        for (what, ids) in [("largest", largest), ("smallest", smallest)] {
            for cells in [64, 1024] {
                let (mut high, mut low) = (vec![0; cells], vec![0; cells]);
                for id in ids.clone() {
                    let key = population.key(id);
                    high[((u128::from(key) * cells as u128) >> 64) as usize] += 1;
                    low[(key % cells as u64) as usize] += 1;
                }
                check_even(&format!("{what}, high bits, {cells} cells, seed {seed}"), &high);
                check_even(&format!("{what}, low bits, {cells} cells, seed {seed}"), &low);
            }
        }
    }
}

#[test]
fn neighbours_go_different_ways() {
    let population = genomes(3_000_000_000, 5);
    let cells = 32u64;
    let cell = |id| ((u128::from(population.key(id)) * u128::from(cells)) >> 64) as u64;
    for step in [1u64, 2, 3, 16, 1000, 54_772] {
        let mut both = vec![0; 1024];
        for id in 0..40_000 {
            both[(cell(id) * cells + cell(id + step)) as usize] += 1;
        }
        check_even(&format!("ids {step} apart"), &both);
    }
}

fn sorted(ids: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut ids: Vec<u64> = ids.collect();
    ids.sort_unstable();
    ids
}

proptest! {
    #[test]
    fn runs_of_keys_are_the_objects_with_those_keys(
        objects in 1u64..1500, seed in 0u64..4, modulus in 1u64..40, residue in 0u64..41, ends: [u64; 2],
    ) {
        let histogram = SizeHistogram::constant(Bytes::new(9)).unwrap();
        let population = Population::new(&histogram, Layout::Whole, Extent::Objects(objects), Seed(seed)).unwrap();
        let population = population.with_key_modulus(modulus * 3).unwrap();
        let (first, last) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let in_run = |id: &u64| (first..=last).contains(&population.key(*id));
        let in_class = |id: &u64| population.key(*id) % modulus == residue;
        let want: Vec<u64> = (0..objects).filter(in_run).collect();
        prop_assert_eq!(sorted(population.ids_with_keys(first..=last)), want);
        let want: Vec<u64> = (0..objects).filter(in_run).filter(in_class).collect();
        prop_assert_eq!(sorted(population.ids_in_run(first..=last, residue, modulus)), want);
        let want: Vec<u64> = (0..objects).filter(in_class).collect();
        prop_assert_eq!(sorted(population.ids_in_residue(residue, modulus)), want);
        for id in 0..objects {
            prop_assert_eq!(population.id_of_key(population.key(id)), Some(id));
            prop_assert_eq!(population.id_of_rank(population.rank(id)), id);
            prop_assert_eq!(population.rank(id) % (3 * modulus), population.key(id) % (3 * modulus));
        }
    }
}

#[test]
fn keys_need_room_for_a_remainder() {
    assert!(genomes(100, 1).with_key_modulus(1 << 50).is_ok());
    let refused = genomes(1 << 40, 1).with_key_modulus(1 << 30).unwrap_err();
    assert!(matches!(refused, PopulationError::NoRoom { .. }), "{refused}");
}

#[test]
fn thinning_takes_its_share_of_each_size() {
    let population = genomes(5_000_000, 9);
    let mut counts = [0; 50];
    for id in population.thin(0.01, Purpose(3)) {
        counts[(id * 50 / population.objects()) as usize] += 1;
    }
    check_even("drawn ids", &counts);
}
