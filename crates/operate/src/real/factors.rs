//! Machines whose constants are other than assumed: the same recovery with each constant times a factor.

use towtank_devices::DiskSpec;
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::model::{Limits, Pace, Throttle};
use towtank_units::{Rate, SimSpan};

use super::machines::Machines;

/// Factors of what is assumed of the disks of one class, and of what all of them share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Factors {
    /// Bytes per second, read and written.
    pub rate: f64,
    /// Time of an object besides its bytes and the sleep: seeks, overheads, and Ceph's own work.
    pub object: f64,
    /// `osd_recovery_sleep`.
    pub sleep: f64,
    /// The most cost per second of recovery in a queue of mClock.
    pub limit: f64,
    /// From a change of the map to the first object that moves.
    pub start: f64,
    /// `osd_max_backfills`, where it is not as assumed.
    pub backfills: Option<u32>,
}

impl Factors {
    /// All as assumed.
    pub(crate) const ASSUMED: Factors =
        Factors { rate: 1.0, object: 1.0, sleep: 1.0, limit: 1.0, start: 1.0, backfills: None };
}

/// What is assumed of a class of disks, in units of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// Bytes per second that it writes.
    pub rate: f64,
    /// Seconds of an object besides its bytes and the sleep.
    pub object: f64,
    /// Seconds of sleep; 0 where there is none.
    pub sleep: f64,
    /// Cost per second; none without a limit.
    pub limit: Option<u64>,
    /// `osd_max_backfills`, where groups reserve.
    pub backfills: Option<u32>,
}

/// A span times a factor.
pub(crate) fn times(span: SimSpan, factor: f64) -> SimSpan {
    SimSpan::from_ns_f64_floor(span.as_ns() as f64 * factor)
}

/// What is assumed of a class.
pub(crate) fn assumed((hardware, limits): (&Hardware, &Limits), class: usize) -> Option<Constants> {
    let device = (0..hardware.devices()).map(towtank_rebuild::plan::DeviceId);
    let device = device.into_iter().find(|device| hardware.class_of(*device) == class)?;
    let disk = hardware.disk(device).spec();
    let seek = disk.seeks.first().map_or(SimSpan::ZERO, |row| row.read.saturating_add(row.write));
    let overheads = disk.read_overhead.saturating_add(disk.write_overhead);
    let throttle = limits.queues.as_ref().and_then(|queues| queues.throttles.get(class));
    Some(Constants {
        rate: disk.write.bytes_per_second() as f64,
        object: seek.saturating_add(overheads).saturating_add(limits.job_cost).as_secs_f64(),
        sleep: limits.paces.get(class).map_or(limits.sleep, |pace| pace.sleep).as_secs_f64(),
        limit: throttle.and_then(|of| of.limits.iter().flatten().min()).copied(),
        backfills: limits.reservations,
    })
}

/// The class of most devices, as the map names it, and its number among those present.
pub(crate) fn main_class(machines: &Machines) -> (usize, &'static str) {
    let hardware = &machines.hardware;
    let count = |class: usize| {
        let all = (0..hardware.devices()).map(towtank_rebuild::plan::DeviceId);
        all.filter(|device| hardware.class_of(*device) == class).count()
    };
    let most = (0..machines.classes.len()).max_by_key(|class| (count(*class), usize::MAX - class));
    let class = most.unwrap_or(0);
    (class, machines.classes.get(class).copied().unwrap_or("hdd"))
}

/// The machines and limits with the factors for a class of disks.
pub(crate) fn with(
    (hardware, limits): (&Hardware, &Limits),
    class: usize,
    factors: &Factors,
) -> (Hardware, Limits) {
    let hardware = hardware.with_disks(|of, spec| match of == class {
        true => disk(spec, factors),
        false => spec.clone(),
    });
    let mut limits = limits.clone();
    limits.job_cost = times(limits.job_cost, factors.object);
    if let Some(pace) = limits.paces.get_mut(class) {
        *pace = Pace { sleep: times(pace.sleep, factors.sleep), ..*pace };
    }
    limits.sleep = limits.paces.iter().map(|pace| pace.sleep).max().unwrap_or(limits.sleep);
    if let (Some(backfills), Some(_)) = (factors.backfills, limits.reservations) {
        limits.reservations = Some(backfills);
    }
    let throttle = limits.queues.as_mut().and_then(|queues| queues.throttles.get_mut(class));
    if let Some(throttle) = throttle {
        let limit = |limit: u64| ((limit as f64 * factors.limit).round() as u64).max(1);
        *throttle = Throttle { limits: throttle.limits.map(|of| of.map(limit)), ..*throttle };
    }
    (hardware, limits)
}

fn disk(spec: &DiskSpec, factors: &Factors) -> DiskSpec {
    let rate = |rate: Rate| {
        let scaled = (rate.bytes_per_second() as f64 * factors.rate).round() as u64;
        Rate::from_bytes_per_second(scaled.max(1)).unwrap_or(rate)
    };
    spec.with(rate, |span| times(span, factors.object))
}
