//! The states of nodes: clients, data servers, metadata servers, and the one who lets phases begin.

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
    /// A scheduler before several servers.
    Proxy(Box<Gate>),
    /// Who lets phases begin: how many clients are through with the one that is on, and which that is.
    Starter(u32, u16),
}

/// A client.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Client {
    /// Its card.
    pub card: Card,
    /// What it does itself, one thing after the other.
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
    /// Requests that have come and wait for a flow, where they come at a rate.
    pub waiting: VecDeque<SimTime>,
    /// How many have come.
    pub come: u64,
    /// Jobs that it has sent.
    pub jobs_sent: u64,
    /// Jobs whose last answer it has.
    pub jobs_done: u64,
    /// Windows that it has begun.
    pub records: u64,
    /// Flows that have nothing to do, where requests come at their own times; the last one begins next.
    pub idle: Vec<u16>,
    /// Its data cache, if it has one.
    pub caching: Option<Box<Caching>>,
    /// What holds its jobs back before they go, if anything does.
    pub gate: Option<Box<Gate>>,
    /// What servers did for it, if its jobs say that.
    pub tracker: Option<Box<Tracker>>,
    /// What it had done when the last phase began.
    pub mark: Mark,
}

/// A client's data cache, and who waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caching {
    /// What it holds.
    pub cache: ClientCache,
    /// What is being written back, by slot.
    pub flushes: Vec<Option<Flush>>,
    /// Requests under way, by flow.
    pub flows: BTreeMap<u16, CachedFlow>,
    /// Those of them that wait.
    pub waiting: BTreeMap<u16, Waits>,
    /// Whether the client's last request of a phase is done, and its dirty bytes are not yet at servers.
    pub draining: bool,
}

/// A run of dirty bytes on its way to servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flush {
    /// Which bytes.
    pub run: Run,
    /// Jobs of it that are not done.
    pub jobs: u32,
}

/// What a client's cache knows of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CachedFlow {
    /// Bytes that were found or taken, and are still to be copied.
    pub copied: u64,
    /// What is being read for it, and whether the cache keeps that.
    pub fetching: Option<(Run, bool)>,
    /// Whether it is done only when its file's dirty bytes are at servers.
    pub syncs: bool,
    /// Whether it has waited for room.
    pub held: bool,
}

/// What a request waits for at its client's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Waits {
    /// For bytes that are being read for somebody else.
    Coming,
    /// For room for what it writes.
    Room,
    /// For the dirty bytes of a file to be at servers.
    Sync(u64),
}

/// A request under way, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flow {
    /// What is wished.
    pub wish: Option<Wish>,
    /// When it began.
    pub rose: SimTime,
    /// Bytes of it in windows that are done or under way.
    pub asked: u64,
    /// Jobs of the window that are not done.
    pub jobs: u32,
}

/// A data server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Server {
    /// Its card.
    pub card: Card,
    /// The scheduler in front of it.
    pub queue: Queue,
    /// When the scheduler is to be woken, if it has asked for that.
    pub wakes: Option<SimTime>,
    /// How far it is with rules that come and go.
    pub ruled: Ruled,
    /// Jobs here, by slot.
    pub slots: Vec<Option<Running>>,
    /// Slots that are free.
    pub free: Vec<u32>,
    /// Jobs that are worked on.
    pub working: u32,
    /// Jobs that wait to be worked on.
    pub idle: VecDeque<u32>,
    /// Jobs that wait for pages that somebody else reads or writes.
    pub blocked: BTreeSet<u32>,
    /// Who holds which object: so many readers, or a writer.
    pub locks: BTreeMap<u64, Holders>,
    /// Copies pages.
    pub memory: Lane,
    /// Its page cache.
    pub cache: Option<PageCache>,
    /// Whether pages are being written back although nobody waits.
    pub cleaning: bool,
    /// Its disk.
    pub disk: Disk,
    /// Bytes of each object that it holds.
    pub sizes: BTreeMap<u64, u64>,
    /// Readers that go through an object from the front: the page that they will want next, and how many are
    /// read ahead.
    pub streams: BTreeMap<u64, (u64, u64)>,
    /// Jobs here.
    pub depth: Level,
    /// Jobs that came.
    pub came: u64,
    /// Jobs that are done.
    pub done: u64,
    /// Bytes of those that are done, and of pieces.
    pub moved: u64,
    /// What had been done when the last phase began.
    pub mark: Mark,
}

/// What a node had done by an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mark {
    /// How long its disk was busy; of a client, its processor.
    pub own: SimSpan,
    /// How long it copied pages.
    pub memory: SimSpan,
    /// How long its card sent.
    pub sent: SimSpan,
    /// How long its card received.
    pub received: SimSpan,
    /// Of a server, the bytes of jobs that were done.
    pub moved: u64,
}

/// Who holds a lock.
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
    /// What it is.
    pub job: Job,
    /// Where the job is that this is a piece of, if the scheduler cut it.
    pub piece_of: Option<u32>,
    /// Whether pieces of it have been let go.
    pub cut: bool,
    /// The request that the scheduler gave, once it has let it go.
    pub given: Option<towtank_iosched::Request<u32>>,
    /// Bytes of it that are done.
    pub position: u64,
    /// Bytes that have been sent to a reader.
    pub answered: u64,
    /// Where the part ends that is worked on.
    pub part: u64,
    /// Bytes of its data that are here: all, unless the client waits to be asked for them.
    pub here: u64,
    /// Pages that were read for it, and not found in memory.
    pub fetched: u64,
    /// Whether something is done for it that will end in an event.
    pub busy: bool,
    /// Pages of its part that it writes only some bytes of, and whose other bytes it has read.
    pub patched: Patched,
}

/// Which pages at the ends of a written part have been read. What was read stays with the job: its page may
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
    /// Its card.
    pub card: Card,
    /// One a thread; none where it serves any number at once.
    pub threads: Vec<Lane>,
    /// How long it has been given to do.
    pub busy: SimSpan,
    /// Requests.
    pub came: u64,
    /// Requests that it has answered.
    pub done: u64,
    /// How long it had been given to do when the last phase began.
    pub before: SimSpan,
}
