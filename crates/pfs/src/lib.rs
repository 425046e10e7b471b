//! A parallel file system: clients, metadata servers, striped files, a scheduler in front of each data
//! server, page caches, disks and the network between them, on the kernel.
//!
//! - [`Spec`]: what it is like, and what each step costs; [`Work`]: what clients do; [`Replay`]: what of that
//!   was recorded;
//! - `layout`: where the bytes of a file lie;
//! - `nodes`, `event`, `card`, `disk`: the states of nodes, what happens to them, what crosses the network
//!   and what the disks do;
//! - `model`: how nodes react, and the laws that hold of all of them; [`Counts`]: what is counted.
//!
//! The rules are those of PFSsim as its paper has them, where that says something, and of its source where
//! the paper is silent. What is done otherwise: data crosses the network in both directions, small writes
//! end, a run ends when all flows are through and not the first, a server serves any number of parts, pages
//! that were clean and are written again count as dirty, a read takes the time of all its pages, and a reader
//! that jumps once is read ahead for again later.
//!
//! What is deliberately absent: scenarios, reports, names of measures.

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
pub use counts::{Counts, Done, Sample};
pub use disk::{Disk, Io, Owner};
pub use event::{Event, Job, Message, Served};
pub use gate::{Gate, Window};
pub use layout::{Component, Part, Stripe, Striping};
pub use model::Pfs;
pub use nodes::{
    CachedFlow, Caching, Client, Entity, Flow, Flush, Holders, Mark, Metadata, Running, Server, Waits,
};
pub use replay::{END_MAX, Loop, RECORD_MAX_BYTES, Record, Replay};
pub use rules::{RuleCommand, Ruled, TimedRule};
pub use spec::{
    Cache, Client as ClientSpec, ClientCache as ClientCacheSpec, DiskSpec, Metadata as MetadataSpec,
    MetadataBy, Network, PAGE, Parda, Reads, Scheduler, Server as ServerSpec, Spec, Stands,
};
pub use work::{Application, Operation, Order, Pace, Phase, Rank, Sharing, Syncs, Wish, Work};

/// The scheduler in front of a server; what it queues are slots.
pub type Queue = towtank_iosched::Scheduler<u32>;
