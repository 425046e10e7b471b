//! Replicas of placement groups on modelled devices: an outage, and what brings them up to date.
//!
//! The protocol is `towtank_replication`, the one that a store runs. Here its messages queue at modelled
//! cards, its work at modelled disks, and its rests pass in simulated time.
//!
//! - [`Spec`]: the cluster, what changed, and what single steps cost;
//! - [`layout`](Layouts): where the objects of a group lie in its order, without keeping objects;
//! - [`objects`](Overlay): what a replica holds: what never changed is computed, and what did is kept;
//! - [`outage`](Outage): the changes while devices were away, done by the protocol itself and taking no time;
//! - [`model`](Backfill): devices, messages and work, on the kernel;
//! - [`Counts`]: what is counted.
//!
//! In an erasure-coded pool ([`Spec::data_shards`]) a replica is a position: it holds a shard of each object,
//! and a tree of its own. An object has one version for all its shards, so that the trees of positions that
//! are up to date are equal, and the primary's own tree says what it expects of any other position.
//!
//! What is deliberately absent: scenarios and reports, the work of coding and decoding, and what monitors do
//! beside telling maps.

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
