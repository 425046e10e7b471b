//! Tables: named, typed columns with units, and rows of cells.
//!
//! **Invariant:** every row has one cell per column, and every cell fits its column's kind. Rows are private
//! to ensure this; a file that violates it does not load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A table of results. Becomes one CSV file, named after its `id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "TableFields")]
#[schemars(!try_from)]
pub struct Table {
    /// Stable name: lower-case letters, digits, `_` and `-`; the CSV file is `ID.csv`.
    id: String,
    /// Heading of the table.
    title: String,
    /// One or two sentences: what a row is, and how its values were measured. May be empty.
    about: String,
    /// The columns, left to right.
    columns: Vec<Column>,
    /// The rows, each with one cell per column.
    rows: Vec<Vec<Cell>>,
}

#[derive(Deserialize)]
struct TableFields {
    id: String,
    title: String,
    #[serde(default)]
    about: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// Why a table is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The id is not a valid file name.
    #[error("table id `{0}` must be lower-case letters, digits, `_` and `-`, starting with a letter")]
    Id(String),
    /// A row is too short or too long.
    #[error("row {row} of table `{table}` has {cells} cells, but the table has {columns} columns")]
    Width {
        /// The table's id.
        table: String,
        /// The row, from 0.
        row: usize,
        /// The number of cells in that row.
        cells: usize,
        /// The number of columns of the table.
        columns: usize,
    },
    /// A cell does not fit its column.
    #[error("row {row} of table `{table}` holds {cell:?} in column `{column}`, which is {kind:?}")]
    Kind {
        /// The table's id.
        table: String,
        /// The row, from 0.
        row: usize,
        /// The column's name.
        column: String,
        /// The kind of the column.
        kind: ColumnKind,
        /// The cell.
        cell: Cell,
    },
}

impl TryFrom<TableFields> for Table {
    type Error = TableError;

    fn try_from(fields: TableFields) -> Result<Self, TableError> {
        let TableFields { id, title, about, columns, rows } = fields;
        let mut table = Self::try_new(id, title, columns)?.about(about);
        rows.into_iter().try_for_each(|row| table.try_push(row))?;
        Ok(table)
    }
}

impl Table {
    /// An empty table. Panics when `id` is not a valid file name: ids are written in code.
    #[must_use]
    pub fn new(id: impl Into<String>, title: impl Into<String>, columns: Vec<Column>) -> Self {
        Self::try_new(id.into(), title.into(), columns).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_new(id: String, title: String, columns: Vec<Column>) -> Result<Self, TableError> {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if !id.starts_with(|c: char| c.is_ascii_lowercase()) || !id.chars().all(legal) {
            return Err(TableError::Id(id));
        }
        Ok(Self { id, title, about: String::new(), columns, rows: Vec::new() })
    }

    /// The same table with a sentence or two about it.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = about.into();
        self
    }

    /// Adds a row. Panics when it does not fit the columns: that is an error of the study.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.try_push(row).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Adds a row, if it fits the columns.
    ///
    /// # Errors
    /// When the number of cells, or the kind of one, differs from the columns.
    fn try_push(&mut self, row: Vec<Cell>) -> Result<(), TableError> {
        let (table, at) = (|| self.id.clone(), self.rows.len());
        if row.len() != self.columns.len() {
            let (cells, columns) = (row.len(), self.columns.len());
            return Err(TableError::Width { table: table(), row: at, cells, columns });
        }
        for (column, cell) in self.columns.iter().zip(&row) {
            if !column.kind.takes(cell) {
                let (column, kind, cell) = (column.name.clone(), column.kind, cell.clone());
                return Err(TableError::Kind { table: table(), row: at, column, kind, cell });
            }
        }
        self.rows.push(row);
        Ok(())
    }

    /// Stable name, also of the CSV file.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Heading of the table.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Says what a row is; may be empty.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.about
    }

    /// The columns, left to right.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The same with these columns behind those of text at the beginning, in this order.
    pub(crate) fn with_first(mut self, names: &[String]) -> Self {
        let texts = self.columns.iter().take_while(|column| column.kind == ColumnKind::Text).count();
        let place = |at: usize| {
            let chosen = names.iter().position(|name| *name == self.columns[at].name);
            if at < texts { (0, 0) } else { (1, chosen.unwrap_or(names.len())) }
        };
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by_key(|at| place(*at));
        let sorted = |cells: &[Cell]| order.iter().map(|at| cells[*at].clone()).collect();
        self.rows = self.rows.iter().map(|row| sorted(row)).collect();
        self.columns = order.iter().map(|at| self.columns[*at].clone()).collect();
        self
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }
}

/// The kind of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Numbers, whole or not.
    Number,
    /// Text.
    Text,
    /// True or false.
    Flag,
}

impl ColumnKind {
    fn takes(self, cell: &Cell) -> bool {
        match cell {
            Cell::Empty | Cell::Missing { .. } => true,
            Cell::Number(_) => self == Self::Number,
            Cell::Text(_) => self == Self::Text,
            Cell::Flag(_) => self == Self::Flag,
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// Stable name, preferably in snake case.
    pub name: String,
    /// The unit of its numbers: `s`, `bytes`, `bytes/s`, …; empty for none.
    pub unit: String,
    /// The kind of its cells.
    pub kind: ColumnKind,
}

impl Column {
    /// A column of numbers in `unit`, which is empty for bare numbers.
    #[must_use]
    pub fn number(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), kind: ColumnKind::Number }
    }

    /// A column of text.
    #[must_use]
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: String::new(), kind: ColumnKind::Text }
    }

    /// A column of true and false.
    #[must_use]
    pub fn flag(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: String::new(), kind: ColumnKind::Flag }
    }
}

/// One cell. Made with `From`: a float that is not finite becomes [`Cell::Missing`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// An empty cell: no value applies.
    #[default]
    Empty,
    /// True or false.
    Flag(bool),
    /// A number with all its digits; JSON numbers are never NaN.
    Number(serde_json::Number),
    /// Text.
    Text(String),
    /// A value that should exist but is missing.
    Missing {
        /// Always null.
        value: (),
        /// Why the value is missing.
        reason: String,
    },
}

impl Cell {
    /// A value that could not be determined, and why.
    #[must_use]
    pub fn missing(reason: impl Into<String>) -> Self {
        Self::Missing { value: (), reason: reason.into() }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        match serde_json::Number::from_f64(value + 0.0) {
            Some(number) => Self::Number(number),
            None => Self::missing("the computation gave no finite number"),
        }
    }
}

macro_rules! whole_numbers {
    ($($whole:ty),*) => {$(
        impl From<$whole> for Cell {
            fn from(value: $whole) -> Self {
                Self::Number(value.into())
            }
        }
    )*};
}
whole_numbers!(u8, u16, u32, u64, usize, i32, i64);

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        vec![Column::text("server"), Column::number("rate", "bytes/s")]
    }

    #[test]
    fn a_table_reads_back_as_it_was_written() {
        let mut table = Table::new("rates", "Rates", columns()).about("One row per server.");
        table.push(vec!["a".into(), 1.5.into()]);
        table.push(vec!["b".into(), u64::MAX.into()]);
        table.push(vec!["c".into(), f64::NAN.into()]);
        table.push(vec![Cell::Empty, Cell::Empty]);
        let json = serde_json::to_string(&table).unwrap();
        assert_eq!(serde_json::from_str::<Table>(&json).unwrap(), table);
        assert!(json.contains("18446744073709551615"), "{json}");
        assert!(
            json.contains(r#"{"value":null,"reason":"the computation gave no finite number"}"#),
            "{json}"
        );
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let mut table = Table::new("rates", "Rates", columns());
        let refuse = |table: &mut Table, row| table.try_push(row).unwrap_err().to_string();
        assert_eq!(
            refuse(&mut table, vec!["a".into()]),
            "row 0 of table `rates` has 1 cells, but the table has 2 columns"
        );
        assert_eq!(
            refuse(&mut table, vec!["a".into(), "fast".into()]),
            "row 0 of table `rates` holds Text(\"fast\") in column `rate`, which is Number"
        );
        let ragged = r#"{"id":"x","title":"","columns":[],"rows":[[1]]}"#;
        assert!(serde_json::from_str::<Table>(ragged).is_err());
        let bad_id = r#"{"id":"../x","title":"","columns":[],"rows":[]}"#;
        assert!(serde_json::from_str::<Table>(bad_id).is_err());
    }
}
