//! A failure strikes only what still works, and each device fails once.

use towtank_rebuild::failures::{Struck, strike};
use towtank_rebuild::plan::DeviceId;
use towtank_streams::Seed;

use super::super::cluster::hardware;
use super::super::tests::{complete, outcome, prepare, value};
use super::*;

/// The devices of each failure, by seed.
fn struck(text: &str) -> Vec<Vec<Struck>> {
    let complete = complete(text);
    let hardware = hardware(&complete.scenario);
    (0..40).map(|seed| strike(&complete.failures, &hardware, Seed(seed))).collect()
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
    for (cluster, fail) in [
        ("servers = 6\nracks = 3", "[\"rack\", \"rack@1h\"]"),
        ("servers = 6\nracks = 3", "[\"rack\", \"rack@1h\", \"rack@2h\"]"),
        ("servers = 6\nracks = 3", "[\"rack=1\", \"server\", \"rack@1h\", \"disk@2h\"]"),
        ("servers = 3", "[\"server\", \"server\", \"server=0@1h\"]"),
        ("servers = 3\ndisks_per_server = 2", "[\"disk\", \"disk\", \"disk\", \"server\", \"disk@3h\"]"),
        ("servers = 4\ndisks_per_server = 2", "[\"osd.3\", \"server=1@1h\", \"disk\"]"),
    ] {
        for struck in struck(&format!("{cluster}\nfail = {fail}")) {
            assert!(!strikes_in_vain(&struck), "{fail}: {struck:?}");
        }
    }
    let rack = |server: u32| Struck {
        at: SimSpan::ZERO,
        devices: vec![DeviceId(2 * server), DeviceId(2 * server + 1)],
        name: String::new(),
        rack: true,
    };
    assert!(strikes_in_vain(&[rack(1), rack(1)]), "the check can fail");
}

/// Servers that are whole are drawn before those that have lost a disk.
#[test]
fn the_whole_fail_before_the_broken() {
    for struck in
        struck("servers = 4\ndisks_per_server = 2\nfail = [\"disk\", \"server\", \"server\", \"server\"]")
    {
        let all: Vec<DeviceId> = struck.iter().flat_map(|struck| struck.devices.clone()).collect();
        let twice = all.iter().any(|device| all.iter().filter(|other| *other == device).count() > 1);
        assert!(!twice && all.len() == 7, "{struck:?}");
    }
}

#[test]
fn what_cannot_fall_again_is_refused() {
    let told = |text: &str| {
        let Err(problems) = prepare(text) else { panic!("{text} is legal") };
        let words = |problem: &towtank_scenario::Problem| {
            format!("{} | {}", problem.message(), problem.next_step().unwrap_or(""))
        };
        problems.iter().map(words).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(told("servers = 6\nfail = [\"server=3\", \"osd.3@1h\"]"), @"`fail` names `osd.3@1h`, but all its disks have already failed with `server=3` | leave it out, or name something else");
    insta::assert_snapshot!(told("servers = 6\nracks = 3\nfail = [\"rack=1@5s\", \"rack=1@2s\"]"), @"`fail` names `rack=1@5s`, but all its disks have already failed with `rack=1@2s` | leave it out, or name something else");
    insta::assert_snapshot!(told("servers = 3\nfail = [\"server\", \"server\", \"server\", \"server@1h\"]"), @"`fail` draws `server@1h`, but possibly none of 3 disks is left: 3 other failures precede it or name disks | remove failures, or set more servers");
    insta::assert_snapshot!(told("servers = 6\nracks = 2\nfail = [\"rack\", \"rack\", \"disk\"]"), @"`fail` draws `disk`, but possibly none of 6 disks is left: 2 other failures precede it or name disks | remove failures, or set more servers");
    complete("servers = 6\ndisks_per_server = 2\nfail = [\"osd.6\", \"server=3@1h\"]");
}

/// All servers may fail, also where the lost set is drawn.
#[test]
fn when_all_servers_fail_all_is_lost() {
    for how in ["draw", "enumerate"] {
        let text = format!(
            "servers = 3\nobjects = 50\nlost_set = \"{how}\"\nfail = [\"server\", \"server\", \"server\"]"
        );
        assert_eq!(value(&outcome(&text, 1), "lost_objects"), 50.0, "{how}");
    }
}
