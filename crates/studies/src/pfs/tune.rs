//! `towtank pfs tune`: searches by simulation for the weights, reservations, limits, rates and depth that
//! meet given goals, and reports them in the syntax of the product that has such a scheduler.
//!
//! It is a coordinate search. Each setting is an axis from its current value to its extreme. The extreme of
//! each axis is tried, and along the axis that comes nearest to the goals a bisection finds the least change
//! with the same effect. This is repeated from there until the goals are met, nothing helps, or the limit of
//! trials is reached. The search assumes that more of a change never moves away from a goal; in any case the
//! answer is the best of all settings that were tried.

mod axis;
mod result;
mod rule;

use std::collections::BTreeMap;

use serde::Deserialize as _;
use towtank_iosched::{Description, Kind, Profile};
use towtank_scenario::Problem;
use towtank_scenario::gate::{Gate, Reading};

use self::axis::Axis;
use super::scenario::Settled;
use towtank_study::{Found, Search, Summary, TrialError, Trials};

/// The command `tune` of the study.
pub(super) const TUNE: Search = Search {
    name: "tune",
    about: "Find scheduler settings that meet goals, and show the results of each application",
    help: "Changes weights, reservations, limits, rates and the depth, if the scheduler has them, and simulates each change. \
           A goal is an expression as for --fail-if, but it must hold. With --try, several schedulers are tried in turn, and \
           the first that meets the goals is taken. The exit code is 0 if all goals are met, and 3 if no setting that was \
           tried meets them; then the nearest is shown.\n\n\
           Rules are printed for Lustre (tbf), Ceph (mclock), and Linux (bfq, token-bucket); for others, the keys of the scenario.",
    find,
};

/// The maximum number of settings that are tried for one scheduler.
const TRIALS_MAX: usize = 60;
/// The value of an unbounded miss, so that sums can be compared.
const MISS_MAX: f64 = 1e9;
/// A reduction of a miss by less than this share is no improvement.
const GAIN_MIN: f64 = 0.01;
/// Bisection steps between two rates of which one suffices and one does not.
const STEPS: u32 = 5;

/// The settings of a trial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Settings {
    scheduler: String,
    /// Values by application and key.
    values: BTreeMap<(String, Key), u64>,
}

/// A key of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Weight,
    Reservation,
    Limit,
    Rate,
    RequestRate,
}

impl Key {
    fn name(self) -> &'static str {
        match self {
            Key::Weight => "weight",
            Key::Reservation => "reservation",
            Key::Limit => "limit",
            Key::Rate => "rate",
            Key::RequestRate => "request_rate",
        }
    }

    /// A value in the TOML syntax of the scenario.
    fn text(self, value: u64) -> String {
        match self {
            Key::Weight => value.to_string(),
            Key::Reservation | Key::Limit | Key::Rate => format!("\"{value}B/s\""),
            Key::RequestRate => format!("\"{value}/s\""),
        }
    }
}

impl Settings {
    /// The settings as keys of the scenario.
    fn keys(&self) -> Vec<(String, String)> {
        let scheduler = ("schedulers".to_owned(), format!("[\"{}\"]", self.scheduler));
        let values = self
            .values
            .iter()
            .map(|((name, key), &value)| (format!("applications.{name}.{}", key.name()), key.text(value)));
        std::iter::once(scheduler).chain(values).collect()
    }
}

/// A setting with its results.
#[derive(Clone, Debug)]
struct Tried {
    settings: Settings,
    /// The sum of the misses of all goals; 0 where they are met.
    miss: f64,
    summary: Summary,
}

/// A search in progress.
struct Tuner<'a> {
    trials: &'a mut dyn Trials,
    base: Settled,
    /// Whether a goal is about a result of applications that run alone.
    alone: bool,
    tried: BTreeMap<Settings, Tried>,
    /// The maximum number of settings, for all schedulers so far.
    most: usize,
}

fn find(trials: &mut dyn Trials, schedulers: &[String]) -> Result<Found, TrialError> {
    let base = Settled::deserialize(trials.scenario()).map_err(|error| {
        TrialError::Failed(Problem::new(format!("the resolved scenario does not read back: {error}")))
    })?;
    let given = base.schedulers.iter().map(ToString::to_string).collect::<Vec<_>>();
    if given.len() > 1 && schedulers.is_empty() {
        let message = "servers have different schedulers, but the search tunes one for all";
        return Err(TrialError::Input(Problem::new(message).hint("name it: --try mclock:4").into()));
    }
    let alone =
        trials.goals().iter().any(|goal| goal.names().iter().any(|name| name.starts_with("slowdown[")));
    let mut tuner = Tuner { trials, base, alone, tried: BTreeMap::new(), most: 0 };
    let before = tuner.run(&Settings { scheduler: given[0].clone(), values: BTreeMap::new() })?;
    if schedulers.is_empty() && before.miss <= 0.0 {
        return Ok(result::found(&tuner, &before, &before));
    }
    let starts: Vec<String> =
        if schedulers.is_empty() { vec![given[0].clone()] } else { schedulers.to_vec() };
    let mut best: Option<Tried> = None;
    for scheduler in &starts {
        let description: Description = scheduler.parse().map_err(|error| {
            let problem = Problem::new(format!("--try {scheduler}: {error}"));
            TrialError::Input(problem.hint("`towtank pfs --help` lists all schedulers").into())
        })?;
        let description = as_in_its_product(description);
        let axes = axis::of(&tuner.base, &description, tuner.trials.goals());
        if axes.is_empty() && before.miss > 0.0 && starts.len() == 1 {
            let message = format!("`{scheduler}` has no setting that could meet the goals");
            return Err(TrialError::Input(
                Problem::new(message).hint("name others: --try mclock:4 --try sfq:4").into(),
            ));
        }
        let found = tuner.descend(&description, &axes)?;
        if best.as_ref().is_none_or(|best| found.miss < best.miss) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.miss <= 0.0) {
            break;
        }
    }
    let after = best.unwrap_or_else(|| before.clone());
    Ok(result::found(&tuner, &before, &after))
}

/// The scheduler as the product has it for which rules are printed: `mclock` with the idle age of Ceph, where
/// none is given.
fn as_in_its_product(description: Description) -> Description {
    match description.kind {
        Kind::Mclock { at_limit, idle_after: None } => {
            let kind = Kind::Mclock { at_limit, idle_after: Some(Profile::IDLE_AGE) };
            Description { kind, ..description }
        }
        _ => description,
    }
}

impl Tuner<'_> {
    /// Runs a setting and returns its results; each setting is run once.
    fn run(&mut self, settings: &Settings) -> Result<Tried, TrialError> {
        if let Some(tried) = self.tried.get(settings) {
            return Ok(tried.clone());
        }
        let mut changes = settings.keys();
        if !self.alone {
            changes.push(("alone".to_owned(), "false".to_owned()));
        }
        let summary = self.trials.run(&changes)?;
        let miss = self.trials.goals().iter().map(|goal| miss(goal, &summary)).sum();
        let tried = Tried { settings: settings.clone(), miss, summary };
        self.tried.insert(settings.clone(), tried.clone());
        Ok(tried)
    }

    /// Searches along the axes, from the scenario's own values, for settings that meet the goals or come
    /// nearest.
    fn descend(&mut self, description: &Description, axes: &[Axis]) -> Result<Tried, TrialError> {
        self.most = self.tried.len() + TRIALS_MAX;
        let mut best = self.run(&Settings { scheduler: description.to_string(), values: BTreeMap::new() })?;
        let mut open: Vec<&Axis> = axes.iter().collect();
        while best.miss > 0.0 && self.tried.len() < self.most {
            let mut farthest: Option<(usize, Tried)> = None;
            for (number, axis) in open.iter().enumerate() {
                let end = self.run(&axis.at(&best.settings, axis.levels()))?;
                if farthest.as_ref().is_none_or(|(_, found)| end.miss < found.miss) {
                    farthest = Some((number, end));
                }
            }
            let Some((number, end)) = farthest else { break };
            let axis = open.remove(number);
            let found = self.least(axis, &best, end)?;
            if found.miss < best.miss * (1.0 - GAIN_MIN) {
                best = found;
            }
        }
        Ok(best)
    }

    /// The least change along an axis that comes as near to the goals as its end, or a nearer one found on
    /// the way.
    fn least(&mut self, axis: &Axis, from: &Tried, end: Tried) -> Result<Tried, TrialError> {
        let (mut low, mut high) = (0, axis.levels());
        // Where the end is no better, a value in between may be.
        let enough = end.miss.min(from.miss * (1.0 - GAIN_MIN));
        let mut found = end;
        while high - low > 1 && self.tried.len() < self.most {
            let middle = low.midpoint(high);
            let tried = self.run(&axis.at(&from.settings, middle))?;
            if tried.miss <= enough {
                (high, found) = (middle, tried);
            } else {
                low = middle;
                if tried.miss < found.miss {
                    found = tried;
                }
            }
        }
        if found.miss > 0.0 || found.settings != axis.at(&from.settings, high) {
            return Ok(found);
        }
        let Some((mut loose, mut tight)) = axis.between(low, high) else { return Ok(found) };
        for _ in 0..STEPS {
            let middle = axis::rounded(loose.midpoint(tight));
            if middle == loose || middle == tight || self.tried.len() >= self.most {
                break;
            }
            let tried = self.run(&axis.with(&from.settings, middle))?;
            if tried.miss <= 0.0 {
                (tight, found) = (middle, tried);
            } else {
                loose = middle;
            }
        }
        Ok(found)
    }
}

impl Tuner<'_> {
    /// The number of other settings that miss the goals by as much as this one, or less: within a hundredth,
    /// as in the search.
    fn as_near(&self, found: &Tried) -> usize {
        let near = |one: &&Tried| one.settings != found.settings && one.miss <= found.miss * (1.0 + GAIN_MIN);
        self.tried.values().filter(near).count()
    }
}

/// By how much a goal is missed.
fn miss(goal: &Gate, summary: &Summary) -> f64 {
    goal.miss(|name| reading(summary, name)).min(MISS_MAX)
}

fn reading(summary: &Summary, name: &str) -> Option<Reading> {
    let measure = summary.get(name)?;
    Some(Reading {
        value: measure.value(),
        low: measure.low(),
        high: measure.high(),
        reason: measure.reason().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests;
