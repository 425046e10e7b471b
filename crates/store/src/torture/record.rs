//! The history of a torture run as a file, for checkers from outside: one operation a line, as JSON.
//!
//! The operations of a round are written while its clients pause. Operations without an answer are there too:
//! a client that gets none gives up, and the run fails.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use towtank_replication::history::{Act, Operation};

use super::{History, load};
use crate::StoreError;

/// Where the operations of a run are written; the default is nowhere.
#[derive(Debug, Default)]
pub struct Record(Option<BufWriter<File>>);

/// An operation that was called and not answered. For a write or a removal, whether it was done is unknown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unanswered {
    /// The client.
    pub client: u32,
    /// The object.
    pub object: u32,
    /// When it was called.
    pub called: u64,
    /// What it sets; none for a read, whose value is unknown.
    pub set: Option<Option<u64>>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Write,
    Remove,
    Read,
}

/// A line of the file.
#[derive(Serialize)]
struct Line<'a> {
    round: u64,
    object: &'a str,
    /// None for the read at the end of a round.
    client: Option<u32>,
    kind: What,
    /// Left out if it is unknown; `null` if there is no object.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Option<u64>>,
    called_ns: u64,
    answered_ns: Option<u64>,
}

impl Record {
    /// Opens a file, and makes it if it does not exist. What it holds stays until the run begins, so that a
    /// run that is refused leaves it as it was.
    ///
    /// # Errors
    /// When the file cannot be made or written.
    pub fn open(path: &Path) -> io::Result<Record> {
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        Ok(Record(Some(BufWriter::new(file))))
    }

    /// Removes what the file held before. A pipe has no length to set.
    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        let file = file.get_mut();
        let emptied = file.metadata().map(|known: fs::Metadata| known.is_file());
        emptied.and_then(|is_file| if is_file { file.set_len(0) } else { Ok(()) }).map_err(failed)
    }

    /// Writes operations that were answered; `client` is none for the reads at the end of a round.
    pub(super) fn answered(
        &mut self,
        round: u64,
        client: Option<u32>,
        history: &History,
    ) -> Result<(), StoreError> {
        for (object, operations) in history {
            let object = load::name(*object);
            for Operation { called, answered, act } in operations {
                let (kind, value) = match *act {
                    Act::Set(value) => (kind_of(value), value),
                    Act::Read(value) => (What::Read, value),
                };
                self.line(&Line {
                    round,
                    object: &object,
                    client,
                    kind,
                    value: Some(value),
                    called_ns: *called,
                    answered_ns: Some(*answered),
                })?;
            }
        }
        self.flush()
    }

    /// Writes operations without an answer.
    pub(super) fn unanswered(&mut self, round: u64, all: &[Unanswered]) -> Result<(), StoreError> {
        for Unanswered { client, object, called, set } in all {
            self.line(&Line {
                round,
                object: &load::name(*object),
                client: Some(*client),
                kind: set.map_or(What::Read, kind_of),
                value: *set,
                called_ns: *called,
                answered_ns: None,
            })?;
        }
        self.flush()
    }

    fn line(&mut self, line: &Line<'_>) -> Result<(), StoreError> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        serde_json::to_writer(&mut *file, line).map_err(io::Error::from).map_err(failed)?;
        file.write_all(b"\n").map_err(failed)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.0.as_mut().map_or(Ok(()), |file| file.flush().map_err(failed))
    }
}

fn kind_of(set: Option<u64>) -> What {
    if set.is_some() { What::Write } else { What::Remove }
}

fn failed(error: io::Error) -> StoreError {
    StoreError::Refused(format!("cannot write the history: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_left_out_and_what_is_absent_is_null() {
        let path = std::env::temp_dir().join(format!("towtank-history-{}", std::process::id()));
        fs::write(&path, "what another run has left, which is longer than a line of this one\n".repeat(20))
            .expect("it can be written");
        let mut record = Record::open(&path).expect("it can be made");
        assert!(fs::metadata(&path).expect("it is there").len() > 0, "no run has begun");
        record.begin().expect("it can be emptied");
        let operation = |called, act| Operation { called, answered: called + 1, act };
        let acts = [Act::Set(Some(7)), Act::Set(None), Act::Read(None)];
        let all = acts.iter().zip([1, 3, 5]).map(|(act, called)| operation(called, *act)).collect();
        record.answered(1, Some(2), &History::from([(4, all)])).expect("it can be written");
        let read = vec![operation(9, Act::Read(Some(7)))];
        record.answered(1, None, &History::from([(4, read)])).expect("it can be written");
        let lost = |called, set| Unanswered { client: 0, object: 5, called, set };
        record
            .unanswered(2, &[lost(11, Some(Some(8))), lost(12, Some(None)), lost(13, None)])
            .expect("it can be written");
        let text = fs::read_to_string(&path).expect("it is there");
        fs::remove_file(&path).expect("it is there");
        let want = [
            r#"{"round":1,"object":"object 4","client":2,"kind":"write","value":7,"called_ns":1,"answered_ns":2}"#,
            r#"{"round":1,"object":"object 4","client":2,"kind":"remove","value":null,"called_ns":3,"answered_ns":4}"#,
            r#"{"round":1,"object":"object 4","client":2,"kind":"read","value":null,"called_ns":5,"answered_ns":6}"#,
            r#"{"round":1,"object":"object 4","client":null,"kind":"read","value":7,"called_ns":9,"answered_ns":10}"#,
            r#"{"round":2,"object":"object 5","client":0,"kind":"write","value":8,"called_ns":11,"answered_ns":null}"#,
            r#"{"round":2,"object":"object 5","client":0,"kind":"remove","value":null,"called_ns":12,"answered_ns":null}"#,
            r#"{"round":2,"object":"object 5","client":0,"kind":"read","called_ns":13,"answered_ns":null}"#,
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), want);
    }
}
