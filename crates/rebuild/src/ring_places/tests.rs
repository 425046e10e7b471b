//! Partitions that failures touch and their new homes, in rings drawn at random.

use proptest::prelude::*;
use towtank_placement::swift::Device;
use towtank_streams::Seed;

use super::*;
use crate::sample;

/// A device of each zone and address; those of one address are one server.
fn ring(places: &[(u32, u32)], rows: Vec<Vec<u32>>) -> Arc<Ring> {
    let device = |(at, &(zone, ip)): (usize, &(u32, u32))| {
        Some(Device { region: 1, zone, ip: format!("10.0.{zone}.{ip}"), name: format!("d{at}") })
    };
    Arc::new(Ring::new(places.iter().enumerate().map(device).collect(), rows).expect("a ring"))
}

/// Each device is the disk of the same number.
fn mapped(ring: Arc<Ring>) -> Mapped {
    let disks = (0..ring.devices().len() as u32).map(DeviceId).collect();
    Mapped { ring, disks }
}

fn ids(devices: &[DeviceId]) -> Vec<i64> {
    devices.iter().map(|device| if *device == NOWHERE { -1 } else { i64::from(device.0) }).collect()
}

fn wanted(places: &RingPlaces, changes: usize, out: &[bool], partition: u64, width: usize) -> Vec<i64> {
    let mut devices = vec![NOWHERE; width];
    places.with_out(changes, out).find((partition, 0), &mut devices);
    ids(&devices)
}

/// Four servers of one disk in three zones; the last zone has two. Zones without a copy come first.
#[test]
fn handoffs_stand_in_for_what_is_out() {
    let ring = ring(&[(1, 1), (2, 1), (3, 1), (3, 2)], vec![vec![0, 1, 2, 3], vec![1, 2, 3, 0]]);
    let places = RingPlaces::new(mapped(ring), None);
    let none = [false; 4];
    assert_eq!(wanted(&places, 0, &none, 0, 2), [0, 1]);
    let first_of_zone_3 = wanted(&places, 0, &[true, false, false, false], 0, 2);
    assert!([[1, 2], [1, 3]].contains(&[first_of_zone_3[0], first_of_zone_3[1]]), "{first_of_zone_3:?}");
    assert_eq!(wanted(&places, 0, &[true, false, true, false], 0, 2), [1, 3], "a handoff may be out too");
    assert_eq!(wanted(&places, 0, &[true, true, false, true], 1, 2), [2, -1], "nothing else is left");
}

/// The new ring counts from its change on, whatever is out; before, nothing belongs elsewhere.
#[test]
fn the_ring_that_follows_counts_once_it_is_in_place() {
    let places = [(1, 1), (2, 1), (3, 1), (4, 1)];
    let before = mapped(ring(&places, vec![vec![0, 1], vec![1, 2]]));
    let after = mapped(ring(&places, vec![vec![3, 1], vec![1, 0]]));
    let both = RingPlaces::new(before, Some(after));
    let out = [true, false, false, false];
    assert_eq!(wanted(&both, 0, &out, 0, 2), [0, 1]);
    assert_eq!(wanted(&both, 1, &out, 0, 2), [3, 1]);
    assert!(both.moves(0) && both.moves(1));
    let population = sample::population(40, 1_000, Seed(1));
    let affected = both.affected(&population, &[false; 4], &|| false).expect("nobody stops it");
    assert_eq!((affected.records(), affected.objects(), affected.follows), (2, 40, true));
    assert!(both.affected(&population, &[false; 4], &|| true).is_none());
}

#[test]
#[should_panic(expected = "a device of a ring is no disk")]
fn a_device_that_is_no_disk_is_found() {
    let mut before = mapped(ring(&[(1, 1), (2, 1)], vec![vec![0, 1]]));
    before.disks[1] = NOWHERE;
    let _ = RingPlaces::new(before, None);
}

#[test]
#[should_panic(expected = "both rings have the same partitions")]
fn rings_of_other_sizes_are_found() {
    let one = |row: &[u32]| mapped(ring(&[(1, 1), (2, 1)], vec![row.to_vec()]));
    let _ = RingPlaces::new(one(&[0, 1]), Some(one(&[0, 1, 0, 1])));
}

proptest! {
    /// Exactly the partitions on what fails are found. Copies that are left stay where they are, and the new
    /// ones are on other disks that are in; places stay empty only where no disk is left.
    #[test]
    fn what_is_lost_goes_to_disks_that_are_in(
        at in prop::collection::vec((1u32..4, 0u32..3), 2..10),
        power in 0u32..5,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 3 * 16),
        short in any::<prop::sample::Index>(),
        fails in prop::collection::vec(any::<bool>(), 10),
        seed: u64,
    ) {
        let all = 1usize << power;
        let length = |row: usize| if row == 2 { 1 + short.index(all) } else { all };
        let row = |row: usize| (0..length(row)).map(|part| picks[row * 16 + part].index(at.len()) as u32).collect();
        let places = RingPlaces::new(mapped(ring(&at, (0..3).map(row).collect())), None);
        let failing = &fails[..at.len()];
        let population = sample::population(100, 1_000, Seed(seed));
        let affected = places.affected(&population, failing, &|| false).expect("nobody stops it");
        let held: std::collections::BTreeSet<DeviceId> =
            (0..all).flat_map(|part| places.before().primaries(part)).collect();
        let mut record = 0;
        for partition in 0..all {
            let list: Vec<DeviceId> = places.before().primaries(partition).collect();
            let lost = list.iter().filter(|disk| failing[disk.index()]).count();
            if lost == 0 {
                continue;
            }
            prop_assert_eq!(affected.numbers[record], partition as u64);
            prop_assert_eq!(&affected.list(record)[..list.len()], &list[..]);
            prop_assert_eq!(affected.kind(record).redundancy.width as usize, list.len());
            let mut homes = vec![NOWHERE; list.len()];
            places.with_out(0, failing).find((partition as u64, 0), &mut homes);
            let found: Vec<DeviceId> = homes.iter().copied().filter(|disk| *disk != NOWHERE).collect();
            prop_assert!(found.iter().all(|disk| !failing[disk.index()] && held.contains(disk)));
            prop_assert!(list.iter().all(|disk| failing[disk.index()] || found.contains(disk)));
            let mut once = found.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), found.len());
            let ring = &places.before().ring;
            let stand_in = ring.primaries(partition).chain(ring.handoffs(partition, usize::MAX));
            let left = stand_in.filter(|id| !failing[*id as usize]).count();
            prop_assert_eq!(found.len(), left.min(list.len()));
            record += 1;
        }
        prop_assert_eq!(record, affected.records());
        let held = places.held(at.len());
        let copies: usize = (0..all).map(|part| places.before().primaries(part).count()).sum();
        prop_assert_eq!(held.iter().sum::<u64>(), copies as u64);
    }
}
