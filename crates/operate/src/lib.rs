//! Studies of real clusters of Ceph, from their exports: what a change moves, how long it takes and what is
//! at risk, and how to balance a cluster.
//!
//! - `exports`: the keys that name exports, read and joined; `features`: what of them is not modelled;
//!   `flags`: flags of the cluster, now and as planned;
//! - `names`: what to write in place of a name that is not known;
//! - `asked`: changes, in the order in which they are made; `changes`: a map with them made;
//! - `real`: machines and groups from exports, and what a recovery of them takes; `states`: what the states
//!   of groups tell;
//! - `preview`, `whatif`, `balance`, `eta`, `durability`: the studies.
//!
//! What is deliberately absent: printing, flags, files, threads and clocks; a cluster is never contacted.

mod asked;
pub mod balance;
mod changes;
pub mod durability;
pub mod eta;
mod exports;
mod features;
mod flags;
pub mod learned;
pub mod learning;
mod names;
pub mod preview;
mod real;
mod release;
#[cfg(test)]
mod retrying;
mod states;
mod targets;
mod titles;
pub mod whatif;

use towtank_study::Study;

/// The studies of real clusters.
#[must_use]
pub fn all() -> &'static [&'static dyn Study] {
    &[&preview::Preview, &whatif::WhatifStudy, &eta::Eta, &durability::Durability, &balance::Balance]
}
