//! One request of a trace, independent of the format.

use towtank_units::{SimSpan, SimTime};

/// When a request was made, or is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// At an instant.
    At(SimTime),
    /// This long after the previous one of its stream has ended: think time.
    AfterEnd(SimSpan),
    /// This long after the previous one of its stream was issued, but not before that has ended.
    AfterStart(SimSpan),
}

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Reads bytes, or a whole object.
    Read,
    /// Writes bytes, or a whole object.
    Write,
    /// Opens a file.
    Open,
    /// Closes a file.
    Close,
    /// Makes written data durable.
    Sync,
    /// Discards bytes.
    Trim,
    /// Reads the metadata of an object.
    Stat,
    /// Removes an object.
    Delete,
    /// Copies an object on the server.
    Copy,
    /// An operation that the trace does not specify.
    Other,
}

/// One request. What the format does not record is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// When it is made.
    pub at: When,
    /// Its source: a volume, a process, a rank. Requests of one stream are ordered.
    pub stream: Option<u64>,
    /// Its target: a file, a volume, an object; either a number of the format, or the number of a name
    /// ([`crate::Names`]).
    pub file: Option<u64>,
    /// Offset of its bytes in the file.
    pub offset: Option<u64>,
    /// Number of bytes. For an operation that moves none, the size of the object, if the format records it.
    pub size: Option<u64>,
    /// The operation.
    pub op: Op,
    /// The application, if the format numbers them.
    pub app: Option<u32>,
    /// Its duration when it was recorded.
    pub response: Option<SimSpan>,
}

impl Record {
    /// A record with only these fields.
    pub(crate) fn new(at: When, op: Op) -> Record {
        Record { at, stream: None, file: None, offset: None, size: None, op, app: None, response: None }
    }

    /// The same record with these bytes.
    pub(crate) fn with_bytes(self, offset: u64, size: u64) -> Record {
        Record { offset: Some(offset), size: Some(size), ..self }
    }

    /// The same record for a volume, which is both its target and its stream.
    pub(crate) fn with_volume(self, volume: u64) -> Record {
        Record { stream: Some(volume), file: Some(volume), ..self }
    }
}
