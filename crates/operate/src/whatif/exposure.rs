//! What is at risk until all copies are back: how much has a single copy or two copies left, which further
//! failure would lose data, and how probable that is.
//!
//! What is at risk changes with each failure: of these moments the worst is shown. Groups count as exposed
//! from each until the last group with as few copies left is whole again, so the probability is an upper
//! estimate. Devices fail independently of each other, at one constant rate
//! each; failures of whole hosts are named, but have no probability. Left out: groups that lack nothing,
//! unless one device or one host has more of their shards than they can spare, errors that are found only
//! when a copy is read, and clients' data that are written meanwhile.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::ledger::Short;
use towtank_rebuild::plan::DeviceId;
use towtank_report::human;
use towtank_units::{Percent, SimSpan, SimTime};

/// The state at the beginning, or after a failure: of these the one with most data of a single copy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exposure {
    /// When that is, in seconds from the beginning.
    pub at_s: f64,
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
    /// How many devices hold data of groups that never have more than they need to be read: a single copy.
    #[serde(default)]
    pub bare: u64,
    /// The number of pairs of devices, without those above, that would lose data together.
    pub pairs: u64,
    /// Servers of which each by itself would lose data.
    pub servers: Vec<String>,
    /// At each of these moments: when it is, and how many devices and pairs would lose data.
    pub moments: Vec<(f64, u64, u64)>,
    /// The most groups of which fewer copies or shards are left at one of these moments than a read takes,
    /// and that are read again when devices have returned.
    pub away_groups: u64,
}

/// Groups, by their records, that count otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// Those that take no writes, whose data are on devices that are down: no further failure loses them.
    pub waiting: BTreeSet<usize>,
    /// Those that cannot be read at the beginning, or never again.
    pub unread: BTreeSet<usize>,
}

/// A year of 365.25 days.
const YEAR_S: f64 = 31_557_600.0;

impl Exposure {
    /// Of the groups that lack something at each moment, the worst. Of groups that lack nothing, `whole`, the
    /// devices and the number of shards that a read takes tell which host or device has too many. Times
    /// count from `start` before the first moment.
    #[must_use]
    pub fn of(
        (short, apart): (&[(SimTime, Vec<Short>)], &Apart),
        start: SimSpan,
        whole: impl Iterator<Item = (Vec<DeviceId>, u32)>,
        (hardware, failing): (&Hardware, &[bool]),
    ) -> Exposure {
        let mut always = Critical::default();
        let mut bare: BTreeSet<DeviceId> = BTreeSet::new();
        for (live, data) in whole {
            bare.extend(live.iter().filter(|_| live.len() == data as usize));
            if !live.iter().any(|device| failing[device.index()]) {
                always.add(&live, data as usize, hardware);
            }
        }
        let mut worst: Option<Exposure> = None;
        let mut moments = Vec::new();
        let mut away_groups = 0;
        let none = (SimTime::ZERO, Vec::new());
        for (at, short) in short.iter().chain(short.is_empty().then_some(&none)) {
            let at = if *at == SimTime::ZERO { *at } else { at.saturating_add(start) };
            let found = Exposure::at(at.as_secs_f64(), (short, &apart.waiting), &always, hardware);
            moments.push((found.at_s, found.devices.len() as u64, found.pairs));
            let is_away = |one: &&Short| {
                one.devices.len() < one.redundancy.data as usize && !apart.unread.contains(&one.record)
            };
            away_groups = away_groups.max(short.iter().filter(is_away).count() as u64);
            let how_bad =
                |one: &Exposure| (one.one_bytes, one.devices.len(), one.two_bytes, one.servers.len());
            if worst.as_ref().is_none_or(|worst| how_bad(&found) > how_bad(worst)) {
                worst = Some(found);
            }
        }
        Exposure { moments, away_groups, bare: bare.len() as u64, ..worst.unwrap_or_default() }
    }

    /// The state at one moment.
    fn at(
        at_s: f64,
        (short, waiting): (&[Short], &BTreeSet<usize>),
        always: &Critical,
        hardware: &Hardware,
    ) -> Exposure {
        let mut found = Exposure { at_s, ..Exposure::default() };
        let (mut critical, mut pairs) = (always.clone(), BTreeSet::new());
        for Short { record, devices: live, redundancy, bytes } in short {
            let data = redundancy.data as usize;
            if live.len() < data {
                continue;
            }
            let waits = waiting.contains(record);
            if !waits {
                critical.add(live, data, hardware);
            }
            let bytes = bytes.saturating_mul(u64::from(redundancy.data));
            match live.len() - data {
                0 => {
                    found.one_bytes += bytes;
                    found.one_groups += 1;
                }
                1 => {
                    found.two_bytes += bytes;
                    found.two_groups += 1;
                    for (at, first) in live.iter().enumerate().filter(|_| !waits) {
                        pairs.extend(live[at + 1..].iter().map(|second| ordered(*first, *second)));
                    }
                }
                _ => {}
            }
        }
        let Critical { devices, servers } = critical;
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
        let none = self.moments.iter().map(|(at, devices, pairs)| {
            let in_time = |end: f64| {
                let from = if *at == self.first_s() { 0.0 } else { *at };
                failure_rate.fraction_f64() * (end - from).max(0.0) / YEAR_S
            };
            let single = 1.0 - libm::exp(-in_time(one_s) * *devices as f64);
            // Both of a pair fail in the time, in either order.
            let both = 1.0 - libm::exp(-in_time(two_s));
            let double = (*pairs as f64 * both * both).min(1.0);
            (1.0 - single) * (1.0 - double)
        });
        1.0 - none.product::<f64>()
    }

    /// When the worst is, in words.
    #[must_use]
    pub(crate) fn when(&self) -> String {
        if self.at_s > self.first_s() {
            format!("at {}", human::quantity(self.at_s, "s"))
        } else {
            "at first".to_owned()
        }
    }

    fn first_s(&self) -> f64 {
        self.moments.first().map_or(0.0, |(at, ..)| *at)
    }
}

/// What is at risk in one recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Risk {
    /// The most bytes of objects with nothing to spare at one moment.
    pub one_bytes: u64,
    /// The probability that further failures lose data.
    pub loss: f64,
}

/// What is at risk in drawn orders.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AtRisk {
    /// How many of them leave objects with a single copy.
    pub single: usize,
    /// The most of each.
    pub worst: Risk,
}

impl AtRisk {
    /// The same with one order more.
    #[must_use]
    pub(super) fn with(self, one: Risk) -> AtRisk {
        let worst =
            Risk { one_bytes: self.worst.one_bytes.max(one.one_bytes), loss: self.worst.loss.max(one.loss) };
        AtRisk { single: self.single + usize::from(one.one_bytes > 0), worst }
    }
}

/// What by itself would lose data.
#[derive(Clone, Debug, Default)]
struct Critical {
    devices: BTreeSet<DeviceId>,
    servers: BTreeSet<u32>,
}

impl Critical {
    /// Adds, of a group on these devices, the ones without which, and without whose server, too little is
    /// left.
    fn add(&mut self, live: &[DeviceId], data: usize, hardware: &Hardware) {
        let without = |device: DeviceId| live.iter().filter(|other| **other != device).count();
        self.devices.extend(live.iter().copied().filter(|device| without(*device) < data));
        let server = |device: &DeviceId| hardware.server_of(*device);
        let beside = |own: u32| live.iter().filter(|other| server(other) != own).count();
        self.servers.extend(live.iter().map(server).filter(|own| beside(*own) < data));
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
        let exposed =
            |devices, pairs| Exposure { moments: vec![(0.0, devices, pairs)], ..Exposure::default() };
        let one = exposed(10, 0);
        // 10 devices at 0.02 a year for a day.
        let expected = 10.0 * 0.02 / 365.25;
        assert!((one.loss(rate, (day, day)) / expected - 1.0).abs() < 1e-3);
        let two = exposed(0, 6);
        let each: f64 = 0.02 / 365.25;
        assert!((two.loss(rate, (0.0, day)) / (6.0 * each * each) - 1.0).abs() < 1e-3);
        assert_eq!(Exposure::default().loss(rate, (day, day)), 0.0);
        // After a second failure a day later, of the ten only that day counts.
        let later = Exposure { moments: vec![(0.0, 0, 0), (day, 10, 0)], ..Exposure::default() };
        assert!((later.loss(rate, (2.0 * day, 0.0)) / expected - 1.0).abs() < 1e-3);
        let many = exposed(100, 1 << 40);
        let sure = many.loss(Percent::FULL, (1e12, 1e12));
        assert!((0.0..=1.0).contains(&sure) && sure > 0.999, "{sure}");
    }
}
