//! A failure strikes only what still works, and each device fails once.

use towtank_rebuild::failures::Failing::{self, Device, Rack, Server};
use towtank_rebuild::failures::{Failure, Struck, strike};
use towtank_rebuild::plan::DeviceId;
use towtank_streams::Seed;
use towtank_units::SimSpan;

use crate::sample::{self, Size};

const HOUR: u64 = 3_600_000;

/// The devices of each failure, by seed; failures are given with their milliseconds, in order of time.
fn struck(size: Size, failures: &[(Failing, u64)]) -> Vec<Vec<Struck>> {
    let hardware = sample::hardware(size);
    let failure = |&(what, ms): &(Failing, u64)| Failure { what, at: SimSpan::from_ms(ms) };
    let failures: Vec<Failure> = failures.iter().map(failure).collect();
    (0..40).map(|seed| strike(&failures, &hardware, Seed(seed))).collect()
}

/// Whether some failure struck only devices that had failed before.
fn strikes_in_vain(struck: &[Struck]) -> bool {
    let mut fallen = Vec::new();
    struck.iter().any(|struck| {
        let vain = struck.devices.iter().all(|device| fallen.contains(device));
        fallen.extend(struck.devices.clone());
        vain
    })
}

/// A fault that was mended: `--fail rack --fail rack@1h` had one rack fail twice in two of six seeds.
#[test]
fn no_failure_strikes_what_has_fallen() {
    let racked = Size { racks: 3, servers: 6, disks: 1 };
    let size = |servers, disks| Size { racks: 1, servers, disks };
    let (rack, server, disk) = (Rack(None), Server(None), Device(None));
    let cases: [(Size, &[(Failing, u64)]); 6] = [
        (racked, &[(rack, 0), (rack, HOUR)]),
        (racked, &[(rack, 0), (rack, HOUR), (rack, 2 * HOUR)]),
        (racked, &[(Rack(Some(1)), 0), (server, 0), (rack, HOUR), (disk, 2 * HOUR)]),
        (size(3, 1), &[(server, 0), (server, 0), (Server(Some(0)), HOUR)]),
        (size(3, 2), &[(disk, 0), (disk, 0), (disk, 0), (server, 0), (disk, 3 * HOUR)]),
        (size(4, 2), &[(Device(Some(3)), 0), (disk, 0), (Server(Some(1)), HOUR)]),
    ];
    for (size, failures) in cases {
        for struck in struck(size, failures) {
            assert!(!strikes_in_vain(&struck), "{failures:?}: {struck:?}");
        }
    }
    let rack = |server: u32| Struck {
        at: SimSpan::ZERO,
        devices: vec![DeviceId(2 * server), DeviceId(2 * server + 1)],
        name: String::new(),
        rack: true,
        noout: false,
        down_for: None,
    };
    assert!(strikes_in_vain(&[rack(1), rack(1)]), "the check can fail");
}

/// Servers that are whole are drawn before those that have lost a disk.
#[test]
fn the_whole_fail_before_the_broken() {
    let failures = [(Device(None), 0), (Server(None), 0), (Server(None), 0), (Server(None), 0)];
    for struck in struck(Size { racks: 1, servers: 4, disks: 2 }, &failures) {
        let all: Vec<DeviceId> = struck.iter().flat_map(|struck| struck.devices.clone()).collect();
        let twice = all.iter().any(|device| all.iter().filter(|other| *other == device).count() > 1);
        assert!(!twice && all.len() == 7, "{struck:?}");
    }
}
