//! Clocks, counts and differences by hand. Whole recoveries are compared in the tests of `recovery`.

use towtank_placement::algorithms::Algorithm;
use towtank_streams::Seed;

use super::*;
use crate::redundancy::Redundancy;
use crate::sample::{self, Size};
use crate::search::Search;

fn at(ns: u64) -> SimTime {
    SimTime::from_ns(ns)
}

/// The groups of a server that fails, with objects of 20 units.
fn affected(objects: u64, groups: u32) -> Affected {
    let hardware = sample::hardware(Size { racks: 1, servers: 6, disks: 1 });
    let usual = sample::placing(Algorithm::Rendezvous, Redundancy { data: 1, width: 3 });
    let placing = crate::placing::Placing { groups: Some(groups), ..usual };
    let mut failing = vec![false; 6];
    failing[2] = true;
    let search = Search {
        placing: &placing,
        hardware: &hardware,
        population: &sample::population(objects, 20_000, Seed(5)),
        failing: &failing,
        seed: Seed(5),
        stopped: &|| false,
    };
    search.run().expect("six servers").expect("nobody stops it")
}

/// Moments stay what they are, and what follows them takes as many times as long. The floor of a divided time
/// does not put the end of a phase behind it.
#[test]
fn times_are_multiplied_from_each_moment_on() {
    let clock = Clock { moments: vec![(at(10), at(105)), (at(31), at(310))], by: 10 };
    for (thinned, whole) in [(0, 0), (3, 30), (10, 105), (12, 125), (30, 305), (31, 310), (40, 400)] {
        assert_eq!(clock.whole(at(thinned)), at(whole), "{thinned}");
    }
    assert_eq!(clock.whole(SimTime::MAX), SimTime::MAX);
    // 20 ns after the moment at 10 would end at 305 of at most 304.
    let early = Clock { moments: vec![(at(10), at(105)), (at(30), at(304))], by: 10 };
    assert_eq!(early.whole(at(29)), at(295));
    assert_eq!(Clock { moments: vec![(at(10), at(105)), (at(31), at(304))], by: 10 }.whole(at(30)), at(304));
}

/// Counts grow in proportion, and their sum is exact whatever is rounded.
#[test]
fn counts_over_time_add_up_to_the_total() {
    let counts = |series: &[(SimTime, u64)]| series.iter().map(|(_, count)| *count).collect::<Vec<_>>();
    let mut series = vec![(at(1), 1), (at(2), 0), (at(3), 1), (at(4), 1)];
    add_up_to(&mut series, 10);
    assert_eq!(counts(&series), [3, 0, 3, 4]);
    add_up_to(&mut series, 3);
    assert_eq!(counts(&series), [0, 0, 1, 2]);
    let mut nothing = vec![(at(1), 0)];
    add_up_to(&mut nothing, 5);
    assert_eq!(counts(&nothing), [0], "nothing was counted, so nothing is spread");
}

/// The objects that are left stand for all objects of their record, whose bytes differ by at most one.
#[test]
fn objects_stand_for_all_of_their_record() {
    let whole = affected(1_003, 7);
    for by in [1, 2, 3, 7, 50, 100_000] {
        let thinned = whole.thinned(by);
        for record in 0..whole.records() {
            let first = thinned.first_object(record);
            let left = first..first + thinned.sizes(record).len();
            assert!(!left.is_empty(), "one is left");
            let all: Vec<All> = left.clone().map(|object| thinned.stands_for(record, object)).collect();
            let counted = left.map(|object| thinned.stands_for_objects(record, object));
            assert!(counted.eq(all.iter().map(|all| all.objects)), "objects of record {record}");
            assert_eq!(all.iter().map(|all| all.objects).sum::<u64>(), whole.sizes(record).len() as u64);
            assert_eq!(all.iter().map(|all| all.bytes).sum::<u64>(), whole.sizes(record).iter().sum::<u64>());
            assert!(
                thinned.sizes(record).iter().all(|bytes| *bytes > 0),
                "each has bytes, or none would move"
            );
            let most = all.iter().map(|all| all.objects).max();
            assert!(all.iter().all(|one| one.objects + 1 >= most.unwrap()), "{all:?}");
        }
        let object = thinned.first_object(0);
        let one = whole.stands_for(0, object);
        assert_eq!(whole.stands_for_objects(0, object), 1);
        assert_eq!((one.objects, one.bytes), (1, whole.sizes(0)[0]), "what is not thinned stands for itself");
    }
}
