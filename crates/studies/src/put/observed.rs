//! From what a run counted to what it says: the measures of one replicate, and what is kept for the presentation.

use serde::{Deserialize, Serialize};
use towtank_metrics::Histogram;
use towtank_negotiation::Protocol;
use towtank_report::Outcome;
use towtank_units::SimTime;

use super::events::{Counts, Entity, Trace};
use super::model::Cluster;
use super::scenario::{Fidelity, Scenario};
use crate::MeasureSpec;

/// All measures of one protocol, under a prefix.
macro_rules! measures {
    ($($prefix:literal),*) => { &[$(
        MeasureSpec { name: concat!($prefix, "chunks_per_second"), unit: "chunks/s", about: "chunks stored, all replicas acknowledged, per second" },
        MeasureSpec { name: concat!($prefix, "disk_utilisation"), unit: "fraction", about: "share of time that disks write, mean of all servers" },
        MeasureSpec { name: concat!($prefix, "put_latency_mean_us"), unit: "us", about: "mean time from a chunk's coming to its last acknowledgement" },
        MeasureSpec { name: concat!($prefix, "put_latency_p50_us"), unit: "us", about: "put latency that half of the puts do not exceed" },
        MeasureSpec { name: concat!($prefix, "put_latency_p99_us"), unit: "us", about: "put latency that 99 % of the puts do not exceed" },
        MeasureSpec { name: concat!($prefix, "put_latency_p999_us"), unit: "us", about: "put latency that 99.9 % of the puts do not exceed" },
        MeasureSpec { name: concat!($prefix, "replicas_per_second"), unit: "replicas/s", about: "replicas whose data came to a server per second" },
        MeasureSpec { name: concat!($prefix, "puts_measured"), unit: "puts", about: "puts that ended well in the measured span" },
        MeasureSpec { name: concat!($prefix, "rounds_per_put"), unit: "", about: "requests multicast for each put of Replicast" },
        MeasureSpec { name: concat!($prefix, "undecided_share"), unit: "fraction", about: "share of requests that found another bid of the server undecided" },
        MeasureSpec { name: concat!($prefix, "chunks_dropped"), unit: "chunks", about: "chunks given up since their bids had no window in common" },
        MeasureSpec { name: concat!($prefix, "puts_retried"), unit: "puts", about: "puts that went on with other servers, since some did not answer" },
        MeasureSpec { name: concat!($prefix, "puts_failed"), unit: "puts", about: "puts given up, since no servers were left" },
        MeasureSpec { name: concat!($prefix, "violations"), unit: "", about: "transfers outside their window, and accepted windows that overlap" },
        MeasureSpec { name: concat!($prefix, "uplink_utilisation"), unit: "fraction", about: "share of what the racks' links to the core could carry, mean of both directions" },
        MeasureSpec { name: concat!($prefix, "gets_per_second"), unit: "gets/s", about: "chunks fetched per second" },
        MeasureSpec { name: concat!($prefix, "get_latency_mean_us"), unit: "us", about: "mean time from a get's coming to its last byte" },
        MeasureSpec { name: concat!($prefix, "get_latency_p50_us"), unit: "us", about: "get latency that half of the gets do not exceed" },
        MeasureSpec { name: concat!($prefix, "get_latency_p99_us"), unit: "us", about: "get latency that 99 % of the gets do not exceed" },
        MeasureSpec { name: concat!($prefix, "get_latency_p999_us"), unit: "us", about: "get latency that 99.9 % of the gets do not exceed" },
        MeasureSpec { name: concat!($prefix, "gets_measured"), unit: "gets", about: "gets that ended well in the measured span" },
        MeasureSpec { name: concat!($prefix, "gets_declined"), unit: "gets", about: "times that a server that was chosen could not have read in time" },
        MeasureSpec { name: concat!($prefix, "gets_retried"), unit: "gets", about: "gets that went on with another server, since one did not answer" },
        MeasureSpec { name: concat!($prefix, "gets_failed"), unit: "gets", about: "gets given up, since no holder answered" },
    )*] };
}

/// The measures of one protocol alone, and of each among several.
pub const MEASURES: &[MeasureSpec] =
    measures!("", "uch_ccp_", "replicast_m_", "replicast_h_", "uch_aimd_", "serial_");
/// How many of [`MEASURES`] one protocol has.
pub const PER_PROTOCOL: usize = MEASURES.len() / 6;
/// How many of those are about puts; the rest are about gets.
pub const ABOUT_PUTS: usize = 15;

/// What stands before the measures of a protocol when there are several.
#[must_use]
pub fn prefix(protocol: Protocol) -> String {
    format!("{}_", protocol.name().replace('-', "_"))
}

/// What was counted for one protocol in one replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Its name.
    pub protocol: String,
    /// Latencies of puts in nanoseconds.
    pub latencies: Histogram,
    /// Latencies of gets in nanoseconds.
    pub got: Histogram,
    /// What is drawn: when, at which server (for windows) and what.
    pub traces: Vec<(u64, u32, Trace)>,
}

/// One protocol's run, as numbers.
#[derive(Clone, Debug)]
pub struct Counted {
    total: Counts,
    utilisation: f64,
    uplinks: Option<f64>,
    seconds: f64,
    digest: String,
}

impl Counted {
    /// What a run counted; nothing if it was stopped before the warm-up was over.
    #[must_use]
    pub fn of_run(cluster: &Cluster, run: &towtank_kernel::Outcome<Cluster>) -> Option<Counted> {
        let until = if run.partial { run.now.min(cluster.measured.until) } else { cluster.measured.until };
        let elapsed = until.checked_since(cluster.measured.from).filter(|span| !span.is_zero())?;
        // SURGE counts up to 0.99 of the run, but divides by all of it.
        let end = if run.partial { until } else { cluster.measured.end };
        let seconds = end.checked_since(cluster.measured.from)?.as_secs_f64();
        let busy = |busy_ns: u64| {
            if cluster.surge {
                let percent = (busy_ns + 5) * 100 / elapsed.as_ns();
                percent.min(100) as f64 / 100.0
            } else {
                busy_ns as f64 / elapsed.as_ns() as f64
            }
        };
        let (gateways, servers) = (cluster.gateways as usize, cluster.terms.fixed.servers as usize);
        // What was taken on before a run was stopped, and would have been done after that, does not count.
        let ahead =
            |entity: &Entity| if run.partial { cluster.busy_after(entity, run.now).as_ns() } else { 0 };
        let nodes = run.statistics[gateways..].iter().zip(&run.entities[gateways..]);
        let nodes: Vec<u64> =
            nodes.map(|(counts, entity)| counts.busy_ns.saturating_sub(ahead(entity))).collect();
        let (servers, racks) = nodes.split_at(servers);
        let utilisation = servers.iter().copied().map(busy).sum::<f64>() / servers.len() as f64;
        // Each rack's uplink counts both directions.
        let carried = racks.iter().sum::<u64>() as f64;
        let uplinks =
            (!racks.is_empty()).then(|| carried / (2 * racks.len()) as f64 / elapsed.as_ns() as f64);
        let (total, digest) = (run.merged_statistics(), run.digest.to_string());
        Some(Counted { total, utilisation, uplinks, seconds, digest })
    }

    /// Puts and gets that ended well, a second.
    #[must_use]
    pub fn operations_per_second(&self) -> f64 {
        (self.total.puts + self.total.got.count()) as f64 / self.seconds
    }

    /// One value for each measure of a protocol, in the order of [`MEASURES`]; or why there is none.
    #[must_use]
    pub fn measures(&self, negotiates: bool, reads: bool) -> Vec<Result<f64, &'static str>> {
        let counts = &self.total;
        let us = |q: f64| latency(&counts.latencies, q).ok_or(NO_PUT);
        let share = |part: u64, all: u64| {
            let share = (negotiates && all > 0).then(|| part as f64 / all as f64);
            share.ok_or("only protocols that negotiate have it")
        };
        let mut measures = vec![
            Ok(counts.puts as f64 / self.seconds),
            Ok(self.utilisation),
            counts.latencies.mean().map(|ns| ns / 1e3).ok_or(NO_PUT),
            us(0.5),
            us(0.99),
            us(0.999),
            Ok(counts.replicas as f64 / self.seconds),
            Ok(counts.puts as f64),
            share(counts.rounds, counts.puts),
            share(counts.undecided, counts.requests),
            Ok(counts.dropped as f64),
            Ok(counts.retried as f64),
            Ok(counts.failed as f64),
            Ok(counts.violations as f64),
            self.uplinks.ok_or("the core does not block: `network.racks` is 1"),
        ];
        measures.extend(self.of_gets(negotiates).map(|value| if reads { value } else { Err(NO_READS) }));
        measures
    }

    fn of_gets(&self, negotiates: bool) -> [Result<f64, &'static str>; PER_PROTOCOL - ABOUT_PUTS] {
        let counts = &self.total;
        let us = |q: f64| latency(&counts.got, q).ok_or(NO_GET);
        let declined = counts.gets_declined as f64;
        [
            Ok(counts.got.count() as f64 / self.seconds),
            counts.got.mean().map(|ns| ns / 1e3).ok_or(NO_GET),
            us(0.5),
            us(0.99),
            us(0.999),
            Ok(counts.got.count() as f64),
            if negotiates { Ok(declined) } else { Err("only protocols that negotiate have it") },
            Ok(counts.gets_retried as f64),
            Ok(counts.gets_failed as f64),
        ]
    }
}

const NO_PUT: &str = "no put ended in the measured span";
const NO_GET: &str = "no get ended in the measured span";
const NO_READS: &str = "nothing is read: `read_share` is 0%";

/// A quantile in microseconds.
fn latency(latencies: &Histogram, q: f64) -> Option<f64> {
    latencies.quantile(q).map(|estimate| estimate.value / 1e3)
}

/// Adds what one protocol yielded to the outcome of a replicate.
pub fn add(
    outcome: &mut Outcome,
    scenario: &Scenario,
    cluster: &Cluster,
    run: &towtank_kernel::Outcome<Cluster>,
) {
    let protocol = cluster.terms.fixed.protocol;
    let alone = scenario.protocols().len() == 1;
    let prefix = if alone { String::new() } else { prefix(protocol) };
    outcome.events += run.run.committed;
    outcome.partial |= run.partial;
    let Some(counted) = Counted::of_run(cluster, run) else {
        for measure in &MEASURES[..PER_PROTOCOL] {
            let reason = "the run was stopped before its warm-up was over";
            outcome.missing(format!("{prefix}{}", measure.name), measure.unit, reason);
        }
        return;
    };
    let digest = outcome
        .digest
        .take()
        .map_or_else(|| counted.digest.clone(), |before| format!("{before} {}", counted.digest));
    outcome.digest = Some(digest);
    let reads = cluster.read_share > 0;
    for (measure, value) in MEASURES.iter().zip(counted.measures(protocol.negotiates(), reads)) {
        let name = format!("{prefix}{}", measure.name);
        match value {
            Ok(value) => outcome.measure(name, value, measure.unit),
            Err(reason) => outcome.missing(name, measure.unit, reason),
        }
    }
    warn(outcome, scenario, cluster, &counted);
    let server = |id: u32| id.saturating_sub(cluster.gateways);
    let traces = run
        .outputs
        .iter()
        .map(|written| (written.key.at.since(SimTime::ZERO).as_ns(), server(written.by.0), written.output));
    let observed = Observed {
        protocol: protocol.name().to_owned(),
        latencies: counted.total.latencies.clone(),
        got: counted.total.got.clone(),
        traces: traces.collect(),
    };
    let json = serde_json::to_value(&observed).expect("counts are plain integers");
    outcome.series.insert(protocol.name().to_owned(), json);
}

fn warn(outcome: &mut Outcome, scenario: &Scenario, cluster: &Cluster, counted: &Counted) {
    let name = cluster.terms.fixed.protocol.name();
    let left = scenario.servers - cluster.terms.fixed.servers;
    if left > 0 {
        outcome.warnings.push(format!(
            "{name}: {left} of {} servers are in no whole group of {} and store nothing",
            scenario.servers, scenario.group
        ));
    }
    if scenario.fidelity == Fidelity::Model && counted.total.dropped > 0 {
        outcome.warnings.push(format!("{name}: {} chunks were dropped", counted.total.dropped));
    }
}
