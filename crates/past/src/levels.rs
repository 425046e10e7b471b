//! When so much was left of an event: what a fit compares with what a model says.
//!
//! Of all sources the one that looks most often is taken. Others lag behind it by different times, and say
//! nothing that it does not. Counts fall to 0 for some seconds while groups are peering, so a level is passed
//! when the count was above it for the last time.

use towtank_imports::past::{Format, Sample};

use crate::clock::shown;
use crate::event::{Event, Span, left};
use crate::fit::Seen;
use crate::join::{Lane, Past};

/// Of the most that was left, the shares that are looked for.
pub const LEVELS: [f64; 6] = [0.9, 0.75, 0.5, 0.25, 0.1, 0.0];

/// The fewest samples with something left that say how an event went.
const SAMPLES_LEAST: usize = 8;

/// How much later a source knows, in seconds: the mean, and the standard deviation.
///
/// Daemons tell the manager each 5 s what they did (`mgr_stats_period`), which it knows 1 to 2 s later; a
/// cluster whose daemons tell it each second lags behind by as much. Where the counts themselves say that
/// it hears of all daemons at once, the mean is half of that interval later than it knows. The manager
/// keeps metrics for a server for 15 s (`scrape_interval` of its module), and tables of Grafana come from
/// there.
const LATE_S: [(f64, f64); 2] = [(2.5, 1.2), (9.0, 4.5)];

/// When the manager knows what daemons told it, and how often they do at most.
const KNOWN_S: f64 = 1.5;
const REPORTED_S: f64 = 5.0;

/// The least by which a single sample is off, since the manager is 1 to 2 s late.
const OFF_S: f64 = 1.0;

/// When levels were passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// The times.
    pub seen: Seen,
    /// What messages call the source.
    pub source: String,
    /// Seconds between two different counts, in the median: a source may say one count several times.
    pub every_s: f64,
    /// The most that was left.
    pub most: u64,
    /// For how many seconds groups were being copied, summed over them, if the source counts them.
    pub copying_s: Option<f64>,
}

/// Why an event does not say when levels were passed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelsError {
    /// It was not over in the last sample.
    #[error("the event was not over in the last sample")]
    NotOver,
    /// Too few samples.
    #[error(
        "`{source_name}` says {count} times that something was left, and none of the others does more often"
    )]
    TooFew {
        /// What looks most often.
        source_name: String,
        /// How often.
        count: usize,
    },
    /// It had begun before the first sample.
    #[error("something was left in the first sample already, at {at}")]
    BegunBefore {
        /// When.
        at: String,
    },
}

impl LevelsError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            LevelsError::NotOver => "give files of the time until all is clean",
            LevelsError::TooFew { .. } => {
                "give ceph.log, or what `towtank record` keeps: 8 samples or more are needed"
            }
            LevelsError::BegunBefore { .. } => "give files of the time before it too",
        }
    }
}

/// When a source says that levels were passed, in seconds from a moment.
///
/// # Errors
/// If no source says it.
pub fn levels(past: &Past, event: &Event, from_us: i64) -> Result<Levels, LevelsError> {
    let Some(ended) = event.ended else { return Err(LevelsError::NotOver) };
    if event.began.after_us.is_none() {
        return Err(LevelsError::BegunBefore { at: shown(past.clock, event.began.by_us) });
    }
    let inside = |lane: &Lane| -> Vec<(i64, u64)> {
        let is_in = |sample: &&Sample| (event.began.by_us..=ended.by_us).contains(&sample.at_us);
        lane.samples.iter().filter(is_in).filter_map(|sample| Some((sample.at_us, left(sample)?))).collect()
    };
    let above = |counts: &[(i64, u64)]| counts.iter().filter(|(_, count)| *count > 0).count();
    let best = past.lanes.iter().map(|lane| (lane, inside(lane))).max_by_key(|(_, counts)| above(counts));
    let Some((lane, counts)) = best else { return Err(LevelsError::NotOver) };
    let source = lane.name.trim_matches('`').to_owned();
    if above(&counts) < SAMPLES_LEAST {
        return Err(LevelsError::TooFew { source_name: source, count: above(&counts) });
    }
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let every_s = between_changes(&counts);
    let (late_s, late_off_s) = LATE_S[usize::from(matches!(lane.format, Format::Prometheus))];
    let late_s = late_s.max(KNOWN_S + every_s.min(REPORTED_S) / 2.0);
    // Single daemons are heard of at any time within these seconds.
    let usual_s = (every_s / 12.0_f64.sqrt()).max(OFF_S);
    let mut seen =
        Seen { at_s: Vec::new(), off_s: Vec::new(), late_s: late_off_s, apart: 0.0, copying: None };
    for level in LEVELS {
        let (at_s, off_s) = passed(&counts, level * most as f64, from_us);
        seen.at_s.push(at_s - late_s);
        seen.off_s.push((off_s * off_s + usual_s * usual_s).sqrt());
    }
    Ok(Levels { seen, source, every_s, most, copying_s: copying_s(&lane.samples, event, ended) })
}

/// For how many seconds groups were being copied, summed over them. A sample holds until half of the time to
/// the next one. Nothing if one between the last before the event and the first after it does not say.
fn copying_s(samples: &[Sample], event: &Event, ended: Span) -> Option<f64> {
    let from_us = event.began.after_us.unwrap_or(event.began.by_us);
    let is_in = |sample: &&Sample| (from_us..=ended.by_us).contains(&sample.at_us);
    let count = |sample: &Sample| Some((sample.at_us, sample.backfilling? + sample.recovering?));
    let counts: Vec<(i64, u64)> = samples.iter().filter(is_in).map(count).collect::<Option<_>>()?;
    let span = |pair: &[(i64, u64)]| (pair[1].0 - pair[0].0) as f64 / 1e6 * (pair[0].1 + pair[1].1) as f64;
    Some(counts.windows(2).map(span).sum::<f64>() / 2.0)
}

/// Seconds from one count to the next that differs, in the median.
fn between_changes(counts: &[(i64, u64)]) -> f64 {
    let changed: Vec<i64> =
        counts.windows(2).filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1].0).collect();
    let mut apart: Vec<i64> = changed.windows(2).map(|pair| pair[1] - pair[0]).collect();
    apart.sort_unstable();
    apart.get(apart.len() / 2).map_or(0.0, |apart| *apart as f64 / 1e6)
}

/// When a count passed a level for the last time, and by how much that may be off.
fn passed(counts: &[(i64, u64)], level: f64, from_us: i64) -> (f64, f64) {
    let seconds = |at_us: i64| (at_us - from_us) as f64 / 1e6;
    let last = counts.iter().rposition(|(_, count)| *count as f64 > level).unwrap_or(0);
    let (before, above) = counts[last];
    let Some((after, below)) = counts.get(last + 1).copied() else { return (seconds(before), 0.0) };
    let apart = seconds(after) - seconds(before);
    // What is left at last may have gone at any time between two samples.
    let share = if below == 0 { 0.5 } else { (above as f64 - level) / (above - below) as f64 };
    (seconds(before) + share * apart, apart / 12.0_f64.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_passed_where_the_count_was_above_it_for_the_last_time() {
        let counts =
            [(0, 0), (1_000_000, 100), (2_000_000, 0), (3_000_000, 90), (5_000_000, 50), (6_000_000, 0)];
        let at = |level: f64| passed(&counts, level, 1_000_000).0;
        assert_eq!(at(70.0), 3.0, "halfway from 90 to 50, and not at the 0 of groups that peer");
        assert_eq!(at(95.0), 0.5);
        assert_eq!(at(0.0), 4.5);
        // The planted error: the first time.
        assert!(at(70.0) > 1.0);
        let group = |at_s: i64, backfilling: Option<u64>| Sample {
            at_us: at_s * 1_000_000,
            backfilling,
            recovering: Some(0),
            ..Sample::default()
        };
        let span = |after_us: i64, by_us: i64| Span { after_us: Some(after_us), by_us };
        let event = Event {
            began: span(0, 2_000_000),
            ended: None,
            clean: None,
            degraded_max: None,
            misplaced_max: None,
            moved: true,
            changes: Vec::new(),
            warnings: Vec::new(),
        };
        let groups = |middle| [group(0, Some(0)), group(2, Some(3)), group(4, middle), group(6, Some(0))];
        let copying = |middle| copying_s(&groups(middle), &event, span(4_000_000, 6_000_000));
        assert_eq!(copying(Some(1)), Some(2.0 * 3.0 + 2.0 * 1.0));
        // The planted error: what is missing counts as none.
        assert_eq!(copying(None), None);
        let stays =
            [(0, 9), (1_000_000, 9), (5_000_000, 8), (6_000_000, 8), (10_000_000, 7), (15_000_000, 6)];
        assert_eq!(between_changes(&stays), 5.0);
    }
}
