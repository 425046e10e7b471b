//! Replicas of placement groups on modelled devices: an outage, and the recovery and backfill after it.
//!
//! The protocol is `towtank_replication`, the same code that the store runs. Here its messages queue at
//! modelled NICs, its work at modelled disks, and its pauses pass in simulated time.
//!
//! - [`Spec`]: the cluster, the changes during the outage, and the costs of single steps;
//! - [`layout`](Layouts): the places of a group's objects in its order, without keeping objects;
//! - [`objects`](Overlay): a replica's objects: unchanged ones are computed, changed ones are kept;
//! - [`outage`](Outage): the changes while devices were away, made by the protocol itself in no time;
//! - [`model`](Backfill): devices, messages and work, on the kernel;
//! - [`Counts`]: the statistics of a run.
//!
//! In an erasure-coded pool ([`Spec::data_shards`]) a replica is a position: it holds a shard of each object
//! and its own tree. An object has one version for all its shards, so the trees of all positions that are up
//! to date are equal, and the primary compares its own tree with that of any other position.
//!
//! What is deliberately absent: scenarios and reports, the work of encoding and decoding, and everything that
//! monitors do besides issuing maps.

mod counts;
mod device;
mod event;
mod layout;
mod model;
mod objects;
mod outage;
mod spec;

pub use counts::{Counts, Filled, Sample};
pub use device::Device;
pub use event::{Event, What};
pub use layout::Layouts;
pub use model::{Backfill, Entity};
pub use objects::{Overlay, View};
pub use outage::{AWAY, BACK, Outage};
pub use spec::{Changes, Costs, Spec, Writes, replicas_min};
pub use towtank_replication::{Discovery, Tally};
