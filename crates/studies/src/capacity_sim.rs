//! Does a simulated cluster do what two measurements of it promise? The method of `towtank capacity` against
//! our own models.
//!
//! Each replicate drives a cluster with 0, 25, 50, 75 and 100 % reads, so many operations under way at any
//! time; the two ends go to [`towtank_capacity::fit`], and what the model says of the mixes is held against
//! what they did. Where reads and writes wear out the same thing, C is constant; where reads come from caches
//! and writes from disks, it is not. Then the constant is spent: an open loop offers more than the cluster
//! can do, in mixes that change, and a budget of C per second decides who comes in, beside a fixed limit of
//! operations and a regulator that watches the disks.
//!
//! - `scenario`: what a user may say; `model`: the cluster; `admission`: who comes in;
//! - `runs`: what a replicate does; `observed`: its measures; `present`: what the report shows.

mod admission;
mod model;
mod observed;
mod present;
mod runs;
mod scenario;

use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use self::observed::{Kept, Seen};
use self::scenario::Scenario;
use crate::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError};

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

impl Question for CapacitySim {
    const NAME: &'static str = "capacity-sim";
    const TITLE: &'static str =
        "whether a simulated cluster does of mixes what its pure reads and writes promise";
    const ABOUT: &'static str = "A cluster is driven with pure reads, pure writes and three mixes of them; the ends make a model as `towtank capacity fit` \
        makes it, and the mixes are held against it. `system` is a plain one of disks, cards and a cache with a fixed share of hits, \
        or that of `towtank put` with one of its protocols.\n\n\
        On the plain one the model's constant is then spent: more is offered than the cluster can do, in mixes that change, and a \
        budget keeps the disks at a target, beside a fixed limit and a PID regulator. Not modelled: clients' links, caches that \
        fill, and parallel file systems.";
    const RESULTS_VERSION: u32 = 3;
    const FLAGS: &'static [Flag] = FLAGS;
    const MEMORY_KEYS: &'static [&'static str] = &["servers", "depth"];

    type Scenario = Scenario;
    type Settled = Scenario;
    type Ready = Scenario;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Scenario, Problems> {
        scenario.checked(draft)
    }

    fn settled(ready: &Scenario) -> &Scenario {
        ready
    }

    fn memory(ready: &Scenario) -> Option<Bytes> {
        Some(runs::memory_estimate(ready))
    }

    fn measures() -> Vec<Measure<Seen>> {
        observed::measures()
    }

    fn run(ready: &Scenario, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        let all = runs::replicate(ready, context)?;
        let beside = Outcome {
            events: all.events,
            partial: all.partial,
            digest: Some(all.digests.join(" ")),
            ..Outcome::default()
        };
        Ok(Replicate { seen: Ok(Seen::of(ready, all.measured, all.partial)), beside })
    }

    fn keep(seen: Seen) -> Kept {
        Kept { measured: seen.measured }
    }

    fn present(points: &Points<'_, CapacitySim>) -> Presentation {
        present::present(points)
    }
}

#[cfg(test)]
mod tests;
