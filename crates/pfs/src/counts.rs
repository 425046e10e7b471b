//! Counters of each node, and their merger over all nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_kernel::Statistics;
use towtank_metrics::Histogram;
use towtank_units::{SimSpan, SimTime};

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
        /// The sampling interval.
        bin: u32,
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

/// The counters of one node, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// By phase and application.
    #[serde(with = "towtank_units::pairs")]
    pub done: BTreeMap<(u16, u16), Done>,
    /// Bytes of jobs that servers completed, by application and sampling interval.
    #[serde(with = "towtank_units::pairs")]
    pub served: BTreeMap<(u16, u32), u64>,
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
                let key = (application, bin);
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
        for (key, bytes) in &other.served {
            *self.served.entry(*key).or_default() += bytes;
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
