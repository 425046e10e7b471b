//! Sorts the records of one bucket, latest first, so that they can be popped off the end.
//!
//! Times in a bucket are usually spread evenly, so each record is first moved to about the position that its
//! time implies (counting, then swapping in place: McIlroy, Bostic and McIlroy, "Engineering radix sort",
//! 1993); records that are still out of order are then near their positions. If times are not spread evenly,
//! the number of steps shows it, and a general sort takes over.

use std::cmp::Reverse;

use super::{Keyed, precedes, time_of};

/// For fewer records than this, counting does not pay.
const COUNTED_MIN: usize = 16;

/// The maximum number of counting groups.
const PLACES: usize = 1024;

/// The average number of steps per record above which a general sort is cheaper.
const STEPS: usize = 8;

/// Sorts records by key, latest first.
pub(super) fn sort_latest_first<R: Keyed>(records: &mut [R]) {
    if (COUNTED_MIN..=PLACES).contains(&records.len()) {
        put_near_place(records);
    } else if records.len() > PLACES {
        return sort_generally(records);
    }
    put_in_place(records);
}

fn sort_generally<R: Keyed>(records: &mut [R]) {
    records.sort_unstable_by_key(|record| Reverse(record.key()));
}

/// Groups records by time into as many groups as there are records, the latest group first.
fn put_near_place<R: Keyed>(records: &mut [R]) {
    let (mut first, mut last) = (u64::MAX, 0);
    for record in records.iter() {
        first = first.min(time_of(record));
        last = last.max(time_of(record));
    }
    if first == last {
        return;
    }
    let groups = records.len().next_power_of_two();
    let shift = (last - first).ilog2().saturating_sub(groups.ilog2() - 1);
    let group = |record: &R| ((last - time_of(record)) >> shift) as usize % PLACES;
    let mut heads = [0u16; PLACES];
    for record in records.iter() {
        heads[group(record)] += 1;
    }
    let mut sum = 0;
    for head in &mut heads[..groups] {
        sum += std::mem::replace(head, sum);
    }
    let starts = heads;
    for current in 0..groups {
        let end = starts[..groups].get(current + 1).map_or(records.len(), |&start| usize::from(start));
        while usize::from(heads[current]) < end {
            let here = usize::from(heads[current]);
            let target = group(&records[here]);
            if target != current {
                records.swap(here, usize::from(heads[target]));
            }
            heads[target] += 1;
        }
    }
}

/// Insertion sort, which is fast if few records are out of place, with a limit on its cost.
fn put_in_place<R: Keyed>(records: &mut [R]) {
    let mut budget = records.len() * STEPS;
    for record in 1..records.len() {
        let mut place = record;
        while place > 0 && precedes(&records[place - 1].key(), &records[place].key()) {
            records.swap(place - 1, place);
            place -= 1;
        }
        match budget.checked_sub(record - place) {
            Some(rest) => budget = rest,
            None => return sort_generally(records),
        }
    }
}
