//! Campaigns: many runs of one study, on threads, in files, in parts, and one report of all of them.

mod crew;
mod disk;
mod fingerprint;
mod plan;
mod shard;
mod stop;

pub use disk::{Disk, HostDisk};
pub use plan::{CampaignKey, Header, KeyParts, PlanError, Plan, PointKey, PointSpec, TASKS_MAX, Task};
pub use shard::{Shard, ShardError};
pub use stop::Stop;
