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

#[cfg(test)]
mod tests {
    use towtank_negotiation::GatewayId;

    use super::*;

    #[test]
    fn frames_go_to_servers_or_to_readers() {
        let (gateway, size, bits) = (GatewayId(0), Size(0), 720);
        let (put, get) = (PutId { gateway, number: 1 }, GetId { gateway, number: 1 });
        let to_servers = [Frame::Put { put, bits }, Frame::Reserved { put, size, last: true, bits }];
        let to_readers =
            [Frame::Get { get, round: 1, bits }, Frame::Delivered { get, size, last: false, bits }];
        assert!(to_servers.iter().all(Frame::is_put));
        assert!(!to_readers.iter().any(Frame::is_put));
        assert!(to_servers.iter().chain(&to_readers).all(|frame| frame.bits() == bits));
    }
}
