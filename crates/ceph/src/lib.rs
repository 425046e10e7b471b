//! A Ceph cluster as its exports have it: the CRUSH map, devices and what is laid over the map, pools with
//! their groups, and how full devices are.
//!
//! - `join`: exports brought together, with what does not fit told or refused;
//! - `cluster`: the state; `tree`: what of it the map's buckets say; `fill`: when a device is too full;
//! - `laid_out`: where groups belong; `gains`: who gains a copy if a group moves; `split`: what becomes of a
//!   pool that is divided anew;
//! - `edit`: what operators do to map and devices; `upmaps`: which explicit mappings the monitors drop then.
//!
//! Placement follows Ceph 16.2.15. What is deliberately absent: opening files and naming them (typed imports
//! are arguments), keys of scenarios, speeds of machines, and time.

mod cluster;
mod edit;
mod fill;
mod gains;
mod join;
mod laid_out;
mod split;
mod tree;
pub mod upmaps;

pub use cluster::{Cluster, Group, PoolState, Stated};
pub use edit::NewHost;
pub use fill::{FillLevel, FillLimits};
pub use gains::{Gains, differs};
pub use join::{Export, Exports, GROUPS_MAX, JoinError, Joined, Named, join};
pub use laid_out::LaidOut;
pub use split::parts;
pub use tree::{device_list, item_name, parents};
