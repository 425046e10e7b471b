//! Sorts the records of a bucket while they are moved out of it.
//!
//! The records are counted by time, in as many groups of equal length as there are records. Each is then
//! moved straight to the place where its group begins, so that it is copied once and no branch depends on
//! the order; insertion sort puts the few right that share a group. If times are distributed so unevenly
//! that insertion would take many steps, a general sort takes over.

use std::cmp::Reverse;

use super::chunks::{Chain, ChunkPool};
use super::{Keyed, precedes, time_of};
use crate::key::EventKey;

/// Sorted records, latest first. All places hold a record; they are optional because records are put into
/// them in any order.
pub(super) type Run<R> = Vec<Option<R>>;

/// For fewer records than this, counting does not pay.
const COUNTED_MIN: usize = 16;

/// The maximum number of counting groups.
const PLACES: usize = 1024;

/// The average number of steps per record above which a general sort is cheaper.
const STEPS: usize = 8;

/// Moves the records of several chains into an empty run.
pub(super) fn sort_into<R: Keyed>(chunks: &mut ChunkPool<R>, chains: &mut Vec<Chain<R>>, run: &mut Run<R>) {
    let count = chains.iter().map(Chain::len).sum();
    if let Some(mut groups) = Groups::of(chunks, chains, count) {
        run.resize_with(count, || None);
        for chain in chains.drain(..) {
            chunks.drain(chain, |_, record| {
                let place = groups.next_place(&record);
                run[place] = Some(record);
            });
        }
    } else {
        for chain in chains.drain(..) {
            chunks.drain(chain, |_, record| run.push(Some(record)));
        }
    }
    if count > PLACES {
        sort_generally(run);
    } else {
        put_in_place(run);
    }
}

/// Groups of records by time, the latest first.
struct Groups {
    last: u64,
    shift: u32,
    /// The place of the next record of each group.
    heads: [u16; PLACES],
}

impl Groups {
    /// Counts records; `None` if there are too few or too many, or all have the same time.
    fn of<R: Keyed>(chunks: &ChunkPool<R>, chains: &[Chain<R>], count: usize) -> Option<Groups> {
        if !(COUNTED_MIN..=PLACES).contains(&count) {
            return None;
        }
        let (mut first, mut last) = (u64::MAX, 0);
        for chain in chains {
            chunks.for_each(chain, &mut |record| {
                first = first.min(time_of(record));
                last = last.max(time_of(record));
            });
        }
        if first == last {
            return None;
        }
        let groups = count.next_power_of_two();
        let shift = (last - first).ilog2().saturating_sub(groups.ilog2() - 1);
        let mut these = Groups { last, shift, heads: [0; PLACES] };
        for chain in chains {
            chunks.for_each(chain, &mut |record| *these.head(record) += 1);
        }
        let mut sum = 0;
        for head in &mut these.heads[..groups] {
            sum += std::mem::replace(head, sum);
        }
        Some(these)
    }

    #[inline]
    fn head<R: Keyed>(&mut self, record: &R) -> &mut u16 {
        &mut self.heads[((self.last - time_of(record)) >> self.shift) as usize % PLACES]
    }

    /// The place of the next record of a group.
    #[inline]
    fn next_place<R: Keyed>(&mut self, record: &R) -> usize {
        let head = self.head(record);
        *head += 1;
        usize::from(*head - 1)
    }
}

#[inline]
fn key_at<R: Keyed>(place: &Option<R>) -> EventKey {
    place.as_ref().map_or(EventKey::MAX, Keyed::key)
}

fn sort_generally<R: Keyed>(run: &mut Run<R>) {
    run.sort_unstable_by_key(|place| Reverse(key_at(place)));
}

/// Insertion sort, which is fast if few records are out of place, with a limit on its cost.
fn put_in_place<R: Keyed>(run: &mut Run<R>) {
    let mut budget = run.len() * STEPS;
    let mut before = u64::MAX;
    for record in 0..run.len() {
        let at = run[record].as_ref().map_or(0, time_of);
        if at < before {
            before = at;
            continue;
        }
        let mut place = record;
        while place > 0 && precedes(&key_at(&run[place - 1]), &key_at(&run[place])) {
            run.swap(place - 1, place);
            place -= 1;
        }
        match budget.checked_sub(record - place) {
            Some(rest) => budget = rest,
            None => return sort_generally(run),
        }
        before = run[record].as_ref().map_or(0, time_of);
    }
}
