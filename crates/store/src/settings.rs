//! The settings of a cluster, and the paths of its files.
//!
//! A single directory holds everything: `cluster.json` has the settings, `cluster.id` the cluster's identity
//! ([`identity`](crate::identity)), `cluster.key` the key by which its
//! processes authenticate each other, `monitor.address` the monitor's address, `metrics.address` the one
//! where it serves Prometheus, `monitor/` and `osd.N/` the daemons' data, `log/` their output, and `run/` the
//! ids of running processes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use towtank_iosched::{Description, DescriptionError, FlowSpec, Flows, Scheduler};
use towtank_merkle::Subspace;
use towtank_replication::{Config, Discovery, Planted};
use towtank_units::SimSpan;

use crate::engine::Sync;
use crate::identity::{self, IdentityError};
use crate::wire::{ClusterKey, FRAME_MAX};

/// The settings of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The number of device daemons at the beginning.
    pub osds: u32,
    /// Placement groups.
    pub groups: u32,
    /// Copies of each object.
    pub replicas: u32,
    /// How a backfill finds differences.
    pub discovery: Discovery,
    /// The base-2 logarithm of the leaves of a group's tree, and of the ranges of its bitmap.
    pub leaf_bits: u8,
    /// Cells of a group's sketch.
    pub sketch_cells: u32,
    /// Entries that a log keeps while its group is clean.
    pub log_entries_min: u32,
    /// The most entries that it keeps.
    pub log_entries_max: u32,
    /// The most backfills that a device leads at once, and the most that it receives at once.
    pub backfills: u32,
    /// The pause after each operation of recovery, in milliseconds.
    pub recovery_sleep_ms: u64,
    /// When a write counts as durable.
    pub sync: Sync,
    /// A device that is silent for this long counts as down, in milliseconds.
    pub grace_ms: u64,
    /// A device that is down for this long is out: its objects move to other devices. In seconds.
    pub out_after_s: u64,
    /// The IP address on which all processes listen.
    pub listen: String,
    /// The scheduling of a device's work; without it all work is done as it arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// A rule of the protocol that is broken on purpose, so that a test can prove that it would notice.
    #[doc(hidden)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted: Option<Planted>,
    /// The most objects that a batch of a backfill looks at, so that a simulation with few has several.
    #[doc(hidden)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan_max: Option<u32>,
}

/// The scheduler in front of a device's work, with the parameters of the two flows, clients and recovery. An
/// operation costs one unit, plus one for each 64 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// The scheduler. Its depth is the cost in progress at once.
    pub scheduler: Description,
    /// Reads and writes of clients.
    pub client: FlowSpec,
    /// Lookups, reads and writes of log recovery and of backfills.
    pub recovery: FlowSpec,
}

impl Pacing {
    /// Both flows, in this order.
    #[must_use]
    pub(crate) fn flows(&self) -> Flows {
        Flows::new(vec![self.client.clone(), self.recovery.clone()])
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            osds: 3,
            groups: 16,
            replicas: 3,
            discovery: Discovery::Merkle,
            leaf_bits: 14,
            sketch_cells: 4_096,
            log_entries_min: 250,
            log_entries_max: 10_000,
            backfills: 1,
            recovery_sleep_ms: 0,
            sync: Sync::Always,
            grace_ms: 5_000,
            out_after_s: 600,
            listen: "127.0.0.1".to_owned(),
            pacing: None,
            planted: None,
            scan_max: None,
        }
    }
}

/// Why the files of a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The directory holds no cluster.
    #[error("there is no cluster in `{0}`")]
    Absent(PathBuf),
    /// The directory holds a cluster already.
    #[error("`{0}` already contains a cluster")]
    Present(PathBuf),
    /// A file cannot be read or written.
    #[error("`{path}`: {why}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A directory is not what belongs in its place.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The scheduler is not valid.
    #[error("{0}")]
    Pacing(#[from] DescriptionError),
    /// A setting is out of its range.
    #[error("`{key}` is {found}, but must be {range}")]
    Range {
        /// The name of the setting.
        key: &'static str,
        /// Its value.
        found: u64,
        /// The range allowed.
        range: String,
    },
}

impl Settings {
    /// Checks all settings, and reports the first that is not valid.
    ///
    /// # Errors
    /// When one is out of its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let within = |key: &'static str, found: u64, least: u64, most: u64| {
            if (least..=most).contains(&found) {
                return Ok(());
            }
            Err(SettingsError::Range { key, found, range: format!("from {least} to {most}") })
        };
        within("osds", self.osds.into(), 1, 64)?;
        within("groups", self.groups.into(), 1, 4_096)?;
        within("replicas", self.replicas.into(), 1, u64::from(self.osds.min(8)))?;
        within("leaf_bits", self.leaf_bits.into(), 0, 20)?;
        within("sketch_cells", self.sketch_cells.into(), 16, 1 << 20)?;
        within("log_entries_max", self.log_entries_max.into(), 1, 1_000_000)?;
        within("log_entries_min", self.log_entries_min.into(), 0, self.log_entries_max.into())?;
        within("backfills", self.backfills.into(), 1, 64)?;
        within("grace_ms", self.grace_ms, 500, 600_000)?;
        let free = 32 - Subspace::of_group(0, self.groups).map_or(0, |space| space.bits());
        within("leaf_bits", self.leaf_bits.into(), 0, free.into())?;
        if let Some(pacing) = &self.pacing {
            pacing.scheduler.build::<()>(&pacing.flows()).map(drop::<Scheduler<()>>)?;
        }
        Ok(())
    }

    /// The protocol parameters of a group.
    ///
    /// # Panics
    /// For settings that have not been checked.
    #[must_use]
    pub fn config(&self, group: u32) -> Config {
        let space = Subspace::of_group(group, self.groups).expect("the group is one of the cluster's");
        let config = Config::new(self.replicas as usize, space, self.leaf_bits)
            .expect("the settings have been checked");
        let log = self.log_entries_max as usize;
        let scan_max = self.scan_max.map_or(config.scan_max, |most| most as usize);
        Config {
            scan_min: config.scan_min.min(scan_max),
            scan_max,
            discovery: self.discovery,
            sketch_cells: self.sketch_cells,
            sketch_first_cells: 64.min(self.sketch_cells),
            log_entries_min: self.log_entries_min as usize,
            log_entries_max: log,
            log_trim_min: 100.min(log),
            requests_max: log.max(3_000),
            sleep: SimSpan::from_ms(self.recovery_sleep_ms),
            // A full target soon reports so itself; Ceph asks again after 30 s.
            retry: SimSpan::from_secs(5),
            // Whole objects, so that their checksums can be checked.
            chunk_bytes: FRAME_MAX as u64,
            // A former primary that is cut off from the others must not answer reads after they have
            // continued without it: it asks them for a lease, which they grant for less than the time after
            // which it counts as down.
            lease: Some(SimSpan::from_ms(self.grace_ms / 2)),
            planted: self.planted,
            ..config
        }
    }
}

/// The directory of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    directory: PathBuf,
}

impl Home {
    /// The directory of a cluster, which need not exist.
    #[must_use]
    pub fn at(directory: &Path) -> Home {
        Home { directory: directory.to_owned() }
    }

    /// The path of the directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The path of a file or directory in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Whether the directory holds a cluster.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.path("cluster.json").exists()
    }

    /// Creates the files of a new cluster.
    ///
    /// # Errors
    /// When there is one already, the settings are out of range, or a file cannot be written.
    pub fn make(&self, settings: &Settings) -> Result<(), SettingsError> {
        settings.check()?;
        if self.is_made() {
            return Err(SettingsError::Present(self.directory.clone()));
        }
        for directory in [self.directory.clone(), self.path("log"), self.path("run")] {
            let made = std::fs::create_dir_all(&directory);
            made.map_err(|error| SettingsError::File { path: directory, why: error.to_string() })?;
        }
        let mut key: ClusterKey = [0; 32];
        getrandom::fill(&mut key).map_err(|error| SettingsError::File {
            path: self.path("cluster.key"),
            why: error.to_string(),
        })?;
        self.write("cluster.key", &key)?;
        identity::make_all(&self.directory, settings.osds)?;
        self.write_settings(settings)
    }

    /// Changes the settings of a cluster of which nothing runs. Trees, sketches and bitmaps that the new
    /// settings need are built when its daemons start.
    ///
    /// # Errors
    /// When there is no cluster, the settings are out of range, or the file cannot be written.
    pub fn change(&self, settings: &Settings) -> Result<(), SettingsError> {
        self.settings()?;
        settings.check()?;
        self.write_settings(settings)
    }

    fn write_settings(&self, settings: &Settings) -> Result<(), SettingsError> {
        let text = serde_json::to_string_pretty(settings).expect("settings are plain data");
        self.write("cluster.json", format!("{text}\n").as_bytes())
    }

    /// Reads the settings of the cluster.
    ///
    /// # Errors
    /// When there is no cluster, or its file cannot be read.
    pub fn settings(&self) -> Result<Settings, SettingsError> {
        if !self.is_made() {
            return Err(SettingsError::Absent(self.directory.clone()));
        }
        let path = self.path("cluster.json");
        let fault = |why: String| SettingsError::File { path: path.clone(), why };
        let text = std::fs::read_to_string(&path).map_err(|error| fault(error.to_string()))?;
        let settings: Settings = serde_json::from_str(&text).map_err(|error| fault(error.to_string()))?;
        settings.check()?;
        Ok(settings)
    }

    /// Reads the cluster's key.
    ///
    /// # Errors
    /// When it cannot be read, or is not a key.
    pub fn key(&self) -> Result<ClusterKey, SettingsError> {
        let path = self.path("cluster.key");
        let fault = |why: String| SettingsError::File { path: path.clone(), why };
        let bytes = std::fs::read(&path).map_err(|error| fault(error.to_string()))?;
        bytes
            .try_into()
            .map_err(|bytes: Vec<u8>| fault(format!("it has {} bytes, but a key has 32", bytes.len())))
    }

    /// The address on which the monitor listens.
    ///
    /// # Errors
    /// When the monitor has never run.
    pub fn monitor_address(&self) -> Result<String, SettingsError> {
        self.address("monitor.address")
    }

    /// The address on which the monitor serves the state of the cluster in the text format of Prometheus.
    ///
    /// # Errors
    /// When the monitor has never run.
    pub fn metrics_address(&self) -> Result<String, SettingsError> {
        self.address("metrics.address")
    }

    fn address(&self, file: &str) -> Result<String, SettingsError> {
        let path = self.path(file);
        let text = std::fs::read_to_string(&path);
        text.map(|text| text.trim().to_owned())
            .map_err(|error| SettingsError::File { path, why: error.to_string() })
    }

    /// Writes a file that only its owner can read; the write is atomic.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), SettingsError> {
        let path = self.path(name);
        identity::write_synced(&path, bytes)
            .map_err(|error| SettingsError::File { path, why: error.to_string() })
    }
}
