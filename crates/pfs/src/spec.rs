//! What a parallel file system is like: how many of what, and what each step costs.

use towtank_devices::drives::{DiskModel, HeadOrder};
use towtank_devices::{Replacement, Sharing};
use towtank_iosched::{Description, Flows, Kind, PardaSpec};
use towtank_units::{Rate, SimSpan};

use crate::layout::Striping;
use crate::rules::TimedRule;
use crate::work::Work;

/// Bytes of a page.
pub const PAGE: u64 = 4_096;

/// The file system, and what is asked of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Data servers.
    pub servers: u32,
    /// Where the bytes of files lie.
    pub striping: Striping,
    /// What clients do.
    pub work: Work,
    /// What crosses from node to node.
    pub network: Network,
    /// Metadata servers.
    pub metadata: Metadata,
    /// What a client does itself.
    pub client: Client,
    /// A data server.
    pub server: Server,
    /// The scheduler in front of each server.
    pub scheduler: Scheduler,
    /// The page cache of each server, if it has one.
    pub cache: Option<Cache>,
    /// The disk of each server.
    pub disk: DiskSpec,
    /// Shares are taken over spans of this length.
    pub sample: SimSpan,
}

/// What crosses from node to node: each has a card that sends and one that receives, and all are joined in a
/// star.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// A card, each way; none takes no time.
    pub card: Option<Rate>,
    /// From one card to another.
    pub latency: SimSpan,
    /// How those who send to one node share its card.
    pub sharing: Sharing,
    /// Bytes of a message beside its data.
    pub header: u64,
    /// Data is cut into messages of this size; none sends the data of a job as one.
    pub slice: Option<u64>,
    /// Of each 1,000,000 messages, so many are lost.
    pub lost: u32,
    /// What a node's port of the switch holds at most; what does not fit is lost. None holds everything.
    pub buffer: Option<u64>,
    /// When what was lost is sent again.
    pub timeout: SimSpan,
}

/// Metadata servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// How many.
    pub servers: u32,
    /// Requests that each serves at once; 0 serves any number, each in its own time.
    pub threads: u32,
    /// To open a file: its layout is told.
    pub open: SimSpan,
    /// To make one.
    pub create: SimSpan,
    /// To tell its attributes.
    pub stat: SimSpan,
    /// To remove it.
    pub remove: SimSpan,
    /// Which server a file belongs to.
    pub by: MetadataBy,
    /// Bytes of an answer.
    pub answer: u64,
}

/// Which metadata server a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataBy {
    /// One of them, by a hash of the file.
    Hash,
    /// The one of its client's or application's directory.
    Subtree,
}

/// What a client does itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Before each request.
    pub request: SimSpan,
    /// For each job, one after the other.
    pub job: SimSpan,
    /// Bytes of a request that are under way at once; the rest waits until all of them are through.
    pub window: u64,
    /// Whether the layout of a file is asked for once, or for each request.
    pub layouts_are_kept: bool,
    /// Copies of each part that a client writes; it reads one.
    pub copies: u32,
    /// Which copy it reads.
    pub reads: Reads,
    /// Its data cache, if it has one.
    pub cache: Option<ClientCache>,
    /// What bounds the jobs that it has out by their latency, if anything does.
    pub parda: Option<Parda>,
    /// Whether its jobs carry what other servers did for it (dmClock).
    pub feedback: bool,
}

/// PARDA at clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parda {
    /// The window of a client, by its application.
    pub hosts: Vec<PardaSpec>,
    /// After how long windows are moved.
    pub interval: SimSpan,
}

/// Which copy a client reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// The first.
    #[default]
    First,
    /// One after the other, window by window, each client beginning at another.
    Spread,
}

/// A client's data cache, which acknowledges writes when it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientCache {
    /// Bytes that it holds.
    pub bytes: u64,
    /// A write waits that would have more bytes than this dirty or on their way to servers.
    pub dirty: u64,
    /// Beyond this many dirty bytes they are written back although nobody waits.
    pub background: u64,
    /// Bytes of a file that are written back at once, at most.
    pub batch: u64,
    /// How many of these are under way at once.
    pub flushes: u16,
    /// To copy what is read or written; none takes no time.
    pub copy: Option<Rate>,
    /// Whether clean bytes are forgotten when a phase begins.
    pub cold: bool,
}

/// A data server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Before a job that the scheduler let go is worked on.
    pub before: SimSpan,
    /// After it is done, before its answer leaves.
    pub after: SimSpan,
    /// Jobs that are worked on at once.
    pub threads: u32,
    /// A job is worked on in parts of this size, one after the other.
    pub part: u64,
    /// Whether the data of a write waits at the client until its job has been let go.
    pub handshake: bool,
    /// Whether writes to a file exclude each other and reads.
    pub locks: bool,
}

/// Schedulers, and what they are told of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler {
    /// Of each server, client or proxy: that of its number, or the last one.
    pub descriptions: Vec<Description>,
    /// A flow for each application.
    pub flows: Flows,
    /// Where they stand.
    pub stands: Stands,
    /// What becomes of rules at servers, in the order of its times.
    pub rules: Vec<TimedRule>,
}

/// Where schedulers stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stands {
    /// One in front of each server.
    #[default]
    Servers,
    /// One at each client; servers take jobs as they come.
    Clients,
    /// So many, each before the servers whose number leaves its own when divided by theirs; servers take jobs
    /// as they come.
    Proxies(u32),
}

/// A page cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Pages that it holds.
    pub pages: u64,
    /// A writer that would make more pages dirty than this writes some back first.
    pub dirty: u64,
    /// Beyond this, pages are written back without anybody waiting; none leaves it to writers.
    pub background: Option<u64>,
    /// Which pages go first.
    pub replacement: Replacement,
    /// Pages that are written back at once.
    pub write_batch: u64,
    /// Pages that are read at once, at most.
    pub read_batch: u64,
    /// Pages that are read ahead of a sequential reader, at most.
    pub read_ahead: u64,
    /// To copy a page to a reader.
    pub read_page: SimSpan,
    /// To copy a page from a writer.
    pub write_page: SimSpan,
}

/// A disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSpec {
    /// What it can do.
    pub model: DiskModel,
    /// Who of those that wait is next.
    pub order: HeadOrder,
}

impl Spec {
    /// Clients.
    #[must_use]
    pub fn clients(&self) -> u32 {
        self.work.clients()
    }
}

impl Scheduler {
    /// The queue in front of a server where nothing has come yet.
    ///
    /// # Panics
    /// As [`Scheduler::queue`].
    #[must_use]
    pub fn at_server(&self, server: u32) -> crate::Queue {
        if self.stands == Stands::Servers { self.queue(server) } else { self.no_queue() }
    }

    /// A queue that holds nothing back.
    pub(crate) fn no_queue(&self) -> crate::Queue {
        let description = Description { depth: None, kind: Kind::Fifo };
        description.build(&self.flows).expect("who comes first is served whatever its weight")
    }

    /// The queue of a number where nothing has come yet.
    ///
    /// # Panics
    /// When a flow would never be served: whoever makes a spec asks [`Description::build`] before.
    #[must_use]
    pub fn queue(&self, number: u32) -> crate::Queue {
        let description = self.descriptions.get(number as usize).or(self.descriptions.last());
        let description = description.expect("a scheduler is named");
        description.build(&self.flows).expect("the flows were checked with the spec")
    }
}
