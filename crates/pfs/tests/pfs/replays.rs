//! Recorded requests: their times, their waits, and the audit's findings when one is lost.

use std::sync::Arc;

use crate::cluster::{application, rate, spec};
use towtank_kernel::{Executor, Outcome, RunOptions, run};
use towtank_pfs::{Application, Counts, Entity, Loop, Operation, Pfs, Phase, Record, Replay, Spec};
use towtank_testkit::Finished;
use towtank_units::{SimSpan, SimTime};

const MS: u64 = 1_000_000;

fn write(client: u32, at_ms: u64, bytes: u32) -> Record {
    Record {
        at: SimSpan::from_ms(at_ms),
        offset: 0,
        bytes,
        file: client,
        client,
        operation: Operation::Write,
        from_start: false,
    }
}

/// A file system that takes a millisecond per request and nothing else: an ideal network, and files with
/// known layouts.
fn replaying(pace: Loop, clients: u32, flows: u16, records: Vec<Record>) -> Spec {
    let replay = Some(Arc::new(Replay::new(pace, clients, records)));
    let phases = vec![Phase::Replay];
    let mut spec = spec(vec![Application { phases, flows, replay, ..application(clients, 1) }]);
    spec.cache = None;
    (spec.network.card, spec.network.latency) = (None, SimSpan::from_ns(1));
    (spec.client.request, spec.client.job) = (SimSpan::ZERO, SimSpan::ZERO);
    (spec.server.before, spec.server.after) = (SimSpan::ZERO, SimSpan::ZERO);
    spec.metadata.open = SimSpan::ZERO;
    spec.scheduler.descriptions = vec!["fifo".parse().expect("it is one")];
    let none = towtank_devices::drives::Noise::None;
    spec.disk = crate::cluster::disk(1 << 40, 1 << 40, SimSpan::from_ms(1), none);
    spec
}

fn of(spec: &Spec, end: Option<SimTime>) -> Outcome<Pfs<'_>> {
    let options = RunOptions { executor: Executor::Sequential, end, ..RunOptions::default() };
    run(&Pfs::new(spec), options).expect("its laws hold")
}

/// The number of completed requests, the sum of their latencies in whole milliseconds, and the last
/// completion.
fn done(spec: &Spec) -> (u64, u64, u64) {
    let counts: Counts = of(spec, None).merged_statistics();
    let done = &counts.done[&(0, 0)];
    let sum = done.latencies.mean().expect("some were done") * done.requests as f64;
    (done.requests, (sum / MS as f64).round() as u64, done.last.as_ns() / MS)
}

/// Requests are issued at their times, regardless of completions; two at once wait for each other at the
/// disk, or at the client if it has one flow, and their latency includes that wait.
#[test]
fn an_open_loop_keeps_the_times() {
    let records = || vec![write(0, 50, 4_096), write(0, 10, 4_096), write(0, 10, 4_096), write(0, 11, 4_096)];
    for flows in [1, 2, 64] {
        // 10 to 11, 10 to 12, 11 to 13, 50 to 51.
        assert_eq!(
            done(&replaying(Loop::Open, 1, flows, records())),
            (4, 1 + 2 + 2 + 1, 51),
            "{flows} flows"
        );
    }
}

/// Requests are issued when the previous one has ended, after a wait; or after a wait since the issue of the
/// previous one.
#[test]
fn a_closed_loop_keeps_the_waits() {
    let records = || vec![write(0, 5, 4_096), write(0, 10, 4_096), write(0, 10, 4_096)];
    // 5 to 6, 16 to 17, 27 to 28.
    assert_eq!(done(&replaying(Loop::Closed, 1, 1, records())), (3, 3, 28));
    let from_start = records().into_iter().map(|one| Record { from_start: true, ..one }).collect();
    // 5 to 6, 15 to 16, 25 to 26.
    assert_eq!(done(&replaying(Loop::Closed, 1, 1, from_start)), (3, 3, 26));
    let overdue = vec![write(0, 0, 4_096), Record { from_start: true, ..write(0, 0, 4_096) }];
    assert_eq!(done(&replaying(Loop::Closed, 1, 1, overdue)), (2, 2, 2));
}

/// The completed requests and bytes are those recorded, by application.
#[test]
fn what_was_recorded_is_done() {
    let records: Vec<Record> = (0..100).map(|n| write(n % 3, u64::from(n), 1 + 500 * n)).collect();
    let bytes: u64 = records.iter().map(|one| u64::from(one.bytes)).sum();
    for pace in [Loop::Open, Loop::Closed] {
        let spec = replaying(pace, 5, 4, records.clone());
        let counts: Counts = of(&spec, None).merged_statistics();
        let done = &counts.done[&(0, 0)];
        assert_eq!((done.requests, done.bytes), (100, bytes), "{pace:?}");
        assert_eq!(counts.served.values().sum::<u64>(), bytes, "{pace:?}");
    }
}

/// The audit finds recorded requests that were lost or duplicated behind the model's back.
#[test]
fn a_lost_record_is_noticed() {
    let records: Vec<Record> = (0..40).map(|n| write(n % 2, u64::from(n / 4), 9_000)).collect();
    let mut spec = replaying(Loop::Open, 2, 2, records);
    spec.network.card = Some(rate(1_000_000));
    for ms in [2, 5, 9, 60] {
        let end = Some(SimTime::from_ns(ms * MS));
        of(&spec, end);
    }
    let model = Pfs::new(&spec);
    let finished = Finished::of(of(&spec, None));
    let first = |entities: &mut Vec<Entity>, change: fn(&mut towtank_pfs::Client)| {
        let Some(Entity::Client(client)) = entities.first_mut() else { panic!("entity 0 is a client") };
        change(client);
    };
    let complaint = finished.complaint(&model, "a request that came is forgotten", |state| {
        first(&mut state.entities, |client| client.waiting.push_back(SimTime::ZERO));
    });
    assert!(complaint.contains("20 of 20 requests arrived"), "{complaint}");
    let complaint = finished.complaint(&model, "a record is passed over", |state| {
        first(&mut state.entities, |client| {
            (client.come, client.begun, client.through) = (19, 19, 19);
        });
    });
    assert!(complaint.contains("1 clients expect more requests"), "{complaint}");
    let complaint = finished.complaint(&model, "a record is replayed twice", |state| {
        first(&mut state.entities, |client| {
            (client.come, client.begun, client.through) = (21, 21, 21);
        });
    });
    assert!(complaint.contains("21 requests were started, but there are 20"), "{complaint}");
}
