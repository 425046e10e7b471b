//! Reports of a fit, an estimate and a check: the question, tables, figures and warnings.

mod check;
mod estimate;
mod figures;
mod fit;
mod published;

pub use check::{CHECK_MEASURES, checked};
pub use estimate::{Answered, ESTIMATE_MEASURES, estimated};
pub use fit::fitted;
pub use published::as_published;

use towtank_report::{Measure, Ordered};

use crate::elastic::Ranged;
use crate::model::Model;
use crate::spread::Spread;

/// A measure of a report: its name, its unit, and a description.
pub type About = (&'static str, &'static str, &'static str);

fn put(summary: &mut Ordered<Measure>, (name, unit, _): About, value: Ranged) {
    // Nothing was simulated, so there are no replicates.
    let measure = Measure::new(value.value, unit, 0);
    let measure = match value.range {
        Some((low, high)) => measure.with_interval(low, high),
        None => measure,
    };
    summary.insert(name.to_owned(), measure);
}

fn glossary(summary: &Ordered<Measure>, all: &[About]) -> Ordered<String> {
    let there = all.iter().filter(|(name, _, _)| summary.contains_key(*name));
    there.map(|(name, _, about)| ((*name).to_owned(), (*about).to_owned())).collect()
}

/// Joins names as `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

fn sure(value: f64) -> Ranged {
    Ranged { value, range: None }
}

/// A warning if the spread of runs is known but gives intervals too wide to be useful.
fn unknown_interval(model: &Model) -> Option<String> {
    let spread = model.spread?;
    let rates = model.sizes.iter().flat_map(|size| [&size.reads, &size.writes]);
    let unknown = rates.filter(|rate| rate.iops.range.is_none()).count();
    (unknown > 0).then(|| {
        format!(
            "intervals of {unknown} of {} pure loads are unknown: from {} more {} than points they would reach from less than \
             a tenth to more than ten times the value; repeat each run three times or more",
            2 * model.sizes.len(),
            spread.degrees,
            if spread.degrees == 1 { "run" } else { "runs" }
        )
    })
}

/// A warning if all repeated runs are equal, which says nothing about the spread of real runs.
fn equal_runs(spread: Option<Spread>) -> Option<String> {
    spread.filter(|spread| spread.deviation == 0.0).map(|_| {
        "all runs of one point have equal rates, as rounded or copied ones have: intervals and verdicts are too certain"
            .to_owned()
    })
}

/// A rate in words: three digits, with separators of thousands.
fn words(value: f64, unit: &str) -> String {
    towtank_report::human::quantity(value, unit)
}

/// `, 1,200 to 1,500 with 95 % confidence`, if there is an interval.
fn interval(value: Ranged, unit: &str) -> String {
    value.range.map_or(String::new(), |(low, high)| {
        format!(" ({} to {} with 95 % confidence)", words(low, unit), words(high, unit))
    })
}
