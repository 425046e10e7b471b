//! The reader: bytes in, records out, with times relative to the chosen origin.

use std::io::{self, Read};

use towtank_units::SimTime;

use crate::detect;
use crate::error::{Fault, Place, TraceError};
use crate::format::{Clock, Format};
use crate::formats::{Parser, RECORD_BYTES};
use crate::lines::{Lines, Stopped};
use crate::names::{NAMES_MAX, NAMES_MAX_BYTES, Names};
use crate::options::{Options, Order, Origin};
use crate::packing::{Unpacked, WINDOW_MAX_BYTES};
use crate::record::{Record, When};

/// The maximum memory of a reader: up to four times the window of a zstd frame while its buffer grows, twice
/// the names plus their index, and two MiB of blocks.
pub const MEMORY_MAX_BYTES: u64 =
    4 * WINDOW_MAX_BYTES + 2 * NAMES_MAX_BYTES as u64 + 128 * NAMES_MAX as u64 + (2 << 20);

/// The records of a trace, in the order of the file. After an error there are no more.
pub struct Reader<R: Read> {
    name: String,
    format: Format,
    options: Options,
    lines: Lines<Unpacked<R>>,
    parser: Parser,
    names: Names,
    /// The value subtracted from each instant, once it is known.
    origin: Option<SimTime>,
    /// The last instant, as written in the trace.
    last: SimTime,
    done: bool,
}

impl<R: Read> Reader<R> {
    /// Opens a trace. `name` is for messages; without a format it is detected.
    ///
    /// # Errors
    /// If its beginning cannot be read or decompressed, or matches no format or several.
    pub fn open(
        name: &str,
        input: R,
        format: Option<Format>,
        options: Options,
    ) -> Result<Reader<R>, TraceError> {
        let unpacked = Unpacked::open(input).map_err(|error| of_io(name, Place::File, None, &error))?;
        let packed = unpacked.by();
        let mut lines = Lines::new(unpacked);
        let format = match format {
            Some(format) => format,
            None => {
                let (head, all) = lines.head().map_err(|error| of_io(name, Place::File, packed, &error))?;
                detect::found(head, all).map_err(|fault| fault.at(name, Place::File))?
            }
        };
        let origin = match (options.origin, format.clock()) {
            (Origin::At(instant), _) => Some(instant),
            (Origin::AsWritten, _) | (Origin::Usual, Clock::Trace | Clock::Record) => Some(SimTime::ZERO),
            (Origin::FirstRecord, _) | (Origin::Usual, Clock::Wall) => None,
        };
        Ok(Reader {
            name: name.to_owned(),
            format,
            options,
            lines,
            parser: Parser::new(format, &options),
            names: Names::default(),
            origin,
            last: SimTime::ZERO,
            done: false,
        })
    }

    /// The format, given or detected.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The names found so far, if the format has names.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The instant in the format's own time that becomes 0; none before the first record if that determines
    /// it.
    #[must_use]
    pub fn origin(&self) -> Option<SimTime> {
        self.origin
    }

    #[inline]
    fn record(&mut self) -> Result<Option<Record>, TraceError> {
        loop {
            let first = self.lines.line_number() == 0;
            let taken =
                if self.format.is_text() { self.lines.line() } else { self.lines.piece(RECORD_BYTES) };
            let parsed = match taken {
                Ok(Some(line)) => self.parser.parse(line, first, &mut self.names),
                Ok(None) => return self.parser.end().map(|()| None).map_err(|fault| self.error_of(fault)),
                Err(stopped) => return Err(of_stopped(&self.name, self.lines.source().by(), stopped)),
            };
            match parsed {
                Ok(None) => {}
                Ok(Some(mut record)) => {
                    self.place(&mut record).map_err(|fault| self.error_of(fault))?;
                    return Ok(Some(record));
                }
                Err(fault) => return Err(self.error_of(fault)),
            }
        }
    }

    #[cold]
    fn error_of(&self, fault: Box<Fault>) -> TraceError {
        let text = self.format.is_text();
        let place = if text {
            Place::Line(self.lines.line_number().max(1))
        } else {
            Place::Byte(self.lines.piece_at())
        };
        fault.at(&self.name, place)
    }

    /// Converts the record's time to the origin, and checks that its byte range fits in 64 bits.
    #[inline]
    fn place(&mut self, record: &mut Record) -> Result<(), Box<Fault>> {
        if let (Some(offset), Some(size)) = (record.offset, record.size)
            && offset.checked_add(size).is_none()
        {
            return Err(past_the_end(offset, size));
        }
        let When::At(at) = record.at else { return Ok(()) };
        if at < self.last && !self.may_go_back() {
            return Err(goes_back(at, self.last));
        }
        self.last = at;
        let origin = *self.origin.get_or_insert(at);
        let since = at.checked_since(origin).ok_or_else(|| before_origin(at, origin))?;
        record.at = When::At(SimTime::ZERO.saturating_add(since));
        Ok(())
    }

    fn may_go_back(&self) -> bool {
        match self.options.order {
            Order::Usual => self.format.may_go_back(),
            Order::Any => true,
            Order::Rising => false,
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        match self.record() {
            Ok(Some(record)) => return Some(Ok(record)),
            Ok(None) => self.done = true,
            Err(error) => {
                self.done = true;
                return Some(Err(error));
            }
        }
        None
    }
}

#[cold]
fn past_the_end(offset: u64, size: u64) -> Box<Fault> {
    Fault::new(format!("{size} bytes from {offset} on end beyond {}, the limit of 64 bits", u64::MAX))
        .hint("the trace is damaged: get it again")
}

#[cold]
fn goes_back(at: SimTime, last: SimTime) -> Box<Fault> {
    let back = last.since(at);
    Fault::new(format!(
        "its time is {back} before that of the previous record, but times of this format never decrease"
    ))
    .hint("sort the trace by time, or allow any order")
}

#[cold]
fn before_origin(at: SimTime, origin: SimTime) -> Box<Fault> {
    let before = origin.since(at);
    Fault::new(format!("its time is {before} before the origin of the times"))
        .hint("sort the trace by time, or give an earlier origin")
}

/// The error if the source cannot be read or decompressed.
#[cold]
pub(crate) fn of_io(name: &str, place: Place, packed: Option<&str>, error: &io::Error) -> TraceError {
    let fault = match packed {
        Some(by) => Fault::new(format!("decompressing it with {by} fails from here on: {error}"))
            .hint("copy or compress it again"),
        None => Fault::new(format!("it cannot be read from here on: {error}")),
    };
    fault.at(name, place)
}

/// The error of a line or piece.
#[cold]
pub(crate) fn of_stopped(name: &str, packed: Option<&str>, stopped: Stopped) -> TraceError {
    match stopped {
        Stopped::Unread(error, place) => of_io(name, place, packed, &error),
        Stopped::Refused(fault, place) => fault.at(name, place),
    }
}
