//! Why a histogram cannot be read or made, and why a population cannot be of it.

use towtank_units::Bytes;

use crate::limits::{KINDS_MAX, OBJECTS_MAX, ROWS_MAX, SIZE_MAX};

/// Why a text is no histogram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct ReadError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// The total should have come before.
    #[error("a bin comes before the line `# total_count: N`")]
    NoTotal,
    /// The total is no number.
    #[error("`total_count` is `{found}`, which is no whole number")]
    BadTotal {
        /// What stands there.
        found: String,
    },
    /// Too few words.
    #[error("the number of columns is {found}, but should be {wanted}")]
    Columns {
        /// How many words there are.
        found: usize,
        /// What they should be.
        wanted: &'static str,
    },
    /// A word that should be a number.
    #[error("`{column}` is `{found}`, which is no whole number below 2^64")]
    BadNumber {
        /// What it should be the number of.
        column: &'static str,
        /// What stands there.
        found: String,
    },
    /// A size that is none.
    #[error("the size `{found}` cannot be read")]
    BadSize {
        /// What stands there.
        found: String,
    },
    /// A bin ends where it begins, or before.
    #[error("the bin from {min} to {max} bytes holds no size: its end is not part of it")]
    EmptyBin {
        /// Where it begins.
        min: u64,
        /// Where it ends.
        max: u64,
    },
    /// A bin begins before the one before it ends.
    #[error("the bin begins at {min} bytes, but the one before it ends at {before}")]
    Overlap {
        /// Where it begins.
        min: u64,
        /// Where the one before it ends.
        before: u64,
    },
    /// A size is past all measure.
    #[error("{size} bytes are more than the {limit} of the largest file", limit = SIZE_MAX)]
    TooLarge {
        /// The size.
        size: u64,
    },
    /// Counts do not fit together.
    #[error("the counts up to here add up to more than 2^64 - 1")]
    TooMany,
    /// Too many rows.
    #[error("there are more than {limit} rows", limit = ROWS_MAX)]
    TooLong,
    /// The counts are not what was promised.
    #[error("`total_count` is {claimed}, but the bins hold {found} files")]
    WrongTotal {
        /// What the first line says.
        claimed: u64,
        /// What the bins add up to.
        found: u64,
    },
    /// Nothing in it.
    #[error("there is no file in it")]
    Empty,
}

impl Fault {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Fault::NotText => "write it as plain text, and unpack it first if it is packed",
            Fault::NoTotal | Fault::BadTotal { .. } => {
                "begin the file with a line such as `# total_count: 1000`"
            }
            Fault::Columns { .. } => {
                "a histogram has lines `min max count`, a table has lines `size,count`, such as `4096,17`"
            }
            Fault::BadNumber { .. } => "write a whole number in digits alone, such as 65536",
            Fault::BadSize { .. } => {
                "write bytes in digits alone, such as 65536, or with a unit, such as 64KiB"
            }
            Fault::EmptyBin { .. } => {
                "a bin holds the sizes from its first number up to, not including, its second"
            }
            Fault::Overlap { .. } => "sort the bins by size, and let none overlap",
            Fault::TooLarge { .. } => "check the size: is it in bytes?",
            Fault::TooMany => "counts are proportions: divide them all by the same number",
            Fault::TooLong => "join sizes that are alike into bins, as `min max count`",
            Fault::WrongTotal { .. } => {
                "the file may have been cut short; rounding may cost one file a bin, no more"
            }
            Fault::Empty => "give at least one size with a count above 0",
        }
    }
}

/// Why there is no such histogram.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HistogramError {
    /// A parameter is out of range.
    #[error("`{parameter}` is {value}, and must be from {low} to {high}")]
    OutOfRange {
        /// Its name.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// The least legal value.
        low: f64,
        /// The greatest legal value.
        high: f64,
    },
    /// A size is out of range.
    #[error("`{parameter}` is {value}, and must be from 1B to {limit}", limit = Bytes::new(SIZE_MAX))]
    Size {
        /// Its name.
        parameter: &'static str,
        /// Its value.
        value: Bytes,
    },
    /// The largest size lies below the smallest.
    #[error("`cap` is {cap}, but must not be below `{parameter}`, which is {least}")]
    CapBelow {
        /// The largest size.
        cap: Bytes,
        /// What it is held against.
        parameter: &'static str,
        /// Its value.
        least: Bytes,
    },
}

/// Why there is no such population.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PopulationError {
    /// Nothing is asked for.
    #[error("the data set has no {what}, and must have at least one")]
    Nothing {
        /// Files, objects or bytes.
        what: &'static str,
    },
    /// A layout of nothing.
    #[error("`{parameter}` is 0, and must be above")]
    ZeroLayout {
        /// The layout's parameter.
        parameter: &'static str,
    },
    /// More than can be numbered.
    #[error("the data set has more than {limit} {what}", limit = OBJECTS_MAX)]
    TooMany {
        /// Files or objects.
        what: &'static str,
    },
    /// Too many kinds of files.
    #[error(
        "pieces of {unit} cut files of up to {largest} into {kinds} kinds by their number of objects, and at most \
         {limit} fit", limit = KINDS_MAX
    )]
    TooManyKinds {
        /// The chunk or stripe unit.
        unit: Bytes,
        /// The largest file.
        largest: Bytes,
        /// How many kinds that makes.
        kinds: u64,
    },
    /// A file of too many objects.
    #[error("a file of {largest} in pieces of {unit} has {objects} objects, and at most 4294967295 fit")]
    TooManyParts {
        /// The chunk or stripe unit.
        unit: Bytes,
        /// The largest file.
        largest: Bytes,
        /// How many objects it would have.
        objects: u64,
    },
    /// Keys that keep a remainder need room between them.
    #[error("keys of {objects} objects cannot keep a remainder of {modulus}: {} lie between two of them", u64::MAX / objects)]
    NoRoom {
        /// How many objects there are.
        objects: u64,
        /// What keys are divided by.
        modulus: u64,
    },
}

impl HistogramError {
    /// The parameter that is to blame.
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
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            PopulationError::Nothing { .. } => "ask for more data",
            PopulationError::ZeroLayout { .. } => "64MiB is usual for chunks, 4MiB for stripes",
            PopulationError::TooMany { .. } => "ask for less data, or for larger files",
            PopulationError::TooManyKinds { .. } | PopulationError::TooManyParts { .. } => {
                "take larger pieces, or a smaller `cap`"
            }
            PopulationError::NoRoom { .. } => "take fewer groups or virtual nodes, or fewer objects",
        }
    }
}
