//! The tables and figures of differences.

use serde_json::Value;
use towtank_report::{
    Axis, BarSeries, Cell, Column, ColumnKind, CurvePoint, Draw, Figure, Kind, LineSeries, Measure, Num,
    Reference, Table,
};

use super::Side;
use super::against::Against;
use super::main_measures::{Main, title_of};
use super::row::{Row, Verdict};
use super::settings::Setting;

/// The maximum number of line figures: a choice. The few main measures of a study come first.
const FIGURES_MAX: usize = 8;

/// The tables of differences, of their intervals, and of the settings that differ.
pub(crate) fn tables(sides: &[Side], others: &[Against<'_>], settings: &[Setting]) -> Vec<Table> {
    let mut tables = vec![differences(sides, others), intervals(others)];
    tables.extend((!settings.is_empty()).then(|| scenario_changes(sides.len(), settings)));
    tables
}

fn differences(sides: &[Side], others: &[Against<'_>]) -> Table {
    let places = place_columns(others);
    let mut columns = places.clone();
    let value = if others.len() > 1 { "value" } else { "b" };
    columns.extend(["a", value, "difference", "ratio"].map(|name| Column::number(name, "")));
    columns.push(Column::text(if others.len() > 1 { "against_a" } else { "b_against_a" }));
    let who: Vec<String> = sides
        .iter()
        .filter(|side| !side.called.is_empty())
        .map(|side| format!("{} is {}", side.name, side.called))
        .collect();
    let who = if who.is_empty() { String::new() } else { format!("{}. ", who.join(", ")) };
    let [minus, over] = if others.len() > 1 {
        ["is the value minus that of A", "the value / A"]
    } else {
        ["is B minus A", "B / A"]
    };
    let about = format!(
        "{who}Means over replicates; the difference {minus}, the ratio is {over}. A value counts as higher or lower \
         when the 95 % interval of the paired differences excludes zero, or, without pairs, when the intervals of the \
         means do not overlap."
    );
    let mut table = Table::new("comparison", "Differences", columns).about(about);
    for (other, row) in all(others) {
        let mut cells = place_cells(&places, others.len() > 1, other, row);
        let number = |value: Option<f64>| value.map_or_else(|| Cell::missing(row.why_missing()), Cell::from);
        let ratio = match (row.difference(), row.ratio()) {
            (Some(_), None) => Cell::missing("A is zero"),
            (_, ratio) => number(ratio),
        };
        cells.extend([of_side(&row.a), of_side(&row.b), number(row.difference()), ratio]);
        cells.push(match row.verdict() {
            Verdict::NoInterval => Cell::missing("a single replicate has no interval"),
            verdict => verdict.word().into(),
        });
        table.push(cells);
    }
    table
}

/// Every row of every result.
fn all<'a>(others: &'a [Against<'a>]) -> impl Iterator<Item = (&'a Against<'a>, &'a Row)> {
    others.iter().flat_map(|other| other.rows.iter().map(move |row| (other, row)))
}

fn of_side(measure: &Measure) -> Cell {
    measure.value().map_or_else(|| Cell::missing(measure.reason().unwrap_or_default()), Cell::from)
}

fn intervals(others: &[Against<'_>]) -> Table {
    let places = place_columns(others);
    let mut columns = places.clone();
    let [low, high] = if others.len() > 1 { ["low", "high"] } else { ["b_low", "b_high"] };
    columns.extend(["a_low", "a_high", low, high].map(|name| Column::number(name, "")));
    columns.push(Column::flag("overlap"));
    let paired = ["paired_difference", "paired_low", "paired_high", "pairs"];
    columns.extend(paired.map(|name| Column::number(name, "")));
    let about = "95 % intervals of the means, and of the differences between replicates that drew the same random numbers. \
                 Empty if there are fewer than two replicates, the seeds differ, or the runs were not stored.";
    let mut table = Table::new("intervals", "Intervals of the differences", columns).about(about);
    for (other, row) in all(others) {
        let mut cells = place_cells(&places, others.len() > 1, other, row);
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

/// The columns that identify a row: of several results its name, one per swept key, the measure and its unit.
fn place_columns(others: &[Against<'_>]) -> Vec<Column> {
    let name = (others.len() > 1).then(|| Column::text("result"));
    let keys = others[0].rows[0].settings.keys();
    let column =
        |key: &String| if is_numeric(others, key) { Column::number(key, "") } else { Column::text(key) };
    let places = [Column::text("measure"), Column::text("unit")];
    name.into_iter().chain(keys.map(column)).chain(places).collect()
}

fn is_numeric(others: &[Against<'_>], key: &str) -> bool {
    all(others).all(|(_, row)| row.settings.get(key).is_some_and(Value::is_number))
}

/// The cells of these columns; others are added to them.
fn place_cells(places: &[Column], several: bool, other: &Against<'_>, row: &Row) -> Vec<Cell> {
    let name = several.then(|| Cell::from(other.side.name.as_str()));
    let places = &places[usize::from(several)..];
    let cell = |(value, column): (&Value, &Column)| match value {
        Value::Number(number) if column.kind == ColumnKind::Number => Cell::Number(number.clone()),
        value => text_of(value),
    };
    let settings = row.settings.values().zip(places).map(cell);
    name.into_iter().chain(settings).chain([row.measure.as_str().into(), row.a.unit().into()]).collect()
}

fn text_of(value: &Value) -> Cell {
    Cell::Text(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn scenario_changes(results: usize, settings: &[Setting]) -> Table {
    let letters = ('a'..='z').take(results).map(|letter| Column::text(letter.to_string()));
    let columns = [Column::text("key")].into_iter().chain(letters).chain([Column::text("meaning")]);
    let mut table = Table::new("scenario_changes", "Settings that differ", columns.collect());
    for setting in settings {
        let value = |value: &Option<Value>| {
            value.as_ref().map_or_else(|| Cell::missing("not in this scenario"), text_of)
        };
        let mut cells: Vec<Cell> = vec![setting.key.as_str().into()];
        cells.extend(setting.values.iter().map(value));
        cells.push(setting.words.as_deref().map_or(Cell::Empty, Cell::from));
        table.push(cells);
    }
    table
}

/// For a sweep over one number, one figure per measure with a line for each result; without a sweep, the
/// ratios as bars.
pub(crate) fn figures(sides: &[Side], others: &[Against<'_>], main: &[Main]) -> Vec<Figure> {
    let mut keys = others[0].rows[0].settings.keys();
    match (keys.next(), keys.next()) {
        (None, _) => ratio_figure(sides, others, main).into_iter().collect(),
        (Some(key), None) if is_numeric(others, key) => line_figures(key, sides, others),
        _ => Vec::new(),
    }
}

/// The names of all measures, in order.
fn measures<'a>(others: &'a [Against<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (_, row) in all(others) {
        if !names.contains(&row.measure.as_str()) {
            names.push(&row.measure);
        }
    }
    names
}

/// The ratios of the main measures that are not the same everywhere.
fn ratio_figure(sides: &[Side], others: &[Against<'_>], main: &[Main]) -> Option<Figure> {
    let ratio = |other: &Against<'_>, name: &str| other.of_measure(name).next().and_then(Row::ratio);
    let differs =
        |main: &&Main| others.iter().any(|other| ratio(other, &main.name).is_some_and(|ratio| ratio != 1.0));
    let shown: Vec<&Main> = main.iter().filter(differs).collect();
    let a = &sides[0].name;
    let series = |other: &Against<'_>| BarSeries {
        name: format!("{} / {a}", other.side.name),
        values: shown.iter().map(|main| Num::from(ratio(other, &main.name))).collect(),
        low: Vec::new(),
        high: Vec::new(),
    };
    let kind = Kind::Bar {
        x: "measure".to_owned(),
        y: Axis::linear(format!("value / {a}"), ""),
        categories: shown.iter().map(|main| main.title.clone()).collect(),
        series: others.iter().map(series).collect(),
        stacked: false,
        references: vec![Reference::Horizontal { name: "equal".to_owned(), at: 1.0.into() }],
    };
    let caption = format!("Each main measure divided by that of {a}; those that are equal are left out.");
    (!shown.is_empty()).then(|| Figure::new("ratios", format!("Ratios to {a}"), caption, kind))
}

fn line_figures(key: &str, sides: &[Side], others: &[Against<'_>]) -> Vec<Figure> {
    let figure = |name: &&str| {
        let unit = all(others).find(|(_, row)| row.measure == **name).map_or("", |(_, row)| row.a.unit());
        let line = |side: &Side| {
            let points = side.point_summaries();
            let place = |at: Option<&Value>| at.and_then(Value::as_f64);
            let mut points: Vec<(f64, CurvePoint)> = points
                .iter()
                .filter_map(|point| {
                    let at = place(point.settings.get(key))?;
                    let measure = point.summary.get(*name).filter(|measure| measure.unit() == unit)?;
                    Some((at, CurvePoint::of_measure(at, measure)))
                })
                .collect();
            points.sort_by(|one, next| one.0.total_cmp(&next.0));
            let points = points.into_iter().map(|(_, point)| point).collect();
            LineSeries { name: side.shown(), points, draw: Draw::Line }
        };
        let title = title_of(sides.iter(), name, unit);
        let kind = Kind::Line {
            x: Axis::linear(key, ""),
            y: Axis::linear(title.clone(), unit),
            series: sides.iter().map(line).collect(),
            references: Vec::new(),
        };
        let caption = "Means over replicates with their 95 % intervals.";
        Figure::new(format!("compare_{name}"), title, caption, kind)
    };
    measures(others).iter().take(FIGURES_MAX).map(figure).collect()
}
