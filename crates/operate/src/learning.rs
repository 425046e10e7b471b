//! Constants of machines from an event: the recovery of `whatif` with other constants, and what was seen.
//!
//! - `happened`: what `whatif` is to run again, from what became of devices.

mod happened;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use towtank_past::fit::{self, Ask, Fit, Fitted as Found, Prior, Question, Seen, Sum};
use towtank_past::{Event, LEVELS, Levels, Past, levels, shown};
use towtank_report::human;
use towtank_scenario::{Files, Problem, Problems};
use towtank_streams::Seed;
use towtank_study::StudyError;

use self::happened::{Happened, happened};
use crate::learned::{Constant, Fitted, Learned, Recovery, Rows, VERSION, name_of};
use crate::real::factors::{Constants, Factors};
use crate::whatif::orders::BETWEEN_EVENTS;
use crate::whatif::replay::{Course, Replay};

/// What is to be learned from.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// What was kept.
    pub past: &'a Past,
    /// The event.
    pub event: &'a Event,
    /// The names of the files.
    pub files: Vec<String>,
    /// The keys of `whatif` that name exports from before it, and their values.
    pub exports: Vec<(String, String)>,
    /// What was done, where the user says it, in the words of `whatif`; empty: as the files say.
    pub changes: Vec<String>,
    /// When the first of these was made, in microseconds of the clock of the files.
    pub at_us: Option<i64>,
    /// Other keys of `whatif`, and their values.
    pub keys: Vec<(String, String)>,
}

/// What is learned, and what must be known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Learning {
    /// The constants.
    pub learned: Learned,
    /// What casts doubt on them, each a sentence without a full stop.
    pub doubts: Vec<String>,
}

/// What is known of each constant beforehand. The speed of disks of a class differs by less; a disk that Ceph
/// takes for a rotating one took a quarter of the cost of one (`speeds::FASTER_MOST`), and busy ones take
/// more. The sleep is a setting with a default, and timers are late under load; daemons measure the limit of
/// mClock. Choices.
const RATE: Prior = Prior { times: 3.0 };
const OBJECT: Prior = Prior { times: 4.0 };
const SLEEP: Prior = Prior { times: 1.5 };
const LIMIT: Prior = Prior { times: 2.0 };
const START: Prior = Prior { times: 1.5 };

/// How likely it is that groups reserve as assumed, or so many times as many slots: a setting with a default.
/// A choice.
const SLOTS: [(u32, f64); 4] = [(1, 0.85), (2, 0.05), (4, 0.05), (8, 0.05)];

/// With more slots no group waits for one.
const SLOTS_FEW: u32 = 16;

/// Levels of the first half.
const FIRST: usize = 3;

/// By how much of the whole each time may be off because of what the model leaves out. A choice: where chance
/// has no part in the order of groups, runs do not scatter at all.
const LEFT_OUT: f64 = 0.02;

/// What constants of shorter events say of others was off by more than their ranges, where nothing was known
/// of the settings.
const SHORT_S: f64 = 20.0;

/// By how many seconds the time of a change may be off that no file says.
const UNKNOWN_S: f64 = 3_600.0;

/// By how many times the copies that move may differ from the most that was left. Groups that wait are not
/// counted as misplaced, and several failures are not all counted at once.
const COUNTS: f64 = 1.6;

/// By how many seconds a group may be seen to be copied more or less than in the model.
const BESIDE_S: f64 = 0.15;

/// Which row is kept of the draws of a fit.
const EACH: usize = 2;

/// Fits constants to an event.
///
/// # Errors
/// What is wrong with the exports or the changes, or why the event says nothing.
pub fn learn(asked: &Asked<'_>, files: Arc<dyn Files>) -> Result<Learning, Problems> {
    let Happened { changes, at } = done(asked)?;
    let from_us = at.map_or(asked.event.began.by_us, |(at_us, _)| at_us);
    let found = levels(asked.past, asked.event, from_us)
        .map_err(|error| Problem::new(error.to_string()).hint(error.hint()))?;
    let Levels { seen, source, most, .. } = &found;
    let (mut seen, most) = (seen.clone(), *most);
    let off_s = at.map_or(UNKNOWN_S, |(_, off_s)| off_s);
    seen.late_s = (seen.late_s * seen.late_s + off_s * off_s).sqrt();
    seen.apart = BETWEEN_EVENTS;
    let took_s = seen.at_s.last().copied().unwrap_or(0.0).max(0.0);
    seen.off_s.iter_mut().for_each(|off_s| *off_s = (*off_s * *off_s + (LEFT_OUT * took_s).powi(2)).sqrt());
    let replay =
        Replay::of(scenario(asked, &changes), files).map_err(|problems| without_places(&problems))?;
    check_cluster(asked, &replay)?;
    let Some(assumed) = replay.assumed() else {
        return Err(Problem::new("the exports have no devices")
            .hint("give exports from before the event")
            .into());
    };
    let model = |error: StudyError| Problems::from(Problem::new(error.to_string()));
    let usual = replay.course(&Factors::ASSUMED, 0).map_err(model)?;
    if usual.jobs == 0 {
        let message = format!("with these exports nothing moves after {}", changes.join(", "));
        let hint = "give exports from before the event, or say what was done: --change 'fail osd.3'";
        return Err(Problem::new(message).hint(hint).into());
    }
    seen.copying = copying(&found, &usual);
    let mut runs = Runs::new();
    let machine = Machine { replay: &replay, keys: &asked.keys, assumed, first_s: usual.first_s };
    let half = machine.fit(&seen, FIRST, &mut runs).map_err(model)?;
    let whole = machine.fit(&seen, LEVELS.len(), &mut runs).map_err(model)?;
    let fits = Fits { seen: &seen, half: &half, whole: &whole };
    let event = fits.recovery(asked, &replay, changes);
    let learned = Learned {
        version: VERSION,
        event: Recovery { source: source.clone(), began: shown(asked.past.clock, from_us), ..event },
        constants: machine.constants(&whole),
        draws: machine.rows(&whole),
    };
    let doubts = doubts(&learned, (&usual, most), at.is_some());
    Ok(Learning { learned, doubts })
}

/// For how long groups were being copied, where model and source say it. Each group is off by when it is seen
/// to begin and to end, and all of them by what they count besides their objects.
fn copying(found: &Levels, usual: &Course) -> Option<Sum> {
    let seconds = found.copying_s.filter(|_| usual.copying_s.is_some())?;
    let (groups, each_s) = (usual.groups as f64, found.every_s / 6.0_f64.sqrt());
    let off_s = (groups * each_s * each_s + (BESIDE_S * groups).powi(2)).sqrt();
    Some(Sum { seconds, off_s })
}

/// What was done, as the user or the files say it.
fn done(asked: &Asked<'_>) -> Result<Happened, Problem> {
    if asked.changes.is_empty() {
        let hint = "say what was done: --change 'fail osd.3', with --at for when";
        return happened(asked.event).map_err(|why| Problem::new(why).hint(hint));
    }
    Ok(Happened { changes: asked.changes.clone(), at: asked.at_us.map(|at| (at, 0.3)) })
}

/// The scenario of `whatif`: what fails is known at once, and marked out, because times count from then.
fn scenario(asked: &Asked<'_>, changes: &[String]) -> String {
    let mut text = "study = \"whatif\"\n".to_owned();
    let quoted = |value: &str| toml::Value::String(value.to_owned()).to_string();
    for (key, value) in &asked.exports {
        text += &format!("{key} = {}\n", quoted(value));
    }
    let listed: Vec<String> = changes.iter().map(|change| quoted(change)).collect();
    text += &format!("changes = [{}]\n", listed.join(", "));
    let says = |key: &str| asked.keys.iter().any(|(known, _)| known == key);
    if changes.iter().any(|change| change.starts_with("fail ")) {
        for key in ["detection", "down_out"].iter().filter(|key| !says(key)) {
            text += &format!("{key} = \"0s\"\n");
        }
    }
    for (key, value) in &asked.keys {
        text += &format!("{key} = {value}\n");
    }
    text
}

/// Problems without their places, which are in a text that the user has not written.
pub(crate) fn without_places(problems: &Problems) -> Problems {
    let mut all = Problems::new();
    for problem in problems.iter() {
        let own = Problem::new(problem.message());
        all.push(match problem.next_step() {
            Some(hint) => own.hint(hint),
            None => own,
        });
    }
    all
}

/// Refuses exports of another cluster.
fn check_cluster(asked: &Asked<'_>, replay: &Replay) -> Result<(), Problem> {
    let (Some(kept), Some(maps)) = (&asked.past.fsid, &replay.ready.real.fsid) else { return Ok(()) };
    if kept == maps {
        return Ok(());
    }
    let message = format!("the exports are of the cluster {maps}, and the files of the event of {kept}");
    Err(Problem::new(message).hint("give the report of this cluster from before the event"))
}

/// Runs that were made, by way, draw and factors: the first ones of each fit are the same.
type Runs = BTreeMap<(usize, u32, Vec<u64>), Vec<f64>>;

/// A recovery with constants that are to be found.
struct Machine<'a> {
    replay: &'a Replay,
    /// The keys that the user set.
    keys: &'a [(String, String)],
    assumed: Constants,
    /// From the change to the first object, as assumed.
    first_s: f64,
}

impl Machine<'_> {
    /// The constants that the model has: that of the queue where it has one that the user has not set.
    fn priors(&self) -> Vec<Prior> {
        [RATE, OBJECT].into_iter().chain(self.pace()).collect()
    }

    fn says(&self, key: &str) -> bool {
        self.keys.iter().any(|(known, _)| known == key)
    }

    fn sleeps(&self) -> bool {
        self.assumed.sleep > 0.0
    }

    fn pace(&self) -> Option<Prior> {
        match self.assumed.limit {
            _ if self.sleeps() => (!self.says("recovery_sleep")).then_some(SLEEP),
            Some(_) => (!self.says("osd_capacity")).then_some(LIMIT),
            None => None,
        }
    }

    fn factors(&self, factors: &[f64], way: usize) -> Factors {
        let pace = factors.get(2).copied().unwrap_or(1.0);
        let sleeps = self.sleeps();
        Factors {
            // The fit has what times grow with.
            rate: 1.0 / factors[0],
            object: factors[1],
            sleep: if sleeps { pace } else { 1.0 },
            limit: if sleeps { 1.0 } else { 1.0 / pace },
            backfills: self.slots().map(|slots| slots.saturating_mul(SLOTS[way].0)),
            ..Factors::ASSUMED
        }
    }

    /// The slots, where they are few enough for groups to wait.
    fn slots(&self) -> Option<u32> {
        self.assumed.backfills.filter(|slots| *slots <= SLOTS_FEW)
    }

    fn fit(&self, seen: &Seen, levels: usize, runs: &mut Runs) -> Result<Fit, StudyError> {
        let ways: Vec<f64> = match self.slots() {
            Some(_) if !self.says("max_backfills") => SLOTS.iter().map(|(_, share)| *share).collect(),
            _ => vec![1.0],
        };
        let question = Question {
            priors: &self.priors(),
            start: (self.first_s, START),
            ways: &ways,
            seen,
            levels,
            seed: Seed(0),
        };
        fit::fit(&question, |ask: Ask<'_>| {
            let bits = ask.factors.iter().map(|factor| factor.to_bits()).collect();
            let run = (ask.way, ask.draw, bits);
            if let Some(times) = runs.get(&run) {
                return Ok(times.clone());
            }
            let course = self.replay.course(&self.factors(ask.factors, ask.way), ask.draw)?;
            let levels = LEVELS.iter().map(|share| course.left(*share));
            let times: Vec<f64> = levels.chain(course.copying_s).collect();
            runs.insert(run, times.clone());
            Ok(times)
        })
    }

    fn constants(&self, fit: &Fit) -> Fitted {
        let pace = fit.constants.get(2);
        let sleeps = self.sleeps();
        let set =
            |assumed: f64| Constant { assumed, value: assumed, low: assumed, high: assumed, known: true };
        Fitted {
            disk_rate: constant(self.assumed.rate, inverse(fit.constants[0])),
            object_cost: constant(self.assumed.object, fit.constants[1]),
            recovery_sleep: sleeps.then(|| {
                let assumed = self.assumed.sleep;
                pace.map_or_else(|| set(assumed), |found| constant(assumed, *found))
            }),
            queue_limit: self
                .assumed
                .limit
                .filter(|_| !sleeps)
                .map(|_| pace.map_or_else(|| set(1.0), |found| constant(1.0, inverse(*found)))),
            start: constant(self.first_s, fit.start),
            max_backfills: self.slots().map(|slots| slots_of(slots, &fit.ways)),
        }
    }

    fn rows(&self, fit: &Fit) -> Rows {
        let draws: Vec<_> = fit.draws.iter().step_by(EACH).collect();
        let row = |value: &dyn Fn(&Factors) -> f64| -> Vec<f64> {
            draws.iter().map(|draw| rounded(value(&self.factors(&draw.factors, draw.way)))).collect()
        };
        let Constants { rate, object, sleep, limit, .. } = self.assumed;
        let sleeps = self.sleeps();
        Rows {
            disk_rate: row(&|factors| rate * factors.rate),
            object_cost: row(&|factors| object * factors.object),
            recovery_sleep: if sleeps { row(&|factors| sleep * factors.sleep) } else { Vec::new() },
            queue_limit: match limit {
                Some(_) if !sleeps => row(&|factors| factors.limit),
                _ => Vec::new(),
            },
            start: draws.iter().map(|draw| rounded(self.first_s * draw.start)).collect(),
            max_backfills: match self.slots() {
                Some(_) => row(&|factors| f64::from(factors.backfills.unwrap_or(1))),
                None => Vec::new(),
            },
        }
    }
}

/// Four digits: more than is known.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn constant(assumed: f64, found: Found) -> Constant {
    let assumed = rounded(assumed);
    let [value, low, high] = match found.known {
        true => [found.factor, found.range[0], found.range[1]],
        false => [1.0, found.range[0].min(1.0), found.range[1].max(1.0)],
    };
    let [value, low, high] = [value, low, high].map(|factor| rounded(assumed * factor));
    Constant { assumed, value, low, high, known: found.known }
}

/// The same of a rate.
fn inverse(found: Found) -> Found {
    let [low, high] = found.range;
    Found { factor: 1.0 / found.factor, range: [1.0 / high, 1.0 / low], known: found.known }
}

/// The slots: known where nine tenths are for one number.
fn slots_of(assumed: u32, ways: &[f64]) -> Constant {
    let number = |way: usize| f64::from(assumed.saturating_mul(SLOTS[way].0));
    let best = (0..ways.len()).max_by(|one, other| ways[*one].total_cmp(&ways[*other])).unwrap_or(0);
    let known = ways.len() == 1 || ways[best] >= 0.95;
    let likely: Vec<f64> = (0..ways.len()).filter(|way| ways[*way] >= 0.02).map(number).collect();
    let ends = [likely.first(), likely.last()].map(|end| end.copied().unwrap_or(number(0)));
    let value = if known { number(best) } else { number(0) };
    let [low, high] = if known { [value; 2] } else { [ends[0].min(value), ends[1].max(value)] };
    Constant { assumed: f64::from(assumed), value, low, high, known }
}

/// Fits to the first half and to the whole, and what was seen.
struct Fits<'a> {
    seen: &'a Seen,
    half: &'a Fit,
    whole: &'a Fit,
}

impl Fits<'_> {
    /// The recovery, without when it began and the source.
    fn recovery(&self, asked: &Asked<'_>, replay: &Replay, changes: Vec<String>) -> Recovery {
        let Fits { seen, half, whole } = self;
        let paced = replay.paced();
        let last = LEVELS.len() - 1;
        let took_s = seen.at_s[last].max(0.1);
        let off = |fit: &Fit, from: usize| {
            let sum: f64 = (from..=last).map(|level| (fit.said_s[level] - seen.at_s[level]).abs()).sum();
            rounded(sum / (last + 1 - from) as f64 / took_s)
        };
        Recovery {
            cluster: asked.past.fsid.clone().or_else(|| replay.ready.real.fsid.clone()),
            release: paced.release.map(|release| release.0.to_string()),
            queue: paced.queue.map(|queue| name_of(queue).to_owned()),
            class: replay.class().to_owned(),
            changes,
            began: String::new(),
            files: asked.files.clone(),
            source: String::new(),
            predicted_s: rounded(half.said_s[last]),
            took_s: rounded(took_s),
            error_after: off(half, FIRST),
            error_within: off(whole, 0),
            unexplained: whole.unexplained.map(rounded),
        }
    }
}

/// What casts doubt on what was learned.
fn doubts(learned: &Learned, (usual, most): (&Course, u64), knows_when: bool) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some(times) = learned.event.unexplained {
        doubts.push(format!(
            "no constants explain this event: it differs from all of them by {} times what chance and samples explain. \
             Another change, a restart or a setting may be the reason; all intervals are wider by as much",
            human::digits(times)
        ));
    }
    if learned.event.took_s < SHORT_S {
        doubts.push(format!(
            "it took {}, in which the order of groups decides more than the machines: learn from one of {} or more",
            human::quantity(learned.event.took_s, "s"),
            human::quantity(SHORT_S, "s")
        ));
    }
    let (jobs, most) = (usual.jobs as f64, most as f64);
    if jobs > COUNTS * most || most > COUNTS * jobs {
        doubts.push(format!(
            "with these exports {} copies and shards move, and at most {} were left: the exports are of another time, or \
             something else was done",
            human::digits(jobs),
            human::digits(most)
        ));
    }
    if !knows_when {
        doubts.push("no file says when the change was made, so that the start cannot be known".to_owned());
    }
    doubts
}
