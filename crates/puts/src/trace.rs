//! What of a run is written down to be drawn: puts, and windows of servers.

use serde::{Deserialize, Serialize};
use towtank_units::{SimSpan, SimTime, plain};

/// Something to be drawn, written down for the first part of the first replicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trace {
    /// A put ended well.
    Put {
        /// How long after its chunk came.
        #[serde(with = "plain")]
        latency_ns: SimSpan,
    },
    /// A server took a window out of those it had offered.
    Accepted {
        /// For which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server offers a window.
    Offered {
        /// To which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server writes.
    Written {
        /// For which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server reads.
    Read {
        /// For which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server sends what was read.
    Sent {
        /// To which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
}
