//! The rebuild on the kernel: servers read, send, receive, write and acknowledge units of lost objects.
//!
//! There is one entity per server, and one per rack if its uplink is limited. A driver keeps a few units of
//! each of its jobs in flight and goes on to the next job when all are acknowledged; the first unit announces
//! the job, as a push does in Ceph. A unit queues at the source's disk, the source's NIC, the target's NIC
//! and the target's disk; each step is an event. A job with several sources (erasure coding) gathers first:
//! the driver requests the parts, decodes when all have arrived, and sends out the lost shards.
//!
//! - `audit`: invariants that hold whenever a phase ends;
//! - `event`: messages between servers;
//! - `server`: the state of servers;
//! - `transfer`: units in transit;
//! - `clients`: client reads and writes during the rebuild;
//! - `shared`, `sharing`: devices that clients and the rebuild share by weight;
//! - `resource`: the resources of a server that units pass;
//! - `driver`: jobs, tasks, reservations and sleeps;
//! - `maps`: work items of groups that wait, and the maps with which they come;
//! - `queue`: operation queues that limit recovery;
//! - `over_time`: counts over a time of unknown length;
//! - `slack`: how soon another server can be affected by an event;
//! - `undo`, `saved`: how an event is undone, at servers without clients and with them.
//!
//! Time zero is when transfers may begin; `phases` adds what came before (detection, waiting).

mod audit;
mod clients;
mod driver;
mod event;
mod maps;
mod over_time;
mod queue;
mod resource;
mod saved;
mod server;
mod shared;
mod sharing;
mod slack;
#[cfg(test)]
mod tests;
mod transfer;
mod undo;

use towtank_kernel::{
    Committed, Context, EntityId, Fault, Links, Model, Outcome, RunError, RunOptions, Runs, Statistics,
    UndoBy, prefetch,
};
use towtank_units::{Rate, SimSpan, SimTime};

pub use self::clients::{Arrivals, Clients, Latencies, Load, Weights};
use self::event::plain;
pub use self::event::{Event, Kind};
pub use self::maps::{Completed, Completion, Ended, Idling, Made, Maps, Timer};
pub use self::over_time::{BINS, OverTime, Rows};
pub use self::queue::{Costs, Flow, Queues, Sharing, Throttle};
use self::resource::Resource;
pub use self::server::{Active, Device, Entity, Rack, Server, Slot, WINDOW_MAX};
use self::shared::line;
use self::slack::Slack;
use self::undo::Undo;
use crate::hardware::Hardware;
use crate::plan::{DeviceId, Plan};

/// Limits on concurrency and rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Units in flight per job, at most [`WINDOW_MAX`].
    pub window: u32,
    /// Jobs that a device drives at the same time.
    pub streams: u32,
    /// Tasks that a device drives at the same time, and the same number again for which it is a target; none
    /// if nothing is reserved.
    pub reservations: Option<u32>,
    /// How long a driver sleeps after a job, and drives no other; where groups have one object in progress,
    /// how far apart its work items are.
    pub sleep: SimSpan,
    /// Maximum rate of one job.
    pub stream_rate: Option<Rate>,
    /// Maximum rate of one driver.
    pub device_rate: Option<Rate>,
    /// Jobs that the disks of a server drive at the same time, all together; its disks take turns.
    pub server_streams: Option<u32>,
    /// Maximum rate of all jobs that the disks of a server drive.
    pub server_rate: Option<Rate>,
    /// For each class of disk, values that replace `streams` and `sleep`; empty if all classes are alike.
    pub paces: Vec<Pace>,
    /// Whether a group has one object in progress, as in Ceph: each begins with a work item, one more comes
    /// before the first and two after the last, and items of a device that sleeps come a sleep apart.
    pub serial: bool,
    /// The work of a driver on each job before its first unit.
    pub job_cost: SimSpan,
    /// Queues that limit recovery, if devices have such.
    pub queues: Option<Queues>,
    /// The maps with which groups that wait for reservations get work items, if these cost anything.
    pub maps: Option<Maps>,
}

/// How a class of disk drives its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Jobs at the same time.
    pub streams: u32,
    /// Sleep after a job.
    pub sleep: SimSpan,
}

impl Limits {
    /// Whether a rate limit may hold back units.
    #[must_use]
    fn is_paced(&self) -> bool {
        [self.stream_rate, self.device_rate, self.server_rate].iter().any(Option::is_some)
    }

    /// The pace of a device.
    #[inline]
    #[must_use]
    pub fn pace(&self, hardware: &Hardware, device: DeviceId) -> Pace {
        if self.paces.is_empty() {
            return Pace { streams: self.streams, sleep: self.sleep };
        }
        self.paces[hardware.class_of(device)]
    }
}

/// The model: the tables of one phase.
pub struct Rebuild<'a> {
    hardware: &'a Hardware,
    plan: &'a Plan,
    limits: &'a Limits,
    /// Devices that answer no message; empty if all answer.
    dead: Vec<bool>,
    slack: Slack,
    clients: Option<Clients>,
    /// When other maps are asked for.
    changes: Vec<SimTime>,
    /// Bytes over all targets: those of this plan, and those that earlier phases made durable.
    planned: u64,
    before: u64,
}

/// What is counted at a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Jobs that are complete on all their targets.
    pub jobs: u64,
    /// Bytes that these jobs made durable, over all targets.
    pub bytes: u64,
    /// The same bytes by completion time.
    pub progress: OverTime<u64>,
    /// The same by priority, the rows as in `last`; only where the plan asks for it.
    pub by_priority: Rows<SPARES>,
    /// Tasks that are complete; only where the plan asks for it.
    pub completed: Completed,
    /// Jobs by the time of their first unit; only where groups have one object in progress.
    pub begun: OverTime<u64>,
    /// When the last job finished, by the number of copies or shards that were left to spare; the last row is
    /// for that number and all larger ones.
    pub last: [SimTime; SPARES],
    /// Objects or groups that accept writes again, by time.
    pub restored: OverTime<u64>,
    /// Total time that tasks waited for reservations.
    pub reserving: SimSpan,
    /// Tasks that have ended.
    pub ended: Ended,
    /// Total time that drivers slept although they had work.
    pub sleeping: SimSpan,
    /// Total time that work items waited for those of other groups.
    pub idling: Idling,
    /// Latencies of clients, if there are clients.
    pub clients: Option<Box<Latencies>>,
}

/// Rows of [`Counts::last`].
pub const SPARES: usize = 4;

/// One observation.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// A job has finished.
    Done {
        /// Its bytes over all targets.
        bytes: u64,
        /// When it finished.
        at: SimTime,
        /// How many copies or shards were left beyond those needed to read it.
        spare: u8,
    },
    /// The first unit of a job starts, where groups have one object in progress.
    Begun(SimTime),
    /// The same job once more, where the plan asks for counts by priority.
    Prior {
        /// Its bytes over all targets.
        bytes: u64,
        /// When it finished.
        at: SimTime,
        /// Its priority.
        priority: u8,
    },
    /// A task is complete, where the plan asks for it.
    Completed(Completion),
    /// An object or a group accepts writes again.
    Restored(SimTime),
    /// A task has all its reservations, after this wait.
    Reserved(SimSpan),
    /// A task has ended, so long after it requested its first reservation.
    Ended(SimSpan),
    /// A driver sleeps, or a work item waits for its time.
    Slept {
        /// For itself.
        own: SimSpan,
        /// For items of other groups.
        others: SimSpan,
    },
    /// A client has its reply.
    Client {
        /// Whether it was a write.
        write: bool,
        /// From the request to the reply.
        latency: SimSpan,
        /// When the reply arrived.
        at: SimTime,
    },
}

impl Statistics for Counts {
    type Sample = Sample;

    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Done { bytes, at, spare } => {
                debug_assert!(bytes > 0, "a job of no bytes is done at {at}");
                let spare = usize::from(spare).min(SPARES - 1);
                self.last[spare] = self.last[spare].max(at);
                self.jobs += 1;
                self.bytes += bytes;
                self.progress.add(at, &bytes);
            }
            Sample::Begun(at) => self.begun.add(at, &1),
            Sample::Prior { bytes, at, priority } => self.by_priority.add(usize::from(priority), at, bytes),
            Sample::Completed(completion) => self.completed.add(completion),
            Sample::Restored(at) => self.restored.add(at, &1),
            Sample::Reserved(span) => self.reserving = self.reserving.saturating_add(span),
            Sample::Ended(span) => self.ended.add(span),
            Sample::Slept { own, others } => {
                self.sleeping = self.sleeping.saturating_add(own);
                self.idling = Idling(self.idling.0.saturating_add(others));
            }
            Sample::Client { write, latency, at } => {
                self.clients.get_or_insert_default().add(write, latency, at);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.jobs += other.jobs;
        self.bytes += other.bytes;
        self.progress.merge(&other.progress);
        self.begun.merge(&other.begun);
        self.by_priority.merge(&other.by_priority);
        self.completed.merge(&other.completed);
        self.restored.merge(&other.restored);
        for (mine, theirs) in self.last.iter_mut().zip(other.last) {
            *mine = (*mine).max(theirs);
        }
        self.reserving = self.reserving.saturating_add(other.reserving);
        self.ended.merge(other.ended);
        self.sleeping = self.sleeping.saturating_add(other.sleeping);
        self.idling = Idling(self.idling.0.saturating_add(other.idling.0));
        if let Some(theirs) = &other.clients {
            self.clients.get_or_insert_default().merge(theirs);
        }
        self.assert_adds_up();
    }

    /// The bytes of finished jobs.
    fn work(sample: &Sample) -> u64 {
        match sample {
            Sample::Done { bytes, .. } => *bytes,
            _ => 0,
        }
    }
}

impl Counts {
    /// Checks that the totals equal the counts over time.
    fn assert_adds_up(&self) {
        assert_eq!(self.bytes, self.progress.whole(), "bytes that are done, and bytes over time");
        let by_priority = self.by_priority.whole().unwrap_or(self.bytes);
        assert_eq!(self.bytes, by_priority, "bytes that are done, and bytes by priority");
        assert!(self.jobs <= self.bytes, "{} jobs are done of {} bytes", self.jobs, self.bytes);
        let begun = self.begun.whole();
        assert!(begun == 0 || begun >= self.jobs, "{} jobs are done, and {begun} have begun", self.jobs);
        let completed = self.completed.each().len() as u64;
        assert!(completed <= self.jobs, "{completed} records are complete after {} jobs", self.jobs);
        let restored = self.restored.whole();
        assert!(restored <= self.jobs, "{restored} records take writes again after {} jobs", self.jobs);
        let last = self.last.iter().max().copied().unwrap_or_default();
        assert!(self.jobs > 0 || last == SimTime::ZERO, "no job is done, but one was at {last}");
        if let Some(clients) = &self.clients {
            clients.assert_adds_up();
        }
    }
}

impl<'a> Rebuild<'a> {
    /// # Panics
    /// When the plan is for other devices, or limits leave no room for a job.
    #[must_use]
    pub fn new(hardware: &'a Hardware, plan: &'a Plan, limits: &'a Limits) -> Rebuild<'a> {
        assert_eq!(plan.device_count(), hardware.devices() as usize, "a plan has a row for each device");
        assert!(
            limits.window as usize <= WINDOW_MAX && limits.window > 0,
            "a window has 1 to {WINDOW_MAX} units"
        );
        assert!(limits.streams > 0, "a device drives one job at least");
        assert!(limits.paces.iter().all(|pace| pace.streams > 0), "a device drives one job at least");
        assert!(limits.server_streams.is_none_or(|most| most > 0), "a server drives one job at least");
        assert!(limits.reservations.is_none_or(|most| most > 0), "a device grants one reservation at least");
        assert!(
            limits.paces.is_empty() || limits.paces.len() == hardware.kinds(),
            "{} paces are set for {} kinds of disks",
            limits.paces.len(),
            hardware.kinds()
        );
        plan.assert_whole();
        assert!(plan.grouped() || !limits.serial, "only groups have one object in progress");
        if let Some(queues) = &limits.queues {
            assert!(limits.serial, "a queue has one work item of each group");
            queues.assert_whole(hardware.kinds());
        }
        let reserves = plan.tasks().iter().any(|task| !plan.reserves(task).is_empty());
        assert!(limits.reservations.is_some() || !reserves, "a task reserves where nobody grants anything");
        let devices = hardware.devices();
        let strange = |device: &DeviceId| device.0 >= devices;
        for job in plan.jobs() {
            assert!(job.resume < hardware.units(job.bytes), "a job in the plan has units to move");
            assert!(!plan.reads(job).iter().any(strange), "a job is read from a device that does not exist");
            assert!(
                !plan.writes(job).iter().any(strange),
                "a job is written to a device that does not exist"
            );
        }
        let slack = Slack::new(hardware, plan, limits);
        let bytes = |job| plan.bytes_over_targets(job);
        let planned = plan.jobs().iter().map(bytes).fold(0, u64::saturating_add);
        let (dead, changes) = (Vec::new(), Vec::new());
        Rebuild { hardware, plan, limits, dead, slack, clients: None, changes, planned, before: 0 }
    }

    /// Sets when the map changes for other reasons than groups that are complete.
    #[must_use]
    pub(crate) fn with_changes(self, changes: Vec<SimTime>) -> Rebuild<'a> {
        Rebuild { changes, ..self }
    }

    /// Counts the bytes of earlier phases as done in the progress of this one.
    #[must_use]
    pub fn after(self, bytes: u64) -> Rebuild<'a> {
        Rebuild { before: bytes, ..self }
    }

    /// Adds clients, which use the devices until the rebuild is complete.
    #[must_use]
    pub fn with_clients(self, clients: Option<Clients>) -> Rebuild<'a> {
        let slack = if clients.is_some() { self.slack.none() } else { self.slack };
        Rebuild { slack, clients, ..self }
    }

    /// Marks devices that drop every message, because their failure is not known yet. A server drops messages
    /// too if all its devices have failed.
    ///
    /// # Panics
    /// If there is not one entry per device.
    #[must_use]
    pub fn with_dead(self, dead: Vec<bool>) -> Rebuild<'a> {
        assert_eq!(dead.len(), self.hardware.devices() as usize, "each device answers or does not");
        let dead = if dead.contains(&true) { dead } else { Vec::new() };
        Rebuild { dead, ..self }
    }

    fn is_dead(&self, device: DeviceId) -> bool {
        self.dead.get(device.index()).is_some_and(|&dead| dead)
    }

    /// Whether all devices of a server are dead.
    fn is_server_dead(&self, server: u32) -> bool {
        !self.dead.is_empty() && self.hardware.devices_of(server).all(|device| self.is_dead(device))
    }

    /// Whether an event is addressed to something dead.
    fn swallows(&self, server: u32, event: &Event) -> bool {
        use Kind::{Pull, Push, Read, Release, Reserve, Write};
        let of_device = matches!(event.kind, Read | Pull | Push | Write | Reserve | Release);
        (of_device && self.is_dead(event.device)) || self.is_server_dead(server)
    }

    #[inline]
    fn entity_of(&self, device: DeviceId) -> EntityId {
        EntityId(self.hardware.server_of(device))
    }

    fn rack(&self, rack: u32) -> EntityId {
        EntityId(self.hardware.servers() + rack)
    }

    /// The entity that makes maps and counts the servers that still drive something: the last one.
    fn monitor(&self) -> EntityId {
        EntityId(self.servers_and_racks())
    }

    fn has_monitor(&self) -> bool {
        self.clients.is_some() || self.limits.maps.is_some()
    }

    fn servers_and_racks(&self) -> u32 {
        let racks = if self.hardware.uplinks().is_some() { self.hardware.racks() } else { 0 };
        self.hardware.servers() + racks
    }

    /// Whether a server has something to drive.
    fn drives(&self, server: u32) -> bool {
        self.hardware.devices_of(server).any(|device| !self.plan.tasks_of(device).is_empty())
    }

    /// A server has nothing left to drive. After the last such server, no more clients arrive.
    fn one_less(&self, driving: &mut u32, context: &mut Context<'_, Self>) -> Undo {
        let before = *driving;
        assert!(before > 0, "more servers have nothing left to drive than drove something");
        *driving = before - 1;
        if before == 1 {
            for server in 0..self.hardware.servers() {
                context.send(EntityId(server), self.hardware.control(), plain(Kind::Over));
            }
        }
        Undo::Driving(before)
    }
}

impl Runs for Rebuild<'_> {
    fn run(&self, options: RunOptions<'_>) -> Result<Outcome<Self>, RunError> {
        towtank_kernel::run(self, options)
    }
}

impl Model for Rebuild<'_> {
    type Entity = Entity;
    type Event = Event;
    type Undo = Undo;
    type Statistics = Counts;
    type Output = ();

    const UNDO: UndoBy = UndoBy::Inverse;
    const AUDITS_PENDING: bool = true;

    fn entities(&self) -> u32 {
        self.servers_and_racks() + u32::from(self.has_monitor())
    }

    fn links(&self) -> Links {
        Links::all(self.hardware.card().spec().latency)
    }

    /// Bytes that are durable, of those planned up to now. A later failure may add to the plan.
    fn share_done(&self, work: u64) -> Option<f64> {
        let whole = self.before.saturating_add(self.planned);
        (whole > 0).then(|| self.before.saturating_add(work) as f64 / whole as f64)
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
            if self.has_monitor() && id == self.monitor() {
                let driving = (0..self.hardware.servers()).filter(|&server| self.drives(server)).count();
                assert!(driving <= self.plan.tasks().len(), "{driving} servers drive fewer tasks");
                return Entity::Monitor { driving: driving as u32, made: Made::default() };
            }
            assert!(id.0 < self.servers_and_racks(), "entity {id} is neither a server nor a rack");
            let lines = self.clients.as_ref().map(|clients| [line(clients), line(clients)]);
            return Entity::Rack(Box::new(Rack { lines, ..Rack::default() }));
        }
        let devices = self.hardware.devices_of(id.0);
        let device = |device: DeviceId| {
            let Pace { streams, sleep } = self.limits.pace(self.hardware, device);
            let tasks = self.plan.tasks_of(device);
            // With one job of each group in progress, there is no use for more slots than groups.
            let streams = if self.limits.serial { streams.min(tasks.len().max(1) as u32) } else { streams };
            Device::new(tasks, if sleep.is_zero() || self.limits.serial { streams } else { 1 })
        };
        Entity::Server(Server::new(devices.map(device).collect(), self.clients.as_ref()))
    }

    fn start(&self, entity: &mut Entity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        let server = match entity {
            Entity::Server(server) => server,
            Entity::Monitor { .. } => {
                self.await_changes(context);
                return Ok(());
            }
            Entity::Rack(_) => return Ok(()),
        };
        let me = context.me().0;
        for device in self.hardware.devices_of(me).filter(|&device| !self.is_dead(device)) {
            self.go_on(server, device, context);
        }
        if server.shared.is_some() && !self.is_server_dead(me) {
            self.await_clients(context);
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
            Entity::Server(server) if !self.dead.is_empty() && self.swallows(context.me().0, event) => {
                server.swallowed.push(*event);
                Ok(Undo::Swallowed)
            }
            Entity::Server(server) => self.at_server(server, event, context),
            Entity::Rack(rack) => self.at_rack(rack, event, context),
            Entity::Monitor { driving, .. } if event.kind == Kind::Idle => {
                Ok(self.one_less(driving, context))
            }
            Entity::Monitor { made, .. } => Ok(self.make_map(made, event, context)),
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

    #[inline]
    fn fetch(&self, (entity, counts): (&Entity, &Counts), event: &Event, depth: u32) {
        let Entity::Server(server) = entity else { return };
        let ends_job = event.kind == Kind::Ack && event.marks.is_last();
        if depth == 2 {
            if ends_job {
                self.fetch_next_job(server, event.driver);
                counts.progress.fetch();
            }
            return;
        }
        // Of all kinds, because which comes next cannot be predicted: a wrong guess takes longer than a hint
        // that is of no use. A unit that has been received is often written at once. The device of other
        // events may be a client.
        let of_device = matches!(event.kind, Kind::Read | Kind::In | Kind::Write);
        let place = self.hardware.place_of(if of_device { event.device } else { event.driver });
        if depth == 0 {
            server.fetch_disk(place);
        } else {
            server.fetch_slot(place, event.slot);
            if ends_job {
                server.fetch_task(place);
                prefetch(counts);
                prefetch(&counts.progress);
            }
        }
    }

    fn describe(&self, id: EntityId) -> String {
        match id.0.checked_sub(self.hardware.servers()) {
            None => format!("server {id}"),
            Some(_) if self.has_monitor() && id == self.monitor() => "the monitor".to_owned(),
            Some(rack) => format!("the uplink of rack {rack}"),
        }
    }

    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        audit::audit(self, committed)
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
        match event.kind {
            Kind::Read => self.at_resource(server, self.disk_of(event), event, context),
            Kind::Write => self.at_resource(server, self.disk_of(event), event, context),
            Kind::Out => self.at_resource(server, Resource::Out, event, context),
            Kind::In => self.at_resource(server, Resource::Inward, event, context),
            Kind::Ack => self.acknowledged(server, event, context),
            Kind::Part => self.part(server, event, context),
            Kind::Start | Kind::Push | Kind::Reply | Kind::Pull => Ok(self.at_queue(server, event, context)),
            Kind::Empty => self.emptied(server, event, context),
            Kind::Reserve | Kind::Grant | Kind::Release | Kind::Wake => {
                let place = self.hardware.place_of(self.reserves_at(event));
                let before = Undo::device(self, server, place);
                self.reservation(server, event, context)?;
                Ok(before)
            }
            Kind::Map => {
                let before = Undo::whole(server);
                self.take_map(server, context);
                Ok(before)
            }
            Kind::Changed | Kind::Due => Err("a server is no monitor".into()),
            Kind::Up | Kind::Down | Kind::Served | Kind::Arrive | Kind::Idle | Kind::Over => {
                Err("a server without clients received a client event".into())
            }
        }
    }
}
