//! Adds, replaces and removes devices, and gives up what is lost. Directories of devices are made here and by
//! `up` alone, so that a daemon never begins with an empty one by itself.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use towtank::Trouble;
use towtank_scenario::Problem;
use towtank_store::client::Client;
use towtank_store::frames::{FromMonitor, Then, ToMonitor};
use towtank_store::loss::{GroupLoss, Loss};
use towtank_store::settings::Home;
use towtank_store::{control, identity, lock};

use super::cluster::{known, launch, wait_until_up};
use super::flags::GiveUp;
use super::{home, print, trouble};
use crate::exit::Exit;
use crate::screen;

/// The timeout of a request to the monitor.
const MONITOR_TIME: Duration = Duration::from_secs(10);

/// How often a loss that has grown meanwhile is asked for anew.
const TRIES: u32 = 8;

/// The most groups that are named.
const NAMED_MOST: usize = 8;

/// `osd add`.
pub(super) fn add(home: &Home) -> Result<Exit, Trouble> {
    let turn = lock::turn(home).map_err(trouble)?;
    let client = Client::open(home, MONITOR_TIME).map_err(trouble)?;
    let standing = client.standing().map_err(trouble)?;
    let known: BTreeSet<u32> = standing.map.osds.keys().copied().chain(control::osds(home)).collect();
    let osd = known.last().map_or(0, |last| last + 1);
    let incarnation = identity::make(home.directory(), osd).map_err(|error| trouble(error.into()))?;
    if let Err(error) = client.change(&ToMonitor::Add { osd, incarnation }) {
        // It is not known to the monitor, so it is not to look like a device.
        let _ = identity::move_aside(home.directory(), osd);
        return Err(trouble(error));
    }
    let child = launch(home, osd)?;
    drop(turn);
    wait_until_up(home, &client, (osd, 0), child)?;
    print(&format!("osd.{osd}\n"))
}

/// `osd lost`.
pub(super) fn lost(flags: &GiveUp) -> Result<Exit, Trouble> {
    let (home, osd) = (home(&flags.place.dir)?, flags.osd);
    let client = Client::open(&home, MONITOR_TIME).map_err(trouble)?;
    let standing = known(&client, osd)?;
    if standing.map.lost().contains(&osd) {
        let problem = Problem::new(format!("osd.{osd} is declared lost already"));
        return Err(Trouble::from(problem.hint(format!("`towtank store osd replace {osd}` begins anew"))));
    }
    let loss = losing(&client, osd)?;
    if !flags.yes_i_know {
        let words = if loss.is_nothing() {
            format!("the objects of osd.{osd} are given up; all that was acknowledged is on other devices")
        } else {
            words_of(&name(osd), &loss)
        };
        return Err(to_be_accepted(osd, "lost", words));
    }
    give_up(&client, flags, loss, Then::Stays)?;
    Ok(Exit::Done)
}

/// `osd replace`: the device begins again with a new directory, and the old one is moved aside.
pub(super) fn replace(flags: &GiveUp) -> Result<Exit, Trouble> {
    let (home, osd) = (home(&flags.place.dir)?, flags.osd);
    let turn = lock::turn(&home).map_err(trouble)?;
    let client = Client::open(&home, MONITOR_TIME).map_err(trouble)?;
    let before = known(&client, osd)?.map.osds.get(&osd).map_or(0, |state| state.instance);
    let loss = accepted(&client, flags, "replace")?;
    let aside = moved_aside(&home, osd)?;
    let incarnation = identity::make(home.directory(), osd).map_err(|error| trouble(error.into()))?;
    if let Err(why) = give_up(&client, flags, loss, Then::Begins(incarnation)) {
        if let Some(aside) = &aside {
            identity::put_back(home.directory(), osd, aside).map_err(|error| trouble(error.into()))?;
        }
        return Err(why);
    }
    say_aside(aside);
    let child = launch(&home, osd)?;
    drop(turn);
    wait_until_up(&home, &client, (osd, before), child)
}

/// `osd rm`.
pub(super) fn remove(flags: &GiveUp) -> Result<Exit, Trouble> {
    let (home, osd) = (home(&flags.place.dir)?, flags.osd);
    let client = Client::open(&home, MONITOR_TIME).map_err(trouble)?;
    known(&client, osd)?;
    let loss = accepted(&client, flags, "rm")?;
    give_up(&client, flags, loss, Then::Goes)?;
    say_aside(moved_aside(&home, osd)?);
    Ok(Exit::Done)
}

fn losing(client: &Client, osd: u32) -> Result<Loss, Trouble> {
    match client.change(&ToMonitor::Losing { osd }).map_err(trouble)? {
        FromMonitor::Loses(loss) => Ok(loss),
        _ => Err(Trouble::failed("the monitor answers what was not asked".to_owned())),
    }
}

/// What the cluster loses without a device: nothing, or what the user has accepted.
fn accepted(client: &Client, flags: &GiveUp, command: &str) -> Result<Loss, Trouble> {
    let loss = losing(client, flags.osd)?;
    if loss.is_nothing() || flags.yes_i_know {
        Ok(loss)
    } else {
        Err(not_accepted(flags.osd, command, &loss))
    }
}

fn not_accepted(osd: u32, command: &str, loss: &Loss) -> Trouble {
    to_be_accepted(osd, command, words_of(&name(osd), loss))
}

/// What a command does only if the user accepts it.
fn to_be_accepted(osd: u32, command: &str, words: String) -> Trouble {
    let hint = format!(
        "bring its directory back, or accept this with `towtank store osd {command} {osd} --yes-i-know`"
    );
    Trouble::from(Problem::new(words).hint(hint))
}

/// Goes on without the directory of a device, and tells what may be lost. The cluster may change meanwhile,
/// and more may be lost than was found before: then that is asked for anew.
fn give_up(client: &Client, flags: &GiveUp, mut loss: Loss, then: Then) -> Result<(), Trouble> {
    let osd = flags.osd;
    let command = match then {
        Then::Stays => "lost",
        Then::Begins(_) => "replace",
        Then::Goes => "rm",
    };
    for _ in 0..TRIES {
        let ask = ToMonitor::Lose { osd, accepted: loss.clone(), then };
        match client.change(&ask).map_err(trouble)? {
            FromMonitor::Loses(more) if flags.yes_i_know => loss = more,
            FromMonitor::Loses(more) => return Err(not_accepted(osd, command, &more)),
            _ => {
                tell(osd, &loss);
                return Ok(());
            }
        }
    }
    let problem = Problem::new(format!("what is lost without osd.{osd} changed {TRIES} times meanwhile"));
    Err(Trouble::from(problem.hint("wait until the cluster is quiet, and repeat the command")))
}

fn tell(osd: u32, loss: &Loss) {
    if !loss.is_nothing() {
        screen::say(&format!("{}\n", words_of(&name(osd), loss)));
    }
}

fn moved_aside(home: &Home, osd: u32) -> Result<Option<PathBuf>, Trouble> {
    identity::move_aside(home.directory(), osd).map_err(|error| trouble(error.into()))
}

fn say_aside(path: Option<PathBuf>) {
    if let Some(path) = path {
        screen::say(&format!("the old directory is `{}` now\n", path.display()));
    }
}

fn name(osd: u32) -> String {
    format!("osd.{osd}")
}

/// What is lost without the devices of these names, group by group.
pub(super) fn words_of(names: &str, loss: &Loss) -> String {
    let mut words = Vec::new();
    let named = loss.groups.iter().take(NAMED_MOST);
    words.extend(named.map(|group| format!("what group {}", words_of_group(group))));
    if loss.groups.len() > NAMED_MOST {
        words.push(format!("the same of {} more groups", loss.groups.len() - NAMED_MOST));
    }
    match loss.unfound {
        0 => {}
        1 => words.push("1 object that no running daemon has".to_owned()),
        count => words.push(format!("{count} objects that no running daemon has")),
    }
    format!("without {names} the cluster may lose {}", words.join("; "))
}

fn words_of_group(loss: &GroupLoss) -> String {
    let GroupLoss { group, since, others } = loss;
    let others: Vec<String> = others.iter().map(|osd| format!("osd.{osd}")).collect();
    let rest = match others.len() {
        0 => "no other device may have it".to_owned(),
        1 => format!("{}, which is away, may have it too", others[0]),
        _ => format!("{}, which are away, may have it too", others.join(", ")),
    };
    format!("{group} acknowledged since map {since} ({rest})")
}
