//! Starting and ending the processes of a cluster.

use std::path::PathBuf;
use std::time::Duration;

use towtank::Trouble;
use towtank_scenario::Problem;
use towtank_store::client::Client;
use towtank_store::control::{self, Ending};
use towtank_store::engine::Sync;
use towtank_store::frames::{FromMonitor, ToMonitor};
use towtank_store::settings::{Home, Settings};

use super::flags::{self, Up};
use super::standing::{Health, text_of};
use super::{home, print, span, trouble};
use crate::exit::Exit;
use crate::{interrupt, screen};

/// Between two looks at a cluster that begins.
const LOOK: Duration = Duration::from_millis(100);

/// How long a monitor may take to answer.
const MONITOR_TIME: Duration = Duration::from_secs(10);

/// `up`: makes a cluster where there is none, starts what does not run, and waits until all is clean.
pub fn up(flags: &Up) -> Result<Exit, Trouble> {
    let home = home(&flags.place.dir)?;
    if home.is_made() {
        refuse_new_settings(flags)?;
    } else {
        home.make(&settings(flags)?).map_err(trouble_of_settings)?;
    }
    let stop = interrupt::watch();
    let program = program()?;
    if control::running(&home, control::Daemon::Monitor).is_none() {
        control::start(&home, &program, control::Daemon::Monitor).map_err(trouble)?;
    }
    let client = Client::reach(&home, MONITOR_TIME).map_err(trouble)?;
    let standing = client.standing().map_err(trouble)?;
    for osd in standing.map.osds.keys().map(|id| control::Daemon::Osd(*id)) {
        if control::running(&home, osd).is_none() {
            control::start(&home, &program, osd).map_err(trouble)?;
        }
    }
    let patience = span(flags.wait);
    let mut waited = Duration::ZERO;
    loop {
        let standing = client.standing().map_err(trouble)?;
        let health = Health::of(&standing);
        if health.is_clean() {
            return print(&format!("{}\n{}", text_of(&standing, &health), how_to_reach(&home)));
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

fn how_to_reach(home: &Home) -> String {
    let dir = home.directory().display();
    format!(
        "towtank store put NAME FILE --dir {dir}\n\
         towtank store status --dir {dir}\n\
         towtank store down --dir {dir}\n"
    )
}

fn settings(flags: &Up) -> Result<Settings, Trouble> {
    let default = Settings::default();
    let osds = flags.osds.unwrap_or(default.osds);
    let ranges = flags.ranges.unwrap_or(1 << default.leaf_bits);
    if !ranges.is_power_of_two() {
        let problem = Problem::new(format!("--ranges is {ranges}, but a tree has a power of two of leaves"));
        return Err(Trouble::from(problem.hint(format!("take {}", ranges.next_power_of_two()))));
    }
    let log = flags.log_entries.unwrap_or(default.log_entries_max);
    let ms = |span: towtank_units::SimSpan| span.as_ns() / 1_000_000;
    Ok(Settings {
        osds,
        groups: flags.groups.unwrap_or(default.groups),
        replicas: flags.replicas.unwrap_or(default.replicas.min(osds)),
        discovery: flags.discovery.map_or(default.discovery, Into::into),
        leaf_bits: ranges.trailing_zeros() as u8,
        log_entries_max: log,
        log_entries_min: default.log_entries_min.min(log / 2),
        backfills: flags.backfills.unwrap_or(default.backfills),
        recovery_sleep_ms: flags.recovery_sleep.map_or(default.recovery_sleep_ms, ms),
        sync: match flags.sync {
            Some(flags::Sync::Never) => Sync::Never,
            Some(flags::Sync::Always) | None => Sync::Always,
        },
        grace_ms: flags.grace.map_or(default.grace_ms, ms),
        out_after_s: flags.out_after.map_or(default.out_after_s, |span| span.as_ns() / 1_000_000_000),
        ..default
    })
}

/// A cluster keeps the settings that it was made with.
fn refuse_new_settings(flags: &Up) -> Result<(), Trouble> {
    let given = [
        ("--osds", flags.osds.is_some()),
        ("--groups", flags.groups.is_some()),
        ("--replicas", flags.replicas.is_some()),
        ("--discovery", flags.discovery.is_some()),
        ("--ranges", flags.ranges.is_some()),
        ("--log-entries", flags.log_entries.is_some()),
        ("--backfills", flags.backfills.is_some()),
        ("--recovery-sleep", flags.recovery_sleep.is_some()),
        ("--sync", flags.sync.is_some()),
        ("--grace", flags.grace.is_some()),
        ("--out-after", flags.out_after.is_some()),
    ];
    let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let dir = flags.place.dir.display();
    let problem = Problem::new(format!("{flag} is for a new cluster, and there is one in `{dir}`"));
    Err(Trouble::from(problem.hint("leave it out to start that one, or choose another --dir")))
}

fn trouble_of_settings(error: towtank_store::settings::SettingsError) -> Trouble {
    trouble(error.into())
}

/// This program, which runs the daemons too.
pub fn program() -> Result<PathBuf, Trouble> {
    std::env::current_exe()
        .map_err(|error| Trouble::failed(format!("this program cannot find itself: {error}")))
}

/// `down`: device daemons first, so that the monitor hears of it.
pub fn down(home: &Home) -> Result<Exit, Trouble> {
    home.settings().map_err(trouble_of_settings)?;
    let osds = control::osds(home).into_iter().map(control::Daemon::Osd);
    let all: Vec<control::Daemon> = osds.chain([control::Daemon::Monitor]).collect();
    let running: Vec<control::Daemon> =
        all.into_iter().filter(|daemon| control::running(home, *daemon).is_some()).collect();
    if running.is_empty() {
        screen::say("nothing runs\n");
    }
    for daemon in running {
        control::end(home, daemon, Ending::Asked).map_err(trouble)?;
        screen::say(&format!("{daemon} has ended\n"));
    }
    Ok(Exit::Done)
}

/// `osd start`.
pub fn start(home: &Home, osd: u32) -> Result<Exit, Trouble> {
    known(home, osd)?;
    control::start(home, &program()?, control::Daemon::Osd(osd)).map_err(trouble)?;
    Ok(Exit::Done)
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
pub fn mark(home: &Home, osd: u32, is_in: bool) -> Result<Exit, Trouble> {
    let client = Client::open(home, MONITOR_TIME).map_err(trouble)?;
    client.change(&ToMonitor::Mark { osd, is_in }).map_err(trouble)?;
    Ok(Exit::Done)
}

/// `osd add`.
pub fn add(home: &Home) -> Result<Exit, Trouble> {
    let client = Client::open(home, MONITOR_TIME).map_err(trouble)?;
    let FromMonitor::Added(osd) = client.change(&ToMonitor::Add).map_err(trouble)? else {
        return Err(Trouble::failed("the monitor answers what was not asked".to_owned()));
    };
    control::start(home, &program()?, control::Daemon::Osd(osd)).map_err(trouble)?;
    print(&format!("osd.{osd}\n"))
}

fn known(home: &Home, osd: u32) -> Result<(), Trouble> {
    let standing = Client::open(home, MONITOR_TIME).and_then(|client| client.standing()).map_err(trouble)?;
    if standing.map.osds.contains_key(&osd) {
        return Ok(());
    }
    let known: Vec<String> = standing.map.osds.keys().map(ToString::to_string).collect();
    let problem = Problem::new(format!("there is no osd.{osd}"));
    Err(Trouble::from(
        problem.hint(format!("there are {}; `towtank store osd add` adds one", known.join(", "))),
    ))
}
