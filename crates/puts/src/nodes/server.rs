//! A server: its state machine with its disk, its link, and its tally.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use towtank_devices::{Bucket, Lane};
use towtank_negotiation::{NegotiatingServer, PutId, UnicastServer};

use crate::ports::Ports;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Server {
    /// The state machine of the protocol.
    pub machine: Target,
    /// The server's link.
    pub ports: Ports,
    /// SURGE: the token bucket that admits frames to its link.
    pub ingress: Bucket,
    /// SURGE: frames that wait for admission.
    pub offers: VecDeque<(PutId, u64)>,
    /// Whether it has failed.
    pub failed: bool,
    /// What it has done.
    pub tally: ServerTally,
}

/// What a server has done since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ServerTally {
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes that arrived after it had failed.
    pub bytes_lost: u64,
    /// Replicas written, or queued for the disk.
    pub replicas: u64,
    /// Their bytes.
    pub bytes_stored: u64,
    /// Acknowledgements that it could not send because it had failed.
    pub acknowledgements_lost: u64,
    /// Bytes sent to readers.
    pub bytes_sent: u64,
    /// Transfers outside their windows, and accepted windows that overlap.
    pub violations: u64,
}

impl ServerTally {
    /// Adds what another server has done.
    pub fn add(&mut self, other: &ServerTally) {
        self.bytes_received += other.bytes_received;
        self.bytes_lost += other.bytes_lost;
        self.replicas += other.replicas;
        self.bytes_stored += other.bytes_stored;
        self.acknowledgements_lost += other.acknowledgements_lost;
        self.bytes_sent += other.bytes_sent;
        self.violations += other.violations;
    }
}

/// The server's side of a protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// UCH-CCP and its relatives.
    Unicast(UnicastServer),
    /// Replicast.
    Negotiating(NegotiatingServer),
}

impl Target {
    /// The disk: when it will be idle, and what it has done.
    #[must_use]
    pub fn disk(&self) -> &Lane {
        match self {
            Target::Unicast(machine) => machine.disk(),
            Target::Negotiating(machine) => machine.disk(),
        }
    }
}
