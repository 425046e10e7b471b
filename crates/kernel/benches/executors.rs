//! Compares the parallel executors with the sequential one on PHOLD, also under memory pressure.
//!
//! `cargo bench -p towtank-kernel --bench executors [-- --rounds 5 --workers 2 --lps 16384 --end 20]`
//!
//! The executors take turns. Reported are medians by the wall clock, with minimum and maximum, without
//! initialisation, and the median of the speed-ups of the rounds. On a machine with fewer free cores than
//! workers the figures mean nothing. The digests are compared, so a fast wrong result is not accepted.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

#[allow(dead_code, reason = "each bench uses what it needs")]
mod measure;

use measure::{Arguments, Outcome, Rates, Span};
use towtank_kernel::phold::Phold;
use towtank_kernel::{Executor, RunOptions, RunStatistics, prepare};
use towtank_streams::Seed;
use towtank_units::{SimSpan, SimTime};

/// Integer steps that take about a microsecond on the machine of `BENCHMARKS.md`.
const MICROSECOND: u32 = 500;

/// Nanoseconds per unit of time of PHOLD.
const UNIT_NS: f64 = 1e9;

/// One run.
#[derive(Clone, Copy)]
struct Trial {
    model: Phold,
    end: SimTime,
    executor: Executor,
    workers: u32,
    batch: u32,
    history_max: u32,
}

impl Trial {
    fn run(self, rates: &mut Rates) -> (u64, RunStatistics) {
        let options = RunOptions {
            seed: Seed(1),
            end: Some(self.end),
            executor: self.executor,
            workers: self.workers,
            batch: self.batch,
            history_max: self.history_max,
            ..RunOptions::default()
        };
        let prepared = prepare(&self.model, options).expect("the benchmark's options are sound");
        let mut run = RunStatistics::default();
        let outcome = rates.time(|| {
            let outcome = prepared.run().expect("PHOLD cannot fail");
            run = outcome.run;
            Outcome { events: outcome.run.committed, pending: outcome.pending, check: outcome.digest.0 }
        });
        (outcome.check, run)
    }
}

fn main() {
    let arguments = Arguments::read();
    let rounds = arguments.number("--rounds").unwrap_or(5.0) as usize;
    let workers = arguments.number("--workers").unwrap_or(2.0) as u32;
    let lps = arguments.number("--lps").unwrap_or(16_384.0) as u32;
    let end = arguments.number("--end").unwrap_or(20.0);
    println!("M events/s by wall, median (least to greatest) of {rounds} rounds; {workers} workers");
    for (work, end) in [(0, end), (MICROSECOND, end / 4.0)] {
        println!("\n{lps} processes, remote 0.1, look-ahead 0.1, {work} steps of work an event, end {end}");
        speed_up(trial(lps, 0.1, 0.1, work, end), workers, rounds);
    }
    println!("\nunder pressure: 1024 processes, remote 0.5, batches of 4096, history of 100,000");
    for look_ahead in [0.1, 0.0] {
        let pressed = Trial { batch: 4096, history_max: 100_000, ..trial(1024, 0.5, look_ahead, 0, 20.0) };
        pressure(pressed, workers, rounds);
    }
}

fn trial(processes: u32, remote: f64, look_ahead: f64, work: u32, end: f64) -> Trial {
    let ns = |units: f64| (units * UNIT_NS) as u64;
    let (look_ahead, mean) = (SimSpan::from_ns(ns(look_ahead)), SimSpan::from_ns(ns(1.0)));
    let model = Phold { processes, start_events: 16, remote, look_ahead, mean, work };
    let RunOptions { batch, history_max, .. } = RunOptions::default();
    let end = SimTime::from_ns(ns(end));
    Trial { model, end, executor: Executor::Sequential, workers: 1, batch, history_max }
}

fn speed_up(sequential: Trial, workers: u32, rounds: usize) {
    let contestants = [
        ("sequential", sequential),
        ("conservative", Trial { executor: Executor::Conservative, workers, ..sequential }),
        ("optimistic, 1", Trial { executor: Executor::Optimistic, ..sequential }),
        ("optimistic", Trial { executor: Executor::Optimistic, workers, ..sequential }),
    ];
    let mut rates = contestants.map(|_| Rates::default());
    let mut efficiency = [1.0; 4];
    for _ in 0..rounds {
        let mut want = None;
        for (place, (name, trial)) in contestants.iter().enumerate() {
            let (digest, run) = trial.run(&mut rates[place]);
            assert_eq!(*want.get_or_insert(digest), digest, "{name} has another result");
            efficiency[place] = run.efficiency();
        }
    }
    for (place, (name, _)) in contestants.iter().enumerate() {
        let times = rates[place].median_ratio(&rates[0]);
        println!(
            "  {name:14} {} × {times:.2}, efficiency {:.4}",
            rates[place].spread(Span::Wall),
            efficiency[place]
        );
    }
}

fn pressure(sequential: Trial, workers: u32, rounds: usize) {
    let (want, _) = sequential.run(&mut Rates::default());
    let trial = Trial { executor: Executor::Optimistic, workers, ..sequential };
    let mut rates = Rates::default();
    for round in 0..rounds {
        let (digest, run) = trial.run(&mut rates);
        assert_eq!(digest, want, "pressure changes the result");
        if round + 1 == rounds {
            println!(
                "  look-ahead {}: {}, efficiency {:.3}, {} rollbacks, {} anti-messages, {} events taken back",
                trial.model.look_ahead.as_ns() as f64 / UNIT_NS,
                rates.spread(Span::Wall),
                run.efficiency(),
                run.rollbacks(),
                run.anti_messages,
                run.rolled_back,
            );
        }
    }
}
