//! The directory of a campaign: finished runs are stored there atomically and survive a crash of the process.
//!
//! ```text
//! DIR/campaign.json              the plan: what this directory is the result of
//! DIR/campaign.lock              held by the one writer
//! DIR/points/KEY/r00007.json     replicate 7 of the point with that key
//! DIR/report.json, …             the report, and `report.files`, which lists its files
//! ```
//!
//! A file holds one replicate rather than one point: a kill costs at most the runs in flight, and shards may
//! split a point. Points are stored under their keys, so that no file can be mistaken for another point's,
//! and a sweep that gains a value keeps the finished runs.
//!
//! **Invariant:** an outcome that was stopped before its end is never stored.

use std::io;
use std::path::{Path, PathBuf};

use towtank_report::{Outcome, human};

use crate::lock::{DirLock, LockError};
use crate::point_file::Stored;
use crate::writer::is_temporary;
use crate::{
    CampaignKey, Disk, Ledger, Plan, ReportFile, Task, Unstorable, WriteError, Writer, differences, manifest,
    report_files,
};

const LOCK_NAME: &str = "campaign.lock";
const POINTS_NAME: &str = "points";

/// An open campaign directory. No other process writes to it while this exists.
pub struct Store {
    dir: PathBuf,
    plan: Plan,
    writer: Writer,
    _lock: DirLock,
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process is writing to it.
    #[error(
        "`{}` is being written by another run{}; wait for it, or choose another directory",
        dir.display(), holder.as_ref().map(|number| format!(" (process {number})")).unwrap_or_default()
    )]
    Busy {
        /// The directory.
        dir: PathBuf,
        /// The other process, if it could write its number.
        holder: Option<String>,
    },
    /// It holds the results of another campaign.
    #[error(
        "`{}` holds the results of another campaign (key {found}, this one is {wanted}): {difference}; choose another \
         directory, or take this one over with `--force`", dir.display()
    )]
    OtherCampaign {
        /// The directory.
        dir: PathBuf,
        /// The key that it holds.
        found: CampaignKey,
        /// The key that it should hold.
        wanted: CampaignKey,
        /// What differs, in words.
        difference: String,
    },
    /// It holds files of other origin.
    #[error(
        "`{}` holds files but no campaign ({}); choose a new or an empty directory, or write into this one with `--force`",
        dir.display(), first_and_more(first, *more)
    )]
    Foreign {
        /// The directory.
        dir: PathBuf,
        /// The first of these files by name.
        first: String,
        /// How many others there are.
        more: usize,
    },
    /// Its plan cannot be read.
    #[error(
        "`{}` cannot be used: {why}; choose another directory, or write it anew with `--force`, which keeps the points that \
         fit", path.display()
    )]
    DamagedManifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The system reported a read error.
    #[error("cannot read `{}`: {source}; check that it is there and that you may read it", path.display())]
    Read {
        /// What could not be read.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path of the lock holds something else.
    #[error(
        "`{}` is {what}, where the lock of a run should be: nothing is written there; move it away, or choose another directory",
        path.display()
    )]
    NotALock {
        /// The path of the lock.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// The system reported an error when locking.
    #[error(
        "cannot lock `{}`: {source}; choose a directory that you may write to, on a file system with locks", path.display()
    )]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It holds no campaign.
    #[error("`{}` holds no campaign; name a directory that was given to `--out`", dir.display())]
    NoCampaign {
        /// The directory.
        dir: PathBuf,
    },
    /// Another process has sent something else than the run that it was given.
    #[error(
        "what came back for {place} is not its result: {why}; do all workers have this version of towtank and the same \
         input files?"
    )]
    NotThisRun {
        /// The run in words.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// An outcome that cannot be written as JSON.
    #[error(transparent)]
    Unstorable(#[from] Unstorable),
}

/// `` `a.txt` `` or `` `a.txt` and 3 more ``.
fn first_and_more(first: &str, more: usize) -> String {
    if more == 0 { format!("`{first}`") } else { format!("`{first}` and {more} more") }
}

/// What to do with a directory that holds something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// Leave it unchanged.
    Refuse,
    /// Write this campaign there (`--force`). Points that fit are kept; other files stay and are never read.
    Force,
}

impl Store {
    /// Opens `dir` for this plan, creates it if necessary, and locks it against other writers.
    ///
    /// # Errors
    /// If another process is writing there, it holds something else, or the system reports an error.
    pub fn open(dir: &Path, plan: &Plan, takeover: Takeover, writer: Writer) -> Result<Self, StoreError> {
        writer.create_dir(dir)?;
        let present = read_manifest(writer.disk(), dir);
        if takeover == Takeover::Refuse && matches!(present, Err(StoreError::NoCampaign { .. })) {
            refuse_foreign(dir, &writer)?;
        }
        let lock_path = dir.join(LOCK_NAME);
        writer.clear(&lock_path)?;
        let lock = take_lock(dir, &lock_path)?;
        // Read again under the lock: the last writer may have changed it a moment ago.
        let found = match read_manifest(writer.disk(), dir) {
            Ok(found) => Some(found),
            Err(StoreError::NoCampaign { .. }) => None,
            Err(error) if takeover == Takeover::Refuse => return Err(error),
            Err(_) => None,
        };
        if let Some(found) = &found {
            refuse_other(dir, found, plan, takeover)?;
        }
        writer.sweep_up(dir);
        let store = Self { dir: dir.to_owned(), plan: plan.clone(), writer, _lock: lock };
        if found.as_ref() != Some(plan) {
            store.writer.replace(&dir.join(manifest::NAME), &manifest::to_bytes(plan))?;
        }
        store.prepare_points()?;
        Ok(store)
    }

    /// Creates the directory of the points, and removes files that a killed run left there half written.
    fn prepare_points(&self) -> Result<(), StoreError> {
        let points = self.dir.join(POINTS_NAME);
        self.writer.create_dir(&points)?;
        let present = self.writer.disk().list(&points);
        present.unwrap_or_default().iter().for_each(|dir| self.writer.sweep_up(dir));
        Ok(())
    }

    /// The plan for which this directory was opened.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Enters all undamaged stored outcomes, and returns the damaged files.
    pub fn load(&self, ledger: &mut Ledger) -> Vec<Damaged> {
        let mut damaged = Vec::new();
        for task in self.plan.tasks() {
            match read_point(self.writer.disk(), &self.dir, &self.plan, task) {
                Ok(Some(stored)) => ledger.enter(task, stored.outcome),
                Ok(None) => {}
                Err(damage) => damaged.push(damage),
            }
        }
        damaged
    }

    /// Stores a finished outcome.
    ///
    /// # Errors
    /// If it cannot be written. What is already stored stays.
    pub fn save(&self, task: Task, outcome: &Outcome) -> Result<(), StoreError> {
        self.save_stored(task, &Stored::new(outcome)?)
    }

    /// Stores the point file of a task that another process has run, and returns its outcome.
    ///
    /// # Errors
    /// If the bytes are not the finished file of that task, or it cannot be written.
    pub fn accept(&self, task: Task, bytes: &[u8]) -> Result<Outcome, StoreError> {
        let stored = received(&self.plan, task, bytes)?;
        self.save_stored(task, &stored)?;
        Ok(stored.outcome)
    }

    pub(crate) fn save_stored(&self, task: Task, stored: &Stored) -> Result<(), StoreError> {
        assert!(!stored.outcome.partial, "a stopped run is not a result: {}", self.plan.describe(task));
        let path = point_path(&self.dir, &self.plan, task);
        self.writer.create_dir(path.parent().expect("a point file lies in its point's directory"))?;
        let bytes = stored.to_file(&self.plan.points()[task.point], task.replicate);
        Ok(self.writer.replace(&path, &bytes)?)
    }

    /// Checks that a file of this name may be written later, so that an error is reported before the runs.
    ///
    /// # Errors
    /// If it would overwrite an input.
    ///
    /// # Panics
    /// As [`Store::write_report`] does.
    pub fn may_write(&self, name: &str) -> Result<(), StoreError> {
        Ok(self.writer.clear(&self.report_file(name))?)
    }

    /// Writes the files of the campaign's report into the directory, each atomically, in place of those of
    /// the previous report.
    ///
    /// # Errors
    /// If one cannot be written; the old file is then kept.
    ///
    /// # Panics
    /// If a name is not a plain file name, or is one that the store itself uses.
    pub fn write_report(&self, files: &[ReportFile]) -> Result<(), StoreError> {
        for file in files {
            self.report_file(&file.name);
        }
        Ok(self.writer.replace_report(&self.dir, files)?)
    }

    fn report_file(&self, name: &str) -> PathBuf {
        let plain = Path::new(name).file_name().is_some_and(|file| file == name);
        let own = [manifest::NAME, report_files::NAME, LOCK_NAME, POINTS_NAME].contains(&name)
            || is_temporary(name);
        assert!(plain && !own, "`{name}` cannot be a file of a report");
        self.dir.join(name)
    }
}

/// The content of a point file that another process has made.
pub(crate) fn received(plan: &Plan, task: Task, bytes: &[u8]) -> Result<Stored, StoreError> {
    let key = &plan.points()[task.point].key;
    Stored::from_file(bytes, key, task.replicate)
        .map_err(|damage| StoreError::NotThisRun { place: plan.describe(task), why: damage.to_string() })
}

fn take_lock(dir: &Path, path: &Path) -> Result<DirLock, StoreError> {
    DirLock::take(path).map_err(|error| match error {
        LockError::Busy(holder) => StoreError::Busy { dir: dir.to_owned(), holder },
        LockError::NotALock(what) => StoreError::NotALock { path: path.to_owned(), what },
        LockError::System(source) => StoreError::Lock { path: path.to_owned(), source },
    })
}

/// A directory without a campaign may hold the campaign's own inputs, and nothing else: results are not
/// scattered among the files of a home directory, and no other `report.json` is replaced.
fn refuse_foreign(dir: &Path, writer: &Writer) -> Result<(), StoreError> {
    let read = |source| StoreError::Read { path: dir.to_owned(), source };
    let mut foreign = Vec::new();
    for path in writer.disk().list(dir).map_err(read)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let ours = name == LOCK_NAME || is_temporary(&name);
        let input =
            path.canonicalize().is_ok_and(|real| writer.inputs().real_paths().any(|input| input == real));
        if !ours && !input {
            foreign.push(name);
        }
    }
    match foreign.split_first() {
        None => Ok(()),
        Some((first, rest)) => {
            Err(StoreError::Foreign { dir: dir.to_owned(), first: first.clone(), more: rest.len() })
        }
    }
}

fn refuse_other(dir: &Path, found: &Plan, plan: &Plan, takeover: Takeover) -> Result<(), StoreError> {
    if takeover == Takeover::Force || found.key() == plan.key() {
        return Ok(());
    }
    Err(StoreError::OtherCampaign {
        dir: dir.to_owned(),
        found: found.key(),
        wanted: plan.key(),
        difference: difference_in_words(found, plan, ("there", "here")),
    })
}

/// Why two plans have different keys: `seed is 7 there and 8 here`.
pub(crate) fn difference_in_words(one: &Plan, other: &Plan, names: (&str, &str)) -> String {
    let (left, right) = (one.header(), other.header());
    let say = |what: &str, one: String, other: String| {
        (one != other).then(|| format!("{what} is {one} {} and {other} {}", names.0, names.1))
    };
    let mut found: Vec<String> = [
        say("study", left.study.clone(), right.study.clone()),
        say("results version", left.results_version.to_string(), right.results_version.to_string()),
        say("seed", left.seed.to_string(), right.seed.to_string()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let text =
        |value: Option<serde_json::Value>| value.map_or("absent".to_owned(), |value| value.to_string());
    // Already mentioned, and the number of replicates is in no key.
    let mentioned = |key: &str| ["study", "seed", "replicates"].contains(&key);
    let keys = differences(&left.scenario, &right.scenario).into_iter().filter(|key| !mentioned(&key.key));
    found.extend(keys.filter_map(|key| say(&format!("`{}`", key.key), text(key.one), text(key.other))));
    let shown = 3;
    match found.len() {
        0 => "the contents of the input files differ".to_owned(),
        count if count > shown => {
            let more = human::plural((count - shown) as f64, ["more difference", "more differences"]);
            format!("{}, and {more}", found[..shown].join(", "))
        }
        _ => found.join(", "),
    }
}

/// A stored run that cannot be used, and is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The file.
    pub path: PathBuf,
    /// The run that it should hold.
    pub task: Task,
    /// What is wrong with it.
    pub why: String,
}

impl std::fmt::Display for Damaged {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "`{}` is damaged: {}", self.path.display(), self.why)
    }
}

fn point_path(dir: &Path, plan: &Plan, task: Task) -> PathBuf {
    let key = plan.points()[task.point].key.as_str();
    dir.join(POINTS_NAME).join(key).join(format!("r{:05}.json", task.replicate))
}

/// The plan of the campaign in `dir`.
pub(crate) fn read_manifest(disk: &dyn Disk, dir: &Path) -> Result<Plan, StoreError> {
    let path = dir.join(manifest::NAME);
    let bytes = match disk.read(&path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(StoreError::NoCampaign { dir: dir.to_owned() });
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(StoreError::DamagedManifest { path, why: error.to_string() });
        }
        Err(source) => return Err(StoreError::Read { path, source }),
    };
    manifest::from_bytes(&bytes)
        .map_err(|damage| StoreError::DamagedManifest { path, why: damage.to_string() })
}

/// One stored replicate; `None` if it does not exist.
pub(crate) fn read_point(
    disk: &dyn Disk,
    dir: &Path,
    plan: &Plan,
    task: Task,
) -> Result<Option<Stored>, Damaged> {
    let path = point_path(dir, plan, task);
    let read = match disk.read(&path) {
        Ok(bytes) => {
            let key = &plan.points()[task.point].key;
            Stored::from_file(&bytes, key, task.replicate).map_err(|damage| damage.to_string())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => Err(error.to_string()),
    };
    read.map(Some).map_err(|why| Damaged { path, task, why })
}

#[cfg(test)]
mod tests;
