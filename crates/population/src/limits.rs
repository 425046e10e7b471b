//! The most that a data set may have, so that sums stay in 64 bits and tables in memory.

/// Bytes of the largest file.
pub const SIZE_MAX: u64 = 1 << 60;

/// Rows of a histogram that is read.
pub const ROWS_MAX: usize = 1 << 18;

/// Files, and objects.
pub const OBJECTS_MAX: u64 = 1 << 56;

/// Kinds of files.
pub const KINDS_MAX: u64 = 1 << 21;
