//! The set-up of the PFSsim paper compared with a model that was written independently of this one.

use crate::cluster::{application, spec};
use towtank_kernel::{RunOptions, run};
use towtank_pfs::{Counts, Pfs};

/// Clients, and MiB/s of writes and reads of the reference's throw-away model F (`derived_fig2_fig3.csv`).
const REFERENCE: [(u32, f64, f64); 3] = [(4, 80.0, 210.0), (8, 39.0, 420.0), (16, 31.0, 67.0)];

/// MiB/s of writes and reads.
fn throughput(clients: u32, files: u64, fifth: bool) -> (f64, f64) {
    let mut spec = spec(vec![application(clients, files)]);
    if fifth {
        // A fifth of the files, and of the cache: the same points of the curve.
        let cache = spec.cache.as_mut().expect("it has one");
        (cache.pages, cache.dirty) = (45_000, 20_250);
    }
    let outcome = run(&Pfs::new(&spec), RunOptions::default()).expect("it runs");
    let counts: Counts = outcome.merged_statistics();
    let of = |phase: u16| {
        let done = &counts.done[&(phase, 0)];
        done.bytes as f64 / f64::from(1 << 20) / done.last.since(counts.began[&phase]).as_secs_f64()
    };
    (of(0), of(1))
}

/// Within 15 %: the other model has no windows, no headers, and links job by job.
#[test]
fn curves_are_those_of_another_model() {
    for (clients, writes, reads) in REFERENCE {
        let (ours_written, ours_read) = throughput(clients, 80, true);
        let near = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() < 0.15;
        assert!(near(ours_written, writes), "{clients} clients write {ours_written} MiB/s, {writes} there");
        assert!(near(ours_read, reads), "{clients} clients read {ours_read} MiB/s, {reads} there");
    }
}

/// The purpose of the comparison: without the overheads the links saturate, and reads do not double.
#[test]
fn without_overheads_the_curve_is_another() {
    let reads = |clients: u32| {
        let mut spec = spec(vec![application(clients, 40)]);
        (spec.server.before, spec.server.after) =
            (towtank_units::SimSpan::ZERO, towtank_units::SimSpan::ZERO);
        let outcome = run(&Pfs::new(&spec), RunOptions::default()).expect("it runs");
        let counts: Counts = outcome.merged_statistics();
        let done = &counts.done[&(1, 0)];
        done.bytes as f64 / done.last.since(counts.began[&1]).as_secs_f64()
    };
    let growth = reads(8) / reads(4);
    assert!(growth < 1.9, "{growth}");
}
