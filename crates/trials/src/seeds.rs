//! Runs by seed, what they have in common, and the shortest list of faults with which a run still fails.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use towtank_units::SimSpan;

use crate::faults::Kind;
use crate::world::World;

pub use crate::world::{Outcome, Plan};

/// What many runs did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The number of runs.
    pub seeds: u64,
    /// Operations of clients that were answered.
    pub operations: u64,
    /// Those of them that a gateway was asked for.
    pub acts: u64,
    /// Faults, by what they are called.
    pub faults: BTreeMap<&'static str, u64>,
    /// Messages that were sent.
    pub messages: u64,
    /// Messages that were lost, late, repeated or out of order.
    pub disturbed: u64,
    /// Simulated time in nanoseconds.
    pub span_ns: u128,
    /// Runs that ended with objects that are not found.
    pub with_loss: u64,
    /// Runs in which any device could be harmed.
    pub beyond: u64,
    /// Those of them that ended with groups that wait, and said so.
    pub waiting: u64,
}

impl Summary {
    /// A summary of no run.
    #[must_use]
    pub fn new() -> Summary {
        let faults = Kind::ALL.into_iter().map(|kind| (kind.name(), 0)).collect();
        Summary { faults, ..Summary::default() }
    }

    /// Adds a run.
    pub fn add(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.operations += outcome.operations;
        self.acts += outcome.acts;
        for (kind, count) in &outcome.faults {
            *self.faults.entry(kind.name()).or_default() += count;
        }
        self.messages += outcome.messages;
        self.disturbed += outcome.disturbed;
        self.span_ns += u128::from(outcome.span.as_ns());
        self.with_loss += u64::from(outcome.with_loss);
        self.beyond += u64::from(outcome.is_beyond);
        self.waiting += u64::from(outcome.waits);
    }

    /// The simulated time in hours.
    #[must_use]
    pub fn hours(&self) -> f64 {
        self.span_ns as f64 / SimSpan::from_secs(3_600).as_ns() as f64
    }
}

/// Runs one seed. What the cores assert, and does not hold, is a fault of the run.
#[must_use]
pub fn run(plan: &Plan) -> Outcome {
    std::panic::catch_unwind(|| World::new(plan.clone()).run()).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let fault = format!("a core panics: {}", text.unwrap_or_default());
        Outcome { fault: Some(fault), drawn: plan.faults().len(), ..Outcome::default() }
    })
}

/// Runs many seeds, as many at once as there are cores, and hands over how each ended. No further one is
/// begun once `stopped` returns true.
pub fn run_all(
    seeds: RangeInclusive<u64>,
    plan: &(dyn Fn(u64) -> Plan + Sync),
    stopped: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(u64, Outcome) + Sync),
) {
    let next = AtomicU64::new(*seeds.start());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stopped() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if !seeds.contains(&seed) {
                        return;
                    }
                    done(seed, run(&plan(seed)));
                }
            });
        }
    });
}

/// Leaves out faults as long as the run still fails, and returns those that are left, by their places.
#[must_use]
pub fn shrunk(plan: &Plan) -> BTreeSet<usize> {
    let drawn = run(plan).drawn;
    let fails = |only: &BTreeSet<usize>| {
        run(&Plan { only: Some(only.clone()), traces: false, ..plan.clone() }).fault.is_some()
    };
    let mut left: BTreeSet<usize> = plan.only.clone().unwrap_or_else(|| (0..drawn).collect());
    let mut size = left.len().div_ceil(2);
    while size > 0 {
        let places: Vec<usize> = left.iter().copied().collect();
        for without in places.chunks(size) {
            let rest: BTreeSet<usize> = left.iter().copied().filter(|it| !without.contains(it)).collect();
            if rest.len() < left.len() && fails(&rest) {
                left = rest;
            }
        }
        size /= 2;
    }
    left
}
