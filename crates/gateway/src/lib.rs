//! An S3 gateway to this project's store, with the operations that common clients need.
//!
//! From the outside to the inside:
//!
//! - `server` is HTTP, with one thread per request in progress, and all limits; `allowed` lists what a
//!   request may ask for, `service` holds the operations, and `request` and `reply` their input and output.
//! - `signature`, `chunks`, `checksums` and `payload` check that a request and its body were sent by the
//!   owner of the secret.
//! - `depot` keeps buckets and objects in the store: `manifest` records where the bytes of large objects are,
//!   `attributes` what is stored with them, `listing` makes listings, and `leases` tracks readers.
//! - `shelf` is the interface to a store, and `pool` implements it with the real one.
//! - `driven` is a depot on a store that its caller plays.
//! - `hostile` is what fuzz targets call: it is always compiled, so that there is one form of this crate.
//!
//! **Readers see an old object or a new one**: an object is a single object of the store, or its manifest is.
//!
//! What is deliberately absent: versions, tags, policies, encryption, and listening on any address other than
//! loopback unless the caller asks for it.

mod allowed;
mod attributes;
mod checksums;
mod chunks;
mod conditions;
mod credentials;
mod dates;
mod depot;
mod doors;
pub mod driven;
mod escape;
mod fault;
pub mod hostile;
mod leases;
mod listing;
mod manifest;
mod names;
mod payload;
mod pool;
mod reply;
mod request;
mod server;
mod service;
mod shelf;
mod signature;
mod source;
mod xml;

use std::fs::{File, TryLockError};
use std::net::TcpListener;
use std::sync::Arc;

use towtank_store::StoreError;
use towtank_store::settings::{Home, SettingsError};

pub use credentials::{Credentials, FILE as KEY_FILE};
pub use server::is_loopback;

use dates::Moment;
use depot::Depot;
use fault::Fault;
use pool::Pool;
use service::Service;

/// Why a gateway cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the cluster cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The gateway's data in the store cannot be read.
    #[error("{0}")]
    Depot(String),
    /// An error of the operating system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Another gateway is running; only one may work on a cluster at a time.
    #[error("another gateway of this cluster is running; stop it first")]
    Taken,
}

impl From<Fault> for GatewayError {
    fn from(fault: Fault) -> GatewayError {
        GatewayError::Depot(fault.to_string())
    }
}

/// A gateway to one cluster. It holds a lock that keeps out other gateways.
pub struct Gateway {
    service: Arc<Service<Pool>>,
    keys: Credentials,
    _lock: File,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Gateway").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Connects to a cluster, and reads its buckets.
    ///
    /// # Errors
    /// If the cluster does not answer, or already has a gateway.
    pub fn open(home: &Home) -> Result<Gateway, GatewayError> {
        home.settings()?;
        let lock = File::options().create(true).append(true).open(home.path("run/gateway.lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(GatewayError::Taken),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let keys = Credentials::ensure(home)?;
        let mut random = [0; 4];
        getrandom::fill(&mut random).map_err(std::io::Error::other)?;
        let run = format!("{:012x}{:08x}", Moment::now().0, u32::from_le_bytes(random));
        let depot = Depot::open(Pool::open(home)?, &run)?;
        let service = Arc::new(Service::new(depot, keys.clone(), Moment::now));
        Ok(Gateway { service, keys, _lock: lock })
    }

    /// The credentials with which callers sign.
    #[must_use]
    pub fn keys(&self) -> &Credentials {
        &self.keys
    }

    /// A job that removes what earlier runs left behind, and returns the numbers of pieces and parts removed.
    /// It may run while requests are served.
    pub fn cleaner(&self) -> impl FnOnce() -> Result<(u64, u64), GatewayError> + Send + 'static {
        let service = Arc::clone(&self.service);
        move || {
            let cleaned = service.depot().clean()?;
            Ok((cleaned.pieces, cleaned.parts))
        }
    }

    /// Serves requests until `stopped` returns true, and then until requests in progress have ended.
    ///
    /// # Errors
    /// If the socket cannot be used.
    pub fn serve(&self, listener: TcpListener, stopped: &dyn Fn() -> bool) -> Result<(), GatewayError> {
        Ok(server::serve(listener, Arc::clone(&self.service), stopped)?)
    }
}
