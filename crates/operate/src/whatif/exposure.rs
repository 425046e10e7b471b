//! What is at risk until all copies are back: how much has a single copy or two copies left, which further
//! failure would lose data, and how probable that is.
//!
//! Groups count as exposed from the beginning until the last group with as few copies left is whole again,
//! so the probability is an upper estimate. Devices fail independently of each other, at one constant rate
//! each; failures of whole hosts are named, but have no probability. Left out: groups that lack nothing,
//! unless one device or one host has more of their shards than they can spare, errors that are found only
//! when a copy is read, and clients' data that are written meanwhile.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use towtank_rebuild::affected::Affected;
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::plan::{DeviceId, NOWHERE};
use towtank_units::Percent;

/// The state when everything that fails has failed, and nothing is made again yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposure {
    /// Bytes of objects with nothing to spare: a single copy, or as many shards as a read takes.
    pub one_bytes: u64,
    /// Their groups.
    pub one_groups: u64,
    /// Bytes of objects that lack something and have one copy or shard to spare.
    pub two_bytes: u64,
    /// Their groups.
    pub two_groups: u64,
    /// Devices of which each by itself would lose data if it failed.
    pub devices: Vec<String>,
    /// The number of pairs of devices, without those above, that would lose data together.
    pub pairs: u64,
    /// Servers of which each by itself would lose data.
    pub servers: Vec<String>,
}

/// A year of 365.25 days.
const YEAR_S: f64 = 31_557_600.0;

impl Exposure {
    /// Adds up all groups that lack something; `failing` says which devices fail. Of groups that lack
    /// nothing, `whole`, the devices and the number of shards that a read takes tell which host or device has
    /// too many.
    #[must_use]
    pub fn of(
        affected: &Affected,
        whole: impl Iterator<Item = (Vec<DeviceId>, u32)>,
        (hardware, failing): (&Hardware, &[bool]),
    ) -> Exposure {
        let mut found = Exposure::default();
        let (mut devices, mut pairs, mut servers) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        // Of a group on these devices, the ones without which, and without whose server, too little is left.
        let worst = |(live, data): (&[DeviceId], usize),
                     (devices, servers): (&mut BTreeSet<_>, &mut BTreeSet<_>)| {
            let without = |device: DeviceId| live.iter().filter(|other| **other != device).count();
            devices.extend(live.iter().copied().filter(|device| without(*device) < data));
            let server = |device: &DeviceId| hardware.server_of(*device);
            let beside = |own: u32| live.iter().filter(|other| server(other) != own).count();
            servers.extend(live.iter().map(server).filter(|own| beside(*own) < data));
        };
        for record in 0..affected.records() {
            let kind = affected.kind(record);
            let width = kind.redundancy.width as usize;
            let live = |device: &&DeviceId| **device != NOWHERE && !failing[device.index()];
            let live: Vec<DeviceId> = affected.list(record)[..width].iter().filter(live).copied().collect();
            let data = kind.redundancy.data as usize;
            let shards = affected.bytes_of(record);
            if live.len() < data || shards == 0 || live.len() == width {
                continue;
            }
            let bytes = shards.saturating_mul(u64::from(kind.redundancy.data));
            worst((&live, data), (&mut devices, &mut servers));
            match live.len() - data {
                0 => {
                    found.one_bytes += bytes;
                    found.one_groups += 1;
                }
                1 => {
                    found.two_bytes += bytes;
                    found.two_groups += 1;
                    for (at, first) in live.iter().enumerate() {
                        pairs.extend(live[at + 1..].iter().map(|second| ordered(*first, *second)));
                    }
                }
                _ => {}
            }
        }
        for (live, data) in whole.filter(|(live, _)| !live.iter().any(|device| failing[device.index()])) {
            worst((&live, data as usize), (&mut devices, &mut servers));
        }
        let single = |pair: &(DeviceId, DeviceId)| devices.contains(&pair.0) || devices.contains(&pair.1);
        found.pairs = pairs.iter().filter(|pair| !single(pair)).count() as u64;
        found.devices = devices.iter().map(|device| hardware.disk_name(*device)).collect();
        found.servers = servers.iter().map(|server| hardware.server_name(*server)).collect();
        found
    }

    /// The probability that further failures lose data, where nothing is left with a single copy after
    /// `one_s`, and nothing with two after `two_s`.
    #[must_use]
    pub(crate) fn loss(&self, failure_rate: Percent, (one_s, two_s): (f64, f64)) -> f64 {
        let in_time = |seconds: f64| failure_rate.fraction_f64() * seconds / YEAR_S;
        let single = 1.0 - libm::exp(-in_time(one_s) * self.devices.len() as f64);
        // Both of a pair fail in the time, in either order.
        let both = 1.0 - libm::exp(-in_time(two_s));
        let double = (self.pairs as f64 * both * both).min(1.0);
        1.0 - (1.0 - single) * (1.0 - double)
    }
}

fn ordered(left: DeviceId, right: DeviceId) -> (DeviceId, DeviceId) {
    if left < right { (left, right) } else { (right, left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_is_that_of_a_calculation_by_hand() {
        let rate = Percent::from_percent(2).unwrap();
        let day = 86_400.0;
        let one = Exposure { devices: vec![String::new(); 10], ..Exposure::default() };
        // 10 devices at 0.02 a year for a day.
        let expected = 10.0 * 0.02 / 365.25;
        assert!((one.loss(rate, (day, day)) / expected - 1.0).abs() < 1e-3);
        let two = Exposure { pairs: 6, ..Exposure::default() };
        let each: f64 = 0.02 / 365.25;
        assert!((two.loss(rate, (0.0, day)) / (6.0 * each * each) - 1.0).abs() < 1e-3);
        assert_eq!(Exposure::default().loss(rate, (day, day)), 0.0);
        let many = Exposure { devices: vec![String::new(); 100], pairs: 1 << 40, ..Exposure::default() };
        let sure = many.loss(Percent::FULL, (1e12, 1e12));
        assert!((0.0..=1.0).contains(&sure) && sure > 0.999, "{sure}");
    }
}
