//! What is recorded of a run for drawing: puts, and windows of servers.

use serde::{Deserialize, Serialize};
use towtank_units::{SimSpan, SimTime, plain};

/// A record for drawing, from the first part of the first replicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trace {
    /// A put succeeded.
    Put {
        /// Its latency since the chunk's arrival.
        #[serde(with = "plain")]
        latency_ns: SimSpan,
    },
    /// A server accepted a window from those that it had offered.
    Accepted {
        /// The gateway.
        gateway: u32,
        /// Start of the window.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// End of the window.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server offers a window.
    Offered {
        /// The gateway.
        gateway: u32,
        /// Start of the window.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// End of the window.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server writes.
    Written {
        /// The gateway.
        gateway: u32,
        /// Start of the write.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// End of the write.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server reads.
    Read {
        /// The gateway.
        gateway: u32,
        /// Start of the read.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// End of the read.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server sends what it has read.
    Sent {
        /// The gateway.
        gateway: u32,
        /// Start of the transfer.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// End of the transfer.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
}
