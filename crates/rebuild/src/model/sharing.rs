//! Events at servers and racks that clients use too: what waits, which unit is next, and what follows its
//! service.

use towtank_devices::{Place, Uplink, Way};
use towtank_iosched::{FlowId, Request};
use towtank_kernel::{Context, Fault};
use towtank_units::SimSpan;

use super::event::{Event, Kind, plain};
use super::resource::Resource;
use super::server::{Server, shared};
use super::shared::SharedLine;
use super::undo::Undo;
use super::{Clients, Rebuild};

const OF_CLIENTS: FlowId = FlowId(0);
const OF_REBUILD: FlowId = FlowId(1);
const OF_MOVES: FlowId = FlowId(2);

impl Rebuild<'_> {
    fn request(&self, event: &Event, cost: SimSpan) -> Request<Event> {
        Request::new(self.flow(event), cost.as_ns(), *event)
    }

    /// The flow of a unit at a shared resource.
    pub(super) fn flow(&self, event: &Event) -> FlowId {
        let apart = self.clients.as_ref().is_some_and(|clients| clients.weights.moving.is_some());
        if event.marks.is_client() {
            OF_CLIENTS
        } else if apart && self.plan.only_moves(self.plan.task_of(event.job)) {
            OF_MOVES
        } else {
            OF_REBUILD
        }
    }

    /// Handles an event at a server that clients use too.
    pub(super) fn at_shared_server(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        let before = Undo::shared(self, server, event);
        let client = event.marks.is_client();
        match event.kind {
            Kind::Read | Kind::Write => {
                let disk = Resource::Disk(self.hardware.place_of(event.device));
                self.line_up(server, disk, event, context);
            }
            Kind::Out => self.line_up(server, Resource::Out, event, context),
            Kind::In => self.line_up(server, Resource::Inward, event, context),
            Kind::Served => self.served(server, Resource::of(event.slot), context)?,
            Kind::Part | Kind::Ack if client => self.client_part(server, event, context)?,
            Kind::Part => drop(self.part(server, event, context)?),
            Kind::Ack => drop(self.acknowledged(server, event, context)?),
            Kind::Reserve | Kind::Grant | Kind::Release | Kind::Wake => {
                self.reservation(server, event, context)?;
            }
            Kind::Start if client => self.client_goes(server, event, context),
            Kind::Start | Kind::Push | Kind::Reply | Kind::Pull => {
                drop(self.at_queue(server, event, context))
            }
            Kind::Empty => drop(self.emptied(server, event, context)?),
            Kind::Arrive => self.client_comes(server, context),
            Kind::Over => shared(server).over = true,
            Kind::Map => self.take_map(server, context),
            Kind::Changed | Kind::Due => return Err("a server is no monitor".into()),
            Kind::Up | Kind::Down | Kind::Idle => return Err("a server is no uplink".into()),
        }
        self.tell_if_idle(server, context);
        Ok(before)
    }

    /// A unit arrives at a resource.
    fn line_up(
        &self,
        server: &mut Server,
        resource: Resource,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) {
        let cost = match resource {
            Resource::Out | Resource::Inward => self.over_card(event),
            Resource::Disk(_) => {
                let (disk, bytes) = (self.hardware.disk(event.device), u64::from(event.bytes));
                let write = event.kind == Kind::Write;
                let seek = if event.marks.is_client() { disk.seek(bytes, write) } else { SimSpan::ZERO };
                disk.transfer(bytes, write).saturating_add(seek)
            }
        };
        assert!(!cost.is_zero(), "a unit of {} bytes costs nothing", event.bytes);
        let request = self.request(event, cost);
        shared(server).line(resource).arrive(context.now(), request);
        self.serve_next(server, resource, context);
    }

    /// An idle resource starts to serve the next unit.
    fn serve_next(&self, server: &mut Server, resource: Resource, context: &mut Context<'_, Self>) {
        let now = context.now();
        let Some((_, next)) = shared(server).line(resource).begin(now) else { return };
        let event = next.item;
        let done = self.serve(server, resource, &event, now);
        let early = resource != Resource::Inward && done == now;
        debug_assert!(!early, "a shared resource is done at {done} with what it begins then");
        context.send(context.me(), done.since(now), ended(resource.number()));
    }

    /// A resource has finished a unit.
    fn served(
        &self,
        server: &mut Server,
        resource: Resource,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let done = shared(server).line(resource).complete(context.now(), Place::ONLY);
        let event = done.ok_or("a service ended, but none was in progress")?.item;
        // The bytes of a client's write arrive here first and are then sent to the other servers.
        let comes = event.marks.is_client() && event.device == event.driver && !event.marks.gathers();
        match resource {
            Resource::Out if event.device == Clients::THEMSELVES => {
                self.client_served(server, &event, self.hardware.card().spec().latency, context);
            }
            Resource::Inward if comes => self.queue_client(server, &event, context),
            _ => self.leave(server, resource, &event, SimSpan::ZERO, context),
        }
        self.serve_next(server, resource, context);
        Ok(())
    }

    /// Reports once that this server has nothing left to drive; after the last such report no more clients
    /// arrive.
    fn tell_if_idle(&self, server: &mut Server, context: &mut Context<'_, Self>) {
        let done = |device: &super::Device| device.tasks.is_empty() && device.active.is_empty();
        if shared(server).reported_idle || !server.devices.iter().all(done) {
            return;
        }
        debug_assert!(
            server.devices.iter().flat_map(|device| &device.slots).all(|slot| slot.flying == 0),
            "a server is idle, and units are in flight"
        );
        shared(server).reported_idle = true;
        if self.drives(context.me().0) {
            context.send(self.monitor(), self.hardware.control(), plain(Kind::Idle));
        }
    }

    /// A unit arrives at a shared uplink, or has passed it.
    pub(super) fn at_shared_rack(
        &self,
        (uplink, lines): (&mut Uplink, &mut [SharedLine; 2]),
        way: Way,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let now = context.now();
        let line = &mut lines[way as usize];
        if event.kind == Kind::Served {
            let done = line.complete(now, Place::ONLY);
            let unit = done.ok_or("an uplink transfer ended, but none was in progress")?.item;
            self.passed(&unit, SimSpan::ZERO, context);
        } else {
            line.arrive(now, self.request(event, self.over_uplink(event)));
        }
        if let Some((_, next)) = line.begin(now) {
            let done = self.cross(uplink, way, &next.item, now);
            debug_assert!(done >= now, "an uplink was done at {done} with what it begins at {now}");
            context.send(context.me(), done.since(now), ended(way as u16));
        }
        Ok(())
    }
}

/// The direction of a shared uplink that an event is about.
pub(super) fn shared_way(event: &Event) -> Option<Way> {
    match event.kind {
        Kind::Up => Some(Way::Up),
        Kind::Down => Some(Way::Down),
        Kind::Served => Some(Way::BOTH[usize::from(event.slot)]),
        _ => None,
    }
}

/// The event that ends a service at a resource.
fn ended(which: u16) -> Event {
    Event { slot: which, ..plain(Kind::Served) }
}
