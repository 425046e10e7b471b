//! CSV with a heading: columns by name, and cells with their line for error messages.

use crate::{File, ImportError};

/// A heading and its rows.
pub(super) struct Table<'a> {
    file: File<'a>,
    names: Vec<String>,
    rows: Vec<(usize, Vec<String>)>,
}

/// A row of a table.
#[derive(Clone, Copy)]
pub(super) struct Row<'t> {
    table: &'t Table<'t>,
    /// Its line in the file, counted from 1.
    pub line: usize,
    cells: &'t [String],
}

/// Characters of a heading that messages show.
const HEAD_SHOWN: usize = 60;

impl<'a> Table<'a> {
    /// Parses a table. Cells are separated by tabs if the heading has some, by semicolons if it has some and
    /// no comma, and by commas otherwise. Lines that begin with `#` are comments.
    pub(super) fn parse(file: File<'a>, text: &str) -> Result<Self, ImportError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (rows, numbers) = rows_of(text);
        let Some(heading) = rows.lines().next() else {
            return Err(ImportError::new(file.name, "the file is empty").hint("run the benchmark again"));
        };
        let has = |mark| heading.contains(mark);
        let mark = match (has('\t'), has(';') && !has(',')) {
            (true, _) => b'\t',
            (_, true) => b';',
            _ => b',',
        };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(mark)
            .from_reader(rows.as_bytes());
        let mut lines = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| ImportError::new(file.name, error.to_string()))?;
            let at = record.position().map_or(0, |position| position.line().saturating_sub(1) as usize);
            let cells: Vec<String> = record.iter().map(str::to_owned).collect();
            lines.push((numbers.get(at).copied().unwrap_or_default(), cells));
        }
        let mut rows = lines.into_iter();
        let names = rows.next().map(|(_, names)| names).unwrap_or_default();
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        let rows = rows.collect();
        Ok(Self { file, names, rows })
    }

    /// Whether the column exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|one| one.eq_ignore_ascii_case(name))
    }

    /// Names of the columns not in `known`.
    pub(super) fn others(&self, known: &[&str]) -> Vec<&str> {
        let is_known = |name: &&str| known.iter().any(|one| one.eq_ignore_ascii_case(name));
        self.names.iter().map(String::as_str).filter(|name| !name.is_empty() && !is_known(name)).collect()
    }

    /// The name of a column that occurs twice, if any.
    pub(super) fn twice(&self) -> Option<&str> {
        let same = |at: usize| self.names[..at].iter().any(|name| name.eq_ignore_ascii_case(&self.names[at]));
        (0..self.names.len())
            .find(|&at| !self.names[at].is_empty() && same(at))
            .map(|at| self.names[at].as_str())
    }

    pub(super) fn head_in_short(&self) -> String {
        let head = self.names.join(",");
        match head.char_indices().nth(HEAD_SHOWN) {
            Some((at, _)) => format!("{}…", &head[..at]),
            None => head,
        }
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn file(&self) -> File<'a> {
        self.file
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, cells)| Row { table: self, line: *line, cells })
    }
}

impl Row<'_> {
    /// The number of its cells.
    pub(super) fn width(&self) -> usize {
        self.cells.len()
    }

    /// The text of a cell by the place of its column, trimmed; empty if the cell is missing.
    pub(super) fn cell(&self, at: usize) -> &str {
        self.cells.get(at).map_or("", |cell| cell.trim())
    }

    /// The text of a cell, trimmed; empty if the column or the cell is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        let at = self.table.column(name);
        at.and_then(|at| self.cells.get(at)).map_or("", |cell| cell.trim())
    }

    /// The text of a cell whose column must exist.
    pub(super) fn needed(&self, name: &str) -> Result<&str, ImportError> {
        if !self.table.has(name) {
            let head = self.table.head_in_short();
            return Err(ImportError::new(
                self.table.file.name,
                format!("there is no such column in `{head}`"),
            )
            .key(name)
            .hint("name the columns in the first line"));
        }
        match self.text(name) {
            "" => Err(self.wrong(name, "it is empty")),
            text => Ok(text),
        }
    }

    /// A cell that is a number of at least zero.
    pub(super) fn number(&self, name: &str) -> Result<f64, ImportError> {
        let text = self.needed(name)?;
        let number: Option<f64> =
            text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| {
            self.wrong(name, format!("`{text}` is not a plain number of at least 0"))
                .hint("write all digits, with a decimal point, such as 12500 or 12500.5")
        })
    }

    /// A cell that is a whole number of at least zero.
    pub(super) fn whole(&self, name: &str) -> Result<u64, ImportError> {
        let text = self.needed(name)?;
        text.parse().map_err(|_| self.wrong(name, format!("`{text}` is not a whole number")))
    }

    /// An error about a cell.
    pub(super) fn wrong(&self, name: &str, reason: impl Into<String>) -> ImportError {
        ImportError::new(self.table.file.name, reason).key(format!("line {}, {name}", self.line))
    }
}

/// The text without blank lines and comments, and the line number in the file of each remaining line.
fn rows_of(text: &str) -> (String, Vec<usize>) {
    let (mut rows, mut numbers) = (String::with_capacity(text.len()), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let said = line.trim();
        if said.is_empty() || said.starts_with('#') {
            continue;
        }
        rows.push_str(line);
        rows.push('\n');
        numbers.push(at + 1);
    }
    (rows, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> Vec<String> {
        let text = format!("{}\n{line}\n", if line.contains('\t') { "a\tb" } else { "a,b" });
        let file = File { name: "a.csv", bytes: text.as_bytes() };
        let table = Table::parse(file, &text).expect("it is a table");
        table.rows.into_iter().next().expect("it has a row").1
    }

    #[test]
    fn quotes_keep_marks() {
        assert_eq!(cells("a,\"b,c\",\"d \"\"e\"\"\""), ["a", "b,c", "d \"e\""]);
        assert_eq!(cells("a\tb,c\t"), ["a", "b,c", ""]);
        assert_eq!(cells("5\" disk,x"), ["5\" disk", "x"]);
    }

    #[test]
    fn rows_know_their_lines() {
        let text = "# a remark\n\nname,iops\n  \none,1\r\n  # another\n\"two\nlines\",2\nthree,3";
        let file = File { name: "a.csv", bytes: text.as_bytes() };
        let table = Table::parse(file, text).expect("it is a table");
        let rows: Vec<(usize, String)> = table
            .rows()
            .map(|row| (row.line, format!("{} {}", row.text("name"), row.text("iops"))))
            .collect();
        let wanted = [(5, "one 1"), (7, "two\nlines 2"), (9, "three 3")];
        assert_eq!(rows, wanted.map(|(line, text)| (line, text.to_owned())));
    }
}
