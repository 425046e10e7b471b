//! Compares the kernel's sequential executor with two hand-written PHOLD loops (see `bare`).
//!
//! `cargo bench -p towtank-kernel --bench phold [-- --lps 1024,16384] [--rounds 5] [--remote 0.25]`
//!
//! The contestants take turns, so that other load on the machine affects all of them alike. Reported are
//! medians, with minimum and maximum. A rate is the number of events handled per second of the run, without
//! initialisation: by the wall clock, and by processor time, which is more reliable on a busy machine.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

mod bare;
mod engine;
#[allow(dead_code, reason = "each bench uses what it needs")]
mod measure;

use bare::Workload;
use bare::bucket_loop::BucketLoop;
use bare::heap_loop::HeapLoop;
use engine::engine;
use measure::{Arguments, Rates, Span};

/// Sizes with their end times: long enough for a steady state, short enough to be run often.
const SIZES: [(u32, f64); 4] = [(1_024, 1_000.0), (16_384, 60.0), (262_144, 8.0), (1_048_576, 4.0)];

fn main() {
    let arguments = Arguments::read();
    let rounds = arguments.number("--rounds").unwrap_or(5.0) as usize;
    let remote = arguments.number("--remote").unwrap_or(0.25);
    let share = arguments.number("--share").unwrap_or(1.0);
    let sizes = arguments.list("--lps").unwrap_or_else(|| SIZES.map(|(lps, _)| u64::from(lps)).to_vec());
    println!(
        "M events/s, median (least to greatest) of {rounds} rounds; remote {remote}, mean 1, look-ahead 0.1"
    );
    for (lps, end) in SIZES.into_iter().filter(|&(lps, _)| sizes.contains(&u64::from(lps))) {
        let end = end * share;
        let workload = Workload { lps, start_events: 16, remote, mean: 1.0, lookahead: 0.1, end, seed: 1 };
        compare(workload, rounds);
    }
}

fn compare(workload: Workload, rounds: usize) {
    let mut rates = [Rates::default(), Rates::default(), Rates::default()];
    for round in 0..rounds {
        let heap = HeapLoop::new(workload);
        let heap = rates[0].time(|| heap.run());
        let bucket = BucketLoop::new(workload);
        let bucket = rates[1].time(|| bucket.run());
        assert_eq!(heap, bucket, "the loops run one workload");
        let events = engine(workload, &mut rates[2]);
        if round == 0 {
            println!(
                "\n{} processes, end {}: {} events, engine {events}",
                workload.lps, workload.end, heap.events
            );
        }
    }
    let [heap, bucket, engine] = &rates;
    for (name, rates) in [("heap loop", heap), ("bucket loop", bucket), ("towtank", engine)] {
        println!("  {name:12} {rates}");
    }
    let ratio = |other: &Rates| {
        (
            engine.median(Span::Wall) / other.median(Span::Wall),
            engine.median(Span::Cpu) / other.median(Span::Cpu),
        )
    };
    println!("  towtank / heap loop   {:.2} by wall, {:.2} by processor time", ratio(heap).0, ratio(heap).1);
    println!(
        "  towtank / bucket loop {:.2} by wall, {:.2} by processor time",
        ratio(bucket).0,
        ratio(bucket).1
    );
}
