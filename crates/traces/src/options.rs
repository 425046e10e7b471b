//! Options for reading a trace.

use towtank_units::SimTime;

/// The instant of the trace that becomes 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The first record if the format has the time of day ([`crate::Clock::Wall`]); otherwise the format's
    /// own zero.
    #[default]
    Usual,
    /// The first record.
    FirstRecord,
    /// The format's own zero: 1601 for MSR, 1970 for other times of day.
    AsWritten,
    /// This instant in the format's own time, for several files that belong together.
    At(SimTime),
}

/// Whether a record may be earlier than the previous one in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The default of the format ([`crate::Format::may_go_back`]).
    #[default]
    Usual,
    /// Allowed.
    Any,
    /// Not allowed.
    Rising,
}

/// The events of a block trace that are records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Requests as they were made (`Q`), before the kernel merged and ordered them.
    #[default]
    Queued,
    /// Requests issued to the driver (`D`).
    Issued,
    /// Requests completed by the device (`C`).
    Completed,
}

/// The calls of a Darshan trace that are records: a call of MPI-IO makes calls of POSIX, so both together
/// would count bytes twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoLayer {
    /// `X_POSIX`.
    #[default]
    Posix,
    /// `X_MPIIO`.
    MpiIo,
}

/// Options for reading a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The instant of the trace that becomes 0.
    pub origin: Origin,
    /// Whether a record may be earlier than the previous one.
    pub order: Order,
    /// The events of a blkparse text that are records.
    pub stage: Stage,
    /// The calls of a Darshan text that are records.
    pub layer: IoLayer,
}
