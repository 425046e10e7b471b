//! How do gateways put chunks on servers? UCH-CCP and its relatives, Replicast-M and Replicast-H, on the
//! kernel.
//!
//! The crate [`towtank_puts`] models the cluster and [`towtank_negotiation`] the protocols; this study runs
//! them.
//!
//! - `scenario`: the keys of a scenario; `observed`: from counts to measures;
//! - `published`: the tables of the paper, and the results of its simulator;
//! - `view`, `present`, `figures` and `sweeps`: the contents of the report; `charts`: two figures of the
//!   paper that are examples of messages.

pub mod charts;
mod cut_off;
mod figures;
mod observed;
mod present;
mod published;
mod scenario;
mod sweeps;
mod view;

use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, SimTime};

use self::observed::{Kept, Seen};
use self::scenario::{Scenario, Settled};
use crate::simulating::simulate;
use towtank_study::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError};

/// The put study.
#[derive(Clone, Copy, Debug)]
pub struct Put;

const FLAGS: &[Flag] = &[
    Flag { name: "protocol", key: "protocol" },
    Flag { name: "gateways", key: "gateways" },
    Flag { name: "servers", key: "servers" },
    Flag { name: "replicas", key: "replicas" },
    Flag { name: "group", key: "group" },
    Flag { name: "chunk", key: "chunk" },
    Flag { name: "disk", key: "disk" },
    Flag { name: "disk-read", key: "disk_read" },
    Flag { name: "duration", key: "duration" },
    Flag { name: "warm-up", key: "warm_up" },
    Flag { name: "fidelity", key: "fidelity" },
    Flag { name: "in-flight", key: "in_flight" },
    Flag { name: "pipelined", key: "pipelined" },
    Flag { name: "arrival-rate", key: "arrival_rate" },
    Flag { name: "read-share", key: "read_share" },
    Flag { name: "known-share", key: "known_share" },
    Flag { name: "capacity", key: "capacity" },
    Flag { name: "trip", key: "network.trip" },
    Flag { name: "request-rate", key: "network.request_rate" },
    Flag { name: "racks", key: "network.racks" },
    Flag { name: "uplink", key: "network.uplink" },
    Flag { name: "slow-servers", key: "faults.slow_servers" },
    Flag { name: "failed-servers", key: "faults.failed_servers" },
];

impl Question for Put {
    const NAME: &'static str = "put";
    const TITLE: &'static str =
        "how fast gateways store chunks on servers with UCH-CCP, Replicast-M or Replicast-H";
    const ABOUT: &'static str = "Gateways store chunks, several replicas each, on servers with one disk each. With UCH-CCP, a gateway sends to servers drawn at random, \
         and each server divides its link among its flows. With Replicast, the servers of a group bid time windows for each \
         chunk: Replicast-M multicasts in a window that several servers have in common, Replicast-H sends to one server after \
         the other. uch-aimd and serial are variants of UCH-CCP.\n\n\
         `--fidelity surge` follows the simulator of the paper, to reproduce its tables; by default, the protocol runs with \
         realistic physics. `--read-share` turns a share of the puts into gets; `--racks` and `--uplink` model a core network \
         that can be a bottleneck.";
    const RESULTS_VERSION: u32 = 5;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank put --protocol replicast-m --chunk 128KiB",
        "towtank put --protocol uch-ccp --servers 90 --disk 400MiB/s --replicates 10",
        "towtank run put-racks --out results",
    ];
    const FLAGS: &'static [Flag] = FLAGS;
    const MEMORY_KEYS: &'static [&'static str] = &["duration", "gateways", "servers", "in_flight"];
    const PUBLISHED: &'static [&'static str] = &[
        "put-table2-16k",
        "put-table2-128k",
        "put-table2-1m",
        "put-table3-16k",
        "put-table3-128k",
        "put-table3-1m",
        "put-6x18",
        "put-1m-80ms",
        "put-figure8",
        "put-figure9",
        "put-gains-1m",
        "put-reads",
        "put-figures-9-10",
        "put-figures-12-13",
        "put-table4",
        "put-900-servers",
    ];

    type Scenario = Scenario;
    type Settled = Settled;
    type Ready = Settled;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Settled, Problems> {
        scenario.complete(draft)
    }

    fn settled(ready: &Settled) -> &Settled {
        ready
    }

    fn memory(ready: &Settled) -> Option<Bytes> {
        Some(towtank_puts::memory::estimate(&ready.spec, &ready.protocols))
    }

    fn measures() -> Vec<Measure<Seen>> {
        observed::measures()
    }

    fn measures_of(ready: &Settled) -> Vec<Measure<Seen>> {
        observed::measures_of(&ready.protocols)
    }

    fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
        observed::lacks(settled, measure)
    }

    fn run(ready: &Settled, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        let (mut seen, mut beside) = (Seen::default(), Outcome::default());
        for &protocol in &ready.protocols {
            let cluster = ready.spec.cluster(protocol, context.replicate == 0);
            // `end` is exclusive, so one nanosecond is added to include the last one.
            let end = SimTime::from_ns(cluster.measured.end.as_ns().saturating_add(1));
            let run = simulate(&cluster, Some(end), context)?;
            seen.add(&mut beside, (&ready.spec, &cluster), &run);
        }
        Ok(Replicate { seen: Ok(seen), beside })
    }

    fn keep(seen: Seen) -> Kept {
        seen.keep()
    }

    fn present(points: &Points<'_, Put>) -> Presentation {
        present::present(points)
    }
}

#[cfg(test)]
mod differences;
#[cfg(test)]
mod tests;
