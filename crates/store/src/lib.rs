//! A replicated object store on real disks and sockets that runs the same protocol as the simulator.
//!
//! `towtank-replication` makes the decisions, as in the study of backfills. Here its messages are sent over
//! sockets, its objects are in an embedded log-structured merge tree, and time is real.
//!
//! - [`monitor`] keeps the map of the cluster; [`osd`] is a device daemon; [`client`] reads and writes
//!   objects, and [`walk`] lists them in the order of their names.
//! - [`health`] is the health of a cluster, [`metrics`] what the monitor exports to Prometheus.
//! - [`settings`] has the parameters of a cluster and the paths of its files; [`control`] starts and ends its
//!   processes.
//! - [`identity`] tells which device a directory is, [`admission`] which of them are let in, and [`lock`]
//!   keeps a second set of processes out; [`loss`] is what a cluster loses without a device; [`rebuilding`]
//!   builds a monitor that is lost anew, from the maps that the devices keep.
//! - [`wire`] encrypts the messages between processes, [`frames`] defines them; `doors` bounds connections by
//!   what is known of them.
//! - [`torture`] checks all of it under faults; [`ways`] and [`relays`] let it cut the network.
//! - [`experiment`] measures backfills, and [`bare`] the disk alone.
//! - [`engine`], [`objects`] and [`saved`] are the on-disk state of a device, [`tail`] tells whether its end
//!   is whole.
//!
//! **When changes are durable.** A daemon takes the messages that have arrived, has the protocol handle them,
//! and makes all changes durable in one transaction before it sends anything that follows from them. A write
//! is answered when all replicas that serve have done so.
//!
//! What is deliberately absent: erasure codes, snapshots, more than one monitor.

pub mod admission;
pub mod bare;
pub mod client;
mod clock;
pub mod content;
pub mod control;
#[doc(hidden)]
pub mod crash;
mod doors;
pub mod engine;
pub mod experiment;
pub mod frames;
pub mod health;
pub mod identity;
mod known;
pub mod lock;
pub mod loss;
pub mod malformed;
pub mod map;
pub mod metrics;
mod metrics_port;
pub mod monitor;
pub mod names;
pub mod objects;
pub mod osd;
pub mod rebuilding;
mod relays;
pub mod runs;
pub mod saved;
pub mod settings;
pub mod space;
pub mod tail;
pub mod torture;
pub mod walk;
pub mod ways;
pub mod wire;

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The cluster's directory cannot be used.
    #[error(transparent)]
    Settings(#[from] settings::SettingsError),
    /// A directory is not what belongs in its place.
    #[error(transparent)]
    Identity(#[from] identity::IdentityError),
    /// An error of the disk.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    /// An error of the network.
    #[error(transparent)]
    Wire(#[from] wire::WireError),
    /// An error of the operating system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A process of the cluster refused the request.
    #[error("{0}")]
    Refused(String),
    /// Nothing answered in time.
    #[error("{what} after {seconds} s")]
    TimedOut {
        /// What did not happen.
        what: String,
        /// How long it was waited for, in seconds.
        seconds: u64,
    },
    /// An object is not as it was written.
    #[error("`{name}`: {why}")]
    Content {
        /// The name of the object.
        name: String,
        /// What is wrong with it.
        why: content::ContentError,
    },
}
