//! Starts and ends the processes of a cluster.

use std::path::PathBuf;
use std::process::Child;
use std::sync::OnceLock;
use std::time::Duration;

use towtank::Trouble;
use towtank_gateway::Credentials;
use towtank_iosched::{Description, FlowSpec};
use towtank_scenario::Problem;
use towtank_store::client::Client;
use towtank_store::control::{self, Ending};
use towtank_store::engine::Sync;
use towtank_store::frames::{Standing, ToMonitor};
use towtank_store::health::Health;
use towtank_store::settings::{Home, Pacing, Settings};
use towtank_store::{admission, lock};

use super::flags::{self, Up};
use super::standing::{line_of_metrics, text_of};
use super::{home, print, span, trouble};
use crate::exit::Exit;
use crate::{interrupt, screen};

/// The interval between two checks of a cluster that starts.
const LOOK: Duration = Duration::from_millis(100);

/// How long a daemon may take until it counts as up: it first reads its logs and trees.
const UP_TIME: Duration = Duration::from_secs(30);

/// The timeout of a request to the monitor.
const MONITOR_TIME: Duration = Duration::from_secs(10);

/// `up`: creates a cluster where there is none, starts the processes that do not run, and waits until all
/// groups are clean.
pub fn up(flags: &Up) -> Result<Exit, Trouble> {
    let home = home(&flags.place.dir)?;
    let turn = lock::turn(&home).map_err(trouble)?;
    if home.is_made() {
        change_settings(&home, flags)?;
    } else {
        home.make(&settings(flags, None)?).map_err(trouble_of_settings)?;
    }
    Credentials::ensure(&home).map_err(trouble_of_settings)?;
    let stop = interrupt::watch();
    let program = program()?;
    if control::running(&home, control::Daemon::Monitor).is_none() {
        admission::check_monitor(&home).map_err(|error| trouble(error.into()))?;
        control::start(&home, &program, control::Daemon::Monitor).map_err(trouble)?;
    }
    let client = Client::reach(&home, MONITOR_TIME).map_err(trouble)?;
    let mut children = start_sound(&home, &client)?;
    drop(turn);
    let patience = span(flags.wait);
    let mut waited = Duration::ZERO;
    loop {
        let standing = client.standing().map_err(trouble)?;
        let health = Health::of(&standing);
        if health.is_clean() {
            let (standing, metrics) = (text_of(&standing, &health), line_of_metrics(&home));
            return print(&format!("{standing}{metrics}\n{}", how_to_reach(&home)));
        }
        if let Some(ended) = children.iter_mut().find_map(|(osd, child)| ended(&home, *osd, child)) {
            return Err(ended);
        }
        if stop.raised() {
            return Ok(Exit::Interrupted);
        }
        if waited >= patience {
            screen::print(&text_of(&standing, &health))
                .map_err(|error| Trouble::failed(format!("cannot write to stdout: {error}")))?;
            let problem = Problem::new(format!("not all groups are clean after {}", flags.wait));
            return Err(Trouble::Failed(
                problem.hint("`towtank store status --watch` goes on telling; log/ has what the daemons say"),
            ));
        }
        std::thread::sleep(LOOK);
        waited += LOOK;
    }
}

/// Starts the daemons that do not run. Those whose directories are not what the monitor knows are not
/// started, and are named once the others run.
fn start_sound(home: &Home, client: &Client) -> Result<Vec<(u32, Child)>, Trouble> {
    let map = client.standing().map_err(trouble)?.map;
    let (mut children, mut refused) = (Vec::new(), Vec::new());
    let lost = map.lost();
    for osd in map.osds.keys().copied().filter(|osd| !lost.contains(osd)) {
        if control::running(home, control::Daemon::Osd(osd)).is_some() {
            continue;
        }
        match admission::check(home, &map, osd) {
            Ok(()) => children.push((osd, launch(home, osd)?)),
            Err(error) => refused.push(error),
        }
    }
    let Some(first) = refused.first() else { return Ok(children) };
    let words: Vec<String> = refused.iter().map(ToString::to_string).collect();
    let problem = Problem::new(format!("not all daemons are started: {}", words.join("; ")));
    Err(Trouble::Failed(match first.hint() {
        Some(hint) => problem.hint(hint),
        None => problem,
    }))
}

/// Starts a device daemon.
pub(super) fn launch(home: &Home, osd: u32) -> Result<Child, Trouble> {
    control::start(home, &program()?, control::Daemon::Osd(osd)).map_err(trouble)
}

fn how_to_reach(home: &Home) -> String {
    let dir = home.directory().display();
    format!(
        "towtank store put NAME FILE --dir {dir}\n\
         towtank store status --dir {dir}\n\
         towtank store gateway --dir {dir}\n\
         towtank store down --dir {dir}\n"
    )
}

/// The settings of a new cluster, or those of an existing one with the given flags applied.
fn settings(flags: &Up, before: Option<Settings>) -> Result<Settings, Trouble> {
    let is_new = before.is_none();
    let osds = flags.osds.unwrap_or(Settings::default().osds);
    let replicas = Settings::default().replicas.min(osds);
    let before = before.unwrap_or_else(|| Settings { osds, replicas, ..Settings::default() });
    let ranges = flags.ranges.unwrap_or(1 << before.leaf_bits);
    if !ranges.is_power_of_two() {
        let problem = Problem::new(format!("--ranges is {ranges}, but a tree has a power of two of leaves"));
        return Err(Trouble::from(problem.hint(format!("take {}", ranges.next_power_of_two()))));
    }
    let ms = |span: towtank_units::SimSpan| span.as_ns() / 1_000_000;
    let (log, least) = match flags.log_entries {
        Some(log) => (log, Settings::default().log_entries_min.min(log / 2)),
        None => (before.log_entries_max, before.log_entries_min),
    };
    Ok(Settings {
        groups: flags.groups.filter(|_| is_new).unwrap_or(before.groups),
        replicas: flags.replicas.filter(|_| is_new).unwrap_or(before.replicas),
        discovery: flags.discovery.unwrap_or(before.discovery),
        leaf_bits: ranges.trailing_zeros() as u8,
        log_entries_max: log,
        log_entries_min: least,
        backfills: flags.backfills.unwrap_or(before.backfills),
        recovery_sleep_ms: flags.recovery_sleep.map_or(before.recovery_sleep_ms, ms),
        sync: match flags.sync {
            Some(flags::Sync::Never) => Sync::Never,
            Some(flags::Sync::Always) => Sync::Always,
            None => before.sync,
        },
        grace_ms: flags.grace.map_or(before.grace_ms, ms),
        out_after_s: flags.out_after.map_or(before.out_after_s, |span| span.as_ns() / 1_000_000_000),
        pacing: pacing(flags)?.or_else(|| before.pacing.clone()),
        ..before
    })
}

fn pacing(flags: &Up) -> Result<Option<Pacing>, Trouble> {
    let Some(text) = &flags.scheduler else { return Ok(None) };
    let scheduler: Description = text.parse().map_err(|error| {
        Trouble::from(Problem::new(format!("--scheduler: {error}")).hint("such as `mclock:8`, or `sfq:8`"))
    })?;
    let flow = |weight: Option<u32>, reservation: Option<u64>, limit: Option<u64>| FlowSpec {
        weight: weight.unwrap_or(1),
        reservation: reservation.unwrap_or(0),
        limit: limit.unwrap_or(0),
        ..FlowSpec::default()
    };
    Ok(Some(Pacing {
        scheduler,
        client: flow(flags.client_weight, flags.client_reservation, None),
        recovery: flow(flags.recovery_weight, flags.recovery_reservation, flags.recovery_limit),
    }))
}

/// A cluster keeps its daemons, groups and replicas; everything else can be changed while nothing runs.
fn change_settings(home: &Home, flags: &Up) -> Result<(), Trouble> {
    let dir = flags.place.dir.display();
    let fixed = [
        ("--osds", flags.osds.is_some()),
        ("--groups", flags.groups.is_some()),
        ("--replicas", flags.replicas.is_some()),
    ];
    if let Some((flag, _)) = fixed.into_iter().find(|(_, is_given)| *is_given) {
        let problem = Problem::new(format!("{flag} is for a new cluster, and there is one in `{dir}`"));
        return Err(Trouble::from(problem.hint("leave it out to start that one, or choose another --dir")));
    }
    let before = home.settings().map_err(trouble_of_settings)?;
    let after = settings(flags, Some(before.clone()))?;
    if after == before {
        return Ok(());
    }
    let mut all = control::osds(home).into_iter().map(control::Daemon::Osd).chain([control::Daemon::Monitor]);
    if let Some(running) = all.find(|daemon| control::running(home, *daemon).is_some()) {
        let problem = Problem::new(format!("{running} runs, and settings are read when daemons start"));
        return Err(Trouble::from(problem.hint(format!("`towtank store down --dir {dir}` first"))));
    }
    home.change(&after).map_err(trouble_of_settings)
}

fn trouble_of_settings(error: towtank_store::settings::SettingsError) -> Trouble {
    trouble(error.into())
}

/// The file that starts this command, if it is not the executable of the process.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the file that starts this command, if it is not the executable of the process.
pub(crate) fn set_program(program: Option<PathBuf>) {
    if let Some(path) = program {
        PROGRAM.get_or_init(|| path);
    }
}

/// The path of this program, which also runs the daemons.
pub fn program() -> Result<PathBuf, Trouble> {
    if let Some(path) = PROGRAM.get() {
        return Ok(path.clone());
    }
    std::env::current_exe()
        .map_err(|error| Trouble::failed(format!("this program cannot find itself: {error}")))
}

/// `down`: ends device daemons first, so that the monitor is informed.
pub(crate) fn down(home: &Home) -> Result<Exit, Trouble> {
    home.settings().map_err(trouble_of_settings)?;
    let osds = control::osds(home).into_iter().map(control::Daemon::Osd);
    let all: Vec<control::Daemon> = osds.chain([control::Daemon::Monitor]).collect();
    let running: Vec<control::Daemon> =
        all.into_iter().filter(|daemon| control::running(home, *daemon).is_some()).collect();
    if running.is_empty() {
        screen::say("nothing runs\n");
    }
    for daemon in running {
        control::end_if_running(home, daemon, Ending::Asked).map_err(trouble)?;
        screen::say(&format!("{daemon} has ended\n"));
    }
    Ok(Exit::Done)
}

/// `osd start`.
pub fn start(home: &Home, osd: u32) -> Result<Exit, Trouble> {
    let turn = lock::turn(home).map_err(trouble)?;
    let client = Client::open(home, MONITOR_TIME).map_err(trouble)?;
    let map = known(&client, osd)?.map;
    let before = map.osds.get(&osd).map_or(0, |state| state.instance);
    if control::running(home, control::Daemon::Osd(osd)).is_none() {
        admission::check(home, &map, osd).map_err(|error| trouble(error.into()))?;
    }
    let child = launch(home, osd)?;
    drop(turn);
    wait_until_up(home, &client, (osd, before), child)
}

/// `osd stop`.
pub fn stop(home: &Home, osd: u32) -> Result<Exit, Trouble> {
    home.settings().map_err(trouble_of_settings)?;
    control::end(home, control::Daemon::Osd(osd), Ending::Asked).map_err(trouble)?;
    Ok(Exit::Done)
}

/// `osd kill`.
pub fn kill(home: &Home, osd: u32) -> Result<Exit, Trouble> {
    home.settings().map_err(trouble_of_settings)?;
    control::end(home, control::Daemon::Osd(osd), Ending::Killed).map_err(trouble)?;
    Ok(Exit::Done)
}

/// `osd in` and `osd out`.
pub(crate) fn mark(home: &Home, osd: u32, is_in: bool) -> Result<Exit, Trouble> {
    let client = Client::open(home, MONITOR_TIME).map_err(trouble)?;
    client.change(&ToMonitor::Mark { osd, is_in }).map_err(trouble)?;
    Ok(Exit::Done)
}

fn log_of(home: &Home, osd: u32) -> PathBuf {
    home.path(&format!("log/osd.{osd}.log"))
}

/// What a daemon that has ended by itself said last.
fn ended(home: &Home, osd: u32, child: &mut Child) -> Option<Trouble> {
    let status = child.try_wait().ok().flatten()?;
    let log = log_of(home, osd);
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let said = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("hint:");
    let last = text.lines().rev().find(said).unwrap_or("it has said nothing");
    let problem = Problem::new(format!("osd.{osd} has ended ({status}): {}", last.trim()));
    let whole = format!("`{}` has all that it said", log.display());
    // Its last words may have named the ways on.
    let ways = text.lines().rev().find(|line| !line.trim().is_empty());
    let hint = match ways.and_then(|line| line.trim().strip_prefix("hint:")) {
        Some(ways) => format!("{}; {whole}", ways.trim()),
        None => whole,
    };
    Some(Trouble::Failed(problem.hint(hint)))
}

/// Waits until the monitor counts a daemon that was just started as up, with a new instance number.
pub(super) fn wait_until_up(
    home: &Home,
    client: &Client,
    (osd, before): (u32, u64),
    mut child: Child,
) -> Result<Exit, Trouble> {
    let stop = interrupt::watch();
    let mut waited = Duration::ZERO;
    loop {
        let standing = client.standing().map_err(trouble)?;
        if standing.map.osds.get(&osd).is_some_and(|state| state.is_up && state.instance != before) {
            return Ok(Exit::Done);
        }
        if let Some(ended) = ended(home, osd, &mut child) {
            return Err(ended);
        }
        if stop.raised() {
            return Ok(Exit::Interrupted);
        }
        if waited >= UP_TIME {
            let text = format!("osd.{osd} runs, and does not count as up after {} s", UP_TIME.as_secs());
            let hint = format!("`{}` has what it says", log_of(home, osd).display());
            return Err(Trouble::Failed(Problem::new(text).hint(hint)));
        }
        std::thread::sleep(LOOK);
        waited += LOOK;
    }
}

/// The state of the cluster, which must have this daemon.
pub(super) fn known(client: &Client, osd: u32) -> Result<Standing, Trouble> {
    let standing = client.standing().map_err(trouble)?;
    if standing.map.osds.contains_key(&osd) {
        return Ok(standing);
    }
    let known: Vec<String> = standing.map.osds.keys().map(ToString::to_string).collect();
    let problem = Problem::new(format!("there is no osd.{osd}"));
    Err(Trouble::from(
        problem.hint(format!("there are {}; `towtank store osd add` adds one", known.join(", "))),
    ))
}
