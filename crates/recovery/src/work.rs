//! The measures of what machines did in a recovery: rates, utilisation, and the latency of clients.
//! `whatif` has them too.

use towtank_metrics::{Histogram, spearman};
use towtank_rebuild::recovery::{Recovered, Waited};
use towtank_units::SimSpan;

use crate::levers::micros;
use crate::observed::{ServerSeen, transfer};
use crate::resources::{Kind, Resource, of_kind};
use towtank_study::{Measure, Value};

/// The results of a replicate in which machines recovered data.
pub trait Work: 'static {
    /// The recovery.
    fn recovered(&self) -> &Recovered;
    /// One entry for each server that was there until the end.
    fn servers(&self) -> &[ServerSeen];
    /// How busy each kind of resource was.
    fn resources(&self) -> &[Resource];
    /// The number of servers on which something was left.
    fn survivors(&self) -> u32;
}

/// Why the mean of a measure has no interval: the soak counts how often one contains the mean.
const MAXIMUM: &str = "most replicates have its greatest value, and a few have far less";
const FEW_VALUES: &str = "it takes few values, one of them in most replicates";

/// The time of the transfers.
#[must_use]
pub fn of_transfers<S: Work>() -> Measure<S> {
    Measure::new("transfer_s", "s", "time of the transfers, without the time between them", |seen: &S| {
        transfer(seen.recovered()).ok_or_else(nothing_moved).map(SimSpan::as_secs_f64)
    })
    .titled("Transfer time")
}

/// Rates, and how fast it could have been.
#[must_use]
pub fn of_rates<S: Work>() -> Vec<Measure<S>> {
    vec![
        Measure::new(
            "aggregate_rate_bytes_per_s",
            "bytes/s",
            "bytes written over the time of the transfers",
            rate::<S>,
        )
        .titled("Throughput of the transfers"),
        Measure::new(
            "ideal_rate_bytes_per_s",
            "bytes/s",
            "rate if the same work were spread evenly over all survivors",
            ideal::<S>,
        )
        .titled("Rate if all survivors shared the work evenly")
        .without_interval(FEW_VALUES),
        Measure::new(
            "bound_rate_bytes_per_s",
            "bytes/s",
            "rate that the busiest device allows with this placement",
            |seen: &S| over(seen, seen.recovered().bound),
        )
        .titled("Rate that the busiest device allows"),
        Measure::new("ideal_share", "fraction", "aggregate rate over the ideal rate", |seen: &S| {
            Ok(rate(seen)? / ideal(seen)?)
        })
        .titled("Share of the ideal rate"),
        Measure::new(
            "rate_per_survivor_bytes_per_s",
            "bytes/s",
            "aggregate rate over the number of survivors",
            |seen: &S| Ok(rate(seen)? / f64::from(seen.survivors())),
        )
        .titled("Rate per survivor"),
    ]
}

/// How much each machine did.
#[must_use]
pub fn of_machines<S: Work>() -> Vec<Measure<S>> {
    let mut rows = vec![
        Measure::new("servers_driving", "disks", "disks that led a rebuild", |seen: &S| {
            Ok(seen.recovered().drivers as f64)
        })
        .titled("Disks that led a rebuild")
        .without_interval(FEW_VALUES),
        Measure::new("servers_writing", "servers", "servers that wrote rebuilt data", |seen: &S| {
            Ok(seen.servers().iter().filter(|server| server.written > 0).count() as f64)
        })
        .titled("Servers that wrote rebuilt data")
        .without_interval(FEW_VALUES),
        Measure::new(
            "written_max_over_mean",
            "ratio",
            "most bytes written on one survivor over the mean of all survivors",
            written_max_over_mean::<S>,
        )
        .titled("Most bytes written on one survivor, over the mean"),
        Measure::new(
            "peers_rate_correlation",
            "",
            "Spearman's rank correlation, over survivors, of the number of active peers and the rate",
            peers_and_rate::<S>,
        )
        .titled("Rank correlation of active peers and rate")
        .signed()
        .only_where(|seen| seen.recovered().clients.is_none() && peers_and_rate(seen).is_ok()),
    ];
    rows.extend(of_utilisation());
    rows
}

fn of_utilisation<S: Work>() -> Vec<Measure<S>> {
    vec![
        Measure::new(
            "disk_busy_max",
            "fraction",
            "share of the transfer time that the busiest disk is busy",
            |seen: &S| Ok(most(seen, |server| server.disk_busy)),
        )
        .titled("Utilisation of the busiest disk")
        .without_interval(MAXIMUM),
        Measure::new("disk_busy_mean", "fraction", "the same, mean of all surviving disks", |seen: &S| {
            Ok(mean_of(seen, Kind::Disks))
        })
        .titled("Mean utilisation of the disks"),
        Measure::new(
            "card_busy_max",
            "fraction",
            "the same for the busiest NIC, sending or receiving",
            |seen: &S| Ok(most(seen, |server| server.sending_busy.max(server.receiving_busy))),
        )
        .titled("Utilisation of the busiest NIC")
        .without_interval(MAXIMUM),
        Measure::new("uplink_busy_max", "fraction", "the same for the busiest uplink", |seen: &S| {
            let uplinks = resource(seen, Kind::Uplinks).map(|resource| resource.busiest);
            uplinks.ok_or_else(|| "uplinks are not limited".to_owned())
        })
        .titled("Utilisation of the busiest uplink")
        .without_interval(MAXIMUM),
        Measure::new(
            "reserving_share",
            "fraction",
            "share of time that the slots of leading disks waited for reservations",
            |seen: &S| Ok(mean_of(seen, Kind::Reservations)),
        )
        .titled("Time waiting for reservations"),
        Measure::new(
            "sleeping_share",
            "fraction",
            "share of the transfer time that leading disks slept",
            |seen: &S| Ok(mean_of(seen, Kind::Sleep)),
        )
        .titled("Time in recovery sleep"),
        Measure::new(
            "idle_items_share",
            "fraction",
            "share of the transfer time that leading disks slept for work items of groups that wait, which start nothing",
            |seen: &S| {
                let idle = resource(seen, Kind::IdleItems).map(|resource| resource.mean);
                idle.ok_or_else(|| "no group waits for a disk that sleeps".to_owned())
            },
        )
        .titled("Time for work items of waiting groups"),
    ]
}

/// The measures by which two recoveries are compared, after the time until they end: how long data are at
/// risk, what is lost, what moves, and what clients notice.
pub const COMPARED_BY: [&str; 11] = [
    "time_to_full_redundancy_s",
    "time_to_two_copies_s",
    "lost_objects",
    "stuck_objects",
    "below_min_size",
    "data_loss_probability_fraction",
    "moved_bytes",
    "bytes_rebuilt",
    "client_operations_per_s",
    "client_read_latency_p99_us",
    "client_write_latency_p99_us",
];

/// Operations of clients and their latencies; these measures are left out where there are no clients.
#[must_use]
pub fn of_clients<S: Work>() -> Vec<Measure<S>> {
    let row = |name: &'static str, unit, about, value: fn(&Waited) -> Value| {
        let measure = Measure::new(name, unit, about, move |seen: &S| {
            value(seen.recovered().clients.as_ref().ok_or("there are no clients")?)
        });
        measure.only_where(|seen| seen.recovered().clients.is_some())
    };
    vec![
        row("client_operations", "operations", "operations of clients while data move", |waited| {
            Ok((waited.during.reads.count() + waited.during.writes.count()) as f64)
        })
        .titled("Operations of clients"),
        row("client_operations_per_s", "operations/s", "their rate while data move", |waited| {
            waited.rates()[0].ok_or_else(none_done)
        })
        .titled("Rate of client operations"),
        row("client_operations_quiet_per_s", "operations/s", "their rate when nothing moves", |waited| {
            waited.rates()[1].ok_or_else(none_done)
        })
        .titled("Rate of client operations when nothing moves"),
        row("client_read_latency_mean_us", "us", "mean latency of their reads", |waited| {
            mean(&waited.during.reads)
        }),
        row("client_read_latency_p99_us", "us", "99th percentile", |waited| p99(&waited.during.reads)),
        row("client_write_latency_mean_us", "us", "mean latency of their writes", |waited| {
            mean(&waited.during.writes)
        }),
        row("client_write_latency_p99_us", "us", "99th percentile", |waited| p99(&waited.during.writes)),
        row(
            "client_read_latency_quiet_mean_us",
            "us",
            "mean latency of reads when nothing moves",
            |waited| mean(&waited.quiet.reads),
        ),
        row("client_read_latency_quiet_p99_us", "us", "99th percentile", |waited| p99(&waited.quiet.reads)),
        row(
            "client_write_latency_quiet_mean_us",
            "us",
            "mean latency of writes when nothing moves",
            |waited| mean(&waited.quiet.writes),
        ),
        row("client_write_latency_quiet_p99_us", "us", "99th percentile", |waited| p99(&waited.quiet.writes)),
    ]
}

fn mean(latencies: &Histogram) -> Value {
    latencies.mean().map(|mean| mean / 1e3).ok_or_else(none_done)
}

fn p99(latencies: &Histogram) -> Value {
    micros(latencies, 0.99).ok_or_else(none_done)
}

fn none_done() -> String {
    "no such operation was done".to_owned()
}

fn nothing_moved() -> String {
    "nothing was transferred".to_owned()
}

/// The rate of the transfers over a span.
fn over<S: Work>(seen: &S, span: SimSpan) -> Value {
    let (bytes, seconds) = (seen.recovered().bytes as f64, span.as_secs_f64());
    if bytes > 0.0 && seconds > 0.0 { Ok(bytes / seconds) } else { Err(nothing_moved()) }
}

fn rate<S: Work>(seen: &S) -> Value {
    over(seen, transfer(seen.recovered()).ok_or_else(nothing_moved)?)
}

fn ideal<S: Work>(seen: &S) -> Value {
    over(seen, seen.recovered().ideal)
}

fn written_max_over_mean<S: Work>(seen: &S) -> Value {
    let written = || seen.servers().iter().map(|server| server.written as f64);
    let mean = written().sum::<f64>() / written().len().max(1) as f64;
    if mean > 0.0 { Ok(written().fold(0.0, f64::max) / mean) } else { Err(nothing_moved()) }
}

/// A server that took no part has no rate, and is left out.
fn peers_and_rate<S: Work>(seen: &S) -> Value {
    if seen.servers().iter().any(|server| server.peers.is_none()) {
        return Err("the cluster has too many servers to keep what each pair of them sent".to_owned());
    }
    let sustained = seen.servers().iter().filter_map(ServerSeen::sustained);
    let (peers, rates): (Vec<f64>, Vec<f64>) = sustained.unzip();
    let same = "all servers that took part have as many active peers, or the same rate";
    spearman(&peers, &rates).ok_or_else(|| same.to_owned())
}

fn most<S: Work>(seen: &S, busy: fn(&ServerSeen) -> f64) -> f64 {
    seen.servers().iter().map(busy).fold(0.0, f64::max)
}

fn resource<S: Work>(seen: &S, kind: Kind) -> Option<&Resource> {
    of_kind(seen.resources(), kind)
}

fn mean_of<S: Work>(seen: &S, kind: Kind) -> f64 {
    resource(seen, kind).map_or(0.0, |resource| resource.mean)
}
