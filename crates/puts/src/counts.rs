//! What is counted at each node, and merged over all.

use serde::{Deserialize, Serialize};
use towtank_kernel::Statistics;
use towtank_metrics::Histogram;
use towtank_units::SimSpan;

/// One thing worth counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A put ended well in the span in which puts are counted.
    Counted,
    /// A put ended well, so long after its chunk came.
    Latency(SimSpan),
    /// A chunk was dropped because its bids had no window in common.
    Dropped,
    /// A put went on with other servers.
    Retried,
    /// A put was given up.
    Failed,
    /// A round of a negotiation began.
    Round,
    /// The disk is busy for so long within the span measured.
    Busy(SimSpan),
    /// A request came; another gateway's bid was undecided or not.
    Request {
        /// Whether one was.
        undecided: bool,
    },
    /// A replica's data are in, in the span in which puts are counted.
    Replica,
    /// A transfer left its window, or windows overlap.
    Violation,
    /// A get ended well in the span in which gets are counted, so long after it came.
    Got(SimSpan),
    /// A get went on with another server.
    GetRetried,
    /// A get was given up.
    GetFailed,
    /// A server that was chosen could not have read in time.
    GetDeclined,
}

/// What was counted at one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// Puts that ended well in the span in which they are counted.
    pub puts: u64,
    /// Their latencies in nanoseconds.
    pub latencies: Histogram,
    /// Chunks dropped.
    pub dropped: u64,
    /// Puts that went on with other servers.
    pub retried: u64,
    /// Puts given up.
    pub failed: u64,
    /// Rounds of negotiations.
    pub rounds: u64,
    /// Nanoseconds that the disk is busy.
    pub busy_ns: u64,
    /// Requests.
    pub requests: u64,
    /// Requests that came while another gateway's bid was undecided.
    pub undecided: u64,
    /// Replicas whose data are in.
    pub replicas: u64,
    /// Transfers outside their window, and windows that overlap.
    pub violations: u64,
    /// Latencies in nanoseconds of gets that ended well in the span in which they are counted.
    pub got: Histogram,
    /// Gets that went on with another server.
    pub gets_retried: u64,
    /// Gets given up.
    pub gets_failed: u64,
    /// Chosen servers that could not have read in time.
    pub gets_declined: u64,
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
        assert!(self.puts <= self.latencies.count(), "a put that counts has no latency");
        assert!(self.undecided <= self.requests, "more bids were undecided than asked for");
    }
}
