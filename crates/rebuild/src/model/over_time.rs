//! Counts over time in bins of equal length, which doubles when there would be too many bins.
//!
//! The length of a phase is not known in advance. So bins start short, and when an entry lies past the last
//! bin, neighbours are joined until it fits: 128 to 256 bins cover any length. Bins begin at time zero and
//! their lengths are powers of two, so the counts do not depend on the order in which entries and other
//! counts are added.

use towtank_kernel::prefetch;
use towtank_units::SimTime;

/// The maximum number of bins.
pub const BINS: usize = 256;

/// The length of the first bins: 2^10 ns.
const SHORTEST: u32 = 10;

/// What can be counted in a bin.
pub trait Tally: Clone + Default {
    /// Adds another count to this one.
    fn join(&mut self, other: &Self);
}

impl Tally for u64 {
    fn join(&mut self, other: &u64) {
        *self += other;
    }
}

/// For reads and for writes: the number of operations, and the sum of their times in nanoseconds.
impl Tally for [(u64, u64); 2] {
    fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.iter_mut().zip(other) {
            mine.0 += theirs.0;
            mine.1 = mine.1.saturating_add(theirs.1);
        }
    }
}

/// Counts over time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct OverTime<T> {
    /// A bin is two to the power of this many nanoseconds long.
    shift: u32,
    bins: Vec<T>,
}

/// Counts over time in several rows, for models that ask for them; nothing for others, which then hash as if
/// there were no such counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Rows<const N: usize>(Option<Vec<OverTime<u64>>>);

impl<const N: usize> std::hash::Hash for Rows<N> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        if let Some(rows) = &self.0 {
            rows.hash(state);
        }
    }
}

impl<const N: usize> Rows<N> {
    /// Counts `more` at a time in a row; rows beyond the last count there.
    pub fn add(&mut self, row: usize, at: SimTime, more: u64) {
        let rows = self.0.get_or_insert_with(|| vec![OverTime::default(); N]);
        rows[row.min(N - 1)].add(at, &more);
    }

    /// Adds other counts to these.
    pub fn merge(&mut self, other: &Rows<N>) {
        let Some(others) = &other.0 else { return };
        let rows = self.0.get_or_insert_with(|| vec![OverTime::default(); N]);
        rows.iter_mut().zip(others).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// The end of each bin of a row, and its count.
    pub fn ends(&self, row: usize) -> impl Iterator<Item = (SimTime, u64)> {
        let rows = self.0.as_ref().and_then(|rows| rows.get(row));
        rows.into_iter().flat_map(|row| row.ends().map(|(at, count)| (at, *count)))
    }

    /// The sum over all rows; none where nothing was counted.
    pub fn whole(&self) -> Option<u64> {
        Some(self.0.as_ref()?.iter().map(OverTime::whole).sum())
    }
}

impl<T> Default for OverTime<T> {
    fn default() -> Self {
        OverTime { shift: SHORTEST, bins: Vec::new() }
    }
}

impl<T: Tally> OverTime<T> {
    /// Counts `more` at a time.
    pub fn add(&mut self, at: SimTime, more: &T) {
        while at.as_ns() >> self.shift >= BINS as u64 {
            self.double();
        }
        self.join_at((at.as_ns() >> self.shift) as usize, more);
    }

    /// Adds other counts to these.
    pub fn merge(&mut self, other: &OverTime<T>) {
        while self.shift < other.shift {
            self.double();
        }
        let up = self.shift - other.shift;
        debug_assert!(other.bins.len() <= BINS, "{} bins of {BINS}", other.bins.len());
        for (bin, more) in other.bins.iter().enumerate() {
            self.join_at(bin >> up, more);
        }
    }

    /// The sum over all bins.
    pub fn whole(&self) -> T {
        let mut whole = T::default();
        self.bins.iter().for_each(|bin| whole.join(bin));
        whole
    }

    /// The end of each bin, and its count.
    pub fn ends(&self) -> impl Iterator<Item = (SimTime, &T)> {
        (1u64..).map(|number| SimTime::from_ns(number << self.shift)).zip(&self.bins)
    }

    /// Prefetches the last bin, to which most entries are added, because time moves on.
    #[inline]
    pub(super) fn fetch(&self) {
        self.bins.last().into_iter().for_each(prefetch);
    }

    fn join_at(&mut self, bin: usize, more: &T) {
        assert!(bin < BINS, "bin {bin} of {BINS}");
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, T::default());
        }
        self.bins[bin].join(more);
    }

    fn double(&mut self) {
        self.shift += 1;
        assert!(self.shift < u64::BITS, "a bin is longer than all of time");
        let joined = self.bins.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|other| sum.join(other));
            sum
        });
        self.bins = joined.collect();
        assert!(self.bins.len() <= BINS / 2, "{} bins are left of {BINS} joined in pairs", self.bins.len());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_are_apart_and_add_up() {
        let mut rows = Rows::<2>::default();
        assert_eq!((rows.whole(), rows.ends(0).count()), (None, 0));
        rows.add(0, SimTime::from_ns(5), 3);
        let mut other = Rows::<2>::default();
        other.add(7, SimTime::from_ns(2_000), 4);
        rows.merge(&other);
        rows.merge(&Rows::default());
        let sum = |row| rows.ends(row).map(|(_, count)| count).sum::<u64>();
        assert_eq!((rows.whole(), sum(0), sum(1), sum(2)), (Some(7), 3, 4, 0));
    }

    proptest! {
        /// Any order of entries, split in any way, gives the same bins, which hold all entries and end at the
        /// last one.
        #[test]
        fn the_order_of_counting_does_not_show(
            entries in prop::collection::vec((0u32..60, 1u64..9), 1..60), split in 0usize..60
        ) {
            let entries: Vec<(SimTime, u64)> =
                entries.into_iter().map(|(power, more)| (SimTime::from_ns((1 << power) + more), more)).collect();
            let count = |entries: &[(SimTime, u64)]| {
                let mut all = OverTime::default();
                entries.iter().for_each(|(at, more)| all.add(*at, more));
                all
            };
            let (first, second) = entries.split_at(split.min(entries.len()));
            let whole = count(&entries);
            let mut backwards = count(second);
            backwards.merge(&count(first));
            prop_assert_eq!(&whole, &backwards);
            prop_assert!(whole.bins.len() <= BINS);
            prop_assert_eq!(whole.bins.iter().sum::<u64>(), entries.iter().map(|entry| entry.1).sum::<u64>());
            let (last, end) = (entries.iter().map(|entry| entry.0).max().unwrap(), whole.ends().last().unwrap().0);
            prop_assert!(last < end);
            // A bin is at most a 128th of the whole.
            prop_assert!(whole.shift == SHORTEST || last.as_ns() >> whole.shift >= BINS as u64 / 2);
        }
    }
}
