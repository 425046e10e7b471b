//! Tables as CSV (RFC 4180 quoting, lines end in a single newline, UTF-8).
//!
//! - The header names column and unit: `rate_bytes_per_s`.
//! - Numbers are unrounded, in the shortest text that reads back to the same bits.
//! - A missing cell is empty; its reason stays in `report.json`. An empty text is `""`.
//! - Text that a spreadsheet would take for a formula (it starts with `=`, `+`, `-`, `@`, a tab or a carriage
//!   return) is prefixed with `'`, and so is text that starts with `'`. To read text back, drop one leading
//!   `'`.
//!
//! `web/src/csv.ts` writes the same bytes for the page's downloads.

use crate::{
    Cell, Claim, Column, Measure, Ordered, PointSummary, Report, Table, Tolerance, Verdict, number_text,
};

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its contents.
    pub text: String,
}

/// Every table of a report: `summary.csv` or `points.csv`, `claims.csv`, then the study's own tables by id.
#[must_use]
pub fn files(report: &Report) -> Vec<CsvFile> {
    let mut tables = vec![results_table(report)];
    tables.extend((!report.claims.is_empty()).then(|| claims_table(&report.claims)));
    let mut taken: Vec<String> = Vec::new();
    tables
        .iter()
        .chain(&report.tables)
        .map(|table| {
            let id = fresh(table.id().to_owned(), &taken, "-");
            taken.push(id.clone());
            CsvFile { name: format!("{id}.csv"), text: render(table) }
        })
        .collect()
}

/// The results, as printed by `--format csv`: one row per measure, or with a sweep one per point.
#[must_use]
pub fn results(report: &Report) -> String {
    render(&results_table(report))
}

/// One table as CSV.
#[must_use]
pub fn render(table: &Table) -> String {
    let mut out = String::new();
    let mut headers: Vec<String> = Vec::new();
    for column in table.columns() {
        headers.push(fresh(header(column), &headers, "_"));
    }
    let fields: Vec<String> = headers.iter().map(|name| text_field(name)).collect();
    push_line(&mut out, &fields);
    for row in table.rows() {
        let fields: Vec<String> = row.iter().map(field).collect();
        push_line(&mut out, &fields);
    }
    out
}

fn push_line(out: &mut String, fields: &[String]) {
    match fields {
        // Most readers would skip an empty line.
        [only] if only.is_empty() => out.push_str("\"\""),
        _ => out.push_str(&fields.join(",")),
    }
    out.push('\n');
}

/// `wanted`, or the first of `wanted-2`, `wanted-3`, … that is not taken.
fn fresh(wanted: String, taken: &[String], joint: &str) -> String {
    if !taken.contains(&wanted) {
        return wanted;
    }
    (2..)
        .map(|count| format!("{wanted}{joint}{count}"))
        .find(|name| !taken.contains(name))
        .expect("finitely many names are taken")
}

/// Column name and unit: `rate` in `bytes/s` is `rate_bytes_per_s`.
#[must_use]
pub fn header(column: &Column) -> String {
    let unit = unit_suffix(&column.unit);
    if unit.is_empty() || column.name == unit || column.name.ends_with(&format!("_{unit}")) {
        return column.name.clone();
    }
    format!("{}_{unit}", column.name)
}

/// A unit spelled with letters, digits and `_`.
fn unit_suffix(unit: &str) -> String {
    let spelt = unit.replace('/', "_per_").replace('%', "percent").replace('µ', "u");
    let letters: String = spelt.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    letters.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Empty | Cell::Missing { .. } => String::new(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Number(number) => plain(number),
        Cell::Text(text) => text_field(text),
    }
}

/// Whole numbers with all their digits, others as ECMAScript prints them.
fn plain(number: &serde_json::Number) -> String {
    if number.is_f64() { number.as_f64().map_or_else(String::new, number_text) } else { number.to_string() }
}

fn text_field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']);
    let guarded = if formula { format!("'{text}") } else { text.to_owned() };
    let outer_space = guarded.starts_with(' ') || guarded.ends_with(' ');
    if guarded.is_empty() || outer_space || guarded.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

fn results_table(report: &Report) -> Table {
    if report.points.is_empty() { summary_table(&report.summary) } else { points_table(&report.points) }
}

/// One row per measure.
fn summary_table(summary: &Ordered<Measure>) -> Table {
    let columns = vec![
        Column::text("measure"),
        Column::number("value", ""),
        Column::text("unit"),
        Column::number("low", ""),
        Column::number("high", ""),
        Column::number("n", ""),
        Column::text("reason"),
    ];
    let mut table = Table::new("summary", "Summary", columns);
    for (name, measure) in summary {
        table.push(vec![
            name.as_str().into(),
            measure.value().into(),
            measure.unit().into(),
            measure.low().into(),
            measure.high().into(),
            measure.n().into(),
            measure.reason().into(),
        ]);
    }
    table
}

/// One row per point: its settings, then mean, low and high of each measure, and the replicates.
fn points_table(points: &[PointSummary]) -> Table {
    let keys = names(points.iter().map(|point| &point.settings));
    let measures = names(points.iter().map(|point| &point.summary));
    let mut columns: Vec<Column> = keys.iter().map(|key| setting_column(key, points)).collect();
    for name in &measures {
        let unit = points.iter().find_map(|point| point.summary.get(name)).map_or("", Measure::unit);
        columns.push(Column::number(name.clone(), unit));
        columns.push(Column::number(format!("{name}_low"), unit));
        columns.push(Column::number(format!("{name}_high"), unit));
        columns.push(Column::number(format!("{name}_n"), ""));
    }
    let kinds: Vec<_> = columns.iter().map(|column| column.kind).collect();
    let mut table = Table::new("points", "Points", columns);
    for point in points {
        let mut row: Vec<Cell> =
            keys.iter().zip(&kinds).map(|(key, kind)| setting_cell(point.settings.get(key), *kind)).collect();
        for name in &measures {
            let measure = point.summary.get(name);
            row.push(measure.and_then(Measure::value).into());
            row.push(measure.and_then(Measure::low).into());
            row.push(measure.and_then(Measure::high).into());
            row.push(measure.map(Measure::n).into());
        }
        table.push(row);
    }
    table
}

/// The keys of several maps, each once, in the order of first occurrence.
fn names<'a, T: 'a>(maps: impl Iterator<Item = &'a Ordered<T>>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in maps.flat_map(Ordered::keys) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// A column of numbers if every point has a number for this key; otherwise of text.
fn setting_column(key: &str, points: &[PointSummary]) -> Column {
    let numbers = points.iter().all(|point| point.settings.get(key).is_none_or(serde_json::Value::is_number));
    if numbers { Column::number(key, "") } else { Column::text(key) }
}

fn setting_cell(value: Option<&serde_json::Value>, kind: crate::ColumnKind) -> Cell {
    use serde_json::Value;
    match value {
        None | Some(Value::Null) => Cell::Empty,
        Some(Value::Number(number)) if kind == crate::ColumnKind::Number => Cell::Number(number.clone()),
        Some(Value::Number(number)) => Cell::Text(plain(number)),
        Some(Value::String(text)) => Cell::Text(text.clone()),
        Some(other) => Cell::Text(other.to_string()),
    }
}

fn claims_table(claims: &[Claim]) -> Table {
    let number = |name: &str| Column::number(name, "");
    let columns = vec![
        Column::text("claim"),
        Column::text("verdict"),
        Column::text("would_be"),
        number("published"),
        number("published_low"),
        number("published_high"),
        number("ours"),
        number("ours_low"),
        number("ours_high"),
        Column::text("unit"),
        Column::text("tolerance"),
        Column::text("loosened"),
        Column::text("source"),
        Column::text("statement"),
        Column::text("note"),
    ];
    let mut table = Table::new("claims", "Claims", columns);
    for claim in claims {
        table.push(vec![
            claim.name.as_str().into(),
            claim.verdict.name().into(),
            claim.would_be.map(Verdict::name).into(),
            claim.published.value.get().into(),
            claim.published.low.get().into(),
            claim.published.high.get().into(),
            claim.ours.value.get().into(),
            claim.ours.low.get().into(),
            claim.ours.high.get().into(),
            claim.unit.as_str().into(),
            tolerance_text(claim.tolerance).into(),
            claim.loosened.as_deref().into(),
            claim.source.as_str().into(),
            claim.statement.as_str().into(),
            claim.note.as_deref().into(),
        ]);
    }
    table
}

/// The tolerance for machines: unrounded, in the claim's unit.
fn tolerance_text(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Relative { fraction } => format!("relative {}", number_text(fraction)),
        Tolerance::Absolute { amount } => format!("absolute {}", number_text(amount)),
        Tolerance::Range { low, high } => format!("range {} {}", number_text(low), number_text(high)),
        Tolerance::Interval => "interval".to_owned(),
        Tolerance::AtLeast => "at_least".to_owned(),
        Tolerance::AtMost => "at_most".to_owned(),
        Tolerance::Above => "above".to_owned(),
    }
}
