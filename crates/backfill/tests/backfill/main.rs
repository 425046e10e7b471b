//! Whole runs of a backfill on every executor, and laws of outages and runs over random clusters.

mod laws;
mod runs;

use towtank_devices::{DiskSpec, SeekRow};
use towtank_units::{Bytes, Rate, SimSpan};

fn rate(bytes: u64) -> Rate {
    Rate::from_bytes_per_second(bytes).expect("above zero")
}

/// A disk that seeks for 12.5 ms, and reads and writes 150 MB/s.
fn disk() -> DiskSpec {
    let seek = SimSpan::from_us(12_500);
    DiskSpec {
        read: rate(150_000_000),
        write: rate(150_000_000),
        read_overhead: SimSpan::ZERO,
        write_overhead: SimSpan::ZERO,
        seeks: vec![SeekRow { from: Bytes::ZERO, read: seek, write: seek }],
        extent: Bytes::ZERO,
    }
}
