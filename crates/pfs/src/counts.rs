//! Counters of each node, and their merger over all nodes.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use towtank_kernel::Statistics;
use towtank_metrics::Histogram;
use towtank_units::{SimSpan, SimTime};

/// The maximum number of sampling intervals that are distinguished. A run that lasts longer than this many
/// doubles its interval, so that the memory of a run does not grow with its length.
pub const INTERVALS_MAX: u32 = 4_096;

/// One counted event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A client's request is done.
    Done {
        /// Its phase.
        phase: u16,
        /// Its application.
        application: u16,
        /// How many bytes it moved.
        bytes: u64,
        /// When it began.
        since: SimTime,
        /// When it was done.
        at: SimTime,
    },
    /// A server has completed a job.
    Served {
        /// Its application.
        application: u16,
        /// Its bytes.
        bytes: u64,
        /// The sampling interval, counted in undoubled intervals.
        bin: u64,
    },
    /// A phase began; reported by the node that starts phases.
    Began {
        /// The phase.
        phase: u16,
        /// The instant.
        at: SimTime,
    },
    /// A reader found this many pages in memory, and this many missing.
    Looked {
        /// In memory.
        here: u64,
        /// To be read from the disk.
        missing: u64,
    },
    /// A writer had to write pages back first.
    Throttled,
    /// A metadata server served a request that had waited this long.
    Metadata(SimSpan),
    /// A message was lost.
    Lost,
    /// A reader found this many bytes in its client's cache, and this many missing.
    Kept {
        /// In the cache.
        here: u64,
        /// To be read from servers.
        missing: u64,
    },
    /// A client's dirty bytes have been written to servers, after its last request of a phase.
    Drained {
        /// The phase.
        phase: u16,
        /// The client's application.
        application: u16,
        /// The instant.
        at: SimTime,
    },
    /// A writer had to wait for its client's cache.
    Held,
}

/// The work of one application in one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Done {
    /// Requests.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Latencies of the requests, in nanoseconds.
    pub latencies: Histogram,
    /// When the last request was done and its written data was at servers.
    pub last: SimTime,
}

/// A number of doublings. Zero adds nothing to a digest, so that a run that doubles nothing has the digest
/// that it had before there were doublings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Doublings(pub u32);

impl Hash for Doublings {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.0 > 0 {
            self.0.hash(state);
        }
    }
}

/// The counters of one node, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// By phase and application.
    #[serde(with = "towtank_units::pairs")]
    pub done: BTreeMap<(u16, u16), Done>,
    /// Bytes of jobs that servers completed, by application and sampling interval; the interval is below
    /// [`INTERVALS_MAX`].
    #[serde(with = "towtank_units::pairs")]
    pub served: BTreeMap<(u16, u32), u64>,
    /// How often the sampling interval was doubled.
    #[serde(default)]
    pub doublings: Doublings,
    /// When each phase began.
    pub began: BTreeMap<u16, SimTime>,
    /// Pages that readers found in memory.
    pub pages_here: u64,
    /// Pages that had to be read.
    pub pages_missing: u64,
    /// Times that writers had to write pages back.
    pub throttled: u64,
    /// Requests to metadata servers, with their waiting times.
    pub metadata: Histogram,
    /// Messages that were lost.
    pub lost: u64,
    /// Bytes that readers found in their clients' caches.
    pub kept_here: u64,
    /// Bytes that they read from servers, where clients have caches.
    pub kept_missing: u64,
    /// Times that writers waited for their clients' caches.
    pub held: u64,
}

impl Statistics for Counts {
    type Sample = Sample;

    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Done { phase, application, bytes, since, at } => {
                debug_assert!(at >= since, "a request is done at {at:?} that began at {since:?}");
                let done = self.done.entry((phase, application)).or_default();
                done.requests += 1;
                done.bytes += bytes;
                done.latencies.record(at.since(since).as_ns());
                done.last = done.last.max(at);
            }
            Sample::Served { application, bytes, bin } => {
                self.double_until(bin);
                let key = (application, (bin >> self.doublings.0) as u32);
                // Time only goes on, so the last interval is usually the one.
                match self.served.last_entry() {
                    Some(mut last) if *last.key() == key => *last.get_mut() += bytes,
                    _ => *self.served.entry(key).or_default() += bytes,
                }
            }
            Sample::Began { phase, at } => {
                debug_assert!(!self.began.contains_key(&phase), "a phase begins once");
                self.began.insert(phase, at);
            }
            Sample::Looked { here, missing } => {
                self.pages_here += here;
                self.pages_missing += missing;
            }
            Sample::Throttled => self.throttled += 1,
            Sample::Metadata(wait) => self.metadata.record(wait.as_ns()),
            Sample::Lost => self.lost += 1,
            Sample::Kept { here, missing } => {
                self.kept_here += here;
                self.kept_missing += missing;
            }
            Sample::Drained { phase, application, at } => {
                let done = self.done.entry((phase, application)).or_default();
                done.last = done.last.max(at);
            }
            Sample::Held => self.held += 1,
        }
    }

    fn merge(&mut self, other: &Counts) {
        for (key, more) in &other.done {
            let done = self.done.entry(*key).or_default();
            done.requests += more.requests;
            done.bytes += more.bytes;
            done.latencies.merge(&more.latencies);
            done.last = done.last.max(more.last);
        }
        self.double_to(other.doublings);
        let more = self.doublings.0 - other.doublings.0;
        for ((application, bin), bytes) in &other.served {
            *self.served.entry((*application, coarser(*bin, more))).or_default() += bytes;
        }
        self.began.extend(other.began.iter().map(|(phase, at)| (*phase, *at)));
        self.pages_here += other.pages_here;
        self.pages_missing += other.pages_missing;
        self.throttled += other.throttled;
        self.metadata.merge(&other.metadata);
        self.lost += other.lost;
        self.kept_here += other.kept_here;
        self.kept_missing += other.kept_missing;
        self.held += other.held;
    }
}

impl Counts {
    /// The length of the sampling interval after all doublings, where it was `set` at first.
    #[must_use]
    pub fn interval(&self, set: SimSpan) -> SimSpan {
        let times = 1_u64.checked_shl(self.doublings.0).unwrap_or(u64::MAX);
        set.checked_mul(times).unwrap_or(SimSpan::MAX)
    }

    /// Doubles the interval until the undoubled interval `bin` lies in one of the first [`INTERVALS_MAX`].
    /// The result depends on the last interval alone, not on the order of samples.
    fn double_until(&mut self, bin: u64) {
        let mut doublings = self.doublings;
        while bin >> doublings.0 >= u64::from(INTERVALS_MAX) {
            doublings.0 += 1;
        }
        self.double_to(doublings);
    }

    fn double_to(&mut self, doublings: Doublings) {
        let more = doublings.0.saturating_sub(self.doublings.0);
        if more == 0 {
            return;
        }
        self.doublings = doublings;
        for ((application, bin), bytes) in std::mem::take(&mut self.served) {
            *self.served.entry((application, coarser(bin, more))).or_default() += bytes;
        }
    }
}

/// The interval that holds interval `bin` after this many doublings.
fn coarser(bin: u32, doublings: u32) -> u32 {
    bin.checked_shr(doublings).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(bins: &[u64]) -> Counts {
        let mut counts = Counts::default();
        for &bin in bins {
            counts.add(Sample::Served { application: 0, bytes: 1, bin });
        }
        counts
    }

    /// A former bug: a run of a day had an entry for each millisecond, and interval numbers wrapped after
    /// 50 days.
    #[test]
    fn a_long_run_has_no_more_intervals_than_the_limit() {
        let counts = served(&(0..40_000).collect::<Vec<_>>());
        assert_eq!(counts.doublings, Doublings(4));
        assert_eq!(counts.served.len(), 2_500);
        assert!(counts.served.values().all(|bytes| *bytes == 16));
        assert_eq!(counts.interval(SimSpan::from_ms(1)), SimSpan::from_ms(16));
        let last = served(&[u64::MAX]);
        assert_eq!(last.served.keys().next(), Some(&(0, INTERVALS_MAX - 1)));
    }

    #[test]
    fn the_order_of_samples_and_of_merging_does_not_matter() {
        let (first, second) = ([3, 4_095, 90_000], [0, 3, 5_000]);
        let all = served(&[&first[..], &second[..]].concat());
        let mut reversed: Vec<u64> = [&first[..], &second[..]].concat();
        reversed.reverse();
        assert_eq!(served(&reversed), all);
        for (one, other) in [(first, second), (second, first)] {
            let mut merged = served(&one);
            merged.merge(&served(&other));
            assert_eq!(merged, all);
        }
    }
}
