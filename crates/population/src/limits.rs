//! Limits of a data set, chosen so that sums fit in 64 bits and tables in memory.

/// The maximum size of a file in bytes.
pub const SIZE_MAX: u64 = 1 << 60;

/// The maximum number of rows of a histogram that is read.
pub const ROWS_MAX: usize = 1 << 18;

/// The maximum number of files, and of objects.
pub const OBJECTS_MAX: u64 = 1 << 56;

/// The maximum number of kinds of files.
pub const KINDS_MAX: u64 = 1 << 21;
