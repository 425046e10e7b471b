//! Campaigns: many runs of one study, on threads, in files, in parts, and one report of all of them.

mod assembly;
mod compare;
mod crew;
mod differences;
mod disk;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod faults;
mod fingerprint;
mod gates;
mod inputs;
mod ledger;
mod lock;
mod manifest;
mod merge;
mod plan;
mod point_file;
mod run;
#[cfg(test)]
mod scratch;
mod shard;
mod stop;
mod store;
mod writer;

pub use assembly::{Assembled, assemble};
pub use compare::{CompareError, LoadError, Side, compare, load_side};
pub use differences::{Difference, differences};
pub use disk::{Disk, HostDisk};
pub use gates::unmet;
pub use inputs::Inputs;
pub use ledger::{Ledger, PointOutcomes};
pub use merge::{MergeError, Merged, merge};
pub use plan::{CampaignKey, Header, KeyParts, Plan, PlanError, PointKey, PointSpec, TASKS_MAX, Task};
pub use point_file::Unstorable;
pub use run::{End, Failure, Order, Progress, Ran, run};
pub use shard::{Shard, ShardError};
pub use stop::Stop;
pub use store::{Damaged, Store, StoreError, Takeover};
pub use writer::{WriteError, Writer};
