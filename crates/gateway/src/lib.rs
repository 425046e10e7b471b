//! A gateway to a store of this project that speaks S3, as far as its usual clients need it.
//!
//! Read it from the outside to the inside:
//!
//! - `server` is HTTP, a thread for each request under way, and all bounds; `service` holds the
//!   operations, and `request` and `reply` what comes in and goes out.
//! - `signature`, `chunks`, `checksums` and `payload` decide whether a request and its body are what the
//!   owner of the secret has sent.
//! - `depot` keeps buckets and objects in the store: `manifest` says where the bytes of large ones lie,
//!   `attributes` what is kept beside them, `listing` what a listing shows, `leases` who reads.
//! - `shelf` is what it asks of a store, and `pool` the store itself.
//!
//! **Readers see an old object or a new one**: an object is one object of the store, or its manifest is.
//!
//! What is deliberately absent: versions, tags, policies, encryption, and every other address than loopback
//! unless the caller says so.

mod attributes;
mod checksums;
mod chunks;
mod conditions;
mod credentials;
mod dates;
mod depot;
mod escape;
mod fault;
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

/// Why a gateway does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the cluster is of no use.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// What lies in the store cannot be read.
    #[error("{0}")]
    Depot(String),
    /// The system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// One gateway works on a cluster at a time.
    #[error("another gateway of this cluster runs")]
    Taken,
}

impl From<Fault> for GatewayError {
    fn from(fault: Fault) -> GatewayError {
        GatewayError::Depot(fault.to_string())
    }
}

/// A gateway to one cluster, which keeps others from it as long as it lives.
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
    /// Reaches a cluster, and learns its buckets.
    ///
    /// # Errors
    /// When the cluster does not answer, or has a gateway.
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

    /// What callers sign with.
    #[must_use]
    pub fn keys(&self) -> &Credentials {
        &self.keys
    }

    /// Work that removes what earlier runs have left behind, and gives how many pieces and parts that were.
    /// Requests may be answered meanwhile.
    pub fn cleaner(&self) -> impl FnOnce() -> Result<(u64, u64), GatewayError> + Send + 'static {
        let service = Arc::clone(&self.service);
        move || {
            let cleaned = service.depot().clean()?;
            Ok((cleaned.pieces, cleaned.parts))
        }
    }

    /// Answers until `stopped` says so, and then until requests under way have ended.
    ///
    /// # Errors
    /// When the socket cannot be used.
    pub fn serve(&self, listener: TcpListener, stopped: &dyn Fn() -> bool) -> Result<(), GatewayError> {
        Ok(server::serve(listener, Arc::clone(&self.service), stopped)?)
    }
}
