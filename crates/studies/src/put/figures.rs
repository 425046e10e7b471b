//! The figures of puts: throughput, utilisation and latency by protocol, every put, and the windows of
//! servers over time.

use towtank_metrics::Histogram;
use towtank_report::{
    Axis, BarSeries, CurvePoint, Draw, EcdfSeries, Figure, Kind, Lane, LineSeries, Num, Span,
};

use towtank_puts::Trace;

use super::sweeps;
use super::view::View;

/// Points per line of single puts over time.
const POINTS_MAX: usize = 400;
/// How far a put may lie from the curve of sorted latencies, as a fraction: less than a curve of any size on
/// a page shows.
const CURVE_NEAR: f64 = 0.001;
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
    // More curves than these cannot be distinguished; lines and tables show the important values.
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
        let labels = ["mean", "p50", "p99", "p99.9"];
        let measures: Vec<(&str, &str, f64)> =
            labels.iter().zip(&names).map(|(label, name)| (*label, name.as_str(), 1.0)).collect();
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
    Figure::new(
        id,
        title,
        "Means over the replicates with their 95 % confidence interval.",
        Kind::Bar {
            x: "protocol".to_owned(),
            y: Axis::linear(axis, unit),
            categories: views.iter().map(View::name).collect(),
            series: series.collect(),
            stacked: false,
            references: Vec::new(),
        },
    )
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
    Figure::new(
        id,
        title,
        "Share of operations with at most this latency, over all replicates.",
        Kind::Ecdf {
            x: Axis::log("latency", "us"),
            series: views.iter().map(of).collect(),
            references: Vec::new(),
            tail: false,
        },
    )
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

/// The curve of all sorted values. Values within [`CURVE_NEAR`] of each other are one line from the first of
/// them to the last, so no value is further from the curve, and the curve of any number of values has few
/// points.
fn curve(sorted: &[f64]) -> Vec<CurvePoint> {
    let mut points = Vec::new();
    let mut begin = 0;
    for (at, value) in sorted.iter().enumerate() {
        let ends = sorted.get(at + 1).is_none_or(|next| *next > sorted[begin] * (1.0 + CURVE_NEAR));
        if at == begin || ends {
            points.push(CurvePoint::new(at as f64, *value));
        }
        if ends {
            begin = at + 1;
        }
    }
    points
}

fn sorted(views: &[View<'_>]) -> Option<Figure> {
    let of = |view: &View<'_>| {
        let mut latencies: Vec<f64> = puts(view).into_iter().map(|(_, latency)| latency).collect();
        latencies.sort_by(f64::total_cmp);
        LineSeries { name: view.name(), points: curve(&latencies), draw: Draw::Line }
    };
    let series: Vec<LineSeries> = views.iter().map(of).filter(|line| !line.points.is_empty()).collect();
    (!series.is_empty()).then(|| Figure::new("sorted_latency", "Put latency, sorted", "Every put of the first replicate, from the fastest to the slowest. Each lies within 0.1 % of the curve.", Kind::Line {
            x: Axis::linear("put", ""),
            y: Axis::linear("latency", "us"),
            series,
            references: Vec::new(),
        }))
}

fn over_time(views: &[View<'_>]) -> Option<Figure> {
    let of = |view: &View<'_>| {
        let points = thinned(&puts(view)).map(|(_, (at, latency))| CurvePoint::new(at, latency)).collect();
        LineSeries { name: view.name(), points, draw: Draw::Points }
    };
    let series: Vec<LineSeries> = views.iter().map(of).filter(|line| !line.points.is_empty()).collect();
    (!series.is_empty()).then(|| {
        Figure::new(
            "latency_over_time",
            "Put latency over time",
            "Puts of the first replicate, at the time of their last acknowledgement, warm-up included.",
            Kind::Line {
                x: Axis::linear("time", "ms"),
                y: Axis::linear("latency", "us"),
                series,
                references: Vec::new(),
            },
        )
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
    drawn.then(|| Figure::new(format!("windows_{}", view.name().replace(|c: char| !c.is_ascii_alphanumeric(), "_")), format!("Reservations of one group: {}", view.name()), "The servers of the first group at the beginning of the first replicate: windows offered to gateways, the part \
                  of them that was accepted for data, and the writes that follow.", Kind::Timeline { x: Axis::linear("time", "us"), lanes }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The height of the curve at a put.
    fn height(curve: &[CurvePoint], at: f64) -> f64 {
        let of = |num: Num| num.get().expect("each point has a place");
        let after = curve.iter().position(|point| of(point.x) >= at).expect("the curve ends at the last put");
        let right = &curve[after];
        let left = if after == 0 { right } else { &curve[after - 1] };
        let ((x0, y0), (x1, y1)) = ((of(left.x), of(left.y)), (of(right.x), of(right.y)));
        if x1 > x0 { y0 + (y1 - y0) * (at - x0) / (x1 - x0) } else { y0 }
    }

    proptest! {
        /// A fault that was mended: only 400 puts were drawn, so that the slowest ones were missing.
        #[test]
        fn every_put_lies_on_the_curve(mut latencies in prop::collection::vec(1_u32..2_000, 1..900), scale in 0.2_f64..9.0) {
            latencies.sort_unstable();
            let sorted: Vec<f64> = latencies.iter().map(|latency| 100.0 + f64::from(*latency) * scale).collect();
            let curve = curve(&sorted);
            prop_assert!(curve.len() <= 2 * sorted.len());
            for (at, value) in sorted.iter().enumerate() {
                let drawn = height(&curve, at as f64);
                prop_assert!((drawn / value - 1.0).abs() <= 1.001 * CURVE_NEAR, "{drawn} for {value} at {at}");
            }
        }
    }

    #[test]
    fn equal_latencies_are_one_line_and_many_puts_have_few_points() {
        let points = |sorted: &[f64]| {
            curve(sorted).iter().map(|point| (point.x.get(), point.y.get())).collect::<Vec<_>>()
        };
        let at = |x: f64, y: f64| (Some(x), Some(y));
        assert_eq!(points(&[5.0, 5.0, 5.0, 9.0]), [at(0.0, 5.0), at(2.0, 5.0), at(3.0, 9.0)]);
        assert_eq!(points(&[]), []);
        let many: Vec<f64> = (0..1_000_000).map(|at| 100.0 + f64::from(at) / 1_000.0).collect();
        assert!(curve(&many).len() < 5_000, "{}", curve(&many).len());
    }
}
