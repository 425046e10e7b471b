//! All that a model needs, in one line: `use towtank_kernel::prelude::*;`.
//!
//! What a model implements and is given; random draws and distributions; times and spans; containers for a
//! hand-written undo; and what it takes to run the model and to read its outcome. Who drives workers over a
//! transport names the rest by path.

pub use towtank_streams::distributions;
pub use towtank_streams::{Purpose, Seed, Uniform};
pub use towtank_units::{SimSpan, SimTime};

pub use crate::journal::{JournalCell, JournalMap, JournalVec, Journaled};
pub use crate::{
    Committed, Context, Digest, EntityId, EventKey, Executor, Fault, Links, Model, Outcome, RunError,
    RunOptions, Statistics, TimerId, UndoBy, journaled, run,
};
