//! fio's I/O logs. Version 3 has a time on each line; version 2 has waits instead, which fio measures from
//! the issue of the previous request.

use towtank_units::{SimSpan, SimTime};

use super::Parsed;
use crate::error::Fault;
use crate::fields::{Cell, Row};
use crate::format::Format;
use crate::names::Names;
use crate::record::{Op, Record, When};

const COLUMNS_V2: [&str; 4] = ["filename", "action", "offset", "length"];
const COLUMNS_V3: [&str; 5] = ["timestamp", "filename", "action", "offset", "length"];
const HEADING_V2: &[u8] = b"fio version 2 iolog";
const HEADING_V3: &[u8] = b"fio version 3 iolog";
const NS_PER_US: u64 = 1_000;

/// The version of fio's log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V2,
    V3,
}

impl Version {
    const fn heading(self) -> &'static [u8] {
        match self {
            Version::V2 => HEADING_V2,
            Version::V3 => HEADING_V3,
        }
    }
}

/// The version given in the first line.
pub(crate) fn heads(line: &[u8]) -> Option<Format> {
    match line.trim_ascii() {
        HEADING_V2 => Some(Format::FioV2),
        HEADING_V3 => Some(Format::FioV3),
        _ => None,
    }
}

/// A log and the state of its parser.
pub(crate) struct Log {
    version: Version,
    headed: bool,
    /// Sum of the waits since the last record, in nanoseconds.
    waits: Option<u64>,
}

impl Log {
    pub(super) fn new(version: Version) -> Log {
        Log { version, headed: false, waits: None }
    }

    pub(super) fn parse(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        if !self.headed {
            let heading = self.version.heading();
            if line.trim_ascii() != heading {
                return Err(no_heading(heading));
            }
            self.headed = true;
            return Ok(None);
        }
        match self.version {
            Version::V2 => self.line_v2(Row::words(line, &COLUMNS_V2), names),
            Version::V3 => self.line_v3(Row::words(line, &COLUMNS_V3), names),
        }
    }

    pub(super) fn end(&self) -> Result<(), Box<Fault>> {
        if self.headed { Ok(()) } else { Err(no_heading(self.version.heading())) }
    }

    fn line_v2(&mut self, mut row: Row<'_>, names: &mut Names) -> Parsed {
        let file = row.cell()?;
        let action = row.cell()?;
        if action.text == b"wait" {
            let wait = row.whole_of(NS_PER_US)?;
            // fio writes a length of 0 after it.
            row.next().map(Cell::whole).transpose()?;
            row.end()?;
            let waits = self.waits.unwrap_or(0).checked_add(wait);
            self.waits = Some(waits.ok_or_else(|| Fault::new("the waits add up to more than 584 years"))?);
            return Ok(None);
        }
        let at = match self.waits {
            Some(ns) => When::AfterStart(SimSpan::from_ns(ns)),
            None => When::AfterEnd(SimSpan::ZERO),
        };
        let record = request(row, file, action, at, names)?;
        if record.is_some() {
            self.waits = None;
        }
        Ok(record)
    }

    fn line_v3(&mut self, mut row: Row<'_>, names: &mut Names) -> Parsed {
        let at = When::At(SimTime::from_ns(row.whole_of(NS_PER_US)?));
        let (file, action) = (row.cell()?, row.cell()?);
        request(row, file, action, at, names)
    }
}

#[cold]
fn no_heading(heading: &[u8]) -> Box<Fault> {
    let heading = String::from_utf8_lossy(heading);
    Fault::new(format!("the first line is not `{heading}`")).hint("give the version of the first line")
}

/// Parses what follows the action.
fn request(mut row: Row<'_>, file: Cell<'_>, action: Cell<'_>, at: When, names: &mut Names) -> Parsed {
    let file = Some(names.number(file.text)?);
    let op = match action.text {
        b"add" => {
            row.end()?;
            return Ok(None);
        }
        b"open" => Op::Open,
        b"close" => Op::Close,
        b"read" => Op::Read,
        b"write" => Op::Write,
        b"sync" | b"datasync" | b"sync_file_range" => Op::Sync,
        b"trim" => Op::Trim,
        _ => {
            let known = "`add`, `open`, `close`, `read`, `write`, `sync`, `datasync`, `sync_file_range`, `trim`, or in \
                         version 2 `wait`";
            return Err(action.none_of(known));
        }
    };
    let record = Record { file, ..Record::new(at, op) };
    // In some logs a sync has bytes, which are meaningless.
    if matches!(op, Op::Read | Op::Write | Op::Trim) || (op == Op::Sync && !row.is_done()) {
        let (offset, length) = (row.whole()?, row.whole()?);
        row.end()?;
        return Ok(Some(if op == Op::Sync { record } else { record.with_bytes(offset, length) }));
    }
    row.end()?;
    Ok(Some(record))
}
