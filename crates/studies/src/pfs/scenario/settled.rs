//! A parallel file system with all defaults filled in: an estimate of its memory, and the default length of a
//! sample.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_devices::drives;
use towtank_iosched::Description;
use towtank_scenario::{Draft, Problems, did_you_mean};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use super::{
    DiskModel, Fsync, HeadOrder, MetadataBy, Order, PortSharing, Preset, Reads, Replacement, Replays,
    SchedulerAt, Sharing, Trace, Workload,
};

/// A scenario with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// The preset; this and the following fields are keys of the scenario.
    pub preset: Preset,
    /// The applications, by name.
    pub applications: BTreeMap<String, Application>,
    /// Whether files are written before the measured phase.
    pub write_first: bool,
    /// The number of data servers.
    pub servers: u32,
    /// Bytes on a server before the stripe goes on to the next.
    pub stripe: Bytes,
    /// The number of servers per file.
    pub stripe_count: u32,
    /// The layout of files, if not all are striped over `stripe_count` servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Copies of each write.
    pub replicas: u32,
    /// The scheduler of each server, by its number; the last one also for all further servers.
    pub schedulers: Vec<Description>,
    /// The location of schedulers.
    #[serde(default, skip_serializing_if = "SchedulerAt::is_server")]
    pub scheduler_at: SchedulerAt,
    /// The number of proxies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxies: Option<u32>,
    /// Rules that start, change and stop during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The maximum duration of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<SimSpan>,
    /// The length of a sample.
    pub sample: SimSpan,
    /// Whether each application is also run alone.
    pub alone: bool,
    /// The network.
    pub network: Network,
    /// Metadata servers.
    pub metadata: Metadata,
    /// Clients.
    pub client: Client,
    /// Data servers.
    pub server: Server,
    /// Page caches.
    pub cache: Cache,
    /// Disks.
    pub disk: Disk,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Application {
    /// The number of clients; this and the following fields are as in [`super::Application`].
    pub clients: u32,
    /// The trace that it replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Its weight.
    pub weight: u32,
    /// Its reservation at each server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Rate>,
    /// Its limit at each server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Rate>,
    /// The rate of its token bucket, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The rate of its token bucket, in requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_rate: Option<Frequency>,
    /// The capacity of its token bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// The deadline of a request, counted from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<SimSpan>,
    /// Its priority; lower goes first.
    pub priority: u32,
    /// The workload of its clients.
    pub workload: Workload,
    /// The share of reads in a mix.
    pub read_share: Percent,
    /// Files per client, or per application where clients share them.
    pub files: u64,
    /// Bytes per file.
    pub file_size: Bytes,
    /// Bytes per request.
    pub request_size: Bytes,
    /// The order of requests.
    pub order: Order,
    /// Which clients share files.
    pub sharing: Sharing,
    /// Concurrent requests per client.
    pub flows: u32,
    /// The rest after each request.
    pub think_time: SimSpan,
    /// The rate of a client's requests, where they arrive at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival_rate: Option<Frequency>,
    /// When writes wait for servers, where clients have caches.
    #[serde(default, skip_serializing_if = "Fsync::is_phase")]
    pub fsync: Fsync,
}

/// The network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The rate of each NIC, in each direction.
    pub card: Rate,
    /// Whether the network takes no time but `latency`.
    pub ideal: bool,
    /// The latency from NIC to NIC.
    pub latency: SimSpan,
    /// How senders share a port.
    pub sharing: PortSharing,
    /// Bytes of a message beside its data.
    pub header: Bytes,
    /// Data bytes per message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Bytes>,
    /// The share of messages that are lost.
    pub loss: Percent,
    /// The buffer of a switch port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// The time until a lost message is sent again.
    pub timeout: SimSpan,
    /// The number of routers between clients and servers, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routers: Option<u32>,
    /// What a router forwards, in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router_rate: Option<Rate>,
}

/// Metadata servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The number of metadata servers.
    pub servers: u32,
    /// Requests that each serves at once; 0: any number.
    pub threads: u32,
    /// The time to open a file.
    pub open: SimSpan,
    /// The time to create a file.
    pub create: SimSpan,
    /// The time to read a file's attributes.
    pub stat: SimSpan,
    /// The time to remove a file.
    pub remove: SimSpan,
    /// How files are assigned to metadata servers.
    pub by: MetadataBy,
}

/// Clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// The cost of each request.
    pub request_cost: SimSpan,
    /// The cost of each job of a request.
    pub job_cost: SimSpan,
    /// Bytes of a request that are under way at once.
    pub window: Bytes,
    /// Whether the client caches layouts.
    pub keeps_layouts: bool,
    /// Which copy is read.
    #[serde(default, skip_serializing_if = "Reads::is_first")]
    pub reads: Reads,
    /// The data cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<ClientCache>,
    /// Whether jobs carry the service that other servers gave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub feedback: bool,
    /// The windows that limit jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parda: Option<Parda>,
}

/// Windows of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parda {
    /// The latency above which windows shrink.
    pub threshold: SimSpan,
    /// How much of the way a window moves in each step.
    pub gain: Percent,
    /// The weight of the newest latency in the smoothed one.
    pub smoothing: Percent,
    /// The maximum number of outstanding jobs of a client.
    pub window: u32,
    /// The interval between steps.
    pub interval: SimSpan,
}

/// Data caches of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCache {
    /// The capacity of a cache.
    pub size: Bytes,
    /// The maximum of dirty data before writes wait.
    pub dirty: Bytes,
    /// Dirty data above which write-back begins in the background.
    pub background: Bytes,
    /// The maximum size of one write-back.
    pub batch: Bytes,
    /// Write-backs under way at once.
    pub flushes: u32,
    /// The rate of copies to and from the cache.
    pub copy: Rate,
    /// Whether it is emptied when the measured phase begins.
    pub cold: bool,
}

/// Data servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// The time before a job is worked on.
    pub before: SimSpan,
    /// The time after a job is done, before its answer leaves.
    pub after: SimSpan,
    /// Jobs that are worked on at once.
    pub threads: u32,
    /// The size of the parts in which a job is worked on.
    pub part: Bytes,
    /// Whether the data of a write wait at the client for the scheduler.
    pub handshake: bool,
    /// Whether writers of a file lock it.
    pub locks: bool,
}

/// Page caches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// Whether requests bypass the cache.
    pub direct: bool,
    /// The capacity of the cache.
    pub size: Bytes,
    /// The maximum of dirty data before writers must write back.
    pub dirty: Bytes,
    /// Dirty data above which write-back begins in the background.
    pub background: Bytes,
    /// The replacement policy.
    pub replacement: Replacement,
    /// The maximum size of one write-back.
    pub write_batch: Bytes,
    /// The maximum size of one read.
    pub read_batch: Bytes,
    /// The maximum read-ahead.
    pub read_ahead: Bytes,
    /// The time to copy a page to a reader.
    pub read_page: SimSpan,
    /// The time to copy a page from a writer.
    pub write_page: SimSpan,
}

/// Disks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// The model of the disk's service time.
    pub model: DiskModel,
    /// A published drive, in place of `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// The order in which waiting requests are served.
    pub order: HeadOrder,
    /// The capacity of an `ssd`.
    pub capacity: Bytes,
    /// The rate of reads.
    pub read: Rate,
    /// The rate of writes.
    pub write: Rate,
    /// The time before each request.
    pub overhead: SimSpan,
    /// The random variation of a request's time, up or down.
    pub jitter: Percent,
}

impl Settled {
    /// A hundredth of a lower bound on the measured phase (by the servers' disks, NICs or page copies, by the
    /// steps of a client's requests, or by the times of a trace); at least 1 ms.
    #[must_use]
    pub fn hundredth(&self, replays: &Replays) -> SimSpan {
        let bytes: f64 = self.loads(replays).map(|load| load.bytes).sum();
        let recorded = replays.values().map(|one| one.span().as_secs_f64()).fold(0.0, f64::max);
        let disk = self.disk.read.bytes_per_second().max(self.disk.write.bytes_per_second()) as f64;
        let card = self.network.card.bytes_per_second() as f64;
        let all = f64::from(self.servers) * disk.min(card);
        let copies = self.page_copies_s(replays) / f64::from(self.servers);
        let generated = self.applications.iter().filter(|(name, _)| !replays.contains_key(*name));
        let steps = generated.map(|(_, one)| self.steps_s(one)).fold(0.0, f64::max);
        let taken = (bytes / all).max(recorded).max(copies).max(steps);
        let seconds = self.duration.map_or(taken, |most| most.as_secs_f64().min(taken));
        // Sizes that a later check refuses make it longer than any span.
        let us = ((seconds / 100.0 * 1e6) as u64).max(1_000);
        SimSpan::from_us(1).checked_mul(us).unwrap_or(SimSpan::MAX)
    }

    /// Seconds that all servers together copy pages to and from their caches.
    fn page_copies_s(&self, replays: &Replays) -> f64 {
        if self.cache.direct {
            return 0.0;
        }
        let (read, write) = (self.cache.read_page.as_secs_f64(), self.cache.write_page.as_secs_f64());
        let of = |(one, load): (&Application, Load)| {
            let read_share = match one.workload {
                _ if one.trace.is_some() => return load.bytes * read.min(write),
                Workload::Read => 1.0,
                Workload::Mix => one.read_share.fraction_f64(),
                _ => 0.0,
            };
            load.bytes * (read_share * read + (1.0 - read_share) * write * f64::from(self.replicas))
        };
        let all: f64 = self.applications.values().zip(self.loads(replays)).map(of).sum();
        all / towtank_pfs::PAGE as f64
    }

    /// The least time in seconds in which the clients of an application issue their requests: at their rate,
    /// or one after the other with the rest and the steps of each.
    fn steps_s(&self, one: &Application) -> f64 {
        let each = one.requests() / f64::from(one.clients.max(1));
        if let Some(rate) = one.arrival_rate.filter(|rate| !rate.is_zero()) {
            return each / rate.per_second_f64();
        }
        let [think, request, job] =
            [one.think_time, self.client.request_cost, self.client.job_cost].map(SimSpan::as_secs_f64);
        let processor = each * (request + job);
        // What a client's cache holds needs no server.
        let at_servers = if self.client.cache.is_some() {
            0.0
        } else {
            let [latency, before, after, disk] =
                [self.network.latency, self.server.before, self.server.after, self.disk.overhead]
                    .map(SimSpan::as_secs_f64);
            2.0 * latency + before + after + if self.cache.direct { disk } else { 0.0 }
        };
        let in_a_row = (each / f64::from(one.flows.max(1))).ceil();
        processor.max((in_a_row - 1.0) * think + in_a_row * (request + job + at_servers))
    }

    pub(super) fn check(&self, draft: &Draft, replays: &Replays, problems: &mut Problems) {
        let zero = [
            ("sample", self.sample.is_zero()),
            ("server.part", self.server.part.is_zero()),
            ("client.window", self.client.window.is_zero()),
            ("network.slice", self.network.slice.is_some_and(Bytes::is_zero)),
        ];
        for (key, _) in zero.into_iter().filter(|(_, zero)| *zero) {
            problems.push(draft.problem(key, format!("`{key}` is 0")).hint("set it above zero"));
        }
        for (key, share) in [("disk.jitter", self.disk.jitter), ("network.loss", self.network.loss)] {
            if share >= Percent::FULL {
                let message = format!("`{key}` is {share}, but it must be below 100%");
                problems.push(draft.problem(key, message).hint("even 10% is a high value"));
            }
        }
        let routers = self.network.routers;
        if routers == Some(0) || routers.is_none() && self.network.router_rate.is_some() {
            let (key, message) = match routers {
                Some(_) => ("network.routers", "`network.routers` is 0"),
                None => ("network.router_rate", "`network.router_rate` is set, but there are no routers"),
            };
            let hint = "set `network.routers` to their number, or leave both out";
            problems.push(draft.problem(key, message.to_owned()).hint(hint));
        }
        self.client.check(draft, problems);
        self.check_gates(draft, problems);
        self.check_rules(draft, problems);
        if self.cache.dirty > self.cache.size {
            let message =
                format!("`cache.dirty` is {}, but the cache holds {}", self.cache.dirty, self.cache.size);
            problems.push(draft.problem("cache.dirty", message).hint("a fifth of the cache is usual"));
        }
        let requests: f64 = self.loads(replays).map(|load| load.requests).sum();
        if requests > REQUESTS_MAX {
            let message =
                format!("the applications make {requests:.0} requests, but the limit is {REQUESTS_MAX:.0}");
            let hint = "set fewer `files`, a smaller `file_size`, or a larger `request_size`";
            problems.push(draft.problem("files", message).hint(hint));
        }
        let flows = self.flows();
        for description in &self.schedulers {
            if let Err(error) = description.build::<u32>(&flows) {
                problems.push(
                    draft.problem("scheduler", error.to_string()).hint("give each application a weight"),
                );
            }
        }
        if let Some(name) = self.disk.drive.as_deref().filter(|name| drives::DiskModel::named(name).is_none())
        {
            let known = drives::DiskModel::NAMES;
            let message = format!("`disk.drive` is `{name}`, but there is no such drive");
            let meant = did_you_mean(name, known).map_or_else(String::new, |meant| format!("{meant} "));
            let hint = format!("{meant}known drives are {}", known.join(", "));
            problems.push(draft.problem("disk.drive", message).hint(hint));
        } else if let Err(error) = self.disk.spec().model.check() {
            let message = format!("`disk.capacity` is {}: {error}", self.disk.capacity);
            problems.push(draft.problem("disk.capacity", message).hint("16GiB is the default"));
        }
        self.check_applications(draft, problems);
    }

    fn check_applications(&self, draft: &Draft, problems: &mut Problems) {
        for (name, one) in &self.applications {
            for (key, zero) in [
                ("file_size", one.file_size.is_zero()),
                ("request_size", one.request_size.is_zero()),
                ("flows", one.flows == 0),
                ("files", one.files == 0),
            ] {
                if zero {
                    let message = format!("`{key}` of `{name}` is 0");
                    problems.push(draft.problem("applications", message).hint("give at least 1"));
                }
            }
            if one.request_rate.is_some_and(|rate| rate.per_second_f64() < 1.0) {
                let rate = one.request_rate.map_or_else(String::new, |rate| rate.to_string());
                let message =
                    format!("`request_rate` of `{name}` is {rate}, less than one request per second");
                problems.push(draft.problem("applications", message).hint("set a whole number from 1/s"));
            }
            if let (Some(reservation), Some(limit)) = (one.reservation, one.limit)
                && reservation > limit
            {
                let message =
                    format!("`reservation` of `{name}` is {reservation}, more than its `limit` of {limit}");
                problems.push(draft.problem("applications", message).hint("reserve no more than the limit"));
            }
            if one.read_share > Percent::FULL {
                let message = format!("`read_share` of `{name}` is {}, more than 100%", one.read_share);
                problems.push(draft.problem("applications", message).hint("set it to at most 100%"));
            }
        }
    }

    /// The names of the applications, in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.applications.keys().map(String::as_str).collect()
    }

    /// The load of each application.
    fn loads(&self, replays: &Replays) -> impl Iterator<Item = Load> {
        self.applications.iter().map(|(name, one)| match replays.get(name) {
            Some(replay) => {
                let requests = replay.records().len() as f64;
                let request_bytes = replay.bytes().div_ceil((replay.records().len() as u64).max(1));
                let (files, bytes) = (f64::from(replay.files()), replay.bytes() as f64);
                Load { requests, bytes, files, file_bytes: u64::MAX, request_bytes }
            }
            None => Load {
                requests: one.requests(),
                bytes: one.bytes(),
                files: one.all_files(),
                file_bytes: one.file_size.get(),
                request_bytes: one.request_size.get(),
            },
        })
    }

    /// An estimate of the memory of a replicate: ranges of pages at servers, files that clients and servers
    /// know, jobs under way, clients, samples of servers, and the records of traces.
    #[must_use]
    pub fn memory(&self, replays: &Replays) -> Bytes {
        let (mut ranges, mut files, mut jobs, mut clients) = (0.0, 0.0, 0.0, 0.0);
        let copies = f64::from(self.replicas);
        let components = self.components();
        for (one, load) in self.applications.values().zip(self.loads(replays)) {
            let parts = |bytes: u64| {
                let of = |one: &towtank_pfs::Component| {
                    let stripes = bytes.div_ceil(one.stripe.max(1)) as f64;
                    stripes.clamp(1.0, f64::from(one.count))
                };
                components.iter().map(of).fold(1.0, f64::max)
            };
            ranges += load.requests * parts(load.request_bytes) * copies;
            files += load.files * (1.0 + parts(load.file_bytes) * copies);
            let own = load.requests / f64::from(one.clients.max(1));
            let at_once = f64::from(one.flows).min(own);
            jobs += f64::from(one.clients) * at_once * parts(load.request_bytes) * copies;
            clients += f64::from(one.clients);
        }
        let least = self.stripe.get().min(self.server.part.get()).max(towtank_pfs::PAGE) as f64;
        let cached = f64::from(self.servers) * self.cache.size.get() as f64 / least;
        let kept = if self.cache.direct { 0.0 } else { ranges.min(cached) };
        // An SSD has a map of its pages.
        let flash = match self.disk.spec().model {
            drives::DiskModel::Ssd(spec) => {
                f64::from(self.servers) * spec.capacity.get() as f64 / FLASH_PER_BYTE
            }
            _ => 0.0,
        };
        // A client's cache has a range for each request that it holds.
        let held = self.client.cache.map_or(0.0, |cache| {
            let loads = self.applications.values().zip(self.loads(replays));
            let of = |(one, load): (&Application, Load)| {
                let fits = cache.size.get() as f64 / load.request_bytes.max(1) as f64;
                f64::from(one.clients) * fits.min(load.requests / f64::from(one.clients.max(1)))
            };
            loads.map(of).sum()
        });
        let intervals = f64::from(self.servers)
            * (self.applications.len() as f64)
            * f64::from(towtank_pfs::INTERVALS_MAX);
        let known = RANGE * kept + FILE * files + HELD * held + SAMPLE * ranges.min(intervals);
        let records: usize = replays.values().map(|one| one.records().len()).sum();
        let recorded = RECORD * records as f64;
        Bytes::new((PROGRAM + known + recorded + JOB * jobs + CLIENT * clients + flash) as u64)
    }
}

/// The maximum number of requests of a scenario: some hours of computing.
const REQUESTS_MAX: f64 = 1e10;
/// Bytes of a small run. This and the following values were measured: 192,000 small files, 51,200 and 410,000
/// jobs at once, 30,000 clients, and the paper's read test.
const PROGRAM: f64 = 3_000_000.0;
/// Bytes per range of pages in a cache, with its places in the orders.
const RANGE: f64 = 90.0;
/// Bytes per range in a client's cache: its two places in trees, half full.
const HELD: f64 = 200.0;
/// Bytes per sample of an application at a server: an entry of a tree, half full.
const SAMPLE: f64 = 40.0;
/// Bytes per known file, at a client and at each server.
const FILE: f64 = 20.0;
/// Bytes per job under way, with its events: 140 to 430 were measured.
const JOB: f64 = 300.0;
/// Bytes per client.
const CLIENT: f64 = 1_900.0;
/// Bytes per record of a trace.
const RECORD: f64 = size_of::<towtank_pfs::Record>() as f64;
/// Bytes of flash per byte of its map, by its layout: 8 bytes per page of 8 KiB, and 7 % spare.
const FLASH_PER_BYTE: f64 = 8_192.0 / 8.56;

/// The load of an application in the measured phase, generated or recorded.
struct Load {
    requests: f64,
    bytes: f64,
    files: f64,
    /// Bytes per file; no bound where a trace does not give it.
    file_bytes: u64,
    /// Mean bytes per request.
    request_bytes: u64,
}

impl Application {
    fn all_files(&self) -> f64 {
        let own = if self.sharing == Sharing::Own { f64::from(self.clients) } else { 1.0 };
        own * self.files as f64
    }

    /// Bytes of all its files.
    fn bytes(&self) -> f64 {
        self.all_files() * self.file_size.get() as f64
    }

    /// Requests of all its clients.
    fn requests(&self) -> f64 {
        self.all_files() * (self.file_size.get() as f64 / self.request_size.get().max(1) as f64).ceil()
    }
}
