//! The server's side: which gateway sends, at what rate, and when a replica is durable.

use towtank_devices::{Lane, Service};
use towtank_units::{SimSpan, SimTime};

use crate::getting::{AskedToSend, UnicastSends};
use crate::{Action, GetId, Message, Protocol, PutId, ServerId, Size, Step, Terms, Wake};

/// A server of a unicast protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct UnicastServer {
    me: ServerId,
    flows: Vec<Flow>,
    /// Number of flows when rates were last sent out.
    announced: usize,
    settling: bool,
    disk: Lane,
    /// AIMD: when the last frame arrived, when the queue was last examined, and which flow was slowed down.
    last_frame: Option<SimTime>,
    looked: SimTime,
    dinged: Option<PutId>,
    sends: UnicastSends,
}

/// A replica being received.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Flow {
    put: PutId,
    size: Size,
    bits_left: u64,
    /// Serial: whether its turn has come.
    begun: bool,
}

/// AIMD: a flow with fewer bits left is not slowed down.
const DING_LEAST_BITS: u64 = 27_000 * 8;

impl UnicastServer {
    /// A server without work.
    #[must_use]
    pub fn new(me: ServerId) -> UnicastServer {
        UnicastServer {
            me,
            flows: Vec::new(),
            announced: 0,
            settling: false,
            disk: Lane::default(),
            last_frame: None,
            looked: SimTime::ZERO,
            dinged: None,
            sends: UnicastSends::default(),
        }
    }

    /// Number of replicas being received.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The puts of these replicas.
    pub fn puts(&self) -> impl Iterator<Item = PutId> + '_ {
        self.flows.iter().map(|flow| flow.put)
    }

    /// Bits received of incomplete replicas.
    #[must_use]
    pub fn bits_here(&self, terms: &Terms) -> u64 {
        self.flows.iter().map(|flow| terms.size(flow.size).bytes.get() * 8 - flow.bits_left).sum()
    }

    /// The disk.
    #[must_use]
    pub fn disk(&self) -> &Lane {
        &self.disk
    }

    /// Handles a message.
    pub fn hear(&mut self, message: &Message, step: &mut Step<'_>) {
        let (put, size) = match *message {
            Message::Request { put, size, .. } => (put, size),
            Message::Cancel { put } => return self.forget(put, step),
            Message::GetRequest { get, size, round, .. } => {
                return self.sends.read(self.me, AskedToSend { get, size, round }, &mut self.disk, step);
            }
            _ => return,
        };
        let bits_left = step.terms.size(size).bytes.get() * 8;
        self.flows.push(Flow { put, size, bits_left, begun: false });
        if step.terms.fixed.protocol == Protocol::Serial {
            self.begin_next(step);
            return;
        }
        let rate = step.terms.data.shared_by(self.flows.len() as u64);
        let message = Message::RateInit { put, server: self.me, rate };
        let wait = self.disk_wait(size, step);
        step.tell(put.gateway, message, wait);
        self.settle_soon(step);
    }

    /// The rest of a replica will not arrive: removes its flow.
    fn forget(&mut self, put: PutId, step: &mut Step<'_>) {
        self.flows.retain(|flow| flow.put != put);
        match step.terms.fixed.protocol {
            Protocol::Serial => self.begin_next(step),
            _ => self.settle_soon(step),
        }
    }

    /// A frame has arrived; returns whether it was the last one of its replica.
    pub fn receive(&mut self, put: PutId, bits: u64, step: &mut Step<'_>) -> bool {
        let Some(at) = self.flows.iter().position(|flow| flow.put == put) else { return false };
        let flow = &mut self.flows[at];
        debug_assert!(bits > 0, "a frame of 0 bits arrives");
        flow.bits_left = flow.bits_left.saturating_sub(bits);
        let complete = flow.bits_left == 0;
        if complete {
            let flow = self.flows.remove(at);
            self.store(put, flow.size, step);
            if step.terms.fixed.protocol == Protocol::Serial {
                self.begin_next(step);
            } else {
                self.settle_soon(step);
            }
        }
        if step.terms.fixed.protocol == Protocol::UchAimd {
            self.look(put, step);
        }
        complete
    }

    /// The chunks being sent to readers.
    #[must_use]
    pub fn sends(&self) -> &UnicastSends {
        &self.sends
    }

    /// Handles a timer that the state machine has set.
    pub fn wake(&mut self, wake: Wake, step: &mut Step<'_>) {
        match wake {
            Wake::Settle => self.settle(step),
            Wake::HasRead { get, size, round } => self.sends.begin(get, size, round, step),
            _ => {}
        }
    }

    /// The link is free: sends the frame that was offered to a reader.
    pub fn get_frame_started(&mut self, get: GetId, round: u8, step: &mut Step<'_>) {
        self.sends.frame_started(get, round, step);
    }

    /// After all other events of this instant: adapts rates to the number of flows.
    pub fn settle(&mut self, step: &mut Step<'_>) {
        self.settling = false;
        let flows = self.flows.len();
        if flows == self.announced || step.terms.fixed.protocol != Protocol::UchCcp {
            return;
        }
        self.announced = flows;
        if flows == 0 {
            return;
        }
        let rate = step.terms.data.shared_by(flows as u64);
        let on_wire =
            u128::from(rate.bits_per_second()) * u128::from(step.terms.fixed.trip.as_ns()) / 1_000_000_000;
        debug_assert!(
            rate.bits_per_second().saturating_mul(flows as u64)
                <= step.terms.data.bits_per_second().max(flows as u64),
            "{flows} flows at {rate:?} exceed the rate of a link"
        );
        let nearly_done = u128::from(step.terms.frame_bits) + on_wire;
        for flow in self.flows.iter().filter(|flow| u128::from(flow.bits_left) > nearly_done) {
            let message = Message::RateSet { put: flow.put, server: self.me, rate };
            step.tell(flow.put.gateway, message, SimSpan::ZERO);
        }
    }

    fn settle_soon(&mut self, step: &mut Step<'_>) {
        if !self.settling && step.terms.fixed.protocol == Protocol::UchCcp {
            self.settling = true;
            step.act(Action::Wake { at: step.now, wake: Wake::Settle });
        }
    }

    /// Serial: gives the whole link to the flow whose turn it is.
    fn begin_next(&mut self, step: &mut Step<'_>) {
        let Some(flow) = self.flows.first().filter(|flow| !flow.begun) else { return };
        let (put, size) = (flow.put, flow.size);
        let wait = self.disk_wait(size, step);
        self.flows[0].begun = true;
        let message = Message::RateInit { put, server: self.me, rate: step.terms.data };
        step.tell(put.gateway, message, wait);
    }

    fn store(&mut self, put: PutId, size: Size, step: &mut Step<'_>) {
        let Service { begin, end } = self.disk.serve(step.now, step.terms.write(self.me, size));
        debug_assert!(self.disk.audit().is_ok(), "a disk has more work than time");
        step.act(Action::Write { put, size, begin, end });
        step.tell(put.gateway, Message::Ack { put, server: self.me }, end.since(step.now));
    }

    /// How much longer the disk's queue is too long to admit more data.
    fn disk_wait(&self, size: Size, step: &Step<'_>) -> SimSpan {
        let of_size = step.terms.size(size);
        let depth = self.disk.depth(step.now, step.terms.write(self.me, size));
        if depth < of_size.queue {
            return SimSpan::ZERO;
        }
        self.disk.backlog(step.now).saturating_sub(of_size.net)
    }

    /// AIMD: slows down all flows if the disk's queue is too long, and one if frames arrive too close to each
    /// other.
    fn look(&mut self, put: PutId, step: &mut Step<'_>) {
        let now = step.now;
        let close = self
            .last_frame
            .replace(now)
            .is_some_and(|last| now.since(last) < step.terms.wire(step.terms.frame_bits));
        let due = now.checked_since(self.looked).is_some_and(|since| since >= step.terms.fixed.aimd_look);
        if !due {
            return;
        }
        let full = self.flows.iter().any(|flow| {
            let write = step.terms.write(self.me, flow.size);
            self.disk.depth(now, write) >= step.terms.size(flow.size).queue
        });
        let far = |flow: &&Flow| flow.bits_left >= DING_LEAST_BITS;
        let slowed: Vec<PutId> = if full {
            self.flows.iter().filter(far).map(|flow| flow.put).collect()
        } else if close && self.dinged != Some(put) {
            self.flows.iter().filter(far).map(|flow| flow.put).filter(|flow| *flow == put).collect()
        } else {
            Vec::new()
        };
        if full || close {
            self.looked = now;
            self.dinged = slowed.last().copied();
        }
        for put in slowed {
            step.tell(put.gateway, Message::Ding { put, server: self.me }, SimSpan::ZERO);
        }
    }
}
