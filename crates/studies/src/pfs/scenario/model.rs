//! Builds the model from a settled scenario.

use std::sync::Arc;

use towtank_devices::drives::{
    self, Noise, RateSpec, SeekCurve, SeekSpec, SsdSpec, TableSpec, TrackBuffer, Zone,
};
use towtank_iosched::{Description, FlowSpec, Flows, Kind};
use towtank_pfs::{
    Application as Work, Cache as PageCache, DiskSpec, MetadataSpec, Phase, Replay, Routers, Scheduler,
    ServerSpec, Spec,
};
use towtank_units::{Bytes, Percent, Rate, SimSpan};

use super::filled::rate;
use super::{
    Application, Cache, Disk, DiskModel, Filled, HeadOrder, MetadataBy, Network, Order, PortSharing,
    Replacement, Replays, Settled, Sharing, Workload,
};

/// The due time of a request without a deadline: ten years after its arrival.
const NEVER_DUE: SimSpan = SimSpan::from_secs(315_360_000);

impl Settled {
    /// The properties of the applications that schedulers use.
    #[must_use]
    pub(crate) fn flows(&self) -> Flows {
        let requests = |one: &Description| matches!(one.kind, Kind::Tbf { .. } | Kind::I2l(_));
        let by_requests = self.schedulers.iter().any(requests);
        Flows::new(self.applications.values().map(|one| one.flow(by_requests)).collect())
    }

    /// The model with all applications, or with one of them alone.
    #[must_use]
    pub fn spec(&self, replays: &Replays, only: Option<&str>) -> Spec {
        let works = self.applications.iter().map(|(name, one)| {
            let work = one.work(self.write_first, replays.get(name));
            if only.is_some_and(|only| only != name) {
                Work { phases: vec![Phase::Rest; work.phases.len()], ..work }
            } else {
                work
            }
        });
        let work = towtank_pfs::Work::new(works.collect());
        Spec {
            servers: self.servers,
            striping: self.striping(&work, replays),
            work,
            network: self.network.spec(),
            metadata: self.metadata_spec(),
            client: self.client.spec(self.replicas, self.parda()),
            server: ServerSpec {
                before: self.server.before,
                after: self.server.after,
                threads: self.server.threads,
                part: self.server.part.get(),
                handshake: self.server.handshake,
                locks: self.server.locks,
            },
            scheduler: Scheduler {
                descriptions: self.schedulers.clone(),
                flows: self.flows(),
                stands: self.stands(),
                rules: self.timed_rules(),
            },
            cache: (!self.cache.direct).then(|| self.cache.spec()),
            disk: self.disk.spec(),
            sample: self.sample,
        }
    }

    fn metadata_spec(&self) -> MetadataSpec {
        MetadataSpec {
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
        }
    }
}

impl Network<Filled> {
    fn spec(&self) -> towtank_pfs::Network {
        towtank_pfs::Network {
            card: (!self.ideal).then_some(self.card),
            latency: self.latency,
            sharing: match self.sharing {
                PortSharing::Fifo => towtank_devices::Sharing::Fifo,
                PortSharing::Fair => towtank_devices::Sharing::Fair,
            },
            header: self.header.get(),
            slice: self.slice.map(Bytes::get),
            lost: (self.loss.fraction_f64() * 1e6).round() as u32,
            buffer: self.buffer.map(Bytes::get),
            timeout: self.timeout,
            routers: self.routers.zip(self.router_rate).map(|(count, rate)| Routers { count, rate }),
        }
    }
}

impl Cache<Filled> {
    fn spec(&self) -> PageCache {
        let pages = |bytes: Bytes| bytes.get() / towtank_pfs::PAGE;
        PageCache {
            pages: pages(self.size).max(1),
            dirty: pages(self.dirty),
            background: (!self.background.is_zero()).then(|| pages(self.background)),
            replacement: match self.replacement {
                Replacement::Lru => towtank_devices::Replacement::Lru,
                Replacement::Fifo => towtank_devices::Replacement::Fifo,
                Replacement::Mru => towtank_devices::Replacement::Mru,
            },
            write_batch: pages(self.write_batch).max(1),
            read_batch: pages(self.read_batch).max(1),
            read_ahead: pages(self.read_ahead),
            read_page: self.read_page,
            write_page: self.write_page,
        }
    }
}

impl Application<Filled> {
    fn work(&self, write_first: bool, replay: Option<&Arc<Replay>>) -> Work {
        let measured = match self.workload {
            _ if replay.is_some() => Phase::Replay,
            Workload::Read => Phase::Read,
            Workload::Write => Phase::Write,
            Workload::Mix => Phase::Mix((self.read_share.fraction_f64() * 1e6).round() as u32),
            Workload::Create => Phase::Create,
            Workload::Stat => Phase::Stat,
            Workload::Remove => Phase::Remove,
        };
        let mut phases = vec![measured];
        if write_first {
            let reads = matches!(measured, Phase::Read | Phase::Mix(_));
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
            syncs: self.fsync.spec(),
            replay: replay.map(Arc::clone),
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
            delay: self.deadline.unwrap_or(NEVER_DUE),
            rate,
            // Where requests are counted, the scheduler sets the capacity of a bucket.
            burst: self.burst.unwrap_or(if by_requests { 0 } else { (rate / 10).max(1) }),
            request_cost: self.request_size.get(),
        }
    }
}

impl Disk<Filled> {
    /// The disk of each server.
    pub(super) fn spec(&self) -> DiskSpec {
        let named = self.drive.as_deref().and_then(drives::DiskModel::named);
        let model = named.unwrap_or_else(|| match self.model {
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
        });
        let order = match self.order {
            HeadOrder::Fifo => drives::HeadOrder::Fifo,
            HeadOrder::Sstf => drives::HeadOrder::Sstf,
            HeadOrder::Clook => drives::HeadOrder::CLook,
        };
        DiskSpec { model, order }
    }
}

/// A drive of 7,200 rpm and about 4 TB, by choice: 240 MB/s on the outer tracks and 120 on the inner ones;
/// seeks of 0.6, 8.5 and 16 ms over one cylinder, a third and all.
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

/// Flash with the default values of MQSim (8 channels of 8 dies here, pages of 8 KiB, blocks of 256 pages, 75
/// us, 750 us and 3.8 ms to read, program and erase, 333 MB/s per channel), with 7 % spare and a host link of
/// 4 GB/s.
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
