//! Studies of generated systems: one module per question, from a scenario to an outcome.
//!
//! `towtank_study` says what a study is; `docs/writing-a-study.md` shows how to write one, with [`queue`] as
//! the example. No study here uses another.
//!
//! What is deliberately absent: printing, flags, files, threads and clocks.

pub mod backfill;
pub mod capacity_sim;
pub mod pfs;
pub mod place;
mod published;
pub mod put;
pub mod queue;
pub mod rebuild;
#[cfg(test)]
mod shipped;
mod simulating;
#[cfg(test)]
mod travel;

use towtank_study::Study;

/// The studies of generated systems.
#[must_use]
pub fn all() -> &'static [&'static dyn Study] {
    &[
        &queue::Queue,
        &place::Place,
        &rebuild::Rebuild,
        &backfill::Backfill,
        &pfs::Pfs,
        &put::Put,
        &capacity_sim::CapacitySim,
    ]
}
