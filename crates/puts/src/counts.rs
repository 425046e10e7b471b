//! Counts at each node, merged over all.

use serde::{Deserialize, Serialize};
use towtank_kernel::Statistics;
use towtank_metrics::Histogram;
use towtank_units::SimSpan;

/// One observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A put succeeded in the span in which puts are counted.
    Counted,
    /// A put succeeded this long after its chunk arrived.
    Latency(SimSpan),
    /// A chunk was dropped because its bids had no window in common.
    Dropped,
    /// A put continued with other servers.
    Retried,
    /// A put was given up.
    Failed,
    /// A round of a negotiation began.
    Round,
    /// The disk is busy for this long within the measured span.
    Busy(SimSpan),
    /// A request arrived.
    Request {
        /// Whether another gateway's bid was undecided.
        undecided: bool,
    },
    /// A replica's data arrived in the span in which puts are counted.
    Replica,
    /// A transfer left its window, or windows overlap.
    Violation,
    /// A get succeeded in the span in which gets are counted, this long after it arrived.
    Got(SimSpan),
    /// A get continued with another server.
    GetRetried,
    /// A get was given up.
    GetFailed,
    /// A chosen server could not have read in time.
    GetDeclined,
    /// A server did not bid: it holds the chunk, or has no room.
    Declined,
}

/// The counts of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// Puts that succeeded in the span in which they are counted.
    pub puts: u64,
    /// Their latencies in nanoseconds.
    pub latencies: Histogram,
    /// Chunks dropped.
    pub dropped: u64,
    /// Puts that continued with other servers.
    pub retried: u64,
    /// Puts given up.
    pub failed: u64,
    /// Rounds of negotiations.
    pub rounds: u64,
    /// Nanoseconds that the disk is busy.
    pub busy_ns: u64,
    /// Requests.
    pub requests: u64,
    /// Requests that arrived while another gateway's bid was undecided.
    pub undecided: u64,
    /// Replicas whose data have arrived.
    pub replicas: u64,
    /// Transfers outside their window, and windows that overlap.
    pub violations: u64,
    /// Latencies in nanoseconds of gets that succeeded in the span in which they are counted.
    pub got: Histogram,
    /// Gets that continued with another server.
    pub gets_retried: u64,
    /// Gets given up.
    pub gets_failed: u64,
    /// Chosen servers that could not have read in time.
    pub gets_declined: u64,
    /// Servers that did not bid because they hold the chunk or have no room.
    pub declined: u64,
}

impl Statistics for Counts {
    type Sample = Sample;

    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Counted => self.puts += 1,
            Sample::Latency(span) => {
                self.latencies.record(span.as_ns());
                assert!(self.puts <= self.latencies.count(), "a put that counts has no latency");
            }
            Sample::Dropped => self.dropped += 1,
            Sample::Retried => self.retried += 1,
            Sample::Failed => self.failed += 1,
            Sample::Round => self.rounds += 1,
            Sample::Busy(span) => self.busy_ns += span.as_ns(),
            Sample::Request { undecided } => {
                self.requests += 1;
                self.undecided += u64::from(undecided);
                assert!(self.undecided <= self.requests, "more bids were undecided than asked for");
            }
            Sample::Replica => self.replicas += 1,
            Sample::Violation => self.violations += 1,
            Sample::Got(span) => self.got.record(span.as_ns()),
            Sample::GetRetried => self.gets_retried += 1,
            Sample::GetFailed => self.gets_failed += 1,
            Sample::GetDeclined => self.gets_declined += 1,
            Sample::Declined => self.declined += 1,
        }
    }

    fn merge(&mut self, other: &Counts) {
        self.puts += other.puts;
        self.latencies.merge(&other.latencies);
        self.dropped += other.dropped;
        self.retried += other.retried;
        self.failed += other.failed;
        self.rounds += other.rounds;
        self.busy_ns += other.busy_ns;
        self.requests += other.requests;
        self.undecided += other.undecided;
        self.replicas += other.replicas;
        self.violations += other.violations;
        self.got.merge(&other.got);
        self.gets_retried += other.gets_retried;
        self.gets_failed += other.gets_failed;
        self.gets_declined += other.gets_declined;
        self.declined += other.declined;
        assert!(self.puts <= self.latencies.count(), "a put that counts has no latency");
        assert!(self.undecided <= self.requests, "more bids were undecided than asked for");
    }
}
