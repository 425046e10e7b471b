//! A backfill with all defaults filled in: its model, and an estimate of its memory.

use serde::{Deserialize, Serialize};
use towtank_backfill::{Changes, Costs, Layouts, Spec, Writes};
use towtank_devices::{DiskSpec, SeekRow};
use towtank_merkle::{Sketch, Tree};
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use super::{Discovery, Preset, Redundancy, methods};

/// A scenario with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// The preset; this and the following fields are keys of the scenario.
    pub preset: Preset,
    /// The discovery methods, separated by commas.
    pub discovery: String,
    /// The number of placement groups.
    pub groups: u32,
    /// The number of devices.
    pub devices: u32,
    /// The number of copies; none where an erasure code is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// The erasure code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ec: Option<String>,
    /// The number of devices that were away.
    pub down: u32,
    /// Objects per group.
    pub objects_per_group: u32,
    /// Bytes per object.
    pub object_size: Bytes,
    /// The share of objects that changed, where the scenario gives it directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<Percent>,
    /// The number of objects that changed, where the scenario gives that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_objects: Option<u32>,
    /// How long the devices were away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<SimSpan>,
    /// Writes of clients during the outage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_per_second: Option<Frequency>,
    /// The share of changes that created an object.
    pub created: Percent,
    /// The share of changes that deleted an object.
    pub deleted: Percent,
    /// Leaves per tree.
    pub ranges: u32,
    /// Cells per sketch.
    pub sketch_cells: u32,
    /// Entries per log.
    pub log_entries: u32,
    /// Backfills that a device leads at once.
    pub max_backfills: u32,
    /// Objects that a group recovers at once.
    pub recovery_max_active: u32,
    /// Recovery sleep after each recovered object and each scanned batch.
    pub recovery_sleep: SimSpan,
    /// Objects per scanned batch.
    pub scan_batch: u32,
    /// The cost of looking at an object, on each side.
    pub look_cost: SimSpan,
    /// The cost of comparing an object with one range to skip.
    pub range_check_cost: SimSpan,
    /// The cost of recovering an object, beside reading, sending, writing and resting.
    pub recovery_cost: SimSpan,
    /// The cost of a backfill before it looks at anything.
    pub startup: SimSpan,
    /// Groups of at most this many objects have them in a cache.
    pub cached_objects: u32,
    /// Bytes that a disk reads or writes per second.
    pub disk_rate: Rate,
    /// The seek time of a disk.
    pub disk_seek: SimSpan,
    /// Bytes that a NIC moves per second.
    pub nic: Rate,
    /// The latency from NIC to NIC.
    pub latency: SimSpan,
    /// Writes of clients during the backfill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_writes: Option<Frequency>,
}

/// The largest share of the disks or NICs that clients may use when nothing else runs: a backfill needs the
/// rest.
const CLIENTS_MAX: f64 = 0.7;

/// Bytes per changed object in a replica's table. Measured on groups of 20,000 and 400,000 objects of which
/// 20 and 50 % had changed: 426 to 435 in five tables.
const CHANGED: f64 = 86.0;

impl Settled {
    /// Checks that the disks and NICs can serve the clients without a backfill; otherwise both clients and
    /// backfill would wait for ever.
    pub(super) fn check_clients(&self, draft: &Draft, problems: &mut Problems) {
        let Some(rate) = self.client_writes.filter(|rate| !rate.is_zero()) else { return };
        let share = self.spec(Discovery::Scan).client_share();
        if share > CLIENTS_MAX {
            let message = format!(
                "`client_writes` is {rate}, which alone keeps a disk or a NIC busy for {:.0} % of the time",
                100.0 * share
            );
            let hint = format!(
                "set at most {:.3}/s, which leaves {:.0} % to a backfill; or set more `devices`, or faster disks and NICs",
                rate.per_second_f64() * CLIENTS_MAX / share,
                100.0 * (1.0 - CLIENTS_MAX)
            );
            problems.refuse(draft, "client_writes", message, hint);
        }
    }

    /// The redundancy: copies, or shards and how many of them make an object.
    #[must_use]
    pub fn redundancy(&self) -> Redundancy {
        let copies = Redundancy { data: 1, width: self.replicas.unwrap_or(2) };
        self.ec.as_deref().and_then(Redundancy::of_code).unwrap_or(copies)
    }

    /// The methods, in the order of the scenario.
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

    /// The number of objects of a group that changed, where the scenario gives it.
    #[must_use]
    pub(crate) fn stale_count(&self) -> u32 {
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

    /// An estimate of the memory of a replicate: tables of where objects lie, what changed, and summaries.
    /// The tables of replicas count twice: as the run finds them and as it changes them.
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

    /// Bytes that a replica maintains for a discovery.
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
