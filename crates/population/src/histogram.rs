//! How large files are: bins of sizes with counts, each size of a bin as likely as any other.
//!
//! This is the form of libch-placement's `oid-gen`: a bin by its count, a size uniform inside the bin, 0
//! taken as 1. Counts are proportions; how many files there are is another question ([`crate::Extent`]).

use towtank_units::Bytes;

use crate::error::HistogramError;
use crate::limits::SIZE_MAX;
use crate::tally::SizeTally;

/// Files of sizes from `min` up to, not including, `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SizeBin {
    /// The smallest size; 0 stands for a file of 1 byte.
    pub min: u64,
    /// One more than the largest size.
    pub max: u64,
    /// How many files there are, or any other integer in that proportion.
    pub count: u64,
}

impl SizeBin {
    /// How many sizes it has.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.max - self.min
    }

    /// The mean of its sizes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        mean_of(self.min, self.width())
    }
}

/// The mean of `span` sizes from `low` up, 0 taken as 1.
pub(crate) fn mean_of(low: u64, span: u64) -> f64 {
    let doubled = u128::from(low) * 2 + u128::from(span - 1);
    let zero = if low == 0 { 1.0 / span as f64 } else { 0.0 };
    doubled as f64 / 2.0 + zero
}

/// How large files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeHistogram {
    /// In rising order, without overlap, each with a width and a count above 0.
    bins: Vec<SizeBin>,
    total: u64,
}

impl SizeHistogram {
    /// From bins that are sound: this crate's own, or checked ones. `None` where they are not.
    pub(crate) fn from_bins(bins: Vec<SizeBin>) -> Option<SizeHistogram> {
        let mut total = 0u64;
        let mut end = 0;
        for bin in &bins {
            if bin.min < end || bin.max <= bin.min || bin.max > SIZE_MAX + 1 || bin.count == 0 {
                return None;
            }
            end = bin.max;
            total = total.checked_add(bin.count)?;
        }
        (total > 0).then_some(SizeHistogram { bins, total })
    }

    /// All files of one size.
    ///
    /// # Errors
    /// For a size of 0 or past [`SIZE_MAX`].
    pub fn constant(size: Bytes) -> Result<SizeHistogram, HistogramError> {
        if size.is_zero() || size.get() > SIZE_MAX {
            return Err(HistogramError::Size { parameter: "size", value: size });
        }
        let bin = SizeBin { min: size.get(), max: size.get() + 1, count: 1 };
        Ok(SizeHistogram { bins: vec![bin], total: 1 })
    }

    /// As [`SizeHistogram::read_histogram`] reads it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let lines = self.bins.iter().map(|bin| format!("{} {} {}\n", bin.min, bin.max, bin.count));
        format!("# total_count: {}\n{}", self.total, lines.collect::<String>())
    }

    /// The bins, in rising order.
    #[must_use]
    pub fn bins(&self) -> &[SizeBin] {
        &self.bins
    }

    /// The counts of all bins together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The smallest size of all.
    #[must_use]
    pub fn smallest(&self) -> Bytes {
        Bytes::new(self.bins[0].min.max(1))
    }

    /// The largest size of all.
    #[must_use]
    pub fn largest(&self) -> Bytes {
        Bytes::new((self.bins[self.bins.len() - 1].max - 1).max(1))
    }

    /// The mean size in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.bins.iter().map(|bin| bin.count as f64 * bin.mean()).sum::<f64>() / self.total as f64
    }

    /// The share of files that are smaller than `size`.
    #[must_use]
    pub fn share_below(&self, size: Bytes) -> f64 {
        self.below(size).map(|(count, _)| count).sum::<f64>() / self.total as f64
    }

    /// The share of bytes in files that are smaller than `size`.
    #[must_use]
    pub fn bytes_share_below(&self, size: Bytes) -> f64 {
        self.below(size).map(|(count, mean)| count * mean).sum::<f64>() / (self.mean() * self.total as f64)
    }

    /// Of each bin how many files lie below a size, and the mean of theirs.
    fn below(&self, size: Bytes) -> impl Iterator<Item = (f64, f64)> {
        // A size of 0 is one of 1 byte, so nothing lies below 1.
        let end = if size.get() <= 1 { 0 } else { size.get() };
        self.bins.iter().filter(move |bin| bin.min < end).map(move |bin| {
            let span = end.min(bin.max) - bin.min;
            (bin.count as f64 * (span as f64 / bin.width() as f64), mean_of(bin.min, span))
        })
    }

    /// Counts and bytes by power of two.
    #[must_use]
    pub fn tally(&self) -> SizeTally {
        let mut tally = SizeTally::default();
        for bin in &self.bins {
            tally.add_range(bin.min, bin.max - 1, bin.count as f64 / bin.width() as f64);
        }
        tally
    }
}

#[cfg(test)]
mod tests;
