//! From a recovery to what it says: the measures of one replicate, and what is kept for the presentation.

use serde::{Deserialize, Serialize};
use towtank_metrics::Histogram;
use towtank_report::Outcome;
use towtank_units::{SimSpan, SimTime};

use super::bottleneck::{Resource, name as name_bottleneck};
use super::generated::Replicate;
use super::hardware::Hardware;
use super::levers::Tried;
use super::model::Latencies;
use super::recovery::{Recovered, Waited, Waiting};
use crate::MeasureSpec;

/// What is known of a cluster beside its machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Servers on which nothing fails.
    pub survivors: u32,
    /// For each device, what it holds; none where nobody says.
    pub capacity: Option<Vec<u64>>,
    /// Reservations a device grants.
    pub reservations: Option<u32>,
}

/// What one replicate came to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// What failed.
    pub failed: Vec<String>,
    /// What held it up.
    pub bottleneck: Option<String>,
    /// Changes that were tried, the one that helps most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// All resources, the busiest kind first.
    pub resources: Vec<Resource>,
    /// Server by server.
    pub servers: Vec<ServerSeen>,
    /// Bytes that each label sends to each other one.
    pub traffic: Option<Traffic>,
    /// When how much was finished, in seconds and bytes.
    pub progress: Vec<(f64, u64)>,
    /// Bytes that were made again, over all targets.
    pub rebuilt: u64,
    /// Bytes that are not finished in the end: of lost objects, of those without a home, and of what a stop left.
    pub unfinished: u64,
    /// Groups, or single objects, that take no writes: from when on, in seconds, and how many.
    pub below: Vec<(f64, u64)>,
    /// What clients waited, where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientsSeen>,
    /// How the affected were found.
    pub found: String,
    /// Objects, or groups, that were looked at to find them.
    pub asked: u64,
    /// Records are groups.
    pub grouped: bool,
}

/// What clients waited, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientsSeen {
    /// Reads, then writes.
    pub kinds: [ClientKind; 2],
}

/// What one kind of operations waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientKind {
    /// Median, 90th, 99th and 99.9th percentile when nothing is rebuilt.
    pub quiet: Vec<f64>,
    /// The same while it is.
    pub during: Vec<f64>,
    /// The mean when nothing is rebuilt.
    pub quiet_mean: Option<f64>,
    /// Means over time: seconds and microseconds.
    pub over_time: Vec<(f64, f64)>,
}

/// The percentiles of [`ClientKind`].
pub const PERCENTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

impl ClientsSeen {
    fn of(waited: &Waited) -> ClientsSeen {
        let kind = |write: usize| {
            let of = |latencies: &Latencies| {
                if write == 1 { latencies.writes.clone() } else { latencies.reads.clone() }
            };
            let (quiet, during) = (of(&waited.quiet), of(&waited.during));
            let all =
                |histogram: &Histogram| PERCENTILES.iter().filter_map(|&q| micros(histogram, q)).collect();
            let mean = |&(at, counts): &(SimTime, [(u64, u64); 2])| {
                let (count, sum) = counts[write];
                (count > 0).then(|| (at.as_secs_f64(), sum as f64 / count as f64 / 1e3))
            };
            ClientKind {
                quiet: all(&quiet),
                during: all(&during),
                quiet_mean: quiet.mean().map(|mean| mean / 1e3),
                over_time: waited.over_time.iter().filter_map(mean).collect(),
            }
        };
        ClientsSeen { kinds: [kind(0), kind(1)] }
    }
}

fn micros(histogram: &Histogram, q: f64) -> Option<f64> {
    histogram.quantile(q).map(|estimate| estimate.value / 1e3)
}

/// What one server did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSeen {
    /// Its number.
    pub server: u32,
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Bytes it sent.
    pub sent: u64,
    /// Bytes it received.
    pub received: u64,
    /// Bytes its disks read.
    pub read: u64,
    /// Bytes its disks wrote.
    pub written: u64,
    /// Share of the transfer that its busiest disk worked.
    pub disk_busy: f64,
    /// Share of the transfer that its card was sending.
    pub sending_busy: f64,
    /// And receiving.
    pub receiving_busy: f64,
}

impl ServerSeen {
    /// Its name, or its number.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.server.to_string())
    }
}

/// Who sends to whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Servers, or ranges of them.
    pub labels: Vec<String>,
    /// `[from][to]`, in bytes.
    pub matrix: Vec<Vec<u64>>,
}

const fn measure(name: &'static str, unit: &'static str, about: &'static str) -> MeasureSpec {
    MeasureSpec { name, unit, about }
}

/// The measures of a replicate.
pub const MEASURES: &[MeasureSpec] = &[
    measure("time_to_full_redundancy_s", "s", "from the first failure to the last durable write"),
    measure("time_to_two_copies_s", "s", "until no object is left with a single copy (or just k shards)"),
    measure("detection_s", "s", "of that, until the first failure was known"),
    measure("down_out_s", "s", "and from then until what failed was given up"),
    measure("transfer_s", "s", "and the transfers themselves, without the time between them"),
    measure("aggregate_rate_bytes_per_s", "bytes/s", "bytes rebuilt over the time of the transfers"),
    measure(
        "ideal_rate_bytes_per_s",
        "bytes/s",
        "what the same work would allow, spread evenly over all that survives",
    ),
    measure("bound_rate_bytes_per_s", "bytes/s", "what the busiest device would allow with this placement"),
    measure("ideal_share", "fraction", "the aggregate rate over the ideal"),
    measure("rate_per_survivor_bytes_per_s", "bytes/s", "the aggregate rate over the number of survivors"),
    measure("bytes_rebuilt", "bytes", "copies or shards written"),
    measure("objects_affected", "objects", "objects that had a copy or shard on what failed"),
    measure(
        "objects_rebuilt",
        "objects",
        "objects written to the homes found for them; twice after two failures",
    ),
    measure("groups_affected", "groups", "groups, or single objects, that touched what failed"),
    measure("lost_objects", "objects", "objects of which too few copies or shards are left"),
    measure("stuck_objects", "objects", "objects that could not be rebuilt for want of a home"),
    measure("below_min_size", "groups", "groups, or single objects, that took no writes, at the most"),
    measure("servers_driving", "disks", "disks that led a rebuild"),
    measure("servers_writing", "servers", "servers that took something in"),
    measure("written_max_over_mean", "ratio", "most written on one survivor over the mean of all survivors"),
    measure("disk_busy_max", "fraction", "share of the transfer that the busiest disk worked"),
    measure("disk_busy_mean", "fraction", "the same for all surviving disks"),
    measure("card_busy_max", "fraction", "the same for the busiest card, sending or receiving"),
    measure("uplink_busy_max", "fraction", "the same for the busiest uplink"),
    measure(
        "reserving_share",
        "fraction",
        "share of the slots of all leading disks that waited for reservations",
    ),
    measure("sleeping_share", "fraction", "share of the transfer that leading disks rested"),
    measure("max_device_fill", "ratio", "how full the fullest disk is afterwards"),
    measure("client_operations", "operations", "operations of clients while lost data were rebuilt"),
    measure("client_read_latency_mean_us", "us", "what their reads took"),
    measure("client_read_latency_p99_us", "us", "the 99th percentile"),
    measure("client_write_latency_mean_us", "us", "what their writes took"),
    measure("client_write_latency_p99_us", "us", "the 99th percentile"),
    measure("client_read_latency_quiet_mean_us", "us", "what reads take when nothing is rebuilt"),
    measure("client_read_latency_quiet_p99_us", "us", "the 99th percentile"),
    measure("client_write_latency_quiet_mean_us", "us", "what writes take when nothing is rebuilt"),
    measure("client_write_latency_quiet_p99_us", "us", "the 99th percentile"),
];

impl Observed {
    /// What a replicate came to know.
    #[must_use]
    pub fn of(replicate: &Replicate) -> Observed {
        let Replicate { hardware, affected, struck, recovered, setting, resources, tried } = replicate;
        let span = transfer(recovered).map_or(0.0, SimSpan::as_secs_f64);
        let share = |busy: SimSpan| if span > 0.0 { busy.as_secs_f64() / span } else { 0.0 };
        let failed =
            |device: super::plan::DeviceId| struck.iter().any(|struck| struck.devices.contains(&device));
        let mut servers = Vec::new();
        for server in 0..hardware.servers() {
            if hardware.devices_of(server).all(failed) {
                continue;
            }
            let disks = || hardware.devices_of(server).map(|device| recovered.disks[device.index()]);
            let card = recovered.cards[server as usize];
            servers.push(ServerSeen {
                server,
                name: hardware.names().map(|names| names.servers[server as usize].clone()),
                sent: card[0].bytes,
                received: card[1].bytes,
                read: disks().map(|disk| disk.1).sum(),
                written: disks().map(|disk| disk.2).sum(),
                disk_busy: disks().map(|disk| share(disk.0)).fold(0.0, f64::max),
                sending_busy: share(card[0].span),
                receiving_busy: share(card[1].span),
            });
        }
        let found = match affected.found {
            super::affected::Found::ByInverse => "found by the placement's inverse",
            super::affected::Found::ByAsking => "found by asking every one",
            super::affected::Found::Drawn => "drawn from the exact distribution of the placement",
        };
        Observed {
            failed: struck.iter().map(|struck| struck.name.clone()).collect(),
            bottleneck: name_bottleneck(resources, setting.reservations),
            tried: tried.clone(),
            resources: resources.clone(),
            servers,
            traffic: recovered.work.traffic.as_deref().and_then(|matrix| traffic(matrix, hardware)),
            progress: recovered.progress.iter().map(|(at, bytes)| (at.as_secs_f64(), *bytes)).collect(),
            rebuilt: recovered.bytes,
            unfinished: recovered.unfinished.saturating_add(recovered.stuck.bytes),
            below: recovered.below.iter().map(|(at, count)| (at.as_secs_f64(), *count)).collect(),
            clients: recovered.clients.as_ref().map(ClientsSeen::of),
            found: found.to_owned(),
            asked: affected.asked,
            grouped: affected.grouped,
        }
    }
}

/// How long something was being transferred; nothing where nothing was.
#[must_use]
pub fn transfer(recovered: &Recovered) -> Option<SimSpan> {
    (!recovered.moving.is_zero()).then_some(recovered.moving)
}

/// More labels than this cannot be told apart round a circle; then neighbours are taken together.
const LABELS_MAX: u32 = 32;

fn traffic(matrix: &[u64], hardware: &Hardware) -> Option<Traffic> {
    let servers = hardware.servers();
    let each = servers.div_ceil(LABELS_MAX).max(1);
    let labels = servers.div_ceil(each);
    let mut joined = vec![vec![0u64; labels as usize]; labels as usize];
    for (at, bytes) in (0u32..).zip(matrix) {
        let (from, to) = (at / servers / each, at % servers / each);
        joined[from as usize][to as usize] += bytes;
    }
    let name = |label: u32| {
        let (first, last) = (label * each, ((label + 1) * each).min(servers) - 1);
        let one = |server: u32| match hardware.names() {
            Some(names) => names.servers[server as usize].clone(),
            None => server.to_string(),
        };
        if first == last { one(first) } else { format!("{}\u{2013}{}", one(first), one(last)) }
    };
    let any = joined.iter().flatten().any(|&bytes| bytes > 0);
    any.then(|| Traffic { labels: (0..labels).map(name).collect(), matrix: joined })
}

/// The outcome of a replicate that was stopped too soon.
#[must_use]
pub fn stopped() -> Outcome {
    let mut outcome = Outcome { partial: true, ..Outcome::default() };
    for measure in MEASURES {
        let reason = "the run was stopped before it was known what is lost";
        outcome.missing(measure.name, measure.unit, reason);
    }
    outcome
}

/// The outcome of a replicate.
#[must_use]
pub fn outcome(replicate: &Replicate, waiting: Waiting) -> Outcome {
    let recovered = &replicate.recovered;
    let observed = Observed::of(replicate);
    let mut outcome = Outcome {
        digest: Some(digest(recovered)),
        events: recovered.events,
        partial: recovered.partial,
        ..Outcome::default()
    };
    let values = values(replicate, &observed, waiting);
    for (measure, value) in MEASURES.iter().zip(values) {
        match value {
            Ok(value) => outcome.measure(measure.name, value, measure.unit),
            Err(reason) => outcome.missing(measure.name, measure.unit, reason),
        }
    }
    let json = serde_json::to_value(&observed).expect("counts and names go into JSON");
    outcome.series.insert("observed".to_owned(), json);
    outcome
}

fn digest(recovered: &Recovered) -> String {
    match &recovered.digests[..] {
        [] => "0000000000000000".to_owned(),
        digests => {
            let folded =
                digests.iter().fold(0u64, |folded, digest| towtank_streams::mix(folded ^ 1, digest.0 ^ 2));
            if let [one] = digests { one.to_string() } else { format!("{folded:016x}") }
        }
    }
}

/// What is left, where not everything could be rebuilt.
fn left(recovered: &Recovered, waiting: Waiting) -> Option<String> {
    if recovered.partial {
        return Some("the run was stopped before everything was rebuilt".to_owned());
    }
    let stuck = recovered.stuck;
    let mut reasons = Vec::new();
    let mut say = |count: u64, why: &str| {
        if count > 0 {
            reasons.push(format!("{count} objects {why}"));
        }
    };
    say(stuck.lost, "are lost: too few copies or shards are left");
    let why = if waiting.noout { "wait, since `noout` is set" } else { "wait for what is not given up" };
    say(stuck.waiting, why);
    say(stuck.homeless, "have no legal home left");
    say(stuck.full, "do not fit: their home would be fuller than `backfillfull_ratio`");
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

type Value = Result<f64, String>;

/// Values of [`MEASURES`], in their order; those of clients come last, and only where there are some.
fn values(replicate: &Replicate, observed: &Observed, waiting: Waiting) -> Vec<Value> {
    let Replicate { recovered, setting, affected, .. } = replicate;
    let nothing = || "nothing was transferred".to_owned();
    let seconds = |at: SimTime| at.as_secs_f64();
    let left = left(recovered, waiting);
    let first =
        replicate.struck.first().map_or(SimTime::ZERO, |struck| SimTime::ZERO.saturating_add(struck.at));
    let since = |at: SimTime| seconds(at) - seconds(first);
    let span = transfer(recovered).ok_or_else(nothing).map(SimSpan::as_secs_f64);
    let bytes = recovered.bytes as f64;
    let survivors = f64::from(setting.survivors);
    let over = |span: SimSpan| {
        let seconds = span.as_secs_f64();
        if bytes > 0.0 && seconds > 0.0 { Ok(bytes / seconds) } else { Err(nothing()) }
    };
    let rate = transfer(recovered).ok_or_else(nothing).and_then(over);
    let ideal = over(recovered.ideal);
    let most = |busy: &dyn Fn(&ServerSeen) -> f64| observed.servers.iter().map(busy).fold(0.0, f64::max);
    let full = match &left {
        Some(reason) => Err(reason.clone()),
        None if recovered.jobs == 0 => Ok(0.0),
        None => Ok(since(recovered.last_write)),
    };
    let two = match (&left, recovered.last_by_spare[0]) {
        (Some(reason), _) => Err(reason.clone()),
        (None, Some(at)) => Ok(since(at)),
        (None, None) => Ok(0.0),
    };
    let written: Vec<f64> = observed.servers.iter().map(|server| server.written as f64).collect();
    let mean = written.iter().sum::<f64>() / written.len().max(1) as f64;
    let share_of = |name: &str| observed.resources.iter().find(|resource| resource.name == name);
    let uplinks = share_of("rack uplinks").map(|resource| resource.busiest);
    let fill = setting.capacity.as_ref().map(|capacity| {
        let fills = recovered.fill.iter().zip(capacity).map(|(used, size)| *used as f64 / *size as f64);
        fills.fold(0.0, f64::max)
    });
    let stuck = recovered.stuck;
    let mut values = vec![
        full,
        two,
        Ok(waiting.detection.as_secs_f64()),
        if waiting.noout { Err("`noout` is set".to_owned()) } else { Ok(waiting.down_out.as_secs_f64()) },
        span.clone(),
        rate.clone(),
        ideal.clone(),
        over(recovered.bound),
        rate.clone().and_then(|rate| ideal.map(|ideal| rate / ideal)),
        rate.map(|rate| rate / survivors),
        Ok(bytes),
        Ok(affected.objects() as f64),
        Ok(recovered.jobs as f64),
        Ok(affected.records() as f64),
        Ok(stuck.lost as f64),
        Ok((stuck.waiting + stuck.homeless + stuck.full) as f64),
        Ok(recovered.below_min_size as f64),
        Ok(recovered.drivers as f64),
        Ok(written.iter().filter(|&&bytes| bytes > 0.0).count() as f64),
        if mean > 0.0 { Ok(written.iter().copied().fold(0.0, f64::max) / mean) } else { Err(nothing()) },
        Ok(most(&|server| server.disk_busy)),
        Ok(share_of("disks").map_or(0.0, |resource| resource.mean)),
        Ok(most(&|server| server.sending_busy.max(server.receiving_busy))),
        uplinks.ok_or_else(|| "uplinks are not limited".to_owned()),
        Ok(share_of("reservations").map_or(0.0, |resource| resource.mean)),
        Ok(share_of("rests").map_or(0.0, |resource| resource.mean)),
        fill.ok_or_else(|| "nobody says how much a disk holds".to_owned()),
    ];
    values.extend(client_values(recovered));
    values
}

/// What clients waited; nothing is said where there are none.
fn client_values(recovered: &Recovered) -> Vec<Value> {
    let Some(waited) = &recovered.clients else { return Vec::new() };
    let (during, quiet) = (&waited.during, &waited.quiet);
    let none = || "no such operation was done".to_owned();
    let both = |histogram: &Histogram| {
        [histogram.mean().map(|mean| mean / 1e3).ok_or_else(none), micros(histogram, 0.99).ok_or_else(none)]
    };
    let count = during.reads.count() + during.writes.count();
    let all = [&during.reads, &during.writes, &quiet.reads, &quiet.writes].into_iter().flat_map(both);
    std::iter::once(Ok(count as f64)).chain(all).collect()
}
