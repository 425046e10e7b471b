//! The defaults of a parallel file system's network, servers, caches and disks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_units::{Bytes, Percent, SimSpan};

use super::MetadataBy;

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
    pub(super) card: u64,
    pub(super) latency: SimSpan,
    pub(super) header: Bytes,
    pub(super) timeout: SimSpan,
    pub(super) metadata_threads: u32,
    pub(super) open: SimSpan,
    pub(super) create: SimSpan,
    pub(super) stat: SimSpan,
    pub(super) remove: SimSpan,
    pub(super) by: MetadataBy,
    pub(super) answer: u64,
    pub(super) request_cost: SimSpan,
    pub(super) job_cost: SimSpan,
    pub(super) window: Bytes,
    pub(super) keeps_layouts: bool,
    pub(super) before: SimSpan,
    pub(super) after: SimSpan,
    pub(super) threads: u32,
    pub(super) part: Bytes,
    pub(super) cache: Bytes,
    pub(super) dirty: Bytes,
    pub(super) background: Bytes,
    pub(super) write_batch: Bytes,
    pub(super) read_batch: Bytes,
    pub(super) read_ahead: Bytes,
    pub(super) read_page: SimSpan,
    pub(super) write_page: SimSpan,
    pub(super) disk_read: u64,
    pub(super) disk_write: u64,
    pub(super) disk_overhead: SimSpan,
    pub(super) jitter: Percent,
    pub(super) sample: Option<SimSpan>,
}

impl Preset {
    pub(super) fn shipped(self) -> Shipped {
        match self {
            Preset::Paper => paper(),
            // Choices for a server with a 7,200 rpm disk: 4.2 ms for half a rotation and 4.3 ms of seek on
            // average, 200 MB/s on the outer tracks; pages copied at 4 GB/s; 10,000 opens per second and
            // metadata thread. Linux's ratios: writers wait when a fifth of memory is dirty, and background
            // write-back begins at a tenth.
            Preset::Hdd => Shipped {
                card: 3_125_000_000,
                disk_read: 200_000_000,
                disk_write: 200_000_000,
                disk_overhead: SimSpan::from_us(8_500),
                ..today()
            },
            // The same server with a drive that reads at 6 and writes at 3 GB/s, with 80 us per command.
            Preset::Nvme => Shipped {
                card: 12_500_000_000,
                disk_read: 6_000_000_000,
                disk_write: 3_000_000_000,
                disk_overhead: SimSpan::from_us(80),
                ..today()
            },
        }
    }
}

fn today() -> Shipped {
    Shipped {
        card: 3_125_000_000,
        latency: SimSpan::from_us(20),
        header: Bytes::new(256),
        timeout: SimSpan::from_ms(200),
        metadata_threads: 16,
        open: SimSpan::from_us(100),
        create: SimSpan::from_us(200),
        stat: SimSpan::from_us(50),
        remove: SimSpan::from_us(200),
        by: MetadataBy::Hash,
        answer: 1_024,
        request_cost: SimSpan::from_us(10),
        job_cost: SimSpan::from_us(5),
        window: Bytes::from_mib(64),
        keeps_layouts: true,
        before: SimSpan::from_us(20),
        after: SimSpan::from_us(10),
        threads: 64,
        part: Bytes::from_mib(1),
        cache: Bytes::from_gib(16),
        dirty: Bytes::from_mib(3_276),
        background: Bytes::from_mib(1_638),
        write_batch: Bytes::from_mib(4),
        read_batch: Bytes::from_mib(1),
        read_ahead: Bytes::from_mib(4),
        read_page: SimSpan::from_us(1),
        write_page: SimSpan::from_us(1),
        disk_read: 200_000_000,
        disk_write: 200_000_000,
        disk_overhead: SimSpan::from_us(8_500),
        jitter: Percent::ZERO,
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
    Shipped {
        card: 125_000_000,
        latency: SimSpan::from_us(400),
        header: Bytes::new(100),
        metadata_threads: 0,
        open: ms(1),
        create: ms(1),
        stat: ms(1),
        remove: ms(1),
        answer: 300,
        request_cost: ms(1),
        job_cost: SimSpan::from_us(100),
        window: Bytes::from_mib(10),
        keeps_layouts: false,
        before: ms(2),
        after: ms(2),
        threads: 16,
        part: Bytes::from_kib(256),
        cache: Bytes::new(225_000 * 4_096),
        dirty: Bytes::new(101_250 * 4_096),
        background: Bytes::ZERO,
        write_batch: Bytes::from_kib(128),
        read_batch: Bytes::from_mib(4),
        read_ahead: Bytes::ZERO,
        read_page: SimSpan::from_us(10),
        write_page: SimSpan::from_us(190),
        disk_read: (page / 0.30e-3_f64).round() as u64,
        disk_write: (page / 0.60e-3_f64).round() as u64,
        disk_overhead: SimSpan::ZERO,
        jitter: Percent::from_percent(50).unwrap_or(Percent::ZERO),
        sample: Some(ms(2_500)),
        ..today()
    }
}
