//! What happens at nodes, and what is on its way from rack to rack.

use serde::{Deserialize, Serialize};
use towtank_kernel::EntityId;
use towtank_negotiation::{GetId, Message, Peer, PutId, Size, Wake, Window};
use towtank_units::SimTime;

use crate::frame::Frame;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// At a gateway: puts begin.
    Begin,
    /// At a gateway, open loop: a chunk comes.
    Arrive,
    /// A control message is heard.
    Heard(Message),
    /// A control message is at the receiver's port.
    AtPort(Message),
    /// A node's own message, after a wait, is to be sent.
    Later(Peer, Message),
    /// A reminder.
    Wake(Wake),
    /// At a server, SURGE: a frame asks for room.
    Offer {
        /// Of which put.
        put: PutId,
        /// How long.
        bits: u64,
    },
    /// At a server, SURGE: there may be room for what waits.
    Admit,
    /// At a gateway: a frame has room.
    Granted(PutId),
    /// A frame is at the port of its receiver.
    FrameAtPort(Frame),
    /// A frame is in.
    Frame(Frame),
    /// At a server: a frame to a reader has room.
    GetGranted {
        /// Of which get.
        get: GetId,
        /// Of which attempt.
        round: u8,
    },
    /// At a gateway: all of a reserved delivery is in.
    GetData {
        /// Of which get.
        get: GetId,
        /// How large.
        size: Size,
        /// When it was sent.
        transfer: Transfer,
    },
    /// At a server: all of a reserved transfer is in.
    Data {
        /// Of which put.
        put: PutId,
        /// How large.
        size: Size,
        /// When it was sent.
        transfer: Transfer,
    },
    /// At a rack: something is at its uplink.
    Crossing(Crossing),
    /// At a server: it fails.
    Fail,
}

/// When reserved data were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transfer {
    /// The window that was accepted for them.
    pub window: Window,
    /// When their first frame went out.
    pub began: SimTime,
    /// When their last frame had gone out.
    pub ended: SimTime,
}

impl Transfer {
    /// Whether some of it went out before or after its window.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        debug_assert!(self.began <= self.ended, "a transfer went out from {} to {}", self.began, self.ended);
        self.began < self.window.left || self.ended > self.window.right
    }
}

/// What is carried from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cargo {
    /// A control message.
    Control(Message),
    /// A frame.
    Frame(Frame),
}

impl Cargo {
    /// What happens when it is at the port of its receiver.
    #[must_use]
    pub fn arrival(&self) -> Event {
        match *self {
            Cargo::Control(message) => Event::AtPort(message),
            Cargo::Frame(frame) => Event::FrameAtPort(frame),
        }
    }
}

/// Something on its way from rack to rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Crossing {
    /// To whom.
    pub to: EntityId,
    /// What.
    pub cargo: Cargo,
    /// Whether it has left its rack.
    pub descends: bool,
    /// Whether it is the first of its multicast, for which the others need no room of their own.
    pub first: bool,
    /// The same for the rack it goes to.
    pub first_of_rack: bool,
}
