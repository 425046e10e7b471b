//! The output of darshan-dxt-parser: a heading per file and rank, followed by its calls. Times count from the
//! start of the job, in steps of 0.1 ms, and start again for each file and rank.

use towtank_units::{SimSpan, SimTime};

use super::Parsed;
use crate::error::Fault;
use crate::fields::Row;
use crate::names::Names;
use crate::options::IoLayer;
use crate::record::{Op, Record, When};

const COLUMNS: [&str; 8] = ["Module", "Rank", "Wt/Rd", "Segment", "Offset", "Length", "Start(s)", "End(s)"];
const NAME: &[u8] = b"file_name:";

/// Whether a comment was written by Darshan.
pub(crate) fn is_darshan(line: &[u8]) -> bool {
    line.starts_with(b"# darshan") || line.starts_with(b"# DXT")
}

/// A text, and the file named in its last heading.
pub(crate) struct Text {
    kept: &'static [u8],
    file: Option<u64>,
}

impl Text {
    pub(super) fn new(layer: IoLayer) -> Text {
        let kept: &[u8] = match layer {
            IoLayer::Posix => b"X_POSIX",
            IoLayer::MpiIo => b"X_MPIIO",
        };
        Text { kept, file: None }
    }

    pub(super) fn parse(&mut self, line: &[u8], names: &mut Names) -> Parsed {
        if line.starts_with(b"#") {
            if let Some(at) = line.windows(NAME.len()).position(|part| part == NAME)
                && line.starts_with(b"# DXT")
            {
                self.file = Some(names.number(line[at + NAME.len()..].trim_ascii())?);
            }
            return Ok(None);
        }
        let mut row = Row::words(line, &COLUMNS);
        let module = row.cell()?;
        if !module.text.starts_with(b"X_") {
            return Err(module.none_of("`X_POSIX` or `X_MPIIO`"));
        }
        if module.text != self.kept {
            return Ok(None);
        }
        let Some(file) = self.file else {
            return Err(
                Fault::new("no line before it names a file").hint("keep the lines that start with `# DXT`")
            );
        };
        let rank = row.whole()?;
        let kind = row.cell()?;
        let op = match kind.text {
            b"read" => Op::Read,
            b"write" => Op::Write,
            _ => return Err(kind.none_of("`read` or `write`")),
        };
        // The Lustre targets and the thread may follow.
        let (_segment, offset, size) = (row.whole()?, row.whole()?, row.whole()?);
        let (start, end) = (row.cell()?, row.cell()?);
        let begins = start.seconds()?;
        let Some(response) = end.seconds()?.checked_sub(begins) else {
            return Err(end.none_of("an end that is not before the start"));
        };
        Ok(Some(Record {
            stream: Some(rank),
            file: Some(file),
            response: Some(SimSpan::from_ns(response)),
            ..Record::new(When::At(SimTime::from_ns(begins)), op).with_bytes(offset, size)
        }))
    }
}
