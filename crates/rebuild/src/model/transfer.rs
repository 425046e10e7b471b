//! Units in transit: the source's disk and NIC, uplinks, the target's NIC and disk, and the acknowledgement.
//!
//! Each resource has one step in two halves: it starts a unit (`serve`), and the unit leaves it (`leave`). A
//! resource used by the rebuild alone knows the completion time at once, so both halves are one event. If
//! clients use it too, a queue stands in front, and the second half is an event of its own (`shared`).

use towtank_devices::{Access, Uplink, Way};
use towtank_kernel::{Context, EntityId, Fault};
use towtank_units::{Bytes, SimSpan, SimTime};

use super::event::{Event, Kind};
use super::resource::Resource;
use super::server::{Rack, Server};
use super::sharing::shared_way;
use super::undo::{RackBefore, Undo};
use super::{DeviceId, Rebuild};

/// Disk streams from this number on belong to clients.
const CLIENT_STREAMS: u32 = 1 << 30;

impl Rebuild<'_> {
    /// A unit arrives at a resource that serves it at once, or knows at once when it will. The result is
    /// that of the handler, so that it is written once.
    // Always inlined, as its two halves are: the processor guesses the kind of an event once, and not again
    // at each question about the resource.
    #[inline(always)]
    pub(super) fn at_resource(
        &self,
        server: &mut Server,
        resource: Resource,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        let undo = Undo::resource(server, resource);
        let done = self.serve(server, resource, event, context.now());
        self.leave(server, resource, event, done.since(context.now()), context);
        Ok(undo)
    }

    /// The disk that a unit is read from or written to.
    #[inline(always)]
    pub(super) fn disk_of(&self, event: &Event) -> Resource {
        Resource::Disk(self.hardware.place_of(event.device))
    }

    /// A resource starts a unit, or queues it behind others; returns the completion time.
    #[inline(always)]
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
        // A NIC forwards bytes as they arrive, so receiving began before the last byte was here.
        let early = resource != Resource::Inward && service.begin < now;
        assert!(!early, "a resource began with a unit at {:?}, before it came", service.begin);
        assert!(service.end >= now, "a resource was done with a unit at {:?}, before it came", service.end);
        // Times end after 584 years, which the kernel refuses.
        let took = service.end > service.begin || service.end == SimTime::MAX;
        assert!(took, "a unit of {} bytes passes a resource in no time", event.bytes);
        service.end
    }

    /// A resource finishes a unit after `wait`: counts the unit and sends it on.
    #[inline(always)]
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
                let kind = if event.marks.gathers() { Kind::Part } else { self.arrives(event) };
                context.send(context.me(), wait, event.then(kind));
            }
            Resource::Disk(place) if event.kind == Kind::Write => {
                server.devices[place].written += rebuilt;
                self.tell_driver(event.then(self.replies(event)), wait, context);
            }
            Resource::Disk(place) => {
                server.devices[place].read += rebuilt;
                self.read_off(server, event, wait, context);
            }
        }
    }

    /// Transfer time of a unit over a NIC.
    #[inline]
    pub(super) fn over_card(&self, event: &Event) -> SimSpan {
        self.hardware.card().span(u64::from(event.bytes))
    }

    /// A unit has been read after `wait`: it goes to the driver's server, unless it is there already.
    #[inline]
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

    /// The unit is complete at the driver after `wait`: it goes to the local target's disk, or to the NIC.
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
            let kind = if self.entity_of(slot.target) == me { self.arrives(&event) } else { Kind::Out };
            context.send(me, wait, event.then(kind));
            return;
        }
        for &target in self.plan.writes(self.plan.job(event.job)) {
            let kind = if self.entity_of(target) == me { self.arrives(&event) } else { Kind::Out };
            context.send(me, wait, Event { device: target, ..event.then(kind) });
        }
    }

    /// A unit leaves the NIC after `wait`. Bytes are streamed, so the last one arrives a latency later.
    #[inline(always)]
    fn sent_off(&self, event: &Event, wait: SimSpan, context: &mut Context<'_, Self>) {
        let to = self.receiver(event);
        assert_ne!(to, context.me(), "a unit is sent over the card to its own server");
        debug_assert!(to.0 < self.hardware.servers(), "a unit is sent to {to}, which is no server");
        let after = wait.saturating_add(self.hardware.card().spec().latency);
        let rack = |server: EntityId| self.hardware.rack_of(server.0);
        if self.hardware.uplinks().is_some() && rack(context.me()) != rack(to) {
            context.send(self.rack(rack(context.me())), after, event.then(Kind::Up));
        } else {
            context.send(to, after, event.then(Kind::In));
        }
    }

    /// The server that a unit is sent to.
    #[inline]
    fn receiver(&self, event: &Event) -> EntityId {
        self.entity_of(if event.marks.gathers() { event.driver } else { event.device })
    }

    /// A unit arrives at one direction of a rack's uplink.
    pub(super) fn at_rack(
        &self,
        rack: &mut Rack,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        if let Some(lines) = &mut rack.lines {
            let way = shared_way(event).ok_or("an uplink is no server")?;
            let arriving = (event.kind != Kind::Served).then(|| self.flow(event));
            let mark = lines[way as usize].mark(arriving);
            let before = RackBefore { way, uplink: rack.uplink, mark };
            self.at_shared_rack((&mut rack.uplink, lines), way, event, context)?;
            return Ok(Undo::Rack(Box::new(before)));
        }
        let way = if event.kind == Kind::Down { Way::Down } else { Way::Up };
        let undo = Undo::Uplink { way, before: *rack.uplink.lane(way) };
        let done = self.cross(&mut rack.uplink, way, event, context.now());
        self.passed(event, done.since(context.now()), context);
        Ok(undo)
    }

    /// An uplink starts a unit, or queues it behind others; returns the completion time.
    pub(super) fn cross(&self, uplink: &mut Uplink, way: Way, event: &Event, now: SimTime) -> SimTime {
        uplink.cross(way, now, self.over_card(event), self.over_uplink(event)).end
    }

    /// Transfer time of a unit over an uplink.
    pub(super) fn over_uplink(&self, event: &Event) -> SimSpan {
        let rate = self.hardware.uplinks().expect("racks are entities where uplinks are limited").rate;
        rate.span_for(Bytes::new(u64::from(event.bytes)))
    }

    /// A unit has passed an uplink after `wait`: it goes to the other rack's uplink, or to the server.
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

    /// A unit that the driver requested has arrived. When all its parts are there, the lost shards are
    /// decoded and sent out.
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

    /// Notifies a driver after `wait`, plus the time of a control message if it is on another server.
    #[inline(always)]
    fn tell_driver(&self, event: Event, wait: SimSpan, context: &mut Context<'_, Self>) {
        let to = self.entity_of(event.driver);
        let wait = if to == context.me() { wait } else { wait.saturating_add(self.hardware.control()) };
        context.send(to, wait, event);
    }

    #[inline]
    fn access(&self, event: &Event, write: bool) -> Access {
        let offset = event.offset(self.hardware.unit());
        // Clients access random places; job numbers are below those of client streams.
        debug_assert!(
            if event.marks.is_client() { event.unit < CLIENT_STREAMS } else { event.job < CLIENT_STREAMS },
            "stream {} or {} is a client's and a job's",
            event.unit,
            event.job
        );
        let stream = if event.marks.is_client() { CLIENT_STREAMS | event.unit } else { event.job };
        Access { stream, offset, bytes: u64::from(event.bytes), write }
    }

    /// Sends an event to a device's server by a control message.
    pub(super) fn tell(&self, device: DeviceId, event: Event, context: &mut Context<'_, Self>) {
        let to = self.entity_of(device);
        let wait = if to == context.me() { SimSpan::ZERO } else { self.hardware.control() };
        context.send(to, wait, event);
    }
}
