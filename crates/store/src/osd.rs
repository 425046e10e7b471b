//! A device daemon: the replicas of one device, its disk, and the connections to all other processes.
//!
//! The decisions are made by values without clock, socket, thread or file: [`core`] handles everything that
//! concerns replicas, [`links`] what was sent and taken, [`line`] what is asked of the monitor. Around them
//! are threads: one commits what the core writes before it sends anything (`pump`), others read connections
//! (`doors`), send to other daemons (`peers`), and talk to the monitor (`monitoring`).

pub mod core;
mod doors;
mod heads;
mod inventory;
pub mod line;
pub mod links;
mod monitoring;
mod pace;
mod peers;
mod pump;

use std::net::TcpListener;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

pub(crate) use monitoring::Line;

use crate::StoreError;
use crate::clock::Clock;
use crate::control::Daemon;
use crate::engine::{Engine, EngineError};
use crate::identity::{self, Identity};
use crate::lock;
use crate::settings::Home;
use crate::ways::Ways;
use pump::Pump;

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
    let listener = TcpListener::bind((settings.listen.as_str(), 0))?;
    let address = listener.local_addr()?.to_string();
    let mut instance = [0; 8];
    getrandom::fill(&mut instance).map_err(|error| StoreError::Refused(error.to_string()))?;
    let instance = u64::from_le_bytes(instance);
    identity.runs.begin(instance);
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
        ways,
        report: sent_report,
        registers: line::Me { osd, instance, address, shown: identity.shown() },
    };
    let (monitor, unregistered) = monitoring::prepared(me);
    let clock = Clock::start();
    let incarnation = identity.incarnation;
    let parts = core::Parts { settings, engine: engine.clone(), osd, instance, incarnation };
    let (core, first) = core::Core::new(parts, clock.sim())?;
    let peers = peers::Peers::new(peer);
    let arrivals_of_pump = arrivals.clone();
    let mut pump =
        Pump { engine, peers, monitor: monitor.clone(), report, clock, arrivals: arrivals_of_pump };
    pump.carry_out(first)?;
    unregistered.register(&identity, core.known(), arrivals, stopped)?;
    pump.run(core, &incoming, stopped)?;
    monitor.leave();
    Ok(())
}
