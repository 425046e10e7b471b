//! Clients with data caches: hits, write-behind and syncs against closed forms, and the audit against damage.

use std::sync::Arc;

use crate::cluster::{application, rate, spec};
use towtank_kernel::{Executor, Outcome, RunOptions, run};
use towtank_pfs::{
    Application, Caching, ClientCacheSpec, Counts, Entity, Loop, Operation, Pfs, Phase, Reads, Record,
    Replay, Spec, Syncs,
};
use towtank_testkit::Finished;
use towtank_units::{SimSpan, SimTime};

const MIB: u64 = 1 << 20;

fn cache(bytes: u64) -> ClientCacheSpec {
    ClientCacheSpec {
        bytes,
        dirty: bytes / 2,
        background: MIB,
        batch: MIB,
        flushes: 4,
        copy: Some(rate(4_000_000_000)),
        cold: false,
    }
}

/// Clients with caches of this many bytes, which write `files` files of 1 MiB in requests of 256 KiB and then
/// run the last phase.
fn cached(clients: u32, files: u64, last: Phase, bytes: u64) -> Spec {
    let one = application(clients, files);
    let mut spec =
        spec(vec![Application { request_bytes: 256 << 10, phases: vec![Phase::Fill, last], ..one }]);
    spec.client.cache = Some(cache(bytes));
    spec.client.layouts_are_kept = true;
    spec
}

fn outcome(spec: &Spec, end: Option<SimTime>) -> Outcome<Pfs<'_>> {
    let options = RunOptions { executor: Executor::Sequential, end, ..RunOptions::default() };
    run(&Pfs::new(spec), options).expect("its laws hold")
}

fn counts(spec: &Spec) -> Counts {
    outcome(spec, None).merged_statistics()
}

/// A client reads what it has written and still holds without a server; a cold cache holds nothing.
#[test]
fn what_is_held_is_read_at_home() {
    let found = counts(&cached(2, 8, Phase::Read, 64 * MIB));
    assert_eq!((found.kept_here, found.kept_missing), (16 * MIB, 0));
    assert_eq!(found.served.values().sum::<u64>(), 16 * MIB, "servers have the writes alone");
    // 1 ms before each request, and 256 KiB at 4 GB/s.
    let latency = found.done[&(1, 0)].latencies.mean().expect("some were done");
    assert!((latency / (1e6 + 65_536.0) - 1.0).abs() < 0.02, "{latency} ns");
    let mut cold = cached(2, 8, Phase::Read, 64 * MIB);
    cold.client.cache.as_mut().expect("it has one").cold = true;
    let found = counts(&cold);
    assert_eq!((found.kept_here, found.kept_missing), (0, 16 * MIB));
    assert_eq!(found.served.values().sum::<u64>(), 32 * MIB);
    // Half of what is read in order has left a cache of half the size, and the rest has left when it is read.
    let found = counts(&cached(1, 8, Phase::Read, 4 * MIB));
    assert_eq!((found.kept_here, found.kept_missing), (0, 8 * MIB));
}

/// A write is done when its data is in the cache; a phase ends when servers have all of it.
#[test]
fn writes_are_acknowledged_before_servers_have_them() {
    let behind = cached(1, 4, Phase::Write, 64 * MIB);
    let around =
        Spec { client: towtank_pfs::ClientSpec { cache: None, ..behind.client.clone() }, ..behind.clone() };
    let (found, through) = (counts(&behind), counts(&around));
    let mean = |counts: &Counts| counts.done[&(1, 0)].latencies.mean().expect("some were done");
    // 1 ms and a copy, and 0.1 ms for a job of the write-back now and then.
    assert!((1.06e6..1.25e6).contains(&mean(&found)), "{} ns", mean(&found));
    assert!(mean(&through) > 5e6, "{} ns through to servers", mean(&through));
    // 16 requests take 17 ms; the last megabyte is at servers only later.
    let lasted = found.done[&(1, 0)].last.since(found.began[&1]);
    assert!(lasted > SimSpan::from_ms(20), "{lasted:?}");
    assert_eq!(found.served.values().sum::<u64>(), 8 * MIB);
    assert_eq!(found.held, 0, "the limit of dirty bytes was never met");
    // A limit of one request: each write waits for the one before.
    let mut tight = behind;
    tight.client.cache.as_mut().expect("it has one").dirty = 256 << 10;
    let found = counts(&tight);
    assert!(found.held >= 15 && mean(&found) > 5e6, "{} writes waited, {} ns", found.held, mean(&found));
}

/// With a sync per request each request waits for servers; with one per file, one in four does.
#[test]
fn syncs_wait_for_servers() {
    let mean = |syncs: Syncs| {
        let mut spec = cached(1, 4, Phase::Write, 64 * MIB);
        let work = spec.work.applications()[0].clone();
        spec.work = towtank_pfs::Work::new(vec![Application { syncs, ..work }]);
        counts(&spec).done[&(1, 0)].latencies.mean().expect("some were done") / 1e6
    };
    let (phase, file, request) = (mean(Syncs::Phase), mean(Syncs::File), mean(Syncs::Request));
    assert!(phase < 1.25 && request > 5.0, "{phase}, {file} and {request} ms");
    assert!(file > phase + 1.0 && file < request, "{phase}, {file} and {request} ms");
}

/// A recorded sync takes as long as the write-back of what was written before; a sync of a clean file takes
/// no time.
#[test]
fn recorded_syncs_are_replayed() {
    let record = |operation: Operation, bytes: u32| Record {
        at: SimSpan::ZERO,
        offset: 0,
        bytes,
        file: 0,
        client: 0,
        operation,
        from_start: false,
    };
    let records =
        vec![record(Operation::Write, 1 << 20), record(Operation::Sync, 0), record(Operation::Sync, 0)];
    let replay = Some(Arc::new(Replay::new(Loop::Closed, 1, records)));
    let mut spec = spec(vec![Application { phases: vec![Phase::Replay], replay, ..application(1, 1) }]);
    spec.client.cache = Some(ClientCacheSpec { background: 4 * MIB, ..cache(64 * MIB) });
    let latencies = &counts(&spec).done[&(0, 0)].latencies;
    let at = |quantile: f64| latencies.quantile(quantile).expect("three were done").value / 1e6;
    // The layout is requested with the write; the first sync writes the data to servers, the second has
    // nothing to do.
    assert!(at(0.0) < 1.1, "{} ms", at(0.0));
    assert!(at(1.0) > 15.0, "{} ms", at(1.0));
}

/// Copies are read in turn, so that each server is used; all copies are written.
#[test]
fn reads_go_to_all_copies_in_turn() {
    let mut spec = spec(vec![application(1, 1)]);
    spec.client.copies = 2;
    spec.striping =
        towtank_pfs::Striping::new(2, vec![towtank_pfs::Component { end: None, count: 1, stripe: MIB }]);
    spec.servers = 2;
    spec.client.window = 64 << 10;
    let jobs = |reads: Reads| {
        let spec = Spec { client: towtank_pfs::ClientSpec { reads, ..spec.client.clone() }, ..spec.clone() };
        let outcome = outcome(&spec, None);
        let of = |entity: &Entity| match entity {
            Entity::Server(server) => Some(server.came),
            _ => None,
        };
        outcome.entities.iter().filter_map(of).collect::<Vec<_>>()
    };
    // 16 windows are written to both; 16 are read.
    assert_eq!(jobs(Reads::First), [32, 16]);
    assert_eq!(jobs(Reads::Spread), [24, 24]);
}

fn caching(state: &mut [Entity]) -> &mut Caching {
    let Entity::Client(client) = &mut state[0] else { panic!("entity 0 is a client") };
    client.caching.as_mut().expect("it has a cache")
}

/// The audit notices dirty bytes that are lost or duplicated, and requests that the cache forgets.
#[test]
fn damage_is_noticed() {
    let spec = cached(2, 8, Phase::Write, 4 * MIB);
    let model = Pfs::new(&spec);
    // The run is cut while bytes are dirty and being written back.
    let end = SimTime::ZERO.saturating_add(SimSpan::from_ms(20));
    let finished = Finished::of(outcome(&spec, Some(end)));
    let complaint = finished.complaint(&model, "a dirty byte is lost", |state| {
        caching(&mut state.entities).cache.absorbed += 1;
    });
    assert!(complaint.contains("became dirty"), "{complaint}");
    let complaint = finished.complaint(&model, "a write-back is forgotten", |state| {
        let caching = caching(&mut state.entities);
        let flush = caching.flushes.iter_mut().flatten().next().expect("some are under way");
        flush.run.to -= 1;
    });
    assert!(complaint.contains("dirty bytes were taken"), "{complaint}");
    let complaint = finished.complaint(&model, "a request is forgotten", |state| {
        caching(&mut state.entities).flows.clear();
    });
    assert!(
        complaint.contains("does not know the requests") || complaint.contains("has no request"),
        "{complaint}"
    );
    let finished = Finished::of(outcome(&spec, None));
    let complaint = finished.complaint(&model, "a client ends with dirty bytes", |state| {
        let run = towtank_pfs::Run { file: 0, from: 0, to: 1 };
        assert!(caching(&mut state.entities).cache.write(run));
    });
    assert!(complaint.contains("never arrived at servers"), "{complaint}");
}
