//! What a study is: one question, from a scenario to an outcome.
//!
//! A study is a type that implements [`Question`], and so [`Study`], the trait that the rest of the program
//! uses. Everything else about it (its command, its flags, its schema, its place in `towtank list`) is
//! derived from its registration. `docs/writing-a-study.md` shows how.
//!
//! - `study`, `question`: the two traits, and the types that they exchange;
//! - `checked`: from the text of a scenario to points that are ready to run;
//! - `context`: what a replicate gets beside its scenario;
//! - `measures`, `points`, `ranking`: rows of measures, points as a study presents them, and which of several
//!   is best;
//! - `sweeps`: figures over a sweep, with a line for each combination of settings;
//! - `texts`, `files`: keys of scenarios, those that take several texts, and those that name files;
//! - `testing`: for tests of studies.
//!
//! What is deliberately absent: any study, printing, flags, files, threads and clocks.

mod checked;
mod context;
pub mod files;
pub mod measures;
pub mod points;
mod question;
pub mod ranking;
mod study;
pub mod sweeps;
pub mod testing;
mod texts;

pub use checked::{CheckedPoint, CheckedScenario, check, study_of};
pub use context::{Progress, RunContext, StopAsked, StudyError};
pub use measures::{Measure, Value};
pub use points::{Point, Points};
pub use question::{Question, Replicate, add_run, outcome, prepared};
pub use study::{
    Flag, Found, Given, MeasureSpec, Ordered, Output, PointResult, Prepared, Presentation, Search, Study,
    Subcommand, SubcommandFlag, Summary, TrialError, Trials, flag,
};
pub use texts::{Texts, keys_of};

/// The study with this name, if it is in the list.
#[must_use]
pub fn named(studies: &[&'static dyn Study], name: &str) -> Option<&'static dyn Study> {
    studies.iter().copied().find(|study| study.name() == name)
}
