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
        /// The window that was accepted for it.
        window: Window,
        /// When it began to go out.
        began: SimTime,
        /// When it had gone out.
        ended: SimTime,
    },
    /// At a server: all of a reserved transfer is in.
    Data {
        /// Of which put.
        put: PutId,
        /// How large.
        size: Size,
        /// The window that was accepted for it.
        window: Window,
        /// When its first frame went out.
        began: SimTime,
        /// When its last frame had gone out.
        ended: SimTime,
    },
    /// At a rack: something is at its uplink.
    Crossing(Crossing),
    /// At a server: it fails.
    Fail,
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
