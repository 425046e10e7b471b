//! Disks, cards and uplinks that clients share with the rebuild, by weight.
//!
//! Without clients a queue says at once when it will be done ([`towtank_devices::Lane`]). With them, who goes next is decided when
//! something is done (`towtank_iosched::Fair`), so each service ends with an event of its own. Within a class the order is that of
//! coming; what is in service is never broken off.

use towtank_devices::Lane;
use towtank_iosched::Fair;
use towtank_kernel::{Context, Fault};
use towtank_units::{SimSpan, SimTime};

use super::event::{Event, Kind, Marks};
use super::server::Server;
use super::undo::Undo;
use super::{Clients, DeviceId, Rebuild};

/// What waits for one resource, and what it serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Line {
    waiting: Fair<Event>,
    serving: Option<Event>,
}

impl Line {
    pub(super) fn new(clients: &Clients) -> Line {
        Line { waiting: Fair::new(&[clients.weight, 1]), serving: None }
    }

    /// What waits or is being served.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.waiting.iter().chain(&self.serving)
    }

    fn push(&mut self, event: Event, cost: SimSpan) {
        let class = if event.marks.is_client() { 0 } else { 1 };
        self.waiting.push(class, cost.as_ns(), event);
    }
}

/// What a server needs to share its disks and its card with clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shared {
    disks: Vec<Line>,
    out: Line,
    inward: Line,
    pub(super) operations: Vec<Operation>,
    /// Places in `operations` that are free.
    pub(super) free: Vec<u32>,
    /// No more clients come: the rebuild is over.
    pub(super) over: bool,
    /// It has said that it has nothing left to drive.
    told: bool,
}

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Operation {
    /// When it was asked for.
    pub since: SimTime,
    /// Parts that are still to be read, or to become durable.
    pub left: u32,
    /// It writes.
    pub write: bool,
}

/// Which resource of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Out,
    Inward,
    Disk(usize),
}

impl Which {
    fn of(number: u16) -> Which {
        match number {
            0 => Which::Out,
            1 => Which::Inward,
            disk => Which::Disk(usize::from(disk) - 2),
        }
    }

    fn number(self) -> u16 {
        match self {
            Which::Out => 0,
            Which::Inward => 1,
            Which::Disk(place) => place as u16 + 2,
        }
    }
}

impl Shared {
    pub(super) fn new(clients: &Clients, disks: usize) -> Shared {
        let line = || Line::new(clients);
        Shared {
            disks: (0..disks).map(|_| line()).collect(),
            out: line(),
            inward: line(),
            operations: Vec::new(),
            free: Vec::new(),
            over: false,
            told: false,
        }
    }

    /// All that waits or is being served.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.disks.iter().chain([&self.out, &self.inward]).flat_map(Line::events)
    }

    fn line(&mut self, which: Which) -> &mut Line {
        match which {
            Which::Out => &mut self.out,
            Which::Inward => &mut self.inward,
            Which::Disk(place) => &mut self.disks[place],
        }
    }
}

/// The part of a server that exists only where clients do.
pub(super) fn shared(server: &mut Server) -> &mut Shared {
    server.shared.as_mut().expect("a server with clients shares its devices with them")
}

impl Rebuild<'_> {
    /// An event at a server that clients use too.
    pub(super) fn at_shared_server(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        let before = Undo::whole(server);
        let client = event.marks.is_client();
        match event.kind {
            Kind::Read | Kind::Write => {
                let which = Which::Disk(self.hardware.place_of(event.device));
                self.line_up(server, which, event, context);
            }
            Kind::Out => self.line_up(server, Which::Out, event, context),
            Kind::In => self.line_up(server, Which::Inward, event, context),
            Kind::Served => self.served(server, Which::of(event.slot), context)?,
            Kind::Part | Kind::Ack if client => self.client_part(server, event, context)?,
            Kind::Part => drop(self.part(server, event, context)?),
            Kind::Ack => drop(self.acknowledged(server, event, context)?),
            Kind::Reserve | Kind::Grant | Kind::Release | Kind::Wake => {
                self.reservation(server, event, context)?;
            }
            Kind::Arrive => self.client_comes(server, context),
            Kind::Over => shared(server).over = true,
            Kind::Up | Kind::Down | Kind::Idle => return Err("a server is no uplink".into()),
        }
        self.tell_if_idle(server, context);
        Ok(before)
    }

    /// Something comes to a resource.
    fn line_up(&self, server: &mut Server, which: Which, event: &Event, context: &mut Context<'_, Self>) {
        let bytes = u64::from(event.bytes);
        let cost = match which {
            Which::Out | Which::Inward => self.hardware.card().span(bytes),
            Which::Disk(_) => {
                let disk = self.hardware.disk(event.device);
                let seek = if event.marks.is_client() {
                    disk.seek(bytes, event.kind == Kind::Write)
                } else {
                    SimSpan::ZERO
                };
                disk.transfer(bytes, event.kind == Kind::Write).saturating_add(seek)
            }
        };
        let line = shared(server).line(which);
        line.push(*event, cost);
        if line.serving.is_none() {
            self.serve_next(server, which, context);
        }
    }

    fn serve_next(&self, server: &mut Server, which: Which, context: &mut Context<'_, Self>) {
        let line = shared(server).line(which);
        line.serving = line.waiting.pop();
        let Some(event) = line.serving else { return };
        let (now, card) = (context.now(), self.hardware.card());
        let bytes = u64::from(event.bytes);
        let done = match which {
            Which::Out => server.out.serve(now, card.span(bytes)),
            Which::Inward => server.inward.receive(now, card.span(bytes)),
            Which::Disk(place) => {
                let access = self.access(&event, event.kind == Kind::Write);
                server.devices[place].disk.serve(self.hardware.disk(event.device), now, access)
            }
        };
        context.send(context.me(), done.since(now), ended(which.number()));
    }

    /// A resource is done with what it served.
    fn served(
        &self,
        server: &mut Server,
        which: Which,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let event =
            shared(server).line(which).serving.take().ok_or("nothing was served, but it has ended")?;
        let rebuilt = if event.marks.is_client() { 0 } else { u64::from(event.bytes) };
        match which {
            Which::Out => {
                server.sent += rebuilt;
                if event.device == Clients::THEMSELVES {
                    self.client_served(server, &event, self.hardware.card().spec().latency, context);
                } else {
                    self.sent_off(&event, SimSpan::ZERO, context);
                }
            }
            Which::Inward => {
                server.received += rebuilt;
                let first = event.marks.is_client() && event.device == event.driver;
                if first && !event.marks.gathers() {
                    self.client_writes(server, &event, context);
                } else {
                    self.taken_in(&event, SimSpan::ZERO, context);
                }
            }
            Which::Disk(place) if event.kind == Kind::Read => {
                server.devices[place].read += rebuilt;
                self.read_off(server, &event, SimSpan::ZERO, context);
            }
            Which::Disk(place) => {
                server.devices[place].written += rebuilt;
                self.tell_driver(event.then(Kind::Ack), context.now(), context);
            }
        }
        self.serve_next(server, which, context);
        Ok(())
    }

    /// The last server to have nothing left to drive ends the clients' coming.
    fn tell_if_idle(&self, server: &mut Server, context: &mut Context<'_, Self>) {
        let done = |device: &super::Device| device.tasks.is_empty() && device.active.is_empty();
        if shared(server).told || !server.devices.iter().all(done) {
            return;
        }
        shared(server).told = true;
        if self.drives(context.me().0) {
            context.send(self.monitor(), self.hardware.control(), plain(Kind::Idle));
        }
    }

    /// A unit comes to a shared uplink, or has passed it.
    pub(super) fn at_shared_rack(
        &self,
        lanes: &mut [Lane; 2],
        lines: &mut [Line; 2],
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        let way = match event.kind {
            Kind::Up => 0,
            Kind::Down => 1,
            Kind::Served => {
                let way = usize::from(event.slot);
                let unit = lines[way].serving.take().ok_or("nothing passed the uplink, but it has ended")?;
                self.passed(&unit, SimSpan::ZERO, context);
                self.pass_next(lanes, lines, way, context);
                return Ok(());
            }
            _ => return Err("an uplink is no server".into()),
        };
        lines[way].push(*event, self.over_uplink(event));
        if lines[way].serving.is_none() {
            self.pass_next(lanes, lines, way, context);
        }
        Ok(())
    }

    fn pass_next(
        &self,
        lanes: &mut [Lane; 2],
        lines: &mut [Line; 2],
        way: usize,
        context: &mut Context<'_, Self>,
    ) {
        lines[way].serving = lines[way].waiting.pop();
        if let Some(event) = lines[way].serving {
            let done = if event.kind == Kind::Down {
                lanes[way].receive(context.now(), self.over_uplink(&event))
            } else {
                self.cut_through(&mut lanes[way], context.now(), &event)
            };
            context.send(context.me(), done.since(context.now()), ended(way as u16));
        }
    }
}

/// An event that says no more than its kind.
pub(super) fn plain(kind: Kind) -> Event {
    let nobody = DeviceId(0);
    Event {
        kind,
        marks: Marks::default(),
        slot: 0,
        job: 0,
        unit: 0,
        bytes: 0,
        device: nobody,
        driver: nobody,
    }
}

/// A resource is done.
fn ended(which: u16) -> Event {
    Event { slot: which, ..plain(Kind::Served) }
}
