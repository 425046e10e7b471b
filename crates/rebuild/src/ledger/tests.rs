//! Records while devices fail and jobs end: random cases, and cases worked by hand. `leading`: who leads
//! after a device has come back.

mod leading;

use std::sync::Arc;

use proptest::prelude::*;
use towtank_placement::algorithms::Algorithm;

use super::*;
use crate::placing::{LostSet, Placing};
use crate::redundancy::Redundancy;
use crate::sample::{self, Size, UNIT};
use crate::search::Search;

const SIZE: Size = Size { racks: 2, servers: 7, disks: 1 };

fn affected(redundancy: Redundancy, groups: Option<u32>, failing: &[bool], seed: Seed) -> Affected {
    let usual = sample::placing(Algorithm::Rendezvous, redundancy);
    let placing = Placing { groups, lost_set: LostSet::Enumerate, ..usual };
    let search = Search {
        placing: &placing,
        hardware: &sample::hardware(SIZE),
        population: &sample::population(60, 3 * UNIT, seed),
        failing,
        seed,
        stopped: &|| false,
    };
    search.run().expect("seven servers").expect("nobody stops it")
}

fn rules(source: Source, gather: Gather) -> Rules {
    let backfill = Backfill { begin: SimSpan::from_ms(1), look: SimSpan::from_us(1) };
    Rules {
        source,
        led_by_map: false,
        gather,
        reads_all: false,
        order: Order::FewestCopies,
        ties: None,
        seed: Seed(4),
        reserve: true,
        backfill,
        count_completed: false,
    }
}

/// The devices in `gone` have stopped and are known to be down; `out` says whether they are out.
fn standing(gone: &[usize], out: bool, room: u64) -> Standing {
    let of = |yes: bool| (0..7).map(|device| yes && gone.contains(&device)).collect::<Vec<bool>>();
    Standing {
        stopped: of(true),
        down: of(true),
        out: of(out),
        used: vec![0; 7],
        limit: vec![room; 7],
        flags: Flags::default(),
    }
}

fn picks() -> impl Strategy<Value = (Source, Gather)> {
    let source = prop::sample::select(vec![Source::Primary, Source::Random, Source::LeastLoaded]);
    (source, prop::sample::select(vec![Gather::Primary, Gather::Target]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// Every object that lacks a part is planned or counted as stuck, exactly once; after all jobs only the
    /// stuck ones lack a part, and devices hold the bytes reserved on them.
    #[test]
    fn each_object_is_planned_or_stuck(
        gone in prop::collection::btree_set(0usize..7, 1..4), out: bool, grouped: bool, coded: bool,
        picks in picks(), room in prop_oneof![Just(u64::MAX), 3 * UNIT..60 * UNIT], seed: u64
    ) {
        let gone: Vec<usize> = gone.into_iter().collect();
        let redundancy = if coded { Redundancy { data: 2, width: 4 } } else { Redundancy { data: 1, width: 3 } };
        let failing: Vec<bool> = (0..7).map(|device| gone.contains(&device)).collect();
        let affected = affected(redundancy, grouped.then_some(16), &failing, Seed(seed));
        let hardware = sample::hardware(SIZE);
        let mut ledger = Ledger::new(&affected, &hardware, rules(picks.0, picks.1));
        prop_assert_eq!(ledger.lacking(), 0);
        let mut standing = standing(&gone, out, room);
        ledger.strike(&standing);
        prop_assert_eq!(ledger.lacking(), affected.objects() as u64);
        let planned = ledger.plan(&mut standing, 0);
        planned.plan.assert_whole();
        let objects: std::collections::BTreeSet<u32> = planned.jobs.iter().map(|(_, object)| *object).collect();
        prop_assert_eq!(objects.len(), planned.jobs.len(), "an object has two jobs");
        // Stuck objects may have jobs too, for copies that find a home.
        prop_assert!(planned.stuck.objects() + planned.jobs.len() as u64 >= affected.objects() as u64);
        prop_assert!(planned.stuck.objects() <= affected.objects() as u64);
        prop_assert_eq!(planned.stuck.any(), planned.stuck.objects() > 0);
        prop_assert!(planned.below_min_size <= affected.records() as u64);
        let mut promised = [0; 7];
        for (driver, _, job) in planned.plan.each() {
            prop_assert!(!failing[driver.index()]);
            prop_assert_eq!(planned.plan.reads(job).len(), redundancy.data as usize);
            prop_assert!(planned.plan.reads(job).iter().all(|source| !failing[source.index()]));
            for target in planned.plan.writes(job) {
                prop_assert!(!failing[target.index()]);
                promised[target.index()] += job.bytes;
            }
        }
        prop_assert_eq!(&standing.used[..], &promised[..]);
        prop_assert!(promised.iter().all(|&bytes| bytes <= room));
        ledger.settle(&planned, |_| Progress::Whole);
        prop_assert_eq!(ledger.lacking(), planned.stuck.objects());
        prop_assert_eq!(ledger.gained(), &promised[..]);
        // Nothing more is left to plan.
        let again = ledger.plan(&mut standing, 0);
        prop_assert_eq!(again.stuck.objects(), planned.stuck.objects());
        if room == u64::MAX {
            prop_assert_eq!(again.jobs.len(), 0);
        }
    }

    /// The durable units of a job are kept if its targets stay the same; otherwise the job starts again.
    #[test]
    fn jobs_go_on_where_they_were(gone in 0usize..7, units in 0u32..3, seed: u64) {
        let failing: Vec<bool> = (0..7).map(|device| device == gone).collect();
        let affected = affected(Redundancy { data: 1, width: 3 }, None, &failing, Seed(seed));
        let hardware = sample::hardware(SIZE);
        let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
        let mut standing = standing(&[gone], true, u64::MAX);
        ledger.strike(&standing);
        let first = ledger.plan(&mut standing, 0);
        ledger.settle(&first, |_| Progress::Units(units));
        prop_assert!(ledger.gained().iter().all(|&bytes| bytes == 0));
        let second = ledger.plan(&mut standing, 0);
        prop_assert_eq!(&first.jobs, &second.jobs);
        for (before, after) in first.plan.jobs().iter().zip(second.plan.jobs()) {
            prop_assert_eq!((before.resume, after.resume), (0, units));
            prop_assert_eq!(first.plan.writes(before), second.plan.writes(after));
        }
        ledger.settle(&second, |_| Progress::Whole);
        prop_assert_eq!(ledger.lacking(), 0);
    }
}

/// One failure among seven servers with three copies.
fn one_failure() -> (Affected, Hardware) {
    let failing = [true, false, false, false, false, false, false];
    (affected(Redundancy { data: 1, width: 3 }, None, &failing, Seed(9)), sample::hardware(SIZE))
}

#[test]
fn what_is_not_given_up_waits() {
    let (affected, hardware) = one_failure();
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
    let mut down = standing(&[0], false, u64::MAX);
    ledger.strike(&down);
    let planned = ledger.plan(&mut down, 0);
    let all = affected.objects() as u64;
    assert!(all > 10, "{all} of 60 objects lie on one of seven servers");
    assert_eq!((planned.stuck.waiting, planned.stuck.objects()), (all, all));
    assert_eq!(planned.stuck.bytes, all * 3 * UNIT);
    assert!(planned.jobs.is_empty());
    assert_eq!(planned.below_min_size, 0, "two copies of three are enough");
}

#[test]
fn what_has_no_room_is_reported() {
    let (affected, hardware) = one_failure();
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::LeastLoaded, Gather::Primary));
    let mut full = standing(&[0], true, 3 * UNIT);
    ledger.strike(&full);
    let planned = ledger.plan(&mut full, 0);
    // Each of the six others has room for one object.
    assert_eq!(planned.jobs.len(), 6);
    assert_eq!(planned.stuck.full, affected.objects() as u64 - 6);
    assert_eq!(full.used, [0, 3 * UNIT, 3 * UNIT, 3 * UNIT, 3 * UNIT, 3 * UNIT, 3 * UNIT]);
    assert_eq!(planned.stuck.lost + planned.stuck.waiting + planned.stuck.homeless, 0);
}

fn struck(change: impl FnOnce(&mut Standing)) {
    let (affected, hardware) = one_failure();
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
    let mut standing = standing(&[0], true, u64::MAX);
    change(&mut standing);
    ledger.strike(&standing);
}

#[test]
#[should_panic(expected = "a device is down that has not stopped")]
fn a_device_that_is_down_and_runs_is_refused() {
    struck(|standing| standing.stopped[0] = false);
}

#[test]
#[should_panic(expected = "a device is given up that is not down")]
fn a_device_that_is_given_up_too_early_is_refused() {
    struck(|standing| standing.out[3] = true);
}

#[test]
#[should_panic(expected = "is made whole twice")]
fn an_object_that_is_made_whole_twice_is_noticed() {
    let (affected, hardware) = one_failure();
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
    let mut standing = standing(&[0], true, u64::MAX);
    ledger.strike(&standing);
    let mut planned = ledger.plan(&mut standing, 0);
    planned.jobs[1] = planned.jobs[0];
    ledger.settle(&planned, |_| Progress::Whole);
}

#[test]
#[should_panic(expected = "all units of a job are durable, but it is not done")]
fn a_job_with_all_its_units_is_done() {
    let (affected, hardware) = one_failure();
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
    let mut standing = standing(&[0], true, u64::MAX);
    ledger.strike(&standing);
    let planned = ledger.plan(&mut standing, 0);
    ledger.settle(&planned, |_| Progress::Units(3));
}

/// Homes that are the same whatever is out.
#[derive(Clone, Debug)]
struct Fixed(Vec<DeviceId>);

impl crate::homes::Homes for Fixed {
    fn with_out<'a>(&'a self, _: usize, _: &'a [bool]) -> Box<dyn Wanted + 'a> {
        Box::new(self.clone())
    }
}

impl Wanted for Fixed {
    fn find(&mut self, _: (u64, u64), devices: &mut [DeviceId]) {
        devices.copy_from_slice(&self.0);
    }
}

/// One group of two objects on these devices, which belongs on those.
fn follower(held: &[u32], wanted: &[u32], data: u32) -> Affected {
    let devices = |ids: &[u32]| ids.iter().copied().map(DeviceId).collect::<Vec<_>>();
    let redundancy = Redundancy { data, width: held.len() as u32 };
    let kind = Kind { redundancy, min_size: data, by_place: data > 1 };
    let mut affected = Affected::of_groups(vec![kind], Arc::new(Fixed(devices(wanted))));
    affected.push_group_of(0, 0, &devices(held), [UNIT, 2 * UNIT].into_iter());
    affected.follows = true;
    affected
}

/// Copies and shards that are left go where the map wants them, and are read where they are. Afterwards
/// nothing is left to move.
#[test]
fn what_is_left_follows_the_map() {
    type Case = (&'static [u32], &'static [u32], u32, &'static [u32], &'static [u32]);
    let cases: [Case; 5] = [
        (&[0, 1, 2], &[0, 1, 5], 1, &[0], &[5]),
        (&[0, 1, 2], &[4, 5, 2], 1, &[0], &[4, 5]),
        (&[0, 1, 2, 3], &[0, 5, 2, 3], 2, &[1], &[5]),
        (&[0, 1, 2, 3], &[1, 0, 2, 3], 2, &[0, 1], &[1, 0]),
        (&[0, 1, 2, 3], &[1, 2, 0, 3], 2, &[0, 1, 2], &[1, 2, 0]),
    ];
    for (held, wanted, data, reads, writes) in cases {
        let affected = follower(held, wanted, data);
        let hardware = sample::hardware(SIZE);
        let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
        let mut standing = standing(&[], false, u64::MAX);
        ledger.strike(&standing);
        let planned = ledger.plan(&mut standing, 0);
        assert_eq!((planned.jobs.len(), planned.stuck), (2, Stuck::default()), "{held:?} to {wanted:?}");
        let ids = |devices: &[DeviceId]| devices.iter().map(|device| device.0).collect::<Vec<_>>();
        for (driver, task, job) in planned.plan.each() {
            assert_eq!((driver.0, task.priority), (held[0], u32::from(following::COMPLETE)));
            assert_eq!(ids(planned.plan.reads(job)), reads, "{held:?} to {wanted:?}");
            assert_eq!(ids(planned.plan.writes(job)), writes, "{held:?} to {wanted:?}");
        }
        ledger.settle(&planned, |_| Progress::Whole);
        assert!(ledger.plan(&mut standing, 0).jobs.is_empty(), "{held:?} to {wanted:?}");
    }
}

#[test]
fn what_has_no_room_stays_where_it_is() {
    let (affected, hardware) = (follower(&[0, 1, 2], &[0, 1, 5], 1), sample::hardware(SIZE));
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
    let planned = ledger.plan(&mut standing(&[], false, UNIT), 0);
    assert!(planned.jobs.is_empty() && !planned.stuck.any());
    assert_eq!(planned.stuck.unmoved, 2);
    assert_eq!(planned.stuck.staying_bytes, 3 * UNIT);
}

#[test]
fn shards_that_stay_are_counted_with_their_bytes() {
    type Case = (&'static [u32], u64);
    let cases: [Case; 2] = [
        (&[1, u32::MAX, 2, 3], 3 * UNIT), // Device 1 keeps a shard that has no device.
        (&[0, u32::MAX, 2, 3], 0),        // Nothing has another device.
    ];
    for (wanted, bytes) in cases {
        let (affected, hardware) = (follower(&[0, 1, 2, 3], wanted, 2), sample::hardware(SIZE));
        let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
        let planned = ledger.plan(&mut standing(&[], false, u64::MAX), 0);
        assert!(planned.jobs.is_empty(), "{wanted:?}");
        assert_eq!(planned.stuck.staying_bytes, bytes, "{wanted:?}");
    }
}

/// A lost shard whose new device holds one that moves: Ceph tells them apart by their places. Where the data
/// need that device as a source too, it is read last.
#[test]
fn a_lost_shard_goes_to_a_device_that_gives_its_own_away() {
    for (data, reads) in [(2, &[2, 3][..]), (3, &[2, 3, 0])] {
        let (affected, hardware) = (follower(&[0, 1, 2, 3], &[5, 0, 2, 3], data), sample::hardware(SIZE));
        let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
        let mut gone = standing(&[1], true, u64::MAX);
        ledger.strike(&gone);
        let planned = ledger.plan(&mut gone, 0);
        assert_eq!((planned.jobs.len(), planned.stuck), (2, Stuck::default()), "{data} data shards");
        let ids = |devices: &[DeviceId]| devices.iter().map(|device| device.0).collect::<Vec<_>>();
        for (_, _, job) in planned.plan.each() {
            assert_eq!(ids(planned.plan.reads(job)), reads);
            assert_eq!(ids(planned.plan.writes(job)), [5, 0]);
        }
        ledger.settle(&planned, |_| Progress::Whole);
        assert!(ledger.plan(&mut gone, 0).jobs.is_empty());
        assert_eq!(ledger.lacking(), 0);
    }
}

/// A group of 1,000 objects on devices 0, 1 and 2 with a given `min_size`, of which device 2 was away for a
/// second.
fn away<T>(
    min_size: u32,
    written: Writes,
    empty: bool,
    check: impl FnOnce(&mut Ledger<'_>, Planned) -> T,
) -> T {
    let devices = [0, 1, 2].map(DeviceId);
    let kind = Kind { redundancy: Redundancy { data: 1, width: 3 }, min_size, by_place: false };
    let mut affected = Affected::of_groups(vec![kind], Arc::new(Fixed(devices.to_vec())));
    affected.push_group_of(0, 0, &devices, (0..1_000).map(|_| UNIT));
    affected.follows = true;
    let hardware = sample::hardware(SIZE);
    let rules = rules(Source::Primary, Gather::Primary);
    let mut ledger = Ledger::new(&affected, &hardware, rules).with_returns(Some(written));
    let mut gone = standing(&[2], false, u64::MAX);
    ledger.strike(&gone);
    assert!(ledger.plan(&mut gone, 0).jobs.is_empty(), "device 2 is not out");
    ledger.write(SimSpan::from_secs(1));
    ledger.come_back(&[DeviceId(2)], empty);
    let planned = ledger.plan(&mut standing(&[], false, 0), 0);
    check(&mut ledger, planned)
}

fn at_rate(each_per_s: f64) -> Writes {
    Writes { to_each: ToEach::PerSecond(each_per_s), log: 500, ..Writes::default() }
}

/// The log of a group covers few writes; after many, all its objects are compared first, and it takes no
/// writes with two of three copies where it needs three. A device has room for what it had.
#[test]
fn a_copy_that_comes_back_takes_what_was_written() {
    away(3, at_rate(0.0), false, |ledger, planned| {
        assert!(
            planned.jobs.is_empty() && ledger.lacking() == 0,
            "two copies take no writes, nor do any come"
        );
    });
    away(2, at_rate(0.1), false, |ledger, planned| {
        let jobs = planned.jobs.len();
        // 1 - exp(-0.1) of 1,000, within five standard deviations of a binomial.
        assert!((95 - 47..=95 + 47).contains(&jobs), "{jobs} objects");
        assert_eq!((planned.plan.task(0).compares, planned.below_min_size), (SimSpan::ZERO, 0));
        let writes = |job| planned.plan.writes(planned.plan.job(job)).to_vec();
        assert!((0..jobs as u32).all(|job| writes(job) == [DeviceId(2)]));
        ledger.settle(&planned, |_| Progress::Whole);
        assert_eq!((ledger.lacking(), ledger.gained()[2]), (0, 0), "it holds the group, and gains no bytes");
        assert!(ledger.plan(&mut standing(&[], false, 0), 0).jobs.is_empty());
    });
    away(2, at_rate(0.6), false, |_, planned| {
        assert_eq!(planned.plan.task(0).compares, SimSpan::from_ms(2), "600 writes, and a log of 500");
    });
}

/// Where too few copies take no writes, the one that comes back is up to date.
#[test]
fn without_min_size_nothing_is_written() {
    away(3, at_rate(100.0), false, |ledger, planned| {
        assert!(planned.jobs.is_empty() && ledger.lacking() == 0);
    });
}

/// An empty device has room for what it held, and takes everything.
#[test]
fn an_empty_device_takes_everything() {
    away(2, at_rate(0.0), true, |ledger, planned| {
        assert_eq!((planned.jobs.len(), planned.stuck.full), (1_000, 0));
        assert_eq!(planned.plan.task(0).compares, SimSpan::from_ms(2), "1 ms, and 1 us for each of 1,000");
        ledger.settle(&planned, |_| Progress::Whole);
        assert_eq!((ledger.lacking(), ledger.gained()[2]), (0, 0), "the bytes on it at first include them");
    });
}

/// A group that is backfilled to another device pays the start and a look at each object. A backfill that was
/// interrupted goes on: it looks at the objects that are left.
#[test]
fn a_group_that_moves_is_looked_at_first() {
    let affected = follower(&[0, 1, 2], &[0, 1, 5], 1);
    let hardware = sample::hardware(SIZE);
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
    let planned = ledger.plan(&mut standing(&[], false, u64::MAX), 0);
    assert_eq!((planned.jobs.len(), planned.plan.task(0).compares), (2, SimSpan::from_us(1_002)));
    ledger.settle(&planned, |job| if job == 0 { Progress::Whole } else { Progress::Units(0) });
    let planned = ledger.plan(&mut standing(&[], false, u64::MAX), 0);
    assert_eq!((planned.jobs.len(), planned.plan.task(0).compares), (1, SimSpan::from_us(1_001)));
}

/// Three groups of two objects: the first one of each driver also waits for the start.
#[test]
fn only_the_first_group_of_a_driver_waits_for_the_start() {
    let mut affected = follower(&[0, 1, 2], &[0, 1, 5], 1);
    for (number, held) in [(1, [0, 1, 2]), (2, [1, 0, 2])] {
        affected.push_group_of(0, number, &held.map(DeviceId), [UNIT, UNIT].into_iter());
    }
    let hardware = sample::hardware(SIZE);
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
    let plan = ledger.plan(&mut standing(&[], false, u64::MAX), 0).plan;
    let of =
        |device| plan.tasks_of(DeviceId(device)).map(|task| plan.task(task).compares).collect::<Vec<_>>();
    assert_eq!(of(0), [1_002, 2].map(SimSpan::from_us));
    assert_eq!(of(1), [1_002].map(SimSpan::from_us));
}

/// Homes that change with the map.
#[derive(Debug)]
struct Changing(Vec<Vec<DeviceId>>);

impl crate::homes::Homes for Changing {
    fn with_out<'a>(&'a self, changes: usize, _: &'a [bool]) -> Box<dyn Wanted + 'a> {
        Box::new(Fixed(self.0[changes].clone()))
    }
}

/// A copy that moves away and back: the device that had it in between is as empty as before.
#[test]
fn a_copy_that_moves_back_leaves_room() {
    let mut affected = follower(&[0, 1, 2], &[0, 1, 2], 1);
    let lists = [[0, 1, 5], [0, 1, 2]].map(|ids| ids.map(DeviceId).to_vec());
    affected.homes = Some(Arc::new(Changing(lists.to_vec())));
    let hardware = sample::hardware(SIZE);
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
    // Each device has room for the record once.
    let first: Vec<u64> = (0..7).map(|device| if device < 3 { 3 * UNIT } else { 0 }).collect();
    for (changes, held) in [(0, [0, 3 * UNIT]), (1, [3 * UNIT, 0])] {
        let used = ledger.used(&first);
        let planned = ledger.plan(&mut Standing { used, ..standing(&[], false, 3 * UNIT) }, changes);
        assert_eq!(planned.jobs.len(), 2, "after {changes} changes");
        ledger.settle(&planned, |_| Progress::Whole);
        let used = ledger.used(&first);
        assert_eq!([used[2], used[5]], held, "after {changes} changes");
    }
}

/// A shard of a lost group that belongs elsewhere stays where it is, and is counted.
#[test]
fn shards_of_a_lost_group_stay() {
    let (affected, hardware) = (follower(&[0, 1, 2, 3], &[0, 4, 5, 6], 2), sample::hardware(SIZE));
    let mut ledger = Ledger::new(&affected, &hardware, rules(Source::Primary, Gather::Primary));
    let mut gone = standing(&[0, 1, 2], true, u64::MAX);
    ledger.strike(&gone);
    let planned = ledger.plan(&mut gone, 0);
    assert_eq!((planned.stuck.lost, planned.stuck.bytes), (2, 3 * 3 * UNIT));
    assert_eq!(planned.stuck.staying_bytes, 3 * UNIT, "the shard on device 3 belongs on device 6");
}
