//! What moves, in words, tables and figures.

use towtank_metrics::{Better, Chance};
use towtank_report::{
    Answer, Axis, BarSeries, Cell, Column, EcdfSeries, Figure, Kind, Num, Reference, Standing, Table, human,
};

use super::dangers::{dangers, status};
use super::group_limits::REFUSED;
use super::moves::{DeviceMoves, Moves};
use super::observed::Kept;
use towtank_study::ranking::Ranked;
use towtank_study::{Point, Points, Presentation, Question};

/// The maximum number of bars; above it, only the devices with the most to move are drawn.
const DEVICES_DRAWN: usize = 48;
/// More labels than this cannot be distinguished; above it, devices are merged by host.
const LABELS_DRAWN: usize = 32;

/// One point with the results of its first replicate; all replicates give the same.
struct View<'a> {
    label: String,
    said: String,
    moves: &'a Moves,
    changes: &'a [String],
}

impl<'a> View<'a> {
    fn of<Q: Question<Kept = Kept>>(point: &'a Point<'a, Q>) -> Self {
        let kept = &point.kept[0];
        Self { label: point.label(), said: point.said(), moves: &kept.moves, changes: &kept.changes }
    }

    fn label(&self) -> String {
        self.label.clone()
    }

    /// The same in a sentence.
    fn said(&self) -> String {
        self.said.clone()
    }
}

/// The presentation of all points of the study.
#[must_use]
pub fn present<Q: Question<Kept = Kept>>(points: &Points<'_, Q>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    let shown = match &views[..] {
        [] => return Presentation::default(),
        [one] => of_point(one),
        all => of_sweep(all),
    };
    let verdict = Standing::worst(views.iter().map(|view| (view.said(), status(view.moves))));
    Presentation {
        headline: points.first_measure(["moved_bytes"]),
        answer: shown.answer.with_verdict(verdict),
        main_figure: shown.figures.first().map(|figure| figure.id.clone()),
        ..shown
    }
}

/// The answer in one line.
fn words(moves: &Moves) -> String {
    let percent = |part: u64, whole: u64| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    let bytes = |count: u64| human::quantity(count as f64, "bytes");
    format!(
        "{}/{} ({:.2} %) groups, {}/{} ({:.1} %) bytes to move; the least possible is {}",
        moves.moved_groups,
        moves.groups,
        percent(moves.moved_groups, moves.groups),
        bytes(moves.moved_bytes),
        bytes(moves.stored_bytes),
        percent(moves.moved_bytes, moves.stored_bytes),
        bytes(moves.minimum_bytes()),
    )
}

fn of_point(view: &View<'_>) -> Presentation {
    let change = if view.changes.is_empty() { "no change".to_owned() } else { view.changes.join(", ") };
    let refused = if view.moves.refused.is_empty() { "" } else { REFUSED };
    Presentation {
        answer: Answer::of(format!("{refused}{change}: {}.", words(view.moves))).comparing("pools"),
        tables: vec![devices(view.moves), pools(view.moves), flows(view.moves)],
        figures: figures(view.moves),
        ..Presentation::default()
    }
}

fn devices(moves: &Moves) -> Table {
    let mut columns = vec![Column::text("device"), Column::text("host")];
    columns
        .extend(["in", "out", "objects_before", "objects_after"].map(|name| Column::number(name, "bytes")));
    columns.extend(["shards_before", "shards_after"].map(|name| Column::number(name, "shards")));
    columns.extend(["fill_before", "fill_after"].map(|name| Column::number(name, "percent")));
    let about = "Bytes of objects; each copy and shard counts. Fill is the used space that the device reports, overheads \
                 included, minus outgoing and plus incoming objects.";
    let mut table = Table::new("devices", "Results of each device", columns).about(about);
    for device in moves.devices.values() {
        let fill = device.fill();
        let cell = |part: Option<f64>| match part {
            Some(part) => Cell::from(part * 100.0),
            None => Cell::missing("no export has the size of the device"),
        };
        let counts = [device.in_bytes, device.out_bytes, device.present_bytes, device.target_bytes];
        let mut row: Vec<Cell> = vec![device.name.as_str().into(), device.host.as_str().into()];
        row.extend(counts.map(Cell::from));
        row.extend([device.present_shards, device.target_shards].map(Cell::from));
        row.extend([cell(fill.map(|fill| fill.0)), cell(fill.map(|fill| fill.1))]);
        table.push(row);
    }
    table
}

/// What moves in each pool.
pub fn pools(moves: &Moves) -> Table {
    let mut columns = vec![Column::text("pool")];
    columns.extend(["groups", "moved_groups"].map(|name| Column::number(name, "groups")));
    columns.extend(["stored", "moved"].map(|name| Column::number(name, "bytes")));
    let mut table = Table::new("pools", "Results of each pool", columns);
    for pool in &moves.pools {
        let counts = [pool.groups, pool.moved_groups, pool.stored_bytes, pool.moved_bytes];
        let mut row: Vec<Cell> = vec![pool.name.as_str().into()];
        row.extend(counts.map(Cell::from));
        table.push(row);
    }
    table
}

/// The maximum number of flows in the table, the largest first.
const FLOWS_LISTED: usize = 1_000;

fn flows(moves: &Moves) -> Table {
    let columns = vec![Column::text("from"), Column::text("to"), Column::number("moved", "bytes")];
    let about = "The largest first. A missing copy or shard comes from the primary of its group.";
    let mut table = Table::new("flows", "Flows between devices", columns).about(about);
    let mut flows = moves.flows.clone();
    flows.sort_by_key(|&(from, to, bytes)| (std::cmp::Reverse(bytes), from, to));
    let name =
        |id: &i32| moves.devices.get(id).map_or_else(|| format!("osd.{id}"), |device| device.name.clone());
    for (from, to, bytes) in flows.iter().take(FLOWS_LISTED) {
        table.push(vec![name(from).into(), name(to).into(), (*bytes).into()]);
    }
    table
}

fn figures(moves: &Moves) -> Vec<Figure> {
    let mut figures = vec![in_and_out(moves)];
    figures.extend(fill(moves));
    figures.extend(chord(moves));
    figures
}

/// The devices to draw, in the order of their ids.
fn drawn(moves: &Moves) -> Vec<&DeviceMoves> {
    let mut devices: Vec<(usize, &DeviceMoves)> = moves.devices.values().enumerate().collect();
    devices.sort_by_key(|(at, device)| (std::cmp::Reverse(device.in_bytes + device.out_bytes), *at));
    devices.truncate(DEVICES_DRAWN);
    devices.sort_by_key(|(at, _)| *at);
    devices.into_iter().map(|(_, device)| device).collect()
}

fn in_and_out(moves: &Moves) -> Figure {
    let drawn = drawn(moves);
    let series = |name: &str, of: fn(&DeviceMoves) -> u64| BarSeries {
        name: name.to_owned(),
        values: drawn.iter().map(|device| Num::from(of(device))).collect(),
        low: Vec::new(),
        high: Vec::new(),
    };
    let left_out = moves.devices.len() - drawn.len();
    let more = if left_out == 0 {
        String::new()
    } else {
        format!(" {left_out} devices with less to move are left out.")
    };
    Figure::new(
        "in_and_out",
        "Data moved to and from each device",
        format!("Bytes of copies and shards.{more}"),
        Kind::Bar {
            x: "device".to_owned(),
            y: Axis::linear("moved", "bytes"),
            categories: drawn.iter().map(|device| device.name.clone()).collect(),
            series: vec![series("in", |device| device.in_bytes), series("out", |device| device.out_bytes)],
            stacked: false,
            references: Vec::new(),
        },
    )
}

/// How full devices are before and after, with the limits of the cluster.
pub(crate) fn fill(moves: &Moves) -> Option<Figure> {
    let known: Vec<(&DeviceMoves, (f64, f64))> =
        moves.devices.values().filter_map(|device| Some((device, device.fill()?))).collect();
    if known.is_empty() {
        return None;
    }
    let percent = |pick: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        known.iter().map(|(_, fill)| 100.0 * pick(fill)).collect()
    };
    let (before, after) = (percent(|fill| fill.0), percent(|fill| fill.1));
    let limits = moves.safety.limits;
    let near_full = |wrap: fn(String, Num) -> Reference| {
        [("nearfull", limits.nearfull), ("backfillfull", limits.backfillfull), ("full", limits.full)]
            .map(|(name, limit)| wrap(name.to_owned(), Num::from((limit * 1e5).round() / 1e3)))
            .to_vec()
    };
    let kind = if known.len() <= DEVICES_DRAWN {
        let series = |name: &str, values: &[f64]| BarSeries {
            name: name.to_owned(),
            values: values.iter().copied().map(Num::from).collect(),
            low: Vec::new(),
            high: Vec::new(),
        };
        Kind::Bar {
            x: "device".to_owned(),
            y: Axis::linear("fill", "percent"),
            categories: known.iter().map(|(device, _)| device.name.clone()).collect(),
            series: vec![series("before", &before), series("after", &after)],
            stacked: false,
            references: near_full(|name, at| Reference::Horizontal { name, at }),
        }
    } else {
        Kind::Ecdf {
            x: Axis::linear("fill", "percent"),
            series: vec![EcdfSeries::of("before", &before), EcdfSeries::of("after", &after)],
            references: near_full(|name, at| Reference::Vertical { name, at }),
            tail: false,
        }
    };
    Some(Figure::new(
        "fill",
        "Fill of the devices",
        "Used space that devices report, minus outgoing and plus incoming objects.",
        kind,
    ))
}

/// Flows between devices, or between hosts where there are too many devices.
fn chord(moves: &Moves) -> Option<Figure> {
    let mut touched: Vec<i32> = moves.flows.iter().flat_map(|&(from, to, _)| [from, to]).collect();
    touched.sort_unstable();
    touched.dedup();
    if touched.is_empty() {
        return None;
    }
    let device = |id: &i32| moves.devices.get(id).cloned().unwrap_or_default();
    let by_device = touched.len() <= LABELS_DRAWN;
    let label = |id: &i32| if by_device { device(id).name } else { device(id).host };
    let mut labels: Vec<String> = Vec::new();
    let mut groups: Vec<String> = Vec::new();
    // Devices of one host are adjacent.
    let mut order: Vec<(String, i32)> = touched.iter().map(|id| (device(id).host, *id)).collect();
    order.sort();
    for (host, id) in &order {
        if !labels.contains(&label(id)) {
            labels.push(label(id));
            groups.push(host.clone());
        }
    }
    let others = labels.len() > LABELS_DRAWN;
    if others {
        labels.truncate(LABELS_DRAWN - 1);
        groups.truncate(LABELS_DRAWN - 1);
        labels.push("others".to_owned());
        groups.push("others".to_owned());
    }
    let place = |id: &i32| labels.iter().position(|own| *own == label(id)).unwrap_or(labels.len() - 1);
    let mut matrix = vec![vec![0u64; labels.len()]; labels.len()];
    for (from, to, bytes) in &moves.flows {
        matrix[place(from)][place(to)] += bytes;
    }
    let what = if by_device { "device" } else { "host" };
    Some(Figure::new(
        "flows",
        format!("Flows from {what} to {what}"),
        "From the device that gives up a copy or shard to the one that gets it; a missing one comes from the primary of \
                  its group. In the cluster, the primary copies in both cases.",
        Kind::Chord {
            value: Axis::linear("moved", "bytes"),
            labels,
            groups: if by_device { groups } else { Vec::new() },
            matrix: matrix.into_iter().map(|row| row.into_iter().map(Num::from).collect()).collect(),
            name: String::new(),
            others: Vec::new(),
        },
    ))
}

/// For a sweep: each point with the minimum that its outcome could cost.
fn of_sweep(views: &[View<'_>]) -> Presentation {
    let mut columns = vec![Column::text("point"), Column::text("verdict")];
    columns.extend(["moved", "least", "stored"].map(|name| Column::number(name, "bytes")));
    columns.extend(
        ["moved_groups", "groups_short", "groups_below_min_size"].map(|name| Column::number(name, "groups")),
    );
    columns.push(Column::number("fill_max_after", "percent"));
    let mut table = Table::new("changes", "Results of each change", columns);
    for view in views {
        let moves = view.moves;
        let fullest = moves
            .devices
            .values()
            .filter_map(|device| device.fill())
            .map(|fill| fill.1)
            .max_by(f64::total_cmp);
        let mut row: Vec<Cell> = vec![view.label().into(), status(moves).word().into()];
        row.extend([moves.moved_bytes, moves.minimum_bytes(), moves.stored_bytes].map(Cell::from));
        row.extend([moves.moved_groups, moves.groups_short, moves.safety.below_min_size].map(Cell::from));
        row.push(fullest.map(|fill| fill * 100.0).into());
        table.push(row);
    }
    let series = |name: &str, of: fn(&Moves) -> u64| BarSeries {
        name: name.to_owned(),
        values: views.iter().map(|view| Num::from(of(view.moves))).collect(),
        low: Vec::new(),
        high: Vec::new(),
    };
    let figure = Figure::new(
        "moved",
        "Data that each change moves",
        "Data to move, and the least that the same outcome could cost.",
        Kind::Bar {
            x: "change".to_owned(),
            y: Axis::linear("moved", "bytes"),
            categories: views.iter().map(View::label).collect(),
            series: vec![series("moved", |moves| moves.moved_bytes), series("least", Moves::minimum_bytes)],
            stacked: false,
            references: Vec::new(),
        },
    );
    Presentation {
        answer: Answer::of(best_of(views)).comparing("changes"),
        tables: vec![table],
        figures: vec![figure],
        ..Presentation::default()
    }
}

/// First the unsafe changes, then the one of the others that moves least, or those that move equally little.
fn best_of(views: &[View<'_>]) -> String {
    let least = |views: &[&View<'_>]| {
        let moved = |view: &&View<'_>| (view.said(), vec![Some(view.moves.moved_bytes as f64)]);
        let ranked = Ranked::of(views.iter().map(moved).collect(), Better::Lower, Chance::None);
        Some(match ranked.winner() {
            Some(at) => format!("{} moves least: {}.", ranked.best(), words(views[at].moves)),
            None => format!("{} move least: {} each.", ranked.best(), ranked.range_of_best("bytes")),
        })
    };
    let (safe, risky): (Vec<&View<'_>>, Vec<&View<'_>>) =
        views.iter().partition(|view| dangers(view.moves).is_empty());
    if safe.is_empty() {
        let all: Vec<&View<'_>> = views.iter().collect();
        return format!("None is safe. {}", least(&all).unwrap_or_default());
    }
    let warned = match risky.len() {
        0 => String::new(),
        1 => format!("{} is at risk or not safe. ", risky[0].said()),
        count => format!("{count} of {} are at risk or not safe. ", views.len()),
    };
    warned + &least(&safe).unwrap_or_default()
}
