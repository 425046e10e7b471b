//! The model on random plans: properties of every run, closed forms of the smallest ones, and states broken
//! on purpose. `steps`: the steps of an object in a queue.

mod items;
mod steps;

use proptest::prelude::*;
use towtank_kernel::{Executor, RunOptions, run};
use towtank_streams::Seed;
use towtank_testkit::Finished;
use towtank_units::Frequency;

use super::*;
use crate::bound::{Survivors, Work};
use crate::redundancy::Redundancy;
use crate::sample::{self, Drawn, Size, Tasks, UNIT};

fn drawn(devices: u32) -> impl Strategy<Value = Drawn> {
    let log = prop::sample::select(vec![(false, false), (true, false), (true, true)]);
    let job = (0..devices, 1u64..7 * UNIT, 1usize..4, 1usize..4, 0..devices, log);
    job.prop_map(|(driver, bytes, reads, writes, stride, (by_log, pulls))| Drawn {
        driver,
        bytes,
        reads,
        writes,
        stride,
        by_log,
        pulls,
    })
}

#[derive(Clone, Debug)]
struct Setting {
    size: Size,
    tasks: Tasks,
    limits: Limits,
    jobs: Vec<Drawn>,
}

fn setting() -> impl Strategy<Value = Setting> {
    let size = (1u32..4, 2u32..5, 1u32..3).prop_map(|(racks, servers, disks)| Size {
        racks: racks.min(servers),
        servers,
        disks,
    });
    let rate = || prop::option::weighted(0.3, (10u64..2_000).prop_map(|mega| sample::rate(mega * 1_000_000)));
    let whole = (prop::option::weighted(0.3, 1u32..4), rate());
    let limits = (
        1u32..6,
        1u32..4,
        1u32..3,
        0u64..3,
        rate(),
        rate(),
        (queues(), any::<bool>(), 0u64..3, whole, maps()),
    );
    let tasks = prop::sample::select(vec![Tasks::Drivers, Tasks::Groups, Tasks::Reserving]);
    (size, tasks, limits).prop_flat_map(|(size, tasks, limits)| {
        let (window, streams, reservations, rest, stream_rate, device_rate, others) = limits;
        let (queues, serial, cost, whole, maps) = others;
        let sleep = SimSpan::from_us(rest * 40);
        let reservations = (tasks == Tasks::Reserving).then_some(reservations);
        let queues = queues.filter(|_| tasks != Tasks::Drivers);
        let serial = queues.is_some() || (serial && tasks != Tasks::Drivers);
        let job_cost = SimSpan::from_us(cost * 9);
        let spans = Limits { sleep, stream_rate, device_rate, job_cost, ..sample::limits() };
        let (server_streams, server_rate) = whole;
        let spans = Limits { server_streams, server_rate, ..spans };
        let maps = maps.filter(|_| serial && reservations.is_some());
        let limits = Limits { window, streams, reservations, serial, queues, maps, ..spans };
        let jobs = prop::collection::vec(drawn(size.servers * size.disks), 1..12);
        jobs.prop_map(move |jobs| Setting { size, tasks, limits: limits.clone(), jobs })
    })
}

/// Maps soon after each other, or later.
fn maps() -> impl Strategy<Value = Option<Maps>> {
    let span = |us: std::ops::Range<u64>| us.prop_map(SimSpan::from_us);
    let maps = (span(1..30), span(1..300), 1u32..4);
    prop::option::of(maps.prop_map(|(soon, apart, one_in)| Maps { soon, apart, one_in, at_once: false }))
}

/// No clients, some at random, or some that wait for replies.
fn clients() -> impl Strategy<Value = Option<Arrivals>> {
    let often = Frequency::from_per_second(20_000).expect("not so often");
    prop::option::of(prop_oneof![Just(Arrivals::Open(often)), (1u32..9).prop_map(Arrivals::Closed)])
}

/// Queues with one or two shards, with and without limits.
fn queues() -> impl Strategy<Value = Option<Queues>> {
    let limit = || prop::option::weighted(0.7, 1_000u64..10_000_000);
    let costs = prop_oneof![
        (1u64..2_000).prop_map(|least| Costs::Bytes { least }),
        (0u64..900, 1u64..3).prop_map(|(per_io, per_byte)| Costs::Operations { per_io, per_byte, unit: 700 }),
    ];
    let sharing = prop_oneof![
        Just(Sharing::Together),
        prop::option::of((0u32..4).prop_map(DeviceId))
            .prop_map(|with_items| Sharing::BySender { with_items }),
    ];
    let item = prop::option::of(1u64..9_000);
    let throttle = (1u32..3, [limit(), limit()], limit(), costs, item, 1u64..3_000).prop_map(
        |(shards, limits, clients, costs, item, reply)| Throttle {
            shards,
            limits,
            clients,
            costs,
            item,
            reply,
        },
    );
    let queues = (throttle, sharing, 1u32..4).prop_map(|(throttle, sharing, second)| Queues {
        pools: vec![0, second],
        sharing,
        throttles: vec![throttle],
    });
    prop::option::weighted(0.4, queues)
}

fn outcome<'a>(model: &Rebuild<'a>, options: RunOptions<'_>) -> Outcome<Rebuild<'a>> {
    run(model, options).expect("a rebuild runs")
}

/// Bytes read, written, sent and received over all servers.
fn moved(outcome: &Outcome<Rebuild<'_>>) -> [u64; 4] {
    let mut all = [0; 4];
    for entity in &outcome.entities {
        let Entity::Server(server) = entity else { continue };
        all[0] += server.devices.iter().map(|device| device.read).sum::<u64>();
        all[1] += server.devices.iter().map(|device| device.written).sum::<u64>();
        all[2] += server.sent;
        all[3] += server.received;
    }
    all
}

/// The same sums from a plan.
fn planned(hardware: &Hardware, plan: &Plan) -> [u64; 4] {
    let mut all = [0; 4];
    for (driver, _, job) in plan.each() {
        let (reads, writes) = (plan.reads(job), plan.writes(job));
        let remote = |device: &&DeviceId| hardware.server_of(**device) != hardware.server_of(driver);
        let over = reads.iter().filter(remote).count() + writes.iter().filter(remote).count();
        all[0] += job.bytes * reads.len() as u64;
        all[1] += job.bytes * writes.len() as u64;
        all[2] += job.bytes * over as u64;
    }
    all[3] = all[2];
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// All planned work is done once, nothing is left in slots, tasks or reservations, and no run takes less
    /// than its bound.
    #[test]
    fn all_that_is_planned_is_done_once(setting in setting()) {
        let hardware = sample::hardware(setting.size);
        let plan = sample::plan(&hardware, setting.tasks, &setting.jobs);
        let model = Rebuild::new(&hardware, &plan, &setting.limits);
        let done = outcome(&model, RunOptions::default());
        prop_assert_eq!(moved(&done), planned(&hardware, &plan));
        prop_assert_eq!(done.pending, 0);
        let counts = done.merged_statistics();
        prop_assert_eq!(counts.jobs as usize, plan.jobs().len());
        prop_assert_eq!(counts.bytes, planned(&hardware, &plan)[1]);
        prop_assert_eq!(counts.progress.whole(), counts.bytes);
        for entity in &done.entities {
            let Entity::Server(server) = entity else { continue };
            for device in &server.devices {
                prop_assert!(!device.is_unfinished());
                prop_assert!(device.slots.iter().all(|slot| *slot == Slot::EMPTY));
                prop_assert_eq!((device.granted, device.asking.len()), (0, 0));
                prop_assert!(device.asleep.is_none());
                prop_assert!(device.disk.lane.idle_at <= done.now);
            }
        }
        let last = counts.last.iter().max().copied().unwrap_or_default();
        let units = |job: u32| hardware.units(plan.job(job).bytes);
        let work = Work::of(&hardware, &setting.limits, &plan, units);
        let stopped = vec![false; hardware.devices() as usize];
        let ideal = work.ideal(&Survivors::of(&hardware, &stopped));
        prop_assert!(work.bound() <= last.since(SimTime::ZERO), "{} in {}", work.bound(), last);
        prop_assert!(ideal <= work.bound(), "{} in {}", ideal, work.bound());
        prop_assert_eq!(work.bytes, u128::from(counts.bytes));
        // A server's rate holds from the beginning: all that its disks led took at least so long.
        if let Some(rate) = setting.limits.server_rate {
            for server in 0..hardware.servers() {
                let led: u64 = hardware.devices_of(server).flat_map(|device| plan.tasks_of(device))
                    .flat_map(|task| plan.task(task).jobs.clone())
                    .map(|job| plan.job(job).bytes).sum();
                let least = rate.span_for(towtank_units::Bytes::new(led));
                prop_assert!(least <= done.now.since(SimTime::ZERO), "server {}: {} bytes", server, led);
            }
        }
    }

    /// One seed gives one result on every executor; the check executor verifies undo and slack.
    #[test]
    fn executors_agree(setting in setting(), clients in clients()) {
        let hardware = sample::hardware(setting.size);
        let plan = sample::plan(&hardware, setting.tasks, &setting.jobs);
        let clients = || clients.and_then(|arrivals| Clients::new(load(arrivals), &hardware, |_| true));
        let model = Rebuild::new(&hardware, &plan, &setting.limits).with_clients(clients());
        let seed = Seed(setting.jobs.len() as u64);
        let first = outcome(&model, RunOptions { seed, ..RunOptions::default() });
        for executor in [Executor::Check, Executor::Conservative, Executor::Optimistic] {
            let workers = if executor == Executor::Check { 1 } else { 2 };
            let other = outcome(&model, RunOptions { seed, executor, workers, ..RunOptions::default() });
            prop_assert_eq!(&other.digest, &first.digest, "{:?}", executor);
            prop_assert_eq!(other.merged_statistics(), first.merged_statistics());
            prop_assert_eq!(other.now, first.now);
        }
    }

    /// If the run is cut short at any time, its audit holds and no server has done more than was planned.
    #[test]
    fn what_is_cut_short_is_part_of_the_whole(setting in setting(), share in 1u64..10, dead in 0u32..20) {
        let hardware = sample::hardware(setting.size);
        let plan = sample::plan(&hardware, setting.tasks, &setting.jobs);
        let mut stopped = vec![false; hardware.devices() as usize];
        if let Some(one) = stopped.get_mut(dead as usize) {
            *one = true;
        }
        let model = Rebuild::new(&hardware, &plan, &setting.limits).with_dead(stopped);
        let whole = outcome(&model, RunOptions::default());
        let end = SimTime::from_ns(whole.now.as_ns() * share / 10);
        let part = outcome(&model, RunOptions { end: Some(end), ..RunOptions::default() });
        prop_assert!(part.now <= end);
        let (counts, all) = (part.merged_statistics(), whole.merged_statistics());
        prop_assert!(counts.jobs <= all.jobs && counts.bytes <= all.bytes);
        prop_assert!(all.jobs as usize <= plan.jobs().len());
        let most = planned(&hardware, &plan);
        let pairs = moved(&part).into_iter().zip(moved(&whole)).zip(most);
        for ((before, after), most) in pairs {
            prop_assert!(before <= after && after <= most, "{} then {} of {}", before, after, most);
        }
        let [_, _, sent, received] = moved(&part);
        prop_assert!(received <= sent);
        let last = counts.last.iter().max().copied().unwrap_or_default();
        prop_assert!(last <= end, "a job is done at {} of {}", last, end);
    }
}

fn load(arrivals: Arrivals) -> Load {
    Load {
        arrivals,
        reads: 0.7,
        bytes: 1_500,
        redundancy: Redundancy { data: 1, width: 2 },
        weights: Weights { clients: 2, lacking: 1, moving: Some(1) },
    }
}

/// Clients that wait for replies: with one operation under way, the replies follow each other at the latency
/// of one, and the next request travels for a control message. Nothing is lost: at the end as many operations
/// are under way as at the beginning.
#[test]
fn as_many_operations_are_under_way_as_clients_keep() {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 2 });
    let mut plan = Plan::new();
    (0..4).for_each(|_| plan.next_driver());
    let limits = sample::limits();
    let run = |depth: u32, end: u64| {
        let load = Load {
            reads: 1.0,
            redundancy: Redundancy { data: 1, width: 2 },
            ..load(Arrivals::Closed(depth))
        };
        let model =
            Rebuild::new(&hardware, &plan, &limits).with_clients(Clients::new(load, &hardware, |_| true));
        let end = Some(SimTime::from_ns(end));
        outcome(&model, RunOptions { end, seed: Seed(1), ..RunOptions::default() })
    };
    let done = |depth: u32| run(depth, 10_000_000).merged_statistics().clients.expect("clients had replies");
    let one = done(1);
    // A request of 128 bytes takes 3.128 us, as the reply's bytes and latency take 1.5 and 3 us.
    let cycle = one.reads.mean().expect("something was read");
    let replies = one.reads.count() as f64;
    assert!((replies * cycle / 10_000_000.0 - 1.0).abs() < 0.01, "{replies} replies of {cycle} ns in 10 ms");
    let counts = [1, 2, 4, 64].map(|depth| done(depth).reads.count());
    assert!(counts.is_sorted(), "{counts:?}");
    assert!(counts[1] > counts[0] * 19 / 10 && counts[3] < counts[0] * 16, "{counts:?}");
}

/// What is prefetched for the answer to a client is not looked up by its device, which is none.
#[test]
fn an_answer_is_about_no_disk() {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 2 });
    let mut plan = Plan::new();
    (0..4).for_each(|_| plan.next_driver());
    let limits = sample::limits();
    let model = Rebuild::new(&hardware, &plan, &limits);
    let answer = Event { device: Clients::THEMSELVES, ..plain(Kind::Out) };
    let (server, counts) = (model.create(EntityId(0)), Counts::default());
    (0..3).for_each(|depth| model.fetch((&server, &counts), &answer, depth));
}

/// The time of one object on one disk in each of two servers.
fn copied(units: u64, limits: &Limits) -> SimTime {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 1 });
    let job = Drawn::one(0, units * UNIT);
    let plan = sample::plan(&hardware, Tasks::Drivers, &[job]);
    let model = Rebuild::new(&hardware, &plan, limits);
    outcome(&model, RunOptions::default()).merged_statistics().last[0]
}

/// Read in 1 us after a seek of 5 us, sent in 1 us with a latency of 3 us, written in 2 us after a seek of 5
/// us, acknowledged by a 128-byte message that takes 3.128 us.
#[test]
fn the_time_of_one_copy_is_the_sum_of_its_stages() {
    let one = Limits { window: 1, ..sample::limits() };
    assert_eq!(copied(1, &one), SimTime::from_ns(6_000 + 1_000 + 3_000 + 7_000 + 3_128));
    // With a window of one, each unit waits for the one before, and neither disk seeks again.
    assert_eq!(copied(2, &one), SimTime::from_ns(20_128 + 1_000 + 1_000 + 3_000 + 2_000 + 3_128));
    // With a larger window the slowest stage, writing, runs without a pause.
    assert_eq!(copied(4, &sample::limits()), SimTime::from_ns(20_128 + 3 * 2_000));
    // The rate limit grants one unit every 50 us.
    let paced = Limits { stream_rate: Some(sample::rate(20_000_000)), ..sample::limits() };
    assert_eq!(copied(1, &paced), SimTime::from_ns(20_128 + 50_000));
    // Neither disk seeks again, so the last unit passes the stages in 10.128 us.
    assert_eq!(copied(4, &paced), SimTime::from_ns(10_128 + 4 * 50_000));
}

/// When two disks of a server have each copied so many objects of one unit to disks of another server.
fn copied_by_two(objects: u32, limits: &Limits) -> SimTime {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 2 });
    let plan = two_disks(objects);
    outcome(&Rebuild::new(&hardware, &plan, limits), RunOptions::default()).merged_statistics().last[0]
}

fn two_disks(objects: u32) -> Plan {
    let mut plan = Plan::new();
    for driver in 0..4 {
        plan.next_driver();
        if driver < 2 {
            plan.next_task(driver, (0, false), &[]);
            let (from, to) = ([DeviceId(driver)], [DeviceId(driver + 2)]);
            (0..objects).for_each(|_| plan.next_job(UNIT, 0, &from, &to));
        }
    }
    plan
}

/// One copy takes 20.128 us, of which the NIC is busy for 1 us.
#[test]
fn limits_of_a_server_hold_for_all_its_disks() {
    let limits = |server_streams, server_rate| Limits { server_streams, server_rate, ..sample::limits() };
    let slow = Some(sample::rate(20_000_000));
    let one = 20_128;
    assert_eq!(copied_by_two(1, &limits(None, None)), SimTime::from_ns(one + 1_000));
    assert_eq!(copied_by_two(1, &limits(Some(2), None)), SimTime::from_ns(one + 1_000));
    assert_eq!(copied_by_two(1, &limits(Some(1), None)), SimTime::from_ns(2 * one));
    assert_eq!(copied_by_two(3, &limits(Some(1), None)), SimTime::from_ns(6 * one));
    // A unit every 50 us from the server, or from each of its disks.
    assert_eq!(copied_by_two(1, &limits(None, slow)), SimTime::from_ns(100_000 + one));
    let of_disks = Limits { device_rate: slow, ..sample::limits() };
    assert_eq!(copied_by_two(1, &of_disks), SimTime::from_ns(50_000 + one + 1_000));
}

/// The disks of a server take turns: of two objects that are done, each disk has copied one.
#[test]
fn disks_take_turns_for_what_their_server_may_do() {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 2 });
    let (plan, limits) = (two_disks(3), Limits { server_streams: Some(1), ..sample::limits() });
    let end = Some(SimTime::from_ns(2 * 20_128 + 100));
    let done = outcome(&Rebuild::new(&hardware, &plan, &limits), RunOptions { end, ..RunOptions::default() });
    let Entity::Server(server) = &done.entities[0] else { panic!("entity 0 is a server") };
    let left: Vec<u32> = server.devices.iter().map(|device| device.active[0].left).collect();
    assert_eq!((left, server.driven()), (vec![2, 2], 1));
}

/// Ceph 16.2.15 with `high_client_ops` on rotating disks: 63 units of cost a second for each flow of a shard.
fn wpq_no_more(with_items: Option<DeviceId>) -> Limits {
    let throttle = Throttle {
        shards: 5,
        limits: [Some(63); 2],
        clients: None,
        costs: Costs::Operations { per_io: 250_000, per_byte: 52, unit: 10_000_000 },
        item: Some(20 << 20),
        reply: 8_389_608,
    };
    let sharing = Sharing::BySender { with_items };
    let queues = Queues { pools: vec![0], sharing, throttles: vec![throttle] };
    Limits { streams: 1_000, serial: true, queues: Some(queues), ..sample::limits() }
}

/// When the objects of some groups are done that disk 0 copies to disk 1, each group with this many.
fn by_queue(groups: &[(u32, u32)], limits: &Limits) -> Vec<f64> {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 1 });
    let mut plan = Plan::new().of_groups(true);
    plan.next_driver();
    for &(group, objects) in groups {
        plan.next_task(group, (0, false), &[]);
        (0..objects).for_each(|_| plan.next_job(UNIT, 0, &[DeviceId(0)], &[DeviceId(1)]));
    }
    plan.next_driver();
    let counts = outcome(&Rebuild::new(&hardware, &plan, limits), RunOptions::default()).merged_statistics();
    let ends = counts.progress.ends().flat_map(|(at, bytes)| vec![at.as_secs_f64(); (bytes / UNIT) as usize]);
    ends.collect()
}

/// The first work item of a group moves nothing, and one object follows the other at 109 / 63 = 1.730 s, as
/// in the log of 16.2.15: two groups of one shard share that rate, and two shards do not.
#[test]
fn work_items_of_a_shard_follow_each_other_at_the_limit() {
    let limits = wpq_no_more(None);
    let near = |found: &[f64], want: &[f64]| {
        assert_eq!(found.len(), want.len(), "{found:?}");
        // Counts over time are kept in bins of at most a 64th of the time.
        let close = |(found, want): (&f64, &f64)| (found - want).abs() < 0.03 * want;
        assert!(found.iter().zip(want).all(close), "{found:?}, not {want:?}");
    };
    let step = 109.0 / 63.0;
    let at = |steps: &[f64]| steps.iter().map(|steps| steps * step).collect::<Vec<f64>>();
    near(&by_queue(&[(0, 3)], &limits), &at(&[1.0, 2.0, 3.0]));
    near(&by_queue(&[(0, 2), (5, 1)], &limits), &at(&[2.0, 3.0, 4.0]));
    near(&by_queue(&[(0, 2), (1, 2)], &limits), &at(&[1.0, 1.0, 2.0, 2.0]));
    // Where replies come from osd.0 they share the limit of the work items: (109 + 44) / 63 for an object.
    let shared = wpq_no_more(Some(DeviceId(1)));
    let reply = 44.0 / 63.0;
    let ends: Vec<f64> = (1..4).map(|object| f64::from(object) * (step + reply)).collect();
    near(&by_queue(&[(0, 3)], &shared), &ends);
}

/// Twice the limit, half the time, where the limit is all that counts.
#[test]
fn twice_the_limit_takes_half_the_time() {
    let time = |factor: u64| {
        let mut limits = wpq_no_more(None);
        let queues = limits.queues.as_mut().expect("these limits have queues");
        queues.throttles[0].limits = [Some(63 * factor); 2];
        *by_queue(&[(0, 9), (5, 4), (1, 2)], &limits).last().expect("objects are copied")
    };
    let ratio = time(1) / time(2);
    assert!((1.99..2.01).contains(&ratio), "{ratio}");
}

/// Replies to clients of so many disks, one on each server, in this many milliseconds; nothing is rebuilt.
fn replies_of(disks: u32, (arrivals, reads): (Arrivals, f64), limits: &Limits, ms: u64) -> u64 {
    let hardware = sample::hardware(Size { racks: 1, servers: disks, disks: 1 });
    let mut plan = Plan::new().of_groups(true);
    (0..disks).for_each(|_| plan.next_driver());
    let redundancy = Redundancy { data: 1, width: disks.min(3) };
    let load = Load { arrivals, reads, bytes: 900, redundancy, weights: Weights::against_one(1) };
    let clients = Clients::new(load, &hardware, |_| true);
    let model = Rebuild::new(&hardware, &plan, limits).with_clients(clients);
    let end = SimTime::ZERO.saturating_add(SimSpan::from_ms(ms));
    let options = RunOptions { end: Some(end), ..RunOptions::default() };
    let counts = outcome(&model, options).merged_statistics();
    counts.clients.map_or(0, |clients| clients.reads.count() + clients.writes.count())
}

/// Queues of so many shards that limit nothing but clients: each operation costs 1.
fn clients_at_most(limit: Option<u64>, shards: u32) -> Limits {
    let mut limits = wpq_no_more(None);
    let queues = limits.queues.as_mut().expect("these limits have queues");
    queues.throttles[0] = Throttle { shards, clients: limit, ..queues.throttles[0] };
    limits
}

/// `high_recovery_ops` of 16.2.15 gives clients 80 % of 63 in a shard: 50 operations of cost 1 a second. One
/// client that waits for its replies at one disk with one shard: the first operation goes at once, and one
/// every 20 ms after it, at 20, 40, ... 980 ms. Two disks serve twice as many.
#[test]
fn clients_of_a_shard_get_what_the_profile_grants() {
    let one = |arrivals, limit| replies_of(1, (arrivals, 1.0), &clients_at_most(limit, 1), 999);
    assert_eq!(one(Arrivals::Closed(1), Some(50)), 50);
    assert_eq!(one(Arrivals::Closed(9), Some(50)), 50, "nine clients are one flow");
    assert_eq!(one(Arrivals::Closed(9), Some(100)), 100);
    let free = one(Arrivals::Closed(9), None);
    assert!(free > 10_000, "without a limit {free}");
    let two = replies_of(2, (Arrivals::Closed(64), 0.0), &clients_at_most(Some(50), 1), 999);
    assert!((95..=100).contains(&two), "a disk without an operation loses its turn: {two}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Clients never get more than the limit of all shards of all disks, and one operation for each shard
    /// that goes at once.
    #[test]
    fn clients_never_exceed_their_limit(
        disks in 1u32..5, shards in 1u32..4, limit in 20u64..400, depth in 1u32..40, open: bool, reads in 0.0f64..1.0
    ) {
        let often = Frequency::from_per_second(3_000).expect("not so often");
        let arrivals = if open { Arrivals::Open(often) } else { Arrivals::Closed(depth) };
        let found = replies_of(disks, (arrivals, reads), &clients_at_most(Some(limit), shards), 500);
        let flows = u64::from(disks * shards);
        prop_assert!(found <= flows * (limit / 2 + 1), "{} replies of {} flows at {}", found, flows, limit);
        // The check is no matter of course: without the limit the same clients get more.
        let free = replies_of(disks, (Arrivals::Closed(40), reads), &clients_at_most(None, shards), 500);
        prop_assert!(free > flows * (limit / 2 + 1), "{} replies without a limit", free);
    }
}

/// A group whose objects go one by one: its first work item moves nothing, and each waits for a sleep.
#[test]
fn a_group_begins_with_a_sleep() {
    let limits = Limits { sleep: SimSpan::from_ms(1), serial: true, ..sample::limits() };
    let last = |groups: &[(u32, u32)]| *by_queue(groups, &limits).last().expect("objects are copied");
    let one = last(&[(0, 1)]);
    assert!((0.002..0.002_05).contains(&one), "{one}");
    assert!((0.004..0.004_1).contains(&last(&[(0, 3)])));
    // Two groups whose items take turns: two items that move nothing, and four with an object each.
    assert!((0.006..0.006_2).contains(&last(&[(0, 2), (1, 2)])));
    // The driver's own work comes before each object, and not before the work item that moves nothing.
    let works = Limits { job_cost: SimSpan::from_ms(10), ..limits.clone() };
    let last = by_queue(&[(0, 3)], &works).pop().expect("objects are copied");
    assert!((0.034..0.034_3).contains(&last), "{last}");
    // Without a sleep, two objects of one group follow each other, and two groups work side by side.
    let awake = Limits { sleep: SimSpan::ZERO, ..limits };
    let last = |groups: &[(u32, u32)]| *by_queue(groups, &awake).last().expect("objects are copied");
    let (alone, after, beside) = (last(&[(0, 1)]), last(&[(0, 2)]), last(&[(0, 1), (1, 1)]));
    assert!(after > 1.9 * alone && beside < 1.9 * alone, "{alone}, {after}, {beside}");
}

/// When disk 0 has copied groups of `objects` each to disk 1, one group after the other, with a map that
/// others ask for after 5.5 ms.
fn with_maps(groups: u32, objects: u32, limits: &Limits) -> (f64, Counts) {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 1 });
    let mut plan = Plan::new().of_groups(true);
    plan.next_driver();
    for group in 0..groups {
        plan.next_task(group, (0, false), &[DeviceId(1)]);
        (0..objects).for_each(|_| plan.next_job(UNIT, 0, &[DeviceId(0)], &[DeviceId(1)]));
    }
    plan.next_driver();
    let model = Rebuild::new(&hardware, &plan, limits).with_changes(vec![SimTime::from_ns(5_500_000)]);
    let counts: Counts = outcome(&model, RunOptions::default()).merged_statistics();
    (counts.last.iter().max().expect("a row").as_secs_f64(), counts)
}

/// With each map, each group that waits takes a sleep, whatever the group copies whose turn it is.
#[test]
fn items_of_groups_that_wait_take_their_turns() {
    let maps = |one_in| {
        Some(Maps { soon: SimSpan::from_us(1), apart: SimSpan::from_secs(9), one_in, at_once: false })
    };
    let sleep = SimSpan::from_ms(1);
    let none = Limits { sleep, serial: true, reservations: Some(1), ..sample::limits() };
    let with = |one_in| Limits { maps: maps(one_in), ..none.clone() };
    for waiting in 0..5 {
        let ((before, _), (after, counts)) =
            (with_maps(1 + waiting, 20, &none), with_maps(1 + waiting, 20, &with(1)));
        // The only map comes while the first group is copied. A group that is complete asks for another,
        // which is made nine seconds later.
        let lost = f64::from(waiting) * 0.001;
        assert!((after - before - lost).abs() < 0.000_2, "{waiting} groups wait: {after} after {before}");
        assert!(
            (counts.idling.0.as_secs_f64() - lost).abs() < 0.000_2,
            "{waiting} groups: {}",
            counts.idling.0
        );
    }
    // Where an object stands for ten, the items of groups that wait take a tenth, and so do those before and
    // behind the objects of a group: one and two.
    let (before, _) = with_maps(5, 20, &none);
    let less = 5.0 * 0.000_9 + 4.0 * 2.0 * 0.000_9;
    let maps = with(10).maps.expect("maps");
    for maps in [maps, Maps { at_once: true, ..maps }] {
        let (after, _) = with_maps(5, 20, &Limits { maps: Some(maps), ..none.clone() });
        assert!((after - (before + 4.0 * 0.000_1 - less)).abs() < 0.000_2, "{after} after {before}");
    }
    // An item that is in the queue is not added again: of three maps in 2 ms, two find all items there.
    let busy =
        Limits { maps: Some(Maps { apart: SimSpan::from_us(900), ..with(1).maps.expect("maps") }), ..none };
    let (_, counts) = with_maps(9, 3, &busy);
    let most = u64::from(9u32 * 8 / 2 * 2) * 1_000_000;
    assert!(counts.idling.0.as_ns() < most, "{} of {most}", counts.idling.0);
}

/// The monitor makes as many maps as its intervals allow: one for several changes, and two for the last.
#[test]
fn changes_share_maps() {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 1 });
    let plan = sample::plan(&hardware, Tasks::Reserving, &[]);
    let maps =
        Some(Maps { soon: SimSpan::from_ms(50), apart: SimSpan::from_secs(1), one_in: 1, at_once: false });
    let limits =
        Limits { sleep: SimSpan::from_ms(1), serial: true, reservations: Some(1), maps, ..sample::limits() };
    let made = |changes_ms: &[u64]| {
        let changes = changes_ms.iter().map(|ms| SimTime::from_ns(ms * 1_000_000)).collect();
        let model = Rebuild::new(&hardware, &plan, &limits).with_changes(changes);
        let done = outcome(&model, RunOptions::default());
        let made = done.entities.iter().find_map(|entity| match entity {
            Entity::Monitor { made, .. } => Some(*made),
            _ => None,
        });
        let made = made.expect("a monitor");
        (made.count, made.last.map(|last| last.as_ns() / 1_000_000))
    };
    assert_eq!(made(&[]), (0, None));
    // At 50 ms, and the map that lets the groups serve a second later.
    assert_eq!(made(&[0]), (2, Some(1_050)));
    assert_eq!(made(&[0, 10, 40]), (2, Some(1_050)));
    // What comes meanwhile is in the second map, and has one of its own behind it.
    assert_eq!(made(&[0, 60, 900]), (3, Some(2_050)));
    assert_eq!(made(&[0, 5_000]), (4, Some(6_050)));
}

/// A map that the monitor counts as due, and that nothing makes, is found.
#[test]
fn a_map_that_is_never_made_is_found() {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 1 });
    let plan = sample::plan(&hardware, Tasks::Reserving, &[Drawn::one(0, UNIT)]);
    let maps =
        Some(Maps { soon: SimSpan::from_us(1), apart: SimSpan::from_us(9), one_in: 1, at_once: false });
    let limits = Limits { serial: true, reservations: Some(1), maps, ..sample::limits() };
    let model = Rebuild::new(&hardware, &plan, &limits);
    let state = Finished::of(outcome(&model, RunOptions::default()));
    let due = state.complaint(&model, "due", |state| {
        for entity in &mut state.entities {
            if let Entity::Monitor { made, .. } = entity {
                made.due = true;
            }
        }
    });
    assert!(due.contains("0 maps are due"), "{due}");
}

/// Every disk of a server that sleeps after each job sleeps as often as it drives one.
#[test]
fn rests_are_as_many_as_jobs() {
    let hardware = sample::hardware(Size { racks: 1, servers: 3, disks: 1 });
    let job = |bytes| Drawn { stride: 1, ..Drawn::one(0, bytes) };
    let plan = sample::plan(&hardware, Tasks::Drivers, &[job(900), job(1_800), job(100)]);
    let limits = Limits { sleep: SimSpan::from_ms(1), ..sample::limits() };
    let counts = outcome(&Rebuild::new(&hardware, &plan, &limits), RunOptions::default()).merged_statistics();
    // The last sleep is not counted, because no work follows it.
    assert_eq!((counts.jobs, counts.sleeping), (3, SimSpan::from_ms(2)));
    assert!(counts.last[0] > SimTime::from_ns(2_000_000));
    assert_eq!(counts.restored.whole(), 3);
    assert_eq!(counts.reserving, SimSpan::ZERO);
}

/// Statistics counted separately and then merged equal those counted together.
#[test]
fn counts_join_in_any_order() {
    let done = |bytes, at, spare| Sample::Done { bytes, at: SimTime::from_ns(at), spare };
    let client =
        |write, ns| Sample::Client { write, latency: SimSpan::from_ns(ns), at: SimTime::from_ns(7 * ns) };
    let samples = [
        done(5, 2_000, 0),
        done(7, 9_000_000, 9),
        Sample::Restored(SimTime::from_ns(2_000)),
        Sample::Reserved(SimSpan::from_ns(40)),
        Sample::Ended(SimSpan::from_ns(60)),
        Sample::Slept { own: SimSpan::from_ns(3), others: SimSpan::from_ns(5) },
        client(true, 90),
        client(false, 800),
        done(1, 70, 1),
    ];
    let count = |samples: &[Sample]| {
        let mut counts = Counts::default();
        samples.iter().for_each(|sample| counts.add(sample.clone()));
        counts
    };
    let whole = count(&samples);
    assert_eq!((whole.jobs, whole.bytes), (3, 13));
    assert_eq!(
        whole.last.map(SimTime::as_ns),
        [2_000, 70, 0, 9_000_000],
        "the last row is for all with more"
    );
    for split in 0..=samples.len() {
        let (first, second) = (count(&samples[..split]), count(&samples[split..]));
        let mut forwards = first.clone();
        forwards.merge(&second);
        assert_eq!(forwards, whole, "split at {split}");
        let mut backwards = second;
        backwards.merge(&first);
        assert_eq!(backwards, whole, "split at {split}, the later ones first");
    }
}

#[test]
#[should_panic(expected = "bytes that are done, and bytes over time")]
fn counts_that_do_not_add_up_are_noticed() {
    let mut counts = Counts { bytes: 1, jobs: 1, ..Counts::default() };
    counts.merge(&Counts::default());
}

#[test]
#[should_panic(expected = "bytes that are done, and bytes by priority")]
fn priorities_that_do_not_add_up_are_noticed() {
    let mut counts = Counts::default();
    counts.add(Sample::Prior { bytes: 1, at: SimTime::ZERO, priority: 0 });
    counts.merge(&Counts::default());
}

#[test]
#[should_panic(expected = "1 records are complete after 0 jobs")]
fn records_that_are_complete_without_a_job_are_noticed() {
    let mut counts = Counts::default();
    counts.add(Sample::Completed(Completion { group: 3, spare: 1, at: SimTime::ZERO }));
    counts.merge(&Counts::default());
}

#[test]
#[should_panic(expected = "1 records take writes again after 0 jobs")]
fn records_that_are_restored_without_a_job_are_noticed() {
    let mut counts = Counts::default();
    counts.add(Sample::Restored(SimTime::ZERO));
    counts.merge(&Counts::default());
}

#[test]
#[should_panic(expected = "reads by latency, and reads over time")]
fn answers_that_are_in_no_bin_are_noticed() {
    let mut latencies = Latencies::default();
    latencies.reads.record(7);
    latencies.assert_adds_up();
}

/// States in the middle of a run, with errors put in.
#[test]
fn damage_to_a_state_is_noticed() {
    let hardware = sample::hardware(Size { racks: 2, servers: 4, disks: 1 });
    let job = |driver| Drawn { reads: 2, writes: 2, ..Drawn::one(driver, 30 * UNIT) };
    let plan = sample::plan(&hardware, Tasks::Reserving, &[job(0), job(1), job(2)]);
    let limits = Limits { reservations: Some(1), ..sample::limits() };
    let model = Rebuild::new(&hardware, &plan, &limits);
    let end = Some(SimTime::from_ns(60_000));
    let state = Finished::of(outcome(&model, RunOptions { end, ..RunOptions::default() }));
    assert!(!state.pending.is_empty(), "something is under way at 60 us");
    let server = |state: &mut Finished<Rebuild<'_>>, change: fn(&mut Server)| {
        let mut servers = state.entities.iter_mut();
        let found = servers.find_map(|entity| match entity {
            Entity::Server(server) if server.sent > 0 && !server.devices[0].active.is_empty() => Some(server),
            _ => None,
        });
        change(found.expect("a server has sent something"));
    };
    let sent = state.complaint(&model, "sent", |state| server(state, |server| server.sent += 1));
    assert!(sent.contains("bytes are to be sent by server"), "{sent}");
    let read = state.complaint(&model, "read", |state| server(state, |server| server.devices[0].read += 1));
    assert!(read.contains("bytes are to be read from device"), "{read}");
    let granted =
        state.complaint(&model, "granted", |state| server(state, |server| server.devices[0].granted += 1));
    assert!(granted.contains("reservations (limit 1)"), "{granted}");
    let asleep = state.complaint(&model, "asleep", |state| {
        server(state, |server| server.devices[0].asleep = Some(SimTime::ZERO));
    });
    assert!(asleep.contains("rests, but is woken 0 times"), "{asleep}");
    let timer = state.complaint(&model, "timer", |state| {
        server(state, |server| server.devices[0].timer.waiting = 1);
    });
    assert!(timer.contains("1 items of device") && timer.contains("but 0 are pending"), "{timer}");
    let item = state.complaint(&model, "item", |state| {
        let mut one = state.pending[0].clone();
        one.event = Event { kind: Kind::Start, slot: 0, driver: DeviceId(0), ..one.event };
        state.pending.push(one);
    });
    assert!(item.contains("work items in the queue"), "{item}");
    let lost = state.complaint(&model, "lost", |state| state.pending.clear());
    assert!(lost.contains("accounted for") || lost.contains("bytes are to be"), "{lost}");
    let counted = state.complaint(&model, "counted", |state| state.statistics[0].jobs += 1);
    assert!(counted.contains("were counted"), "{counted}");
}

fn refused(limits: Limits) -> String {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 1 });
    let plan = sample::plan(&hardware, Tasks::Drivers, &[]);
    let made = std::panic::catch_unwind(|| drop(Rebuild::new(&hardware, &plan, &limits)));
    let panic = made.expect_err("such limits are refused");
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref().map(|text: &&str| (*text).into()))
        .expect("a panic has a message")
}

#[test]
#[should_panic(expected = "a task reserves where nobody grants anything")]
fn reservations_that_nobody_grants_are_refused() {
    let hardware = sample::hardware(Size { racks: 1, servers: 2, disks: 1 });
    let job = Drawn::one(0, 1);
    let plan = sample::plan(&hardware, Tasks::Reserving, &[job]);
    let _ = Rebuild::new(&hardware, &plan, &sample::limits());
}

#[test]
fn limits_that_leave_no_room_are_refused() {
    let usual = sample::limits;
    assert!(refused(Limits { window: 0, ..usual() }).contains("a window has 1 to 16 units"));
    assert!(refused(Limits { window: 17, ..usual() }).contains("a window has 1 to 16 units"));
    assert!(refused(Limits { streams: 0, ..usual() }).contains("a device drives one job at least"));
    assert!(refused(Limits { reservations: Some(0), ..usual() }).contains("grants one reservation"));
    let queues = wpq_no_more(None).queues;
    assert!(refused(Limits { queues, ..usual() }).contains("a queue has one work item of each group"));
    assert!(refused(Limits { serial: true, ..usual() }).contains("only groups have one object in progress"));
    let pace = Pace { streams: 1, sleep: SimSpan::ZERO };
    let paces = vec![pace; 2];
    assert!(refused(Limits { paces, ..usual() }).contains("2 paces are set for 1 kinds of disks"));
}
