//! Figures shared by several reports.

use towtank_report::{Axis, BarSeries, CurvePoint, Draw, Figure, Kind, LineSeries, Num, Reference};

use crate::elastic::Ranged;

/// The unit of operations per second.
pub(super) const IOPS: &str = "ops/s";

/// A point with its interval.
pub(super) fn point(x: f64, y: Ranged) -> CurvePoint {
    let (low, high) = y.range.unzip();
    CurvePoint { x: x.into(), y: y.value.into(), low: low.into(), high: high.into() }
}

/// A series drawn as a line or as dots.
pub(super) fn series(name: impl Into<String>, points: Vec<CurvePoint>, draw: Draw) -> LineSeries {
    LineSeries { name: name.into(), points, draw }
}

/// A figure with an id, a title and a caption.
pub(super) fn figure(id: &str, title: &str, caption: impl Into<String>, kind: Kind) -> Figure {
    Figure::new(id, title, caption.into(), kind)
}

/// Estimated against measured rates: dots on the diagonal are exact.
pub(super) fn against(groups: Vec<LineSeries>) -> Figure {
    let ends = || {
        groups
            .iter()
            .flat_map(|group| &group.points)
            .flat_map(|point| [point.x.get(), point.y.get()])
            .flatten()
    };
    let (least, most) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    let diagonal = vec![CurvePoint::new(least, least), CurvePoint::new(most, most)];
    let kind = Kind::Line {
        x: Axis::log("measured", IOPS),
        y: Axis::log("estimated", IOPS),
        series: groups,
        references: vec![Reference::Curve { name: "equal".to_owned(), points: diagonal }],
    };
    let caption = "On the line, estimate and measurement agree; above it the estimate is too high. Bars are the 95 % intervals of the estimates, where points were run more than once.";
    figure("estimated_measured", "Estimated against measured", caption, kind)
}

/// C by read share: constant if the hypothesis holds.
pub(super) fn capacity(groups: Vec<LineSeries>) -> Figure {
    let kind = Kind::Line {
        x: Axis::linear("reads", "%"),
        y: Axis::log("C", IOPS),
        series: groups,
        references: Vec::new(),
    };
    let caption = "C is the rate of reads alone, computed from each mix (3). If the hypothesis holds, each line is flat.";
    figure("capacity_by_reads", "C against the read share", caption, kind)
}

/// Named bars.
pub(super) fn bars(
    x: &str,
    y: Axis,
    categories: Vec<String>,
    series: Vec<BarSeries>,
    references: Vec<Reference>,
) -> Kind {
    Kind::Bar { x: x.to_owned(), y, categories, series, stacked: false, references }
}

/// Bars with intervals.
pub(super) fn ranged(name: &str, values: &[Ranged]) -> BarSeries {
    let ends = |pick: &dyn Fn((f64, f64)) -> f64| -> Vec<Num> {
        if values.iter().all(|value| value.range.is_none()) {
            return Vec::new();
        }
        values.iter().map(|value| value.range.map(pick).into()).collect()
    };
    BarSeries {
        name: name.to_owned(),
        values: values.iter().map(|value| value.value.into()).collect(),
        low: ends(&|range| range.0),
        high: ends(&|range| range.1),
    }
}
