//! Writers of all formats, for tests only: random records that a format can represent, as its text, and as a
//! reader should return them.

use std::fmt::Write as _;

use proptest::prelude::*;
use towtank_traces::{Format, Op, Record, When};
use towtank_units::{SimSpan, SimTime};

/// A trace, its records relative to the format's own origin, and the line or byte at which each begins.
pub struct Written {
    pub format: Format,
    pub bytes: Vec<u8>,
    pub records: Vec<Record>,
    pub places: Vec<u64>,
}

/// The values drawn for a record; each format uses those that it represents.
#[derive(Clone, Debug)]
pub struct Drawn {
    gap: u64,
    volume: u64,
    offset: u64,
    size: u64,
    write: bool,
    other: u64,
}

pub fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let one = (0u64..1 << 30, 0u64..40, 0u64..1 << 40, 0u64..1 << 30, any::<bool>(), 0u64..1 << 20);
    let one = one.prop_map(|(gap, volume, offset, size, write, other)| Drawn {
        gap,
        volume,
        offset,
        size,
        write,
        other,
    });
    prop::collection::vec(one, 1..60)
}

/// The text so far.
struct Page {
    text: String,
    lines: u64,
}

impl Page {
    fn line(&mut self, line: &str) -> u64 {
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
        self.lines
    }
}

pub fn write(format: Format, drawn: &[Drawn]) -> Written {
    if format == Format::OracleGeneral {
        return oracle(drawn);
    }
    let mut page = Page { text: String::new(), lines: 0 };
    let heading = match format {
        Format::FioV2 => Some("fio version 2 iolog"),
        Format::FioV3 => Some("fio version 3 iolog"),
        Format::Dxt => Some("# darshan log version: 3.41"),
        Format::Systor17 => Some("Timestamp,Response,IOType,LUN,Offset,Size"),
        _ => None,
    };
    if let Some(heading) = heading {
        page.line(heading);
    }
    let (mut records, mut places, mut now) = (Vec::new(), Vec::new(), 1_600_000_000_000_000_000u64);
    let mut names: Vec<u64> = Vec::new();
    for one in drawn {
        now += one.gap;
        let mut number = |volume: u64| {
            let known = names.iter().position(|name| *name == volume);
            known.unwrap_or_else(|| {
                names.push(volume);
                names.len() - 1
            }) as u64
        };
        let (record, line) = match format {
            Format::Pfssim | Format::PfssimV013 => pfssim(format, one, now),
            Format::FioV2 | Format::FioV3 => fio(format, one, now, number(one.volume), &mut page),
            Format::Dxt => dxt(one, now, number(one.volume), &mut page),
            Format::Blkparse => blkparse(one, now, &mut page),
            Format::IbmCos => cos(one, now),
            Format::Msr => msr(one, now, number(one.volume)),
            _ => volumes(format, one, now),
        };
        places.push(page.line(&line));
        records.push(record);
    }
    Written { format, bytes: page.text.into_bytes(), records, places }
}

fn at(ns: u64) -> When {
    When::At(SimTime::from_ns(ns))
}

fn of(one: &Drawn, when: When) -> Record {
    Record {
        at: when,
        stream: None,
        file: None,
        offset: Some(one.offset),
        size: Some(one.size),
        op: if one.write { Op::Write } else { Op::Read },
        app: None,
        response: None,
    }
}

fn of_volume(one: &Drawn, when: When, volume: u64) -> Record {
    Record { stream: Some(volume), file: Some(volume), ..of(one, when) }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn pfssim(format: Format, one: &Drawn, now: u64) -> (Record, String) {
    let relative = one.other.is_multiple_of(2);
    let (when, time) = if relative {
        (When::AfterEnd(SimSpan::from_ns(one.gap)), seconds(one.gap))
    } else {
        (at(now), seconds(now))
    };
    let file = if format == Format::Pfssim { format!("{} ", one.volume) } else { String::new() };
    let Drawn { offset, size, other, .. } = one;
    let line =
        format!("{time} {file}{offset} {size} {} {other} {}", u8::from(!one.write), u8::from(relative));
    let file = (format == Format::Pfssim).then_some(one.volume);
    (Record { file, app: Some(*other as u32), ..of(one, when) }, line)
}

fn msr(one: &Drawn, now: u64, number: u64) -> (Record, String) {
    let (ticks, word) = (now / 100, if one.write { "Write" } else { "Read" });
    let Drawn { offset, size, other, volume, .. } = one;
    let line = format!("{ticks},host{volume},{volume},{word},{offset},{size},{other}");
    let response = Some(SimSpan::from_ns(other * 100));
    (Record { response, ..of_volume(one, at(ticks * 100), number) }, line)
}

fn volumes(format: Format, one: &Drawn, now: u64) -> (Record, String) {
    let Drawn { offset, size, volume, other, .. } = one;
    let letter = if one.write { "W" } else { "R" };
    let sectors = |bytes: u64| bytes / 512 * 512;
    match format {
        Format::Alibaba => {
            let us = now / 1_000;
            let line = format!("{volume},{letter},{offset},{size},{us}");
            (of_volume(one, at(us * 1_000), *volume), line)
        }
        Format::Tencent => {
            let (second, kind) = (now / 1_000_000_000, u8::from(one.write));
            let line = format!("{second},{},{},{kind},{volume}", offset / 512, size / 512);
            let (offset, size) = (Some(sectors(*offset)), Some(sectors(*size)));
            (Record { offset, size, ..of_volume(one, at(second * 1_000_000_000), *volume) }, line)
        }
        Format::Systor17 => {
            let line = format!("{},{},{letter},{volume},{offset},{size}", seconds(now), seconds(*other));
            let response = Some(SimSpan::from_ns(*other));
            (Record { response, ..of_volume(one, at(now), *volume) }, line)
        }
        Format::Spc => {
            let line = format!("{volume},{},{size},{letter},{}", offset / 512, seconds(now));
            (Record { offset: Some(sectors(*offset)), ..of_volume(one, at(now), *volume) }, line)
        }
        _ => unreachable!("{format} is written elsewhere"),
    }
}

fn cos(one: &Drawn, now: u64) -> (Record, String) {
    let (ms, word) = (now / 1_000_000, if one.write { "PUT" } else { "GET" });
    let mut line = format!("{ms} REST.{word}.OBJECT {:016x}", one.other);
    let record = Record { file: Some(one.other), ..of(one, at(ms * 1_000_000)) };
    match one.volume % 3 {
        0 => (Record { offset: Some(0), size: None, ..record }, line),
        1 => {
            write!(line, " {}", one.size).expect("a string takes it all");
            (Record { offset: Some(0), ..record }, line)
        }
        _ => {
            let (start, end) = (one.offset, one.offset + one.size);
            write!(line, " {} {start} {end}", end + 7).expect("a string takes it all");
            (Record { size: Some(one.size + 1), ..record }, line)
        }
    }
}

fn fio(format: Format, one: &Drawn, now: u64, number: u64, page: &mut Page) -> (Record, String) {
    let Drawn { offset, size, volume, .. } = one;
    let (us, word) = (now / 1_000, if one.write { "write" } else { "read" });
    let request = format!("/file/{volume} {word} {offset} {size}");
    if format == Format::FioV3 {
        return (Record { file: Some(number), ..of(one, at(us * 1_000)) }, format!("{us} {request}"));
    }
    let waits = one.other % 3;
    for _ in 0..waits {
        page.line(&format!("/file/{volume} wait {} 0", one.gap));
    }
    let when = match waits {
        0 => When::AfterEnd(SimSpan::ZERO),
        _ => When::AfterStart(SimSpan::from_ns(waits * one.gap * 1_000)),
    };
    (Record { file: Some(number), ..of(one, when) }, request)
}

fn blkparse(one: &Drawn, now: u64, page: &mut Page) -> (Record, String) {
    let Drawn { offset, size, volume, other, .. } = one;
    let (sector, sectors) = (offset / 512, size / 512);
    let time = seconds(now);
    let event = |action: &str| {
        let word = if one.write { "WS" } else { "RA" };
        format!("  8,{volume}  1  {other} {time} {other} {action} {word} {sector} + {sectors} [some one]")
    };
    page.line(&event("A"));
    let record = Record {
        stream: Some(*other),
        file: Some(8 << 20 | volume),
        offset: Some(sector * 512),
        size: Some(sectors * 512),
        ..of(one, at(now))
    };
    (record, event("Q"))
}

fn dxt(one: &Drawn, now: u64, number: u64, page: &mut Page) -> (Record, String) {
    let Drawn { offset, size, volume, other, .. } = one;
    page.line(&format!("# DXT, file_id: 1, file_name: /file {volume}"));
    let word = if one.write { "write" } else { "read" };
    let times = format!("{} {}", seconds(now), seconds(now + other));
    let line = format!(" X_POSIX {other} {word} 0 {offset} {size} {times} [3] 77");
    let (stream, file) = (Some(*other), Some(number));
    (Record { stream, file, response: Some(SimSpan::from_ns(*other)), ..of(one, at(now)) }, line)
}

fn oracle(drawn: &[Drawn]) -> Written {
    let (mut bytes, mut records, mut places, mut now) = (Vec::new(), Vec::new(), Vec::new(), 0u32);
    for one in drawn {
        now += one.gap as u32 % 5;
        places.push(bytes.len() as u64);
        bytes.extend_from_slice(&now.to_le_bytes());
        bytes.extend_from_slice(&one.other.to_le_bytes());
        bytes.extend_from_slice(&(one.size as u32).to_le_bytes());
        bytes.extend_from_slice(&(-1i64).to_le_bytes());
        let when = at(u64::from(now) * 1_000_000_000);
        records.push(Record { file: Some(one.other), offset: Some(0), op: Op::Read, ..of(one, when) });
    }
    Written { format: Format::OracleGeneral, bytes, records, places }
}
