//! Measures backfills of real replicas: the experiment of the thesis on trees.
//!
//! For each size a cluster of one group is filled once. Each case then runs on a copy of it: one replica is
//! stopped, some objects are overwritten, the replica is started, and the cost of its backfill is read from
//! the daemon that led it. Results are written case by case, so that an interrupted experiment continues
//! where it stopped.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towtank_replication::Discovery;
use towtank_streams::{Draws, Purpose, Seed, Uniform as _};

use crate::StoreError;
use crate::client::Client;
use crate::clock::now;
use crate::control::{self, Children, Daemon, Ending, Used};
use crate::engine::Sync;
use crate::frames::{Counters, GroupReport, Standing};
use crate::health::Health;
use crate::settings::{Home, Settings, SettingsError};

/// How long a cluster may take for one step.
const PATIENCE: Duration = Duration::from_secs(600);

/// How often the state of the cluster is polled.
const LOOK: Duration = Duration::from_millis(10);

/// The number of clients that fill the cluster and overwrite objects.
const CLIENTS: u32 = 32;

/// The number of devices, and of replicas.
const OSDS: u32 = 3;

/// The number of writes after which the log holds no more entries than its limit.
const TRIMMING: u32 = 3;

/// How long a daemon may take to report its counters to the monitor.
const REPORT_TIME: Duration = Duration::from_secs(5);

const EXPERIMENT: Purpose = Purpose(91);

/// The parameters of an experiment: all combinations are measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Numbers of objects in the group.
    pub objects: Vec<u32>,
    /// Shares of the objects that are written while a replica is away.
    pub stale: Vec<f64>,
    /// Base-2 logarithms of the leaves of a tree and the ranges of a bitmap.
    pub leaf_bits: Vec<u8>,
    /// The ways to find differences.
    pub discoveries: Vec<Discovery>,
    /// The number of runs of each case.
    pub repeat: u32,
    /// Bytes of an object.
    pub object_bytes: usize,
    /// The seed for drawing the objects to overwrite.
    pub seed: u64,
    /// The number of objects of a cluster on which a backfill of a single object is measured too, which tells
    /// how long a backfill takes to start.
    pub start_with: Option<u32>,
}

/// One run of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Case {
    /// Objects of the group.
    pub objects: u32,
    /// The number of objects that are overwritten.
    pub stale: u32,
    /// How differences are found.
    pub discovery: Discovery,
    /// The base-2 logarithm of leaves or ranges; none for a method without them.
    pub leaf_bits: Option<u8>,
    /// The number of the run of this case, from 0.
    pub repeat: u32,
    /// Bytes of an object.
    pub object_bytes: usize,
    /// The seed for drawing the objects to overwrite.
    pub seed: u64,
}

/// The result of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The case.
    pub case: Case,
    /// The time from the beginning of the backfill to its end, by the primary's clock.
    pub backfill_s: f64,
    /// The time from the beginning to the end of discovery; none for a method without discovery.
    pub discovery_s: Option<f64>,
    /// Objects whose versions were compared, on the side that compared more.
    pub looked_at: u64,
    /// The number of objects copied.
    pub recovered: u64,
    /// Bytes of trees, sketches and bitmaps exchanged.
    pub exchanged_bytes: u64,
    /// Processor time of all daemons, from the start of the stopped one until the group was clean.
    pub cpu_s: f64,
    /// The highest peak memory of a daemon.
    pub peak_bytes: u64,
    /// The largest number of bytes of trees, sketches and bitmaps in the memory of one device.
    pub summary_bytes: u64,
    /// The number of client writes during the outage, and the seconds that they took in total.
    pub writes: (u32, f64),
}

/// The number of objects in a share of `objects`.
#[must_use]
pub fn stale_of(objects: u32, share: f64) -> u32 {
    (f64::from(objects) * share).round() as u32
}

impl Case {
    /// Whether the backfill is little more than its start.
    #[must_use]
    pub fn is_start(&self) -> bool {
        self.stale == 1
    }

    /// The cells of a sketch that suffices for all overwritten objects: twice the expected need, because a
    /// small sketch may need more, and with too few cells the run would measure another method.
    #[must_use]
    pub fn sketch_cells(&self) -> u32 {
        (2 * towtank_merkle::plan::cells_for(f64::from(self.stale)) as u32).clamp(128, 1 << 20)
    }
}

impl Plan {
    /// All runs, in order. A method without ranges runs once for all values of `leaf_bits`.
    #[must_use]
    pub fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for &objects in &self.objects {
            for share in &self.stale {
                let stale = stale_of(objects, *share);
                for &discovery in &self.discoveries {
                    let bits: Vec<Option<u8>> = match discovery {
                        Discovery::Scan | Discovery::Sketch => vec![None],
                        _ => self.leaf_bits.iter().copied().map(Some).collect(),
                    };
                    for leaf_bits in bits {
                        let case = |repeat| Case {
                            objects,
                            stale,
                            discovery,
                            leaf_bits,
                            repeat,
                            object_bytes: self.object_bytes,
                            seed: self.seed,
                        };
                        cases.extend((0..self.repeat).map(case));
                    }
                }
            }
        }
        cases.extend(self.starts());
        cases
    }

    /// The runs in which one object is written again. They use a sketch, which needs the fewest steps.
    fn starts(&self) -> impl Iterator<Item = Case> + '_ {
        let repeats = self.start_with.map_or(0, |_| self.repeat);
        (0..repeats).map(|repeat| Case {
            objects: self.start_with.unwrap_or_default(),
            stale: 1,
            discovery: Discovery::Sketch,
            leaf_bits: None,
            repeat,
            object_bytes: self.object_bytes,
            seed: self.seed,
        })
    }
}

/// Receives the progress of an experiment, and may stop it.
pub trait Watch: std::marker::Sync {
    /// A run begins: its case, its number, and the number of runs.
    fn begins(&self, case: &Case, number: usize, of: usize);
    /// A cluster with this many objects is being filled.
    fn fills(&self, objects: u32);
    /// Whether to stop; the run in progress is discarded.
    fn stops(&self) -> bool;
}

/// Runs all cases that have no result in this directory. Returns fewer results if `watch` stopped it.
///
/// # Errors
/// When a cluster cannot be made or started, does not become clean, or its replicas differ at the end.
pub fn run(
    directory: &Path,
    program: &Path,
    plan: &Plan,
    watch: &dyn Watch,
) -> Result<Vec<Measured>, StoreError> {
    let cases = plan.cases();
    let known = measured_in(directory)?;
    let mut measured = Vec::new();
    let work = directory.join("work");
    for (number, case) in cases.iter().enumerate() {
        if let Some(before) = known.get(case) {
            measured.push(*before);
            continue;
        }
        if watch.stops() {
            break;
        }
        let filled = directory.join(format!("filled-{}-{}", case.objects, case.object_bytes));
        if !filled.join("is-filled").exists() {
            watch.fills(case.objects);
            match fill(&filled, program, case, watch) {
                Err(_) if watch.stops() => break,
                done => done?,
            }
        }
        watch.begins(case, number, cases.len());
        remove(&work)?;
        copy(&filled, &work)?;
        let one = match measure(&Home::at(&work), program, case, watch) {
            Err(_) if watch.stops() => break,
            done => done?,
        };
        note(directory, &one)?;
        measured.push(one);
    }
    remove(&work)?;
    Ok(measured)
}

/// The resources that each device daemon has used.
fn used(home: &Home) -> Vec<Used> {
    (0..OSDS).filter_map(|osd| control::used(home, Daemon::Osd(osd))).collect()
}

fn settings(case: &Case) -> Settings {
    Settings {
        osds: OSDS,
        groups: 1,
        replicas: OSDS,
        discovery: case.discovery,
        leaf_bits: case.leaf_bits.unwrap_or(0),
        sketch_cells: case.sketch_cells(),
        // So small that nothing is recovered by the log.
        log_entries_max: 2,
        log_entries_min: 1,
        grace_ms: 2_000,
        ..Settings::default()
    }
}

fn fill(directory: &Path, program: &Path, case: &Case, watch: &dyn Watch) -> Result<(), StoreError> {
    remove(directory)?;
    let home = Home::at(directory);
    let empty = Case { discovery: Discovery::Scan, leaf_bits: None, ..*case };
    home.make(&Settings { sync: Sync::Never, ..settings(&empty) })?;
    let mut daemons = Children::new(&home, program);
    daemons.start_all(OSDS)?;
    let client = Client::reach(&home, PATIENCE)?;
    until(&client, watch, is_clean)?;
    let all: Vec<u32> = (0..case.objects).collect();
    write(&home, &all, case.object_bytes, 0)?;
    until(&client, watch, is_clean)?;
    daemons.end_all()?;
    fs::write(directory.join("is-filled"), b"")?;
    Ok(())
}

fn measure(home: &Home, program: &Path, case: &Case, watch: &dyn Watch) -> Result<Measured, StoreError> {
    home.change(&settings(case))?;
    let mut daemons = Children::new(home, program);
    daemons.start_all(OSDS)?;
    let mut client = Client::reach(home, PATIENCE)?;
    let standing = until(&client, watch, is_clean)?;
    let away = leading(&standing).and_then(|group| group.acting.last().copied());
    let away = away.ok_or_else(|| nothing("no daemon holds the group"))?;
    daemons.end(Daemon::Osd(away), Ending::Asked)?;
    until(&client, watch, |standing| {
        standing.map.osds.get(&away).is_some_and(|osd| !osd.is_up)
            && leading(standing).is_some_and(|group| group.serves)
    })?;
    let (stale, round) = (drawn(case), 1 + u64::from(case.repeat));
    let began = now();
    write(home, &stale, case.object_bytes, round)?;
    let writing = now().duration_since(began).as_secs_f64();
    // Concurrent writes do not trim each other's log entries, so the last writes are made one by one.
    for _ in 0..TRIMMING {
        write(home, &stale[..1], case.object_bytes, round)?;
    }
    let before = counted(&client.standing()?);
    let used_before = used(home);
    daemons.start(Daemon::Osd(away))?;
    // The group still counts as clean until the return of the replica is noticed.
    let back = |standing: &Standing| standing.map.osds.get(&away).is_some_and(|osd| osd.is_up);
    until(&client, watch, back)?;
    until(&client, watch, is_clean)?;
    let end = now() + REPORT_TIME;
    let standing =
        until(&client, watch, |standing| counted(standing).backfills > before.backfills || now() > end)?;
    if counted(&standing).backfills == before.backfills {
        return Err(nothing("the log brought the replica up to date, not a backfill"));
    }
    let used = used(home);
    let cpu = |of: &[Used]| of.iter().map(|used| used.cpu_s).sum::<f64>();
    let after = counted(&standing);
    check(&mut client)?;
    let seconds = |ns: u64| ns as f64 / 1e9;
    Ok(Measured {
        case: *case,
        backfill_s: seconds(after.backfill_ns - before.backfill_ns),
        discovery_s: (after.discovered > before.discovered && case.discovery != Discovery::Scan)
            .then(|| seconds(after.discovery_ns - before.discovery_ns)),
        looked_at: after.looked_at - before.looked_at,
        recovered: after.backfilled - before.backfilled,
        exchanged_bytes: after.exchanged_bytes - before.exchanged_bytes,
        cpu_s: cpu(&used) - cpu(&used_before),
        peak_bytes: used.iter().map(|used| used.peak_bytes).max().unwrap_or(0),
        summary_bytes: standing.reports.values().map(|report| report.summary_bytes).max().unwrap_or(0),
        writes: (case.stale, writing),
    })
}

/// Fails if replicas differ, which would make the measurement worthless.
fn check(client: &mut Client) -> Result<(), StoreError> {
    match client.compare_replicas(false)?.faults.first() {
        Some(fault) => Err(StoreError::Refused(format!("the backfill left an inconsistency: {fault}"))),
        None => Ok(()),
    }
}

/// Draws the objects to overwrite, each once.
fn drawn(case: &Case) -> Vec<u32> {
    let mut draws = Draws::new(Seed(case.seed), case.objects, 0);
    let mut all: Vec<u32> = (0..case.objects).collect();
    for place in 0..case.stale.min(case.objects) {
        let other = place + draws.of(EXPERIMENT).below(u64::from(case.objects - place)) as u32;
        all.swap(place as usize, other as usize);
    }
    all.truncate(case.stale as usize);
    all
}

/// Writes objects with several clients, each of which writes a part.
fn write(home: &Home, objects: &[u32], bytes: usize, round: u64) -> Result<(), StoreError> {
    let part = objects.len().div_ceil(CLIENTS as usize).max(1);
    let writing = |objects: &[u32]| -> Result<(), StoreError> {
        let mut client = Client::open(home, PATIENCE)?;
        for object in objects {
            let mut data = vec![(*object % 251) as u8; bytes.max(8)];
            data[..8].copy_from_slice(&round.to_le_bytes());
            client.put(&format!("object {object}"), &BTreeMap::new(), &data)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = objects.chunks(part).map(|part| scope.spawn(move || writing(part))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no client panics"))
    })
}

/// The report on the group from its primary.
fn leading(standing: &Standing) -> Option<&GroupReport> {
    standing.reports.values().filter_map(|report| report.led.get(&0)).max_by_key(|group| group.epoch)
}

fn is_clean(standing: &Standing) -> bool {
    Health::of(standing).is_clean()
}

/// The sum of all daemons' backfill counters: the primary of the group may change when a backfill ends.
fn counted(standing: &Standing) -> Counters {
    standing.reports.values().fold(Counters::default(), |sum, report| {
        let one = &report.counters;
        Counters {
            backfills: sum.backfills + one.backfills,
            backfill_ns: sum.backfill_ns + one.backfill_ns,
            discovered: sum.discovered + one.discovered,
            discovery_ns: sum.discovery_ns + one.discovery_ns,
            looked_at: sum.looked_at + one.looked_at,
            backfilled: sum.backfilled + one.backfilled,
            exchanged_bytes: sum.exchanged_bytes + one.exchanged_bytes,
            ..sum
        }
    })
}

fn until(
    client: &Client,
    watch: &dyn Watch,
    is_so: impl Fn(&Standing) -> bool,
) -> Result<Standing, StoreError> {
    let end = now() + PATIENCE;
    loop {
        // A monitor that has just been started may not answer yet.
        if let Ok(standing) = client.standing()
            && is_so(&standing)
        {
            return Ok(standing);
        }
        if watch.stops() {
            return Err(nothing("stopped"));
        }
        if now() > end {
            let what = "the experiment's cluster did not reach the expected state".to_owned();
            return Err(StoreError::TimedOut { what, seconds: PATIENCE.as_secs() });
        }
        std::thread::sleep(LOOK);
    }
}

fn nothing(what: &str) -> StoreError {
    StoreError::Refused(what.to_owned())
}

fn results(directory: &Path) -> PathBuf {
    directory.join("measured.jsonl")
}

/// The results in a directory so far. An incomplete last line is ignored.
///
/// # Errors
/// When the file cannot be read.
fn measured_in(directory: &Path) -> Result<BTreeMap<Case, Measured>, StoreError> {
    let path = results(directory);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(SettingsError::File { path, why: error.to_string() }.into()),
    };
    let read = text.lines().filter_map(|line| serde_json::from_str::<Measured>(line).ok());
    Ok(read.map(|measured| (measured.case, measured)).collect())
}

fn note(directory: &Path, measured: &Measured) -> Result<(), StoreError> {
    let path = results(directory);
    // An incomplete last line is kept on a line of its own.
    let is_cut = fs::read(&path).is_ok_and(|text| text.last().is_some_and(|last| *last != b'\n'));
    let line = serde_json::to_string(measured).expect("numbers can be written");
    let mut file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
    file.write_all(format!("{}{line}\n", if is_cut { "\n" } else { "" }).as_bytes())?;
    Ok(file.sync_all()?)
}

fn remove(directory: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
