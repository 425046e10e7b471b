//! Counts and bytes by power of two, as a histogram of sizes shows them.

use towtank_units::Bytes;

/// Sizes counted by power of two. Counts are expected numbers, so they need not be whole.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTally {
    count: [f64; BINS],
    bytes: [f64; BINS],
}

const BINS: usize = 64;

/// One bin of a tally.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TallyBin {
    /// The smallest size.
    pub low: Bytes,
    /// One more than the largest size.
    pub high: Bytes,
    /// The expected number of items.
    pub count: f64,
    /// Their total size in bytes.
    pub bytes: f64,
}

impl Default for SizeTally {
    fn default() -> Self {
        SizeTally { count: [0.0; BINS], bytes: [0.0; BINS] }
    }
}

impl SizeTally {
    /// Adds `count` items of one size; a size of 0 counts as 1.
    pub fn add(&mut self, size: u64, count: f64) {
        let size = size.max(1);
        self.add_to_bin(bin_of(size), count, count * size as f64);
    }

    /// Adds `each` items of every size from `low` to `high`, both included; a size of 0 counts as 1.
    pub(crate) fn add_range(&mut self, low: u64, high: u64, each: f64) {
        if low == 0 {
            self.add(1, each);
        }
        let mut low = low.max(1);
        while low <= high {
            let bin = bin_of(low);
            let end = (u64::MAX >> (63 - bin)).min(high);
            let sizes = (end - low + 1) as f64;
            let mean = (u128::from(low) + u128::from(end)) as f64 / 2.0;
            self.add_to_bin(bin, each * sizes, each * sizes * mean);
            match end.checked_add(1) {
                Some(next) => low = next,
                None => break,
            }
        }
    }

    pub(crate) fn add_to_bin(&mut self, bin: usize, count: f64, bytes: f64) {
        self.count[bin] += count;
        self.bytes[bin] += bytes;
    }

    /// The total number of items.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.count.iter().sum()
    }

    /// The total size of the items in bytes.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.bytes.iter().sum()
    }

    /// The bins from the first to the last non-empty one; those in between may be empty.
    #[must_use]
    pub fn bins(&self) -> Vec<TallyBin> {
        let held = |bin: &usize| self.count[*bin] > 0.0;
        let (Some(first), Some(last)) = ((0..BINS).find(held), (0..BINS).rfind(held)) else {
            return Vec::new();
        };
        let bin = |bin: usize| TallyBin {
            low: Bytes::new(1 << bin),
            high: Bytes::new(1u64.checked_shl(bin as u32 + 1).unwrap_or(u64::MAX)),
            count: self.count[bin],
            bytes: self.bytes[bin],
        };
        (first..=last).map(bin).collect()
    }

    /// The share of items with sizes below `2^power`.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn share_below(&self, power: u32) -> f64 {
        self.count[..(power as usize).min(BINS)].iter().sum::<f64>() / self.count()
    }
}

/// The power of two at or below a size above 0.
pub(crate) fn bin_of(size: u64) -> usize {
    size.ilog2() as usize
}
