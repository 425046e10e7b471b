//! Compares every pending-event set with an ordered set as the oracle.

use std::collections::BTreeSet;

use proptest::prelude::*;
use towtank_units::SimTime;

use super::bucket_sort::{Run, sort_into};
use super::chunks::{Chain, ChunkPool};
use super::{DaryHeap, Ladder, PendingSet, RadixQueue};
use crate::key::{EntityId, EventKey, Scheduled};

/// An operation on the set.
#[derive(Clone, Debug)]
enum Deed {
    /// Pushes records at `now` plus up to `span`, or, if `anew`, at any time up to it: below the last pop, as
    /// a rollback does.
    Push {
        count: usize,
        span: u64,
        anew: bool,
    },
    /// Pushes records at one time.
    Tie {
        count: usize,
        after: u64,
    },
    /// Pushes records at the last instant, `u64::MAX`.
    Never {
        count: usize,
    },
    Pop {
        count: usize,
    },
    /// Pops the records within `span` of now, or, if `in_place`, drops them after a look at them.
    PopBefore {
        span: u64,
        in_place: bool,
    },
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let span = (0u32..64, any::<u64>()).prop_map(|(bits, noise)| noise >> bits);
    let count = prop_oneof![4 => 0usize..40, 2 => 0usize..400, 1 => 0usize..3000];
    let deed = prop_oneof![
        4 => (count.clone(), span.clone(), any::<bool>()).prop_map(|(count, span, anew)| Deed::Push { count, span, anew }),
        1 => (count.clone(), span.clone()).prop_map(|(count, after)| Deed::Tie { count, after }),
        1 => (0usize..3).prop_map(|count| Deed::Never { count }),
        4 => count.prop_map(|count| Deed::Pop { count }),
        2 => (span, any::<bool>()).prop_map(|(span, in_place)| Deed::PopBefore { span, in_place }),
    ];
    proptest::collection::vec(deed, 1..40)
}

/// A set, its oracle, and a stream of numbers.
struct Trial<S> {
    set: S,
    oracle: BTreeSet<EventKey>,
    now: u64,
    pushed: u64,
    noise: u64,
}

impl<S: PendingSet<Scheduled<u64>> + Default> Trial<S> {
    fn new() -> Self {
        Trial { set: S::default(), oracle: BTreeSet::new(), now: 0, pushed: 0, noise: 1 }
    }

    fn draw(&mut self, bound: u64) -> u64 {
        self.noise =
            towtank_streams::mix(self.noise ^ 0x6a09_e667_f3bc_c909, self.pushed ^ 0xbb67_ae85_84ca_a73b);
        if bound == u64::MAX { self.noise } else { self.noise % (bound + 1) }
    }

    fn push(&mut self, at: u64) {
        // Keys of one time are pushed in arbitrary order.
        let tie = self.draw(u64::MAX);
        let (step, origin) = ((tie % 2) as u32, EntityId((tie >> 8) as u32 % 5));
        let key = EventKey { at: SimTime::from_ns(at), step, origin, sequence: self.pushed };
        self.set.push(Scheduled { key, to: origin, timer: false, event: self.pushed });
        self.oracle.insert(key);
        self.pushed += 1;
    }

    fn popped(&mut self, got: Option<Scheduled<u64>>, want: Option<EventKey>) -> Result<(), TestCaseError> {
        if let Some(record) = &got {
            self.now = record.key.at.as_ns();
            prop_assert_eq!(record.event, record.key.sequence, "a record keeps its payload");
        }
        prop_assert_eq!(got.map(|record| record.key), want);
        Ok(())
    }

    fn pop(&mut self) -> Result<bool, TestCaseError> {
        prop_assert_eq!(self.set.peek().map(|record| record.key), self.oracle.first().copied());
        let (got, want) = (self.set.pop(), self.oracle.pop_first());
        self.popped(got, want)?;
        Ok(want.is_some())
    }

    fn look_and_drop(&mut self, limit: EventKey) -> Option<Scheduled<u64>> {
        let first = self.set.peek_before(&limit)?.clone();
        if first.key.sequence % 2 == 0 {
            self.set.drop_first();
        } else {
            assert_eq!(self.set.take_first().map(|taken| taken.key), Some(first.key));
        }
        Some(first)
    }

    fn perform(&mut self, deed: &Deed) -> Result<(), TestCaseError> {
        match *deed {
            Deed::Push { count, span, anew } => {
                for _ in 0..count {
                    let base = if anew { 0 } else { self.now };
                    let at = base.saturating_add(self.draw(span));
                    self.push(at);
                }
            }
            Deed::Tie { count, after } => {
                let at = self.now.saturating_add(after);
                (0..count).for_each(|_| self.push(at));
            }
            Deed::Never { count } => (0..count).for_each(|_| self.push(u64::MAX)),
            Deed::Pop { count } => {
                for _ in 0..count {
                    if !self.pop()? {
                        break;
                    }
                }
            }
            Deed::PopBefore { span, in_place } => {
                let limit = EventKey::first_at(SimTime::from_ns(self.now.saturating_add(span)));
                loop {
                    let got = if in_place { self.look_and_drop(limit) } else { self.set.pop_before(limit) };
                    let want = self.oracle.first().copied().filter(|&key| key < limit);
                    want.inspect(|key| assert!(self.oracle.remove(key)));
                    self.popped(got, want)?;
                    if want.is_none() {
                        break;
                    }
                }
            }
        }
        self.compare()
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.set.len(), self.oracle.len());
        prop_assert_eq!(self.set.is_empty(), self.oracle.is_empty());
        let mut seen = BTreeSet::new();
        self.set.for_each(|record| assert!(seen.insert(record.key), "{:?} is visited twice", record.key));
        prop_assert_eq!(&seen, &self.oracle);
        if let Some(ahead) = self.set.ahead(3) {
            prop_assert!(self.oracle.contains(&ahead.key));
        }
        let distances = [20, 9, 3];
        prop_assert_eq!(self.set.each_ahead(distances), distances.map(|n| self.set.ahead(n)));
        Ok(())
    }
}

fn check<S: PendingSet<Scheduled<u64>> + Default>(deeds: &[Deed]) -> Result<(), TestCaseError> {
    let mut trial = Trial::<S>::new();
    for deed in deeds {
        trial.perform(deed)?;
    }
    while trial.pop()? {}
    trial.compare()
}

proptest! {
    #[test]
    fn the_heap_pops_in_key_order(deeds in deeds()) {
        check::<DaryHeap<_>>(&deeds)?;
    }

    #[test]
    fn the_ladder_pops_in_key_order(deeds in deeds()) {
        check::<Ladder<_>>(&deeds)?;
    }

    #[test]
    fn the_radix_queue_pops_in_key_order(deeds in deeds()) {
        check::<RadixQueue<_>>(&deeds)?;
    }

    #[test]
    fn a_bucket_is_sorted(times in proptest::collection::vec(prop_oneof![0u64..4, 0u64..1000, any::<u64>()], 0..1200)) {
        let record = |(place, &at): (usize, &u64)| {
            let (origin, sequence) = (EntityId(place as u32 % 3), place as u64);
            let key = EventKey { at: SimTime::from_ns(at), step: 0, origin, sequence };
            Scheduled { key, to: origin, timer: false, event: () }
        };
        let (mut chunks, mut chains, mut run) = (ChunkPool::default(), vec![Chain::default(), Chain::default()], Run::new());
        let mut want = Vec::new();
        for record in times.iter().enumerate().map(record) {
            want.push(record.key);
            chunks.push(&mut chains[usize::from(record.key.sequence % 5 == 0)], record);
        }
        want.sort_unstable_by(|left, right| right.cmp(left));
        sort_into(&mut chunks, &mut chains, &mut run);
        prop_assert_eq!(run.into_iter().map(|record| record.expect("no place is empty").key).collect::<Vec<_>>(), want);
        prop_assert!(chains.is_empty());
    }
}

/// Events that answer each other after `delay`, compared with the oracle for long enough to use up many
/// rungs.
fn hold(pending: u64, pops: u64, delay: impl Fn(u64) -> u64) {
    let mut trial = Trial::<Ladder<_>>::new();
    for _ in 0..pending {
        let at = delay(trial.draw(u64::MAX));
        trial.push(at);
    }
    for _ in 0..pops {
        trial.pop().expect("the ladder agrees with the oracle");
        let at = trial.now.saturating_add(delay(trial.draw(u64::MAX)));
        trial.push(at);
    }
    trial.compare().expect("the ladder holds what it should");
}

#[test]
fn a_steady_crowd_stays_in_order() {
    hold(5_000, 40_000, |noise| noise % 1_000_000);
}

#[test]
fn ties_stay_in_order() {
    hold(3_000, 20_000, |_| 1_000);
}

#[test]
fn delays_of_zero_stay_in_order() {
    hold(3_000, 30_000, |noise| if noise.is_multiple_of(4) { 1_000_000 } else { 0 });
}

#[test]
fn a_hot_few_among_far_timers_stay_in_order() {
    hold(4_000, 30_000, |noise| if noise.is_multiple_of(50) { 1 << 50 } else { noise % 1000 });
}

#[test]
fn records_pushed_in_order_of_time_are_cut_evenly() {
    let mut trial = Trial::<Ladder<_>>::new();
    (0..50_000).for_each(|at| trial.push(at * 1000));
    while trial.pop().expect("the ladder agrees with the oracle") {}
}
