//! Compares the candidates for the pending-event set on the distributions of delays that simulations have;
//! produces the table in `docs/measurements/pending-set.md`.
//!
//! `cargo bench -p towtank-kernel --bench pending [-- --records 100,16384] [--rounds 5] [--only exponential]`
//!
//! The hold model (Jones, "An empirical comparison of priority-queue and event-set implementations", 1986): a
//! set is filled, then a record is popped and pushed back after a delay, repeatedly. The result is the
//! processor time of one such hold in nanoseconds, including the draw of the delay, as the median of rounds
//! in which the candidates take turns.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

#[allow(dead_code, reason = "each bench uses what it needs")]
mod measure;

use measure::{Arguments, Outcome, Rates, Span};
use towtank_kernel::pending::{DaryHeap, Ladder, PendingSet, RadixQueue};
use towtank_kernel::{EntityId, EventKey, Scheduled};
use towtank_streams::mix;
use towtank_units::SimTime;

type Record = Scheduled<()>;

/// The delay of a hold at a given time, from a random word. A time unit is 10^9 ns.
type Delay = fn(noise: u64, now: u64) -> u64;

const UNIT: u64 = 1_000_000_000;

const DISTRIBUTIONS: [(&str, Delay); 10] = [
    ("exponential", |noise, _| exponential(noise, UNIT)),
    ("exponential, look-ahead", |noise, _| UNIT / 10 + exponential(noise, UNIT * 9 / 10)),
    ("uniform", |noise, _| noise % (2 * UNIT)),
    ("bursts", |noise, _| UNIT + noise % 1000),
    ("ties", |_, _| UNIT),
    ("zero delays", |noise, _| if noise.is_multiple_of(4) { UNIT } else { 0 }),
    ("far timers, 1 in 100", |noise, _| {
        if noise.is_multiple_of(100) { 86_400 * UNIT } else { exponential(noise, UNIT) }
    }),
    (
        "far timers, 1 in 2",
        |noise, _| if noise.is_multiple_of(2) { 1000 * UNIT } else { exponential(noise, UNIT) },
    ),
    ("heavy tail", |noise, _| (1e6 * unit(noise).powf(-1.0 / 1.1)) as u64),
    ("alternating density", |noise, now| {
        exponential(noise, if (now / (10 * UNIT)).is_multiple_of(2) { UNIT } else { UNIT / 1000 })
    }),
];

fn unit(noise: u64) -> f64 {
    ((noise >> 11) + 1) as f64 / (1u64 << 53) as f64
}

fn exponential(noise: u64, mean: u64) -> u64 {
    (-unit(noise).ln() * mean as f64) as u64
}

fn main() {
    let arguments = Arguments::read();
    let rounds = arguments.number("--rounds").unwrap_or(5.0) as usize;
    let sizes =
        arguments.list("--records").unwrap_or_else(|| vec![10, 100, 1_000, 16_384, 262_144, 4_194_304]);
    let only = arguments.text("--only");
    println!("| delays | records | 4-ary heap | ladder | radix heap | heap / ladder |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (name, delay) in DISTRIBUTIONS {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        for &records in &sizes {
            compare(name, delay, records, rounds);
        }
    }
}

fn compare(name: &str, delay: Delay, records: u64, rounds: usize) {
    let mut rates = [Rates::default(), Rates::default(), Rates::default()];
    for _ in 0..rounds {
        let heap = hold::<DaryHeap<Record>>(records, delay, &mut rates[0]);
        let ladder = hold::<Ladder<Record>>(records, delay, &mut rates[1]);
        let radix = hold::<RadixQueue<Record>>(records, delay, &mut rates[2]);
        assert!(heap == ladder && heap == radix, "all candidates pop the same records");
    }
    let nanoseconds = rates.each_ref().map(|rates| 1e3 / rates.median(Span::Cpu));
    let [heap, ladder, radix] = nanoseconds;
    println!("| {name} | {records} | {heap:.0} | {ladder:.0} | {radix:.0} | {:.2} |", heap / ladder);
}

/// Fills a set and times holds; the checksum depends on every record popped.
fn hold<S: PendingSet<Record> + Default>(records: u64, delay: Delay, rates: &mut Rates) -> Outcome {
    let mut set = S::default();
    let mut pushed = 0;
    let mut push = |set: &mut S, now: u64| {
        let noise = mix(pushed ^ 0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b);
        let (at, origin) =
            (SimTime::from_ns(now.saturating_add(delay(noise, now))), EntityId(noise as u32 % 1024));
        let key = EventKey { at, step: 0, origin, sequence: pushed };
        set.push(Scheduled { key, to: origin, timer: false, event: () });
        pushed += 1;
    };
    (0..records).for_each(|_| push(&mut set, 0));
    let mut hold = |set: &mut S| {
        let popped = set.pop().expect("a hold pushes what it pops").key;
        push(set, popped.at.as_ns());
        popped.sequence
    };
    // Skips the first records, which differ from those that follow.
    for _ in 0..records / 2 {
        hold(&mut set);
    }
    let events = (records / 2).clamp(1_000_000, 4_000_000);
    rates.time(|| {
        let check = (0..events).fold(0u64, |check, _| check.wrapping_mul(31) ^ hold(&mut set));
        Outcome { events, pending: set.len() as u64, check }
    })
}
