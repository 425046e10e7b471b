//! A trace that an application replays: the keys of its section, and its records in the form of the model.
//!
//! Streams of the trace (volumes, processes, ranks) are assigned to the application's clients in order of
//! first appearance. Where a format has no streams, its files are assigned instead in an open loop, and all
//! records form one stream in a closed one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_pfs::{END_MAX, Loop as Pace, Operation, RECORD_MAX_BYTES, Record, Replay, Stripe};
use towtank_report::{Warning, human};
use towtank_scenario::{Draft, Problem};
use towtank_traces::{Format, Op, Options, Reader, Record as Read, TraceError, When, read_layouts};
use towtank_units::{SimSpan, SimTime};

/// The maximum number of records, which take 3 GiB.
const RECORDS_MAX: u64 = 100_000_000;
/// The maximum number of clients that replay a trace where the scenario does not set it.
const CLIENTS_MAX: u32 = 64;
/// The maximum stripe size in a file of layouts: a round of 65,536 of them still fits the integer type.
const STRIPE_MAX_BYTES: u64 = 1 << 45;
/// Units of a speed, which is a whole number of millionths.
const MILLION: u64 = 1_000_000;

/// A recorded list of requests for clients to replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// A trace to replay, in one of the formats of docs/traces.md; it may be compressed by gzip or zstd.
    pub file: String,
    /// The format of the trace, such as `msr` or `fio-v3`. Left out: detected from its first lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Which application replays the trace, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// When requests start: at their recorded times (`open`), or when the one before is done (`closed`). Left
    /// out: `closed` for formats with waits between requests, else `open`.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub pace: Option<Loop>,
    /// Speed relative to the recording: times and waits are divided by it.
    #[serde(default = "once")]
    #[schemars(example = "2x")]
    pub speed: String,
    /// Layouts of files of the trace: a file of lines `file [server stripe] [server stripe] ...`, as PFSsim
    /// has them, with the file numbers of the trace. Files that it does not name have the common layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layouts: Option<String>,
    /// Maximum number of records, from the beginning of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
}

/// When recorded requests start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Loop {
    /// At their recorded times.
    Open,
    /// When the one before is done, after a wait if the trace has one.
    Closed,
}

fn once() -> String {
    "1x".to_owned()
}

/// A trace that has been read.
pub struct Recording {
    /// The section with all defaults filled in.
    pub trace: Trace,
    /// The records; their clients are the streams of the trace.
    records: Vec<Record>,
    /// The number of streams of the trace.
    pub streams: u32,
    /// Whether the trace has waits between one request and the next.
    pub waits: bool,
    /// Notes for the user on how it is replayed.
    pub notes: Vec<Warning>,
    /// Memory that the file takes, in bytes.
    pub file_bytes: u64,
    /// The number of each file in the model, by its number in the trace.
    files: Numbers,
    /// The layouts of files that have one of their own.
    layouts: BTreeMap<u32, Vec<Stripe>>,
}

impl Recording {
    /// The default number of clients: the streams of the trace, up to a limit.
    pub fn clients(&self) -> u32 {
        self.streams.clamp(1, CLIENTS_MAX)
    }

    /// Whether requests come in an open or a closed loop.
    pub fn pace(&self) -> Loop {
        self.trace.pace.unwrap_or(Loop::Open)
    }

    /// The replay with its streams assigned to this many clients.
    pub(super) fn dealt(mut self, clients: u32) -> Replay {
        for record in &mut self.records {
            record.client %= clients.max(1);
        }
        let pace = match self.pace() {
            Loop::Open => Pace::Open,
            Loop::Closed => Pace::Closed,
        };
        Replay::new(pace, clients.max(1), self.records).with_layouts(self.layouts)
    }

    /// Adds the layouts of its files, if the trace's section names a file of layouts.
    ///
    /// # Errors
    /// What is wrong with that file, at the key that names it.
    pub(super) fn with_layouts(
        mut self,
        draft: &Draft,
        section: &str,
        servers: u32,
    ) -> Result<Recording, Problem> {
        if self.trace.layouts.is_none() {
            return Ok(self);
        }
        let key = format!("{section}.layouts");
        let input = draft.input(&key)?;
        let read = read_layouts(&input.path, &*input.bytes).map_err(|error| {
            let hint = error.hint.clone().unwrap_or_else(|| "correct the line".to_owned());
            draft.problem(&key, error.to_string()).hint(hint)
        })?;
        let named = read.len();
        for (file, layout) in read {
            let mut seen = BTreeSet::new();
            for stripe in &layout.stripes {
                let message = match stripe.server {
                    server if server >= servers => {
                        format!("`{}`: file {file} is on server {server} of {servers}", input.path)
                    }
                    server if !seen.insert(server) => {
                        format!("`{}`: file {file} is on server {server} twice", input.path)
                    }
                    _ if stripe.bytes > STRIPE_MAX_BYTES => {
                        format!("`{}`: file {file} has a stripe of {} bytes", input.path, stripe.bytes)
                    }
                    _ => continue,
                };
                let hint = format!("use servers 0 to {}, each at most once per line", servers - 1);
                return Err(draft.problem(&key, message).hint(hint));
            }
            if let Some(&number) = self.files.of.get(&file) {
                let stripe = |one: &towtank_traces::Stripe| Stripe { server: one.server, bytes: one.bytes };
                self.layouts.insert(number, layout.stripes.iter().map(stripe).collect());
            }
        }
        if self.layouts.len() < named {
            let digits = |count: usize| human::digits(count as f64);
            self.notes.push(Warning::note(format!(
                "{} of {} layouts of `{}` are for files that the trace does not name",
                digits(named - self.layouts.len()),
                digits(named),
                input.path
            )));
        }
        Ok(self)
    }
}

impl Trace {
    /// Reads the trace. `section` is the key of its section; `syncs` says whether clients have caches,
    /// without which syncs have no effect.
    ///
    /// # Errors
    /// What is wrong with it, at the key that causes it.
    pub fn read(&self, draft: &Draft, section: &str, syncs: bool) -> Result<Recording, Problem> {
        let at = |key: &str| format!("{section}.{key}");
        let format = self.format.as_deref().map(str::parse::<Format>).transpose().map_err(|error| {
            draft.problem(&at("format"), error.to_string()).hint("leave it out to have it detected")
        })?;
        let speed = speed_of(&self.speed).ok_or_else(|| {
            let message = format!("`{}` is `{}`, which is not a speed", at("speed"), self.speed);
            draft
                .problem(&at("speed"), message)
                .hint("write it as 2x or 0.5x, above 0, with at most six decimals")
        })?;
        let input = draft.input(&at("file"))?;
        let refused = |error: TraceError| {
            let hint =
                error.hint.clone().unwrap_or_else(|| "correct the line, or get the trace again".to_owned());
            draft.problem(&at("file"), error.to_string()).hint(hint)
        };
        let mut reader =
            Reader::open(&input.path, &*input.bytes, format, Options::default()).map_err(refused)?;
        let format = reader.format();
        let pace = self.pace.unwrap_or(if has_waits(format) { Loop::Closed } else { Loop::Open });
        if pace == Loop::Open && has_waits(format) {
            let message =
                format!("a trace of `{format}` has waits between its requests and no times for an open loop");
            return Err(draft.problem(&at("loop"), message).hint("leave `loop` out, or set it to closed"));
        }
        let mut taken = Taken { syncs, ..Taken::new(format, pace, speed) };
        for record in
            (&mut reader).take(usize::try_from(self.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX))
        {
            taken.take(&record.map_err(refused)?);
            if taken.all > RECORDS_MAX {
                let message = format!("`{}` has more than {RECORDS_MAX} records", input.path);
                return Err(draft
                    .problem(&at("file"), message)
                    .hint("limit the number of records: --trace-limit N"));
            }
        }
        taken.finish();
        if taken.records.is_empty() {
            return Err(draft
                .problem(&at("file"), taken.why_nothing(&input.path))
                .hint("check that it is complete, or set its format"));
        }
        let trace = Trace {
            format: Some(format.to_string()),
            application: None,
            pace: Some(pace),
            speed: text_of(speed),
            ..self.clone()
        };
        let notes = taken.notes(&input.path);
        let Taken { records, streams, files, .. } = taken;
        let file_bytes = input.bytes.len() as u64;
        let streams = streams.len().max(1) as u32;
        Ok(Recording {
            trace,
            records,
            streams,
            waits: has_waits(format),
            notes,
            file_bytes,
            files,
            layouts: BTreeMap::new(),
        })
    }
}

/// Whether a format gives the waits between requests.
fn has_waits(format: Format) -> bool {
    matches!(format, Format::Pfssim | Format::PfssimV013 | Format::FioV2)
}

/// Parses a speed such as `2x` into millionths.
fn speed_of(text: &str) -> Option<u64> {
    let number = text.trim().strip_suffix('x')?.trim_end();
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return None;
    }
    let millionths: u64 = format!("{part:0<6}").parse().ok()?;
    let speed = whole.parse::<u64>().ok()?.checked_mul(MILLION)?.checked_add(millionths)?;
    (speed > 0).then_some(speed)
}

fn text_of(speed: u64) -> String {
    let text = format!("{}.{:06}", speed / MILLION, speed % MILLION);
    format!("{}x", text.trim_end_matches('0').trim_end_matches('.'))
}

/// How many of the numbers given last are kept where they are found without a search.
const RECENT: usize = 1_024;

/// Assigns consecutive numbers from 0 in order of first appearance.
#[derive(Default)]
struct Numbers {
    of: BTreeMap<u64, u32>,
    /// The name last numbered and its number, by the name's remainder.
    recent: Vec<Option<(u64, u32)>>,
}

impl Numbers {
    fn number(&mut self, name: u64) -> u32 {
        self.recent.resize(RECENT, None);
        let recent = &mut self.recent[name as usize % RECENT];
        if let Some((_, number)) = recent.filter(|(last, _)| *last == name) {
            return number;
        }
        let next = self.of.len() as u32;
        let number = *self.of.entry(name).or_insert(next);
        *recent = Some((name, number));
        number
    }

    fn len(&self) -> usize {
        self.of.len()
    }
}

/// Converts records of the trace to those of the model.
struct Taken {
    format: Format,
    pace: Loop,
    speed: u64,
    records: Vec<Record>,
    /// The number of all records of the trace.
    all: u64,
    streams: Numbers,
    files: Numbers,
    /// For formats that do not always give sizes: the largest size of each file, and the records that wait
    /// for it.
    sizes: BTreeMap<u32, u64>,
    unsized_records: Vec<usize>,
    left_out: BTreeMap<&'static str, u64>,
    /// The instant of the previous record, where it had one.
    last: Option<SimTime>,
    /// Records that are earlier than the one before them.
    back: u64,
    /// Records at an instant behind one that waits.
    at_once: u64,
    /// Whether syncs are replayed.
    syncs: bool,
}

impl Taken {
    fn new(format: Format, pace: Loop, speed: u64) -> Taken {
        Taken {
            format,
            pace,
            speed,
            records: Vec::new(),
            all: 0,
            streams: Numbers::default(),
            files: Numbers::default(),
            sizes: BTreeMap::new(),
            unsized_records: Vec::new(),
            left_out: BTreeMap::new(),
            last: None,
            back: 0,
            at_once: 0,
            syncs: false,
        }
    }

    fn leave_out(&mut self, reason: &'static str) {
        *self.left_out.entry(reason).or_default() += 1;
    }

    fn take(&mut self, read: &Read) {
        self.all += 1;
        let (at, from_start) = self.at(read.at);
        let operation = match read.op {
            Op::Read => Operation::Read,
            Op::Write => Operation::Write,
            Op::Open => Operation::Open,
            Op::Stat => Operation::Stat,
            Op::Delete => Operation::Remove,
            Op::Close => return self.leave_out("closes of files"),
            Op::Sync if self.syncs => Operation::Sync,
            Op::Sync => return self.leave_out("syncs"),
            Op::Trim => return self.leave_out("trims"),
            Op::Copy => return self.leave_out("copies by the server"),
            _ => return self.leave_out("of unknown operations"),
        };
        let moves = operation.moves_bytes();
        let (offset, size) = if moves { (read.offset.unwrap_or(0), read.size) } else { (0, Some(0)) };
        match size {
            Some(0) if moves => return self.leave_out("of no bytes"),
            Some(size) if size > RECORD_MAX_BYTES => return self.leave_out("of 4 GiB or more"),
            Some(size) if offset.checked_add(size).is_none_or(|end| end > END_MAX) => {
                return self.leave_out("beyond 1 EiB of a file");
            }
            None if offset > END_MAX - RECORD_MAX_BYTES => return self.leave_out("beyond 1 EiB of a file"),
            _ => {}
        }
        let file = self.files.number(read.file.unwrap_or(0));
        let stream = match self.pace {
            Loop::Open => read.stream.or(read.file),
            Loop::Closed => read.stream,
        };
        let client = self.streams.number(stream.unwrap_or(0));
        if self.format == Format::IbmCos {
            self.size_known(file, read.size, moves);
        }
        let bytes = size.map_or(0, |size| size as u32);
        self.records.push(Record { at, offset, bytes, file, client, operation, from_start });
    }

    /// When a record is due: counted from the beginning in an open loop, a wait in a closed one.
    fn at(&mut self, when: When) -> (SimSpan, bool) {
        let before = self.last.take();
        let scaled = |span: SimSpan| {
            let ns = u128::from(span.as_ns()) * u128::from(MILLION) / u128::from(self.speed);
            SimSpan::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
        };
        match when {
            When::AfterEnd(wait) => (scaled(wait), false),
            When::AfterStart(wait) => (scaled(wait), true),
            When::At(at) => {
                let since = |at: SimTime| scaled(at.since(SimTime::ZERO));
                let found = match (self.pace, before) {
                    // In a closed loop with waits: after the interval that the trace gives since the previous
                    // record, or at once if that has passed.
                    (Loop::Closed, Some(before)) if has_waits(self.format) => {
                        (scaled(at.checked_since(before).unwrap_or(SimSpan::ZERO)), true)
                    }
                    (Loop::Closed, None) if has_waits(self.format) && self.all == 1 => (since(at), false),
                    (Loop::Closed, None) if has_waits(self.format) => {
                        self.at_once += 1;
                        (SimSpan::ZERO, false)
                    }
                    _ => (since(at), false),
                };
                self.back += u64::from(before.is_some_and(|before| at < before));
                self.last = Some(at);
                found
            }
        }
    }

    fn size_known(&mut self, file: u32, size: Option<u64>, moves: bool) {
        match size {
            Some(size) => {
                let largest = self.sizes.entry(file).or_default();
                *largest = size.max(*largest);
            }
            None if moves => self.unsized_records.push(self.records.len()),
            None => {}
        }
    }

    /// Called after the last record: records without a size get the largest of their file, and those of a
    /// closed loop without waits come one after the other.
    fn finish(&mut self) {
        for index in std::mem::take(&mut self.unsized_records) {
            let record = &mut self.records[index];
            let size = self.sizes.get(&record.file).copied().unwrap_or(0);
            record.bytes = size.min(RECORD_MAX_BYTES) as u32;
        }
        let before = self.records.len();
        self.records.retain(|one| !one.operation.moves_bytes() || one.bytes > 0);
        let unknown = (before - self.records.len()) as u64;
        if unknown > 0 {
            self.left_out.insert("of unknown size", unknown);
        }
        self.records.shrink_to_fit();
        if self.pace == Loop::Closed && !has_waits(self.format) {
            self.records.sort_by_key(|one| one.at);
            self.records.iter_mut().for_each(|one| one.at = SimSpan::ZERO);
        }
    }

    /// Why no record of the trace can be replayed.
    fn why_nothing(&self, path: &str) -> String {
        match self.all {
            0 => format!("`{path}` has no records"),
            all => format!("none of the {all} records of `{path}` can be replayed: {}", self.why_left_out()),
        }
    }

    /// How many records are not replayed, and why.
    fn why_left_out(&self) -> String {
        let mut text = String::new();
        for (reason, count) in &self.left_out {
            let comma = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{comma}{} {reason}", human::digits(*count as f64));
        }
        text
    }

    fn notes(&self, path: &str) -> Vec<Warning> {
        let digits = |count: u64| human::digits(count as f64);
        let mut notes = Vec::new();
        let left_out: u64 = self.left_out.values().sum();
        if left_out > 0 {
            let (left_out, all) = (digits(left_out), digits(self.all));
            let why = self.why_left_out();
            let text = format!("{left_out} of {all} records of `{path}` are not replayed: {why}");
            notes.push(Warning::unknown(text));
        }
        if self.back > 0 && !has_waits(self.format) {
            let back = digits(self.back);
            notes.push(Warning::note(format!(
                "{back} records of `{path}` are earlier than the one before them: each client replays its records in order of time"
            )));
        }
        if self.at_once > 0 {
            let count = digits(self.at_once);
            notes.push(Warning::note(format!(
                "{count} records of `{path}` have a time, but follow one with a wait: they start when the one before has ended"
            )));
        }
        notes
    }
}

#[cfg(test)]
mod tests;
