//! Whole runs: random file systems on all executors, closed forms, and audits of damaged states.

use std::sync::Arc;

use crate::cluster::{application, disk, rate, spec};
use proptest::prelude::*;
use towtank_devices::Sharing as Port;
use towtank_devices::drives::Noise;
use towtank_iosched::{Description, FlowSpec, Flows, Kind, PardaSpec};
use towtank_kernel::{Executor, Outcome, RunOptions, run};
use towtank_pfs::{
    Application, ClientCacheSpec, Component, Counts, Entity, Event, Holders, Loop, Message, Operation, Order,
    Parda, Pfs, Phase, Reads, Record, Replay, Routers, Sharing, Spec, Stands, Striping, Syncs, Work,
};
use towtank_streams::Seed;
use towtank_testkit::{Finished, travels};
use towtank_units::{Frequency, SimSpan};

/// No run here takes half an hour of simulated time; one that would never end is cut then, and its remaining
/// events are found.
const HALF_AN_HOUR: SimSpan = SimSpan::from_secs(1_800);

fn options(seed: u64, executor: Executor, workers: u32) -> RunOptions<'static> {
    let end = Some(towtank_units::SimTime::ZERO.saturating_add(HALF_AN_HOUR));
    RunOptions { seed: Seed(seed), executor, workers, end, ..RunOptions::default() }
}

/// Requests and bytes of a work in all, by phase.
fn wanted(work: &Work) -> Vec<(u64, Option<u64>)> {
    (0..work.phases())
        .map(|phase| {
            let requests = (0..work.clients())
                .map(|client| {
                    let rank = work.rank(client);
                    let application = work.of(rank);
                    application.requests(application.phases[phase], rank)
                })
                .sum();
            (requests, work.bytes(phase))
        })
        .collect()
}

/// All requests and all their bytes are done; nothing is left anywhere.
fn whole(spec: &Spec, outcome: &Outcome<Pfs<'_>>) -> Result<(), String> {
    let counts: Counts = outcome.merged_statistics();
    if outcome.pending > 0 {
        return Err(format!("{} events are left", outcome.pending));
    }
    for (phase, (requests, bytes)) in wanted(&spec.work).into_iter().enumerate() {
        let of = |value: fn(&towtank_pfs::Done) -> u64| -> u64 {
            counts
                .done
                .iter()
                .filter(|((of, _), _)| usize::from(*of) == phase)
                .map(|(_, one)| value(one))
                .sum()
        };
        if of(|done| done.requests) != requests {
            return Err(format!(
                "{} of {requests} requests of phase {phase} are done",
                of(|done| done.requests)
            ));
        }
        if bytes.is_some_and(|bytes| of(|done| done.bytes) != bytes) {
            return Err(format!("{} of {bytes:?} bytes of phase {phase} were moved", of(|done| done.bytes)));
        }
    }
    let copies = u64::from(spec.client.copies);
    let served: u64 = counts.served.values().sum();
    let moved: u64 = counts.done.values().map(|done| done.bytes).sum();
    // Caches of clients answer reads themselves, and write once what is overwritten.
    if copies == 1 && spec.client.cache.is_some() && counts.kept_missing > served {
        return Err(format!("servers did {served} bytes, and {} were read from them", counts.kept_missing));
    }
    if copies == 1 && spec.client.cache.is_none() && served != moved {
        return Err(format!("servers did {served} bytes, and clients moved {moved}"));
    }
    Ok(())
}

/// A random application: small, so that all executors are quick.
fn random_application() -> impl Strategy<Value = Application> {
    let phases = [
        [Phase::Write, Phase::Read],
        [Phase::Fill, Phase::Mix(400_000)],
        [Phase::Create, Phase::Stat],
        [Phase::Fill, Phase::Remove],
        [Phase::Rest, Phase::Read],
        [Phase::Rest, Phase::Replay],
    ];
    let sizes = (1_u32..4, 1_u64..4, 1_u64..60_000, 700_u64..40_000);
    let ways = (0..phases.len(), 0_usize..3, any::<bool>(), 1_u16..4, 0_usize..3);
    let times = (0_u64..3_000, proptest::option::of(1_u64..400));
    (sizes, ways, times, random_replay()).prop_map(move |(sizes, ways, (think, arrivals), replay)| {
        let (clients, files, file_bytes, request_bytes) = sizes;
        let (phase, sharing, random, flows, ways_of_sync) = ways;
        let replayed = phases[phase].contains(&Phase::Replay);
        Application {
            clients,
            files,
            file_bytes,
            request_bytes,
            phases: phases[phase].to_vec(),
            order: if random { Order::Random } else { Order::Sequential },
            sharing: [Sharing::Own, Sharing::Interleaved, Sharing::Segmented][sharing],
            flows,
            think: SimSpan::from_us(think),
            arrivals: arrivals.and_then(Frequency::from_per_second),
            syncs: [Syncs::Phase, Syncs::File, Syncs::Request][ways_of_sync],
            replay: replayed.then(|| dealt(&replay, clients)),
        }
    })
}

/// Records of up to three clients, in either loop.
fn random_replay() -> impl Strategy<Value = (bool, Vec<Record>)> {
    let record =
        (0_u32..3, 0_u64..40_000_000, 0_u64..200_000, 1_u32..60_000, 0_u32..4, 0_u8..12, any::<bool>());
    let record = record.prop_map(|(client, at, offset, bytes, file, operation, from_start)| {
        let operation = match operation {
            0 => Operation::Open,
            1 => Operation::Stat,
            2 => Operation::Create,
            3 => Operation::Remove,
            4 => Operation::Sync,
            5..8 => Operation::Write,
            _ => Operation::Read,
        };
        let bytes = if operation.moves_bytes() { bytes } else { 0 };
        Record { at: SimSpan::from_ns(at), offset, bytes, file, client, operation, from_start }
    });
    (any::<bool>(), proptest::collection::vec(record, 0..25))
}

/// The same for this many clients.
fn dealt((open, records): &(bool, Vec<Record>), clients: u32) -> Arc<Replay> {
    let dealt = records.iter().map(|one| Record { client: one.client % clients, ..*one });
    Arc::new(Replay::new(if *open { Loop::Open } else { Loop::Closed }, clients, dealt.collect()))
}

/// Any scheduler, with its own depth and options where it asks for some.
fn random_scheduler() -> impl Strategy<Value = Description> {
    let names = Description::USAGES.map(|(name, _)| match name {
        "dsfq-atb" => "dsfq-atb:4:5ms",
        "dsfq-alb" => "dsfq-alb:4:100KiB",
        "htb" => "htb:4:rate=50MB/s",
        other => other,
    });
    (0..names.len()).prop_map(move |name| names[name].parse().expect("it is one"))
}

/// A random file system.
fn random() -> impl Strategy<Value = Spec> {
    let parts = (
        proptest::collection::vec(random_application(), 1..4),
        (1_u32..5, 1_u32..5, 300_u64..30_000),
        random_scheduler(),
        (any::<bool>(), any::<bool>(), any::<bool>(), 0_u8..4),
        (4_u64..200, 1_u64..100, 0_u64..40, 0_u64..40),
        (1_u32..3, 500_u64..50_000, 1_u32..5, 500_u64..30_000),
        (proptest::option::of(random_client_cache()), any::<bool>(), 0_u8..5, any::<bool>()),
        proptest::option::of((1_u32..4, 5_000_000_u64..500_000_000)),
    );
    parts.prop_map(
        |(applications, (servers, count, stripe), description, flags, pages, more, client, routers)| {
            let (handshake, locks, fair, kind) = flags;
            let (copies, window, threads, part) = more;
            let mut spec = spec(applications);
            spec.servers = servers;
            let count = count.min(servers);
            spec.striping = Striping::new(servers, vec![Component { end: None, count, stripe }]);
            let flow = |weight: u32| FlowSpec {
                weight,
                rate: 20_000_000,
                burst: 4_000_000,
                delay: SimSpan::from_ms(30),
                request_cost: 100_000,
                ..FlowSpec::default()
            };
            spec.scheduler.descriptions = vec![description];
            spec.scheduler.flows = Flows::new((1..=3).map(flow).collect());
            (spec.server.handshake, spec.server.locks) = (handshake, locks);
            (spec.server.threads, spec.server.part) = (threads, part);
            (spec.client.copies, spec.client.window) = (copies.min(servers), window);
            spec.client.layouts_are_kept = !locks;
            spec.client.cache = client.0;
            spec.client.reads = if client.1 { Reads::Spread } else { Reads::First };
            gates(&mut spec, client.2, client.3);
            spec.network.sharing = if fair { Port::Fair } else { Port::Fifo };
            // So short that the interval is doubled many times.
            spec.sample = if fair { SimSpan::from_ns(700) } else { spec.sample };
            spec.network.slice = handshake.then_some(16 << 10);
            spec.network.routers = routers.map(|(count, bytes)| Routers { count, rate: rate(bytes) });
            match kind {
                0 => spec.cache = None,
                1 => spec.network.lost = 20_000,
                2 => spec.network.buffer = Some(60_000),
                _ => spec.metadata.threads = 1,
            }
            small_cache(&mut spec, pages);
            spec.disk = disk(50_000_000, 30_000_000, SimSpan::from_us(300), Noise::None);
            spec
        },
    )
}

/// Schedulers at clients or proxies, windows at clients, and feedback, where they make sense.
fn gates(spec: &mut Spec, kind: u8, feedback: bool) {
    let tells = matches!(spec.scheduler.descriptions[0].kind, Kind::Dsfq(_));
    let cuts = matches!(spec.scheduler.descriptions[0].kind, Kind::Ssfq(_));
    spec.scheduler.stands = match kind {
        0 if !cuts && !tells => Stands::Clients,
        1 if !cuts => Stands::Proxies(1),
        2 if !cuts => Stands::Proxies(spec.servers.div_ceil(2)),
        _ => Stands::Servers,
    };
    if kind == 3 || feedback {
        let host = |share_thousandths: u64| PardaSpec {
            threshold: SimSpan::from_ms(5),
            gain_percent: 50,
            smoothing_percent: 30,
            share_thousandths,
            window_max: 8,
        };
        let hosts = (1..=3).map(|share| host(share * 700)).collect();
        spec.client.parda = Some(Parda { hosts, interval: SimSpan::from_ms(3) });
    }
    spec.client.feedback = feedback;
}

/// A client's cache of less than one request, or of several.
fn random_client_cache() -> impl Strategy<Value = ClientCacheSpec> {
    let sizes = (1_u64..150_000, 1_u64..100, 0_u64..100, 1_u64..40_000);
    (sizes, 1_u16..4, proptest::option::of(10_000_000_u64..1_000_000_000), any::<bool>()).prop_map(
        |((bytes, dirty, background, batch), flushes, copy, cold)| {
            let dirty = (bytes * dirty / 100).max(1);
            let background = dirty * background / 100;
            ClientCacheSpec { bytes, dirty, background, batch, flushes, copy: copy.map(rate), cold }
        },
    )
}

fn small_cache(spec: &mut Spec, (capacity, dirty, background, ahead): (u64, u64, u64, u64)) {
    if let Some(cache) = &mut spec.cache {
        (cache.pages, cache.dirty) = (capacity, dirty.min(capacity));
        cache.background = (background > 0).then_some(background);
        (cache.read_ahead, cache.write_batch) = (ahead, 4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn random_file_systems_end_with_everything_done_on_all_executors(spec in random(), seed in 0_u64..1_000) {
        let model = Pfs::new(&spec);
        let first = run(&model, options(seed, Executor::Sequential, 1));
        let first = match first {
            Ok(first) => first,
            Err(error) => return Err(TestCaseError::fail(format!("{error}"))),
        };
        prop_assert_eq!(whole(&spec, &first), Ok(()));
        for (executor, workers) in [(Executor::Check, 1), (Executor::Conservative, 2), (Executor::Optimistic, 2)] {
            let other = run(&model, options(seed, executor, workers));
            prop_assert_eq!(other.map(|other| other.digest.to_string()), Ok(first.digest.to_string()));
        }
    }
}

/// The same check finds work that was left undone or done twice.
#[test]
fn work_that_is_not_done_is_noticed() {
    let spec = spec(vec![application(3, 4)]);
    let outcome = run(&Pfs::new(&spec), options(1, Executor::Sequential, 1)).expect("it runs");
    assert_eq!(whole(&spec, &outcome), Ok(()));
    for files in [3, 5] {
        let other = Spec { work: Work::new(vec![application(3, files)]), ..spec.clone() };
        assert!(whole(&other, &outcome).is_err(), "{files} files");
    }
}

/// The audit finds states that were damaged behind the model's back.
#[test]
fn damage_is_noticed() {
    let spec = spec(vec![application(4, 6)]);
    let model = Pfs::new(&spec);
    let finished = Finished::of(run(&model, options(3, Executor::Sequential, 1)).expect("it runs"));
    let complaint = finished.complaint(&model, "a job is lost at a server", |state| {
        let server = state.entities.iter_mut().find_map(|one| match one {
            Entity::Server(server) => Some(server),
            _ => None,
        });
        server.expect("there is one").done -= 1;
    });
    assert!(complaint.contains("jobs arrived"), "{complaint}");
    let complaint = finished.complaint(&model, "an answer is lost", |state| {
        let Entity::Client(client) = &mut state.entities[0] else { panic!("entity 0 is a client") };
        client.jobs_done -= 1;
    });
    assert!(complaint.contains("jobs were sent"), "{complaint}");
    let complaint = finished.complaint(&model, "a job is sent twice", |state| {
        let Entity::Client(client) = &mut state.entities[0] else { panic!("entity 0 is a client") };
        client.jobs_sent += 1;
        client.jobs_done += 1;
    });
    assert!(complaint.contains("clients sent"), "{complaint}");
    let complaint = finished.complaint(&model, "a request is done that nobody began", |state| {
        let Entity::Client(client) = &mut state.entities[0] else { panic!("entity 0 is a client") };
        client.through += 1;
    });
    assert!(complaint.contains("requests were started"), "{complaint}");
    let complaint = finished.complaint(&model, "a card has sent more than there was time for", |state| {
        let Entity::Client(client) = &mut state.entities[1] else { panic!("entity 1 is a client") };
        client.card.out.busy = SimSpan::from_secs(1 << 20);
    });
    assert!(complaint.contains("node 1"), "{complaint}");
    let complaint = finished.complaint(&model, "a metadata server forgets a request", |state| {
        let mut servers = state.entities.iter_mut().filter_map(|one| match one {
            Entity::Metadata(server) => Some(server),
            _ => None,
        });
        servers.next().expect("there is one").came += 1;
    });
    assert!(complaint.contains("metadata servers have 1 requests"), "{complaint}");
}

/// The audit of counters and threads finds damaged states.
#[test]
fn damage_at_servers_is_noticed() {
    let mut spec = spec(vec![application(4, 20)]);
    (spec.server.threads, spec.server.locks) = (1, true);
    let model = Pfs::new(&spec);
    let end = Some(towtank_units::SimTime::ZERO.saturating_add(SimSpan::from_ms(60)));
    let cut = RunOptions { end, ..options(3, Executor::Sequential, 1) };
    let finished = Finished::of(run(&model, cut).expect("it runs"));
    let complaint_of = |what: &str, change: fn(&mut towtank_pfs::Server)| {
        finished.complaint(&model, what, |state| {
            let server = state.entities.iter_mut().find_map(|one| match one {
                Entity::Server(server) => Some(server),
                _ => None,
            });
            change(server.expect("there is one"));
        })
    };
    let complaint = complaint_of("bytes of a job are lost", |server| server.moved += 1);
    assert!(complaint.contains("bytes of jobs are done"), "{complaint}");
    let complaint = complaint_of("a thread works on nothing", |server| server.working = 2);
    assert!(complaint.contains("threads work"), "{complaint}");
    let complaint = complaint_of("a job waits twice", |server| server.blocked = [99].into());
    assert!(complaint.contains("was never released"), "{complaint}");
    let complaint = complaint_of("a job is beyond its end", |server| {
        let running = server.slots.iter_mut().flatten().next().expect("one is there");
        running.position = running.job.bytes + 1;
    });
    assert!(complaint.contains("is at byte"), "{complaint}");
    let complaint = complaint_of("a lock is held twice", |server| {
        server.locks.insert(7, Holders { readers: 1, writer: true, ..Holders::default() });
    });
    assert!(complaint.contains("is written while"), "{complaint}");
    let complaint = finished.complaint(&model, "a metadata server was asked in secret", |state| {
        let mut servers = state.entities.iter_mut().filter_map(|one| match one {
            Entity::Metadata(server) => Some(server),
            _ => None,
        });
        let server = servers.next().expect("there is one");
        (server.came, server.done) = (server.came + 1, server.done + 1);
    });
    assert!(complaint.contains("were counted"), "{complaint}");
}

/// The audit finds damaged routers.
#[test]
fn damage_at_routers_is_noticed() {
    let mut spec = spec(vec![application(4, 2)]);
    spec.network.routers = Some(Routers { count: 2, rate: rate(30_000_000) });
    let model = Pfs::new(&spec);
    let finished = Finished::of(run(&model, options(3, Executor::Sequential, 1)).expect("it runs"));
    let complaint_of = |what: &str, change: fn(&mut towtank_pfs::Router)| {
        finished.complaint(&model, what, |state| {
            let router = state.entities.iter_mut().find_map(|one| match one {
                Entity::Router(router) => Some(router),
                _ => None,
            });
            change(router.expect("there is one"));
        })
    };
    let complaint = complaint_of("a message is lost inside", |router| router.forwarded -= 1);
    assert!(complaint.contains("arrived at a router"), "{complaint}");
    let complaint = complaint_of("it was busy in another phase", |router| {
        router.mark.sent = router.to_servers.busy.saturating_add(SimSpan::from_ns(1));
    });
    assert!(complaint.contains("before the last phase"), "{complaint}");
}

/// The seconds of the read phase of eight clients with two files each, and the busiest router's share of it.
fn reading_through(routers: Option<Routers>, sharing: Port) -> (f64, f64) {
    let mut spec = spec(vec![application(8, 2)]);
    (spec.network.routers, spec.network.sharing) = (routers, sharing);
    // Nothing but the network takes long.
    spec.disk = disk(4_000_000_000, 4_000_000_000, SimSpan::ZERO, Noise::None);
    (spec.client.request, spec.client.job) = (SimSpan::ZERO, SimSpan::ZERO);
    (spec.server.before, spec.server.after) = (SimSpan::ZERO, SimSpan::ZERO);
    let outcome = run(&Pfs::new(&spec), options(1, Executor::Sequential, 1)).expect("it runs");
    let counts: Counts = outcome.merged_statistics();
    let seconds = counts.done[&(1, 0)].last.since(counts.began[&1]).as_secs_f64();
    let busy = outcome.entities.iter().filter_map(|entity| match entity {
        Entity::Router(router) => {
            Some((router.to_clients.busy.as_secs_f64() - router.mark.received.as_secs_f64()) / seconds)
        }
        _ => None,
    });
    (seconds, busy.fold(0.0, f64::max))
}

/// 16 MiB through routers take as long as they need at the routers' rate, where that is the slowest part;
/// twice the routers take half the time; fast ones cost their latency alone.
#[test]
fn routers_bound_what_crosses_them() {
    for sharing in [Port::Fifo, Port::Fair] {
        let through =
            |count: u32, bytes: u64| reading_through(Some(Routers { count, rate: rate(bytes) }), sharing);
        let bytes = f64::from(16 << 20);
        for count in [1, 2, 4] {
            let (seconds, busy) = through(count, 10_000_000);
            let alone = bytes / (10e6 * f64::from(count));
            // Headers are 100 bytes of each message; opening a file and asking take milliseconds a request.
            assert!(
                seconds > alone && seconds < alone * 1.05 + 0.02,
                "{count}: {seconds} s, {alone} s at best"
            );
            assert!(busy > 0.9 && busy <= 1.0, "{count}: the busiest router is busy {busy} of the time");
        }
        let (without, _) = reading_through(None, sharing);
        let (fast, _) = through(8, 100_000_000_000);
        assert!(fast > without && fast < without + 0.02, "{fast} s by fast routers, {without} s without");
    }
}

/// A client's messages stay on its router, and the others' routers idle.
#[test]
fn a_client_uses_one_router() {
    let mut spec = spec(vec![application(1, 1)]);
    spec.network.routers = Some(Routers { count: 3, rate: rate(50_000_000) });
    let outcome = run(&Pfs::new(&spec), options(1, Executor::Sequential, 1)).expect("it runs");
    let came: Vec<u64> = outcome
        .entities
        .iter()
        .filter_map(|entity| match entity {
            Entity::Router(router) => Some(router.came),
            _ => None,
        })
        .collect();
    assert!(came[0] > 0, "{came:?}");
    assert_eq!(came[1..], [0, 0]);
}

/// A run that is cut keeps its laws: messages under way count.
#[test]
fn a_cut_run_keeps_its_laws() {
    let mut spec = spec(vec![application(4, 20)]);
    spec.network.lost = 10_000;
    let model = Pfs::new(&spec);
    for ms in [1, 7, 40, 133, 800] {
        let options = RunOptions {
            end: Some(towtank_units::SimTime::ZERO.saturating_add(SimSpan::from_ms(ms))),
            ..options(5, Executor::Sequential, 1)
        };
        let outcome = run(&model, options).expect("its laws hold");
        assert!(outcome.pending > 0, "{ms} ms: it was not cut");
    }
}

/// One server with one disk and no cache, random requests on an idle network: an M/D/1 queue. With a service
/// time of 1 ms and 600 requests per second its mean wait is rho / (2 (1 - rho)) services = 0.75 ms.
#[test]
fn a_disk_alone_is_an_m_d_1_queue() {
    let clients = 20;
    let one = Application {
        clients,
        files: 1,
        file_bytes: 4_096 * 5_000,
        request_bytes: 4_096,
        phases: vec![Phase::Read],
        order: Order::Random,
        sharing: Sharing::Own,
        flows: 64,
        think: SimSpan::ZERO,
        arrivals: Frequency::from_per_second(30),
        syncs: Syncs::Phase,
        replay: None,
    };
    let mut spec = spec(vec![one]);
    spec.servers = 1;
    spec.striping = Striping::new(1, vec![Component { end: None, count: 1, stripe: 1 << 20 }]);
    spec.cache = None;
    (spec.network.card, spec.network.latency) = (None, SimSpan::from_us(1));
    spec.client.layouts_are_kept = true;
    (spec.client.request, spec.client.job) = (SimSpan::ZERO, SimSpan::ZERO);
    (spec.server.before, spec.server.after) = (SimSpan::ZERO, SimSpan::ZERO);
    spec.scheduler.descriptions = vec!["fifo".parse().expect("it is one")];
    (spec.server.threads, spec.server.part) = (1_000_000, 1 << 30);
    spec.disk = disk(4_096_000_000, 4_096_000_000, SimSpan::from_us(999), Noise::None);
    let wait = |seed: u64| {
        let outcome = run(&Pfs::new(&spec), options(seed, Executor::Sequential, 1)).expect("it runs");
        let counts: Counts = outcome.merged_statistics();
        // The first request of each client also asks for a layout: one in 5,000.
        counts.done[&(0, 0)].latencies.mean().expect("some were done") / 1e6 - 1.0 - 0.002
    };
    let waits: Vec<f64> = (0..4).map(wait).collect();
    let mean = waits.iter().sum::<f64>() / 4.0;
    // 400,000 requests; the histogram's bins are good to 1.6 %, of a latency of 1.75 ms.
    assert!((mean - 0.75).abs() < 0.03, "{mean}: {waits:?}");
}

/// With two applications that always have work, SFQ divides the service by their weights.
#[test]
fn shares_follow_weights_and_a_fifo_gives_none() {
    let share = |scheduler: &str, weights: &[u32]| {
        let one = Application { phases: vec![Phase::Write], ..application(16, 30) };
        let mut spec = spec(vec![one.clone(), one]);
        spec.cache = None;
        spec.scheduler.descriptions = vec![scheduler.parse().expect("it is one")];
        spec.scheduler.flows = Flows::weighted(weights);
        let end = towtank_units::SimTime::ZERO.saturating_add(SimSpan::from_secs(20));
        let options = RunOptions { end: Some(end), ..options(2, Executor::Sequential, 1) };
        let outcome = run(&Pfs::new(&spec), options).expect("it runs");
        let counts: Counts = outcome.merged_statistics();
        let of = |application: u16| -> u64 {
            counts.served.range((application, 0)..=(application, u32::MAX)).map(|(_, bytes)| *bytes).sum()
        };
        of(1) as f64 / (of(0) + of(1)) as f64
    };
    for (weights, ideal) in [([1, 1], 0.5), ([1, 2], 2.0 / 3.0), ([1, 4], 0.8)] {
        let found = share("sfq:4", &weights);
        assert!((found - ideal).abs() < 0.02, "{weights:?}: {found}");
    }
    let blind = share("fifo:4", &[1, 4]);
    assert!((blind - 0.5).abs() < 0.05, "{blind}");
}

/// A write that begins and ends inside pages reads both of them first, and proceeds even if the cache cannot
/// hold both.
#[test]
fn a_write_inside_pages_ends_in_the_smallest_cache() {
    for pages in [1, 2, 3, 64] {
        let one = Application {
            files: 2,
            file_bytes: 40_000,
            request_bytes: 10_000,
            phases: vec![Phase::Fill, Phase::Write],
            flows: 4,
            ..application(2, 1)
        };
        let mut spec = spec(vec![one]);
        let cache = spec.cache.as_mut().expect("it has one");
        (cache.pages, cache.dirty) = (pages, pages);
        spec.disk = disk(50_000_000, 30_000_000, SimSpan::from_us(300), Noise::None);
        let outcome = run(&Pfs::new(&spec), options(1, Executor::Sequential, 1)).expect("it runs");
        assert_eq!(whole(&spec, &outcome), Ok(()), "{pages} pages");
    }
}

/// A flow that is still in its think time when its phase ends begins nothing in the next phase, which starts
/// each flow anew.
#[test]
fn thinking_ends_with_its_phase() {
    for think in [1, 2, 5, 10, 20, 40, 80, 200] {
        let one = Application {
            files: 1,
            file_bytes: 60_000,
            request_bytes: 10_000,
            phases: vec![Phase::Write, Phase::Read, Phase::Write],
            flows: 4,
            think: SimSpan::from_ms(think),
            ..application(3, 1)
        };
        let spec = spec(vec![one]);
        let outcome = run(&Pfs::new(&spec), options(1, Executor::Sequential, 1)).expect("it runs");
        assert_eq!(whole(&spec, &outcome), Ok(()), "{think} ms");
    }
}

/// Twice the data with two copies, on twice the disks' work.
#[test]
fn copies_are_written_and_one_is_read() {
    let mut spec = spec(vec![application(2, 3)]);
    spec.client.copies = 2;
    let outcome = run(&Pfs::new(&spec), options(1, Executor::Sequential, 1)).expect("it runs");
    let counts: Counts = outcome.merged_statistics();
    let served: u64 = counts.served.values().sum();
    let mib = 1 << 20;
    assert_eq!(served, 6 * mib * 2 + 6 * mib);
}

/// Entities and events survive serialisation by serde, so that a run may be spread over processes.
#[test]
fn nodes_travel() {
    let mut spec = spec(vec![application(3, 2)]);
    spec.network.card = Some(rate(20_000_000));
    spec.scheduler.descriptions = vec!["dsfq-a:4".parse().expect("it is one")];
    let model = Pfs::new(&spec);
    let options = options(4, Executor::Conservative, 2);
    let want = run(&model, options.clone()).expect("it runs");
    let crossed = travels(&model, &options, &want).expect("it travels");
    assert!(crossed > 0);
    let event = Event::Here { from: 0, message: Message::Through };
    let text = serde_json::to_string(&event).expect("it is plain data");
    assert_eq!(serde_json::from_str::<Event>(&text).expect("it reads back"), event);
}
