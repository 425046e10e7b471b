//! What is known of a published scenario before it runs: its claims, its events and the time that it takes.
//!
//! The list is kept beside the scenarios (`scenarios/papers/published.json`) and written by the example
//! `published` of this crate. Every reproduction is checked against it, so a list that is out of date is
//! found by whoever runs one.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use towtank_report::{Claim, Figure};
use towtank_scenario::Problem;

use super::papers;
use crate::{Registry, Trouble, measured};

const LISTED: &str = include_str!("../../../../scenarios/papers/published.json");

/// How long `quick` may take in all, on one core.
pub const QUICK_SECONDS: f64 = 60.0;

/// The file of the list.
#[derive(Debug, Deserialize)]
struct Listed {
    /// The machine on which `core_seconds` were measured.
    machine: String,
    scenarios: BTreeMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    events: u64,
    core_seconds: f64,
    claims: Vec<Named>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Named {
    name: String,
    source: String,
    statement: String,
}

fn listed() -> &'static Listed {
    static READ: OnceLock<Listed> = OnceLock::new();
    READ.get_or_init(|| serde_json::from_str(LISTED).expect("a test reads the list"))
}

/// What `reproduce` would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The machine on which the times were measured.
    pub machine: String,
    /// The scenarios, in the order in which they run.
    pub scenarios: Vec<Estimate>,
    /// The claims, by paper and in the order of each paper.
    pub claims: Vec<Announced>,
}

/// What a scenario takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The name of the scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Events of all its replicates; `None` if it is not in the list.
    pub events: Option<u64>,
    /// Processor time of all its replicates, on one core.
    pub core_seconds: Option<f64>,
}

/// A claim before it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The paper, and the figure, table or slide of it.
    pub paper: String,
    /// The part of the paper.
    pub part: String,
    /// The name that the claim has in the report: `SCENARIO/CLAIM`.
    pub name: String,
    /// Where it was published.
    pub source: String,
    /// The claim in one sentence.
    pub statement: String,
}

impl Listing {
    /// Processor time of all scenarios that have an estimate.
    #[must_use]
    pub fn core_seconds(&self) -> f64 {
        self.scenarios.iter().filter_map(|one| one.core_seconds).sum()
    }
}

/// The listing of these scenarios.
pub(super) fn listing(registry: &Registry, names: &[&'static str]) -> Listing {
    let estimate = |name: &&str| {
        let entry = listed().scenarios.get(*name);
        Estimate {
            scenario: (*name).to_owned(),
            title: title(registry, name),
            events: entry.map(|entry| entry.events),
            core_seconds: entry.map(|entry| entry.core_seconds),
        }
    };
    let entries = names.iter().filter_map(|name| Some((name, listed().scenarios.get(*name)?)));
    let claims: Vec<(String, &Named)> = entries
        .flat_map(|(name, entry)| {
            entry.claims.iter().map(move |claim| (format!("{name}/{}", claim.name), claim))
        })
        .collect();
    let named: Vec<papers::Named<'_>> =
        claims.iter().map(|(name, claim)| (&**name, &*claim.source)).collect();
    let announced = papers::placed(&named).into_iter().map(|(paper, part, at)| {
        let (name, claim) = &claims[at];
        Announced {
            paper: paper.to_owned(),
            part: part.to_owned(),
            name: name.clone(),
            source: claim.source.clone(),
            statement: claim.statement.clone(),
        }
    });
    Listing {
        machine: listed().machine.clone(),
        scenarios: names.iter().map(estimate).collect(),
        claims: announced.collect(),
    }
}

fn title(registry: &Registry, name: &str) -> String {
    let scenario = registry.scenario(name).and_then(|scenario| crate::catalogue::title(scenario.text));
    scenario.or_else(|| measured::title(name).map(str::to_owned)).unwrap_or_default()
}

/// The cheapest of these scenarios, in their order: as many as take [`QUICK_SECONDS`] in all. One without an
/// estimate is none of them.
pub(super) fn quick(names: Vec<&'static str>) -> Vec<&'static str> {
    let seconds = |name: &str| listed().scenarios.get(name).map(|entry| entry.core_seconds);
    within(names, QUICK_SECONDS, seconds)
}

fn within(names: Vec<&'static str>, most: f64, seconds: impl Fn(&str) -> Option<f64>) -> Vec<&'static str> {
    let mut priced: Vec<(f64, &str)> =
        names.iter().filter_map(|name| Some((seconds(name)?, *name))).collect();
    priced.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut sum = 0.0;
    let taken: Vec<&str> = priced
        .into_iter()
        .take_while(|(seconds, _)| {
            sum += seconds;
            sum <= most
        })
        .map(|(_, name)| name)
        .collect();
    names.into_iter().filter(|name| taken.contains(name)).collect()
}

/// Checks what a whole scenario gave: the claims are those of the list, and the figures of its paper exist. A
/// scenario that is not in the list may claim anything.
///
/// # Errors
/// When they differ, which is an error of towtank.
pub(super) fn hold(name: &str, claims: &[Claim], figures: &[Figure]) -> Result<(), Trouble> {
    let Some(entry) = listed().scenarios.get(name) else { return Ok(()) };
    let fault = difference(&entry.claims, claims).or_else(|| {
        let mut drawn = papers::figures_of(name);
        let missing = drawn.find(|id| figures.iter().all(|figure| figure.id != *id))?;
        Some(format!("there is no figure `{missing}`, which the page of all claims shows"))
    });
    let Some(fault) = fault else { return Ok(()) };
    let message = format!("the results of `{name}` are not those that were announced: {fault}");
    let hint = "this is an error in towtank and not in your input; `cargo run --release -p towtank --example published -- \
                scenarios/papers/published.json` writes the list anew";
    Err(Trouble::Failed(Problem::new(message).hint(hint)))
}

/// How claims differ from the announced ones.
fn difference(announced: &[Named], claims: &[Claim]) -> Option<String> {
    for want in announced {
        match claims.iter().find(|claim| claim.name == want.name) {
            None => return Some(format!("the claim `{}` is missing", want.name)),
            Some(found) if found.source != want.source || found.statement != want.statement => {
                return Some(format!("the claim `{}` has another source or statement", want.name));
            }
            Some(_) => {}
        }
    }
    let more = claims.iter().find(|claim| announced.iter().all(|want| want.name != claim.name))?;
    Some(format!("the claim `{}` was not announced", more.name))
}

#[cfg(test)]
mod tests;
