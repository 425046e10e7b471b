//! The results of one replicate: one run per discovery, and the measures of each.

use serde::{Deserialize, Serialize};
use towtank_backfill::{Backfill as Model, Counts, Discovery, Entity, Outage, Spec};
use towtank_metrics::Histogram;
use towtank_report::Outcome;
use towtank_units::SimTime;

use super::scenario::Settled;
use towtank_study::{Measure, Replicate, Value};

/// The results of one discovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The name of the discovery.
    pub discovery: String,
    /// From the beginning of the first backfill to the end of the last, in seconds; none where some did not
    /// end, or there was none.
    pub backfill_s: Option<f64>,
    /// The mean over all backfills of the time until the objects to look at were known, in seconds.
    pub discovery_s: Option<f64>,
    /// From the devices' return until all groups were clean.
    pub clean_s: Option<f64>,
    /// Objects that primaries and targets looked at. Each backfill counts the side that looked at more.
    pub looked_at: u64,
    /// Objects that were copied by backfills.
    pub recovered: u64,
    /// Objects that were removed by backfills.
    pub removed: u64,
    /// Objects that were copied because a log named them.
    pub recovered_by_log: u64,
    /// Objects that differed when the devices came back, over all groups and devices.
    pub differing: u64,
    /// Bytes of trees, sketches and bitmaps that were exchanged.
    pub exchanged: u64,
    /// Bytes of all messages.
    pub sent: u64,
    /// Bytes of trees, sketches and bitmaps on the device that has the most.
    pub memory: u64,
    /// The number of backfills, and how many of them did not end.
    pub backfills: (u64, u64),
    /// Backfills for which the method could not be used.
    pub fell_back: u64,
    /// Groups with changes, and how many of them were not clean in the end.
    pub groups: (u64, u64),
    /// Latencies of clients' writes, in nanoseconds.
    pub waited: Histogram,
    /// Log recovery: from the beginning of the first group to the end of the last, in seconds.
    pub log_recovery_s: Option<f64>,
    /// Whether clients wrote during the backfill.
    pub clients: bool,
    /// Bytes that recoveries read, where an object is rebuilt from several shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// When what happens, from the devices' return.
    #[serde(default)]
    pub course: Course,
}

/// The times of what happens in a run, in seconds from the devices' return; none of what does not happen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// The first backfill begins: groups have peered, and the first has its reservations.
    pub begun_s: Option<f64>,
    /// The last backfill knows which objects to look at.
    pub discovered_s: Option<f64>,
    /// The last backfill ends.
    pub ended_s: Option<f64>,
    /// The last log recovery ends.
    pub log_ended_s: Option<f64>,
}

impl Run {
    /// The results of a run.
    #[must_use]
    pub fn of(
        method: Discovery,
        spec: &Spec,
        outage: &Outage<'_>,
        run: &towtank_kernel::Outcome<Model<'_>>,
    ) -> Run {
        let counts: Counts = run.merged_statistics();
        let seconds = |at: SimTime| at.as_secs_f64();
        let all = || counts.backfills.values();
        let unfinished = all().filter(|filled| filled.ended.is_none()).count() as u64;
        let began = all().map(|filled| filled.began).min();
        let ends: Vec<f64> = all().filter_map(|filled| Some(seconds(filled.ended?.0))).collect();
        let last = ends.iter().copied().reduce(f64::max);
        let backfill_s =
            began.zip(last).filter(|_| unfinished == 0).map(|(began, last)| last - seconds(began));
        let found: Vec<f64> =
            all().filter_map(|filled| Some(seconds(filled.discovered?.0) - seconds(filled.began))).collect();
        let tally = |of: fn(&towtank_backfill::Tally) -> u64| {
            all().filter_map(|filled| Some(of(&filled.ended?.1))).sum::<u64>()
        };
        let discovered = all().filter_map(|filled| Some(seconds(filled.discovered?.0)));
        let touched = spec.touched().count() as u64;
        let away = |group: u32| spec.up(group).iter().filter(|device| spec.was_away(**device)).count() as u64;
        let by_log = || {
            counts.by_log.values().filter_map(|(began, ended)| Some((seconds(*began), seconds((*ended)?))))
        };
        let log_recovery_s = by_log()
            .reduce(|(began, ended), (other, later)| (began.min(other), ended.max(later)))
            .map(|(began, ended)| ended - began);
        Run {
            discovery: method.name().to_owned(),
            backfill_s,
            discovery_s: (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64),
            clean_s: counts
                .clean
                .values()
                .max()
                .filter(|_| counts.clean.len() as u64 == touched)
                .map(|at| seconds(*at)),
            looked_at: tally(|tally| tally.looked_at.max(tally.looked_at_by_target)),
            recovered: tally(|tally| tally.recovered),
            removed: tally(|tally| tally.removed),
            recovered_by_log: counts.recovered_by_log,
            differing: outage.differing.iter().map(|(group, count)| count * away(*group)).sum(),
            exchanged: tally(|tally| tally.exchanged_bytes),
            sent: counts.sent_bytes,
            memory: outage.summary_bytes,
            backfills: (counts.backfills.len() as u64, unfinished),
            fell_back: all().filter(|filled| filled.discovered.is_some_and(|(_, by)| by != method)).count()
                as u64,
            groups: (touched, touched - counts.clean.len() as u64),
            waited: counts.waited,
            log_recovery_s,
            clients: spec.clients.is_some(),
            read: (spec.data_shards > 1).then(|| {
                let read = run.entities.iter().map(|entity| match entity {
                    Entity::Device(device) => device.recovery_read,
                    Entity::Monitor(_) | Entity::Clients(..) => 0,
                });
                read.sum()
            }),
            course: Course {
                begun_s: began.map(seconds),
                discovered_s: discovered.reduce(f64::max).filter(|_| unfinished == 0),
                ended_s: last.filter(|_| unfinished == 0),
                log_ended_s: by_log().map(|(_, ended)| ended).reduce(f64::max),
            },
        }
    }
}

/// The results of one replicate.
pub struct Seen {
    /// One run per discovery, in the order of the scenario.
    pub runs: Vec<Run>,
}

/// The kept results of a replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// One run per discovery.
    pub runs: Vec<Run>,
}

/// The outcome of a replicate that was stopped before it had any results.
#[must_use]
pub fn stopped() -> Replicate<Seen> {
    let beside = Outcome { partial: true, ..Outcome::default() };
    Replicate { seen: Err("the run was stopped before the devices were back"), beside }
}

/// A measure of one discovery.
struct Line {
    /// Where this returns false, the measure is left out: without clients there are no latencies.
    applies: fn(&Seen) -> bool,
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    value: fn(&Run, &Seen) -> Value,
}

const NO_BACKFILL: &str = "there was no backfill: the log covers the outage";

fn of_backfills(run: &Run, value: Option<f64>) -> Value {
    value.ok_or_else(|| match run.backfills {
        (0, _) => NO_BACKFILL.to_owned(),
        (all, unfinished) => format!("{unfinished} of {all} backfills did not end"),
    })
}

/// The additional cost of a write, in seconds: measured by the bench of the crate `merkle` (`BENCHMARKS.md`
/// has the machine and the spread, up to a factor of two): 7 ns for a bit, 10.5 ns for a tree of 2^14 leaves,
/// and for a sketch of 1,024 cells 335 ns more; one of 16,384 takes 475.
fn write_cost(discovery: &str) -> f64 {
    match discovery {
        "scan" => 0.0,
        "bitmap" => 7e-9,
        "sketch" => 345.5e-9,
        _ => 10.5e-9,
    }
}

const LINES: &[Line] = &[
    Line {
        applies: |_| true,
        name: "backfill_s",
        unit: "s",
        about: "time from the start of the first backfill to the end of the last one",
        value: |run, _| of_backfills(run, run.backfill_s),
    },
    Line {
        applies: |_| true,
        name: "discovery_s",
        unit: "s",
        about: "time until a backfill knows which objects to compare, mean of all backfills",
        value: |run, _| of_backfills(run, run.discovery_s),
    },
    Line {
        applies: |_| true,
        name: "clean_s",
        unit: "s",
        about: "time from the return of the devices until all groups are clean",
        value: |run, _| {
            run.clean_s
                .ok_or_else(|| format!("{} of {} groups did not become clean", run.groups.1, run.groups.0))
        },
    },
    Line {
        applies: |_| true,
        name: "share_of_scan",
        unit: "share",
        about: "time of its backfills over that of scan",
        value: |run, seen| {
            let scan = seen.runs.iter().find(|run| run.discovery == "scan");
            let scan = scan.ok_or(NO_SCAN)?;
            let (own, scan) = (of_backfills(run, run.backfill_s)?, of_backfills(scan, scan.backfill_s)?);
            if scan > 0.0 { Ok(own / scan) } else { Err("the scan took no time".to_owned()) }
        },
    },
    Line {
        applies: |_| true,
        name: "objects_looked_at",
        unit: "objects",
        about: "objects whose versions were compared, over all backfills",
        value: |run, _| Ok(run.looked_at as f64),
    },
    Line {
        applies: |_| true,
        name: "objects_recovered",
        unit: "objects",
        about: "objects that backfills copied",
        value: |run, _| Ok(run.recovered as f64),
    },
    Line {
        applies: |_| true,
        name: "objects_removed",
        unit: "objects",
        about: "objects that backfills removed because they had been deleted",
        value: |run, _| Ok(run.removed as f64),
    },
    Line {
        applies: |_| true,
        name: "objects_stale",
        unit: "objects",
        about: "objects that differed when the devices came back, counted on each device",
        value: |run, _| Ok(run.differing as f64),
    },
    Line {
        applies: |seen| seen.runs.iter().any(|run| run.log_recovery_s.is_some()),
        name: "log_recovery_s",
        unit: "s",
        about: "time from the start of the first group's log recovery to the end of the last one's",
        value: |run, _| run.log_recovery_s.ok_or_else(|| "there was no log recovery".to_owned()),
    },
    Line {
        applies: |_| true,
        name: "objects_recovered_by_log",
        unit: "objects",
        about: "objects that log recovery copied",
        value: |run, _| Ok(run.recovered_by_log as f64),
    },
    Line {
        applies: |_| true,
        name: "exchanged_bytes",
        unit: "bytes",
        about: "bytes of trees, sketches and bitmaps that were sent",
        value: |run, _| Ok(run.exchanged as f64),
    },
    Line {
        applies: |_| true,
        name: "sent_bytes",
        unit: "bytes",
        about: "bytes of all messages, objects included",
        value: |run, _| Ok(run.sent as f64),
    },
    Line {
        applies: |seen| seen.runs.iter().any(|run| run.read.is_some()),
        name: "recovery_read_bytes",
        unit: "bytes",
        about: "bytes read to rebuild shards: for each shard that is written, as many as make up an object",
        value: |run, _| run.read.map(|bytes| bytes as f64).ok_or_else(|| NO_CODE.to_owned()),
    },
    Line {
        applies: |_| true,
        name: "memory_bytes_per_device",
        unit: "bytes",
        about: "memory of trees, sketches and bitmaps, on the device with the most",
        value: |run, _| Ok(run.memory as f64),
    },
    Line {
        applies: |_| true,
        name: "write_cost_s",
        unit: "s",
        about: "time that their updates add to a write on each replica; measured, not simulated",
        value: |run, _| Ok(write_cost(&run.discovery)),
    },
    Line {
        applies: |seen| seen.runs.iter().any(|run| run.clients),
        name: "client_wait_mean_s",
        unit: "s",
        about: "mean latency of writes of clients until all groups were clean",
        value: |run, _| run.waited.mean().map(|ns| ns / 1e9).ok_or_else(|| NO_CLIENTS.to_owned()),
    },
    Line {
        applies: |seen| seen.runs.iter().any(|run| run.clients),
        name: "client_wait_p99_s",
        unit: "s",
        about: "99th percentile of the latency of writes of clients",
        value: |run, _| {
            run.waited
                .quantile(0.99)
                .map(|estimate| estimate.value / 1e9)
                .ok_or_else(|| NO_CLIENTS.to_owned())
        },
    },
];

const FEW_VALUES: &str = "an interval contains the mean in fewer than 92 of 100 experiments";
const NO_SCAN: &str = "`discovery` does not name scan";
const NO_CODE: &str = "replicas hold whole objects";
const NO_CLIENTS: &str = "no write of a client was answered before all groups were clean";

/// Every measure: those of a single discovery, and those of each of several.
pub fn measures() -> Vec<Measure<Seen>> {
    let mut measures = of_run("", |seen| seen.runs.first());
    measures.extend(Discovery::ALL.into_iter().flat_map(among_several));
    measures
}

/// The measures for these discoveries.
pub fn measures_of(methods: &[Discovery]) -> Vec<Measure<Seen>> {
    match methods {
        [_] => of_run("", |seen| seen.runs.first()),
        several => several.iter().copied().flat_map(among_several).collect(),
    }
}

/// Why this scenario has no value of a measure, whatever happens in its runs.
#[must_use]
pub fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
    let methods = settled.methods();
    // The name of one method may begin with that of another.
    let rest = methods.iter().filter_map(|method| measure.strip_prefix(&prefix(method.name())));
    let name = rest.min_by_key(|rest| rest.len());
    match name.unwrap_or(measure) {
        "share_of_scan" if !methods.iter().any(|method| method.name() == "scan") => Some(NO_SCAN),
        "client_wait_mean_s" | "client_wait_p99_s" if settled.client_writes.is_none() => {
            Some("there are no clients: `client_writes` is not set")
        }
        "recovery_read_bytes" if settled.ec.is_none() => Some(NO_CODE),
        "log_recovery_s" if settled.log_entries == 0 => Some("there is no log: `log_entries` is 0"),
        _ => None,
    }
}

/// The prefix of the measures of a discovery where there are several.
#[must_use]
pub fn prefix(discovery: &str) -> String {
    format!("{}_", discovery.replace('-', "_"))
}

fn among_several(method: Discovery) -> Vec<Measure<Seen>> {
    let name = method.name();
    of_run(&prefix(name), move |seen| seen.runs.iter().find(|run| run.discovery == name))
}

fn of_run(prefix: &str, find: impl Fn(&Seen) -> Option<&Run> + Clone + 'static) -> Vec<Measure<Seen>> {
    let measure = |line: &'static Line| {
        let find = find.clone();
        let row = Measure::under(prefix, line.name, line.unit, line.about, move |seen| {
            (line.value)(find(seen).ok_or("this discovery did not run")?, seen)
        })
        .only_where(line.applies);
        if line.name == "share_of_scan" { row.without_interval(FEW_VALUES) } else { row }
    };
    LINES.iter().map(measure).collect()
}
