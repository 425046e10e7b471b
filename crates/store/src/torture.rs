//! Clients that write and read while daemons are killed, stopped and started, and a checker that knows all
//! that they were told.
//!
//! Every write has a number of its own. At the end all daemons are started, all objects are read, and each
//! object's history must be one that a single copy could have shown ([`history`](crate::history)): an
//! acknowledged write that was lost shows there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;
use towtank_streams::{Draws, Purpose, Seed, Uniform as _};

use crate::StoreError;
use crate::client::Client;
use crate::clock::{Clock, now};
use crate::control::{self, Daemon, Ending};
use crate::engine::{Engine, Table, key_bytes};
use crate::history::{Act, Operation, explain};
use crate::names::{Address, address};
use crate::settings::{Home, Settings};

/// How a store is tortured.
#[derive(Clone, Debug)]
pub struct Torture {
    /// An empty directory.
    pub home: Home,
    /// This program, which runs the daemons.
    pub program: PathBuf,
    /// The cluster.
    pub settings: Settings,
    /// For how long.
    pub span: Duration,
    /// What all draws come from. What happens in between depends on the machine too.
    pub seed: u64,
    /// Clients.
    pub clients: u32,
    /// Objects.
    pub objects: u32,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tortured {
    /// Writes and removals that were answered.
    pub acknowledged_writes: u64,
    /// Reads that were answered.
    pub reads: u64,
    /// Objects of which an acknowledged write is not there any more at the end.
    pub lost_writes: u64,
    /// Daemons that were killed.
    pub kills: u64,
    /// Daemons that were asked to end.
    pub stops: u64,
    /// Daemons that were started again.
    pub restarts: u64,
    /// Times that a daemon stood still for a while.
    pub pauses: u64,
    /// Copies that were damaged on a daemon that was away.
    pub corruptions: u64,
    /// Damaged copies that the daemons have noticed and made good.
    pub corruptions_noticed: u64,
    /// Times that the monitor was killed and started again.
    pub monitor_kills: u64,
    /// Whether every object's history is one that a single copy could have shown.
    pub linearizable: bool,
    /// What is wrong, object by object.
    pub violations: Vec<String>,
    /// Faults that reading all replicas has found at the end.
    pub faults: Vec<String>,
}

impl Tortured {
    /// Whether nothing was lost, and nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.linearizable && self.lost_writes == 0 && self.faults.is_empty()
    }
}

/// How long a client waits for an answer: longer than any fault lasts.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the cluster may take at the end until all replicas are equal.
const SETTLE: Duration = Duration::from_secs(120);

/// What a client was told of each object.
type Told = BTreeMap<u32, Vec<Operation>>;

const TORTURE: Purpose = Purpose(90);

/// Draws of a client, or of the faults: 0 is nobody's number among clients.
fn draws_of(seed: u64, who: u32) -> impl FnMut(u64) -> u64 {
    let mut draws = Draws::new(Seed(seed), who, 0);
    move |below| draws.of(TORTURE).below(below.max(1))
}

/// What clients and faults share.
struct Shared<'a> {
    plan: &'a Torture,
    clock: Clock,
    ends: AtomicBool,
    writes: AtomicU64,
    reads: AtomicU64,
}

/// Tortures a new cluster.
///
/// # Errors
/// When the cluster cannot be made, a daemon cannot be started, or a client is not answered for longer than
/// any fault lasts.
pub fn torture(plan: &Torture, stopped: &(dyn Fn() -> bool + Sync)) -> Result<Tortured, StoreError> {
    plan.home.make(&plan.settings)?;
    let mut running = Running::start(plan)?;
    let shared = Shared {
        plan,
        clock: Clock::start(),
        ends: AtomicBool::new(false),
        writes: AtomicU64::new(0),
        reads: AtomicU64::new(0),
    };
    let all: Mutex<Vec<Told>> = Mutex::default();
    let mut found = Tortured::default();
    let broken = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..plan.clients)
            .map(|client| {
                let (shared, all) = (&shared, &all);
                scope.spawn(move || -> Result<(), StoreError> {
                    let told = load(shared, client)?;
                    all.lock().expect("no client panics").push(told);
                    Ok(())
                })
            })
            .collect();
        let broken = running.faults(plan, &shared, stopped, &mut found);
        shared.ends.store(true, Ordering::Relaxed);
        let healed = running.heal(&mut found);
        let clients = clients.into_iter().map(|client| client.join().expect("no client panics"));
        clients.fold(broken.and(healed), Result::and)
    });
    broken?;
    found.acknowledged_writes = shared.writes.load(Ordering::Relaxed);
    found.reads = shared.reads.load(Ordering::Relaxed);
    let mut all = all.into_inner().expect("no client panics");
    settle(plan, &mut found)?;
    all.push(read_all(&shared)?);
    judge(&all, plan, &mut found);
    running.end()?;
    Ok(found)
}

/// One client: it writes, removes and reads objects at random, one after the other.
fn load(shared: &Shared<'_>, client: u32) -> Result<Told, StoreError> {
    let mut draws = draws_of(shared.plan.seed, client + 1);
    let mut line = Client::reach(&shared.plan.home, PATIENCE)?;
    let (mut told, mut number) = (Told::new(), 0_u64);
    while !shared.ends.load(Ordering::Relaxed) {
        let object = draws(shared.plan.objects.into()) as u32;
        let what = draws(10);
        number += 1;
        let value = u64::from(client) << 40 | number;
        let size = draws(4) * draws(2_000);
        let called = shared.clock.sim().as_ns();
        let act = match what {
            0..6 => {
                line.put(&name(object), &BTreeMap::new(), &content(value, size))?;
                Act::Set(Some(value))
            }
            6 => {
                line.remove(&name(object))?;
                Act::Set(None)
            }
            _ => Act::Read(line.get(&name(object))?.map(|found| value_of(&found.data))),
        };
        let answered = shared.clock.sim().as_ns();
        let counter = if matches!(act, Act::Read(_)) { &shared.reads } else { &shared.writes };
        counter.fetch_add(1, Ordering::Relaxed);
        told.entry(object).or_default().push(Operation { called, answered, act });
    }
    Ok(told)
}

fn name(object: u32) -> String {
    format!("object {object}")
}

fn content(value: u64, size: u64) -> Vec<u8> {
    let mut data = value.to_le_bytes().to_vec();
    data.resize(8 + size as usize, value as u8);
    data
}

/// The number that was written; one that nobody writes where the data is something else.
fn value_of(data: &[u8]) -> u64 {
    let value = data.first_chunk::<8>().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes));
    if data.iter().skip(8).all(|byte| *byte == value as u8) { value } else { u64::MAX }
}

fn read_all(shared: &Shared<'_>) -> Result<Told, StoreError> {
    let mut line = Client::reach(&shared.plan.home, PATIENCE)?;
    let mut told = Told::new();
    for object in 0..shared.plan.objects {
        let called = shared.clock.sim().as_ns();
        let value = line.get(&name(object))?.map(|found| value_of(&found.data));
        let answered = shared.clock.sim().as_ns();
        told.insert(object, vec![Operation { called, answered, act: Act::Read(value) }]);
    }
    Ok(told)
}

/// Flips a bit of an object on a device whose daemon does not run; whether there was one.
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

/// Waits until all groups are clean, and compares all replicas.
fn settle(plan: &Torture, found: &mut Tortured) -> Result<(), StoreError> {
    let mut line = Client::reach(&plan.home, PATIENCE)?;
    wait_until_clean(plan, &line, found)?;
    // What nobody has read since it was damaged is found by looking.
    if line.compare_replicas(true)?.damaged > 0 {
        std::thread::sleep(Duration::from_secs(1));
        wait_until_clean(plan, &line, found)?;
    }
    found.faults.extend(line.compare_replicas(false)?.faults);
    Ok(())
}

fn wait_until_clean(plan: &Torture, line: &Client, found: &mut Tortured) -> Result<(), StoreError> {
    let until = now() + SETTLE;
    loop {
        let standing = line.standing()?;
        let clean = standing.reports.values().flat_map(|report| report.led.values());
        let clean =
            clean.filter(|group| group.is_clean && group.acting.len() as u32 == plan.settings.replicas);
        let is_new = |report: &crate::frames::Report| report.epoch == standing.map.epoch;
        if clean.count() as u32 == plan.settings.groups && standing.reports.values().all(is_new) {
            found.corruptions_noticed = standing.reports.values().map(|report| report.counters.damaged).sum();
            return Ok(());
        }
        if now() >= until {
            found.faults.push(format!("not all groups are clean after {} s", SETTLE.as_secs()));
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn judge(all: &[Told], plan: &Torture, found: &mut Tortured) {
    found.linearizable = true;
    for object in 0..plan.objects {
        let clients: Vec<Vec<Operation>> = all.iter().filter_map(|told| told.get(&object).cloned()).collect();
        let Err(violation) = explain(&clients) else { continue };
        found.linearizable = false;
        // All but the last read explained: the write that it should tell is lost.
        found.lost_writes += u64::from(violation.explained + 1 == violation.operations);
        found.violations.push(format!("`{}`: {violation}", name(object)));
    }
}

/// The processes of the cluster, as this one's children.
struct Running {
    home: Home,
    program: PathBuf,
    children: BTreeMap<Daemon, Child>,
    paused: Vec<Daemon>,
}

impl Running {
    fn start(plan: &Torture) -> Result<Running, StoreError> {
        let mut running = Running {
            home: plan.home.clone(),
            program: plan.program.clone(),
            children: BTreeMap::new(),
            paused: Vec::new(),
        };
        running.begin(Daemon::Monitor)?;
        (0..plan.settings.osds).try_for_each(|osd| running.begin(Daemon::Osd(osd)))?;
        let _ = Client::reach(&plan.home, PATIENCE)?;
        Ok(running)
    }

    fn begin(&mut self, daemon: Daemon) -> Result<(), StoreError> {
        let child = control::start(&self.home, &self.program, daemon)?;
        self.children.insert(daemon, child);
        Ok(())
    }

    fn end_one(&mut self, daemon: Daemon, ending: Ending) -> Result<(), StoreError> {
        let Some(mut child) = self.children.remove(&daemon) else { return Ok(()) };
        control::end(&self.home, daemon, ending)?;
        child.wait()?;
        Ok(())
    }

    /// Draws faults until the time is over. A daemon that has ended by itself is a fault of its own.
    fn faults(
        &mut self,
        plan: &Torture,
        shared: &Shared<'_>,
        stopped: &dyn Fn() -> bool,
        found: &mut Tortured,
    ) -> Result<(), StoreError> {
        let mut draws = draws_of(plan.seed, 0);
        while shared.clock.elapsed() < plan.span && !stopped() {
            std::thread::sleep(Duration::from_millis(100 + draws(900)));
            self.look(found)?;
            let osd = Daemon::Osd(draws(plan.settings.osds.into()) as u32);
            let runs = self.children.contains_key(&osd);
            match draws(10) {
                0..4 if runs && !self.paused.contains(&osd) => {
                    self.end_one(osd, Ending::Killed)?;
                    found.kills += 1;
                }
                4 if runs && !self.paused.contains(&osd) => {
                    self.end_one(osd, Ending::Asked)?;
                    found.stops += 1;
                }
                5 if runs && !self.paused.contains(&osd) => {
                    control::pause(&self.home, osd, true)?;
                    self.paused.push(osd);
                    found.pauses += 1;
                }
                6 => {
                    self.end_one(Daemon::Monitor, Ending::Killed)?;
                    self.begin(Daemon::Monitor)?;
                    found.monitor_kills += 1;
                }
                _ => {
                    // Whoever is away or stands still goes on.
                    if let Some(at) = self.paused.iter().position(|paused| *paused == osd) {
                        self.paused.remove(at);
                        control::pause(&self.home, osd, false)?;
                    } else if let Daemon::Osd(id) = osd
                        && !runs
                    {
                        // Of one device alone: of each object another copy is sound.
                        if id == 0 {
                            let object = name(draws(plan.objects.into()) as u32);
                            let at = address(&object, plan.settings.groups);
                            found.corruptions += u64::from(damage(&self.home, id, at)?);
                        }
                        self.begin(osd)?;
                        found.restarts += 1;
                    }
                }
            }
        }
        Ok(())
    }

    fn look(&mut self, found: &mut Tortured) -> Result<(), StoreError> {
        let mut ended = Vec::new();
        for (daemon, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                found.faults.push(format!("{daemon} has ended by itself: {status}"));
                ended.push(*daemon);
            }
        }
        for daemon in ended {
            self.children.remove(&daemon);
            self.begin(daemon)?;
        }
        Ok(())
    }

    /// Everybody runs again.
    fn heal(&mut self, found: &mut Tortured) -> Result<(), StoreError> {
        for daemon in std::mem::take(&mut self.paused) {
            control::pause(&self.home, daemon, false)?;
        }
        let osds = self.home.settings()?.osds;
        for daemon in std::iter::once(Daemon::Monitor).chain((0..osds).map(Daemon::Osd)) {
            if !self.children.contains_key(&daemon) {
                self.begin(daemon)?;
                found.restarts += 1;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), StoreError> {
        let daemons: Vec<Daemon> = self.children.keys().rev().copied().collect();
        daemons.into_iter().try_for_each(|daemon| self.end_one(daemon, Ending::Asked))
    }
}

/// However it ends, no process stays behind.
impl Drop for Running {
    fn drop(&mut self) {
        for child in self.children.values_mut() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
