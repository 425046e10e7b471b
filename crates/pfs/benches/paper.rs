//! The time of the read test of the PFSsim paper: 64 clients, 25,600 requests, 102,400 jobs, written and then
//! read; job by job, and in packets of 16 KiB.

// A benchmark reads the clock.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/pfs/cluster.rs"]
mod cluster;

use std::time::Instant;

use cluster::{application, spec};
use towtank_kernel::{RunOptions, run};
use towtank_pfs::{Application, Pfs, Phase, Spec};

/// Median, least and most milliseconds of the runs, and events.
fn timed(spec: &Spec, runs: usize) -> (f64, f64, f64, u64) {
    let mut events = 0;
    let mut took: Vec<f64> = (0..runs)
        .map(|_| {
            let started = Instant::now();
            events = run(&Pfs::new(spec), RunOptions::default()).unwrap().run.committed;
            1e3 * started.elapsed().as_secs_f64()
        })
        .collect();
    took.sort_by(f64::total_cmp);
    (took[runs / 2], took[0], took[runs - 1], events)
}

fn main() {
    let runs = std::env::args().skip(1).find_map(|text| text.parse().ok()).unwrap_or(5);
    println!("{:<44} {:>9} {:>18} {:>10}", "case", "median ms", "least to most", "events");
    let both = |clients: u32| application(clients, 400);
    let write = Application { phases: vec![Phase::Write], ..both(64) };
    let cases: [(&str, Spec); 5] = [
        ("64 clients write, jobs", spec(vec![write])),
        ("64 clients write and read, jobs", spec(vec![both(64)])),
        ("64 clients read a cold cache, jobs", {
            let read = Application { phases: vec![Phase::Read], ..both(64) };
            spec(vec![read])
        }),
        ("64 clients read a cold cache, 16 KiB packets", {
            let read = Application { phases: vec![Phase::Read], ..both(64) };
            let mut spec = spec(vec![read]);
            spec.network.slice = Some(16 << 10);
            spec
        }),
        ("8 clients write and read, jobs", spec(vec![both(8)])),
    ];
    // `-- 9 cold`: nine runs of the cases with this word in their names.
    let word = std::env::args().skip(1).find(|text| !text.starts_with('-') && text.parse::<usize>().is_err());
    for (name, spec) in cases {
        if word.as_ref().is_some_and(|word| !name.contains(word.as_str())) {
            continue;
        }
        let (median, least, most, events) = timed(&spec, runs);
        println!("{name:<44} {median:>9.1} {least:>8.1} to {most:<7.1} {events:>10}");
    }
}
