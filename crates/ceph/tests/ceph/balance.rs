//! Balance on clusters that are worked out by hand, and the laws of any answer on drawn clusters.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod by_hand;
mod clusters;
mod laws;
mod nested;
