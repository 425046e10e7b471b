//! The disks of objects on servers, and where objects go when disks are out.

use std::collections::BTreeMap;

use proptest::prelude::*;
use towtank_placement::algorithms::{Algorithm, Arrangement, Cluster};

use super::*;
use crate::sample::{self, Size};

proptest! {
    /// The result is a disk of the server that is in, and the same as before unless that one is out.
    #[test]
    fn only_what_lay_on_a_disk_that_is_out_moves(
        key: u64, server in 0u32..5, disks in 1u32..7, out in prop::collection::vec(any::<bool>(), 35)
    ) {
        let hardware = sample::hardware(Size { racks: 1, servers: 5, disks });
        let first = disk_of(&hardware, server, key);
        prop_assert_eq!(hardware.server_of(first), server);
        let now = disk_in(&hardware, server, key, &out);
        if now == NOWHERE {
            prop_assert!(hardware.devices_of(server).all(|device| out[device.index()]));
        } else {
            prop_assert_eq!(hardware.server_of(now), server);
            prop_assert!(!out[now.index()]);
            prop_assert_eq!(now == first, !out[first.index()]);
            // The object stays in place when another disk goes out.
            let mut more = out.clone();
            let other = hardware.devices_of(server).find(|device| *device != now && !out[device.index()]);
            if let Some(other) = other {
                more[other.index()] = true;
                prop_assert_eq!(disk_in(&hardware, server, key, &more), now);
            }
        }
    }

    /// The homes of a key are on different servers and on disks that are in; disks that were homes before and
    /// are still in keep their objects.
    #[test]
    fn homes_are_apart_and_stay(key: u64, gone in 0usize..8, algorithm in 0usize..3) {
        let hardware = sample::hardware(Size { racks: 1, servers: 8, disks: 3 });
        let algorithm = [Algorithm::Ring, Algorithm::Rendezvous, Algorithm::Jump][algorithm];
        let arrangement = Arrangement { vnodes: 8, groups: 64, slots: 1009, replicas: 3, seed: 5 };
        let placement = algorithm.set_up(&Cluster::equal(8), &arrangement).expect("eight servers");
        let places = ServerPlaces { placement: Arc::from(placement), hardware: hardware.clone(), spare: 2 };
        let find = |out: &[bool]| {
            let mut devices = [NOWHERE; 3];
            places.with_out(0, out).find((0, key), &mut devices);
            devices
        };
        let before = find(&[false; 24]);
        let mut out = [false; 24];
        hardware.devices_of(gone as u32).for_each(|device| out[device.index()] = true);
        let after = find(&out);
        for homes in [before, after] {
            let mut servers = homes.map(|device| hardware.server_of(device));
            servers.sort_unstable();
            prop_assert!(servers.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", homes);
        }
        prop_assert!(after.iter().all(|device| !out[device.index()]));
        let stays = before.iter().filter(|device| !out[device.index()]).all(|device| after.contains(device));
        prop_assert!(stays, "{:?} becomes {:?}", before, after);
    }

    /// Drawn homes are on different servers, and on disks that are in.
    #[test]
    fn drawn_homes_are_apart(seed: u64, gone in 0u32..8, crush: bool) {
        let hardware = sample::hardware(Size { racks: 1, servers: 8, disks: 3 });
        let failing: Vec<bool> = (0..8).map(|server| server == gone / 3).collect();
        let shares = Shares::new(&[1.0; 8], &failing, 3);
        let onward = if crush { Onward::HostsAndDisks } else { Onward::Servers };
        let places = DrawnPlaces { shares, hardware: hardware.clone(), seed: Seed(seed), spare: 2, onward };
        let mut out = vec![false; 24];
        out[gone as usize] = true;
        for id in 0..40 {
            let mut homes = [NOWHERE; 3];
            places.with_out(0, &out).find((id, 0), &mut homes);
            let found: Vec<DeviceId> = homes.iter().copied().filter(|home| *home != NOWHERE).collect();
            let mut servers: Vec<u32> = found.iter().map(|&device| hardware.server_of(device)).collect();
            servers.sort_unstable();
            prop_assert!(servers.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", homes);
            prop_assert!(found.iter().all(|device| !out[device.index()]));
            let mut again = [NOWHERE; 3];
            places.with_out(0, &out).find((id, 7), &mut again);
            prop_assert_eq!(homes, again, "object {} finds other homes", id);
        }
    }
}

/// The objects of a lost disk go in equal shares to the other disks of its server. Disk 0 once got none.
#[test]
fn objects_of_a_lost_disk_spread() {
    let hardware = sample::hardware(Size { racks: 1, servers: 1, disks: 4 });
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    let out = [false, true, false, false];
    for key in 0..40_000u64 {
        let key = mix(key, 0x9e37_79b9_7f4a_7c15);
        let first = disk_of(&hardware, 0, key);
        *before.entry(first.0).or_insert(0u32) += 1;
        if out[first.index()] {
            *after.entry(disk_in(&hardware, 0, key, &out).0).or_insert(0u32) += 1;
        }
    }
    // 10,000 each, with a standard deviation of 87; then a third of those, with a standard deviation of 47.
    assert_eq!(before.len(), 4);
    assert!(before.values().all(|count| (9_600..10_400).contains(count)), "{before:?}");
    assert_eq!(after.keys().copied().collect::<Vec<_>>(), [0, 2, 3]);
    assert!(after.values().all(|count| (3_100..3_570).contains(count)), "{after:?}");
    assert_eq!(after.values().sum::<u32>(), before[&1]);
}

/// The shares are equal on every server. Disk 4 once got half as many again as disk 5.
#[test]
fn siblings_take_equal_shares_whatever_their_numbers() {
    let hardware = sample::hardware(Size { racks: 1, servers: 40, disks: 5 });
    for server in [0, 1, 2, 7, 39] {
        let first = hardware.devices_of(server).next().expect("it has five");
        let mut out = vec![false; 200];
        out[first.index()] = true;
        let mut taken = BTreeMap::new();
        for key in (0..100_000u64).map(|key| mix(key ^ 0x5851_f42d, 0x9e37_79b9_7f4a_7c15)) {
            if disk_of(&hardware, server, key) == first {
                *taken.entry(disk_in(&hardware, server, key, &out).0).or_insert(0u32) += 1;
            }
        }
        // A quarter of about 20,000 each, with a standard deviation of 61.
        assert_eq!(taken.len(), 4, "server {server}: {taken:?}");
        assert!(taken.values().all(|count| (4_600..5_400).contains(count)), "server {server}: {taken:?}");
    }
}
