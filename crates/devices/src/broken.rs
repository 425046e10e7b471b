//! Violated invariants of devices, which a model's audit reports.

use towtank_units::{SimSpan, SimTime};

/// An invariant of a device that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// A lane was given more work than fits in the time until it is idle.
    #[error("a lane was given {busy} of work, but becomes idle {idle_at} after the start")]
    MoreThanTime {
        /// The work it was given.
        busy: SimSpan,
        /// The instant at which it will be idle.
        idle_at: SimTime,
    },
    /// A request that arrived at a line is neither waiting, nor in service, nor served.
    #[error(
        "{came} requests arrived at a queue, but {served} were served, {serving} are in service and {waiting} wait"
    )]
    Lost {
        /// Requests that arrived.
        came: u64,
        /// Of these, served.
        served: u64,
        /// Of these, in service.
        serving: u64,
        /// Of these, waiting.
        waiting: u64,
    },
    /// Bytes that arrived at a port of a switch are neither inside nor sent.
    #[error("{came} bytes arrived at a switch port, but {gone} left and {inside} are in it")]
    LostBytes {
        /// Bytes that arrived.
        came: u64,
        /// Of these, sent.
        gone: u64,
        /// Of these, still inside.
        inside: u64,
    },
    /// The counters of a page cache do not match its contents.
    #[error("in a page cache, {0}")]
    Pages(&'static str),
    /// More bytes passed a port of a switch than its rate allows.
    #[error("{gone} bytes passed a switch port that was busy for {busy}, more than its rate allows")]
    TooFast {
        /// Bytes that were sent.
        gone: u64,
        /// How long the port was busy.
        busy: SimSpan,
    },
    /// Programmed pages of flash are neither in use, nor stale, nor erased, or are in use without being
    /// mapped.
    #[error(
        "{programmed} flash pages were programmed, but {erased} were erased, {stale} are stale and {valid} in use, of {mapped} mapped"
    )]
    LostPages {
        /// Pages programmed.
        programmed: u64,
        /// Of these, erased.
        erased: u64,
        /// Of these, stale and not yet erased.
        stale: u64,
        /// Of these, in use.
        valid: u64,
        /// Logical pages that were written.
        mapped: u64,
    },
    /// The logical map and the physical map of a page contradict each other.
    #[error("page {logical} of a drive is mapped to flash page {physical}, which contains another")]
    WrongPage {
        /// The logical page.
        logical: u64,
        /// The physical page.
        physical: u64,
    },
}
