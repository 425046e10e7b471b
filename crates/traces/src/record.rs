//! One request of a trace, whatever format it came from.

use towtank_units::{SimSpan, SimTime};

/// When a request was made, or is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// At an instant.
    At(SimTime),
    /// So long after the one before it in its stream has ended: think time.
    AfterEnd(SimSpan),
    /// So long after the one before it in its stream was issued, but not before that has ended.
    AfterStart(SimSpan),
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Bytes, or a whole object.
    Read,
    /// Bytes, or a whole object.
    Write,
    /// A file is opened.
    Open,
    /// A file is closed.
    Close,
    /// What was written is to be durable.
    Sync,
    /// Bytes are given up.
    Trim,
    /// What is known of an object, without its bytes.
    Stat,
    /// An object is removed.
    Delete,
    /// An object is copied by the server.
    Copy,
    /// The trace has the request, but does not say what it was.
    Other,
}

/// One request. What the format does not say is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// When.
    pub at: When,
    /// Whose it is: a volume, a process, a rank. Requests of one stream follow each other.
    pub stream: Option<u64>,
    /// What it goes to: a file, a volume, an object; a number of the format, or one given to a name
    /// ([`crate::Names`]).
    pub file: Option<u64>,
    /// Where in the file its bytes begin.
    pub offset: Option<u64>,
    /// How many bytes. Of an operation that moves none, the size of the object where the format has it.
    pub size: Option<u64>,
    /// What was asked for.
    pub op: Op,
    /// The application, where the format numbers them.
    pub app: Option<u32>,
    /// How long it took when it was recorded.
    pub response: Option<SimSpan>,
}

impl Record {
    /// A record of which only this much is known.
    pub(crate) fn new(at: When, op: Op) -> Record {
        Record { at, stream: None, file: None, offset: None, size: None, op, app: None, response: None }
    }

    /// The same, of these bytes.
    pub(crate) fn with_bytes(self, offset: u64, size: u64) -> Record {
        Record { offset: Some(offset), size: Some(size), ..self }
    }

    /// The same, of a volume: what it goes to and whose it is are one.
    pub(crate) fn with_volume(self, volume: u64) -> Record {
        Record { stream: Some(volume), file: Some(volume), ..self }
    }
}
