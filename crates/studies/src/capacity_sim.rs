//! Does a simulated cluster do what two measurements of it promise? The method of `towtank capacity` against our own models.
//!
//! Each replicate drives a cluster with 0, 25, 50, 75 and 100 % reads, so many operations under way at any time; the two ends go to
//! [`towtank_capacity::fit`], and what the model says of the mixes is held against what they did. Where reads and writes wear out the same thing, C
//! is constant; where reads come from caches and writes from disks, it is not. Then the constant is spent: an open loop offers more than
//! the cluster can do, in mixes that change, and a budget of C per second decides who comes in, beside a fixed limit of operations and
//! a regulator that watches the disks.
//!
//! - `scenario`: what a user may say; `model`: the cluster; `admission`: who comes in;
//! - `runs`: what a replicate does; `present`: what the report shows.

mod admission;
mod model;
mod present;
mod runs;
mod scenario;

use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use self::runs::{READS, size_model};
use self::scenario::Scenario;
use crate::{Flag, MeasureSpec, PointResult, Prepared, Presentation, RunContext, Study, StudyError};

/// The study of capacity on simulated clusters.
#[derive(Clone, Copy, Debug)]
pub struct CapacitySim;

const FLAGS: &[Flag] = &[
    Flag { name: "system", key: "system" },
    Flag { name: "servers", key: "servers" },
    Flag { name: "replicas", key: "replicas" },
    Flag { name: "size", key: "size" },
    Flag { name: "depth", key: "depth" },
    Flag { name: "disk", key: "disk" },
    Flag { name: "link", key: "link" },
    Flag { name: "cache-hits", key: "cache_hits" },
    Flag { name: "fast-servers", key: "fast_servers" },
    Flag { name: "duration", key: "duration" },
    Flag { name: "target", key: "control.target" },
];

macro_rules! controlled {
    ($($prefix:literal),*) => { &[
        MeasureSpec { name: "reads_per_second", unit: "operations/s", about: "pure reads, T100r: the constant C" },
        MeasureSpec { name: "writes_per_second", unit: "operations/s", about: "pure writes, T100w" },
        MeasureSpec { name: "f_rw", unit: "", about: "how many reads a write costs" },
        MeasureSpec { name: "error_25", unit: "ratio", about: "how far the estimate at 25 % reads lies above what was measured" },
        MeasureSpec { name: "error_50", unit: "ratio", about: "the same at 50 % reads" },
        MeasureSpec { name: "error_75", unit: "ratio", about: "the same at 75 % reads" },
        MeasureSpec { name: "error_worst", unit: "ratio", about: "the largest of the three, whatever its sign" },
        $(
        MeasureSpec { name: concat!($prefix, "_utilisation"), unit: "fraction", about: "how busy disks were, with this way of letting operations in" },
        MeasureSpec { name: concat!($prefix, "_deviation"), unit: "fraction", about: "how far windows lay from the target, on average" },
        MeasureSpec { name: concat!($prefix, "_per_second"), unit: "operations/s", about: "operations done" },
        MeasureSpec { name: concat!($prefix, "_sent_away"), unit: "fraction", about: "the part of operations that was sent away" },
        MeasureSpec { name: concat!($prefix, "_latency_p99_us"), unit: "us", about: "latency that 99 % do not exceed" },
        )*
    ] };
}

/// All measures: seven of the method, five of each way of letting operations in.
const MEASURES: &[MeasureSpec] = controlled!("budget", "fixed", "pid");
const OF_THE_METHOD: usize = 7;

impl Study for CapacitySim {
    fn name(&self) -> &'static str {
        "capacity-sim"
    }

    fn title(&self) -> &'static str {
        "whether a simulated cluster does of mixes what its pure reads and writes promise"
    }

    fn about(&self) -> &'static str {
        "A cluster is driven with pure reads, pure writes and three mixes of them; the ends make a model as `towtank capacity fit` \
         makes it, and the mixes are held against it. `system` is a plain one of disks, cards and a cache with a fixed share of hits, \
         or that of `towtank put` with one of its protocols.\n\n\
         On the plain one the model's constant is then spent: more is offered than the cluster can do, in mixes that change, and a \
         budget keeps the disks at a target, beside a fixed limit and a PID regulator. Not modelled: clients' links, caches that \
         fill, and parallel file systems."
    }

    fn results_version(&self) -> u32 {
        2
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    fn schema(&self) -> schemars::Schema {
        schemars::schema_for!(Scenario)
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        MEASURES
    }

    fn memory_keys(&self) -> &'static [&'static str] {
        &["servers", "depth"]
    }

    fn check(&self, draft: &Draft) -> Result<Box<dyn Prepared>, Problems> {
        let scenario = draft.read::<Scenario>()?.checked(draft)?;
        Ok(Box::new(Ready { scenario }))
    }

    fn present(&self, points: &[PointResult<'_>]) -> Presentation {
        present::present(points)
    }
}

/// A checked scenario.
struct Ready {
    scenario: Scenario,
}

impl Prepared for Ready {
    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.scenario).expect("a scenario came out of text and goes back into it")
    }

    fn memory_estimate(&self) -> Option<Bytes> {
        Some(runs::memory_estimate(&self.scenario))
    }

    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError> {
        let all = runs::replicate(&self.scenario, context)?;
        let mut outcome = Outcome {
            events: all.events,
            partial: all.partial,
            digest: Some(all.digests.join(" ")),
            ..Outcome::default()
        };
        for (measure, value) in MEASURES.iter().zip(self.values(&all.measured, all.partial)) {
            match value {
                Ok(value) => outcome.measure(measure.name, value, measure.unit),
                Err(reason) => outcome.missing(measure.name, measure.unit, reason),
            }
        }
        let json = serde_json::to_value(&all.measured).expect("they are plain numbers");
        outcome.series.insert("measured".to_owned(), json);
        Ok(outcome)
    }
}

impl Ready {
    /// A value for each of [`MEASURES`], or why there is none.
    fn values(&self, measured: &runs::Measured, partial: bool) -> Vec<Result<f64, &'static str>> {
        let nothing = if partial { STOPPED } else { "nothing was done in one of the runs" };
        let mut values = self.of_the_method(&measured.iops, nothing);
        let target = self.scenario.control.target.fraction_f64();
        let why = if self.scenario.protocol().is_some() {
            "who comes in is decided only for `system = \"disks\"`"
        } else {
            nothing
        };
        let no_window = "no window of `control.window` ends in the measured span";
        for at in 0..3 {
            match measured.controlled.get(at) {
                None => values.extend([Err(why); 5]),
                Some(one) => values.extend([
                    one.utilisation().ok_or(no_window),
                    one.deviation(target).ok_or(no_window),
                    Ok(one.per_second),
                    one.sent_away.ok_or(nothing),
                    one.p99_us.ok_or(nothing),
                ]),
            }
        }
        values
    }

    /// The measures of the method: what a model says, where there is one, and how far off it is.
    fn of_the_method(&self, iops: &[Option<f64>], why: &'static str) -> Vec<Result<f64, &'static str>> {
        let Some(model) = size_model(&self.scenario, iops) else {
            let [writes, _, _, _, reads] = READS.map(|at| rate_at(iops, at).ok_or(why));
            let mut values = vec![reads, writes];
            values.resize(OF_THE_METHOD, Err(why));
            return values;
        };
        let errors = [25, 50, 75].map(|at| {
            rate_at(iops, at).map(|rate| model.straight(at as f64 / 100.0) / rate - 1.0).ok_or(why)
        });
        let worst = errors.iter().try_fold(0.0_f64, |worst, error| error.map(|error| worst.max(error.abs())));
        let ends = [model.reads.iops.value, model.writes.iops.value, model.f_rw()];
        ends.into_iter().map(Ok).chain(errors).chain([worst]).collect()
    }
}

const STOPPED: &str = "the run was stopped before it was measured";

/// What was measured at a share of reads.
fn rate_at(iops: &[Option<f64>], reads: u64) -> Option<f64> {
    let at = READS.iter().position(|one| *one == reads)?;
    iops.get(at).copied().flatten()
}

#[cfg(test)]
mod tests;
