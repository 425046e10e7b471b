//! How a daemon connects to the monitor and the other daemons: directly, or through relays that can be cut.
//!
//! In normal operation there is no `run/relays.json`, and all connections are direct. A torture run writes
//! the file before it starts daemons ([`relays`](crate::relays)). A daemon then opens each connection at its
//! relay, and the first bytes tell the relay which address to connect to.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::control::Daemon;
use crate::settings::{Home, SettingsError};

/// The file with the relays' addresses, in the directory of the cluster.
pub(crate) const RELAYS_FILE: &str = "run/relays.json";

/// The addresses of the relays for one daemon's outgoing connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Relayed {
    /// The relay to the monitor.
    pub monitor: String,
    /// The relay to each other daemon, by its number.
    pub osds: BTreeMap<u32, String>,
}

/// How one process connects to the others.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    relayed: Option<Arc<Relayed>>,
}

impl Ways {
    /// Direct connections only.
    #[must_use]
    pub(crate) fn direct() -> Ways {
        Ways::default()
    }

    /// How a device daemon connects: directly if the cluster has no relays.
    ///
    /// # Errors
    /// When the file of the relays exists and cannot be read.
    pub(crate) fn of_daemon(home: &Home, osd: u32) -> Result<Ways, SettingsError> {
        let path = home.path(RELAYS_FILE);
        if !path.exists() {
            return Ok(Ways::direct());
        }
        let fault = |why: String| SettingsError::File { path: path.clone(), why };
        let text = std::fs::read_to_string(&path).map_err(|error| fault(error.to_string()))?;
        let mut all: BTreeMap<u32, Relayed> =
            serde_json::from_str(&text).map_err(|error| fault(error.to_string()))?;
        Ok(Ways { relayed: all.remove(&osd).map(Arc::new) })
    }

    fn relay_to(&self, to: Daemon) -> Option<&str> {
        let relayed = self.relayed.as_ref()?;
        match to {
            Daemon::Monitor => Some(&relayed.monitor),
            Daemon::Osd(osd) => relayed.osds.get(&osd).map(String::as_str),
        }
    }

    /// Connects to a process of the cluster that listens on `address`.
    ///
    /// # Errors
    /// When nothing listens there, or the address is not valid.
    pub fn connect(&self, to: Daemon, address: &str, within: Duration) -> std::io::Result<TcpStream> {
        let Some(relay) = self.relay_to(to) else { return open(address, within) };
        let mut stream = open(relay, within)?;
        let length = u8::try_from(address.len()).map_err(|_| std::io::ErrorKind::InvalidInput)?;
        stream.write_all(&[length])?;
        stream.write_all(address.as_bytes())?;
        Ok(stream)
    }
}

/// A connection to the first address that a text resolves to.
pub(crate) fn open(address: &str, within: Duration) -> std::io::Result<TcpStream> {
    let at = address.to_socket_addrs()?.next().ok_or(std::io::ErrorKind::AddrNotAvailable)?;
    TcpStream::connect_timeout(&at, within)
}
