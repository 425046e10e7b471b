//! What a cluster is made with, and where its files lie.
//!
//! A directory holds all of it: `cluster.json` says how it was made, `cluster.key` is what its processes know
//! each other by, `monitor.address` where the monitor listens, `metrics.address` where it answers Prometheus,
//! `monitor/` and `osd.N/` what they keep, `log/` what they say, and `run/` which processes they are.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use towtank_iosched::{Description, DescriptionError, FlowSpec, Flows, Scheduler};
use towtank_merkle::Subspace;
use towtank_replication::{Config, Discovery, Planted};
use towtank_units::SimSpan;

use crate::engine::Sync;
use crate::wire::{ClusterKey, FRAME_MAX};

/// How a cluster was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Device daemons at the beginning.
    pub osds: u32,
    /// Placement groups.
    pub groups: u32,
    /// Copies of each object.
    pub replicas: u32,
    /// How a backfill finds what differs.
    pub discovery: Discovery,
    /// Leaves of a group's tree, and ranges of its bitmap, as a power of two.
    pub leaf_bits: u8,
    /// Cells of a group's sketch.
    pub sketch_cells: u32,
    /// Entries that a log keeps while its group is clean.
    pub log_entries_min: u32,
    /// Entries that it keeps at most.
    pub log_entries_max: u32,
    /// Backfills that a device leads at once, and as many that it takes in.
    pub backfills: u32,
    /// The rest after each operation of recovery, in milliseconds.
    pub recovery_sleep_ms: u64,
    /// When a write counts as durable.
    pub sync: Sync,
    /// A device that has not been heard of for so long counts as down, in milliseconds.
    pub grace_ms: u64,
    /// A device that is down for so long is out: its objects go to others. In seconds.
    pub out_after_s: u64,
    /// The address that all listen on.
    pub listen: String,
    /// What goes first on a device; none has all work done as it comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// A rule of the protocol that is broken on purpose, so that a test proves that it would notice.
    #[doc(hidden)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted: Option<Planted>,
}

/// The scheduler before a device's work, and what it is told of clients and of recovery. The unit of cost is
/// an operation, and one more for each 64 KiB of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// Which. Its depth is the cost that is under way at once.
    pub scheduler: Description,
    /// Reads and writes of clients.
    pub client: FlowSpec,
    /// Looks, reads and writes of log recovery and of backfills.
    pub recovery: FlowSpec,
}

impl Pacing {
    /// Both flows, in their order.
    #[must_use]
    pub fn flows(&self) -> Flows {
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
        }
    }
}

/// Why the files of a cluster are of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// There is no cluster.
    #[error("there is no cluster in `{0}`")]
    Absent(PathBuf),
    /// There is one already.
    #[error("there is a cluster in `{0}` already")]
    Present(PathBuf),
    /// A file cannot be read or written.
    #[error("`{path}`: {why}")]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The scheduler cannot be.
    #[error("{0}")]
    Pacing(#[from] DescriptionError),
    /// A setting is out of its range.
    #[error("`{key}` is {found}, but it must lie {range}")]
    Range {
        /// Which.
        key: &'static str,
        /// What it is.
        found: u64,
        /// What it may be.
        range: String,
    },
}

impl Settings {
    /// The first of them that cannot be.
    ///
    /// # Errors
    /// Where one is out of its range.
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

    /// The rules of a group.
    ///
    /// # Panics
    /// For settings that have not been checked.
    #[must_use]
    pub fn config(&self, group: u32) -> Config {
        let space = Subspace::of_group(group, self.groups).expect("the group is one of the cluster's");
        let config = Config::new(self.replicas as usize, space, self.leaf_bits);
        let log = self.log_entries_max as usize;
        Config {
            discovery: self.discovery,
            sketch_cells: self.sketch_cells,
            sketch_first_cells: 64.min(self.sketch_cells),
            log_entries_min: self.log_entries_min as usize,
            log_entries_max: log,
            log_trim_min: 100.min(log),
            requests_max: log.max(3_000),
            sleep: SimSpan::from_ms(self.recovery_sleep_ms),
            // A target that is full says so by itself soon; Ceph asks again after 30 s.
            retry: SimSpan::from_secs(5),
            // Whole objects, so that their checksums can be looked at.
            chunk_bytes: FRAME_MAX as u64,
            // A former primary that is cut off from the others must not answer reads after they have gone on:
            // it asks them, and they promise for less than the time after which it counts as down.
            lease: Some(SimSpan::from_ms(self.grace_ms / 2)),
            planted: self.planted,
            ..config.expect("the settings have been checked")
        }
    }
}

/// The directory of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    directory: PathBuf,
}

impl Home {
    /// In this directory, which need not exist.
    #[must_use]
    pub fn at(directory: &Path) -> Home {
        Home { directory: directory.to_owned() }
    }

    /// Where it is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A file or directory in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Whether a cluster was made here.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.path("cluster.json").exists()
    }

    /// Makes the files of a new cluster.
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
        self.write_settings(settings)
    }

    /// Gives a cluster of which nothing runs other settings. Trees, sketches and bitmaps that they need are
    /// made when its daemons start.
    ///
    /// # Errors
    /// When there is none, they are out of range, or the file cannot be written.
    pub fn change(&self, settings: &Settings) -> Result<(), SettingsError> {
        self.settings()?;
        settings.check()?;
        self.write_settings(settings)
    }

    fn write_settings(&self, settings: &Settings) -> Result<(), SettingsError> {
        let text = serde_json::to_string_pretty(settings).expect("settings are plain data");
        self.write("cluster.json", format!("{text}\n").as_bytes())
    }

    /// How the cluster was made.
    ///
    /// # Errors
    /// When there is none, or its file cannot be read.
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

    /// The cluster's key.
    ///
    /// # Errors
    /// When it cannot be read, or is no key.
    pub fn key(&self) -> Result<ClusterKey, SettingsError> {
        let path = self.path("cluster.key");
        let fault = |why: String| SettingsError::File { path: path.clone(), why };
        let bytes = std::fs::read(&path).map_err(|error| fault(error.to_string()))?;
        bytes
            .try_into()
            .map_err(|bytes: Vec<u8>| fault(format!("it has {} bytes, and a key 32", bytes.len())))
    }

    /// Where the monitor listens.
    ///
    /// # Errors
    /// When it has never run.
    pub fn monitor_address(&self) -> Result<String, SettingsError> {
        self.address("monitor.address")
    }

    /// Where the monitor tells how the cluster stands in the text format of Prometheus.
    ///
    /// # Errors
    /// When it has never run.
    pub fn metrics_address(&self) -> Result<String, SettingsError> {
        self.address("metrics.address")
    }

    fn address(&self, file: &str) -> Result<String, SettingsError> {
        let path = self.path(file);
        let text = std::fs::read_to_string(&path);
        text.map(|text| text.trim().to_owned())
            .map_err(|error| SettingsError::File { path, why: error.to_string() })
    }

    /// Writes a file that only its owner can read, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), SettingsError> {
        let (path, part) = (self.path(name), self.path(&format!("{name}.part")));
        let written = || -> std::io::Result<()> {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&part)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&part, &path)?;
            std::fs::File::open(&self.directory)?.sync_all()
        };
        written().map_err(|error| SettingsError::File { path: path.clone(), why: error.to_string() })
    }
}
