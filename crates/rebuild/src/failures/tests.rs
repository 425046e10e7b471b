//! The disks that named and drawn failures take.

use proptest::prelude::*;

use super::*;
use crate::sample::{self, Size};

fn failing() -> impl Strategy<Value = Failing> {
    let named = |count: u32| prop::option::of(0..count);
    prop_oneof![
        named(6).prop_map(Failing::Server),
        named(12).prop_map(Failing::Device),
        named(3).prop_map(Failing::Rack),
    ]
}

const SIZE: Size = Size { racks: 3, servers: 6, disks: 2 };

proptest! {
    /// A named failure takes all its disks; a drawn one takes something that works, if anything does, and
    /// prefers whole things over things that have failed in part.
    #[test]
    fn failures_take_what_stands(what in prop::collection::vec(failing(), 1..10), seed: u64) {
        let hardware = sample::hardware(SIZE);
        let failures: Vec<Failure> = what.iter().map(|&what| Failure { what, at: SimSpan::ZERO }).collect();
        let struck = strike(&failures, &hardware, Seed(seed));
        prop_assert_eq!(&struck, &strike(&failures, &hardware, Seed(seed)), "the same seed strikes alike");
        prop_assert_eq!(struck.len(), what.len());
        let mut fallen = [false; 12];
        for (struck, what) in struck.iter().zip(&what) {
            let end = hardware.devices();
            prop_assert!(struck.devices.iter().all(|device| device.0 < end));
            prop_assert!(struck.devices.is_sorted());
            let servers: Vec<u32> = struck.devices.iter().map(|&device| hardware.server_of(device)).collect();
            match *what {
                Failing::Server(None) | Failing::Device(None) | Failing::Rack(None) => {
                    let stood = struck.devices.iter().any(|device| !fallen[device.index()]);
                    prop_assert!(stood || struck.devices.is_empty(), "{:?}", struck);
                }
                Failing::Server(Some(server)) => {
                    prop_assert_eq!(struck.devices.len(), 2);
                    prop_assert!(servers.iter().all(|&other| other == server));
                }
                Failing::Device(Some(device)) => prop_assert_eq!(&struck.devices[..], &[DeviceId(device)]),
                Failing::Rack(Some(rack)) => {
                    prop_assert_eq!(struck.devices.len(), 4);
                    prop_assert!(servers.iter().all(|&server| hardware.rack_of(server) == rack));
                }
            }
            prop_assert_eq!(struck.rack, matches!(what, Failing::Rack(_)));
            struck.devices.iter().for_each(|device| fallen[device.index()] = true);
        }
    }
}

#[test]
fn what_is_drawn_falls_on_each_alike() {
    let hardware = sample::hardware(SIZE);
    let mut hits = [0u32; 6];
    for seed in 0..6_000 {
        let failure = Failure { what: Failing::Server(None), at: SimSpan::ZERO };
        let struck = strike(&[failure], &hardware, Seed(seed));
        hits[hardware.server_of(struck[0].devices[0]) as usize] += 1;
    }
    // 1000 expected for each, with a standard deviation of 29.
    assert!(hits.iter().all(|hits| (880..1_120).contains(hits)), "{hits:?}");
    assert_eq!(hits.iter().sum::<u32>(), 6_000);
}

#[test]
fn all_servers_fall_one_after_the_other() {
    let hardware = sample::hardware(SIZE);
    let one = Failure { what: Failing::Server(None), at: SimSpan::ZERO };
    let struck = strike(&[one; 7], &hardware, Seed(3));
    let mut devices: Vec<u32> =
        struck.iter().flat_map(|struck| &struck.devices).map(|device| device.0).collect();
    devices.sort_unstable();
    assert_eq!(devices, (0..12).collect::<Vec<u32>>(), "each disk falls once");
    assert_eq!((struck[6].devices.len(), struck[6].name.as_str()), (0, "nothing"));
}

#[test]
fn what_is_named_is_taken_from_the_layout() {
    let layout = SIZE.layout();
    let devices = |list: &[u32]| Stricken::Named(list.iter().copied().map(DeviceId).collect());
    assert_eq!(named(Failing::Server(Some(1)), &layout), devices(&[2, 3]));
    assert_eq!(named(Failing::Device(Some(9)), &layout), devices(&[9]));
    assert_eq!(named(Failing::Rack(Some(2)), &layout), devices(&[8, 9, 10, 11]));
    let drawn = [Failing::Server(None), Failing::Device(None), Failing::Rack(None)];
    assert_eq!(drawn.map(|what| named(what, &layout)), [2, 1, 4].map(Stricken::Drawn));
}

#[test]
fn failures_of_what_has_failed_are_reported() {
    let named = |list: &[u32]| Stricken::Named(list.iter().copied().map(DeviceId).collect());
    let words = |words: &[Word<'_>], open: usize| struck_again(words, vec![true; open]);
    assert!(words(&[("a", named(&[0, 1])), ("b", named(&[2]))], 4).is_empty());
    assert!(words(&[("a", named(&[0, 1])), ("b", named(&[1, 2]))], 4).is_empty(), "a part still stood");
    let again = words(&[("a", named(&[0, 1])), ("b", named(&[1]))], 4);
    assert_eq!(again.len(), 1);
    assert!(again[0].0.contains("`b`") && again[0].0.contains("failed with `a`"), "{}", again[0].0);
    assert!(words(&[("a", named(&[0])), ("b", Stricken::Drawn(3))], 4).is_empty());
    let none = words(&[("a", named(&[0])), ("b", Stricken::Drawn(3)), ("c", Stricken::Drawn(1))], 4);
    assert_eq!(none.len(), 1);
    assert!(none[0].0.contains("`fail` draws `c`, but possibly none of 4 disks is left"), "{}", none[0].0);
}
