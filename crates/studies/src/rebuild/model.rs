//! The rebuild on the kernel: servers that read, send, receive, write and acknowledge units of lost objects.
//!
//! One entity a server, and one a rack where its uplink is limited. A driver keeps a few units of each of its jobs in
//! flight, and goes on to the next job when all is acknowledged; the first unit announces the job, as a push does in Ceph. A unit queues at the source's disk, the
//! source's card, the target's card and the target's disk; each is an event of its own. What needs several sources (erasure
//! coding) is gathered first: the driver asks for the parts, decodes when all are there, and hands out what was lost.
//!
//! - `event`: what servers tell each other;
//! - `server`: their state;
//! - `transfer`: units on their way;
//! - `clients`: who reads and writes meanwhile;
//! - `shared`: devices that clients and the rebuild share by weight;
//! - `driver`: jobs, tasks, reservations and sleeps;
//! - `slack`: how soon another server can feel an event;
//! - `undo`: how an event is taken back.
//!
//! Time zero is when transfers may begin; what came before (detection, waiting) is added by `phases`.

mod clients;
mod driver;
mod event;
mod server;
mod shared;
mod slack;
mod transfer;
mod undo;

use kernel::{Committed, Context, EntityId, Fault, Links, Model, Statistics, UndoBy};
use units::{Rate, SimSpan, SimTime};

pub use self::clients::{Clients, Latencies, Load};
pub use self::event::{Event, Kind};
pub use self::server::{Device, Entity, Rack, Server, Slot, WINDOW_MAX};
use self::shared::{Line, plain};
use self::slack::Slack;
use self::undo::Undo;
use super::hardware::Hardware;
use super::plan::{DeviceId, Plan};

/// How much is done at once, and how fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Units of a job in flight, at most [`WINDOW_MAX`].
    pub window: u32,
    /// Jobs that a device drives at once.
    pub streams: u32,
    /// Tasks that a device drives at once, and as many again that it is a target of; none: nothing is reserved.
    pub reservations: Option<u32>,
    /// How long a driver rests after a job. Then it drives one job at a time, as a recovery queue that sleeps does.
    pub sleep: SimSpan,
    /// The most one job moves.
    pub stream_rate: Option<Rate>,
    /// The most one device drives.
    pub device_rate: Option<Rate>,
    /// For each kind of disk, where they differ, what replaces `streams` and `sleep`.
    pub paces: Vec<Pace>,
}

/// How a kind of disk drives its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Jobs at once.
    pub streams: u32,
    /// How long it rests after a job.
    pub sleep: SimSpan,
}

impl Limits {
    /// How a device drives its jobs.
    #[inline]
    #[must_use]
    pub fn pace(&self, hardware: &Hardware, device: DeviceId) -> Pace {
        if self.paces.is_empty() {
            return Pace { streams: self.streams, sleep: self.sleep };
        }
        self.paces[hardware.class_of(device)]
    }
}

/// The model: the tables of a phase.
pub struct Rebuild<'a> {
    hardware: &'a Hardware,
    plan: &'a Plan,
    limits: &'a Limits,
    /// Servers that answer nobody.
    dead: Vec<bool>,
    /// How long a bin of the progress is.
    bin: SimSpan,
    slack: Slack,
    clients: Option<Clients>,
}

/// What is counted at a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Jobs whose targets have all of it.
    pub jobs: u64,
    /// Bytes made durable again by these, over all targets.
    pub bytes: u64,
    /// The same by when it was finished: bins of equal length, the last one open.
    pub progress: Vec<u64>,
    /// When the last job was done of objects with so many copies or shards to spare; the last row is for all with more.
    pub last: [SimTime; SPARES],
    /// In the same bins, objects or groups that take writes again.
    pub restored: Vec<u64>,
    /// How long tasks waited for their reservations.
    pub reserving: SimSpan,
    /// How long drivers rested though there was work.
    pub sleeping: SimSpan,
    /// What clients waited, where there are some.
    pub clients: Option<Box<Latencies>>,
}

/// Rows of [`Counts::last`].
pub const SPARES: usize = 4;

/// The most bins of the progress.
pub const BINS: usize = 256;

/// One thing worth counting.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// A job is done: its bytes over all targets, and in which bin.
    Done {
        /// Over all targets.
        bytes: u64,
        /// Of the progress.
        bin: u32,
        /// When.
        at: SimTime,
        /// How many copies or shards were left of it beyond what reading it takes.
        spare: u8,
    },
    /// An object, or a group, takes writes again: in which bin of the progress.
    Restored(u32),
    /// A task has all its reservations.
    Reserved(SimSpan),
    /// A driver rests.
    Slept(SimSpan),
    /// A client has its answer.
    Client {
        /// It wrote.
        write: bool,
        /// From asking to the answer.
        latency: SimSpan,
        /// Of the progress.
        bin: u32,
    },
}

/// Adds to one of several bins, the last of which is open.
fn add_to(bins: &mut Vec<u64>, bin: u32, more: u64) {
    let bin = (bin as usize).min(BINS - 1);
    if bins.len() <= bin {
        bins.resize(bin + 1, 0);
    }
    bins[bin] += more;
}

impl Statistics for Counts {
    type Sample = Sample;

    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Done { bytes, bin, at, spare } => {
                let spare = usize::from(spare).min(SPARES - 1);
                self.last[spare] = self.last[spare].max(at);
                self.jobs += 1;
                self.bytes += bytes;
                add_to(&mut self.progress, bin, bytes);
            }
            Sample::Restored(bin) => add_to(&mut self.restored, bin, 1),
            Sample::Reserved(span) => self.reserving = self.reserving.saturating_add(span),
            Sample::Slept(span) => self.sleeping = self.sleeping.saturating_add(span),
            Sample::Client { write, latency, bin } => {
                self.clients.get_or_insert_default().add(write, latency, bin);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.jobs += other.jobs;
        self.bytes += other.bytes;
        for (mine, theirs) in [(&mut self.progress, &other.progress), (&mut self.restored, &other.restored)] {
            for (bin, more) in (0..).zip(theirs) {
                add_to(mine, bin, *more);
            }
        }
        for (mine, theirs) in self.last.iter_mut().zip(other.last) {
            *mine = (*mine).max(theirs);
        }
        self.reserving = self.reserving.saturating_add(other.reserving);
        self.sleeping = self.sleeping.saturating_add(other.sleeping);
        if let Some(theirs) = &other.clients {
            self.clients.get_or_insert_default().merge(theirs);
        }
    }
}

impl<'a> Rebuild<'a> {
    /// # Panics
    /// When the plan is for another number of devices, or the window exceeds [`WINDOW_MAX`].
    #[must_use]
    pub fn new(hardware: &'a Hardware, plan: &'a Plan, limits: &'a Limits) -> Rebuild<'a> {
        assert_eq!(plan.device_count(), hardware.devices() as usize, "a plan has a row for each device");
        assert!(
            limits.window as usize <= WINDOW_MAX && limits.window > 0,
            "a window has 1 to {WINDOW_MAX} units"
        );
        let dead = vec![false; hardware.servers() as usize];
        let slack = Slack::new(hardware, plan, limits);
        Rebuild { hardware, plan, limits, dead, bin: SimSpan::from_secs(1), slack, clients: None }
    }

    /// How long a bin of the progress is.
    #[must_use]
    pub fn with_bin(self, bin: SimSpan) -> Rebuild<'a> {
        Rebuild { bin, ..self }
    }

    /// Clients use the devices too, until nothing is left to rebuild.
    #[must_use]
    pub fn with_clients(self, clients: Option<Clients>) -> Rebuild<'a> {
        let slack = if clients.is_some() { self.slack.none() } else { self.slack };
        Rebuild { slack, clients, ..self }
    }

    /// Servers that swallow what is sent to them, because nobody knows yet that they have failed.
    #[must_use]
    pub fn with_dead(self, dead: Vec<bool>) -> Rebuild<'a> {
        Rebuild { dead, ..self }
    }

    #[inline]
    fn entity_of(&self, device: DeviceId) -> EntityId {
        EntityId(self.hardware.server_of(device))
    }

    fn rack(&self, rack: u32) -> EntityId {
        EntityId(self.hardware.servers() + rack)
    }

    /// Who counts the servers that still drive something: the last entity.
    fn monitor(&self) -> EntityId {
        EntityId(self.servers_and_racks())
    }

    fn servers_and_racks(&self) -> u32 {
        let racks = if self.hardware.uplinks().is_some() { self.hardware.racks() } else { 0 };
        self.hardware.servers() + racks
    }

    /// Whether a server has something to drive.
    fn drives(&self, server: u32) -> bool {
        self.hardware.devices_of(server).any(|device| !self.plan.tasks_of(device).is_empty())
    }

    /// A server has nothing left to drive. With the last one, clients stop coming.
    fn one_less(&self, driving: &mut u32, context: &mut Context<'_, Self>) -> Undo {
        let before = *driving;
        *driving = before.saturating_sub(1);
        if before == 1 {
            for server in 0..self.hardware.servers() {
                context.send(EntityId(server), self.hardware.control(), plain(Kind::Over));
            }
        }
        Undo::Driving(before)
    }
}

impl Model for Rebuild<'_> {
    type Entity = Entity;
    type Event = Event;
    type Undo = Undo;
    type Statistics = Counts;
    type Output = ();

    const UNDO: UndoBy = UndoBy::Inverse;

    fn entities(&self) -> u32 {
        self.servers_and_racks() + u32::from(self.clients.is_some())
    }

    fn links(&self) -> Links {
        Links::all(self.hardware.card().spec().latency)
    }

    #[inline]
    fn slack(&self, _: EntityId, event: &Event) -> SimSpan {
        self.slack_of(event)
    }

    fn usual_slack(&self) -> SimSpan {
        self.slack.usual
    }

    fn create(&self, id: EntityId) -> Entity {
        if id.0 >= self.hardware.servers() {
            if self.clients.is_some() && id == self.monitor() {
                let driving = (0..self.hardware.servers()).filter(|&server| self.drives(server)).count();
                return Entity::Monitor { driving: driving as u32 };
            }
            let lines = self.clients.as_ref().map(|clients| [Line::new(clients), Line::new(clients)]);
            return Entity::Rack(Box::new(Rack { lines, ..Rack::default() }));
        }
        let devices = self.hardware.devices_of(id.0);
        let device = |device: DeviceId| {
            let Pace { streams, sleep } = self.limits.pace(self.hardware, device);
            Device::new(self.plan.tasks_of(device), if sleep.is_zero() { streams } else { 1 })
        };
        Entity::Server(Server::new(devices.map(device).collect(), self.clients.as_ref()))
    }

    fn start(&self, entity: &mut Entity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        let Entity::Server(server) = entity else { return Ok(()) };
        let me = context.me().0;
        if !self.dead[me as usize] {
            for device in self.hardware.devices_of(me) {
                self.go_on(server, device, context);
            }
            if server.shared.is_some() {
                self.await_client(context);
            }
        }
        Ok(())
    }

    #[inline]
    fn handle(
        &self,
        entity: &mut Entity,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        match entity {
            Entity::Server(_) if self.dead[context.me().index()] => Ok(Undo::Nothing),
            Entity::Server(server) => self.at_server(server, event, context),
            Entity::Rack(rack) => self.at_rack(rack, event, context),
            Entity::Monitor { driving } => Ok(self.one_less(driving, context)),
        }
    }

    #[inline]
    fn undo(&self, entity: &mut Entity, event: &Event, undo: Undo) {
        undo.apply(self, entity, event);
    }

    fn begin_speculation(&self, entity: &mut Entity) {
        if let Entity::Server(server) = entity {
            server.speculating = server::Speculating(true);
        }
    }

    fn describe(&self, id: EntityId) -> String {
        match id.0.checked_sub(self.hardware.servers()) {
            None => format!("server {id}"),
            Some(_) if self.clients.is_some() && id == self.monitor() => "the monitor".to_owned(),
            Some(rack) => format!("the uplink of rack {rack}"),
        }
    }

    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        server::audit(self, committed)
    }
}

impl Rebuild<'_> {
    #[inline]
    fn at_server(
        &self,
        server: &mut Server,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<Undo, Fault> {
        if server.shared.is_some() {
            return self.at_shared_server(server, event, context);
        }
        Ok(match event.kind {
            Kind::Read => self.read(server, event, context),
            Kind::Out => self.out(server, event, context),
            Kind::In => self.take_in(server, event, context),
            Kind::Write => self.write(server, event, context),
            Kind::Ack => self.acknowledged(server, event, context)?,
            Kind::Part => self.part(server, event, context)?,
            Kind::Reserve | Kind::Grant | Kind::Release | Kind::Wake => {
                let before = Undo::whole(server);
                self.reservation(server, event, context)?;
                before
            }
            Kind::Up | Kind::Down | Kind::Served | Kind::Arrive | Kind::Idle | Kind::Over => {
                return Err("a server without clients is told what is not for it".into());
            }
        })
    }

    /// When `now` lies, in bins of the progress.
    fn bin_of(&self, now: SimTime) -> u32 {
        (now.as_ns() / self.bin.as_ns().max(1)).min(BINS as u64 - 1) as u32
    }
}
