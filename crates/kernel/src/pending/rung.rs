//! One rung of the ladder: a stretch of time cut into buckets of one width, a power of two nanoseconds, with
//! one bucket more at either end for whatever lies before and after them.
//!
//! The two odd buckets let a rung be cut to fit where most of its records are, however far the others lie.
//! They are cut again, into rungs of their own, when their time comes.

use super::chunks::Chain;

/// Records a bucket should get. Measured: fewer make the buckets too many for the cache to hold an end of
/// each, more make sorting them dearer.
const BUCKET_RECORDS: u64 = 192;

/// Bucket widths a rung may have at least: bounds the memory it takes, and the cache lines that pushes go to.
const BUCKETS: u64 = 1024;

/// How far a rung reaches, in multiples of the stretch in which the earlier half of its records lies.
/// Whatever lies beyond is gone through once more for each time a rung has been used up, and the longer the
/// rung, the rarer that is.
const REACH: u64 = 16;

/// A stretch of time: from one instant to just before another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub from: u64,
    pub end: u64,
}

/// A stretch cut into buckets.
pub(super) struct Rung<R> {
    /// Where the second bucket, the first of the common width, begins.
    start: u64,
    /// The width of all buckets but the first and last, as a power of two.
    shift: u32,
    stretch: Stretch,
    /// The first bucket that has not been taken yet.
    next: usize,
    buckets: Vec<Chain<R>>,
}

/// A bucket taken off its rung.
pub(super) struct Taken<R> {
    pub chain: Chain<R>,
    pub stretch: Stretch,
}

impl<R> Rung<R> {
    /// Cuts a stretch so that buckets get about the right number of records, of which there are `count` with
    /// times like those of `sample`, sorted and not empty. `buckets` is memory to use again.
    pub fn cut(stretch: Stretch, sample: &[u64], count: usize, mut buckets: Vec<Chain<R>>) -> Rung<R> {
        let (first, middle) = (sample[0], sample[sample.len() / 2]);
        let half = (middle - first).max(1);
        let start = first.saturating_sub(half / 8).max(stretch.from);
        // Half the records lie in `half`, so this many nanoseconds hold as many as a bucket should have.
        let filled = u128::from(half) * u128::from(2 * BUCKET_RECORDS) / count as u128;
        let reach = half.saturating_mul(REACH).min(stretch.end - start);
        let width = u64::try_from(filled).unwrap_or(u64::MAX).max(reach / BUCKETS).clamp(1, 1 << 62);
        // To the nearest power of two, so that a bucket gets between 2/3 and 4/3 of what it should.
        let shift = (width + width / 3).ilog2();
        let start = start >> shift << shift;
        let regular = (reach >> shift) as usize + 1;
        buckets.clear();
        buckets.resize_with(regular + 2, Chain::default);
        Rung { start, shift, stretch, next: 0, buckets }
    }

    /// Where the rung ends.
    #[inline]
    pub fn end(&self) -> u64 {
        self.stretch.end
    }

    /// The bucket for a time before the rung's end, and not before a bucket already taken.
    #[inline]
    pub fn bucket_mut(&mut self, at: u64) -> &mut Chain<R> {
        let last = self.buckets.len() - 1;
        let bucket = match at.checked_sub(self.start) {
            Some(past) => ((past >> self.shift) as usize + 1).min(last),
            None => 0,
        };
        &mut self.buckets[bucket]
    }

    /// Takes the first bucket that has anything in it.
    pub fn take_next(&mut self) -> Option<Taken<R>> {
        while self.buckets.get(self.next)?.is_empty() {
            self.next += 1;
        }
        self.take()
    }

    /// Takes the next bucket if it has at most `records` in it, be it none.
    pub fn take_small(&mut self, records: usize) -> Option<Taken<R>> {
        if self.buckets.get(self.next)?.len() > records { None } else { self.take() }
    }

    fn take(&mut self) -> Option<Taken<R>> {
        let stretch = Stretch { from: self.edge(self.next), end: self.edge(self.next + 1) };
        let chain = std::mem::take(self.buckets.get_mut(self.next)?);
        self.next += 1;
        Some(Taken { chain, stretch })
    }

    /// Where a bucket begins.
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
    pub fn is_used_up(&self) -> bool {
        self.next == self.buckets.len()
    }

    pub fn into_buckets(self) -> Vec<Chain<R>> {
        self.buckets
    }

    pub fn buckets(&self) -> &[Chain<R>] {
        &self.buckets
    }
}

impl<R> Taken<R> {
    /// Whether it is a single instant, which cannot be cut any further.
    pub fn is_instant(&self) -> bool {
        self.stretch.end - self.stretch.from <= 1
    }
}
