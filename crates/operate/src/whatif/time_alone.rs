//! How long a change takes, for another study: as `whatif` answers it, without the trials of what would help.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use towtank_ceph::Joined;
use towtank_report::human;
use towtank_scenario::{Document, Files, Input, Problems, Source};

use super::case::Ready;
use super::observed::{self, Trials};
use super::scenario::Scenario;
use towtank_study::{RunContext, StudyError};

/// The time until all groups are clean, and its range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Time {
    pub clean_s: f64,
    pub range_s: [f64; 2],
}

impl Time {
    /// The range in words; none where both ends read the same.
    pub(crate) fn range(&self) -> Option<String> {
        interval(self.clean_s, self.range_s)
    }
}

/// A range in words; none where both ends read the same.
pub(crate) fn interval(time: f64, [low, high]: [f64; 2]) -> Option<String> {
    let shown = human::Shown::fitting(time, "s");
    let differ = shown.digits(low) != shown.digits(high);
    let fits = shown.fits(low) && shown.fits(high);
    differ.then(|| if fits { shown.range(low, high) } else { human::range(low, high, "s") })
}

/// The files that a study has read already.
#[derive(Debug)]
pub(crate) struct Loaded(pub(crate) Vec<Input>);

impl Files for Loaded {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let found = self.0.iter().find(|input| input.path == path);
        found.map(|input| input.bytes.to_vec()).ok_or_else(|| "it was not read before".to_owned())
    }
}

/// The time of a scenario of `whatif` with these files, or why it is not known.
///
/// # Errors
/// When the model fails.
pub(crate) fn time(
    scenario: String,
    files: Arc<dyn Files>,
    context: &RunContext<'_>,
) -> Result<Result<Time, String>, StudyError> {
    let ready = match ready(scenario, files) {
        Ok(ready) => ready,
        Err(problems) => {
            let first = problems.iter().next().map(|problem| refusal(problem.message()));
            return Ok(Err(first.unwrap_or_else(|| "`towtank whatif` refuses the exports".to_owned())));
        }
    };
    let seen = match observed::with(&ready, Trials::LeftOut, context)?.seen {
        Ok(seen) => seen,
        Err(reason) => return Ok(Err(reason.to_owned())),
    };
    Ok(seen
        .clean()
        .and_then(|clean_s| Ok(Time { clean_s, range_s: [seen.clean_range(0)?, seen.clean_range(1)?] })))
}

/// The seconds from the first object to the last of a scenario of `whatif`, and their range.
#[cfg(test)]
pub(crate) fn moving(
    scenario: String,
    files: Arc<dyn Files>,
    context: &RunContext<'_>,
) -> Result<[f64; 3], Problems> {
    let ready = ready(scenario, files)?;
    let seen = observed::with(&ready, Trials::LeftOut, context).expect("the model runs").seen;
    let seen = seen.expect("nobody stops it");
    let clean = seen.clean().expect("all moves");
    let time = seen.recovered.moving.as_secs_f64();
    let end = |which: usize| seen.clean_range(which).expect("all moves") - (clean - time);
    Ok([time, end(0), end(1)])
}

/// A refusal without the text of a change that the user did not write.
fn refusal(message: &str) -> String {
    let of_change = message.starts_with("`changes` ");
    match message.split_once("\": ").filter(|_| of_change) {
        Some((_, why)) => format!("`towtank whatif` refuses a change of the plan: {why}"),
        None if of_change => "`towtank whatif` refuses a change of the plan".to_owned(),
        None => message.to_owned(),
    }
}

pub(super) fn ready(scenario: String, files: Arc<dyn Files>) -> Result<Ready, Problems> {
    ready_as(scenario, files, |_| {})
}

/// The same of a cluster that is changed after its exports are read.
pub(super) fn ready_as(
    scenario: String,
    files: Arc<dyn Files>,
    change: impl FnOnce(&mut Joined),
) -> Result<Ready, Problems> {
    let document = Document::parse(&Source::file("whatif", scenario))?.with_files(files);
    let outline = document.outline()?;
    let draft = outline.points()[0].draft();
    Ready::check_as(draft.read::<Scenario>()?, draft, change)
}
