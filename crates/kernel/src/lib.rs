//! A parallel discrete-event kernel: one model, four executors, one result.
//!
//! A model ([`Model`]) is entities that handle events. [`run`] executes it, and whatever [`Executor`] is chosen, and however
//! many workers, the result is the same: the order of events is that of their keys ([`EventKey`]), never that of arrival;
//! draws are a function of who draws and when; statistics count only what commits. The [`Digest`] of a run is the proof.
//!
//! What is deliberately absent: storage words, clocks, files, ambient randomness, and floats in the order of events.

mod check;
mod conservative;
mod context;
mod crew;
mod digest;
mod error;
mod key;
mod links;
mod member;
mod model;
mod optimistic;
mod options;
mod outcome;
mod partition;
pub mod pending;
pub mod phold;
mod plain;
mod prefetch;
pub mod prelude;
mod reach;
mod run;
mod sequential;
mod slot;
mod threads;
mod timers;
mod transport;
mod worker;

pub use context::Context;
pub use crew::Crew;
pub use digest::{Digest, Folder};
pub use error::{Fault, Place, RunError};
pub use key::{EntityId, EventKey, Keyed, Scheduled};
pub use links::Links;
pub use member::Member;
pub use model::{Model, Statistics, UndoBy};
pub use options::{Executor, Progress, RunOptions};
pub use outcome::{Committed, Ended, Notice, Outcome, RunStatistics, Written};
pub use run::{Prepared, prepare, run};
pub use timers::TimerId;
/// Containers that journal their changes, for a hand-written undo.
pub use towtank_journal as journal;
pub use towtank_journal::journaled;
pub use transport::{Packet, Portable, Step, Transport};

/// The pending-event set the executors use.
pub(crate) type Queue<R> = pending::Pending<R>;
