//! Detects the format from the first lines of a trace: the one whose parser reads them all.

use crate::error::Fault;
use crate::format::Format;
use crate::formats::{Parser, fits_oracle, heads, is_darshan};
use crate::lines::{BLOCK_BYTES, Lines};
use crate::names::Names;
use crate::options::Options;
use crate::packing::unread;

/// The maximum number of lines that are tried.
const LINES_TRIED_MAX: usize = 1_000;

impl Format {
    /// Detects the format of a trace from its first bytes, decompressed; some tens of lines are enough.
    /// `all`: there are no more bytes.
    ///
    /// # Errors
    /// If no format matches, with a list of all formats, or if several match.
    pub fn detect(head: &[u8], all: bool) -> Result<Format, crate::TraceError> {
        found(head, all).map_err(|fault| fault.at("trace", crate::Place::File))
    }
}

pub(crate) fn found(head: &[u8], all: bool) -> Result<Format, Box<Fault>> {
    if head.trim_ascii().is_empty() {
        return Err(Fault::new("it is empty").hint("was it written and decompressed completely?"));
    }
    let head = &head[..head.len().min(BLOCK_BYTES)];
    let fitting: Vec<Format> = Format::ALL.into_iter().filter(|format| fits(*format, head, all)).collect();
    let names = |formats: &[Format]| {
        formats.iter().map(|format| format!("`{format}`")).collect::<Vec<String>>().join(", ")
    };
    match fitting[..] {
        [format] => Ok(format),
        [] => Err(Fault::new(format!("it matches no known format: {}", Format::names()))
            .hint(unread(head).unwrap_or("give its format to learn which line does not match"))),
        _ => Err(Fault::new(format!("it may be any of {}", names(&fitting))).hint("give its format")),
    }
}

fn fits(format: Format, head: &[u8], all: bool) -> bool {
    if !format.is_text() {
        return fits_oracle(head, all);
    }
    // The last line may be incomplete.
    let whole =
        if all { head } else { &head[..head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)] };
    let first = whole.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if matches!(format, Format::FioV2 | Format::FioV3) && heads(first) != Some(format) {
        return false;
    }
    let mut parser = Parser::new(format, &Options::default());
    let (mut lines, mut names) = (Lines::new(whole), Names::default());
    let (mut seen, mut understood) = (0, 0);
    while seen < LINES_TRIED_MAX {
        let line = match lines.line() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(_) => return false,
        };
        if parser.parse(line, seen == 0, &mut names).is_err() {
            return false;
        }
        // In a Darshan text, comments of any origin are skipped, so they say nothing about the format.
        let remark = format == Format::Dxt && line.starts_with(b"#") && !is_darshan(line);
        understood += usize::from(!remark && !line.trim_ascii().is_empty());
        seen += 1;
    }
    understood > 0
}
