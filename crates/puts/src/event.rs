//! Events at nodes, and traffic between racks.

use serde::{Deserialize, Serialize};
use towtank_kernel::EntityId;
use towtank_negotiation::{GetId, Message, Peer, PutId, Size, Wake, Window};
use towtank_units::SimTime;

use crate::frame::Frame;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// At a gateway: puts start.
    Begin,
    /// At a gateway, open loop: a chunk arrives.
    Arrive,
    /// A control message is processed.
    Heard(Message),
    /// A control message arrives at the receiver's port.
    AtPort(Message),
    /// A node's own message is to be sent now, after a wait.
    Later(Peer, Message),
    /// At a gateway: a request that was held back may be multicast.
    Release,
    /// A timer expires.
    Wake(Wake),
    /// At a server, SURGE: a frame asks for admission.
    Offer {
        /// The put it belongs to.
        put: PutId,
        /// Length in bits.
        bits: u64,
    },
    /// At a server, SURGE: waiting frames may be admitted.
    Admit,
    /// At a gateway: a frame may be sent.
    Granted(PutId),
    /// A frame arrives at its receiver's port.
    FrameAtPort(Frame),
    /// A frame has been received.
    Frame(Frame),
    /// At a server: a frame to a reader may be sent.
    GetGranted {
        /// The get it belongs to.
        get: GetId,
        /// The attempt it belongs to.
        round: u8,
    },
    /// At a gateway: a reserved delivery is complete.
    GetData {
        /// The get it belongs to.
        get: GetId,
        /// The size of the chunk.
        size: Size,
        /// When it was sent.
        transfer: Transfer,
    },
    /// At a server: a reserved transfer is complete.
    Data {
        /// The put it belongs to.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When it was sent.
        transfer: Transfer,
    },
    /// At a rack: a message or frame arrives at its uplink.
    Crossing(Crossing),
    /// At a server: it fails.
    Fail,
}

/// When reserved data were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transfer {
    /// The window that was accepted for them.
    pub window: Window,
    /// When their first frame was started.
    pub began: SimTime,
    /// When their last frame had been sent.
    pub ended: SimTime,
}

impl Transfer {
    /// Whether part of it was sent before or after its window.
    #[must_use]
    pub(crate) fn is_outside(&self) -> bool {
        debug_assert!(self.began <= self.ended, "a transfer went out from {} to {}", self.began, self.ended);
        self.began < self.window.left || self.ended > self.window.right
    }
}

/// What nodes send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cargo {
    /// A control message.
    Control(Message),
    /// A frame.
    Frame(Frame),
}

impl Cargo {
    /// The event of its arrival at the receiver's port.
    #[must_use]
    pub fn arrival(&self) -> Event {
        match *self {
            Cargo::Control(message) => Event::AtPort(message),
            Cargo::Frame(frame) => Event::FrameAtPort(frame),
        }
    }
}

/// A message or frame in transit between racks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Crossing {
    /// The receiver.
    pub to: EntityId,
    /// The message or frame.
    pub cargo: Cargo,
    /// Whether it has left its own rack and goes down to the receiver's.
    pub descends: bool,
    /// Whether it is the first copy of its multicast; only that copy uses transmission time.
    pub first: bool,
    /// Whether it is the first copy for its destination rack.
    pub first_of_rack: bool,
}
