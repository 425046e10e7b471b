//! A parallel file system in which nothing is left open: its model, and the memory that takes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towtank_devices::drives::{
    self, Noise, RateSpec, SeekCurve, SeekSpec, SsdSpec, TableSpec, TrackBuffer, Zone,
};
use towtank_iosched::{Description, FlowSpec, Flows, Kind};
use towtank_pfs::{
    Application as Work, Cache as PageCache, ClientSpec, Component, DiskSpec, MetadataSpec, Phase, Place,
    Scheduler, ServerSpec, Spec, Striping,
};
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Frequency, Percent, Rate, SimSpan};

use super::{
    DiskModel, HeadOrder, MetadataBy, Order, PortSharing, Preset, Replacement, Scenario, Sharing, Workload,
};

/// A scenario in which nothing is left open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// As in [`Scenario`], like all that follows.
    pub preset: Preset,
    /// By name.
    pub applications: BTreeMap<String, Application>,
    /// Whether files are written before.
    pub write_first: bool,
    /// Data servers.
    pub servers: u32,
    /// Bytes on a server before the next one's turn.
    pub stripe: Bytes,
    /// Servers of a file.
    pub stripe_count: u32,
    /// Copies of what is written.
    pub replicas: u32,
    /// The scheduler of each server, by its number, or the last one.
    pub schedulers: Vec<Description>,
    /// How long at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<SimSpan>,
    /// Spans of shares.
    pub sample: SimSpan,
    /// Whether each application is also run by itself.
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
    /// As in [`super::Application`], like all that follows.
    pub clients: u32,
    /// Its share.
    pub weight: u32,
    /// What it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Rate>,
    /// What it never exceeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Rate>,
    /// What its bucket gains, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// What its bucket gains, in requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_rate: Option<Frequency>,
    /// What its bucket holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// When a request should be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<SimSpan>,
    /// Its rank.
    pub priority: u32,
    /// What its clients do.
    pub workload: Workload,
    /// Of a mix.
    pub read_share: Percent,
    /// Files.
    pub files: u64,
    /// Bytes of a file.
    pub file_size: Bytes,
    /// Bytes of a request.
    pub request_size: Bytes,
    /// The order.
    pub order: Order,
    /// Whose files.
    pub sharing: Sharing,
    /// At once.
    pub flows: u32,
    /// Rest.
    pub think_time: SimSpan,
    /// Where requests come at a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival_rate: Option<Frequency>,
}

/// The network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Each card.
    pub card: Rate,
    /// Whether cards take no time.
    pub ideal: bool,
    /// From card to card.
    pub latency: SimSpan,
    /// At a port.
    pub sharing: PortSharing,
    /// Beside data.
    pub header: Bytes,
    /// Bytes of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Bytes>,
    /// What is lost.
    pub loss: Percent,
    /// What a port holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// When it is sent again.
    pub timeout: SimSpan,
}

/// Metadata servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// How many.
    pub servers: u32,
    /// At once.
    pub threads: u32,
    /// To open.
    pub open: SimSpan,
    /// To make.
    pub create: SimSpan,
    /// To tell.
    pub stat: SimSpan,
    /// To remove.
    pub remove: SimSpan,
    /// Which.
    pub by: MetadataBy,
}

/// Clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// Before a request.
    pub request_cost: SimSpan,
    /// For a job.
    pub job_cost: SimSpan,
    /// At once.
    pub window: Bytes,
    /// Whether layouts are kept.
    pub keeps_layouts: bool,
}

/// Data servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// Before a job.
    pub before: SimSpan,
    /// After it.
    pub after: SimSpan,
    /// At once.
    pub threads: u32,
    /// Parts of a job.
    pub part: Bytes,
    /// Whether data waits at the client.
    pub handshake: bool,
    /// Whether writers exclude each other.
    pub locks: bool,
}

/// Page caches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// Whether there is none.
    pub direct: bool,
    /// What it holds.
    pub size: Bytes,
    /// What may be dirty.
    pub dirty: Bytes,
    /// What may be dirty without anybody writing it back.
    pub background: Bytes,
    /// Which pages go.
    pub replacement: Replacement,
    /// Written back at once.
    pub write_batch: Bytes,
    /// Read at once.
    pub read_batch: Bytes,
    /// Read ahead.
    pub read_ahead: Bytes,
    /// To copy out.
    pub read_page: SimSpan,
    /// To copy in.
    pub write_page: SimSpan,
}

/// Disks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// What its time depends on.
    pub model: DiskModel,
    /// Who is next.
    pub order: HeadOrder,
    /// Of `ssd`.
    pub capacity: Bytes,
    /// How fast it reads.
    pub read: Rate,
    /// How fast it writes.
    pub write: Rate,
    /// Before each request.
    pub overhead: SimSpan,
    /// More or less.
    pub jitter: Percent,
}

fn rate(bytes: u64) -> Rate {
    Rate::from_bytes_per_second(bytes).expect("a preset's rate is above zero")
}

impl Scenario {
    /// The same with what the preset says.
    pub(super) fn with_preset(self, applications: BTreeMap<String, Application>) -> Settled {
        let shipped = self.preset.shipped();
        let reads = |one: &Application| matches!(one.workload, Workload::Read | Workload::Mix);
        let write_first = self.write_first.unwrap_or(applications.values().any(reads));
        let alone = self.alone.unwrap_or((2..=4).contains(&applications.len()));
        let (network, metadata, client) = (self.network, self.metadata, self.client);
        let (server, cache, disk) = (self.server, self.cache, self.disk);
        let handshake = server.handshake.unwrap_or(false);
        let named = if self.schedulers.is_empty() { vec![self.scheduler] } else { self.schedulers };
        let schedulers = named.iter().filter_map(|text| text.parse().ok()).collect();
        // What may be dirty is the same part of another cache.
        let size = cache.size.unwrap_or(shipped.cache);
        let part_of_cache = |bytes: Bytes| match size == shipped.cache {
            true => bytes,
            false => {
                let part = u128::from(bytes.get()) * u128::from(size.get()) / u128::from(shipped.cache.get());
                Bytes::new(u64::try_from(part).unwrap_or(u64::MAX))
            }
        };
        let settled = Settled {
            preset: self.preset,
            write_first,
            servers: self.servers,
            stripe: self.stripe,
            stripe_count: self.stripe_count.unwrap_or(self.servers),
            replicas: self.replicas,
            schedulers,
            duration: self.duration,
            sample: SimSpan::ZERO,
            alone,
            network: Network {
                card: network.card.unwrap_or(rate(shipped.card)),
                ideal: network.ideal,
                latency: network.latency.unwrap_or(shipped.latency),
                sharing: network.sharing.unwrap_or_default(),
                header: network.header.unwrap_or(shipped.header),
                slice: network.slice.or(handshake.then(|| Bytes::from_kib(16))),
                loss: network.loss.unwrap_or(Percent::ZERO),
                buffer: network.buffer,
                timeout: network.timeout.unwrap_or(shipped.timeout),
            },
            metadata: Metadata {
                servers: metadata.servers.unwrap_or(1),
                threads: metadata.threads.unwrap_or(shipped.metadata_threads),
                open: metadata.open.unwrap_or(shipped.open),
                create: metadata.create.unwrap_or(shipped.create),
                stat: metadata.stat.unwrap_or(shipped.stat),
                remove: metadata.remove.unwrap_or(shipped.remove),
                by: metadata.by.unwrap_or(shipped.by),
            },
            client: Client {
                request_cost: client.request_cost.unwrap_or(shipped.request_cost),
                job_cost: client.job_cost.unwrap_or(shipped.job_cost),
                window: client.window.unwrap_or(shipped.window),
                keeps_layouts: client.keeps_layouts.unwrap_or(shipped.keeps_layouts),
            },
            server: Server {
                before: server.before.unwrap_or(shipped.before),
                after: server.after.unwrap_or(shipped.after),
                threads: server.threads.unwrap_or(shipped.threads),
                part: server.part.unwrap_or(shipped.part),
                handshake,
                locks: server.locks.unwrap_or(false),
            },
            cache: Cache {
                direct: cache.direct,
                size: cache.size.unwrap_or(shipped.cache),
                dirty: cache.dirty.unwrap_or_else(|| part_of_cache(shipped.dirty)),
                background: cache.background.unwrap_or_else(|| part_of_cache(shipped.background)),
                replacement: cache.replacement.unwrap_or_default(),
                write_batch: cache.write_batch.unwrap_or(shipped.write_batch),
                read_batch: cache.read_batch.unwrap_or(shipped.read_batch),
                read_ahead: cache.read_ahead.unwrap_or(shipped.read_ahead),
                read_page: cache.read_page.unwrap_or(shipped.read_page),
                write_page: cache.write_page.unwrap_or(shipped.write_page),
            },
            disk: Disk {
                model: disk.model,
                order: disk.order,
                capacity: disk.capacity.unwrap_or(Bytes::from_gib(16)),
                read: disk.read.unwrap_or(rate(shipped.disk_read)),
                write: disk.write.unwrap_or(rate(shipped.disk_write)),
                overhead: disk.overhead.unwrap_or(shipped.disk_overhead),
                jitter: disk.jitter.unwrap_or(shipped.jitter),
            },
            applications,
        };
        let sample = self.sample.or(shipped.sample).unwrap_or_else(|| settled.hundredth());
        Settled { sample, ..settled }
    }
}

impl Settled {
    /// A hundredth of what the measured phase takes at the servers' disks or cards, at least; 1 ms at least.
    fn hundredth(&self) -> SimSpan {
        let bytes: f64 = self.applications.values().map(Application::bytes).sum();
        let disk = self.disk.read.bytes_per_second().max(self.disk.write.bytes_per_second()) as f64;
        let card = self.network.card.bytes_per_second() as f64;
        let all = f64::from(self.servers) * disk.min(card);
        let seconds = self.duration.map_or(bytes / all, |most| most.as_secs_f64().min(bytes / all));
        SimSpan::from_us(((seconds / 100.0 * 1e6) as u64).max(1_000))
    }

    pub(super) fn check(&self, draft: &Draft, problems: &mut Problems) {
        let zero = [
            ("sample", self.sample.is_zero()),
            ("server.part", self.server.part.is_zero()),
            ("client.window", self.client.window.is_zero()),
            ("network.slice", self.network.slice.is_some_and(Bytes::is_zero)),
        ];
        for (key, _) in zero.into_iter().filter(|(_, zero)| *zero) {
            problems.push(draft.problem(key, format!("`{key}` is 0")).hint("give more than nothing"));
        }
        for (key, share) in [("disk.jitter", self.disk.jitter), ("network.loss", self.network.loss)] {
            if share >= Percent::FULL {
                let message = format!("`{key}` is {share}, but it must be less than all");
                problems.push(draft.problem(key, message).hint("10% is much"));
            }
        }
        if self.cache.dirty > self.cache.size {
            let message =
                format!("`cache.dirty` is {}, but the cache holds {}", self.cache.dirty, self.cache.size);
            problems.push(draft.problem("cache.dirty", message).hint("a fifth of the cache is usual"));
        }
        let requests: f64 = self.applications.values().map(Application::requests).sum();
        if requests > REQUESTS_MAX {
            let message =
                format!("the applications make {requests:.0} requests, and {REQUESTS_MAX:.0} is the most");
            problems
                .push(draft.problem("files", message).hint("set fewer `files`, or a larger `request_size`"));
        }
        let flows = self.flows();
        for description in &self.schedulers {
            if let Err(error) = description.build::<u32>(&flows) {
                problems.push(
                    draft.problem("scheduler", error.to_string()).hint("give each application a weight"),
                );
            }
        }
        if let Err(error) = self.disk.spec().model.drive() {
            let message = format!("`disk.capacity` is {}: {error}", self.disk.capacity);
            problems.push(draft.problem("disk.capacity", message).hint("16GiB is the default"));
        }
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
            if one.read_share > Percent::FULL {
                let message = format!("`read_share` of `{name}` is {}, more than all", one.read_share);
                problems.push(draft.problem("applications", message).hint("at most 100%"));
            }
        }
    }

    /// What schedulers are told of the applications.
    #[must_use]
    pub fn flows(&self) -> Flows {
        let requests = |one: &Description| matches!(one.kind, Kind::Tbf { .. } | Kind::I2l(_));
        let by_requests = self.schedulers.iter().any(requests);
        Flows::new(self.applications.values().map(|one| one.flow(by_requests)).collect())
    }

    /// The names of the applications, in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.applications.keys().map(String::as_str).collect()
    }

    /// The model with all applications, or with one of them alone.
    #[must_use]
    pub fn spec(&self, only: Option<&str>) -> Spec {
        let network = &self.network;
        let pages = |bytes: Bytes| bytes.get() / towtank_pfs::PAGE;
        let cache = (!self.cache.direct).then(|| PageCache {
            pages: pages(self.cache.size).max(1),
            dirty: pages(self.cache.dirty),
            background: (!self.cache.background.is_zero()).then(|| pages(self.cache.background)),
            replacement: match self.cache.replacement {
                Replacement::Lru => towtank_devices::Replacement::Lru,
                Replacement::Fifo => towtank_devices::Replacement::Fifo,
                Replacement::Mru => towtank_devices::Replacement::Mru,
            },
            write_batch: pages(self.cache.write_batch).max(1),
            read_batch: pages(self.cache.read_batch).max(1),
            read_ahead: pages(self.cache.read_ahead),
            read_page: self.cache.read_page,
            write_page: self.cache.write_page,
        });
        let works = self.applications.iter().map(|(name, one)| {
            let work = one.work(self.write_first);
            if only.is_some_and(|only| only != name) {
                Work { phases: vec![Phase::Rest; work.phases.len()], ..work }
            } else {
                work
            }
        });
        Spec {
            servers: self.servers,
            striping: Striping::new(
                self.servers,
                vec![Component { end: None, count: self.stripe_count, stripe: self.stripe.get() }],
            ),
            work: towtank_pfs::Work::new(works.collect()),
            network: towtank_pfs::Network {
                card: (!network.ideal).then_some(network.card),
                latency: network.latency,
                sharing: match network.sharing {
                    PortSharing::Fifo => towtank_devices::Sharing::Fifo,
                    PortSharing::Fair => towtank_devices::Sharing::Fair,
                },
                header: network.header.get(),
                slice: network.slice.map(Bytes::get),
                lost: (network.loss.fraction_f64() * 1e6).round() as u32,
                buffer: network.buffer.map(Bytes::get),
                timeout: network.timeout,
            },
            metadata: MetadataSpec {
                servers: self.metadata.servers,
                threads: self.metadata.threads,
                open: self.metadata.open,
                create: self.metadata.create,
                stat: self.metadata.stat,
                remove: self.metadata.remove,
                by: match self.metadata.by {
                    MetadataBy::Hash => towtank_pfs::MetadataBy::Hash,
                    MetadataBy::Subtree => towtank_pfs::MetadataBy::Subtree,
                },
                answer: self.preset.shipped().answer,
            },
            client: ClientSpec {
                request: self.client.request_cost,
                job: self.client.job_cost,
                window: self.client.window.get(),
                layouts_are_kept: self.client.keeps_layouts,
                copies: self.replicas,
                cache: None,
            },
            server: ServerSpec {
                before: self.server.before,
                after: self.server.after,
                threads: self.server.threads,
                part: self.server.part.get(),
                handshake: self.server.handshake,
                locks: self.server.locks,
            },
            scheduler: Scheduler {
                place: Place::Server,
                descriptions: self.schedulers.clone(),
                flows: self.flows(),
            },
            cache,
            disk: self.disk.spec(),
            sample: self.sample,
            until: self.duration,
        }
    }

    /// About how much memory a replicate takes: ranges of pages at servers, files that clients know, and jobs.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        const PROGRAM: f64 = 12_000_000.0;
        let (mut ranges, mut files, mut flows, mut clients) = (0.0, 0.0, 0.0, 0.0);
        for one in self.applications.values() {
            ranges += one.requests() * f64::from(self.stripe_count) * f64::from(self.replicas);
            files += one.all_files() * (1.0 + f64::from(self.stripe_count) * f64::from(self.replicas));
            flows += f64::from(one.clients) * f64::from(one.flows);
            clients += f64::from(one.clients);
        }
        let least = self.stripe.get().min(self.server.part.get()).max(towtank_pfs::PAGE) as f64;
        let cached = f64::from(self.servers) * self.cache.size.get() as f64 / least;
        let kept = if self.cache.direct { 0.0 } else { ranges.min(cached) };
        let jobs = flows * f64::from(self.stripe_count) * f64::from(self.replicas);
        Bytes::new((PROGRAM + RANGE * kept + FILE * files + JOB * jobs + CLIENT * clients) as u64)
    }
}

/// The most requests of a scenario: some hours of computing.
const REQUESTS_MAX: f64 = 1e10;
/// A range of pages in a cache, with its places in the orders.
const RANGE: f64 = 200.0;
/// A file that is known, at a client and at a server.
const FILE: f64 = 32.0;
/// A job under way, with its events.
const JOB: f64 = 900.0;
/// A client.
const CLIENT: f64 = 1_500.0;

impl Application {
    fn work(&self, write_first: bool) -> Work {
        let measured = match self.workload {
            Workload::Read => Phase::Read,
            Workload::Write => Phase::Write,
            Workload::Mix => Phase::Mix((self.read_share.fraction_f64() * 1e6).round() as u32),
            Workload::Create => Phase::Create,
            Workload::Stat => Phase::Stat,
            Workload::Remove => Phase::Remove,
        };
        let mut phases = vec![measured];
        if write_first {
            let reads = matches!(self.workload, Workload::Read | Workload::Mix);
            phases.insert(0, if reads { Phase::Fill } else { Phase::Rest });
        }
        Work {
            clients: self.clients,
            files: self.files,
            file_bytes: self.file_size.get(),
            request_bytes: self.request_size.get(),
            phases,
            order: match self.order {
                Order::Sequential => towtank_pfs::Order::Sequential,
                Order::Random => towtank_pfs::Order::Random,
            },
            sharing: match self.sharing {
                Sharing::Own => towtank_pfs::Sharing::Own,
                Sharing::Interleaved => towtank_pfs::Sharing::Interleaved,
                Sharing::Segmented => towtank_pfs::Sharing::Segmented,
            },
            flows: self.flows.min(u32::from(u16::MAX)) as u16,
            think: self.think_time,
            arrivals: self.arrival_rate.filter(|rate| !rate.is_zero()),
        }
    }

    fn flow(&self, by_requests: bool) -> FlowSpec {
        let rate = match by_requests {
            true => self.request_rate.map_or(0, |rate| rate.per_second_f64().round() as u64),
            false => self.rate.map_or(0, Rate::bytes_per_second),
        };
        FlowSpec {
            weight: self.weight,
            priority: self.priority,
            reservation: self.reservation.map_or(0, Rate::bytes_per_second),
            limit: self.limit.map_or(0, Rate::bytes_per_second),
            delay: self.deadline.unwrap_or(SimSpan::ZERO),
            rate,
            burst: self.burst.unwrap_or((rate / 10).max(1)),
            request_cost: self.request_size.get(),
        }
    }

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

impl Disk {
    fn spec(&self) -> DiskSpec {
        let model = match self.model {
            DiskModel::Rate => drives::DiskModel::Rate(RateSpec {
                read: self.read,
                write: self.write,
                read_overhead: self.overhead,
                write_overhead: self.overhead,
                noise: if self.jitter == Percent::ZERO { Noise::None } else { Noise::Uniform(self.jitter) },
            }),
            DiskModel::Seek => drives::DiskModel::Seek(seek()),
            DiskModel::Table => drives::DiskModel::Table(TableSpec::fitted_7200_rpm()),
            DiskModel::Ssd => drives::DiskModel::Ssd(ssd(self.capacity)),
        };
        let order = match self.order {
            HeadOrder::Fifo => drives::HeadOrder::Fifo,
            HeadOrder::Sstf => drives::HeadOrder::Sstf,
            HeadOrder::Clook => drives::HeadOrder::CLook,
        };
        DiskSpec { model, order }
    }
}

/// A drive of 7,200 revolutions and about 4 TB, by choice: 240 MB/s on the outer tracks and 120 on the inner ones, 0.6,
/// 8.5 and 16 ms over one cylinder, a third and all.
fn seek() -> SeekSpec {
    const CYLINDERS: u32 = 240_000;
    let turn = SimSpan::from_us(8_333);
    let track = |rate: u64| Bytes::new(rate * 8_333 / 1_000_000);
    let ms = |tenths: u64| SimSpan::from_us(100 * tenths);
    let curve = SeekCurve {
        one: ms(6),
        knee_cylinders: CYLINDERS / 3,
        knee: ms(85),
        full_cylinders: CYLINDERS - 1,
        full: ms(160),
    };
    let zone = |mb: u64| Zone { cylinders: CYLINDERS / 5, track: track(mb * 1_000_000) };
    SeekSpec {
        curve,
        turn,
        zones: [240, 215, 185, 150, 120].map(zone).to_vec(),
        surfaces: 10,
        head_switch: SimSpan::from_us(500),
        write_settle: SimSpan::from_us(200),
        overhead: SimSpan::from_us(100),
        stream_gap: SimSpan::from_us(500),
        buffer: TrackBuffer { segments: 32, segment: Bytes::from_mib(2), bus: rate(600_000_000) },
    }
}

/// Flash as MQSim's default has it (8 channels of 8 dies here, pages of 8 KiB, blocks of 256 pages, 75 us, 750 us and 3.8 ms to
/// read, program and erase, 333 MB/s a channel), with 7 % of it spare and a host link of 4 GB/s.
fn ssd(capacity: Bytes) -> SsdSpec {
    const DIES: u64 = 64;
    let page = Bytes::from_kib(8);
    let pages = capacity.get().div_ceil(page.get()).saturating_mul(107) / 100;
    SsdSpec {
        capacity,
        page,
        block_pages: 256,
        die_blocks: u32::try_from(pages.div_ceil(256 * DIES) + 4).unwrap_or(u32::MAX),
        channels: 8,
        channel_dies: 8,
        read: SimSpan::from_us(75),
        program: SimSpan::from_us(750),
        erase: SimSpan::from_us(3_800),
        channel_rate: rate(333_000_000),
        host_rate: rate(4_000_000_000),
        overhead: SimSpan::from_us(10),
        buffer: Bytes::from_mib(64),
        free_blocks: 2,
    }
}
