//! The states of nodes: clients, data servers, metadata servers, proxies, routers, and the node that starts
//! phases.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use towtank_devices::{Lane, PageCache};
use towtank_iosched::Tracker;
use towtank_metrics::Level;
use towtank_units::{SimSpan, SimTime};

use crate::Queue;
use crate::card::Card;
use crate::client_cache::{ClientCache, Run};
use crate::disk::Disk;
use crate::event::Job;
use crate::gate::Gate;
use crate::rules::Ruled;
use crate::work::{Rank, Wish};

/// A node.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub enum Entity {
    /// A client.
    Client(Box<Client>),
    /// A data server.
    Server(Box<Server>),
    /// A metadata server.
    Metadata(Box<Metadata>),
    /// A scheduler in front of several servers.
    Proxy(Box<Gate>),
    /// The node that starts phases: the number of clients that have finished the current phase, and its
    /// number.
    Starter(u32, u16),
    /// A router between clients and servers.
    Router(Box<Router>),
}

/// A router: one lane per direction. Messages leave it in the order in which they arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Router {
    /// Towards servers.
    pub to_servers: Lane,
    /// Towards clients.
    pub to_clients: Lane,
    /// Messages that arrived.
    pub came: u64,
    /// Messages that it forwarded; the others found no space.
    pub forwarded: u64,
    /// Messages that found no space.
    pub dropped: u64,
    /// Its busy times when the last phase began: `sent` is towards servers, `received` towards clients.
    pub mark: Mark,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Client {
    /// Its NIC.
    pub card: Card,
    /// Its processor, which does one thing after the other.
    pub cpu: Lane,
    /// Its place in the work.
    pub rank: Rank,
    /// The phase that it is in.
    pub phase: u16,
    /// Requests of the phase that it has begun.
    pub begun: u64,
    /// Requests of the phase that are done.
    pub through: u64,
    /// Requests under way.
    pub flows: Vec<Flow>,
    /// Files whose layouts it knows.
    pub layouts: BTreeSet<u64>,
    /// Requests that have arrived and wait for a flow, where requests come at their own times.
    pub waiting: VecDeque<SimTime>,
    /// The number of requests that have arrived.
    pub come: u64,
    /// Jobs that it has sent.
    pub jobs_sent: u64,
    /// Jobs whose last reply it has received.
    pub jobs_done: u64,
    /// Windows that it has begun.
    pub records: u64,
    /// Idle flows, where requests come at their own times; the last one begins next.
    pub idle: Vec<u16>,
    /// Its data cache, if it has one.
    pub caching: Option<Box<Caching>>,
    /// The gate that holds its jobs back, if there is one.
    pub gate: Option<Box<Gate>>,
    /// The service that servers gave it, if its jobs carry that (dmClock).
    pub tracker: Option<Box<Tracker>>,
    /// Its busy times when the last phase began.
    pub mark: Mark,
}

/// A client's data cache, and the requests that wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caching {
    /// What it holds.
    pub cache: ClientCache,
    /// Runs being written back, by slot.
    pub flushes: Vec<Option<Flush>>,
    /// Requests under way, by flow.
    pub flows: BTreeMap<u16, CachedFlow>,
    /// Requests that wait.
    pub waiting: BTreeMap<u16, Waits>,
    /// Whether the client's last request of a phase is done, and its dirty bytes are not yet at servers.
    pub draining: bool,
}

/// A run of dirty bytes being written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flush {
    /// The bytes.
    pub run: Run,
    /// Jobs of the run that are not done.
    pub jobs: u32,
}

/// The state of a request at its client's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CachedFlow {
    /// Bytes that were found or absorbed, and are still to be copied.
    pub copied: u64,
    /// The run being read for it, and whether the cache keeps it.
    pub fetching: Option<(Run, bool)>,
    /// Whether it is done only when its file's dirty bytes are at servers.
    pub syncs: bool,
    /// Whether it has waited for space.
    pub held: bool,
}

/// What a request waits for at its client's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Waits {
    /// For bytes that are being read for another request.
    Coming,
    /// For space for the bytes that it writes.
    Room,
    /// For the dirty bytes of a file to be at servers.
    Sync(u64),
}

/// A request under way, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flow {
    /// The request, if there is one.
    pub wish: Option<Wish>,
    /// When it was issued.
    pub rose: SimTime,
    /// Bytes of it in windows that are done or under way.
    pub asked: u64,
    /// Jobs of the window that are not done.
    pub jobs: u32,
}

/// A data server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Server {
    /// Its NIC.
    pub card: Card,
    /// The scheduler in front of it.
    pub queue: Queue,
    /// The instant of the wake-up that the scheduler requested, if any.
    pub wakes: Option<SimTime>,
    /// How many of the timed rules have been applied.
    pub ruled: Ruled,
    /// Jobs here, by slot.
    pub slots: Vec<Option<Running>>,
    /// Slots that are free.
    pub free: Vec<u32>,
    /// Jobs being processed.
    pub working: u32,
    /// Jobs that wait for a thread.
    pub idle: VecDeque<u32>,
    /// Jobs that wait for pages that another job reads or writes.
    pub blocked: BTreeSet<u32>,
    /// The holders of each object's lock: a number of readers, or a writer.
    pub locks: BTreeMap<u64, Holders>,
    /// The memory, which copies pages.
    pub memory: Lane,
    /// Its page cache.
    pub cache: Option<PageCache>,
    /// Whether pages are being written back in the background.
    pub cleaning: bool,
    /// Its disk.
    pub disk: Disk,
    /// The size of each object in bytes.
    pub sizes: BTreeMap<u64, u64>,
    /// Sequential readers: the page that each will read next, and the number of pages read ahead.
    pub streams: BTreeMap<u64, (u64, u64)>,
    /// The number of jobs at the server, over time.
    pub depth: Level,
    /// Jobs that arrived.
    pub came: u64,
    /// Jobs that are done.
    pub done: u64,
    /// Bytes of completed jobs and pieces.
    pub moved: u64,
    /// The totals when the last phase began.
    pub mark: Mark,
}

/// The totals of a node at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mark {
    /// Busy time of its disk; at a client, of its processor.
    pub own: SimSpan,
    /// Time spent copying pages.
    pub memory: SimSpan,
    /// Time that its NIC was sending.
    pub sent: SimSpan,
    /// Time that its NIC was receiving.
    pub received: SimSpan,
    /// At a server, the bytes of completed jobs.
    pub moved: u64,
}

/// The holders of a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Holders {
    /// Jobs that read.
    pub readers: u32,
    /// Whether a job writes.
    pub writer: bool,
    /// Jobs that wait.
    pub waiting: VecDeque<u32>,
}

/// A job at a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Running {
    /// The job.
    pub job: Job,
    /// The slot of the job that this is a piece of, if the scheduler cut it.
    pub piece_of: Option<u32>,
    /// Whether pieces of it have been let go.
    pub cut: bool,
    /// The request that the scheduler gave, once it has let it go.
    pub given: Option<towtank_iosched::Request<u32>>,
    /// Bytes of it that are done.
    pub position: u64,
    /// Bytes that have been sent to a reader.
    pub answered: u64,
    /// The end of the part that is being processed.
    pub part: u64,
    /// Bytes of its data that have arrived: all, unless there is a handshake.
    pub here: u64,
    /// Pages that were read for it, and not found in memory.
    pub fetched: u64,
    /// Whether something is under way for it that will end in an event.
    pub busy: bool,
    /// Pages of its part that it writes only some bytes of, and whose other bytes it has read.
    pub patched: Patched,
}

/// Which pages at the ends of a written part have been read. The data stays with the job, since its page may
/// leave the cache again before the job writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Patched {
    /// The page in which the part begins.
    pub first: bool,
    /// The page in which it ends.
    pub last: bool,
}

/// A metadata server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Metadata {
    /// Its NIC.
    pub card: Card,
    /// One lane per thread; empty where it serves any number at once.
    pub threads: Vec<Lane>,
    /// The sum of the service times of its requests.
    pub busy: SimSpan,
    /// Requests that arrived.
    pub came: u64,
    /// Requests that it has completed.
    pub done: u64,
    /// `busy` when the last phase began.
    pub before: SimSpan,
}
