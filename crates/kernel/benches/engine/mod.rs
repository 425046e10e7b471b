//! The workload of the loops on the kernel's sequential executor.

use towtank_kernel::phold::Phold;
use towtank_kernel::{RunOptions, prepare};
use towtank_streams::Seed;
use towtank_units::{SimSpan, SimTime};

use crate::bare::{UNIT_NS, Workload};
use crate::measure::{Outcome, Rates};

/// Runs the workload, records the rate, and returns the number of events handled.
pub fn engine(workload: Workload, rates: &mut Rates) -> u64 {
    let span = |units: f64| SimSpan::from_ns((units * UNIT_NS) as u64);
    let model = Phold {
        processes: workload.lps,
        start_events: workload.start_events,
        remote: workload.remote,
        look_ahead: span(workload.lookahead),
        mean: span(workload.mean),
        work: 0,
    };
    let end = Some(SimTime::from_ns(workload.end_ns()));
    let options = RunOptions { seed: Seed(workload.seed), end, ..RunOptions::default() };
    let prepared = prepare(&model, options).expect("the benchmark's options are sound");
    let outcome = rates.time(|| {
        let outcome = prepared.run().expect("PHOLD cannot fail");
        Outcome { events: outcome.run.committed, pending: outcome.pending, check: outcome.digest.0 }
    });
    outcome.events
}
