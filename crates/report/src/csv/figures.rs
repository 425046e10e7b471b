//! The data of a figure as a tidy table: a row per drawn value, the unit in a column of its own.
//!
//! `role` is `data`, or `reference` for what the data are compared with (an ideal, a limit). A reference line
//! that is parallel to an axis has a value in one of the two coordinates only. A `band` of the horizontal
//! axis has a row for each of its ends.
//!
//! The page has the same rules in `web/src/figurerows.ts`; both are checked against
//! `web/test/golden/figures.json`.

use crate::number::Num;
use crate::{
    Axis, BarSeries, BoxSeries, BoxStats, Cell, Column, Figure, HistogramSeries, Kind, Lane, LineSeries,
    Reference, Table,
};

/// The data of a figure; the columns depend on its kind.
pub(super) fn table(figure: &Figure) -> Table {
    let gap = Num::MISSING;
    match &figure.kind {
        Kind::Line { x, y, series, references } => {
            let mut rows = lines(figure, [x, y], series, references);
            for band in &figure.bands {
                for at in [band.from, band.to] {
                    rows.push(&["band", &band.name, &x.unit, &y.unit], &[at, gap, gap, gap]);
                }
            }
            rows.table
        }
        Kind::Box { y, boxes, references, .. } => boxed(figure, y, boxes, references),
        Kind::Boxes { x, y, series, references } => placed_boxes(figure, [x, y], series, references),
        Kind::Histogram { x, y, series, references } => histograms(figure, [x, y], series, references),
        Kind::Ecdf { x, series, references, .. } => {
            let mut rows = Rows::new(figure, &["role", "series", "unit"], &["value", "share"]);
            for each in series {
                for &(value, share) in &each.points {
                    rows.push(&["data", &each.name, &x.unit], &[value, share]);
                }
            }
            for Place { name, x: value, y: share } in references.iter().flat_map(places) {
                rows.push(&["reference", name, &x.unit], &[value, share]);
            }
            rows.table
        }
        Kind::Heatmap { columns, rows: names, value, values, .. } => {
            matrix(figure, ["row", "column"], [names, columns], &value.unit, values)
        }
        Kind::Timeline { x, lanes } => timeline(figure, x, lanes),
        Kind::Chord { value, labels, matrix: values, others, .. } if others.is_empty() => {
            matrix(figure, ["from", "to"], [labels, labels], &value.unit, values)
        }
        Kind::Chord { value, labels, matrix, name, others, .. } => {
            let others = others.iter().map(|other| (&other.name, &other.labels, &other.matrix));
            let mut rows = Rows::new(figure, &["of", "from", "to", "unit"], &["value"]);
            for (name, labels, matrix) in std::iter::once((name, labels, matrix)).chain(others) {
                for (from, values) in labels.iter().zip(matrix) {
                    for (to, flow) in labels.iter().zip(values) {
                        rows.push(&[name, from, to, &value.unit], &[*flow]);
                    }
                }
            }
            rows.table
        }
        Kind::Bar { y, categories, series, references, .. } => {
            bars(figure, y, categories, series, references)
        }
    }
}

/// Rows of some columns of text and then some of numbers.
struct Rows {
    table: Table,
}

impl Rows {
    fn new(figure: &Figure, texts: &[&str], numbers: &[&str]) -> Self {
        let texts = texts.iter().map(|name| Column::text(*name));
        let columns = texts.chain(numbers.iter().map(|name| Column::number(*name, ""))).collect();
        Self { table: Table::new("figure", figure.title.clone(), columns) }
    }

    fn push(&mut self, texts: &[&str], numbers: &[Num]) {
        let texts = texts.iter().map(|text| Cell::Text((*text).to_owned()));
        self.table.push(texts.chain(numbers.iter().map(|number| number.get().into())).collect());
    }
}

/// A point of a reference.
struct Place<'a> {
    name: &'a str,
    x: Num,
    y: Num,
}

fn places(reference: &Reference) -> Vec<Place<'_>> {
    match reference {
        Reference::Curve { name, points } => {
            points.iter().map(|point| Place { name, x: point.x, y: point.y }).collect()
        }
        Reference::Horizontal { name, at } => vec![Place { name, x: Num::MISSING, y: *at }],
        Reference::Vertical { name, at } => vec![Place { name, x: *at, y: Num::MISSING }],
    }
}

fn lines(figure: &Figure, [x, y]: [&Axis; 2], series: &[LineSeries], references: &[Reference]) -> Rows {
    let mut rows = Rows::new(figure, &["role", "series", "x_unit", "y_unit"], &["x", "y", "low", "high"]);
    for each in series {
        for point in &each.points {
            let numbers = [point.x, point.y, point.low, point.high];
            rows.push(&["data", &each.name, &x.unit, &y.unit], &numbers);
        }
    }
    for place in references.iter().flat_map(places) {
        let numbers = [place.x, place.y, Num::MISSING, Num::MISSING];
        rows.push(&["reference", place.name, &x.unit, &y.unit], &numbers);
    }
    rows
}

fn histograms(
    figure: &Figure,
    [x, y]: [&Axis; 2],
    series: &[HistogramSeries],
    references: &[Reference],
) -> Table {
    let texts = ["role", "series", "unit", "height_unit"];
    let mut rows = Rows::new(figure, &texts, &["from", "to", "height"]);
    for each in series {
        for bin in &each.bins {
            rows.push(&["data", &each.name, &x.unit, &y.unit], &[bin.from, bin.to, bin.height]);
        }
    }
    for place in references.iter().flat_map(places) {
        rows.push(&["reference", place.name, &x.unit, &y.unit], &[place.x, place.x, place.y]);
    }
    rows.table
}

fn boxed(figure: &Figure, y: &Axis, boxes: &[BoxStats], references: &[Reference]) -> Table {
    let mut rows = Rows::new(figure, &["role", "category", "quantity", "unit"], &["value"]);
    for each in boxes {
        for (quantity, value) in parts(each) {
            rows.push(&["data", &each.label, quantity, &y.unit], &[value]);
        }
        rows.push(&["data", &each.label, "n", ""], &[each.n.into()]);
    }
    for place in references.iter().flat_map(places) {
        rows.push(&["reference", place.name, "at", &y.unit], &[place.y]);
    }
    rows.table
}

/// The numbers of a box, but for how many values it has.
fn parts(each: &BoxStats) -> impl Iterator<Item = (&'static str, Num)> {
    let parts = [
        ("low", each.low),
        ("q1", each.q1),
        ("median", each.median),
        ("q3", each.q3),
        ("high", each.high),
        ("mean", each.mean),
    ];
    parts.into_iter().chain(each.outliers.iter().map(|value| ("outlier", *value)))
}

fn placed_boxes(
    figure: &Figure,
    [x, y]: [&Axis; 2],
    series: &[BoxSeries],
    references: &[Reference],
) -> Table {
    let texts = ["role", "series", "x_unit", "quantity", "unit"];
    let mut rows = Rows::new(figure, &texts, &["x", "value"]);
    for each in series {
        for placed in &each.boxes {
            for (quantity, value) in parts(&placed.stats) {
                rows.push(&["data", &each.name, &x.unit, quantity, &y.unit], &[placed.x, value]);
            }
            rows.push(&["data", &each.name, &x.unit, "n", ""], &[placed.x, placed.stats.n.into()]);
        }
    }
    for place in references.iter().flat_map(places) {
        rows.push(&["reference", place.name, &x.unit, "at", &y.unit], &[place.x, place.y]);
    }
    rows.table
}

fn matrix(
    figure: &Figure,
    heads: [&str; 2],
    [rows, columns]: [&[String]; 2],
    unit: &str,
    values: &[Vec<Num>],
) -> Table {
    let mut all = Rows::new(figure, &[heads[0], heads[1], "unit"], &["value"]);
    for (row, values) in rows.iter().zip(values) {
        for (column, value) in columns.iter().zip(values) {
            all.push(&[row, column, unit], &[*value]);
        }
    }
    all.table
}

/// A mark is a span of no length.
fn timeline(figure: &Figure, x: &Axis, lanes: &[Lane]) -> Table {
    let mut rows = Rows::new(figure, &["lane", "what", "note", "unit"], &["from", "to"]);
    for lane in lanes {
        for span in &lane.spans {
            rows.push(&[&lane.name, &span.what, &span.note, &x.unit], &[span.from, span.to]);
        }
        for mark in &lane.marks {
            rows.push(&[&lane.name, &mark.what, "", &x.unit], &[mark.at, mark.at]);
        }
    }
    rows.table
}

fn bars(
    figure: &Figure,
    y: &Axis,
    categories: &[String],
    series: &[BarSeries],
    references: &[Reference],
) -> Table {
    let mut rows = Rows::new(figure, &["role", "series", "category", "unit"], &["value", "low", "high"]);
    let of = |values: &[Num], at: usize| values.get(at).copied().unwrap_or(Num::MISSING);
    for each in series {
        for (at, category) in categories.iter().enumerate() {
            let numbers = [of(&each.values, at), of(&each.low, at), of(&each.high, at)];
            rows.push(&["data", &each.name, category, &y.unit], &numbers);
        }
    }
    for place in references.iter().flat_map(places) {
        rows.push(&["reference", place.name, "", &y.unit], &[place.y, Num::MISSING, Num::MISSING]);
    }
    rows.table
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{csv, golden};

    /// A reference of each kind, on axes in `s` and `%`.
    fn references() -> Value {
        json!([
            { "type": "curve", "name": "=ideal", "points": [
                { "x": 1, "y": 2, "low": null, "high": null },
                { "x": null, "y": 0.1, "low": 0, "high": 1 },
            ] },
            { "type": "horizontal", "name": "limit, upper", "at": 90 },
            { "type": "vertical", "name": "", "at": -0.5 },
        ])
    }

    fn axis(unit: &str) -> Value {
        json!({ "label": "axis", "unit": unit, "scale": "linear" })
    }

    fn boxed(outliers: &[f64]) -> Value {
        json!({
            "label": "8 \"new\"", "low": 1, "q1": 2, "median": 3, "q3": null, "high": 1e300, "mean": 3.25,
            "outliers": outliers, "n": 7,
        })
    }

    fn over_axes() -> [Value; 5] {
        let (x, y) = (axis("s"), axis("%"));
        let point = json!({ "x": 1, "y": null, "low": 0.1, "high": 1e-7 });
        [
            json!({ "type": "line", "x": x, "y": y, "references": references(), "series": [
                { "name": "a", "draw": "line", "points": [point, point] },
                { "name": "none", "draw": "step", "points": [] },
            ] }),
            json!({ "type": "box", "x": "servers", "y": y, "references": references(),
                "boxes": [boxed(&[]), boxed(&[0.5, 9.0])] }),
            json!({ "type": "boxes", "x": x, "y": y, "references": references(), "series": [
                { "name": "a", "boxes": [{ "x": 8, "stats": boxed(&[0.5]) }, { "x": null, "stats": boxed(&[]) }] },
            ] }),
            json!({ "type": "histogram", "x": x, "y": y, "references": references(), "series": [
                { "name": "a", "bins": [{ "from": 0, "to": 0.5, "height": 3 }, { "from": 0.5, "to": 1, "height": null }] },
            ] }),
            json!({ "type": "ecdf", "x": x, "references": references(), "tail": true, "series": [
                { "name": "a", "points": [[1, 0.5], [2, null]] },
            ] }),
        ]
    }

    /// Some lists have fewer or more values than there are names.
    fn over_names() -> [Value; 5] {
        let (names, value) = (json!(["a", "b"]), axis("bytes"));
        let uneven = json!([[1, 2, 3], [null]]);
        let other = json!({ "name": "2", "labels": names, "groups": [], "matrix": uneven });
        [
            json!({ "type": "heatmap", "x": "column", "y": "row", "columns": names, "rows": ["1", "2", "3"],
                "value": value, "values": uneven }),
            json!({ "type": "timeline", "x": axis("s"), "lanes": [
                { "name": "lane", "spans": [{ "from": 0, "to": 1.5, "what": "read", "note": "  " }],
                  "marks": [{ "at": 2, "what": "fails" }] },
                { "name": "idle", "spans": [], "marks": [] },
            ] }),
            json!({ "type": "chord", "value": value, "labels": names, "matrix": uneven }),
            json!({ "type": "chord", "value": value, "labels": names, "matrix": uneven, "others": [other] }),
            json!({ "type": "bar", "x": "servers", "y": value, "categories": names, "stacked": false,
                "references": references(), "series": [
                { "name": "a", "values": [1, 2], "low": [0.5], "high": [] },
                { "name": "b", "values": [null], "low": [], "high": [4, 5, 6] },
            ] }),
        ]
    }

    /// The page writes the same rows (`web/src/figurerows.ts`), since the figures are all that it has. Its
    /// tests read this file: a figure of each kind, with what is rare in a report.
    #[test]
    fn the_page_is_given_the_rows_of_every_kind_of_figure() {
        let figures = over_axes().into_iter().chain(over_names());
        let cases: Vec<String> = figures
            .map(|kind| {
                let bands = json!([{ "name": "wait, all", "from": 0, "to": 20.5 }]);
                let whole = json!({ "id": "f", "title": "F", "caption": "", "kind": kind, "bands": bands });
                let figure: Figure = serde_json::from_value(whole).unwrap();
                json!({ "figure": figure, "csv": csv::figure(&figure) }).to_string()
            })
            .collect();
        golden::check("web/test/golden/figures.json", &format!("[\n{}\n]\n", cases.join(",\n")));
    }
}
