//! Tables as CSV (RFC 4180 quoting, lines end in a single newline, UTF-8).
//!
//! - `summary.csv` has a row per point and measure, `runs.csv` a row per replicate, and each figure has a
//!   file of its own. They use the names of `report.json`; the unit is in a column.
//! - The header of a study's own table names column and unit: `rate_bytes_per_s`.
//! - Numbers are unrounded, in the shortest text that reads back to the same bits.
//! - A missing cell is empty; its reason stays in `report.json`. An empty text is `""`.
//! - Text that a spreadsheet would take for a formula (it starts with `=`, `+`, `-`, `@`, a tab or a carriage
//!   return) is prefixed with `'`, and so is text that starts with `'`. To read text back, drop one leading
//!   `'`.
//!
//! `web/src/csv.ts` writes the same bytes for the page's downloads.

mod figures;

use crate::{
    Cell, Claim, Column, Figure, Measure, Ordered, Report, Table, Tolerance, Verdict, number_text, settings,
};

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its contents.
    pub text: String,
}

/// Every file of a report: `summary.csv`, `runs.csv`, `claims.csv`, the study's own tables by id, then
/// `figure-ID.csv` for each figure.
#[must_use]
pub fn files(report: &Report) -> Vec<CsvFile> {
    let mut files = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    let mut add = |id: String, text: String| {
        let id = fresh(id, &taken, "-");
        taken.push(id.clone());
        files.push(CsvFile { name: format!("{id}.csv"), text });
    };
    add("summary".to_owned(), results(report));
    if let Some(runs) = &report.runs {
        add("runs".to_owned(), render_as(runs, |column| column.name.clone()));
    }
    if !report.claims.is_empty() {
        add("claims".to_owned(), render(&claims_table(&report.claims)));
    }
    report.tables.iter().for_each(|table| add(table.id().to_owned(), render(table)));
    report.figures.iter().for_each(|figure| add(format!("figure-{}", figure.id), self::figure(figure)));
    files
}

/// The results, as printed by `--format csv`: one row per measure, and with a sweep per point and measure.
#[must_use]
pub fn results(report: &Report) -> String {
    render(&summary_table(report))
}

/// The data of a figure, one row per drawn value.
#[must_use]
pub fn figure(figure: &Figure) -> String {
    render(&figures::table(figure))
}

/// The data of a figure as a table, one row per drawn value.
#[must_use]
pub fn figure_table(figure: &Figure) -> Table {
    figures::table(figure)
}

/// One table as CSV.
#[must_use]
pub fn render(table: &Table) -> String {
    render_as(table, header)
}

fn render_as(table: &Table, header: impl Fn(&Column) -> String) -> String {
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

/// Column name and unit: `rate` in `bytes/s` is `rate_bytes_per_s`. A name that has the unit in it stays.
#[must_use]
pub fn header(column: &Column) -> String {
    let unit = unit_suffix(&column.unit);
    if unit.is_empty() || format!("_{}_", column.name).contains(&format!("_{unit}_")) {
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
        Cell::Number(number) => settings::number_text(number),
        Cell::Text(text) => text_field(text),
    }
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

/// One row per measure; with a sweep one row per point and measure, after the point's settings.
#[must_use]
pub fn summary_table(report: &Report) -> Table {
    let points: Vec<&Ordered<serde_json::Value>> =
        report.points.iter().map(|point| &point.settings).collect();
    let keys = settings::columns(&points);
    let number = |name: &str| Column::number(name, "");
    let mut columns = keys.clone();
    columns.extend([Column::text("measure"), number("value"), Column::text("unit"), number("low")]);
    columns.extend([number("high"), number("n"), Column::text("reason")]);
    let mut table = Table::new("summary", "Summary", columns);
    for (name, measure) in &report.summary {
        table.push(measure_row(vec![Cell::Empty; keys.len()], name, measure));
    }
    for point in &report.points {
        for (name, measure) in &point.summary {
            table.push(measure_row(settings::cells(&keys, &point.settings), name, measure));
        }
    }
    table
}

fn measure_row(mut row: Vec<Cell>, name: &str, measure: &Measure) -> Vec<Cell> {
    row.extend([
        name.into(),
        measure.value().into(),
        measure.unit().into(),
        measure.low().into(),
        measure.high().into(),
        measure.n().into(),
        measure.reason().into(),
    ]);
    row
}

/// One row per claim.
#[must_use]
pub fn claims_table(claims: &[Claim]) -> Table {
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
