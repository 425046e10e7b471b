//! Recorded requests replayed per second in an open loop: reads and writes of 4 to 64 KiB of 64 streams, on
//! constant-rate disks, without a cache, on an ideal network.

// A benchmark reads the clock.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/pfs/cluster.rs"]
mod cluster;

use std::sync::Arc;
use std::time::Instant;

use cluster::{application, disk, spec};
use towtank_devices::drives::Noise;
use towtank_kernel::{RunOptions, run};
use towtank_pfs::{Application, Component, Loop, Operation, Pfs, Phase, Record, Replay, Spec, Striping};
use towtank_units::SimSpan;

const CLIENTS: u32 = 64;

/// Records in order of time, `gap_ns` apart.
fn records(count: u64, gap_ns: u64) -> Vec<Record> {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        // Knuth's 64-bit generator: its upper half is good enough here.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..count)
        .map(|number| Record {
            at: SimSpan::from_ns(number * gap_ns),
            offset: draw(1 << 20) << 12,
            bytes: (1 + draw(16) as u32) << 12,
            file: draw(64) as u32,
            client: draw(u64::from(CLIENTS)) as u32,
            operation: if draw(3) == 0 { Operation::Write } else { Operation::Read },
            from_start: false,
        })
        .collect()
}

/// A file system without overheads: this many servers, on which files lie in stripes of 1 MiB.
fn replaying(count: u64, servers: u32) -> Spec {
    let replay = Some(Arc::new(Replay::new(Loop::Open, CLIENTS, records(count, 10_000))));
    let one = Application { phases: vec![Phase::Replay], flows: 4_096, replay, ..application(CLIENTS, 1) };
    let mut spec = spec(vec![one]);
    spec.servers = servers;
    spec.striping = Striping::new(servers, vec![Component { end: None, count: servers, stripe: 1 << 20 }]);
    spec.cache = None;
    (spec.network.card, spec.network.latency) = (None, SimSpan::from_us(20));
    (spec.client.request, spec.client.job) = (SimSpan::from_us(10), SimSpan::from_us(5));
    (spec.client.window, spec.client.layouts_are_kept) = (64 << 20, true);
    (spec.server.before, spec.server.after) = (SimSpan::from_us(20), SimSpan::from_us(10));
    (spec.server.threads, spec.server.part) = (64, 1 << 20);
    spec.scheduler.descriptions = vec!["fifo".parse().unwrap()];
    spec.disk = disk(6_000_000_000, 3_000_000_000, SimSpan::from_us(30), Noise::None);
    spec
}

fn main() {
    let count = std::env::args().skip(1).find_map(|text| text.parse().ok()).unwrap_or(1_000_000);
    for servers in [4, 16] {
        let spec = replaying(count, servers);
        let started = Instant::now();
        let outcome = run(&Pfs::new(&spec), RunOptions::default()).unwrap();
        let took = started.elapsed().as_secs_f64();
        println!(
            "{servers:>2} servers: {count} requests in {took:.2} s, {:.2} million/s, {} events, digest {}",
            count as f64 / took / 1e6,
            outcome.run.committed,
            outcome.digest
        );
    }
}
