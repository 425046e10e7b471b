//! The figures of a recovery.

use towtank_report::{
    Axis, BarSeries, CurvePoint, Draw, EcdfSeries, Figure, Kind, LineSeries, Num, Reference,
};

use crate::observed::{ClientKind, ClientsSeen, Observed, PERCENTILES, ServerSeen};
use crate::slowest::{Runs, SERVERS_DRAWN};

/// A figure of its parts.
#[must_use]
pub fn figure(id: &str, title: &str, caption: &str, kind: Kind) -> Figure {
    Figure::new(id, title, caption, kind)
}

/// The parts of a time, one bar a point; parts that no point has are left out.
#[must_use]
pub fn times(names: Vec<String>, parts: &[(&str, Vec<Option<f64>>)]) -> Figure {
    let bars = |(name, values): &(&str, Vec<Option<f64>>)| BarSeries {
        name: (*name).to_owned(),
        values: values.iter().map(|value| Num::from(*value)).collect(),
        low: Vec::new(),
        high: Vec::new(),
    };
    let has = |(_, values): &&(&str, Vec<Option<f64>>)| values.iter().any(Option::is_some);
    figure(
        "times",
        "Parts of the time",
        "What passes until the last byte is durable where it belongs.",
        Kind::Bar {
            x: "point".to_owned(),
            y: Axis::linear("time", "s"),
            categories: names,
            series: parts.iter().filter(has).map(bars).collect(),
            stacked: true,
            references: Vec::new(),
        },
    )
}

/// What each survivor wrote, one curve a point.
#[must_use]
pub fn written(all: &[Runs<'_>]) -> Figure {
    let samples = |runs: &Runs<'_>| -> Vec<f64> {
        let of = |observed: &Observed| -> Vec<f64> {
            let all: Vec<f64> = observed.servers.iter().map(|server| server.written as f64).collect();
            let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
            all.into_iter().map(|bytes| if mean > 0.0 { bytes / mean } else { 0.0 }).collect()
        };
        runs.observed.iter().copied().flat_map(of).collect()
    };
    figure(
        "written",
        "Bytes written by each survivor",
        "Over the mean of all survivors, for each survivor of each replicate. The one with the most finishes last.",
        Kind::Ecdf {
            x: Axis::linear("bytes written over the mean", ""),
            series: all.iter().map(|runs| EcdfSeries::of(runs.name.clone(), &samples(runs))).collect(),
            references: vec![Reference::Vertical { name: "even".to_owned(), at: Num::from(1.0) }],
            tail: false,
        },
    )
}

/// The figures of the machines of one replicate.
#[must_use]
pub fn of_machines(seen: &Observed) -> Vec<Figure> {
    let mut figures = Vec::new();
    if seen.below.iter().any(|point| point.1 > 0) {
        figures.push(below(seen));
    }
    if let Some(clients) = &seen.clients {
        figures.extend([waited(clients), waited_over_time(clients)]);
    }
    if seen.servers.len() <= SERVERS_DRAWN {
        figures.push(servers(seen));
    }
    figures
}

/// How many groups or objects take no writes, over time.
fn below(seen: &Observed) -> Figure {
    let what = if seen.grouped { "groups" } else { "objects" };
    let points = seen.below.iter().map(|&(at, count)| CurvePoint::new(at, count as f64));
    figure(
        "below-min-size",
        &format!("Number of {what} that take no writes"),
        "Those with fewer copies or shards left than `min_size`, in the first replicate.",
        Kind::Line {
            x: Axis::linear("time since the failure", "s"),
            y: Axis::linear(what, ""),
            series: vec![LineSeries { name: what.to_owned(), points: points.collect(), draw: Draw::Step }],
            references: Vec::new(),
        },
    )
}

/// Percentiles of the latency of clients.
fn waited(clients: &ClientsSeen) -> Figure {
    let [reads, writes] = &clients.kinds;
    let bars = |name: &str, values: &[f64]| BarSeries {
        name: name.to_owned(),
        values: values.iter().map(|us| Num::from(us / 1e3)).collect(),
        low: Vec::new(),
        high: Vec::new(),
    };
    let all = [
        bars("reads, nothing moves", &reads.quiet),
        bars("reads, while data move", &reads.during),
        bars("writes, nothing moves", &writes.quiet),
        bars("writes, while data move", &writes.during),
    ];
    figure(
        "clients",
        "Latency of clients",
        "Latencies of clients' operations in the first replicate, from request to answer.",
        Kind::Bar {
            x: "percentile".to_owned(),
            y: Axis::linear("latency", "ms"),
            categories: PERCENTILES.iter().map(|q| format!("{} %", 100.0 * q)).collect(),
            series: all.into_iter().filter(|series| !series.values.is_empty()).collect(),
            stacked: false,
            references: Vec::new(),
        },
    )
}

/// Their mean latencies over time.
fn waited_over_time(clients: &ClientsSeen) -> Figure {
    let named =
        || ["reads", "writes"].into_iter().zip(&clients.kinds).filter(|(_, kind)| !kind.over_time.is_empty());
    let line = |(name, kind): (&str, &ClientKind)| LineSeries {
        name: name.to_owned(),
        points: kind.over_time.iter().map(|&(at, us)| CurvePoint::new(at, us / 1e3)).collect(),
        draw: Draw::Line,
    };
    let quiet = |(name, kind): (&str, &ClientKind)| {
        let name = format!("{name}, nothing moves");
        Some(Reference::Horizontal { name, at: Num::from(kind.quiet_mean? / 1e3) })
    };
    figure(
        "clients-over-time",
        "Latency of clients while data move",
        "Mean latency in the first replicate, by the time of the answer.",
        Kind::Line {
            x: Axis::linear("time since the failure", "s"),
            y: Axis::linear("mean latency", "ms"),
            series: named().map(line).collect(),
            references: named().filter_map(quiet).collect(),
        },
    )
}

fn servers(seen: &Observed) -> Figure {
    let seen = &seen.servers;
    let bars = |name: &str, of: &dyn Fn(&ServerSeen) -> f64| BarSeries {
        name: name.to_owned(),
        values: seen.iter().map(|server| Num::from(of(server))).collect(),
        low: Vec::new(),
        high: Vec::new(),
    };
    figure(
        "busy",
        "Utilisation of each survivor",
        "Share of the transfer time, in the first replicate; with several disks, that of the busiest.",
        Kind::Bar {
            x: "server".to_owned(),
            y: Axis::linear("busy", "percent"),
            categories: seen.iter().map(ServerSeen::label).collect(),
            series: vec![bars("busiest disk", &|server| 100.0 * server.disk_busy)],
            stacked: false,
            references: Vec::new(),
        },
    )
}
