//! Studies: one module per question, from a scenario to an outcome.
//!
//! A study is a type that implements [`Study`]. [`all`] lists those that come with Towtank; others may be
//! added, since only the default registry reads that list. Everything else about a study (its command, its
//! flags, its schema, its place in `towtank list`) is derived from its registration.
//! `docs/writing-a-study.md` shows how, with [`queue`] as the example.
//!
//! What is deliberately absent: printing, flags, files, threads and clocks.

pub mod backfill;
pub mod balance;
pub mod capacity_sim;
mod checked;
mod context;
mod exports;
mod measures;
pub mod pfs;
pub mod place;
mod points;
pub mod preview;
pub mod published;
pub mod put;
mod question;
pub mod queue;
mod ranking;
pub mod rebuild;
#[cfg(test)]
mod shipped;
mod study;
#[cfg(test)]
mod travel;
pub mod whatif;

pub use checked::{CheckedPoint, CheckedScenario, check, study_of};
pub use context::{Progress, RunContext, StopAsked, StudyError};
pub use measures::{Measure, Value};
pub use points::{Point, Points};
pub use question::{Question, Replicate};
pub use study::{
    Answer, Flag, Found, Given, MeasureSpec, Ordered, PointResult, Prepared, Presentation, Search, Study,
    Subcommand, SubcommandFlag, Summary, TrialError, Trials,
};

/// The studies that come with Towtank, in the order of `towtank list`.
#[must_use]
pub fn all() -> &'static [&'static dyn Study] {
    &[
        &queue::Queue,
        &place::Place,
        &preview::Preview,
        &rebuild::Rebuild,
        &whatif::Whatif,
        &balance::Balance,
        &backfill::Backfill,
        &pfs::Pfs,
        &put::Put,
        &capacity_sim::CapacitySim,
    ]
}

/// The study with this name, if it is in the list.
#[must_use]
pub fn named(studies: &[&'static dyn Study], name: &str) -> Option<&'static dyn Study> {
    studies.iter().copied().find(|study| study.name() == name)
}
