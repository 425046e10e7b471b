//! The events of devices, clients and the monitor.

use serde::{Deserialize, Serialize};
use towtank_replication::objects::Size;
use towtank_replication::{DeviceId, Epoch, Input, Message, RequestId};
use towtank_units::SimSpan;

/// An event of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// The group concerned.
    pub group: u32,
    /// The kind of event.
    pub what: What,
}

/// The kind of event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum What {
    /// The last byte of a message could have arrived.
    Arrives {
        /// The sender.
        from: DeviceId,
        /// How long the message occupies a NIC.
        span: SimSpan,
        /// The message.
        message: Message<Size>,
    },
    /// A replica receives an input.
    Input(Input<Size>),
    /// A client writes an object.
    Writes(RequestId),
    /// The next client request is due.
    Comes,
    /// A group is clean.
    Clean,
    /// A primary asks for other acting replicas.
    Wants(Epoch, Vec<DeviceId>),
}
