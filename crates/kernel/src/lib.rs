//! A parallel discrete-event kernel: one model, four executors, one result.
//!
//! A model ([`Model`]) consists of entities that handle events. [`run`] executes it with the same result for
//! every [`Executor`] and any number of workers: events are ordered by their keys ([`EventKey`]), never by
//! arrival; draws are a function of the drawing entity and its event; statistics include only committed
//! events. Equal [`Digest`]s prove it.
//!
//! A complete model: eight clerks who pass forms to each other, to random receivers after random delays.
//!
//! ```
//! use towtank_kernel::prelude::*;
//!
//! struct Office;
//!
//! impl Model for Office {
//!     type Entity = u64; // forms seen by a clerk
//!     type Event = (); // a form comes
//!     type Undo = ();
//!     type Statistics = ();
//!     type Output = ();
//!
//!     fn entities(&self) -> u32 {
//!         8
//!     }
//!
//!     fn links(&self) -> Links {
//!         Links::all(SimSpan::from_ms(1))
//!     }
//!
//!     fn create(&self, _clerk: EntityId) -> u64 {
//!         0
//!     }
//!
//!     fn start(&self, _seen: &mut u64, context: &mut Context<'_, Self>) -> Result<(), Fault> {
//!         context.send(context.me(), SimSpan::ZERO, ());
//!         Ok(())
//!     }
//!
//!     fn handle(&self, seen: &mut u64, (): &(), context: &mut Context<'_, Self>) -> Result<(), Fault> {
//!         *seen += 1;
//!         let mut draws = context.draws(Purpose(1));
//!         let (to, wait) = (EntityId(draws.below(8) as u32), SimSpan::from_us(draws.below(5_000)));
//!         context.send(to, SimSpan::from_ms(1).saturating_add(wait), ());
//!         Ok(())
//!     }
//! }
//!
//! let options = RunOptions { end: Some(SimTime::from_ns(1_000_000_000)), ..RunOptions::default() };
//! let alone = run(&Office, options.clone())?;
//! let together = run(&Office, RunOptions { executor: Executor::Optimistic, workers: 2, ..options })?;
//! assert_eq!(alone.digest, together.digest);
//! assert_eq!(alone.entities.iter().sum::<u64>(), alone.run.committed);
//! # Ok::<(), RunError>(())
//! ```
//!
//! `examples/` has three more, best read in this order: `ping`, `barrier` (timers, statistics, an audit) and
//! `undo` (a hand-written undo).
//!
//! Deliberately absent: terms of storage, clocks, files, ambient randomness, and floats in the order of
//! events.

mod check;
mod conservative;
mod context;
mod crew;
mod digest;
mod error;
mod key;
mod links;
mod mailbox;
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
mod simulator;
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
pub use outcome::{Again, Committed, Ended, Notice, Outcome, RunStatistics, Waste, Written};
pub use prefetch::prefetch;
pub use run::{Prepared, prepare, run};
pub use simulator::{Runs, Simulator};
pub use timers::TimerId;
/// Containers that journal their changes, for a hand-written undo.
pub use towtank_journal as journal;
pub use towtank_journal::journaled;
pub use transport::{Packet, Portable, Step, Transport};

/// The pending-event set that the executors use.
pub(crate) type Queue<R> = pending::Pending<R>;
