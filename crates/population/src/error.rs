//! Errors of reading or making a histogram, and of making a population from one.

use towtank_units::Bytes;

use crate::limits::{KINDS_MAX, OBJECTS_MAX, ROWS_MAX, SIZE_MAX};

/// Why a text is not a histogram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct ReadError {
    /// The line number, from 1.
    pub line: usize,
    /// The mistake in that line.
    pub fault: Fault,
}

/// A mistake in a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The input is not UTF-8 text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// A bin comes before the total.
    #[error("a bin comes before the line `# total_count: N`")]
    NoTotal,
    /// The total is not a number.
    #[error("`total_count` is `{found}`, but must be a whole number")]
    BadTotal {
        /// The text found.
        found: String,
    },
    /// The line has the wrong number of columns.
    #[error("the number of columns is {found}, but must be {wanted}")]
    Columns {
        /// The number of columns found.
        found: usize,
        /// The columns expected.
        wanted: &'static str,
    },
    /// A column is not a number.
    #[error("`{column}` is `{found}`, but must be a whole number below 2^64")]
    BadNumber {
        /// The name of the column.
        column: &'static str,
        /// The text found.
        found: String,
    },
    /// A size cannot be parsed.
    #[error("`{found}` is not a size")]
    BadSize {
        /// The text found.
        found: String,
    },
    /// The end of a bin is not above its beginning.
    #[error("the bin from {min} to {max} bytes is empty: its end is not part of it")]
    EmptyBin {
        /// The beginning of the bin.
        min: u64,
        /// The end of the bin.
        max: u64,
    },
    /// A bin begins before the previous one ends.
    #[error("the bin starts at {min} bytes, but the previous one ends at {before}")]
    Overlap {
        /// The beginning of the bin.
        min: u64,
        /// The end of the previous bin.
        before: u64,
    },
    /// A size exceeds the limit.
    #[error("{size} bytes exceed the largest file size, {limit}", limit = SIZE_MAX)]
    TooLarge {
        /// The size.
        size: u64,
    },
    /// The sum of the counts does not fit in 64 bits.
    #[error("the counts up to here add up to more than 2^64 - 1")]
    TooMany,
    /// Too many rows.
    #[error("there are more than {limit} rows", limit = ROWS_MAX)]
    TooLong,
    /// The sum of the counts differs from the declared total.
    #[error("`total_count` is {claimed}, but the bins hold {found} files")]
    WrongTotal {
        /// The declared total.
        claimed: u64,
        /// The sum of the counts.
        found: u64,
    },
    /// The histogram has no files.
    #[error("it contains no file")]
    Empty,
}

impl Fault {
    /// A hint on how to correct the mistake.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Fault::NotText => "write it as plain text, and decompress it first if it is compressed",
            Fault::NoTotal | Fault::BadTotal { .. } => {
                "start the file with a line such as `# total_count: 1000`"
            }
            Fault::Columns { .. } => {
                "a histogram has lines `min max count`; a table has lines `size,count`, such as `4096,17`"
            }
            Fault::BadNumber { .. } => "write a whole number in digits only, such as 65536",
            Fault::BadSize { .. } => {
                "write bytes in digits only, such as 65536, or with a unit, such as 64KiB"
            }
            Fault::EmptyBin { .. } => {
                "a bin contains the sizes from its first number up to, but not including, its second"
            }
            Fault::Overlap { .. } => "sort the bins by size, without overlaps",
            Fault::TooLarge { .. } => "check the size: is it in bytes?",
            Fault::TooMany => "counts are proportions: divide them all by the same number",
            Fault::TooLong => "merge similar sizes into bins, as `min max count`",
            Fault::WrongTotal { .. } => {
                "the file may be cut short; rounding may lose at most one file per bin"
            }
            Fault::Empty => "give at least one size with a count above 0",
        }
    }
}

/// Why a histogram cannot be made from its parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HistogramError {
    /// A parameter is out of range.
    #[error("`{parameter}` is {value}, but must be from {low} to {high}")]
    OutOfRange {
        /// The name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: f64,
        /// The smallest allowed value.
        low: f64,
        /// The largest allowed value.
        high: f64,
    },
    /// A size is out of range.
    #[error("`{parameter}` is {value}, but must be from 1B to {limit}", limit = Bytes::new(SIZE_MAX))]
    Size {
        /// The name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: Bytes,
    },
    /// The largest size lies below the smallest.
    #[error("`cap` is {cap}, but must be at least `{parameter}`, which is {least}")]
    CapBelow {
        /// The largest size.
        cap: Bytes,
        /// The parameter that the cap is compared with.
        parameter: &'static str,
        /// The value of that parameter.
        least: Bytes,
    },
}

/// Why a population cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PopulationError {
    /// The data set is empty.
    #[error("the data set has no {what}, but must have at least one")]
    Nothing {
        /// Files, objects or bytes.
        what: &'static str,
    },
    /// A parameter of the layout is zero.
    #[error("`{parameter}` is 0, but must be greater")]
    ZeroLayout {
        /// The name of the parameter.
        parameter: &'static str,
    },
    /// There are more files or objects than can be numbered.
    #[error("the data set has more than {limit} {what}", limit = OBJECTS_MAX)]
    TooMany {
        /// Files or objects.
        what: &'static str,
    },
    /// Too many kinds of files.
    #[error(
        "in pieces of {unit}, files of up to {largest} have {kinds} different numbers of objects, but \
         the limit is {limit}", limit = KINDS_MAX
    )]
    TooManyKinds {
        /// The chunk or stripe unit.
        unit: Bytes,
        /// The largest file.
        largest: Bytes,
        /// The number of kinds that result.
        kinds: u64,
    },
    /// A file has too many objects.
    #[error("a file of {largest} in pieces of {unit} has {objects} objects, but the limit is 4294967295")]
    TooManyParts {
        /// The chunk or stripe unit.
        unit: Bytes,
        /// The largest file.
        largest: Bytes,
        /// The number of objects it would have.
        objects: u64,
    },
    /// There are too many objects to leave room for a modulus between their keys.
    #[error("the keys of {objects} objects cannot keep a remainder modulo {modulus}: they are only {} apart", u64::MAX / objects)]
    NoRoom {
        /// The number of objects.
        objects: u64,
        /// The modulus.
        modulus: u64,
    },
}

impl HistogramError {
    /// The name of the parameter that is wrong.
    #[must_use]
    pub fn parameter(&self) -> &'static str {
        match self {
            HistogramError::OutOfRange { parameter, .. } | HistogramError::Size { parameter, .. } => {
                parameter
            }
            HistogramError::CapBelow { .. } => "cap",
        }
    }
}

impl PopulationError {
    /// A hint on how to correct the mistake.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            PopulationError::Nothing { .. } => "ask for more data",
            PopulationError::ZeroLayout { .. } => "64MiB is usual for chunks, 4MiB for stripes",
            PopulationError::TooMany { .. } => "ask for less data, or for larger files",
            PopulationError::TooManyKinds { .. } | PopulationError::TooManyParts { .. } => {
                "use larger pieces, or a smaller `cap`"
            }
            PopulationError::NoRoom { .. } => "use fewer groups or virtual nodes, or fewer objects",
        }
    }
}
