//! The state of a cluster, and whether its objects are sound.

// A rate is taken over the time between two lines; no result depends on it.
#![allow(clippy::disallowed_methods)]

use std::time::{Duration, Instant};

use serde_json::json;
use towtank::Trouble;
use towtank_store::client::{Client, Compared};
use towtank_store::frames::Standing;
use towtank_store::health::{Health, words_of_unfound};
use towtank_store::settings::Home;
use towtank_units::Bytes;

use super::flags::{Form, Status, Verify, Where};
use super::{home, print, trouble};
use crate::exit::Exit;
use crate::{interrupt, screen};

/// The timeout of a request to the monitor.
const PATIENCE: Duration = Duration::from_secs(10);

/// Interval and number of retries while daemons have not reported on the newest map.
const FRESH_LOOK: Duration = Duration::from_millis(50);
const FRESH_LOOKS: u32 = 20;

/// The interval between two lines of `--watch`.
const WATCH: Duration = Duration::from_secs(1);

/// The state on one screen, problems first.
pub(crate) fn text_of(standing: &Standing, health: &Health) -> String {
    let osds = &standing.map.osds;
    let down: Vec<String> =
        osds.iter().filter(|(_, osd)| !osd.is_up).map(|(id, _)| format!("osd.{id}")).collect();
    let out: Vec<String> =
        osds.iter().filter(|(_, osd)| !osd.is_in).map(|(id, _)| format!("osd.{id}")).collect();
    let mut text = format!("health   {}\n", health.word());
    let mut line = |words: String| text += &format!("         {words}\n");
    health.older.iter().for_each(|why| line(why.clone()));
    if health.unavailable > 0 {
        line(format!("{} of {} groups take no requests", health.unavailable, standing.groups));
    }
    if health.unfound > 0 {
        line(words_of_unfound(health.unfound, &health.awaited));
    }
    for osd in &health.full {
        let free = standing.reports.get(osd).map_or(0, |report| report.free_bytes);
        line(format!(
            "osd.{osd} is full ({} free): writes to its groups are refused; remove objects, or add a daemon",
            Bytes::new(free)
        ));
    }
    for (osd, report) in standing.reports.iter().filter(|(osd, _)| osds.get(osd).is_some_and(|it| it.is_up)) {
        if !report.undecided.is_empty() {
            line(format!(
                "osd.{osd} found its journal torn or damaged at the end: {} of its groups need all daemons that \
                 served them then",
                report.undecided.len()
            ));
        }
    }
    if health.degraded > 0 {
        line(format!("{} of {} groups are not known to have all copies", health.degraded, standing.groups));
    }
    if !down.is_empty() {
        line(format!("down: {}", down.join(", ")));
    }
    for osd in standing.map.lost() {
        line(format!(
            "osd.{osd} was declared lost; `towtank store osd replace {osd}` begins with a new directory"
        ));
    }
    if !out.is_empty() {
        line(format!("out: {}", out.join(", ")));
    }
    if health.missing > 0 || health.targets > 0 {
        line(format!(
            "to recover: {} objects that logs name, {} replicas to backfill",
            health.missing, health.targets
        ));
    }
    let up = osds.len() - down.len();
    let led = || standing.reports.values().flat_map(|report| report.led.values());
    let (objects, bytes): (u64, u64) = (led().map(|one| one.objects).sum(), led().map(|one| one.bytes).sum());
    let disk: u64 = standing.reports.values().map(|report| report.disk_bytes).sum();
    let states: Vec<String> = health.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let rest = format!(
        "daemons  {up} of {} up, {} in; map {}\n\
         objects  {objects} ({}) in {} copies; {} on disks\n\
         groups   {}\n",
        osds.len(),
        osds.len() - out.len(),
        standing.map.epoch,
        Bytes::new(bytes),
        standing.replicas,
        Bytes::new(disk),
        states.join(", ")
    );
    text + &rest
}

/// The address of the monitor's Prometheus metrics; empty where the monitor has not run with metrics.
pub(super) fn line_of_metrics(home: &Home) -> String {
    home.metrics_address().map_or(String::new(), |address| format!("metrics  http://{address}/metrics\n"))
}

fn json_of(standing: &Standing, health: &Health) -> serde_json::Value {
    let lost = standing.map.lost();
    let osds: Vec<_> = standing
        .map
        .osds
        .iter()
        .map(|(id, osd)| {
            let report = standing.reports.get(id);
            json!({
                "osd": id,
                "up": osd.is_up,
                "in": osd.is_in,
                "lost": lost.contains(id),
                "address": osd.address,
                "objects": report.map(|report| report.objects),
                "bytes": report.map(|report| report.bytes),
                "disk_bytes": report.map(|report| report.disk_bytes),
                "free_bytes": report.map(|report| report.free_bytes),
                "full": health.full.contains(id),
                "strays": report.map(|report| report.strays.len()),
                "undecided": report.map(|report| report.undecided.len()),
                "requests": report.map(|report| report.counters.requests),
                "recovered": report.map(|report| report.counters.recovered),
                "backfills": report.map(|report| report.counters.backfills),
                "looked_at": report.map(|report| report.counters.looked_at),
            })
        })
        .collect();
    json!({
        "health": health.word(),
        "clean": health.is_clean(),
        "groups_unavailable": health.unavailable,
        "groups_degraded": health.degraded,
        "objects_missing": health.missing,
        "objects_unfound": health.unfound,
        "osds_awaited": health.awaited,
        "replicas_to_backfill": health.targets,
        "groups": health.states,
        "monitor_older": health.older,
        "map": standing.map.epoch,
        "oldest_map": standing.map.oldest,
        "replicas": standing.replicas,
        "osds": osds,
    })
}

/// The state of the cluster once its daemons have reported on the newest map; after some retries, the state
/// known by then.
fn fresh(client: &Client) -> Result<Standing, Trouble> {
    for _ in 0..FRESH_LOOKS {
        let standing = client.standing().map_err(trouble)?;
        let mut up = standing.map.osds.iter().filter(|(_, osd)| osd.is_up).map(|(id, _)| id);
        if up.all(|id| standing.reports.get(id).is_some_and(|report| report.epoch == standing.map.epoch)) {
            return Ok(standing);
        }
        std::thread::sleep(FRESH_LOOK);
    }
    client.standing().map_err(trouble)
}

/// `status`.
pub fn status(flags: &Status) -> Result<Exit, Trouble> {
    let home = home(&flags.place.dir)?;
    let client = Client::open(&home, PATIENCE).map_err(trouble)?;
    let stop = interrupt::watch();
    let mut before: Option<(Instant, u64)> = None;
    loop {
        let standing = fresh(&client)?;
        let health = Health::of(&standing);
        match flags.format {
            Form::Json => print(&format!("{:#}\n", json_of(&standing, &health)))?,
            Form::Text if flags.watch => print(&line_of(&standing, &health, &mut before))?,
            Form::Text => print(&format!("{}{}", text_of(&standing, &health), line_of_metrics(&home)))?,
        };
        if !flags.watch || health.is_clean() {
            let is_met = health.is_clean() || !flags.fail_unless_clean;
            return Ok(if is_met { Exit::Done } else { Exit::GateNotMet });
        }
        std::thread::sleep(WATCH);
        if stop.raised() {
            return Ok(Exit::Interrupted);
        }
    }
}

/// One line of `--watch`: objects recovered per second since the last line, and the time left at this rate.
fn line_of(standing: &Standing, health: &Health, before: &mut Option<(Instant, u64)>) -> String {
    let recovered: u64 = standing.reports.values().map(|report| report.counters.recovered).sum();
    let now = Instant::now();
    let rate = before.map_or(0, |(then, before)| {
        let seconds = now.duration_since(then).as_secs_f64();
        (recovered.saturating_sub(before) as f64 / seconds).round() as u64
    });
    *before = Some((now, recovered));
    let left = match (rate, health.targets) {
        (0, _) => String::new(),
        (_, 0) => format!(", {} s left", health.missing.div_ceil(rate)),
        // The number of objects that a backfill will find to differ is not known before it has examined them.
        _ => ", time left unknown: backfills have not looked at all".to_owned(),
    };
    let states: Vec<String> = health.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    format!(
        "{}  {}; {} missing, {} to backfill; {rate} objects/s{left}\n",
        health.word(),
        states.join(", "),
        health.missing,
        health.targets
    )
}

/// `scrub`: reports damaged replicas and repairs them.
pub(super) fn scrub(place: &Where) -> Result<Exit, Trouble> {
    let mut client = Client::open(&home(&place.dir)?, PATIENCE).map_err(trouble)?;
    let Compared { objects, replicas, damaged, faults } = client.compare_replicas(true).map_err(trouble)?;
    faults.iter().for_each(|fault| screen::say(&format!("{fault}\n")));
    print(&format!(
        "{objects} objects in {replicas} replicas of groups: {damaged} damaged copies, which are being made good\n"
    ))
}

/// `verify`: reads all replicas of all groups, and compares them.
pub(super) fn verify(flags: &Verify) -> Result<Exit, Trouble> {
    let mut client = Client::open(&home(&flags.place.dir)?, PATIENCE).map_err(trouble)?;
    let health = Health::of(&fresh(&client)?);
    let mut compared = client.compare_replicas(false).map_err(trouble)?;
    if !health.is_clean() {
        let message = "not all groups are clean: replicas may differ until they are";
        compared.faults.insert(0, message.to_owned());
    }
    let Compared { objects, replicas, faults, .. } = compared;
    let is_sound = faults.is_empty();
    match flags.format {
        Form::Json => print(&format!(
            "{:#}\n",
            json!({ "sound": is_sound, "objects": objects, "replicas_of_groups": replicas, "faults": faults })
        ))?,
        Form::Text => {
            faults.iter().for_each(|fault| screen::say(&format!("{fault}\n")));
            let words = if is_sound { "all equal and as they were written" } else { "not sound" };
            print(&format!("{objects} objects in {replicas} replicas of groups: {words}\n"))?
        }
    };
    Ok(if is_sound { Exit::Done } else { Exit::Failed })
}
