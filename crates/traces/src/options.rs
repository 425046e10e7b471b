//! How a trace is to be read, where there is a choice.

use towtank_units::SimTime;

/// What instant of the trace is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The first record, where the format has the time of day ([`crate::Clock::Wall`]); the format's own
    /// beginning elsewhere.
    #[default]
    Usual,
    /// The first record.
    FirstRecord,
    /// The format's own: 1601 for MSR, 1970 for other times of day.
    AsWritten,
    /// This instant of the format's own time, for several files that belong together.
    At(SimTime),
}

/// Whether a record may lie before the one that precedes it in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As is known of the format ([`crate::Format::may_go_back`]).
    #[default]
    Usual,
    /// It may.
    Any,
    /// It may not.
    Rising,
}

/// Which events of a block trace are records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Requests as they were made (`Q`), before the kernel merged and ordered them.
    #[default]
    Queued,
    /// What the driver got (`D`).
    Issued,
    /// What the device was done with (`C`).
    Completed,
}

/// Which calls of a Darshan trace are records: a call of MPI-IO makes calls of POSIX, so both together count
/// bytes twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoLayer {
    /// `X_POSIX`.
    #[default]
    Posix,
    /// `X_MPIIO`.
    MpiIo,
}

/// How a trace is to be read, where there is a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What instant of the trace is 0.
    pub origin: Origin,
    /// Whether time may go back.
    pub order: Order,
    /// Which events of a blkparse text are records.
    pub stage: Stage,
    /// Which calls of a Darshan text are records.
    pub layer: IoLayer,
}
