//! The operation queue of Ceph's daemons, by release: WPQ with sleeps, or mClock with its profiles.
//!
//! Up to 16 the default is WPQ: recovery sleeps after each object. From 17 on it is mClock: all sleeps are
//! 0, and the limits of a profile pace recovery. Sources: `osd.yaml.in` and `mclock-config-ref.rst` of
//! Ceph; the study of the profiles (`mclock_wpq_cmp_study.rst`) for 16 and 17; and the log of a cluster
//! with 16.2.15.
//!
//! What it leaves out: the profile `custom`, and capacities that the daemons measured themselves, unless
//! the user gives them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_rebuild::model::{Costs, Queues, Sharing, Throttle, Weights};
use towtank_rebuild::plan::DeviceId;
use towtank_units::{Bytes, SimSpan};

/// The queue of a daemon: `osd_op_queue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// Weighted priorities, and a sleep after each object: the default up to Ceph 16.
    Wpq,
    /// Reservations, weights and limits by profile: the default from Ceph 17 on.
    Mclock,
}

/// A profile of mClock: `osd_mclock_profile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Clients and recovery alike: the default from Ceph 18 on.
    Balanced,
    /// Clients first: the default of 16 and 17.
    HighClientOps,
    /// Recovery first.
    HighRecoveryOps,
}

/// The queue of all daemons of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mclock {
    /// The release of Ceph.
    pub release: u32,
    /// The profile.
    pub profile: Profile,
    /// The measured random writes of 4 KiB per second of each device, if the user gives them.
    pub capacity: Option<u32>,
    /// The bytes that a work item of recovery counts for up to 17.
    pub item: Bytes,
}

/// What a kind of device has by default.
struct Device {
    /// `osd_mclock_max_capacity_iops_*`.
    capacity: u32,
    /// `osd_mclock_max_sequential_bandwidth_*`, from 18 on.
    bandwidth: u64,
    /// `osd_op_num_shards_*`.
    shards: u32,
    /// The costs of operations, up to 17.
    costs: Costs,
}

const MIB: u64 = 1 << 20;

/// Up to 17 an operation costs 25,000 + 5.2 per byte, divided by a million, on a rotating disk, and 50 +
/// 0.011 per byte, divided by a thousand, on flash.
const ROTATING: Device = Device {
    capacity: 315,
    bandwidth: 150 * MIB,
    shards: 5,
    costs: Costs::Operations { per_io: 250_000, per_byte: 52, unit: 10_000_000 },
};
const FLASH: Device = Device {
    capacity: 21_500,
    bandwidth: 1_200 * MIB,
    shards: 8,
    costs: Costs::Operations { per_io: 50_000, per_byte: 11, unit: 1_000_000 },
};

/// `osd_recovery_cost`: what a work item of recovery counts for up to 17, whatever the size of its object.
pub(crate) const ITEM: Bytes = Bytes::from_mib(20);

/// What a reply counts for up to 17: `osd_push_per_object_cost` and `osd_recovery_max_chunk`.
const REPLY: u64 = 1_000 + 8 * MIB;

/// From this release on costs are bytes, and groups that only move are in the class of background work.
pub(crate) const IN_BYTES: u32 = 18;

/// How a device works on recovery by default: objects at the same time, groups, and the sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovering {
    /// `osd_recovery_max_active_*`.
    pub active: u32,
    /// `osd_max_backfills`.
    pub backfills: u32,
    /// `osd_recovery_sleep_*`.
    pub sleep: SimSpan,
}

impl Mclock {
    /// The limits on recovery that profiles set, for devices of one class.
    #[must_use]
    pub fn recovering(&self, rotates: bool) -> Recovering {
        // 16.2.15 sets 1,000 for both; 17 sets 10, and 20 objects on flash; 18 keeps the usual values.
        let (active, backfills) = match (self.release, rotates) {
            (..=16, _) => (1_000, 1_000),
            (17, true) => (10, 10),
            (17, false) => (20, 10),
            (_, true) => (3, 1),
            (_, false) => (10, 1),
        };
        Recovering { active, backfills, sleep: SimSpan::ZERO }
    }

    /// The costs and limits of devices of one class.
    #[must_use]
    fn throttle(&self, rotates: bool) -> Throttle {
        let device = if rotates { &ROTATING } else { &FLASH };
        let capacity = u64::from(self.capacity.unwrap_or(device.capacity).max(1));
        if self.release < IN_BYTES {
            let (percent, of_clients) = match self.profile {
                Profile::HighClientOps => (100, None),
                Profile::Balanced => (150, Some(100)),
                Profile::HighRecoveryOps => (200, Some(80)),
            };
            let shards = u64::from(device.shards);
            // Rounded to the nearest, as Ceph does.
            let of = |percent: u64| ((2 * percent * capacity + 100 * shards) / (200 * shards)).max(1);
            return Throttle {
                shards: device.shards,
                limits: [Some(of(percent)); 2],
                clients: of_clients.map(of),
                costs: device.costs,
                item: Some(self.item.get()),
                reply: REPLY,
            };
        }
        let shards = if rotates { 1 } else { device.shards };
        let percent = match self.profile {
            Profile::Balanced => Some(90),
            Profile::HighClientOps => Some(70),
            Profile::HighRecoveryOps => None,
        };
        let limit = percent.map(|percent| device.bandwidth * percent / 100 / u64::from(shards));
        let costs = Costs::Bytes { least: device.bandwidth / capacity };
        Throttle { shards, limits: [None, limit], clients: None, costs, item: None, reply: 1 }
    }

    /// The queues of all devices: `pools` has the number of each pool's first group, `zero` is the device
    /// with the number 0, and `rotates` has for each class of disk whether it rotates.
    #[must_use]
    pub fn queues(&self, pools: Vec<u32>, zero: Option<DeviceId>, rotates: &[bool]) -> Queues {
        let throttles = rotates.iter().map(|&rotates| self.throttle(rotates)).collect();
        Queues { pools, sharing: self.sharing(zero), throttles }
    }

    /// The operations of clients of so many bytes that a device of one class serves per second at most, as
    /// the first device of each; none without a limit.
    #[must_use]
    pub(crate) fn most_of_clients(&self, rotates: bool, bytes: u64) -> Option<f64> {
        let throttle = self.throttle(rotates);
        let shards = f64::from(throttle.shards);
        throttle.clients.map(|limit| shards * limit as f64 / throttle.costs.of(bytes) as f64)
    }

    /// Which steps share a limit; `zero` is the device with the number 0. From 18 on all steps of a class
    /// do.
    #[must_use]
    pub fn sharing(&self, zero: Option<DeviceId>) -> Sharing {
        if self.release < IN_BYTES { Sharing::BySender { with_items: zero } } else { Sharing::Together }
    }

    /// The shares of a busy device for clients, groups that lack something, and groups that only move. Each
    /// class has its reservation, and classes divide the rest by their weights. Up to 17 the last two are
    /// one class.
    #[must_use]
    pub fn weights(&self) -> Weights {
        let (clients, lacking, moving) = match (self.release < IN_BYTES, self.profile) {
            // Reservations of 50 and 25 %, and weights of 2 and 1 for the rest: 2 to 1.
            (true, Profile::HighClientOps) => (2, 1, None),
            (true, Profile::Balanced) => (1, 1, None),
            // 30 and 60 %, weights of 1 and 2.
            (true, Profile::HighRecoveryOps) => (1, 2, None),
            // Half each; against work with no reservation half and half of the other half: 75 to 25.
            (false, Profile::Balanced) => (3, 3, Some(1)),
            // 60 to 40; 60 and two thirds of 40 against the rest: 13 to 2.
            (false, Profile::HighClientOps) => (39, 26, Some(6)),
            // 30 to 70; 30 and half of 70 against the rest: 65 to 35.
            (false, Profile::HighRecoveryOps) => (39, 91, Some(21)),
        };
        Weights { clients, lacking, moving }
    }
}

impl Profile {
    /// The default of a release.
    #[must_use]
    pub(crate) fn of_release(release: u32) -> Profile {
        if release < IN_BYTES { Profile::HighClientOps } else { Profile::Balanced }
    }

    /// Its name in Ceph.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Balanced => "balanced",
            Profile::HighClientOps => "high_client_ops",
            Profile::HighRecoveryOps => "high_recovery_ops",
        }
    }
}

impl Queue {
    /// The default of a release.
    #[must_use]
    pub(crate) fn of_release(release: u32) -> Queue {
        if release < 17 { Queue::Wpq } else { Queue::Mclock }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mclock(release: u32, profile: Profile) -> Mclock {
        Mclock { release, profile, capacity: None, item: ITEM }
    }

    /// The limits in force in 16.2.15 with 315 operations a second and 5 shards: 63, 95 and 126; those of
    /// clients are none, 63 and 50.
    #[test]
    fn limits_of_16_are_those_in_force() {
        let limit = |profile| mclock(16, profile).throttle(true).limits;
        assert_eq!(limit(Profile::HighClientOps), [Some(63); 2]);
        assert_eq!(limit(Profile::Balanced), [Some(95); 2]);
        assert_eq!(limit(Profile::HighRecoveryOps), [Some(126); 2]);
        let clients = |profile| mclock(16, profile).throttle(true).clients;
        assert_eq!(clients(Profile::HighClientOps), None);
        assert_eq!((clients(Profile::Balanced), clients(Profile::HighRecoveryOps)), (Some(63), Some(50)));
        let most = |release, bytes| mclock(release, Profile::HighRecoveryOps).most_of_clients(true, bytes);
        assert_eq!((most(17, 4_096), most(18, 4_096)), (Some(250.0), None));
        assert_eq!(most(17, 4 << 20), Some(250.0 / 22.0), "4 MiB cost 22");
        let throttle = mclock(16, Profile::Balanced).throttle(true);
        let cost = |bytes: Option<u64>| throttle.costs.of(bytes.unwrap_or(0));
        assert_eq!((cost(throttle.item), throttle.costs.of(throttle.reply)), (109, 44));
        let flash = mclock(16, Profile::HighClientOps).throttle(false);
        assert_eq!((flash.limits[0], flash.costs.of(ITEM.get())), (Some(2_688), 231));
        let dear = Mclock { item: Bytes::from_mib(40), ..mclock(16, Profile::Balanced) }.throttle(true);
        assert_eq!(dear.costs.of(dear.item.unwrap_or(0)), 218, "0.025 + 5.2e-6 * 40 MiB");
        let slow = Mclock { capacity: Some(100), ..mclock(16, Profile::HighClientOps) };
        assert_eq!(slow.throttle(true).limits[0], Some(20));
    }

    /// From 18 on only data that move have a limit, in bytes: 90 % of 150 MiB/s, and an operation costs 499
    /// kB at least.
    #[test]
    fn limits_from_18_on_are_in_bytes() {
        let throttle = mclock(18, Profile::Balanced).throttle(true);
        assert_eq!(throttle.limits, [None, Some(141_557_760)]);
        assert_eq!((throttle.shards, throttle.costs), (1, Costs::Bytes { least: 499_321 }));
        let flash = mclock(19, Profile::HighClientOps).throttle(false);
        assert_eq!(flash.limits, [None, Some(1_200 * MIB * 7 / 10 / 8)]);
        assert_eq!(flash.costs, Costs::Bytes { least: 58_525 });
        assert_eq!(mclock(20, Profile::HighRecoveryOps).throttle(true).limits, [None, None]);
    }

    /// Reservations in percent and weights of clients, recovery and background work, and what each gets
    /// when two of them compete: its reservation, and its part of what neither has reserved.
    #[test]
    fn weights_follow_from_reservations() {
        let part = |own: (f64, f64), other: (f64, f64)| {
            let rest = (100.0 - own.0 - other.0).max(0.0);
            own.0 + rest * own.1 / (own.1 + other.1)
        };
        let rows = [
            (16, Profile::HighClientOps, [(50.0, 2.0), (25.0, 1.0), (25.0, 1.0)]),
            (16, Profile::Balanced, [(40.0, 1.0), (40.0, 1.0), (40.0, 1.0)]),
            (17, Profile::HighRecoveryOps, [(30.0, 1.0), (60.0, 2.0), (60.0, 2.0)]),
            (18, Profile::Balanced, [(50.0, 1.0), (50.0, 1.0), (0.0, 1.0)]),
            (19, Profile::HighClientOps, [(60.0, 2.0), (40.0, 1.0), (0.0, 1.0)]),
            (20, Profile::HighRecoveryOps, [(30.0, 1.0), (70.0, 2.0), (0.0, 1.0)]),
        ];
        for (release, profile, [clients, recovery, work]) in rows {
            let weights = mclock(release, profile).weights();
            let ratio = |other: u32| f64::from(weights.clients) / f64::from(other);
            let wanted = |other: (f64, f64)| part(clients, other) / part(other, clients);
            let moving = weights.moving.unwrap_or(weights.lacking);
            assert!((ratio(weights.lacking) / wanted(recovery) - 1.0).abs() < 1e-9, "{release} {profile:?}");
            assert!((ratio(moving) / wanted(work) - 1.0).abs() < 1e-9, "{release} {profile:?}, moving");
        }
    }
}
