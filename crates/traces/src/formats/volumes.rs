//! Block traces of volumes as CSV: MSR Cambridge, Alibaba, Tencent, SYSTOR '17 and SPC. The volume of a
//! request is also its stream, because none of the formats names the requester.

use towtank_units::{SimSpan, SimTime};

use super::{Parsed, SECTOR_BYTES};
use crate::error::Fault;
use crate::fields::{Cell, Row};
use crate::names::Names;
use crate::record::{Op, Record, When};

const MSR: [&str; 7] = ["Timestamp", "Hostname", "DiskNumber", "Type", "Offset", "Size", "ResponseTime"];
const ALIBABA: [&str; 5] = ["device_id", "opcode", "offset", "length", "timestamp"];
const TENCENT: [&str; 5] = ["Timestamp", "Offset", "Size", "IOType", "VolumeID"];
const SYSTOR17: [&str; 6] = ["Timestamp", "Response", "IOType", "LUN", "Offset", "Size"];
const SPC: [&str; 5] = ["ASU", "LBA", "Size", "Opcode", "Timestamp"];

/// Nanoseconds per tick of Windows file times.
const TICK_NS: u64 = 100;
const NS_PER_US: u64 = 1_000;
const NS_PER_SEC: u64 = 1_000_000_000;

/// Number of disks of one host whose volume is cached.
const DISKS: usize = 16;

/// MSR Cambridge. A volume's name consists of its host's name and its number: `hm_1`.
#[derive(Default)]
pub(crate) struct Msr {
    /// The host of the previous line: most traces have only one.
    host: Vec<u8>,
    /// The volumes of its first disks, so that few lines need a lookup by name.
    volumes: [Option<u64>; DISKS],
}

impl Msr {
    #[inline]
    pub(super) fn parse(&mut self, line: &[u8], first: bool, names: &mut Names) -> Parsed {
        if first && is_heading(line, MSR[0]) {
            return Ok(None);
        }
        let mut row = Row::commas(line, &MSR);
        let at = instant(row.whole_of(TICK_NS)?);
        let (host, disk) = (row.cell()?, row.whole()?);
        let op = direction(row.cell()?, [b"Read", b"Write"])?;
        let (offset, size) = (row.whole()?, row.whole()?);
        let response = SimSpan::from_ns(row.whole_of(TICK_NS)?);
        row.end()?;
        let volume = self.volume(host.text, disk, names)?;
        let record = Record::new(at, op).with_bytes(offset, size).with_volume(volume);
        Ok(Some(Record { response: Some(response), ..record }))
    }

    #[inline]
    fn volume(&mut self, host: &[u8], disk: u64, names: &mut Names) -> Result<u64, Box<Fault>> {
        if self.host != host {
            self.host.clear();
            self.host.extend_from_slice(host);
            self.volumes = [None; DISKS];
        }
        let place = usize::try_from(disk).ok().and_then(|disk| self.volumes.get_mut(disk));
        if let Some(Some(volume)) = place {
            return Ok(*volume);
        }
        let name = [host, b"_", disk.to_string().as_bytes()].concat();
        let volume = names.number(&name)?;
        if let Some(place) = place {
            *place = Some(volume);
        }
        Ok(volume)
    }
}

pub(super) fn alibaba(line: &[u8], first: bool) -> Parsed {
    if first && is_heading(line, ALIBABA[0]) {
        return Ok(None);
    }
    let mut row = Row::commas(line, &ALIBABA);
    let volume = row.whole()?;
    let op = direction(row.cell()?, [b"R", b"W"])?;
    let (offset, size) = (row.whole()?, row.whole()?);
    let at = instant(row.whole_of(NS_PER_US)?);
    row.end()?;
    Ok(Some(Record::new(at, op).with_bytes(offset, size).with_volume(volume)))
}

pub(super) fn tencent(line: &[u8], first: bool) -> Parsed {
    if first && is_heading(line, TENCENT[0]) {
        return Ok(None);
    }
    let mut row = Row::commas(line, &TENCENT);
    let at = instant(row.whole_of(NS_PER_SEC)?);
    let (offset, size) = (row.whole_of(SECTOR_BYTES)?, row.whole_of(SECTOR_BYTES)?);
    let op = if row.cell()?.flag()? { Op::Write } else { Op::Read };
    let volume = row.whole()?;
    row.end()?;
    Ok(Some(Record::new(at, op).with_bytes(offset, size).with_volume(volume)))
}

/// If the type is blank, the bytes may be blank too: the request was of another kind.
pub(super) fn systor17(line: &[u8], first: bool) -> Parsed {
    if first && is_heading(line, SYSTOR17[0]) {
        return Ok(None);
    }
    let mut row = Row::commas(line, &SYSTOR17);
    let at = instant(row.cell()?.seconds()?);
    let response = unless_blank(row.cell()?, Cell::seconds)?.map(SimSpan::from_ns);
    let kind = row.cell()?;
    let op = if kind.text.is_empty() { Op::Other } else { direction(kind, [b"R", b"W"])? };
    let volume = row.whole()?;
    let read = |cell| if op == Op::Other { unless_blank(cell, Cell::whole) } else { cell.whole().map(Some) };
    let (offset, size) = (read(row.cell()?)?, read(row.cell()?)?);
    row.end()?;
    Ok(Some(Record { offset, size, response, ..Record::new(at, op).with_volume(volume) }))
}

/// The format allows further user-defined columns after the fifth.
pub(super) fn spc(line: &[u8]) -> Parsed {
    let mut row = Row::commas(line, &SPC);
    let volume = row.whole()?;
    let (offset, size) = (row.whole_of(SECTOR_BYTES)?, row.whole()?);
    let op = direction(row.cell()?, [b"R", b"W"])?;
    let at = instant(row.cell()?.seconds()?);
    Ok(Some(Record::new(at, op).with_bytes(offset, size).with_volume(volume)))
}

#[inline]
fn instant(ns: u64) -> When {
    When::At(SimTime::from_ns(ns))
}

#[inline]
fn direction(cell: Cell<'_>, words: [&[u8]; 2]) -> Result<Op, Box<Fault>> {
    if cell.text.eq_ignore_ascii_case(words[0]) {
        Ok(Op::Read)
    } else if cell.text.eq_ignore_ascii_case(words[1]) {
        Ok(Op::Write)
    } else {
        let [read, write] = words.map(String::from_utf8_lossy);
        Err(cell.none_of(&format!("`{read}` or `{write}`")))
    }
}

fn unless_blank<'l>(
    cell: Cell<'l>,
    read: impl Fn(Cell<'l>) -> Result<u64, Box<Fault>>,
) -> Result<Option<u64>, Box<Fault>> {
    if cell.text.is_empty() { Ok(None) } else { read(cell).map(Some) }
}

/// Whether a first line begins with the first column's name.
fn is_heading(line: &[u8], column: &str) -> bool {
    line.get(..column.len()).is_some_and(|start| start.eq_ignore_ascii_case(column.as_bytes()))
}
