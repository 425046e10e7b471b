//! The state of a node: a gateway, a server, or the uplink of a rack.

mod gateway;
mod server;

pub use gateway::{Gateway, GatewayTally, Initiator, Wish};
pub use server::{Server, ServerTally, Target};

use serde::{Deserialize, Serialize};

use crate::ports::Ports;

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Entity {
    /// A node that puts.
    Gateway(Box<Gateway>),
    /// A node that stores.
    Server(Box<Server>),
    /// The uplink of a rack.
    Rack(Box<Rack>),
}

/// The uplink of a rack, if the core is oversubscribed. Traffic that leaves the rack uses the outgoing ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rack {
    /// The directions and shares of the uplink.
    pub ports: Ports,
}
