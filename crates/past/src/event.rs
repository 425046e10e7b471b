//! What happened: from when to when something was missing or misplaced, and what became of which device.

use std::collections::BTreeMap;

use towtank_imports::past::{Format, Is, Sample, Seen};

use crate::clock::shown;
use crate::join::{Lane, Past, PastError, SeenIn};

/// For how long nothing may be degraded or misplaced within one event: groups that are peering count nothing,
/// for up to 16 s of a read lease, 5 s of peering and 7 s until the manager knows.
const BRIDGED_US: i64 = 30_000_000;
/// How long before the first count that is not 0 a device may have changed: a daemon that does not answer is
/// marked down after 20 s, and series lag behind by up to 30 s.
const LEAD_US: i64 = 60_000_000;
/// Changes of different devices that are further apart are two events.
const TOGETHER_US: i64 = 30_000_000;
/// By which share of the most that was left a count has to rise again to be called a second event.
const RISE: f64 = 0.1;
/// For how long a count must be known for a recovery that did not move to be called so.
const WATCHED_US: i64 = 60_000_000;
/// A source that says nothing for so long, and for ten times its usual interval, has a gap.
const GAP_US: i64 = 60_000_000;

/// Between two times: something was not so at `after`, and was so at `by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The last time at which it was known not to be so.
    pub after_us: Option<i64>,
    /// The first time at which it was known to be so.
    pub by_us: i64,
}

/// A device that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The device.
    pub device: i32,
    /// What it became.
    pub is: Is,
    /// When.
    pub when: Span,
    /// The file that says it.
    pub file: String,
}

/// A time during which something was missing or misplaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When it began; if nothing is known from before, it was so already.
    pub began: Span,
    /// When nothing was degraded or misplaced any more; none if it was not over in the last sample.
    pub ended: Option<Span>,
    /// When all groups were clean, if a source counts them.
    pub clean: Option<Span>,
    /// The most copies that were missing, if a source counts them.
    pub degraded_max: Option<u64>,
    /// The most that were misplaced, if a source counts them.
    pub misplaced_max: Option<u64>,
    /// Whether the counts fell.
    pub moved: bool,
    /// What became of devices, in the order of time.
    pub changes: Vec<Change>,
    /// What must be known before something is fitted to it; each a sentence without a full stop.
    pub warnings: Vec<String>,
}

/// What happened, in the order of time.
///
/// # Errors
/// If nothing was degraded or misplaced at any time.
pub fn happened(past: &Past) -> Result<Vec<Event>, PastError> {
    let mut bouts: Vec<Bout> = past.lanes.iter().flat_map(bouts).collect();
    bouts.sort_by_key(|bout| bout.began.by_us);
    let mut together: Vec<Vec<Bout>> = Vec::new();
    let mut until = i64::MIN;
    for bout in bouts {
        let (from, to) = (bout.began.by_us, bout.last_us);
        match together.last_mut() {
            Some(event) if from <= until.saturating_add(BRIDGED_US) => event.push(bout),
            _ => together.push(vec![bout]),
        }
        until = until.max(to);
    }
    if together.is_empty() {
        let times = || past.lanes.iter().flat_map(|lane| &lane.samples).map(|sample| sample.at_us);
        let show = |at_us: Option<i64>| shown(past.clock, at_us.unwrap_or_default());
        return Err(PastError::NoEvent {
            samples: times().count(),
            from: show(times().min()),
            to: show(times().max()),
        });
    }
    Ok(together.iter().map(|bouts| event(past, bouts)).collect())
}

/// A time during which one source says that something was left.
#[derive(Clone, Copy, Debug)]
struct Bout {
    began: Span,
    /// The last sample with something left.
    last_us: i64,
    /// None if no sample says that nothing was left afterwards.
    ended: Option<Span>,
}

/// What is left by a sample; none if it does not say.
pub(crate) fn left(sample: &Sample) -> Option<u64> {
    match (sample.degraded, sample.misplaced) {
        (None, None) => None,
        (degraded, misplaced) => Some(degraded.unwrap_or(0).saturating_add(misplaced.unwrap_or(0))),
    }
}

/// The bouts of a source; short times at 0 are bridged.
fn bouts(lane: &Lane) -> Vec<Bout> {
    let mut bouts: Vec<Bout> = Vec::new();
    let mut last_quiet: Option<i64> = None;
    for sample in &lane.samples {
        let at_us = sample.at_us;
        match left(sample) {
            None => {}
            Some(0) => {
                last_quiet = Some(at_us);
                if let Some(bout) = bouts.last_mut() {
                    bout.ended.get_or_insert(Span { after_us: Some(bout.last_us), by_us: at_us });
                }
            }
            Some(_) => match bouts.last_mut() {
                Some(bout) if bout.ended.is_none_or(|ended| at_us - ended.by_us < BRIDGED_US) => {
                    bout.last_us = at_us;
                    bout.ended = None;
                }
                _ => {
                    let began = Span { after_us: last_quiet, by_us: at_us };
                    bouts.push(Bout { began, last_us: at_us, ended: None });
                }
            },
        }
    }
    bouts
}

fn event(past: &Past, bouts: &[Bout]) -> Event {
    let by_us = bouts.iter().map(|bout| bout.began.by_us).min().unwrap_or_default();
    let samples = || past.lanes.iter().flat_map(|lane| &lane.samples);
    let quiet = samples().filter(|sample| sample.at_us < by_us && left(sample) == Some(0));
    let began = Span { after_us: quiet.map(|sample| sample.at_us).max(), by_us };
    let ended = narrowest(bouts.iter().filter_map(|bout| bout.ended));
    let last_us = bouts.iter().map(|bout| bout.last_us).max().unwrap_or(by_us);
    let until_us = ended.map_or(last_us, |ended| ended.by_us);
    let within = |sample: &&Sample| (by_us..=until_us).contains(&sample.at_us);
    let most = |count: fn(&Sample) -> Option<u64>| samples().filter(within).filter_map(count).max();
    let changes = changes(past, began.after_us.unwrap_or(by_us).min(by_us - LEAD_US), until_us);
    let moved = ended.is_some() || past.lanes.iter().any(|lane| fell(lane, by_us, until_us));
    let mut event = Event {
        began,
        ended,
        clean: clean(past, by_us),
        degraded_max: most(|sample| sample.degraded),
        misplaced_max: most(|sample| sample.misplaced),
        moved,
        changes,
        warnings: Vec::new(),
    };
    event.warnings = warnings(past, &event, until_us);
    event
}

/// What the source says that looks most often. One that looks seldom may have seen just the moment in which
/// groups were peering and counted nothing, and others lag behind.
fn narrowest(spans: impl Iterator<Item = Span>) -> Option<Span> {
    spans.min_by_key(|span| (span.by_us - span.after_us.unwrap_or(i64::MIN / 2), span.by_us))
}

/// When all groups were clean, after something was left.
fn clean(past: &Past, from_us: i64) -> Option<Span> {
    let of = |lane: &Lane| {
        let after = lane.samples.iter().filter(|sample| sample.at_us > from_us);
        let mut last_us = None;
        for sample in after {
            match (sample.clean, sample.groups) {
                (Some(clean), Some(groups)) if clean == groups && last_us.is_some() => {
                    return Some(Span { after_us: last_us, by_us: sample.at_us });
                }
                (Some(clean), Some(groups)) if clean < groups => last_us = Some(sample.at_us),
                _ => {}
            }
        }
        None
    };
    narrowest(past.lanes.iter().filter_map(of))
}

/// Whether what was left fell after it was the most, or something was recovered.
fn fell(lane: &Lane, from_us: i64, until_us: i64) -> bool {
    let inside = lane.samples.iter().filter(|sample| (from_us..=until_us).contains(&sample.at_us));
    let mut most = 0;
    for sample in inside {
        let now = left(sample).filter(|now| *now > 0);
        if now.is_some_and(|now| now < most) || sample.objects_per_s.is_some_and(|rate| rate > 0.0) {
            return true;
        }
        most = most.max(now.unwrap_or(0));
    }
    false
}

/// What became of devices between two times, in the order of time.
fn changes(past: &Past, from_us: i64, until_us: i64) -> Vec<Change> {
    let mut about: BTreeMap<(i32, bool), Vec<&SeenIn>> = BTreeMap::new();
    for one in &past.seen {
        about.entry((one.seen.device, answers(one.seen.is))).or_default().push(one);
    }
    // A change that two reports enclose may be anywhere between them.
    let meets =
        |Span { after_us, by_us }: Span| by_us >= from_us && after_us.is_none_or(|after| after <= until_us);
    let all = about.values().flat_map(|seen| changes_of(seen));
    let mut changes: Vec<Change> = all.filter(|change| meets(change.when)).collect();
    changes.sort_by_key(|change| (change.when.by_us, change.device, change.is));
    changes
}

/// The changes of one device: of the source that knows the times, or else of the one that shows most. Sources
/// are not mixed: one that lags behind still shows what another one knows to be over.
fn changes_of(seen: &[&SeenIn]) -> Vec<Change> {
    if seen.iter().any(|one| one.seen.since_then) {
        let exact: Vec<&SeenIn> = seen.iter().filter(|one| one.seen.since_then).copied().collect();
        return steps(&exact);
    }
    let of_reports = |one: &SeenIn| matches!(one.format, Format::Report | Format::Groups);
    let mut sources: Vec<Vec<&SeenIn>> = Vec::new();
    for one in seen {
        let is_same = |other: &SeenIn| {
            if of_reports(one) { of_reports(other) } else { other.file == one.file }
        };
        match sources.iter_mut().find(|source| source.first().is_some_and(|other| is_same(other))) {
            Some(source) => source.push(one),
            None => sources.push(vec![one]),
        }
    }
    sources.iter().map(|source| steps(source)).max_by_key(Vec::len).unwrap_or_default()
}

/// Where one source shows a device otherwise than before.
fn steps(seen: &[&SeenIn]) -> Vec<Change> {
    let mut steps = Vec::new();
    let mut last: Option<Seen> = None;
    for SeenIn { file, seen, .. } in seen {
        let was = last.replace(*seen);
        // What is down in the first file that shows it became so before.
        let is_new =
            was.map_or(seen.since_then || matches!(seen.is, Is::Down | Is::Out), |was| was.is != seen.is);
        if is_new {
            let after_us = if seen.since_then { Some(seen.at_us) } else { was.map(|was| was.at_us) };
            let when = Span { after_us, by_us: seen.at_us };
            steps.push(Change { device: seen.device, is: seen.is, when, file: file.clone() });
        }
    }
    steps
}

/// Whether it is about the daemon, and not about the placement of groups.
fn answers(is: Is) -> bool {
    matches!(is, Is::Up | Is::Down)
}

fn warnings(past: &Past, event: &Event, until_us: i64) -> Vec<String> {
    let show = |at_us: i64| shown(past.clock, at_us);
    let Span { after_us, by_us } = event.began;
    let mut warnings = Vec::new();
    if after_us.is_none() {
        warnings.push(format!(
            "something was left in the first sample already, at {}: when it began is not known",
            show(by_us)
        ));
    }
    if event.ended.is_none() {
        let at = show(until_us);
        warnings.push(match event.moved || until_us - by_us < WATCHED_US {
            true => format!("it was not over in the last sample, at {at}"),
            false => format!("the recovery never moved, from {} to {at}: a flag may have stopped it, or no device could take copies", show(by_us)),
        });
    }
    warnings.extend(second_device(past, event));
    warnings.extend(past.lanes.iter().filter_map(|lane| second_rise(past, lane, event, until_us)));
    if event.changes.is_empty() {
        warnings.push("no file says what became of a device: say it yourself, or give ceph.log, or reports from before and after".to_owned());
    }
    warnings.extend(past.lanes.iter().filter_map(|lane| gap(past, lane, by_us, until_us)));
    warnings
}

/// Devices that changed long after the first one: two events at once.
fn second_device(past: &Past, event: &Event) -> Option<String> {
    let first = event.changes.first()?;
    let mut known: Vec<(i32, i64)> = Vec::new();
    for change in &event.changes {
        if !known.iter().any(|(device, _)| *device == change.device) {
            known.push((change.device, change.when.by_us));
        }
    }
    let late = known.windows(2).find(|pair| pair[1].1 - pair[0].1 > TOGETHER_US)?;
    let at = shown(past.clock, late[1].1);
    Some(format!(
        "two events at once: osd.{} changed at {}, and osd.{} at {at}",
        first.device,
        shown(past.clock, first.when.by_us),
        late[1].0
    ))
}

/// A rise after what was left had fallen, which no change of a device explains.
fn second_rise(past: &Past, lane: &Lane, event: &Event, until_us: i64) -> Option<String> {
    let inside = |sample: &&Sample| (event.began.by_us..=until_us).contains(&sample.at_us);
    let counts = lane.samples.iter().filter(inside).filter_map(|sample| Some((sample.at_us, left(sample)?)));
    let counts: Vec<(i64, u64)> = counts.collect();
    let (mut from, mut most, mut least) = (0, 0, None);
    for (at, &(at_us, _)) in counts.iter().enumerate() {
        // Groups that are peering count nothing for a short time, so that the most of that time holds.
        from += counts[from..at].iter().take_while(|(then, _)| at_us - then > BRIDGED_US).count();
        let now = counts[from..=at].iter().map(|(_, count)| *count).max().unwrap_or(0);
        most = most.max(now);
        if at_us - event.began.by_us < BRIDGED_US {
            continue;
        }
        let before: u64 = *least.get_or_insert(now);
        if now as f64 > before as f64 + RISE * most as f64 {
            let explains = |change: &Change| {
                (0..=LEAD_US).contains(&(at_us - change.when.after_us.unwrap_or(change.when.by_us)))
            };
            if !event.changes.iter().any(explains) {
                let at = shown(past.clock, at_us);
                return Some(format!(
                    "{} has {now} left at {at}, after {before}: a second event, or another change of the map",
                    lane.name
                ));
            }
            least = Some(now);
        }
        least = least.map(|least| least.min(now));
    }
    None
}

/// A time of which a source says nothing.
fn gap(past: &Past, lane: &Lane, from_us: i64, until_us: i64) -> Option<String> {
    if matches!(lane.format, Format::Report | Format::Groups) {
        return None;
    }
    let times: Vec<i64> = lane.samples.iter().map(|sample| sample.at_us).collect();
    let mut intervals: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    intervals.sort_unstable();
    let usual = *intervals.get(intervals.len() / 2)?;
    let is_gap = |pair: &&[i64]| {
        let within = pair[1] > from_us && pair[0] < until_us;
        within && pair[1] - pair[0] > GAP_US.max(usual.saturating_mul(10))
    };
    let found = times.windows(2).find(is_gap)?;
    let (from, to) = (shown(past.clock, found[0]), shown(past.clock, found[1]));
    Some(format!("{} says nothing from {from} to {to}", lane.name))
}
