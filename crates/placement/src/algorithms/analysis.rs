//! What placements do to a population of keys: how even they are, who shares data with whom, what a change
//! moves.
//!
//! Everything here is a pure function of a placement and an iterator of keys, in memory that grows with the
//! servers and not with the keys.

pub mod balance;
pub mod declustering;
pub mod movement;

pub use balance::Balance;
pub use declustering::{Peers, Rebuild};
pub use movement::Movement;
