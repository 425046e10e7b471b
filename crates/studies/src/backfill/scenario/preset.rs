//! The defaults of a backfill's costs, disks and network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_units::SimSpan;

/// The source of defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The cluster of the thesis: disks of 80 random writes per second, a sleep of 0.1 s, 5.2 ms per object
    /// scanned on both sides.
    #[default]
    Thesis,
    /// A small Ceph 16.2 on one machine over loopback, measured: no sleep, 26 us per object scanned.
    Ceph16Loopback,
}

/// The values of a preset.
pub(super) struct Shipped {
    pub(super) recovery_sleep: SimSpan,
    pub(super) look_cost: SimSpan,
    pub(super) range_check_cost: SimSpan,
    pub(super) recovery_cost: SimSpan,
    pub(super) startup: SimSpan,
    pub(super) cached_objects: u32,
    pub(super) disk_rate: u64,
    pub(super) disk_seek: SimSpan,
    pub(super) nic: u64,
    pub(super) latency: SimSpan,
}

impl Preset {
    /// The values of the preset.
    pub(super) fn shipped(self) -> Shipped {
        match self {
            // 5.2 ms per object looked at, half of it on each side, and 0.135 s per object recovered fit
            // table 2 from 10,000 objects on within 6 %. Of the latter, 0.1 s is Ceph's sleep on rotating
            // disks, 12.5 ms each are the read and the write of a disk with 80 random operations per second
            // (the thesis's own figure), and 10 ms are left. The rows of 5,000 objects fit only where looking
            // is free; a metadata cache that holds 5,000 objects but not 10,000 would explain that, but this
            // is a hypothesis. The thesis says that its R-tree of ranges makes 32 Ki ranges a bit slower than
            // 16 Ki and does not say what a search costs: 200 ns per range is chosen so that more ranges gain
            // next to nothing there.
            Preset::Thesis => Shipped {
                recovery_sleep: SimSpan::from_ms(100),
                look_cost: SimSpan::from_us(2_600),
                range_check_cost: SimSpan::from_ns(200),
                recovery_cost: SimSpan::from_ms(10),
                startup: SimSpan::ZERO,
                cached_objects: 7_500,
                disk_rate: 150_000_000,
                disk_seek: SimSpan::from_us(12_500),
                nic: 125_000_000,
                latency: SimSpan::from_us(100),
            },
            // Fitted by relative least squares on the eight runs of repetition 0 with one group of 5,000 or
            // 20,000 objects and no sleep: 0.163 s, 25.8 us per object, 1.204 ms per altered object. The last
            // includes everything that recovering an object takes, so disk and network cost next to nothing
            // in addition.
            Preset::Ceph16Loopback => Shipped {
                recovery_sleep: SimSpan::ZERO,
                look_cost: SimSpan::from_ns(12_900),
                range_check_cost: SimSpan::ZERO,
                recovery_cost: SimSpan::from_us(1_160),
                startup: SimSpan::from_ms(163),
                cached_objects: 0,
                disk_rate: 2_000_000_000,
                disk_seek: SimSpan::ZERO,
                nic: 5_000_000_000,
                latency: SimSpan::from_us(20),
            },
        }
    }
}
