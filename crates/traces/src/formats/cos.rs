//! IBM Cloud Object Storage: requests to objects. A get may lack its size, if the object was written before
//! the trace began; the range `0 -1` is that of an empty object.

use towtank_units::SimTime;

use super::Parsed;
use crate::fields::Row;
use crate::record::{Op, Record, When};

const COLUMNS: [&str; 6] = ["timestamp", "request", "object", "size", "start", "end"];
const NS_PER_MS: u64 = 1_000_000;

pub(super) fn parse(line: &[u8]) -> Parsed {
    let mut row = Row::words(line, &COLUMNS);
    let at = When::At(SimTime::from_ns(row.whole_of(NS_PER_MS)?));
    let request = row.cell()?;
    let op = match request.text {
        b"REST.GET.OBJECT" => Op::Read,
        b"REST.PUT.OBJECT" => Op::Write,
        b"REST.HEAD.OBJECT" => Op::Stat,
        b"REST.DELETE.OBJECT" => Op::Delete,
        b"REST.COPY.OBJECT" => Op::Copy,
        _ => return Err(request.none_of("`REST.` GET, PUT, HEAD, DELETE or COPY `.OBJECT`")),
    };
    let file = Some(row.cell()?.hexadecimal()?);
    let size = row.next().map(|cell| cell.whole()).transpose()?;
    let moves = matches!(op, Op::Read | Op::Write);
    let whole = Record { file, size, offset: moves.then_some(0), ..Record::new(at, op) };
    if row.is_done() {
        return Ok(Some(whole));
    }
    let start = row.whole()?;
    let end = row.cell()?;
    row.end()?;
    if end.text == b"-1" && start == 0 {
        return Ok(Some(Record { offset: Some(0), size: Some(0), ..whole }));
    }
    let last = end.whole()?;
    match last.checked_sub(start).and_then(|length| length.checked_add(1)) {
        Some(length) => Ok(Some(whole.with_bytes(start, length))),
        None => Err(end.none_of(&format!("the last byte of a range that starts at {start}"))),
    }
}
