//! What fails is replaced in place: its data come back to the same disks, and nothing goes elsewhere.

use super::*;
use crate::rebuild::generated::Course;
use towtank_rebuild::plan::DeviceId;

fn course_of(text: &str, seed: u64) -> Course {
    let complete = complete(text);
    with(Executor::Sequential, 1, seed, |context| course(&complete, context, false)).unwrap().unwrap()
}

/// The stages of the only unit, one after the other; the disk that failed writes it.
#[test]
fn one_unit_takes_what_its_stages_take() {
    let text = "servers = 3\nreplicas = 3\nobjects = 1\nfail = \"server=0\"\nreplace = \"5s\"\n\
                detection = \"2s\"\n[population]\ndistribution = \"constant\"\nsize = \"4MiB\"";
    let want = one_unit_s();
    let found = outcome(text, 1);
    assert!(
        (value(&found, "transfer_s") - want).abs() < 1e-7,
        "{} s, expected {want} s",
        value(&found, "transfer_s")
    );
    assert!((value(&found, "time_to_full_redundancy_s") - 7.0 - want).abs() < 1e-7);
    assert_eq!(value(&found, "servers_writing"), 1.0, "the server that failed is there again");
    assert_eq!(
        value(&found, "rate_per_survivor_bytes_per_s") * 3.0,
        value(&found, "aggregate_rate_bytes_per_s")
    );
    // Without a replacement there is no third server to write it to.
    let without = outcome(&text.replace("replace = \"5s\"", ""), 1);
    assert!(without.measures["time_to_full_redundancy_s"].value().is_none());
}

/// Each disk that failed gets back exactly what it had, where enough is left to read it; others get nothing.
#[test]
fn what_failed_gets_back_what_it_had() {
    for text in [
        "servers = 6\nobjects = 3000\nfail = \"server\"",
        "servers = 6\nobjects = 3000\nfail = \"disk\"\ndisks_per_server = 3",
        "servers = 6\nobjects = 3000\nfail = \"disk\"\ndisks_per_server = 3\nplacement = \"rendezvous\"\nec = \"3+2\"",
        "servers = 8\nobjects = 2000\nfail = [\"server=1\", \"server=2@1s\"]\ngroups = 64\nplacement = \"crush-straw2\"",
        "servers = 12\nracks = 4\nobjects = 2000\nfail = \"rack\"\nfailure_domain = \"rack\"\nplacement = \"crush-straw2\"",
    ] {
        let text = format!("{text}\nreplace = \"500ms\"");
        for seed in 1..4 {
            let Course { hardware, affected, struck, recovered, .. } = course_of(&text, seed);
            let failed = |device: DeviceId| struck.iter().any(|struck| struck.devices.contains(&device));
            assert!(!recovered.stuck.any(), "{text}: {:?}", recovered.stuck);
            let mut held = vec![0u64; hardware.devices() as usize];
            for record in 0..affected.records() {
                let bytes: u64 = affected.sizes(record).iter().sum();
                let list = affected.list(record)[..affected.width].iter();
                list.filter(|device| **device != NOWHERE).for_each(|device| held[device.index()] += bytes);
            }
            for device in (0..hardware.devices()).map(DeviceId) {
                let written = recovered.disks[device.index()].2;
                let want = if failed(device) { held[device.index()] } else { 0 };
                // The second failure interrupts the rebuild after the first one, and units that are under way
                // then are written again.
                let again = if struck.len() > 1 { want / 10 } else { 0 };
                assert!((want..=want + again).contains(&written), "{text}: disk {}: {written}", device.0);
            }
        }
    }
}

/// The check above finds data elsewhere: without a replacement, other disks write it.
#[test]
fn without_a_replacement_others_write() {
    let Course { struck, recovered, .. } = course_of("servers = 6\nobjects = 3000\nfail = \"server\"", 1);
    let lost = struck[0].devices[0];
    assert_eq!(recovered.disks[lost.index()].2, 0);
    assert!(recovered.disks.iter().filter(|disk| disk.2 > 0).count() > 1);
}

#[test]
fn where_it_does_not_apply_it_is_refused() {
    let problems = format!("{:?}", prepare("replace = 3").unwrap_err());
    assert!(problems.contains("replace"), "{problems}");
}
