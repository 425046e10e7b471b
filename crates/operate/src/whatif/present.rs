//! Tables and figures of an answer.

use towtank_report::{Axis, Band, Cell, Column, CurvePoint, Draw, Figure, Kind, LineSeries, Table, human};

use super::Whatif;
use super::answer::{answer, compared};
use super::reasons::status;
use super::view::View;
use crate::preview::present::{fill, pools};
use towtank_recovery::figures::{self, of_machines, written};
use towtank_recovery::levers::Cost;
use towtank_recovery::parts::phases;
use towtank_recovery::slowest::{Runs, Slowest};
use towtank_recovery::tables;
use towtank_study::{Points, Presentation};

/// The presentation of all points of the study.
#[must_use]
pub fn present(points: &Points<'_, Whatif>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    let Some(first) = views.first() else { return Presentation::default() };
    let runs: Vec<Runs<'_>> = views.iter().map(runs).collect();
    let slowest = Slowest::of(&runs);
    let mut tables = vec![changes(&views)];
    let mut figures = vec![progress(&views), times(&views), written(&runs)];
    if views.len() == 1 {
        tables.extend([risk(first), devices(first), pools(&first.kept.moves)]);
        tables.extend(tried(first));
        tables.extend(slowest.as_ref().map(tables::servers));
        figures.extend(exposed(first));
        figures.extend(fill(&first.kept.moves));
        figures.extend(of_machines(&first.kept.observed.work));
    }
    tables.push(tables::resources(&runs));
    figures.extend(slowest.iter().flat_map(Slowest::figures));
    Presentation {
        answer: if views.len() == 1 { answer(first) } else { compared(&views) },
        headline: points.first_measure(["time_to_clean_s"]),
        main_figure: Some("progress".to_owned()),
        tables,
        figures,
        ..Presentation::default()
    }
}

fn name(view: &View<'_>) -> String {
    let label = view.point.label();
    if label.is_empty() { view.kept.observed.changes.join(", ") } else { label }
}

/// The replicates of a point, for the figures of its machines.
fn runs<'a>(view: &View<'a>) -> Runs<'a> {
    Runs {
        name: name(view),
        observed: view.point.kept.iter().map(|kept| &kept.observed.work).collect(),
        why_not_held: "the exports do not say how full the devices are (`osd_df` does)".to_owned(),
    }
}

/// What passes until all groups are clean.
fn times(views: &[View<'_>]) -> Figure {
    let parts = [
        ("until detected", "detection_s"),
        ("until marked out", "down_out_s"),
        ("until objects move", "start_s"),
        ("transfers", "transfer_s"),
    ];
    let values = |measure: &str| views.iter().map(|view| view.value(measure)).collect();
    let parts = parts.map(|(name, measure)| (name, values(measure)));
    figures::times(views.iter().map(name).collect(), &parts)
}

const COLUMNS: [(&str, &str, &str); 7] = [
    ("time_to_clean", "time_to_clean_s", "s"),
    ("moved", "moved_bytes", "bytes"),
    ("moved_objects", "moved_objects", "objects"),
    ("faster_disks", "time_to_clean_fast_s", "s"),
    ("slower_disks", "time_to_clean_slow_s", "s"),
    ("time_to_full_redundancy", "time_to_full_redundancy_s", "s"),
    ("rate", "aggregate_rate_bytes_per_s", "bytes/s"),
];

fn changes(views: &[View<'_>]) -> Table {
    let mut columns = vec![Column::text("change"), Column::text("verdict")];
    columns.extend(COLUMNS.map(|(name, _, unit)| Column::number(name, unit)));
    columns.push(Column::text("held_up_by"));
    let mut table = Table::new("changes", "What moves, and how long it takes", columns);
    for view in views {
        let name = name(view);
        let name = if name.is_empty() { "none".to_owned() } else { name };
        let mut row: Vec<Cell> = vec![name.into(), status(view).word().into()];
        row.extend(COLUMNS.map(|(_, measure, _)| match view.value(measure) {
            Some(mean) => Cell::from(mean),
            None => Cell::missing("no replicate has it"),
        }));
        row.push(view.kept.observed.work.bottleneck.as_deref().unwrap_or("nothing").into());
        table.push(row);
    }
    table
}

fn risk(view: &View<'_>) -> Table {
    let columns = vec![
        Column::text("left"),
        Column::number("data", "bytes"),
        Column::number("groups", "groups"),
        Column::number("until", "s"),
        Column::text("lost_with"),
    ];
    let exposure = &view.kept.exposure;
    let about = format!(
        "Data that lack a copy or shard {}, by how many are left. Until when the last of them is whole again.",
        exposure.when()
    );
    let mut table = Table::new("risk", "What is at risk meanwhile", columns).about(about);
    let until = |measure: &str| match view.value(measure) {
        Some(value) => Cell::from(value),
        None => Cell::missing("not all is made again"),
    };
    let (devices, pairs) = (exposure.devices.len(), exposure.pairs);
    table.push(vec![
        "one copy, or k shards".into(),
        exposure.one_bytes.into(),
        exposure.one_groups.into(),
        until("time_to_two_copies_s"),
        format!("one of {devices} devices").into(),
    ]);
    table.push(vec![
        "two copies, or k + 1 shards".into(),
        exposure.two_bytes.into(),
        exposure.two_groups.into(),
        until("time_to_full_redundancy_s"),
        format!("one of {pairs} pairs of devices").into(),
    ]);
    table
}

fn devices(view: &View<'_>) -> Table {
    let mut columns = vec![Column::text("device"), Column::text("host")];
    columns.extend(["in", "out"].map(|name| Column::number(name, "bytes")));
    columns.extend(["groups_before", "groups_after"].map(|name| Column::number(name, "groups")));
    columns.extend(["fill_before", "fill_after"].map(|name| Column::number(name, "percent")));
    let about = format!(
        "Bytes of copies and shards. Ceph warns above {} groups a device (`mon_max_pg_per_osd`).",
        view.kept.moves.safety.groups_max
    );
    let mut table = Table::new("devices", "Device by device", columns).about(about);
    for device in view.kept.moves.devices.values() {
        let cell = |part: Option<f64>| match part {
            Some(part) => Cell::from(part * 100.0),
            None => Cell::missing("no export says how large the device is"),
        };
        let mut row: Vec<Cell> = vec![device.name.as_str().into(), device.host.as_str().into()];
        let counts = [device.in_bytes, device.out_bytes, device.present_shards, device.target_shards];
        row.extend(counts.map(Cell::from));
        row.extend([cell(device.fill().map(|fill| fill.0)), cell(device.fill().map(|fill| fill.1))]);
        table.push(row);
    }
    table
}

/// Changes that were tried.
fn tried(view: &View<'_>) -> Option<Table> {
    let all = &view.kept.observed.work.tried;
    let mut columns = vec![Column::text("change"), Column::number("time", "s")];
    let clients = all.iter().any(|one| one.clients.is_some());
    if clients {
        columns.push(Column::number("client_rate", "operations/s"));
        columns.extend(["client_read_p99", "client_write_p99"].map(|name| Column::number(name, "us")));
    }
    let about = "Each change by itself. What a change costs in money, and its other risks, are not modelled.";
    let mut table = Table::new("tried", "What would help", columns).about(about);
    for one in all {
        let time = one.time_s.map_or_else(|| Cell::missing("no faster than without it"), Cell::from);
        let mut row = vec![one.change.as_str().into(), time];
        if clients {
            let cost = |of: fn(&Cost) -> Option<f64>| match one.clients.as_ref().and_then(of) {
                Some(value) => Cell::from(value),
                None => Cell::missing("no such operation was done"),
            };
            row.extend([cost(|cost| Some(cost.rate_per_s)), cost(|cost| cost.read_p99_us)]);
            row.push(cost(|cost| cost.write_p99_us));
        }
        table.push(row);
    }
    (!all.is_empty()).then_some(table)
}

/// Data at risk over time.
fn exposed(view: &View<'_>) -> Option<Figure> {
    let (exposure, observed) = (&view.kept.exposure, &view.kept.observed);
    let line = |name: &str, bytes: u64, row: usize| {
        let steps = observed.by_spare.get(row).filter(|_| bytes > 0)?;
        let all = steps.iter().map(|step| step.1).sum::<u64>();
        let mut done = 0;
        let mut points = vec![CurvePoint::new(0.0, bytes as f64 / GIB)];
        for (at, more) in steps {
            done += more;
            let left = 1.0 - done as f64 / all.max(1) as f64;
            points.push(CurvePoint::new(*at, left * bytes as f64 / GIB));
        }
        Some(LineSeries { name: name.to_owned(), points, draw: Draw::Step })
    };
    let series = [
        line("one copy, or k shards", exposure.one_bytes, 0),
        line("two copies, or k + 1 shards", exposure.two_bytes, 1),
    ];
    let series: Vec<LineSeries> = series.into_iter().flatten().collect();
    if series.is_empty() || view.value("time_to_full_redundancy_s").is_none() {
        return None;
    }
    Some(
        Figure::new(
            "exposed",
            "Data that lack a copy, by how many are left",
            "In proportion to what has been written of each kind, in the first replicate.",
            Kind::Line {
                x: Axis::linear("time", "s"),
                y: Axis::linear("data", "GiB"),
                series,
                references: Vec::new(),
            },
        )
        .with_bands(phases(view)),
    )
}

const GIB: f64 = 1_073_741_824.0;

/// Bytes left over time.
fn progress(views: &[View<'_>]) -> Figure {
    let line = |view: &View<'_>| {
        let observed = &view.kept.observed;
        let mut left =
            observed.work.progress.iter().map(|step| step.1).sum::<u64>() + observed.work.unfinished;
        let mut points = vec![CurvePoint::new(0.0, left as f64 / GIB)];
        for (at, bytes) in &observed.work.progress {
            left -= bytes;
            points.push(CurvePoint::new(*at, left as f64 / GIB));
        }
        LineSeries { name: human::heading(&name(view)), points, draw: Draw::Step }
    };
    let kind = Kind::Line {
        x: Axis::linear("time", "s"),
        y: Axis::linear("left", "GiB"),
        series: views.iter().map(line).collect(),
        references: Vec::new(),
    };
    let about = "Bytes of copies and shards that are not yet where they belong, in the first replicate.";
    let bands = if let [view] = views { phases(view) } else { Vec::new() };
    Figure::new("progress", "What is left to move", about, kind).with_bands(bands)
}

/// What passes before objects move, and the transfers, in the first replicate. Nothing where things happen
/// one after the other over a long time, since their waits overlap.
fn phases(view: &View<'_>) -> Vec<Band> {
    let observed = &view.kept.observed;
    let (Some([detection, down_out, start]), false) = (observed.waited, observed.lasts) else {
        return Vec::new();
    };
    let end = observed.work.progress.last().map_or(0.0, |(at, _)| *at);
    Band::one_after_the_other([
        (phases::DETECTION, detection),
        (phases::DOWN_OUT, down_out),
        (phases::START, start),
        (phases::TRANSFERS, end - detection - down_out - start),
    ])
}
