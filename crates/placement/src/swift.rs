//! The ring of OpenStack Swift: the devices of each partition, and the order in which others stand in for
//! them (handoffs).
//!
//! The rows of a ring are made by `swift-ring-builder` and only looked up here. Handoffs follow the
//! documented order (<https://docs.openstack.org/swift/latest/overview_ring.html>): first devices of regions
//! that have no copy, then of zones, of servers, and at last any other device. Golden lists of Swift 2.38.3
//! test it for every partition (`crates/imports/tests/imports/rings.rs`).
//!
//! Left out: the builder, weights (the rows already follow from them), and the way from the name of an object
//! to its partition, which depends on a secret of the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use md5::{Digest, Md5};

/// A device of a ring. Its id is its position in the list of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The region.
    pub region: u32,
    /// The zone of the region.
    pub zone: u32,
    /// The address of the server.
    pub ip: String,
    /// The name of the disk on the server, such as `sdb1`.
    pub name: String,
}

/// A ring whose rows fit its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    devices: Vec<Option<Device>>,
    rows: Vec<Vec<u32>>,
    power: u32,
    /// For each device, numbers of its region, zone, server and of itself.
    tiers: Vec<[u32; TIERS]>,
    /// How many regions, zones, servers and devices have partitions.
    assigned: [usize; TIERS],
}

const TIERS: usize = 4;

/// Above this number of partitions, handoffs are searched in steps, so that a search ends soon. Swift has the
/// same constant.
const STEPS: usize = 65_536;

/// The largest number of rows: no ring has so many copies.
pub const ROWS_MAX: usize = 255;

/// Why rows are not those of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingFault {
    /// There is no row, or there are too many.
    #[error("it has {found} rows, but a ring has 1 to {ROWS_MAX}")]
    Rows {
        /// The number of rows.
        found: usize,
    },
    /// The number of partitions is not a power of two.
    #[error("its first row has {found} partitions, which is not a power of two")]
    Partitions {
        /// The number of partitions.
        found: usize,
    },
    /// A row is too long or too short.
    #[error("row {row} has {found} partitions of {want}; only the last of several rows may be shorter")]
    Length {
        /// The row, from 0.
        row: usize,
        /// Its length.
        found: usize,
        /// The number of partitions.
        want: usize,
    },
    /// A row names a device that the ring does not have.
    #[error("row {row} puts partition {partition} on device {device}, which is not in the list of devices")]
    NoDevice {
        /// The row, from 0.
        row: usize,
        /// The partition.
        partition: usize,
        /// The id of the device.
        device: u32,
    },
}

impl Ring {
    /// A ring from its devices, by id, and its rows: for each partition, the id of a device. The last row is
    /// shorter where the number of copies is a fraction.
    ///
    /// # Errors
    /// If a row has another length, or names a device that does not exist.
    pub fn new(devices: Vec<Option<Device>>, rows: Vec<Vec<u32>>) -> Result<Ring, RingFault> {
        if rows.is_empty() || rows.len() > ROWS_MAX {
            return Err(RingFault::Rows { found: rows.len() });
        }
        let want = rows[0].len();
        if !want.is_power_of_two() {
            return Err(RingFault::Partitions { found: want });
        }
        let mut holds = vec![false; devices.len()];
        for (row, list) in rows.iter().enumerate() {
            let last = row + 1 == rows.len();
            if list.is_empty() || list.len() > want || (list.len() < want && !last) {
                return Err(RingFault::Length { row, found: list.len(), want });
            }
            for (partition, &device) in list.iter().enumerate() {
                if !devices.get(device as usize).is_some_and(Option::is_some) {
                    return Err(RingFault::NoDevice { row, partition, device });
                }
                holds[device as usize] = true;
            }
        }
        let tiers = tiers(&devices);
        let assigned = std::array::from_fn(|tier| {
            let held = tiers.iter().zip(&holds).filter(|(_, holds)| **holds);
            held.map(|(tiers, _)| tiers[tier]).collect::<BTreeSet<_>>().len()
        });
        Ok(Ring { devices, rows, power: want.trailing_zeros(), tiers, assigned })
    }

    /// The number of partitions.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.rows[0].len()
    }

    /// The power of two that is the number of partitions.
    #[must_use]
    pub fn part_power(&self) -> u32 {
        self.power
    }

    /// Copies per partition, on average.
    #[must_use]
    pub fn replicas(&self) -> f64 {
        let all: usize = self.rows.iter().map(Vec::len).sum();
        all as f64 / self.partitions() as f64
    }

    /// The number of rows: the most copies of a partition.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The devices by id; none for ids that are not in use.
    #[must_use]
    pub fn devices(&self) -> &[Option<Device>] {
        &self.devices
    }

    /// The devices of a partition in the order of the rows, each once: a device that two rows name holds one
    /// copy.
    pub fn primaries(&self, partition: usize) -> impl Iterator<Item = u32> + '_ {
        let of = move |row: &Vec<u32>| row.get(partition).copied();
        let before = move |at: usize, device: u32| self.rows[..at].iter().any(|row| of(row) == Some(device));
        let named = self.rows.iter().enumerate().filter_map(move |(at, row)| Some((at, of(row)?)));
        named.filter(move |&(at, device)| !before(at, device)).map(|(_, device)| device)
    }

    /// The handoffs of a partition, at most so many: the devices that stand in for its own, in order.
    #[must_use]
    pub fn handoffs(&self, partition: usize, most: usize) -> Vec<u32> {
        let mut found = Vec::new();
        self.visit_handoffs(partition, &mut |device| {
            if found.len() < most {
                found.push(device);
            }
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        found
    }

    /// Visits the handoffs of a partition in order, until `visit` breaks off.
    ///
    /// # Panics
    /// If the ring has no such partition.
    pub fn visit_handoffs(&self, partition: usize, visit: &mut dyn FnMut(u32) -> ControlFlow<()>) {
        assert!(partition < self.partitions(), "partition {partition} of {}", self.partitions());
        let mut named: Vec<u32> = self.primaries(partition).collect();
        let start = self.start(partition);
        for tier in 0..TIERS {
            let of = |device: u32| self.tiers[device as usize][tier];
            let mut used: Vec<u32> = Vec::new();
            for &device in &named {
                if !used.contains(&of(device)) {
                    used.push(of(device));
                }
            }
            'search: for candidate in self.walk(start) {
                for device in self.rows.iter().filter_map(|row| row.get(candidate).copied()) {
                    if used.len() >= self.assigned[tier] {
                        break 'search;
                    }
                    if used.contains(&of(device)) {
                        continue;
                    }
                    debug_assert!(!named.contains(&device), "device {device} stands in twice, or for itself");
                    used.push(of(device));
                    named.push(device);
                    if visit(device).is_break() {
                        return;
                    }
                }
            }
        }
    }

    /// The partition at which the search for handoffs begins: the first bits of the MD5 of the partition's
    /// number in decimal.
    fn start(&self, partition: usize) -> usize {
        let digest = Md5::digest(partition.to_string().as_bytes());
        let word = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        (u64::from(word) >> (32 - self.power)) as usize
    }

    /// The partitions that a search visits, in order: from `start` to the end in steps, then from the
    /// beginning. As in Swift, the second part begins after the first step, so that a search in steps of one
    /// never visits partition 0, unless it starts there: a disk of partition 0 alone is no handoff.
    fn walk(&self, start: usize) -> impl Iterator<Item = usize> + use<> {
        let all = self.partitions();
        let step = (all / STEPS).max(1);
        let again = step - (all - start) % step;
        (start..all).step_by(step).chain((again..start).step_by(step))
    }
}

/// Numbers the regions, the zones and the servers. An address in two zones is two servers, as in Swift.
fn tiers(devices: &[Option<Device>]) -> Vec<[u32; TIERS]> {
    let (mut zones, mut servers) = (BTreeMap::new(), BTreeMap::new());
    let each = (0u32..).zip(devices).map(|(id, device)| {
        let Some(Device { region, zone, ip, .. }) = device else { return [u32::MAX; TIERS] };
        let next = zones.len() as u32;
        let zone_number = *zones.entry((*region, *zone)).or_insert(next);
        let next = servers.len() as u32;
        let server = *servers.entry((*region, *zone, ip.as_str())).or_insert(next);
        [*region, zone_number, server, id]
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn device(region: u32, zone: u32, ip: u32) -> Option<Device> {
        Some(Device { region, zone, ip: format!("10.0.0.{ip}"), name: "sda".to_owned() })
    }

    #[test]
    fn rows_that_are_no_ring_are_refused() {
        let devices = || vec![device(1, 1, 1), None, device(1, 2, 2)];
        let fault = |rows: &[&[u32]]| {
            Ring::new(devices(), rows.iter().map(|row| row.to_vec()).collect())
                .err()
                .map(|fault| fault.to_string())
        };
        assert_eq!(fault(&[&[0, 2], &[2]]), None);
        let cases: [(&[&[u32]], &str); 6] = [
            (&[], "it has 0 rows, but a ring has 1 to 255"),
            (&[&[0, 2, 0]], "its first row has 3 partitions, which is not a power of two"),
            (
                &[&[0, 2], &[2], &[2, 0]],
                "row 1 has 1 partitions of 2; only the last of several rows may be shorter",
            ),
            (
                &[&[0, 2], &[2, 0, 0]],
                "row 1 has 3 partitions of 2; only the last of several rows may be shorter",
            ),
            (&[&[0, 1]], "row 0 puts partition 1 on device 1, which is not in the list of devices"),
            (&[&[0, 3]], "row 0 puts partition 1 on device 3, which is not in the list of devices"),
        ];
        for (rows, want) in cases {
            assert_eq!(fault(rows).as_deref(), Some(want), "{rows:?}");
        }
    }

    /// The order by its definition: of each tier, the first device on the walk whose region, zone, server or
    /// self is not in use yet.
    fn slow(ring: &Ring, partition: usize) -> Vec<u32> {
        let place = |id: u32, tier: usize| {
            let device = ring.devices[id as usize].as_ref().expect("rows name devices");
            let zone = (tier > 0).then_some(device.zone);
            (device.region, zone, (tier > 1).then(|| device.ip.clone()), (tier > 2).then_some(id))
        };
        let mut used: Vec<u32> = ring.primaries(partition).collect();
        let own = used.len();
        for tier in 0..TIERS {
            for at in ring.walk(ring.start(partition)) {
                for row in ring.rows.iter().filter(|row| at < row.len()) {
                    if used.iter().all(|other| place(*other, tier) != place(row[at], tier)) {
                        used.push(row[at]);
                    }
                }
            }
        }
        used.split_off(own)
    }

    proptest! {
        /// Every device of the visited partitions is a primary or a handoff, once, in the order of the
        /// definition; a shorter list is the beginning of a longer one.
        #[test]
        fn handoffs_are_those_of_the_definition(
            places in prop::collection::vec((1u32..3, 1u32..4, 0u32..4), 1..14),
            power in 0u32..5,
            rows in 1usize..5,
            short in any::<prop::sample::Index>(),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 4 * 16),
            most in 0usize..14,
        ) {
            let all = 1usize << power;
            let last = 1 + short.index(all);
            let row = |row: usize| {
                let length = if row > 0 && row + 1 == rows { last } else { all };
                (0..length).map(|at| picks[row * 16 + at].index(places.len()) as u32).collect()
            };
            let devices = places.iter().map(|&(region, zone, ip)| device(region, zone, ip)).collect();
            let ring = Ring::new(devices, (0..rows).map(row).collect()).expect("such rows are a ring");
            for partition in 0..all {
                let found = ring.handoffs(partition, usize::MAX);
                prop_assert_eq!(&found, &slow(&ring, partition));
                prop_assert_eq!(&found[..most.min(found.len())], &ring.handoffs(partition, most)[..]);
                let both: BTreeSet<u32> = ring.primaries(partition).chain(found.iter().copied()).collect();
                prop_assert_eq!(both.len(), ring.primaries(partition).count() + found.len(), "each once");
                let walk = ring.walk(ring.start(partition)).chain([partition]);
                let named = walk.flat_map(|at| ring.rows.iter().filter_map(move |row| row.get(at).copied()));
                prop_assert_eq!(both, named.collect::<BTreeSet<u32>>());
            }
        }
    }
}
