//! A gateway: its state machine, its link, its queue, and its tally.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use towtank_negotiation::{
    GatewayId, GetId, Message, NegotiatingGateway, PutId, ServerId, Size, Step, Task, Terms, UnicastGateway,
    Wake,
};
use towtank_units::SimTime;

use crate::ports::Ports;

/// A gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gateway {
    /// The state machine of the protocol.
    pub machine: Initiator,
    /// The gateway's link.
    pub ports: Ports,
    /// Chunks that arrived while the maximum number was being put or fetched.
    pub waiting: VecDeque<Wish>,
    /// Requests held back by the limit on their rate.
    pub held: VecDeque<Vec<(ServerId, Message)>>,
    /// When the next request may be multicast.
    pub requests_from: SimTime,
    /// When the last reserved delivery to it had been sent.
    pub received_until: SimTime,
    /// What it has done; bytes are counted per replica.
    pub tally: GatewayTally,
}

/// A chunk to put or to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wish {
    /// The size of the chunk.
    pub size: Size,
    /// When it arrived.
    pub created: SimTime,
    /// Whether it is read rather than stored.
    pub reads: bool,
    /// Whether it is to be stored, but is in the store already.
    pub known: bool,
}

/// What a gateway has done since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GatewayTally {
    /// Chunks that arrived.
    pub created: u64,
    /// Puts that succeeded.
    pub done: u64,
    /// Puts that were given up.
    pub failed: u64,
    /// Chunks dropped because no common window was found.
    pub dropped: u64,
    /// Bytes sent, counted once per receiver.
    pub bytes_sent: u64,
    /// Gets that arrived.
    pub gets_created: u64,
    /// Gets that succeeded.
    pub gets_done: u64,
    /// Gets that were given up.
    pub gets_failed: u64,
    /// Bytes fetched.
    pub bytes_received: u64,
    /// Replicas acknowledged as durable.
    pub acknowledged: u64,
    /// Servers that declined because they hold the chunk.
    pub held_already: u64,
    /// Requests multicast.
    pub requests: u64,
    /// Deliveries outside their windows, or during another one.
    pub violations: u64,
}

impl GatewayTally {
    /// Adds what another gateway has done.
    pub fn add(&mut self, other: &GatewayTally) {
        self.created += other.created;
        self.done += other.done;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.bytes_sent += other.bytes_sent;
        self.gets_created += other.gets_created;
        self.gets_done += other.gets_done;
        self.gets_failed += other.gets_failed;
        self.bytes_received += other.bytes_received;
        self.acknowledged += other.acknowledged;
        self.held_already += other.held_already;
        self.requests += other.requests;
        self.violations += other.violations;
    }
}

/// The gateway's side of a protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Initiator {
    /// UCH-CCP and its relatives.
    Unicast(UnicastGateway),
    /// Replicast.
    Negotiating(NegotiatingGateway),
}

impl Initiator {
    pub(crate) fn puts(&self) -> usize {
        match self {
            Initiator::Unicast(machine) => machine.puts(),
            Initiator::Negotiating(machine) => machine.puts(),
        }
    }

    /// Puts whose data have not all been sent.
    pub(crate) fn sending(&self, terms: &Terms) -> usize {
        match self {
            Initiator::Unicast(machine) => machine.sending(),
            Initiator::Negotiating(machine) => machine.sending(terms),
        }
    }

    /// All tasks started and not ended.
    pub(crate) fn tasks(&self, gateway: GatewayId) -> Vec<Task> {
        let put = |number| Task::Put(PutId { gateway, number });
        let get = |number| Task::Get(GetId { gateway, number });
        let tasks: Vec<Task> = match self {
            Initiator::Unicast(machine) => {
                machine.numbers().map(put).chain(machine.gets.numbers().map(get)).collect()
            }
            Initiator::Negotiating(machine) => {
                machine.numbers().map(put).chain(machine.gets.numbers().map(get)).collect()
            }
        };
        assert_eq!(tasks.len(), self.puts() + self.gets(), "each put and get has a number");
        tasks
    }

    pub(crate) fn gets(&self) -> usize {
        match self {
            Initiator::Unicast(machine) => machine.gets.len(),
            Initiator::Negotiating(machine) => machine.gets.len(),
        }
    }

    pub(crate) fn submit(&mut self, Wish { size, created, reads, known }: Wish, step: &mut Step<'_>) {
        match (self, reads) {
            (Initiator::Negotiating(machine), false) if known => machine.submit_stored(size, created, step),
            (Initiator::Unicast(machine), false) => machine.submit(size, created, step),
            (Initiator::Unicast(machine), true) => machine.gets.submit(size, created, step),
            (Initiator::Negotiating(machine), false) => machine.submit(size, created, step),
            (Initiator::Negotiating(machine), true) => machine.gets.submit(size, created, step),
        }
    }

    pub(crate) fn hear(&mut self, message: &Message, step: &mut Step<'_>) {
        match self {
            Initiator::Unicast(machine) => machine.hear(message, step),
            Initiator::Negotiating(machine) => machine.hear(message, step),
        }
    }

    pub(crate) fn wake(&mut self, wake: Wake, step: &mut Step<'_>) {
        match self {
            Initiator::Unicast(machine) => machine.wake(wake, step),
            Initiator::Negotiating(machine) => machine.wake(wake, step),
        }
    }

    pub(crate) fn frame_started(&mut self, put: PutId, step: &mut Step<'_>) {
        match self {
            Initiator::Unicast(machine) => machine.frame_started(put, step),
            Initiator::Negotiating(_) => {}
        }
    }
}
