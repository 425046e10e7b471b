//! PFSsim's trace of one flow of one client. The time of a line is either an instant or a think time; a flow
//! has one request outstanding, so an instant that has passed means at once.

use towtank_units::{SimSpan, SimTime};

use super::Parsed;
use crate::error::Fault;
use crate::fields::Row;
use crate::record::{Op, Record, When};

const COLUMNS: [&str; 7] = ["time", "file", "offset", "size", "read", "app", "sync"];
const COLUMNS_V013: [&str; 6] = ["time", "offset", "size", "read", "app", "sync"];

pub(super) fn parse(line: &[u8]) -> Parsed {
    let mut row = Row::words(line, &COLUMNS);
    let ns = row.cell()?.seconds()?;
    let file = row.whole()?;
    let record = rest(row, ns)?;
    Ok(Some(Record { file: Some(file), ..record }))
}

/// Version 0.13 has no file: the application's number selects the layout.
pub(super) fn parse_v013(line: &[u8]) -> Parsed {
    let mut row = Row::words(line, &COLUMNS_V013);
    let ns = row.cell()?.seconds()?;
    rest(row, ns).map(Some)
}

fn rest(mut row: Row<'_>, ns: u64) -> Result<Record, Box<Fault>> {
    let (offset, size) = (row.whole()?, row.whole()?);
    let op = if row.cell()?.flag()? { Op::Read } else { Op::Write };
    let app = row.cell()?.small()?;
    let relative = row.cell()?.flag()?;
    row.end()?;
    let at = if relative { When::AfterEnd(SimSpan::from_ns(ns)) } else { When::At(SimTime::from_ns(ns)) };
    Ok(Record { app: Some(app), ..Record::new(at, op).with_bytes(offset, size) })
}
