//! The figures of a rebuild.

use towtank_recovery::figures::{figure, times, written};
use towtank_recovery::parts::phases;
use towtank_recovery::slowest::Runs;
use towtank_report::{
    Axis, Band, BoxSeries, BoxStats, CurvePoint, Draw, Figure, Kind, LineSeries, Num, PlacedBox, Reference,
};

use super::view::{FOLLOWS, View, placed};

const GIB: f64 = 1_073_741_824.0;

/// The figures over any number of points.
#[must_use]
pub fn of_all(views: &[View<'_>], runs: &[Runs<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    if views.iter().any(|view| view.scenario.servers != views[0].scenario.servers) {
        figures.push(scaling(views));
    }
    let names = views.iter().map(View::name).collect();
    let means = |measure: &str| views.iter().map(|view| Some(view.mean(measure)?.mean)).collect();
    let parts = [
        ("until detected", "detection_s"),
        ("until marked out", "down_out_s"),
        ("until replaced or back", "in_place_s"),
        ("until objects move", "peering_s"),
        ("transfers", "transfer_s"),
    ];
    let parts = parts.map(|(name, measure)| (name, means(measure)));
    figures.extend([progress(views), rates(views), times(names, &parts), written(runs)]);
    figures
}

/// The name of a point without its number of servers.
fn unsized_name(view: &View<'_>) -> String {
    let telling = |(key, _): &&(String, serde_json::Value)| {
        !["servers", "placement", "groups", "groups_per_server"].contains(&key.as_str())
    };
    let other = view.result.settings.iter().filter(telling).map(|(key, value)| {
        format!("{key} = {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    });
    std::iter::once(placed(view.scenario)).chain(other).collect::<Vec<_>>().join("; ")
}

/// With fewer replicates, the quartiles of a box would be single values or lie between two.
const BOXES_LEAST: usize = 5;

/// Aggregate rate against servers, both logarithmic, one series per placement: as boxes if there are enough
/// replicates, else as means.
fn scaling(views: &[View<'_>]) -> Figure {
    let mut names: Vec<String> = Vec::new();
    views.iter().map(unsized_name).for_each(|name| {
        if !names.contains(&name) {
            names.push(name);
        }
    });
    let (x, y) = (Axis::log("servers", ""), Axis::log("aggregate rate", "GiB/s"));
    let title = "Aggregate rate by number of servers";
    let even = "The ideal spreads lost bytes, sources and targets evenly.";
    if views.iter().all(|view| view.values(RATE).len() >= BOXES_LEAST) {
        let series = names.iter().map(|name| boxes(views, name)).collect();
        let references = vec![Reference::Curve { name: "ideal".to_owned(), points: ideal(views) }];
        let about = format!(
            "Each replicate places the data anew. Box: the middle half; whiskers reach to the last value within 1.5 times its \
             height; lines join medians. {even}"
        );
        return figure("scaling", title, &about, Kind::Boxes { x, y, series, references });
    }
    let mut series: Vec<LineSeries> = names.iter().map(|name| means(views, name)).collect();
    series.push(LineSeries { name: "ideal".to_owned(), points: ideal(views), draw: Draw::Line });
    let about = format!("Means over the replicates with 95 % intervals. {even}");
    figure("scaling", title, &about, Kind::Line { x, y, series, references: Vec::new() })
}

const RATE: &str = "aggregate_rate_bytes_per_s";

/// The rates of all replicates of the points of one name.
fn boxes(views: &[View<'_>], name: &str) -> BoxSeries {
    let of = |view: &View<'_>| {
        let rates: Vec<f64> = view.values(RATE).into_iter().map(|rate| rate / GIB).collect();
        let servers = view.scenario.servers;
        PlacedBox { x: Num::from(f64::from(servers)), stats: BoxStats::of(servers.to_string(), &rates) }
    };
    let boxes = views.iter().filter(|view| unsized_name(view) == name).map(of).collect();
    BoxSeries { name: name.to_owned(), boxes }
}

/// The means of the points of one name, with their intervals.
fn means(views: &[View<'_>], name: &str) -> LineSeries {
    let points = views.iter().filter(|view| unsized_name(view) == name).filter_map(|view| {
        let mean = view.mean(RATE)?;
        let mut point = CurvePoint::new(f64::from(view.scenario.servers), mean.mean / GIB);
        if let Some((low, high)) = mean.range {
            (point.low, point.high) = (Num::from(low / GIB), Num::from(high / GIB));
        }
        Some(point)
    });
    LineSeries { name: name.to_owned(), points: points.collect(), draw: Draw::Line }
}

/// The largest ideal rate at each number of servers.
fn ideal(views: &[View<'_>]) -> Vec<CurvePoint> {
    let mut ideal: Vec<(u32, f64)> = views
        .iter()
        .filter_map(|view| Some((view.scenario.servers, view.mean("ideal_rate_bytes_per_s")?.mean / GIB)))
        .collect();
    ideal.sort_by(|left, right| left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)));
    ideal.dedup_by_key(|point| point.0);
    ideal.into_iter().map(|(servers, rate)| CurvePoint::new(f64::from(servers), rate)).collect()
}

fn rates(views: &[View<'_>]) -> Figure {
    let boxes = views.iter().map(|view| {
        let values: Vec<f64> =
            view.values("aggregate_rate_bytes_per_s").into_iter().map(|rate| rate / GIB).collect();
        BoxStats::of(view.name(), &values)
    });
    let mut references = Vec::new();
    let servers = views.first().map(|view| view.scenario.servers);
    if views.iter().all(|view| Some(view.scenario.servers) == servers)
        && let Some(ideal) = views.iter().filter_map(|view| view.mean("ideal_rate_bytes_per_s")).next()
    {
        references.push(Reference::Horizontal { name: "ideal".to_owned(), at: Num::from(ideal.mean / GIB) });
    }
    figure(
        "rates",
        "Aggregate rate over the replicates",
        "Each replicate places the data anew. Box: the middle half; whiskers reach to the last value within 1.5 times its height.",
        Kind::Box {
            x: "point".to_owned(),
            y: Axis::linear("aggregate rate", "GiB/s"),
            boxes: boxes.collect(),
            references,
        },
    )
}

/// More curves than these cannot be distinguished.
const CURVES_MAX: usize = 12;

/// One curve a point, of its first replicate.
fn progress(views: &[View<'_>]) -> Figure {
    let curve = |view: &View<'_>| {
        let seen = view.observed[0];
        let total = seen.progress.iter().map(|(_, bytes)| bytes).sum::<u64>().saturating_add(seen.unfinished);
        let mut sum = 0;
        let finished = seen.progress.iter().map(|&(at, bytes)| {
            sum += bytes;
            CurvePoint::new(at, 100.0 * sum as f64 / total.max(1) as f64)
        });
        // Nothing is rebuilt before the transfers start.
        let waits = seen.progress.first().is_none_or(|&(at, _)| at > 0.0);
        let points = waits.then(|| CurvePoint::new(0.0, 0.0)).into_iter().chain(finished);
        let name = if views.len() == 1 { "rebuilt".to_owned() } else { view.name() };
        LineSeries { name, points: points.collect(), draw: Draw::Line }
    };
    let left_out = match views.len().saturating_sub(CURVES_MAX) {
        0 => String::new(),
        more => format!(" The first {CURVES_MAX} points are drawn, {more} more are in the table."),
    };
    figure(
        "progress",
        "Progress of the rebuild",
        &format!(
            "Bytes of finished objects over all bytes to rebuild, in the first replicate, up to the last write. A long flat end \
             means that few devices still had work; a line that ends below 100 % leaves the rest unsafe.{left_out}"
        ),
        Kind::Line {
            x: Axis::linear("time since the failure", "s"),
            y: Axis::linear("rebuilt", "percent"),
            series: views.iter().take(CURVES_MAX).map(curve).collect(),
            references: Vec::new(),
        },
    )
    .with_bands(if let [view] = views { phases(view) } else { Vec::new() })
}

/// The phases of the first replicate. Nothing where they do not follow each other, as where several devices
/// fail one after the other, or where a part of the time is not known.
fn phases(view: &View<'_>) -> Vec<Band> {
    let first = |measure: &str| {
        let values = view.values(measure);
        (values.len() == view.observed.len()).then(|| values[0])
    };
    let parts = [
        (phases::DETECTION, "detection_s"),
        (phases::DOWN_OUT, "down_out_s"),
        (phases::IN_PLACE, "in_place_s"),
        (phases::START, "peering_s"),
        (phases::TRANSFERS, "transfer_s"),
    ]
    .map(|(name, measure)| (name, first(measure).unwrap_or(0.0)));
    let all: f64 = parts.iter().map(|(_, span)| span).sum();
    let is_whole =
        first("time_to_full_redundancy_s").is_some_and(|whole| (all / whole - 1.0).abs() < FOLLOWS);
    if is_whole && view.observed[0].failed.len() == 1 { Band::one_after_the_other(parts) } else { Vec::new() }
}
