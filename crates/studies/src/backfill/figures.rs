//! The figures of a backfill: the time of each discovery, the objects it looks at, and the bytes it sends;
//! lines over a swept key.

use towtank_report::{Axis, BarSeries, CurvePoint, Draw, Figure, Kind, LineSeries, Num};

use super::view::View;
use towtank_study::points::{Drawn, number, setting, text};

/// All figures of the report.
#[must_use]
pub fn all(views: &[View<'_>], swept: bool) -> Vec<Figure> {
    match views.first().filter(|_| swept).and_then(|_| across(views)) {
        Some(key) => vec![
            lines(views, &key, Drawn::of("time", "Time of the backfill", "backfill_s").on("time", "s")),
            lines(
                views,
                &key,
                Drawn::of("share", "Time relative to a scan", "share_of_scan")
                    .on("share of a scan", "%")
                    .times(100.0),
            ),
            lines(
                views,
                &key,
                Drawn::of("looked_at", "Objects compared", "objects_looked_at").on("objects", ""),
            ),
            lines(
                views,
                &key,
                Drawn::of("exchanged", "Bytes exchanged to find the differences", "exchanged_bytes")
                    .on("exchanged", "bytes"),
            ),
            lines(
                views,
                &key,
                Drawn::of("sent", "Bytes sent until recovery is complete, objects included", "sent_bytes")
                    .on("sent", "bytes"),
            ),
        ],
        None => vec![
            bars(views, Drawn::of("time", "Time of the backfill", "backfill_s").on("time", "s")),
            bars(views, Drawn::of("looked_at", "Objects compared", "objects_looked_at").on("objects", "")),
            bars(
                views,
                Drawn::of("exchanged", "Bytes exchanged to find the differences", "exchanged_bytes")
                    .on("exchanged", "bytes"),
            ),
            bars(
                views,
                Drawn::of("memory", "Memory on the device with the most", "memory_bytes_per_device")
                    .on("memory", "bytes"),
            ),
        ],
    }
}

/// The swept numeric key with the most values.
fn across(views: &[View<'_>]) -> Option<String> {
    let keys = views.first()?.point.result.settings.iter().map(|(key, _)| key.clone());
    let count = |key: &String| {
        let mut values: Vec<u64> = views
            .iter()
            .filter_map(|view| Some(number(setting(view.point.result, key)?)?.0.to_bits()))
            .collect();
        values.sort_unstable();
        values.dedup();
        values.len()
    };
    keys.map(|key| (count(&key), key))
        .filter(|(count, _)| *count > 1)
        .max_by_key(|(count, _)| *count)
        .map(|(_, key)| key)
}

/// One line per discovery and combination of the other settings.
fn lines(
    views: &[View<'_>],
    key: &str,
    Drawn { id, title, measure, label, unit, factor }: Drawn<'_>,
) -> Figure {
    let mut series: Vec<LineSeries> = Vec::new();
    let (mut ends, mut across) = ((f64::INFINITY, 0.0_f64), "");
    for view in views {
        let Some((x, unit_of_x)) = setting(view.point.result, key).and_then(number) else { continue };
        (ends, across) = ((ends.0.min(x), ends.1.max(x)), unit_of_x);
        let others = view.point.result.settings.iter().filter(|(other, _)| other != key);
        let told = others.map(|(other, value)| format!("{other} = {}", text(value)));
        let told: Vec<String> = told.collect();
        for method in view.methods() {
            let Some(mean) = view.mean(method, measure) else { continue };
            let name =
                std::iter::once(method.to_owned()).chain(told.iter().cloned()).collect::<Vec<_>>().join(", ");
            let point = CurvePoint::new(x, mean * factor);
            match series.iter_mut().find(|one| one.name == name) {
                Some(line) => line.points.push(point),
                None => series.push(LineSeries { name, points: vec![point], draw: Draw::Line }),
            }
        }
    }
    let of_key = if ends.0 > 0.0 && ends.1 / ends.0 > 20.0 { Axis::log } else { Axis::linear };
    let axis = of_key(key.replace('_', " "), across.to_owned());
    let kind = Kind::Line { x: axis, y: Axis::linear(label, unit), series, references: Vec::new() };
    Figure { id: id.to_owned(), title: title.to_owned(), caption: String::new(), kind }
}

/// One bar per discovery.
fn bars(views: &[View<'_>], Drawn { id, title, measure, label, unit, .. }: Drawn<'_>) -> Figure {
    let rows = || views.iter().flat_map(|view| view.methods().into_iter().map(move |method| (view, method)));
    let name = |view: &View<'_>, method: &str| match view.label.as_str() {
        "" => method.to_owned(),
        label => format!("{method}, {label}"),
    };
    let values: Vec<Num> = rows().map(|(view, method)| view.mean(method, measure).into()).collect();
    let none = vec![Num::MISSING; values.len()];
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: String::new(),
        kind: Kind::Bar {
            x: "discovery".to_owned(),
            y: Axis::linear(label, unit),
            categories: rows().map(|(view, method)| name(view, method)).collect(),
            series: vec![BarSeries { name: label.to_owned(), values, low: none.clone(), high: none }],
            stacked: false,
            references: Vec::new(),
        },
    }
}
