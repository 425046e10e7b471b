//! The tables and figures of a comparison.

use serde_json::Value;
use towtank_report::{
    Axis, BarSeries, Cell, Column, ColumnKind, CurvePoint, Draw, Figure, Kind, LineSeries, Measure, Num,
    Reference, Table,
};

use super::Side;
use super::row::Row;
use crate::differences;

/// The maximum number of line figures: a choice. The few main measures of a study come first.
const FIGURES_MAX: usize = 8;

/// The tables of differences, of their intervals, and of the scenario keys that differ.
pub(crate) fn tables(a: &Side, b: &Side, rows: &[Row]) -> Vec<Table> {
    let mut tables = vec![comparison(a, b, rows), intervals(rows)];
    tables.extend(scenario_changes(a, b));
    tables
}

fn comparison(a: &Side, b: &Side, rows: &[Row]) -> Table {
    let places = place_columns(rows);
    let mut columns = places.clone();
    columns.extend(["a", "b", "difference", "ratio"].map(|name| Column::number(name, "")));
    columns.push(Column::text("b_against_a"));
    let who = match (a.name.as_str(), b.name.as_str()) {
        ("A", "B") => String::new(),
        (a, b) => format!("A is {a}, B is {b}. "),
    };
    let about = format!(
        "{who}Means over replicates; the difference is B minus A, the ratio is B / A. B counts as higher or \
         lower when the 95 % interval of the paired differences excludes zero, or, without pairs, when the intervals of \
         the means do not overlap."
    );
    let mut table = Table::new("comparison", "Differences", columns).about(about);
    for row in rows {
        let mut cells = place_cells(&places, row);
        let number = |value: Option<f64>| value.map_or_else(|| Cell::missing(row.why_missing()), Cell::from);
        let ratio = match (row.difference(), row.ratio()) {
            (Some(_), None) => Cell::missing("A is zero"),
            (_, ratio) => number(ratio),
        };
        cells.extend([of_side(&row.a), of_side(&row.b), number(row.difference()), ratio]);
        cells.push(row.verdict().word().into());
        table.push(cells);
    }
    table
}

fn of_side(measure: &Measure) -> Cell {
    measure.value().map_or_else(|| Cell::missing(measure.reason().unwrap_or_default()), Cell::from)
}

fn intervals(rows: &[Row]) -> Table {
    let places = place_columns(rows);
    let mut columns = places.clone();
    columns.extend(["a_low", "a_high", "b_low", "b_high"].map(|name| Column::number(name, "")));
    columns.push(Column::flag("overlap"));
    let paired = ["paired_difference", "paired_low", "paired_high", "pairs"];
    columns.extend(paired.map(|name| Column::number(name, "")));
    let about = "95 % intervals of the means, and of the differences between replicates that drew the same random numbers. \
                 Empty if there are fewer than two replicates, the seeds differ, or the runs were not stored.";
    let mut table = Table::new("intervals", "Intervals of the differences", columns).about(about);
    for row in rows {
        let mut cells = place_cells(&places, row);
        for measure in [&row.a, &row.b] {
            cells.extend([measure.low().into(), measure.high().into()]);
        }
        cells.push(row.intervals_overlap().into());
        let range = row.paired.as_ref().and_then(|paired| paired.mean.range);
        cells.push(row.paired.as_ref().map(|paired| paired.mean.mean).into());
        cells.extend([range.map(|range| range.0).into(), range.map(|range| range.1).into()]);
        cells.push(row.paired.as_ref().map(|paired| paired.mean.count).into());
        table.push(cells);
    }
    table
}

/// The columns that identify a row: one per swept key, the measure and its unit.
fn place_columns(rows: &[Row]) -> Vec<Column> {
    let keys = rows[0].settings.keys();
    let column =
        |key: &String| if is_numeric(rows, key) { Column::number(key, "") } else { Column::text(key) };
    keys.map(column).chain([Column::text("measure"), Column::text("unit")]).collect()
}

fn is_numeric(rows: &[Row], key: &str) -> bool {
    rows.iter().all(|row| row.settings.get(key).is_some_and(Value::is_number))
}

/// The cells of these columns; others are added to them.
fn place_cells(places: &[Column], row: &Row) -> Vec<Cell> {
    let cell = |(value, column): (&Value, &Column)| match value {
        Value::Number(number) if column.kind == ColumnKind::Number => Cell::Number(number.clone()),
        value => text_of(value),
    };
    let settings = row.settings.values().zip(places).map(cell);
    settings.chain([row.measure.as_str().into(), row.a.unit().into()]).collect()
}

fn text_of(value: &Value) -> Cell {
    Cell::Text(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn scenario_changes(a: &Side, b: &Side) -> Option<Table> {
    let keys = differences(&a.report.scenario, &b.report.scenario);
    let columns = vec![Column::text("key"), Column::text("a"), Column::text("b")];
    let mut table = Table::new("scenario_changes", "Scenario keys that differ", columns);
    for key in &keys {
        let side = |value: &Option<Value>| {
            value.as_ref().map_or_else(|| Cell::missing("not in this scenario"), text_of)
        };
        table.push(vec![key.key.as_str().into(), side(&key.one), side(&key.other)]);
    }
    (!keys.is_empty()).then_some(table)
}

/// For a sweep over one number, one figure per measure with a line for each side; without a sweep, the ratios
/// as bars.
pub(crate) fn figures(a: &Side, b: &Side, rows: &[Row]) -> Vec<Figure> {
    let mut keys = rows[0].settings.keys();
    match (keys.next(), keys.next()) {
        (None, _) => ratio_figure(rows).into_iter().collect(),
        (Some(key), None) => {
            if is_numeric(rows, key) {
                line_figures(key, a, b, rows)
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

fn ratio_figure(rows: &[Row]) -> Option<Figure> {
    let ratios: Vec<(&str, f64)> =
        rows.iter().filter_map(|row| Some((row.measure.as_str(), row.ratio()?))).collect();
    let kind = Kind::Bar {
        x: "measure".to_owned(),
        y: Axis::linear("B / A", ""),
        categories: ratios.iter().map(|(name, _)| (*name).to_owned()).collect(),
        series: vec![BarSeries {
            name: "B / A".to_owned(),
            values: ratios.iter().map(|(_, ratio)| Num::from(*ratio)).collect(),
            low: Vec::new(),
            high: Vec::new(),
        }],
        stacked: false,
        references: vec![Reference::Horizontal { name: "equal".to_owned(), at: 1.0.into() }],
    };
    let caption = "B's value divided by A's, for each measure.".to_owned();
    (!ratios.is_empty()).then(|| Figure {
        id: "ratios".to_owned(),
        title: "Ratio of B to A".to_owned(),
        caption,
        kind,
    })
}

fn line_figures(key: &str, a: &Side, b: &Side, rows: &[Row]) -> Vec<Figure> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.measure.as_str()) {
            names.push(&row.measure);
        }
    }
    let figure = |name: &&str| {
        let own: Vec<&Row> =
            rows.iter().filter(|row| row.measure == **name && row.a.unit() == row.b.unit()).collect();
        let line = |side: &Side, measure: fn(&Row) -> &Measure| {
            let at = |row: &&Row| row.settings[key].as_f64().unwrap_or_default();
            let mut points: Vec<CurvePoint> =
                own.iter().map(|row| CurvePoint::of_measure(at(row), measure(row))).collect();
            points.sort_by(|one, next| one.x.partial_cmp(&next.x).unwrap_or(std::cmp::Ordering::Equal));
            LineSeries { name: side.name.clone(), points, draw: Draw::Line }
        };
        let unit = own.first().map_or("", |row| row.a.unit());
        let kind = Kind::Line {
            x: Axis::linear(key, ""),
            y: Axis::linear(*name, unit),
            series: vec![line(a, |row| &row.a), line(b, |row| &row.b)],
            references: Vec::new(),
        };
        Figure {
            id: format!("compare_{name}"),
            title: towtank_report::human::heading(name),
            caption: "Means over replicates with their 95 % intervals.".to_owned(),
            kind,
        }
    };
    names.iter().take(FIGURES_MAX).map(figure).collect()
}
