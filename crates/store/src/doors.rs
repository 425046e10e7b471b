//! Incoming connections by what is known of them, each kind with its own limit, so that strangers cannot take
//! the places of those who have the cluster's key, nor clients those of daemons.
//!
//! A connection is a stranger's until something has arrived that a stranger cannot send: a sealed frame,
//! since a recorded handshake can be sent again, or at the metrics port the head of a request. Where
//! strangers have all their places, the next one takes that of the oldest, which had it for [`STAY_MIN`] at
//! least. Of the others, the one that has been idle for longest leaves.
//!
//! Each connection takes one descriptor. Limits follow from the descriptors of the process, of which half
//! stay for its files and for the connections that it opens itself.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit};

use crate::clock::now;

/// How long a stranger has its place at least: longer than an honest handshake takes in a local network.
const STAY_MIN: Duration = Duration::from_millis(20);

/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// The least time between two lines in the log about that.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// The name of the environment variable by which a test breaks rules on purpose: `unbounded` (no limits, and
/// a handshake may take for ever), `restless` (no pause after a connection could not be accepted), or both
/// with a comma between. Builds with debug assertions follow it and say so; others say that they do not.
const PLANTED: &str = "TOWTANK_DOORS_PLANTED";

/// Whether a test has broken this rule.
pub(crate) fn is_planted(rule: &str) -> bool {
    static RULES: OnceLock<String> = OnceLock::new();
    let rules = RULES.get_or_init(|| {
        let asked = std::env::var(PLANTED).unwrap_or_default();
        let (kept, said) = followed(&asked, cfg!(debug_assertions));
        said.into_iter().for_each(|said| eprintln!("{said}"));
        kept.to_owned()
    });
    rules.split(',').any(|planted| planted == rule)
}

/// Which of these rules are broken, and what the log says about that.
fn followed(asked: &str, is_for_tests: bool) -> (&str, Option<String>) {
    match asked {
        "" => ("", None),
        _ if is_for_tests => (asked, Some(format!("WARNING: {PLANTED}={asked} breaks rules on purpose"))),
        _ => ("", Some(format!("{PLANTED}={asked} is for builds with debug assertions: it is ignored"))),
    }
}

/// What is known of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Stranger,
    Client,
    Daemon,
}

/// The most connections of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub strangers: usize,
    pub clients: usize,
    pub daemons: usize,
    /// Those that are to leave and have not yet done so.
    pub leaving: usize,
}

impl Limits {
    /// The limits of a port for daemons and clients. A daemon has up to two connections to the monitor, and
    /// the most daemons are 64.
    pub(crate) fn of_port() -> Limits {
        let files = files_max();
        Limits {
            strangers: share(files, 16, 64),
            clients: share(files, 4, 384),
            daemons: share(files, 8, 128),
            leaving: share(files, 32, 16),
        }
    }

    /// The limits of the metrics port. Its clients count from the head of their request to the answer.
    pub(crate) fn of_page() -> Limits {
        let files = files_max();
        let few = share(files, 32, 4);
        Limits { strangers: share(files, 16, 32), clients: share(files, 16, 16), daemons: 0, leaving: few }
    }

    fn of(self, kind: Kind) -> usize {
        match kind {
            _ if is_planted("unbounded") => usize::MAX,
            Kind::Stranger => self.strangers,
            Kind::Client => self.clients,
            Kind::Daemon => self.daemons,
        }
    }

    fn all(self) -> usize {
        if is_planted("unbounded") {
            return usize::MAX;
        }
        self.strangers + self.clients + self.daemons + self.leaving
    }
}

/// One part in `parts` of this many descriptors, at least one and at most `most`.
fn share(files: u64, parts: u64, most: usize) -> usize {
    usize::try_from(files / parts).unwrap_or(usize::MAX).clamp(1, most)
}

/// The most descriptors of the process. Where the system does not tell, what POSIX guarantees.
fn files_max() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(20, |(soft, _)| soft)
}

/// How many files of tables a process may keep open. The tree takes no number below 10.
pub(crate) fn files_kept() -> usize {
    share(files_max(), 4, 256).max(10)
}

/// A connection that is open.
#[derive(Debug)]
struct Open {
    stream: Arc<TcpStream>,
    kind: Kind,
    /// Its requests in progress.
    busy: u32,
    /// Since when it is of its kind, or idle.
    since: Instant,
    is_leaving: bool,
}

#[derive(Debug, Default)]
struct Inner {
    open: BTreeMap<u64, Open>,
    given: u64,
}

impl Inner {
    fn of(&self, kind: Kind) -> impl Iterator<Item = (u64, &Open)> {
        let is_it = move |open: &Open| open.kind == kind && !open.is_leaving;
        self.open.iter().filter(move |(_, open)| is_it(open)).map(|(id, open)| (*id, open))
    }

    /// The connection of a kind that has been idle for longest, and since when.
    fn oldest(&self, kind: Kind) -> Option<(u64, Instant)> {
        let idle = self.of(kind).filter(|(_, open)| open.busy == 0).map(|(id, open)| (id, open.since));
        idle.min_by_key(|(_, since)| *since)
    }

    /// Ends the connection of a kind that has been idle for longest; false if there is none.
    fn evict(&mut self, kind: Kind) -> bool {
        let Some(open) = self.oldest(kind).and_then(|(id, _)| self.open.get_mut(&id)) else { return false };
        open.is_leaving = true;
        // Its thread, which reads or writes, notices. It may have ended by itself.
        let _ = open.stream.shutdown(Shutdown::Both);
        true
    }
}

/// All connections of a listener.
#[derive(Debug)]
struct Doors {
    inner: Mutex<Inner>,
    fewer: Condvar,
    limits: Limits,
}

impl Doors {
    fn new(limits: Limits) -> Arc<Doors> {
        Arc::new(Doors { inner: Mutex::default(), fewer: Condvar::new(), limits })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no thread that holds it panics")
    }

    /// Waits until fewer sockets are open than the limits allow together. Those that leave do so at once.
    fn wait_for_place(&self) {
        let is_full = |inner: &mut Inner| inner.open.len() >= self.limits.all();
        drop(self.fewer.wait_while(self.inner(), is_full).expect("no thread that holds it panics"));
    }

    fn enter(self: &Arc<Doors>, stream: TcpStream) -> Arc<Visit> {
        let stream = Arc::new(stream);
        let mut inner = self.inner();
        while inner.of(Kind::Stranger).count() >= self.limits.of(Kind::Stranger) {
            let Some((_, since)) = inner.oldest(Kind::Stranger) else { break };
            let stays = (since + STAY_MIN).saturating_duration_since(now());
            if stays.is_zero() {
                inner.evict(Kind::Stranger);
            } else {
                let waited = self.fewer.wait_timeout(inner, stays);
                inner = waited.expect("no thread that holds it panics").0;
            }
        }
        inner.given += 1;
        let id = inner.given;
        let (kind, since) = (Kind::Stranger, now());
        inner.open.insert(id, Open { stream: Arc::clone(&stream), kind, busy: 0, since, is_leaving: false });
        drop(inner);
        Arc::new(Visit { doors: Arc::clone(self), id, stream })
    }

    /// Ends the oldest connection of a stranger, where descriptors have run out.
    fn make_room(&self) {
        if !is_planted("unbounded") {
            self.inner().evict(Kind::Stranger);
        }
    }
}

/// Accepts connections as long as the process lives, and has `serve` serve each in a thread of its own. `who`
/// is the name of the listener in the log.
pub(crate) fn open(
    listener: TcpListener,
    who: String,
    limits: Limits,
    serve: impl Fn(Arc<Visit>) + Send + Sync + 'static,
) {
    let (doors, serve) = (Doors::new(limits), Arc::new(serve));
    let accept_one = move || {
        doors.wait_for_place();
        let taken = listener.accept().and_then(|(stream, _)| {
            let (visit, serve) = (doors.enter(stream), Arc::clone(&serve));
            thread::Builder::new().spawn(move || serve(visit)).map(drop)
        });
        if taken.is_err() {
            doors.make_room();
        }
        taken
    };
    thread::spawn(move || {
        let mut said = None;
        loop {
            let Err(error) = accept_one() else { continue };
            // The other side may have gone before it was accepted.
            if error.kind() != ErrorKind::ConnectionAborted && is_due(&mut said, now()) {
                eprintln!("{who}: a connection cannot be accepted: {error}");
            }
            if !is_planted("restless") {
                thread::sleep(PAUSE);
            }
        }
    });
}

/// Whether a line may be written now, which is then noted.
fn is_due(said: &mut Option<Instant>, at: Instant) -> bool {
    let is_due = said.is_none_or(|last| at.saturating_duration_since(last) >= SAID_EVERY);
    if is_due {
        *said = Some(at);
    }
    is_due
}

/// A connection; it gives its place back when it is dropped.
#[derive(Debug)]
pub(crate) struct Visit {
    doors: Arc<Doors>,
    id: u64,
    stream: Arc<TcpStream>,
}

impl Visit {
    pub(crate) fn stream(&self) -> &Arc<TcpStream> {
        &self.stream
    }

    /// A request has arrived: the connection keeps its place until it is answered.
    pub(crate) fn begins(&self) {
        if let Some(open) = self.doors.inner().open.get_mut(&self.id) {
            open.busy += 1;
        }
    }

    /// A request has been answered.
    pub(crate) fn ends(&self) {
        if let Some(open) = self.doors.inner().open.get_mut(&self.id) {
            open.busy = open.busy.saturating_sub(1);
            open.since = now();
        }
    }

    /// The connection has shown that it is no stranger's. Returns false if all places of its kind are taken
    /// by connections with requests in progress, or this one is to end.
    #[must_use]
    pub(crate) fn becomes(&self, kind: Kind) -> bool {
        let mut inner = self.doors.inner();
        let is_full = inner.of(kind).count() >= self.doors.limits.of(kind);
        if is_full && !inner.evict(kind) {
            return false;
        }
        let Some(open) = inner.open.get_mut(&self.id).filter(|open| !open.is_leaving) else { return false };
        (open.kind, open.since) = (kind, now());
        self.doors.fewer.notify_all();
        true
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.doors.inner().open.remove(&self.id);
        self.doors.fewer.notify_all();
    }
}

#[cfg(test)]
mod tests;
