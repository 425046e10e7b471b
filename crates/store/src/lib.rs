//! A replicated object store on real disks and sockets, which runs the protocol of the simulator.
//!
//! `towtank-replication` decides, as it does in the study of backfills: here its messages go over sockets,
//! its objects lie in an embedded log-structured merge tree, and time passes.
//!
//! - [`monitor`] keeps the map of the cluster; [`osd`] is a device daemon; [`client`] reads and writes
//!   objects, and [`walk`] goes over their names in order.
//! - [`health`] is what is wrong with a cluster, [`metrics`] what the monitor tells of it to Prometheus.
//! - [`settings`] is how a cluster was made and where its files lie; [`control`] starts and ends its
//!   processes.
//! - [`wire`] seals what they say, [`frames`] is what they say.
//! - [`torture`] checks all of it under faults; [`ways`] and [`relays`] let it cut the network.
//! - [`experiment`] measures backfills, and [`bare`] the disk alone.
//! - [`engine`], [`objects`] and [`saved`] are what lies on a device's disk.
//!
//! **What is durable when.** A daemon takes what has arrived, has the protocol handle it, and makes all that
//! changed durable in one transaction before anything that follows from it is sent. A write is answered when
//! all replicas that serve have done so.
//!
//! What is deliberately absent: erasure codes, snapshots, more than one monitor.

pub mod bare;
pub mod client;
mod clock;
pub mod content;
pub mod control;
#[doc(hidden)]
pub mod crash;
pub mod engine;
pub mod experiment;
pub mod frames;
pub mod health;
pub mod malformed;
pub mod map;
pub mod metrics;
mod metrics_port;
pub mod monitor;
pub mod names;
pub mod objects;
pub mod osd;
pub mod relays;
pub mod saved;
pub mod settings;
pub mod space;
pub mod torture;
pub mod walk;
pub mod ways;
pub mod wire;

/// Why something of a store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Its directory is of no use.
    #[error(transparent)]
    Settings(#[from] settings::SettingsError),
    /// Its disk.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    /// Its network.
    #[error(transparent)]
    Wire(#[from] wire::WireError),
    /// The system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A process of the cluster says no.
    #[error("{0}")]
    Refused(String),
    /// Nobody answers.
    #[error("{what} after {seconds} s")]
    TimedOut {
        /// What did not happen.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// An object is not as it was written.
    #[error("`{name}`: {why}")]
    Content {
        /// Which.
        name: String,
        /// What is wrong with it.
        why: content::ContentError,
    },
}
