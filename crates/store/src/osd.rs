//! A device daemon: the replicas of one device, its disk, and the connections to all other processes.
//!
//! One thread, the `core`, handles everything that concerns replicas: it takes arrivals in portions, and
//! makes their changes durable before it sends anything. Other threads read connections (`doors`), send to
//! other daemons (`peers`), and talk to the monitor.

mod core;
mod doors;
mod heads;
mod inventory;
mod monitoring;
mod pace;
mod peers;

use std::net::TcpListener;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

pub(crate) use monitoring::Line;

use crate::StoreError;
use crate::control::Daemon;
use crate::engine::{Engine, EngineError};
use crate::identity::{self, Identity};
use crate::lock;
use crate::settings::Home;
use crate::ways::Ways;

/// The most arrivals that wait for the core; more wait in sockets.
const ARRIVALS_MAX: usize = 256;

/// Runs a device daemon until `stopped` returns true.
///
/// # Errors
/// When its files cannot be read or written, or it cannot listen.
pub fn serve(home: &Home, osd: u32, stopped: &dyn Fn() -> bool) -> Result<(), StoreError> {
    let (settings, key) = (home.settings()?, home.key()?);
    let _lock = lock::take(home, &Daemon::Osd(osd))?;
    let mut identity = Identity::of_osd(home.directory(), osd)?;
    let opened = Engine::open(&home.path(&format!("osd.{osd}")), settings.sync);
    let engine = opened.map_err(|error| match error {
        EngineError::Rotten { .. } => identity::refused(error.to_string(), &identity::ways_on(osd)).into(),
        error => StoreError::from(error),
    })?;
    identity.count_start(home.directory())?;
    let listener = TcpListener::bind((settings.listen.as_str(), 0))?;
    let address = listener.local_addr()?.to_string();
    let mut instance = [0; 8];
    getrandom::fill(&mut instance).map_err(|error| StoreError::Refused(error.to_string()))?;
    let instance = u64::from_le_bytes(instance);
    println!("osd.{osd} listens on {address}");
    let (arrivals, incoming) = sync_channel(ARRIVALS_MAX);
    let ways = Ways::of_daemon(home, osd)?;
    let peer = peers::Me { osd, instance, key, ways: ways.clone() };
    doors::open(listener, peer.clone(), arrivals.clone());
    let report = Arc::new(Mutex::new(crate::frames::Report::default()));
    let sent_report = Arc::clone(&report);
    let me = monitoring::Me {
        home: home.clone(),
        key,
        osd,
        instance,
        address,
        ways,
        report: sent_report,
        shown: identity.shown(),
    };
    let (monitor, unregistered) = monitoring::prepared(me);
    let core = core::Core::new(core::Parts {
        settings,
        engine,
        me: peer,
        incarnation: identity.incarnation,
        monitor: monitor.clone(),
        report,
    })?;
    unregistered.register(core.epoch(), arrivals, stopped)?;
    core.run(&incoming, stopped)?;
    monitor.leave();
    Ok(())
}
