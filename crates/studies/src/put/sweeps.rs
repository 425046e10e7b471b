//! Sweeps as lines: a swept number is the x axis, and each protocol, or each combination of the other swept
//! settings, is a line.

use towtank_metrics::MeanInterval;
use towtank_report::{Axis, Figure, Kind};

use super::view::View;
use towtank_study::PointResult;
use towtank_study::sweeps::{Drawn, SweptNumber, SweptValue};

/// Fewer values than this are drawn as bars instead.
const VALUES_MIN: usize = 3;
/// Numbers whose ratio exceeds this are drawn on a logarithmic axis.
const WIDE: f64 = 20.0;

/// The swept number with the most values, if it has enough of them.
#[must_use]
pub(crate) fn across(views: &[View<'_>]) -> Option<SweptNumber> {
    let points: Vec<&PointResult<'_>> = views.iter().map(|view| view.result).collect();
    let enough = |one: &SweptNumber| one.is_complete && one.count >= VALUES_MIN;
    let numbers = SweptNumber::all(&points).into_iter().filter(enough);
    numbers.reduce(|best, one| if one.count > best.count { one } else { best })
}

/// One figure for each of the most important measures.
#[must_use]
pub fn lines(views: &[View<'_>], across: &SweptNumber) -> Vec<Figure> {
    let mut figures = vec![
        line(
            views,
            across,
            Drawn::of("sweep_throughput", "Chunks stored per second", "chunks_per_second")
                .on("chunks stored per second", "1/s"),
        ),
        line(
            views,
            across,
            Drawn::of("sweep_utilisation", "Utilisation of the disks", "disk_utilisation")
                .on("utilisation of the disks", "%")
                .times(100.0),
        ),
        line(
            views,
            across,
            Drawn::of("sweep_latency", "Mean put latency", "put_latency_mean_us")
                .on("mean put latency", "us"),
        ),
        line(
            views,
            across,
            Drawn::of("sweep_tail", "99th percentile of put latency", "put_latency_p99_us")
                .on("99th percentile of put latency", "us"),
        ),
    ];
    if views.iter().any(View::reads) {
        figures.push(line(
            views,
            across,
            Drawn::of("sweep_gets", "Chunks fetched per second", "gets_per_second")
                .on("chunks fetched per second", "1/s"),
        ));
        figures.push(line(
            views,
            across,
            Drawn::of("sweep_get_latency", "Mean get latency", "get_latency_mean_us")
                .on("mean get latency", "us"),
        ));
    }
    figures
}

/// The name of a line: its protocol, and the other swept settings.
fn line_name(view: &View<'_>, across: &SweptNumber) -> Vec<String> {
    let mut name = vec![view.protocol.name().to_owned()];
    name.extend(across.others(view.result, Some("protocol")));
    name
}

fn line(views: &[View<'_>], across: &SweptNumber, drawn: Drawn<'_>) -> Figure {
    let means = || views.iter().filter_map(|view| Some((view, view.mean(drawn.measure)?)));
    let values = means().map(|(view, MeanInterval { mean, range, .. })| {
        let name = line_name(view, across);
        SweptValue { at: view.result, name, mean, range }
    });
    let mut series = drawn.lines(across, values);
    for line in &mut series {
        line.points.sort_by(|left, right| {
            left.x.get().partial_cmp(&right.x.get()).unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    let ends =
        means().fold((f64::INFINITY, 0.0_f64), |ends, (_, one)| (ends.0.min(one.mean), ends.1.max(one.mean)));
    let key = across.key.rsplit('.').next().unwrap_or(&across.key).replace('_', " ");
    let is_wide = ends.0 > 0.0 && ends.1 / ends.0 > WIDE;
    let of_y = if is_wide { Axis::log } else { Axis::linear };
    Figure::new(
        drawn.id.to_owned(),
        format!("{}, by {key}", drawn.title),
        "Means over the replicates with their 95 % confidence interval.",
        Kind::Line {
            x: across.axis(&key, across.ratio() > WIDE),
            y: of_y(drawn.label.to_owned(), drawn.unit.to_owned()),
            series,
            references: Vec::new(),
        },
    )
}
