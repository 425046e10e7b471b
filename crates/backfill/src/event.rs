//! What happens to devices, clients and the one who tells maps.

use serde::{Deserialize, Serialize};
use towtank_replication::objects::Size;
use towtank_replication::{DeviceId, Epoch, Input, Message, RequestId};
use towtank_units::SimSpan;

/// Something happens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// To which group.
    pub group: u32,
    /// What.
    pub what: What,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum What {
    /// The last byte of a message could be here.
    Arrives {
        /// Whose message.
        from: DeviceId,
        /// How long it occupies a card.
        span: SimSpan,
        /// What it says.
        message: Message<Size>,
    },
    /// A replica is told something.
    Told(Input<Size>),
    /// A client writes an object.
    Writes(RequestId),
    /// The next client comes.
    Comes,
    /// A group is clean.
    Clean,
    /// A primary asks for other acting replicas.
    Wants(Epoch, Vec<DeviceId>),
}
