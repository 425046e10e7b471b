//! The results of single replicates as a table: a row per replicate, a column per measure.

use serde_json::Value;

use crate::{Cell, Column, Measurement, Ordered, Outcome, Table, settings};

/// The most cells of the table; a choice. A million cells are 20 MB of the report and of its page.
const CELLS_MAX: usize = 1_000_000;

/// One replicate of one point.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The point's swept keys with their values; empty without a sweep.
    pub settings: &'a Ordered<Value>,
    /// The replicate, from 0.
    pub replicate: u32,
    /// Its results.
    pub outcome: &'a Outcome,
}

/// The table of all replicates. `None` if there are none, or if the table would have more than a million
/// cells.
#[must_use]
pub fn table(runs: &[Run<'_>]) -> Option<Table> {
    let points: Vec<&Ordered<Value>> = runs.iter().map(|run| run.settings).collect();
    let mut columns = settings::columns(&points);
    let keys = columns.len();
    columns.extend([Column::number("replicate", ""), Column::number("events", ""), Column::flag("partial")]);
    let measures = settings::names(runs.iter().map(|run| &run.outcome.measures));
    columns.extend(measures.iter().map(|name| Column::number(name.clone(), unit(name, runs))));
    if runs.is_empty() || columns.len().saturating_mul(runs.len()) > CELLS_MAX {
        return None;
    }
    let mut table = Table::new("runs", "Runs", columns.clone()).about("A row per replicate.");
    for run in runs {
        let mut row = settings::cells(&columns[..keys], run.settings);
        row.extend([run.replicate.into(), run.outcome.events.into(), run.outcome.partial.into()]);
        row.extend(measures.iter().map(|name| measured(run.outcome.measures.get(name))));
        table.push(row);
    }
    Some(table)
}

/// The unit of the first replicate that has the measure.
fn unit<'a>(name: &str, runs: &[Run<'a>]) -> &'a str {
    runs.iter().find_map(|run| run.outcome.measures.get(name)).map_or("", Measurement::unit)
}

fn measured(found: Option<&Measurement>) -> Cell {
    let missing = |found: &Measurement| Cell::missing(found.reason().unwrap_or("it was not measured"));
    found.map_or(Cell::Empty, |found| found.value().map_or_else(|| missing(found), Cell::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(value: Option<f64>) -> Outcome {
        let mut outcome = Outcome { events: 5, ..Outcome::default() };
        match value {
            Some(value) => outcome.measure("wait_mean", value, "s"),
            None => outcome.missing("wait_mean", "s", "nobody waited"),
        }
        outcome
    }

    #[test]
    fn a_replicate_is_a_row_and_what_is_missing_is_no_number() {
        let settings: Ordered<Value> = [("servers".to_owned(), Value::from(8))].into_iter().collect();
        let outcomes = [outcome(Some(1.5)), outcome(None)];
        let runs: Vec<Run<'_>> = (0..)
            .zip(&outcomes)
            .map(|(replicate, outcome)| Run { settings: &settings, replicate, outcome })
            .collect();
        let table = table(&runs).unwrap();
        let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["servers", "replicate", "events", "partial", "wait_mean"]);
        assert_eq!(table.rows()[0][4], Cell::from(1.5));
        assert_eq!(table.rows()[1][4], Cell::missing("nobody waited"));
        assert_eq!(table.rows()[1][1], Cell::from(1_u32));
    }

    #[test]
    fn no_runs_are_no_table() {
        assert_eq!(table(&[]), None);
    }

    #[test]
    fn a_table_of_too_many_cells_is_left_out() {
        let (settings, outcome) = (Ordered::new(), outcome(Some(1.0)));
        let run = Run { settings: &settings, replicate: 0, outcome: &outcome };
        assert!(table(&vec![run; CELLS_MAX / 4]).is_some());
        assert!(table(&vec![run; CELLS_MAX / 4 + 1]).is_none());
    }
}
