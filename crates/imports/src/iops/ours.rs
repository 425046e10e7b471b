//! Towtank's own CSV: `system,size,read_percent,iops[,run][,shares]`, one run per line.
//!
//! A size is `4KiB`, or a mix such as `16KiB:10%+1MiB:90%`, whose shares are of operations unless the column
//! `shares` says `concurrency` or `capacity`. `read_percent` holds for all its parts.

use std::collections::BTreeMap;

use towtank_units::Bytes;

use super::{PARTS_MAX, Part, Reading, Shares};
use crate::table::{Row, Table};
use crate::{ImportError, Imported};

const COLUMNS: [&str; 6] = ["system", "size", "read_percent", "iops", "run", "shares"];

pub(super) fn read(table: &Table<'_>) -> Result<Imported<Vec<Reading>>, ImportError> {
    let file = table.file();
    if let Some(name) = table.twice() {
        return Err(ImportError::new(file.name, "this column occurs twice")
            .key(name)
            .hint("keep one of them"));
    }
    let mut notes = Vec::new();
    let others = table.others(&COLUMNS);
    if !others.is_empty() {
        notes.push(format!("`{}`: unused columns: {}", file.name, others.join(", ")));
    }
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    let mut readings = Vec::new();
    for row in table.rows() {
        let reading = one(&row)?;
        if !row.text("run").is_empty() {
            let key =
                format!("{:?} {:?} {:?} {}", reading.system, reading.parts, reading.shares, row.text("run"));
            if let Some(before) = runs.insert(key, row.line) {
                let reason = format!("run {} of this point is already in line {before}", row.text("run"));
                return Err(row
                    .wrong("run", reason)
                    .hint("number the runs of a point, or leave the column out"));
            }
        }
        readings.push(reading);
    }
    Ok(Imported { value: readings, notes })
}

fn one(row: &Row<'_>) -> Result<Reading, ImportError> {
    let percent = row.needed("read_percent")?;
    let read_percent = parse_percent(percent).ok_or_else(|| {
        row.wrong("read_percent", format!("`{percent}` is not between 0 and 100"))
            .hint("it is the share of reads in percent, such as 70")
    })?;
    let parts = parts(row, row.needed("size")?, read_percent)?;
    let shares = match row.text("shares") {
        "" => Shares::default(),
        name => Shares::NAMES.iter().find(|(one, _)| *one == name).map(|(_, shares)| *shares).ok_or_else(
            || row.wrong("shares", format!("`{name}` is not one of operations, concurrency, capacity")),
        )?,
    };
    let iops = row.number("iops")?;
    if iops == 0.0 {
        return Err(row.wrong("iops", "it is zero, so this run did no operations").hint("leave the run out"));
    }
    let system = Some(row.text("system")).filter(|name| !name.is_empty()).map(str::to_owned);
    Ok(Reading { system, parts, shares, iops, place: format!("line {}", row.line) })
}

fn parse_percent(text: &str) -> Option<f64> {
    let number: f64 = text.strip_suffix('%').unwrap_or(text).trim_end().parse().ok()?;
    (0.0..=100.0).contains(&number).then_some(number)
}

fn parts(row: &Row<'_>, text: &str, read_percent: f64) -> Result<Vec<Part>, ImportError> {
    if !text.contains(':') {
        return Ok(vec![Part::alone(size(row, text)?, read_percent)]);
    }
    let mut parts = Vec::new();
    for one in text.split('+') {
        let wrong =
            || row.wrong("size", format!("`{one}` is not a part of a mix")).hint("write 16KiB:10%+1MiB:90%");
        let (bytes, share) = one.trim().split_once(':').ok_or_else(wrong)?;
        let share_percent = parse_percent(share.trim()).filter(|share| *share > 0.0).ok_or_else(wrong)?;
        parts.push(Part { size_bytes: size(row, bytes.trim())?, share_percent, read_percent });
    }
    let is_again = |at: usize| parts[..at].iter().any(|part| part.size_bytes == parts[at].size_bytes);
    if let Some(twice) = (0..parts.len()).find(|at| is_again(*at)) {
        let reason = format!("`{text}` has the size {} twice", Bytes::new(parts[twice].size_bytes));
        return Err(row.wrong("size", reason).hint("add its shares up; write a size that is alone as 4KiB"));
    }
    let sum: f64 = parts.iter().map(|part| part.share_percent).sum();
    if (sum - 100.0).abs() > 1e-6 || parts.len() > PARTS_MAX {
        let reason = format!("the shares of `{text}` add up to {sum} %, not to 100 %");
        return Err(row.wrong("size", reason));
    }
    Ok(parts)
}

fn size(row: &Row<'_>, text: &str) -> Result<u64, ImportError> {
    let bytes: Bytes = text
        .parse()
        .map_err(|error: towtank_units::UnitError| row.wrong("size", error.to_string()).hint(error.hint()))?;
    if bytes.is_zero() {
        return Err(row.wrong("size", "an operation must have at least 1 byte"));
    }
    Ok(bytes.get())
}
