//! How long until the lost data is safe again, and what limits the rebuild?
//!
//! The study of the first paper, and the question that operators ask most. The crate `towtank_rebuild` finds
//! the lost data, plans the transfers and simulates them; this module holds the scenario, the measures and
//! the report. What it leaves out: processors and memory, and the work of monitors.
//!
//! - `scenario`, `population`: the keys of a scenario; `settled`: the scenario with the values of its preset;
//!   `complete`, `failures`: its checks, and what is known of it before it runs; `cluster`: the machines that
//!   it describes;
//! - `generated`: one replicate, from the scenario to its results; `units`: larger units of transfer;
//! - `chassis`: one server, and arrays of its disks;
//! - `ring`: machines and partitions from a ring of Swift;
//! - `of_ceph`: what to run where exports of Ceph are given;
//! - `observed`, `measures`: the results of a replicate;
//! - `present`, `figures`, `view`, `published`: the contents of the report.
//!
//! `towtank_recovery` has what it shares with studies of real clusters.

pub mod benchmark;
mod chassis;
pub mod cluster;
pub mod complete;
pub mod failures;
mod figures;
pub mod generated;
mod measures;
mod observed;
mod of_ceph;
pub mod population;
mod present;
mod published;
pub mod ring;
pub mod scenario;
pub(crate) mod settled;
mod units;
mod view;

use towtank_recovery::keys::Exports;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use self::complete::Complete;
use self::observed::{Kept, Seen};
use self::scenario::Scenario;
use self::settled::Settled;
use towtank_study::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError, flag};

/// The rebuild study.
#[derive(Clone, Copy, Debug)]
pub struct Rebuild;

const FLAGS: &[Flag] = &[
    flag("preset", "preset"),
    flag("ring", "ring"),
    flag("ring-after", "ring_after"),
    flag("servers", "servers"),
    flag("racks", "racks"),
    flag("disks-per-server", "disks_per_server"),
    flag("per-server", "per_server"),
    flag("objects", "objects"),
    flag("population", "population.preset"),
    flag("placement", "placement"),
    flag("vnodes", "vnodes"),
    flag("groups", "groups"),
    flag("groups-per-server", "groups_per_server"),
    flag("failure-domain", "failure_domain"),
    flag("array", "array"),
    flag("spares", "spares"),
    flag("reads", "reads"),
    flag("replicas", "replicas"),
    flag("ec", "ec"),
    flag("fail", "fail"),
    flag("disk-read", "disk_read"),
    flag("disk-write", "disk_write"),
    flag("disk-capacity", "disk_capacity"),
    flag("seeks", "seeks"),
    flag("nic", "nic"),
    flag("latency", "latency"),
    flag("uplink", "uplink"),
    flag("stream-limit", "stream_limit"),
    flag("rate-cap", "rate_cap"),
    flag("server-rate-cap", "server_rate_cap"),
    flag("recovery-max-active", "recovery_max_active"),
    flag("server-max-active", "server_max_active"),
    flag("max-backfills", "max_backfills"),
    flag("recovery-sleep", "recovery_sleep"),
    flag("ceph", "ceph_release"),
    flag("queue", "queue"),
    flag("profile", "profile"),
    flag("osd-capacity", "osd_capacity"),
    flag("client-load", "client_load"),
    flag("client-depth", "client_depth"),
    flag("client-read", "client_read"),
    flag("client-size", "client_size"),
    flag("client-weight", "client_weight"),
    flag("source", "source"),
    flag("gather", "gather"),
    flag("order", "order"),
    flag("detection", "detection"),
    flag("down-out", "down_out"),
    flag("replace", "replace"),
    flag("returns", "returns"),
    flag("noout", "noout"),
    flag("units", "units"),
    flag("within", "within"),
    flag("crush-map", "crush_map"),
    flag("osd-dump", "osd_dump"),
    flag("pg-dump", "pg_dump"),
    flag("osd-df", "osd_df"),
    flag("report", "report"),
];

impl Question for Rebuild {
    const NAME: &'static str = "rebuild";
    const TITLE: &'static str =
        "how long it takes to restore redundancy after a failure, and what limits the rebuild";
    const ABOUT: &'static str = "A disk, a server or a rack fails, or several one after the other. The study finds the data on them, has the survivors \
         read, send and write it again unit by unit, and reports how long that takes, how fast it could have been, and which \
         disks, NICs, limits or sleeps were the bottleneck.\n\n\
         --preset paper is the published study: fast disks, and no other limits. --preset ceph-wpq (or ceph) has the defaults of \
         Ceph up to 16 on rotating disks: one backfill per disk, a sleep of 0.1 s after each object, ten minutes until failed \
         devices are marked out. --ceph 17 and later have mClock with --profile. --client-load adds reads and writes of \
         clients. Exports of a real cluster of Ceph are for the study whatif. Not modelled: CPU and memory, and Ceph's own \
         work per object (1 ms where it was measured, which determines the time of small objects without a sleep).";
    const RESULTS_VERSION: u32 = 13;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank rebuild --servers 16 --per-server 10TiB --disk-read 200MB/s --disk-write 180MB/s",
        "towtank rebuild --ring object.ring --fail d12",
        "towtank rebuild --replicates 10 --fail-if 'time_to_full_redundancy_s > 6h'",
    ];
    const FLAGS: &'static [Flag] = FLAGS;
    const ELSEWHERE: &'static [&'static str] = &["crush_map", "osd_dump", "pg_dump", "osd_df", "report"];
    const MEMORY_KEYS: &'static [&'static str] = &["objects", "per_server"];
    const PUBLISHED: &'static [&'static str] = &[
        "qos-mclock",
        "qos-wpq",
        "qos-wpq-boosted",
        "rebuild-64",
        "rebuild-data-sets",
        "rebuild-pair",
        "rebuild-peers",
        "rebuild-scaling",
        "rebuild-scaling-boxes",
    ];

    type Scenario = Scenario;
    type Settled = Settled;
    type Ready = Complete;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Complete, Problems> {
        if scenario.exports != Exports::default() {
            return Err(of_ceph::refused(&scenario, draft).into());
        }
        scenario.complete(draft)
    }

    fn settled(ready: &Complete) -> &Settled {
        &ready.scenario
    }

    fn resolved(ready: &Complete) -> serde_json::Value {
        generated::resolved(&ready.scenario)
    }

    fn memory(ready: &Complete) -> Option<Bytes> {
        Some(generated::memory_estimate(ready))
    }

    fn measures() -> Vec<Measure<Seen>> {
        measures::measures()
    }

    fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
        measures::lacks(settled, measure)
    }

    fn run(ready: &Complete, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        generated::seen(ready, context)
    }

    fn keep(seen: Seen) -> Kept {
        Kept { observed: seen.observed, population: seen.population }
    }

    fn present(points: &Points<'_, Rebuild>) -> Presentation {
        present::present(points)
    }
}

#[cfg(test)]
mod tests;
