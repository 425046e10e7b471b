//! What benchmarks measured: operations per second of a size and a read share, from the files that the tools
//! leave.
//!
//! Read are our own CSV, fio's JSON, COSBench's workload CSV, `rados bench` (text and JSON), elbencho's CSV
//! and warp's CSV (of `warp analyze`, or operation by operation). [`read`] finds out which it is. Each reader
//! keeps to what the tool says of a run that loaded the system to its limit: runs with errors, with a rate
//! limit or without an operation are refused, since no capacity can be learned from them.
//!
//! What is deliberately absent: averages over runs, and any opinion on whether two files belong together.

mod cosbench;
mod elbencho;
mod fio;
mod ours;
mod rados;
mod table;
mod warp;

use crate::envelope::{FILE_MAX_BYTES, looks_like_json, unpack};
use crate::{File, ImportError, Imported};

/// The most readings of one file; a sweep of ten sizes, eleven ratios and a hundred runs has 11,000.
pub const READINGS_MAX: usize = 100_000;
/// The most sizes of one mix; fio's `bssplit` takes 64.
pub const PARTS_MAX: usize = 64;

/// One run of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The system, where the file names it.
    pub system: Option<String>,
    /// Which sizes were asked for; one, or a mix.
    pub parts: Vec<Part>,
    /// What the shares of the parts are shares of.
    pub shares: Shares,
    /// Operations per second, reads and writes together.
    pub iops: f64,
    /// Where it stands in the file: `line 3`, `jobs[0]`.
    pub place: String,
}

/// A size in a mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Bytes of an operation.
    pub size_bytes: u64,
    /// Its share; those of all parts add up to 100.
    pub share_percent: f64,
    /// How many of its operations are reads.
    pub read_percent: f64,
}

/// What a share of a mix is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shares {
    /// Of operations: one stream that chooses a size for each.
    #[default]
    Operations,
    /// Of operations under way: one stream a size, each with its own depth.
    Concurrency,
    /// Of what the system can do.
    Capacity,
}

impl Shares {
    /// As in files and flags.
    pub const NAMES: [(&'static str, Shares); 3] = [
        ("operations", Shares::Operations),
        ("concurrency", Shares::Concurrency),
        ("capacity", Shares::Capacity),
    ];
}

impl Part {
    fn alone(size_bytes: u64, read_percent: f64) -> Self {
        Self { size_bytes, share_percent: 100.0, read_percent }
    }
}

/// Reads and writes as a tool counted them, with the size of each.
#[derive(Clone, Copy, Debug)]
struct Counted {
    iops: f64,
    size_bytes: u64,
}

/// A run whose reads and writes were counted apart: one size, or one for reads and another for writes.
fn of_both(reads: Option<Counted>, writes: Option<Counted>, asked: Option<f64>) -> Option<(Vec<Part>, f64)> {
    let (reads, writes) = (reads.filter(|some| some.iops > 0.0), writes.filter(|some| some.iops > 0.0));
    match (reads, writes) {
        (Some(reads), Some(writes)) => {
            let iops = reads.iops + writes.iops;
            let percent = 100.0 * reads.iops / iops;
            if reads.size_bytes == writes.size_bytes {
                // To the whole percent: runs of one mix scatter around what was asked for, and should be
                // found to be of one mix.
                let seen = percent.round().clamp(1.0, 99.0);
                return Some((vec![Part::alone(reads.size_bytes, asked.unwrap_or(seen))], iops));
            }
            let part =
                |size_bytes, share_percent, read_percent| Part { size_bytes, share_percent, read_percent };
            let parts =
                vec![part(reads.size_bytes, percent, 100.0), part(writes.size_bytes, 100.0 - percent, 0.0)];
            Some((parts, iops))
        }
        (Some(reads), None) => Some((vec![Part::alone(reads.size_bytes, 100.0)], reads.iops)),
        (None, Some(writes)) => Some((vec![Part::alone(writes.size_bytes, 0.0)], writes.iops)),
        (None, None) => None,
    }
}

/// Reads a benchmark's file of whichever kind.
///
/// # Errors
/// When it is none of them, is damaged, or holds a run that says nothing of what the system can do.
pub fn read(file: File<'_>) -> Result<Imported<Vec<Reading>>, ImportError> {
    if file.bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Err(ImportError::new(file.name, "it is packed by zstd, which is not read here")
            .hint("unpack it first: `zstd -d FILE`"));
    }
    let bytes = unpack(file, FILE_MAX_BYTES)?;
    let imported = if looks_like_json(&bytes) { of_json(file, &bytes)? } else { of_text(file, &bytes)? };
    if imported.value.is_empty() {
        return Err(ImportError::new(file.name, "there is no run of reads or writes in it")
            .hint("name the result file of a benchmark that read or wrote"));
    }
    if imported.value.len() > READINGS_MAX {
        let many = imported.value.len();
        return Err(ImportError::new(file.name, format!("it holds {many} runs, more than {READINGS_MAX}"))
            .hint("give fewer runs, or their means"));
    }
    Ok(imported)
}

fn of_json(file: File<'_>, bytes: &[u8]) -> Result<Imported<Vec<Reading>>, ImportError> {
    let found = |key: &[u8]| bytes.windows(key.len()).any(|window| window == key);
    if found(b"\"total_time_run\"") {
        return rados::read_json(file, bytes);
    }
    if found(b"\"jobs\"") || found(b"\"client_stats\"") {
        return fio::read(file, bytes);
    }
    Err(ImportError::new(file.name, "this JSON is neither fio's nor that of rados bench")
        .hint("fio writes it with `--output-format=json`, rados bench with `--format json`"))
}

fn of_text(file: File<'_>, bytes: &[u8]) -> Result<Imported<Vec<Reading>>, ImportError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        ImportError::new(file.name, format!("it is no text: byte {at} is no UTF-8"))
            .hint("name a CSV, JSON or text file that a benchmark wrote")
    })?;
    if text.lines().any(|line| line.trim_start().starts_with("Total time run:")) {
        return rados::read_text(file, text);
    }
    let table = table::Table::parse(file, text)?;
    if table.has("Op-Type") {
        return cosbench::read(&table);
    }
    if table.has("operation") && table.has("block size") {
        return elbencho::read(&table);
    }
    if table.has("ops_ended") || table.has("duration_ns") {
        return warp::read(&table);
    }
    if table.has("size") || table.has("read_percent") || table.has("iops") {
        return ours::read(&table);
    }
    let head = table.head_in_short();
    let error = if table.has("Timestamp") && table.has("Op-Count") {
        ImportError::new(file.name, "this is COSBench's course of one stage, without totals")
            .hint("name the file of the whole workload, such as `archive/w1-name/w1-name.csv`")
    } else {
        ImportError::new(file.name, format!("this is no result of a benchmark that is known; it begins with `{head}`"))
            .hint("read are fio's JSON, the CSV of COSBench, elbencho and warp, rados bench, and CSV with the columns system,size,read_percent,iops,run")
    };
    Err(error)
}
