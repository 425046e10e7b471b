//! The state of a server: its card, its disks, and what each disk drives and has promised.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use towtank_devices::{Disk, Link, Uplink};
use towtank_units::SimTime;

use super::shared::{Shared, SharedLine};
use super::{Clients, Event};
use crate::plan::DeviceId;

/// The most units of a job in flight.
pub const WINDOW_MAX: usize = 16;

/// A server, the uplink of a rack, or who watches over the end.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Entity {
    /// A server.
    Server(Server),
    /// Both ways of a rack's uplink.
    Rack(Box<Rack>),
    /// Who counts the servers that still drive something, where clients must be told when to stop.
    Monitor {
        /// How many do.
        driving: u32,
    },
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Server {
    /// Its card, sending.
    pub out: Link,
    /// Its card, receiving.
    pub inward: Link,
    /// Bytes sent to other servers.
    pub sent: u64,
    /// Bytes received from other servers.
    pub received: u64,
    /// Its disks.
    pub devices: Vec<Device>,
    /// What came to it, or to a disk of it, that does not answer.
    pub swallowed: Vec<Event>,
    /// What it shares with clients, where there are some.
    pub shared: Option<Box<Shared>>,
    #[serde(skip)]
    pub(super) speculating: Speculating,
}

/// The uplink of a rack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Rack {
    /// Both ways.
    pub uplink: Uplink,
    /// Who waits for each way, where clients do too.
    pub lines: Option<[SharedLine; 2]>,
}

/// A disk, with what it drives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Device {
    /// The disk itself.
    pub disk: Disk,
    /// Bytes read from it.
    pub read: u64,
    /// Bytes written to it.
    pub written: u64,
    /// Tasks not begun.
    pub tasks: Range<u32>,
    /// Tasks begun and not finished.
    pub active: Vec<Active>,
    /// Jobs it drives.
    pub slots: Vec<Slot>,
    /// Which of the active tasks gives the next job.
    pub turn: u32,
    /// It rests after a job, since then.
    pub asleep: Option<SimTime>,
    /// When the next unit may start, under a rate of the device.
    pub pace_at: SimTime,
    /// Reservations it has granted.
    pub granted: u32,
    /// Tasks that wait for one: priority, task, driver.
    pub asking: VecDeque<(u32, u32, DeviceId)>,
}

/// A task that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Active {
    /// Its number in the plan.
    pub task: u32,
    /// Its next job.
    pub next_job: u32,
    /// Jobs not finished.
    pub left: u32,
    /// Reservations it has.
    pub reserved: u32,
    /// When it asked for the first one.
    pub since: SimTime,
}

/// A job in work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Slot {
    /// Its number in the plan; [`Slot::NONE`] for an empty slot.
    pub job: u32,
    /// The task it belongs to.
    pub task: u32,
    /// The next unit to start.
    pub next: u32,
    /// Units not durable.
    pub left: u32,
    /// Units started and not durable.
    pub flying: u8,
    /// How many sources a unit has.
    pub reads: u8,
    /// How many targets.
    pub writes: u8,
    /// The first source. What most units need of the job is kept here: the plan's tables are far from the
    /// cache.
    pub source: DeviceId,
    /// The first target.
    pub target: DeviceId,
    /// The bytes of a copy or shard.
    pub bytes: u64,
    /// When the next unit may start, under a rate of the stream.
    pub pace_at: SimTime,
    /// For each unit in flight, the parts that are there.
    pub parts: [u8; WINDOW_MAX],
    /// For each unit in flight, the targets on which it is durable.
    pub acks: [u8; WINDOW_MAX],
}

impl Slot {
    /// No job.
    pub const NONE: u32 = u32::MAX;

    /// An empty slot.
    pub const EMPTY: Slot = Slot {
        job: Slot::NONE,
        task: 0,
        next: 0,
        left: 0,
        flying: 0,
        reads: 0,
        writes: 0,
        source: DeviceId(0),
        target: DeviceId(0),
        bytes: 0,
        pace_at: SimTime::ZERO,
        parts: [0; WINDOW_MAX],
        acks: [0; WINDOW_MAX],
    };
}

impl Device {
    /// Whether it has tasks that are not finished.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        !self.active.is_empty() || !self.tasks.is_empty()
    }

    pub(super) fn new(tasks: Range<u32>, streams: u32) -> Device {
        debug_assert!(streams > 0, "a disk drives no jobs at all");
        debug_assert!(tasks.start <= tasks.end, "a disk drives tasks {tasks:?}");
        let slots = if tasks.is_empty() { 0 } else { streams as usize };
        Device {
            disk: Disk::default(),
            read: 0,
            written: 0,
            tasks,
            active: Vec::new(),
            slots: vec![Slot::EMPTY; slots],
            turn: 0,
            asleep: None,
            pace_at: SimTime::ZERO,
            granted: 0,
            asking: VecDeque::new(),
        }
    }
}

impl Server {
    pub(super) fn new(devices: Vec<Device>, clients: Option<&Clients>) -> Server {
        let shared = clients.map(|clients| Box::new(Shared::new(clients, devices.len())));
        let (out, inward) = (Link::default(), Link::default());
        Server {
            out,
            inward,
            sent: 0,
            received: 0,
            devices,
            swallowed: Vec::new(),
            shared,
            speculating: Speculating(false),
        }
    }
}

/// Whether events may be taken back. Part of how the run is executed, not of the model's state, so it never
/// shows in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Speculating(pub bool);

impl PartialEq for Speculating {
    fn eq(&self, _: &Speculating) -> bool {
        true
    }
}

impl Eq for Speculating {}

impl Hash for Speculating {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The part of a server that exists only where clients do.
pub(super) fn shared(server: &mut Server) -> &mut Shared {
    server.shared.as_mut().expect("a server with clients shares its devices with them")
}
