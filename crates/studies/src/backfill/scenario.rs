//! What a user may say about a backfill, what a preset fills in, and what is wrong with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_backfill::{Changes, Costs, Layouts, Spec, Writes};
use towtank_devices::{DiskSpec, SeekRow};
use towtank_merkle::plan::cells_for;
use towtank_merkle::sizing::{Outage, distinct};
use towtank_merkle::{Sketch, Tree};
use towtank_scenario::{Draft, Problems, did_you_mean};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

/// A replica was away for longer than the log remembers, and is brought up to date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where defaults of costs, disks and network come from: the cluster of the thesis, or a small Ceph 16 on one
    /// machine.
    #[serde(default)]
    pub preset: Preset,
    /// How what differs is found: `scan`, `bitmap`, `merkle`, `merkle-levels`, `sketch`; several with commas between
    /// them.
    #[serde(default = "discovery")]
    #[schemars(example = "scan,merkle,sketch")]
    pub discovery: String,
    /// Placement groups.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4_096))]
    pub groups: u32,
    /// Devices that hold them. Left out: as many as there are replicas.
    #[serde(default)]
    #[schemars(range(min = 2, max = 1_024))]
    pub devices: Option<u32>,
    /// Copies of each object.
    #[serde(default = "three")]
    #[schemars(range(min = 2, max = 8))]
    pub replicas: u32,
    /// Devices that were away, and come back at the same time.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 7))]
    pub down: u32,
    /// Objects of a placement group.
    #[serde(default = "objects_per_group")]
    #[schemars(range(min = 1, max = 4_000_000))]
    pub objects_per_group: u32,
    /// The size of an object. Left out: 1KiB, as in both presets' measurements.
    #[serde(default)]
    pub object_size: Option<Bytes>,
    /// The share of a group's objects that changed meanwhile. Left out: 1%, or what `outage` and `writes_per_second`
    /// make of it.
    #[serde(default)]
    pub stale: Option<Percent>,
    /// How long the device was away. With `writes_per_second`, in place of `stale`.
    #[serde(default)]
    pub outage: Option<SimSpan>,
    /// Writes of clients to all groups together while it was away, each to an object drawn at random.
    #[serde(default)]
    pub writes_per_second: Option<Frequency>,
    /// The share of the changes that made a new object.
    #[serde(default = "none")]
    pub created: Percent,
    /// The share of the changes that deleted an object.
    #[serde(default = "none")]
    pub deleted: Percent,
    /// Leaves of a group's tree, bits of its bitmap: a power of two.
    #[serde(default = "ranges")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub ranges: u32,
    /// Cells of a group's sketch. Left out: enough for the objects that changed, with an eighth in reserve.
    #[serde(default)]
    #[schemars(range(min = 16, max = 4_194_304))]
    pub sketch_cells: Option<u32>,
    /// Entries that a group's log keeps at most. Left out: 2, so that nothing is recovered by the log.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub log_entries: Option<u32>,
    /// Backfills a device leads at once, and as many again that it takes in: Ceph's `osd_max_backfills`.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 256))]
    pub max_backfills: u32,
    /// Objects that a group recovers at once: Ceph's `osd_recovery_max_active`.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 256))]
    pub recovery_max_active: u32,
    /// The rest after each object that was recovered and each batch that was looked at: Ceph's `osd_recovery_sleep`.
    #[serde(default)]
    pub recovery_sleep: Option<SimSpan>,
    /// Objects looked at in one batch: Ceph's `osd_backfill_scan_max`.
    #[serde(default = "scan_batch")]
    #[schemars(range(min = 1, max = 65_536))]
    pub scan_batch: u32,
    /// What looking at one object costs on each side; the sides look one after the other.
    #[serde(default)]
    pub look_cost: Option<SimSpan>,
    /// What each object of the group costs to be held against the ranges to skip, for each of them.
    #[serde(default)]
    pub range_check_cost: Option<SimSpan>,
    /// What recovering an object costs beside reading, sending, writing and resting.
    #[serde(default)]
    pub recovery_cost: Option<SimSpan>,
    /// What a backfill costs before it looks at anything.
    #[serde(default)]
    pub startup: Option<SimSpan>,
    /// Groups of no more objects than this have them in a cache, and looking at them is free. An LRU cache that is
    /// smaller than what is gone through in order holds nothing of it when it is gone through again.
    #[serde(default)]
    pub cached_objects: Option<u32>,
    /// How fast a disk reads and writes, the head in place.
    #[serde(default)]
    pub disk_rate: Option<Rate>,
    /// What moving its head costs, before each read and write.
    #[serde(default)]
    pub disk_seek: Option<SimSpan>,
    /// A device's card, each way.
    #[serde(default)]
    pub nic: Option<Rate>,
    /// From one card to another.
    #[serde(default)]
    pub latency: Option<SimSpan>,
    /// Writes of clients to all groups together while they are brought up to date, each to an object drawn at random.
    #[serde(default)]
    pub client_writes: Option<Frequency>,
}

/// Where defaults come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The cluster of the thesis: disks of 80 random writes a second, a rest of 0.1 s, 5.2 ms an object looked at on
    /// both sides.
    #[default]
    Thesis,
    /// A small Ceph 16.2 on one machine over loopback, measured: no rest, 26 us an object looked at.
    Ceph16Loopback,
}

fn discovery() -> String {
    "scan,merkle,sketch".to_owned()
}

fn one() -> u32 {
    1
}

fn three() -> u32 {
    3
}

fn objects_per_group() -> u32 {
    50_000
}

fn none() -> Percent {
    Percent::ZERO
}

fn ranges() -> u32 {
    16_384
}

fn scan_batch() -> u32 {
    512
}

/// A scenario in which nothing is left open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// As in [`Scenario`], like all that follows.
    pub preset: Preset,
    /// How what differs is found.
    pub discovery: String,
    /// Placement groups.
    pub groups: u32,
    /// Devices.
    pub devices: u32,
    /// Copies.
    pub replicas: u32,
    /// Devices that were away.
    pub down: u32,
    /// Objects of a group.
    pub objects_per_group: u32,
    /// Bytes of an object.
    pub object_size: Bytes,
    /// The share of objects that changed, where the scenario says so and not how it came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<Percent>,
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

/// The numbers of a preset.
struct Shipped {
    recovery_sleep: SimSpan,
    look_cost: SimSpan,
    range_check_cost: SimSpan,
    recovery_cost: SimSpan,
    startup: SimSpan,
    cached_objects: u32,
    disk_rate: u64,
    disk_seek: SimSpan,
    nic: u64,
    latency: SimSpan,
}

impl Preset {
    fn shipped(self) -> Shipped {
        match self {
            // 5.2 ms for each object looked at, half of it on each side, and 0.135 s for each one recovered fit table
            // 2 from 10,000 objects on within 6 %. Of the latter, 0.1 s is Ceph's rest on rotating disks, 12.5 ms each
            // the read and the write of a disk of 80 random operations a second (the thesis's own figure), and 10 ms
            // are left. The rows of 5,000 objects fit only where looking is free: a metadata cache that holds 5,000
            // objects and not 10,000 would make it so; that it did is a hypothesis. The thesis says that its R-tree of
            // ranges makes 32 Ki ranges a bit slower than 16 Ki and does not say what a search costs: 200 ns for each
            // range is chosen so that more ranges gain next to nothing there.
            Preset::Thesis => Shipped {
                recovery_sleep: SimSpan::from_ms(100),
                look_cost: SimSpan::from_us(2_600),
                range_check_cost: SimSpan::from_ns(200),
                recovery_cost: SimSpan::from_ms(10),
                startup: SimSpan::ZERO,
                cached_objects: 7_500,
                disk_rate: 150_000_000,
                disk_seek: SimSpan::from_us(12_500),
                nic: 125_000_000,
                latency: SimSpan::from_us(100),
            },
            // Fitted by relative least squares on the eight runs of repetition 0 with one group of 5,000 or 20,000
            // objects and no rest: 0.163 s, 25.8 us for each object, 1.204 ms for each one that was altered. The last
            // is of everything that recovering one takes, so disk and network cost next to nothing of their own.
            Preset::Ceph16Loopback => Shipped {
                recovery_sleep: SimSpan::ZERO,
                look_cost: SimSpan::from_ns(12_900),
                range_check_cost: SimSpan::ZERO,
                recovery_cost: SimSpan::from_us(1_160),
                startup: SimSpan::from_ms(163),
                cached_objects: 0,
                disk_rate: 2_000_000_000,
                disk_seek: SimSpan::ZERO,
                nic: 5_000_000_000,
                latency: SimSpan::from_us(20),
            },
        }
    }
}

impl Scenario {
    /// Everything that is wrong with it, or the same with nothing left open.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn settle(self, draft: &Draft) -> Result<Settled, Problems> {
        let mut problems = Problems::new();
        self.check(draft, &mut problems);
        let shipped = self.preset.shipped();
        let rate = |bytes| Rate::from_bytes_per_second(bytes).expect("above zero");
        let changes = self.changes();
        let settled = Settled {
            preset: self.preset,
            groups: self.groups,
            devices: self.devices.unwrap_or(self.replicas),
            replicas: self.replicas,
            down: self.down,
            objects_per_group: self.objects_per_group,
            object_size: self.object_size.unwrap_or(Bytes::from_kib(1)),
            stale: match (self.stale, self.outage) {
                (None, None) => Percent::from_percent(1),
                (stale, _) => stale,
            },
            outage: self.outage,
            writes_per_second: self.writes_per_second,
            created: self.created,
            deleted: self.deleted,
            ranges: self.ranges,
            sketch_cells: self.sketch_cells.unwrap_or_else(|| cells_for(changes) as u32),
            log_entries: self.log_entries.unwrap_or(2),
            max_backfills: self.max_backfills,
            recovery_max_active: self.recovery_max_active,
            recovery_sleep: self.recovery_sleep.unwrap_or(shipped.recovery_sleep),
            scan_batch: self.scan_batch,
            look_cost: self.look_cost.unwrap_or(shipped.look_cost),
            range_check_cost: self.range_check_cost.unwrap_or(shipped.range_check_cost),
            recovery_cost: self.recovery_cost.unwrap_or(shipped.recovery_cost),
            startup: self.startup.unwrap_or(shipped.startup),
            cached_objects: self.cached_objects.unwrap_or(shipped.cached_objects),
            disk_rate: self.disk_rate.unwrap_or(rate(shipped.disk_rate)),
            disk_seek: self.disk_seek.unwrap_or(shipped.disk_seek),
            nic: self.nic.unwrap_or(rate(shipped.nic)),
            latency: self.latency.unwrap_or(shipped.latency),
            client_writes: self.client_writes,
            discovery: self.discovery,
        };
        settled.check_clients(draft, &mut problems);
        problems.into_result(settled)
    }

    /// Objects of a group that are expected to change.
    fn changes(&self) -> f64 {
        let objects = f64::from(self.objects_per_group);
        match (self.outage, self.writes_per_second) {
            (Some(outage), Some(writes)) => {
                let outage = Outage {
                    span_s: outage.as_secs_f64(),
                    writes_per_second: writes.per_second_f64(),
                    groups: f64::from(self.groups),
                };
                distinct(objects, outage.writes_per_group())
            }
            _ => objects * self.stale.map_or(0.01, Percent::fraction_f64),
        }
    }

    fn check(&self, draft: &Draft, problems: &mut Problems) {
        if !self.ranges.is_power_of_two() {
            let message = format!("`ranges` is {}, but a tree has a power of two of leaves", self.ranges);
            let near = self.ranges.next_power_of_two().min(1 << 24);
            problems.push(draft.problem("ranges", message).hint(format!("take {near} or {}", near / 2)));
        }
        let devices = self.devices.unwrap_or(self.replicas);
        if devices < self.replicas {
            let message = format!("`replicas` is {}, but there are only {devices} devices", self.replicas);
            problems.push(draft.problem("replicas", message).hint("set more `devices`, or fewer `replicas`"));
        }
        if self.down >= self.replicas {
            let message = format!(
                "`down` is {}, but of {} replicas one at least must have stayed to know what changed",
                self.down, self.replicas
            );
            problems.push(draft.problem("down", message).hint(format!("at most {}", self.replicas - 1)));
        }
        self.check_changes(draft, problems);
        if let Err((message, hint)) = methods(&self.discovery) {
            problems.push(draft.problem("discovery", message).hint(hint));
        }
        let size = self.object_size.unwrap_or(Bytes::from_kib(1));
        if size.is_zero() || size > Bytes::from_mib(1024) {
            let message = format!("`object_size` is {size}, but it must lie from 1B to 1GiB");
            problems.push(draft.problem("object_size", message).hint("1KiB is what the thesis has"));
        }
    }

    fn check_changes(&self, draft: &Draft, problems: &mut Problems) {
        if self.outage.is_some() != self.writes_per_second.is_some() {
            let (has, lacks) = match self.outage {
                Some(_) => ("outage", "writes_per_second"),
                None => ("writes_per_second", "outage"),
            };
            let message = format!("`{has}` says how objects changed only together with `{lacks}`");
            problems.push(
                draft.problem(has, message).hint(format!("set `{lacks}` too, or `stale` in place of both")),
            );
        } else if self.outage.is_some() && self.stale.is_some() {
            let message = "`stale` and `outage` both say how many objects changed";
            problems.push(draft.problem("stale", message).hint("leave one of them out"));
        }
        for (key, share) in
            [("stale", self.stale), ("created", Some(self.created)), ("deleted", Some(self.deleted))]
        {
            if let Some(share) = share.filter(|&share| share > Percent::FULL) {
                let message = format!("`{key}` is {share}, more than all");
                problems.push(draft.problem(key, message).hint("at most 100%"));
            }
        }
        if self.created.fraction_f64() + self.deleted.fraction_f64() > 1.0 {
            let message = format!(
                "`created` ({}) and `deleted` ({}) are more than all changes",
                self.created, self.deleted
            );
            problems.push(
                draft.problem("created", message).hint("what is left of them changes objects in place"),
            );
        }
        // Two changes by the log's numbers may not be more than versions can tell.
        let changes = match (self.outage, self.writes_per_second) {
            (Some(outage), Some(writes)) => outage.as_secs_f64() * writes.per_second_f64(),
            _ => 0.0,
        };
        if changes > CHANGES_MAX {
            let message = format!(
                "`outage` and `writes_per_second` are {changes:.0} writes, each of which is done before the run"
            );
            problems.push(
                draft
                    .problem("outage", message)
                    .hint(format!("at most {CHANGES_MAX:.0}; set `stale` in place of them")),
            );
        }
    }
}

/// The most of the disks or cards that clients may take when all is well: a backfill needs the rest.
const CLIENTS_MAX: f64 = 0.7;

/// The most writes of an outage.
const CHANGES_MAX: f64 = 50_000_000.0;

/// A way to find what differs, as scenarios name it.
pub use towtank_backfill::Discovery;

/// The methods of a list of names; or what is wrong with it, and a hint.
///
/// # Errors
/// When a name is unknown, comes twice, or there is none.
pub fn methods(text: &str) -> Result<Vec<Discovery>, (String, String)> {
    let names = || Discovery::ALL.into_iter().map(name_of);
    let mut found: Vec<Discovery> = Vec::new();
    for word in text.split(',').map(str::trim) {
        let method = Discovery::ALL.into_iter().find(|method| name_of(*method) == word.replace('_', "-"));
        let Some(method) = method else {
            let hint = did_you_mean(word, names())
                .unwrap_or_else(|| format!("the methods are {}", names().collect::<Vec<_>>().join(", ")));
            return Err((format!("`discovery` names `{word}`, which is no method"), hint));
        };
        if found.contains(&method) {
            return Err((format!("`discovery` names `{word}` twice"), "name it once".to_owned()));
        }
        found.push(method);
    }
    Ok(found)
}

/// The word in scenarios.
#[must_use]
pub const fn name_of(method: Discovery) -> &'static str {
    match method {
        Discovery::Scan => "scan",
        Discovery::Bitmap => "bitmap",
        Discovery::Merkle => "merkle",
        Discovery::MerkleLevels => "merkle-levels",
        Discovery::Sketch => "sketch",
    }
}

impl Settled {
    /// Clients that the disks or cards could not serve even without a backfill would wait for ever, and the backfill
    /// with them.
    fn check_clients(&self, draft: &Draft, problems: &mut Problems) {
        let Some(rate) = self.client_writes.filter(|rate| !rate.is_zero()) else { return };
        let copies = f64::from(self.replicas) / f64::from(self.devices);
        let write = self.disk_seek.saturating_add(self.disk_rate.span_for(self.object_size));
        let card = self.nic.span_for(self.object_size);
        // A primary sends what all others receive.
        let busy = copies * write.as_secs_f64().max(card.as_secs_f64());
        let share = rate.per_second_f64() * busy;
        if share > CLIENTS_MAX {
            let most = (CLIENTS_MAX / busy).floor();
            let message = format!(
                "`client_writes` is {rate}, but {} devices serve at most {most}/s of {} at {:.0} % of their disks or cards",
                self.devices,
                self.object_size,
                100.0 * CLIENTS_MAX
            );
            problems.push(
                draft.problem("client_writes", message).hint("set less, or more devices and faster disks"),
            );
        }
    }

    /// The methods, in the order in which they are named.
    #[must_use]
    pub fn methods(&self) -> Vec<Discovery> {
        methods(&self.discovery).expect("they have been checked")
    }
}

/// Bytes that an object that changed takes in a replica's table. Measured on groups of 20,000 and 400,000 objects of
/// which 20 and 50 % had changed: 426 to 435 in five tables.
const CHANGED: f64 = 86.0;

impl Settled {
    /// The cluster of one run.
    #[must_use]
    pub fn spec(&self, discovery: Discovery) -> Spec {
        let seek = SeekRow { from: Bytes::ZERO, read: self.disk_seek, write: self.disk_seek };
        Spec {
            groups: self.groups,
            devices: self.devices,
            replicas: self.replicas,
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

    fn writes(&self) -> Writes {
        match (self.stale, self.outage, self.writes_per_second) {
            (None, Some(outage), Some(writes)) => {
                Writes::Drawn((outage.as_secs_f64() * writes.per_second_f64()).round() as u64)
            }
            (stale, _, _) => {
                let share = stale.unwrap_or(Percent::ZERO);
                Writes::Distinct(share.of(u64::from(self.objects_per_group)) as u32)
            }
        }
    }

    /// About how much memory a replicate takes: tables of where objects lie, what changed, and summaries. Those of the
    /// replicas stand there twice, as the run finds them and as it changes them.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        const PROGRAM: f64 = 10_000_000.0;
        let spec = self.spec(Discovery::Scan);
        let touched = spec.touched().count() as f64;
        let tables_of_changes = f64::from(2 * (self.replicas - self.down) + self.down);
        let changed = spec.expected_changes() * touched * tables_of_changes * CHANGED;
        // Discoveries run one after the other, so the largest counts.
        let summary = self.methods().into_iter().map(|method| self.summary_bytes(method)).max().unwrap_or(0);
        let summaries = touched * f64::from(self.replicas) * 2.0 * summary as f64;
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
