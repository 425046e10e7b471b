//! A parallel file system: clients, metadata servers, striped files, a scheduler in front of each data
//! server, page caches, disks and the network between them, on the kernel.
//!
//! - [`Spec`]: the configuration and the cost of each step; [`Work`]: what clients do; [`Replay`]: recorded
//!   work;
//! - `layout`: the placement of the bytes of a file;
//! - `nodes`, `event`, `card`, `disk`: the states of nodes, their events, the network messages, and the
//!   disks;
//! - `model`: how nodes react to events, and the invariants of all nodes; [`Counts`]: the counters.
//!
//! The rules are those of PFSsim as described in its paper, and those of its source where the paper is
//! silent. Deviations: data crosses the network in both directions, small writes end, a run ends when all
//! flows are through and not the first, a server serves any number of parts, clean pages that are written
//! again count as dirty, a read takes the time of all its pages, and read-ahead resumes for a reader after a
//! jump.
//!
//! Left out: scenarios, reports, names of measures.

mod card;
mod client_cache;
mod counts;
mod disk;
mod event;
mod gate;
mod layout;
mod model;
mod nodes;
mod replay;
mod rules;
mod spec;
mod wish;
mod work;

pub use card::{Card, Inward};
pub use client_cache::{ClientCache, Held, Lookup, Run};
pub use counts::{Counts, Done, Doublings, INTERVALS_MAX, Sample};
pub use disk::{Disk, Io, Owner};
pub use event::{Event, Job, Message, Served};
pub use gate::{Gate, Window};
pub use layout::{Component, Part, Stripe, Striping};
pub use model::Pfs;
pub use nodes::{
    CachedFlow, Caching, Client, Entity, Flow, Flush, Holders, Mark, Metadata, Router, Running, Server, Waits,
};
pub use replay::{END_MAX, Loop, RECORD_MAX_BYTES, Record, Replay};
pub use rules::{RuleCommand, Ruled, TimedRule};
pub use spec::{
    Cache, Client as ClientSpec, ClientCache as ClientCacheSpec, DiskSpec, Metadata as MetadataSpec,
    MetadataBy, Network, PAGE, Parda, Reads, Routers, Scheduler, Server as ServerSpec, Spec, Stands,
};
pub use work::{Application, Operation, Order, Pace, Phase, Rank, Sharing, Syncs, Wish, Work};

/// The scheduler in front of a server; it queues slot numbers.
pub type Queue = towtank_iosched::Scheduler<u32>;
