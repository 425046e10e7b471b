//! The keys of a scenario of a backfill, the values of its presets, and its checks.

pub(crate) mod preset;
pub(crate) mod settled;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_merkle::plan::cells_for;
use towtank_merkle::sizing::{Outage, distinct};
use towtank_scenario::{Draft, Problems, did_you_mean};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

pub use self::preset::Preset;
pub use self::settled::Settled;

/// A replica was down for longer than the log covers, and is brought up to date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Defaults of costs, disks and network: the cluster of the thesis, or a small Ceph 16 on one machine.
    #[serde(default)]
    pub preset: Preset,
    /// Method to find the differences: `scan`, `bitmap`, `merkle`, `merkle-levels`, `sketch`; several with
    /// commas between them.
    #[serde(default = "discovery")]
    #[schemars(example = "scan,merkle,sketch")]
    pub discovery: String,
    /// Number of placement groups.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4_096))]
    pub groups: u32,
    /// Number of devices that hold them. Left out: as many as there are replicas, or shards of an object.
    #[serde(default)]
    #[schemars(range(min = 2, max = 1_024))]
    pub devices: Option<u32>,
    /// Number of copies of each object.
    #[serde(default = "three")]
    #[schemars(range(min = 2, max = 8))]
    pub replicas: u32,
    /// Erasure coding in place of copies: `4+2` cuts an object into 4 data shards and adds 2 parity shards,
    /// each on its own device. To recover a shard, the primary reads 4 others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ec: Option<String>,
    /// Number of devices that were down, and return at the same time.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 7))]
    pub down: u32,
    /// Objects per placement group.
    #[serde(default = "objects_per_group")]
    #[schemars(range(min = 1, max = 4_000_000))]
    pub objects_per_group: u32,
    /// The size of an object. Left out: 1KiB, as in both presets' measurements.
    #[serde(default)]
    pub object_size: Option<Bytes>,
    /// Share of a group's objects that changed during the outage. Left out: 1%, or the result of `outage` and
    /// `writes_per_second`.
    #[serde(default)]
    pub stale: Option<Percent>,
    /// Number of a group's objects that changed during the outage, in place of `stale`.
    #[serde(default)]
    #[schemars(range(max = 4_000_000))]
    pub stale_objects: Option<u32>,
    /// Length of the outage. With `writes_per_second`, in place of `stale`.
    #[serde(default)]
    pub outage: Option<SimSpan>,
    /// Rate of writes of clients to all groups together during the outage, each to a random object.
    #[serde(default)]
    pub writes_per_second: Option<Frequency>,
    /// Share of the changes that created an object.
    #[serde(default = "none")]
    pub created: Percent,
    /// Share of the changes that deleted an object.
    #[serde(default = "none")]
    pub deleted: Percent,
    /// Number of leaves of a group's tree, and of bits of its bitmap: a power of two.
    #[serde(default = "ranges")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub ranges: u32,
    /// Number of cells of a group's sketch. Left out: enough for the changed objects, plus an eighth.
    #[serde(default)]
    #[schemars(range(min = 16, max = 4_194_304))]
    pub sketch_cells: Option<u32>,
    /// Maximum number of entries of a group's log. Left out: 2, so that there is no log recovery.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub log_entries: Option<u32>,
    /// Backfills at once that a device leads, and as many that it receives: Ceph's `osd_max_backfills`.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 256))]
    pub max_backfills: u32,
    /// Number of objects that a group recovers at once: Ceph's `osd_recovery_max_active`.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 256))]
    pub recovery_max_active: u32,
    /// Sleep after each recovered object and each scanned batch: Ceph's `osd_recovery_sleep`.
    #[serde(default)]
    pub recovery_sleep: Option<SimSpan>,
    /// Number of objects scanned in one batch: Ceph's `osd_backfill_scan_max`.
    #[serde(default = "scan_batch")]
    #[schemars(range(min = 1, max = 65_536))]
    pub scan_batch: u32,
    /// Time to scan one object on each side; the sides scan one after the other.
    #[serde(default)]
    pub look_cost: Option<SimSpan>,
    /// Time to check one object of the group against one of the ranges to skip.
    #[serde(default)]
    pub range_check_cost: Option<SimSpan>,
    /// Time to recover an object, in addition to reading, sending, writing and `recovery_sleep`.
    #[serde(default)]
    pub recovery_cost: Option<SimSpan>,
    /// Time at the start of a backfill before it scans anything.
    #[serde(default)]
    pub startup: Option<SimSpan>,
    /// Groups of at most this number of objects have all of them in a cache, and scanning them is free. (An
    /// LRU cache that is smaller than a sequential scan has no hit in the next scan.)
    #[serde(default)]
    pub cached_objects: Option<u32>,
    /// Sequential read and write bandwidth of a disk.
    #[serde(default)]
    pub disk_rate: Option<Rate>,
    /// Seek time of a disk, before each read and write.
    #[serde(default)]
    pub disk_seek: Option<SimSpan>,
    /// Bandwidth of a device's NIC, in each direction.
    #[serde(default)]
    pub nic: Option<Rate>,
    /// Latency from NIC to NIC.
    #[serde(default)]
    pub latency: Option<SimSpan>,
    /// Rate of writes of clients to all groups together during the backfill, each to a random object.
    #[serde(default)]
    pub client_writes: Option<Frequency>,
}

/// The redundancy of objects: copies or an erasure code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redundancy {
    /// The number of replicas that together make up an object: 1 where each is a copy.
    pub data: u32,
    /// The number of copies, or of shards.
    pub width: u32,
}

impl Redundancy {
    /// Parses an erasure code such as `4+2`. A code of one data shard is refused, since it is the same as
    /// copies (`replicas`).
    #[must_use]
    pub(super) fn of_code(text: &str) -> Option<Redundancy> {
        let (data, parity) = text.split_once('+')?;
        let (data, parity): (u32, u32) = (data.trim().parse().ok()?, parity.trim().parse().ok()?);
        let width = data.checked_add(parity)?;
        (data > 1 && parity > 0 && width <= 64).then_some(Redundancy { data, width })
    }

    /// The minimum number of replicas with which a group takes writes.
    #[must_use]
    pub fn least(self) -> u32 {
        towtank_backfill::replicas_min(self.width, self.data)
    }
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

impl Scenario {
    /// Checks the scenario and fills in all defaults.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn settle(self, draft: &Draft) -> Result<Settled, Problems> {
        let mut problems = Problems::new();
        let redundancy = self.redundancy(draft, &mut problems);
        self.check(draft, redundancy, &mut problems);
        let shipped = self.preset.shipped();
        let rate = |bytes| Rate::from_bytes_per_second(bytes).expect("above zero");
        let changes = self.changes();
        let settled = Settled {
            preset: self.preset,
            groups: self.groups,
            devices: self.devices.unwrap_or(redundancy.width),
            replicas: self.ec.is_none().then_some(self.replicas),
            down: self.down,
            objects_per_group: self.objects_per_group,
            object_size: self.object_size.unwrap_or(Bytes::from_kib(1)),
            stale: match (self.stale, self.stale_objects, self.outage) {
                (None, None, None) => Percent::from_percent(1),
                (stale, _, _) => stale,
            },
            stale_objects: self.stale_objects,
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
            ec: self.ec,
        };
        settled.check_clients(draft, &mut problems);
        problems.into_result(settled)
    }

    /// The expected number of objects of a group that change.
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
            _ => match self.stale_objects {
                Some(count) => f64::from(count),
                None => objects * self.stale.map_or(0.01, Percent::fraction_f64),
            },
        }
    }

    fn redundancy(&self, draft: &Draft, problems: &mut Problems) -> Redundancy {
        let Some(text) = &self.ec else { return Redundancy { data: 1, width: self.replicas } };
        if draft.says("replicas") {
            let message = "`replicas` and `ec` both set the redundancy";
            problems.refuse(draft, "replicas", message, "leave one of them out");
        }
        Redundancy::of_code(text).unwrap_or_else(|| {
            let message = format!("`ec` is `{text}`, which is not an erasure code");
            let hint =
                "write data and parity shards, such as \"4+2\": at least 2 data shards, at most 64 together";
            problems.refuse(draft, "ec", message, hint);
            Redundancy { data: 1, width: 2 }
        })
    }

    fn check_devices(&self, draft: &Draft, redundancy: Redundancy, problems: &mut Problems) {
        let Redundancy { data, width } = redundancy;
        let devices = self.devices.unwrap_or(width);
        let (key, what) = if data == 1 { ("replicas", "replicas") } else { ("ec", "shards") };
        if devices < width && data == 1 {
            let message = format!("`replicas` is {width}, but there are only {devices} devices");
            problems.refuse(draft, "replicas", message, "set more `devices`, or fewer `replicas`");
        } else if devices < width {
            let message = format!("an object has {width} {what}, but there are only {devices} devices");
            problems.refuse(draft, key, message, "set more `devices`, or fewer shards");
        }
        let most = width - redundancy.least();
        if self.down <= most {
            return;
        }
        let message = if data == 1 {
            format!(
                "`down` is {}, but at least one of {width} replicas must have stayed up to know what changed",
                self.down
            )
        } else {
            let least = redundancy.least();
            format!(
                "`down` is {}, but a group of {width} shards needs {least} of them to accept writes",
                self.down
            )
        };
        problems.refuse(draft, "down", message, format!("set at most {most}"));
    }

    fn check(&self, draft: &Draft, redundancy: Redundancy, problems: &mut Problems) {
        if !self.ranges.is_power_of_two() {
            let message = format!("`ranges` is {}, but a tree has a power of two of leaves", self.ranges);
            let near = self.ranges.next_power_of_two().min(1 << 24);
            problems.refuse(draft, "ranges", message, format!("use {near} or {}", near / 2));
        }
        self.check_devices(draft, redundancy, problems);
        self.check_changes(draft, problems);
        if let Err((message, hint)) = methods(&self.discovery) {
            problems.refuse(draft, "discovery", message, hint);
        }
        let size = self.object_size.unwrap_or(Bytes::from_kib(1));
        if size.is_zero() || size > Bytes::from_mib(1024) {
            let message = format!("`object_size` is {size}, but it must lie from 1B to 1GiB");
            problems.refuse(draft, "object_size", message, "the thesis has 1KiB");
        }
    }

    fn check_changes(&self, draft: &Draft, problems: &mut Problems) {
        if self.outage.is_some() != self.writes_per_second.is_some() {
            let (has, lacks) = match self.outage {
                Some(_) => ("outage", "writes_per_second"),
                None => ("writes_per_second", "outage"),
            };
            let message = format!("`{has}` has an effect only together with `{lacks}`");
            problems.refuse(draft, has, message, format!("set `{lacks}` too, or `stale` in place of both"));
        } else if self.outage.is_some() && self.stale.is_some() {
            let message = "`stale` and `outage` both set how many objects changed";
            problems.refuse(draft, "stale", message, "leave one of them out");
        }
        if let Some(count) = self.stale_objects {
            if self.stale.is_some() || self.outage.is_some() {
                let other = if self.stale.is_some() { "stale" } else { "outage" };
                let message = format!("`stale_objects` and `{other}` both set how many objects changed");
                problems.refuse(draft, "stale_objects", message, "leave one of them out");
            }
            if count > self.objects_per_group {
                let message =
                    format!("`stale_objects` is {count}, but a group has {} objects", self.objects_per_group);
                problems.refuse(draft, "stale_objects", message, "lower it, or raise `objects_per_group`");
            }
        }
        for (key, share) in
            [("stale", self.stale), ("created", Some(self.created)), ("deleted", Some(self.deleted))]
        {
            if let Some(share) = share.filter(|&share| share > Percent::FULL) {
                let message = format!("`{key}` is {share}, more than 100%");
                problems.refuse(draft, key, message, "set it to at most 100%");
            }
        }
        if self.created.fraction_f64() + self.deleted.fraction_f64() > 1.0 {
            let message = format!(
                "`created` ({}) and `deleted` ({}) add up to more than 100%",
                self.created, self.deleted
            );
            problems.refuse(draft, "created", message, "the rest of the changes modifies objects in place");
        }
        // Every write of the outage is done before the run, so their number is limited.
        let changes = match (self.outage, self.writes_per_second) {
            (Some(outage), Some(writes)) => outage.as_secs_f64() * writes.per_second_f64(),
            _ => 0.0,
        };
        if changes > CHANGES_MAX {
            let message = format!(
                "`outage` and `writes_per_second` make {changes:.0} writes, and each is done before the run"
            );
            problems.refuse(
                draft,
                "outage",
                message,
                format!("the limit is {CHANGES_MAX:.0}; set `stale` in place of them"),
            );
        }
    }
}

/// The maximum number of writes during an outage.
const CHANGES_MAX: f64 = 50_000_000.0;

/// A method to find the objects that differ, as scenarios name it.
pub use towtank_backfill::Discovery;

/// Parses a list of methods.
///
/// # Errors
/// When a name is unknown, occurs twice, or there is none: the message and a hint.
pub fn methods(text: &str) -> Result<Vec<Discovery>, (String, String)> {
    let names = || Discovery::ALL.into_iter().map(Discovery::name);
    let mut found: Vec<Discovery> = Vec::new();
    for word in text.split(',').map(str::trim) {
        let method = Discovery::named(&word.replace('_', "-"));
        let Some(method) = method else {
            let hint = did_you_mean(word, names())
                .unwrap_or_else(|| format!("the methods are {}", names().collect::<Vec<_>>().join(", ")));
            return Err((format!("`discovery` names `{word}`, which is not a method"), hint));
        };
        if found.contains(&method) {
            return Err((format!("`discovery` names `{word}` twice"), "name it once".to_owned()));
        }
        found.push(method);
    }
    Ok(found)
}
