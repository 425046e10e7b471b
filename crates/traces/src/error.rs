//! Why a trace could not be read: which file, which line, what is wrong, and what to do.

use std::fmt;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere in particular.
    File,
    /// A line, from 1.
    Line(u64),
    /// Of a binary trace, the byte at which a record begins, from 0, counted after unpacking.
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
    /// Where in it.
    pub place: Place,
    /// What is wrong there, with the limit where there is one.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What is wrong with a line, before anybody has said which line it is. Boxed: lines are many and faults are
/// rare.
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
