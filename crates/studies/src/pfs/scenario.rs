//! The keys of a scenario of a parallel file system, the values of its presets, and its checks.

mod client;
mod filled;
mod form;
mod gate;
mod layout;
mod model;
pub(crate) mod preset;
mod rules;
pub(crate) mod settled;
mod trace;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

pub use self::client::{Client, ClientCache, Fsync, Reads};
use self::filled::filled;
pub use self::form::{Filled, Form, Given};
pub use self::gate::{Parda, SchedulerAt};
pub use self::preset::Preset;
pub use self::settled::Settled;
use self::trace::Recording;
pub use self::trace::{Loop, Trace};

/// Applications read and write files that are striped over servers, through a scheduler in front of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, bound(serialize = "", deserialize = "Scenario<F>: Default"))]
#[schemars(
    rename = "Scenario",
    bound = "Self: Default, Application<F>: JsonSchema, Network<F>: JsonSchema, Metadata<F>: JsonSchema, \
               Client<F>: JsonSchema, Server<F>: JsonSchema, Cache<F>: JsonSchema, Disk<F>: JsonSchema"
)]
pub struct Scenario<F: Form = Given> {
    /// Defaults of network, servers, caches and disks: `hdd` and `nvme` are present-day servers, `paper` is
    /// the cluster of the PFSsim paper.
    pub preset: Preset,
    /// Clients of all applications. Left out: those that applications set, plus 16 if some set none.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "F::omits")]
    pub clients: Option<u32>,
    /// Applications by their weights, each with an equal part of the clients: `1:4` defines two, `app1` and
    /// `app2`.
    #[schemars(example = "1:4")]
    #[serde(skip_serializing_if = "F::omits")]
    pub weights: Option<String>,
    /// Applications by name, each with its own keys: `[applications.batch]`. A key that one does not set has
    /// the value of the scenario's key of the same name.
    pub applications: BTreeMap<String, Application<F>>,
    /// Operations of the clients.
    #[serde(skip_serializing_if = "F::omits")]
    pub workload: Workload,
    /// Recorded requests, in place of those that `workload`, `files` and similar keys generate.
    #[serde(skip_serializing_if = "F::omits")]
    pub trace: Option<Trace>,
    /// Share of reads among the requests of a mix.
    #[serde(skip_serializing_if = "F::omits")]
    pub read_share: Percent,
    /// Whether files are written before the measured phase. Left out: yes, if anything is read.
    pub write_first: F::Key<bool>,
    /// Number of files per client, or per application if its clients share them.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[serde(skip_serializing_if = "F::omits")]
    pub files: u64,
    /// Size of a file.
    #[serde(skip_serializing_if = "F::omits")]
    pub file_size: Bytes,
    /// Size of a request; the last one of a file may be smaller.
    #[serde(skip_serializing_if = "F::omits")]
    pub request_size: Bytes,
    /// Order of the requests to the files.
    #[serde(skip_serializing_if = "F::omits")]
    pub order: Order,
    /// Who uses the files: each client its own, or all clients of an application the same, with requests in
    /// turn (`interleaved`) or each client in one part of each file (`segmented`).
    #[serde(skip_serializing_if = "F::omits")]
    pub sharing: Sharing,
    /// Number of concurrent requests of a client. Left out: 1, or 4096 where a trace is replayed in an open
    /// loop.
    #[schemars(range(min = 1, max = 4_096))]
    #[serde(skip_serializing_if = "F::omits")]
    pub flows: Option<u32>,
    /// Idle time of a client after each request.
    #[serde(skip_serializing_if = "F::omits")]
    pub think_time: SimSpan,
    /// Rate at which a client's requests arrive at random (open loop). Left out: the next one starts when one
    /// is done (closed loop).
    #[serde(skip_serializing_if = "F::omits")]
    pub arrival_rate: Option<Frequency>,
    /// With data caches of clients (`client.cache`), when a write waits until servers have all that its
    /// client wrote to the file: only at the end of the phase, with the last request of each file, or with
    /// each request.
    #[serde(skip_serializing_if = "F::omits")]
    pub fsync: Fsync,
    /// Number of data servers.
    #[schemars(range(min = 1, max = 65_536))]
    pub servers: u32,
    /// Stripe size: bytes of a file on one server before the next server.
    pub stripe: Bytes,
    /// Number of servers that a file is striped over. Left out: all.
    #[schemars(range(min = 1, max = 65_536))]
    pub stripe_count: F::Key<u32>,
    /// Placement of the bytes of a file: `striped`, by `stripe` and `stripe_count`; `file`, each file on one
    /// server; or servers by offset, as Lustre's progressive layouts: `1 to 4MiB, 4x1MiB to 256MiB, all` is
    /// one server for the first 4 MiB, then four with stripes of 1 MiB, then `stripe_count` with stripes of
    /// `stripe`.
    #[schemars(example = "1 to 4MiB, 4x1MiB to 256MiB, all")]
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub layout: Option<String>,
    /// Number of copies, on consecutive servers; the client writes all of them, waits for all, and reads one
    /// (`client.reads`).
    #[schemars(range(min = 1, max = 8))]
    pub replicas: u32,
    /// The scheduler of each server: `fifo`, `sfq:4` (four jobs at once), `mclock:32`, and others; `towtank
    /// pfs --help` lists them.
    #[schemars(example = "sfq:4")]
    #[serde(skip_serializing_if = "F::omits")]
    pub scheduler: String,
    /// If servers have different schedulers: one per server, by its number; the last one also applies to all
    /// further servers.
    #[schemars(with = "Vec<String>")]
    pub schedulers: Vec<F::Scheduler>,
    /// Location of the schedulers: in front of each `server`, at each `client`, which holds back its own
    /// jobs, or at a `proxy` in front of servers.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub scheduler_at: SchedulerAt,
    /// With `scheduler_at = "proxy"`: number of proxies; server n belongs to proxy n modulo their number.
    /// Left out: 1, in front of all servers.
    #[schemars(range(min = 1, max = 65_536))]
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub proxies: Option<u32>,
    /// With `tbf`: rules that start, change and stop at a time after the measured phase has begun, such as
    /// `10s start night jobid={batch} rate=50`, `20s change night rate=80` and `30s stop night`. The rule of
    /// an application's own `request_rate` has its name.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub rules: Vec<String>,
    /// Maximum length of the run, even if requests are not done.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub duration: Option<SimSpan>,
    /// Length of a sample of the shares over time. Left out: an estimated hundredth of the measured phase; in
    /// `paper`, 2.5 s. A run of more than 4,096 samples doubles it until there are no more.
    pub sample: F::Key<SimSpan>,
    /// Whether each application is also run alone, for `slowdown`. Left out: yes, with two to four
    /// applications.
    pub alone: F::Key<bool>,
    /// The network.
    pub network: Network<F>,
    /// Metadata servers.
    pub metadata: Metadata<F>,
    /// The clients.
    pub client: Client<F>,
    /// The data servers.
    pub server: Server<F>,
    /// The page cache of each data server.
    pub cache: Cache<F>,
    /// The disk of each data server.
    pub disk: Disk<F>,
}

/// The keys of one application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(default, rename = "Application", bound = "Self: Default")]
pub struct Application<F: Form = Given> {
    /// Number of its clients. Left out: an equal part of `clients`.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub clients: F::Key<u32>,
    /// Recorded requests that it replays.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub trace: Option<Trace>,
    /// Its weight, relative to those of the others. Left out: 1.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub weight: F::Key<u32>,
    /// Minimum rate that it gets at each server, if the scheduler supports reservations.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub reservation: Option<Rate>,
    /// Maximum rate that it gets at each server, if the scheduler supports limits.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub limit: Option<Rate>,
    /// Rate of its token bucket at each server, if the scheduler counts bytes (`token-bucket`, `htb`,
    /// `sfqrc`).
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub rate: Option<Rate>,
    /// Rate of its token bucket at each server, if the scheduler counts requests (`tbf`, `i2l`).
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub request_rate: Option<Frequency>,
    /// Capacity of its token bucket, in bytes or requests. Left out: a tenth of a second of its rate.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub burst: Option<u64>,
    /// Time from its start within which a request should be done, if the scheduler uses deadlines.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub deadline: Option<SimSpan>,
    /// Its priority, if the scheduler uses priorities: lower goes first.
    pub priority: F::Key<u32>,
    /// As the scenario's key of the same name.
    pub workload: F::Key<Workload>,
    /// As the scenario's key of the same name.
    pub read_share: F::Key<Percent>,
    /// As the scenario's key of the same name.
    pub files: F::Key<u64>,
    /// As the scenario's key of the same name.
    pub file_size: F::Key<Bytes>,
    /// As the scenario's key of the same name.
    pub request_size: F::Key<Bytes>,
    /// As the scenario's key of the same name.
    pub order: F::Key<Order>,
    /// As the scenario's key of the same name.
    pub sharing: F::Key<Sharing>,
    /// As the scenario's key of the same name.
    pub flows: F::Key<u32>,
    /// As the scenario's key of the same name.
    pub think_time: F::Key<SimSpan>,
    /// As the scenario's key of the same name.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub arrival_rate: Option<Frequency>,
    /// As the scenario's key of the same name.
    #[serde(default = "F::no_fsync", skip_serializing_if = "F::omits_fsync")]
    pub fsync: F::Key<Fsync>,
}

/// Operations of the clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// Reads.
    Read,
    /// Writes.
    #[default]
    Write,
    /// Reads and writes.
    Mix,
    /// Creates files.
    Create,
    /// Reads attributes of files.
    Stat,
    /// Removes files.
    Remove,
}

/// Order of the requests to the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// File by file, from the first byte to the last.
    #[default]
    Sequential,
    /// Each request at an offset drawn at random.
    Random,
}

/// Who uses the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Each client has its own.
    #[default]
    Own,
    /// The clients of an application share them; their requests take turns.
    Interleaved,
    /// The clients of an application share them; each uses one part of each file.
    Segmented,
}

/// The network. Defaults are those of the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(default, rename = "Network", bound = "Self: Default")]
pub struct Network<F: Form = Given> {
    /// Bandwidth of each node's NIC, in each direction.
    pub card: F::Key<Rate>,
    /// Whether messages take no time except `latency`.
    #[serde(default)]
    pub ideal: bool,
    /// Latency from NIC to NIC.
    pub latency: F::Key<SimSpan>,
    /// How senders share the switch port to a node: `fifo`, or `fair` by flow.
    pub sharing: F::Key<PortSharing>,
    /// Bytes of a message in addition to its data.
    pub header: F::Key<Bytes>,
    /// Data is sent in messages of this size. Left out: one message per job, or 16KiB if a write waits for
    /// the server (`server.handshake`).
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub slice: Option<Bytes>,
    /// Share of messages that are lost, and sent again after `timeout`.
    pub loss: F::Key<Percent>,
    /// Buffer of a switch port; a message that does not fit is lost.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub buffer: Option<Bytes>,
    /// Time after which a lost message is sent again.
    pub timeout: F::Key<SimSpan>,
    /// Number of routers between clients and all servers; a client uses the one with its number modulo their
    /// count. Left out: none.
    #[schemars(range(min = 1, max = 4_096))]
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub routers: Option<u32>,
    /// Bandwidth of a router, in each direction. Left out: that of a NIC.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub router_rate: Option<Rate>,
}

/// How senders share a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PortSharing {
    /// First come, first served.
    #[default]
    Fifo,
    /// All senders get equal parts at every instant.
    Fair,
}

/// Metadata servers. Defaults are those of the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(default, rename = "Metadata", bound = "Self: Default")]
pub struct Metadata<F: Form = Given> {
    /// Number of metadata servers.
    #[schemars(range(min = 1, max = 4_096))]
    pub servers: F::Key<u32>,
    /// Number of requests that each serves at once; 0: any number.
    #[schemars(range(max = 65_536))]
    pub threads: F::Key<u32>,
    /// Service time to open a file.
    pub open: F::Key<SimSpan>,
    /// Service time to create a file.
    pub create: F::Key<SimSpan>,
    /// Service time to read the attributes of a file.
    pub stat: F::Key<SimSpan>,
    /// Service time to remove a file.
    pub remove: F::Key<SimSpan>,
    /// Which server a file belongs to: by a `hash` of the file, or by its application's `subtree`.
    pub by: F::Key<MetadataBy>,
}

/// Which metadata server a file belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MetadataBy {
    /// By a hash of the file.
    #[default]
    Hash,
    /// By its application.
    Subtree,
}

/// Data servers. Defaults are those of the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(default, rename = "Server", bound = "Self: Default")]
pub struct Server<F: Form = Given> {
    /// Time before work on a dispatched job begins.
    pub before: F::Key<SimSpan>,
    /// Time after a job is done, before its answer is sent.
    pub after: F::Key<SimSpan>,
    /// Number of jobs in service at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub threads: F::Key<u32>,
    /// Size of the parts in which a job is processed.
    pub part: F::Key<Bytes>,
    /// Whether the data of a write waits at the client until the scheduler dispatches its job.
    pub handshake: F::Key<bool>,
    /// Whether a writer of a file excludes other writers and readers.
    pub locks: F::Key<bool>,
}

/// Page caches. Defaults are those of the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(default, rename = "Cache", bound = "Self: Default")]
pub struct Cache<F: Form = Given> {
    /// Whether requests bypass it (O_DIRECT).
    #[serde(default)]
    pub direct: bool,
    /// Its capacity.
    pub size: F::Key<Bytes>,
    /// Maximum of dirty data before writers must write back.
    pub dirty: F::Key<Bytes>,
    /// Dirty data above which write-back begins in the background; 0B: only writers write back.
    pub background: F::Key<Bytes>,
    /// Which pages are evicted first.
    pub replacement: F::Key<Replacement>,
    /// Size of one write-back.
    pub write_batch: F::Key<Bytes>,
    /// Maximum size of one read.
    pub read_batch: F::Key<Bytes>,
    /// Maximum read-ahead of a sequential reader.
    pub read_ahead: F::Key<Bytes>,
    /// Time to copy a page of 4 KiB to a reader.
    pub read_page: F::Key<SimSpan>,
    /// Time to copy a page of 4 KiB from a writer.
    pub write_page: F::Key<SimSpan>,
}

/// Which pages are evicted first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Replacement {
    /// The least recently used.
    #[default]
    Lru,
    /// The oldest in the cache.
    Fifo,
    /// The most recently used.
    Mru,
}

/// Model of a disk's service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiskModel {
    /// An overhead and a rate, at any position.
    #[default]
    Rate,
    /// Seek, rotation and zones of a 7,200 rpm drive of 4 TB (chosen values).
    Seek,
    /// Times by size and distance, fitted to measurements of a 7,200 rpm drive of 500 GB.
    Table,
    /// Flash: channels, dies, a write buffer, and garbage collection of blocks.
    Ssd,
}

/// Which request in the queue of a disk is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeadOrder {
    /// The oldest.
    #[default]
    Fifo,
    /// The nearest to the head.
    Sstf,
    /// The next one above the head; after the highest, the lowest.
    Clook,
}

/// Disks. Defaults are those of the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(default, rename = "Disk", bound = "Self: Default")]
pub struct Disk<F: Form = Given> {
    /// Model of its service time. `read`, `write`, `overhead` and `jitter` apply to `rate`.
    #[serde(default)]
    pub model: DiskModel,
    /// Name of a published drive, such as `cheetah-9lp` or `ssd-mlc`, in place of `model`; docs/drives.md
    /// lists them.
    #[serde(skip_serializing_if = "F::omits_usual")]
    pub drive: Option<String>,
    /// Which request in its queue is next; `rate` always takes the oldest.
    #[serde(default)]
    pub order: HeadOrder,
    /// Capacity of an `ssd`. Its map of pages takes 8 bytes of memory per 8 KiB.
    pub capacity: F::Key<Bytes>,
    /// Read bandwidth.
    pub read: F::Key<Rate>,
    /// Write bandwidth.
    pub write: F::Key<Rate>,
    /// Time before each request: seek and rotation, or the cost of a command.
    pub overhead: F::Key<SimSpan>,
    /// Variation of the time of a request: up to this share less or more, drawn uniformly.
    pub jitter: F::Key<Percent>,
}

/// The maximum number of concurrent requests per client.
const FLOWS_MAX: u32 = 4_096;

const HINT: &str = "`towtank pfs --help` lists all schedulers";

impl Default for Scenario {
    fn default() -> Self {
        Scenario {
            preset: Preset::default(),
            clients: None,
            weights: None,
            applications: BTreeMap::new(),
            workload: Workload::default(),
            trace: None,
            read_share: Percent::from_percent(50).expect("it is no more than all"),
            write_first: None,
            files: 100,
            file_size: Bytes::from_mib(4),
            request_size: Bytes::from_mib(1),
            order: Order::default(),
            sharing: Sharing::default(),
            flows: None,
            think_time: SimSpan::ZERO,
            arrival_rate: None,
            fsync: Fsync::default(),
            servers: 4,
            stripe: Bytes::from_kib(256),
            stripe_count: None,
            layout: None,
            replicas: 1,
            scheduler: "fifo".to_owned(),
            schedulers: Vec::new(),
            scheduler_at: SchedulerAt::default(),
            proxies: None,
            rules: Vec::new(),
            duration: None,
            sample: None,
            alone: None,
            network: Network::default(),
            metadata: Metadata::default(),
            client: Client::default(),
            server: Server::default(),
            cache: Cache::default(),
            disk: Disk::default(),
        }
    }
}

/// A scenario that leaves everything out.
impl Default for Settled {
    fn default() -> Self {
        Scenario::default().with_preset(BTreeMap::new(), &Replays::new())
    }
}

impl Scenario {
    /// Checks the scenario and fills in all defaults.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn settle(self, draft: &Draft) -> Result<Ready, Problems> {
        let mut problems = Problems::new();
        let mut recordings = BTreeMap::new();
        let applications = self.applications(draft, &mut recordings, &mut problems);
        for (key, bytes) in
            [("file_size", self.file_size), ("request_size", self.request_size), ("stripe", self.stripe)]
        {
            if bytes.is_zero() {
                problems.refuse(draft, key, format!("`{key}` is 0B"), "set it to at least 1B");
            }
        }
        if let Some(count) = self.stripe_count.filter(|count| *count > self.servers) {
            let message = format!("`stripe_count` is {count}, but there are {} servers", self.servers);
            problems.refuse(draft, "stripe_count", message, format!("at most {}", self.servers));
        }
        if let Err((message, hint)) = self.components() {
            problems.refuse(draft, "layout", message, hint);
        }
        if self.replicas > self.servers {
            let message = format!("`replicas` is {}, but there are {} servers", self.replicas, self.servers);
            problems.refuse(draft, "replicas", message, format!("at most {}", self.servers));
        }
        let named = self.schedulers.iter().map(|text| ("schedulers", text));
        for (key, text) in std::iter::once(("scheduler", &self.scheduler)).chain(named) {
            if let Err(error) = text.parse::<towtank_iosched::Description>() {
                problems.refuse(draft, key, format!("`{key}`: {error}"), HINT);
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let notes = recordings.values().flat_map(|one| one.notes.clone()).collect();
        let file_bytes = recordings.values().map(|one| one.file_bytes).sum();
        let dealt = recordings.into_iter().map(|(name, one)| {
            let clients = applications.get(&name).map_or(1, |application| application.clients);
            (name, Arc::new(one.dealt(clients)))
        });
        let replays: Replays = dealt.collect();
        let settled = self.with_preset(applications, &replays);
        settled.check(draft, &replays, &mut problems);
        problems.into_result(Ready { settled, replays, notes, file_bytes })
    }

    /// The applications with all defaults filled in, and the traces that they replay.
    fn applications(
        &self,
        draft: &Draft,
        recordings: &mut BTreeMap<String, Recording>,
        problems: &mut Problems,
    ) -> BTreeMap<String, Application<Filled>> {
        let mut named = self.named(draft, problems);
        if !problems.is_empty() {
            return BTreeMap::new();
        }
        self.read_traces(&named, draft, recordings, problems);
        // A trace determines its number of clients itself.
        for (name, recording) in recordings.iter().filter(|_| self.clients.is_none()) {
            if let Some(own) = named.get_mut(name) {
                own.clients = own.clients.or(Some(recording.clients()));
            }
        }
        self.with_clients(named, recordings, draft, problems)
    }

    /// The applications by their names.
    fn named(&self, draft: &Draft, problems: &mut Problems) -> BTreeMap<String, Application> {
        let mut named = self.applications.clone();
        match &self.weights {
            Some(_) if !named.is_empty() => {
                let message = "`weights` and `applications` both define applications";
                problems.refuse(draft, "weights", message, "give each application its own `weight`");
            }
            Some(weights) => match weights_of(weights) {
                Ok(weights) => {
                    let width = weights.len().to_string().len();
                    named.extend(weights.into_iter().enumerate().map(|(number, weight)| {
                        let own = Application { weight: Some(weight), ..Application::default() };
                        (format!("app{:0width$}", number + 1), own)
                    }));
                }
                Err(message) => {
                    problems.refuse(draft, "weights", message, "set weights such as 1:4");
                }
            },
            None if named.is_empty() => drop(named.insert("all".to_owned(), Application::default())),
            None => {}
        }
        let legal = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        for name in named.keys().filter(|name| !legal(name)) {
            let message = format!("`{name}` is not a valid application name");
            problems.refuse(draft, "applications", message, "use lower-case letters, digits and `_`");
        }
        named
    }

    /// Reads the trace of each application that has one.
    fn read_traces(
        &self,
        named: &BTreeMap<String, Application>,
        draft: &Draft,
        recordings: &mut BTreeMap<String, Recording>,
        problems: &mut Problems,
    ) {
        let mut all: BTreeMap<&str, (&Trace, String)> = BTreeMap::new();
        for (name, own) in named {
            let Some(trace) = &own.trace else { continue };
            let section = format!("applications.{name}.trace");
            if trace.application.is_some() {
                let message = format!("`{section}` belongs to its application, but sets `application` too");
                let problem = draft.problem(&format!("{section}.application"), message);
                problems.push(problem.hint("leave `application` out"));
            }
            all.insert(name, (trace, section));
        }
        if let Some(trace) = &self.trace {
            match whose(trace, named) {
                Ok(name) => drop(all.insert(name, (trace, "trace".to_owned()))),
                Err(message) => {
                    let names: Vec<&str> = named.keys().map(String::as_str).collect();
                    let hint = format!("set `trace.application` to one of {}", names.join(", "));
                    problems.refuse(draft, "trace", message, hint);
                }
            }
        }
        for (name, (trace, section)) in all {
            let read = trace.read(draft, &section, self.client.cache.is_on());
            match read.and_then(|recording| recording.with_layouts(draft, &section, self.servers)) {
                Ok(recording) => drop(recordings.insert(name.to_owned(), recording)),
                Err(problem) => problems.push(problem),
            }
        }
    }

    fn with_clients(
        &self,
        named: BTreeMap<String, Application>,
        recordings: &BTreeMap<String, Recording>,
        draft: &Draft,
        problems: &mut Problems,
    ) -> BTreeMap<String, Application<Filled>> {
        let said: u32 = named.values().filter_map(|one| one.clients).sum();
        let open = named.values().filter(|one| one.clients.is_none()).count() as u32;
        let all = self.clients.unwrap_or(if open == 0 { said } else { said + 16 });
        let left = all.saturating_sub(said);
        if open == 0 && all != said {
            let message = format!("`clients` is {all}, but the applications have {said}");
            problems.refuse(draft, "clients", message, "leave `clients` out");
        } else if left < open {
            let message = format!(
                "`clients` is {all}, but {open} applications need at least one each of the {left} left"
            );
            problems.refuse(draft, "clients", message, format!("set at least {}", said + open));
        }
        let mut given = 0;
        let mut number = 0;
        let mut settled = BTreeMap::new();
        for (name, own) in named {
            let clients = own.clients.unwrap_or_else(|| {
                number += 1;
                let until = u64::from(left) * number / u64::from(open.max(1));
                let mine = until as u32 - given;
                given = until as u32;
                mine
            });
            let recording = recordings.get(&name);
            let application = self.application(own, clients, recording);
            if application.flows > 1 && recording.is_some_and(|one| one.waits) {
                let message =
                    format!("`flows` of `{name}` is {}, but its trace has waits", application.flows);
                problems.refuse(
                    draft,
                    "flows",
                    message,
                    "leave `flows` out, so that requests follow one another",
                );
            }
            settled.insert(name, application);
        }
        settled
    }

    fn application(
        &self,
        own: Application,
        clients: u32,
        recording: Option<&Recording>,
    ) -> Application<Filled> {
        let open = recording.is_some_and(|one| one.pace() == Loop::Open);
        let flows = own.flows.or(self.flows).unwrap_or(if open { FLOWS_MAX } else { 1 });
        let trace = recording.map(|one| one.trace.clone());
        let (weight, priority) = (own.weight.unwrap_or(1), own.priority.unwrap_or(0));
        let arrival_rate = own.arrival_rate.or(self.arrival_rate);
        let Application { reservation, limit, rate, request_rate, burst, deadline, .. } = own;
        filled!(Application, own or self:
            workload, read_share, files, file_size, request_size, order, sharing, think_time, fsync;
            clients, trace, weight, reservation, limit, rate, request_rate, burst, deadline, priority,
            flows, arrival_rate)
    }
}

/// A checked scenario, and the traces that it replays.
pub struct Ready {
    /// The scenario with all defaults filled in.
    pub settled: Settled,
    /// The records of each application that has a trace.
    pub replays: Replays,
    /// Warnings on how traces are replayed.
    pub notes: Vec<towtank_report::Warning>,
    /// Memory that the files of traces take, in bytes.
    pub file_bytes: u64,
}

/// Recorded work, by application.
pub type Replays = BTreeMap<String, Arc<towtank_pfs::Replay>>;

/// The application of a trace: the one it names, or the only one.
fn whose<'a>(trace: &Trace, named: &'a BTreeMap<String, Application>) -> Result<&'a str, String> {
    let found = match &trace.application {
        Some(name) => named
            .get_key_value(name)
            .ok_or(format!("`trace.application` is `{name}`, but there is no such application"))?,
        None if named.len() == 1 => named.first_key_value().ok_or("there is no application")?,
        None => return Err(format!("`trace` does not say which of {} applications replays it", named.len())),
    };
    match &found.1.trace {
        Some(_) => Err(format!("`{}` has its own trace in addition to `trace`", found.0)),
        None => Ok(found.0),
    }
}

/// Parses weights, separated by colons.
fn weights_of(text: &str) -> Result<Vec<u32>, String> {
    let one = |word: &str| match word.trim().parse::<u32>() {
        Ok(weight) if weight > 0 => Ok(weight),
        _ => Err(format!("`weights` has `{word}`, but a weight is a whole number from 1")),
    };
    text.split(':').map(one).collect()
}
