//! Which cluster and which device a directory belongs to.
//!
//! A device is not its number: a directory that was removed and made again has the same number, and none of
//! the objects. So each directory gets an identity when it is made, which is synced before it has any tables:
//! the cluster, its name, and an [`Incarnation`] that is drawn at random. The monitor's map has the
//! incarnation of each device, and a daemon whose directory has another one is refused. Directories are made
//! by commands only ([`make_all`], [`make`]); a daemon never makes one.
//!
//! A directory also knows its last runs ([`Runs`]), and the map has the last one that the monitor let in: a
//! copy from before it is refused. A copy that was taken during the last run, and put back after it, is not
//! noticed.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use towtank_replication::Incarnation;

use crate::runs::Runs;

/// The format of all that a cluster has on disk. A change of any stored value is a new format.
const FORMAT: u64 = 3;

/// The file with a directory's identity.
pub(crate) const FILE: &str = "identity.json";

const CLUSTER_FILE: &str = "cluster.id";

/// A cluster, by a number that is drawn when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterId(u64);

impl ClusterId {
    /// The cluster with this number.
    #[must_use]
    pub fn of(number: u64) -> ClusterId {
        ClusterId(number)
    }
}

/// Why a directory is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file cannot be read or written.
    #[error("`{path}`: {why}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It is not what belongs in its place.
    #[error("{what}")]
    Refused {
        /// What is wrong, and where.
        what: String,
        /// The ways on.
        hint: String,
    },
}

impl IdentityError {
    /// The ways on, if it is known what they are.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            IdentityError::File { .. } => None,
            IdentityError::Refused { hint, .. } => Some(hint),
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterFile {
    format: u64,
    cluster: ClusterId,
}

/// The identity of a device's directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    format: u64,
    cluster: ClusterId,
    name: String,
    /// Its life.
    pub incarnation: Incarnation,
    /// Its last runs that reached the monitor. If there is any, it has tables.
    pub runs: Runs,
}

/// The identity of the monitor's directory, and the devices that the cluster was made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Register {
    format: u64,
    cluster: ClusterId,
    name: String,
    pub devices: BTreeMap<u32, Incarnation>,
    /// Whether it has tables.
    pub is_begun: bool,
}

/// What a daemon shows to the monitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The cluster of its directory.
    pub cluster: ClusterId,
    /// The life of its device.
    pub incarnation: Incarnation,
    /// Its last runs, this one among them.
    pub runs: Runs,
}

impl Shown {
    /// What a process shows that is no part of any cluster.
    pub(crate) fn of_stranger(number: u64) -> Shown {
        Shown { cluster: ClusterId::of(number), incarnation: Incarnation(number), runs: Runs::default() }
    }
}

impl Identity {
    /// What its daemon shows to the monitor.
    #[must_use]
    pub fn shown(&self) -> Shown {
        Shown { cluster: self.cluster, incarnation: self.incarnation, runs: self.runs.clone() }
    }

    /// Reads the identity of a device's directory, which must be of this device and of this cluster.
    ///
    /// # Errors
    /// When there is none, or it belongs elsewhere.
    pub(crate) fn of_osd(root: &Path, osd: u32) -> Result<Identity, IdentityError> {
        let directory = root.join(format!("osd.{osd}"));
        let at = directory.display();
        let has_tables = has_tables(&directory)?;
        let Some(identity) = read::<Identity>(&directory.join(FILE))? else {
            let what = if has_tables {
                format!("osd.{osd}: `{at}` has data, but no identity")
            } else {
                format!("osd.{osd}: there is nothing in `{at}`")
            };
            return Err(refused(what, &ways_on(osd)));
        };
        if identity.cluster != cluster_of(root)? {
            let what = format!("osd.{osd}: `{at}` holds {} of another cluster", identity.name);
            return Err(refused(what, &ways_on(osd)));
        }
        if identity.name != format!("osd.{osd}") {
            let what = format!("osd.{osd}: `{at}` holds {}", identity.name);
            return Err(refused(what, "move the directories back to their names"));
        }
        if identity.runs.last().is_some() && !has_tables {
            return Err(refused(format!("osd.{osd}: the tables in `{at}` are missing"), &ways_on(osd)));
        }
        Ok(identity)
    }

    /// Makes durable what it says, before the monitor hears of a run. Its tables exist by then.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn keep(&self, root: &Path) -> Result<(), IdentityError> {
        write(&root.join(&self.name).join(FILE), self)
    }
}

impl Register {
    /// Reads the identity of the monitor's directory.
    ///
    /// # Errors
    /// When there is none, or it belongs elsewhere.
    pub(crate) fn open(root: &Path) -> Result<Register, IdentityError> {
        let directory = root.join("monitor");
        let at = directory.display();
        let has_tables = has_tables(&directory)?;
        let cluster = cluster_of(root)?;
        let register = read::<Register>(&directory.join(FILE))?;
        let Some(register) = register.filter(|register| !register.is_begun || has_tables) else {
            return Err(refused(format!("the maps of the monitor are missing in `{at}`"), MONITOR_WAYS));
        };
        if register.cluster != cluster || register.name != "monitor" {
            let what = format!("`{at}` holds {} of another cluster", register.name);
            return Err(refused(what, MONITOR_WAYS));
        }
        Ok(register)
    }

    /// The cluster that it belongs to.
    pub(crate) fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// Refuses to begin with the first map of a cluster that had maps before.
    pub(crate) fn may_begin(&self) -> Result<(), IdentityError> {
        let what = "the monitor's tables have no map, although it had maps before".to_owned();
        if self.is_begun { Err(refused(what, MONITOR_WAYS)) } else { Ok(()) }
    }

    /// Notes that the monitor has tables.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn begin(&mut self, root: &Path) -> Result<(), IdentityError> {
        self.is_begun = true;
        write(&root.join("monitor").join(FILE), self)
    }
}

const MONITOR_WAYS: &str = "bring the newest monitor/ of this cluster back, or `towtank store rebuild-monitor` makes one from the \
     maps that the devices keep";

/// What to do about a device whose directory is not the one that the monitor knows.
pub(crate) fn ways_on(osd: u32) -> String {
    format!(
        "bring the directory back, or `towtank store osd replace {osd}` begins with a new one, or \
         `towtank store osd lost {osd}` tells what the cluster loses without it"
    )
}

/// Makes the identities of a new cluster with this many devices.
pub(crate) fn make_all(root: &Path, osds: u32) -> Result<(), IdentityError> {
    let cluster = ClusterId(drawn()?);
    write(&root.join(CLUSTER_FILE), &ClusterFile { format: FORMAT, cluster })?;
    let mut devices = BTreeMap::new();
    for osd in 0..osds {
        devices.insert(osd, make(root, osd)?);
    }
    let (name, is_begun) = ("monitor".to_owned(), false);
    let register = Register { format: FORMAT, cluster, name, devices, is_begun };
    let directory = root.join("monitor");
    made_empty(&directory, "monitor")?;
    write(&directory.join(FILE), &register)
}

/// Writes the identity of a monitor that was built anew, into its directory, which has tables.
pub(crate) fn make_register(
    root: &Path,
    directory: &Path,
    devices: BTreeMap<u32, Incarnation>,
) -> Result<(), IdentityError> {
    let (cluster, name) = (cluster_of(root)?, "monitor".to_owned());
    let register = Register { format: FORMAT, cluster, name, devices, is_begun: true };
    write(&directory.join(FILE), &register)
}

/// Makes the directory of a device, with an identity and without tables.
///
/// # Errors
/// When there is one with data, or a file cannot be written.
pub fn make(root: &Path, osd: u32) -> Result<Incarnation, IdentityError> {
    let (directory, name) = (root.join(format!("osd.{osd}")), format!("osd.{osd}"));
    made_empty(&directory, &name)?;
    let (cluster, incarnation) = (cluster_of(root)?, Incarnation(drawn()?));
    let runs = Runs::default();
    write(&directory.join(FILE), &Identity { format: FORMAT, cluster, name, incarnation, runs })?;
    Ok(incarnation)
}

/// Moves the directory of a device aside, if there is one, and returns its new path.
///
/// # Errors
/// When it cannot be moved.
pub fn move_aside(root: &Path, osd: u32) -> Result<Option<PathBuf>, IdentityError> {
    move_name_aside(root, &format!("osd.{osd}"))
}

/// The same for any directory of a cluster.
pub(crate) fn move_name_aside(root: &Path, name: &str) -> Result<Option<PathBuf>, IdentityError> {
    let directory = root.join(name);
    let fault = fault_at(&directory);
    if !directory.try_exists().map_err(fault)? {
        return Ok(None);
    }
    let mut numbers = (1_u32..).map(|number| root.join(format!("{name}.old-{number}")));
    let aside = numbers.find(|path| !path.exists()).expect("a directory has fewer entries than numbers");
    std::fs::rename(&directory, &aside).map_err(fault)?;
    Ok(Some(aside))
}

/// Puts the directory of a device back that was moved aside, in place of a new one that has no tables.
///
/// # Errors
/// When the new one has tables, or the old one cannot be moved.
pub fn put_back(root: &Path, osd: u32, aside: &Path) -> Result<(), IdentityError> {
    let directory = root.join(format!("osd.{osd}"));
    made_empty(&directory, &format!("osd.{osd}"))?;
    std::fs::remove_dir_all(&directory).map_err(fault_at(&directory))?;
    std::fs::rename(aside, &directory).map_err(fault_at(aside))
}

/// What an error of the system at a path becomes.
fn fault_at<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> IdentityError + Copy + '_ {
    move |error| IdentityError::File { path: path.to_owned(), why: error.to_string() }
}

fn made_empty(directory: &Path, name: &str) -> Result<(), IdentityError> {
    let fault = fault_at(directory);
    if has_tables(directory)? {
        let what = format!("{name}: `{}` is not empty", directory.display());
        return Err(refused(what, "move it away first: it may be the only copy of its objects"));
    }
    std::fs::create_dir_all(directory).map_err(fault)
}

/// Whether a directory has anything besides an identity.
pub(crate) fn has_tables(directory: &Path) -> Result<bool, IdentityError> {
    let fault = fault_at(directory);
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        entries => entries.map_err(fault)?,
    };
    for entry in entries {
        if !is_identity(&entry.map_err(fault)?.file_name()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file of a directory is its identity, or was to become it.
pub(crate) fn is_identity(name: &std::ffi::OsStr) -> bool {
    name == FILE || name.to_str() == Some(&part_of(FILE))
}

fn cluster_of(root: &Path) -> Result<ClusterId, IdentityError> {
    let found = read::<ClusterFile>(&root.join(CLUSTER_FILE))?;
    found.map(|file| file.cluster).ok_or_else(|| {
        let at = root.display();
        let what = format!("the cluster in `{at}` has no identity: another version made it");
        refused(what, "read its objects with that version, and put them into a new cluster")
    })
}

/// Reads a file of this format; none if there is none.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, IdentityError> {
    let fault = |why: String| IdentityError::File { path: path.to_owned(), why };
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| fault(error.to_string()))?,
    };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| fault(error.to_string()))?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(FORMAT) => {}
        Some(found) => {
            let what =
                format!("`{}` has format {found}, and this version reads format {FORMAT}", path.display());
            return Err(refused(what, "use the version that wrote it"));
        }
        None => return Err(fault("it does not say its format".to_owned())),
    }
    serde_json::from_value(value).map(Some).map_err(|error| fault(error.to_string()))
}

fn part_of(name: &str) -> String {
    format!("{name}.part")
}

/// Writes a file; it is durable when this returns, and the directory that it lies in too.
fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), IdentityError> {
    let text = serde_json::to_string_pretty(value).expect("plain data can be written");
    write_synced(path, format!("{text}\n").as_bytes()).map_err(fault_at(path))
}

/// Writes a file that only its owner can read; the write is atomic and durable.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let part = path.with_file_name(part_of(name));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&part, path)?;
    // The directory may be new itself.
    for directory in path.ancestors().skip(1).take(2) {
        std::fs::File::open(directory)?.sync_all()?;
    }
    Ok(())
}

fn drawn() -> Result<u64, IdentityError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(fault_at(Path::new("/dev/urandom")))?;
    Ok(u64::from_le_bytes(bytes))
}

pub(crate) fn refused(what: String, hint: &str) -> IdentityError {
    IdentityError::Refused { what, hint: hint.to_owned() }
}
