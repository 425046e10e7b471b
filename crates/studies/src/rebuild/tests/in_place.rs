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

/// A recovery under mClock takes as long as the shard that has the most to do, in ten placements of the
/// published study without its client. At a limit of 68, an object that osd.0 pulls costs 109 + 109, and one
/// that is pushed to it 109 + 44; a backfill has three items of 109 that move nothing, and recovery by log
/// one. The device leads the groups whose first device it is, if they have 100 objects at most.
#[test]
fn what_comes_back_takes_as_long_as_its_busiest_shard() {
    let mut wrong = 0;
    for (seed, by_log) in (1..11).flat_map(|seed| [(seed, true), (seed, false)]) {
        let text = format!(
            "preset = \"ceph\"\nservers = 4\nobjects = 5000\nplacement = \"crush-straw2\"\ngroups = 64\n\
             fail = \"server=0\"\ndetection = \"0s\"\n{} = \"1s\"\nqueue = \"mclock\"\nceph_release = \"17.2.5\"\n\
             osd_capacity = 340\nrecovery_max_active = 1000\nmax_backfills = 1000\n\
             [population]\ndistribution = \"constant\"\nsize = \"4MiB\"\nlayout = \"whole\"",
            if by_log { "returns" } else { "replace" }
        );
        let Course { affected, recovered, .. } = course_of(&text, seed);
        let mut busy = std::collections::BTreeMap::<_, [u64; 2]>::new();
        for record in 0..affected.records() {
            let (list, objects) = (affected.list(record), affected.sizes(record).len() as u64);
            let pulls = by_log && list[0].0 == 0 && objects <= 100;
            let leads = if pulls { 0 } else { list.iter().find(|device| device.0 != 0).unwrap().0 };
            let shard = busy.entry((leads, affected.numbers[record] % 5)).or_default();
            shard[0] += if pulls { 218 } else { 153 } * objects + if by_log { 109 } else { 3 * 109 };
            shard[1] += 153 * objects;
        }
        let found = recovered.moving.as_secs_f64();
        let ratio =
            |which: usize| found * 68.0 / busy.values().map(|costs| costs[which]).max().unwrap() as f64;
        println!("{seed} {by_log}: {found} s, {} and {} of what is expected", ratio(0), ratio(1));
        assert!((ratio(0) - 1.0).abs() < 0.02, "{seed} {by_log}: {found} s, {} of it", ratio(0));
        wrong += u32::from((ratio(1) - 1.0).abs() > 0.1);
    }
    assert!(wrong > 0, "pulls that cost no more than pushes are noticed");
}

#[test]
fn where_it_does_not_apply_it_is_refused() {
    let problems = format!("{:?}", prepare("replace = 3").unwrap_err());
    assert!(problems.contains("replace"), "{problems}");
}
