//! How a cluster stands, and whether what it holds is sound.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use towtank::Trouble;
use towtank_store::client::{Client, Compared};
use towtank_store::frames::{GroupReport, Standing};
use towtank_units::Bytes;

use super::flags::{Form, Status, Verify, Where};
use super::{home, print, trouble};
use crate::exit::Exit;
use crate::{interrupt, screen};

/// How long the monitor may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often daemons are waited for that have not told of the newest map, and how many times.
const FRESH_LOOK: Duration = Duration::from_millis(50);
const FRESH_LOOKS: u32 = 20;

/// Between two lines of `--watch`.
const WATCH: Duration = Duration::from_secs(1);

/// What is wrong, the worst first.
pub struct Health {
    /// Groups by their state, as Ceph words it. What nobody has told stands as `unknown`.
    pub states: BTreeMap<String, u32>,
    /// Groups that take no requests now, those of which nothing is known among them.
    pub unavailable: u32,
    /// Groups of which an object has fewer copies than it should.
    pub degraded: u32,
    /// Objects that are missing on a replica, as far as logs say.
    pub missing: u64,
    /// Replicas that are being backfilled, or wait for it.
    pub targets: u32,
    /// Daemons whose disks are full.
    pub full: Vec<u32>,
    groups: u32,
    clean: u32,
}

impl Health {
    /// Of what the monitor has told.
    pub fn of(standing: &Standing) -> Health {
        // What was said before the last change is not known to hold any more.
        let reports = standing.reports.values().filter(|report| report.epoch == standing.map.epoch);
        let newest: BTreeMap<u32, &GroupReport> =
            reports.flat_map(|report| &report.led).map(|(group, told)| (*group, told)).collect();
        let mut health = Health {
            states: BTreeMap::new(),
            unavailable: 0,
            degraded: 0,
            missing: 0,
            targets: 0,
            full: full_of(standing),
            groups: 0,
            clean: 0,
        };
        for group in 0..standing.groups {
            health.groups += 1;
            let Some(told) = newest.get(&group) else {
                *health.states.entry("unknown".to_owned()).or_default() += 1;
                health.unavailable += 1;
                health.degraded += 1;
                continue;
            };
            let is_undersized = (told.acting.len() as u32) < standing.replicas;
            let is_degraded = is_undersized || told.missing > 0 || told.targets > 0;
            *health.states.entry(state_of(told, is_undersized, is_degraded)).or_default() += 1;
            health.unavailable += u32::from(!told.serves);
            health.degraded += u32::from(is_degraded || !told.is_clean);
            health.clean += u32::from(told.is_clean && told.serves && !is_degraded);
            health.missing += told.missing;
            health.targets += told.targets;
        }
        health
    }

    /// Whether every group is known to be clean.
    pub fn is_clean(&self) -> bool {
        self.clean == self.groups
    }

    fn word(&self) -> &'static str {
        match self {
            _ if self.unavailable > 0 || !self.full.is_empty() => "HEALTH_ERR",
            _ if !self.is_clean() => "HEALTH_WARN",
            _ => "HEALTH_OK",
        }
    }
}

/// Daemons that run and whose disks are full.
fn full_of(standing: &Standing) -> Vec<u32> {
    let is_full = |(id, osd): &(&u32, &towtank_store::map::OsdState)| {
        osd.is_up && (osd.is_full || standing.reports.get(id).is_some_and(|report| report.is_full))
    };
    standing.map.osds.iter().filter(is_full).map(|(id, _)| *id).collect()
}

/// The words of Ceph: `active+undersized+degraded+backfilling`.
fn state_of(told: &GroupReport, is_undersized: bool, is_degraded: bool) -> String {
    if told.is_down {
        return "down".to_owned();
    }
    if told.is_peering {
        return "peering".to_owned();
    }
    let mut words = vec![if told.serves { "active" } else { "inactive" }];
    let more = [
        (told.is_clean && !is_degraded, "clean"),
        (is_undersized, "undersized"),
        (is_degraded, "degraded"),
        (told.missing > 0, "recovering"),
        (told.targets > 0, "backfilling"),
    ];
    words.extend(more.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word));
    words.join("+")
}

/// The whole on one screen, what is wrong first.
pub fn text_of(standing: &Standing, health: &Health) -> String {
    let osds = &standing.map.osds;
    let down: Vec<String> =
        osds.iter().filter(|(_, osd)| !osd.is_up).map(|(id, _)| format!("osd.{id}")).collect();
    let out: Vec<String> =
        osds.iter().filter(|(_, osd)| !osd.is_in).map(|(id, _)| format!("osd.{id}")).collect();
    let mut text = format!("health   {}\n", health.word());
    let mut line = |words: String| text += &format!("         {words}\n");
    if health.unavailable > 0 {
        line(format!("{} of {} groups take no requests", health.unavailable, health.groups));
    }
    for osd in &health.full {
        let free = standing.reports.get(osd).map_or(0, |report| report.free_bytes);
        line(format!(
            "osd.{osd} is full ({} free): writes to its groups are refused; remove objects, or add a daemon",
            Bytes::new(free)
        ));
    }
    if health.degraded > 0 {
        line(format!("{} of {} groups are not known to have all copies", health.degraded, health.groups));
    }
    if !down.is_empty() {
        line(format!("down: {}", down.join(", ")));
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

fn json_of(standing: &Standing, health: &Health) -> serde_json::Value {
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
                "address": osd.address,
                "objects": report.map(|report| report.objects),
                "bytes": report.map(|report| report.bytes),
                "disk_bytes": report.map(|report| report.disk_bytes),
                "free_bytes": report.map(|report| report.free_bytes),
                "full": health.full.contains(id),
                "strays": report.map(|report| report.strays.len()),
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
        "replicas_to_backfill": health.targets,
        "groups": health.states,
        "map": standing.map.epoch,
        "oldest_map": standing.map.oldest,
        "replicas": standing.replicas,
        "osds": osds,
    })
}

/// How the cluster stands once its daemons have told of the newest map; after a moment, as it is known by
/// then.
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
    let client = Client::open(&home(&flags.place.dir)?, PATIENCE).map_err(trouble)?;
    let stop = interrupt::watch();
    let mut before: Option<u64> = None;
    loop {
        let standing = fresh(&client)?;
        let health = Health::of(&standing);
        match flags.format {
            Form::Json => print(&format!("{:#}\n", json_of(&standing, &health)))?,
            Form::Text if flags.watch => print(&line_of(&standing, &health, &mut before))?,
            Form::Text => print(&text_of(&standing, &health))?,
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

/// One line of `--watch`: objects recovered in the last second, and how long the rest takes at this rate.
fn line_of(standing: &Standing, health: &Health, before: &mut Option<u64>) -> String {
    let recovered: u64 = standing.reports.values().map(|report| report.counters.recovered).sum();
    let rate = before.map_or(0, |before| recovered.saturating_sub(before));
    *before = Some(recovered);
    let left = match (rate, health.targets) {
        (0, _) => String::new(),
        (_, 0) => format!(", {} s left", health.missing.div_ceil(rate)),
        // How many objects a backfill will find to differ is not known before it has looked.
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

/// `scrub`: what is damaged is told, and made good.
pub fn scrub(place: &Where) -> Result<Exit, Trouble> {
    let mut client = Client::open(&home(&place.dir)?, PATIENCE).map_err(trouble)?;
    let Compared { objects, replicas, damaged, faults } = client.compare_replicas(true).map_err(trouble)?;
    faults.iter().for_each(|fault| screen::say(&format!("{fault}\n")));
    print(&format!(
        "{objects} objects in {replicas} replicas of groups: {damaged} damaged copies, which are being made good\n"
    ))
}

/// `verify`: reads all replicas of all groups, and compares them.
pub fn verify(flags: &Verify) -> Result<Exit, Trouble> {
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
