//! The figures of puts: throughput, utilisation and latency by protocol, every put, and the windows of
//! servers over time.

use towtank_metrics::Histogram;
use towtank_report::{
    Axis, BarSeries, CurvePoint, Draw, EcdfSeries, Figure, Kind, Lane, LineSeries, Num, Span,
};

use towtank_puts::Trace;

use super::sweeps;
use super::view::View;

/// Points per line of single puts.
const POINTS_MAX: usize = 400;
/// The maximum number of curves in a figure of single puts.
const CURVES_MAX: usize = 12;
/// The suffix of a server's name in the lane of its reads and sends.
const TO_READERS: &str = ", to readers";
/// The maximum number of windows in a timeline.
const SPANS_MAX: usize = 1_500;

/// All figures of the report.
#[must_use]
pub fn all(views: &[View<'_>]) -> Vec<Figure> {
    let across = sweeps::across(views);
    let mut figures = match &across {
        Some(across) => sweeps::lines(views, across),
        None => of_points(views),
    };
    // More curves than these cannot be told apart; lines and tables show the important values.
    if across.is_none() || views.len() <= CURVES_MAX {
        figures
            .push(distribution(views, "latencies", "Distribution of put latencies", |view| view.latencies()));
        if views.iter().any(View::reads) {
            let title = "Distribution of get latencies";
            figures.push(distribution(views, "get_latencies", title, |view| view.got()));
        }
        figures.extend(sorted(views));
        figures.extend(over_time(views));
    }
    figures.extend(views.iter().filter(|view| view.protocol.negotiates()).take(4).filter_map(timeline));
    figures
}

/// Throughput, utilisation and latencies of each point.
fn of_points(views: &[View<'_>]) -> Vec<Figure> {
    let latencies = |what: &str, title: &str| {
        let names = ["mean", "p50", "p99", "p999"].map(|which| format!("{what}_latency_{which}_us"));
        let told = ["mean", "p50", "p99", "p99.9"];
        let measures: Vec<(&str, &str, f64)> =
            told.iter().zip(&names).map(|(told, name)| (*told, name.as_str(), 1.0)).collect();
        let id = if what == "put" { "latency" } else { "get_latency" };
        bars(views, id, title, ("latency", "us"), &measures)
    };
    let reads = views.iter().any(View::reads);
    let rates = [("stored", "chunks_per_second", 1.0), ("fetched", "gets_per_second", 1.0)];
    let throughput = if reads { "Chunks stored and fetched per second" } else { "Chunks stored per second" };
    let mut figures = vec![
        bars(views, "throughput", throughput, ("chunks", "1/s"), &rates[..1 + usize::from(reads)]),
        bars(
            views,
            "utilisation",
            "Utilisation of the disks",
            ("share of time", "%"),
            &[("disks", "disk_utilisation", 100.0)],
        ),
        latencies("put", "Latency of puts"),
    ];
    if reads {
        figures.push(latencies("get", "Latency of gets"));
    }
    figures
}

/// One bar per protocol and point, with the interval over the replicates.
fn bars(
    views: &[View<'_>],
    id: &str,
    title: &str,
    (axis, unit): (&str, &str),
    measures: &[(&str, &str, f64)],
) -> Figure {
    let series = measures.iter().map(|(name, measure, factor)| {
        let means: Vec<_> = views.iter().map(|view| view.mean(measure)).collect();
        let end = |pick: fn((f64, f64)) -> f64| -> Vec<Num> {
            means
                .iter()
                .map(|mean| Num::from(mean.and_then(|mean| mean.range).map(|range| pick(range) * factor)))
                .collect()
        };
        BarSeries {
            name: (*name).to_owned(),
            values: means.iter().map(|mean| Num::from(mean.map(|mean| mean.mean * factor))).collect(),
            low: end(|range| range.0),
            high: end(|range| range.1),
        }
    });
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: "Means over the replicates with their 95 % confidence interval.".to_owned(),
        kind: Kind::Bar {
            x: "protocol".to_owned(),
            y: Axis::linear(axis, unit),
            categories: views.iter().map(View::name).collect(),
            series: series.collect(),
            stacked: false,
            references: Vec::new(),
        },
    }
}

fn distribution(views: &[View<'_>], id: &str, title: &str, of: fn(&View<'_>) -> Histogram) -> Figure {
    let of = |view: &View<'_>| {
        let latencies = of(view);
        let (total, mut below) = (latencies.count().max(1), 0);
        let points = latencies.bins().map(|bin| {
            below += bin.count;
            (Num::from(bin.middle() / 1e3), Num::from(below as f64 / total as f64))
        });
        EcdfSeries { name: view.name(), points: points.collect() }
    };
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: "Share of operations with at most this latency, over all replicates.".to_owned(),
        kind: Kind::Ecdf {
            x: Axis::log("latency", "us"),
            series: views.iter().map(of).collect(),
            references: Vec::new(),
            tail: false,
        },
    }
}

/// The puts of the first replicate: when each ended, in milliseconds, and how long it took, in microseconds.
fn puts(view: &View<'_>) -> Vec<(f64, f64)> {
    let Some(observed) = view.observed.first() else { return Vec::new() };
    let put = |(at, _, trace): &(u64, u32, Trace)| match trace {
        Trace::Put { latency_ns } => Some((*at as f64 / 1e6, latency_ns.as_ns() as f64 / 1e3)),
        _ => None,
    };
    observed.traces.iter().filter_map(put).collect()
}

/// At most [`POINTS_MAX`] of them, evenly spaced.
fn thinned<T: Copy>(all: &[T]) -> impl Iterator<Item = (usize, T)> {
    let step = all.len().div_ceil(POINTS_MAX).max(1);
    all.iter().copied().enumerate().step_by(step)
}

fn sorted(views: &[View<'_>]) -> Option<Figure> {
    let of = |view: &View<'_>| {
        let mut latencies: Vec<f64> = puts(view).into_iter().map(|(_, latency)| latency).collect();
        latencies.sort_by(f64::total_cmp);
        let points = thinned(&latencies).map(|(at, latency)| CurvePoint::new(at, latency)).collect();
        LineSeries { name: view.name(), points, draw: Draw::Line }
    };
    let series: Vec<LineSeries> = views.iter().map(of).filter(|line| !line.points.is_empty()).collect();
    (!series.is_empty()).then(|| Figure {
        id: "sorted_latency".to_owned(),
        title: "Put latency, sorted".to_owned(),
        caption: "Every put of the first replicate, from the fastest to the slowest.".to_owned(),
        kind: Kind::Line {
            x: Axis::linear("put", ""),
            y: Axis::linear("latency", "us"),
            series,
            references: Vec::new(),
        },
    })
}

fn over_time(views: &[View<'_>]) -> Option<Figure> {
    let of = |view: &View<'_>| {
        let points = thinned(&puts(view)).map(|(_, (at, latency))| CurvePoint::new(at, latency)).collect();
        LineSeries { name: view.name(), points, draw: Draw::Points }
    };
    let series: Vec<LineSeries> = views.iter().map(of).filter(|line| !line.points.is_empty()).collect();
    (!series.is_empty()).then(|| Figure {
        id: "latency_over_time".to_owned(),
        title: "Put latency over time".to_owned(),
        caption: "Puts of the first replicate, at the time of their last acknowledgement, warm-up included."
            .to_owned(),
        kind: Kind::Line {
            x: Axis::linear("time", "ms"),
            y: Axis::linear("latency", "us"),
            series,
            references: Vec::new(),
        },
    })
}

/// The windows of the servers of the first group, with their holders, at the beginning of the first
/// replicate.
fn timeline(view: &View<'_>) -> Option<Figure> {
    let observed = view.observed.first()?;
    let servers = view.settled.spec.group as usize;
    let named = |name| Lane { name, spans: Vec::new(), marks: Vec::new() };
    let mut lanes: Vec<Lane> = (0..servers).map(|server| named(format!("server {server}"))).collect();
    if view.settled.spec.read_share > towtank_units::Percent::ZERO {
        lanes.extend((0..servers).map(|server| named(format!("server {server}{TO_READERS}"))));
    }
    let windows = observed.traces.iter().filter(|(_, _, trace)| !matches!(trace, Trace::Put { .. }));
    for (at, server, trace) in windows.take(SPANS_MAX) {
        let (gateway, from, to, what) = match *trace {
            Trace::Accepted { gateway, left_ns, right_ns } => (gateway, left_ns, right_ns, "accepted"),
            Trace::Offered { gateway, left_ns, right_ns } => (gateway, left_ns, right_ns, "offered"),
            Trace::Written { gateway, left_ns, right_ns } => (gateway, left_ns, right_ns, "written to disk"),
            Trace::Read { gateway, left_ns, right_ns } => (gateway, left_ns, right_ns, "read from disk"),
            Trace::Sent { gateway, left_ns, right_ns } => (gateway, left_ns, right_ns, "sent to a reader"),
            Trace::Put { .. } => continue,
        };
        let reads = matches!(trace, Trace::Read { .. } | Trace::Sent { .. });
        let us = |ns: towtank_units::SimTime| Num::from(ns.as_ns() as f64 / 1e3);
        let note = format!("gateway {gateway}, recorded at {} us", *at as f64 / 1e3);
        let span = Span { from: us(from), to: us(to), what: what.to_owned(), note };
        let lane = *server as usize + if reads { servers } else { 0 };
        lanes.get_mut(lane)?.spans.push(span);
    }
    // Few servers of a group read within so short a time, so empty lanes of readers are removed.
    lanes.retain(|lane| !lane.name.ends_with(TO_READERS) || !lane.spans.is_empty());
    let drawn = lanes.iter().any(|lane| !lane.spans.is_empty());
    drawn.then(|| Figure {
        id: format!("windows_{}", view.name().replace(|c: char| !c.is_ascii_alphanumeric(), "_")),
        title: format!("Reservations of one group: {}", view.name()),
        caption: "The servers of the first group at the beginning of the first replicate: windows offered to gateways, the part \
                  of them that was accepted for data, and the writes that follow."
            .to_owned(),
        kind: Kind::Timeline { x: Axis::linear("time", "us"), lanes },
    })
}
