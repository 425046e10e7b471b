//! What the tests of several crates share: generated models and seeded transports.
//!
//! [`RandomModel`] makes a model from a seed, with everything a model may do: delays including zero, fan-out,
//! timers set and cancelled, statistics, outputs, entities that do not speculate, faults. [`Shuffle`] drives
//! the workers of a parallel run on one thread, in a seeded order, through a transport that serialises,
//! delays and reorders. What fails prints one line that replays it. [`travels`] puts any model through that,
//! and [`differences`] says what two outcomes do not have in common.
//!
//! [`Finished`] is what a run has left, to be damaged: an audit that does not notice is no audit.

mod differences;
mod finished;
mod random_model;
mod shuffle;
mod travel;

pub use differences::differences;
pub use finished::Finished;
pub use random_model::{Fatal, Flaw, RandomEntity, RandomEvent, RandomModel, Tally};
pub use shuffle::{MemberEnd, Shuffle};
pub use travel::travels;
