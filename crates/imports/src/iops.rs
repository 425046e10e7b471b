//! Results of benchmarks: operations per second for a size and a read share, from the tools' output files.
//!
//! Supported are our own CSV, fio's JSON, COSBench's workload CSV, `rados bench` (text and JSON), elbencho's
//! CSV and warp's CSV (of `warp analyze`, or one row per operation). [`read`] detects the format. Only runs
//! that loaded the system to its limit are of use: runs with errors, with a rate limit or without any
//! operation are rejected, because no capacity can be derived from them.
//!
//! A file that is given twice is not two runs: [`Given`] refuses it. Left out on purpose: averages over runs,
//! and any other check of whether two files belong together.

mod cosbench;
mod elbencho;
mod fio;
mod given;
mod ours;
mod rados;
mod warp;

use crate::envelope::{FILE_MAX_BYTES, looks_like_json, unpack};
use crate::table::Table;
use crate::{File, ImportError, Imported};
pub use given::Given;

/// The maximum number of readings per file; a sweep of ten sizes, eleven ratios and a hundred runs has
/// 11,000.
const READINGS_MAX: usize = 100_000;
/// The maximum number of sizes in a mix; fio's `bssplit` accepts 64.
const PARTS_MAX: usize = 64;

/// One run of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The name of the system, if the file gives it.
    pub system: Option<String>,
    /// The requested sizes: one, or a mix.
    pub parts: Vec<Part>,
    /// What the shares of the parts refer to.
    pub shares: Shares,
    /// Operations per second, reads and writes together.
    pub iops: f64,
    /// The place in the file: `line 3`, `jobs[0]`.
    pub place: String,
}

/// A size in a mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Bytes per operation.
    pub size_bytes: u64,
    /// Its share; the shares of all parts add up to 100.
    pub share_percent: f64,
    /// The percentage of its operations that are reads.
    pub read_percent: f64,
}

/// What a share of a mix refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shares {
    /// Operations: one stream that chooses a size for each operation.
    #[default]
    Operations,
    /// Operations in flight: one stream per size, each with its own depth.
    Concurrency,
    /// The capacity of the system.
    Capacity,
}

impl Shares {
    /// The names in files and flags.
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

/// Reads or writes as counted by a tool, with their size.
#[derive(Clone, Copy, Debug)]
struct Counted {
    iops: f64,
    size_bytes: u64,
}

/// A run whose reads and writes were counted separately: of one size, or of one size for reads and another
/// for writes.
fn of_both(reads: Option<Counted>, writes: Option<Counted>, asked: Option<f64>) -> Option<(Vec<Part>, f64)> {
    let (reads, writes) = (reads.filter(|some| some.iops > 0.0), writes.filter(|some| some.iops > 0.0));
    match (reads, writes) {
        (Some(reads), Some(writes)) => {
            let iops = reads.iops + writes.iops;
            let percent = 100.0 * reads.iops / iops;
            if reads.size_bytes == writes.size_bytes {
                // Rounded to a whole percent: runs of one mix scatter around the requested share, and should
                // be recognised as one mix.
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

/// Reads a benchmark's file of any supported format.
///
/// # Errors
/// If it has none of these formats, is damaged, or holds a run from which no capacity can be derived.
pub fn read(file: File<'_>) -> Result<Imported<Vec<Reading>>, ImportError> {
    if file.bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Err(ImportError::new(file.name, "it is compressed with zstd, which is not supported")
            .hint("decompress it first: `zstd -d FILE`"));
    }
    let bytes = unpack(file, FILE_MAX_BYTES)?;
    let imported = if looks_like_json(&bytes) { of_json(file, &bytes)? } else { of_text(file, &bytes)? };
    if imported.value.is_empty() {
        return Err(ImportError::new(file.name, "it contains no run of reads or writes")
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
        ImportError::new(file.name, format!("it is not text: byte {at} is not UTF-8"))
            .hint("name a CSV, JSON or text file that a benchmark wrote")
    })?;
    if text.lines().any(|line| line.trim_start().starts_with("Total time run:")) {
        return rados::read_text(file, text);
    }
    let table = Table::parse(file, text)?;
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
        ImportError::new(file.name, format!("this is not a known benchmark result; it begins with `{head}`"))
            .hint("supported formats: fio's JSON, the CSV of COSBench, elbencho and warp, rados bench, and CSV with the columns system,size,read_percent,iops,run")
    };
    Err(error)
}
