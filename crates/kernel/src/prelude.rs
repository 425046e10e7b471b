//! Everything that a model needs, in one line: `use towtank_kernel::prelude::*;`.
//!
//! The traits and types that a model implements and receives; random draws and distributions; times and
//! spans; containers for a hand-written undo; and what is needed to run the model and read its outcome.
//! Drivers of workers over a transport import the rest by path.

pub use towtank_streams::distributions;
pub use towtank_streams::{Purpose, Seed, Uniform};
pub use towtank_units::{SimSpan, SimTime};

pub use crate::journal::{JournalCell, JournalMap, JournalVec, Journaled};
pub use crate::{
    Committed, Context, Digest, EntityId, EventKey, Executor, Fault, Links, Model, Outcome, RunError,
    RunOptions, Statistics, TimerId, UndoBy, journaled, run,
};
