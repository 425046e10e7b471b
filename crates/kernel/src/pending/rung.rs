//! One rung of the ladder: a range of time divided into buckets whose common width is a power of two
//! nanoseconds, with one additional bucket at either end for earlier and later records.
//!
//! The two additional buckets let a rung fit the range of most of its records, however far away the others
//! are. They are divided into rungs of their own when they are due.

use super::chunks::Chain;

/// The intended number of records per bucket. Measured: with fewer, there are too many buckets for the cache
/// to hold the end of each; with more, sorting costs more.
const BUCKET_RECORDS: u64 = 192;

/// The maximum number of regular buckets, approximately: limits the memory of a rung, and the cache lines
/// that pushes touch.
const BUCKETS: u64 = 1024;

/// The length of a rung, in multiples of the range that contains the earlier half of its records. Later
/// records are processed once more each time a rung is used up, and the longer the rung, the rarer that is.
const REACH: u64 = 16;

/// A half-open range of time: `from` is included, `end` is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub from: u64,
    pub end: u64,
}

/// A range of time divided into buckets.
pub(super) struct Rung<R> {
    /// The beginning of the second bucket, which is the first of the common width.
    start: u64,
    /// The binary logarithm of the width of all buckets but the first and last.
    shift: u32,
    stretch: Stretch,
    /// The first bucket that has not been taken yet.
    next: usize,
    buckets: Vec<Chain<R>>,
}

/// A bucket taken from its rung.
pub(super) struct Taken<R> {
    pub chain: Chain<R>,
    pub stretch: Stretch,
}

impl<R> Rung<R> {
    /// Divides a range so that buckets get about the right number of records, of which there are `count` with
    /// times like those of `sample`, which is sorted and not empty. `buckets` is memory for reuse.
    pub fn cut(stretch: Stretch, sample: &[u64], count: usize, mut buckets: Vec<Chain<R>>) -> Rung<R> {
        let (first, middle, last) = (sample[0], sample[sample.len() / 2], sample[sample.len() - 1]);
        assert!(
            stretch.from <= first && last < stretch.end,
            "records lie in the range of their rung: {first} to {last} in {stretch:?}"
        );
        let half = (middle - first).max(1);
        let start = first.saturating_sub(half / 8).max(stretch.from);
        // Half the records lie in `half`, so this many nanoseconds hold as many records as a bucket should
        // have.
        let filled = u128::from(half) * u128::from(2 * BUCKET_RECORDS) / count as u128;
        let reach = half.saturating_mul(REACH).min(stretch.end - start);
        let width = u64::try_from(filled).unwrap_or(u64::MAX).max(reach / BUCKETS).clamp(1, 1 << 62);
        // Rounded to a power of two, so that a bucket gets between 2/3 and 4/3 of the intended number.
        let shift = (width + width / 3).ilog2();
        let start = start >> shift << shift;
        let regular = (reach >> shift) as usize + 1;
        buckets.clear();
        buckets.resize_with(regular + 2, Chain::default);
        Rung { start, shift, stretch, next: 0, buckets }
    }

    /// The end of the rung's range.
    #[inline]
    pub fn end(&self) -> u64 {
        self.stretch.end
    }

    /// The bucket for a time before the rung's end, and not before a bucket that was already taken.
    #[inline]
    pub(super) fn bucket_mut(&mut self, at: u64) -> &mut Chain<R> {
        let last = self.buckets.len() - 1;
        let bucket = match at.checked_sub(self.start) {
            Some(past) => ((past >> self.shift) as usize + 1).min(last),
            None => 0,
        };
        assert!(
            bucket >= self.next,
            "no record goes into a bucket that was taken: it would never be returned"
        );
        &mut self.buckets[bucket]
    }

    /// Takes the first non-empty bucket.
    pub fn take_next(&mut self) -> Option<Taken<R>> {
        while self.buckets.get(self.next)?.is_empty() {
            self.next += 1;
        }
        self.take()
    }

    /// Takes the next bucket if it has at most `records` records; it may be empty.
    pub(super) fn take_small(&mut self, records: usize) -> Option<Taken<R>> {
        if self.buckets.get(self.next)?.len() > records { None } else { self.take() }
    }

    fn take(&mut self) -> Option<Taken<R>> {
        let stretch = Stretch { from: self.edge(self.next), end: self.edge(self.next + 1) };
        let chain = std::mem::take(self.buckets.get_mut(self.next)?);
        self.next += 1;
        Some(Taken { chain, stretch })
    }

    /// The time at which a bucket begins.
    fn edge(&self, bucket: usize) -> u64 {
        match bucket.checked_sub(1) {
            None => self.stretch.from,
            Some(_) if bucket == self.buckets.len() => self.stretch.end,
            Some(widths) => {
                let edge = u128::from(self.start) + ((widths as u128) << self.shift);
                u64::try_from(edge).unwrap_or(u64::MAX).clamp(self.stretch.from, self.stretch.end)
            }
        }
    }

    /// Whether all buckets have been taken.
    pub(super) fn is_used_up(&self) -> bool {
        self.next == self.buckets.len()
    }

    pub(super) fn into_buckets(self) -> Vec<Chain<R>> {
        self.buckets
    }

    pub fn buckets(&self) -> &[Chain<R>] {
        &self.buckets
    }
}

impl<R> Taken<R> {
    /// Whether its range is a single instant, which cannot be divided further.
    pub(super) fn is_instant(&self) -> bool {
        self.stretch.end - self.stretch.from <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "records lie in the range of their rung: 5 to 30")]
    fn a_record_outside_its_rung_breaks_a_law() {
        Rung::<u64>::cut(Stretch { from: 0, end: 30 }, &[5, 12, 30], 3, Vec::new());
    }

    #[test]
    #[should_panic(expected = "no record goes into a bucket that was taken")]
    fn a_record_for_a_bucket_that_was_taken_breaks_a_law() {
        let mut rung = Rung::<u64>::cut(Stretch { from: 0, end: 3_000 }, &[0, 1_000, 2_000], 900, Vec::new());
        for _ in 0..3 {
            rung.take().expect("there are more buckets");
        }
        rung.bucket_mut(0);
    }
}
