//! Clients that write and read while daemons are killed, stopped, paused, cut off and started, and a checker
//! that knows every answer that the clients received.
//!
//! Every write has a unique number. A run consists of rounds: faults under load, then all faults end and the
//! load continues for a while, then the clients pause. When all groups are clean, all objects are read, and
//! the answers of each object's clients must be possible with a single copy (`towtank_replication::history`);
//! a lost acknowledged write is detected there. All replicas of all groups are read and compared. The next
//! round starts from the values read.

mod faults;
mod load;
mod record;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::Duration;

use serde::Serialize;
use towtank_replication::history::{Act, Operation, explain, lost_writes};
use towtank_streams::{Draws, Purpose, Seed, Uniform as _};

use crate::StoreError;
use crate::client::Client;
use crate::clock::{Clock, now};
use crate::engine::{Engine, Table, key_bytes};
use crate::frames::Report;
use crate::health::Health;
use crate::names::Address;
use crate::settings::{Home, Settings};
use faults::Cluster;
pub use faults::Kind;
pub use record::Record;
use record::Unanswered;

/// The parameters of a torture run.
#[derive(Clone, Debug)]
pub struct Torture {
    /// An empty directory for the cluster.
    pub home: Home,
    /// The executable that runs the daemons.
    pub program: PathBuf,
    /// The settings of the cluster.
    pub settings: Settings,
    /// How long the run takes.
    pub span: Duration,
    /// The seed of all random draws. The interleaving also depends on the machine.
    pub seed: u64,
    /// The number of clients.
    pub clients: u32,
    /// The number of objects.
    pub objects: u32,
    /// The kinds of faults.
    pub kinds: Vec<Kind>,
}

/// The results of a torture run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tortured {
    /// Writes and removals that were answered.
    pub acknowledged_writes: u64,
    /// Reads that were answered.
    pub reads: u64,
    /// Answers that were dropped on purpose, so that the request was repeated.
    pub answers_lost: u64,
    /// Acknowledged writes and removals that a later read did not return, nor any read after it.
    pub lost_writes: u64,
    /// Rounds: the number of times that everything was read and compared.
    pub rounds: u64,
    /// Daemons that were killed.
    pub kills: u64,
    /// Daemons that were asked to end.
    pub stops: u64,
    /// Daemons that were started again.
    pub restarts: u64,
    /// Times that a daemon was paused for a while.
    pub pauses: u64,
    /// Times that some processes were cut off from others for a while.
    pub partitions: u64,
    /// Copies that were damaged on a daemon that was down.
    pub corruptions: u64,
    /// Damaged copies that the daemons have detected since their last start.
    pub corruptions_noticed: u64,
    /// Damaged copies that were valid again at the end: repaired from another replica, or overwritten.
    pub corruptions_repaired: u64,
    /// Times that the monitor was killed and started again.
    pub monitor_kills: u64,
    /// Times that objects were moved off a daemon for a while.
    pub moves: u64,
    /// Times that the directory of a daemon was removed, so that it began again with a new one.
    pub wipes: u64,
    /// Directories of the monitor that were removed and made anew.
    pub lost_monitors: u64,
    /// Whether the history of every object could come from a single copy.
    pub linearizable: bool,
    /// Descriptions of the violations, per object.
    pub violations: Vec<String>,
    /// Faults found by reading all replicas.
    pub faults: Vec<String>,
}

impl Tortured {
    /// Whether nothing was lost and no fault was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.linearizable && self.lost_writes == 0 && self.faults.is_empty()
    }
}

/// How long a client waits for an answer: longer than any fault lasts.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the cluster may take at the end of a round until all replicas are equal.
const SETTLE: Duration = Duration::from_secs(120);

/// How long faults continue before everything is checked: short, because the next backfill may repair
/// differences.
const ROUND: Duration = Duration::from_secs(8);

/// How long the load continues after all faults have ended, so that writes overlap with recovery and
/// backfills.
const AFTERMATH: Duration = Duration::from_millis(2_000);

const TORTURE: Purpose = Purpose(90);

/// The operations of a client on each object.
type History = BTreeMap<u32, Vec<Operation>>;

/// The draws of a client, or of the faults, which use 0; clients are numbered from 1.
fn draws_of(seed: u64, who: u32) -> impl FnMut(u64) -> u64 {
    let mut draws = Draws::new(Seed(seed), who, 0);
    move |below| draws.of(TORTURE).below(below.max(1))
}

/// The state shared by clients, faults and the checker.
struct Shared<'a> {
    plan: &'a Torture,
    clock: Clock,
    ends: AtomicBool,
    /// Whether a client has given up.
    failed: AtomicBool,
    /// Held by each client during an operation, and exclusively by the checker while it checks.
    gate: RwLock<()>,
    /// The operations of each client in this round.
    histories: Vec<Mutex<History>>,
    /// The operations in which clients have given up.
    unanswered: Mutex<Vec<Unanswered>>,
    writes: AtomicU64,
    reads: AtomicU64,
    answers_lost: AtomicU64,
}

impl<'a> Shared<'a> {
    fn new(plan: &'a Torture) -> Shared<'a> {
        Shared {
            plan,
            clock: Clock::start(),
            ends: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            gate: RwLock::new(()),
            histories: (0..plan.clients).map(|_| Mutex::default()).collect(),
            unanswered: Mutex::default(),
            writes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            answers_lost: AtomicU64::new(0),
        }
    }

    fn now(&self) -> u64 {
        self.clock.sim().as_ns()
    }

    /// Takes and records the clients' operations since the last time; returns those that were answered.
    fn take(&self, round: u64, record: &mut Record) -> Result<Vec<History>, StoreError> {
        let taken =
            |history: &Mutex<History>| std::mem::take(&mut *history.lock().expect("no client panics"));
        let all: Vec<History> = self.histories.iter().map(taken).collect();
        for (client, history) in (0..).zip(&all) {
            record.answered(round, Some(client), history)?;
        }
        let unanswered = std::mem::take(&mut *self.unanswered.lock().expect("no client panics"));
        record.unanswered(round, &unanswered)?;
        Ok(all)
    }
}

/// Tortures a new cluster. Ends early if a fault is found.
///
/// # Errors
/// When the cluster cannot be made, a daemon cannot be started, or a client gets no answer for longer than
/// any fault lasts; or when the history cannot be written.
pub fn torture(
    plan: &Torture,
    mut record: Record,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Tortured, StoreError> {
    plan.home.make(&plan.settings)?;
    record.begin()?;
    let mut cluster = Cluster::start(plan)?;
    let shared = Shared::new(plan);
    let mut found = Tortured { linearizable: true, ..Tortured::default() };
    let run = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..plan.clients)
            .map(|client| {
                let shared = &shared;
                scope.spawn(move || {
                    let done = load::load(shared, client);
                    shared.failed.fetch_or(done.is_err(), Ordering::Relaxed);
                    done
                })
            })
            .collect();
        let run = rounds(&mut cluster, &shared, &mut record, stopped, &mut found);
        shared.ends.store(true, Ordering::Relaxed);
        let clients = clients.into_iter().map(|client| client.join().expect("no client panics"));
        clients.fold(run, Result::and)
    });
    // After a failure there may be operations that no round has taken.
    run.and(shared.take(found.rounds + 1, &mut record))?;
    found.acknowledged_writes = shared.writes.load(Ordering::Relaxed);
    found.reads = shared.reads.load(Ordering::Relaxed);
    found.answers_lost = shared.answers_lost.load(Ordering::Relaxed);
    cluster.end()?;
    Ok(found)
}

fn rounds(
    cluster: &mut Cluster,
    shared: &Shared<'_>,
    record: &mut Record,
    stopped: &(dyn Fn() -> bool + Sync),
    found: &mut Tortured,
) -> Result<(), StoreError> {
    let plan = shared.plan;
    let mut draws = draws_of(plan.seed, 0);
    let mut before: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    loop {
        let until = plan.span.min(shared.clock.elapsed() + ROUND);
        let goes_on = || !stopped() && !shared.failed.load(Ordering::Relaxed);
        // Two of three rounds have one fault at a time.
        let is_dense = found.rounds % 3 == 2;
        let faults = cluster.faults(
            plan,
            (&mut draws, is_dense),
            &|| goes_on() && shared.clock.elapsed() < until,
            found,
        );
        cluster.heal(found)?;
        faults?;
        if goes_on() {
            std::thread::sleep(AFTERMATH);
        }
        // Every client has been answered before it releases the gate.
        let alone = shared.gate.write().expect("no client panics");
        let is_judged = check(shared, record, &mut before, found)?;
        let is_last = !is_judged || shared.clock.elapsed() >= plan.span || !goes_on() || !found.is_sound();
        // Nobody would judge what the clients do after the last round.
        shared.ends.store(is_last, Ordering::Relaxed);
        drop(alone);
        if is_last {
            return Ok(());
        }
    }
}

/// Checks a round while the clients pause; false if the objects could not be read. `before` has the value of
/// each object at the beginning of the round, and then at its end.
fn check(
    shared: &Shared<'_>,
    record: &mut Record,
    before: &mut BTreeMap<u32, Option<u64>>,
    found: &mut Tortured,
) -> Result<bool, StoreError> {
    let round = found.rounds + 1;
    let clients = shared.take(round, record)?;
    if !settle(shared.plan, found)? {
        found.rounds = round;
        return Ok(false);
    }
    let read = read_all(shared)?;
    record.answered(round, None, &read)?;
    judge(&clients, before, &read, found);
    *before = read.iter().map(|(object, operations)| (*object, value_read(operations))).collect();
    found.rounds = round;
    Ok(true)
}

/// Reads all objects with a single client.
fn read_all(shared: &Shared<'_>) -> Result<History, StoreError> {
    let mut line = Client::reach(&shared.plan.home, PATIENCE)?;
    let mut history = History::new();
    for object in 0..shared.plan.objects {
        let called = shared.now();
        let act = Act::Read(load::read(&mut line, object)?);
        history.insert(object, vec![Operation { called, answered: shared.now(), act }]);
    }
    Ok(history)
}

/// The value of the last operation.
fn value_read(operations: &[Operation]) -> Option<u64> {
    operations.last().and_then(|operation| match operation.act {
        Act::Read(value) | Act::Set(value) => value,
    })
}

/// Checks the clients' operations of a round, and the reads after it, against what a single copy could
/// return.
fn judge(all: &[History], before: &BTreeMap<u32, Option<u64>>, read: &History, found: &mut Tortured) {
    for (object, last) in read {
        let before = before.get(object).copied().flatten();
        let mut clients: Vec<Vec<Operation>> =
            all.iter().filter_map(|history| history.get(object).cloned()).collect();
        clients.push(last.clone());
        if let Err(violation) = explain(before, &clients) {
            found.linearizable = false;
            found.lost_writes += lost_writes(before, &clients) as u64;
            found.violations.push(format!("`{}`: {violation}", load::name(*object)));
        }
    }
}

/// Flips a bit of an object on a device whose daemon does not run; returns whether the object existed.
///
/// # Errors
/// When the disk cannot be read or written.
pub fn damage(home: &Home, osd: u32, at: Address) -> Result<bool, StoreError> {
    let engine = Engine::open(&home.path(&format!("osd.{osd}")), home.settings()?.sync)?;
    let mut transaction = engine.begin();
    let row = key_bytes(at.group, at.key).to_vec();
    let Some(mut bytes) = transaction.get(Table::Data, &row) else { return Ok(false) };
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    transaction.set(Table::Data, row, bytes);
    transaction.commit()?;
    Ok(true)
}

/// Waits until all groups are clean, and compares all replicas. False if they do not become clean: then an
/// object may be on no replica, and a read of it would get no answer.
fn settle(plan: &Torture, found: &mut Tortured) -> Result<bool, StoreError> {
    let mut line = Client::reach(&plan.home, PATIENCE)?;
    if !wait_until_clean(&line, found)? {
        return Ok(false);
    }
    // Damage that nobody has read is found by comparing all replicas.
    if line.compare_replicas(true)?.damaged > 0 {
        std::thread::sleep(Duration::from_secs(1));
        if !wait_until_clean(&line, found)? {
            return Ok(false);
        }
    }
    let compared = line.compare_replicas(false)?;
    found.corruptions_repaired = found.corruptions.saturating_sub(compared.damaged);
    found.faults.extend(compared.faults);
    Ok(true)
}

fn wait_until_clean(line: &Client, found: &mut Tortured) -> Result<bool, StoreError> {
    let until = now() + SETTLE;
    loop {
        let standing = line.standing()?;
        let is_new = |report: &Report| report.epoch == standing.map.epoch;
        if Health::of(&standing).is_clean() && standing.reports.values().all(is_new) {
            found.corruptions_noticed = standing.reports.values().map(|report| report.counters.damaged).sum();
            return Ok(true);
        }
        if now() >= until {
            let seconds = SETTLE.as_secs();
            found
                .faults
                .push(format!("some groups are not clean after {seconds} s, so objects were not read"));
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
