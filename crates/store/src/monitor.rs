//! The monitor: which daemons exist, which of them run, and which serve each group.
//!
//! Every change is a new [`ClusterMap`], which is durable before anybody receives it. There is only one
//! monitor: while it is away, daemons continue with the last map, and no group changes its daemons.

mod hearing;
pub mod state;

use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use towtank_replication::Epoch;

use crate::StoreError;
use crate::clock::Clock;
use crate::control::Daemon;
use crate::doors::{self, Kind, Limits, Visit};
use crate::engine::{EngineError, made_whole, read, written};
use crate::frames::{FromMonitor, ToMonitor};
use crate::health::Health;
use crate::identity::Register;
use crate::lock;
use crate::map::ClusterMap;
use crate::settings::{Home, Settings};
use crate::wire::{self, WireError};
use crate::{metrics, metrics_port};
use state::{Changed, State};

/// How often the monitor checks for silent daemons.
const LOOK: Duration = Duration::from_millis(100);

/// The longest that a request for new maps waits.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The state, and the table that has its maps.
struct Kept {
    state: State,
    clock: Clock,
    database: Database,
    table: Keyspace,
}

struct Shared {
    kept: Mutex<Kept>,
    news: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A thread that panics ends the process, so the state is never left incomplete.
        self.kept.lock().expect("no thread that holds it panics")
    }
}

impl Kept {
    fn open(directory: &Path, settings: Settings, register: &Register) -> Result<Kept, StoreError> {
        let (database, table) = tables(directory)?;
        let maps = stored(&table)?;
        if maps.is_empty() {
            register.may_begin()?;
        }
        let clock = Clock::start();
        let state = State::new(settings, register.cluster(), maps, &register.devices, clock.sim());
        let mut kept = Kept { state, clock, database, table };
        kept.save()?;
        Ok(kept)
    }

    /// Makes changes durable; returns whether there is a new map.
    fn save(&mut self) -> Result<bool, EngineError> {
        let changes = self.state.changes();
        for change in &changes {
            match change {
                Changed::Made(map) => self.table.insert(map.epoch.to_be_bytes(), written(map))?,
                Changed::Forgotten(epoch) => self.table.remove(epoch.to_be_bytes())?,
            }
        }
        if !changes.is_empty() {
            self.database.persist(PersistMode::SyncAll)?;
        }
        for change in &changes {
            match change {
                Changed::Made(map) => {
                    let up: Vec<_> = map.osds.iter().filter(|(_, osd)| osd.is_up).map(|(id, _)| id).collect();
                    println!("map {}: {:?}, up {up:?}", map.epoch, map.change);
                }
                Changed::Forgotten(epoch) => println!("map {epoch} is removed"),
            }
        }
        Ok(changes.iter().any(|change| matches!(change, Changed::Made(_))))
    }

    fn take(&mut self, ask: ToMonitor) -> Result<(FromMonitor, bool), EngineError> {
        let answer = self.state.take(self.clock.sim(), ask);
        // A change that is not on disk must not be reported to anybody.
        Ok((answer, self.save()?))
    }
}

/// Runs the monitor of a cluster until `stopped` returns true.
///
/// # Errors
/// When its files cannot be read or written, or it cannot listen.
pub fn serve(home: &Home, stopped: &dyn Fn() -> bool) -> Result<(), StoreError> {
    let (settings, key) = (home.settings()?, home.key()?);
    let _lock = lock::take(home, &Daemon::Monitor)?;
    let mut register = Register::open(home.directory())?;
    let kept = Kept::open(&home.path("monitor"), settings.clone(), &register)?;
    if !register.is_begun {
        register.begin(home.directory())?;
    }
    let listener = listen(home.monitor_address().ok(), &settings)?;
    let metrics = listen(home.metrics_address().ok(), &settings)?;
    let shared = Arc::new(Shared { kept: Mutex::new(kept), news: Condvar::new() });
    let address = listener.local_addr()?;
    home.write("monitor.address", address.to_string().as_bytes())?;
    println!("monitor listens on {address}");
    home.write("metrics.address", metrics.local_addr()?.to_string().as_bytes())?;
    let for_metrics = Arc::clone(&shared);
    metrics_port::open(metrics, move || {
        let standing = for_metrics.lock().state.standing();
        metrics::text_of(&standing, &Health::of(&standing))
    });
    let taking = Arc::clone(&shared);
    doors::open(listener, "monitor".to_owned(), Limits::of_port(), move |visit| {
        // If a connection breaks, the other side must renew it.
        let _ = talk(&visit, &key, &taking);
    });
    while !stopped() {
        std::thread::sleep(LOOK);
        let mut kept = shared.lock();
        let now = kept.clock.sim();
        kept.state.look(now);
        if kept.save()? {
            shared.news.notify_all();
        }
    }
    Ok(())
}

/// Listens on the port used before, if it is free, so that others need not look it up again.
fn listen(before: Option<String>, settings: &Settings) -> Result<TcpListener, StoreError> {
    if let Some(before) = before
        && let Ok(listener) = TcpListener::bind(before)
    {
        return Ok(listener);
    }
    Ok(TcpListener::bind((settings.listen.as_str(), 0))?)
}

/// Who sends a request: only daemons send these, and wait for maps.
fn kind_of(ask: &ToMonitor) -> Kind {
    match ask {
        ToMonitor::Boot { .. } | ToMonitor::Ping { .. } | ToMonitor::Leave { .. } => Kind::Daemon,
        ToMonitor::Maps { wait_ms, .. } if *wait_ms > 0 => Kind::Daemon,
        _ => Kind::Client,
    }
}

fn talk(visit: &Visit, key: &wire::ClusterKey, shared: &Shared) -> Result<(), WireError> {
    let (mut sender, mut receiver) = wire::accept(Arc::clone(visit.stream()), key)?;
    let mut is_stranger = true;
    while let Some(ask) = receiver.receive::<ToMonitor>()? {
        visit.begins();
        if is_stranger && !visit.becomes(kind_of(&ask)) {
            return Ok(());
        }
        is_stranger = false;
        let answer = match ask {
            ToMonitor::Maps { after, digest, wait_ms } => maps_after(shared, (after, digest), wait_ms),
            ask => {
                let taken = shared.lock().take(ask);
                let (answer, is_news) = taken.unwrap_or_else(|error| {
                    eprintln!("monitor: {error}");
                    std::process::exit(1);
                });
                if is_news {
                    shared.news.notify_all();
                }
                answer
            }
        };
        sender.send(&answer)?;
        visit.ends();
    }
    Ok(())
}

fn maps_after(shared: &Shared, (after, digest): (Epoch, Option<u64>), wait_ms: u32) -> FromMonitor {
    let wait = Duration::from_millis(u64::from(wait_ms)).min(WAIT_MAX);
    let kept = shared.lock();
    let (kept, _) = shared
        .news
        .wait_timeout_while(kept, wait, |kept| kept.state.map().epoch <= after)
        .expect("no thread that holds it panics");
    FromMonitor::Maps(kept.state.maps_after(after, digest))
}

/// Opens the tables of a monitor, or creates them.
fn tables(directory: &Path) -> Result<(Database, Keyspace), EngineError> {
    made_whole(directory, || {
        let files = Some(doors::files_kept());
        let database = Database::builder(directory).worker_threads(1).max_cached_files(files).open()?;
        let table = database.keyspace("maps", KeyspaceCreateOptions::default)?;
        Ok((database, table))
    })
}

fn stored(table: &Keyspace) -> Result<Vec<ClusterMap>, EngineError> {
    let mut maps = Vec::new();
    for row in table.iter() {
        maps.push(read("a map of the cluster", &row.value()?)?);
    }
    Ok(maps)
}

/// The epoch of the newest map in the tables of a monitor that does not run; none if they have none.
pub(crate) fn newest_in(directory: &Path) -> Result<Option<Epoch>, EngineError> {
    let (_database, table) = tables(directory)?;
    Ok(stored(&table)?.last().map(|map| map.epoch))
}

/// Makes the tables of a monitor with these maps.
pub(crate) fn make_tables(directory: &Path, maps: &[ClusterMap]) -> Result<(), EngineError> {
    let (database, table) = tables(directory)?;
    for map in maps {
        table.insert(map.epoch.to_be_bytes(), written(map))?;
    }
    Ok(database.persist(PersistMode::SyncAll)?)
}
