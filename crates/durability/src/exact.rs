//! Chains with memoryless failures and repairs, exactly: the probability of loss within a mission time, and
//! the mean time to it. Beside them stand leading-order forms for repairs of a constant time, and formulas of
//! peers, which are here for comparison only.
//!
//! All arithmetic adds, multiplies and divides numbers that are not negative, so a probability of 1e-30 has
//! the relative precision of one of 0.1.

mod chain;
pub mod peers;
mod windows;

pub use chain::{Chain, KOfN, RepairLaw};
pub use windows::{Windows, leading_order};
