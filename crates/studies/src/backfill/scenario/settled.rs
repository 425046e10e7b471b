//! A backfill in which nothing is left open: its model, and the memory that takes.

use serde::{Deserialize, Serialize};
use towtank_backfill::{Changes, Costs, Layouts, Spec, Writes};
use towtank_devices::{DiskSpec, SeekRow};
use towtank_merkle::{Sketch, Tree};
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use super::{Discovery, Preset, Redundancy, methods};

/// A scenario in which nothing is left open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// As in the scenario, like all that follows.
    pub preset: Preset,
    /// How what differs is found.
    pub discovery: String,
    /// Placement groups.
    pub groups: u32,
    /// Devices.
    pub devices: u32,
    /// Copies; none where a code says how objects are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// The code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ec: Option<String>,
    /// Devices that were away.
    pub down: u32,
    /// Objects of a group.
    pub objects_per_group: u32,
    /// Bytes of an object.
    pub object_size: Bytes,
    /// The share of objects that changed, where the scenario says so and not how it came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<Percent>,
    /// Their number, where the scenario says that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_objects: Option<u32>,
    /// How it came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<SimSpan>,
    /// How it came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_per_second: Option<Frequency>,
    /// The share of changes that made an object.
    pub created: Percent,
    /// The share of changes that deleted one.
    pub deleted: Percent,
    /// Leaves of a tree.
    pub ranges: u32,
    /// Cells of a sketch.
    pub sketch_cells: u32,
    /// Entries of a log.
    pub log_entries: u32,
    /// Backfills at once.
    pub max_backfills: u32,
    /// Objects at once.
    pub recovery_max_active: u32,
    /// The rest after each.
    pub recovery_sleep: SimSpan,
    /// Objects of a batch.
    pub scan_batch: u32,
    /// To look at an object.
    pub look_cost: SimSpan,
    /// To hold it against ranges.
    pub range_check_cost: SimSpan,
    /// To recover it.
    pub recovery_cost: SimSpan,
    /// To begin.
    pub startup: SimSpan,
    /// Objects that are in a cache.
    pub cached_objects: u32,
    /// Bytes a disk moves in a second.
    pub disk_rate: Rate,
    /// To move its head.
    pub disk_seek: SimSpan,
    /// Bytes a card moves in a second.
    pub nic: Rate,
    /// From card to card.
    pub latency: SimSpan,
    /// Writes of clients meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_writes: Option<Frequency>,
}

/// The most of the disks or cards that clients may take when all is well: a backfill needs the rest.
const CLIENTS_MAX: f64 = 0.7;

/// Bytes that an object that changed takes in a replica's table. Measured on groups of 20,000 and 400,000
/// objects of which 20 and 50 % had changed: 426 to 435 in five tables.
const CHANGED: f64 = 86.0;

impl Settled {
    /// Clients that the disks or cards could not serve even without a backfill would wait for ever, and the
    /// backfill with them.
    pub(super) fn check_clients(&self, draft: &Draft, problems: &mut Problems) {
        let Some(rate) = self.client_writes.filter(|rate| !rate.is_zero()) else { return };
        let share = self.spec(Discovery::Scan).client_share();
        if share > CLIENTS_MAX {
            let message = format!(
                "`client_writes` is {rate}, which alone keeps a disk or a card busy for {:.0} % of the time",
                100.0 * share
            );
            let hint = format!(
                "at most {:.3}/s, which leave {:.0} % to a backfill; or set more `devices`, or faster disks and cards",
                rate.per_second_f64() * CLIENTS_MAX / share,
                100.0 * (1.0 - CLIENTS_MAX)
            );
            problems.push(draft.problem("client_writes", message).hint(hint));
        }
    }

    /// Copies, or shards and how many of them make an object.
    #[must_use]
    pub fn redundancy(&self) -> Redundancy {
        let copies = Redundancy { data: 1, width: self.replicas.unwrap_or(2) };
        self.ec.as_deref().and_then(Redundancy::of_code).unwrap_or(copies)
    }

    /// The methods, in the order in which they are named.
    #[must_use]
    pub fn methods(&self) -> Vec<Discovery> {
        methods(&self.discovery).expect("they have been checked")
    }

    /// The cluster of one run.
    #[must_use]
    pub fn spec(&self, discovery: Discovery) -> Spec {
        let seek = SeekRow { from: Bytes::ZERO, read: self.disk_seek, write: self.disk_seek };
        Spec {
            groups: self.groups,
            devices: self.devices,
            replicas: self.redundancy().width,
            data_shards: self.redundancy().data,
            down: self.down,
            objects: self.objects_per_group,
            object_bytes: self.object_size.get(),
            changes: Changes {
                writes: self.writes(),
                created: self.created.fraction_f64(),
                deleted: self.deleted.fraction_f64(),
            },
            discovery,
            leaf_bits: self.ranges.trailing_zeros() as u8,
            sketch_cells: self.sketch_cells,
            log_entries: self.log_entries,
            slots: self.max_backfills,
            active: self.recovery_max_active,
            sleep: self.recovery_sleep,
            batch: self.scan_batch,
            costs: Costs {
                look: if self.objects_per_group <= self.cached_objects {
                    SimSpan::ZERO
                } else {
                    self.look_cost
                },
                range_check: self.range_check_cost,
                recovery: self.recovery_cost,
                startup: self.startup,
            },
            disk: DiskSpec {
                read: self.disk_rate,
                write: self.disk_rate,
                read_overhead: SimSpan::ZERO,
                write_overhead: SimSpan::ZERO,
                seeks: vec![seek],
                extent: Bytes::ZERO,
            },
            nic: self.nic,
            latency: self.latency,
            clients: self.client_writes.filter(|rate| !rate.is_zero()),
            planted: None,
        }
    }

    /// Objects of a group that changed, where the scenario says so.
    #[must_use]
    pub fn stale_count(&self) -> u32 {
        let share = self.stale.unwrap_or(Percent::ZERO);
        self.stale_objects.unwrap_or_else(|| share.of(u64::from(self.objects_per_group)) as u32)
    }

    fn writes(&self) -> Writes {
        match (self.stale, self.outage, self.writes_per_second) {
            (None, Some(outage), Some(writes)) => {
                Writes::Drawn((outage.as_secs_f64() * writes.per_second_f64()).round() as u64)
            }
            _ => Writes::Distinct(self.stale_count()),
        }
    }

    /// About how much memory a replicate takes: tables of where objects lie, what changed, and summaries.
    /// Those of the replicas stand there twice, as the run finds them and as it changes them.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        const PROGRAM: f64 = 10_000_000.0;
        let spec = self.spec(Discovery::Scan);
        let touched = spec.touched().count() as f64;
        let tables_of_changes = f64::from(2 * (spec.replicas - self.down) + self.down);
        let changed = spec.expected_changes() * touched * tables_of_changes * CHANGED;
        // Discoveries run one after the other, so the largest counts.
        let summary = self.methods().into_iter().map(|method| self.summary_bytes(method)).max().unwrap_or(0);
        let summaries = touched * f64::from(spec.replicas) * 2.0 * summary as f64;
        let shuffled = 4.0 * f64::from(self.objects_per_group);
        let tables = Layouts::memory(self.groups, self.objects_per_group) as f64;
        Bytes::new((PROGRAM + tables + shuffled + changed + summaries) as u64)
    }

    /// What a replica keeps up to date for a discovery.
    fn summary_bytes(&self, method: Discovery) -> u64 {
        let tree = Tree::memory_bytes(self.ranges.trailing_zeros() as u8);
        match method {
            Discovery::Scan => 0,
            Discovery::Bitmap => u64::from(self.ranges).div_ceil(8),
            Discovery::Merkle | Discovery::MerkleLevels => tree,
            Discovery::Sketch => tree + Sketch::memory_bytes(u64::from(self.sketch_cells)),
        }
    }
}
