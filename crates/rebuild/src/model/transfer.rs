//! Units on their way: the source's disk and card, uplinks, the target's card and disk, and the
//! acknowledgement.
//!
//! Each resource has one step, in two halves: it begins with a unit (`serve`), and the unit leaves it
//! (`leave`). Alone, a resource says at once when it will be done, and both halves are one event. Where
//! clients use it too, a line lies in front, and the second half is an event of its own (`shared`).

use towtank_devices::{Access, Uplink, Way};
use towtank_kernel::{Context, EntityId, Fault};
use towtank_units::{Bytes, SimSpan, SimTime};

use super::event::{Event, Kind};
use super::resource::Resource;
use super::server::{Rack, Server};
use super::undo::Undo;
use super::{DeviceId, Rebuild};

/// Streams of a disk from here on are clients'.
const CLIENT_STREAMS: u32 = 1 << 30;

impl Rebuild<'_> {
    /// A unit comes to a resource that serves it at once, or says at once when it will.
    #[inline]
    pub(super) fn at_resource(
        &self,
        server: &mut Server,
        resource: Resource,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Undo {
        let undo = match resource {
            Resource::Out => Undo::Out(server.out),
            Resource::Inward => Undo::Inward(server.inward),
            Resource::Disk(place) => Undo::Disk { place: place as u16, before: server.devices[place].disk },
        };
        let done = self.serve(server, resource, event, context.now());
        self.leave(server, resource, event, done.since(context.now()), context);
        undo
    }

    /// A resource begins with a unit, or takes it on behind others: when it will be done.
    #[inline]
    pub(super) fn serve(
        &self,
        server: &mut Server,
        resource: Resource,
        event: &Event,
        now: SimTime,
    ) -> SimTime {
        let service = match resource {
            Resource::Out => server.out.send(now, self.over_card(event)),
            Resource::Inward => server.inward.receive(now, self.over_card(event)),
            Resource::Disk(place) => {
                let access = self.access(event, event.kind == Kind::Write);
                server.devices[place].disk.serve(self.hardware.disk(event.device), now, access)
            }
        };
        // A card forwards bytes as they come, so receiving began before the last one was here.
        let early = resource != Resource::Inward && service.begin < now;
        assert!(!early, "a resource began with a unit at {:?}, before it came", service.begin);
        assert!(service.end >= now, "a resource was done with a unit at {:?}, before it came", service.end);
        assert!(service.end > service.begin, "a unit of {} bytes passes a resource in no time", event.bytes);
        service.end
    }

    /// A resource will be done with a unit in `wait`: it is counted, and goes on its way.
    #[inline]
    pub(super) fn leave(
        &self,
        server: &mut Server,
        resource: Resource,
        event: &Event,
        wait: SimSpan,
        context: &mut Context<'_, Self>,
    ) {
        let rebuilt = if event.marks.is_client() { 0 } else { u64::from(event.bytes) };
        assert!(event.bytes > 0, "a unit has no bytes");
        assert!(rebuilt <= self.hardware.unit(), "a unit has {rebuilt} bytes");
        match resource {
            Resource::Out => {
                server.sent += rebuilt;
                self.sent_off(event, wait, context);
            }
            Resource::Inward => {
                server.received += rebuilt;
                let kind = if event.marks.gathers() { Kind::Part } else { Kind::Write };
                context.send(context.me(), wait, event.then(kind));
            }
            Resource::Disk(place) if event.kind == Kind::Write => {
                server.devices[place].written += rebuilt;
                self.tell_driver(event.then(Kind::Ack), wait, context);
            }
            Resource::Disk(place) => {
                server.devices[place].read += rebuilt;
                self.read_off(server, event, wait, context);
            }
        }
    }

    /// How long a unit takes over a card.
    #[inline]
    pub(super) fn over_card(&self, event: &Event) -> SimSpan {
        self.hardware.card().span(u64::from(event.bytes))
    }

    /// A unit has been read in `wait`: to the driver's server, or it is there.
    fn read_off(&self, server: &Server, event: &Event, wait: SimSpan, context: &mut Context<'_, Self>) {
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
        assert_eq!(self.entity_of(event.driver), me, "a unit is handed out where its driver is not");
        let slot = &server.devices[self.hardware.place_of(event.driver)].slots[usize::from(event.slot)];
        assert_eq!(slot.job, event.job, "a unit is handed out of a job that is not in its slot");
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

    /// A unit has left the card in `wait`. It streams: its last byte is there a latency later.
    #[inline]
    fn sent_off(&self, event: &Event, wait: SimSpan, context: &mut Context<'_, Self>) {
        let to = self.receiver(event);
        assert_ne!(to, context.me(), "a unit is sent over the card to its own server");
        debug_assert!(to.0 < self.hardware.servers(), "a unit is sent to {to}, which is no server");
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
            let before = Undo::Rack(Box::new((rack.uplink, lines.clone())));
            self.at_shared_rack(&mut rack.uplink, lines, event, context)?;
            return Ok(before);
        }
        let way = if event.kind == Kind::Down { Way::Down } else { Way::Up };
        let undo = Undo::Uplink { way, before: *rack.uplink.lane(way) };
        let done = self.cross(&mut rack.uplink, way, event, context.now());
        self.passed(event, done.since(context.now()), context);
        Ok(undo)
    }

    /// An uplink begins with a unit, or takes it on behind others: when it will be done.
    pub(super) fn cross(&self, uplink: &mut Uplink, way: Way, event: &Event, now: SimTime) -> SimTime {
        uplink.cross(way, now, self.over_card(event), self.over_uplink(event)).end
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
        let rack = context.me().0 - self.hardware.servers();
        debug_assert!(rack < self.hardware.racks(), "a unit is at the uplink of rack {rack}");
        let there = rack == self.hardware.rack_of(to.0);
        assert_eq!(event.kind == Kind::Down, there, "a unit for {to} is at the uplink of rack {rack}");
        if event.kind == Kind::Down {
            context.send(to, after, event.then(Kind::In));
        } else {
            context.send(self.rack(self.hardware.rack_of(to.0)), after, event.then(Kind::Down));
        }
    }

    /// A unit that the driver asked for is there. When all its parts are, what was lost is decoded and handed
    /// out.
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
        let flying = slot.next - u32::from(slot.flying)..slot.next;
        debug_assert!(
            flying.contains(&event.unit),
            "a part of unit {} came; {flying:?} are in flight",
            event.unit
        );
        let parts = &mut slot.parts[event.unit as usize % super::WINDOW_MAX];
        let undo = Undo::Parts { place: place as u16, before: *parts };
        assert!(*parts < slot.reads, "a unit has more parts than sources");
        *parts += 1;
        if *parts == slot.reads {
            *parts = 0;
            self.hand_out(server, *event, SimSpan::ZERO, context);
        }
        Ok(undo)
    }

    /// A driver is told in `wait`; on another server, a control message later.
    fn tell_driver(&self, event: Event, wait: SimSpan, context: &mut Context<'_, Self>) {
        let to = self.entity_of(event.driver);
        let wait = if to == context.me() { wait } else { wait.saturating_add(self.hardware.control()) };
        context.send(to, wait, event);
    }

    #[inline]
    fn access(&self, event: &Event, write: bool) -> Access {
        let offset = event.offset(self.hardware.unit());
        // Clients ask for things here and there; jobs have numbers below those of their streams.
        debug_assert!(
            if event.marks.is_client() { event.unit < CLIENT_STREAMS } else { event.job < CLIENT_STREAMS },
            "stream {} or {} is a client's and a job's",
            event.unit,
            event.job
        );
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
