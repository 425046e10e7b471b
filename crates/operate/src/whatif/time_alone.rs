//! How long a change takes, for another study: as `whatif` answers it, without the trials of what would help.

use serde::{Deserialize, Serialize};
use towtank_scenario::{Document, Problems};

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

/// The time of a scenario of `whatif`, or why it is not known.
///
/// # Errors
/// When the model fails.
pub(crate) fn time(document: Document, context: &RunContext<'_>) -> Result<Result<Time, String>, StudyError> {
    let ready = match ready(document) {
        Ok(ready) => ready,
        Err(problems) => {
            let first = problems.iter().next().map(|problem| problem.message().to_owned());
            return Ok(Err(first.unwrap_or_default()));
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

fn ready(document: Document) -> Result<Ready, Problems> {
    let outline = document.outline()?;
    let draft = outline.points()[0].draft();
    Ready::check(draft.read::<Scenario>()?, draft)
}
