//! Laws of devices that did not hold: a model's audit passes these on.

use towtank_units::{SimSpan, SimTime};

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// A lane was given more to do than there is time for.
    #[error("a lane was given {busy} to do, but is to be idle {idle_at} after the beginning")]
    MoreThanTime {
        /// What it was given.
        busy: SimSpan,
        /// When it is to be idle.
        idle_at: SimTime,
    },
    /// Something came to a line that neither waits, nor is served, nor has been.
    #[error(
        "{came} requests came to a line, but {served} were served, {serving} are being served and {waiting} wait"
    )]
    Lost {
        /// Requests that came.
        came: u64,
        /// Of these, served.
        served: u64,
        /// Of these, being served.
        serving: u64,
        /// Of these, waiting.
        waiting: u64,
    },
    /// Bytes came to a port of a switch that are neither in it nor through.
    #[error("{came} bytes came to a port of a switch, but {gone} are through and {inside} are in it")]
    LostBytes {
        /// Bytes that came.
        came: u64,
        /// Of these, through.
        gone: u64,
        /// Of these, inside.
        inside: u64,
    },
    /// What a page cache counts is not what it holds.
    #[error("in a page cache, {0}")]
    Pages(&'static str),
    /// More bytes passed a port of a switch than its rate allows.
    #[error(
        "{gone} bytes passed a port of a switch that was busy for {busy}, which is more than its rate allows"
    )]
    TooFast {
        /// Bytes that are through.
        gone: u64,
        /// How long it was busy.
        busy: SimSpan,
    },
    /// Pages of flash that were programmed are neither in use, nor stale, nor erased, or are in use without
    /// being mapped.
    #[error(
        "{programmed} pages of flash were programmed, but {erased} were erased, {stale} are stale and {valid} in use, of {mapped} mapped"
    )]
    LostPages {
        /// Pages that were programmed.
        programmed: u64,
        /// Of these, erased again.
        erased: u64,
        /// Of these, replaced, and not erased yet.
        stale: u64,
        /// Of these, in use.
        valid: u64,
        /// Pages of the drive's addresses that were written.
        mapped: u64,
    },
    /// An address and its page of flash do not name each other.
    #[error("page {logical} of a drive is mapped to page {physical} of its flash, which holds another")]
    WrongPage {
        /// The page of the drive's addresses.
        logical: u64,
        /// The page of its flash.
        physical: u64,
    },
}
