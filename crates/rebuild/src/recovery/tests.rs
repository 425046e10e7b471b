//! Recoveries from end to end: properties of every one, and counts broken on purpose.

use proptest::prelude::*;
use towtank_kernel::{RunOptions, Runs};
use towtank_placement::algorithms::Algorithm;
use towtank_streams::Seed;

use super::*;
use crate::failures::{Failing, Failure, strike};
use crate::ledger::{Gather, Source};
use crate::placing::{LostSet, Placing};
use crate::redundancy::Redundancy;
use crate::sample::{self, Size, UNIT};
use crate::search::Search;

/// An object that is neither complete nor counted, or is both, is an error.
#[test]
fn objects_that_nobody_accounts_for_are_an_error() {
    let stuck = Stuck { lost: 2, homeless: 3, ..Stuck::default() };
    assert!(accounted(5, stuck).is_ok());
    for lacking in [0, 4, 6] {
        let told = accounted(lacking, stuck).unwrap_err().to_string();
        assert!(told.contains(&format!("{lacking} objects lack")), "{told}");
    }
}

/// Runs on the sequential executor.
struct Alone(Seed);

impl Simulator for Alone {
    fn seed(&self) -> Seed {
        self.0
    }

    fn run_model<M: Runs>(&self, model: &M, seed: Seed, end: Option<SimTime>) -> Result<Run<M>, RunError> {
        model.run(RunOptions { seed, end, ..RunOptions::default() })
    }
}

/// A recovery in a cluster of eight servers in four racks, with two disks each.
#[derive(Clone, Debug)]
struct Course {
    redundancy: Redundancy,
    groups: Option<u32>,
    failures: Vec<Failure>,
    waiting: Waiting,
    down: Option<u32>,
    limits: Limits,
    returns: Option<Comes>,
    seed: Seed,
}

/// The first failure comes back.
#[derive(Clone, Copy, Debug)]
struct Comes {
    after: SimSpan,
    empty: bool,
    /// Thousands of writes to each object in a second.
    rate: u32,
}

const SIZE: Size = Size { racks: 4, servers: 8, disks: 2 };
const OBJECTS: u64 = 80;

impl Course {
    /// Three copies per object, and a server that fails after 1 ms.
    fn usual() -> Course {
        let what = Failing::Server(Some(2));
        Course {
            redundancy: Redundancy { data: 1, width: 3 },
            groups: None,
            failures: vec![Failure { what, at: SimSpan::from_ms(1) }],
            waiting: Waiting {
                detection: SimSpan::from_us(100),
                down_out: SimSpan::from_us(200),
                noout: false,
                rack_out: true,
            },
            down: None,
            limits: sample::limits(),
            returns: None,
            seed: Seed(3),
        }
    }

    fn with<T>(&self, check: impl FnOnce(&Recovery<'_>) -> T) -> T {
        let hardware = sample::hardware(SIZE);
        let struck = strike(&self.failures, &hardware, self.seed);
        let mut failing = vec![false; 16];
        struck.iter().flat_map(|struck| &struck.devices).for_each(|device| failing[device.index()] = true);
        self.down.iter().for_each(|&device| failing[device as usize] = true);
        let usual = sample::placing(Algorithm::Rendezvous, self.redundancy);
        let placing = Placing { groups: self.groups, lost_set: LostSet::Enumerate, ..usual };
        let population = sample::population(OBJECTS, 20 * UNIT, self.seed);
        let search = Search {
            placing: &placing,
            hardware: &hardware,
            population: &population,
            failing: &failing,
            seed: self.seed,
            stopped: &|| false,
        };
        let affected = search.run().expect("eight servers").expect("nobody stops it");
        let returns = self.returns.map(|comes| Return {
            at: SimTime::ZERO.saturating_add(struck[0].at).saturating_add(comes.after),
            devices: struck[0].devices.clone(),
            empty: comes.empty,
        });
        let writes = Writes {
            each_per_s: 1_000.0 * self.returns.map_or(0.0, |comes| f64::from(comes.rate)),
            log: 5,
            begin: SimSpan::from_us(30),
            look: SimSpan::from_us(2),
        };
        let later = Later { changes: Vec::new(), returns: returns.into_iter().collect(), writes };
        check(&Recovery {
            hardware: &hardware,
            limits: &self.limits,
            affected: &affected,
            struck: &struck,
            later: &later,
            waiting: self.waiting,
            rules: Rules {
                source: Source::Primary,
                gather: Gather::Primary,
                seed: self.seed,
                reserve: self.limits.reservations.is_some(),
            },
            down: self.down.map(DeviceId).into_iter().collect(),
            used: vec![0; 16],
            limit: vec![u64::MAX; 16],
            clients: None,
            quiet: false,
        })
    }

    fn run(&self) -> Recovered {
        self.with(|recovery| recovery.run(&Alone(self.seed)).expect("a recovery runs"))
    }
}

fn course() -> impl Strategy<Value = Course> {
    let what = prop_oneof![
        prop::option::of(0u32..8).prop_map(Failing::Server),
        prop::option::of(0u32..16).prop_map(Failing::Device),
        prop::option::of(0u32..4).prop_map(Failing::Rack),
    ];
    let failure = (what, 0u64..2_000).prop_map(|(what, us)| Failure { what, at: SimSpan::from_us(us) });
    let failures = prop::collection::vec(failure, 1..4);
    let waiting = (0u64..200, 0u64..900, prop::bool::weighted(0.2), any::<bool>());
    let kept = prop_oneof![Just((1, 3)), Just((1, 2)), Just((2, 4)), Just((3, 5))];
    let rest = (kept, any::<bool>(), prop::option::weighted(0.2, 0u32..16), any::<bool>(), any::<u64>());
    let back = prop::option::of((1u64..3_000, any::<bool>(), 0u32..4));
    (failures, waiting, rest, back).prop_map(
        |(mut failures, waiting, (kept, groups, down, reserve, seed), back)| {
            failures.sort_by_key(|failure| failure.at);
            let (detection, down_out, noout, rack_out) = waiting;
            let (detection, down_out) = (SimSpan::from_us(detection), SimSpan::from_us(down_out));
            Course {
                redundancy: Redundancy { data: kept.0, width: kept.1 },
                groups: groups.then_some(24),
                failures,
                waiting: Waiting { detection, down_out, noout, rack_out },
                down,
                limits: Limits { reservations: (groups && reserve).then_some(1), ..sample::limits() },
                returns: back.map(|(us, empty, rate)| Comes { after: SimSpan::from_us(us), empty, rate }),
                seed: Seed(seed),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Properties of every recovery, whatever fails when.
    #[test]
    fn every_recovery_adds_up(course in course()) {
        let found = course.run();
        found.assert_adds_up();
        prop_assert!(!found.partial);
        prop_assert!(found.stuck.objects() <= OBJECTS);
        prop_assert!(found.below_min_size <= OBJECTS);
        prop_assert!(found.below.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        prop_assert!(found.jobs == 0 || found.first_transfer < found.last_write);
        prop_assert!(found.moving >= found.bound && found.bound >= found.ideal);
        prop_assert_eq!(found.fill.len(), 16);
        let written: u64 = found.disks.iter().map(|disk| disk.2).sum();
        prop_assert!(written >= found.bytes, "{} bytes are done of {}", found.bytes, written);
        let again = course.run();
        prop_assert_eq!(&found.digests, &again.digests);
        prop_assert_eq!((found.bytes, found.events), (again.bytes, again.events));
        prop_assert_eq!(found.last_write, again.last_write);
        if course.waiting.noout && course.returns.is_none() {
            prop_assert_eq!(found.jobs, 0, "nothing is given up, and something is rebuilt");
        }
    }

    /// Moments are in order, and devices stop, are known to be down and are marked out in this sequence.
    #[test]
    fn what_is_given_up_was_down_before(course in course(), at in 0u64..4_000) {
        course.with(|recovery| {
            let moments = recovery.moments();
            prop_assert!(moments.windows(2).all(|pair| pair[0] < pair[1]));
            let first = moments.first().map(|at| at.since(SimTime::ZERO));
            prop_assert_eq!(first, course.failures.iter().map(|failure| failure.at).min());
            let count = |at: SimTime| {
                let standing = recovery.standing(at, vec![0; 16]);
                for device in 0..16 {
                    prop_assert!(standing.stopped[device] || !standing.down[device]);
                    prop_assert!(standing.down[device] || !standing.out[device]);
                }
                let count = |list: &[bool]| list.iter().filter(|yes| **yes).count();
                Ok([count(&standing.stopped), count(&standing.down), count(&standing.out)])
            };
            let now = SimTime::from_ns(at * 1_000);
            let (before, after) = (count(now)?, count(now.saturating_add(SimSpan::from_us(50)))?);
            let grows = before.iter().zip(&after).all(|(before, after)| before <= after);
            prop_assert!(grows || course.returns.is_some());
            let last = count(moments.last().copied().unwrap_or_default())?;
            prop_assert_eq!(last[0], last[1], "all that stops is known in the end");
            let stays = course.waiting.noout || !course.waiting.rack_out;
            let out = last[2] + usize::from(course.down.is_some());
            prop_assert!(stays || out >= last[1], "{} of {} are given up", out, last[1]);
            Ok(())
        })?;
    }
}

/// Nothing starts before the failed server is out, and all its copies are rebuilt.
#[test]
fn a_server_is_rebuilt_after_it_is_given_up() {
    let found = Course::usual().run();
    assert_eq!(found.first_transfer, SimTime::from_ns(1_300_000));
    assert!(found.last_write > found.first_transfer);
    assert_eq!((found.stuck, found.unfinished), (Stuck::default(), 0));
    assert!(found.jobs > 15, "three copies of 80 objects on eight servers: {}", found.jobs);
    assert_eq!(found.bytes, found.jobs * 20 * UNIT);
    assert_eq!(found.fill.iter().sum::<u64>(), found.bytes, "devices gain what was made again");
    assert_eq!((found.fill[4], found.fill[5]), (0, 0), "its disks gain nothing");
    assert_eq!(found.below_min_size, 0);
}

#[test]
fn who_never_gives_up_rebuilds_nothing() {
    let usual = Course::usual();
    let never = Course { waiting: Waiting { noout: true, ..usual.waiting }, ..usual.clone() };
    let found = never.run();
    assert_eq!((found.jobs, found.bytes, found.moving), (0, 0, SimSpan::ZERO));
    assert_eq!(found.stuck.waiting, usual.run().jobs);
    let rack = Failure { what: Failing::Rack(Some(1)), at: SimSpan::from_ms(1) };
    let racks =
        Course { waiting: Waiting { rack_out: false, ..usual.waiting }, failures: vec![rack], ..usual };
    let found = racks.run();
    assert_eq!(found.jobs, 0);
    assert!(found.stuck.waiting > 0 && found.stuck.objects() == found.stuck.waiting, "{:?}", found.stuck);
}

/// A server that comes back before anything is rebuilt elsewhere: what clients wrote to it is copied again,
/// from nothing to everything.
#[test]
fn what_was_written_meanwhile_is_copied_again() {
    let usual = Course::usual();
    let never = Course { waiting: Waiting { noout: true, ..usual.waiting }, ..usual };
    let found = |rate, empty| {
        let comes = Comes { after: SimSpan::from_ms(1), empty, rate };
        let found = Course { returns: Some(comes), ..never.clone() }.run();
        assert_eq!(found.stuck, Stuck::default());
        found
    };
    let all = found(0, true);
    assert_eq!(all.jobs, Course::usual().run().jobs, "an empty one takes all objects");
    assert_eq!(found(0, false).jobs, 0, "nothing was written");
    // It was known to be down for 0.9 ms: 1,000 writes a second to each object alter 59.3 % of them.
    let some = found(1, false);
    let (share, want): (f64, f64) = (some.jobs as f64 / all.jobs as f64, 1.0 - libm::exp(-0.9));
    let five_sigma = 5.0 * libm::sqrt(want * (1.0 - want) / all.jobs as f64);
    assert!((share - want).abs() < five_sigma, "{} of {} objects", some.jobs, all.jobs);
    assert_eq!(found(1_000_000, false).jobs, all.jobs, "everything was written");
}

/// A server that comes back while its copies are rebuilt elsewhere: the rebuild stops, and what is complete
/// stays where it is.
#[test]
fn a_return_ends_the_rebuild() {
    let usual = Course::usual();
    let whole = usual.run();
    let half = Comes {
        after: whole
            .first_transfer
            .since(SimTime::ZERO)
            .saturating_add(SimSpan::from_ns(whole.moving.as_ns() / 2))
            .saturating_sub(SimSpan::from_ms(1)),
        empty: false,
        rate: 0,
    };
    let found = Course { returns: Some(half), ..usual }.run();
    assert!(0 < found.jobs && found.jobs < whole.jobs, "{} of {} jobs", found.jobs, whole.jobs);
    assert_eq!((found.stuck, found.unfinished), (Stuck::default(), 0));
}

fn broken(damage: fn(&mut Recovered)) {
    let mut found = Course::usual().run();
    found.assert_adds_up();
    damage(&mut found);
    found.assert_adds_up();
}

#[test]
#[should_panic(expected = "bytes finished in all, and over time")]
fn bytes_that_are_in_no_bin_are_noticed() {
    broken(|found| found.bytes += 1);
}

#[test]
#[should_panic(expected = "the last write, and the last by what was to spare")]
fn a_last_write_of_nothing_is_noticed() {
    broken(|found| found.last_write = SimTime::MAX);
}

#[test]
#[should_panic(expected = "is beaten with")]
fn a_run_that_beats_its_bound_is_noticed() {
    broken(|found| found.moving = SimSpan::from_ns(1));
}

#[test]
#[should_panic(expected = "bytes are received of")]
fn bytes_that_are_received_from_nowhere_are_noticed() {
    broken(|found| found.cards[0][1].bytes += 1);
}
