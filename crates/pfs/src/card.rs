//! A node's NIC (card): outgoing messages leave in order; incoming messages share one port of the switch.

use serde::{Deserialize, Serialize};
use towtank_devices::{Lane, PortId, Sharing, Switch, SwitchSpec, Transfer};
use towtank_units::{Bytes, Rate, SimSpan, SimTime};

use crate::event::Message;
use crate::spec::Network;

/// Both directions of a NIC.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Card {
    /// The sending direction.
    pub out: Lane,
    /// The receiving direction.
    pub inward: Inward,
}

/// The receiving direction of a NIC.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Inward {
    /// Messages are received one after the other.
    Fifo(Lane),
    /// Senders share the port equally.
    Fair(Switch<Message>),
}

/// The result of a message's arrival at a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It has been received.
    Here,
    /// It will have been received at this instant.
    At(SimTime),
    /// It shares the port, which is to be polled at this instant.
    Shares(Option<SimTime>),
    /// It was dropped, since the buffer had no space for it.
    Dropped,
}

const PORT: PortId = PortId(0);

impl Card {
    /// The NIC of a node in this network.
    #[must_use]
    pub fn new(network: &Network) -> Card {
        let inward = match (network.sharing, network.card) {
            (Sharing::Fair, Some(_)) => Inward::Fair(Switch::new(1)),
            _ => Inward::Fifo(Lane::default()),
        };
        Card { out: Lane::default(), inward }
    }

    /// Sends a message of this size at `now`. Returns when it arrives at the receiver's port (its last byte,
    /// or its first where senders share that port) and how long it occupies a NIC.
    pub fn send(&mut self, network: &Network, now: SimTime, bytes: u64) -> (SimTime, SimSpan) {
        let span = network.span(bytes);
        let sent = self.out.serve(now, span);
        debug_assert!(sent.begin >= now && sent.end >= sent.begin, "a message is sent after it was given");
        let at = if network.shares() { sent.begin } else { sent.end };
        (at.saturating_add(network.latency), span)
    }

    /// A message arrives at the port.
    pub fn take(
        &mut self,
        network: &Network,
        now: SimTime,
        from: u32,
        (bytes, span): (u64, SimSpan),
        message: &Message,
    ) -> Taken {
        match &mut self.inward {
            Inward::Fifo(lane) => {
                if network.card.is_some_and(|rate| network.is_full(lane, rate, now)) {
                    return Taken::Dropped;
                }
                let here = lane.receive(now, span).end;
                debug_assert!(here >= now, "a message is here at {here:?}, and it is {now:?}");
                if here > now { Taken::At(here) } else { Taken::Here }
            }
            Inward::Fair(switch) => {
                let inside = || switch.inside().map(|(_, transfer)| transfer.bytes).sum::<u64>();
                if network.buffer.is_some_and(|most| inside() > most) {
                    return Taken::Dropped;
                }
                let Some(spec) = network.port() else { return Taken::Here };
                switch.send(&spec, now, PORT, Transfer { flow: from, bytes, item: message.clone() });
                Taken::Shares(switch.due(&spec, PORT))
            }
        }
    }

    /// A message that has passed the port; if there is none, when the port is to be polled again.
    pub fn through(&mut self, network: &Network, now: SimTime) -> Result<(u32, Message), Option<SimTime>> {
        match (&mut self.inward, network.port()) {
            (Inward::Fair(switch), Some(spec)) => match switch.done(&spec, now, PORT) {
                Some(transfer) => Ok((transfer.flow, transfer.item)),
                None => Err(switch.due(&spec, PORT)),
            },
            _ => Err(None),
        }
    }

    /// The time spent receiving.
    #[must_use]
    pub fn received(&self) -> SimSpan {
        match &self.inward {
            Inward::Fifo(lane) => lane.busy,
            Inward::Fair(switch) => switch.busy(PORT),
        }
    }

    /// The messages inside the port.
    pub fn inside(&self) -> impl Iterator<Item = &Message> {
        let switch = match &self.inward {
            Inward::Fair(switch) => Some(switch),
            Inward::Fifo(_) => None,
        };
        switch.into_iter().flat_map(|switch| switch.inside().map(|(_, transfer)| &transfer.item))
    }

    /// Checks the invariants of both directions.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&self, network: &Network) -> Result<(), String> {
        self.out.audit().map_err(|broken| broken.to_string())?;
        match (&self.inward, network.port()) {
            (Inward::Fifo(lane), _) => lane.audit().map_err(|broken| broken.to_string()),
            (Inward::Fair(switch), Some(spec)) => switch.audit(&spec).map_err(|broken| broken.to_string()),
            (Inward::Fair(_), None) => Ok(()),
        }
    }
}

impl Network {
    /// How long a message of this size occupies a NIC.
    #[must_use]
    pub fn span(&self, bytes: u64) -> SimSpan {
        self.card.map_or(SimSpan::ZERO, |rate| rate.span_for(Bytes::new(bytes)))
    }

    /// Whether more than the buffer waits in front of a lane of this rate.
    pub(crate) fn is_full(&self, lane: &Lane, rate: Rate, now: SimTime) -> bool {
        let room = self.buffer.map(|most| rate.span_for(Bytes::new(most)));
        room.is_some_and(|most| lane.backlog(now) > most)
    }

    /// Whether senders share the ports of nodes; an arrival is that of the first byte then.
    pub(crate) fn shares(&self) -> bool {
        self.sharing == Sharing::Fair && self.card.is_some()
    }

    fn port(&self) -> Option<SwitchSpec> {
        self.card.map(|port| SwitchSpec { port, sharing: self.sharing })
    }
}
