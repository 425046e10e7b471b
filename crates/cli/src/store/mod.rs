//! `towtank store`: a replicated object store on this machine, with the protocol of the simulator.

mod bench;
mod cluster;
mod data;
mod devices;
mod experiment;
mod flags;
mod gateway;
mod rebuild_monitor;
mod simulate;
mod standing;
mod torture;

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use towtank::Trouble;
use towtank_scenario::Problem;
use towtank_store::StoreError;
use towtank_store::client::Client;
use towtank_store::settings::{Home, SettingsError};
use towtank_units::SimSpan;

use crate::exit::Exit;
use crate::{interrupt, screen};
use flags::{Command, Daemon, ExperimentCommand, Malformed, OsdCommand};

pub(crate) use cluster::set_program;
pub use flags::Flags;

/// Runs the command of the flags.
pub fn run(flags: &Flags) -> Result<Exit, Trouble> {
    match &flags.command {
        Command::Up(up) => cluster::up(up),
        Command::Down(place) => cluster::down(&home(&place.dir)?),
        Command::Status(status) => standing::status(status),
        Command::Osd(osd) => match &osd.command {
            OsdCommand::Start(one) => cluster::start(&home(&one.place.dir)?, one.osd),
            OsdCommand::Stop(one) => cluster::stop(&home(&one.place.dir)?, one.osd),
            OsdCommand::Kill(one) => cluster::kill(&home(&one.place.dir)?, one.osd),
            OsdCommand::In(one) => cluster::mark(&home(&one.place.dir)?, one.osd, true),
            OsdCommand::Out(one) => cluster::mark(&home(&one.place.dir)?, one.osd, false),
            OsdCommand::Add(place) => devices::add(&home(&place.dir)?),
            OsdCommand::Replace(flags) => devices::replace(flags),
            OsdCommand::Rm(flags) => devices::remove(flags),
            OsdCommand::Lost(flags) => devices::lost(flags),
        },
        Command::RebuildMonitor(flags) => rebuild_monitor::run(flags),
        Command::Put(put) => data::put(put),
        Command::Get(get) => data::get(get),
        Command::Rm(names) => data::remove(names),
        Command::Ls(ls) => data::list(ls),
        Command::Stat(stat) => data::stat(stat),
        Command::Verify(verify) => standing::verify(verify),
        Command::Scrub(place) => standing::scrub(place),
        Command::Gateway(flags) => gateway::gateway(flags),
        Command::Damage(flags) => data::damage(flags),
        Command::Malformed(flags) => malformed(flags),
        Command::Bench(bench) => bench::bench(bench),
        Command::Torture(flags) => torture::torture(flags),
        Command::Simulate(flags) => simulate::simulate(flags),
        Command::Experiment(flags) => match &flags.command {
            ExperimentCommand::Backfill(flags) => experiment::backfill(flags),
        },
        Command::Daemon(daemon) => self::daemon(daemon),
    }
}

fn daemon(flags: &Daemon) -> Result<Exit, Trouble> {
    let home = home(&flags.place.dir)?;
    let stop = interrupt::watch();
    let stopped = || stop.raised();
    let osd = flags.name.strip_prefix("osd.").and_then(|number| number.parse().ok());
    match (flags.name.as_str(), osd) {
        ("monitor", _) => towtank_store::monitor::serve(&home, &stopped),
        (_, Some(osd)) => towtank_store::osd::serve(&home, osd, &stopped),
        (name, None) => {
            let problem = Problem::new(format!("`{name}` is no daemon")).hint("write `monitor`, or `osd.0`");
            return Err(Trouble::from(problem));
        }
    }
    .map_err(trouble)?;
    Ok(Exit::Done)
}

/// `malformed`: prints what was sent, as JSON. A frame with a wrong key that is not refused is a fault.
fn malformed(flags: &Malformed) -> Result<Exit, Trouble> {
    let home = home(&flags.place.dir)?;
    let osd = flags.name.strip_prefix("osd.").and_then(|number| number.parse::<u32>().ok());
    let address = match osd {
        Some(osd) => {
            let standing = Client::open(&home, Duration::from_secs(10)).and_then(|client| client.standing());
            standing
                .map_err(trouble)?
                .map
                .osds
                .get(&osd)
                .map(|state| state.address.clone())
                .unwrap_or_default()
        }
        None => home.monitor_address().map_err(|error| trouble(error.into()))?,
    };
    let sent = towtank_store::malformed::send(&home, &address, osd.is_none(), flags.frames, flags.seed);
    let sent = sent.map_err(trouble)?;
    print(&format!("{:#}\n", serde_json::json!(sent)))?;
    Ok(if sent.wrong_keys == sent.wrong_keys_refused { Exit::Done } else { Exit::Failed })
}

/// The directory of a cluster, by its one name without links and detours, so that all commands mean the same
/// processes.
fn home(dir: &Path) -> Result<Home, Trouble> {
    canonical(dir)
        .map(|path| Home::at(&path))
        .map_err(|error| Trouble::failed(format!("`{}`: {error}", dir.display())))
}

/// The name of a directory that may not exist yet: that of the part of it that exists, and the rest.
fn canonical(dir: &Path) -> std::io::Result<PathBuf> {
    let absolute = std::path::absolute(dir)?;
    let mut known = PathBuf::new();
    for part in absolute.components() {
        known = match part {
            // What does not exist has no links.
            Component::ParentDir => known.parent().map_or(known.clone(), Path::to_owned),
            part => match std::fs::canonicalize(known.join(part)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => known.join(part),
                found => found?,
            },
        };
    }
    Ok(known)
}

fn client(dir: &Path, patience: SimSpan) -> Result<Client, Trouble> {
    Client::open(&home(dir)?, span(patience)).map_err(trouble)
}

fn span(span: SimSpan) -> Duration {
    Duration::from_nanos(span.as_ns())
}

/// Adds a hint for the user to the error.
fn trouble(error: StoreError) -> Trouble {
    let text = error.to_string();
    match &error {
        StoreError::Settings(SettingsError::Absent(_)) => Trouble::from(
            Problem::new(text).hint("`towtank store up --dir DIR` makes one; --dir says where it is"),
        ),
        StoreError::Identity(refusal) | StoreError::Settings(SettingsError::Identity(refusal)) => {
            let problem = Problem::new(text);
            Trouble::Failed(match refusal.hint() {
                Some(hint) => problem.hint(hint),
                None => problem,
            })
        }
        StoreError::Settings(SettingsError::Range { .. } | SettingsError::Pacing(_)) => {
            Trouble::from(Problem::new(text))
        }
        StoreError::Settings(SettingsError::File { path, .. }) if path.ends_with("monitor.address") => {
            Trouble::Failed(
                Problem::new("the monitor has never run here").hint("`towtank store up` starts it"),
            )
        }
        StoreError::Io(_) | StoreError::Wire(_) => {
            Trouble::Failed(Problem::new(format!("the cluster does not answer: {text}")).hint(
                "`towtank store up` starts what does not run; `towtank store status` tells how it stands",
            ))
        }
        StoreError::TimedOut { .. } => Trouble::Failed(
            Problem::new(text).hint("`towtank store status` tells which groups wait, and for which daemons"),
        ),
        _ => Trouble::failed(text),
    }
}

fn print(text: &str) -> Result<Exit, Trouble> {
    screen::print(text).map_err(unwritten)?;
    Ok(Exit::Done)
}

fn unwritten(error: std::io::Error) -> Trouble {
    Trouble::failed(format!("cannot write to stdout: {error}"))
}
