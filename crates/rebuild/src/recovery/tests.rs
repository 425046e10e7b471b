//! Recoveries from end to end: properties of every one, and counts broken on purpose.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use towtank_kernel::{Executor, RunOptions, Runs};
use towtank_placement::algorithms::Algorithm;
use towtank_streams::Seed;

use super::*;
use crate::failures::{Failing, Failure, strike};
use crate::flags::{Flags, FlagsOverTime};
use crate::ledger::{Backfill, Gather, Order, Source};
use crate::model::{Costs, Queues, Sharing, Throttle};
use crate::placing::{LostSet, Placing};
use crate::redundancy::Redundancy;
use crate::sample::{self, Size, UNIT};
use crate::search::Search;
use crate::thinned::{OBJECTS_LEAST, Thinned};

/// An object that is neither complete nor counted, or is both, is an error.
#[test]
fn objects_that_nobody_accounts_for_are_an_error() {
    let stuck = Stuck { lost: 2, homeless: 3, ..Stuck::default() };
    assert!(accounted(5, stuck).is_ok());
    for lacking in [0, 4, 6] {
        let message = accounted(lacking, stuck).unwrap_err().to_string();
        assert!(message.contains(&format!("{lacking} objects lack")), "{message}");
    }
}

/// Runs on one executor.
struct On(Executor, Seed);

impl Simulator for On {
    fn seed(&self) -> Seed {
        self.1
    }

    fn run_model<M: Runs>(&self, model: &M, seed: Seed, end: Option<SimTime>) -> Result<Run<M>, RunError> {
        let workers = if matches!(self.0, Executor::Sequential | Executor::Check) { 1 } else { 2 };
        model.run(RunOptions { seed, end, executor: self.0, workers, ..RunOptions::default() })
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
    objects: u64,
    groups: Option<u32>,
    failures: Vec<Failure>,
    waiting: Waiting,
    down: Option<u32>,
    limits: Limits,
    returns: Option<Comes>,
    order: Order,
    flags: FlagsOverTime,
    seed: Seed,
}

/// The first failure comes back.
#[derive(Clone, Copy, Debug)]
struct Comes {
    after: SimSpan,
    empty: bool,
    /// Thousands of writes to each object in a second.
    rate: u32,
    /// Each object is written once, instead.
    once: bool,
}

const SIZE: Size = Size { racks: 4, servers: 8, disks: 2 };
const OBJECTS: u64 = 80;

impl Course {
    /// Three copies per object, and a server that fails after 1 ms.
    fn usual() -> Course {
        let what = Failing::Server(Some(2));
        Course {
            redundancy: Redundancy { data: 1, width: 3 },
            objects: OBJECTS,
            groups: None,
            failures: vec![Failure { what, at: SimSpan::from_ms(1) }],
            waiting: Waiting {
                detection: SimSpan::from_us(100),
                down_out: SimSpan::from_us(200),
                peering: SimSpan::from_us(50),
                noout: false,
                rack_out: true,
            },
            down: None,
            limits: sample::limits(),
            returns: None,
            order: Order::FewestCopies,
            flags: FlagsOverTime::NEVER,
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
        let population = sample::population(self.objects, 20 * UNIT, self.seed);
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
        let rate = 1_000.0 * self.returns.map_or(0.0, |comes| f64::from(comes.rate));
        let once = self.returns.is_some_and(|comes| comes.once);
        let to_each = if once { ToEach::Once } else { ToEach::PerSecond(rate) };
        let writes = Writes { to_each, log: 5, ..Writes::default() };
        let flags = self.flags.clone();
        let later = Later { returns: returns.into_iter().collect(), writes, flags, ..Later::default() };
        check(&Recovery {
            hardware: &hardware,
            limits: &self.limits,
            affected: &affected,
            struck: &struck,
            later: &later,
            waiting: self.waiting,
            rules: Rules {
                led_by_map: false,
                source: Source::Primary,
                gather: Gather::Primary,
                reads_all: false,
                order: self.order,
                ties: None,
                seed: self.seed,
                reserve: self.limits.reservations.is_some(),
                backfill: Backfill { begin: SimSpan::from_us(30), look: SimSpan::from_us(2) },
                count_completed: false,
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
    let seed = (any::<u64>(), prop::bool::weighted(0.3));
    let rest = (kept, any::<bool>(), prop::option::weighted(0.2, 0u32..16), any::<bool>(), seed);
    let back = prop::option::of((1u64..3_000, any::<bool>(), 0u32..4, any::<bool>()));
    let shuffled = prop::bool::weighted(0.3);
    (failures, waiting, rest, back, shuffled).prop_map(
        |(mut failures, waiting, (kept, groups, down, reserve, (seed, has_queue)), back, shuffled)| {
            failures.sort_by_key(|failure| failure.at);
            let (detection, down_out, noout, rack_out) = waiting;
            let (detection, down_out) = (SimSpan::from_us(detection), SimSpan::from_us(down_out));
            let limits = Limits { reservations: (groups && reserve).then_some(1), ..sample::limits() };
            Course {
                redundancy: Redundancy { data: kept.0, width: kept.1 },
                objects: OBJECTS,
                groups: groups.then_some(24),
                failures,
                waiting: Waiting { detection, down_out, peering: detection, noout, rack_out },
                down,
                limits: if groups && has_queue { queued(limits) } else { limits },
                returns: back.map(|(us, empty, rate, once)| {
                    let after = SimSpan::from_us(us);
                    Comes { after, empty, rate, once }
                }),
                order: if shuffled { Order::Random } else { Order::FewestCopies },
                flags: FlagsOverTime::NEVER,
                seed: Seed(seed),
            }
        },
    )
}

/// Flags that are set and unset, and of which none is left in the end.
fn flags() -> impl Strategy<Value = FlagsOverTime> {
    let set =
        any::<(bool, bool, bool, bool, bool)>().prop_map(|(recovery, backfill, rebalance, out, down)| {
            Flags {
                no_recovery: recovery,
                no_backfill: backfill,
                no_rebalance: rebalance,
                no_out: out,
                no_down: down,
            }
        });
    prop::collection::btree_map(0u64..4_000, set, 1..4).prop_map(|changes| {
        let at = |us: u64| SimTime::ZERO.saturating_add(SimSpan::from_us(us));
        let changes = changes.into_iter().map(|(us, flags)| (at(us), flags));
        FlagsOverTime { changes: changes.chain([(at(5_000), Flags::default())]).collect() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Flags that are unset in the end delay a recovery, whatever they stopped meanwhile, and lose nothing.
    #[test]
    fn flags_delay_and_lose_nothing(course in course(), flags in flags()) {
        let free = course.run();
        let held = Course { flags, ..course.clone() }.run();
        held.assert_adds_up();
        prop_assert_eq!(held.stuck.flagged + held.stuck.unmoved_by_flag, 0, "no flag is left");
        if course.failures.len() == 1 && course.returns.is_none() {
            prop_assert_eq!((held.jobs, held.bytes, held.stuck), (free.jobs, free.bytes, free.stuck));
            prop_assert!(held.first_transfer >= free.first_transfer);
        }
        let never = Flags { no_recovery: true, ..Flags::default() };
        let never = FlagsOverTime { changes: vec![(SimTime::ZERO, never)] };
        let none = Course { flags: never, ..course.clone() }.run();
        prop_assert_eq!(none.jobs, 0);
        if course.failures.len() == 1 && course.returns.is_none() {
            prop_assert_eq!(none.stuck.flagged > 0, free.jobs > 0, "what is copied without the flag waits with it");
        }
    }

    /// A part is the beginning of the whole: an earlier one has written no more, and one that ends after the
    /// whole is the whole.
    #[test]
    fn a_part_is_the_beginning_of_the_whole(course in course(), share in 1u64..100) {
        let whole = course.run();
        let until = |end: SimTime| course.with(|recovery| recovery.run_until(end, &Alone(course.seed)).unwrap());
        let written = |found: &Recovered| found.disks.iter().map(|disk| disk.2).sum::<u64>();
        let last = whole.last().as_ns();
        let [early, late] = [last * share / 200, last * share / 100].map(|at| until(SimTime::from_ns(at + 1)));
        prop_assert!(written(&early) <= written(&late) && written(&late) <= written(&whole));
        prop_assert!(late.bytes <= whole.bytes && late.jobs <= whole.jobs);
        let all = until(SimTime::from_ns(1 << 60));
        prop_assert_eq!((all.jobs, all.bytes, written(&all)), (whole.jobs, whole.bytes, written(&whole)));
        prop_assert_eq!((all.last_write, all.fill), (whole.last_write, whole.fill));
    }

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
        prop_assert!(found.active.iter().all(|active| *active <= found.moving));
        let idle = |(card, active): (&[Busy; 2], &SimSpan)| card[0].span.max(card[1].span) <= *active;
        prop_assert!(found.cards.iter().zip(&found.active).all(idle), "a NIC is busy after its last message");
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
    assert_eq!(found.first_transfer, SimTime::from_ns(1_350_000), "after 1 ms, detection, out and peering");
    assert!(found.last_write > found.first_transfer);
    assert_eq!((found.stuck, found.unfinished), (Stuck::default(), 0));
    assert!(found.jobs > 15, "three copies of 80 objects on eight servers: {}", found.jobs);
    assert_eq!(found.bytes, found.jobs * 20 * UNIT);
    assert_eq!(found.targets.all_parts(), found.jobs, "each object lost one copy");
    for device in (0..16).map(DeviceId) {
        let bytes = found.targets.parts(device) * 20 * UNIT;
        assert_eq!(bytes, found.fill[device.index()], "device {device:?} has what was rebuilt on it");
    }
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
        let comes = Comes { after: SimSpan::from_ms(1), empty, rate, once: false };
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

/// A disk that was down before its server failed stays down when the server comes back.
#[test]
fn what_was_down_before_does_not_come_back_with_its_server() {
    let usual = Course::usual();
    let comes = Comes { after: SimSpan::from_ms(1), empty: false, rate: 0, once: false };
    let alone = Course { returns: Some(comes), ..usual.clone() }.run();
    let down = Course { down: Some(4), ..Course { returns: Some(comes), ..usual } }.run();
    assert_eq!(alone.fill[4], 0, "it comes back with what it had");
    assert_eq!((down.stuck, down.unfinished), (Stuck::default(), 0), "its objects are rebuilt elsewhere");
    assert_eq!(down.disks[4], (SimSpan::ZERO, 0, 0), "nothing is read from it, or written to it");
}

/// Queues that let two million units of cost go in a second. Work items count 9,000.
fn queued(limits: Limits) -> Limits {
    let throttle = Throttle {
        shards: 2,
        limits: [Some(2_000_000); 2],
        clients: None,
        costs: Costs::Bytes { least: 1 },
        item: Some(9_000),
        reply: 3_000,
    };
    let sharing = Sharing::BySender { with_items: Some(DeviceId(4)) };
    let queues = Some(Queues { pools: vec![0], sharing, throttles: vec![throttle] });
    Limits { queues, serial: true, ..limits }
}

/// A server with two disks that comes back with its logs, after all of its objects were written once.
fn returns_by_log(seed: u64, reserve: bool) -> Course {
    let usual = Course::usual();
    let limits = Limits { reservations: reserve.then_some(1), ..usual.limits };
    Course {
        groups: Some(24),
        waiting: Waiting { noout: true, ..usual.waiting },
        limits: queued(limits),
        returns: Some(Comes { after: SimSpan::from_ms(1), empty: false, rate: 0, once: true }),
        seed: Seed(seed),
        ..usual
    }
}

/// Whether a recovery has brought back so many objects, to the disks of server 2 only, and nothing is left.
fn is_whole(found: &Recovered, objects: u64) -> bool {
    let elsewhere =
        (0..16).filter(|device| *device != 4 && *device != 5).any(|device| found.disks[device].2 > 0);
    found.stuck == Stuck::default() && found.unfinished == 0 && found.jobs == objects && !elsewhere
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is pulled or pushed under the limits of a queue, all copies are whole in the end, as many
    /// as an empty server takes, and all executors agree on how long it takes.
    #[test]
    fn what_comes_back_by_log_is_whole_on_all_executors(seed: u64, reserve: bool) {
        let by_log = returns_by_log(seed, reserve);
        let empty = Course { returns: by_log.returns.map(|comes| Comes { empty: true, ..comes }), ..by_log.clone() };
        let (found, all) = (by_log.run(), empty.run());
        prop_assert!(is_whole(&found, all.jobs), "{} of {} objects", found.jobs, all.jobs);
        for executor in [Executor::Check, Executor::Conservative, Executor::Optimistic] {
            let other = by_log.with(|recovery| recovery.run(&On(executor, by_log.seed)).expect("a recovery runs"));
            prop_assert_eq!(&other.digests, &found.digests, "{:?}", executor);
            prop_assert_eq!((other.last_write, other.events), (found.last_write, found.events));
        }
        // The check is no matter of course: a server that never comes back is not whole.
        // Now and then it holds nothing.
        let never = Course { returns: None, ..by_log };
        prop_assert!(all.jobs == 0 || !is_whole(&never.run(), all.jobs));
    }
}

/// The returned server leads some groups and is pushed to in others: with its logs it drives something, and
/// empty it does not.
#[test]
fn a_server_with_its_logs_drives_a_part() {
    let by_log = returns_by_log(3, false);
    let drives = |course: &Course| course.run().drivers;
    let empty =
        Course { returns: by_log.returns.map(|comes| Comes { empty: true, ..comes }), ..by_log.clone() };
    assert!(drives(&by_log) > drives(&empty), "{} and {}", drives(&by_log), drives(&empty));
}

/// Copies that count again without a write are recognised by what their objects had to spare meanwhile.
#[test]
fn copies_that_come_back_are_recognised_by_what_was_to_spare() {
    let usual = Course::usual();
    let never = Waiting { noout: true, ..usual.waiting };
    let comes = Comes { after: SimSpan::from_ms(1), empty: false, rate: 0, once: false };
    let course = Course { waiting: never, returns: Some(comes), ..usual };
    let at = SimTime::ZERO.saturating_add(SimSpan::from_ms(2));
    let back = Some(at);
    let found = course.run();
    assert_eq!(found.taken_back, [None, back, None, None], "one copy beside that which a read needs");
    assert_eq!((found.until(0), found.until(1), found.last()), (None, back, at));
    let pairs = Course { redundancy: Redundancy { data: 1, width: 2 }, ..course };
    assert_eq!(pairs.run().until(0), back, "a single copy was left");
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
        once: false,
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
#[should_panic(expected = "copies or shards are written")]
fn objects_that_are_written_nowhere_are_noticed() {
    broken(|found| found.targets = Targets::none(16));
}

#[test]
#[should_panic(expected = "bytes are received of")]
fn bytes_that_are_received_from_nowhere_are_noticed() {
    broken(|found| found.cards[0][1].bytes += 1);
}

/// A recovery, a thinned one as the whole one, and with how many objects it ran.
fn thinned(course: &Course, objects: usize, wrong: bool) -> Option<(Recovered, Recovered, u64)> {
    course.with(|recovery| {
        let thinned = Thinned::to(recovery, objects)?;
        let run = |recovery: &Recovery<'_>| recovery.run(&Alone(course.seed)).expect("a recovery runs");
        let small = thinned.of(recovery);
        let small = if wrong { Recovery { waiting: recovery.waiting, ..small } } else { small };
        let (whole, small) = (run(recovery), run(&small));
        let jobs = small.jobs;
        Some((whole, thinned.whole(recovery, small), jobs))
    })
}

fn error_of((whole, small, _): &(Recovered, Recovered, u64)) -> f64 {
    (small.last_write.as_secs_f64() / whole.last_write.as_secs_f64() - 1.0).abs()
}

/// The error of thinned recoveries, over a hundred drawn ones: at most 2 % in the median, which is what a
/// caller accepts of a single one. It is larger where a later failure ends a rebuild after a few objects.
#[test]
fn a_thinned_recovery_takes_as_long() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut errors = Vec::new();
    while errors.len() < 100 {
        let mut drawn = course().new_tree(&mut runner).expect("it can be drawn").current();
        (drawn.objects, drawn.groups, drawn.returns) = (6_000, Some(24), None);
        let Some(found) = thinned(&drawn, 0, false) else { continue };
        if found.0.last_write == SimTime::ZERO {
            assert_eq!(found.1.last_write, SimTime::ZERO, "nothing is rebuilt in either: {drawn:?}");
            continue;
        }
        errors.push(error_of(&found));
    }
    errors.sort_by(f64::total_cmp);
    println!("errors: median {:.4}, largest {:.4}", errors[50], errors[99]);
    assert!(errors[50] <= 0.02, "{errors:?}");
}

/// What is thinned has so many objects as are asked for, and no less than [`OBJECTS_LEAST`] in a group.
/// With times that are not divided, it would take too long.
#[test]
fn a_thinned_recovery_has_fewer_objects_and_shorter_waits() {
    let waiting = Waiting { down_out: SimSpan::from_ms(20), ..Course::usual().waiting };
    let course = Course { objects: 24_000, groups: Some(24), waiting, ..Course::usual() };
    let whole = course.run();
    let found = thinned(&course, whole.jobs as usize / 4, false).expect("it is large");
    assert!(found.2.abs_diff(whole.jobs / 4) <= whole.jobs / 100, "{} of {} objects", found.2, whole.jobs);
    assert!(error_of(&found) < 0.02, "{found:?}");
    assert!(found.0.difference(&found.1) < 0.02, "{found:?}");
    let wrong = thinned(&course, whole.jobs as usize / 4, true).expect("it is large");
    assert!(wrong.0.difference(&wrong.1) > 0.02, "{wrong:?}");
    assert!(error_of(&wrong) > 0.02, "{wrong:?}");
    let least = thinned(&course, 0, false).expect("it is large");
    assert!(least.2 as usize >= OBJECTS_LEAST * whole.jobs as usize / 1_000, "{} objects", least.2);
    for small in [Course { objects: 2_400, ..course.clone() }, Course { groups: None, ..course }] {
        assert!(thinned(&small, 0, false).is_none(), "100 objects a group, or none in groups");
    }
}

/// A thinned record has its share of the bytes, and takes the room of all of them.
#[test]
fn a_thinned_recovery_has_its_share_of_bytes_and_all_of_the_room() {
    let course = Course { objects: 12_000, groups: Some(24), ..Course::usual() };
    course.with(|recovery| {
        let whole = Recovery { used: vec![100; 16], limit: vec![1_100; 16], ..recovery.clone() };
        let thinned = Thinned::to(&whole, 0).expect("500 objects a group");
        let by = u64::from(thinned.one_in());
        let small = thinned.of(&whole);
        assert_eq!((&small.used, &small.limit), (&whole.used, &whole.limit));
        assert_eq!(small.affected.records(), whole.affected.records());
        for record in 0..whole.affected.records() {
            let bytes = |recovery: &Recovery<'_>| recovery.affected.sizes(record).iter().sum::<u64>();
            assert_eq!(bytes(&small), bytes(&whole) / by, "record {record}");
            assert_eq!(small.affected.bytes_of(record), bytes(&whole), "record {record}");
            assert_eq!(
                small.affected.objects_of(record),
                whole.affected.objects_of(record),
                "record {record}"
            );
        }
        small.affected.assert_whole();
    });
}

/// What a thinned recovery counts is what a whole one counts, over a hundred drawn ones that nothing
/// interrupts: objects, bytes by device, what is stuck, and what is below `min_size`. Counts over time add
/// up.
#[test]
fn a_thinned_recovery_counts_all_objects() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut alike, mut stuck) = (0, 0);
    while alike < 100 {
        let mut drawn = course().new_tree(&mut runner).expect("it can be drawn").current();
        (drawn.objects, drawn.groups, drawn.returns) = (6_000, Some(24), None);
        let Some((whole, small, jobs)) = thinned(&drawn, 0, false) else { continue };
        if whole.interrupted || small.interrupted {
            continue;
        }
        assert!(jobs == 0 || jobs < whole.jobs, "{jobs} of {} objects", whole.jobs);
        let counted = |found: &Recovered| (found.jobs, found.bytes, found.unfinished, found.stuck);
        assert_eq!(counted(&whole), counted(&small), "{drawn:?}");
        let moved = |found: &Recovered| found.disks.iter().map(|disk| (disk.1, disk.2)).collect::<Vec<_>>();
        assert_eq!(moved(&whole), moved(&small), "{drawn:?}");
        assert_eq!((&whole.targets, &whole.fill), (&small.targets, &small.fill), "{drawn:?}");
        assert_eq!(whole.below_min_size, small.below_min_size, "{drawn:?}");
        assert_eq!(whole.first_transfer, small.first_transfer, "{drawn:?}");
        let begun = |found: &Recovered| found.begun.iter().map(|(_, jobs)| jobs).sum::<u64>();
        assert_eq!(begun(&whole), begun(&small), "{drawn:?}");
        alike += 1;
        stuck += u64::from(whole.stuck.any());
    }
    assert!(stuck > 0, "some have objects that cannot be rebuilt");
}

/// An object that stands for another one too is noticed.
#[test]
#[should_panic(expected = "bytes finished in all, and over time")]
fn an_object_that_stands_for_too_many_is_noticed() {
    let course = Course { objects: 6_000, groups: Some(24), ..Course::usual() };
    course.with(|recovery| {
        let thinned = Thinned::to(recovery, 0).expect("it is large");
        let small = thinned.of(recovery).run(&Alone(course.seed)).expect("a recovery runs");
        let mut whole = thinned.whole(recovery, small);
        whole.bytes += 1;
        whole.assert_adds_up();
    });
}

/// A result with these times in nanoseconds.
fn timed(first: u64, rows: [Option<u64>; SPARES], progress: &[(u64, u64)]) -> Recovered {
    let at = SimTime::from_ns;
    let mut found = Course::usual().with(|recovery| recovery.nothing());
    found.first_transfer = at(first);
    found.last_by_spare = rows.map(|row| row.map(at));
    found.progress = progress.iter().map(|(end, bytes)| (at(*end), *bytes)).collect();
    found.bytes = progress.iter().map(|(_, bytes)| bytes).sum();
    found
}

/// Times are compared from the first transfer on, and the largest difference counts.
#[test]
fn differences_are_those_of_the_worst_time() {
    let one = timed(100, [Some(150), None, Some(300), None], &[(100, 0), (200, 10), (300, 10)]);
    let same = |other: &Recovered| one.difference(other);
    assert_eq!(same(&one), 0.0);
    let shifted = |rows| timed(100, rows, &[(100, 0), (200, 10), (300, 10)]);
    assert!((same(&shifted([Some(151), None, Some(300), None])) - 0.02).abs() < 1e-9);
    assert!((same(&shifted([Some(150), None, Some(310), None])) - 0.05).abs() < 1e-9);
    assert_eq!(same(&shifted([None, None, Some(300), None])), f64::INFINITY);
    assert_eq!(same(&shifted([Some(150), Some(150), Some(300), None])), f64::INFINITY);
    // Half of the bytes: at 200, and at 250.
    let late = timed(100, [Some(150), None, Some(300), None], &[(100, 0), (200, 5), (300, 10), (300, 5)]);
    assert!((same(&late) - 0.5).abs() < 1e-9, "{}", same(&late));
}

/// Two servers of eight fail at once, so some objects have one copy left and most have two. The time until
/// no object has a single copy, as the median over ten seeds: by the usual order it is never longer than by
/// any other, object by object and in groups, with and without reservations.
#[test]
fn the_fewest_copies_are_never_at_risk_for_longer_than_in_another_order() {
    let server = |server| Failure { what: Failing::Server(Some(server)), at: SimSpan::from_ms(1) };
    let two = Course { failures: vec![server(2), server(5)], objects: 800, ..Course::usual() };
    let groups = Course { groups: Some(80), ..two.clone() };
    let reserving = Limits { reservations: Some(1), ..sample::limits() };
    let cases = [
        (two, Order::Object),
        (groups.clone(), Order::Group),
        (Course { limits: reserving, ..groups }, Order::Group),
    ];
    let median = |course: &Course, order: Order| {
        let of = |seed| {
            let found = Course { order, seed: Seed(seed), ..course.clone() }.run();
            assert_eq!(found.stuck, Stuck::default());
            let single = found.last_by_spare[0].expect("some objects have one copy left");
            single.since(found.first_transfer)
        };
        let mut times: Vec<SimSpan> = (0..10).map(of).collect();
        times.sort_unstable();
        times[4]
    };
    for (course, by_number) in cases {
        let usual = median(&course, Order::FewestCopies);
        for order in [by_number, Order::Random] {
            let other = median(&course, order);
            assert!(usual <= other, "{usual} and {other} by {order:?}: {course:?}");
        }
    }
}
