//! The defaults of a parallel file system's network, servers, caches and disks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_units::{Bytes, Percent, SimSpan};

use super::filled::rate;
use super::{
    Cache, Client, Disk, DiskModel, Filled, HeadOrder, Metadata, MetadataBy, Network, PortSharing, Reads,
    Replacement, Server,
};

/// The source of defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Present-day servers with a 7,200 rpm disk: 25 Gbit/s, 16 GiB of page cache, 200 MB/s.
    #[default]
    Hdd,
    /// Present-day servers with an NVMe drive: 100 Gbit/s, 16 GiB of page cache, 6 and 3 GB/s.
    Nvme,
    /// The cluster of the PFSsim paper: 1 Gbit/s, 900 MB of page cache, disks of 13 and 6.5 MiB/s.
    Paper,
}

/// The values of a preset.
pub(super) struct Shipped {
    pub(super) network: Network<Filled>,
    pub(super) metadata: Metadata<Filled>,
    /// Bytes of an answer of a metadata server.
    pub(super) answer: u64,
    pub(super) client: Client<Filled>,
    pub(super) server: Server<Filled>,
    pub(super) cache: Cache<Filled>,
    pub(super) disk: Disk<Filled>,
    pub(super) sample: Option<SimSpan>,
}

impl Preset {
    pub(super) fn shipped(self) -> Shipped {
        match self {
            Preset::Paper => paper(),
            Preset::Hdd => today(),
            // The same server with a drive that reads at 6 and writes at 3 GB/s, with 80 us per command.
            Preset::Nvme => {
                let mut shipped = today();
                shipped.network.card = rate(12_500_000_000);
                shipped.disk.read = rate(6_000_000_000);
                shipped.disk.write = rate(3_000_000_000);
                shipped.disk.overhead = SimSpan::from_us(80);
                shipped
            }
        }
    }
}

/// Choices for a server with a 7,200 rpm disk: 4.2 ms for half a rotation and 4.3 ms of seek on average, 200
/// MB/s on the outer tracks; pages copied at 4 GB/s; 10,000 opens per second and metadata thread. Linux's
/// ratios: writers wait when a fifth of memory is dirty, and background write-back begins at a tenth.
fn today() -> Shipped {
    let us = SimSpan::from_us;
    Shipped {
        network: Network {
            card: rate(3_125_000_000),
            ideal: false,
            latency: us(20),
            sharing: PortSharing::Fifo,
            header: Bytes::new(256),
            slice: None,
            loss: Percent::ZERO,
            buffer: None,
            timeout: SimSpan::from_ms(200),
            routers: None,
            router_rate: None,
        },
        metadata: Metadata {
            servers: 1,
            threads: 16,
            open: us(100),
            create: us(200),
            stat: us(50),
            remove: us(200),
            by: MetadataBy::Hash,
        },
        answer: 1_024,
        client: Client {
            request_cost: us(10),
            job_cost: us(5),
            window: Bytes::from_mib(64),
            keeps_layouts: true,
            reads: Reads::First,
            cache: None,
            feedback: false,
            parda: None,
        },
        server: Server {
            before: us(20),
            after: us(10),
            threads: 64,
            part: Bytes::from_mib(1),
            handshake: false,
            locks: false,
        },
        cache: Cache {
            direct: false,
            size: Bytes::from_gib(16),
            dirty: Bytes::from_mib(3_276),
            background: Bytes::from_mib(1_638),
            replacement: Replacement::Lru,
            write_batch: Bytes::from_mib(4),
            read_batch: Bytes::from_mib(1),
            read_ahead: Bytes::from_mib(4),
            read_page: us(1),
            write_page: us(1),
        },
        disk: Disk {
            model: DiskModel::Rate,
            drive: None,
            order: HeadOrder::Fifo,
            capacity: Bytes::from_gib(16),
            read: rate(200_000_000),
            write: rate(200_000_000),
            overhead: us(8_500),
            jitter: Percent::ZERO,
        },
        sample: None,
    }
}

/// The rates and overheads of PFSsim v0.18 (its configuration of October 2011), which are probably its
/// authors' own of the paper's cluster: 0.19 and 0.010 ms to write and read a page in memory, 0.60 and 0.30
/// ms on the disk; 1 ms for a trace line, a layout, and each of scheduler and daemon before and after a job;
/// 0.1 ms per packet; a cache of 900 MB, of which 0.45 may be dirty, written back in batches of 32 pages. The
/// paper has links of 0.2 ms, two on each path. The variation of a real disk is not known; half of its time,
/// up or down, yields the standard deviations of figure 4.
fn paper() -> Shipped {
    let ms = SimSpan::from_ms;
    let page = 4_096.0;
    let usual = today();
    Shipped {
        network: Network {
            card: rate(125_000_000),
            latency: SimSpan::from_us(400),
            header: Bytes::new(100),
            ..usual.network
        },
        metadata: Metadata {
            threads: 0,
            open: ms(1),
            create: ms(1),
            stat: ms(1),
            remove: ms(1),
            ..usual.metadata
        },
        answer: 300,
        client: Client {
            request_cost: ms(1),
            job_cost: SimSpan::from_us(100),
            window: Bytes::from_mib(10),
            keeps_layouts: false,
            ..usual.client
        },
        server: Server {
            before: ms(2),
            after: ms(2),
            threads: 16,
            part: Bytes::from_kib(256),
            ..usual.server
        },
        cache: Cache {
            size: Bytes::new(225_000 * 4_096),
            dirty: Bytes::new(101_250 * 4_096),
            background: Bytes::ZERO,
            write_batch: Bytes::from_kib(128),
            read_batch: Bytes::from_mib(4),
            read_ahead: Bytes::ZERO,
            read_page: SimSpan::from_us(10),
            write_page: SimSpan::from_us(190),
            ..usual.cache
        },
        disk: Disk {
            read: rate((page / 0.30e-3_f64).round() as u64),
            write: rate((page / 0.60e-3_f64).round() as u64),
            overhead: SimSpan::ZERO,
            jitter: Percent::from_percent(50).unwrap_or(Percent::ZERO),
            ..usual.disk
        },
        sample: Some(ms(2_500)),
    }
}
