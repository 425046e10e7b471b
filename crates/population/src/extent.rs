//! The size of a data set.

use crate::error::PopulationError;
use crate::histogram::SizeHistogram;
use crate::layout::Pieces;
use crate::limits::OBJECTS_MAX;
use crate::strata::{Amount, totals};

/// The size of a data set, without replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Exactly this many objects: the largest number of whole files that does not exceed it, and one file
    /// with the missing number of chunks or strips.
    Objects(u64),
    /// This many files.
    Files(u64),
    /// The largest number of whole files whose expected bytes do not exceed this; at least one file. The
    /// unused remainder is smaller than the largest files.
    Bytes(u128),
}

/// The number of files for the first guess, large enough that rounding has no effect.
const MANY: u64 = 1 << 40;

impl Extent {
    /// The number of files of this extent.
    pub(crate) fn amount(self, histogram: &SizeHistogram, pieces: Pieces) -> Result<Amount, PopulationError> {
        let whole = |files| Ok(Amount { files, rest: 0 });
        let many = || totals(histogram, pieces, MANY);
        match self {
            Extent::Objects(0) => Err(PopulationError::Nothing { what: "objects" }),
            Extent::Files(0) => Err(PopulationError::Nothing { what: "files" }),
            Extent::Bytes(0) => Err(PopulationError::Nothing { what: "bytes" }),
            Extent::Files(files) if files > OBJECTS_MAX => Err(PopulationError::TooMany { what: "files" }),
            Extent::Files(files) => whole(files),
            Extent::Objects(objects) if objects > OBJECTS_MAX => {
                Err(PopulationError::TooMany { what: "objects" })
            }
            Extent::Objects(objects) => {
                let each = many().objects as f64 / MANY as f64;
                let left = |files| u128::from(objects).checked_sub(totals(histogram, pieces, files).objects);
                let files = most(objects as f64 / each, |files| left(files).is_some())?;
                // The first file alone may have more objects than requested.
                let (files, rest) =
                    left(files).map_or((0, objects), |left| (files, left.try_into().unwrap_or(u64::MAX)));
                Ok(Amount { files, rest })
            }
            Extent::Bytes(bytes) => {
                let doubled = bytes.saturating_mul(2);
                let fits = |files| totals(histogram, pieces, files).doubled_bytes <= doubled;
                whole(most(bytes as f64 / histogram.mean(), fits)?)
            }
        }
    }
}

/// The largest number from 1 on that fits, or 1; the search starts at `guess`. More files never have fewer
/// objects or bytes (`strata::each_cut`), so the numbers that fit are all those up to a maximum.
fn most(guess: f64, fits: impl Fn(u64) -> bool) -> Result<u64, PopulationError> {
    let too_many = || PopulationError::TooMany { what: "files" };
    if guess > OBJECTS_MAX as f64 {
        return Err(too_many());
    }
    let guess = (guess as u64).max(1);
    let mut step = (guess >> 16).max(1);
    let (mut low, mut high);
    if fits(guess) {
        low = guess;
        loop {
            high = low + step;
            if high > OBJECTS_MAX {
                return Err(too_many());
            }
            if !fits(high) {
                break;
            }
            (low, step) = (high, step * 2);
        }
    } else {
        high = guess;
        loop {
            low = high.saturating_sub(step);
            if low == 0 || fits(low) {
                break;
            }
            (high, step) = (low, step * 2);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        *(if fits(middle) { &mut low } else { &mut high }) = middle;
    }
    Ok(low.max(1))
}
