//! The configuration of a parallel file system: how many nodes of each kind, and the cost of each step.

use towtank_devices::drives::{DiskModel, HeadOrder};
use towtank_devices::{Replacement, Sharing};
use towtank_iosched::{Description, Flows, Kind, PardaSpec};
use towtank_units::{Rate, SimSpan};

use crate::layout::Striping;
use crate::rules::TimedRule;
use crate::work::Work;

/// The size of a page in bytes.
pub const PAGE: u64 = 4_096;

/// The configuration of the file system and its work.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Number of data servers.
    pub servers: u32,
    /// The placement of the bytes of files.
    pub striping: Striping,
    /// What clients do.
    pub work: Work,
    /// The network between the nodes.
    pub network: Network,
    /// Metadata servers.
    pub metadata: Metadata,
    /// The costs and settings of a client.
    pub client: Client,
    /// The costs and settings of a data server.
    pub server: Server,
    /// The scheduler in front of each server.
    pub scheduler: Scheduler,
    /// The page cache of each server, if it has one.
    pub cache: Option<Cache>,
    /// The disk of each server.
    pub disk: DiskSpec,
    /// The length of the sampling interval for shares; a run with too many intervals doubles it
    /// ([`crate::Counts::interval`]).
    pub sample: SimSpan,
}

/// The network: each node has a NIC with one lane for sending and one for receiving; all are joined in a
/// star. Routers, if there are any, stand between clients and all servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Bandwidth of a NIC, in each direction; `None` takes no time.
    pub card: Option<Rate>,
    /// Latency from one NIC to another.
    pub latency: SimSpan,
    /// How senders to one node share its NIC.
    pub sharing: Sharing,
    /// Bytes of a message beside its data.
    pub header: u64,
    /// Data is cut into messages of this size; `None` sends the data of a job as one.
    pub slice: Option<u64>,
    /// Lost messages per 1,000,000.
    pub lost: u32,
    /// The buffer of a node's switch port; messages that do not fit are lost. `None` sets no bound.
    pub buffer: Option<u64>,
    /// The timeout after which a lost message is sent again.
    pub timeout: SimSpan,
    /// The routers between clients and servers, if there are any.
    pub routers: Option<Routers>,
}

/// Routers between the clients' network and that of the servers. A client uses the router with its number
/// modulo their count, for requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routers {
    /// The number of routers.
    pub count: u32,
    /// What each forwards, in each direction.
    pub rate: Rate,
}

/// Metadata servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The number of servers.
    pub servers: u32,
    /// Requests that each serves at once; 0 sets no bound.
    pub threads: u32,
    /// Time to open a file, which returns its layout.
    pub open: SimSpan,
    /// Time to create a file.
    pub create: SimSpan,
    /// Time to return its attributes.
    pub stat: SimSpan,
    /// Time to remove it.
    pub remove: SimSpan,
    /// Which server a file belongs to.
    pub by: MetadataBy,
    /// Bytes of a reply.
    pub answer: u64,
}

/// Which metadata server a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataBy {
    /// A server chosen by a hash of the file.
    Hash,
    /// The server of its client's or application's directory.
    Subtree,
}

/// The costs and settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Processing time before each request.
    pub request: SimSpan,
    /// Processing time per job, one job after the other.
    pub job: SimSpan,
    /// Bytes of a request that are under way at once; the rest waits until all of them are done.
    pub window: u64,
    /// Whether a client keeps layouts, instead of asking for one with each request.
    pub layouts_are_kept: bool,
    /// Copies of each part that a client writes; it reads one.
    pub copies: u32,
    /// Which copy it reads.
    pub reads: Reads,
    /// Its data cache, if it has one.
    pub cache: Option<ClientCache>,
    /// The PARDA window on its outstanding jobs, if there is one.
    pub parda: Option<Parda>,
    /// Whether its jobs carry the service that other servers gave it (dmClock).
    pub feedback: bool,
}

/// PARDA at clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parda {
    /// The window of a client, by its application.
    pub hosts: Vec<PardaSpec>,
    /// The interval after which windows are adapted.
    pub interval: SimSpan,
}

/// Which copy a client reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// The first copy.
    #[default]
    First,
    /// Round robin, window by window; each client begins at another copy.
    Spread,
}

/// A client's data cache, which acknowledges writes once it holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientCache {
    /// Its capacity in bytes.
    pub bytes: u64,
    /// A write waits if it would bring dirty bytes and bytes being written back above this limit.
    pub dirty: u64,
    /// Above this many dirty bytes, write-back starts in the background.
    pub background: u64,
    /// The most bytes of a file per write-back.
    pub batch: u64,
    /// The number of write-backs under way at once.
    pub flushes: u16,
    /// The rate of copying; `None` takes no time.
    pub copy: Option<Rate>,
    /// Whether clean bytes are dropped when a phase begins.
    pub cold: bool,
}

/// A data server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Processing time between the dispatch of a job and its start.
    pub before: SimSpan,
    /// Processing time between completion and the reply.
    pub after: SimSpan,
    /// The number of jobs processed at once.
    pub threads: u32,
    /// The size of the parts in which a job is processed, one after the other.
    pub part: u64,
    /// Whether the data of a write waits at the client until its job has been let go.
    pub handshake: bool,
    /// Whether writes to a file exclude each other and reads.
    pub locks: bool,
}

/// Schedulers, and the properties of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler {
    /// Of each server, client or proxy: the one at its number, or the last one.
    pub descriptions: Vec<Description>,
    /// One flow per application.
    pub flows: Flows,
    /// Where schedulers are placed.
    pub stands: Stands,
    /// Timed commands for the rules of servers, in order of time.
    pub rules: Vec<TimedRule>,
}

/// Where schedulers are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stands {
    /// One in front of each server.
    #[default]
    Servers,
    /// One at each client; servers take jobs as they come.
    Clients,
    /// This many, each in front of the servers whose number modulo this count is its own; servers take jobs
    /// as they come.
    Proxies(u32),
}

/// A page cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its capacity in pages.
    pub pages: u64,
    /// A write that would bring dirty pages above this limit writes some back first.
    pub dirty: u64,
    /// Above this many dirty pages, write-back starts in the background; `None` leaves it to writers.
    pub background: Option<u64>,
    /// The replacement policy.
    pub replacement: Replacement,
    /// Pages per write-back.
    pub write_batch: u64,
    /// The most pages per read.
    pub read_batch: u64,
    /// The most pages that are read ahead of a sequential reader.
    pub read_ahead: u64,
    /// Time to copy a page to a reader.
    pub read_page: SimSpan,
    /// Time to copy a page from a writer.
    pub write_page: SimSpan,
}

/// A disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSpec {
    /// The model of the drive.
    pub model: DiskModel,
    /// The order in which waiting requests are served.
    pub order: HeadOrder,
}

impl Spec {
    /// The number of clients.
    #[must_use]
    pub fn clients(&self) -> u32 {
        self.work.clients()
    }
}

impl Scheduler {
    /// The empty queue in front of a server.
    ///
    /// # Panics
    /// As [`Scheduler::queue`].
    #[must_use]
    pub(crate) fn at_server(&self, server: u32) -> crate::Queue {
        if self.stands == Stands::Servers { self.queue(server) } else { self.no_queue() }
    }

    /// A queue that holds nothing back.
    pub(crate) fn no_queue(&self) -> crate::Queue {
        let description = Description { depth: None, kind: Kind::Fifo };
        description.build(&self.flows).expect("who comes first is served whatever its weight")
    }

    /// The empty queue with this number.
    ///
    /// # Panics
    /// When a flow would never be served; the creator of the spec calls [`Description::build`] first.
    #[must_use]
    pub fn queue(&self, number: u32) -> crate::Queue {
        let description = self.descriptions.get(number as usize).or(self.descriptions.last());
        let description = description.expect("a scheduler is named");
        description.build(&self.flows).expect("the flows were checked with the spec")
    }
}
