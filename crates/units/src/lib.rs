//! Quantities with explicit units: simulated time, sizes and rates.
//!
//! Everything here is an integer underneath, so that sums and comparisons are exact and the same on every
//! machine. No domain words live here.

mod time;

pub use time::{SimSpan, SimTime};
