//! PHOLD on Towtank's sequential executor, on simcore (DSLab's engine, from the crates registry) and in the
//! two bare loops, in turn and in one process.
//!
//! `cargo run --release --manifest-path peers/Cargo.toml -- [--lps 1024,16384] [--rounds 5]`
//!
//! simcore's events are boxed and dynamically typed and its time is a float; its processes draw what the
//! loops' draw. Both engines get the processes' states through their own interfaces only.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

#[path = "../../crates/kernel/benches/bare/mod.rs"]
mod bare;
#[path = "../../crates/kernel/benches/engine/mod.rs"]
mod engine;
#[allow(dead_code, reason = "each bench uses what it needs")]
#[path = "../../crates/kernel/benches/measure/mod.rs"]
mod measure;
mod simcore_phold;

use bare::Workload;
use bare::bucket_loop::BucketLoop;
use bare::heap_loop::HeapLoop;
use engine::engine;
use measure::{Arguments, Rates, Span};

/// Sizes and ends: those of the kernel's own bench, but shorter, since the peer takes its time.
const SIZES: [(u32, f64); 4] = [(1_024, 200.0), (16_384, 10.0), (262_144, 1.5), (1_048_576, 0.5)];

fn main() {
    let arguments = Arguments::read();
    let rounds = arguments.number("--rounds").unwrap_or(5.0) as usize;
    let sizes = arguments.list("--lps").unwrap_or_else(|| SIZES.map(|(lps, _)| u64::from(lps)).to_vec());
    println!(
        "M events/s, median (least to greatest) of {rounds} rounds; remote 0.25, mean 1, look-ahead 0.1"
    );
    for (lps, end) in SIZES.into_iter().filter(|&(lps, _)| sizes.contains(&u64::from(lps))) {
        compare(
            Workload { lps, start_events: 16, remote: 0.25, mean: 1.0, lookahead: 0.1, end, seed: 1 },
            rounds,
        );
    }
}

fn compare(workload: Workload, rounds: usize) {
    let mut rates = [Rates::default(), Rates::default(), Rates::default(), Rates::default()];
    for _ in 0..rounds {
        let peer = simcore_phold::prepare(workload);
        rates[0].time(|| peer.run());
        let heap = HeapLoop::new(workload);
        rates[1].time(|| heap.run());
        let bucket = BucketLoop::new(workload);
        rates[2].time(|| bucket.run());
        engine(workload, &mut rates[3]);
    }
    println!("\n{} processes, end {}", workload.lps, workload.end);
    for (name, rates) in ["simcore", "heap loop", "bucket loop", "towtank"].iter().zip(&rates) {
        println!("  {name:12} {rates}");
    }
    let times = rates[3].median(Span::Cpu) / rates[0].median(Span::Cpu);
    println!("  towtank / simcore {times:.2} by processor time");
}
