//! Units on their way: the source's disk and card, uplinks, the target's card and disk, and the acknowledgement.

use towtank_devices::{Access, Lane};
use towtank_kernel::{Context, EntityId, Fault};
use towtank_units::{Bytes, SimSpan, SimTime};

use super::event::{Event, Kind};
use super::server::{Rack, Server};
use super::undo::Undo;
use super::{DeviceId, Rebuild};

/// Streams of a disk from here on are clients'.
const CLIENT_STREAMS: u32 = 1 << 30;

impl Rebuild<'_> {
    /// A unit comes to the disk it is read from.
    pub(super) fn read(&self, server: &mut Server, event: &Event, context: &mut Context<'_, Self>) -> Undo {
        let place = self.hardware.place_of(event.device);
        let device = &mut server.devices[place];
        let undo = Undo::Disk { place: place as u16, before: device.disk };
        let done =
            device.disk.serve(self.hardware.disk(event.device), context.now(), self.access(event, false));
        device.read += u64::from(event.bytes);
        self.read_off(server, event, done.since(context.now()), context);
        undo
    }

    /// A unit has been read in `wait`: to the driver's server, or it is there.
    pub(super) fn read_off(
        &self,
        server: &Server,
        event: &Event,
        wait: SimSpan,
        context: &mut Context<'_, Self>,
    ) {
        let me = context.me();
        if self.entity_of(event.driver) != me {
            context.send(me, wait, event.then(Kind::Out));
        } else if event.marks.gathers() {
            context.send(me, wait, event.then(Kind::Part));
        } else {
            self.hand_out(server, *event, wait, context);
        }
    }

    /// At the driver, the unit is complete in `wait`: to the local target's disk, or to the card.
    pub(super) fn hand_out(
        &self,
        server: &Server,
        event: Event,
        wait: SimSpan,
        context: &mut Context<'_, Self>,
    ) {
        let me = context.me();
        let slot = &server.devices[self.hardware.place_of(event.driver)].slots[usize::from(event.slot)];
        let event = Event { marks: event.marks.gathering(false), device: slot.target, ..event };
        if slot.writes == 1 {
            let kind = if self.entity_of(slot.target) == me { Kind::Write } else { Kind::Out };
            context.send(me, wait, event.then(kind));
            return;
        }
        for &target in self.plan.writes(self.plan.job(event.job)) {
            let kind = if self.entity_of(target) == me { Kind::Write } else { Kind::Out };
            context.send(me, wait, Event { device: target, ..event.then(kind) });
        }
    }

    /// A unit comes to the card that sends it.
    #[inline]
    pub(super) fn out(&self, server: &mut Server, event: &Event, context: &mut Context<'_, Self>) -> Undo {
        let undo = Undo::Out(server.out);
        let card = self.hardware.card();
        let done = server.out.serve(context.now(), card.span(u64::from(event.bytes)));
        server.sent += u64::from(event.bytes);
        self.sent_off(event, done.since(context.now()), context);
        undo
    }

    /// A unit has left the card in `wait`. It streams: its last byte is there a latency later.
    #[inline]
    pub(super) fn sent_off(&self, event: &Event, wait: SimSpan, context: &mut Context<'_, Self>) {
        let to = self.receiver(event);
        let after = wait.saturating_add(self.hardware.card().spec().latency);
        let (from_rack, to_rack) = (self.hardware.rack_of(context.me().0), self.hardware.rack_of(to.0));
        if self.hardware.uplinks().is_some() && from_rack != to_rack {
            context.send(self.rack(from_rack), after, event.then(Kind::Up));
        } else {
            context.send(to, after, event.then(Kind::In));
        }
    }

    /// The server a unit is sent to.
    #[inline]
    fn receiver(&self, event: &Event) -> EntityId {
        self.entity_of(if event.marks.gathers() { event.driver } else { event.device })
    }

    /// A unit comes to one of the two ways of a rack's uplink.
    pub(super) fn at_rack(
        &self,
        rack: &mut Rack,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        if let Some(lines) = &mut rack.lines {
            let before = Undo::Rack(Box::new((rack.lanes, lines.clone())));
            self.at_shared_rack(&mut rack.lanes, lines, event, context)?;
            return Ok(before);
        }
        let down = event.kind == Kind::Down;
        let lane = &mut rack.lanes[usize::from(down)];
        let undo = Undo::Uplink { down, before: *lane };
        let done = if down {
            // Another uplink sent it, and all are alike.
            lane.receive(context.now(), self.over_uplink(event))
        } else {
            self.cut_through(lane, context.now(), event)
        };
        self.passed(event, done.since(context.now()), context);
        Ok(undo)
    }

    /// An uplink forwards bytes as the sender's card brings them, and may be slower than the card.
    pub(super) fn cut_through(&self, uplink: &mut Lane, now: SimTime, event: &Event) -> SimTime {
        let sent_in = self.hardware.card().span(u64::from(event.bytes));
        uplink.cut_through(now, sent_in, self.over_uplink(event))
    }

    /// How long a unit takes over an uplink.
    pub(super) fn over_uplink(&self, event: &Event) -> SimSpan {
        let rate = self.hardware.uplinks().expect("racks are entities where uplinks are limited").rate;
        rate.span_for(Bytes::new(u64::from(event.bytes)))
    }

    /// A unit has passed an uplink in `wait`: to the other rack's, or to the server.
    pub(super) fn passed(&self, event: &Event, wait: SimSpan, context: &mut Context<'_, Self>) {
        let after = wait.saturating_add(self.hardware.card().spec().latency);
        let to = self.receiver(event);
        if event.kind == Kind::Down {
            context.send(to, after, event.then(Kind::In));
        } else {
            context.send(self.rack(self.hardware.rack_of(to.0)), after, event.then(Kind::Down));
        }
    }

    /// A unit's last byte comes to the card that receives it.
    #[inline]
    pub(super) fn take_in(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Undo {
        let undo = Undo::Inward(server.inward);
        let done = server.inward.receive(context.now(), self.hardware.card().span(u64::from(event.bytes)));
        server.received += u64::from(event.bytes);
        self.taken_in(event, done.since(context.now()), context);
        undo
    }

    /// A unit has been taken in in `wait`.
    #[inline]
    pub(super) fn taken_in(&self, event: &Event, wait: SimSpan, context: &mut Context<'_, Self>) {
        let kind = if event.marks.gathers() { Kind::Part } else { Kind::Write };
        context.send(context.me(), wait, event.then(kind));
    }

    /// A unit that the driver asked for is there. When all its parts are, what was lost is decoded and handed out.
    pub(super) fn part(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        let place = self.hardware.place_of(event.driver);
        let slot = &mut server.devices[place].slots[usize::from(event.slot)];
        if slot.job != event.job {
            return Err("a part came for a job that is not in its slot".into());
        }
        let parts = &mut slot.parts[event.unit as usize % super::WINDOW_MAX];
        let undo = Undo::Parts { place: place as u16, before: *parts };
        *parts += 1;
        if *parts == slot.reads {
            *parts = 0;
            self.hand_out(server, *event, SimSpan::ZERO, context);
        }
        Ok(undo)
    }

    /// A unit comes to the disk it is written to; when it is durable, the driver is told.
    #[inline]
    pub(super) fn write(&self, server: &mut Server, event: &Event, context: &mut Context<'_, Self>) -> Undo {
        let place = self.hardware.place_of(event.device);
        let device = &mut server.devices[place];
        let undo = Undo::Disk { place: place as u16, before: device.disk };
        let done =
            device.disk.serve(self.hardware.disk(event.device), context.now(), self.access(event, true));
        device.written += u64::from(event.bytes);
        self.tell_driver(event.then(Kind::Ack), done, context);
        undo
    }

    pub(super) fn tell_driver(&self, event: Event, at: SimTime, context: &mut Context<'_, Self>) {
        let to = self.entity_of(event.driver);
        let wait = at.since(context.now());
        let wait = if to == context.me() { wait } else { wait.saturating_add(self.hardware.control()) };
        context.send(to, wait, event);
    }

    #[inline]
    pub(super) fn access(&self, event: &Event, write: bool) -> Access {
        let offset = event.offset(self.hardware.unit());
        // Clients ask for things here and there; jobs have numbers below those of their streams.
        let stream = if event.marks.is_client() { CLIENT_STREAMS | event.unit } else { event.job };
        Access { stream, offset, bytes: u64::from(event.bytes), write }
    }

    /// Tells a device's server something, by a control message.
    pub(super) fn tell(&self, device: DeviceId, event: Event, context: &mut Context<'_, Self>) {
        let to = self.entity_of(device);
        let wait = if to == context.me() { SimSpan::ZERO } else { self.hardware.control() };
        context.send(to, wait, event);
    }
}
