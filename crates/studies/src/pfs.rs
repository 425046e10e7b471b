//! A parallel file system: which scheduler, what share, at what cost?
//!
//! The study of the third paper (PFSsim). The crate `towtank_pfs` models clients, metadata servers, striped
//! files, page caches, disks and the network; this module holds the scenario, the measures and the report.
//!
//! - `scenario`: the keys of a scenario, and presets;
//! - `observed`: the results of one replicate, and its measures;
//! - `present`, `figures`: the contents of the report;
//! - `compared`: what the points of a sweep differ in;
//! - `published`: the numbers of the paper;
//! - `tune`: which settings of the scheduler meet given goals.

mod compared;
mod figures;
mod observed;
mod present;
mod published;
pub mod scenario;
mod tune;
mod view;

use towtank_pfs::Pfs as Model;
use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, SimTime};

use self::observed::{Kept, Run, Seen};
use self::scenario::{Ready, Scenario, Settled};
use crate::simulating::simulate;
use towtank_study::add_run;
use towtank_study::{
    Flag, Measure, Points, Presentation, Question, Replicate, RunContext, Search, StudyError, flag,
};

/// The study of parallel file systems.
#[derive(Clone, Copy, Debug)]
pub struct Pfs;

const FLAGS: &[Flag] = &[
    flag("preset", "preset"),
    flag("clients", "clients"),
    flag("weights", "weights"),
    flag("workload", "workload"),
    flag("trace", "trace.file"),
    flag("trace-format", "trace.format"),
    flag("trace-application", "trace.application"),
    flag("trace-loop", "trace.loop"),
    flag("trace-speed", "trace.speed"),
    flag("trace-limit", "trace.limit"),
    flag("trace-layouts", "trace.layouts"),
    flag("read-share", "read_share"),
    flag("write-first", "write_first"),
    flag("files", "files"),
    flag("file-size", "file_size"),
    flag("request-size", "request_size"),
    flag("order", "order"),
    flag("sharing", "sharing"),
    flag("flows", "flows"),
    flag("think-time", "think_time"),
    flag("arrival-rate", "arrival_rate"),
    flag("fsync", "fsync"),
    flag("servers", "servers"),
    flag("stripe", "stripe"),
    flag("stripe-count", "stripe_count"),
    flag("layout", "layout"),
    flag("replicas", "replicas"),
    flag("scheduler", "scheduler"),
    flag("scheduler-at", "scheduler_at"),
    flag("proxies", "proxies"),
    flag("parda", "client.parda.threshold"),
    flag("feedback", "client.feedback"),
    flag("duration", "duration"),
    flag("sample", "sample"),
    flag("alone", "alone"),
    flag("card", "network.card"),
    flag("latency", "network.latency"),
    flag("client-cache", "client.cache.size"),
    flag("client-dirty", "client.cache.dirty"),
    flag("client-reads", "client.reads"),
    flag("metadata-servers", "metadata.servers"),
    flag("cache-size", "cache.size"),
    flag("direct", "cache.direct"),
    flag("drive", "disk.drive"),
    flag("disk-read", "disk.read"),
    flag("disk-write", "disk.write"),
];

impl Question for Pfs {
    const NAME: &'static str = "pfs";
    const TITLE: &'static str =
        "what throughput and latency applications get from a parallel file system, by scheduler";
    const ABOUT: &'static str = "Clients of one or several applications read and write files that are striped over data servers, as in PVFS, Lustre or \
         BeeGFS. A scheduler in front of each server decides which job is next; behind it are a page cache with write-back and a disk; \
         a star of links connects all nodes. The study reports the share, throughput and latency of each application, and which part \
         is the bottleneck.\n\n\
         --preset paper is the cluster of the PFSsim paper; hdd and nvme are present-day servers (chosen, not measured). The last \
         phase is measured: where files are read, they are written first. --trace replays recorded requests in place of \
         generated ones.\n\n\
         Schedulers (D is the number of jobs in service at once): fifo[:D], sfq[:D], ssfq, wfq, wf2q+, drr, wrr, priority, dsfq-a, -d, -f, -atb and \
         -alb (between servers), edf, i2l, sfqrc, dta, mclock, Lustre's crr-n, orr, trr and tbf, bfq, token-bucket and htb. Weights, \
         reservations, limits, deadlines and rates are keys of applications. Not modelled: metadata beyond service times, \
         recovery of failed servers, and CPU time of servers beyond the costs that are keys.";
    const RESULTS_VERSION: u32 = 4;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank pfs --clients 64 --servers 4 --scheduler sfq:4 --weights 1:4",
        "towtank pfs --trace trace.csv --trace-format msr --scheduler fifo:8",
        "towtank pfs tune --clients 64 --weights 1:4 --try sfq:4 --goal 'latency_p99_s < 2s'",
    ];
    const FLAGS: &'static [Flag] = FLAGS;
    const MEMORY_KEYS: &'static [&'static str] =
        &["files", "file_size", "clients", "stripe_count", "trace.limit"];
    const PUBLISHED: &'static [&'static str] = &["pfs-reads", "pfs-writes", "pfs-shares"];
    const SEARCH: Option<&'static Search> = Some(&tune::TUNE);

    type Scenario = Scenario;
    type Settled = Settled;
    type Ready = Ready;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        scenario.settle(draft)
    }

    fn settled(ready: &Ready) -> &Settled {
        &ready.settled
    }

    fn memory(ready: &Ready) -> Option<Bytes> {
        let files = Bytes::new(ready.file_bytes);
        Some(ready.settled.memory(&ready.replays).saturating_add(files))
    }

    fn measures() -> Vec<Measure<Seen>> {
        observed::measures()
    }

    fn measures_of(settled: &Settled) -> Vec<Measure<Seen>> {
        observed::measures_of(settled)
    }

    fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
        observed::lacks(settled, measure)
    }

    fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        let Ready { settled, replays, notes, .. } = ready;
        let mut beside = Outcome { warnings: notes.clone(), ..Outcome::default() };
        let end = settled.duration.map(|span| SimTime::ZERO.saturating_add(span));
        let mut simulate = |only: Option<&str>| {
            let spec = settled.spec(replays, only);
            let run = simulate(&Model::new(&spec), end, context)?;
            add_run(&mut beside, &run);
            Ok::<Run, StudyError>(Run::of(settled, &spec.work, &run))
        };
        let mut run = simulate(None)?;
        if settled.alone && settled.applications.len() > 1 {
            for number in 0..run.applications.len() {
                let name = run.applications[number].name.clone();
                let alone = simulate(Some(&name))?;
                run.applications[number].alone =
                    alone.applications[number].latencies.mean().map(|mean| mean / 1e9);
            }
        }
        Ok(Replicate { seen: Ok(Seen { run }), beside })
    }

    fn keep(seen: Seen) -> Kept {
        Kept { run: seen.run }
    }

    fn present(points: &Points<'_, Pfs>) -> Presentation {
        present::present(points)
    }
}

#[cfg(test)]
mod tests;
