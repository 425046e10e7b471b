//! Sweeps as lines: a swept number is the x axis, and each protocol, or each combination of the other swept
//! settings, is a line.

use serde_json::Value;
use towtank_report::{Axis, CurvePoint, Draw, Figure, Kind, LineSeries, Num};

use super::view::View;
use towtank_study::points::{Drawn, number, setting};

/// Fewer values than this are drawn as bars instead.
const VALUES_MIN: usize = 3;
/// Numbers whose ratio exceeds this are drawn on a logarithmic axis.
const WIDE: f64 = 20.0;

/// The key of the x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    key: String,
    unit: &'static str,
    log: bool,
}

/// The swept number with the most values, if it has enough of them.
#[must_use]
pub fn across(views: &[View<'_>]) -> Option<Across> {
    let settings = views.first()?.result.settings;
    let mut best: Option<(usize, Across)> = None;
    for (key, _) in settings {
        let found: Option<Vec<(f64, &str)>> =
            views.iter().map(|view| number(setting(view.result, key)?)).collect();
        let Some(found) = found else { continue };
        let unit = found[0].1;
        if found.iter().any(|(_, other)| *other != unit) {
            continue;
        }
        let mut values: Vec<f64> = found.iter().map(|(value, _)| *value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (least, most) = (values[0], values[values.len() - 1]);
        let log = least > 0.0 && most / least > WIDE;
        let more = best.as_ref().is_none_or(|(count, _)| values.len() > *count);
        if values.len() >= VALUES_MIN && more {
            best = Some((values.len(), Across { key: key.clone(), unit, log }));
        }
    }
    best.map(|(_, across)| across)
}

/// One figure for each of the most important measures.
#[must_use]
pub fn lines(views: &[View<'_>], across: &Across) -> Vec<Figure> {
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
fn line_name(view: &View<'_>, across: &Across) -> String {
    let told = |(key, value): &(String, Value)| match value {
        Value::String(text) => format!("{key} = {text}"),
        other => format!("{key} = {other}"),
    };
    let others = view.result.settings.iter().filter(|(key, _)| *key != across.key && key != "protocol");
    std::iter::once(view.protocol.name().to_owned()).chain(others.map(told)).collect::<Vec<_>>().join(", ")
}

fn line(
    views: &[View<'_>],
    across: &Across,
    Drawn { id, title, measure, label, unit, factor }: Drawn<'_>,
) -> Figure {
    let mut series: Vec<LineSeries> = Vec::new();
    let mut range = (f64::INFINITY, 0.0_f64);
    for view in views {
        let Some((x, _)) = setting(view.result, &across.key).and_then(number) else { continue };
        let Some(mean) = view.mean(measure) else { continue };
        range = (range.0.min(mean.mean), range.1.max(mean.mean));
        let end = |pick: fn((f64, f64)) -> f64| Num::from(mean.range.map(|range| pick(range) * factor));
        let (low, high) = (end(|range| range.0), end(|range| range.1));
        let point = CurvePoint { low, high, ..CurvePoint::new(x, mean.mean * factor) };
        let name = line_name(view, across);
        match series.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => series.push(LineSeries { name, points: vec![point], draw: Draw::Line }),
        }
    }
    for line in &mut series {
        line.points.sort_by(|left, right| {
            left.x.get().partial_cmp(&right.x.get()).unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    let axis = |log: bool, label: &str, unit: &str| {
        if log { Axis::log(label, unit) } else { Axis::linear(label, unit) }
    };
    let key = across.key.rsplit('.').next().unwrap_or(&across.key).replace('_', " ");
    Figure {
        id: id.to_owned(),
        title: format!("{title}, by {key}"),
        caption: "Means over the replicates with their 95 % confidence interval.".to_owned(),
        kind: Kind::Line {
            x: axis(across.log, &key, across.unit),
            y: axis(range.0 > 0.0 && range.1 / range.0 > WIDE, label, unit),
            series,
            references: Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_numbers_with_units() {
        let of = |text: &str| number(&Value::from(text));
        assert_eq!(of("128KiB"), Some((128.0, "KiB")));
        assert_eq!(of("400MiB/s"), Some((400.0, "MiB/s")));
        assert_eq!(of("50000/s"), Some((50_000.0, "1/s")));
        assert_eq!(of("30%"), Some((30.0, "%")));
        assert_eq!(of("5us"), Some((5.0, "us")));
        assert_eq!(of("replicast-m"), None);
        assert_eq!(number(&Value::from(9)), Some((9.0, "")));
    }
}
