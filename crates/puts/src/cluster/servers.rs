//! Events at servers: requests and data arrive, disks write, and some servers fail.

use std::collections::VecDeque;

use towtank_devices::Bucket;
use towtank_negotiation::bids::{State, overlapping};
use towtank_negotiation::{
    Action, Message, NegotiatingServer, Peer, PutId, ServerId, Size, Step, UnicastServer, Window,
};
use towtank_units::{SimSpan, SimTime};

use super::{Cluster, Ctx, PROTOCOL};
use crate::counts::Sample;
use crate::event::{Event, Transfer};
use crate::frame::Frame;
use crate::nodes::{Server, ServerTally, Target};
use crate::ports::Ports;
use crate::trace::Trace;

impl Cluster {
    pub(super) fn new_server(&self, me: ServerId) -> Server {
        let machine = if self.negotiates() {
            Target::Negotiating(NegotiatingServer::new(me, &self.terms))
        } else {
            Target::Unicast(UnicastServer::new(me))
        };
        Server {
            machine,
            ports: Ports::default(),
            ingress: Bucket::full(self.terms.bucket_bits, SimTime::ZERO),
            offers: VecDeque::new(),
            failed: false,
            tally: ServerTally::default(),
        }
    }

    /// Handles an event at a server; false if the event is not one for servers.
    pub(super) fn at_server(&self, server: &mut Server, event: &Event, context: &mut Ctx<'_>) -> bool {
        if server.failed {
            server.tally.bytes_lost += self.put_bytes_of(event);
            server.tally.acknowledgements_lost +=
                u64::from(matches!(event, Event::Later(_, Message::Ack { .. })));
            return true;
        }
        match *event {
            Event::AtPort(message) => {
                if !self.queue_in(&mut server.ports, message, context) {
                    self.hear(server, &message, context);
                }
            }
            Event::Heard(message) => self.hear(server, &message, context),
            Event::Wake(wake) => self.drive_server(server, context, |machine, step| match machine {
                Target::Unicast(machine) => machine.wake(wake, step),
                Target::Negotiating(machine) => machine.wake(wake, step),
            }),
            Event::Later(to, message) => self.send(&mut server.ports, to, message, context),
            Event::Offer { put, bits } => {
                self.assert_frame(bits);
                server.offers.push_back((put, bits));
                // If others wait, they go first, and an event will admit them.
                if server.offers.len() == 1 {
                    self.admit(server, context);
                }
            }
            Event::Admit => self.admit(server, context),
            Event::FrameAtPort(frame) => self.frame_at_port(server, frame, context),
            Event::Frame(frame) => self.frame(server, frame, context),
            Event::GetGranted { get, round } => self.get_granted(server, get, round, context),
            Event::Data { put, size, transfer } => {
                self.data(server, put, size, transfer, context);
            }
            Event::Fail => server.failed = true,
            _ => return false,
        }
        true
    }

    fn hear(&self, server: &mut Server, message: &Message, context: &mut Ctx<'_>) {
        if let (Message::Request { .. }, Target::Negotiating(machine)) = (message, &server.machine) {
            let undecided = machine.reservations().iter().any(|one| one.state == State::Tentative);
            if self.counts(context.now()) {
                context.record(Sample::Request { undecided });
            }
        }
        self.drive_server(server, context, |machine, step| match machine {
            Target::Unicast(machine) => machine.hear(message, step),
            Target::Negotiating(machine) => machine.hear(message, step),
        });
        self.assert_no_holder_bids(self.server_of(context), server, message);
        match *message {
            Message::Accept { put, window } => self.accepted(server, put, window, context),
            Message::GetAccept { .. } => self.promised(server, context),
            _ => {}
        }
    }

    /// A bid was accepted: checks that no other accepted window overlaps.
    fn accepted(&self, server: &mut Server, put: PutId, window: Window, context: &mut Ctx<'_>) {
        let Target::Negotiating(machine) = &server.machine else { return };
        if overlapping(machine.reservations()).is_some() {
            server.tally.violations += 1;
            context.record(Sample::Violation);
        }
        self.trace_window(
            context,
            |left_ns, right_ns| Trace::Accepted { gateway: put.gateway.0, left_ns, right_ns },
            window,
        );
    }

    pub(super) fn trace_window(
        &self,
        context: &mut Ctx<'_>,
        of: impl FnOnce(SimTime, SimTime) -> Trace,
        window: Window,
    ) {
        assert!(window.left <= window.right, "{window:?} ends before it begins");
        let server = context.me().0 - self.gateways;
        if context.now() < self.traced.windows_until && server < self.terms.fixed.group {
            context.emit(of(window.left, window.right));
        }
    }

    fn frame_at_port(&self, server: &mut Server, frame: Frame, context: &mut Ctx<'_>) {
        let now = context.now();
        let came = server.ports.data_in.receive(now, self.terms.wire(frame.bits())).end;
        assert!(came >= now, "{frame:?} is in at {came:?}, before it came at {now:?}");
        if came > now {
            context.send_at(context.me(), came, Event::Frame(frame));
        } else {
            self.frame(server, frame, context);
        }
    }

    fn frame(&self, server: &mut Server, frame: Frame, context: &mut Ctx<'_>) {
        assert!(frame.is_put(), "{frame:?} is at a server");
        self.assert_frame(frame.bits());
        server.tally.bytes_received += frame.bits() / 8;
        self.drive_server(server, context, |machine, step| match (machine, frame) {
            (Target::Unicast(machine), Frame::Put { put, bits }) => {
                machine.receive(put, bits, step);
            }
            (Target::Negotiating(machine), Frame::Reserved { put, size, last: true, .. }) => {
                machine.receive(put, size, step);
            }
            _ => {}
        });
    }

    /// A reserved transfer is complete.
    fn data(&self, server: &mut Server, put: PutId, size: Size, transfer: Transfer, context: &mut Ctx<'_>) {
        self.assert_size(size);
        self.assert_transfer(transfer, context.now());
        server.tally.bytes_received += self.terms.size(size).bytes.get();
        if transfer.is_outside() {
            server.tally.violations += 1;
            context.record(Sample::Violation);
        }
        self.drive_server(server, context, |machine, step| {
            if let Target::Negotiating(machine) = machine {
                machine.receive(put, size, step);
            }
        });
    }

    /// SURGE: admits frames as the link's token bucket fills, first come, first served.
    fn admit(&self, server: &mut Server, context: &mut Ctx<'_>) {
        let now = context.now();
        while let Some((put, bits)) = server.offers.front().copied() {
            server.ingress.fill(now, self.terms.data);
            let Some(at) = server.ingress.ready(bits, self.terms.data) else { return };
            assert!(at >= now, "a frame could go in at {at:?}, before now");
            if at > now {
                context.send_at(context.me(), at, Event::Admit);
                return;
            }
            server.ingress.take(bits);
            server.offers.pop_front();
            let to = self.entity_of(Peer::Gateway(put.gateway));
            context.send(to, SimSpan::ZERO, Event::Granted(put));
        }
    }

    pub(super) fn drive_server(
        &self,
        server: &mut Server,
        context: &mut Ctx<'_>,
        call: impl FnOnce(&mut Target, &mut Step<'_>),
    ) {
        let now = context.now();
        let mut draws = context.draws(PROTOCOL);
        let mut step = Step::new(&self.terms, now, &mut draws);
        call(&mut server.machine, &mut step);
        let actions = step.actions;
        for action in actions {
            self.act_at_server(server, action, context);
        }
    }

    fn act_at_server(&self, server: &mut Server, action: Action, context: &mut Ctx<'_>) {
        match action {
            Action::Send { to, message, after } => {
                if matches!(message, Message::Declined { .. }) && self.counts(context.now()) {
                    context.record(Sample::Declined);
                }
                if let Message::Bid { put, window, .. } = message {
                    self.trace_window(
                        context,
                        |left_ns, right_ns| Trace::Offered { gateway: put.gateway.0, left_ns, right_ns },
                        window,
                    );
                }
                if self.quirks.control_is_free {
                    let way = after.saturating_add(self.terms.control_and_trip());
                    context.send(self.entity_of(to), way, Event::Heard(message));
                } else if after.is_zero() {
                    self.send(&mut server.ports, to, message, context);
                } else {
                    context.send(context.me(), after, Event::Later(to, message));
                }
            }
            Action::Wake { at, wake } => context.send_at(context.me(), at, Event::Wake(wake)),
            Action::Write { put, size, begin, end } => {
                self.written(server, (put, size), Window { left: begin, right: end }, context);
            }
            of_a_get => self.act_on_read(server, &of_a_get, context),
        }
    }

    /// A replica is queued for the disk. SURGE counts all its work at once; else the part within the measured
    /// span counts.
    fn written(&self, server: &mut Server, (put, size): (PutId, Size), write: Window, context: &mut Ctx<'_>) {
        let takes = self.terms.write(self.server_of(context), size);
        assert!(write.left >= context.now(), "a disk writes from {:?}, before the data came", write.left);
        assert_eq!(write.span(), takes, "a disk takes this long for a replica");
        server.tally.replicas += 1;
        server.tally.bytes_stored += self.terms.size(size).bytes.get();
        if self.counts(context.now()) {
            context.record(Sample::Replica);
        }
        let busy = if !self.quirks.work_counts_early {
            self.within_measured(write)
        } else if self.counts(context.now()) {
            takes
        } else {
            SimSpan::ZERO
        };
        context.record(Sample::Busy(busy));
        self.trace_window(
            context,
            |left_ns, right_ns| Trace::Written { gateway: put.gateway.0, left_ns, right_ns },
            write,
        );
    }
}
