//! The values that a recovery has: those of its keys, or what Ceph or the published study has.

use towtank_devices::{CardSpec, DiskSpec, SeekRow};
use towtank_rebuild::ledger::{Backfill, Gather, Order, Source};
use towtank_rebuild::model::{Arrivals, Limits, Maps, Queues, Weights};
use towtank_rebuild::recovery::Waiting;
use towtank_units::{Bytes, Percent, Rate, SimSpan};

use crate::keys::{Keys, Seeks};
use crate::levers::Takes;
use crate::queue::{Mclock, Queue};
use crate::releases::{CephRelease, Release, Resets};

/// Where the values come from that no key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usual {
    /// Ceph as shipped on rotating disks; else the published study.
    pub of_ceph: bool,
    /// Whether objects are placed by groups.
    pub grouped: bool,
    /// Whether the queue of the daemons may be mClock: groups of Ceph whose release or queue is known.
    pub has_queue: bool,
    /// From a new map until the first object moves.
    pub peering: SimSpan,
}

/// The values that a recovery has.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where values come from that no key has.
    pub usual: Usual,
    /// The load of clients meanwhile.
    pub clients: Option<ClientLoad>,
    /// Bytes that a disk reads per second.
    pub disk_read: Rate,
    /// Bytes that a disk writes per second.
    pub disk_write: Rate,
    /// The cost of seeks.
    pub seeks: Seeks,
    /// The time of each request besides its bytes, in place of seeks.
    pub io_cost: Option<SimSpan>,
    /// How much of an object one seek covers.
    pub seek_extent: Bytes,
    /// The rate of a server's NIC, in each direction.
    pub nic: Rate,
    /// The latency from one NIC to another.
    pub latency: SimSpan,
    /// The rate of a rack's uplink; none where it is not limited.
    pub uplink: Option<Rate>,
    /// The maximum rate of the copy of one object.
    pub stream_limit: Option<Rate>,
    /// The maximum rate of all copies that a disk leads.
    pub rate_cap: Option<Rate>,
    /// The maximum rate of all copies that the disks of a server lead.
    pub server_rate_cap: Option<Rate>,
    /// The size of units.
    pub unit: Bytes,
    /// Units of an object in flight at once.
    pub window: u32,
    /// The maximum number of objects that the rebuilds of a disk work on at once.
    pub recovery_max_active: u32,
    /// The same of all disks of a server.
    pub server_max_active: Option<u32>,
    /// The maximum number of groups that a disk leads at once; 0: no reservations.
    pub max_backfills: u32,
    /// Recovery sleep of a disk after each object.
    pub recovery_sleep: SimSpan,
    /// Ceph's own work on each object.
    pub object_cost: SimSpan,
    /// What a backfill of a group costs before its first object is copied.
    pub backfill: Backfill,
    /// Which copy is read.
    pub source: Source,
    /// Where shards are gathered.
    pub gather: Gather,
    /// What a disk recovers first.
    pub order: Order,
    /// No disk accepts data beyond this share of its capacity.
    pub backfillfull_ratio: Percent,
    /// The mClock queue of the daemons, where they have one.
    pub mclock: Option<Mclock>,
    /// From a failure until the cluster detects it.
    pub detection: SimSpan,
    /// From the detection until the failed devices are marked out.
    pub down_out: SimSpan,
    /// Failed devices are never marked out.
    pub noout: bool,
    /// Whether a whole rack is marked out too.
    pub rack_out: bool,
}

/// The load of clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientLoad {
    /// When operations are requested, in the whole cluster.
    pub arrivals: Arrivals,
    /// The share of them that reads.
    pub read: Percent,
    /// Bytes per operation.
    pub size: Bytes,
    /// The shares of a busy device.
    pub weights: Weights,
}

/// The first object moved 2.9 to 3.7 s after the command, whatever the command was, in 20 runs on a cluster
/// of four devices with Ceph 16.2.15: 3.2 s in the median. Where the disks sleep, their first work item came
/// a sleep of 0.1 s earlier. Other measured starts, with peering of many groups, were 3 to 6 s.
pub const PEERING: SimSpan = SimSpan::from_ms(3_100);

/// The same after other changes of the map: 2.3 to 2.5 s after explicit mappings, weights and an added host,
/// with that sleep.
pub const AFTER_MAP: SimSpan = SimSpan::from_ms(2_300);

/// The same after a device came back: 1.1 to 1.2 s with its data where the log says what it lacks, and 1.75 s
/// where it is backfilled.
pub const AFTER_BOOT: [SimSpan; 2] = [SimSpan::from_ms(1_000), SimSpan::from_ms(1_600)];

/// Backfills of Ceph 16.2.15 without sleep took 0.32 s, and 22 us for each object of the group, besides the
/// work on objects that had been altered: fitted to 20 runs with 5,000 to 20,000 objects of 1 KiB. Runs with
/// eight groups began as soon as those with one.
const BACKFILL: Backfill = Backfill { begin: SimSpan::from_ms(320), look: SimSpan::from_us(22) };

/// `paxos_min_wait` and `paxos_propose_interval`, with their defaults in Ceph 15 to 21.
const MAPS: Maps =
    Maps { soon: SimSpan::from_ms(50), apart: SimSpan::from_secs(1), one_in: 1, at_once: false };

/// The release that is assumed if exports name none.
pub const RELEASE_USUAL: CephRelease = CephRelease::of_major(16);

/// Clients weigh so much against recovery in WPQ: priorities of 63 and 3.
const WEIGHT_OF_CEPH: u32 = 21;

impl Settings {
    /// Takes each value from its key. A key that is left out is set to the value that it then has, which is
    /// what the resolved scenario shows.
    #[must_use]
    pub fn of(keys: &mut Keys, usual: Usual) -> Settings {
        let Usual { of_ceph: ceph, grouped, .. } = usual;
        let mclock = mclock(keys, usual);
        let clients = clients(keys, ceph, mclock.as_ref());
        let Keys { machines, pacing, delays, .. } = keys;
        let [read, write, nic] = usual_speeds(ceph);
        let recovering = mclock.map(|mclock| mclock.recovering(true));
        let span = |shipped: SimSpan| if ceph { shipped } else { SimSpan::ZERO };
        let release = Release::assumed(pacing.ceph_release.unwrap_or(RELEASE_USUAL).0);
        let of_wpq =
            || if ceph { [release.active(Queue::Wpq, true), release.backfills(Queue::Wpq)] } else { [8, 0] };
        let [active, backfills] = recovering.map_or_else(of_wpq, |of| [of.active, of.backfills]);
        let sleep = recovering.map_or(span(SimSpan::from_ms(100)), |of| of.sleep);
        let trip = if ceph { SimSpan::from_us(50) } else { SimSpan::from_ns(6_780) };
        // Fitted with the backfill study to a cluster with 16.2.15: three devices on flash, objects of 1 KiB.
        let cost = if ceph && grouped { SimSpan::from_us(1_090) } else { SimSpan::ZERO };
        if ceph && grouped {
            pacing.backfill_begin.get_or_insert(BACKFILL.begin);
            pacing.backfill_look.get_or_insert(BACKFILL.look);
        }
        let seeks = if ceph { Seeks::Hdd } else { Seeks::Jbod };
        // The paper does not give this value: it was chosen so that 1,024 servers rebuild the published 410
        // GiB/s.
        let extent = Bytes::from_mib(if ceph { 16 } else { 18 });
        // The usual order is not written into the resolved scenario: results are what they were without the
        // key, so the hashes of stored campaigns stay what they were too.
        pacing.order = pacing.order.filter(|order| !order.is_usual());
        let ninety = Percent::from_percent(90).expect("less than all");
        Settings {
            usual,
            clients,
            disk_read: *machines.disk_read.get_or_insert(read),
            disk_write: *machines.disk_write.get_or_insert(write),
            seeks: *machines.seeks.get_or_insert(seeks),
            io_cost: machines.io_cost,
            seek_extent: *machines.seek_extent.get_or_insert(extent),
            nic: *machines.nic.get_or_insert(nic),
            latency: *machines.latency.get_or_insert(trip),
            uplink: machines.uplink,
            stream_limit: pacing.stream_limit,
            rate_cap: pacing.rate_cap,
            server_rate_cap: pacing.server_rate_cap,
            unit: *pacing.unit.get_or_insert(Bytes::from_mib(4)),
            window: *pacing.window.get_or_insert(4),
            recovery_max_active: *pacing.recovery_max_active.get_or_insert(active),
            server_max_active: pacing.server_max_active,
            max_backfills: *pacing.max_backfills.get_or_insert(backfills),
            recovery_sleep: *pacing.recovery_sleep.get_or_insert(sleep),
            object_cost: *pacing.object_cost.get_or_insert(cost),
            backfill: Backfill {
                begin: pacing.backfill_begin.unwrap_or_default(),
                look: pacing.backfill_look.unwrap_or_default(),
            },
            source: *pacing.source.get_or_insert_default(),
            gather: *pacing.gather.get_or_insert_default(),
            order: pacing.order.unwrap_or_default(),
            backfillfull_ratio: *pacing.backfillfull_ratio.get_or_insert(ninety),
            mclock,
            detection: *delays.detection.get_or_insert(span(SimSpan::from_secs(20))),
            down_out: *delays.down_out.get_or_insert(span(SimSpan::from_secs(600))),
            noout: *delays.noout.get_or_insert(false),
            rack_out: *delays.rack_out.get_or_insert(!ceph),
        }
    }

    /// Whether recovery goes group by group, with one object of each in progress, as in Ceph.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        self.usual.of_ceph && self.usual.grouped
    }

    /// The number of groups that a disk leads at once, where groups must reserve their servers.
    #[must_use]
    pub fn reservations(&self) -> Option<u32> {
        (self.usual.grouped && self.max_backfills > 0).then_some(self.max_backfills)
    }

    /// The disks.
    #[must_use]
    pub fn disk(&self) -> DiskSpec {
        let us = |us: f64| SimSpan::from_ns_f64_floor(us * 1e3);
        let row =
            |kib: u64, write: SimSpan, read: SimSpan| SeekRow { from: Bytes::from_kib(kib), read, write };
        let seeks = match (self.io_cost, self.seeks) {
            (Some(cost), _) => vec![row(0, cost, cost)],
            (None, Seeks::Jbod) => JBOD.map(|(kib, write, read)| row(kib, us(write), us(read))).to_vec(),
            (None, Seeks::Hdd) => vec![row(0, SimSpan::from_ms(4), SimSpan::from_ms(8))],
            (None, Seeks::None) => Vec::new(),
        };
        DiskSpec {
            read: self.disk_read,
            write: self.disk_write,
            read_overhead: us(23.67),
            write_overhead: us(29.67),
            seeks,
            extent: self.seek_extent,
        }
    }

    /// The NICs. The gap is that of small messages in the InfiniBand table.
    #[must_use]
    pub fn card(&self) -> CardSpec {
        CardSpec { rate: self.nic, latency: self.latency, gap: SimSpan::from_ns(1_100) }
    }

    /// The limits on concurrent work, with the queues of the daemons if they have mClock.
    #[must_use]
    pub fn limits(&self, queues: Option<Queues>) -> Limits {
        Limits {
            window: self.window,
            streams: self.recovery_max_active,
            reservations: self.reservations(),
            sleep: self.recovery_sleep,
            stream_rate: self.stream_limit,
            device_rate: self.rate_cap,
            server_streams: self.server_max_active,
            server_rate: self.server_rate_cap,
            paces: Vec::new(),
            serial: self.is_serial(),
            job_cost: self.object_cost,
            maps: self.maps(queues.as_ref()),
            queues,
        }
    }

    /// The maps with which groups that wait for reservations get work items. These cost something where
    /// devices sleep, and where a queue charges them to a limit.
    fn maps(&self, queues: Option<&Queues>) -> Option<Maps> {
        let costs = match queues {
            Some(queues) => {
                let limited = queues.throttles.iter().any(|of| of.limits.iter().any(Option::is_some));
                limited && self.mclock.is_some_and(|mclock| mclock.charges_idle_items())
            }
            None => !self.recovery_sleep.is_zero(),
        };
        (self.is_serial() && self.reservations().is_some() && costs).then_some(MAPS)
    }

    /// How daemons take limits of recovery that an operator sets.
    #[must_use]
    pub fn takes(&self) -> Takes {
        match self.mclock.map(|mclock| mclock.release.resets()) {
            None => Takes::AsGiven,
            Some(Resets::Unless) => Takes::WithOption,
            Some(Resets::Always) => Takes::Never,
        }
    }

    /// The delays between a failure and its recovery.
    #[must_use]
    pub fn waiting(&self) -> Waiting {
        Waiting {
            detection: self.detection,
            down_out: self.down_out,
            peering: self.usual.peering,
            noout: self.noout,
            rack_out: self.rack_out,
        }
    }
}

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

/// The load of clients, whose keys are then set.
fn clients(keys: &mut Keys, ceph: bool, mclock: Option<&Mclock>) -> Option<ClientLoad> {
    let keys = &mut keys.clients;
    let open = keys.client_load.filter(|rate| !rate.is_zero()).map(Arrivals::Open);
    let arrivals = keys.client_depth.map(Arrivals::Closed).or(open)?;
    let usual_weight = if ceph { WEIGHT_OF_CEPH } else { 1 };
    if mclock.is_none() {
        keys.client_weight.get_or_insert(usual_weight);
    }
    Some(ClientLoad {
        arrivals,
        read: *keys.client_read.get_or_insert(Percent::from_percent(70).expect("less than all")),
        size: *keys.client_size.get_or_insert(Bytes::from_kib(64)),
        weights: match (keys.client_weight, mclock) {
            (None, Some(mclock)) => mclock.weights(),
            (weight, _) => Weights::against_one(weight.unwrap_or(usual_weight)),
        },
    })
}

/// The mClock queue, whose queue and profile are then set. Its sleeps are 0 whatever they are set to, and it
/// moves an object in pushes of up to 8 MiB (`osd_recovery_max_chunk`), one after the other.
fn mclock(keys: &mut Keys, usual: Usual) -> Option<Mclock> {
    if !usual.has_queue || !usual.of_ceph {
        return None;
    }
    let keys = &mut keys.pacing;
    let release = Release::assumed(keys.ceph_release.unwrap_or(RELEASE_USUAL).0);
    if *keys.queue.get_or_insert(release.queue()) == Queue::Wpq {
        return None;
    }
    let profile = *keys.profile.get_or_insert(release.profile());
    keys.recovery_sleep = Some(SimSpan::ZERO);
    (keys.unit, keys.window) = (Some(Bytes::from_mib(8)), Some(1));
    Some(Mclock { release, profile, capacity: keys.osd_capacity, item: keys.recovery_cost })
}

/// The rates at which a disk reads and writes, and that of a NIC. The published ones are those of the study's
/// JBOD table and its InfiniBand (LogGP) table; those for Ceph come from the data sheet of a nearline disk,
/// and 10 Gbit/s.
#[must_use]
pub fn usual_speeds(of_ceph: bool) -> [Rate; 3] {
    let counts = match of_ceph {
        true => [200_000_000, 190_000_000, 1_250_000_000],
        false => [1_617_009_050, 1_585_132_340, 2_012_072_435],
    };
    counts.map(|count| Rate::from_bytes_per_second(count).expect("above zero"))
}

/// An estimate of the memory of machines: their state, the counts of each over time, and their rows in the
/// report. Measured on clusters of 4,000 and 10,000 servers, and of 2,000 with 24 disks each.
#[must_use]
pub fn memory_of_machines(servers: f64, devices: f64) -> f64 {
    const SERVER: f64 = 14_000.0;
    const DEVICE: f64 = 1_000.0;
    const PROGRAM: f64 = 8_000_000.0;
    servers * SERVER + devices * DEVICE + PROGRAM
}
