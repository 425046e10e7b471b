//! What would help: changes that an operator could make, each tried on the same lost data.
//!
//! A busy resource is not always the one to change, and a setting for which groups wait does not always limit
//! the rebuild. So each change is run, and reported with the time it takes. The trials together take at most
//! as many events as the rebuild itself took, or `EVENTS_LEAST` where that is more. Where that does not
//! suffice for all of them, the most promising come first: those whose setting or resource caused the largest
//! share of sleep, waiting or busy time. Trials of large recoveries are thinned
//! ([`towtank_rebuild::thinned`]), if the same recovery without a change then takes as long as the whole one.

use serde::{Deserialize, Serialize};
use towtank_metrics::{Better, Chance, Histogram};
use towtank_units::{Rate, SimSpan};

use crate::estimate::Estimate;
use crate::resources::{Kind, Resource, of_kind};
use crate::running;
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::model::{Limits, Load, WINDOW_MAX, Weights};
use towtank_rebuild::recovery::{Recovered, Recovery, Waited};
use towtank_report::human;
use towtank_study::ranking::Ranked;
use towtank_study::{RunContext, StudyError};

/// Trials of small rebuilds may take this many events in all, which is about a tenth of a second.
const EVENTS_LEAST: u64 = 500_000;

/// Limits of so many groups or objects bind nothing.
const MOST: u32 = 1_000;

/// The option with which daemons with mClock take other limits of recovery.
pub(crate) const OVERRIDE: &str = "osd_mclock_override_recovery_settings";

/// The change that removes the recovery sleep.
pub(crate) const NO_SLEEP: &str = "recovery_sleep = 0s";

/// A change, and its effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The change, as a user would write it.
    pub change: String,
    /// From the first failure to the last durable write, or until the last copies count again on devices that
    /// came back; none where it is no shorter than without the change.
    pub time_s: Option<f64>,
    /// What it does to clients, where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<Cost>,
}

/// What clients notice during a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Operations per second.
    pub rate_per_s: f64,
    /// The 99th percentile of reads, in microseconds, if there were any.
    pub read_p99_us: Option<f64>,
    /// The same of writes.
    pub write_p99_us: Option<f64>,
}

/// A quantile in microseconds.
pub fn micros(histogram: &Histogram, q: f64) -> Option<f64> {
    histogram.quantile(q).map(|estimate| estimate.value / 1e3)
}

impl Cost {
    fn of(waited: &Waited) -> Option<Cost> {
        let Waited { during, .. } = waited;
        let rate_per_s = waited.rates()[0]?;
        Some(Cost {
            rate_per_s,
            read_p99_us: micros(&during.reads, 0.99),
            write_p99_us: micros(&during.writes, 0.99),
        })
    }
}

/// How daemons take `osd_max_backfills` and `osd_recovery_max_active` from an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// As they are.
    AsGiven,
    /// Only with an option that must be set too.
    WithOption,
    /// Not at all.
    Never,
}

impl Takes {
    /// The change that raises one of them; none where it would have no effect.
    fn change(self, key: &str, value: u32) -> Option<String> {
        match self {
            Takes::AsGiven => Some(format!("{key} = {value}")),
            Takes::WithOption => Some(format!("{OVERRIDE} = true, {key} = {value}")),
            Takes::Never => None,
        }
    }
}

/// The settings of a study, besides those that each has.
pub struct Settings {
    /// How daemons take limits of recovery.
    pub takes: Takes,
    /// Whether it has a key for the units in flight of a stream. Ceph has none.
    pub window: bool,
    /// Other settings.
    pub others: Vec<Other>,
}

/// A setting, and what it makes of limits and clients.
pub struct Other {
    /// As a user would write it.
    pub change: String,
    /// The limits with it.
    pub limits: Limits,
    /// The shares of clients and recovery with it, if there are clients.
    pub weights: Option<Weights>,
}

/// A change of limits or machines.
struct Lever {
    change: String,
    /// The estimate of its effect, as a share of the time.
    chance: f64,
    limits: Limits,
    hardware: Option<Hardware>,
    /// The shares of clients and recovery, where they change.
    weights: Option<Weights>,
}

/// The share of a replicate's work that the rebuild itself is taken to be, for progress: the trials together
/// take at most about as many events again.
#[must_use]
pub fn own_share(context: &RunContext<'_>) -> f64 {
    if context.replicate == 0 { 0.5 } else { 1.0 }
}

/// Tries changes that may help, after a rebuild that ran to its end.
///
/// # Errors
/// When the model fails.
pub fn tried(
    recovery: &Recovery<'_>,
    recovered: &Recovered,
    (resources, settings): (&[Resource], Settings),
    estimate: Option<&Estimate>,
    context: &RunContext<'_>,
) -> Result<Vec<Tried>, StudyError> {
    let ended = !recovered.partial && !recovered.stuck.any() && recovered.jobs > 0;
    if context.replicate != 0 || !ended {
        return Ok(Vec::new());
    }
    let mut levers = levers(recovery, resources, &settings);
    let limited = of_kind(resources, Kind::Queue).map_or(0.0, |of| of.busiest);
    levers.extend(settings.others.into_iter().map(|Other { change, limits, weights }| Lever {
        change,
        chance: limited,
        limits,
        hardware: None,
        weights,
    }));
    levers.sort_by(|left, right| right.chance.total_cmp(&left.chance));
    let most = recovered.events.max(EVENTS_LEAST);
    let (base, scale) = Estimate::or_whole(estimate, recovery);
    let each = estimate.map_or(recovered.events, Estimate::events);
    let mut spent = 0;
    // The share of the trials that is shown as done. A trial that takes fewer events must not lower it.
    let mut shown: f64 = 0.0;
    let first = recovery.struck.iter().map(|struck| struck.at).min().unwrap_or_default();
    let mut tried = Vec::new();
    for lever in levers {
        // A trial takes about as many events as the rebuild.
        if spent + each > most || context.stopped() {
            break;
        }
        let trial = Recovery {
            limits: &lever.limits,
            hardware: lever.hardware.as_ref().unwrap_or(recovery.hardware),
            clients: base.clients.map(|load| Load { weights: lever.weights.unwrap_or(load.weights), ..load }),
            quiet: false,
            ..base.clone()
        };
        let part = |events: u64| (events as f64 / most as f64).min(1.0);
        let begin = shown.max(part(spent));
        shown = begin.max(part(spent + each));
        let found = context.within(begin..shown, |context| running::run(&trial, context))?;
        if found.partial {
            break;
        }
        spent += found.events;
        let (ends, now) = (found.last().as_secs_f64() * scale, recovered.last().as_secs_f64());
        tried.push(Tried {
            change: lever.change,
            time_s: (ends < now).then(|| ends - first.as_secs_f64()),
            clients: found.clients.as_ref().and_then(Cost::of),
        });
    }
    tried.sort_by(|left, right| {
        let time = |tried: &Tried| tried.time_s.unwrap_or(f64::INFINITY);
        time(left).total_cmp(&time(right))
    });
    Ok(tried)
}

/// All changes of limits and machines that can be tried.
fn levers(recovery: &Recovery<'_>, resources: &[Resource], settings: &Settings) -> Vec<Lever> {
    let (limits, hardware) = (recovery.limits, recovery.hardware);
    let of = |kind: Kind| of_kind(resources, kind);
    let busiest = |kind: Kind| of(kind).map_or(0.0, |resource| resource.busiest);
    let machines = [Kind::Disks, Kind::Sending, Kind::Receiving, Kind::Uplinks, Kind::Queue];
    let idle = 1.0 - machines.into_iter().map(busiest).fold(busiest(Kind::Sleep), f64::max);
    let mut levers = Vec::new();
    let mut add = |chance: f64, change: String, limits: Limits, hardware: Option<Hardware>| {
        levers.push(Lever { change, chance, limits, hardware, weights: None });
    };
    if !limits.sleep.is_zero() || limits.paces.iter().any(|pace| !pace.sleep.is_zero()) {
        let mut changed = Limits { sleep: SimSpan::ZERO, ..limits.clone() };
        changed.paces.iter_mut().for_each(|pace| pace.sleep = SimSpan::ZERO);
        // Where no resource is busy, disks that wait for others wait for disks that sleep.
        let slept = busiest(Kind::Sleep);
        let chance = if slept > 0.0 { slept.max(idle) } else { 0.0 };
        add(chance, NO_SLEEP.to_owned(), changed, None);
    }
    if let Some(most) = limits.reservations.filter(|most| *most < MOST) {
        let more = most.saturating_mul(4);
        let changed = Limits { reservations: Some(more), ..limits.clone() };
        if let Some(change) = settings.takes.change("max_backfills", more) {
            add(busiest(Kind::Reservations), change, changed, None);
        }
    }
    let streams = limits.paces.iter().map(|pace| pace.streams).fold(limits.streams, u32::max);
    if streams < MOST {
        let more = streams.saturating_mul(4).min(1_024);
        let mut changed = Limits { streams: more, ..limits.clone() };
        changed.paces.iter_mut().for_each(|pace| pace.streams = more);
        // A disk that sleeps works on one object at a time, whatever its limit is.
        let one_at_a_time = of(Kind::Sleep).is_some_and(|sleep| sleep.busiest > 0.0);
        let chance = if one_at_a_time { 0.0 } else { idle / 2.0 };
        if let Some(change) = settings.takes.change("recovery_max_active", more) {
            add(chance, change, changed, None);
        }
    }
    if settings.window && (limits.window as usize) < WINDOW_MAX && limits.queues.is_none() {
        let changed = Limits { window: WINDOW_MAX as u32, ..limits.clone() };
        add(idle / 3.0, format!("window = {WINDOW_MAX}"), changed, None);
    }
    levers.extend(of_caps(limits, &busiest, idle));
    let mut add = |chance: f64, change: String, limits: Limits, hardware: Option<Hardware>| {
        levers.push(Lever { change, chance, limits, hardware, weights: None });
    };
    let cards = busiest(Kind::Sending).max(busiest(Kind::Receiving));
    add(
        busiest(Kind::Disks) / 2.0,
        "disks twice as fast".into(),
        limits.clone(),
        Some(hardware.faster_disks()),
    );
    add(cards / 2.0, "NICs twice as fast".into(), limits.clone(), Some(hardware.faster_cards()));
    if let Some(faster) = hardware.faster_uplinks() {
        add(busiest(Kind::Uplinks) / 2.0, "uplinks twice as fast".into(), limits.clone(), Some(faster));
    }
    levers
}

/// Changes of limits on rates, and of those of whole servers.
fn of_caps(limits: &Limits, busiest: &dyn Fn(Kind) -> f64, idle: f64) -> Vec<Lever> {
    let mut levers = Vec::new();
    let mut add = |chance: f64, change: String, limits: Limits| {
        levers.push(Lever { change, chance, limits, hardware: None, weights: None });
    };
    let double = |rate: Rate| Rate::from_bytes_per_second(rate.bytes_per_second().saturating_mul(2));
    if let Some(rate) = limits.stream_rate.and_then(double) {
        let changed = Limits { stream_rate: Some(rate), ..limits.clone() };
        add(busiest(Kind::StreamLimit) / 2.0, format!("stream_limit = {rate}"), changed);
    }
    if let Some(rate) = limits.device_rate.and_then(double) {
        let changed = Limits { device_rate: Some(rate), ..limits.clone() };
        add(busiest(Kind::RateCap) / 2.0, format!("rate_cap = {rate}"), changed);
    }
    if let Some(rate) = limits.server_rate.and_then(double) {
        let changed = Limits { server_rate: Some(rate), ..limits.clone() };
        add(busiest(Kind::ServerRateCap) / 2.0, format!("server_rate_cap = {rate}"), changed);
    }
    if let Some(most) = limits.server_streams.filter(|most| *most < MOST) {
        let more = most.saturating_mul(4);
        let changed = Limits { server_streams: Some(more), ..limits.clone() };
        add(idle, format!("server_max_active = {more}"), changed);
    }
    levers
}

/// The changes by their times. All were tried on the lost data of one replicate, so their times are exact
/// there; those that differ by less than 1 % are tied.
#[must_use]
pub fn by_time(tried: &[Tried]) -> Ranked {
    let candidates = tried.iter().map(|tried| (format!("`{}`", tried.change), vec![tried.time_s])).collect();
    Ranked::of(candidates, Better::Lower, Chance::OneRun)
}

/// Whether this change was tried, shortened the rebuild, and is the best of those tried, or tied with it.
#[must_use]
pub(crate) fn helps_most(tried: &[Tried], change: &str) -> bool {
    by_time(tried).ranking().best.iter().any(|at| tried[*at].change == change)
}

/// Where changes were tried, of so many replicates: words that follow `tried`.
#[must_use]
pub fn tried_in(replicates: usize) -> &'static str {
    if replicates > 1 { " in the first replicate" } else { "" }
}

/// The change that helps most, in words, or those that are tied; nothing where nothing was tried.
#[must_use]
pub fn advice(tried: &[Tried], time_s: f64, where_tried: &str) -> Option<String> {
    let one = tried.first()?;
    let ranked = by_time(tried);
    let best = &ranked.ranking().best;
    let Some([seconds, _]) = ranked.ends().filter(|ends| ends[0] < 0.99 * time_s) else {
        return Some(match tried.len() {
            1 => format!("nothing: `{}` was tried{where_tried} and saves less than 1 %", one.change),
            count => format!("nothing: {count} changes were tried{where_tried}, and none saves 1 %"),
        });
    };
    let of = match tried.len() {
        1 if where_tried.is_empty() => String::new(),
        1 => format!("tried{where_tried}, "),
        count => format!("of {count} changes that were tried{where_tried}, "),
    };
    let verb = match (tried.len(), best.len()) {
        (1, _) => "helps",
        (_, 1) => "helps most",
        _ => "help most",
    };
    let [with, without] = human::alike([seconds, time_s], "s");
    Some(format!("{of}{} {verb}: {with} instead of {without}", ranked.best()))
}
