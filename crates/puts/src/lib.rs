//! Gateways that put and get chunks on servers, by a protocol of [`towtank_negotiation`], on the kernel.
//!
//! The protocols are state machines; this crate is the cluster around them: links, disks, chunks that come
//! and go, servers that fail, racks whose uplinks all share. A [`Spec`] says what a cluster is like, in units
//! and types; [`Spec::cluster`] makes of it the [`Cluster`] that the kernel runs, and [`Counted`] says in
//! numbers what a run came to.
//!
//! - `spec`: what a cluster is like; `memory`: what a run of it takes;
//! - `nodes`, `event`, `frame`, `ports`: gateways, servers and racks, what happens to them, what crosses the
//!   network, where it queues;
//! - `cluster`: how nodes react, and the laws that hold of all of them; `counts` and `trace`: what is
//!   counted, and written down;
//! - `counted`: from counts to rates and shares.
//!
//! What is deliberately absent: scenarios, reports, names of measures, and any choice of what is asked of a
//! run.

mod cluster;
mod counted;
mod counts;
mod event;
mod frame;
pub mod memory;
mod nodes;
mod ports;
mod spec;
mod trace;

pub use cluster::{Cluster, Load, Measured, Quirks, Racks, Traced};
pub use counted::Counted;
pub use counts::{Counts, Sample};
pub use event::{Cargo, Crossing, Event, Transfer};
pub use frame::Frame;
pub use nodes::{Entity, Gateway, GatewayTally, Initiator, Rack, Server, ServerTally, Target, Wish};
pub use ports::Ports;
pub use spec::{Bids, ChunkShare, Faults, Fidelity, Layout, Network, PUTS_DRAWN, Spec};
pub use trace::Trace;
