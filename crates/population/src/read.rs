//! Reads histograms from text: the format of `oid-gen`, and a table of sizes with counts.
//!
//! Declared counts are not trusted: memory grows only with the rows that were read, and the number of rows is
//! limited.

use towtank_units::{Bytes, Quantity};

use crate::error::{Fault, ReadError};
use crate::histogram::{SizeBin, SizeHistogram};
use crate::limits::{ROWS_MAX, SIZE_MAX};

const TOTAL: &str = "total_count:";

/// Reads the format of `oid-gen`.
pub fn histogram(text: &[u8]) -> Result<SizeHistogram, ReadError> {
    let mut claimed: Option<u64> = None;
    let mut bins: Vec<SizeBin> = Vec::new();
    let mut rows = 0;
    let (mut total, mut end, mut last_line) = (0u64, 0, 1);
    for (line, content) in lines(text) {
        let at = |fault: Fault| ReadError { line, fault };
        let content = content.map_err(at)?;
        last_line = line;
        if let Some(comment) = content.strip_prefix('#') {
            if let Some(number) = comment.trim().strip_prefix(TOTAL)
                && claimed.is_none()
            {
                claimed = Some(total_of(number.trim()).map_err(at)?);
            }
            continue;
        }
        if claimed.is_none() {
            return Err(at(Fault::NoTotal));
        }
        rows += 1;
        let bin = bin(content, end, rows).map_err(at)?;
        end = bin.max;
        total = total.checked_add(bin.count).ok_or_else(|| at(Fault::TooMany))?;
        if bin.count > 0 {
            bins.push(bin);
        }
    }
    let at_end = |fault: Fault| ReadError { line: last_line, fault };
    let claimed = claimed.ok_or_else(|| at_end(Fault::Empty))?;
    // Files made from percentages lose up to one file per bin to rounding.
    if claimed.abs_diff(total) > rows as u64 {
        return Err(at_end(Fault::WrongTotal { claimed, found: total }));
    }
    SizeHistogram::from_bins(bins).ok_or_else(|| at_end(Fault::Empty))
}

fn bin(content: &str, before: u64, rows: usize) -> Result<SizeBin, Fault> {
    if rows > ROWS_MAX {
        return Err(Fault::TooLong);
    }
    let mut words = content.split_ascii_whitespace();
    let mut number = |found: usize, column: &'static str| {
        let word = words.next().ok_or(Fault::Columns { found, wanted: "3: `min max count`" })?;
        whole(column, word)
    };
    let (min, max, count) = (number(0, "min")?, number(1, "max")?, number(2, "count")?);
    if max <= min {
        return Err(Fault::EmptyBin { min, max });
    }
    if max - 1 > SIZE_MAX {
        return Err(Fault::TooLarge { size: max - 1 });
    }
    if min < before {
        return Err(Fault::Overlap { min, before });
    }
    Ok(SizeBin { min, max, count })
}

/// Reads a table of `size,count`.
pub fn csv(text: &[u8]) -> Result<SizeHistogram, ReadError> {
    let mut rows: Vec<(usize, u64, u64)> = Vec::new();
    let mut first = true;
    for (line, content) in lines(text) {
        let at = |fault: Fault| ReadError { line, fault };
        let content = content.map_err(at)?;
        if content.starts_with('#') {
            continue;
        }
        let header = std::mem::take(&mut first) && is_header(content);
        if header {
            continue;
        }
        if rows.len() == ROWS_MAX {
            return Err(at(Fault::TooLong));
        }
        let (size, count) = row(content).map_err(at)?;
        rows.push((line, size, count));
    }
    from_rows(rows)
}

fn is_header(content: &str) -> bool {
    let mut names = content.split(',').map(|name| name.trim().to_ascii_lowercase());
    let size = names.next().is_some_and(|name| name == "size" || name == "size_bytes");
    size && names.next().is_some_and(|name| name == "count") && names.next().is_none()
}

fn row(content: &str) -> Result<(u64, u64), Fault> {
    let found = content.split(',').count();
    let (size, count) = content
        .split_once(',')
        .filter(|_| found == 2)
        .ok_or(Fault::Columns { found, wanted: "2: `size,count`" })?;
    let (size, count) = (size.trim(), count.trim());
    let bytes = if size.bytes().all(|byte| byte.is_ascii_digit()) { size.parse().ok() } else { None };
    let bytes = bytes.or_else(|| Bytes::parse(size).ok().map(Bytes::get));
    Ok((bytes.ok_or_else(|| Fault::BadSize { found: excerpt(size) })?, whole("count", count)?))
}

/// Makes a histogram from line numbers, sizes and counts, in any order.
fn from_rows(mut rows: Vec<(usize, u64, u64)>) -> Result<SizeHistogram, ReadError> {
    let last_line = rows.last().map_or(1, |row| row.0);
    let mut total = 0u64;
    for (line, size, count) in &mut rows {
        let at = |fault: Fault| ReadError { line: *line, fault };
        if *size > SIZE_MAX {
            return Err(at(Fault::TooLarge { size: *size }));
        }
        total = total.checked_add(*count).ok_or_else(|| at(Fault::TooMany))?;
        *size = (*size).max(1);
    }
    rows.retain(|row| row.2 > 0);
    rows.sort_unstable_by_key(|row| row.1);
    let mut bins: Vec<SizeBin> = Vec::new();
    for (_, size, count) in rows {
        match bins.last_mut().filter(|bin| bin.min == size) {
            Some(bin) => bin.count += count,
            None => bins.push(SizeBin { min: size, max: size + 1, count }),
        }
    }
    SizeHistogram::from_bins(bins).ok_or(ReadError { line: last_line, fault: Fault::Empty })
}

/// The non-empty lines, trimmed and numbered from 1.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, Result<&str, Fault>)> {
    let numbered = (1..).zip(text.split(|byte| *byte == b'\n'));
    numbered.filter_map(|(line, bytes)| match std::str::from_utf8(bytes) {
        Ok(content) => Some((line, Ok(content.trim()))).filter(|_| !content.trim().is_empty()),
        Err(_) => Some((line, Err(Fault::NotText))),
    })
}

fn total_of(word: &str) -> Result<u64, Fault> {
    word.parse().map_err(|_| Fault::BadTotal { found: excerpt(word) })
}

fn whole(column: &'static str, word: &str) -> Result<u64, Fault> {
    word.parse().map_err(|_| Fault::BadNumber { column, found: excerpt(word) })
}

/// The beginning of a word, for a message: a word may have any length and contain control characters.
fn excerpt(word: &str) -> String {
    const LETTERS: usize = 40;
    let mut start: String = word.chars().take(LETTERS).filter(|letter| !letter.is_control()).collect();
    if word.chars().nth(LETTERS).is_some() {
        start.push('…');
    }
    start
}

impl SizeHistogram {
    /// From sizes with counts, in any order; counts of equal sizes are added up, and counts of 0 left out.
    ///
    /// # Errors
    /// If there is no file, a size is above [`SIZE_MAX`], or the sum of the counts does not fit in 64 bits.
    /// The line number of the error is the number of the pair, from 1.
    pub fn from_sizes(sizes: impl IntoIterator<Item = (Bytes, u64)>) -> Result<SizeHistogram, ReadError> {
        let rows = sizes.into_iter().map(|(size, count)| (size.get(), count)).zip(1..);
        from_rows(rows.map(|((size, count), line)| (line, size, count)).collect())
    }

    /// Reads a histogram: `# total_count: N`, then lines `min max count`. Further columns and other comments
    /// are ignored.
    ///
    /// # Errors
    /// If a line is wrong; the error names it.
    pub fn read_histogram(text: &[u8]) -> Result<SizeHistogram, ReadError> {
        histogram(text)
    }

    /// Reads a table of `size,count`, sizes in bytes or with a unit, in any order.
    ///
    /// # Errors
    /// If a line is wrong; the error names it.
    pub fn read_csv(text: &[u8]) -> Result<SizeHistogram, ReadError> {
        csv(text)
    }
}

#[cfg(test)]
mod tests;
