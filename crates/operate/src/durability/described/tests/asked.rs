//! A description as a user writes it, and its answer.

use std::fmt::Write as _;

use towtank_report::Outcome;
use towtank_scenario::{Document, Problems, Source};
use towtank_streams::Seed;
use towtank_study::{PointResult, Prepared, RunContext, Study};

use crate::durability::Durability;

fn prepared(text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let text = format!("study = \"durability\"\n{text}");
    let document = Document::parse(&Source::file("asked.toml", text))?;
    let outline = document.outline()?;
    Study::check(&Durability, outline.points()[0].draft())
}

/// The outcome and the answer in words.
pub fn answered_with(text: &str, seed: u64) -> (Outcome, String) {
    let prepared = prepared(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    let outcome =
        prepared.run(&RunContext::alone(Seed(seed), 0)).unwrap_or_else(|error| panic!("{text}: {error}"));
    let outcomes = [outcome.clone()];
    let scenario = prepared.resolved();
    let point = PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes };
    let answer = Study::present(&Durability, &[point]).answer;
    (outcome, answer.prose())
}

pub fn answered(text: &str) -> (Outcome, String) {
    answered_with(text, 3)
}

/// A measure.
pub fn value(outcome: &Outcome, measure: &str) -> f64 {
    let found = &outcome.measures[measure];
    found.value().unwrap_or_else(|| panic!("{measure} is missing: {:?}", found.reason()))
}

/// A measure of a description.
pub fn ask(text: &str, measure: &str) -> f64 {
    value(&answered(text).0, measure)
}

/// Why a measure has no value.
pub fn reason(text: &str, measure: &str) -> String {
    let (outcome, _) = answered(text);
    outcome.measures[measure].reason().unwrap_or_else(|| panic!("{text}: {measure} has a value")).to_owned()
}

/// What is said of a description that is refused.
pub fn refused(text: &str) -> String {
    let problems = prepared(text).err().unwrap_or_else(|| panic!("{text} is taken"));
    problems.iter().map(|problem| problem.message().to_owned()).collect::<Vec<_>>().join("; ")
}

/// The resolved scenario as a description again.
pub fn resolved(text: &str) -> String {
    let all = prepared(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}")).resolved();
    let mut lines = String::new();
    for (key, value) in all.as_object().expect("a scenario has keys") {
        writeln!(lines, "{key} = {value}").expect("a text takes text");
    }
    lines
}
