//! Which data failures affect, and how lost copies are rebuilt.
//!
//! Read in this order:
//!
//! - [`hardware`]: disks in servers in racks, and their speeds; [`redundancy`], [`placing`]: how objects are
//!   laid out on them;
//! - [`failures`]: what stops, and when; [`flags`]: what flags of the cluster keep from happening;
//! - [`search`]: which objects or groups the failures touch ([`affected`]), and where these belong afterwards
//!   ([`homes`]: by a CRUSH map in [`map_places`], by servers in [`server_places`], by a ring of Swift in
//!   [`ring_places`], by the disks of arrays in [`arrays`], drawn in [`shares`]);
//! - [`ledger`]: their state while devices fail and rebuilds finish, and the [`plan`] that follows from it;
//! - [`model`]: transfers over disks, NICs and uplinks, on the kernel;
//! - [`recovery`]: all phases, from the first failure to the last durable write; [`targets`]: where copies
//!   were rebuilt;
//! - [`bound`]: lower limits on the duration, for this placement and for an even one;
//! - [`thinned`]: a recovery with fewer objects, to estimate one that takes long to simulate.
//!
//! Left out on purpose: scenarios and reports. The caller fills in the tables and passes a
//! [`Simulator`](towtank_kernel::Simulator) that runs the model.

pub mod affected;
pub mod arrays;
pub mod bound;
pub mod failures;
pub mod flags;
pub mod hardware;
pub mod homes;
mod in_all;
pub mod ledger;
pub mod map_places;
pub mod model;
pub mod placing;
pub mod plan;
pub mod recovery;
pub mod redundancy;
pub mod ring_places;
#[cfg(test)]
mod sample;
pub mod search;
pub mod server_places;
pub mod shares;
pub mod targets;
pub mod thinned;
