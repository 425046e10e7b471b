//! The cluster, what changed while devices were away, and what single steps cost.

use towtank_devices::{DiskClock, DiskSpec};
use towtank_merkle::Subspace;
use towtank_replication::{Config, DeviceId, Discovery, Planted};
use towtank_units::{Bytes, Frequency, Rate, SimSpan};

/// Groups of replicas on devices of which some were away.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Placement groups.
    pub groups: u32,
    /// Devices.
    pub devices: u32,
    /// Replicas of a group, on devices that follow each other; in an erasure-coded group its positions.
    pub replicas: u32,
    /// Replicas that together make up an object: 1 where each holds all of it, and the data shards of a code
    /// where each position holds one shard.
    pub data_shards: u32,
    /// Devices that were away: the first ones.
    pub down: u32,
    /// Objects of a group before.
    pub objects: u32,
    /// Bytes of each.
    pub object_bytes: u64,
    /// What changed.
    pub changes: Changes,
    /// How what differs is found.
    pub discovery: Discovery,
    /// Leaves of a tree, and bits of a bitmap, as a power of two.
    pub leaf_bits: u8,
    /// Cells of a sketch.
    pub sketch_cells: u32,
    /// Entries that a log keeps at most.
    pub log_entries: u32,
    /// Backfills that a device leads at once, and as many that it takes in.
    pub slots: u32,
    /// Objects that a group recovers at once.
    pub active: u32,
    /// The rest after each operation of recovery.
    pub sleep: SimSpan,
    /// Objects of a batch at most.
    pub batch: u32,
    /// What steps cost.
    pub costs: Costs,
    /// Each device's disk.
    pub disk: DiskSpec,
    /// Each device's card.
    pub nic: Rate,
    /// From card to card.
    pub latency: SimSpan,
    /// Writes of clients meanwhile, to all groups together.
    pub clients: Option<Frequency>,
    /// A rule of the protocol that is broken on purpose, for tests.
    #[doc(hidden)]
    pub planted: Option<Planted>,
}

/// What changed while devices were away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changes {
    /// How many.
    pub writes: Writes,
    /// The share that made new objects.
    pub created: f64,
    /// The share that deleted objects.
    pub deleted: f64,
}

/// How many changes there were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Writes {
    /// So many objects of each group, each once.
    Distinct(u32),
    /// So many writes in all groups together, each to an object drawn at random.
    Drawn(u64),
}

/// What single steps cost beside disks and cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// To look at one object.
    pub look: SimSpan,
    /// To hold one object of the group against the ranges to skip, for each of them.
    pub range_check: SimSpan,
    /// To recover one object, at its receiver.
    pub recovery: SimSpan,
    /// To begin a backfill.
    pub startup: SimSpan,
}

/// What one write to each of its groups asks of a device, in seconds.
#[derive(Clone, Copy, Default)]
struct Busy {
    disk: f64,
    out: f64,
    inward: f64,
}

/// With fewer replicas a group takes no writes. Of copies one is enough here, as Ceph's groups of three go on
/// with two. A code needs its data shards and, where it has more than one of parity, one more: Ceph's default
/// `min_size`.
#[must_use]
pub const fn replicas_min(replicas: u32, data_shards: u32) -> u32 {
    match replicas.saturating_sub(data_shards) {
        _ if data_shards == 1 => 1,
        0 | 1 => data_shards,
        _ => data_shards + 1,
    }
}

impl Spec {
    /// The rules of its groups.
    ///
    /// # Panics
    /// When there are more leaves than a tree may have: scenarios are checked before.
    #[must_use]
    pub fn config(&self) -> Config {
        let space = Subspace::of_group(0, 1).expect("one group has all positions");
        let config = Config::new(self.replicas as usize, space, self.leaf_bits);
        let config = config.expect("the number of leaves has been checked");
        let log = self.log_entries as usize;
        Config {
            discovery: self.discovery,
            sketch_cells: self.sketch_cells,
            // What is expected to differ needs about 1.4 cells an object; what is sent in vain counts too.
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

    /// What a replica holds of an object. Ceph pads an object to whole stripes; that is left out.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.object_bytes.div_ceil(u64::from(self.data_shards))
    }

    /// With fewer replicas a group takes no writes.
    #[must_use]
    pub fn replicas_min(&self) -> u32 {
        replicas_min(self.replicas, self.data_shards)
    }

    /// Objects of a group that are expected to differ.
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

    /// Who holds a group, the primary first. Those that were away come last: a replica that is behind does
    /// not lead.
    #[must_use]
    pub fn up(&self, group: u32) -> Vec<DeviceId> {
        let place = |replica: u32| DeviceId((group + replica) % self.devices);
        let mut up: Vec<DeviceId> = (0..self.replicas).map(place).collect();
        up.sort_by_key(|device| self.was_away(*device));
        up
    }

    /// Who of them stayed.
    #[must_use]
    pub fn stayed(&self, group: u32) -> Vec<DeviceId> {
        self.up(group).into_iter().filter(|device| !self.was_away(*device)).collect()
    }

    /// Groups of which some replica was away: the others take part in nothing.
    pub fn touched(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.groups).filter(|&group| self.up(group).iter().any(|device| self.was_away(*device)))
    }

    /// The part of the time that clients keep the busiest disk or card busy while nothing else goes on: from
    /// 1 on they wait longer and longer, and so does the backfill.
    ///
    /// A primary sends an object to all others, so its card has the most to do where a group's replicas are
    /// many.
    #[must_use]
    pub fn client_share(&self) -> f64 {
        let Some(rate) = self.clients else { return 0.0 };
        let bytes = self.held_bytes();
        let clock = DiskClock::new(self.disk.clone(), Bytes::new(bytes));
        let on_disk = clock.transfer(bytes, true).saturating_add(clock.seek(bytes, true)).as_secs_f64();
        let sent = Bytes::new(bytes.saturating_add(towtank_replication::WRITE_BYTES));
        let on_card = self.nic.span_for(sent).as_secs_f64();
        // Groups that lie a multiple of `devices` apart lie on the same devices.
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
