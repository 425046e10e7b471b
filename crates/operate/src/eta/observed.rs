//! One replicate: when the recovery is done, by the model from the latest report on, at the speed that
//! earlier reports show.

use serde::{Deserialize, Serialize};
use towtank_imports::past::Clock;
use towtank_past::shown;
use towtank_recovery::levers::Tried;
use towtank_report::{Outcome, human};
use towtank_study::{Replicate, RunContext, StudyError, Value};

use super::ahead::{Ahead, ahead};
use super::by_log;
use super::case::Ready;
use super::pace::pace;
use super::share::{Share, courses};
use super::speed::{self, Speed};
use super::stretch::LAG_S;
use crate::whatif::PEERS_S;
use crate::whatif::orders::{SHARES, quantile};
use crate::whatif::remaining::{Remaining, remaining};
use crate::whatif::replay::Course;

/// The last group peers once more before it is clean: half of the time for which a group that moves serves
/// no requests, in the middle of what was measured.
const LAST_PEERS_S: f64 = (PEERS_S[0] + PEERS_S[1]) / 4.0;

/// What a replicate found.
pub struct Seen {
    pub(super) remaining: Remaining,
    pub(super) times: Times,
    pub(super) observed: Observed,
}

/// Which part of a recovery is left, and how fast it goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    /// The part of the time of the model that is over by the counts, as a share of the time until clean.
    over: f64,
    /// How much less (0) and more (1) the rest takes in other orders, as a share.
    orders: [f64; 2],
    /// How many times as long as in the model it takes, with its range, where that is measured.
    scale: Option<[f64; 3]>,
}

/// What is presented besides the measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The file of the latest report.
    pub file: String,
    /// Its time in microseconds since 1970.
    pub at_us: i64,
    /// Copies that are missing, and that are misplaced.
    pub counts: [Option<u64>; 2],
    /// The speed.
    pub speed: Speed,
    /// Why there is no time, where it stands still.
    pub stands: Option<String>,
    /// The devices that are done last, each with the number of drawn orders in which it is.
    pub last: Vec<(i32, u64)>,
    /// Drawn orders.
    pub drawn: u64,
    /// What takes the time.
    pub limit: Option<String>,
    /// What was tried: the change, and the time until clean with it.
    pub tried: Vec<Tried>,
    /// Flags that stop objects, the commands that unset them, and the time until clean without them.
    pub unset: Option<(String, Option<f64>)>,
    /// Whether there is nothing to wait for.
    pub idle: bool,
    /// Whether counts are of another time than the map.
    pub behind: bool,
    /// Groups that are peering.
    pub passing: u64,
    /// Groups that are not `active` and `clean` now.
    #[serde(default)]
    pub unclean: u64,
    /// Groups that recover by their log, where nothing else is left.
    #[serde(default)]
    pub by_log: u64,
    /// Whether constants were learned from another recovery.
    pub calibrated: bool,
    /// Copies that reports counted, by their time in seconds from the latest.
    #[serde(default)]
    pub counted: Vec<(f64, u64)>,
    /// What is left over time from the latest on.
    #[serde(default)]
    pub ahead: Vec<Ahead>,
}

impl Observed {
    /// The time of the latest report in words.
    pub(super) fn at(&self) -> String {
        shown(Clock::Zoned, self.at_us)
    }
}

/// Runs one replicate.
pub(super) fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
    let (found, mut beside) = context.within(0.0..0.5, |context| remaining(&ready.now.ready, context))?;
    beside.warnings.splice(0..0, ready.warnings.iter().cloned());
    let mut remaining = match found {
        Ok(remaining) => remaining,
        Err(why) => return Ok(Replicate { seen: Err(why), beside }),
    };
    if remaining.clean == Ok(0.0) && !remaining.moves && remaining.by_log + remaining.passing == 0 {
        // Nothing is left to copy, and the states of these groups say it some seconds later.
        remaining.passing = by_log::copied(ready.latest());
    }
    let courses = courses(&ready.now, context)?;
    let pace = pace(&ready.moments, &courses, ready.spread());
    let (speed, scale) = match &pace {
        _ if remaining.by_log > 0 => {
            (by_log::counted(ready).map_or_else(Speed::Assumed, Speed::Counted), None)
        }
        Some(pace) => {
            let speed = pace.measured.clone().map_or_else(Speed::Assumed, Speed::Stepped);
            (speed, Some(pace.scale))
        }
        None => speed::speed(ready, context)?,
    };
    if context.stopped() {
        let beside = Outcome { partial: true, ..beside };
        return Ok(Replicate {
            seen: Err("the run was stopped before it was known how fast it goes"),
            beside,
        });
    }
    let share = match &pace {
        // The count is of the steps that are made.
        Some(_) => Share { left: 1.0, behind: false },
        None => Share::of(ready.latest().left(), &ready.now, &courses),
    };
    let mut times = Times::of(&courses, share.left, scale);
    if let Some(pace) = &pace {
        // The next step is still to come.
        times.over = 0.0;
        times.orders = times.orders.map(|off| libm::hypot(off, pace.scatters));
    }
    let observed = Observed {
        ahead: match pace {
            // What is to be moved by later steps is in no count yet.
            Some(_) => Vec::new(),
            None => ahead(&courses, (share.left, ready.latest().left().unwrap_or(0)), scale),
        },
        ..observed(ready, (&remaining, &courses), share.behind, speed, &times)
    };
    Ok(Replicate { seen: Ok(Seen { remaining, times, observed }), beside })
}

impl Times {
    fn of(courses: &[Course], left: f64, scale: Option<[f64; 3]>) -> Times {
        let rest = |course: &Course| (course.last_s - course.at_left(left)).max(0.0);
        let mut rests: Vec<f64> = courses.iter().map(rest).collect();
        rests.sort_by(f64::total_cmp);
        let median = rests.get(rests.len() / 2).copied().unwrap_or(0.0);
        let mut over: Vec<f64> =
            courses.iter().map(|course| course.at_left(left) / course.last_s.max(1e-9)).collect();
        over.sort_by(f64::total_cmp);
        let end =
            |share: f64| if median > 0.0 { (quantile(&rests, share) / median - 1.0).abs() } else { 0.0 };
        let over = over.get(over.len() / 2).copied().unwrap_or(0.0).clamp(0.0, 1.0);
        let orders = if rests.is_empty() { [0.0; 2] } else { SHARES.map(end) };
        Times { over, orders, scale }
    }

    /// A time of the model from the latest report on, where all groups are clean after `clean`: less what is
    /// over, at the speed that is measured.
    fn scaled(&self, time: f64, clean: &Value) -> f64 {
        let over = self.over * clean.clone().unwrap_or(0.0);
        (time - over).max(0.0) * self.scale.map_or(1.0, |scale| scale[0])
    }
}

impl Seen {
    /// What is kept of it.
    pub(super) fn keep(self) -> Observed {
        self.observed
    }

    /// Why nothing is said of time, where nothing moves.
    fn moves(&self) -> Result<(), String> {
        self.observed.stands.clone().map_or(Ok(()), Err)
    }

    /// The time of groups that recover by their log, with the ends of its range, where they are all that is
    /// left.
    fn by_log(&self) -> Option<Result<[f64; 3], String>> {
        let groups = self.observed.by_log;
        (groups > 0).then(|| match &self.observed.speed {
            Speed::Counted(counted) => Ok(counted.times()),
            Speed::Assumed(why) => Err(format!(
                "{} by the log, and no report says on which devices copies are missing; {why}",
                human::plural(groups as f64, ["group recovers", "groups recover"])
            )),
            Speed::Measured(_) | Speed::Stepped(_) => Err("their rate is not counted".to_owned()),
        })
    }

    fn scaled(&self, time: f64) -> f64 {
        self.times.scaled(time, &self.remaining.clean)
    }

    pub(super) fn clean(&self) -> Value {
        self.moves()?;
        let clean = self.remaining.clean.clone()?;
        if let Some(by_log) = self.by_log() {
            return by_log.map(|[time, ..]| time + LAST_PEERS_S);
        }
        Ok(match self.remaining.moves {
            true => self.scaled(clean) + LAST_PEERS_S,
            false if self.remaining.passing > 0 => PEERS_S[1],
            false => clean,
        })
    }

    /// The lower (0) and the upper (1) end of the range of that time. The manager shows the end up to a lag
    /// later.
    pub(super) fn clean_range(&self, end: usize) -> Value {
        let clean = self.clean()?;
        if let Some(by_log) = self.by_log() {
            // Its groups need not peer once more.
            let time = by_log?[1 + end];
            return Ok(if end == 1 { time + LAST_PEERS_S + LAG_S } else { time });
        }
        let of_model = match self.times.scale {
            _ if !self.remaining.moves => [0.0, clean][end],
            None => self.remaining.range[end].clone().map(|time| self.scaled(time) + LAST_PEERS_S)?,
            Some([scale, low, high]) => {
                let speed = [1.0 - low / scale, high / scale - 1.0][end];
                let off = libm::hypot(speed, self.times.orders[end]);
                clean * [(1.0 - off).max(0.0), 1.0 + off][end]
            }
        };
        let waits = self.remaining.moves || self.remaining.passing > 0;
        Ok(match end {
            1 if waits => of_model + LAG_S,
            _ => of_model.min(clean),
        })
    }

    pub(super) fn full(&self) -> Value {
        self.moves()?;
        if let Some(by_log) = self.by_log() {
            return by_log.map(|[time, ..]| time);
        }
        self.remaining.full.clone().map(|time| self.scaled(time))
    }

    pub(super) fn min_size(&self) -> Value {
        self.moves()?;
        self.remaining.min_size.clone().map(|time| self.scaled(time))
    }

    pub(super) fn end(&self) -> Value {
        self.moves()?;
        if let Some(by_log) = self.by_log() {
            return by_log.map(|[time, ..]| time);
        }
        self.remaining.end.clone().map(|time| self.scaled(time))
    }
}

fn observed(
    ready: &Ready,
    (remaining, courses): (&Remaining, &[Course]),
    behind: bool,
    speed: Speed,
    times: &Times,
) -> Observed {
    let latest = ready.latest();
    let waits = remaining.moves || remaining.passing + remaining.by_log > 0;
    let idle = !waits && remaining.clean == Ok(0.0);
    let seconds = |time: f64| times.scaled(time, &remaining.clean);
    let mut tried = remaining.tried.clone();
    tried.iter_mut().for_each(|one| one.time_s = one.time_s.map(|time| seconds(time) + LAST_PEERS_S));
    Observed {
        file: latest.file.clone(),
        at_us: latest.at_us(),
        counts: [latest.sample.degraded, latest.sample.misplaced],
        speed,
        stands: ready.stretches.stands.clone().filter(|_| !idle),
        last: last(ready, courses),
        drawn: courses.len() as u64,
        limit: remaining.limit.clone(),
        tried,
        unset: remaining.unset.clone(),
        idle,
        behind,
        passing: remaining.passing,
        unclean: remaining.unclean,
        by_log: remaining.by_log,
        calibrated: remaining.calibrated,
        counted: ready
            .moments
            .iter()
            .filter_map(|moment| Some((-moment.seconds_before(latest), moment.left()?)))
            .collect(),
        ahead: Vec::new(),
    }
}

/// The devices that are done last, those first that are so in most orders.
fn last(ready: &Ready, courses: &[Course]) -> Vec<(i32, u64)> {
    let mut counts: std::collections::BTreeMap<i32, u64> = std::collections::BTreeMap::new();
    let osds = &ready.now.ready.real.groups.machines.osds;
    for device in courses.iter().filter_map(|course| course.last) {
        *counts.entry(osds[device.index()]).or_default() += 1;
    }
    let mut all: Vec<(i32, u64)> = counts.into_iter().collect();
    all.sort_by_key(|(osd, count)| (std::cmp::Reverse(*count), *osd));
    all
}
