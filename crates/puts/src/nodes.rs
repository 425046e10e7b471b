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
    /// Who puts.
    Gateway(Box<Gateway>),
    /// Who stores.
    Server(Box<Server>),
    /// The uplink of a rack.
    Rack(Box<Rack>),
}

/// A rack, where the core blocks: its uplink. What leaves the rack goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rack {
    /// Its directions and shares.
    pub ports: Ports,
}
