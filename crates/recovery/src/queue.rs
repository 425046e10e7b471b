//! The operation queue of Ceph's daemons, by release: WPQ with sleeps, or mClock with its profiles.
//!
//! Up to 16 the default is WPQ: recovery sleeps after each object. From 17 on it is mClock: all sleeps are
//! 0, and the limits of a profile pace recovery. Which release has which numbers is in [`crate::releases`].
//!
//! What it leaves out: the profile `custom`, and capacities that the daemons measured themselves, unless
//! the user gives them.

use towtank_rebuild::model::{Costs, Queues, Sharing, Throttle, Weights};
use towtank_rebuild::plan::DeviceId;
use towtank_units::{Bytes, SimSpan};

use crate::releases::{Cost, Disk, Kind, Release, Share};
pub use crate::releases::{Profile, Queue};

/// The queue of all daemons of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mclock {
    /// The release of Ceph.
    pub release: Release,
    /// The profile.
    pub profile: Profile,
    /// The measured random writes of 4 KiB per second of each device, if the user gives them.
    pub capacity: Option<u32>,
    /// The bytes that a work item of recovery counts for, if the user gives them.
    pub item: Option<Bytes>,
}

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
        let active = self.release.active(Queue::Mclock, rotates);
        Recovering { active, backfills: self.release.backfills(Queue::Mclock), sleep: SimSpan::ZERO }
    }

    /// Whether costs are bytes, and groups that only move are in the class of background work.
    #[must_use]
    pub(crate) fn counts_bytes(&self) -> bool {
        self.release.kind() == Kind::Bytes
    }

    /// Whether groups that wait for reservations are charged for their items.
    #[must_use]
    pub(crate) fn charges_idle_items(&self) -> bool {
        self.release.charges_idle_items()
    }

    /// How bytes are turned into cost.
    fn costs(&self, disk: Disk) -> Costs {
        let capacity = u64::from(self.capacity_of(disk));
        let each = self.release.bandwidth(disk).map_or(0, |bandwidth| bandwidth / capacity);
        match self.release.cost(disk) {
            Cost::Operations { per_io, per_byte, unit } => Costs::Operations { per_io, per_byte, unit },
            Cost::Larger => Costs::Bytes { least: each },
            Cost::Sum => Costs::Sum { each },
        }
    }

    fn capacity_of(&self, disk: Disk) -> u32 {
        self.capacity.unwrap_or_else(|| self.release.capacity(disk)).max(1)
    }

    /// The costs and limits of devices of one class.
    #[must_use]
    fn throttle(&self, rotates: bool) -> Throttle {
        let disk = Disk::of(rotates);
        let shards = self.release.shards(disk);
        let [clients, recovery, rest] = self.release.shares(self.profile);
        let (limits, clients) = match self.release.bandwidth(disk).filter(|_| self.counts_bytes()) {
            Some(bandwidth) => {
                let of = |percent: u32| bandwidth * u64::from(percent) / 100 / u64::from(shards);
                ([recovery, rest].map(|share| share.limit.map(of)), clients.limit.map(of))
            }
            None => {
                let (capacity, shards) = (u64::from(self.capacity_of(disk)), u64::from(shards));
                // Rounded to the nearest, as Ceph does.
                let of = |percent: u32| {
                    ((2 * u64::from(percent) * capacity + 100 * shards) / (200 * shards)).max(1)
                };
                ([recovery.limit.map(of); 2], clients.limit.map(of))
            }
        };
        let item = self.item.map(Bytes::get).or_else(|| self.release.item());
        Throttle { shards, limits, clients, costs: self.costs(disk), item, reply: self.release.reply() }
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

    /// Which steps share a limit; `zero` is the device with the number 0. Where costs are bytes, all steps
    /// of a class do.
    #[must_use]
    pub fn sharing(&self, zero: Option<DeviceId>) -> Sharing {
        if self.counts_bytes() { Sharing::Together } else { Sharing::BySender { with_items: zero } }
    }

    /// The shares of a busy device for clients, groups that lack something, and groups that only move. Each
    /// class has its reservation, and two that compete divide the rest by their weights. Where costs are
    /// operations, the last two are one class.
    #[must_use]
    pub fn weights(&self) -> Weights {
        let [clients, recovery, rest] = self.release.shares(self.profile);
        let [own, lacking] = parts(clients, recovery);
        if !self.counts_bytes() {
            return Weights { clients: own, lacking, moving: None };
        }
        let [beside, moving] = parts(clients, rest);
        // Clients get the least number that both parts of theirs divide.
        let common = own / gcd(own, beside) * beside;
        Weights {
            clients: common,
            lacking: lacking * (common / own),
            moving: Some(moving * (common / beside)),
        }
    }
}

/// What two classes get that compete, as the smallest whole numbers: each its reservation, and its part of
/// what neither has reserved.
fn parts(one: Share, other: Share) -> [u32; 2] {
    let rest = 100_u32.saturating_sub(one.reservation + other.reservation);
    let weights = one.weight + other.weight;
    let of = |share: Share| share.reservation * weights + rest * share.weight;
    let [one, other] = [of(one), of(other)];
    let common = gcd(one, other).max(1);
    [one / common, other / common]
}

fn gcd(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mclock(release: &str, profile: Profile) -> Mclock {
        let release = Release::assumed(release.parse().unwrap());
        Mclock { release, profile, capacity: None, item: None }
    }

    /// The limits in force in 16.2.15 with 315 operations a second and 5 shards: 63, 95 and 126; those of
    /// clients are none, 63 and 50.
    #[test]
    fn limits_of_16_are_those_in_force() {
        let limit = |profile| mclock("16", profile).throttle(true).limits;
        assert_eq!(limit(Profile::HighClientOps), [Some(63); 2]);
        assert_eq!(limit(Profile::Balanced), [Some(95); 2]);
        assert_eq!(limit(Profile::HighRecoveryOps), [Some(126); 2]);
        let clients = |profile| mclock("16", profile).throttle(true).clients;
        assert_eq!(clients(Profile::HighClientOps), None);
        assert_eq!((clients(Profile::Balanced), clients(Profile::HighRecoveryOps)), (Some(63), Some(50)));
        let most = |release, bytes| mclock(release, Profile::HighRecoveryOps).most_of_clients(true, bytes);
        assert_eq!((most("17.2.5", 4_096), most("17.2.7", 4_096)), (Some(250.0), None));
        assert_eq!(most("17.2.5", 4 << 20), Some(250.0 / 22.0), "4 MiB cost 22");
        let throttle = mclock("16", Profile::Balanced).throttle(true);
        let cost = |bytes: Option<u64>| throttle.costs.of(bytes.unwrap_or(0));
        assert_eq!((cost(throttle.item), throttle.costs.of(throttle.reply)), (109, 44));
        let flash = mclock("16", Profile::HighClientOps).throttle(false);
        assert_eq!((flash.limits[0], flash.costs.of(flash.item.unwrap_or(0))), (Some(2_688), 231));
        let dear =
            Mclock { item: Some(Bytes::from_mib(40)), ..mclock("16", Profile::Balanced) }.throttle(true);
        assert_eq!(dear.costs.of(dear.item.unwrap_or(0)), 218, "0.025 + 5.2e-6 * 40 MiB");
        let slow = Mclock { capacity: Some(100), ..mclock("16", Profile::HighClientOps) };
        assert_eq!(slow.throttle(true).limits[0], Some(20));
    }

    /// From 18 on only data that move have a limit, in bytes: 90 % of 150 MiB/s, and an operation costs 499
    /// kB at least.
    #[test]
    fn limits_from_18_on_are_in_bytes() {
        let throttle = mclock("18", Profile::Balanced).throttle(true);
        assert_eq!(throttle.limits, [None, Some(141_557_760)]);
        assert_eq!((throttle.shards, throttle.costs), (1, Costs::Bytes { least: 499_321 }));
        let flash = mclock("19", Profile::HighClientOps).throttle(false);
        assert_eq!(flash.limits, [None, Some(1_200 * (1 << 20) * 7 / 10 / 8)]);
        assert_eq!(flash.costs, Costs::Bytes { least: 58_525 });
        assert_eq!(mclock("20", Profile::HighRecoveryOps).throttle(true).limits, [None, None]);
    }

    /// In 18.2.0 an operation costs its bytes and 499 kB, elsewhere the larger of the two; a rotating disk
    /// has five shards before 18.2.5 and 19.2.1.
    #[test]
    fn costs_and_shards_are_those_of_the_version() {
        let cost = |version, bytes| mclock(version, Profile::Balanced).throttle(true).costs.of(bytes);
        assert_eq!([cost("18.2.0", 4_096), cost("18.2.1", 4_096)], [503_417, 499_321]);
        assert_eq!([cost("18.2.0", 1 << 22), cost("17.2.7", 1 << 22)], [4_693_625, 1 << 22]);
        let one = |version| {
            let throttle = mclock(version, Profile::Balanced).throttle(true);
            (throttle.shards, throttle.limits[1])
        };
        assert_eq!([one("18.2.4"), one("19.2.0")], [(5, Some(28_311_552)); 2]);
        assert_eq!([one("18.2.5"), one("19.2.1")], [(1, Some(141_557_760)); 2]);
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
            ("16", Profile::HighClientOps, [(50.0, 2.0), (25.0, 1.0), (25.0, 1.0)]),
            ("16", Profile::Balanced, [(40.0, 1.0), (40.0, 1.0), (40.0, 1.0)]),
            ("17.2.5", Profile::HighRecoveryOps, [(30.0, 1.0), (60.0, 2.0), (60.0, 2.0)]),
            ("18", Profile::Balanced, [(50.0, 1.0), (50.0, 1.0), (0.0, 1.0)]),
            ("19", Profile::HighClientOps, [(60.0, 2.0), (40.0, 1.0), (0.0, 1.0)]),
            ("20.2.3", Profile::HighRecoveryOps, [(30.0, 1.0), (70.0, 2.0), (0.0, 1.0)]),
            ("20.2.4", Profile::Balanced, [(50.0, 1.0), (50.0, 1.0), (5.0, 2.0)]),
            ("20.2.4", Profile::HighClientOps, [(60.0, 2.0), (40.0, 1.0), (5.0, 4.0)]),
            ("21", Profile::HighRecoveryOps, [(30.0, 1.0), (70.0, 2.0), (5.0, 2.0)]),
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
