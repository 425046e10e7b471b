//! The fixed work of `towtank bench rebuild`: the published study's largest run.
//!
//! 1,024 servers of 60 TiB, Mira's files, three copies, object by object on CRUSH's ring bucket, in units of
//! 4 MiB. The published run had "over 200 million events"; here a unit takes five events, none of which
//! merely re-posts itself, so two servers must fail to come near that number.

use serde_json::json;
use towtank_report::{Cell, Column, Table};
use towtank_units::SimSpan;

use towtank_rebuild::failures::{Failing, Failure};
use towtank_rebuild::redundancy::Redundancy;

use super::complete::Complete;
use super::population::{DataSet, PresetName};
use super::scenario::Scenario;
use super::settled::Settled;

/// Servers of the published run.
pub const SERVERS: u32 = 1_024;

/// The measured scenario: the published cluster, with the given number of servers, of failed servers, and of
/// bytes per server.
///
/// # Panics
/// Never: the scenario is legal.
#[must_use]
pub fn scenario(servers: u32, failed: u32, per_server: &str) -> Complete {
    let text = json!({
        "servers": servers,
        "per_server": per_server,
        "placement": "crush-vring",
        "population": { "preset": "mira" },
        "lost_set": "draw",
    });
    let scenario: Scenario = serde_json::from_value(text).expect("the benchmark's keys are legal");
    let scenario = Settled::of(scenario);
    let redundancy = Redundancy { data: 1, width: 3 };
    let preset = PresetName::Mira.preset();
    let data = DataSet {
        spec: scenario.population.clone(),
        sizes: preset.histogram(),
        layout: preset.layout((servers / 3).max(1)),
        warnings: Vec::new(),
        section: "population".to_owned(),
    };
    let failure = Failure { what: Failing::Server(None), at: SimSpan::ZERO };
    let warnings = Vec::new();
    let failures = vec![failure; failed as usize];
    Complete { scenario, redundancy, failures, data, warnings, rings: None }
}

/// One run: what it is, its replicas, its events, its wall-clock seconds and its processes.
type Run = (&'static str, f64, f64, f64, u32);

/// The published run, and `towtank bench rebuild` as `BENCHMARKS.md` has it, sequential.
const RUNS: [Run; 3] = [
    ("published: 3.9 billion replicas, over 200 million events, about 30 s", 3.9e9, 200e6, 30.0, 256),
    ("here, one server fails", 3.885e9, 84.8e6, 15.2, 1),
    ("here, two servers fail", 3.885e9, 166.5e6, 29.1, 1),
];

/// The cost of the published study's largest run beside ours. It is shown and not judged: a time depends on
/// the machine, and the paper's machine is not known.
#[must_use]
pub fn beside_published() -> Table {
    let columns = vec![
        Column::text("largest_run"),
        Column::number("replicas", ""),
        Column::number("events", ""),
        Column::number("wall_time", "s"),
        Column::number("processes", ""),
    ];
    let about = "Shown, not judged: a time depends on the machine. Ours is the median of `towtank bench rebuild` on one core of a Xeon \
                 at 2.5 GHz (BENCHMARKS.md); the command measures it on this machine.";
    let mut table = Table::new("largest_run", "Cost of the largest published run", columns).about(about);
    for (run, replicas, events, seconds, processes) in RUNS {
        table.push(vec![
            run.into(),
            Cell::from(replicas),
            Cell::from(events),
            Cell::from(seconds),
            Cell::from(processes),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers beside the published ones are those of the guide, so that a new measurement changes both.
    #[test]
    fn the_cost_is_the_measured_one() {
        let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../BENCHMARKS.md");
        let text = std::fs::read_to_string(guide).expect("the guide lies at the root");
        for (run, row) in RUNS[1..].iter().zip(["| one server fails |", "| two fail"]) {
            let line = text.lines().find(|line| line.starts_with(row)).expect("the guide has the run");
            let (events, seconds) = (format!("| {:.1} M |", run.2 / 1e6), format!("| {:.1} s (", run.3));
            assert!(line.contains(&events) && line.contains(&seconds), "{run:?}: {line}");
            assert!(text.contains(&format!("| 1,024 | {:.3} M |", run.1 / 1e9).replace('.', ",")), "{run:?}");
        }
        assert_eq!(beside_published().rows().len(), RUNS.len());
    }
}
