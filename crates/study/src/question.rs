//! A study in terms of types: the scenario, the checked point, the results of a replicate, and what is kept
//! of them.
//!
//! Each implementation of [`Question`] is a [`Study`], the trait that the rest of the program uses. The work
//! that all studies share is done here: the resolved scenario, measures under their names, series, and
//! reading all of it back.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use towtank_kernel::Model;
use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};
use towtank_units::Bytes;

use crate::measures::{self, Measure};
use crate::points::{Point, Points};
use crate::study::{Search, Subcommand};
use crate::{Flag, MeasureSpec, Ordered, PointResult, Prepared, Presentation, RunContext, Study, StudyError};

/// One question, with the types of its scenario and its answer.
pub trait Question: Sized + Sync + 'static {
    /// As [`Study::name`].
    const NAME: &'static str;
    /// As [`Study::title`].
    const TITLE: &'static str;
    /// As [`Study::about`].
    const ABOUT: &'static str;
    /// As [`Study::results_version`].
    const RESULTS_VERSION: u32;
    /// As [`Study::examples`].
    const EXAMPLES: &'static [&'static str] = &[];
    /// As [`Study::flags`].
    const FLAGS: &'static [Flag];
    /// As [`Study::elsewhere`].
    const ELSEWHERE: &'static [&'static str] = &[];

    /// Flags whose order counts.
    const ORDERED: Option<Ordered> = None;
    /// As [`Study::lists_commands`].
    const LISTS_COMMANDS: bool = false;
    /// As [`Study::memory_keys`].
    const MEMORY_KEYS: &'static [&'static str] = &[];
    /// As [`Study::published`].
    const PUBLISHED: &'static [&'static str] = &[];
    /// As [`Study::subcommands`].
    const SUBCOMMANDS: &'static [Subcommand] = &[];

    /// As [`Study::search`].
    const SEARCH: Option<&'static Search> = None;

    /// The keys of a scenario; those with defaults are optional. Their descriptions become help and schema.
    type Scenario: DeserializeOwned + JsonSchema;
    /// The scenario with all defaults filled in: the resolved scenario, whose JSON reads back to an equal
    /// one.
    type Settled: Serialize + DeserializeOwned;
    /// A checked point: the settled scenario, and what a run needs of the results of its check.
    type Ready: Send + Sync + 'static;
    /// The results of one replicate. Measures are computed from it.
    type Seen;
    /// The part of the results that the presentation needs. Each field becomes a series of the outcome.
    type Kept: Serialize + DeserializeOwned;

    /// Checks one point. A point that passes must not fail later for a reason that lies in the scenario.
    ///
    /// # Errors
    /// Every problem, each with its place in `draft`.
    fn check(scenario: Self::Scenario, draft: &Draft) -> Result<Self::Ready, Problems>;

    /// The scenario of a checked point.
    fn settled(ready: &Self::Ready) -> &Self::Settled;

    /// As [`Prepared::resolved`]. Overridden only where some keys of the settled scenario have no meaning.
    fn resolved(ready: &Self::Ready) -> serde_json::Value {
        serde_json::to_value(Self::settled(ready)).expect("a scenario came out of text and goes back into it")
    }

    /// As [`Prepared::memory_estimate`].
    fn memory(_ready: &Self::Ready) -> Option<Bytes> {
        None
    }

    /// Every measure that gates may name, in the order of the report.
    fn measures() -> Vec<Measure<Self::Seen>>;

    /// The measures of one point, where the scenario determines which there are.
    fn measures_of(_settled: &Self::Settled) -> Vec<Measure<Self::Seen>> {
        Self::measures()
    }

    /// As [`Study::lacks`].
    fn lacks(_settled: &Self::Settled, _measure: &str) -> Option<&'static str> {
        None
    }

    /// Runs one replicate, as [`Prepared::run`].
    ///
    /// # Errors
    /// [`StudyError`]: what went wrong in the model, and what to do about it.
    fn run(ready: &Self::Ready, context: &RunContext<'_>) -> Result<Replicate<Self::Seen>, StudyError>;

    /// The part of a replicate's results that is kept.
    fn keep(seen: Self::Seen) -> Self::Kept;

    /// Tables, figures, claims and warnings over all points.
    fn present(points: &Points<'_, Self>) -> Presentation;
}

/// Adds a run to the outcome: its events, its digest after those of earlier runs, and whether it is partial.
pub fn add_run<M: Model>(beside: &mut Outcome, run: &towtank_kernel::Outcome<M>) {
    beside.events += run.run.committed;
    beside.partial |= run.partial;
    let digest = run.digest.to_string();
    beside.digest = Some(match beside.digest.take() {
        Some(before) => format!("{before} {digest}"),
        None => digest,
    });
}

/// The results of one replicate.
pub struct Replicate<S> {
    /// The results of the replicate; or why there are none, which is then the reason of every measure.
    pub seen: Result<S, &'static str>,
    /// The rest of the outcome, which is neither measure nor series: digest, events, whether it was stopped,
    /// warnings.
    pub beside: Outcome,
}

impl<Q: Question> Study for Q {
    fn name(&self) -> &'static str {
        Q::NAME
    }

    fn title(&self) -> &'static str {
        Q::TITLE
    }

    fn about(&self) -> &'static str {
        Q::ABOUT
    }

    fn results_version(&self) -> u32 {
        Q::RESULTS_VERSION
    }

    fn examples(&self) -> &'static [&'static str] {
        Q::EXAMPLES
    }

    fn flags(&self) -> &'static [Flag] {
        Q::FLAGS
    }

    fn elsewhere(&self) -> &'static [&'static str] {
        Q::ELSEWHERE
    }

    fn ordered(&self) -> Option<Ordered> {
        Q::ORDERED
    }

    fn lists_commands(&self) -> bool {
        Q::LISTS_COMMANDS
    }

    fn schema(&self) -> schemars::Schema {
        schemars::schema_for!(Q::Scenario)
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        measures::specs_of::<Q>()
    }

    fn measures_of(&self, scenario: &serde_json::Value) -> Vec<MeasureSpec> {
        match <Q::Settled as Deserialize>::deserialize(scenario) {
            Ok(settled) => measures::specs(Q::measures_of(&settled)),
            Err(_) => self.measures().to_vec(),
        }
    }

    fn lacks(&self, scenario: &serde_json::Value, measure: &str) -> Option<String> {
        let settled = <Q::Settled as Deserialize>::deserialize(scenario).ok()?;
        Q::lacks(&settled, measure).map(str::to_owned)
    }

    fn memory_keys(&self) -> &'static [&'static str] {
        Q::MEMORY_KEYS
    }

    fn published(&self) -> &'static [&'static str] {
        Q::PUBLISHED
    }

    fn subcommands(&self) -> &'static [Subcommand] {
        Q::SUBCOMMANDS
    }

    fn search(&self) -> Option<&'static Search> {
        Q::SEARCH
    }

    fn check(&self, draft: &Draft) -> Result<Box<dyn Prepared>, Problems> {
        prepared::<Q>(draft.read()?, draft)
    }

    fn present(&self, points: &[PointResult<'_>]) -> Presentation {
        Q::present(&Points::of(points))
    }

    fn unreadable(&self, points: &[PointResult<'_>]) -> Option<String> {
        points.iter().find_map(Point::<'_, Q>::unreadable)
    }
}

/// Checks a scenario that has been read from this draft.
///
/// # Errors
/// Every problem, each with its place in `draft`.
pub fn prepared<Q: Question>(scenario: Q::Scenario, draft: &Draft) -> Result<Box<dyn Prepared>, Problems> {
    Ok(Box::new(Checked::<Q>(Q::check(scenario, draft)?)))
}

/// A checked point of a question.
struct Checked<Q: Question>(Q::Ready);

impl<Q: Question> Prepared for Checked<Q> {
    fn resolved(&self) -> serde_json::Value {
        Q::resolved(&self.0)
    }

    fn memory_estimate(&self) -> Option<Bytes> {
        Q::memory(&self.0)
    }

    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, StudyError> {
        outcome::<Q>(Q::run(&self.0, context)?, &Q::measures_of(Q::settled(&self.0)))
    }
}

/// The outcome of a replicate: its measures under their names, and its kept results as series.
///
/// # Errors
/// When two measures have the same name.
pub fn outcome<Q: Question>(
    replicate: Replicate<Q::Seen>,
    measures: &[Measure<Q::Seen>],
) -> Result<Outcome, StudyError> {
    let Replicate { seen, beside: mut outcome } = replicate;
    measures::record(&mut outcome, measures, seen.as_ref().map_err(|reason| *reason))?;
    if let Ok(seen) = seen {
        let kept = serde_json::to_value(Q::keep(seen)).expect("counts and names go into JSON");
        let serde_json::Value::Object(kept) = kept else { unreachable!("what is kept has fields") };
        outcome.series.extend(kept);
    }
    Ok(outcome)
}
