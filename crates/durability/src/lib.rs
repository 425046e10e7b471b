//! The probability that a storage system loses data.
//!
//! 1. [`rates`] says how often devices fail: AFR, FIT, MTTF, laws of age, rates from counts with an interval.
//! 2. [`exact`] has chains with memoryless failures and repairs in closed form, to any small probability.
//! 3. [`burst`] has P(loss | so many fail at once): exactly for regular layouts and copysets, and exactly or
//!    with an interval for an explicit list of groups.
//!
//! 4. [`fleet`] is a system: devices with laws of failure in a tree of domains, and groups of them;
//!    [`repair`] says which repair proceeds how fast; [`simulate`] finds the probability of loss by three
//!    methods.
//!
//! Times are in hours and rates per hour, as numbers. A probability is carried as it is, never as 1 - p, so
//! that one below 1e-16 keeps its value.
//!
//! Left out on purpose: files, printing, keys of scenarios, clocks, and randomness without a key.

pub mod burst;
mod error;
pub mod exact;
pub mod fleet;
mod group;
pub mod rates;
pub mod repair;
pub mod simulate;
mod state;
mod sums;

pub use error::DurabilityError;
pub use group::Group;
pub use sums::Bounds;
