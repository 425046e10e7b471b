//! Events at gateways: chunks arrive, the state machine advances, frames are sent.

use std::collections::VecDeque;

use towtank_kernel::EntityId;
use towtank_negotiation::{
    Action, Done, GatewayId, Message, NegotiatingGateway, Peer, PutId, ServerId, Size, Step, UnicastGateway,
};
use towtank_streams::Uniform;
use towtank_units::{SimSpan, SimTime};

use super::{ARRIVAL, BEGIN, Cluster, Ctx, KNOWN, Load, PROTOCOL, READS};
use crate::counts::Sample;
use crate::event::{Cargo, Event, Transfer};
use crate::frame::Frame;
use crate::nodes::{Gateway, GatewayTally, Initiator, Wish};
use crate::ports::Ports;
use crate::trace::Trace;

impl Cluster {
    pub(super) fn new_gateway(&self, me: GatewayId) -> Gateway {
        let machine = if self.negotiates() {
            Initiator::Negotiating(NegotiatingGateway::new(me))
        } else {
            Initiator::Unicast(UnicastGateway::new(me, &self.terms))
        };
        let (ports, waiting) = (Ports::default(), VecDeque::new());
        let (held, requests_from, received_until) = (VecDeque::new(), SimTime::ZERO, SimTime::ZERO);
        let tally = GatewayTally::default();
        Gateway { machine, ports, waiting, held, requests_from, received_until, tally }
    }

    pub(super) fn start_gateway(&self, context: &mut Ctx<'_>) {
        match &self.load {
            Load::Closed => {
                for _ in 0..self.in_flight {
                    let spread = self.start_spread.as_ns();
                    let after = if spread == 0 { 0 } else { context.draws(BEGIN).below(spread) };
                    context.send(context.me(), SimSpan::from_ns(after), Event::Begin);
                }
            }
            Load::Open(_) => self.await_chunk(context),
        }
    }

    fn await_chunk(&self, context: &mut Ctx<'_>) {
        if let Load::Open(gaps) = &self.load {
            let gap = gaps.sample_span(&mut context.draws(ARRIVAL));
            context.send(context.me(), gap, Event::Arrive);
        }
    }

    /// Handles an event at a gateway; false if the event is not one for gateways.
    pub(super) fn at_gateway(&self, gateway: &mut Gateway, event: &Event, context: &mut Ctx<'_>) -> bool {
        match *event {
            Event::Begin => self.create_chunk(gateway, context),
            Event::Arrive => {
                self.create_chunk(gateway, context);
                self.await_chunk(context);
            }
            Event::AtPort(message) => {
                if !self.queue_in(&mut gateway.ports, message, context) {
                    self.hear_at_gateway(gateway, &message, context);
                }
            }
            Event::Heard(message) => self.hear_at_gateway(gateway, &message, context),
            Event::FrameAtPort(frame) => self.frame_at_gateway_port(gateway, frame, context),
            Event::Frame(frame) => self.frame_at_gateway(gateway, frame, context),
            Event::GetData { get, size, transfer } => {
                self.fetched(gateway, get, size, transfer, context);
            }
            Event::Wake(wake) => self.drive(gateway, context, |machine, step| machine.wake(wake, step)),
            Event::Granted(put) => {
                self.drive(gateway, context, |machine, step| machine.frame_started(put, step))
            }
            Event::Release => self.release(gateway, context),
            Event::Later(to, message) => self.send(&mut gateway.ports, to, message, context),
            _ => return false,
        }
        self.start_next(gateway, context);
        true
    }

    /// Pipelined gateways in a closed loop: the data of a chunk have been sent, so the next one arrives.
    fn start_next(&self, gateway: &mut Gateway, context: &mut Ctx<'_>) {
        if !self.pipelined {
            return;
        }
        self.submit_waiting(gateway, context);
        while matches!(self.load, Load::Closed)
            && self.begun(gateway)
            && self.under_way(gateway) < self.in_flight as usize
        {
            self.create_chunk(gateway, context);
        }
    }

    /// Whether all of a gateway's first chunks have arrived: they come at random times.
    fn begun(&self, gateway: &Gateway) -> bool {
        gateway.tally.created + gateway.tally.gets_created >= u64::from(self.in_flight)
    }

    /// Puts and gets that count towards the maximum of a gateway.
    pub(super) fn under_way(&self, gateway: &Gateway) -> usize {
        let machine = &gateway.machine;
        let puts = if self.pipelined { machine.sending(&self.terms) } else { machine.puts() };
        puts + machine.gets()
    }

    fn hear_at_gateway(&self, gateway: &mut Gateway, message: &Message, context: &mut Ctx<'_>) {
        self.count_answer(message, context);
        gateway.tally.acknowledged += u64::from(matches!(message, Message::Ack { .. }));
        gateway.tally.held_already += u64::from(matches!(message, Message::Declined { holds: true, .. }));
        self.drive(gateway, context, |machine, step| machine.hear(message, step));
    }

    /// A chunk arrives and is put, or a read arrives and is fetched; at once, unless it must wait for others.
    fn create_chunk(&self, gateway: &mut Gateway, context: &mut Ctx<'_>) {
        let size = self.draw_size(context);
        self.assert_size(size);
        let reads = self.read_share > 0 && context.draws(READS).next_u64() < self.read_share;
        if reads {
            gateway.tally.gets_created += 1;
        } else {
            gateway.tally.created += 1;
        }
        let known = !reads && self.known_share > 0 && context.draws(KNOWN).next_u64() < self.known_share;
        gateway.waiting.push_back(Wish { size, created: context.now(), reads, known });
        self.submit_waiting(gateway, context);
    }

    fn submit_waiting(&self, gateway: &mut Gateway, context: &mut Ctx<'_>) {
        while self.under_way(gateway) < self.in_flight as usize {
            let Some(wish) = gateway.waiting.pop_front() else { return };
            self.drive(gateway, context, |machine, step| machine.submit(wish, step));
        }
    }

    /// Calls the state machine and carries out its actions.
    pub(super) fn drive(
        &self,
        gateway: &mut Gateway,
        context: &mut Ctx<'_>,
        call: impl FnOnce(&mut Initiator, &mut Step<'_>),
    ) {
        let now = context.now();
        let mut draws = context.draws(PROTOCOL);
        let mut step = Step::new(&self.terms, now, &mut draws);
        call(&mut gateway.machine, &mut step);
        let actions = step.actions;
        for action in actions {
            self.act(gateway, action, context);
        }
    }

    fn act(&self, gateway: &mut Gateway, action: Action, context: &mut Ctx<'_>) {
        let now = context.now();
        match action {
            Action::Send { to, message, after } if after.is_zero() => {
                self.send(&mut gateway.ports, to, message, context);
            }
            Action::Send { to, message, after } => {
                context.send(context.me(), after, Event::Later(to, message));
            }
            Action::Multicast(to) => {
                if matches!(to.first(), Some((_, Message::Request { .. }))) && self.counts(now) {
                    context.record(Sample::Round);
                }
                self.pace(gateway, to, context);
            }
            Action::AtOnce { to, message } => {
                context.send(self.entity_of(Peer::Server(to)), SimSpan::ZERO, Event::Heard(message));
            }
            Action::Wake { at, wake } => context.send_at(context.me(), at, Event::Wake(wake)),
            Action::Offer { to, put, bits } => self.offer(gateway, to, (put, bits), context),
            Action::Frame { to, put, bits, span } => {
                self.assert_frame(bits);
                gateway.tally.bytes_sent += bits / 8;
                let (to, frame) = (self.entity_of(Peer::Server(to)), Frame::Put { put, bits });
                if self.quirks.buckets_admit {
                    context.send(to, span.saturating_add(self.terms.fixed.trip), Event::Frame(frame));
                } else {
                    self.carry(to, span, Cargo::Frame(frame), context);
                }
            }
            Action::Planned { to, put, size, begin } if self.racks.is_some() => {
                self.send_frames(gateway, &to, put, size, begin, context);
            }
            Action::Data { to, put, size, began, span, window } => {
                let transfer = Transfer { window, began, ended: now.saturating_add(span) };
                if self.racks.is_none() {
                    self.deliver(gateway, &to, put, size, transfer, context);
                } else if transfer.is_outside() {
                    gateway.tally.violations += 1;
                    context.record(Sample::Violation);
                }
            }
            Action::Done(done) => self.done(gateway, &done, context),
            Action::Dropped(_) => {
                gateway.tally.dropped += 1;
                context.record(Sample::Dropped);
                self.create_chunk(gateway, context);
            }
            Action::Retried(_) => context.record(Sample::Retried),
            Action::Failed(_) => {
                gateway.tally.failed += 1;
                context.record(Sample::Failed);
                self.go_on(gateway, context);
            }
            of_a_get => self.act_on_get(gateway, &of_a_get, context),
        }
    }

    /// A frame asks for transmission: SURGE's servers admit it, else the gateway's own port does.
    fn offer(&self, gateway: &mut Gateway, to: ServerId, (put, bits): (PutId, u64), context: &mut Ctx<'_>) {
        if self.quirks.buckets_admit {
            let event = Event::Offer { put, bits };
            context.send(self.entity_of(Peer::Server(to)), SimSpan::ZERO, event);
            return;
        }
        let begin = gateway.ports.data_out.send(context.now(), self.terms.wire(bits)).begin;
        assert!(begin >= context.now(), "a frame went out at {begin:?}, before it was offered");
        if begin > context.now() {
            context.send_at(context.me(), begin, Event::Granted(put));
        } else {
            self.drive(gateway, context, |machine, step| machine.frame_started(put, step));
        }
    }

    /// The last frame of a reserved transfer is sent; it arrives one trip time after it has been sent.
    fn deliver(
        &self,
        gateway: &mut Gateway,
        to: &[ServerId],
        put: PutId,
        size: Size,
        transfer: Transfer,
        context: &mut Ctx<'_>,
    ) {
        let arrives = transfer.ended.saturating_add(self.terms.fixed.trip);
        let began = transfer.began;
        assert!(began <= context.now(), "a transfer began at {began:?}, but its end is now");
        assert!(!to.is_empty(), "a transfer goes to nobody");
        assert!(to.len() <= self.terms.replicas(), "a transfer goes to {} servers", to.len());
        self.assert_rendezvous(to);
        for server in to {
            gateway.tally.bytes_sent += self.terms.size(size).bytes.get();
            let event = Event::Data { put, size, transfer };
            context.send_at(self.entity_of(Peer::Server(*server)), arrives, event);
        }
    }

    /// If there are racks, each frame of a reserved transfer travels separately; all are scheduled when the
    /// transfer is planned.
    fn send_frames(
        &self,
        gateway: &mut Gateway,
        to: &[ServerId],
        put: PutId,
        size: Size,
        begin: SimTime,
        context: &mut Ctx<'_>,
    ) {
        gateway.tally.bytes_sent += self.terms.size(size).bytes.get() * to.len() as u64;
        self.assert_rendezvous(to);
        let to: Vec<EntityId> = to.iter().map(|server| self.entity_of(Peer::Server(*server))).collect();
        self.each_frame(size, |after, bits, last| {
            let frame = Cargo::Frame(Frame::Reserved { put, size, last, bits });
            let all: Vec<(EntityId, Cargo)> = to.iter().map(|server| (*server, frame)).collect();
            assert!(begin >= context.now(), "a transfer begins at {begin:?}, before it was planned");
            let after = begin.since(context.now()).saturating_add(after);
            self.carry_to_all(&all, after, context);
        });
    }

    /// Calls `call` for each frame of a chunk: when it has been sent, its length, and whether it is the last.
    pub(super) fn each_frame(&self, size: Size, mut call: impl FnMut(SimSpan, u64, bool)) {
        let terms = self.terms.size(size);
        let mut left = terms.bytes.get() * 8;
        for at in 0..terms.frames {
            let last = at + 1 == terms.frames;
            let (bits, span) =
                if last { (terms.last_bits, terms.last) } else { (self.terms.frame_bits, terms.frame) };
            assert!(bits <= left, "frames have more bits than their chunk: {bits} of {left}");
            left -= bits;
            call(terms.frame.saturating_mul(at).saturating_add(span), bits, last);
        }
        assert_eq!(left, 0, "bits of a chunk are in no frame");
    }

    fn done(&self, gateway: &mut Gateway, done: &Done, context: &mut Ctx<'_>) {
        let now = context.now();
        assert!(done.created <= now, "a put ended before its chunk came at {:?}", done.created);
        gateway.tally.done += 1;
        let exact = now.since(done.created);
        // SURGE logs whole microseconds.
        assert!(!exact.is_zero(), "a put took no time, though messages do");
        let latency = if self.surge { SimSpan::from_us(exact.as_ns() / 1_000) } else { exact };
        if self.counts(now) {
            context.record(Sample::Counted);
        }
        if self.measured.from <= now && now <= self.measured.end {
            context.record(Sample::Latency(latency));
        }
        if now < self.traced.puts_until {
            context.emit(Trace::Put { latency_ns: exact });
        }
        self.go_on(gateway, context);
    }

    /// Multicasts a message now, or holds it back if it is a request and comes too soon after the one before.
    /// Other messages belong to requests that were sent, and are not limited.
    fn pace(&self, gateway: &mut Gateway, to: Vec<(ServerId, Message)>, context: &mut Ctx<'_>) {
        let first = to.first().map(|(_, message)| message);
        let asks = matches!(first, Some(Message::Request { .. } | Message::GetRequest { .. }));
        let waits = !gateway.held.is_empty() || context.now() < gateway.requests_from;
        let limited = asks && self.request_gap.is_some();
        if !(limited && waits) {
            self.multicast_now(gateway, &to, asks, context);
            return;
        }
        if gateway.held.is_empty() {
            context.send_at(context.me(), gateway.requests_from, Event::Release);
        }
        gateway.held.push_back(to);
    }

    fn multicast_now(
        &self,
        gateway: &mut Gateway,
        to: &[(ServerId, Message)],
        asks: bool,
        context: &mut Ctx<'_>,
    ) {
        if let Some(gap) = self.request_gap.filter(|_| asks) {
            gateway.tally.requests += 1;
            gateway.requests_from = context.now().saturating_add(gap);
        }
        self.multicast(&mut gateway.ports, to, context);
    }

    /// The first request that was held back goes out.
    fn release(&self, gateway: &mut Gateway, context: &mut Ctx<'_>) {
        let Some(to) = gateway.held.pop_front() else { return };
        self.multicast_now(gateway, &to, true, context);
        if !gateway.held.is_empty() {
            context.send_at(context.me(), gateway.requests_from, Event::Release);
        }
    }

    /// A put has ended: starts the next chunk.
    pub(super) fn go_on(&self, gateway: &mut Gateway, context: &mut Ctx<'_>) {
        match self.load {
            // The next chunk came when the data had been sent.
            Load::Closed if self.pipelined => {}
            Load::Closed => self.create_chunk(gateway, context),
            Load::Open(_) => self.submit_waiting(gateway, context),
        }
    }
}
