//! A monitor that is lost is built anew, from the maps that the directories of the devices keep
//! ([`known`](crate::known)).
//!
//! **Why this is enough.** A write is acknowledged when all replicas that act in an interval have it, and
//! a device acts in an interval only after the map with which it began is on its disk. So if one of those
//! devices is left, its maps have that interval, and since a device hears of all maps in order, the one
//! with the newest map has all of them up to it: what the others keep must agree with that. Maps that no
//! device has began intervals in which none of them acted, so nothing was acknowledged there, except by
//! devices that are not left. Therefore every device of the newest map must be there, in the life and
//! with the last run that that map has in it; so must one that has left a log here. What may be lost
//! with one that is given up is said first. The maps become the history of the new monitor, so that
//! groups wait for the same devices as before; a device that was away hears of what it missed.
//!
//! The last map is new: its epoch is far above all that are known, and all daemons are down. It is also
//! written into the directories of the devices, before the new monitor is put in its place: from then on they
//! refuse each older copy of `monitor/`. A rebuilding that is interrupted is begun again. Nothing is removed:
//! a `monitor/` that is there is moved aside.
//!
//! What is not noticed: a device that was added while all others were down, and of which the directory and
//! the log are lost with the monitor.

mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use towtank_replication::{Epoch, Incarnation};

use crate::StoreError;
use crate::control::{self, Daemon};
use crate::engine::Engine;
use crate::identity::{self, Identity, IdentityError, Register};
use crate::known::{self, Known};
use crate::lock::{self, Lock};
use crate::loss::Loss;
use crate::map::ClusterMap;
use crate::monitor::{make_tables, newest_in};
use crate::runs::Runs;
use crate::saved::{Outline, Saved};
use crate::settings::{Home, Settings};
use plan::{Findings, Gap, Plan, Testimony};

/// Where the new monitor is made, before it is put in its place.
const MAKING: &str = "monitor.rebuilt";

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Devices that are given up.
    pub without: BTreeSet<u32>,
    /// Whether the loss of what only they may know is accepted.
    pub accepts_loss: bool,
    /// A rule that is broken on purpose: the maps that this device keeps are left out.
    #[doc(hidden)]
    pub planted: Option<u32>,
}

/// What may be lost with the devices that are given up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// In the intervals that are known.
    pub loss: Loss,
    /// They may have served without any other after this map, the newest that the others know.
    pub after: Option<Epoch>,
}

impl Lost {
    /// Whether nothing that was acknowledged is lost.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.after.is_none() && self.loss.is_nothing()
    }

    fn of(plan: &Plan) -> Lost {
        Lost { loss: plan.loss.clone(), after: plan.may_have_gone_on.then_some(plan.newest) }
    }
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The monitor's directory is made.
    Done {
        /// The devices whose directories were read.
        devices: Vec<u32>,
        /// The newest map that they knew.
        newest: Epoch,
        /// The new map.
        epoch: Epoch,
        /// What may be lost.
        lost: Lost,
        /// Where the former directory is now.
        aside: Option<PathBuf>,
    },
    /// The monitor's directory is not lost: it has this map, and no device knows a later one.
    InOrder(Epoch),
    /// There is no such device.
    NoSuch(u32),
    /// This may be lost, and it was not accepted.
    Loses(Lost),
}

/// Builds the monitor of a cluster anew. No daemon may run.
///
/// # Errors
/// When a daemon runs, a directory cannot be used, or a file cannot be read or written.
pub fn rebuild(home: &Home, ask: &Ask) -> Result<Outcome, StoreError> {
    let settings = home.settings()?;
    let _turn = lock::turn(home)?;
    let traces = traces(home)?;
    let _locks = locked(home, &traces)?;
    let directories: BTreeSet<u32> =
        control::osds(home).into_iter().filter(|osd| home.path(&format!("osd.{osd}")).exists()).collect();
    if let Some(osd) = ask.without.iter().find(|osd| !traces.contains(osd) && !directories.contains(osd)) {
        return Ok(Outcome::NoSuch(*osd));
    }
    let mut found = Findings { traces, ..Findings::default() };
    for osd in directories {
        match testimony(home, &settings, osd) {
            Ok(testimony) => drop(found.testimonies.insert(osd, testimony)),
            Err(why) => drop(found.faults.insert(osd, why)),
        }
    }
    let newest = found.newest();
    found.copy = of_monitor(home);
    if let Some(epoch) = found.copy.filter(|epoch| *epoch >= newest) {
        return Ok(Outcome::InOrder(epoch));
    }
    if let Some(testimony) = ask.planted.and_then(|osd| found.testimonies.get_mut(&osd)) {
        testimony.maps.clear();
    }
    let plan = plan::made(&settings, &found, &ask.without).map_err(|gap| refused(&gap))?;
    let lost = Lost::of(&plan);
    if !ask.accepts_loss && !lost.is_nothing() {
        return Ok(Outcome::Loses(lost));
    }
    let Plan { maps, newest, .. } = plan;
    let new = maps.last().expect("the last one is new");
    let (epoch, gone) = (new.epoch, new.lost());
    let is_used = |osd: &u32| !gone.contains(osd) && !ask.without.contains(osd);
    let devices: Vec<u32> = found.testimonies.keys().copied().filter(is_used).collect();
    let aside = put_in_place(home, &settings, &maps, &devices)?;
    Ok(Outcome::Done { devices, newest, epoch, lost, aside })
}

/// The devices that have left a log here.
fn traces(home: &Home) -> Result<BTreeSet<u32>, StoreError> {
    let entries = match std::fs::read_dir(home.path("log")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries?,
    };
    let mut traces = BTreeSet::new();
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("osd.")?.strip_suffix(".log"));
        traces.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    Ok(traces)
}

/// Takes the locks of all daemons, so that none runs or starts meanwhile.
fn locked(home: &Home, traces: &BTreeSet<u32>) -> Result<Vec<Lock>, StoreError> {
    std::fs::create_dir_all(home.path("run"))?;
    let osds: BTreeSet<u32> = control::osds(home).into_iter().chain(traces.iter().copied()).collect();
    let all = [Daemon::Monitor].into_iter().chain(osds.into_iter().map(Daemon::Osd));
    let mut locks = Vec::new();
    for daemon in all {
        lock::expect_free(home, &daemon).map_err(|error| match error {
            StoreError::Refused(what) => {
                identity::refused(what, "`towtank store down` first: the maps must not change meanwhile")
                    .into()
            }
            error => error,
        })?;
        locks.push(lock::take(home, &daemon)?);
    }
    Ok(locks)
}

/// The newest map of a monitor's directory that is in order; none if there is no such directory. One that
/// has not begun has no map, and none is missing.
fn of_monitor(home: &Home) -> Option<Epoch> {
    let register = Register::open(home.directory()).ok()?;
    if !register.is_begun {
        return Some(0);
    }
    newest_in(&home.path("monitor")).ok().flatten()
}

/// What the directory of a device knows, or why it cannot be used.
fn testimony(home: &Home, settings: &Settings, osd: u32) -> Result<Testimony, String> {
    let identity = Identity::of_osd(home.directory(), osd).map_err(|error| error.to_string())?;
    let directory = home.path(&format!("osd.{osd}"));
    let has_tables = identity::has_tables(&directory).map_err(|error| error.to_string())?;
    let (maps, outlines) = match has_tables {
        true => {
            let engine = Engine::open(&directory, settings.sync).map_err(StoreError::from);
            let found = engine.and_then(|engine| read(settings, &engine));
            found.map_err(|error| format!("osd.{osd}: {error}"))?
        }
        false => Default::default(),
    };
    let heard = outlines.values().map(|outline| outline.epoch).max().unwrap_or(0);
    if maps.last_key_value().map_or(0, |(epoch, _)| *epoch) < heard {
        return Err(format!("osd.{osd}: it ran last with a version that keeps no maps on devices"));
    }
    Ok(Testimony { incarnation: identity.incarnation, runs: identity.runs, maps, outlines })
}

type Read = (BTreeMap<Epoch, ClusterMap>, BTreeMap<u32, Outline>);

fn read(settings: &Settings, engine: &Engine) -> Result<Read, StoreError> {
    let mut transaction = engine.begin();
    let maps = known::maps(&mut transaction)?;
    let mut outlines = BTreeMap::new();
    for group in 0..settings.groups {
        outlines.extend(Saved::outline(group, &mut transaction)?.map(|outline| (group, outline)));
    }
    // It has no changes, and says here whether all could be read.
    transaction.commit()?;
    Ok((maps.into_iter().map(|map| (map.epoch, map)).collect(), outlines))
}

/// Notes maps in the tables of a device.
///
/// # Errors
/// When they cannot be read or written.
pub fn keep_in(engine: &Engine, maps: &[ClusterMap]) -> Result<(), StoreError> {
    let mut transaction = engine.begin();
    Known::load(&mut transaction)?.keep(maps, &mut transaction);
    Ok(transaction.commit()?)
}

/// A device whose tables are open.
#[derive(Debug)]
pub struct Device {
    /// The life of its directory.
    pub incarnation: Incarnation,
    /// The runs that its directory knows.
    pub runs: Runs,
    /// Its tables.
    pub engine: Engine,
}

/// What is left of a cluster without its monitor.
#[derive(Debug, Default)]
pub struct Left {
    /// The devices whose tables can be opened.
    pub devices: BTreeMap<u32, Device>,
    /// Those whose tables cannot, with the reason.
    pub faults: BTreeMap<u32, String>,
    /// All devices that have ever run.
    pub traces: BTreeSet<u32>,
    /// A rule that is broken on purpose: the maps that these devices keep are left out.
    #[doc(hidden)]
    pub planted: BTreeSet<u32>,
}

/// Why no maps follow from what is left.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Wanting {
    /// The devices that must be there, or be given up.
    pub devices: BTreeSet<u32>,
    /// What is wrong.
    pub why: String,
}

impl Left {
    /// The maps of the new monitor, and what may be lost with the devices that are given up.
    ///
    /// # Errors
    /// When a device is wanting that is not given up, or its tables cannot be read.
    pub fn maps(
        &self,
        settings: &Settings,
        without: &BTreeSet<u32>,
    ) -> Result<(Vec<ClusterMap>, Lost), Wanting> {
        let (traces, faults) = (self.traces.clone(), self.faults.clone());
        let mut found = Findings { traces, faults, ..Findings::default() };
        for (osd, Device { incarnation, runs, engine }) in &self.devices {
            let (incarnation, runs) = (*incarnation, runs.clone());
            match read(settings, engine) {
                Ok((maps, outlines)) => {
                    let maps = if self.planted.contains(osd) { BTreeMap::new() } else { maps };
                    let testimony = Testimony { incarnation, runs, maps, outlines };
                    found.testimonies.insert(*osd, testimony);
                }
                Err(error) => drop(found.faults.insert(*osd, error.to_string())),
            }
        }
        let made = plan::made(settings, &found, without);
        made.map(|plan| (plan.maps.clone(), Lost::of(&plan))).map_err(|gap| {
            let devices = match &gap {
                Gap::Devices(wanting) => wanting.keys().copied().collect(),
                Gap::Nothing | Gap::Missing(..) => BTreeSet::new(),
            };
            Wanting { devices, why: gap.to_string() }
        })
    }
}

fn refused(gap: &Gap) -> IdentityError {
    let hint = match gap {
        Gap::Nothing => {
            "bring the newest monitor/ back; a cluster of which no device was ever up holds nothing: make a new \
             one"
            .to_owned()
        }
        Gap::Missing(..) => "bring back the directories that were moved away or replaced".to_owned(),
        Gap::Devices(wanting) => {
            let flags: Vec<String> = wanting.keys().map(|osd| format!("--without {osd}")).collect();
            format!(
                "bring back what is wanting, or `towtank store rebuild-monitor {}` gives it up, and tells \
                 first what the cluster may lose",
                flags.join(" ")
            )
        }
    };
    identity::refused(format!("the monitor cannot be built anew: {gap}"), &hint)
}

/// Makes the new directory, tells the devices of its map, and puts it in its place. Returns where the former
/// one is now.
fn put_in_place(
    home: &Home,
    settings: &Settings,
    maps: &[ClusterMap],
    devices: &[u32],
) -> Result<Option<PathBuf>, StoreError> {
    let making = home.path(MAKING);
    if making.exists() {
        // It was never used: what it was made from is still there.
        std::fs::remove_dir_all(&making)?;
    }
    make_tables(&making, maps)?;
    let newest = maps.last().expect("the last one is new");
    let lives = newest.osds.iter().filter_map(|(osd, state)| Some((*osd, state.incarnation?))).collect();
    identity::make_register(home.directory(), &making, lives)?;
    for osd in devices {
        let directory = home.path(&format!("osd.{osd}"));
        // One that has never started has no tables, and holds nothing.
        if !identity::has_tables(&directory)? {
            continue;
        }
        keep_in(&Engine::open(&directory, settings.sync)?, maps)?;
    }
    let aside = identity::move_name_aside(home.directory(), "monitor")?;
    std::fs::rename(&making, home.path("monitor"))?;
    std::fs::File::open(home.directory())?.sync_all()?;
    Ok(aside)
}
