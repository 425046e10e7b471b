//! What failures touch, and how lost copies are made again.
//!
//! Read in this order:
//!
//! - [`hardware`]: disks in servers in racks, and how fast they are; [`redundancy`], [`placing`]: how objects
//!   lie on them;
//! - [`failures`]: what stops, and when;
//! - [`search`]: which objects, or groups, that touches: [`affected`]; [`homes`] (by a CRUSH map:
//!   [`map_places`], by servers: [`server_places`], drawn: [`shares`]): where they belong then;
//! - [`ledger`]: what becomes of them as things fail and are rebuilt, and the [`plan`] that follows from it;
//! - [`model`]: transfers over disks, cards and uplinks, on the kernel;
//! - [`recovery`]: all phases, from the first failure to the last durable write;
//! - [`bound`]: what no run beats, with this placement and if all were even.
//!
//! What is deliberately absent: scenarios and reports. Who asks fills in the tables and gives a
//! [`Simulator`](towtank_kernel::Simulator) that runs the model.

pub mod affected;
pub mod bound;
pub mod failures;
pub mod hardware;
pub mod homes;
pub mod ledger;
pub mod map_places;
pub mod model;
pub mod placing;
pub mod plan;
pub mod recovery;
pub mod redundancy;
#[cfg(test)]
mod sample;
pub mod search;
pub mod server_places;
pub mod shares;
