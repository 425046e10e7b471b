//! `towtank store torture`: injects faults under load, and checks whether anything was lost.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use towtank::Trouble;
use towtank_scenario::Problem;
use towtank_store::settings::Settings;
use towtank_store::torture::{Kind, Record, Torture as Plan, Tortured, torture as run};

use super::flags::{Form, Torture};
use super::{cluster, home, print, trouble};
use crate::exit::Exit;
use crate::{interrupt, screen};

/// The time after which a daemon counts as down: short, so that more faults occur.
const GRACE_MS: u64 = 700;

/// The sleep after each operation of recovery: long enough that writes coincide with backfills.
const RECOVERY_SLEEP_MS: u64 = 5;

/// After a signal the round ends as others do: all faults end, all replicas are compared and all objects
/// read. On busy machines that takes minutes.
const TO_CHECK: Duration = Duration::from_secs(600);

/// Runs the torture test on a new cluster.
pub fn torture(flags: &Torture) -> Result<Exit, Trouble> {
    let span = Duration::try_from_secs_f64(flags.minutes * 60.0).map_err(|_| {
        Trouble::from(Problem::new(format!("--minutes is {}, which is no time", flags.minutes)))
    })?;
    let replicas = flags.osds.min(3);
    let kinds = kinds_of(flags, replicas)?;
    let settings = Settings {
        osds: flags.osds,
        groups: flags.groups,
        replicas,
        discovery: flags.discovery,
        leaf_bits: 8,
        sketch_cells: 256,
        log_entries_max: flags.log_entries,
        log_entries_min: flags.log_entries / 2,
        recovery_sleep_ms: RECOVERY_SLEEP_MS,
        grace_ms: GRACE_MS,
        planted: flags.planted.map(Into::into),
        ..Settings::default()
    };
    let plan = Plan {
        home: home(&flags.dir)?,
        program: cluster::program()?,
        settings,
        span,
        seed: flags.seed,
        clients: flags.clients,
        objects: flags.objects,
        kinds,
    };
    let record = flags.history.as_deref().map_or_else(|| Ok(Record::default()), history)?;
    let left = format!("end daemons that still run: towtank store down --dir {}\n", flags.dir.display());
    let stop = interrupt::watch_with_processes(TO_CHECK, left);
    let found = run(&plan, record, &|| stop.raised()).map_err(trouble)?;
    match flags.format {
        Form::Json => print(&format!("{:#}\n", json!(found)))?,
        Form::Text => print(&text_of(&found))?,
    };
    found.violations.iter().chain(&found.faults).for_each(|fault| screen::say(&format!("{fault}\n")));
    Ok(if found.is_sound() { Exit::Done } else { Exit::Failed })
}

/// The file of the history, which is refused before a cluster is made for nothing.
fn history(path: &Path) -> Result<Record, Trouble> {
    Record::open(path).map_err(|error| {
        let problem = Problem::new(format!("--history cannot be written to `{}`: {error}", path.display()));
        problem.hint("name a file in a directory that exists, outside of --dir").into()
    })
}

/// The kinds of faults. Objects can be moved off a daemon only if there are more daemons than replicas.
fn kinds_of(flags: &Torture, replicas: u32) -> Result<Vec<Kind>, Trouble> {
    let can_move = flags.osds > replicas;
    if !can_move && flags.faults.contains(&Kind::Move) {
        let text =
            format!("--faults has `move`, but there are {replicas} replicas on {} daemons", flags.osds);
        let hint = format!("use --osds {}, or leave `move` out", replicas + 1);
        return Err(Problem::new(text).hint(hint).into());
    }
    // With fewer, a write may be acknowledged that is on the removed directory alone.
    let can_wipe = replicas > 2;
    if !can_wipe && flags.faults.contains(&Kind::Wipe) {
        let text = format!("--faults has `wipe`, but a write may be on one of {replicas} replicas alone");
        return Err(Problem::new(text).hint("use --osds 3 or more, or leave `wipe` out").into());
    }
    if !flags.faults.is_empty() {
        return Ok(flags.faults.clone());
    }
    let can = |kind: &Kind| match kind {
        Kind::Move => can_move,
        Kind::Wipe => can_wipe,
        _ => true,
    };
    Ok(Kind::ALL.into_iter().filter(can).collect())
}

fn text_of(found: &Tortured) -> String {
    let verdict = match found {
        _ if found.lost_writes > 0 => format!("{} acknowledged writes are LOST", found.lost_writes),
        _ if !found.linearizable => "answers contradict each other".to_owned(),
        _ if !found.faults.is_empty() => "replicas are not sound".to_owned(),
        _ => "nothing is lost, every history is linearizable, all replicas are equal".to_owned(),
    };
    format!(
        "{verdict}\n{} acknowledged writes, {} reads, {} answers lost, in {} rounds\n\
         {} kills, {} stops, {} restarts, {} pauses, {} partitions, {} kills of the monitor, {} moves, \
         {} directories removed, {} monitors lost, {} damaged copies, {} of them repaired\n",
        found.acknowledged_writes,
        found.reads,
        found.answers_lost,
        found.rounds,
        found.kills,
        found.stops,
        found.restarts,
        found.pauses,
        found.partitions,
        found.monitor_kills,
        found.moves,
        found.wipes,
        found.lost_monitors,
        found.corruptions,
        found.corruptions_repaired
    )
}
