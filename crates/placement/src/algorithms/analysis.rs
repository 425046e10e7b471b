//! Effects of placements on a set of keys: balance, data shared between servers, and movement after a change.
//!
//! Everything here is a pure function of a placement and an iterator of keys; memory grows with the number of
//! servers, not with the number of keys.

pub mod balance;
pub mod declustering;
pub mod movement;

pub use balance::Balance;
pub use declustering::{Peers, Rebuild};
pub use movement::Movement;
