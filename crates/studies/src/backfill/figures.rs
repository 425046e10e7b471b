//! The figures of a backfill: the time of each discovery, the objects it looks at, and the bytes it sends;
//! lines over a swept key.

use towtank_report::{Axis, BarSeries, Figure, Kind, Num};

use super::view::View;
use towtank_study::PointResult;
use towtank_study::sweeps::{Drawn, SweptNumber, SweptValue};

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

/// The swept number with the most values.
fn across(views: &[View<'_>]) -> Option<SweptNumber> {
    let points: Vec<&PointResult<'_>> = views.iter().map(|view| view.point.result).collect();
    SweptNumber::all(&points).into_iter().max_by_key(|one| one.count)
}

/// One line per discovery and combination of the other settings.
fn lines(views: &[View<'_>], over: &SweptNumber, drawn: Drawn<'_>) -> Figure {
    let of_method = |view: &View<'_>, method: &str| {
        let mut name = vec![method.to_owned()];
        name.extend(over.others(view.point.result, None));
        Some((name, view.mean(method, drawn.measure)?))
    };
    let values = views.iter().flat_map(|view| {
        let means = view.methods().into_iter().filter_map(|method| of_method(view, method));
        means.map(|(name, mean)| SweptValue { at: view.point.result, name, mean, range: None })
    });
    let x = over.axis(&over.key.replace('_', " "), over.ratio() > 20.0);
    drawn.figure(x, drawn.lines(over, values))
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
    Figure::new(
        id,
        title,
        "",
        Kind::Bar {
            x: "discovery".to_owned(),
            y: Axis::linear(label, unit),
            categories: rows().map(|(view, method)| name(view, method)).collect(),
            series: vec![BarSeries { name: label.to_owned(), values, low: none.clone(), high: none }],
            stacked: false,
            references: Vec::new(),
        },
    )
}
