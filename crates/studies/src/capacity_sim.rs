//! Does a simulated cluster do what two measurements of it predict? The method of `towtank capacity`, applied
//! to simulated clusters.
//!
//! Each replicate drives a cluster with 0, 25, 50, 75 and 100 % reads, with a fixed number of operations
//! under way at any time. The two pure mixes go to [`towtank_capacity::fit`], and the predictions of the
//! model for the other mixes are compared with the measured rates. Where reads and writes use the same
//! resource, C is constant; where caches serve reads and disks serve writes, it is not. Then admission
//! control is tested: an open loop offers more than the cluster can do, in mixes that change, and three
//! rules of admission are compared: a budget of C per second, a fixed limit of operations, and a regulator
//! that watches the disks. A mix of sizes (`mix`) is run with its shares held in three ways, beside the
//! estimates for shares that are counted in each.
//!
//! - `scenario`: the keys of a scenario; the cluster is [`towtank_serving`];
//! - `runs`: the runs of a replicate; `mixes`: those of a mix of sizes; `observed`: its measures; `present`
//!   and `shares`: the contents of the report.

mod mixes;
mod observed;
mod present;
mod runs;
mod scenario;
mod shares;

use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use self::observed::{Kept, Seen};
use self::scenario::Scenario;
use towtank_study::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError};

/// The study of capacity on simulated clusters.
#[derive(Clone, Copy, Debug)]
pub struct CapacitySim;

const FLAGS: &[Flag] = &[
    Flag { name: "system", key: "system" },
    Flag { name: "servers", key: "servers" },
    Flag { name: "replicas", key: "replicas" },
    Flag { name: "ack", key: "ack" },
    Flag { name: "size", key: "size" },
    Flag { name: "mix", key: "mix" },
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
        "whether rates of pure reads and pure writes predict those of mixes on a simulated cluster";
    const ABOUT: &'static str = "A cluster runs pure reads, pure writes and three mixes of them. The pure loads give a model, as with `towtank capacity fit`, \
        and its predictions are compared with the mixes. `system` is a plain cluster of disks, NICs and a cache with a fixed hit \
        ratio, or that of `towtank put` with one of its protocols.\n\n\
        With `mix`, a mix of sizes is run too, with its shares held as shares of operations, of operations in flight, and of capacity, \
        each beside the estimate for shares that are counted so.\n\n\
        On the plain cluster, the model's constant is then used for admission control: the offered load exceeds the capacity, its \
        mix changes, and a budget keeps the disks at a target, compared with a fixed limit and a PID regulator. Not modelled: \
        links of clients, caches that fill, and parallel file systems.";
    const RESULTS_VERSION: u32 = 5;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank capacity-sim --system disks --servers 12",
        "towtank capacity-sim --mix 16KiB:90%:r100,1MiB:10%:r100",
        "towtank run capacity-media --out results",
    ];
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

    fn lacks(settled: &Scenario, measure: &str) -> Option<&'static str> {
        observed::lacks(settled, measure)
    }

    fn run(ready: &Scenario, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        let mut all = runs::replicate(ready, context)?;
        mixes::measure(ready, context, &mut all)?;
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
