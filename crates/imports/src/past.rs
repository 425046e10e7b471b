//! What is kept of a recovery that happened: logs, answers of Prometheus, tables of Grafana, and what `ceph`
//! printed.
//!
//! [`read`] detects the format of a file and makes a [`Record`] of it: samples of how much was left, what was
//! seen of single devices, and counts of what devices recovered. Supported are `ceph.log` (also `ceph -w` and
//! `ceph log last`) of Ceph 14 to 19, Prometheus' answers to `query_range`, Grafana's CSV of joined series,
//! `ceph -s` and `ceph pg stat` (text or JSON) below the time at which each was asked, `ceph report`, `ceph
//! pg dump`, `ceph tell 'osd.*' perf dump`, and our own CSV.
//!
//! What a file does not say is missing, never 0. Ceph prints counts of objects that are above 0 alone, so a
//! whole summary without one says 0, and a summary that may be cut says nothing: it is left out, with a note.
//! Where a file says a number twice (a count and its share, a sum and its parts), both have to agree.
//!
//! Left out on purpose: joining several files, and what they mean.

mod dump;
mod instant;
mod log;
mod perf;
mod prometheus;
mod series;
mod stated;
mod summary;
mod tables;

use crate::ceph::GroupsInState;
use crate::envelope::{FILE_MAX_BYTES, GROUPS_MAX_BYTES, looks_like_json, unpack};
use crate::{File, ImportError, Imported};

pub use instant::Zone;

/// What the times of a record are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// 1970-01-01T00:00:00Z.
    Zoned,
    /// The same, but in the time of a machine whose zone the file does not say.
    Local,
    /// Some moment that the file does not say.
    Start,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// The cluster log.
    Log,
    /// An answer to `query_range`.
    Prometheus,
    /// A table, of Grafana or our own.
    Table,
    /// What `ceph -s` or `ceph pg stat` printed, each below its time.
    Status,
    /// `ceph report`.
    Report,
    /// `ceph pg dump`.
    Groups,
    /// `perf dump` of devices.
    Perf,
}

impl Format {
    /// What it is called in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Log => "a cluster log",
            Format::Prometheus => "an answer of Prometheus",
            Format::Table => "a table",
            Format::Status => "what `ceph` printed at some times",
            Format::Report => "a report",
            Format::Groups => "a dump of groups",
            Format::Perf => "counters of devices",
        }
    }
}

/// What one file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its format.
    pub format: Format,
    /// What its times are counted from.
    pub clock: Clock,
    /// The cluster, if the file says which.
    pub fsid: Option<String>,
    /// In the order of the file.
    pub samples: Vec<Sample>,
    /// In the order of the file.
    pub seen: Vec<Seen>,
    /// In the order of the file.
    pub work: Vec<Work>,
}

/// How much was left at one time. Missing is what the file does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Microseconds since the origin of the clock.
    pub at_us: i64,
    /// Its line in the file, from 1; 0 where it has none.
    pub line: usize,
    /// Copies and shards of objects that were missing.
    pub degraded: Option<u64>,
    /// Those that were not where they should be.
    pub misplaced: Option<u64>,
    /// Objects that were found on no device.
    pub unfound: Option<u64>,
    /// Copies and shards of all objects.
    pub copies: Option<u64>,
    /// Bytes that were recovered in a second.
    pub bytes_per_s: Option<f64>,
    /// Objects that were recovered in a second.
    pub objects_per_s: Option<f64>,
    /// Number of groups.
    pub groups: Option<u64>,
    /// Number of groups that were clean.
    pub clean: Option<u64>,
    /// Number of groups that were being backfilled.
    pub backfilling: Option<u64>,
    /// Number of groups that were being recovered by their logs.
    pub recovering: Option<u64>,
    /// How many groups were in each state; empty if the file does not say.
    pub states: Vec<GroupsInState>,
    /// Number of devices that were up.
    pub devices_up: Option<u64>,
    /// Number of devices that were in.
    pub devices_in: Option<u64>,
}

/// A device as it was seen at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Microseconds since the origin of the clock.
    pub at_us: i64,
    /// The line in the file, from 1; 0 where it has none.
    pub line: usize,
    /// The device.
    pub device: i32,
    /// What it was.
    pub is: Is,
    /// Whether it became so at this time; otherwise it may have been so before.
    pub since_then: bool,
}

/// What a device can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Is {
    /// Its daemon answers.
    Up,
    /// Its daemon does not answer.
    Down,
    /// Groups are placed on it.
    In,
    /// None are.
    Out,
}

/// Groups that a device led back to all copies in their places since its daemon started. A change of the map
/// that gives a group to another device begins its time anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rebuilt {
    /// How many.
    pub groups: u64,
    /// The sum of their times.
    pub seconds: f64,
    /// The shortest of them.
    pub shortest_s: Option<f64>,
    /// The longest of them.
    pub longest_s: Option<f64>,
}

/// What a device had recovered since its daemon started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Microseconds since the origin of the clock, if the file says when.
    pub at_us: Option<i64>,
    /// The device, if the file says which.
    pub device: Option<i32>,
    /// Objects whose recovery was started, and scans of backfills.
    pub objects: Option<u64>,
    /// Bytes of them.
    pub bytes: Option<u64>,
    /// Groups that it led, since 20.2.4.
    pub rebuilt: Option<Rebuilt>,
}

/// Microseconds of a time that a user gives: of RFC 3339, in the zone where it names none, or seconds.
#[must_use]
pub fn microseconds(text: &str, zone: Option<Zone>) -> Option<i64> {
    let seconds = || text.parse::<f64>().ok().filter(|seconds| seconds.abs() < 1e12);
    let instant = || instant::of(text).map(|instant| instant.within(zone).at_us);
    seconds().map(|seconds| (seconds * 1e6).round() as i64).or_else(instant)
}

/// The largest number of samples of a file: a log with one in 2 s reaches it after 23 days.
const SAMPLES_MAX: usize = 1_000_000;

/// Reads a file of any supported format. Times that a file gives without a zone are of `zone`.
///
/// # Errors
/// If it has none of these formats, is damaged, or says nothing of a recovery.
pub fn read(file: File<'_>, zone: Option<Zone>) -> Result<Imported<Record>, ImportError> {
    let bytes = unpack(file, GROUPS_MAX_BYTES)?;
    if let Some(archive) = archive(&bytes) {
        let reason = format!("it is {archive}, and is not unpacked here");
        return Err(ImportError::new(file.name, reason).hint("unpack it (tar -xf), and name the directory"));
    }
    let first = first_line(&bytes);
    let takes_little = is_log(&bytes) || has(&bytes, GROUPS_KEY);
    if !takes_little && bytes.len() as u64 > FILE_MAX_BYTES {
        let reason = format!("it has {} bytes, more than the limit of {FILE_MAX_BYTES}", bytes.len());
        return Err(ImportError::new(file.name, reason).hint("give the part of it around the event"));
    }
    let read = if instant::of_line(first).is_none() && !perf::begins(first) && looks_like_json(&bytes) {
        of_json(file, &bytes, zone)?
    } else {
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let at = error.valid_up_to();
            ImportError::new(file.name, format!("it is not text: byte {at} is not UTF-8")).hint(FORMATS)
        })?;
        of_text(file, text, zone)?
    };
    let Record { samples, seen, work, .. } = &read.value;
    if samples.is_empty() && seen.is_empty() && work.is_empty() {
        let name = read.value.format.name();
        return Err(ImportError::new(file.name, format!("it is {name}, and says nothing of a recovery"))
            .hint(read.notes.first().map_or(FORMATS, String::as_str)));
    }
    read.value.has_room(file)?;
    Ok(read)
}

const FORMATS: &str = "supported are ceph.log, answers of Prometheus to query_range, Grafana's CSV, `ceph -s` or `ceph pg \
                       stat` below the time at which it was asked, `ceph report -f json`, `ceph pg dump -f json`, perf dump, and \
                       CSV with the columns time,degraded_objects,misplaced_objects,bytes_per_s";

/// What kind of archive it is, if it is one: by the first bytes of compressed ones, and the word in the
/// header of a `tar` (POSIX.1-1988, `ustar`).
fn archive(bytes: &[u8]) -> Option<&'static str> {
    const COMPRESSED: [(&[u8], &str); 4] = [
        (b"\xfd7zXZ\x00", "compressed with xz"),
        (b"BZh", "compressed with bzip2"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    ];
    let is_tar = bytes.get(257..262) == Some(b"ustar");
    let compressed = COMPRESSED.iter().find(|(begin, _)| bytes.starts_with(begin)).map(|(_, what)| *what);
    compressed.or(is_tar.then_some("an archive of tar"))
}

/// The first line that is not blank.
fn first_line(bytes: &[u8]) -> &str {
    let lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.take(MANY_LINES).find(|line| !line.is_empty()).unwrap_or_default();
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    std::str::from_utf8(first).unwrap_or_default()
}

const MAY_BE_CUT: &str = "the file ends in the line, which may be cut";

/// Lines that are looked at to find out what a file is.
const MANY_LINES: usize = 200;

/// A key of a dump of groups alone.
const GROUPS_KEY: &[u8] = b"\"pg_stats_sum\"";

/// Whether the key is somewhere in the bytes.
fn has(bytes: &[u8], key: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| Some(byte) == key.first()) {
        if rest[at..].starts_with(key) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

fn is_log(bytes: &[u8]) -> bool {
    let lines = bytes.split(|&byte| byte == b'\n').take(MANY_LINES);
    lines.filter_map(|line| std::str::from_utf8(line).ok()).any(log::is_entry)
}

fn of_json(file: File<'_>, bytes: &[u8], zone: Option<Zone>) -> Result<Imported<Record>, ImportError> {
    let found = |key: &[u8]| has(bytes, key);
    if found(b"\"resultType\"") || found(b"\"errorType\"") {
        return prometheus::read(file, bytes);
    }
    if found(b"\"crushmap\"") && found(b"\"osdmap\"") {
        return dump::read_report(file, bytes, zone);
    }
    if found(GROUPS_KEY) {
        return dump::read_groups(file, bytes, zone);
    }
    if found(b"\"recovery_ops\"") || found(b"\"recoverystate_perf\"") {
        return perf::read(file, bytes);
    }
    if found(b"\"pgmap\"") || found(b"\"pg_summary\"") {
        return Err(ImportError::new(file.name, "it is what `ceph` printed, without the time")
            .hint(stated::TIME_FIRST));
    }
    Err(ImportError::new(file.name, "this JSON says nothing of a recovery").hint(FORMATS))
}

fn of_text(file: File<'_>, text: &str, zone: Option<Zone>) -> Result<Imported<Record>, ImportError> {
    let first = first_line(text.as_bytes());
    if instant::of_line(first).is_some() {
        return stated::read(file, text, zone);
    }
    if perf::begins(first) {
        return perf::read(file, text.as_bytes());
    }
    if is_log(text.as_bytes()) {
        return log::read(file, text, zone);
    }
    if stated::looks_like_status(text) {
        return Err(ImportError::new(file.name, "it is what `ceph` printed, without the time")
            .hint(stated::TIME_FIRST));
    }
    tables::read(file, text, zone)
}

impl Record {
    fn new(format: Format, clock: Clock) -> Self {
        Self { format, clock, fsid: None, samples: Vec::new(), seen: Vec::new(), work: Vec::new() }
    }

    /// Refuses what has too many samples.
    fn has_room(&self, file: File<'_>) -> Result<(), ImportError> {
        has_room(file, self.samples.len())
    }
}

/// Refuses what has too many samples.
fn has_room(file: File<'_>, samples: usize) -> Result<(), ImportError> {
    if samples <= SAMPLES_MAX {
        return Ok(());
    }
    Err(ImportError::new(file.name, format!("it has more than {SAMPLES_MAX} samples"))
        .hint("give the part of it around the event"))
}

/// Notes on what is left out of a file: how often, and why the first time.
#[derive(Default)]
struct LeftOut {
    count: usize,
    first: Option<(usize, String)>,
}

impl LeftOut {
    fn add(&mut self, line: usize, reason: impl Into<String>) {
        self.count += 1;
        self.first.get_or_insert_with(|| (line, reason.into()));
    }

    /// A sentence about them, if there are some; `what` is one of them, such as `line`.
    fn note(&self, file: &str, what: &str) -> Option<String> {
        let (line, reason) = self.first.as_ref()?;
        let also = match self.count {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        Some(format!("`{file}`: the {what} at line {line} is left out{also}: {reason}"))
    }
}
