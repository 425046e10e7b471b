//! The runs of one replicate: the cluster at each mix, the model fitted to it, and the rules of admission
//! under a changing mix.

use serde::{Deserialize, Serialize};
use towtank_capacity::{Mix, Run, Shares, SizeModel};
use towtank_devices::{CardClock, CardSpec, DiskClock, DiskSpec};
use towtank_metrics::Histogram;
use towtank_negotiation::Protocol;
use towtank_puts::{Counted, Network, Spec};
use towtank_streams::distributions::Exponential;
use towtank_units::{Bytes, Percent, SimSpan, SimTime};

use super::scenario::{Scenario, WARM_UP};
use crate::simulating::simulate;
use towtank_serving::admission::{Admission, Budget};
use towtank_serving::cluster::{Cluster, Counts, Load, Part};
use towtank_study::{RunContext, StudyError};

/// The shares of reads that are measured, in percent; the method needs the two ends.
pub(super) const READS: [u64; 5] = [0, 25, 50, 75, 100];

/// The measurements of one replicate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Operations per second at each of [`READS`]; none for runs that did not reach their end.
    pub iops: Vec<Option<f64>>,
    /// The results of each rule of admission; runs that did not reach their end are left out.
    pub controlled: Vec<Controlled>,
    /// The results for the mix of sizes, if there is one and all its runs reached their end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixed: Option<Mixed>,
}

/// The measurements of a mix of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixed {
    /// Pure reads and pure writes of each size.
    pub pure: Vec<Pure>,
    /// The mix with its shares held in each way, in the order of [`Shares::ALL`].
    pub held: Vec<Held>,
}

/// Pure reads and pure writes of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pure {
    /// Bytes per operation.
    pub size_bytes: u64,
    /// Reads per second.
    pub reads: f64,
    /// Writes per second.
    pub writes: f64,
}

/// A run of the mix with its shares held in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// What the shares of the mix are of.
    pub shares: Shares,
    /// Operations per second.
    pub per_second: f64,
    /// The shares that each part had in the run.
    pub parts: Vec<Portion>,
}

/// The shares of one part, counted in each way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Portion {
    /// Of the operations done.
    pub operations: f64,
    /// Of the operations in flight.
    pub concurrency: f64,
    /// Of the capacity used: an operation uses the reciprocal of the rate of its kind alone.
    pub capacity: f64,
}

/// The results of a rule of admission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Controlled {
    /// The name of the rule.
    pub name: String,
    /// The busy share of the disks, per window.
    pub busy: Vec<f64>,
    /// Operations done per second.
    pub per_second: f64,
    /// The share of operations that were rejected, if any arrived.
    pub sent_away: Option<f64>,
    /// The 99th percentile of latency, in microseconds.
    pub p99_us: Option<f64>,
}

impl Controlled {
    /// The mean busy share of the disks, if there was a whole window.
    #[must_use]
    pub(crate) fn utilisation(&self) -> Option<f64> {
        mean(self.busy.iter().copied())
    }

    /// The mean absolute deviation of windows from a target.
    #[must_use]
    pub(crate) fn deviation(&self, target: f64) -> Option<f64> {
        mean(self.busy.iter().map(|busy| (busy - target).abs()))
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

/// All results of one replicate, with its events and digests.
pub struct Replicate {
    /// The measurements.
    pub measured: Measured,
    /// Events committed.
    pub events: u64,
    /// Digests of all runs.
    pub digests: Vec<String>,
    /// Whether one of the runs was stopped.
    pub partial: bool,
}

/// Executes all runs of a replicate.
///
/// # Errors
/// When a model fails.
pub fn replicate(scenario: &Scenario, context: &RunContext<'_>) -> Result<Replicate, StudyError> {
    let mut all = Replicate { measured: Measured::default(), events: 0, digests: Vec::new(), partial: false };
    for reads in READS {
        let rate = match scenario.protocol() {
            Some(protocol) => put_rate(scenario, (protocol, reads), context, &mut all)?,
            None => {
                let cluster = closed(scenario, reads);
                run(&cluster, context, &mut all)?.map(|counts| per_second(&cluster, &counts))
            }
        };
        all.measured.iops.push(rate);
        if all.partial {
            all.measured.iops.resize(READS.len(), None);
            return Ok(all);
        }
    }
    if scenario.protocol().is_none()
        && let Some(size) = size_model(scenario, &all.measured.iops)
    {
        for (name, admission) in admissions(scenario, &size) {
            let cluster = open(scenario, &size, admission);
            let Some(counts) = run(&cluster, context, &mut all)? else { break };
            all.measured.controlled.push(controlled(name, &cluster, &counts));
        }
    }
    Ok(all)
}

/// The method's model for this size of operation: from the pure mixes, and compared with the others. None
/// where a measurement is missing.
#[must_use]
pub(super) fn size_model(scenario: &Scenario, iops: &[Option<f64>]) -> Option<SizeModel> {
    let size = scenario.size.get();
    let one = |(reads, iops): (u64, &Option<f64>)| {
        let iops = iops.filter(|iops| *iops > 0.0)?;
        Some(alone(size, reads as f64 / 100.0, iops))
    };
    let runs: Option<Vec<Run>> = READS.into_iter().zip(iops).map(one).collect();
    towtank_capacity::fit(&runs?).ok()?.sizes.into_iter().next()
}

/// A run of one size, for the method.
#[must_use]
pub fn alone(size_bytes: u64, reads: f64, iops: f64) -> Run {
    Run {
        system: None,
        mix: Mix::alone(size_bytes, reads),
        shares: Shares::default(),
        iops,
        file: "simulation".to_owned(),
        place: format!("{} % reads", 100.0 * reads),
    }
}

/// The statistics of a run; none if it was stopped, since rates are of whole runs.
///
/// # Errors
/// When the model fails.
pub fn run(
    cluster: &Cluster,
    context: &RunContext<'_>,
    all: &mut Replicate,
) -> Result<Option<Counts>, StudyError> {
    let run = simulate(cluster, Some(cluster.until), context)?;
    all.events += run.run.committed;
    all.digests.push(run.digest.to_string());
    all.partial |= run.partial;
    Ok((!run.partial).then(|| run.merged_statistics()))
}

/// Operations per second in the measured span.
#[must_use]
pub fn per_second(cluster: &Cluster, counts: &Counts) -> f64 {
    counts.latencies.count() as f64 / cluster.until.since(cluster.from).as_secs_f64()
}

/// A closed loop in which `reads` percent of the operations are reads.
fn closed(scenario: &Scenario, reads: u64) -> Cluster {
    let reads = Percent::from_percent(reads).map_or(0, Percent::of_words);
    let parts = vec![Part { size: scenario.size, reads, up_to: u64::MAX }];
    cluster(scenario, parts, Load::Closed(scenario.depth * scenario.servers))
}

/// The cluster with this mix and this load. The parts must not be empty.
#[must_use]
pub fn cluster(scenario: &Scenario, parts: Vec<Part>, load: Load) -> Cluster {
    let usual = parts[0].size;
    let spans = parts.iter().map(|part| scenario.spans(part.size, part.reads as f64 / u64::MAX as f64));
    let spans = spans.reduce(|longest, next| if next.measured > longest.measured { next } else { longest });
    let spans = spans.expect("a cluster has a load");
    let from = SimTime::ZERO.saturating_add(spans.warm_up);
    let until = from.saturating_add(spans.measured);
    let fast = scenario.fast_servers.of(u64::from(scenario.servers)) as u32;
    let disks = [scenario.disk, scenario.fast_disk].map(|rate| {
        let spec = DiskSpec {
            read: rate,
            write: rate,
            read_overhead: scenario.read_overhead,
            write_overhead: scenario.write_overhead,
            seeks: Vec::new(),
            extent: Bytes::ZERO,
        };
        DiskClock::new(spec, usual)
    });
    let card = CardSpec { rate: scenario.link, latency: scenario.trip, gap: SimSpan::ZERO };
    Cluster {
        servers: scenario.servers,
        fast,
        replicas: scenario.replicas,
        acks: scenario.ack.copies(scenario.replicas),
        parts,
        disks,
        card: CardClock::new(card, usual),
        cached: scenario.cached,
        hits: scenario.cache_hits.of_words(),
        load,
        admission: Admission::Open,
        from,
        until,
        phase: scenario.control.phase,
        window: scenario.control.window,
    }
}

/// An open loop that offers more than the cluster can do, in phases.
fn open(scenario: &Scenario, size: &SizeModel, admission: Admission) -> Cluster {
    let offered = scenario.control.offered.fraction_f64();
    let phase = |reads: &Percent| {
        let gap_ns = 1e9 / (size.straight(reads.fraction_f64()) * offered);
        Exponential::with_mean(gap_ns).ok().map(|gaps| (gaps, reads.of_words()))
    };
    let phases: Vec<_> = scenario.control.reads.iter().filter_map(phase).collect();
    let from = SimTime::ZERO.saturating_add(scenario.warm_up.unwrap_or(WARM_UP));
    let span = scenario.control.phase.saturating_mul(phases.len() as u64);
    Cluster {
        load: Load::Open(phases),
        admission,
        from,
        until: from.saturating_add(span),
        ..closed(scenario, 0)
    }
}

/// The three rules of admission, set up with the method's model of the cluster.
fn admissions(scenario: &Scenario, size: &SizeModel) -> [(&'static str, Admission); 3] {
    let target = (scenario.control.target.billionths() / 1_000) as i64;
    let half = size.straight(0.5);
    [
        ("budget", Admission::Budget(Budget::new(size.reads.iops.value, size.writes.iops.value, target))),
        ("fixed", Admission::Budget(Budget::new(half, half, target))),
        ("pid", Admission::regulated(half, target)),
    ]
}

fn controlled(name: &str, cluster: &Cluster, counts: &Counts) -> Controlled {
    let whole = f64::from(cluster.servers) * cluster.window.as_ns() as f64;
    let span: SimSpan = cluster.until.since(cluster.from);
    let done = counts.latencies.count();
    let p99 = |latencies: &Histogram| latencies.quantile(0.99).map(|estimate| estimate.value / 1e3);
    Controlled {
        name: name.to_owned(),
        busy: counts.busy_ns.iter().map(|busy| *busy as f64 / whole).collect(),
        per_second: done as f64 / span.as_secs_f64(),
        sent_away: share(counts.sent_away, counts.sent_away + done),
        p99_us: p99(&counts.latencies),
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Bytes per operation under way, its events included, and per server: measured with 1,000 servers and 8 or
/// 100 operations each.
const OPERATION: u64 = 450;
const SERVER: u64 = 256;
/// Bytes per window at the end: its point in each line, as kept and drawn.
const WINDOW_DRAWN: u64 = 100;

/// An estimate of the memory of a replicate.
#[must_use]
pub fn memory_estimate(scenario: &Scenario) -> Bytes {
    if let Some(protocol) = scenario.protocol() {
        return towtank_puts::memory::of_run(&spec(scenario, 50), protocol);
    }
    let servers = u64::from(scenario.servers);
    let windows = scenario.windows();
    let under_way = servers.saturating_mul(u64::from(scenario.depth)).saturating_mul(OPERATION);
    let counted = windows.saturating_mul((servers + 2).saturating_mul(8) + WINDOW_DRAWN);
    Bytes::new((servers * SERVER).saturating_add(under_way).saturating_add(counted))
}

/// Puts and gets per second by a protocol, on the model of `towtank put`; none if it was stopped.
fn put_rate(
    scenario: &Scenario,
    (protocol, reads): (Protocol, u64),
    context: &RunContext<'_>,
    all: &mut Replicate,
) -> Result<Option<f64>, StudyError> {
    let cluster = spec(scenario, reads).cluster(protocol, false);
    // `end` is exclusive, so one nanosecond is added to include the last one.
    let end = SimTime::from_ns(cluster.measured.end.as_ns().saturating_add(1));
    let run = simulate(&cluster, Some(end), context)?;
    all.events += run.run.committed;
    all.digests.push(run.digest.to_string());
    all.partial |= run.partial;
    let counted = Counted::of_run(&cluster, &run).filter(|_| !run.partial);
    Ok(counted.map(|counted| counted.operations_per_second()))
}

/// The cluster for a protocol: as many gateways as servers; everything that this study does not set is as in
/// `towtank put`.
fn spec(scenario: &Scenario, reads: u64) -> Spec {
    let spans = scenario.spans(scenario.size, reads as f64 / 100.0);
    Spec {
        gateways: scenario.servers,
        servers: scenario.servers,
        replicas: scenario.replicas,
        chunk: scenario.size,
        disk: scenario.disk,
        in_flight: scenario.depth,
        read_share: Percent::from_percent(reads).unwrap_or(Percent::ZERO),
        duration: spans.measured,
        warm_up: spans.warm_up,
        start_spread: spans.start_spread,
        network: Network { link: scenario.link, trip: scenario.trip, ..Network::default() },
        ..Spec::default()
    }
}
