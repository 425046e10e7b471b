//! The monitor: which daemons exist, which of them run, and which serve each group.
//!
//! Every change is a new [`ClusterMap`], which is durable before anybody receives it. There is only one
//! monitor: while it is away, daemons continue with the last map, and no group changes its daemons.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use towtank_replication::{Epoch, Incarnation, Member};

use crate::StoreError;
use crate::admission::fault_in;
use crate::clock::now;
use crate::control::Daemon;
use crate::doors::{self, Kind, Limits, Visit};
use crate::engine::{EngineError, made_whole, read, written};
use crate::frames::{FromMonitor, GroupReport, Report, Standing, Then, ToMonitor};
use crate::health::Health;
use crate::identity::{ClusterId, IdentityError, Register, Shown};
use crate::lock;
use crate::loss::{Loss, Period};
use crate::map::{Change, ClusterMap, OsdState, Places};
use crate::settings::{Home, Settings};
use crate::wire::{self, WireError};
use crate::{metrics, metrics_port};

/// How often the monitor checks for silent daemons.
const LOOK: Duration = Duration::from_millis(100);

/// The least number of maps that are forgotten at a time.
const TRIM_LEAST: usize = 16;

/// The most daemons of a cluster.
const OSDS_MAX: u32 = 64;

/// The longest that a request for new maps waits.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The state of the monitor.
struct State {
    settings: Settings,
    cluster: ClusterId,
    maps: Vec<ClusterMap>,
    database: Database,
    table: Keyspace,
    heard: BTreeMap<u32, Instant>,
    down_since: BTreeMap<u32, Instant>,
    /// The runs that said that they end: what they asked before may arrive after that.
    left: BTreeMap<u32, u64>,
    reports: BTreeMap<u32, Report>,
}

struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panics ends the process, so the state is never left incomplete.
        self.state.lock().expect("no thread that holds it panics")
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
    let state = State::open(&home.path("monitor"), settings.clone(), &register)?;
    if !register.is_begun {
        register.begin(home.directory())?;
    }
    let listener = listen(home.monitor_address().ok(), &settings)?;
    let metrics = listen(home.metrics_address().ok(), &settings)?;
    let shared = Arc::new(Shared { state: Mutex::new(state), news: Condvar::new() });
    let address = listener.local_addr()?;
    home.write("monitor.address", address.to_string().as_bytes())?;
    println!("monitor listens on {address}");
    home.write("metrics.address", metrics.local_addr()?.to_string().as_bytes())?;
    let for_metrics = Arc::clone(&shared);
    metrics_port::open(metrics, move || {
        let standing = for_metrics.lock().standing();
        metrics::text_of(&standing, &Health::of(&standing))
    });
    let taking = Arc::clone(&shared);
    doors::open(listener, "monitor".to_owned(), Limits::of_port(), move |visit| {
        // If a connection breaks, the other side must renew it.
        let _ = talk(&visit, &key, &taking);
    });
    while !stopped() {
        std::thread::sleep(LOOK);
        let mut state = shared.lock();
        if state.look()? {
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
            ToMonitor::Maps { after, wait_ms } => maps_after(shared, after, wait_ms),
            ask => {
                let mut state = shared.lock();
                let before = state.map().epoch;
                let answer = state.take(ask).unwrap_or_else(|error| {
                    // A change that is not on disk must not be reported to anybody.
                    eprintln!("monitor: {error}");
                    std::process::exit(1);
                });
                if state.map().epoch > before {
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

fn maps_after(shared: &Shared, after: Epoch, wait_ms: u32) -> FromMonitor {
    let wait = Duration::from_millis(u64::from(wait_ms)).min(WAIT_MAX);
    let state = shared.lock();
    let (state, _) = shared
        .news
        .wait_timeout_while(state, wait, |state| state.map().epoch <= after)
        .expect("no thread that holds it panics");
    FromMonitor::Maps(state.maps.iter().filter(|map| map.epoch > after).cloned().collect())
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

impl State {
    fn open(directory: &Path, settings: Settings, register: &Register) -> Result<State, StoreError> {
        let (database, table) = tables(directory)?;
        let maps = stored(&table)?;
        let mut state = State {
            settings,
            cluster: register.cluster(),
            maps,
            database,
            table,
            heard: BTreeMap::new(),
            down_since: BTreeMap::new(),
            left: BTreeMap::new(),
            reports: BTreeMap::new(),
        };
        if state.maps.is_empty() {
            register.may_begin()?;
            let osd = |(id, incarnation): (&u32, &Incarnation)| (*id, OsdState::begins_with(*incarnation));
            let osds = register.devices.iter().map(osd).collect();
            let (temporary, gone) = (BTreeMap::new(), Vec::new());
            state.publish(ClusterMap { epoch: 1, oldest: 1, change: Change::Osds, osds, temporary, gone })?;
        }
        // Daemons that ran before get time to report again.
        let up: Vec<u32> = state.map().osds.iter().filter(|(_, osd)| osd.is_up).map(|(id, _)| *id).collect();
        state.heard.extend(up.into_iter().map(|id| (id, now())));
        Ok(state)
    }

    fn map(&self) -> &ClusterMap {
        self.maps.last().expect("there is one from the beginning")
    }

    fn standing(&self) -> Standing {
        Standing {
            map: ClusterMap { oldest: self.maps[0].epoch, ..self.map().clone() },
            replicas: self.settings.replicas,
            groups: self.settings.groups,
            reports: self.reports.clone(),
        }
    }

    fn publish(&mut self, mut map: ClusterMap) -> Result<(), StoreError> {
        map.oldest = self.maps.first().map_or(map.epoch, |first| first.epoch);
        let last = self.maps.last().map_or(0, |last| last.epoch);
        assert_eq!(map.epoch, last + 1, "epochs follow each other");
        let saved = self.table.insert(map.epoch.to_be_bytes(), written(&map));
        saved.and_then(|()| self.database.persist(PersistMode::SyncAll)).map_err(EngineError::from)?;
        let up = map.osds.iter().filter(|(_, osd)| osd.is_up).map(|(id, _)| id).collect::<Vec<_>>();
        println!("map {}: {:?}, up {up:?}", map.epoch, map.change);
        self.maps.push(map);
        Ok(())
    }

    /// Publishes a map with other daemon states. Temporary acting replicas end if one of them is down, or if
    /// other daemons should hold the group now.
    fn change_osds(&mut self, change: impl FnOnce(&mut BTreeMap<u32, OsdState>)) -> Result<(), StoreError> {
        self.change(|map| change(&mut map.osds))
    }

    fn change(&mut self, change: impl FnOnce(&mut ClusterMap)) -> Result<(), StoreError> {
        let before = Places::new(&self.settings, self.map());
        let mut map = ClusterMap { epoch: self.map().epoch + 1, change: Change::Osds, ..self.map().clone() };
        change(&mut map);
        let after = Places::new(&self.settings, &map);
        let osds = map.osds.clone();
        let is_up = |osd: &u32| osds.get(osd).is_some_and(|osd| osd.is_up);
        map.temporary
            .retain(|group, acting| acting.iter().all(is_up) && before.up(*group) == after.up(*group));
        self.publish(map)
    }

    fn mark_down(&mut self, id: u32) -> Result<(), StoreError> {
        self.heard.remove(&id);
        self.reports.remove(&id);
        self.down_since.insert(id, now());
        self.change_osds(|osds| osds.entry(id).or_default().is_up = false)
    }

    /// Marks silent daemons as down, and daemons that were down for long as out. Returns whether anything
    /// changed.
    fn look(&mut self) -> Result<bool, StoreError> {
        let epoch = self.map().epoch;
        let grace = Duration::from_millis(self.settings.grace_ms);
        let late = |since: &Instant, most: Duration| now().duration_since(*since) > most;
        let silent: Vec<u32> =
            self.heard.iter().filter(|(_, at)| late(at, grace)).map(|(id, _)| *id).collect();
        for id in silent {
            self.mark_down(id)?;
        }
        let out_after = Duration::from_secs(self.settings.out_after_s);
        let gone: Vec<u32> =
            self.down_since.iter().filter(|(_, at)| late(at, out_after)).map(|(id, _)| *id).collect();
        for id in gone {
            self.down_since.remove(&id);
            if self.map().osds.get(&id).is_some_and(|osd| osd.is_in) {
                self.change_osds(|osds| {
                    let osd = osds.entry(id).or_default();
                    (osd.is_in, osd.was_away) = (false, true);
                })?;
            }
        }
        self.trim()?;
        Ok(self.map().epoch > epoch)
    }

    /// Publishes that a disk became full, or is no longer full.
    fn note_room(&mut self, osd: u32, is_full: bool) -> Result<(), StoreError> {
        if self.map().osds.get(&osd).is_none_or(|state| state.is_full == is_full) {
            return Ok(());
        }
        let mut map = ClusterMap { epoch: self.map().epoch + 1, change: Change::Room, ..self.map().clone() };
        map.osds.entry(osd).or_default().is_full = is_full;
        self.publish(map)
    }

    /// The first epoch of a group's current interval.
    fn interval_of(&self, group: u32) -> Epoch {
        let begins = self.maps.iter().rev().find(|map| map.begins_interval_of(group));
        begins.or(self.maps.first()).map_or(0, |map| map.epoch)
    }

    /// The replicas of a group that is clean in its current interval, according to its primary.
    fn clean_acting(&self, group: u32) -> Option<&[u32]> {
        let interval = self.interval_of(group);
        let led = self.reports.values().filter_map(|report| report.led.get(&group));
        let mut clean = led.filter(|report| {
            report.epoch == interval
                && report.is_clean
                && report.acting.len() as u32 == self.settings.replicas
        });
        clean.next().map(|report| &report.acting[..])
    }

    /// Of the groups that a daemon should not hold, those that are clean elsewhere.
    fn clean_elsewhere(&self, osd: u32, strays: &[(u32, Epoch)]) -> Vec<(u32, Epoch)> {
        let is_clean = |(group, known): &&(u32, Epoch)| {
            self.interval_of(*group) == *known
                && self.clean_acting(*group).is_some_and(|acting| !acting.contains(&osd))
        };
        strays.iter().filter(is_clean).copied().collect()
    }

    /// When all groups are clean, forgets maps before the first of their current intervals. A daemon that
    /// returns knows some earlier intervals and none of those in between. That is enough: a replica that was
    /// complete in the clean interval knows all that was acknowledged before it, and peering waits for one of
    /// those.
    fn trim(&mut self) -> Result<(), StoreError> {
        let intervals = (0..self.settings.groups).map(|group| self.interval_of(group));
        let oldest = intervals.min().unwrap_or(0);
        let old = self.maps.partition_point(|map| map.epoch < oldest);
        if old < TRIM_LEAST {
            return Ok(());
        }
        let mut up = self.map().osds.iter().filter(|(_, osd)| osd.is_up).map(|(id, _)| id);
        let all_know = up.all(|id| self.reports.get(id).is_some_and(|report| report.epoch >= oldest));
        if !all_know || !(0..self.settings.groups).all(|group| self.clean_acting(group).is_some()) {
            return Ok(());
        }
        for map in self.maps.drain(..old) {
            self.table.remove(map.epoch.to_be_bytes()).map_err(EngineError::from)?;
        }
        self.database.persist(PersistMode::SyncAll).map_err(EngineError::from)?;
        println!("maps before {oldest} are removed");
        Ok(())
    }

    fn take(&mut self, ask: ToMonitor) -> Result<FromMonitor, StoreError> {
        match ask {
            ToMonitor::Boot { osd, instance, address, shown, epoch } => {
                match self.fault_of_boot(osd, instance, &shown, epoch) {
                    Some(why) => Ok(FromMonitor::Refused(why)),
                    None => self.boot(osd, instance, address, shown.starts),
                }
            }
            ToMonitor::Ping { osd, instance, report } => {
                if !self.is_running(osd, instance) {
                    return Ok(FromMonitor::Refused("this run is not marked up: boot again".to_owned()));
                }
                self.heard.insert(osd, now());
                let clean = self.clean_elsewhere(osd, &report.strays);
                self.note_room(osd, report.is_full)?;
                self.reports.insert(osd, report);
                Ok(FromMonitor::Clean(clean))
            }
            ToMonitor::Leave { osd, instance } => {
                self.left.insert(osd, instance);
                if self.is_running(osd, instance) {
                    self.mark_down(osd)?;
                }
                Ok(FromMonitor::Done)
            }
            ToMonitor::Wants { group, epoch, acting } => self.let_act(group, epoch, acting),
            ToMonitor::Status => Ok(FromMonitor::Status(self.standing())),
            ToMonitor::Mark { osd, is_in } => {
                let Some(state) = self.map().osds.get(&osd) else {
                    return Ok(FromMonitor::Refused(format!("there is no osd.{osd}")));
                };
                if state.is_in != is_in {
                    self.change_osds(|osds| {
                        let osd = osds.entry(osd).or_default();
                        (osd.is_in, osd.was_away) = (is_in, false);
                    })?;
                }
                Ok(FromMonitor::Done)
            }
            ToMonitor::Add { osd, incarnation } => {
                if osd >= OSDS_MAX {
                    let why = format!("osd.{osd} would be beyond the maximum of {OSDS_MAX} daemons");
                    return Ok(FromMonitor::Refused(why));
                }
                if self.map().osds.contains_key(&osd) {
                    return Ok(FromMonitor::Refused(format!("there is an osd.{osd} already: try again")));
                }
                let state = OsdState::begins_with(incarnation);
                self.change_osds(|osds| drop(osds.insert(osd, state)))?;
                Ok(FromMonitor::Done)
            }
            ToMonitor::Losing { osd } => Ok(match self.fault_of_losing(osd) {
                Some(why) => FromMonitor::Refused(why),
                None => FromMonitor::Loses(self.losing(osd)),
            }),
            ToMonitor::Lose { osd, accepted, then } => self.lose(osd, &accepted, then),
            ToMonitor::Maps { .. } => unreachable!("questions for maps wait without holding the state"),
        }
    }

    fn is_running(&self, osd: u32, instance: u64) -> bool {
        self.map().osds.get(&osd).is_some_and(|state| state.is_up && state.instance == instance)
    }

    /// Why a daemon is not let in: its directory is not the one that belongs in its place, or this monitor's
    /// maps are older than it.
    fn fault_of_boot(&self, osd: u32, instance: u64, shown: &Shown, epoch: Epoch) -> Option<String> {
        let said = |error: IdentityError| match error.hint() {
            Some(hint) => format!("{error}: {hint}"),
            None => error.to_string(),
        };
        if shown.cluster != self.cluster {
            return Some(format!("the directory of osd.{osd} belongs to another cluster"));
        }
        if self.left.get(&osd) == Some(&instance) {
            return Some(format!("this run of osd.{osd} has said that it ends"));
        }
        let newest = self.map().epoch;
        if epoch > newest {
            return Some(format!(
                "osd.{osd} knows map {epoch}, and the monitor's newest is {newest}: monitor/ is an older copy; \
                 bring the newest one back, or `towtank store rebuild-monitor` makes one from the devices"
            ));
        }
        // The same run registers again after it was marked down.
        let is_known = self.map().osds.get(&osd).is_some_and(|state| state.instance == instance);
        let starts = shown.starts + u64::from(is_known);
        fault_in(self.map(), osd, &Shown { starts, ..*shown }).map(said)
    }

    fn fault_of_losing(&self, osd: u32) -> Option<String> {
        match self.map().osds.get(&osd) {
            None => Some(format!("there is no osd.{osd}")),
            Some(state) if state.is_up => Some(format!("osd.{osd} counts as up: stop it first")),
            Some(_) => None,
        }
    }

    /// What the cluster loses without the directory of a daemon.
    fn losing(&self, osd: u32) -> Loss {
        let (now, mut loss) = (self.map(), Loss::default());
        let Some(member) = now.member(osd).filter(|member| !now.gone.contains(member)) else { return loss };
        let size_min = self.settings.config(0).size_min;
        let alive = now.alive();
        let placed: Vec<(&ClusterMap, Places)> =
            self.maps.iter().map(|map| (map, Places::new(&self.settings, map))).collect();
        for group in 0..self.settings.groups {
            let interval = self.interval_of(group);
            let led = self.reports.values().filter_map(|report| report.led.get(&group));
            let is_active =
                |report: &&GroupReport| report.epoch == interval && !report.is_down && !report.is_peering;
            let unfound = led
                .into_iter()
                .find(is_active)
                .map(|report| if report.awaited.contains(&osd) { report.unfound } else { 0 });
            let mut periods = Vec::new();
            for (map, places) in placed.iter().filter(|(map, _)| map.begins_interval_of(group)) {
                let acting = places.map_of(map, group).acting;
                let members: Vec<Member> = acting.iter().filter_map(|device| map.member(device.0)).collect();
                if members.len() < size_min || !members.contains(&member) {
                    continue;
                }
                let report = |it: &Member| self.reports.get(&it.device.0);
                let doubts = |it: &Member| report(it).is_some_and(|report| report.doubts(group, map.epoch));
                let runs = |it: &&Member| alive.contains(it);
                let tells_no_more = |it: &&Member| now.gone.contains(it) || runs(it) && doubts(it);
                let silent = members.iter().filter(tells_no_more).map(|it| it.device.0).collect();
                // A daemon that has just started has not said yet whether it doubts.
                let has_said = |it: &Member| report(it).is_some_and(|report| report.epoch >= map.epoch);
                let knows = |it: &Member| runs(&it) && has_said(it) && !doubts(it);
                let acting = members.iter().map(|it| (it.device.0, knows(it))).collect();
                periods.push(Period { epoch: map.epoch, acting, silent });
            }
            loss.add(osd, group, unfound, &periods);
        }
        loss
    }

    /// Goes on without the directory of a daemon, if no more may be lost than was accepted.
    fn lose(&mut self, osd: u32, accepted: &Loss, then: Then) -> Result<FromMonitor, StoreError> {
        if let Some(why) = self.fault_of_losing(osd) {
            return Ok(FromMonitor::Refused(why));
        }
        let loss = self.losing(osd);
        if !loss.is_within(accepted) {
            return Ok(FromMonitor::Loses(loss));
        }
        if then == Then::Goes && self.map().osds.len() == 1 {
            return Ok(FromMonitor::Refused(format!("osd.{osd} is the only daemon of the cluster")));
        }
        if then != Then::Stays {
            self.down_since.remove(&osd);
        }
        let former = self.map().member(osd).filter(|member| !self.map().gone.contains(member));
        self.change(|map| {
            map.gone.extend(former);
            match then {
                Then::Stays => {}
                Then::Goes => drop(map.osds.remove(&osd)),
                Then::Begins(incarnation) => {
                    let state = map.osds.entry(osd).or_default();
                    (state.incarnation, state.starts) = (Some(incarnation), 0);
                }
            }
        })?;
        Ok(FromMonitor::Done)
    }

    /// Registers a daemon that started. A daemon that restarts is down in one map before it is up in the
    /// next: messages to its former run are void.
    fn boot(
        &mut self,
        osd: u32,
        instance: u64,
        address: String,
        starts: u64,
    ) -> Result<FromMonitor, StoreError> {
        if !self.is_running(osd, instance) {
            if self.map().osds.get(&osd).is_some_and(|state| state.is_up) {
                self.mark_down(osd)?;
            }
            // A daemon that was out because it was away is in again; one that was marked out stays out until
            // it is marked in.
            self.down_since.remove(&osd);
            self.change_osds(|osds| {
                let state = osds.entry(osd).or_default();
                (state.is_up, state.instance, state.address) = (true, instance, address);
                (state.is_full, state.starts) = (false, starts);
                state.is_in |= std::mem::take(&mut state.was_away);
            })?;
        }
        self.heard.insert(osd, now());
        Ok(FromMonitor::Done)
    }

    fn let_act(&mut self, group: u32, epoch: Epoch, acting: Vec<u32>) -> Result<FromMonitor, StoreError> {
        let interval = self.maps.iter().rev().find(|map| map.begins_interval_of(group)).map(|map| map.epoch);
        let is_up = |osd: &u32| self.map().osds.get(osd).is_some_and(|state| state.is_up);
        // A request from a past interval is ignored: the primary will ask again.
        let are_different = acting.iter().collect::<BTreeSet<_>>().len() == acting.len();
        let is_sound = group < self.settings.groups && are_different && acting.iter().all(is_up);
        if !is_sound || interval != Some(epoch) {
            return Ok(FromMonitor::Done);
        }
        let mut map =
            ClusterMap { epoch: self.map().epoch + 1, change: Change::Group(group), ..self.map().clone() };
        let up = Places::new(&self.settings, &map).up(group);
        if acting.is_empty() || acting == up {
            map.temporary.remove(&group);
        } else {
            map.temporary.insert(group, acting);
        }
        self.publish(map)?;
        Ok(FromMonitor::Done)
    }
}
