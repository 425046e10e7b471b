//! Our own fit of a 500 GB drive with 7200 revolutions per minute, made in 2026 from the measurements of an
//! ST500NM0001 that PFSsim publishes (`disk/ST500NM0001` of its repository; 414 times of 4 KiB to 1 MiB over
//! jumps of 4 KiB to 8 GiB). The measurements are not included here.
//!
//! - **Sequential**: size at 116 MiB/s plus 0.014 ms. Within 7 % of each measured time, except for 8 KiB: 14
//!   % and 18 %.
//! - **Reads** = position(jump) + g(size). A short jump is read through at 116 MiB/s, a long one takes 5.3 ms
//!   plus 24 ns √jump; g is linear between five points. Error: median 4 %, at most 17 % for nine of ten,
//!   worst 35 %, for small reads after jumps of at most 8 KiB.
//! - **Writes** = max(position(jump) + h(size), least(size)): the drive's cache absorbs writes up to 256 KiB,
//!   and position grows with the logarithm of the jump. Error: median 4 %, at most 15 % for nine of ten,
//!   worst 83 %, for 512 KiB after jumps of 128 KiB to 512 KiB, which the drive served as if they were
//!   sequential.

use towtank_units::SimSpan;

use super::table::{TableSpec, Times};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Bytes per second of a sequential transfer.
const STREAM_RATE: f64 = 116.0 * MIB as f64;
const NS_PER_MS: f64 = 1e6;
/// Numbers of powers of two from 4 KiB: sizes up to 1 MiB, jumps up to 8 GiB.
const SIZES: u32 = 9;
const JUMPS: u32 = 22;

/// Pairs of KiB and milliseconds.
const READ_SIZE: [(f64, f64); 5] = [(4.0, 0.0), (128.0, 2.3), (256.0, 3.9), (512.0, 5.0), (1024.0, 9.6)];
const WRITE_SIZE: [(f64, f64); 6] =
    [(4.0, 0.0), (64.0, 0.1), (128.0, 0.25), (256.0, 1.1), (512.0, 2.0), (1024.0, 4.0)];
const WRITE_LEAST: [(f64, f64); 8] = [
    (4.0, 0.45),
    (16.0, 0.5),
    (32.0, 0.9),
    (64.0, 1.3),
    (128.0, 1.65),
    (256.0, 2.95),
    (512.0, 10.6),
    (1024.0, 15.2),
];
/// Pairs of the binary logarithm of the jump and milliseconds.
const WRITE_POSITION: [(f64, f64); 3] = [(13.0, 0.45), (16.0, 1.35), (30.0, 3.95)];

impl TableSpec {
    /// A 500 GB drive with 7200 revolutions per minute, by our own fit.
    #[must_use]
    pub fn fitted_7200_rpm() -> TableSpec {
        table()
    }
}

fn table() -> TableSpec {
    let sizes: Vec<u64> = (0..SIZES).map(|power| (4 * KIB) << power).collect();
    let jumps: Vec<u64> = (0..JUMPS).map(|power| (4 * KIB) << power).collect();
    let times = |time: fn(u64, u64) -> f64| Times {
        sequential: sizes.iter().map(|size| span(sequential(*size))).collect(),
        jumping: sizes
            .iter()
            .map(|size| jumps.iter().map(|jump| span(time(*size, *jump))).collect())
            .collect(),
    };
    let (read, write) = (times(read), times(write));
    TableSpec { sizes, jumps, read, write }
}

fn span(ms: f64) -> SimSpan {
    SimSpan::from_ns_f64_floor(ms * NS_PER_MS)
}

fn stream_ms(bytes: u64) -> f64 {
    bytes as f64 / STREAM_RATE * 1e3
}

fn sequential(size: u64) -> f64 {
    stream_ms(size) + 0.014
}

fn read(size: u64, jump: u64) -> f64 {
    let (through, far) = (0.05 + stream_ms(jump), 5.3 + 2.4e-5 * libm::sqrt(jump as f64));
    through.min(far) + between(&READ_SIZE, (size / KIB) as f64)
}

fn write(size: u64, jump: u64) -> f64 {
    let kib = (size / KIB) as f64;
    let position = between(&WRITE_POSITION, libm::log2(jump as f64));
    (position + between(&WRITE_SIZE, kib)).max(between(&WRITE_LEAST, kib))
}

/// Linear interpolation between the points, constant outside them.
fn between(points: &[(f64, f64)], at: f64) -> f64 {
    let high = points.partition_point(|point| point.0 < at);
    match (high.checked_sub(1).map(|low| points[low]), points.get(high)) {
        (Some(low), Some(high)) => low.1 + (high.1 - low.1) * (at - low.0) / (high.0 - low.0),
        (None, Some(first)) => first.1,
        (Some(last), None) => last.1,
        (None, None) => 0.0,
    }
}
