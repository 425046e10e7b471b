//! The machines that a scenario describes, and their settings for a rebuild.

use towtank_devices::{CardSpec, DiskSpec, SeekRow};
use towtank_rebuild::hardware::{Hardware, Layout, Uplinks};
use towtank_rebuild::model::Limits;
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::Waiting;
use towtank_units::{Bytes, SimSpan};

use super::ring::Rings;
use super::scenario::{Scenario, Seeks};
use super::settled::Settled;

/// (KiB, write seek, read seek) in microseconds: the JBOD table of CODES' guide, with overheads of 29.67 us
/// before a write and 23.67 us before a read.
const JBOD: [(u64, f64, f64); 11] = [
    (4, 499.5, 3475.6),
    (8, 509.0, 3470.0),
    (16, 514.7, 3486.2),
    (32, 525.9, 3531.2),
    (64, 546.4, 3608.6),
    (128, 588.3, 3741.0),
    (256, 663.1, 3988.9),
    (512, 621.8, 4530.2),
    (1_024, 539.1, 5644.2),
    (2_048, 3179.5, 7922.0),
    (4_096, 6108.8, 11700.3),
];

/// The topology of a scenario: which disk is in which server, and which server in which rack.
#[must_use]
pub fn layout(scenario: &Scenario) -> Layout {
    let disks = scenario.disks_per_server;
    // Racks get equally many servers; where the number does not divide, the first racks get one more.
    let rack_of =
        |server: u32| (u64::from(server) * u64::from(scenario.racks) / u64::from(scenario.servers)) as u32;
    Layout {
        server_of: (0..scenario.servers * disks).map(|device| device / disks).collect(),
        rack_of: (0..scenario.servers).map(rack_of).collect(),
        class_of: vec![0; (scenario.servers * disks) as usize],
    }
}

/// The machines of a scenario.
#[must_use]
pub fn hardware(scenario: &Settled) -> Hardware {
    machines(scenario, None)
}

/// The same, or those of a ring with the speeds of the scenario.
#[must_use]
pub fn machines(scenario: &Settled, rings: Option<&Rings>) -> Hardware {
    let racks = rings.map_or(scenario.racks as usize, |rings| rings.names.racks.len());
    let uplinks = scenario.uplink.filter(|_| racks > 1).map(|rate| Uplinks { rate });
    let layout = rings.map_or_else(|| layout(scenario), |rings| rings.layout.clone());
    let hardware = Hardware::new(layout, vec![disk(scenario)], card(scenario), uplinks, scenario.unit);
    match rings {
        Some(rings) => hardware.with_names(rings.names.clone()),
        None => hardware,
    }
}

/// The disks of a scenario.
#[must_use]
pub fn disk(scenario: &Settled) -> DiskSpec {
    let us = |us: f64| SimSpan::from_ns_f64_floor(us * 1e3);
    let row = |kib: u64, write: SimSpan, read: SimSpan| SeekRow { from: Bytes::from_kib(kib), read, write };
    let seeks = match (scenario.io_cost, scenario.seeks) {
        (Some(cost), _) => vec![row(0, cost, cost)],
        (None, Seeks::Jbod) => JBOD.map(|(kib, write, read)| row(kib, us(write), us(read))).to_vec(),
        (None, Seeks::Hdd) => vec![row(0, SimSpan::from_ms(4), SimSpan::from_ms(8))],
        (None, Seeks::None) => Vec::new(),
    };
    DiskSpec {
        read: scenario.disk_read,
        write: scenario.disk_write,
        read_overhead: us(23.67),
        write_overhead: us(29.67),
        seeks,
        extent: scenario.seek_extent,
    }
}

/// The NICs of a scenario. The gap is that of small messages in the InfiniBand table.
#[must_use]
pub fn card(scenario: &Settled) -> CardSpec {
    CardSpec { rate: scenario.nic, latency: scenario.latency, gap: SimSpan::from_ns(1_100) }
}

/// The limits on concurrent work.
#[must_use]
pub fn limits(scenario: &Settled) -> Limits {
    Limits {
        window: scenario.window,
        streams: scenario.recovery_max_active,
        reservations: scenario.reservations(),
        sleep: scenario.recovery_sleep,
        stream_rate: scenario.stream_limit,
        device_rate: scenario.rate_cap,
        server_streams: scenario.server_max_active,
        server_rate: scenario.server_rate_cap,
        paces: Vec::new(),
        serial: scenario.is_serial(),
        job_cost: scenario.object_cost,
        queues: scenario.mclock.map(|mclock| {
            // Generated groups are those of one pool, and the first device has the number 0.
            mclock.queues(vec![0], Some(DeviceId(0)), &[scenario.seeks != Seeks::None])
        }),
    }
}

/// The delays between a failure and its rebuild.
#[must_use]
pub fn waiting(scenario: &Settled) -> Waiting {
    Waiting {
        detection: scenario.detection,
        down_out: scenario.down_out,
        peering: scenario.peering,
        noout: scenario.noout,
        rack_out: scenario.rack_out,
    }
}

/// An estimate of the memory of the machines: their state, the counts of each over time, and their rows in
/// the report. Measured on clusters of 4,000 and 10,000 servers, and of 2,000 with 24 disks each.
#[must_use]
pub fn memory_of_machines(servers: f64, devices: f64) -> f64 {
    const SERVER: f64 = 14_000.0;
    const DEVICE: f64 = 1_000.0;
    const PROGRAM: f64 = 8_000_000.0;
    servers * SERVER + devices * DEVICE + PROGRAM
}
