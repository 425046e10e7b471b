//! A part of a chunk that crosses the network by itself.

use serde::{Deserialize, Serialize};
use towtank_negotiation::{GetId, PutId, Size};

/// A part of a chunk on its way by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Frame {
    /// To a server.
    Put {
        /// Of which put.
        put: PutId,
        /// How long.
        bits: u64,
    },
    /// To a gateway.
    Get {
        /// Of which get.
        get: GetId,
        /// Of which attempt.
        round: u8,
        /// How long.
        bits: u64,
    },
    /// To a server, in a reserved window; only where there are racks to cross.
    Reserved {
        /// Of which put.
        put: PutId,
        /// How large the chunk is.
        size: Size,
        /// Whether it is the last.
        last: bool,
        /// How long.
        bits: u64,
    },
    /// To a gateway, in a reserved window; only where there are racks to cross.
    Delivered {
        /// Of which get.
        get: GetId,
        /// How large the chunk is.
        size: Size,
        /// Whether it is the last.
        last: bool,
        /// How long.
        bits: u64,
    },
}

impl Frame {
    /// How long it is.
    #[must_use]
    pub fn bits(&self) -> u64 {
        match *self {
            Frame::Put { bits, .. }
            | Frame::Get { bits, .. }
            | Frame::Reserved { bits, .. }
            | Frame::Delivered { bits, .. } => bits,
        }
    }

    /// Whether a server gets it.
    #[must_use]
    pub fn is_put(&self) -> bool {
        matches!(self, Frame::Put { .. } | Frame::Reserved { .. })
    }
}
