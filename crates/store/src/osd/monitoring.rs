//! A daemon's communication with the monitor, over connections that are renewed as long as it lives.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use towtank_replication::Epoch;

use crate::StoreError;
use crate::clock::Clock;
use crate::control::Daemon;
use crate::frames::{FromMonitor, Report, ToMonitor};
use crate::identity::Identity;
use crate::map::MapId;
use crate::osd::doors::Arrival;
use crate::osd::line::{self, Heard, Next, Talk};
use crate::settings::Home;
use crate::ways::Ways;
use crate::wire::{self, ClusterKey};

/// How long to wait before trying to reach the monitor again.
const RETRY: Duration = Duration::from_millis(100);

/// How long the monitor may take for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// The identity of the daemon, how it reaches the monitor, and its report.
#[derive(Clone, Debug)]
pub(super) struct Me {
    pub home: Home,
    pub key: ClusterKey,
    pub ways: Ways,
    pub report: Arc<Mutex<Report>>,
    pub registers: line::Me,
}

/// Something that the daemon says without being asked.
#[derive(Debug)]
enum Say {
    Want {
        group: u32,
        epoch: Epoch,
        acting: Vec<u32>,
    },
    /// With a channel for the news that it was said.
    Leave(Sender<()>),
}

/// A channel to the thread that talks to the monitor.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    says: Sender<Say>,
}

impl Monitor {
    /// Asks for other acting replicas of a group. If the monitor is away, it is asked when it is back; a
    /// request that is out of date then does no harm.
    pub(super) fn want(&self, group: u32, epoch: Epoch, acting: Vec<u32>) {
        let _ = self.says.send(Say::Want { group, epoch, acting });
    }

    /// Tells the monitor that the daemon ends, and waits up to 2 s for its answer. Nothing is sent after it.
    pub(super) fn leave(&self) {
        let (done, wait) = channel();
        if self.says.send(Say::Leave(done)).is_ok() {
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

/// A daemon that is not registered yet.
pub(super) struct Unregistered {
    me: Me,
    says: Receiver<Say>,
}

/// A channel to the monitor, which is not used before the daemon is registered.
pub(super) fn prepared(me: Me) -> (Monitor, Unregistered) {
    let (says, hears) = channel();
    (Monitor { says }, Unregistered { me, says: hears })
}

impl Unregistered {
    /// Registers the daemon, whose directory knows this map, and starts two threads: one pings
    /// and sends requests, the other waits for maps. A daemon that is not let in hears of no map, since it
    /// would take what concerns another directory for its own. Its directory notes the run before the monitor
    /// hears of it. Returns early if it is to end.
    ///
    /// # Errors
    /// When the monitor does not let it in, or the directory cannot be written.
    pub(super) fn register(
        self,
        identity: &Identity,
        known: Option<MapId>,
        arrivals: SyncSender<Arrival>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        let Unregistered { me, says } = self;
        let mut talk = Talk::new(me.registers.clone(), known);
        let clock = Clock::start();
        let mut is_kept = false;
        while !stopped() {
            let ask = match talk.next(clock.sim(), &Report::default()) {
                Next::Ask(ask) => ask,
                Next::Rest(span) => {
                    std::thread::sleep(Duration::from_nanos(span.as_ns()));
                    continue;
                }
                Next::End => unreachable!("it has not said that it ends"),
            };
            // The monitor may be away.
            let Ok(mut line) = Line::by(&me.ways, &me.home, &me.key) else {
                std::thread::sleep(RETRY);
                continue;
            };
            if !std::mem::replace(&mut is_kept, true) {
                identity.keep(me.home.directory())?;
            }
            let Ok(answer) = line.ask(&ask) else {
                std::thread::sleep(RETRY);
                continue;
            };
            match talk.take(clock.sim(), answer) {
                Heard::Refused(why) => return Err(StoreError::Refused(why)),
                Heard::Waits(_) => continue,
                Heard::Nothing | Heard::Registered | Heard::Clean(_) => {}
            }
            let (listening, clean) = (me.clone(), arrivals.clone());
            std::thread::spawn(move || hear_maps(&listening, &arrivals));
            std::thread::spawn(move || self::talk(&me, talk, &says, &clean));
            return Ok(());
        }
        Ok(())
    }
}

fn hear_maps(me: &Me, arrivals: &SyncSender<Arrival>) {
    let mut last: Option<MapId> = None;
    loop {
        let heard = (|| -> Result<(), StoreError> {
            let mut line = Line::by(&me.ways, &me.home, &me.key)?;
            loop {
                let (after, digest) = (last.map_or(0, |last| last.epoch), last.map(|last| last.digest));
                let FromMonitor::Maps(maps) = line.ask(&ToMonitor::Maps { after, digest, wait_ms: 2_000 })?
                else {
                    return Ok(());
                };
                let Some(newest) = maps.last() else { continue };
                last = Some(newest.id());
                if arrivals.send(Arrival::Maps(maps)).is_err() {
                    return Ok(());
                }
            }
        })();
        // The monitor is away: everything continues with the last map.
        drop(heard);
        std::thread::sleep(RETRY);
    }
}

fn talk(me: &Me, mut talk: Talk, says: &Receiver<Say>, arrivals: &SyncSender<Arrival>) {
    let clock = Clock::start();
    let mut line: Option<Line> = None;
    let mut left: Option<Sender<()>> = None;
    let mut waits_for = String::new();
    loop {
        let report = me.report.lock().expect("no thread that holds it panics").clone();
        let ask = match talk.next(clock.sim(), &report) {
            Next::End => {
                // Nobody waits for it after 2 s.
                let _ = left.map(|left| left.send(()));
                return;
            }
            Next::Rest(span) => match says.recv_timeout(Duration::from_nanos(span.as_ns())) {
                Ok(Say::Want { group, epoch, acting }) => {
                    talk.want(group, epoch, acting);
                    continue;
                }
                Ok(Say::Leave(done)) => {
                    talk.leave();
                    left = Some(done);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return,
            },
            Next::Ask(ask) => ask,
        };
        let answer = match &mut line {
            Some(line) => line.ask(&ask),
            None => Line::by(&me.ways, &me.home, &me.key).and_then(|new| line.insert(new).ask(&ask)),
        };
        let Ok(answer) = answer else {
            line = None;
            std::thread::sleep(RETRY);
            continue;
        };
        match talk.take(clock.sim(), answer) {
            Heard::Nothing | Heard::Registered => {}
            Heard::Waits(why) => {
                if why != waits_for {
                    eprintln!("{why}");
                    waits_for = why;
                }
            }
            Heard::Clean(groups) => {
                if arrivals.send(Arrival::Clean(groups)).is_err() {
                    return;
                }
            }
            Heard::Refused(why) => {
                // Its directory was given up while it was away: nobody counts on it any more.
                eprintln!("error: {why}");
                std::process::exit(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::identity::{self, IdentityError, Shown};

    const PING: Duration = Duration::from_nanos(line::PING.as_ns());

    /// A monitor that lets every daemon in, and after it has left refuses its pings, as the real one does.
    fn monitor(stream: TcpStream, key: &ClusterKey, asked: &Sender<ToMonitor>, has_left: &Mutex<bool>) {
        let Ok((mut sender, mut receiver)) = wire::accept(stream, key) else { return };
        while let Ok(Some(ask)) = receiver.receive::<ToMonitor>() {
            let mut has_left = has_left.lock().expect("no thread panics");
            *has_left |= matches!(ask, ToMonitor::Leave { .. });
            let answer = match ask {
                ToMonitor::Maps { .. } => FromMonitor::Maps(Vec::new()),
                ToMonitor::Ping { .. } if *has_left => FromMonitor::Refused("boot again".to_owned()),
                _ => FromMonitor::Done,
            };
            if !matches!(ask, ToMonitor::Maps { .. }) {
                asked.send(ask).expect("the test waits");
            }
            if sender.send(&answer).is_err() {
                return;
            }
        }
    }

    /// In 9 of 25 stops the daemon registered again after it had left, and writes waited until it was silent
    /// for long.
    #[test]
    fn who_has_left_is_silent() {
        let directory = std::env::temp_dir().join(format!("towtank-leave-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory can be made");
        let (home, key) = (Home::at(&directory), [7; 32]);
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        home.write("monitor.address", address.as_bytes()).expect("a file can be written");
        identity::make_all(&directory, 1).expect("files can be written");
        let mut identity = Identity::of_osd(&directory, 0).expect("it was just made");
        identity.runs.begin(9);
        let known = Some(MapId { epoch: 4, digest: 1 });
        let (asked, seen) = channel();
        let has_left = Arc::new(Mutex::new(false));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, has_left) = (asked.clone(), Arc::clone(&has_left));
                std::thread::spawn(move || monitor(stream, &key, &asked, &has_left));
            }
        });
        let me = Me {
            home,
            key,
            ways: Ways::direct(),
            report: Arc::default(),
            registers: line::Me {
                osd: 0,
                instance: 9,
                address: "nowhere".to_owned(),
                shown: Shown::of_stranger(1),
            },
        };
        let (arrivals, _incoming) = sync_channel(16);
        let (monitor, unregistered) = prepared(me);
        unregistered.register(&identity, known, arrivals, &|| false).expect("it is let in");
        let kept = Identity::of_osd(&directory, 0);
        assert!(matches!(kept, Err(IdentityError::Refused { .. })), "it knows of a run, and has no tables");
        monitor.want(3, 5, vec![0]);
        std::thread::sleep(PING * 2);
        monitor.leave();
        std::thread::sleep(PING * 3);
        let asked: Vec<ToMonitor> = seen.try_iter().collect();
        assert!(
            matches!(asked.first(), Some(ToMonitor::Boot { known: Some(MapId { epoch: 4, .. }), .. })),
            "{asked:?}"
        );
        assert!(asked.iter().any(|ask| matches!(ask, ToMonitor::Wants { group: 3, .. })), "{asked:?}");
        assert!(
            matches!(asked.last(), Some(ToMonitor::Leave { .. })),
            "it asks after it has left: {asked:?}"
        );
        std::fs::remove_dir_all(&directory).expect("the directory can be removed");
    }
}
