//! Reports as Python holds them: their JSON, their page, their text, their files.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use towtank::Trouble;
use towtank_report::text::{self, Rest, Style};
use towtank_report::{Column, Table, csv, html};

use crate::errors;

/// What shows and writes the rest of a report in Python.
const REST: Rest<'static> =
    Rest { page: None, whole: "report.text(whole=True)", save: "report.save(DIR)", commands: None };

/// A report.
#[pyclass(frozen, module = "towtank._towtank", from_py_object)]
#[derive(Clone)]
pub struct Report(pub Arc<towtank_report::Report>);

#[pymethods]
impl Report {
    /// Reads the text of a `report.json`.
    #[staticmethod]
    fn from_json(py: Python<'_>, json: &str) -> PyResult<Report> {
        let read = py.detach(|| towtank_report::Report::from_json(json));
        let report = read.map_err(|error| errors::raise(py, &Trouble::input(error)))?;
        Ok(Report(Arc::new(report)))
    }

    /// The report as `report.json` has it.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_json())
    }

    /// The page `report.html`.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| html::render(&self.0))
    }

    /// All words of the answer.
    fn answer(&self) -> String {
        self.0.answer.prose()
    }

    /// The report as a terminal shows it, on one screen or whole.
    fn text(&self, width: usize, whole: bool) -> String {
        let style = Style { colour: false, width };
        if whole { text::render(&self.0, style) } else { text::brief(&self.0, style, REST) }
    }

    /// A table as JSON: `summary`, `runs`, `claims`, or the id of a table or a figure of its kind. Columns
    /// have the names of the CSV files; `None` where there is no such table.
    fn table(&self, py: Python<'_>, kind: &str, name: &str) -> Option<String> {
        py.detach(|| {
            let report = &self.0;
            let table = match kind {
                "summary" => csv::summary_table(report),
                "runs" => {
                    return report.runs.as_ref().map(|runs| in_json(runs, |column| column.name.clone()));
                }
                "claims" => csv::claims_table(&report.claims),
                "tables" => report.tables.iter().find(|table| table.id() == name)?.clone(),
                _ => csv::figure_table(report.figures.iter().find(|figure| figure.id == name)?),
            };
            Some(in_json(&table, csv::header))
        })
    }

    /// Writes `report.json`, its tables and `report.html` into a directory that belongs to no campaign.
    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        let written = py.detach(|| towtank::write_report(&self.0, &directory, &[]));
        written.map_err(|trouble| errors::raise(py, &trouble))
    }
}

/// Names, units and kinds of the columns, and the rows. Names are made unique by a number.
fn in_json(table: &Table, name: impl Fn(&Column) -> String) -> String {
    let mut columns: Vec<(String, &str, serde_json::Value)> = Vec::new();
    for column in table.columns() {
        let wanted = name(column);
        let taken = |name: &String| columns.iter().any(|(taken, ..)| taken == name);
        let numbered = (2..).map(|count| format!("{wanted}_{count}"));
        let free = std::iter::once(wanted.clone()).chain(numbered).find(|name| !taken(name));
        let free = free.expect("finitely many names are taken");
        columns.push((free, &column.unit, serde_json::json!(column.kind)));
    }
    serde_json::json!({ "title": table.title(), "columns": columns, "rows": table.rows() }).to_string()
}
