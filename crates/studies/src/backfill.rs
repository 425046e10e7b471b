//! A replica was away for longer than its log reaches back: how long does each way of finding the differences
//! take to bring it up to date?
//!
//! The study of the second paper. The crate `towtank_backfill` runs the replication protocol on modelled
//! devices; this module holds the scenario, the measures and the report.
//!
//! - `scenario`: the keys of a scenario, and presets;
//! - `plan`: the subcommand that works out sizes and costs without a run;
//! - `observed`: the results of one replicate, and its measures;
//! - `present`, `figures`: the contents of the report;
//! - `published`: the numbers of the thesis, and of a small real Ceph.

mod figures;
mod observed;
mod plan;
mod present;
mod published;
pub mod scenario;
mod view;

use towtank_backfill::{Backfill as Model, Layouts, Outage};
use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use self::observed::{Kept, Run, Seen};
use self::scenario::{Scenario, Settled};
use crate::simulating::simulate;
use towtank_study::add_run;
use towtank_study::{
    Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError, Subcommand, flag,
};

/// The backfill study.
#[derive(Clone, Copy, Debug)]
pub struct Backfill;

const FLAGS: &[Flag] = &[
    flag("preset", "preset"),
    flag("discovery", "discovery"),
    flag("groups", "groups"),
    flag("devices", "devices"),
    flag("replicas", "replicas"),
    flag("ec", "ec"),
    flag("down", "down"),
    flag("objects-per-group", "objects_per_group"),
    flag("object-size", "object_size"),
    flag("stale", "stale"),
    flag("stale-objects", "stale_objects"),
    flag("outage", "outage"),
    flag("writes-per-second", "writes_per_second"),
    flag("created", "created"),
    flag("deleted", "deleted"),
    flag("ranges", "ranges"),
    flag("sketch-cells", "sketch_cells"),
    flag("log-entries", "log_entries"),
    flag("max-backfills", "max_backfills"),
    flag("recovery-max-active", "recovery_max_active"),
    flag("recovery-sleep", "recovery_sleep"),
    flag("scan-batch", "scan_batch"),
    flag("look-cost", "look_cost"),
    flag("range-check-cost", "range_check_cost"),
    flag("recovery-cost", "recovery_cost"),
    flag("startup", "startup"),
    flag("cached-objects", "cached_objects"),
    flag("disk-rate", "disk_rate"),
    flag("disk-seek", "disk_seek"),
    flag("nic", "nic"),
    flag("latency", "latency"),
    flag("client-writes", "client_writes"),
];

impl Question for Backfill {
    const NAME: &'static str = "backfill";
    const TITLE: &'static str = "how long it takes to bring a replica up to date after an outage";
    const ABOUT: &'static str = "A device was down for longer than the logs of its placement groups cover. When it returns, each group compares its \
         replicas and copies what differs. The study runs the replication protocol (peering, log recovery, reservations, \
         backfill in batches) on modelled disks and NICs, once for each --discovery: scan compares every object; bitmap \
         and merkle skip ranges in which nothing changed; merkle-levels sends the tree level by level; sketch identifies \
         exactly the objects that differ. `towtank backfill plan` computes sizes and costs without a run.\n\n\
         --preset thesis is the cluster of the Ceph thesis, --preset ceph16-loopback a small real Ceph 16.2, measured. Not modelled: \
         CPU time beyond the costs that are keys, the work of monitors, and mClock, which paces recovery from \
         Ceph 17 on.";
    const RESULTS_VERSION: u32 = 4;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank backfill --objects-per-group 50000 --stale 1% --discovery merkle",
        "towtank backfill plan --objects-per-group 1000000 --outage 1h",
        "towtank run backfill-discoveries --out results",
    ];
    const FLAGS: &'static [Flag] = FLAGS;
    const MEMORY_KEYS: &'static [&'static str] = &["objects_per_group", "groups", "stale", "ranges"];
    const PUBLISHED: &'static [&'static str] =
        &["backfill-thesis", "backfill-thesis-thousand", "backfill-ceph16"];
    const SUBCOMMANDS: &'static [Subcommand] = &[plan::PLAN];

    type Scenario = Scenario;
    type Settled = Settled;
    type Ready = Settled;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Settled, Problems> {
        scenario.settle(draft)
    }

    fn settled(ready: &Settled) -> &Settled {
        ready
    }

    fn memory(ready: &Settled) -> Option<Bytes> {
        Some(ready.memory())
    }

    fn measures() -> Vec<Measure<Seen>> {
        observed::measures()
    }

    fn measures_of(settled: &Settled) -> Vec<Measure<Seen>> {
        observed::measures_of(&settled.methods())
    }

    fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
        observed::lacks(settled, measure)
    }

    fn run(ready: &Settled, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        let (mut runs, mut beside) = (Vec::new(), Outcome::default());
        let layouts = Layouts::new(ready.groups, ready.objects_per_group, context.seed);
        for method in ready.methods() {
            let spec = ready.spec(method);
            let outage = Outage::new(&spec, &layouts, context.seed, &|| context.stopped());
            let Some(outage) = outage else { return Ok(observed::stopped()) };
            let run = simulate(&Model::new(&spec, &outage), None, context)?;
            add_run(&mut beside, &run);
            runs.push(Run::of(method, &spec, &outage, &run));
        }
        Ok(Replicate { seen: Ok(Seen { runs }), beside })
    }

    fn keep(seen: Seen) -> Kept {
        Kept { runs: seen.runs }
    }

    fn present(points: &Points<'_, Backfill>) -> Presentation {
        present::present(points)
    }
}

#[cfg(test)]
mod tests;
