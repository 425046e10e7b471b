//! Records per second read on one core, from a trace in memory.
//!
//! `cargo bench -p towtank-traces -- [runs] [part of a format's name]`. Times are CPU times if the system
//! provides them (Linux: `/proc/self/schedstat`), so that other work on the machine matters less; otherwise
//! wall-clock times.
#![allow(clippy::disallowed_methods, reason = "a bench measures")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use towtank_traces::{Format, Options, Reader};

const RECORDS: u64 = 500_000;
const RUNS: usize = 9;

struct Case {
    name: &'static str,
    format: Format,
    bytes: Vec<u8>,
}

/// Pseudo-random numbers, the same each time.
fn number(record: u64, part: u64) -> u64 {
    (record * 4 + part).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
}

fn text(line: impl Fn(&mut String, u64)) -> Vec<u8> {
    let mut text = String::new();
    for record in 0..RECORDS {
        line(&mut text, record);
        text.push('\n');
    }
    text.into_bytes()
}

/// Lines as long as those of the collection, for eight volumes.
fn msr() -> Vec<u8> {
    text(|text, record| {
        let ticks = 128_200_000_000_000_000 + record * 3_000 + number(record, 0) % 3_000;
        let (offset, size) = (number(record, 1) % (1 << 28) * 512, 4096 << (number(record, 2) % 5));
        let word = if record % 3 == 0 { "Read" } else { "Write" };
        let (disk, took) = (number(record, 3) % 8, number(record, 3) % 200_000);
        write!(text, "{ticks},src1,{disk},{word},{offset},{size},{took}").expect("a string takes it all");
    })
}

fn alibaba() -> Vec<u8> {
    text(|text, record| {
        let (offset, size) = (number(record, 1) % (1 << 28) * 4096, 4096 << (number(record, 2) % 5));
        let (letter, volume) = (if record % 3 == 0 { 'R' } else { 'W' }, number(record, 3) % 1000);
        write!(text, "{volume},{letter},{offset},{size},{}", 1_600_000_000_000_000 + record * 17)
            .expect("a string takes it all");
    })
}

fn pfssim() -> Vec<u8> {
    text(|text, record| {
        write!(text, "0.0 7 {} 1048576 1 3 1", record << 20).expect("a string takes it all");
    })
}

fn blkparse() -> Vec<u8> {
    text(|text, record| {
        let (sector, action) = (number(record, 1) % (1 << 32), if record % 2 == 0 { 'Q' } else { 'D' });
        write!(
            text,
            "  8,0    1 {record:8} {:5}.{:09}  4321  {action}  WS {sector} + 8 [fio]",
            record / 1_000_000,
            record
        )
        .expect("a string takes it all");
    })
}

fn oracle() -> Vec<u8> {
    (0..RECORDS)
        .flat_map(|record| {
            let mut piece = [0xff; 24];
            piece[..4].copy_from_slice(&((record / 1000) as u32).to_le_bytes());
            piece[4..12].copy_from_slice(&number(record, 1).to_le_bytes());
            piece[12..16].copy_from_slice(&4096u32.to_le_bytes());
            piece
        })
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("memory takes it all")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn cases() -> Vec<Case> {
    let case = |name, format, bytes| Case { name, format, bytes };
    let msr = msr();
    vec![
        case("msr, gzip", Format::Msr, gzip(&msr)),
        case("msr, zstd", Format::Msr, zstd(&msr)),
        case("msr", Format::Msr, msr),
        case("alibaba", Format::Alibaba, alibaba()),
        case("pfssim", Format::Pfssim, pfssim()),
        case("blkparse, every other line", Format::Blkparse, blkparse()),
        case("oracle-general", Format::OracleGeneral, oracle()),
    ]
}

fn read(case: &Case) -> u64 {
    let trace = Reader::open("bench", &case.bytes[..], Some(case.format), Options::default());
    let records = trace.expect("it was made so").map(|record| record.expect("it was made so"));
    records.fold(0, |sum, record| sum.wrapping_add(black_box(record).size.unwrap_or(0)))
}

/// CPU time in seconds, if the system provides it.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let ns: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(ns as f64 / 1e9)
}

fn measured(work: impl FnOnce()) -> f64 {
    let (before, clock) = (processor_seconds(), Instant::now());
    work();
    match (before, processor_seconds()) {
        (Some(before), Some(after)) if after > before => after - before,
        _ => clock.elapsed().as_secs_f64(),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let runs = arguments.iter().find_map(|word| word.parse().ok()).unwrap_or(RUNS).max(1);
    let part = arguments.iter().find(|word| word.parse::<usize>().is_err());
    println!(
        "{RECORDS} lines in memory, {runs} runs; millions of lines a second: median, from least to most"
    );
    for case in cases().iter().filter(|case| part.is_none_or(|part| case.name.contains(part.as_str()))) {
        let mut rates: Vec<f64> = (0..runs)
            .map(|_| {
                RECORDS as f64
                    / 1e6
                    / measured(|| {
                        black_box(read(case));
                    })
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        let (least, most) = (rates[0], rates[runs - 1]);
        println!("{:28} {:7.2}  {least:.2} to {most:.2}", case.name, rates[runs / 2]);
    }
}
