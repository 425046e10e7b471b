//! The cluster, the changes while devices were away, and the costs of single steps.

use towtank_devices::{DiskClock, DiskSpec};
use towtank_merkle::Subspace;
use towtank_replication::{Config, DeviceId, Discovery, Planted};
use towtank_units::{Bytes, Frequency, Rate, SimSpan};

/// Placement groups on devices of which some were away.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The number of placement groups.
    pub groups: u32,
    /// The number of devices.
    pub devices: u32,
    /// Replicas of a group, on consecutive devices; in an erasure-coded group, its positions.
    pub replicas: u32,
    /// Replicas that together make up an object: 1 if each holds all of it, or the data shards of a code if
    /// each position holds one shard.
    pub data_shards: u32,
    /// The number of devices that were away: the first ones.
    pub down: u32,
    /// Objects of a group before the outage.
    pub objects: u32,
    /// Bytes of each object.
    pub object_bytes: u64,
    /// The changes during the outage.
    pub changes: Changes,
    /// How differences are found.
    pub discovery: Discovery,
    /// The base-2 logarithm of the leaves of a tree, and of the bits of a bitmap.
    pub leaf_bits: u8,
    /// Cells of a sketch.
    pub sketch_cells: u32,
    /// The most entries that a log keeps.
    pub log_entries: u32,
    /// The most backfills that a device leads at once, and the most that it receives at once.
    pub slots: u32,
    /// The most objects that a group recovers at once.
    pub active: u32,
    /// The pause after each operation of recovery.
    pub sleep: SimSpan,
    /// The most objects of a batch.
    pub batch: u32,
    /// The costs of single steps.
    pub costs: Costs,
    /// Each device's disk.
    pub disk: DiskSpec,
    /// The bandwidth of each device's NIC.
    pub nic: Rate,
    /// The latency from NIC to NIC.
    pub latency: SimSpan,
    /// The rate of clients' writes during the backfill, to all groups together.
    pub clients: Option<Frequency>,
    /// A rule of the protocol that is broken on purpose, for tests.
    #[doc(hidden)]
    pub planted: Option<Planted>,
}

/// The changes while devices were away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changes {
    /// The number of changes.
    pub writes: Writes,
    /// The share of changes that create new objects.
    pub created: f64,
    /// The share of changes that delete objects.
    pub deleted: f64,
}

/// The number of changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Writes {
    /// This many objects of each group, each changed once.
    Distinct(u32),
    /// This many writes over all groups, each to an object drawn at random.
    Drawn(u64),
}

/// The costs of single steps, besides disks and NICs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// The time to look at one object.
    pub look: SimSpan,
    /// The time to compare one object of the group with one of the ranges to skip.
    pub range_check: SimSpan,
    /// The time to recover one object, at its receiver.
    pub recovery: SimSpan,
    /// The time to begin a backfill.
    pub startup: SimSpan,
}

/// The time that one write to each of its groups takes of a device's resources, in seconds.
#[derive(Clone, Copy, Default)]
struct Busy {
    disk: f64,
    out: f64,
    inward: f64,
}

/// The least number of replicas with which a group accepts writes. With copies one is enough here, as Ceph's
/// groups of three continue with two. A code needs its data shards and, if it has more than one parity shard,
/// one more: Ceph's default `min_size`.
#[must_use]
pub const fn replicas_min(replicas: u32, data_shards: u32) -> u32 {
    match replicas.saturating_sub(data_shards) {
        _ if data_shards == 1 => 1,
        0 | 1 => data_shards,
        _ => data_shards + 1,
    }
}

impl Spec {
    /// The protocol parameters of its groups.
    ///
    /// # Panics
    /// If there are more leaves than a tree may have: scenarios are checked before.
    #[must_use]
    pub(crate) fn config(&self) -> Config {
        let space = Subspace::of_group(0, 1).expect("one group has all positions");
        let config = Config::new(self.replicas as usize, space, self.leaf_bits);
        let config = config.expect("the number of leaves has been checked");
        let log = self.log_entries as usize;
        Config {
            discovery: self.discovery,
            sketch_cells: self.sketch_cells,
            // Each difference needs about 1.4 cells on average; cells sent in vain also count.
            sketch_first_cells: self.expected_cells().clamp(16, self.sketch_cells.max(16)),
            data_shards: self.data_shards as usize,
            size_min: self.replicas_min() as usize,
            log_entries_min: (log / 2).max(1).min(log),
            log_entries_max: log,
            log_trim_min: 1,
            requests_max: log,
            scan_min: (self.batch as usize).min(64),
            scan_max: self.batch as usize,
            active_max: self.active as usize,
            sleep: self.sleep,
            planted: self.planted,
            ..config
        }
    }

    /// Bytes that a replica holds of an object. Ceph pads an object to whole stripes; that is not modelled.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.object_bytes.div_ceil(u64::from(self.data_shards))
    }

    /// The least number of replicas with which a group accepts writes.
    #[must_use]
    pub fn replicas_min(&self) -> u32 {
        replicas_min(self.replicas, self.data_shards)
    }

    /// The expected number of objects of a group that differ.
    #[must_use]
    pub fn expected_changes(&self) -> f64 {
        let objects = f64::from(self.objects);
        match self.changes.writes {
            Writes::Distinct(count) => f64::from(count),
            Writes::Drawn(all) => {
                towtank_merkle::sizing::distinct(objects, all as f64 / f64::from(self.groups))
            }
        }
    }

    fn expected_cells(&self) -> u32 {
        let changes = self.expected_changes().max(1.0);
        (changes * towtank_merkle::cost::cells_per_difference(changes)).min(f64::from(self.sketch_cells))
            as u32
    }

    /// The devices of a group, the primary first. Devices that were away come last: a stale replica is not
    /// the primary.
    #[must_use]
    pub fn up(&self, group: u32) -> Vec<DeviceId> {
        let place = |replica: u32| DeviceId((group + replica) % self.devices);
        let mut up: Vec<DeviceId> = (0..self.replicas).map(place).collect();
        up.sort_by_key(|device| self.was_away(*device));
        up
    }

    /// The devices of a group that stayed.
    #[must_use]
    pub fn stayed(&self, group: u32) -> Vec<DeviceId> {
        self.up(group).into_iter().filter(|device| !self.was_away(*device)).collect()
    }

    /// Groups of which some replica was away; the other groups are not simulated.
    pub fn touched(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.groups).filter(|&group| self.up(group).iter().any(|device| self.was_away(*device)))
    }

    /// The utilisation of the busiest disk or NIC by clients alone: from 1 on their waiting time grows
    /// without bound, and so does the backfill's.
    ///
    /// A primary sends an object to all others, so its NIC has the most to do in groups with many replicas.
    #[must_use]
    pub fn client_share(&self) -> f64 {
        let Some(rate) = self.clients else { return 0.0 };
        let bytes = self.held_bytes();
        let clock = DiskClock::new(self.disk.clone(), Bytes::new(bytes));
        let on_disk = clock.transfer(bytes, true).saturating_add(clock.seek(bytes, true)).as_secs_f64();
        let sent = Bytes::new(bytes.saturating_add(towtank_replication::WRITE_BYTES));
        let on_card = self.nic.span_for(sent).as_secs_f64();
        // Groups whose numbers differ by a multiple of `devices` are on the same devices.
        let mut busy = vec![Busy::default(); self.devices as usize];
        for first in 0..self.devices.min(self.groups) {
            let alike = f64::from((self.groups - first).div_ceil(self.devices));
            let up = self.up(first);
            if !up.iter().any(|device| self.was_away(*device)) {
                continue;
            }
            for (place, device) in up.iter().enumerate() {
                let busy = &mut busy[device.0 as usize];
                busy.disk += alike * on_disk;
                if place == 0 {
                    busy.out += alike * on_card * (up.len() - 1) as f64;
                } else {
                    busy.inward += alike * on_card;
                }
            }
        }
        let most = busy.iter().map(|one| one.disk.max(one.out).max(one.inward)).fold(0.0, f64::max);
        most * rate.per_second_f64() / f64::from(self.groups)
    }

    /// Whether a device was away.
    #[must_use]
    pub fn was_away(&self, device: DeviceId) -> bool {
        device.0 < self.down
    }
}
