//! Aligned columns that fit the width of the terminal: text wraps first, then columns move into further
//! blocks that repeat the key columns, so that no line is wider than the limit unless a single cell is.

use super::{Ink, Style, printable};
use crate::{Cell, Column, ColumnKind, Ordered, Table, human};

/// Space between columns.
const GAP: usize = 2;

/// Text columns are not wrapped narrower than this.
const TEXT_MIN: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Left-aligned, wrapped when too long.
    Text,
    /// Right-aligned, never wrapped.
    Number,
}

pub(crate) struct Grid {
    heads: Vec<(String, Align)>,
    rows: Vec<(Vec<String>, Ink)>,
    keys: usize,
    first_only: bool,
}

impl Grid {
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let heads = columns.iter().map(|(name, align)| (printable(name), *align)).collect();
        Self { heads, rows: Vec::new(), keys: 1, first_only: false }
    }

    /// The first `count` columns identify the row; every block repeats them.
    pub(crate) fn keys(mut self, count: usize) -> Self {
        self.keys = count;
        self
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.push_inked(row, Ink::Plain);
    }

    /// A row whose first cell is in `ink`.
    pub(crate) fn push_inked(&mut self, row: Vec<String>, ink: Ink) {
        assert_eq!(row.len(), self.heads.len(), "a row has a cell for every column");
        self.rows.push((row, ink));
    }

    /// The same for a screen: only columns that fit side by side, without those in which nothing stands, or
    /// that are the same in all of several rows.
    pub(crate) fn for_screen(mut self) -> Self {
        let says = |column: usize| {
            let cell = |row: usize| self.rows[row].0[column].trim();
            let something = (0..self.rows.len()).any(|row| !matches!(cell(row), "" | "–"));
            something && (self.rows.len() < 2 || (1..self.rows.len()).any(|row| cell(row) != cell(0)))
        };
        let shown: Vec<usize> =
            (0..self.heads.len()).filter(|column| *column == 0 || says(*column)).collect();
        self.heads = shown.iter().map(|column| self.heads[*column].clone()).collect();
        for (row, _) in &mut self.rows {
            *row = shown.iter().map(|column| row[*column].clone()).collect();
        }
        Self { first_only: true, keys: self.keys.min(self.heads.len()), ..self }
    }

    /// The same with a row for each column after the first, whose heads are the cells of the first column.
    pub(crate) fn transposed(&self) -> Self {
        let heads = std::iter::once(String::new()).chain(self.rows.iter().map(|(row, _)| row[0].clone()));
        let row = |column: usize| {
            let cells = self.rows.iter().map(|(row, _)| row[column].clone());
            (std::iter::once(self.heads[column].0.clone()).chain(cells).collect(), Ink::Plain)
        };
        let rows = (1..self.heads.len()).map(row).collect();
        Self {
            heads: heads.map(|head| (head, Align::Text)).collect(),
            rows,
            keys: 1,
            first_only: self.first_only,
        }
    }

    /// Only the columns that fit beside each other.
    pub(crate) fn first_block(self) -> Self {
        Self { first_only: true, ..self }
    }

    /// Keeps the first rows; returns the number of removed rows.
    pub(crate) fn truncate(&mut self, rows_max: usize) -> usize {
        let hidden = self.rows.len().saturating_sub(rows_max);
        self.rows.truncate(rows_max);
        hidden
    }

    pub(crate) fn render(&self, style: Style) -> String {
        let natural: Vec<usize> = (0..self.heads.len()).map(|column| self.natural(column)).collect();
        let blocks = self.blocks(&natural, style.width);
        let shown: Vec<String> = blocks
            .iter()
            .take(if self.first_only { 1 } else { usize::MAX })
            .map(|columns| {
                let widths = self.squeeze(columns, &natural, style.width);
                self.block(columns, &widths, style)
            })
            .collect();
        shown.join("\n")
    }

    fn natural(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|(row, _)| length(&row[column]));
        cells.chain([length(&self.heads[column].0)]).max().unwrap_or(0)
    }

    /// The least width of a column.
    fn least(&self, column: usize, natural: usize) -> usize {
        match self.heads[column].1 {
            Align::Text => natural.min(TEXT_MIN),
            Align::Number => natural,
        }
    }

    /// The blocks: which columns are shown side by side.
    fn blocks(&self, natural: &[usize], width: usize) -> Vec<Vec<usize>> {
        let keys: Vec<usize> = (0..self.keys.min(self.heads.len())).collect();
        let mut blocks = vec![keys.clone()];
        for column in keys.len()..self.heads.len() {
            let last = blocks.last_mut().expect("there is always a block");
            last.push(column);
            let least: usize = last.iter().map(|&c| self.least(c, natural[c]) + GAP).sum();
            if least > width + GAP && last.len() > keys.len() + 1 {
                last.pop();
                blocks.push(keys.iter().copied().chain([column]).collect());
            }
        }
        blocks
    }

    /// Narrows the widest text column, one character at a time, until the block fits.
    fn squeeze(&self, columns: &[usize], natural: &[usize], width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = columns.iter().map(|&c| natural[c]).collect();
        while widths.iter().map(|w| w + GAP).sum::<usize>() > width + GAP {
            let widest = (0..columns.len())
                .filter(|&at| widths[at] > self.least(columns[at], natural[columns[at]]))
                .max_by_key(|&at| widths[at]);
            match widest {
                Some(at) => widths[at] -= 1,
                None => break,
            }
        }
        widths
    }

    fn block(&self, columns: &[usize], widths: &[usize], style: Style) -> String {
        let block = Block { grid: self, columns, widths, style };
        let mut out = String::new();
        let heads: Vec<&str> = columns.iter().map(|&c| self.heads[c].0.as_str()).collect();
        if heads.iter().any(|head| !head.is_empty()) {
            block.push_row(&mut out, &heads, |_| Ink::Faint);
        }
        for (row, ink) in &self.rows {
            let cells: Vec<&str> = columns.iter().map(|&c| row[c].as_str()).collect();
            block.push_row(&mut out, &cells, |at| if at == 0 { *ink } else { Ink::Plain });
        }
        out
    }
}

/// Some columns of a grid, with their widths.
struct Block<'a> {
    grid: &'a Grid,
    columns: &'a [usize],
    widths: &'a [usize],
    style: Style,
}

impl Block<'_> {
    /// A row takes as many lines as its longest cell; `ink_at` colours a cell by its position.
    fn push_row(&self, out: &mut String, cells: &[&str], ink_at: impl Fn(usize) -> Ink) {
        let wrapped: Vec<Vec<String>> =
            cells.iter().zip(self.widths).map(|(cell, &w)| wrap(cell, w)).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            let mut text = String::new();
            for (at, parts) in wrapped.iter().enumerate() {
                let part = parts.get(line).map_or("", String::as_str);
                let pad = " ".repeat(self.widths[at].saturating_sub(length(part)));
                let inked = if part.is_empty() { String::new() } else { self.style.paint(ink_at(at), part) };
                match self.grid.heads[self.columns[at]].1 {
                    Align::Text => text.extend([inked, pad]),
                    Align::Number => text.extend([pad, inked]),
                }
                text.push_str(&" ".repeat(GAP));
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
    }
}

/// A table as a grid, with words in its heads and for its measures, where these have titles: each column of
/// numbers in one unit, aligned at the decimal point.
pub(crate) fn of_table(table: &Table, titles: &Ordered<String>) -> Grid {
    let mut grid = with_heads(table, |column| crate::title::of(&column.name, &column.unit));
    let at = |name: &str| table.columns().iter().position(|column| column.name == name);
    if let Some(measure) = at("measure") {
        let unit = at("unit");
        for (row, _) in &mut grid.rows {
            let own = |unit: usize| crate::title::of(&row[measure], &row[unit]);
            row[measure] = titles
                .get(&row[measure])
                .cloned()
                .unwrap_or_else(|| unit.map_or_else(|| human::heading(&row[measure]), own));
        }
    }
    by_keys(table, grid, crate::title::capital)
}

/// Points by their keys: a column for each, with values alone, in words.
fn by_keys(table: &Table, mut grid: Grid, head: impl Fn(&str) -> String) -> Grid {
    let Some(at) = table.columns().iter().position(|column| column.name == "point") else { return grid };
    let labels: Vec<String> = grid.rows.iter().map(|(row, _)| row[at].clone()).collect();
    let Some(columns) = crate::human::of_keys(&labels) else { return grid };
    let heads = columns.iter().map(|(key, _)| (head(key), Align::Text));
    grid.heads.splice(at..=at, heads);
    for (number, (row, _)) in grid.rows.iter_mut().enumerate() {
        row.splice(at..=at, columns.iter().map(|(_, values)| values[number].clone()));
    }
    if at < grid.keys { Grid { keys: grid.keys - 1 + columns.len(), ..grid } } else { grid }
}

fn with_heads(table: &Table, head: impl Fn(&Column) -> String) -> Grid {
    let text = |(at, column)| column_text(table, at, (column, &head(column)));
    let shown: Vec<(String, Vec<String>)> = table.columns().iter().enumerate().map(text).collect();
    let heads: Vec<(&str, Align)> = shown
        .iter()
        .zip(table.columns())
        .map(|((head, _), column)| (head.as_str(), align_of(column.kind)))
        .collect();
    let mut grid = Grid::new(&heads);
    for row in 0..table.rows().len() {
        grid.push(shown.iter().map(|(_, cells)| cells[row].clone()).collect());
    }
    grid
}

fn align_of(kind: ColumnKind) -> Align {
    if kind == ColumnKind::Number { Align::Number } else { Align::Text }
}

/// Heading and cells of one column.
fn column_text(table: &Table, at: usize, (column, head): (&Column, &str)) -> (String, Vec<String>) {
    let number = |cell: &Cell| match cell {
        Cell::Number(number) => number.as_f64(),
        _ => None,
    };
    let numbers = table.rows().iter().filter_map(|row| number(&row[at]));
    let shown = human::Shown::column(numbers, &column.unit);
    let cells: Vec<String> = table
        .rows()
        .iter()
        .map(|row| match (&row[at], number(&row[at])) {
            (_, Some(value)) => shown.digits(value),
            (Cell::Text(text), _) => printable(text),
            (Cell::Flag(flag), _) => if *flag { "yes" } else { "no" }.to_owned(),
            (Cell::Missing { .. }, _) => "–".to_owned(),
            _ => String::new(),
        })
        .collect();
    let cells = if column.kind == ColumnKind::Number { align_points(cells) } else { cells };
    let unit = printable(shown.unit());
    (printable(&super::headed(head, &unit)), cells)
}

/// Pads on the right so that the decimal points are aligned once the column is right-aligned.
pub(crate) fn align_points(cells: Vec<String>) -> Vec<String> {
    let behind = |cell: &String| cell.split_once('.').map_or(0, |(_, fraction)| length(fraction) + 1);
    let most = cells.iter().map(behind).max().unwrap_or(0);
    cells
        .into_iter()
        .map(|cell| {
            let pad = " ".repeat(most - behind(&cell));
            cell + &pad
        })
        .collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Breaks at spaces, and inside a word only when the word alone is too long; then after a character that
/// joins names, if there is one. Returns at least one line.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && length(line) + 1 + length(word) <= width {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        for piece in pieces(word, width) {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(&piece),
                _ => lines.push(piece),
            }
        }
    }
    lines
}

/// A word in pieces of at most `width` characters.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut rest = &letters[..];
    let mut pieces = Vec::new();
    while rest.len() > width {
        let joint = rest[..width].iter().rposition(|letter| matches!(letter, '/' | '_' | '-' | '.'));
        // A joint near the front would leave most of the line empty.
        let end = joint.map(|joint| joint + 1).filter(|end| 2 * end > width).unwrap_or(width);
        pieces.push(rest[..end].iter().collect());
        rest = &rest[end..];
    }
    pieces.push(rest.iter().collect());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_at_spaces_and_long_words_inside() {
        let cases: [(&str, usize, &[&str]); 7] = [
            ("", 5, &[""]),
            ("one two three", 20, &["one two three"]),
            ("one two three", 7, &["one two", "three"]),
            ("abcdefghij k", 4, &["abcd", "efgh", "ij k"]),
            ("a  b", 3, &["a b"]),
            ("rebuild-groups/rebuilt_max", 20, &["rebuild-groups/", "rebuilt_max"]),
            ("a/bcdefghijklm", 8, &["a/bcdefg", "hijklm"]),
        ];
        for (text, width, want) in cases {
            assert_eq!(wrap(text, width), want, "{text:?} at {width}");
        }
    }

    #[test]
    fn a_transposed_grid_has_a_row_for_each_column() {
        let mut grid = Grid::new(&[("", Align::Text), ("A", Align::Text), ("B", Align::Text)]);
        grid.push(["time", "1 s", "2 s"].map(str::to_owned).into());
        grid.push(["size", "3 B", "4 B"].map(str::to_owned).into());
        let text = grid.transposed().render(Style { colour: false, width: 40 });
        assert_eq!(text, "   time  size\nA  1 s   3 B\nB  2 s   4 B\n");
    }

    #[test]
    fn wide_grids_go_into_blocks_that_repeat_the_key() {
        let mut grid =
            Grid::new(&[("key", Align::Text), ("first", Align::Number), ("second", Align::Number)]);
        grid.push(vec!["a".to_owned(), "1".to_owned(), "2".to_owned()]);
        let text = grid.render(Style { colour: false, width: 12 });
        assert_eq!(text, "key  first\na        1\n\nkey  second\na         2\n");
    }
}
