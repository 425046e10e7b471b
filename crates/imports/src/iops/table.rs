//! CSV with a heading: columns by name, cells with their line, for messages that say where.

use crate::{File, ImportError};

/// A heading and the rows under it.
pub(super) struct Table<'a> {
    file: File<'a>,
    names: Vec<String>,
    rows: Vec<(usize, Vec<String>)>,
}

/// A row of a table.
#[derive(Clone, Copy)]
pub(super) struct Row<'t> {
    table: &'t Table<'t>,
    /// Its line in the file, from 1.
    pub line: usize,
    cells: &'t [String],
}

/// Characters of a heading that are quoted.
const HEAD_SHOWN: usize = 60;

impl<'a> Table<'a> {
    /// Reads it; cells are parted by tabs if the heading has some, and by commas if not. Lines that begin with `#` are remarks.
    pub(super) fn parse(file: File<'a>, text: &str) -> Result<Self, ImportError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate().filter(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        });
        let Some((_, heading)) = lines.next() else {
            return Err(ImportError::new(file.name, "there is nothing in it").hint("run the benchmark again"));
        };
        let mark = if heading.contains('\t') { '\t' } else { ',' };
        let names: Vec<String> = cells(heading, mark).iter().map(|name| name.trim().to_owned()).collect();
        let rows = lines.map(|(at, line)| (at + 1, cells(line, mark))).collect();
        Ok(Self { file, names, rows })
    }

    /// Whether there is such a column.
    pub(super) fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|one| one.eq_ignore_ascii_case(name))
    }

    /// Names of columns other than these.
    pub(super) fn others(&self, known: &[&str]) -> Vec<&str> {
        let is_known = |name: &&str| known.iter().any(|one| one.eq_ignore_ascii_case(name));
        self.names.iter().map(String::as_str).filter(|name| !name.is_empty() && !is_known(name)).collect()
    }

    /// A column of this name twice, if there is one.
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

    pub(super) fn file(&self) -> File<'a> {
        self.file
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, cells)| Row { table: self, line: *line, cells })
    }
}

impl Row<'_> {
    /// The text of a cell, trimmed; nothing where the column or the cell is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        let at = self.table.column(name);
        at.and_then(|at| self.cells.get(at)).map_or("", |cell| cell.trim())
    }

    /// The same, which must be there.
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

    /// A cell that is a number from zero on.
    pub(super) fn number(&self, name: &str) -> Result<f64, ImportError> {
        let text = self.needed(name)?;
        let number: Option<f64> =
            text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| {
            self.wrong(name, format!("`{text}` is no plain number from 0 on"))
                .hint("write it in full, with digits and a point, such as 12500 or 12500.5")
        })
    }

    /// A cell that is a whole number from zero on.
    pub(super) fn whole(&self, name: &str) -> Result<u64, ImportError> {
        let text = self.needed(name)?;
        text.parse().map_err(|_| self.wrong(name, format!("`{text}` is no whole number")))
    }

    /// What is wrong with a cell.
    pub(super) fn wrong(&self, name: &str, reason: impl Into<String>) -> ImportError {
        ImportError::new(self.table.file.name, reason).key(format!("line {}, {name}", self.line))
    }
}

/// The cells of a line; a cell in quotes may hold the mark, and a quote doubled.
fn cells(line: &str, mark: char) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if quoted || cell.trim().is_empty() => quoted = !quoted,
            _ if letter == mark && !quoted => cells.push(std::mem::take(&mut cell)),
            _ => cell.push(letter),
        }
    }
    cells.push(cell);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_marks() {
        assert_eq!(cells("a,\"b,c\",\"d \"\"e\"\"\"", ','), ["a", "b,c", "d \"e\""]);
        assert_eq!(cells("a\tb,c\t", '\t'), ["a", "b,c", ""]);
        assert_eq!(cells("5\" disk,x", ','), ["5\" disk", "x"]);
    }
}
