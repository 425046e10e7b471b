//! `rados bench` of Ceph 10 to 19, as text and as JSON (`--format json`, where numbers are quoted).
//!
//! A run either writes or reads. Its rate is the number of operations divided by the duration, not the
//! rounded number that is printed.

use serde::Deserialize;
use serde_json::Value;

use super::{Part, Reading, Shares};
use crate::envelope;
use crate::{File, ImportError, Imported};

/// Shorter runs get a note: seq reads end when everything that was written has been read.
const SECONDS_FEW: f64 = 5.0;

#[derive(Deserialize)]
struct Summary {
    total_time_run: Value,
    total_writes_made: Option<Value>,
    total_reads_made: Option<Value>,
    write_size: Option<Value>,
    read_size: Option<Value>,
}

pub(super) fn read_json(file: File<'_>, bytes: &[u8]) -> Result<Imported<Vec<Reading>>, ImportError> {
    let Imported { value: summary, mut notes } = envelope::read_json::<Summary>(file, bytes)
        .map_err(|error| error.hint("it should be the output of `rados bench --format json`"))?;
    let number = |key: &str, value: &Option<Value>| {
        let value = value.as_ref().ok_or_else(|| ImportError::new(file.name, "it is missing").key(key))?;
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        number.ok_or_else(|| ImportError::new(file.name, format!("{value} is not a number")).key(key))
    };
    let seconds = number("total_time_run", &Some(summary.total_time_run))?;
    let run = match summary.total_reads_made {
        Some(_) => Run {
            seconds,
            made: number("total_reads_made", &summary.total_reads_made)?,
            size: number("read_size", &summary.read_size)?,
            reads: true,
        },
        None => Run {
            seconds,
            made: number("total_writes_made", &summary.total_writes_made)?,
            size: number("write_size", &summary.write_size)?,
            reads: false,
        },
    };
    let reading = run.reading(file, "total_time_run", &mut notes)?;
    Ok(Imported { value: vec![reading], notes })
}

/// The totals at the end of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    seconds: f64,
    made: f64,
    size: f64,
    reads: bool,
}

impl Run {
    fn reading(self, file: File<'_>, place: &str, notes: &mut Vec<String>) -> Result<Reading, ImportError> {
        let wrong = |reason: String| Err(ImportError::new(file.name, reason).key(place));
        let Run { seconds, made, size, reads } = self;
        if !(seconds.is_finite() && seconds > 0.0) {
            return wrong(format!("a run of {seconds} s is not usable"));
        }
        if !(made.is_finite() && made > 0.0) {
            return wrong("nothing was read or written in this run".to_owned());
        }
        if !(1.0..9e15).contains(&size) {
            return wrong(format!("{size} is not an operation size"));
        }
        if seconds < SECONDS_FEW {
            notes.push(format!("`{}`: {place}: the run took only {seconds:.2} s", file.name));
        }
        let read_percent = if reads { 100.0 } else { 0.0 };
        let parts = vec![Part::alone(size as u64, read_percent)];
        Ok(Reading {
            system: None,
            parts,
            shares: Shares::Operations,
            iops: made / seconds,
            place: place.to_owned(),
        })
    }
}

/// Text of one or more runs, one after the other.
pub(super) fn read_text(file: File<'_>, text: &str) -> Result<Imported<Vec<Reading>>, ImportError> {
    let (mut readings, mut notes) = (Vec::new(), Vec::new());
    let mut started: Option<(usize, f64)> = None;
    let mut made: Option<(f64, bool)> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let place = format!("line {}", at + 1);
        refuse_errors(file, line, &place)?;
        let Some((name, value)) = line.split_once(':') else { continue };
        let number = || {
            let first = value.split_whitespace().next().unwrap_or_default();
            first.parse::<f64>().map_err(|_| {
                ImportError::new(file.name, format!("`{first}` is not a number"))
                    .key(format!("{place}, {name}"))
            })
        };
        match name.trim() {
            "Total time run" => {
                complete(file, &started)?;
                started = Some((at + 1, number()?));
                made = None;
            }
            "Total writes made" => made = Some((number()?, false)),
            "Total reads made" => made = Some((number()?, true)),
            "Write size" | "Read size" => {
                if let (Some((line, seconds)), Some((made, reads))) = (started.take(), made.take()) {
                    let run = Run { seconds, made, size: number()?, reads };
                    readings.push(run.reading(file, &format!("line {line}"), &mut notes)?);
                }
            }
            _ => {}
        }
    }
    complete(file, &started)?;
    Ok(Imported { value: readings, notes })
}

/// The totals of a run must be complete.
fn complete(file: File<'_>, started: &Option<(usize, f64)>) -> Result<(), ImportError> {
    match started {
        None => Ok(()),
        Some((line, _)) => Err(ImportError::new(file.name, "the totals of the run are incomplete")
            .key(format!("line {line}"))
            .hint("keep everything that rados bench prints, down to `Min latency`")),
    }
}

fn refuse_errors(file: File<'_>, line: &str, place: &str) -> Result<(), ImportError> {
    let failed = line.ends_with("is not correct!")
        || line.starts_with("read got -")
        || line.starts_with("write got -")
        || line.starts_with("error during benchmark");
    if failed {
        return Err(ImportError::new(file.name, format!("the run had errors: `{line}`"))
            .key(place)
            .hint("fix the cause and measure again"));
    }
    Ok(())
}
