//! The keys of a scenario of a parallel file system, the values of its presets, and its checks.

mod client;
mod filled;
mod gate;
mod layout;
mod model;
pub mod preset;
mod rules;
pub mod settled;
mod trace;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

pub use self::client::{Client, ClientCache, Fsync, Reads};
pub use self::gate::{Parda, SchedulerAt};
pub use self::preset::Preset;
pub use self::settled::Settled;
use self::trace::Recording;
pub use self::trace::{Loop, Trace};

/// Applications read and write files that are striped over servers, through a scheduler in front of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where defaults of network, servers, caches and disks come from: `hdd` and `nvme` are servers of today,
    /// `paper` is the cluster of the PFSsim paper.
    #[serde(default)]
    pub preset: Preset,
    /// Clients of all applications together. Left out: what the applications say, or 16.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub clients: Option<u32>,
    /// Applications by their weights, each with the same part of the clients: `1:4` is two, `app1` and
    /// `app2`.
    #[serde(default)]
    #[schemars(example = "1:4")]
    pub weights: Option<String>,
    /// Applications by name, with what is theirs: `[applications.batch]`. What one does not say, the keys of
    /// the same name outside say for all.
    #[serde(default)]
    pub applications: BTreeMap<String, Application>,
    /// What clients do.
    #[serde(default)]
    pub workload: Workload,
    /// Requests that were recorded, in place of what `workload`, `files` and their like say.
    #[serde(default)]
    pub trace: Option<Trace>,
    /// Of a mix, the share of requests that read.
    #[serde(default = "half")]
    pub read_share: Percent,
    /// Whether files are written before what is measured. Left out: yes, where anything is read.
    #[serde(default)]
    pub write_first: Option<bool>,
    /// Files of a client, or of an application whose clients share them.
    #[serde(default = "files")]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub files: u64,
    /// Bytes of a file.
    #[serde(default = "file_size")]
    pub file_size: Bytes,
    /// Bytes of a request; the last one of a file may have fewer.
    #[serde(default = "request_size")]
    pub request_size: Bytes,
    /// In which order requests go through the files.
    #[serde(default)]
    pub order: Order,
    /// Whose the files are: each client's own, or an application's, with its clients' requests in turn
    /// (`interleaved`) or each with one part of each file (`segmented`).
    #[serde(default)]
    pub sharing: Sharing,
    /// Requests that a client has under way at once. Left out: 1, and 4096 where a trace is replayed at its
    /// times.
    #[serde(default)]
    #[schemars(range(min = 1, max = 4_096))]
    pub flows: Option<u32>,
    /// How long a client rests after each request.
    #[serde(default)]
    pub think_time: SimSpan,
    /// A client's requests come at random at this rate, whatever is done. Left out: the next one comes when
    /// one is done.
    #[serde(default)]
    pub arrival_rate: Option<Frequency>,
    /// Where clients have data caches (`client.cache`), when a write waits for servers to have what its
    /// client has written of the file: at the end of the phase alone, with the last request of each file, or
    /// with each request.
    #[serde(default)]
    pub fsync: Fsync,
    /// Data servers.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 65_536))]
    pub servers: u32,
    /// Bytes of a file on a server before the next one's turn.
    #[serde(default = "stripe")]
    pub stripe: Bytes,
    /// Servers that a file is striped over. Left out: all.
    #[serde(default)]
    #[schemars(range(min = 1, max = 65_536))]
    pub stripe_count: Option<u32>,
    /// Where the bytes of a file lie: `striped`, by `stripe` and `stripe_count`; `file`, each file on one
    /// server; or servers by offset, as Lustre's progressive layouts: `1 to 4MiB, 4x1MiB to 256MiB, all` is
    /// one server for the first 4 MiB, then four with stripes of 1 MiB, then `stripe_count` with stripes of
    /// `stripe`.
    #[serde(default)]
    #[schemars(example = "1 to 4MiB, 4x1MiB to 256MiB, all")]
    pub layout: Option<String>,
    /// Copies of what is written, on servers that follow each other; the client writes all of them, waits for
    /// all, and reads one (`client.reads`).
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 8))]
    pub replicas: u32,
    /// The scheduler of each server: `fifo`, `sfq:4` (four jobs at once), `mclock:32`, and others; `towtank
    /// pfs --help` lists them.
    #[serde(default = "scheduler")]
    #[schemars(example = "sfq:4")]
    pub scheduler: String,
    /// Where servers have different schedulers: that of each, by its number; the last one is also that of all
    /// further servers.
    #[serde(default)]
    pub schedulers: Vec<String>,
    /// Where schedulers stand: in front of each `server`, at each `client`, which holds its own jobs back,
    /// or at a `proxy` before servers.
    #[serde(default)]
    pub scheduler_at: SchedulerAt,
    /// Of `scheduler_at = "proxy"`: how many there are; server n belongs to proxy n modulo their number. Left
    /// out: 1, before all servers.
    #[serde(default)]
    #[schemars(range(min = 1, max = 65_536))]
    pub proxies: Option<u32>,
    /// Of `tbf`: rules that start, change and stop so long after the measured phase has begun, such as `10s
    /// start night jobid={batch} rate=50`, `20s change night rate=80` and `30s stop night`. The rule of an
    /// application's own `request_rate` has its name.
    #[serde(default)]
    pub rules: Vec<String>,
    /// How long the run lasts at most, done or not.
    #[serde(default)]
    pub duration: Option<SimSpan>,
    /// Shares over time are taken in spans of this length. Left out: a hundredth of the measured phase,
    /// estimated; in `paper`, 2.5 s.
    #[serde(default)]
    pub sample: Option<SimSpan>,
    /// Whether each application is also run by itself, for `slowdown`. Left out: yes, where there are two to
    /// four.
    #[serde(default)]
    pub alone: Option<bool>,
    /// The network.
    #[serde(default)]
    pub network: Network,
    /// Metadata servers.
    #[serde(default)]
    pub metadata: Metadata,
    /// What clients do themselves.
    #[serde(default)]
    pub client: Client,
    /// Data servers.
    #[serde(default)]
    pub server: Server,
    /// The page cache of each data server.
    #[serde(default)]
    pub cache: Cache,
    /// The disk of each data server.
    #[serde(default)]
    pub disk: Disk,
}

/// What is one application's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Application {
    /// Its clients. Left out: an equal part of `clients`.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub clients: Option<u32>,
    /// Its share beside the others' weights. Left out: 1.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub weight: Option<u32>,
    /// What it gets of each server in any case, where the scheduler knows reservations.
    pub reservation: Option<Rate>,
    /// What its bucket gains at each server, where the scheduler counts bytes (`token-bucket`, `htb`,
    /// `sfqrc`).
    pub rate: Option<Rate>,
    /// What its bucket gains at each server, where the scheduler counts requests (`tbf`, `i2l`).
    pub request_rate: Option<Frequency>,
    /// What its bucket holds, in bytes or requests. Left out: what it gains in a tenth of a second.
    pub burst: Option<u64>,
    /// What it never exceeds at a server, where the scheduler knows limits.
    pub limit: Option<Rate>,
    /// How long after it began a request should be done, where the scheduler knows deadlines.
    pub deadline: Option<SimSpan>,
    /// Its rank, where the scheduler serves by priority: lower goes first.
    pub priority: Option<u32>,
    /// Requests that were recorded, which it replays.
    pub trace: Option<Trace>,
    /// As outside.
    pub workload: Option<Workload>,
    /// As outside.
    pub read_share: Option<Percent>,
    /// As outside.
    pub files: Option<u64>,
    /// As outside.
    pub file_size: Option<Bytes>,
    /// As outside.
    pub request_size: Option<Bytes>,
    /// As outside.
    pub order: Option<Order>,
    /// As outside.
    pub sharing: Option<Sharing>,
    /// As outside.
    pub flows: Option<u32>,
    /// As outside.
    pub think_time: Option<SimSpan>,
    /// As outside.
    pub arrival_rate: Option<Frequency>,
    /// As outside.
    pub fsync: Option<Fsync>,
}

/// What clients do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// They read.
    Read,
    /// They write.
    #[default]
    Write,
    /// They do both.
    Mix,
    /// They make files.
    Create,
    /// They ask for attributes of files.
    Stat,
    /// They remove files.
    Remove,
}

/// In which order requests go through the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// File by file, from the first byte to the last.
    #[default]
    Sequential,
    /// Each request to a place drawn at random.
    Random,
}

/// Whose files are whose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Each client's own.
    #[default]
    Own,
    /// An application's; its clients' requests come in turn.
    Interleaved,
    /// An application's; each client has one part of each file.
    Segmented,
}

/// What crosses from node to node. What is left out is the preset's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Each node's card, each way.
    pub card: Option<Rate>,
    /// Whether the network takes no time but `latency`.
    pub ideal: bool,
    /// From card to card.
    pub latency: Option<SimSpan>,
    /// How senders share the port to one node: `fifo`, or `fair` by flow.
    pub sharing: Option<PortSharing>,
    /// Bytes of a message beside its data.
    pub header: Option<Bytes>,
    /// Data is sent in messages of this size. Left out: a job's data as one, or 16KiB in packets where a
    /// write waits for the server (`server.handshake`).
    pub slice: Option<Bytes>,
    /// The share of messages that are lost, and sent again after `timeout`.
    pub loss: Option<Percent>,
    /// What a port of the switch holds at most; what does not fit is lost.
    pub buffer: Option<Bytes>,
    /// When what was lost is sent again.
    pub timeout: Option<SimSpan>,
    /// Routers between clients and all servers; a client uses the one with its number modulo their count.
    /// Left out: none.
    #[schemars(range(min = 1, max = 4_096))]
    pub routers: Option<u32>,
    /// What a router forwards, each way. Left out: as much as a card.
    pub router_rate: Option<Rate>,
}

/// How senders share a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PortSharing {
    /// First come, first served.
    #[default]
    Fifo,
    /// Each sender gets the same part at every instant.
    Fair,
}

/// Metadata servers. What is left out is the preset's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Metadata {
    /// How many.
    #[schemars(range(min = 1, max = 4_096))]
    pub servers: Option<u32>,
    /// Requests that each serves at once; 0 serves any number, each in its own time.
    #[schemars(range(max = 65_536))]
    pub threads: Option<u32>,
    /// To open a file.
    pub open: Option<SimSpan>,
    /// To make one.
    pub create: Option<SimSpan>,
    /// To tell its attributes.
    pub stat: Option<SimSpan>,
    /// To remove it.
    pub remove: Option<SimSpan>,
    /// Which server a file belongs to: one by a `hash` of it, or that of its application's `subtree`.
    pub by: Option<MetadataBy>,
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

/// Data servers. What is left out is the preset's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Before a job that the scheduler let go is worked on.
    pub before: Option<SimSpan>,
    /// After it is done, before its answer leaves.
    pub after: Option<SimSpan>,
    /// Jobs that are worked on at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub threads: Option<u32>,
    /// A job is worked on in parts of this size.
    pub part: Option<Bytes>,
    /// Whether the data of a write waits at the client until the scheduler has let its job go.
    pub handshake: Option<bool>,
    /// Whether writers of a file exclude each other, and readers.
    pub locks: Option<bool>,
}

/// Page caches. What is left out is the preset's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cache {
    /// Whether requests go past it to the disk (O_DIRECT).
    pub direct: bool,
    /// What it holds.
    pub size: Option<Bytes>,
    /// What may be dirty of it before writers must write back.
    pub dirty: Option<Bytes>,
    /// What may be dirty of it before it is written back in the background; 0B leaves it to writers.
    pub background: Option<Bytes>,
    /// Which pages go first.
    pub replacement: Option<Replacement>,
    /// What is written back at once.
    pub write_batch: Option<Bytes>,
    /// What is read at once, at most.
    pub read_batch: Option<Bytes>,
    /// What is read ahead of a sequential reader, at most.
    pub read_ahead: Option<Bytes>,
    /// To copy a page of 4 KiB to a reader.
    pub read_page: Option<SimSpan>,
    /// To copy one from a writer.
    pub write_page: Option<SimSpan>,
}

/// Which pages go first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Replacement {
    /// Those used longest ago.
    #[default]
    Lru,
    /// Those that came longest ago.
    Fifo,
    /// Those used last.
    Mru,
}

/// What a disk's time depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiskModel {
    /// An overhead and a rate, wherever it is.
    #[default]
    Rate,
    /// Seek, rotation and zones of a drive of 7,200 revolutions and 4 TB (a choice).
    Seek,
    /// Times by size and jump, fitted to those measured of a drive of 7,200 revolutions and 500 GB.
    Table,
    /// Flash: channels, dies, a write buffer, and blocks that are collected.
    Ssd,
}

/// Who of those that wait for a disk is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeadOrder {
    /// Who came first.
    #[default]
    Fifo,
    /// Who is nearest to the head.
    Sstf,
    /// The next one above the head, and then the lowest.
    Clook,
}

/// Disks. What is left out is the preset's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Disk {
    /// What its time depends on. `read`, `write`, `overhead` and `jitter` are of `rate`.
    pub model: DiskModel,
    /// A published drive by its name, such as `cheetah-9lp` or `ssd-mlc`, in place of `model`; docs/drives.md
    /// lists them.
    pub drive: Option<String>,
    /// Who of those that wait is next; `rate` always takes who came first.
    pub order: HeadOrder,
    /// Of `ssd`: what it holds. Its map of pages takes 8 bytes for each 8 KiB.
    pub capacity: Option<Bytes>,
    /// How fast it reads.
    pub read: Option<Rate>,
    /// How fast it writes.
    pub write: Option<Rate>,
    /// Before each request: seek and rotation, or what a command takes.
    pub overhead: Option<SimSpan>,
    /// A request takes up to this share less or more, drawn evenly.
    pub jitter: Option<Percent>,
}

/// The maximum number of concurrent requests per client.
const FLOWS_MAX: u32 = 4_096;

const HINT: &str = "`towtank pfs --help` lists all schedulers";

fn half() -> Percent {
    Percent::from_percent(50).expect("it is no more than all")
}

fn files() -> u64 {
    100
}

fn file_size() -> Bytes {
    Bytes::from_mib(4)
}

fn request_size() -> Bytes {
    Bytes::from_mib(1)
}

fn one() -> u32 {
    1
}

fn four() -> u32 {
    4
}

fn stripe() -> Bytes {
    Bytes::from_kib(256)
}

fn scheduler() -> String {
    "fifo".to_owned()
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
                problems.push(draft.problem(key, format!("`{key}` is 0B")).hint("give at least 1B"));
            }
        }
        if let Some(count) = self.stripe_count.filter(|count| *count > self.servers) {
            let message = format!("`stripe_count` is {count}, but there are {} servers", self.servers);
            problems.push(draft.problem("stripe_count", message).hint(format!("at most {}", self.servers)));
        }
        if let Err((message, hint)) = self.components() {
            problems.push(draft.problem("layout", message).hint(hint));
        }
        if self.replicas > self.servers {
            let message = format!("`replicas` is {}, but there are {} servers", self.replicas, self.servers);
            problems.push(draft.problem("replicas", message).hint(format!("at most {}", self.servers)));
        }
        let named = self.schedulers.iter().map(|text| ("schedulers", text));
        for (key, text) in std::iter::once(("scheduler", &self.scheduler)).chain(named) {
            if let Err(error) = text.parse::<towtank_iosched::Description>() {
                problems.push(draft.problem(key, format!("`{key}`: {error}")).hint(HINT));
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
    ) -> BTreeMap<String, settled::Application> {
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
                let message = "`weights` makes applications, but `applications` names them";
                problems
                    .push(draft.problem("weights", message).hint("give each application its own `weight`"));
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
                    problems.push(draft.problem("weights", message).hint("give weights such as 1:4"));
                }
            },
            None if named.is_empty() => drop(named.insert("all".to_owned(), Application::default())),
            None => {}
        }
        let legal = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        for name in named.keys().filter(|name| !legal(name)) {
            let message = format!("`{name}` is no name of an application");
            problems
                .push(draft.problem("applications", message).hint("use lower-case letters, digits and `_`"));
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
                let message = format!("`{section}` says whose it is twice");
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
                    problems.push(draft.problem("trace", message).hint(hint));
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
    ) -> BTreeMap<String, settled::Application> {
        let said: u32 = named.values().filter_map(|one| one.clients).sum();
        let open = named.values().filter(|one| one.clients.is_none()).count() as u32;
        let all = self.clients.unwrap_or(if open == 0 { said } else { said + 16 });
        let left = all.saturating_sub(said);
        if open == 0 && all != said {
            let message = format!("`clients` is {all}, but the applications have {said}");
            problems.push(draft.problem("clients", message).hint("leave `clients` out"));
        } else if left < open {
            let message = format!(
                "`clients` is {all}, but {open} applications need at least one each of the {left} left"
            );
            problems.push(draft.problem("clients", message).hint(format!("set at least {}", said + open)));
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
                problems.push(draft.problem("flows", message).hint("leave `flows` out: one after the other"));
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
    ) -> settled::Application {
        let open = recording.is_some_and(|one| one.pace() == Loop::Open);
        settled::Application {
            clients,
            trace: recording.map(|one| one.trace.clone()),
            weight: own.weight.unwrap_or(1),
            reservation: own.reservation,
            rate: own.rate,
            request_rate: own.request_rate,
            burst: own.burst,
            limit: own.limit,
            deadline: own.deadline,
            priority: own.priority.unwrap_or(0),
            workload: own.workload.unwrap_or(self.workload),
            read_share: own.read_share.unwrap_or(self.read_share),
            files: own.files.unwrap_or(self.files),
            file_size: own.file_size.unwrap_or(self.file_size),
            request_size: own.request_size.unwrap_or(self.request_size),
            order: own.order.unwrap_or(self.order),
            sharing: own.sharing.unwrap_or(self.sharing),
            flows: own.flows.or(self.flows).unwrap_or(if open { FLOWS_MAX } else { 1 }),
            think_time: own.think_time.unwrap_or(self.think_time),
            arrival_rate: own.arrival_rate.or(self.arrival_rate),
            fsync: own.fsync.unwrap_or(self.fsync),
        }
    }
}

/// A checked scenario, and the traces that it replays.
pub struct Ready {
    /// The scenario with all defaults filled in.
    pub settled: Settled,
    /// The records of each application that has a trace.
    pub replays: Replays,
    /// Notes for the user on how traces are replayed.
    pub notes: Vec<String>,
    /// Memory that the files of traces take, in bytes.
    pub file_bytes: u64,
}

/// Recorded work, by application.
pub type Replays = BTreeMap<String, Arc<towtank_pfs::Replay>>;

/// The application of a trace: the one it names, or the only one.
fn whose<'a>(trace: &Trace, named: &'a BTreeMap<String, Application>) -> Result<&'a str, String> {
    let found = match &trace.application {
        Some(name) => {
            named.get_key_value(name).ok_or(format!("`trace.application` is `{name}`, which is none"))?
        }
        None if named.len() == 1 => named.first_key_value().ok_or("there is no application")?,
        None => return Err(format!("`trace` does not say which of {} applications replays it", named.len())),
    };
    match &found.1.trace {
        Some(_) => Err(format!("`{}` has a trace of its own beside `trace`", found.0)),
        None => Ok(found.0),
    }
}

/// Parses weights, separated by colons.
fn weights_of(text: &str) -> Result<Vec<u32>, String> {
    let one = |word: &str| match word.trim().parse::<u32>() {
        Ok(weight) if weight > 0 => Ok(weight),
        _ => Err(format!("`weights` has `{word}`, which is no weight: a whole number from 1")),
    };
    text.split(':').map(one).collect()
}
