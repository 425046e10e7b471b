//! The state of a server: its NIC, its disks, and for each disk its jobs and the reservations that it has
//! granted.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use towtank_devices::{Disk, Link, Uplink};
use towtank_kernel::prefetch;
use towtank_units::SimTime;

use super::shared::{Shared, SharedLine};
use super::{Clients, Event, Flow, Made, Timer};
use crate::plan::DeviceId;

/// The maximum number of units of a job in flight.
pub const WINDOW_MAX: usize = 16;

/// A server, the uplink of a rack, or the monitor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Entity {
    /// A server.
    Server(Server),
    /// Both directions of a rack's uplink.
    Rack(Box<Rack>),
    /// Makes maps, and counts the servers that still drive something, where clients must learn when to stop.
    Monitor {
        /// The number of these servers.
        driving: u32,
        /// The maps.
        made: Made,
    },
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Server {
    /// The NIC, sending.
    pub out: Link,
    /// The NIC, receiving.
    pub inward: Link,
    /// Bytes sent to other servers.
    pub sent: u64,
    /// Bytes received from other servers.
    pub received: u64,
    /// Its disks.
    pub devices: Vec<Device>,
    /// Messages to this server, or to one of its disks, that were dropped because it is dead.
    pub swallowed: Vec<Event>,
    /// What the server shares with clients, if there are clients.
    pub shared: Option<Box<Shared>>,
    /// The state of limits for the whole server.
    pub together: Together,
    #[serde(skip)]
    pub(super) speculating: Speculating,
}

/// The state of limits that all disks of a server share. Without such limits it stays as it begins, and is no
/// part of digests: they are those of before these limits existed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Together {
    /// When the next unit may start under the server's rate limit.
    pub pace_at: SimTime,
    /// The disk that begins the next job, by its place in the server.
    pub turn: u32,
}

impl Hash for Together {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if *self != Together::default() {
            (self.pace_at, self.turn).hash(state);
        }
    }
}

/// The uplink of a rack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Rack {
    /// Both directions.
    pub uplink: Uplink,
    /// The queue of each direction, if clients use the uplink too.
    pub lines: Option<[SharedLine; 2]>,
}

/// A disk, and the jobs that it drives. The order is fixed: what units need lies together in the front.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[repr(C)]
pub struct Device {
    /// The disk itself.
    pub disk: Disk,
    /// Bytes read from it.
    pub read: u64,
    /// Bytes written to it.
    pub written: u64,
    /// Tasks not started.
    pub tasks: Range<u32>,
    /// Tasks started and not finished.
    pub active: Vec<Active>,
    /// Jobs that it drives.
    pub slots: Vec<Slot>,
    /// The active task that gives the next job.
    pub turn: u32,
    /// The start of its sleep after a job, while it sleeps.
    pub asleep: Option<SimTime>,
    /// When the next unit may start under the device's rate limit.
    pub pace_at: SimTime,
    /// Reservations it has granted.
    pub granted: u32,
    /// Tasks that wait for a reservation.
    pub asking: VecDeque<Asking>,
    /// The flows of its queue, in order; none where no queue limits recovery.
    pub flows: Vec<Flow>,
    /// The times of its work items, where they sleep.
    pub timer: Timer,
}

/// A task that waits for a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Asking {
    /// Its priority; the least comes first.
    pub priority: u32,
    /// Its number in the plan.
    pub task: u32,
    /// Who drives it.
    pub driver: DeviceId,
}

/// A task that has started.
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
    /// When it requested the first one.
    pub since: SimTime,
}

/// A job in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Slot {
    /// Its number in the plan; [`Slot::NONE`] for an empty slot.
    pub job: u32,
    /// The task it belongs to.
    pub task: u32,
    /// The next unit to start.
    pub next: u32,
    /// Units not yet durable.
    pub left: u32,
    /// Units started and not yet durable.
    pub flying: u8,
    /// Number of sources of a unit.
    pub reads: u8,
    /// Number of targets of a unit.
    pub writes: u8,
    /// The first source. The slot holds what most units need of the job, because the plan's tables are rarely
    /// in the cache.
    pub source: DeviceId,
    /// The first target.
    pub target: DeviceId,
    /// The bytes of a copy or shard.
    pub bytes: u64,
    /// When the next unit may start under the rate limit of a stream.
    pub pace_at: SimTime,
    /// For each unit in flight, the number of parts that have arrived.
    pub parts: [u8; WINDOW_MAX],
    /// For each unit in flight, the number of targets on which it is durable.
    pub acks: [u8; WINDOW_MAX],
}

impl Slot {
    /// The job number of an empty slot.
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
    /// Whether it has jobs that are not done.
    #[must_use]
    pub(crate) fn is_unfinished(&self) -> bool {
        !self.tasks.is_empty() || self.active.iter().any(|active| active.left > 0)
    }

    /// The active task whose turn it is.
    #[inline]
    pub(super) fn next_active(&self) -> Option<&Active> {
        self.active.get(self.turn as usize)
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
            flows: Vec::new(),
            timer: Timer::default(),
        }
    }
}

impl Server {
    /// Prefetches the front of a disk.
    #[inline]
    pub(super) fn fetch_disk(&self, place: usize) {
        if let Some(device) = self.devices.get(place) {
            prefetch(&device.disk);
            prefetch(&device.slots);
        }
    }

    /// Prefetches a job of a disk, whose front should be there already.
    #[inline]
    pub(super) fn fetch_slot(&self, place: usize, slot: u16) {
        if let Some(slot) = self.devices.get(place).and_then(|device| device.slots.get(usize::from(slot))) {
            prefetch(slot);
        }
    }

    /// Prefetches the task of a disk whose turn it is. The front of the disk should be there already.
    #[inline]
    pub(super) fn fetch_task(&self, place: usize) {
        if let Some(active) = self.devices.get(place).and_then(Device::next_active) {
            prefetch(active);
        }
    }

    /// How many jobs its disks drive at the moment.
    #[must_use]
    pub fn driven(&self) -> usize {
        let slots = self.devices.iter().flat_map(|device| &device.slots);
        slots.filter(|slot| slot.job != Slot::NONE).count()
    }

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
            together: Together::default(),
            speculating: Speculating(false),
        }
    }
}

/// Whether events may be undone. This belongs to the execution of the run, not to the state of the model, so
/// it does not affect equality or hashes.
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

/// The part of a server that exists only if there are clients.
pub(super) fn shared(server: &mut Server) -> &mut Shared {
    server.shared.as_mut().expect("a server with clients shares its devices with them")
}
