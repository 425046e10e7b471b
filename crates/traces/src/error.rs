//! Errors of reading a trace: the file, the line, the reason, and a hint.

use std::fmt;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(u64),
    /// In a binary trace, the byte at which a record begins, from 0, counted after decompression.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Line(number) => write!(f, ", line {number}"),
            Place::Byte(offset) => write!(f, ", byte {offset}"),
        }
    }
}

/// Why a trace could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{file}`{place}: {reason}")]
#[non_exhaustive]
pub struct TraceError {
    /// The file's name.
    pub file: String,
    /// The place in the file.
    pub place: Place,
    /// What is wrong, with the limit if there is one.
    pub reason: String,
    /// What the user can do about it.
    pub hint: Option<String>,
}

/// An error in a line whose number is added later. Boxed, because lines are many and errors are rare.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    reason: String,
    hint: Option<String>,
}

impl Fault {
    #[cold]
    pub(crate) fn new(reason: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { reason: reason.into(), hint: None })
    }

    pub(crate) fn hint(mut self: Box<Fault>, hint: impl Into<String>) -> Box<Fault> {
        self.hint = Some(hint.into());
        self
    }

    #[allow(clippy::boxed_local, reason = "a fault is always in its box")]
    pub(crate) fn at(self: Box<Fault>, file: &str, place: Place) -> TraceError {
        TraceError { file: file.to_owned(), place, reason: self.reason, hint: self.hint }
    }
}
