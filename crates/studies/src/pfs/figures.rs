//! The figures of a file system: throughput of applications over time, latencies of requests, busy shares;
//! lines over a swept number, or bars of applications where what is swept is none.

use towtank_report::{Axis, BarSeries, CurvePoint, Draw, Figure, Kind, LineSeries, Num, Reference};

use super::observed::Run;
use super::view::View;
use towtank_study::PointResult;
use towtank_study::sweeps::{Drawn, SweptNumber, SweptValue};

/// All figures of the report.
#[must_use]
pub fn all(views: &[View<'_>], swept: bool) -> Vec<Figure> {
    match views.first() {
        None => Vec::new(),
        Some(first) if !swept => {
            let mut all = over_time(first);
            all.extend(percentiles(first));
            all.push(parts(first));
            all.extend(shares(views));
            all
        }
        Some(_) => {
            let mut all = lines(views);
            all.extend(shares(views));
            all
        }
    }
}

fn figure(id: &str, title: &str, caption: &str, kind: Kind) -> Figure {
    Figure::new(id, title, caption, kind)
}

/// Bytes that servers moved for each application per sample, in the first replicate.
fn over_time(view: &View<'_>) -> Vec<Figure> {
    let Some(run) = view.runs().next() else { return Vec::new() };
    let mib = f64::from(1 << 20);
    let line = |application: &super::observed::Application| {
        let point = |(at, &bytes): (usize, &u64)| {
            CurvePoint::new((at as f64 + 0.5) * run.sample, bytes as f64 / run.sample / mib)
        };
        let points = application.samples.iter().enumerate().map(point).collect();
        LineSeries { name: application.name.clone(), points, draw: Draw::Line }
    };
    let rate = Kind::Line {
        x: Axis::linear("time", "s"),
        y: Axis::linear("throughput", "MiB/s"),
        series: run.applications.iter().map(line).collect(),
        references: Vec::new(),
    };
    let caption = "What servers moved for each application, by sample; the first replicate.";
    let mut all = vec![figure("throughput", "Throughput over time", caption, rate)];
    if run.applications.len() > 1 {
        all.push(share_over_time(run));
    }
    all
}

fn share_over_time(run: &Run) -> Figure {
    let weights: u32 = run.applications.iter().map(|one| one.weight).sum();
    let line = |number: usize| {
        let point =
            |(at, share): (usize, f64)| CurvePoint::new((at as f64 + 0.5) * run.sample, 100.0 * share);
        let points = run.shares(number).into_iter().enumerate().map(point).collect();
        LineSeries { name: run.applications[number].name.clone(), points, draw: Draw::Line }
    };
    let ideal = |application: &super::observed::Application| Reference::Horizontal {
        name: format!("{} by weight", application.name),
        at: (100.0 * f64::from(application.weight) / f64::from(weights)).into(),
    };
    let kind = Kind::Line {
        x: Axis::linear("time", "s"),
        y: Axis::linear("share", "%"),
        series: (0..run.applications.len()).map(line).collect(),
        references: run.applications.iter().map(ideal).collect(),
    };
    let caption = "Shares of the bytes that servers moved, by sample, while all applications had requests.";
    figure("share_over_time", "Shares over time", caption, kind)
}

/// The distribution of latencies of requests.
fn percentiles(view: &View<'_>) -> Option<Figure> {
    let run = view.runs().next()?;
    let line = |application: &super::observed::Application| {
        let point = |percent: u32| {
            let estimate = application.latencies.quantile(f64::from(percent) / 200.0)?;
            Some(CurvePoint::new(estimate.at_most / 1e6, f64::from(percent) / 2.0))
        };
        let points: Vec<CurvePoint> = (1..200).filter_map(point).collect();
        LineSeries { name: application.name.clone(), points, draw: Draw::Line }
    };
    let series: Vec<LineSeries> =
        run.applications.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    let kind = Kind::Line {
        x: Axis::log("latency", "ms"),
        y: Axis::linear("requests with at most this latency", "%"),
        series,
        references: Vec::new(),
    };
    Some(figure("latency", "Latency of requests", "The first replicate.", kind))
}

fn parts(view: &View<'_>) -> Figure {
    let parts = view.parts();
    let values: Vec<Num> = parts.iter().map(|(share, _)| (100.0 * share).into()).collect();
    let none = vec![Num::MISSING; values.len()];
    let kind = Kind::Bar {
        x: "part".to_owned(),
        y: Axis::linear("busy", "%"),
        categories: parts.iter().map(|(_, name)| (*name).to_owned()).collect(),
        series: vec![BarSeries { name: "busy".to_owned(), values, low: none.clone(), high: none }],
        stacked: false,
        references: Vec::new(),
    };
    figure(
        "parts",
        "Utilisation of each part",
        "Share of the measured time; means over nodes and replicates.",
        kind,
    )
}

/// Shares of the service, where there are several applications: by point where all points have the same
/// weights, against the weights where these differ.
fn shares(views: &[View<'_>]) -> Option<Figure> {
    let several: Vec<&View<'_>> = views.iter().filter(|view| view.scenario.applications.len() > 1).collect();
    let all = of_applications(&several, "share", 100.0);
    let same = all.iter().all(|one| one.found.iter().all(|found| found.ideal == one.found[0].ideal));
    if all.is_empty() || !same || views.len() == 1 {
        return (!all.is_empty()).then(|| against_weights(&all));
    }
    let ideal = |one: &Application| Reference::Horizontal {
        name: format!("{} by weight", one.name),
        at: one.found[0].ideal.into(),
    };
    let references = all.iter().map(ideal).collect();
    let about =
        "Of the bytes that servers moved while all applications had requests; means over the replicates.";
    let kind = by_point(&several, &all, Axis::linear("share of the service", "%"), references);
    Some(figure("shares", "Share of each application", about, kind))
}

/// Throughput and latency of each application at each point, where no number is swept.
fn applications(views: &[View<'_>]) -> Vec<Figure> {
    let views: Vec<&View<'_>> = views.iter().collect();
    let mib = 1.0 / f64::from(1 << 20);
    let drawn = [
        Drawn::of("throughput", "Throughput of each application", "throughput_bytes_per_s")
            .on("throughput", "MiB/s")
            .times(mib),
        Drawn::of("latency_p99", "99th percentile of latency of each application", "latency_p99_s")
            .on("99th percentile of latency", "ms")
            .times(1e3),
    ];
    let of = |drawn: Drawn<'_>| {
        let all = of_applications(&views, drawn.measure, drawn.factor);
        let axis = Axis::linear(drawn.label, drawn.unit);
        let draw = || {
            figure(drawn.id, drawn.title, "Means over the replicates.", by_point(&views, &all, axis, vec![]))
        };
        (!all.is_empty()).then(draw)
    };
    drawn.into_iter().filter_map(of).collect()
}

/// A measure of an application, at each point that has it.
struct Application {
    name: String,
    found: Vec<Found>,
}

struct Found {
    /// Number of the point.
    point: usize,
    /// The application's share of the weights, in percent.
    ideal: f64,
    /// The value, and its interval.
    value: [Num; 3],
}

/// A measure of each application, times a factor.
fn of_applications(views: &[&View<'_>], measure: &str, factor: f64) -> Vec<Application> {
    let mut all: Vec<Application> = Vec::new();
    for (point, view) in views.iter().enumerate() {
        let weights: u32 = view.scenario.applications.values().map(|one| one.weight).sum();
        for (name, application) in &view.scenario.applications {
            let Some(mean) = view.point.mean(&format!("{measure}[{name}]")) else { continue };
            let ends = [Some(mean.mean), mean.range.map(|range| range.0), mean.range.map(|range| range.1)];
            let value = ends.map(|end| Num::from(end.map(|end| end * factor)));
            let ideal = 100.0 * f64::from(application.weight) / f64::from(weights);
            let found = Found { point, ideal, value };
            match all.iter_mut().find(|one| one.name == *name) {
                Some(one) => one.found.push(found),
                None => all.push(Application { name: name.clone(), found: vec![found] }),
            }
        }
    }
    all
}

/// A bar for each application at each point. Dots over the weights would lie on each other where these are
/// the same.
fn by_point(views: &[&View<'_>], all: &[Application], y: Axis, references: Vec<Reference>) -> Kind {
    let bars = |one: &Application| {
        let of = |end: usize| {
            let at = |point| one.found.iter().find(|found| found.point == point);
            (0..views.len()).map(|point| at(point).map_or(Num::MISSING, |found| found.value[end])).collect()
        };
        BarSeries { name: one.name.clone(), values: of(0), low: of(1), high: of(2) }
    };
    Kind::Bar {
        x: "point".to_owned(),
        y,
        categories: views.iter().map(|view| view.point.label()).collect(),
        series: all.iter().map(bars).collect(),
        stacked: false,
        references,
    }
}

/// A dot for each application at each point.
fn against_weights(all: &[Application]) -> Figure {
    let dots = |one: &Application| {
        let points = one.found.iter().map(|found| CurvePoint::new(found.ideal, found.value[0])).collect();
        LineSeries { name: one.name.clone(), points, draw: Draw::Points }
    };
    let even = vec![CurvePoint::new(0.0, 0.0), CurvePoint::new(100.0, 100.0)];
    let kind = Kind::Line {
        x: Axis::linear("share of the weights", "%"),
        y: Axis::linear("share of the service", "%"),
        series: all.iter().map(dots).collect(),
        references: vec![Reference::Curve { name: "by weight".to_owned(), points: even }],
    };
    figure("shares", "Shares against weights", "", kind)
}

/// Throughput and latency over the swept number with the most values.
fn lines(views: &[View<'_>]) -> Vec<Figure> {
    let points: Vec<&PointResult<'_>> = views.iter().map(|view| view.point.result).collect();
    let numbers = SweptNumber::all(&points).into_iter();
    let Some(over) = numbers.max_by(|left, right| (left.count, &left.key).cmp(&(right.count, &right.key)))
    else {
        return applications(views);
    };
    let line = |drawn: Drawn<'_>| line(views, &over, drawn);
    let mib = 1.0 / f64::from(1 << 20);
    vec![
        line(
            Drawn::of("throughput", "Throughput", "throughput_bytes_per_s")
                .on("throughput", "MiB/s")
                .times(mib),
        ),
        line(Drawn::of("latency_mean", "Mean latency", "latency_mean_s").on("mean latency", "ms").times(1e3)),
        line(
            Drawn::of("latency_p99", "99th percentile of latency", "latency_p99_s")
                .on("99th percentile of latency", "ms")
                .times(1e3),
        ),
        line(
            Drawn::of("disk_busy", "Utilisation of the disks", "disk_busy")
                .on("utilisation of the disks", "%")
                .times(100.0),
        ),
        line(
            Drawn::of("cache_hit_share", "Share of pages found in memory", "cache_hit_share")
                .on("share of pages found in memory", "%")
                .times(100.0),
        ),
    ]
}

fn line(views: &[View<'_>], over: &SweptNumber, drawn: Drawn<'_>) -> Figure {
    let values = views.iter().filter_map(|view| {
        let (at, mean) = (view.point.result, view.mean(drawn.measure)?);
        Some(SweptValue { at, name: over.others(at, None), mean, range: None })
    });
    let x = over.axis(&over.key.replace('_', " "), over.ratio() >= 8.0);
    drawn.figure(x, drawn.lines(over, values))
}
