//! What happens if I do this to my Ceph cluster? One change, or several in order, on the exports of a real
//! cluster: what moves, how long it takes, what is at risk meanwhile, and what holds it up.
//!
//! It joins two answers. What moves is a preview's: every placement group before and after, as Ceph 16.2
//! places it. How long it takes is a rebuild's: the same machines, reservations, rests and limits, with each
//! copy or shard that must be made on a new device as a unit of work. A copy that is lost is made from those
//! that are left; one that only moves is read by the primary (a shard: from its old device), and comes after
//! those that are lost. What it leaves out: what balancer and autoscaler do next, and all that `rebuild`
//! leaves out.
//!
//! - `scenario`: the keys of a scenario;
//! - `case`: the cluster before, after, and in the end;
//! - `stages`: the map over time, with devices that are down and are marked out;
//! - `later`: later changes, and devices that come back;
//! - `calibrated`: what was learned of the machines, read;
//! - `orders`: drawn orders of groups; `speeds`: slower and faster disks;
//! - `exposure`: what further failures would lose; `risk`: the same in other orders and with slower disks;
//!   `unavailable`: what waits for devices that are down; `halted`: what flags stop; `waits`: what keeps in
//!   what is down; `noticed`: when failures are detected;
//! - `remaining`: what is left of a recovery under way, for another study;
//! - `replay`: the recovery run again with other constants, for fits;
//! - `moves_only`: the same where only what moves is asked;
//! - `observed`, `measures`: one replicate and its measures;
//! - `view`: one point of an answer; `reasons`: why it is not safe;
//! - `answer`, `present`: the answer in words, tables and figures.

mod answer;
mod calibrated;
mod case;
mod exposure;
mod halted;
mod later;
mod measures;
mod moves_only;
mod noticed;
mod observed;
pub(crate) mod orders;
mod present;
mod reasons;
pub(crate) mod remaining;
pub(crate) mod replay;
mod risk;
mod scenario;
mod speeds;
mod stages;
mod steps;
pub(crate) mod time_alone;
mod unavailable;
mod view;
mod waits;

use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use self::case::Ready;
pub use self::moves_only::WhatifStudy;
pub(crate) use self::observed::PEERS_S;
use self::observed::{Kept, Seen};
use self::scenario::Scenario;
pub(crate) use self::scenario::{Disk, failures_a_year};
use crate::asked::VERBS;
use towtank_study::{
    Flag, Measure, Ordered, Points, Presentation, Question, Replicate, RunContext, StudyError, flag,
};

/// The study of a change.
#[derive(Clone, Copy, Debug)]
pub struct Whatif;

const FLAGS: &[Flag] = &[
    flag("crush-map", "crush_map"),
    flag("osd-dump", "osd_dump"),
    flag("pg-dump", "pg_dump"),
    flag("osd-df", "osd_df"),
    flag("report", "report"),
    flag("change", "changes"),
    flag("moves-only", "moves_only"),
    flag("after-map", "after_map"),
    flag("fail", "fail"),
    flag("returns", "returns"),
    flag("replace", "replace"),
    flag("set-flag", "set_flag"),
    flag("unset-flag", "unset_flag"),
    flag("add-host", "add_host"),
    flag("remove", "remove"),
    flag("drain", "drain"),
    flag("crush-reweight", "crush_reweight"),
    flag("mark-out", "mark_out"),
    flag("reweight", "reweight"),
    flag("pg-num", "pg_num"),
    flag("pgp-num", "pgp_num"),
    flag("rule", "rule"),
    flag("tunables", "tunables"),
    flag("upmap", "upmap"),
    flag("upmap-items", "upmap_items"),
    flag("machines", "machines"),
    flag("disk", "disk"),
    flag("disk-read", "disk_read"),
    flag("disk-write", "disk_write"),
    flag("speed-spread", "speed_spread"),
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
    flag("client-writes", "client_writes"),
    flag("source", "source"),
    flag("gather", "gather"),
    flag("order", "order"),
    flag("detection", "detection"),
    flag("down-out", "down_out"),
    flag("noout", "noout"),
    flag("failure-rate", "failure_rate"),
    flag("target-max-misplaced-ratio", "target_max_misplaced_ratio"),
    flag("mgr-tick-period", "mgr_tick_period"),
    flag("mgr-stats-period", "mgr_stats_period"),
    flag("exact", "exact"),
];

impl Question for Whatif {
    const NAME: &'static str = "whatif";
    const TITLE: &'static str =
        "what a change of a Ceph cluster moves, how long it takes, and what is at risk";
    const ABOUT: &'static str = "One change, or several in order, on the exports of a real cluster, as `preview` reads them; no cluster is \
         contacted. Says whether it is safe, what moves, how long that takes with the queue of its release (WPQ, or mClock from 17 on), what is \
         at risk meanwhile, and what holds it up. Without a change: the recovery that is under way. --moves-only answers what \
         moves alone.\n\n\
         --fail takes a device, host or rack away, and Ceph gives it up after ten minutes; --returns osd.3@40min brings it \
         back with its data, and what clients wrote meanwhile is copied; --replace puts an empty device in its place at \
         once; --drain and --mark-out empty a device that still serves. Changes are made in the order of the command \
         line; a time behind an @ (--drain host=h1@2h) makes one later, also while an earlier one is under way. Not \
         modelled: what balancer and autoscaler do next.";
    const RESULTS_VERSION: u32 = 21;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank whatif --report ceph-report.json --fail osd.3 --returns osd.3@40min --client-writes 200/s",
        "towtank whatif --report ceph-report.json --add-host h9=4x3.6:hdd --drain host=h1@2h",
        "towtank whatif --report ceph-report.json --replace osd.5 --disk ssd --client-load 200/s",
    ];
    const FLAGS: &'static [Flag] = FLAGS;

    const ORDERED: Option<Ordered> = Some(Ordered { list: "changes", keys: VERBS });

    type Scenario = Scenario;
    type Settled = Scenario;
    type Ready = Ready;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        Ready::check(scenario, draft)
    }

    fn settled(ready: &Ready) -> &Scenario {
        &ready.scenario
    }

    fn memory(ready: &Ready) -> Option<Bytes> {
        Some(ready.memory_estimate())
    }

    fn measures() -> Vec<Measure<Seen>> {
        measures::measures()
    }

    fn lacks(settled: &Scenario, measure: &str) -> Option<&'static str> {
        measures::lacks(settled, measure)
    }

    fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        observed::run(ready, context)
    }

    fn keep(seen: Seen) -> Kept {
        seen.keep()
    }

    fn present(points: &Points<'_, Whatif>) -> Presentation {
        present::present(points)
    }
}

#[cfg(test)]
mod tests;
