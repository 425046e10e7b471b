//! From the counts of a run to its results: the measures of one replicate, and what is kept for the
//! presentation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_metrics::Histogram;
use towtank_negotiation::Protocol;
use towtank_puts::{Cluster, Counted, Counts, Fidelity, Spec, Trace};
use towtank_report::{Outcome, Warning};
use towtank_units::{Percent, SimTime};

use super::scenario::Settled;
use towtank_study::{Measure, Value};

/// A measure of one protocol, without its prefix.
pub struct Line {
    /// As [`crate::MeasureSpec`] has it, like `unit` and `about`.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// The meaning of the measure.
    pub about: &'static str,
    value: fn(&Counted) -> Value,
}

/// The measures of puts.
pub(super) const OF_PUTS: &[Line] = &[
    Line {
        name: "chunks_per_second",
        unit: "chunks/s",
        about: "chunks stored, all replicas acknowledged, per second",
        value: |seen| Ok(seen.total.puts as f64 / seen.seconds),
    },
    Line {
        name: "disk_utilisation",
        unit: "fraction",
        about: "share of time that disks are busy, mean of all servers, with those that store nothing",
        value: |seen| Ok(seen.utilisation),
    },
    Line {
        name: "put_latency_mean_us",
        unit: "us",
        about: "mean time from the arrival of a chunk to its last acknowledgement",
        value: |seen| mean(&seen.total.latencies).ok_or_else(no_put),
    },
    Line {
        name: "put_latency_p50_us",
        unit: "us",
        about: "median put latency",
        value: |seen| latency(&seen.total.latencies, 0.5).ok_or_else(no_put),
    },
    Line {
        name: "put_latency_p99_us",
        unit: "us",
        about: "99th percentile of put latency",
        value: |seen| latency(&seen.total.latencies, 0.99).ok_or_else(no_put),
    },
    Line {
        name: "put_latency_p999_us",
        unit: "us",
        about: "99.9th percentile of put latency",
        value: |seen| latency(&seen.total.latencies, 0.999).ok_or_else(no_put),
    },
    Line {
        name: "replicas_per_second",
        unit: "replicas/s",
        about: "replicas whose data arrived at a server, per second",
        value: |seen| Ok(seen.total.replicas as f64 / seen.seconds),
    },
    Line {
        name: "puts_measured",
        unit: "puts",
        about: "puts that succeeded in the measured span",
        value: |seen| Ok(seen.total.puts as f64),
    },
    Line {
        name: "rounds_per_put",
        unit: "",
        about: "requests that Replicast multicasts per put",
        value: |seen| negotiated(seen, seen.total.rounds, seen.total.puts),
    },
    Line {
        name: "undecided_share",
        unit: "fraction",
        about: "share of requests that reached a server while another of its bids was undecided",
        value: |seen| negotiated(seen, seen.total.undecided, seen.total.requests),
    },
    Line {
        name: "chunks_dropped",
        unit: "chunks",
        about: "chunks given up because their bids had no window in common",
        value: |seen| Ok(seen.total.dropped as f64),
    },
    Line {
        name: "puts_retried",
        unit: "puts",
        about: "puts that continued with other servers because some did not answer",
        value: |seen| Ok(seen.total.retried as f64),
    },
    Line {
        name: "puts_failed",
        unit: "puts",
        about: "puts given up because no servers were left",
        value: |seen| Ok(seen.total.failed as f64),
    },
    Line {
        name: "requests_declined",
        unit: "requests",
        about: "requests to servers that did not bid because they hold the chunk or have no room for it",
        value: |seen| negotiated(seen, seen.total.declined, 1),
    },
    Line {
        name: "violations",
        unit: "",
        about: "transfers outside their window, and accepted windows that overlap",
        value: |seen| Ok(seen.total.violations as f64),
    },
    Line {
        name: "uplink_utilisation",
        unit: "fraction",
        about: "utilisation of the racks' links to the core, mean of both directions",
        value: |seen| seen.uplinks.ok_or_else(|| NO_UPLINKS.to_owned()),
    },
];

/// The measures of gets.
pub(super) const OF_GETS: &[Line] = &[
    Line {
        name: "gets_per_second",
        unit: "gets/s",
        about: "chunks fetched per second",
        value: |seen| Ok(got(seen)?.count() as f64 / seen.seconds),
    },
    Line {
        name: "get_latency_mean_us",
        unit: "us",
        about: "mean time from the arrival of a get to its last byte",
        value: |seen| mean(got(seen)?).ok_or_else(no_get),
    },
    Line {
        name: "get_latency_p50_us",
        unit: "us",
        about: "median get latency",
        value: |seen| latency(got(seen)?, 0.5).ok_or_else(no_get),
    },
    Line {
        name: "get_latency_p99_us",
        unit: "us",
        about: "99th percentile of get latency",
        value: |seen| latency(got(seen)?, 0.99).ok_or_else(no_get),
    },
    Line {
        name: "get_latency_p999_us",
        unit: "us",
        about: "99.9th percentile of get latency",
        value: |seen| latency(got(seen)?, 0.999).ok_or_else(no_get),
    },
    Line {
        name: "gets_measured",
        unit: "gets",
        about: "gets that succeeded in the measured span",
        value: |seen| Ok(got(seen)?.count() as f64),
    },
    Line {
        name: "gets_declined",
        unit: "gets",
        about: "times that a chosen server declined because it could not read in time",
        value: |seen| declined(seen),
    },
    Line {
        name: "gets_retried",
        unit: "gets",
        about: "gets that continued with another server because one did not answer",
        value: |seen| got(seen).map(|_| seen.total.gets_retried as f64),
    },
    Line {
        name: "gets_failed",
        unit: "gets",
        about: "gets given up because no server with the chunk answered",
        value: |seen| got(seen).map(|_| seen.total.gets_failed as f64),
    },
];

/// Every measure: those of a single protocol, and those of each of several.
pub fn measures() -> Vec<Measure<Seen>> {
    let mut measures = of_protocol("", |seen| seen.runs.first());
    measures.extend(PREFIXED.into_iter().flat_map(among_several));
    measures
}

/// The measures for these protocols.
pub fn measures_of(protocols: &[Protocol]) -> Vec<Measure<Seen>> {
    match protocols {
        [_] => of_protocol("", |seen| seen.runs.first()),
        several => several.iter().copied().flat_map(among_several).collect(),
    }
}

/// Why this scenario has no value of a measure, whatever happens in its runs.
#[must_use]
pub fn lacks(settled: &Settled, measure: &str) -> Option<&'static str> {
    let own = |protocol: &Protocol| match &settled.protocols[..] {
        [_] => Some(measure),
        _ => measure.strip_prefix(&prefix(*protocol)),
    };
    let (protocol, name) = settled.protocols.iter().find_map(|one| {
        let name = own(one)?;
        OF_PUTS.iter().chain(OF_GETS).any(|line| line.name == name).then_some((one, name))
    })?;
    let of_gets = OF_GETS.iter().any(|line| line.name == name);
    let only_negotiated =
        ["rounds_per_put", "undecided_share", "requests_declined", "gets_declined"].contains(&name);
    let of_a_put = name.starts_with("put_latency") || name == "rounds_per_put" || name == "undecided_share";
    if of_gets && settled.spec.read_share == Percent::ZERO {
        Some(NOTHING_READ)
    } else if only_negotiated && !protocol.negotiates() {
        Some(ONLY_NEGOTIATED)
    } else if of_a_put && settled.spec.read_share == Percent::FULL {
        Some("nothing is stored: `read_share` is 100%")
    } else if name == "uplink_utilisation" && !settled.has_uplinks() {
        Some(NO_UPLINKS)
    } else {
        None
    }
}

/// The protocols in the order of the list of all measures.
const PREFIXED: [Protocol; 5] =
    [Protocol::UchCcp, Protocol::ReplicastM, Protocol::ReplicastH, Protocol::UchAimd, Protocol::Serial];

fn among_several(protocol: Protocol) -> Vec<Measure<Seen>> {
    of_protocol(&prefix(protocol), move |seen| seen.runs.iter().find(|run| run.protocol == protocol))
}

/// The measures of one run, under a prefix.
fn of_protocol(prefix: &str, find: impl Fn(&Seen) -> Option<&Run> + Clone + 'static) -> Vec<Measure<Seen>> {
    let measure = |line: &'static Line| {
        let find = find.clone();
        Measure::under(prefix, line.name, line.unit, line.about, move |seen| {
            let run = find(seen).ok_or("the protocol did not run")?;
            (line.value)(run.counted.as_ref().ok_or(STOPPED)?)
        })
    };
    OF_PUTS.iter().chain(OF_GETS).map(measure).collect()
}

const STOPPED: &str = "the run was stopped before its warm-up was over";

/// The prefix of the measures of a protocol where there are several.
#[must_use]
pub fn prefix(protocol: Protocol) -> String {
    format!("{}_", protocol.name().replace('-', "_"))
}

/// The counts of one protocol in one replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The name of the protocol.
    pub protocol: String,
    /// Latencies of puts in nanoseconds.
    pub latencies: Histogram,
    /// Latencies of gets in nanoseconds.
    pub got: Histogram,
    /// Chunks that waited at the gateways when the run ended.
    #[serde(default)]
    pub waiting: u64,
    /// The length of the measured span until the run was stopped; none where it ran to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_after_s: Option<f64>,
    /// Events for the figures: the time, the server (for windows) and the event.
    pub traces: Vec<(u64, u32, Trace)>,
}

/// The kept results of a replicate: the counts of each protocol, by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Kept {
    /// By the protocol's name.
    pub observed: BTreeMap<String, Observed>,
}

/// The results of one replicate: one run per protocol, in the order of the scenario.
#[derive(Default)]
pub struct Seen {
    runs: Vec<Run>,
}

/// The results of one protocol's run.
struct Run {
    protocol: Protocol,
    /// None if it was stopped before its warm-up was over.
    counted: Option<Counted>,
    /// Whether it was stopped.
    partial: bool,
    traces: Vec<(u64, u32, Trace)>,
}

/// The value of a measure of [`OF_PUTS`] or [`OF_GETS`] for a run.
#[cfg(test)]
pub fn value(counted: &Counted, name: &str) -> Value {
    let mut lines = OF_PUTS.iter().chain(OF_GETS);
    lines
        .find(|line| line.name == name)
        .map_or_else(|| Err("no such measure".to_owned()), |line| (line.value)(counted))
}

fn negotiated(counted: &Counted, part: u64, all: u64) -> Value {
    match all {
        _ if !counted.negotiates => Err(ONLY_NEGOTIATED.to_owned()),
        0 => Err(no_put()),
        _ => Ok(part as f64 / all as f64),
    }
}

/// Latencies of gets; where nothing is read, the reason why there are none.
fn got(counted: &Counted) -> Result<&Histogram, String> {
    if counted.reads { Ok(&counted.total.got) } else { Err(NOTHING_READ.to_owned()) }
}

fn declined(counted: &Counted) -> Value {
    got(counted)?;
    if counted.negotiates { Ok(counted.total.gets_declined as f64) } else { Err(ONLY_NEGOTIATED.to_owned()) }
}

const NO_UPLINKS: &str = "there are no uplinks: `network.racks` is 1";
const NOTHING_READ: &str = "nothing is read: `read_share` is 0%";
const ONLY_NEGOTIATED: &str = "only protocols that negotiate have this measure";

fn no_put() -> String {
    "no put ended in the measured span".to_owned()
}

fn no_get() -> String {
    "no get ended in the measured span".to_owned()
}

/// The mean in microseconds.
fn mean(latencies: &Histogram) -> Option<f64> {
    latencies.mean().map(|ns| ns / 1e3)
}

/// A quantile in microseconds.
fn latency(latencies: &Histogram, q: f64) -> Option<f64> {
    latencies.quantile(q).map(|estimate| estimate.value / 1e3)
}

impl Seen {
    /// Adds the results of one protocol, and to `outcome` those that are no measures.
    pub fn add(
        &mut self,
        outcome: &mut Outcome,
        (spec, cluster): (&Spec, &Cluster),
        run: &towtank_kernel::Outcome<Cluster>,
    ) {
        let protocol = cluster.terms.fixed.protocol;
        outcome.events += run.run.committed;
        outcome.partial |= run.partial;
        let counted = Counted::of_run(cluster, run);
        if let Some(counted) = &counted {
            let digest = outcome
                .digest
                .take()
                .map_or_else(|| counted.digest.clone(), |before| format!("{before} {}", counted.digest));
            outcome.digest = Some(digest);
            warn(outcome, spec, cluster, counted);
        }
        let server = |id: u32| id.saturating_sub(cluster.gateways);
        let traces = run.outputs.iter().map(|written| {
            (written.key.at.since(SimTime::ZERO).as_ns(), server(written.by.0), written.output)
        });
        self.runs.push(Run { protocol, counted, partial: run.partial, traces: traces.collect() });
    }

    /// The kept results of the runs that were measured.
    pub fn keep(self) -> Kept {
        let keep = |run: Run| {
            let (counted, name) = (run.counted?, run.protocol.name().to_owned());
            let Counted { total: Counts { latencies, got, .. }, waiting, seconds, .. } = counted;
            let stopped_after_s = run.partial.then_some(seconds);
            let (protocol, traces) = (name.clone(), run.traces);
            Some((name, Observed { protocol, latencies, got, waiting, stopped_after_s, traces }))
        };
        Kept { observed: self.runs.into_iter().filter_map(keep).collect() }
    }
}

fn warn(outcome: &mut Outcome, spec: &Spec, cluster: &Cluster, counted: &Counted) {
    let name = cluster.terms.fixed.protocol.name();
    let left = spec.servers - cluster.terms.fixed.servers;
    if left > 0 {
        outcome.warnings.push(Warning::note(format!(
            "{name}: {left} of {} servers belong to no complete group of {} and store nothing; \
             `disk_utilisation` counts their disks as idle",
            spec.servers, spec.group
        )));
    }
    if spec.fidelity == Fidelity::Model && counted.total.dropped > 0 {
        let text = format!("{name}: {} chunks were dropped", counted.total.dropped);
        outcome.warnings.push(Warning::danger(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towtank_study::testing::by_hand;

    fn histogram(us: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        us.iter().for_each(|us| histogram.record(us * 1_000));
        histogram
    }

    /// A hundredth of a second of a protocol that negotiates, reads, and runs in racks.
    fn counted() -> Counted {
        // With 1,000 puts, the mean, the median and two tails differ.
        let latencies = [vec![105; 900], vec![200; 94], vec![700; 6]].concat();
        let got = [vec![30; 900], vec![90; 90], vec![270; 8], vec![800; 2]].concat();
        let total = Counts {
            puts: 1_200,
            latencies: histogram(&latencies),
            dropped: 2,
            retried: 3,
            failed: 4,
            rounds: 3_000,
            busy_ns: 0,
            requests: 50,
            undecided: 6,
            replicas: 3_300,
            violations: 7,
            got: histogram(&got),
            gets_retried: 8,
            gets_failed: 10,
            gets_declined: 11,
            declined: 12,
        };
        Counted {
            total,
            negotiates: true,
            reads: true,
            utilisation: 0.5,
            uplinks: Some(0.25),
            seconds: 0.01,
            waiting: 0,
            digest: String::new(),
        }
    }

    const EXPECTED: [(&str, f64); 25] = [
        ("chunks_per_second", 120_000.0),
        ("disk_utilisation", 0.5),
        ("put_latency_mean_us", 117.5),
        ("put_latency_p50_us", 105.0),
        ("put_latency_p99_us", 200.0),
        ("put_latency_p999_us", 700.0),
        ("replicas_per_second", 330_000.0),
        ("puts_measured", 1_200.0),
        ("rounds_per_put", 2.5),
        ("undecided_share", 0.12),
        ("chunks_dropped", 2.0),
        ("puts_retried", 3.0),
        ("puts_failed", 4.0),
        ("requests_declined", 12.0),
        ("violations", 7.0),
        ("uplink_utilisation", 0.25),
        ("gets_per_second", 100_000.0),
        ("get_latency_mean_us", 38.86),
        ("get_latency_p50_us", 30.0),
        ("get_latency_p99_us", 90.0),
        ("get_latency_p999_us", 800.0),
        ("gets_measured", 1_000.0),
        ("gets_declined", 11.0),
        ("gets_retried", 8.0),
        ("gets_failed", 10.0),
    ];

    #[test]
    fn each_measure_has_its_own_value() {
        let run =
            Run { protocol: Protocol::Serial, counted: Some(counted()), partial: false, traces: Vec::new() };
        by_hand::hold(|| measures_of(&[Protocol::Serial]), &Seen { runs: vec![run] }, &EXPECTED);
    }

    /// With several protocols, a value is found by the protocol and not by the position of its run.
    #[test]
    fn each_protocol_has_its_own_values() {
        let mut seen = Seen::default();
        for (protocol, puts) in [(Protocol::ReplicastH, 100), (Protocol::UchCcp, 200)] {
            let mut counted = counted();
            counted.total.puts = puts;
            seen.runs.push(Run { protocol, counted: Some(counted), partial: false, traces: Vec::new() });
        }
        let mut outcome = Outcome::default();
        let measures = measures_of(&[Protocol::UchCcp, Protocol::ReplicastH]);
        towtank_study::measures::record(&mut outcome, &measures, Ok(&seen)).unwrap();
        let puts = |name: &str| outcome.measures[name].value();
        assert_eq!(puts("uch_ccp_puts_measured"), Some(200.0));
        assert_eq!(puts("replicast_h_puts_measured"), Some(100.0));
    }
}
