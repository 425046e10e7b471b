//! Affected records, by every search method.

use proptest::prelude::*;

use super::*;
use crate::redundancy::Redundancy;
use crate::sample::{self, Size};

const OBJECTS: u64 = 400;

fn found(placing: &Placing, size: Size, failing: &[bool], seed: Seed) -> Affected {
    let hardware = sample::hardware(size);
    let laid_out = sample::population(OBJECTS, 5_000, seed).with_key_modulus(u64::from(placing.vnodes));
    let population = laid_out.expect("few objects leave room for a modulus");
    let stopped = || false;
    let search =
        Search { placing, hardware: &hardware, population: &population, failing, seed, stopped: &stopped };
    search.run().expect("eight servers are enough").expect("nobody stops it")
}

fn failing(devices: usize, gone: &[usize]) -> Vec<bool> {
    (0..devices).map(|device| gone.contains(&device)).collect()
}

/// The number, the devices and the bytes of each record.
fn records(affected: &Affected) -> Vec<(u64, Vec<DeviceId>, u64)> {
    let of = |record: usize| {
        let list = affected.list(record)[..affected.width].to_vec();
        (affected.numbers[record], list, affected.sizes(record).iter().sum())
    };
    (0..affected.records()).map(of).collect()
}

const EIGHT: Size = Size { racks: 2, servers: 8, disks: 1 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The inverse of a ring finds the same objects as examining every object.
    #[test]
    fn the_inverse_finds_what_asking_finds(
        gone in prop::collection::vec(0usize..8, 1..4), seed: u64, multi: bool
    ) {
        let algorithm = if multi { Algorithm::Multiring } else { Algorithm::Ring };
        let by_inverse = sample::placing(algorithm, Redundancy { data: 1, width: 3 });
        let by_asking = Placing { lost_set: LostSet::Enumerate, ..by_inverse };
        let failing = failing(8, &gone);
        let inverse = found(&by_inverse, EIGHT, &failing, Seed(seed));
        let asked = found(&by_asking, EIGHT, &failing, Seed(seed));
        prop_assert_eq!(asked.found, Found::ByAsking);
        prop_assert_eq!(asked.asked, OBJECTS);
        prop_assert!(inverse.asked <= asked.asked);
        prop_assert_eq!(records(&inverse), records(&asked));
    }

    /// More failures affect more objects, including all that were affected before.
    #[test]
    fn more_failures_touch_more(
        first in 0usize..8, second in 0usize..8, seed: u64, groups: bool, at in 0usize..4
    ) {
        let algorithm = [Algorithm::CrushStraw2, Algorithm::Ring, Algorithm::Rendezvous, Algorithm::Jump][at];
        let usual = sample::placing(algorithm, Redundancy { data: 2, width: 4 });
        let placing = Placing { groups: groups.then_some(32), lost_set: LostSet::Enumerate, ..usual };
        let few = found(&placing, EIGHT, &failing(8, &[first]), Seed(seed));
        let many = found(&placing, EIGHT, &failing(8, &[first, second]), Seed(seed));
        prop_assert!(few.records() <= many.records());
        prop_assert!(few.numbers.iter().all(|number| many.numbers.contains(number)));
        prop_assert_eq!(few.grouped, groups);
        prop_assert!(many.numbers.is_sorted());
        for (_, list, bytes) in records(&many) {
            prop_assert!(list.iter().any(|device| [first, second].contains(&device.index())));
            let apart = list.iter().enumerate().all(|(at, device)| !list[..at].contains(device));
            prop_assert!(apart, "{:?} has a device twice", list);
            // A shard of 5000 bytes holds half of them.
            prop_assert!(bytes % 2_500 == 0 && (groups || bytes == 2_500));
        }
        let whole: usize = (0..many.records()).map(|record| many.sizes(record).len()).sum();
        prop_assert_eq!(whole, many.objects());
    }

    /// Copies lie in different racks, on any disk of any server there.
    #[test]
    fn a_map_keeps_copies_in_racks_of_their_own(seed: u64, gone in 0usize..24) {
        let size = Size { racks: 4, servers: 12, disks: 2 };
        let usual = sample::placing(Algorithm::CrushStraw2, Redundancy { data: 1, width: 3 });
        let placing = Placing { domain: Domain::Rack, lost_set: LostSet::Enumerate, ..usual };
        let affected = found(&placing, size, &failing(24, &[gone]), Seed(seed));
        let hardware = sample::hardware(size);
        let out = failing(24, &[gone]);
        let mut homes = affected.homes.as_ref().expect("a map says where they belong").with_out(0, &out);
        for record in 0..affected.records() {
            let mut now = vec![NOWHERE; affected.width];
            homes.find(affected.name(record), &mut now);
            for list in [&affected.list(record)[..affected.width], &now] {
                let mut racks: Vec<u32> =
                    list.iter().map(|&device| hardware.rack_of(hardware.server_of(device))).collect();
                racks.sort_unstable();
                racks.dedup();
                prop_assert_eq!(racks.len(), 3, "{:?} shares a rack", list);
            }
            prop_assert!(now.iter().all(|device| device.index() != gone));
        }
    }
}

/// 400 objects of three copies on eight servers: each server holds three eighths of them.
#[test]
fn as_many_are_touched_as_lie_there() {
    for algorithm in [Algorithm::CrushStraw2, Algorithm::Rendezvous, Algorithm::Jump] {
        let mut all = 0;
        for seed in 0..40 {
            let usual = sample::placing(algorithm, Redundancy { data: 1, width: 3 });
            for lost_set in [LostSet::Enumerate, LostSet::Draw] {
                let placing = Placing { lost_set, ..usual };
                all += found(&placing, EIGHT, &failing(8, &[3]), Seed(seed)).records();
            }
        }
        // 80 * 150, with a standard deviation of 87.
        assert!((11_600..12_400).contains(&all), "{all} of {algorithm:?}");
    }
}

/// The groups of pool 1 on four devices of weight 1: Ceph 16.2.15, `osdmaptool m --createsimple 4
/// --with-default-pool --pg-bits 4`, with the rule changed to `chooseleaf firstn 0 type osd`, and then
/// `--mark-up-in --test-map-pgs-dump --pool 1`.
const POOL_1: &str = "102 302 013 120 301 230 302 130 123 132 120 102 301 213 132 302 021 013 013 130 203 130 103 \
    012 231 302 123 012 031 130 301 021 201 301 231 012 302 231 123 120 032 210 321 302 302 310 130 013 013 021 \
    012 302 320 321 201 132 132 032 301 032 021 023 312 302";

/// The groups of a numbered pool lie where Ceph places them, whatever the seed is; those of another pool lie
/// elsewhere.
#[test]
fn groups_of_a_pool_lie_where_ceph_places_them() {
    let lists = |pool, seed| {
        let usual = sample::placing(Algorithm::CrushStraw2, Redundancy { data: 1, width: 3 });
        let placing = Placing { groups: Some(64), pool: Some(pool), ..usual };
        let size = Size { racks: 1, servers: 4, disks: 1 };
        let affected = found(&placing, size, &[true; 4], Seed(seed));
        let name = |record: usize| -> String {
            affected.list(record)[..3].iter().map(|device| device.0.to_string()).collect()
        };
        (0..affected.records()).map(name).collect::<Vec<String>>().join(" ")
    };
    assert_eq!(lists(1, 1), POOL_1);
    assert_eq!(lists(1, 2), POOL_1);
    assert_ne!(lists(2, 1), POOL_1);
}

#[test]
fn whoever_is_stopped_finds_nothing() {
    let hardware = sample::hardware(EIGHT);
    let population = sample::population(OBJECTS, 5_000, Seed(1));
    for (groups, lost_set) in [(Some(8), LostSet::Auto), (None, LostSet::Enumerate), (None, LostSet::Auto)] {
        let usual = sample::placing(Algorithm::Ring, Redundancy { data: 1, width: 3 });
        let placing = Placing { groups, lost_set, ..usual };
        let search = Search {
            placing: &placing,
            hardware: &hardware,
            population: &population,
            failing: &failing(8, &[0]),
            seed: Seed(1),
            stopped: &|| true,
        };
        assert!(search.run().expect("a ring of eight").is_none(), "{groups:?} {lost_set:?}");
    }
}

#[test]
#[should_panic(expected = "each device fails or does not")]
fn a_device_too_few_is_refused() {
    let placing = sample::placing(Algorithm::Ring, Redundancy { data: 1, width: 3 });
    let _ = found(&placing, EIGHT, &[true; 7], Seed(1));
}

fn broken(damage: impl FnOnce(&mut Affected)) {
    let placing = sample::placing(Algorithm::Ring, Redundancy { data: 1, width: 3 });
    let mut affected = found(&Placing { groups: Some(16), ..placing }, EIGHT, &failing(8, &[0]), Seed(1));
    affected.assert_whole();
    damage(&mut affected);
    affected.assert_whole();
}

#[test]
#[should_panic(expected = "places of all records")]
fn a_list_that_is_lost_is_noticed() {
    broken(|affected| _ = affected.lists.pop());
}

#[test]
#[should_panic(expected = "objects of all groups")]
fn an_object_that_is_lost_is_noticed() {
    broken(|affected| _ = affected.sizes.pop());
}

#[test]
#[should_panic(expected = "groups, and where their objects begin")]
fn a_group_that_is_lost_is_noticed() {
    broken(|affected| _ = affected.first_object.pop());
}

#[test]
#[should_panic(expected = "records without a key")]
fn a_key_too_many_is_noticed() {
    broken(|affected| affected.keys.push(7));
}

#[test]
#[should_panic(expected = "records that were not asked for")]
fn records_from_nowhere_are_noticed() {
    broken(|affected| affected.asked = 1);
}
