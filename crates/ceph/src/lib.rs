//! A Ceph cluster as described by its exports: the CRUSH map, devices and overrides of the map, pools with
//! their groups, and the usage of devices.
//!
//! - `join`: joins exports; mismatches give warnings or errors; `doubts`: values that contradict each other;
//!   `states`: what they say of the states of groups, and where that is more than they place;
//! - `cluster`: the state; `tree`: what the map's buckets say about it; `fill`: fill levels of devices;
//!   `usage`: their usage where no export states it;
//! - `laid_out`: where groups belong; `gains`: which devices gain a copy when a group moves; `split`: the
//!   groups of a pool after a change of their number;
//! - [`balance`]: how evenly devices are filled, and which explicit mappings would make it more even;
//! - `edit`: operators' changes to map and devices; `rule`: the rules that a pool may have; `upmaps`:
//!   explicit mappings that the monitors then drop.
//!
//! Placement follows Ceph 16.2.15. Left out on purpose: opening files and naming them (typed imports are
//! arguments), keys of scenarios, speeds of machines, and time.

pub mod balance;
mod cluster;
mod doubts;
mod edit;
mod fill;
mod gains;
mod join;
mod laid_out;
mod rule;
mod split;
mod states;
mod tree;
mod underway;
pub mod upmaps;
mod usage;

pub use cluster::{Cluster, Group, PoolState, Stated};
pub use edit::NewHost;
pub use fill::{FillLevel, FillLimits};
pub use gains::{Gains, differs};
pub use join::{Export, Exports, GROUPS_MAX, JoinError, Joined, Named, join};
pub use laid_out::LaidOut;
pub use rule::{RuleError, rule_for, rule_name};
pub use split::{parts, parts_of};
pub use states::{GroupStates, MarkedFull};
pub use tree::{device_list, item_name, parents};
