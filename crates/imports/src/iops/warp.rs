//! MinIO's warp: the CSV of `warp analyze --analyze.out FILE`, one row per time segment and operation, or the
//! benchmark's own record, one row per operation (`warp-….csv`, uncompressed). Both are separated by tabs.
//!
//! GET is a read and PUT a write. In a record, the PUTs that end before the first GET begins belong to the
//! preparation, which writes what is then read. Of the rest, operations that ended between the first start
//! and the last start count, because all threads are busy then.

use super::{Counted, Reading, Shares, of_both};
use crate::moment::nanoseconds;
use crate::table::{Row, Table};
use crate::{File, ImportError, Imported};

pub(super) fn read(table: &Table<'_>) -> Result<Imported<Vec<Reading>>, ImportError> {
    if table.has("ops_ended") { analysed(table) } else { recorded(table) }
}

/// The kind of an operation that counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Get,
    Put,
}

fn kind(row: &Row<'_>) -> Result<Kind, ImportError> {
    match row.needed("op")? {
        "GET" => Ok(Kind::Get),
        "PUT" => Ok(Kind::Put),
        other => Err(row
            .wrong(
                "op",
                format!(
                    "there are operations of type {other}, but a capacity is defined for GET and PUT only"
                ),
            )
            .hint(
                "measure with `warp get`, `warp put`, or `warp mixed --stat-distrib 0 --delete-distrib 0`",
            )),
    }
}

/// Sums of one kind of operation.
#[derive(Clone, Copy, Default)]
struct Sums {
    operations: f64,
    bytes: f64,
    seconds: f64,
}

impl Sums {
    fn counted(self) -> Option<Counted> {
        let sound = self.operations > 0.0 && self.seconds > 0.0 && self.bytes > 0.0;
        sound.then(|| Counted {
            iops: self.operations / self.seconds,
            size_bytes: (self.bytes / self.operations).round().max(1.0) as u64,
        })
    }
}

fn analysed(table: &Table<'_>) -> Result<Imported<Vec<Reading>>, ImportError> {
    let (mut gets, mut puts) = (Sums::default(), Sums::default());
    for row in table.rows() {
        // warp repeats the heading for each kind of operation, and with details the segments of each host.
        if row.text("op") == "op" || !row.text("host").is_empty() {
            continue;
        }
        let errors = row.number("errors")?;
        if errors > 0.0 {
            return Err(row
                .wrong("errors", format!("{errors} operations failed"))
                .hint("fix the cause and measure again"));
        }
        let sums = if kind(&row)? == Kind::Get { &mut gets } else { &mut puts };
        sums.operations += row.number("ops_ended")?;
        sums.bytes += row.number("bytes")?;
        sums.seconds += row.number("duration_s")?;
    }
    reading(table.file(), gets, puts, "bytes")
}

/// Bytes of a segment are spread over the operations that reach into it, so a computed size is slightly off.
const SIZE_OFF: f64 = 0.02;

fn reading(file: File<'_>, gets: Sums, puts: Sums, key: &str) -> Result<Imported<Vec<Reading>>, ImportError> {
    let (mut reads, mut writes) = (gets.counted(), puts.counted());
    let mut notes = Vec::new();
    for one in [&mut reads, &mut writes].into_iter().flatten() {
        let near = nearest_even(one.size_bytes);
        if near != one.size_bytes && (near as f64 / one.size_bytes as f64 - 1.0).abs() <= SIZE_OFF {
            notes.push(format!(
                "`{}`: {key}: {} bytes per operation are taken as {near}",
                file.name, one.size_bytes
            ));
            one.size_bytes = near;
        }
    }
    // One run has one object size, apart from the effect of this spreading.
    if let (Some(reads), Some(writes)) = (&reads, &mut writes) {
        let off = (writes.size_bytes as f64 / reads.size_bytes as f64 - 1.0).abs();
        writes.size_bytes = if off <= SIZE_OFF { reads.size_bytes } else { writes.size_bytes };
    }
    let found = of_both(reads, writes, None);
    let place = "line 2".to_owned();
    let readings =
        found.map(|(parts, iops)| Reading { system: None, parts, shares: Shares::Operations, iops, place });
    Ok(Imported { value: readings.into_iter().collect(), notes })
}

/// The nearest multiple of a quarter of a power of two: 10 MiB and 12 KiB are such sizes, and warp's
/// defaults.
fn nearest_even(size: u64) -> u64 {
    let step = (1_u64 << (63 - size.max(1).leading_zeros())) / 4;
    size.saturating_add(step / 2).checked_div(step).map_or(size, |steps| steps * step)
}

/// One operation of a record.
struct Done {
    kind: Kind,
    start: i128,
    end: i128,
    bytes: f64,
}

fn recorded(table: &Table<'_>) -> Result<Imported<Vec<Reading>>, ImportError> {
    let mut all = Vec::new();
    for row in table.rows() {
        let error = row.text("error");
        if !error.is_empty() {
            return Err(row
                .wrong("error", format!("the operation failed: {error}"))
                .hint("fix the cause and measure again"));
        }
        let moment = |name: &str| {
            let text = row.needed(name)?;
            nanoseconds(text).ok_or_else(|| {
                row.wrong(
                    name,
                    format!("`{text}` is not a timestamp, such as 2019-11-13T17:07:06.3173431+01:00"),
                )
            })
        };
        all.push(Done {
            kind: kind(&row)?,
            start: moment("start")?,
            end: moment("end")?,
            bytes: row.number("bytes")?,
        });
    }
    let first_get = all.iter().filter(|done| done.kind == Kind::Get).map(|done| done.start).min();
    let prepares = |done: &Done| done.kind == Kind::Put && first_get.is_some_and(|first| done.end <= first);
    let load: Vec<&Done> = all.iter().filter(|done| !prepares(done)).collect();
    let starts = || load.iter().map(|done| done.start);
    let (Some(from), Some(to)) = (starts().min(), starts().max()) else {
        return Ok(Imported { value: Vec::new(), notes: Vec::new() });
    };
    let sums = |kind: Kind| {
        let mut sums = Sums { seconds: (to - from) as f64 / 1e9, ..Sums::default() };
        for done in load.iter().filter(|done| done.kind == kind && done.end <= to) {
            sums.operations += 1.0;
            sums.bytes += done.bytes;
        }
        sums
    };
    reading(table.file(), sums(Kind::Get), sums(Kind::Put), "bytes")
}
