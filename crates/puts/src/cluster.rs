//! The cluster on the kernel: gateways and servers, whose state machines are driven by events.
//!
//! Entities are the gateways, then the servers, then the racks. Actions of a state machine become events
//! here; this model adds what lies between: network queues, the trip time, failures, and the arrival of
//! chunks.
//!
//! **Conservation:** bytes sent = bytes received + bytes lost at failed servers + bytes in flight; the bytes
//! that a server received belong to stored replicas or to partial ones; replicas stored = acknowledged +
//! acknowledgements in flight + lost at failed servers; at each gateway, chunks created = done + failed +
//! dropped + in progress + waiting; the same holds for gets. For every task that a gateway has started and
//! not ended, some event will continue it. [`Model::audit`] checks all this, and without SURGE's quirks also
//! that no transfer left its window, no accepted windows overlap, and no two servers send to a gateway at
//! once.

mod audit;
mod crowd;
mod gateways;
mod gets;
mod racks;
mod servers;
mod sound;
#[cfg(test)]
mod tests;

pub use racks::Racks;

use towtank_kernel::{
    Committed, Context, EntityId, Fault, Links, Model, Outcome, RunError, RunOptions, Runs,
};
use towtank_negotiation::{GatewayId, Message, Peer, ServerId, Size, Terms, Window};
use towtank_streams::distributions::Exponential;
use towtank_streams::{Purpose, Uniform};
use towtank_units::{SimSpan, SimTime};

use crate::counts::Counts;
use crate::event::{Cargo, Crossing, Event};
use crate::frame::Frame;
use crate::nodes::Entity;
use crate::ports::Ports;
use crate::trace::Trace;

/// Random draws of the state machines: servers, groups, lots, coins.
const PROTOCOL: Purpose = Purpose(1);
/// When a gateway starts.
const BEGIN: Purpose = Purpose(2);
/// When the next chunk arrives.
const ARRIVAL: Purpose = Purpose(3);
/// The size of a chunk.
const SIZE: Purpose = Purpose(4);
/// Whether a chunk is read.
const READS: Purpose = Purpose(5);
/// Whether a chunk is in the store already.
const KNOWN: Purpose = Purpose(6);

/// How chunks arrive.
#[derive(Clone, Debug)]
pub enum Load {
    /// Closed loop: the next chunk arrives as soon as one is done.
    Closed,
    /// Open loop: at random times, independent of completions.
    Open(Exponential),
}

/// The spans in which events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Nothing earlier is counted.
    pub from: SimTime,
    /// Puts, replicas and disk time are counted until then.
    pub until: SimTime,
    /// Latencies are counted until then.
    pub end: SimTime,
}

/// What is recorded of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Latencies of puts that end before this instant.
    pub puts_until: SimTime,
    /// Reservations of the first group before this instant.
    pub windows_until: SimTime,
}

/// Where nodes and links follow SURGE, in addition to the rules of its protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// Control messages never queue.
    pub control_is_free: bool,
    /// Unicast frames are admitted by a token bucket at the receiver, and transferred at the rate of their
    /// flow.
    pub buckets_admit: bool,
    /// A disk's work is counted when its data arrive.
    pub work_counts_early: bool,
}

impl Quirks {
    /// All quirks, or none.
    #[must_use]
    pub fn all(surge: bool) -> Quirks {
        Quirks { control_is_free: surge, buckets_admit: surge, work_counts_early: surge }
    }
}

/// A cluster, ready for the kernel.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The parameters of the protocol.
    pub terms: Terms,
    /// Number of gateways.
    pub gateways: u32,
    /// Number of servers, with those that belong to no complete group and store nothing.
    pub servers: u32,
    /// Whether SURGE is followed exactly.
    pub surge: bool,
    /// Which of SURGE's quirks are on.
    pub quirks: Quirks,
    /// Gateways start at random times within this span.
    pub start_spread: SimSpan,
    /// Chunks that a gateway puts at the same time.
    pub in_flight: u32,
    /// Whether the next chunk starts when the data of one have been sent.
    pub pipelined: bool,
    /// The least time between two requests of a gateway.
    pub request_gap: Option<SimSpan>,
    /// How chunks arrive.
    pub load: Load,
    /// For each size, the share of all chunks up to it, in units of 2^-64.
    pub shares: Vec<u64>,
    /// The share of chunks that are read rather than stored, in units of 2^-64.
    pub read_share: u64,
    /// The share of stored chunks that are in the store already, in units of 2^-64.
    pub known_share: u64,
    /// Racks, if the core is oversubscribed.
    pub racks: Option<Racks>,
    /// How many servers fail, spread evenly over all, and when.
    pub failures: (u32, SimTime),
    /// The spans in which events are counted.
    pub measured: Measured,
    /// What is recorded.
    pub traced: Traced,
}

type Ctx<'a> = Context<'a, Cluster>;

impl Cluster {
    fn entity_of(&self, peer: Peer) -> EntityId {
        match peer {
            Peer::Gateway(GatewayId(id)) => {
                assert!(id < self.gateways, "there is no gateway {id}");
                EntityId(id)
            }
            Peer::Server(ServerId(id)) => {
                assert!(id < self.terms.fixed.servers, "there is no server {id}");
                EntityId(self.gateways + id)
            }
        }
    }

    fn negotiates(&self) -> bool {
        self.terms.fixed.protocol.negotiates()
    }

    fn counts(&self, now: SimTime) -> bool {
        self.measured.from <= now && now <= self.measured.until
    }

    fn draw_size(&self, context: &mut Ctx<'_>) -> Size {
        if self.shares.len() < 2 {
            return Size(0);
        }
        let word = context.draws(SIZE).next_u64();
        assert!(self.shares.len() <= 1 << u8::BITS, "{} sizes have no numbers", self.shares.len());
        Size(self.shares.partition_point(|share| *share < word).min(self.shares.len() - 1) as u8)
    }

    /// Sends a control message.
    fn send(&self, ports: &mut Ports, to: Peer, message: Message, context: &mut Ctx<'_>) {
        if self.quirks.control_is_free {
            context.send(self.entity_of(to), self.terms.control_and_trip(), Event::Heard(message));
        } else {
            let wait = self.occupy(ports, context.now());
            let after = wait.saturating_add(self.terms.control);
            self.carry(self.entity_of(to), after, Cargo::Control(message), context);
        }
    }

    /// Queues one control message at the port; returns the delay until its transmission begins.
    fn occupy(&self, ports: &mut Ports, now: SimTime) -> SimSpan {
        let begin = ports.control_out.send(now, self.terms.control).begin;
        assert!(begin >= now, "a message went out at {begin:?}, before it was sent at {now:?}");
        if !self.negotiates() {
            // Control has no share of its own: it goes first, and data wait for it.
            ports.data_out.send(now, self.terms.control);
        }
        begin.since(now)
    }

    /// Queues an arriving message at the port; schedules its processing, unless that is now.
    fn queue_in(&self, ports: &mut Ports, message: Message, context: &mut Ctx<'_>) -> bool {
        let now = context.now();
        if !self.negotiates() {
            ports.data_in.send(now, self.terms.control);
        }
        let heard = ports.control_in.receive(now, self.terms.control).end;
        assert!(heard >= now, "a message was heard at {heard:?}, before it came at {now:?}");
        if heard > now {
            context.send(context.me(), heard.since(now), Event::Heard(message));
        }
        heard > now
    }

    fn multicast(&self, ports: &mut Ports, to: &[(ServerId, Message)], context: &mut Ctx<'_>) {
        assert!(!to.is_empty(), "a multicast goes to nobody");
        if self.quirks.control_is_free {
            let way = self.terms.control_and_trip();
            for (server, message) in to {
                context.send(self.entity_of(Peer::Server(*server)), way, Event::Heard(*message));
            }
            return;
        }
        let after = self.occupy(ports, context.now()).saturating_add(self.terms.control);
        let cargo = |(server, message): &(ServerId, Message)| {
            (self.entity_of(Peer::Server(*server)), Cargo::Control(*message))
        };
        let all: Vec<(EntityId, Cargo)> = to.iter().map(cargo).collect();
        self.carry_to_all(&all, after, context);
    }
}

impl Runs for Cluster {
    fn run(&self, options: RunOptions<'_>) -> Result<Outcome<Self>, RunError> {
        towtank_kernel::run(self, options)
    }
}

impl Model for Cluster {
    type Entity = Entity;
    type Event = Event;
    type Undo = ();
    type Statistics = Counts;
    type Output = Trace;

    const AUDITS_PENDING: bool = true;

    fn entities(&self) -> u32 {
        self.gateways + self.terms.fixed.servers + self.racks.map_or(0, |racks| racks.count)
    }

    fn links(&self) -> Links {
        let (gateways, nodes) = (self.gateways, self.gateways + self.terms.fixed.servers);
        let class = |id: u32| u16::from(id >= gateways) + u16::from(id >= nodes);
        // In SURGE, gateways change servers' records, and servers admit frames, without delay.
        let at_once = self.quirks.buckets_admit || self.terms.fixed.rules.trims_at_once;
        let least = if at_once { SimSpan::ZERO } else { self.terms.fixed.trip };
        let links = Links::by_class((0..self.entities()).map(class).collect());
        let links = links.join(0, 1, least).join(1, 0, least);
        if self.racks.is_none() {
            return links;
        }
        let (hop, last_hop) = self.hops();
        links.join(0, 2, hop).join(1, 2, hop).join(2, 2, hop).join(2, 0, last_hop).join(2, 1, last_hop)
    }

    fn create(&self, id: EntityId) -> Entity {
        match id.0.checked_sub(self.gateways) {
            None => Entity::Gateway(Box::new(self.new_gateway(GatewayId(id.0)))),
            Some(server) if server >= self.terms.fixed.servers => Entity::Rack(Box::default()),
            Some(server) => Entity::Server(Box::new(self.new_server(ServerId(server)))),
        }
    }

    fn start(&self, entity: &mut Entity, context: &mut Ctx<'_>) -> Result<(), Fault> {
        match entity {
            Entity::Rack(_) => {}
            Entity::Gateway(_) => self.start_gateway(context),
            Entity::Server(_) => {
                let server = context.me().0 - self.gateways;
                let (failing, at) = self.failures;
                if is_among(failing, self.terms.fixed.servers, server) {
                    context.send(context.me(), at.since(SimTime::ZERO), Event::Fail);
                }
            }
        }
        Ok(())
    }

    fn handle(&self, entity: &mut Entity, event: &Event, context: &mut Ctx<'_>) -> Result<(), Fault> {
        let understood = match entity {
            Entity::Gateway(gateway) => self.at_gateway(gateway, event, context),
            Entity::Server(server) => self.at_server(server, event, context),
            Entity::Rack(rack) => self.at_rack(rack, event, context),
        };
        if !understood {
            return Err(format!("the entity cannot handle {event:?}").into());
        }
        self.assert_node(entity, context.now());
        self.check_crowd(entity, context.now())
    }

    fn describe(&self, id: EntityId) -> String {
        match id.0.checked_sub(self.gateways) {
            None => format!("gateway {id}"),
            Some(other) if other >= self.terms.fixed.servers => {
                format!("rack {}", other - self.terms.fixed.servers)
            }
            Some(server) => format!("server {server}"),
        }
    }

    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        audit::audit(self, committed)
    }
}

impl Cluster {
    /// How much of a node's busy time lies after `now`: the backlog of its disk, or the queue of its uplink.
    pub(crate) fn busy_after(&self, entity: &Entity, now: SimTime) -> SimSpan {
        let until = |end: SimTime| self.within_measured(Window { left: now, right: end });
        match entity {
            Entity::Server(server) if !self.quirks.work_counts_early => {
                until(now.saturating_add(server.machine.disk().backlog(now)))
            }
            Entity::Rack(rack) => {
                let Some(racks) = &self.racks else { return SimSpan::ZERO };
                let data = [&rack.ports.data_out, &rack.ports.data_in].map(|port| (port, racks.data));
                let control =
                    [&rack.ports.control_out, &rack.ports.control_in].map(|port| (port, racks.control));
                // Where control has no share of its own, the data ports have the whole rate.
                let ports = data.into_iter().chain(control.into_iter().filter(|_| self.negotiates()));
                let spans =
                    ports.map(|(port, rate)| racks::share_of(until(port.free_at()), rate, racks.rate));
                let busy = spans.fold(SimSpan::ZERO, SimSpan::saturating_add);
                let both_ways = until(self.measured.until).saturating_mul(2);
                assert!(busy <= both_ways, "an uplink is busy for {busy} of {both_ways}");
                busy
            }
            _ => SimSpan::ZERO,
        }
    }

    /// Bytes that an event carries to, or towards, a server.
    fn put_bytes_of(&self, event: &Event) -> u64 {
        match (event, frame_of(event)) {
            (_, Some(frame)) if frame.is_put() => frame.bits() / 8,
            (Event::Data { size, .. }, _) => self.terms.size(*size).bytes.get(),
            _ => 0,
        }
    }

    /// Bytes that an event carries to, or towards, a reader.
    fn get_bytes_of(&self, event: &Event) -> u64 {
        match (event, frame_of(event)) {
            (_, Some(frame)) if !frame.is_put() => frame.bits() / 8,
            (Event::GetData { size, .. }, _) => self.terms.size(*size).bytes.get(),
            _ => 0,
        }
    }
}

/// Whether a server is one of `some` that are spread evenly over all.
#[must_use]
pub(crate) fn is_among(some: u32, all: u32, server: u32) -> bool {
    assert!(some <= all, "{some} of {all} servers");
    assert!(server < all, "server {server} of {all}");
    let before = |at: u32| u64::from(at) * u64::from(some) / u64::from(all.max(1));
    before(server + 1) > before(server)
}

fn frame_of(event: &Event) -> Option<Frame> {
    match *event {
        Event::FrameAtPort(frame) | Event::Frame(frame) => Some(frame),
        Event::Crossing(Crossing { cargo: Cargo::Frame(frame), .. }) => Some(frame),
        _ => None,
    }
}
