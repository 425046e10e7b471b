//! Small clusters for tests: racks of equal servers with equal disks, objects of one size, and plans drawn
//! from a few numbers.

use towtank_devices::{CardSpec, DiskSpec, SeekRow};
use towtank_placement::algorithms::Algorithm;
use towtank_population::{Extent, Layout as Cut, Population, SizeHistogram};
use towtank_streams::Seed;
use towtank_units::{Bytes, Rate, SimSpan};

use crate::hardware::{Hardware, Layout, Uplinks};
use crate::model::Limits;
use crate::placing::{Domain, LostSet, Placing};
use crate::plan::{DeviceId, Plan};
use crate::redundancy::Redundancy;

/// Bytes of a unit.
pub const UNIT: u64 = 1_000;

/// Number of racks, of servers in total, and of disks per server.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub racks: u32,
    pub servers: u32,
    pub disks: u32,
}

impl Size {
    /// Consecutive servers share a rack, in equal parts.
    pub fn layout(self) -> Layout {
        let Size { racks, servers, disks } = self;
        Layout {
            server_of: (0..servers * disks).map(|device| device / disks).collect(),
            rack_of: (0..servers).map(|server| server * racks / servers).collect(),
            class_of: vec![0; (servers * disks) as usize],
        }
    }
}

pub fn rate(bytes_per_second: u64) -> Rate {
    Rate::from_bytes_per_second(bytes_per_second).expect("above zero")
}

/// A unit is read in 1 us, written in 2 us and sent in 1 us; a latency is 3 us, a seek 5 us.
pub fn hardware(size: Size) -> Hardware {
    let seek = SimSpan::from_us(5);
    let disk = DiskSpec {
        read: rate(1_000_000_000),
        write: rate(500_000_000),
        read_overhead: SimSpan::ZERO,
        write_overhead: SimSpan::ZERO,
        seeks: vec![SeekRow { from: Bytes::new(0), read: seek, write: seek }],
        extent: Bytes::new(0),
    };
    let card = CardSpec { rate: rate(1_000_000_000), latency: SimSpan::from_us(3), gap: SimSpan::ZERO };
    let uplinks = (size.racks > 1).then(|| Uplinks { rate: rate(400_000_000) });
    Hardware::new(size.layout(), vec![disk], card, uplinks, Bytes::new(UNIT))
}

pub fn limits() -> Limits {
    Limits {
        window: 4,
        streams: 2,
        reservations: None,
        sleep: SimSpan::ZERO,
        stream_rate: None,
        device_rate: None,
        server_streams: None,
        server_rate: None,
        paces: Vec::new(),
        serial: false,
        maps: None,
        job_cost: SimSpan::ZERO,
        queues: None,
    }
}

/// Objects of one size.
pub fn population(objects: u64, bytes: u64, seed: Seed) -> Population {
    let histogram = SizeHistogram::constant(Bytes::new(bytes)).expect("a size above zero");
    Population::new(&histogram, Cut::Whole, Extent::Objects(objects), seed).expect("a few objects")
}

pub fn placing(algorithm: Algorithm, redundancy: Redundancy) -> Placing {
    Placing {
        algorithm,
        vnodes: 8,
        domain: Domain::Server,
        groups: None,
        pool: None,
        redundancy,
        lost_set: LostSet::Auto,
    }
}

/// The numbers from which one job is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    pub driver: u32,
    pub bytes: u64,
    pub reads: usize,
    pub writes: usize,
    pub stride: u32,
    /// The log of its group says what is missing.
    pub by_log: bool,
    /// The driver pulls it.
    pub pulls: bool,
}

impl Drawn {
    /// A copy from one device to another.
    pub fn one(driver: u32, bytes: u64) -> Drawn {
        Drawn { driver, bytes, reads: 1, writes: 1, stride: 0, by_log: false, pulls: false }
    }
}

/// What a task of a plan covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks {
    /// All jobs of a driver.
    Drivers,
    /// One job.
    Groups,
    /// One job, whose targets it reserves.
    Reserving,
}

/// A plan of these jobs.
pub fn plan(hardware: &Hardware, tasks: Tasks, drawn: &[Drawn]) -> Plan {
    let devices = hardware.devices();
    let grouped = tasks != Tasks::Drivers;
    let mut plan = Plan::new().of_groups(grouped);
    for driver in 0..devices {
        plan.next_driver();
        for (group, job) in (0u32..).zip(drawn.iter().filter(|job| job.driver % devices == driver)) {
            let mut others: Vec<DeviceId> =
                (1..devices).map(|step| DeviceId((driver + step) % devices)).collect();
            others.rotate_left((job.stride % (devices - 1)) as usize);
            let mut around = vec![DeviceId(driver)];
            around.append(&mut others);
            let reads = job.reads.clamp(1, around.len() - 1);
            let writes = job.writes.clamp(1, around.len() - reads);
            if job.pulls {
                // From the next device to the driver and those behind.
                around.swap(0, 1);
            }
            let reads = if job.pulls { 1 } else { reads };
            let (reads, writes) = (&around[..reads], &around[reads..reads + writes]);
            if grouped {
                // The other end of each transfer.
                let own = DeviceId(driver);
                let others = writes.iter().chain(reads).copied().filter(|device| *device != own);
                let ends = if tasks == Tasks::Reserving { writes.len() } else { 0 };
                let reserves: Vec<DeviceId> = others.take(ends).collect();
                plan.next_task(group, (group % 3, group.is_multiple_of(2)), &reserves);
                if job.by_log {
                    plan.recover_by_log();
                }
            } else if group == 0 {
                plan.next_task(driver, (0, true), &[]);
            }
            plan.next_job(job.bytes, 0, reads, writes);
        }
    }
    plan
}
