//! A recovery that happened, from what is kept of it.
//!
//! 1. [`join`] puts the records of several files together, in the order of time, each sample with the file
//!    that says it. Files of different clusters, or with clocks that cannot be compared, are refused.
//! 2. [`disagreements`] says where two files say different things of one time, beyond what the delays of
//!    their sources explain.
//! 3. [`happened`] says what happened: when something was missing, until when, and what became of which
//!    device.
//!
//! 4. [`levels`] says when so much was left, as the source saw it that looks most often, and [`fit`] finds
//!    constants of a model that explain it; the model is an argument.
//!
//! [`Script`] prints the shell lines that keep all this of the next recovery.
//!
//! Nothing is averaged: what each file says is kept, because they lag behind by different times, and because
//! a model that is fitted to them has to know. Times are those of the files; of a change that two samples
//! enclose, both are given.
//!
//! Left out on purpose: opening files, and the model that explains what happened.

mod agree;
mod clock;
mod event;
pub mod fit;
mod join;
mod levels;
mod rebuilt;
mod script;

pub use agree::disagreements;
pub use clock::shown;
pub use event::{Change, Event, Span, happened};
pub use join::{Past, PastError, Source, join};
pub use levels::{LEVELS, Levels, LevelsError, levels};
pub use rebuilt::Counters;
pub use script::{ClusterSize, Script};
