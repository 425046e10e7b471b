//! Figures of an answer: fill and shards of each device with the ideal, and the causes.

use towtank_report::{Axis, BarSeries, EcdfSeries, Figure, Kind, Num, Reference};

use super::answer::View;
use super::observed::{Device, Kept};

/// The maximum number of devices with bars of their own; more are drawn as a distribution.
const DEVICES_DRAWN: usize = 48;

/// A line of a figure: its name, and a number of each device.
type Line = (&'static str, fn(&Device) -> f64);

/// All figures of one point.
#[must_use]
pub fn figures(view: &View<'_>) -> Vec<Figure> {
    let kept = view.kept;
    let mut figures = Vec::new();
    if view.sized() {
        figures.push(fill(kept));
    }
    figures.push(shards(kept));
    if !kept.causes.is_empty() && view.sized() {
        figures.push(causes(kept));
    }
    figures
}

fn series(name: &str, values: impl Iterator<Item = f64>) -> BarSeries {
    BarSeries {
        name: name.to_owned(),
        values: values.map(Num::from).collect(),
        low: Vec::new(),
        high: Vec::new(),
    }
}

/// Devices that take data, or hold any.
fn shown(kept: &Kept) -> Vec<&Device> {
    kept.devices.iter().filter(|device| device.takes || device.shards.0 > 0).collect()
}

fn by_device(devices: &[&Device], axis: Axis, lines: [Line; 3], references: Vec<(String, Num)>) -> Kind {
    if devices.len() <= DEVICES_DRAWN {
        let of = |(name, of): Line| series(name, devices.iter().map(|device| of(device)));
        return Kind::Bar {
            x: "device".to_owned(),
            y: axis,
            categories: devices.iter().map(|device| device.name.clone()).collect(),
            series: lines.map(of).into(),
            stacked: false,
            references: references.into_iter().map(|(name, at)| Reference::Horizontal { name, at }).collect(),
        };
    }
    let of = |(name, of): Line| {
        let values: Vec<f64> = devices.iter().map(|device| of(device)).collect();
        EcdfSeries::of(name, &values)
    };
    Kind::Ecdf {
        x: axis,
        series: lines.map(of).into(),
        references: references.into_iter().map(|(name, at)| Reference::Vertical { name, at }).collect(),
        tail: false,
    }
}

fn fill(kept: &Kept) -> Figure {
    let devices: Vec<&Device> = shown(kept).into_iter().filter(|device| device.fill.is_some()).collect();
    let lines: [Line; 3] = [
        ("now", |device| 100.0 * device.fill.map_or(0.0, |fill| fill.0)),
        ("ideal", |device| 100.0 * device.fill.map_or(0.0, |fill| fill.1)),
        ("after the plan", |device| 100.0 * device.fill.map_or(0.0, |fill| fill.2)),
    ];
    let limits = &kept.safety.limits;
    let references =
        [("nearfull", limits.nearfull), ("backfillfull", limits.backfillfull), ("full", limits.full)]
            .map(|(name, limit)| (name.to_owned(), Num::from((limit * 1e5).round() / 1e3)));
    Figure::new(
        "fill",
        "Fill of the devices",
        "Groups where the map puts them; ideal is what weight, override and rule give.",
        by_device(&devices, Axis::linear("fill", "percent"), lines, references.into()),
    )
}

fn shards(kept: &Kept) -> Figure {
    let lines: [Line; 3] = [
        ("now", |device| device.shards.0 as f64),
        ("ideal", |device| device.shards.1),
        ("after the plan", |device| device.shards.2 as f64),
    ];
    Figure::new(
        "shards",
        "Copies and shards on the devices",
        "Of all pools; where the map puts them, as weight, override and rule would give them, and after the plan.",
        by_device(&shown(kept), Axis::linear("shards", ""), lines, Vec::new()),
    )
}

fn causes(kept: &Kept) -> Figure {
    let even = kept.causes.first().map_or(0.0, |cause| 100.0 * cause.fill);
    let known = || kept.causes.iter().skip(1).filter(|cause| cause.added.is_some());
    let name = |name: &str| name.replace('_', " ");
    Figure::new(
        "causes",
        "What makes the fullest device so full",
        format!(
            "Each bar is what one fact adds to an even fill of {even:.1} %; together they are the fill that is reported."
        ),
        Kind::Bar {
            x: "cause".to_owned(),
            y: Axis::linear("added", "percent points"),
            categories: known().map(|cause| name(cause.kind.name())).collect(),
            series: vec![series("added", known().map(|cause| 100.0 * cause.added.unwrap_or(0.0)))],
            stacked: false,
            references: Vec::new(),
        },
    )
}

/// For a sweep: what each plan wins.
#[must_use]
pub fn plans(views: &[View<'_>]) -> Figure {
    let tib = |value: Option<f64>| value.unwrap_or(0.0) / (1u64 << 40) as f64;
    let of =
        |name: &str, measure: &str| series(name, views.iter().map(|view| tib(view.point.value(measure))));
    Figure::new(
        "plans",
        "What fits after each plan",
        "All pools grow in proportion. At best: every group as well as its rule allows.",
        Kind::Bar {
            x: "point".to_owned(),
            y: Axis::linear("usable", "TiB"),
            categories: views.iter().map(|view| view.point.label()).collect(),
            series: vec![
                of("now", "usable_bytes"),
                of("after the plan", "usable_bytes_after_plan"),
                of("at best", "usable_bytes_balanced"),
            ],
            stacked: false,
            references: Vec::new(),
        },
    )
}
