//! A daemon's communication with the monitor, over connections that are renewed as long as it lives.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use towtank_replication::Epoch;

use crate::StoreError;
use crate::control::Daemon;
use crate::frames::{FromMonitor, Report, ToMonitor};
use crate::osd::doors::Arrival;
use crate::settings::Home;
use crate::ways::Ways;
use crate::wire::{self, ClusterKey};

/// How often a daemon reports that it runs.
const PING: Duration = Duration::from_millis(200);

/// How long to wait before trying to reach the monitor again.
const RETRY: Duration = Duration::from_millis(100);

/// How long the monitor may take for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// The identity of the daemon, and its report.
#[derive(Clone, Debug)]
pub(super) struct Me {
    pub home: Home,
    pub key: ClusterKey,
    pub osd: u32,
    pub instance: u64,
    pub address: String,
    pub ways: Ways,
    pub report: Arc<Mutex<Report>>,
}

/// A channel to the thread that talks to the monitor.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    asks: Sender<(ToMonitor, Option<Sender<()>>)>,
    leave: ToMonitor,
}

impl Monitor {
    /// Asks for other acting replicas of a group. If the monitor is away, it is asked when it is back; a
    /// request that is out of date then does no harm.
    pub(super) fn want(&self, group: u32, epoch: Epoch, acting: Vec<u32>) {
        let _ = self.asks.send((ToMonitor::Wants { group, epoch, acting }, None));
    }

    /// Tells the monitor that the daemon ends, and waits up to 2 s for its answer.
    pub(super) fn leave(&self) {
        let (done, wait) = channel();
        if self.asks.send((self.leave.clone(), Some(done))).is_ok() {
            let _ = wait.recv_timeout(Duration::from_secs(2));
        }
    }
}

/// A connection to the monitor.
pub(crate) struct Line {
    sender: wire::Sender,
    receiver: wire::Receiver,
}

impl Line {
    /// Connects to the monitor of a cluster.
    pub(crate) fn open(home: &Home, key: &ClusterKey) -> Result<Line, StoreError> {
        Line::by(&Ways::direct(), home, key)
    }

    /// Connects through the daemon's `ways`.
    fn by(ways: &Ways, home: &Home, key: &ClusterKey) -> Result<Line, StoreError> {
        let stream = ways.connect(Daemon::Monitor, &home.monitor_address()?, ANSWER_TIME)?;
        let (sender, receiver) = wire::connect(stream, key)?;
        receiver.wait_at_most(Some(ANSWER_TIME))?;
        Ok(Line { sender, receiver })
    }

    /// Sends a request, and waits for the answer.
    pub(crate) fn ask(&mut self, ask: &ToMonitor) -> Result<FromMonitor, StoreError> {
        self.sender.send(ask)?;
        let answer = self.receiver.receive()?;
        answer.ok_or_else(|| StoreError::Refused("the monitor closed the connection".to_owned()))
    }
}

/// Starts two threads: one pings and sends requests, the other waits for maps.
pub(super) fn begin(me: Me, arrivals: SyncSender<Arrival>) -> Monitor {
    let (asks, outgoing) = channel();
    let leave = ToMonitor::Leave { osd: me.osd, instance: me.instance };
    let listening = me.clone();
    let clean = arrivals.clone();
    std::thread::spawn(move || hear_maps(&listening, &arrivals));
    std::thread::spawn(move || talk(&me, &outgoing, &clean));
    Monitor { asks, leave }
}

fn hear_maps(me: &Me, arrivals: &SyncSender<Arrival>) {
    let mut after = 0;
    loop {
        let heard = (|| -> Result<(), StoreError> {
            let mut line = Line::by(&me.ways, &me.home, &me.key)?;
            while let FromMonitor::Maps(maps) = line.ask(&ToMonitor::Maps { after, wait_ms: 2_000 })? {
                let Some(last) = maps.last() else { continue };
                after = last.epoch;
                if arrivals.send(Arrival::Maps(maps)).is_err() {
                    return Ok(());
                }
            }
            Ok(())
        })();
        // The monitor is away: everything continues with the last map.
        drop(heard);
        std::thread::sleep(RETRY);
    }
}

fn talk(me: &Me, asks: &Receiver<(ToMonitor, Option<Sender<()>>)>, arrivals: &SyncSender<Arrival>) {
    let mut waiting: Option<(ToMonitor, Option<Sender<()>>)> = None;
    loop {
        let talked = (|| -> Result<(), StoreError> {
            let mut line = Line::by(&me.ways, &me.home, &me.key)?;
            loop {
                if let Some((ask, done)) = waiting.as_ref() {
                    line.ask(ask)?;
                    if let Some(done) = done {
                        let _ = done.send(());
                    }
                }
                waiting = None;
                if !ping(me, &mut line, arrivals)? {
                    return Ok(());
                }
                match asks.recv_timeout(PING) {
                    Ok(ask) => waiting = Some(ask),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
            }
        })();
        if talked.is_ok() {
            return;
        }
        std::thread::sleep(RETRY);
    }
}

/// Reports that the daemon runs, and its state; returns whether the core still takes arrivals.
fn ping(me: &Me, line: &mut Line, arrivals: &SyncSender<Arrival>) -> Result<bool, StoreError> {
    let Me { osd, instance, .. } = *me;
    let report = me.report.lock().expect("no thread that holds it panics").clone();
    match line.ask(&ToMonitor::Ping { osd, instance, report })? {
        FromMonitor::Clean(groups) if !groups.is_empty() => {
            return Ok(arrivals.send(Arrival::Clean(groups)).is_ok());
        }
        FromMonitor::Refused(_) => {
            let boot = ToMonitor::Boot { osd, instance, address: me.address.clone() };
            if let FromMonitor::Refused(why) = line.ask(&boot)? {
                return Err(StoreError::Refused(why));
            }
        }
        _ => {}
    }
    Ok(true)
}
