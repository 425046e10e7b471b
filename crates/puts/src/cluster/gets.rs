//! Events of gets: at gateways that request chunks, and at servers that read and send them.

use towtank_negotiation::bids::overlapping;
use towtank_negotiation::{Action, DoneGet, GetId, Message, Peer, ServerId, Size, Window};
use towtank_units::SimSpan;

use super::{Cluster, Ctx};
use crate::counts::Sample;
use crate::event::{Cargo, Event, Transfer};
use crate::frame::Frame;
use crate::nodes::{Gateway, Initiator, Server, Target};
use crate::trace::Trace;

impl Cluster {
    /// A reserved delivery is complete. No other server may have sent to this gateway in the meantime.
    pub(super) fn fetched(
        &self,
        gateway: &mut Gateway,
        get: GetId,
        size: Size,
        transfer: Transfer,
        context: &mut Ctx<'_>,
    ) {
        self.assert_size(size);
        self.assert_transfer(transfer, context.now());
        gateway.tally.bytes_received += self.terms.size(size).bytes.get();
        if transfer.is_outside() || transfer.began < gateway.received_until {
            gateway.tally.violations += 1;
            context.record(Sample::Violation);
        }
        gateway.received_until = gateway.received_until.max(transfer.ended);
        self.drive(gateway, context, |machine, step| {
            if let Initiator::Negotiating(machine) = machine {
                machine.gets.receive(get, step);
            }
        });
    }

    /// A frame arrives at a gateway's port.
    pub(super) fn frame_at_gateway_port(&self, gateway: &mut Gateway, frame: Frame, context: &mut Ctx<'_>) {
        let now = context.now();
        let came = gateway.ports.data_in.receive(now, self.terms.wire(frame.bits())).end;
        assert!(came >= now, "{frame:?} is in at {came:?}, before it came at {now:?}");
        if came > now {
            context.send_at(context.me(), came, Event::Frame(frame));
        } else {
            self.frame_at_gateway(gateway, frame, context);
        }
    }

    /// A frame has been received.
    pub(super) fn frame_at_gateway(&self, gateway: &mut Gateway, frame: Frame, context: &mut Ctx<'_>) {
        assert!(!frame.is_put(), "{frame:?} is at a gateway");
        self.assert_frame(frame.bits());
        gateway.tally.bytes_received += frame.bits() / 8;
        self.drive(gateway, context, |machine, step| match (machine, frame) {
            (Initiator::Unicast(machine), Frame::Get { get, round, bits }) => {
                machine.gets.receive(get, round, bits, step);
            }
            (Initiator::Negotiating(machine), Frame::Delivered { get, last: true, .. }) => {
                machine.gets.receive(get, step);
            }
            _ => {}
        });
    }

    /// Carries out a gateway's actions for gets.
    pub(super) fn act_on_get(&self, gateway: &mut Gateway, action: &Action, context: &mut Ctx<'_>) {
        let now = context.now();
        match *action {
            Action::GetDone(done) => self.got(gateway, &done, context),
            Action::GetRetried(_) if self.counts(now) => context.record(Sample::GetRetried),
            Action::GetFailed(_) => {
                gateway.tally.gets_failed += 1;
                context.record(Sample::GetFailed);
                self.go_on(gateway, context);
            }
            _ => {}
        }
    }

    fn got(&self, gateway: &mut Gateway, done: &DoneGet, context: &mut Ctx<'_>) {
        assert!(done.created <= context.now(), "a get ended before it came at {:?}", done.created);
        gateway.tally.gets_done += 1;
        if self.counts(context.now()) {
            context.record(Sample::Got(context.now().since(done.created)));
        }
        self.go_on(gateway, context);
    }

    /// Carries out a server's actions for gets.
    pub(super) fn act_on_read(&self, server: &mut Server, action: &Action, context: &mut Ctx<'_>) {
        match *action {
            Action::Read { get, begin, end } => {
                let read = Window { left: begin, right: end };
                assert!(begin >= context.now(), "a disk read at {begin:?}, before it was asked to");
                assert!(begin <= end, "a disk read until {end:?}, from {begin:?}");
                context.record(Sample::Busy(self.within_measured(read)));
                self.trace_window(
                    context,
                    |left_ns, right_ns| Trace::Read { gateway: get.gateway.0, left_ns, right_ns },
                    read,
                );
            }
            Action::Deliver { get, size, span, window } => {
                self.send_chunk(server, get, size, span, window, context);
            }
            Action::GetOffer { get, round, bits } => {
                let begin = server.ports.data_out.send(context.now(), self.terms.wire(bits)).begin;
                assert!(begin >= context.now(), "a frame went out at {begin:?}, before it was offered");
                if begin > context.now() {
                    context.send_at(context.me(), begin, Event::GetGranted { get, round });
                } else {
                    self.get_granted(server, get, round, context);
                }
            }
            Action::GetFrame { get, round, bits } => {
                self.assert_frame(bits);
                server.tally.bytes_sent += bits / 8;
                let to = self.entity_of(Peer::Gateway(get.gateway));
                let frame = Cargo::Frame(Frame::Get { get, round, bits });
                self.carry(to, self.terms.wire(bits), frame, context);
            }
            _ => {}
        }
    }

    /// A reader's window begins: the whole chunk is sent in it, and nothing can change on the way, so one
    /// event is enough.
    fn send_chunk(
        &self,
        server: &mut Server,
        get: GetId,
        size: Size,
        span: SimSpan,
        window: Window,
        context: &mut Ctx<'_>,
    ) {
        server.tally.bytes_sent += self.terms.size(size).bytes.get();
        let began = context.now();
        let ended = began.saturating_add(span);
        assert_eq!(began, window.left, "a delivery begins when its window does");
        assert!(span <= window.span(), "a delivery takes {span}, but its window {}", window.span());
        self.trace_window(
            context,
            |left_ns, right_ns| Trace::Sent { gateway: get.gateway.0, left_ns, right_ns },
            window,
        );
        let to = self.entity_of(Peer::Gateway(get.gateway));
        if self.racks.is_some() {
            self.each_frame(size, |after, bits, last| {
                let frame = Cargo::Frame(Frame::Delivered { get, size, last, bits });
                self.carry(to, after, frame, context);
            });
            return;
        }
        let arrives = ended.saturating_add(self.terms.fixed.trip);
        let event = Event::GetData { get, size, transfer: Transfer { window, began, ended } };
        context.send_at(to, arrives, event);
    }

    /// The server's link has started the frame that was offered to it.
    pub(super) fn get_granted(&self, server: &mut Server, get: GetId, round: u8, context: &mut Ctx<'_>) {
        self.drive_server(server, context, |machine, step| {
            if let Target::Unicast(machine) = machine {
                machine.get_frame_started(get, round, step);
            }
        });
    }

    /// A reader accepted a bid: checks that no other accepted window overlaps.
    pub(super) fn promised(&self, server: &mut Server, context: &mut Ctx<'_>) {
        let Target::Negotiating(machine) = &server.machine else { return };
        if overlapping(machine.deliveries().list()).is_some() {
            server.tally.violations += 1;
            context.record(Sample::Violation);
        }
    }

    /// Counts declined gets.
    pub(super) fn count_answer(&self, message: &Message, context: &mut Ctx<'_>) {
        if matches!(message, Message::GetDeclined { .. }) && self.counts(context.now()) {
            context.record(Sample::GetDeclined);
        }
    }

    /// The part of a time interval that lies in the measured span.
    pub(super) fn within_measured(&self, stretch: Window) -> SimSpan {
        let from = stretch.left.max(self.measured.from);
        let within = stretch.right.min(self.measured.until).checked_since(from).unwrap_or(SimSpan::ZERO);
        assert!(within <= stretch.span(), "{within} of {} are measured", stretch.span());
        within
    }

    /// The server of an entity.
    pub(super) fn server_of(&self, context: &Ctx<'_>) -> ServerId {
        let server = context.me().0 - self.gateways;
        assert!(server < self.terms.fixed.servers, "entity {} is no server", context.me());
        ServerId(server)
    }
}
