//! fio's JSON (`--output-format=json` or `json+`), version 3: jobs of one group, that is without `stonewall`
//! between them, ran concurrently and form one run.
//!
//! Jobs of one size add up. Jobs of several sizes form a mix whose shares are of operations in flight, by
//! `iodepth`; a job with `bssplit` is a mix whose shares are of operations. The size in a job's options is
//! checked against the bytes that it moved, which detects jobs that `group_reporting` hid behind the options
//! of the first one.

mod job;
mod size;

use serde::Deserialize;

use super::{Part, Reading, Shares};
use crate::envelope;
use crate::{File, ImportError, Imported};
use job::{Job, Options};

/// Jobs of a run whose durations differ by more than this factor did not load the system together.
const APART: f64 = 1.2;

#[derive(Deserialize)]
struct Output {
    #[serde(default, rename = "global options")]
    global: Options,
    #[serde(default)]
    jobs: Vec<Job>,
    #[serde(default)]
    client_stats: Vec<Job>,
}

/// The contribution of one job to a run.
struct Stream {
    parts: Vec<Part>,
    shares: Shares,
    /// The requested read share, if all parts have the same.
    asked: f64,
    reads: f64,
    writes: f64,
    depth: f64,
    seconds: f64,
    place: String,
}

pub(super) fn read(file: File<'_>, bytes: &[u8]) -> Result<Imported<Vec<Reading>>, ImportError> {
    let Imported { value: output, mut notes } = envelope::read_json::<Output>(file, bytes)
        .map_err(|error| error.hint("it should be the output of `fio --output-format=json`"))?;
    let clients = output.jobs.is_empty() && !output.client_stats.is_empty();
    let (key, jobs) = if clients { ("client_stats", output.client_stats) } else { ("jobs", output.jobs) };
    let mut runs: Vec<(u64, Vec<Stream>)> = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        // This entry is the sum of the others.
        if clients && job.name == "All clients" {
            continue;
        }
        let place = format!("{key}[{at}]");
        let stream = job.stream(file, &output.global, &place)?;
        let after_others = job.waits(&output.global);
        match runs.last_mut() {
            Some((group, streams)) if *group == job.group || !after_others => {
                *group = job.group;
                streams.push(stream);
            }
            _ => runs.push((job.group, vec![stream])),
        }
    }
    let readings =
        runs.iter().map(|(_, streams)| one(file, streams, &mut notes)).collect::<Result<_, _>>()?;
    Ok(Imported { value: readings, notes })
}

/// The run that concurrent streams form.
fn one(file: File<'_>, streams: &[Stream], notes: &mut Vec<String>) -> Result<Reading, ImportError> {
    let place = streams[0].place.clone();
    let longest = streams.iter().map(|stream| stream.seconds).fold(0.0, f64::max);
    let shortest = streams.iter().map(|stream| stream.seconds).fold(f64::INFINITY, f64::min);
    if longest > APART * shortest {
        notes.push(format!(
            "`{}`: {place}: jobs of one run took {shortest:.0} s and {longest:.0} s, so they did not all load the system together",
            file.name
        ));
    }
    if streams.iter().map(|stream| stream.depth).sum::<f64>() <= 1.0 {
        notes.push(format!(
            "`{}`: {place}: one operation at a time shows the latency of the system, not its capacity",
            file.name
        ));
    }
    let (reads, writes) =
        streams.iter().fold((0.0, 0.0), |(r, w), stream| (r + stream.reads, w + stream.writes));
    let iops = reads + writes;
    let reading = |parts, shares| Reading { system: None, parts, shares, iops, place: place.clone() };
    if let [only] = streams {
        return Ok(reading(only.parts.clone(), only.shares));
    }
    if streams.iter().any(|stream| stream.parts.len() > 1) {
        let same = streams.iter().all(|stream| stream.parts == streams[0].parts);
        if same {
            return Ok(reading(streams[0].parts.clone(), streams[0].shares));
        }
        return Err(ImportError::new(
            file.name,
            "jobs of one run have different mixes of sizes, which shares cannot describe",
        )
        .key(place)
        .hint("run them one after the other (`stonewall`), or give them one `bssplit`"));
    }
    let size_bytes = streams[0].parts[0].size_bytes;
    if streams.iter().all(|stream| stream.parts[0].size_bytes == size_bytes) {
        let asked = streams[0].asked;
        let same = streams.iter().all(|stream| stream.asked == asked);
        let read_percent = if same { asked } else { (100.0 * reads / iops).round().clamp(1.0, 99.0) };
        return Ok(reading(vec![Part::alone(size_bytes, read_percent)], Shares::Operations));
    }
    Ok(reading(by_depth(streams), Shares::Concurrency))
}

/// Streams of several sizes: one part per size and read share, with its share of the operations in flight.
fn by_depth(streams: &[Stream]) -> Vec<Part> {
    let all: f64 = streams.iter().map(|stream| stream.depth).sum();
    let mut parts: Vec<Part> = Vec::new();
    for stream in streams {
        let share_percent = 100.0 * stream.depth / all;
        let part = Part { share_percent, ..stream.parts[0] };
        let same =
            |one: &&mut Part| one.size_bytes == part.size_bytes && one.read_percent == part.read_percent;
        match parts.iter_mut().find(same) {
            Some(one) => one.share_percent += share_percent,
            None => parts.push(part),
        }
    }
    parts
}
