//! Servers with one disk each, read and written by clients in a mix of sizes, on the kernel.
//!
//! [`cluster`] is the model; [`admission`] decides which arrivals of an open load are admitted.
//!
//! Left out on purpose: scenarios, reports and names of measures.

pub mod admission;
pub mod cluster;
