//! What lives on the kernel: gateways, servers, and what happens to them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use towtank_devices::Bucket;
use towtank_kernel::{EntityId, Statistics};
use towtank_metrics::Histogram;
use towtank_negotiation::{
    GetId, Message, NegotiatingGateway, NegotiatingServer, Peer, PutId, Size, UnicastGateway, UnicastServer,
    Wake, Window,
};
use towtank_units::{SimSpan, SimTime, plain};

use super::ports::Ports;

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

/// A gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gateway {
    /// Its side of the protocol.
    pub machine: Initiator,
    /// Its link.
    pub ports: Ports,
    /// What came while as many chunks as may be were being put or fetched.
    pub waiting: VecDeque<Wish>,
    /// When the last reserved delivery to it had gone out.
    pub received_until: SimTime,
    /// What it has done; bytes are those of replicas.
    pub tally: GatewayTally,
}

/// A chunk to put or to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wish {
    /// How large it is.
    pub size: Size,
    /// When it came.
    pub created: SimTime,
    /// Whether it is to be read, and not stored.
    pub reads: bool,
}

/// What a gateway has done since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GatewayTally {
    /// Chunks that came.
    pub created: u64,
    /// Puts that ended well.
    pub done: u64,
    /// Puts that were given up.
    pub failed: u64,
    /// Chunks dropped because no common window was found.
    pub dropped: u64,
    /// Bytes sent, once for each receiver.
    pub bytes_sent: u64,
    /// Gets that came.
    pub gets_created: u64,
    /// Gets that ended well.
    pub gets_done: u64,
    /// Gets that were given up.
    pub gets_failed: u64,
    /// Bytes fetched.
    pub bytes_received: u64,
    /// Replicas that it was told to be on disk.
    pub acknowledged: u64,
    /// Deliveries outside their windows, or while another one came.
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

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Server {
    /// Its side of the protocol.
    pub machine: Target,
    /// Its link.
    pub ports: Ports,
    /// SURGE: what its link lets in.
    pub ingress: Bucket,
    /// SURGE: frames that wait for it.
    pub offers: VecDeque<(PutId, u64)>,
    /// Whether it has failed.
    pub failed: bool,
    /// What it has done.
    pub tally: ServerTally,
}

/// What a server has done since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ServerTally {
    /// Bytes that came.
    pub bytes_received: u64,
    /// Bytes that came when it had failed.
    pub bytes_lost: u64,
    /// Replicas written, or waiting for the disk.
    pub replicas: u64,
    /// Their bytes.
    pub bytes_stored: u64,
    /// Acknowledgements that it could not send any more when it had failed.
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

/// A part of a chunk on its way by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Frame {
    /// To a server.
    Put {
        /// Of which put.
        put: PutId,
        /// How long.
        bits: u64,
    },
    /// To a gateway.
    Get {
        /// Of which get.
        get: GetId,
        /// Of which attempt.
        round: u8,
        /// How long.
        bits: u64,
    },
    /// To a server, in a reserved window; only where there are racks to cross.
    Reserved {
        /// Of which put.
        put: PutId,
        /// How large the chunk is.
        size: Size,
        /// Whether it is the last.
        last: bool,
        /// How long.
        bits: u64,
    },
    /// To a gateway, in a reserved window; only where there are racks to cross.
    Delivered {
        /// Of which get.
        get: GetId,
        /// How large the chunk is.
        size: Size,
        /// Whether it is the last.
        last: bool,
        /// How long.
        bits: u64,
    },
}

impl Frame {
    /// How long it is.
    #[must_use]
    pub fn bits(&self) -> u64 {
        match *self {
            Frame::Put { bits, .. }
            | Frame::Get { bits, .. }
            | Frame::Reserved { bits, .. }
            | Frame::Delivered { bits, .. } => bits,
        }
    }

    /// Whether a server gets it.
    #[must_use]
    pub fn is_put(&self) -> bool {
        matches!(self, Frame::Put { .. } | Frame::Reserved { .. })
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

/// One thing worth counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A put ended well in the span in which puts are counted.
    Counted,
    /// A put ended well, so long after its chunk came.
    Latency(SimSpan),
    /// A chunk was dropped because its bids had no window in common.
    Dropped,
    /// A put went on with other servers.
    Retried,
    /// A put was given up.
    Failed,
    /// A round of a negotiation began.
    Round,
    /// The disk is busy for so long within the span measured.
    Busy(SimSpan),
    /// A request came; another gateway's bid was undecided or not.
    Request {
        /// Whether one was.
        undecided: bool,
    },
    /// A replica's data are in, in the span in which puts are counted.
    Replica,
    /// A transfer left its window, or windows overlap.
    Violation,
    /// A get ended well in the span in which gets are counted, so long after it came.
    Got(SimSpan),
    /// A get went on with another server.
    GetRetried,
    /// A get was given up.
    GetFailed,
    /// A server that was chosen could not have read in time.
    GetDeclined,
}

/// What was counted at one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// Puts that ended well in the span in which they are counted.
    pub puts: u64,
    /// Their latencies in nanoseconds.
    pub latencies: Histogram,
    /// Chunks dropped.
    pub dropped: u64,
    /// Puts that went on with other servers.
    pub retried: u64,
    /// Puts given up.
    pub failed: u64,
    /// Rounds of negotiations.
    pub rounds: u64,
    /// Nanoseconds that the disk is busy.
    pub busy_ns: u64,
    /// Requests.
    pub requests: u64,
    /// Requests that came while another gateway's bid was undecided.
    pub undecided: u64,
    /// Replicas whose data are in.
    pub replicas: u64,
    /// Transfers outside their window, and windows that overlap.
    pub violations: u64,
    /// Latencies in nanoseconds of gets that ended well in the span in which they are counted.
    pub got: Histogram,
    /// Gets that went on with another server.
    pub gets_retried: u64,
    /// Gets given up.
    pub gets_failed: u64,
    /// Chosen servers that could not have read in time.
    pub gets_declined: u64,
}

impl Statistics for Counts {
    type Sample = Sample;

    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Counted => self.puts += 1,
            Sample::Latency(span) => self.latencies.record(span.as_ns()),
            Sample::Dropped => self.dropped += 1,
            Sample::Retried => self.retried += 1,
            Sample::Failed => self.failed += 1,
            Sample::Round => self.rounds += 1,
            Sample::Busy(span) => self.busy_ns += span.as_ns(),
            Sample::Request { undecided } => {
                self.requests += 1;
                self.undecided += u64::from(undecided);
            }
            Sample::Replica => self.replicas += 1,
            Sample::Violation => self.violations += 1,
            Sample::Got(span) => self.got.record(span.as_ns()),
            Sample::GetRetried => self.gets_retried += 1,
            Sample::GetFailed => self.gets_failed += 1,
            Sample::GetDeclined => self.gets_declined += 1,
        }
    }

    fn merge(&mut self, other: &Counts) {
        self.puts += other.puts;
        self.latencies.merge(&other.latencies);
        self.dropped += other.dropped;
        self.retried += other.retried;
        self.failed += other.failed;
        self.rounds += other.rounds;
        self.busy_ns += other.busy_ns;
        self.requests += other.requests;
        self.undecided += other.undecided;
        self.replicas += other.replicas;
        self.violations += other.violations;
        self.got.merge(&other.got);
        self.gets_retried += other.gets_retried;
        self.gets_failed += other.gets_failed;
        self.gets_declined += other.gets_declined;
    }
}

/// Something to be drawn, written down for the first part of the first replicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trace {
    /// A put ended well.
    Put {
        /// How long after its chunk came.
        #[serde(with = "plain")]
        latency_ns: SimSpan,
    },
    /// A server took a window out of those it had offered.
    Accepted {
        /// For which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server offers a window.
    Offered {
        /// To which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server writes.
    Written {
        /// For which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server reads.
    Read {
        /// For which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
    /// A server sends what was read.
    Sent {
        /// To which gateway.
        gateway: u32,
        /// From.
        #[serde(with = "plain")]
        left_ns: SimTime,
        /// To.
        #[serde(with = "plain")]
        right_ns: SimTime,
    },
}
