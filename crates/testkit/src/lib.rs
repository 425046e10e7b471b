//! Shared test tools of several crates: generated models and seeded transports.
//!
//! [`RandomModel`] makes a model from a seed, with everything that a model may do: delays including zero,
//! fan-out, timers set and cancelled, statistics, outputs, entities that do not speculate, faults.
//! [`Shuffle`] drives the workers of a parallel run on one thread, in a seeded order, through a transport
//! that serialises, delays and reorders. A failure prints one line that replays it. [`travels`] runs any
//! model that way, and [`differences`] lists the differences between two outcomes.
//!
//! [`Finished`] is the final state of a run, to be damaged: it checks that the audit notices.
//! [`draws`] gives a test that chooses many things its numbers.

mod differences;
mod draws;
mod finished;
mod random_model;
mod shuffle;
mod travel;

pub use differences::differences;
pub use draws::draws;
pub use finished::Finished;
pub use random_model::{Fatal, Flaw, RandomEntity, RandomEvent, RandomModel, Tally};
pub use shuffle::{MemberEnd, Shuffle};
pub use travel::travels;
