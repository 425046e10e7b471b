//! A ladder queue: time is divided into buckets, crowded buckets are divided again, and only the bucket that
//! is due is sorted.
//!
//! After Tang, Goh and Thng, "Ladder queue: an O(1) priority queue structure for large-scale discrete event
//! simulation" (2005). The outermost rung holds the latest records, in coarse buckets; the innermost rung
//! holds the next ones. A record moves down one rung at a time and is finally sorted with one or two hundred
//! neighbours, so its cost hardly grows with the number of records, and memory is accessed mostly in order.
//! Differences from the paper:
//!
//! * A rung is divided to fit a sample of its records (see [`Rung::cut`]), so no width has to be tuned or
//!   adapted.
//! * Records that come below what has been sorted (after short delays, or put back by a rollback) go to a
//!   side heap, and a pop takes the lesser of the two. If the side heap becomes the larger part, it is
//!   divided into a rung like a crowded bucket.
//! * A record that precedes all that are sorted, as one sent without delay does, is put in front of them.
//! * If there are few records, all are kept in the side heap, which is then the whole queue.
//! * A second run is sorted before the first is used up, so that [`PendingSet::ahead`] nearly always finds a
//!   record.
//!
//! **Invariant:** every record on a rung is at or after `near_end`, the sorted runs are before it, and rungs
//! from the innermost outwards cover `near_end..u64::MAX` without a gap, unless there are none and `near_end`
//! is `u64::MAX`. Records at `u64::MAX`, which no half-open range can hold, wait in a separate heap until
//! nothing else is left.

use std::fmt;

use super::bucket_sort::{Run, sort_into};
use super::chunks::{Chain, ChunkPool};
use super::key_heap::KeyHeap;
use super::rung::{Rung, Stretch, Taken};
use super::{PendingSet, precedes, time_of};
use crate::key::{EventKey, Keyed};

/// Larger buckets are divided into a rung; others are sorted. Measured, together with the width of buckets.
const SORTED_MAX: usize = 768;

/// Small neighbouring buckets are sorted together until they have this many records.
const SORTED_MIN: usize = 48;

/// When the sorted run is down to this many records, the next one is sorted.
const NEAR_MIN: usize = 16;

/// If the side heap has more records than this, and more than the sorted runs, it is divided into a rung.
/// Measured: the size at which the heap and the ladder cost the same.
const SIDE_MAX: usize = 192;

/// If there are at most this many records in total, all go to the side heap. Well below [`SIDE_MAX`], so that
/// a queue of about that size does not switch its form frequently.
const HEAP_MAX: usize = 48;

/// The number of times that are sampled before a rung is divided.
const SAMPLE: usize = 64;

/// The maximum number of rungs; below that, buckets are sorted whatever their size.
const RUNGS: usize = 24;

/// Where the least record is.
#[derive(Clone, Copy)]
enum First {
    Near,
    Side,
    LastInstant,
}

/// The pending-event set that the executors use, chosen by measurement.
pub struct Ladder<R> {
    /// The next records.
    near: Run<R>,
    /// The records after those.
    next: Run<R>,
    /// Records that arrived too late to be sorted with the others.
    side: KeyHeap<R>,
    /// A time not after the first record of `side`: a record of `near` before it is the first of all.
    side_from: u64,
    /// All records at or after this time are on the rungs; all earlier ones are not.
    near_end: u64,
    /// The rungs, the outermost first.
    rungs: Vec<Rung<R>>,
    /// The number of records on the rungs.
    far: usize,
    /// Records at time `u64::MAX`.
    last_instant: KeyHeap<R>,
    /// Where the record is that [`PendingSet::peek_before`] has returned.
    peeked: First,
    /// If `near` has fewer records than this, [`Ladder::replenish`] is called.
    near_low: usize,
    /// If `side` has more records than this, [`Ladder::relieve_side`] is called.
    side_high: usize,
    chunks: ChunkPool<R>,
    /// Memory for reuse.
    spare_buckets: Vec<Vec<Chain<R>>>,
    spare_run: Run<R>,
    taken: Vec<Chain<R>>,
}

impl<R> Default for Ladder<R> {
    fn default() -> Self {
        Ladder {
            near: Vec::new(),
            next: Vec::new(),
            side: KeyHeap::default(),
            side_from: u64::MAX,
            near_end: u64::MAX,
            rungs: Vec::new(),
            far: 0,
            last_instant: KeyHeap::default(),
            peeked: First::Near,
            near_low: 0,
            side_high: SIDE_MAX,
            chunks: ChunkPool::default(),
            spare_buckets: Vec::new(),
            spare_run: Vec::new(),
            taken: Vec::new(),
        }
    }
}

impl<R: Keyed> Ladder<R> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The least record, valid after [`Ladder::replenish`].
    #[inline]
    fn first(&self) -> Option<&R> {
        match (last_of(&self.near), self.side.first()) {
            (Some(near), None) => Some(near),
            (Some(near), Some(side)) => Some(if precedes(&near.key(), &side.key()) { near } else { side }),
            (None, Some(side)) => Some(side),
            (None, None) => self.last_instant.first(),
        }
    }

    /// Makes room on a rung for one record; returns where it must be pushed, or `None` if it is not to go on
    /// a rung.
    #[inline(always)]
    fn make_room(&mut self, at: u64) -> Option<&mut Vec<R>> {
        if at < self.near_end {
            return None;
        }
        let rung = self.rungs.iter_mut().rev().find(|rung| at < rung.end())?;
        if self.far == 0 {
            self.near_low = NEAR_MIN + 1;
        }
        self.far += 1;
        Some(self.chunks.make_room(rung.bucket_mut(at)))
    }

    /// Whether a record precedes all that are sorted, of which there is one at least.
    #[inline(always)]
    fn is_ahead(&self, record: &R) -> bool {
        last_of(&self.near).is_some_and(|first| precedes(&record.key(), &first.key()))
    }

    /// Adds a record that is not to go on a rung.
    #[inline(never)]
    fn push_aside(&mut self, record: R) {
        if time_of(&record) == u64::MAX {
            self.last_instant.push(record);
            return;
        }
        self.side_from = self.side_from.min(time_of(&record));
        self.side.push(record);
        if self.side.len() > self.side_high {
            self.relieve_side();
        }
    }

    /// Refills `near` and `next` from the rungs.
    #[cold]
    #[inline(never)]
    fn replenish(&mut self) {
        loop {
            if self.near.is_empty() {
                std::mem::swap(&mut self.near, &mut self.next);
            }
            if !self.next.is_empty() {
                self.near_low = 1;
                return;
            }
            if self.far == 0 {
                self.near_low = usize::from(!self.near.is_empty());
                if self.near.is_empty() {
                    self.dismantle();
                }
                return;
            }
            if self.near.len() > NEAR_MIN {
                self.near_low = NEAR_MIN + 1;
                return;
            }
            if self.len() <= HEAP_MAX {
                self.dismantle();
                self.near_low = usize::from(!self.near.is_empty());
                return;
            }
            self.sort_next_bucket();
        }
    }

    /// Moves all records from the rungs into the side heap.
    fn dismantle(&mut self) {
        let mut found = 0;
        while let Some(rung) = self.rungs.pop() {
            let mut buckets = rung.into_buckets();
            for chain in buckets.drain(..) {
                found += chain.len();
                let side = &mut self.side;
                self.chunks.drain(chain, |_, record| side.push(record));
            }
            self.spare_buckets.push(buckets);
        }
        let counted = self.far;
        assert!(found == counted, "as many records are on the rungs as were counted: {found} of {counted}");
        self.far = 0;
        self.near_end = u64::MAX;
        self.side_from = 0;
    }

    /// Sorts the next bucket into `near` or `next`, whichever is free, or divides it into a rung if it is too
    /// crowded.
    fn sort_next_bucket(&mut self) {
        let taken = self.take_next_bucket();
        if taken.chain.len() > SORTED_MAX && !taken.is_instant() && self.rungs.len() < RUNGS {
            // A rung is done if its last bucket becomes a new rung.
            self.drop_used_up();
            self.spread(taken.chain, taken.stretch);
            return;
        }
        let mut run = std::mem::take(&mut self.spare_run);
        let mut count = taken.chain.len();
        self.near_end = taken.stretch.end;
        self.taken.push(taken.chain);
        while count < SORTED_MIN
            && let Some(rung) = self.rungs.last_mut()
            && let Some(more) = rung.take_small(SORTED_MAX - SORTED_MIN)
        {
            count += more.chain.len();
            self.near_end = more.stretch.end;
            self.taken.push(more.chain);
        }
        self.far -= count;
        sort_into(&mut self.chunks, &mut self.taken, &mut run);
        self.law_of_runs(&run, count);
        let free = if self.near.is_empty() { &mut self.near } else { &mut self.next };
        self.spare_run = std::mem::replace(free, run);
    }

    /// A run that was just sorted has all records of its buckets, before the end of these and after the runs
    /// that were sorted before it.
    fn law_of_runs(&self, run: &Run<R>, count: usize) {
        assert!(run.len() == count, "a run has the records of its buckets: {} of {count}", run.len());
        let (Some(earliest), Some(latest)) = (last_of(run), first_of(run)) else { return };
        let (at, end) = (time_of(latest), self.near_end);
        assert!(at < end, "sorted records are before those on the rungs: {at} is not below {end}");
        for sorted in [&self.near, &self.next].into_iter().filter_map(first_of) {
            let (before, after) = (sorted.key(), earliest.key());
            assert!(
                precedes(&before, &after),
                "a run is after the one before it: {after} is before {before}"
            );
        }
    }

    fn take_next_bucket(&mut self) -> Taken<R> {
        loop {
            let rung = self.rungs.last_mut().expect("records that are far are on some rung");
            if let Some(taken) = rung.take_next() {
                return taken;
            }
            self.drop_used_up();
        }
    }

    fn drop_used_up(&mut self) {
        if let Some(rung) = self.rungs.pop_if(|rung| rung.is_used_up()) {
            self.spare_buckets.push(rung.into_buckets());
        }
    }

    /// Makes a collection of records the innermost rung.
    fn spread(&mut self, pile: Chain<R>, stretch: Stretch) {
        let mut sample = [0; SAMPLE];
        let taken = self.chunks.sample(&pile, &mut sample);
        let sample = &mut sample[..taken];
        sample.sort_unstable();
        let buckets = self.spare_buckets.pop().unwrap_or_default();
        let mut rung = Rung::cut(stretch, sample, pile.len(), buckets);
        self.chunks.drain(pile, |chunks, record| {
            chunks.push(rung.bucket_mut(time_of(&record)), record);
        });
        self.rungs.push(rung);
    }

    /// Turns a side heap that is larger than the sorted runs into a rung, together with them.
    #[cold]
    #[inline(never)]
    fn relieve_side(&mut self) {
        let sorted = self.near.len() + self.next.len();
        if self.side.len() <= sorted || self.rungs.len() >= RUNGS {
            // Not yet: each time costs as much as sorting all of them, so the heap must have doubled before
            // the next.
            self.side_high = sorted.max(2 * self.side.len());
            return;
        }
        let mut pile = Chain::default();
        for record in
            self.side.drain().chain(self.near.drain(..).flatten()).chain(self.next.drain(..).flatten())
        {
            self.chunks.push(&mut pile, record);
        }
        self.far += pile.len();
        let stretch = Stretch { from: 0, end: self.near_end };
        self.spread(pile, stretch);
        self.near_end = 0;
        self.side_from = u64::MAX;
        self.near_low = NEAR_MIN + 1;
        self.side_high = SIDE_MAX;
    }
}

impl<R: Keyed> PendingSet<R> for Ladder<R> {
    // Always inlined, so that the record is written straight to where it waits: to copy what was just
    // written in parts would stall.
    #[inline(always)]
    fn push(&mut self, record: R) {
        match self.make_room(time_of(&record)) {
            Some(bucket) => bucket.push(record),
            None => {
                if self.is_ahead(&record) {
                    self.near.push(Some(record));
                } else {
                    self.push_aside(record);
                }
            }
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<R> {
        self.pop_before_or_at(None)
    }

    #[inline]
    fn pop_before(&mut self, limit: EventKey) -> Option<R> {
        self.pop_before_or_at(Some(&limit))
    }

    #[inline]
    fn peek(&mut self) -> Option<&R> {
        if self.near.len() < self.near_low {
            self.replenish();
        }
        self.first()
    }

    #[inline(always)]
    fn peek_before(&mut self, limit: &EventKey) -> Option<&R> {
        if self.near.len() < self.near_low {
            self.replenish();
        }
        // Stored before the test, after which nothing must be read again.
        self.peeked = First::Near;
        if !self.near_is_first(limit) {
            return self.peek_anywhere(limit);
        }
        last_of(&self.near)
    }

    #[inline(always)]
    fn take_first(&mut self) -> Option<R> {
        if matches!(self.peeked, First::Near) { self.near.pop().flatten() } else { self.take_peeked() }
    }

    #[inline]
    fn drop_first(&mut self) {
        if matches!(self.peeked, First::Near) {
            self.near.pop();
        } else {
            self.drop_peeked();
        }
    }

    #[inline]
    fn ahead(&self, n: usize) -> Option<&R> {
        let place = match self.near.len().checked_sub(n + 1) {
            Some(place) => self.near.get(place),
            None => self.next.get((self.near.len() + self.next.len()).wrapping_sub(n + 1)),
        };
        place.and_then(Option::as_ref)
    }

    #[inline(always)]
    fn each_ahead<const N: usize>(&self, distances: [usize; N]) -> [Option<&R>; N] {
        debug_assert!(distances.iter().rev().is_sorted(), "the largest distance first: {distances:?}");
        // Nearly always one comparison is enough for all of them.
        match self.near.len().checked_sub(1) {
            Some(last) if last >= distances[0] => distances.map(|n| self.near[last - n].as_ref()),
            _ => distances.map(|n| self.ahead(n)),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.near.len() + self.next.len() + self.side.len() + self.far + self.last_instant.len()
    }

    fn for_each(&self, mut visit: impl FnMut(&R)) {
        self.near.iter().chain(&self.next).flatten().for_each(&mut visit);
        self.side.for_each(&mut visit);
        for chain in self.rungs.iter().flat_map(Rung::buckets) {
            self.chunks.for_each(chain, &mut visit);
        }
        self.last_instant.for_each(visit);
    }
}

impl<R: Keyed> Ladder<R> {
    /// Where the least record is, if there is no limit, or if its key is below the limit. Valid after
    /// [`Ladder::replenish`].
    #[inline(never)]
    fn find_first(&mut self, limit: Option<&EventKey>) -> Option<First> {
        self.side_from = self.side.first_key().map_or(u64::MAX, |key| key.at.as_ns());
        let allowed = |key: &EventKey| limit.is_none_or(|limit| precedes(key, limit));
        match (last_of(&self.near), self.side.first_key()) {
            (Some(near), None) => allowed(&near.key()).then_some(First::Near),
            (Some(near), Some(side)) if precedes(&near.key(), side) => {
                allowed(&near.key()).then_some(First::Near)
            }
            (_, Some(side)) => allowed(side).then_some(First::Side),
            (None, None) => {
                let (left, last_instant) = (self.len(), self.last_instant.len());
                assert!(
                    left == last_instant,
                    "nothing is found only where nothing is: {left} records are left"
                );
                self.last_instant.first_key().is_some_and(allowed).then_some(First::LastInstant)
            }
        }
    }

    /// Removes the record that was peeked at, which is not in `near`.
    #[inline(never)]
    fn take_peeked(&mut self) -> Option<R> {
        if matches!(self.peeked, First::Side) { self.side.pop() } else { self.last_instant.pop() }
    }

    /// Removes the record that was peeked at, which is not in `near`, without copying it.
    #[inline(never)]
    fn drop_peeked(&mut self) {
        if matches!(self.peeked, First::Side) {
            self.side.drop_first();
        } else {
            self.last_instant.drop_first();
        }
    }

    /// As [`PendingSet::peek_before`].
    #[inline(never)]
    fn peek_anywhere(&mut self, limit: &EventKey) -> Option<&R> {
        self.peeked = self.find_first(Some(limit))?;
        match self.peeked {
            First::Near => last_of(&self.near),
            First::Side => self.side.first(),
            First::LastInstant => self.last_instant.first(),
        }
    }

    /// Whether times alone show that the first record of `near` is the first of all, and below the limit.
    #[inline(always)]
    fn near_is_first(&self, limit: &EventKey) -> bool {
        last_of(&self.near).is_some_and(|near| time_of(near) < self.side_from.min(limit.at.as_ns()))
    }

    /// Removes the least record if there is no limit, or if its key is below the limit.
    #[inline]
    fn pop_before_or_at(&mut self, limit: Option<&EventKey>) -> Option<R> {
        if self.near.len() < self.near_low {
            self.replenish();
        }
        if self.near_is_first(limit.unwrap_or(&EventKey::MAX)) {
            return self.near.pop().flatten();
        }
        match self.find_first(limit)? {
            First::Near => self.near.pop().flatten(),
            First::Side => self.side.pop(),
            First::LastInstant => self.last_instant.pop(),
        }
    }
}

/// The least record of a run.
#[inline]
fn last_of<R>(run: &Run<R>) -> Option<&R> {
    run.last().and_then(Option::as_ref)
}

/// The greatest record of a run.
#[inline]
fn first_of<R>(run: &Run<R>) -> Option<&R> {
    run.first().and_then(Option::as_ref)
}

impl<R> fmt::Debug for Ladder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ladder")
            .field("near_end", &self.near_end)
            .field("far", &self.far)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use towtank_units::SimTime;

    use super::*;
    use crate::key::{EntityId, Scheduled};

    fn record(at: u64, sequence: u64) -> Scheduled<()> {
        let key = EventKey { at: SimTime::from_ns(at), step: 0, origin: EntityId(0), sequence };
        Scheduled { key, to: EntityId(0), timer: false, event: () }
    }

    /// What is sent without delay would take several times as long by way of the side heap.
    #[test]
    fn what_precedes_all_that_are_sorted_is_not_set_aside() {
        let mut ladder = Ladder::new();
        (1..=2_000).for_each(|at| ladder.push(record(at * 10, at)));
        assert_eq!(ladder.pop().map(|first| first.key.sequence), Some(1));
        assert!(ladder.near.len() > NEAR_MIN && ladder.side.len() == 0, "the next records are sorted");
        let sorted = ladder.near.len();
        for (at, sequence) in [(19, 9_001), (12, 9_000), (20, 0)] {
            ladder.push(record(at, sequence));
        }
        assert_eq!(
            (ladder.near.len(), ladder.side.len()),
            (sorted + 2, 1),
            "the last is not the first of all"
        );
        let popped: Vec<u64> = (0..4).filter_map(|_| ladder.pop()).map(|next| next.key.sequence).collect();
        assert_eq!(popped, [9_000, 9_001, 0, 2]);
    }

    /// A ladder with sorted runs and rungs, the next of which is due to be sorted.
    fn filled() -> Ladder<Scheduled<()>> {
        let mut ladder = Ladder::new();
        (1..=2_000).for_each(|at| ladder.push(record(at * 10, at)));
        ladder.pop();
        assert!(ladder.far > 0 && !ladder.near.is_empty(), "there are sorted records and others");
        ladder
    }

    /// Puts a record into the bucket that is sorted next, whatever its time.
    fn misplace(ladder: &mut Ladder<Scheduled<()>>, record: Scheduled<()>) {
        let rung = ladder.rungs.last_mut().expect("there are rungs");
        ladder.chunks.push(rung.bucket_mut(ladder.near_end), record);
        ladder.far += 1;
        while ladder.pop().is_some() {}
    }

    #[test]
    #[should_panic(expected = "sorted records are before those on the rungs")]
    fn a_record_in_too_early_a_bucket_breaks_a_law() {
        misplace(&mut filled(), record(19_999, 9_000));
    }

    #[test]
    #[should_panic(expected = "a run is after the one before it")]
    fn a_record_in_too_late_a_bucket_breaks_a_law() {
        misplace(&mut filled(), record(1, 9_000));
    }

    #[test]
    #[should_panic(expected = "a run has the records of its buckets")]
    fn a_run_without_some_of_its_records_breaks_a_law() {
        filled().law_of_runs(&Vec::new(), 1);
    }

    #[test]
    #[should_panic(expected = "as many records are on the rungs as were counted")]
    fn a_miscounted_rung_breaks_a_law() {
        let mut ladder = filled();
        ladder.far += 1;
        ladder.dismantle();
    }

    #[test]
    #[should_panic(expected = "nothing is found only where nothing is: 1 records are left")]
    fn a_place_without_its_record_breaks_a_law() {
        let mut ladder = Ladder::<Scheduled<()>>::new();
        ladder.near.push(None);
        ladder.pop();
    }
}
