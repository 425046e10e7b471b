//! The default output of blkparse: events of the block layer, of which one kind gives the records, and a
//! summary at the end, which is skipped.

use towtank_units::SimTime;

use super::{Parsed, SECTOR_BYTES};
use crate::error::Fault;
use crate::fields::{Cell, Row};
use crate::options::Stage;
use crate::record::{Op, Record, When};

const COLUMNS: [&str; 10] =
    ["maj,min", "cpu", "sequence", "time", "pid", "action", "rwbs", "sector", "+", "sectors"];
/// Linux encodes device numbers with twenty bits for the minor number.
const MINOR_BITS: u32 = 20;

/// The events of a text, and whether its summary has begun.
pub(crate) struct Events {
    kept: &'static [u8],
    ended: bool,
}

impl Events {
    pub(super) fn new(stage: Stage) -> Events {
        let kept = match stage {
            Stage::Queued => b"Q",
            Stage::Issued => b"D",
            Stage::Completed => b"C",
        };
        Events { kept, ended: false }
    }

    pub(super) fn parse(&mut self, line: &[u8]) -> Parsed {
        if self.ended || line.starts_with(b"CPU") || line.starts_with(b"Total") {
            self.ended = true;
            return Ok(None);
        }
        let mut row = Row::words(line, &COLUMNS);
        let file = device(row.cell()?)?;
        let (_cpu, _sequence) = (row.whole()?, row.whole()?);
        let at = When::At(SimTime::from_ns(row.cell()?.seconds()?));
        let pid = row.whole()?;
        if row.cell()?.text != self.kept {
            return Ok(None);
        }
        let kind = row.cell()?;
        let Some(op) = operation(kind)? else { return Ok(None) };
        // A pure flush has no bytes and is followed by its process; its letters may be those of an empty
        // write.
        let empty = row.is_done() || row.rest().starts_with(b"[");
        let op = if empty && kind.text.starts_with(b"F") { Op::Sync } else { op };
        let record = Record { stream: Some(pid), file: Some(file), ..Record::new(at, op) };
        if empty || op == Op::Sync {
            return Ok(Some(record));
        }
        let offset = row.whole_of(SECTOR_BYTES)?;
        let plus = row.cell()?;
        if plus.text != b"+" {
            return Err(plus.none_of("`+`"));
        }
        let size = row.whole_of(SECTOR_BYTES)?;
        Ok(Some(record.with_bytes(offset, size)))
    }
}

fn device(cell: Cell<'_>) -> Result<u64, Box<Fault>> {
    let comma = cell.text.iter().position(|byte| *byte == b',');
    let parts = comma.map(|comma| (&cell.text[..comma], &cell.text[comma + 1..]));
    let number = |text: &[u8]| crate::fields::whole(text).filter(|number| *number < 1 << MINOR_BITS);
    let device = parts.and_then(|(major, minor)| Some(number(major)? << MINOR_BITS | number(minor)?));
    device.ok_or_else(|| cell.none_of("a device, as in `8,0`").hint("use blkparse's default format"))
}

/// The first letter gives the operation, after an `F` for a preceding flush; `N` is a command that moves no
/// data.
fn operation(cell: Cell<'_>) -> Result<Option<Op>, Box<Fault>> {
    let (flush, rest) = match cell.text.strip_prefix(b"F") {
        Some(rest) => (true, rest),
        None => (false, cell.text),
    };
    match (rest.first(), flush) {
        (Some(b'R'), _) => Ok(Some(Op::Read)),
        (Some(b'W'), _) => Ok(Some(Op::Write)),
        (Some(b'D' | b'E'), _) => Ok(Some(Op::Trim)),
        (_, true) => Ok(Some(Op::Sync)),
        (Some(b'N' | b'Z'), _) => Ok(None),
        _ => Err(cell.none_of("a kind of request: letters that begin with R, W, D, E, F, N or Z")),
    }
}
