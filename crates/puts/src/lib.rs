//! Gateways that put chunks to servers and get them back, by a protocol of [`towtank_negotiation`], on the
//! kernel.
//!
//! The protocols are state machines; this crate is the cluster around them: links, disks, arriving chunks,
//! servers that fail, racks with shared uplinks. A [`Spec`] describes a cluster in units and types;
//! [`Spec::cluster`] turns it into the [`Cluster`] that the kernel runs, and [`Counted`] holds the numbers of
//! a run.
//!
//! - `spec`: the description of a cluster; `memory`: the memory that a run needs;
//! - `nodes`, `event`, `frame`, `ports`: gateways, servers and racks, their events, the traffic between them,
//!   and where it queues;
//! - `cluster`: how nodes react, and the invariants of them all; `counts` and `trace`: what is counted and
//!   recorded;
//! - `counted`: from counts to rates and shares.
//!
//! Left out on purpose: scenarios, reports, names of measures, and any choice of which questions a run
//! answers.

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
