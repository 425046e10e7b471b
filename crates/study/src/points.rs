//! Points as a study presents them: the scenario and the kept results of each replicate, deserialised into
//! the types of the study.

use std::ops::Deref;

use serde_json::Value as Json;
use towtank_metrics::MeanInterval;
use towtank_report::{Cell, Column, Interval, Outcome, human};

use crate::{MeasureSpec, PointResult, Question};

/// One point of a sweep, deserialised.
pub struct Point<'a, Q: Question> {
    /// The point as it was stored: the swept keys, and the outcomes with their measures.
    pub result: &'a PointResult<'a>,
    /// Its scenario, with all defaults filled in.
    pub scenario: Q::Settled,
    /// The kept results of its replicates, in replicate order, without those that observed nothing. Never
    /// empty.
    pub kept: Vec<Q::Kept>,
}

impl<'a, Q: Question> Point<'a, Q> {
    fn of(result: &'a PointResult<'a>) -> Option<Point<'a, Q>> {
        let scenario = read_scenario::<Q>(result).ok()?;
        let kept: Vec<Q::Kept> = result.outcomes.iter().filter_map(|one| read_kept::<Q>(one).ok()).collect();
        (!kept.is_empty()).then_some(Point { result, scenario, kept })
    }

    /// What of a stored point cannot be read back. A replicate that observed nothing has nothing to read.
    pub(crate) fn unreadable(result: &PointResult<'_>) -> Option<String> {
        let at = match result.settings {
            [] => String::new(),
            settings => format!(" of the point with {}", in_words(settings)),
        };
        if let Err(error) = read_scenario::<Q>(result) {
            return Some(format!("the resolved scenario{at}: {error}"));
        }
        (0..).zip(result.outcomes).filter(|(_, outcome)| !outcome.series.is_empty()).find_map(
            |(replicate, outcome): (u32, _)| {
                let error = read_kept::<Q>(outcome).err()?;
                Some(format!("the results of replicate {replicate}{at}: {error}"))
            },
        )
    }

    /// The values of a measure, of each replicate that has it.
    #[must_use]
    pub fn values(&self, measure: &str) -> Vec<f64> {
        values(self.result, measure)
    }

    /// The mean of a measure over the replicates that have it.
    #[must_use]
    pub fn mean(&self, measure: &str) -> Option<MeanInterval> {
        mean_of::<Q>(self.result, measure)
    }

    /// The mean without its confidence interval.
    #[must_use]
    pub fn value(&self, measure: &str) -> Option<f64> {
        Some(self.mean(measure)?.mean)
    }

    /// One cell per measure: its mean.
    pub fn means(&self, measures: &[MeasureSpec]) -> impl Iterator<Item = Cell> {
        measures.iter().map(|measure| Cell::from(self.value(measure.name)))
    }

    /// The swept values in a sentence: `servers 2, disk 1GB/s`; empty without a sweep.
    #[must_use]
    pub fn said(&self) -> String {
        human::settings(self.result.settings)
    }

    /// The swept keys with their values: `servers = 2, disk = 1GB/s`; empty without a sweep.
    #[must_use]
    pub fn label(&self) -> String {
        in_words(self.result.settings)
    }
}

fn read_scenario<Q: Question>(result: &PointResult<'_>) -> serde_json::Result<Q::Settled> {
    serde_json::from_value(result.scenario.clone())
}

fn read_kept<Q: Question>(outcome: &Outcome) -> serde_json::Result<Q::Kept> {
    let all = outcome.series.iter().map(|(name, data)| (name.clone(), data.clone()));
    serde_json::from_value(Json::Object(all.collect()))
}

fn in_words(settings: &[(String, Json)]) -> String {
    let one = |(key, value): &(String, Json)| format!("{key} = {}", text(value));
    settings.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The mean of a measure of a study, with the interval that it has in the summary.
#[must_use]
pub fn mean_of<Q: Question>(result: &PointResult<'_>, measure: &str) -> Option<MeanInterval> {
    let unit = result.outcomes.iter().find_map(|outcome| Some(outcome.measures.get(measure)?.unit()));
    let specs = crate::measures::specs_of::<Q>();
    // Measures that the scenario names, such as those of one application, have the interval of their unit.
    let interval =
        specs.iter().find(|spec| spec.name == measure).map_or(Interval::OfUnit, |spec| spec.interval);
    interval.mean(&values(result, measure), unit?)
}

/// The values of a measure, of each replicate that has it.
#[must_use]
pub fn values(result: &PointResult<'_>, measure: &str) -> Vec<f64> {
    result.outcomes.iter().filter_map(|outcome| outcome.measures.get(measure)?.value()).collect()
}

/// A swept value as the user would write it.
#[must_use]
pub fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// One column per measure.
pub fn columns_of(measures: &[MeasureSpec]) -> impl Iterator<Item = Column> {
    measures.iter().map(|measure| Column::number(measure.name, measure.unit))
}

/// All points of which at least one replicate observed something, in sweep order.
pub struct Points<'a, Q: Question> {
    points: Vec<Point<'a, Q>>,
    /// Whether there is more than one point, including those that observed nothing.
    pub swept: bool,
}

impl<'a, Q: Question> Points<'a, Q> {
    /// Deserialises points.
    #[must_use]
    pub fn of(results: &'a [PointResult<'a>]) -> Points<'a, Q> {
        Points { points: results.iter().filter_map(Point::of).collect(), swept: results.len() > 1 }
    }

    /// The first of these measures that some replicate has a value of; else the first that one lacks a value
    /// of.
    #[must_use]
    pub fn first_measure<'n>(&self, names: impl IntoIterator<Item = &'n str> + Clone) -> Option<String> {
        let outcomes = || self.points.iter().flat_map(|point| point.result.outcomes);
        let known = |name: &&str| {
            outcomes().any(|one| one.measures.get(*name).is_some_and(|all| all.value().is_some()))
        };
        let named = |name: &&str| outcomes().any(|one| one.measures.contains_key(*name));
        let found = names.clone().into_iter().find(known).or_else(|| names.into_iter().find(named));
        found.map(str::to_owned)
    }
}

impl<'a, Q: Question> Deref for Points<'a, Q> {
    type Target = [Point<'a, Q>];

    fn deref(&self) -> &Self::Target {
        &self.points
    }
}
