//! Four records of one driver, in each order, worked by hand.

use towtank_units::SimSpan;

use super::*;
use crate::affected::{Affected, Found, Kind};
use crate::flags::Flags;
use crate::hardware::Hardware;
use crate::ledger::{Backfill, Gather, Ledger, Rules, Source, Standing};
use crate::redundancy::Redundancy;
use crate::sample::{self, Size, UNIT};

/// Three copies of records 10 to 13. Device 0 holds one of each and so drives them; devices 1 and 2 fail, so
/// 10 and 12 have two copies left, and 11 and 13 have one.
fn affected(grouped: bool) -> Affected {
    let redundancy = Redundancy { data: 1, width: 3 };
    let mut affected = Affected {
        width: 3,
        kinds: vec![Kind { redundancy, min_size: 2, by_place: false }],
        kind_of: Vec::new(),
        lists: Vec::new(),
        length: 5,
        first_object: if grouped { vec![0] } else { Vec::new() },
        sizes: Vec::new(),
        numbers: Vec::new(),
        homes: None,
        keys: Vec::new(),
        found: Found::ByAsking,
        asked: 0,
        grouped,
        follows: false,
        held: None,
        all: Vec::new(),
        counted: None,
        copied: std::collections::BTreeMap::new(),
    };
    for (number, list) in
        [(10, [0, 1, 3, 4, 5]), (11, [0, 1, 2, 4, 5]), (12, [0, 3, 2, 4, 5]), (13, [0, 2, 1, 4, 5])]
    {
        let list = list.map(DeviceId);
        if grouped {
            affected.push_group(number, &list, [UNIT, UNIT].into_iter());
        } else {
            affected.push_object(number, &list, UNIT);
        }
    }
    affected
}

fn hardware() -> Hardware {
    sample::hardware(Size { racks: 1, servers: 7, disks: 1 })
}

/// The tasks of device 0 as they are planned: the records of each, its priority and what is to spare.
fn planned(grouped: bool, order: Order, reserve: bool, seed: u64) -> Vec<(Vec<u64>, u32, u32)> {
    let (affected, hardware) = (affected(grouped), hardware());
    let (source, gather) = (Source::Primary, Gather::Primary);
    let rules = Rules {
        source,
        led_by_map: false,
        gather,
        reads_all: false,
        order,
        ties: None,
        seed: Seed(seed),
        reserve,
        backfill: Backfill::default(),
        count_completed: false,
    };
    let mut ledger = Ledger::new(&affected, &hardware, rules);
    let gone: Vec<bool> = (0..7).map(|device| device == 1 || device == 2).collect();
    let mut standing = Standing {
        stopped: gone.clone(),
        down: gone.clone(),
        out: gone,
        used: vec![0; 7],
        limit: vec![u64::MAX; 7],
        flags: Flags::default(),
    };
    ledger.strike(&standing);
    let planned = ledger.plan(&mut standing, 0);
    planned.plan.assert_whole();
    let tasks = planned.plan.tasks().iter().map(|task| {
        assert_eq!(task.compares, SimSpan::ZERO);
        let jobs = &planned.jobs[task.jobs.start as usize..task.jobs.end as usize];
        let mut records: Vec<u64> =
            jobs.iter().map(|(record, _)| affected.numbers[*record as usize]).collect();
        records.dedup();
        (records, task.priority, task.spare)
    });
    tasks.collect()
}

#[test]
fn objects_are_sorted_by_what_is_left_or_by_number() {
    let fewest = planned(false, Order::FewestCopies, false, 1);
    assert_eq!(fewest, [(vec![11, 13], 0, 0), (vec![10, 12], 1, 1)]);
    let by_number = planned(false, Order::Object, false, 1);
    assert_eq!(by_number, [(vec![10], 0, 1), (vec![11], 1, 0), (vec![12], 2, 1), (vec![13], 3, 0)]);
}

/// Without reservations, each group waits for the one before; with reservations, all wait alike.
#[test]
fn groups_are_sorted_by_what_is_left_or_by_number() {
    let one = |number: u64, priority, spare| (vec![number], priority, spare);
    let fewest = planned(true, Order::FewestCopies, false, 1);
    assert_eq!(fewest, [one(11, 0, 0), one(13, 0, 0), one(10, 1, 1), one(12, 1, 1)]);
    let by_number = planned(true, Order::Group, false, 1);
    assert_eq!(by_number, [one(10, 0, 1), one(11, 1, 0), one(12, 2, 1), one(13, 3, 0)]);
    let reserving = planned(true, Order::Group, true, 1);
    assert_eq!(reserving, [one(10, 0, 1), one(11, 0, 0), one(12, 0, 1), one(13, 0, 0)]);
}

/// Each of the 24 permutations is about equally frequent over seeds, and a seed always gives the same one.
#[test]
fn the_random_order_is_a_permutation_of_its_seed() {
    let of = |seed: u64| -> Vec<u64> {
        planned(false, Order::Random, false, seed).into_iter().flat_map(|task| task.0).collect()
    };
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..2_400 {
        let order = of(seed);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [10, 11, 12, 13]);
        *counts.entry(order).or_insert(0u32) += 1;
    }
    assert_eq!(of(7), of(7));
    assert_eq!(counts.len(), 24);
    // Chi-square with 23 degrees of freedom: 49.7 is exceeded once in a thousand.
    let square: f64 = counts.values().map(|&count| (f64::from(count) - 100.0).powi(2) / 100.0).sum();
    assert!(square < 49.7, "{square}: {counts:?}");
}
