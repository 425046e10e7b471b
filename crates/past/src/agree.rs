//! Whether two sources say the same of one time.

use towtank_imports::past::{Format, Sample};

use crate::Past;
use crate::clock::shown;
use crate::join::Lane;

/// How far the manager is behind: devices report every 5 s (`mgr_stats_period`), and it counts every 2 s
/// (`mgr_tick_period`).
const MANAGER_US: i64 = 7_000_000;
/// How far the log is further behind where its counts are those of health checks (`mon_tick_interval`).
const HEALTH_US: i64 = 5_000_000;
/// How far a time series is further behind: Prometheus asks every 15 s, and an answer has a step as long.
const SERIES_US: i64 = 30_000_000;
/// Samples further apart are not compared: what was between them is not known.
const APART_MAX_US: i64 = 120_000_000;
/// By which fraction counts may differ, of which objects that clients write are a part.
const DIFFERENCE: f64 = 0.02;
/// How many counts they may differ by, whatever the fraction.
const COUNTS: f64 = 2.0;
/// The smallest share of compared samples that is named.
const SHARE_NAMED: f64 = 0.1;

type Count = (&'static str, fn(&Sample) -> Option<u64>);
const COUNTED: [Count; 2] =
    [("degraded", |sample| sample.degraded), ("misplaced", |sample| sample.misplaced)];

/// Where sources say different things of one time, beyond their delays; each a sentence without a full stop.
#[must_use]
pub fn disagreements(past: &Past) -> Vec<String> {
    let mut found = apart(past);
    for (at, one) in past.lanes.iter().enumerate() {
        for other in &past.lanes[at + 1..] {
            found.extend(COUNTED.iter().filter_map(|count| differ(past, one, other, count)));
        }
    }
    found
}

fn lag(lane: &Lane) -> i64 {
    match lane.format {
        Format::Prometheus | Format::Table => MANAGER_US + SERIES_US,
        Format::Log if lane.samples.iter().all(|sample| sample.groups.is_none()) => MANAGER_US + HEALTH_US,
        _ => MANAGER_US,
    }
}

/// Sources that have no time in common with any other.
fn apart(past: &Past) -> Vec<String> {
    let range = |lane: &Lane| Some((lane.samples.first()?.at_us, lane.samples.last()?.at_us));
    let ranges: Vec<(&Lane, (i64, i64))> =
        past.lanes.iter().filter_map(|lane| Some((lane, range(lane)?))).collect();
    let is_apart = |at: usize| {
        let (from, to) = ranges[at].1;
        let meets = |other: &(&Lane, (i64, i64))| {
            other.1.0 <= to.saturating_add(APART_MAX_US) && from <= other.1.1.saturating_add(APART_MAX_US)
        };
        !ranges.iter().enumerate().any(|(other, range)| other != at && meets(range))
    };
    let say = |at: usize| {
        let (lane, (from, to)) = ranges[at];
        let (from, to) = (shown(past.clock, from), shown(past.clock, to));
        format!(
            "{} has samples from {from} to {to}, and no other file has any then: is its zone right?",
            lane.name
        )
    };
    (0..ranges.len()).filter(|&at| ranges.len() > 1 && is_apart(at)).map(say).collect()
}

/// What the samples of a lane say of the time from `at_us - lag` to `at_us + lag`: the least and the most.
fn said(lane: &Lane, at_us: i64, lag: i64, count: fn(&Sample) -> Option<u64>) -> Option<(u64, u64)> {
    let from = lane.samples.partition_point(|sample| sample.at_us < at_us - lag);
    let to = lane.samples.partition_point(|sample| sample.at_us <= at_us + lag);
    // One sample more on each side: what it says may hold until then.
    let before = lane.samples[..from].iter().rev().find(|sample| count(sample).is_some());
    let after = lane.samples[to..].iter().find(|sample| count(sample).is_some());
    let (Some(first), Some(last)) = (before.or(lane.samples.get(from)), after.or(lane.samples[..to].last()))
    else {
        return None;
    };
    let is_covered = at_us - first.at_us <= APART_MAX_US && last.at_us - at_us <= APART_MAX_US;
    let encloses = first.at_us <= at_us && at_us <= last.at_us;
    let inside = lane.samples[from..to].iter();
    let counts: Vec<u64> = before.into_iter().chain(inside).chain(after).filter_map(count).collect();
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    (is_covered && encloses).then_some((*least, *most))
}

fn differ(past: &Past, one: &Lane, other: &Lane, (what, count): &Count) -> Option<String> {
    let lag = lag(one).max(lag(other));
    let (mut compared, mut wrong) = (0_usize, 0_usize);
    let mut worst: Option<(f64, &Sample, u64, u64, u64)> = None;
    for sample in &one.samples {
        let Some(value) = count(sample) else { continue };
        let Some((least, most)) = said(other, sample.at_us, lag, *count) else { continue };
        // Both say 0 most of the time, before an event and after it, which proves little.
        compared += usize::from(value > 0 || most > 0);
        let (low, high) =
            (least as f64 * (1.0 - DIFFERENCE) - COUNTS, most as f64 * (1.0 + DIFFERENCE) + COUNTS);
        let off = (low - value as f64).max(value as f64 - high);
        if off > 0.0 {
            wrong += 1;
            if worst.is_none_or(|(most_off, ..)| off > most_off) {
                worst = Some((off, sample, value, least, most));
            }
        }
    }
    let (_, sample, value, least, most) = worst?;
    if (wrong as f64) < SHARE_NAMED * compared as f64 {
        return None;
    }
    let between = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let at = shown(past.clock, sample.at_us);
    Some(format!(
        "{} and {} differ in {wrong} of {compared} counts of {what} objects, most at {at}: {value} and {between}",
        one.name, other.name
    ))
}
