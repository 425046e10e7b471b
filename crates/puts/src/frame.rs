//! A part of a chunk that crosses the network separately.

use serde::{Deserialize, Serialize};
use towtank_negotiation::{GetId, PutId, Size};

/// A part of a chunk in transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Frame {
    /// To a server.
    Put {
        /// The put it belongs to.
        put: PutId,
        /// Length in bits.
        bits: u64,
    },
    /// To a gateway.
    Get {
        /// The get it belongs to.
        get: GetId,
        /// The attempt it belongs to.
        round: u8,
        /// Length in bits.
        bits: u64,
    },
    /// To a server, in a reserved window; only if there are racks.
    Reserved {
        /// The put it belongs to.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// Whether it is the last frame of the chunk.
        last: bool,
        /// Length in bits.
        bits: u64,
    },
    /// To a gateway, in a reserved window; only if there are racks.
    Delivered {
        /// The get it belongs to.
        get: GetId,
        /// The size of the chunk.
        size: Size,
        /// Whether it is the last frame of the chunk.
        last: bool,
        /// Length in bits.
        bits: u64,
    },
}

impl Frame {
    /// Length in bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        match *self {
            Frame::Put { bits, .. }
            | Frame::Get { bits, .. }
            | Frame::Reserved { bits, .. }
            | Frame::Delivered { bits, .. } => bits,
        }
    }

    /// Whether it is sent to a server.
    #[must_use]
    pub(crate) fn is_put(&self) -> bool {
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
