//! elbencho's results as CSV (`--csvfile`), versions 2 and 3: one row per phase.
//!
//! The figures up to the end of the slowest thread (`[last]`) are used. `RWMIX30` is a write phase with 30 %
//! reads, which the columns `rwmix read …` count; `MIX-T4` has four threads that read. Phases that move no
//! data are skipped.

use super::{Counted, Reading, Shares, of_both};
use crate::table::{Row, Table};
use crate::{ImportError, Imported};

/// Threads whose end times differ by more than this did not load the system together.
const APART: f64 = 0.2;

pub(super) fn read(table: &Table<'_>) -> Result<Imported<Vec<Reading>>, ImportError> {
    let (mut readings, mut notes) = (Vec::new(), Vec::new());
    for row in table.rows() {
        let operation = row.needed("operation")?;
        // elbencho repeats the heading when it appends to another version's file.
        if operation.eq_ignore_ascii_case("operation") {
            continue;
        }
        let phase = operation.split('+').next().unwrap_or_default().to_ascii_uppercase();
        if let Some(reading) = one(&row, &phase)? {
            notes.extend(apart(&row, table.file().name)?);
            readings.push(reading);
        }
    }
    Ok(Imported { value: readings, notes })
}

fn one(row: &Row<'_>, phase: &str) -> Result<Option<Reading>, ImportError> {
    let percent = phase.strip_prefix("RWMIX");
    let by_threads = phase.starts_with("MIX-T");
    if !matches!(phase, "READ" | "WRITE") && percent.is_none() && !by_threads {
        return Ok(None);
    }
    refuse_limits(row)?;
    let size_bytes = row.whole("block size")?;
    if size_bytes == 0 {
        return Err(row
            .wrong("block size", "it is 0, but an operation has at least 1 byte")
            .hint("give elbencho a block size, with -b"));
    }
    let counted = |name: &str| -> Result<Counted, ImportError> {
        let iops = row.number(name)?;
        if iops == 0.0 {
            return Err(row.wrong(name, "it is zero, so this phase did no operations"));
        }
        Ok(Counted { iops, size_bytes })
    };
    let asked = match percent {
        None => None,
        Some(text) => {
            Some(text.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(
                || row.wrong("operation", format!("`{phase}` contains no percentage of reads")),
            )?)
        }
    };
    let found = match (phase, asked) {
        ("READ", _) => of_both(Some(counted("IOPS [last]")?), None, None),
        ("WRITE", _) => of_both(None, Some(counted("IOPS [last]")?), None),
        (_, Some(all)) if all >= 100.0 => of_both(Some(counted("rwmix read IOPS [last]")?), None, None),
        (_, Some(none)) if none <= 0.0 => of_both(None, Some(counted("IOPS [last]")?), None),
        _ => of_both(Some(counted("rwmix read IOPS [last]")?), Some(counted("IOPS [last]")?), asked),
    };
    let place = format!("line {}", row.line);
    Ok(found.map(|(parts, iops)| Reading { system: None, parts, shares: Shares::Operations, iops, place }))
}

/// `--limitread` and similar options keep a run below the capacity of the system.
fn refuse_limits(row: &Row<'_>) -> Result<(), ImportError> {
    let limit =
        row.text("command").split_whitespace().find(|word| word.trim_matches('"').starts_with("--limit"));
    match limit {
        None => Ok(()),
        Some(limit) => Err(row
            .wrong(
                "command",
                format!(
                    "the run had a rate limit, `{limit}`, so it does not show the capacity of the system"
                ),
            )
            .hint("measure without a limit")),
    }
}

fn apart(row: &Row<'_>, file: &str) -> Result<Option<String>, ImportError> {
    let (first, last) = ("time ms [first]", "time ms [last]");
    if row.text(first).is_empty() || row.text(last).is_empty() {
        return Ok(None);
    }
    let (first, last) = (row.number(first)?, row.number(last)?);
    let far = last > 0.0 && first < (1.0 - APART) * last;
    Ok(far.then(|| {
        format!("`{file}`: line {}: the first thread finished after {first} ms and the last after {last} ms, so the load was not even", row.line)
    }))
}
