//! Whole runs: every discovery on every executor, with and without clients, with logs that reach back and
//! logs that do not.

use towtank_backfill::{
    Backfill, Changes, Costs, Counts, Device, Discovery, Entity, Layouts, Outage, Overlay, Spec, Writes,
};
use towtank_kernel::{Executor, RunOptions, run};
use towtank_replication::Planted;
use towtank_streams::Seed;
use towtank_testkit::Finished;
use towtank_units::{Frequency, SimSpan, SimTime};

use crate::{disk, rate};

fn spec() -> Spec {
    Spec {
        groups: 1,
        devices: 3,
        replicas: 3,
        data_shards: 1,
        down: 1,
        objects: 2_000,
        object_bytes: 1024,
        changes: Changes { writes: Writes::Distinct(40), created: 0.0, deleted: 0.0 },
        discovery: Discovery::Scan,
        leaf_bits: 10,
        sketch_cells: 128,
        log_entries: 2,
        slots: 1,
        active: 1,
        sleep: SimSpan::from_ms(100),
        batch: 512,
        costs: Costs { look: SimSpan::from_us(5_200), recovery: SimSpan::from_ms(10), ..Costs::default() },
        disk: disk(),
        nic: rate(125_000_000),
        latency: SimSpan::from_us(100),
        clients: None,
        planted: None,
    }
}

/// The same in a pool of 4 data and 2 parity shards.
fn coded(spec: Spec) -> Spec {
    Spec { replicas: 6, devices: spec.devices.max(6), data_shards: 4, ..spec }
}

/// A rule that is broken on purpose is detected by the audit at the end of the run, or by the protocol
/// itself.
#[test]
fn broken_rules_are_noticed() {
    let base = Spec { objects: 600, batch: 64, leaf_bits: 6, ..spec() };
    let clients = Some(Frequency::from_per_second(30).expect("above zero"));
    for (planted, spec) in [
        (Planted::SendsWhatIsEqual, Spec { discovery: Discovery::Merkle, ..base.clone() }),
        (
            Planted::CursorTooFar,
            Spec { changes: Changes { writes: Writes::Distinct(500), ..base.changes }, ..base.clone() },
        ),
        (
            Planted::TreeMissesRecovery,
            Spec { discovery: Discovery::Merkle, log_entries: 1_000, ..base.clone() },
        ),
        (Planted::RangeStaysSkipped, Spec { discovery: Discovery::Merkle, clients, ..base.clone() }),
        (Planted::GathersTooFew, coded(base.clone())),
    ] {
        let fails = |planted: Option<Planted>| {
            let spec = Spec { planted, ..spec.clone() };
            std::panic::catch_unwind(|| counts(&spec, 3, Executor::Sequential, 1)).is_err()
        };
        assert!(!fails(None), "{planted:?}: the sound rule fails");
        assert!(fails(Some(planted)), "{planted:?} is not noticed");
    }
}

/// The audit detects states that were damaged after a run.
#[test]
fn damage_is_noticed() {
    let spec = Spec { discovery: Discovery::Merkle, ..spec() };
    let layouts = Layouts::new(spec.groups, spec.objects, Seed(4));
    let outage = Outage::new(&spec, &layouts, Seed(4), &|| false).expect("nobody stops it");
    let model = Backfill::new(&spec, &outage);
    let options = RunOptions { seed: Seed(4), ..RunOptions::default() };
    let finished = Finished::of(run(&model, options).expect("it runs"));
    let device = |state: &mut Finished<Backfill<'_>>, at: usize, damage: &dyn Fn(&mut Device)| {
        let Entity::Device(device) = &mut state.entities[at] else { panic!("entity {at} is a device") };
        damage(device);
    };
    let complaint = finished.complaint(&model, "an object is lost", |state| {
        device(state, 0, &|device| {
            device.groups.get_mut(&0).expect("it is held").overlay = Overlay::default()
        });
    });
    assert!(complaint.contains("its tree is not that of its objects"), "{complaint}");
    let complaint = finished.complaint(&model, "a disk has worked more than there was time for", |state| {
        device(state, 1, &|device| device.disk.lane.busy = SimSpan::from_secs(1 << 20));
    });
    assert!(complaint.contains("device 1"), "{complaint}");
    for (what, change) in [("one less", -1_i64), ("one more", 1)] {
        let complaint = finished.complaint(&model, what, |state| {
            for counts in &mut state.statistics {
                for filled in counts.backfills.values_mut() {
                    let (_, tally) = filled.ended.as_mut().expect("it has ended");
                    tally.recovered =
                        tally.recovered.checked_add_signed(change).expect("some were recovered");
                }
            }
        });
        assert!(complaint.contains("objects differed on device 0"), "{what}: {complaint}");
    }
}

/// Each backfill takes its start-up longer, whichever way it finds what differs.
#[test]
fn every_discovery_pays_its_start() {
    for discovery in Discovery::ALL {
        let clean = |startup: SimSpan| {
            let costs = Costs { startup, ..spec().costs };
            let spec = Spec { discovery, costs, ..spec() };
            counts(&spec, 3, Executor::Sequential, 1).clean[&0].since(SimTime::ZERO).as_secs_f64()
        };
        let later = clean(SimSpan::from_ms(500)) - clean(SimSpan::ZERO);
        // Steps of the protocol that went on meanwhile take microseconds.
        assert!((later - 0.5).abs() < 0.005, "{discovery:?} is {later} s later for a start of 0.5 s");
    }
}

/// A run that is stopped at any moment passes its audit, although objects are in flight. Bytes written
/// without being read are detected there too.
#[test]
fn runs_that_are_cut_short_pass_the_audit() {
    let base = Spec { objects: 300, object_bytes: 4 << 20, discovery: Discovery::Merkle, ..spec() };
    let clients = Some(Frequency::from_per_second(2).expect("above zero"));
    let mut on_their_way = 0;
    for spec in [
        base.clone(),
        Spec { clients, ..base.clone() },
        Spec { log_entries: 1_000, ..base.clone() },
        coded(base.clone()),
        coded(Spec { clients, groups: 4, devices: 8, ..base }),
    ] {
        let layouts = Layouts::new(spec.groups, spec.objects, Seed(4));
        let outage = Outage::new(&spec, &layouts, Seed(4), &|| false).expect("nobody stops it");
        let model = Backfill::new(&spec, &outage);
        let whole = run(&model, RunOptions { seed: Seed(4), ..RunOptions::default() }).expect("it runs");
        for part in 1..60 {
            let end = Some(SimTime::from_ns(whole.now.as_ns() / 60 * part));
            let options = RunOptions { seed: Seed(4), end, ..RunOptions::default() };
            let cut = run(&model, options).unwrap_or_else(|error| panic!("part {part}: {error}: {spec:?}"));
            let finished = Finished::of(cut);
            let moved = |entity: &Entity| match entity {
                Entity::Device(device) => (device.recovery_read, device.recovery_written),
                _ => (0, 0),
            };
            let read: u64 = finished.entities.iter().map(|entity| moved(entity).0).sum();
            let written: u64 = finished.entities.iter().map(|entity| moved(entity).1).sum();
            on_their_way += u64::from(read > u64::from(spec.data_shards) * written);
            if written > 0 {
                let complaint = finished.complaint(&model, "written without being read", |state| {
                    for entity in &mut state.entities {
                        if let Entity::Device(device) = entity {
                            device.recovery_written +=
                                u64::from(device.recovery_written > 0) * spec.held_bytes();
                            device.recovery_read = 0;
                        }
                    }
                });
                assert!(complaint.contains("an object is made from"), "{complaint}");
            }
        }
    }
    assert!(on_their_way > 20, "{on_their_way} cuts fell between a read and its write");
}

/// The utilisation tells whether the clients alone can be served: below 1 their waiting time is bounded,
/// above it each waits longer than the one before.
#[test]
fn clients_that_fill_a_card_are_known() {
    let kind = |per_second: u64, object_bytes: u64, base: Spec| Spec {
        object_bytes,
        clients: Some(Frequency::from_per_second(per_second).expect("above zero")),
        ..base
    };
    // Shards of 5 MB: a primary sends five of them, which takes 0.2 s of its NIC, and a disk writes one in
    // 45.8 ms.
    let coded = |per_second| kind(per_second, 20_000_000, Spec { devices: 8, ..coded(spec()) });
    assert!((coded(5).client_share() - 1.0).abs() < 0.001, "{}", coded(5).client_share());
    // Copies of 1 KiB in one group: each disk seeks for each of 40 writes per second.
    let copies = kind(40, 1024, spec());
    assert!((copies.client_share() - 0.5).abs() < 0.001, "{}", copies.client_share());
    // With three groups on three devices the disks write as much, and each NIC sends a third.
    let spread = kind(40, 1024, Spec { groups: 3, ..spec() });
    assert!((spread.client_share() - copies.client_share()).abs() < 1e-9);
    assert_eq!(spec().client_share(), 0.0);
    let mean_wait = |spec: Spec| {
        let layouts = Layouts::new(spec.groups, spec.objects, Seed(4));
        let outage = Outage::new(&spec, &layouts, Seed(4), &|| false).expect("nobody stops it");
        // Long enough for the waiting times at an overloaded NIC to grow.
        let options = RunOptions {
            seed: Seed(4),
            end: Some(SimTime::from_ns(60_000_000_000)),
            ..RunOptions::default()
        };
        let outcome = run(&Backfill::new(&spec, &outage), options).expect("it runs");
        let counts: Counts = outcome.merged_statistics();
        counts.waited.mean().expect("clients have waited") / 1e9
    };
    let small = |spec: Spec| Spec {
        objects: 60,
        changes: Changes { writes: Writes::Distinct(30), ..spec.changes },
        ..spec
    };
    let (below, above) = (mean_wait(small(coded(3))), mean_wait(small(coded(8))));
    assert!(above > 5.0 * below, "{below} s at 0.6, {above} s at 1.6");
}

fn counts(spec: &Spec, seed: u64, executor: Executor, workers: u32) -> Counts {
    let layouts = Layouts::new(spec.groups, spec.objects, Seed(seed));
    let outage = Outage::new(spec, &layouts, Seed(seed), &|| false).expect("nobody stops it");
    let options = RunOptions { seed: Seed(seed), executor, workers, ..RunOptions::default() };
    let outcome =
        run(&Backfill::new(spec, &outage), options).unwrap_or_else(|error| panic!("{spec:?}: {error}"));
    let counts: Counts = outcome.merged_statistics();
    let touched = spec.touched().count();
    assert_eq!(counts.clean.len(), touched, "all groups are clean in the end: {spec:?}");
    counts
}

/// The span from the beginning of the first backfill to the end of the last one.
fn span(counts: &Counts) -> f64 {
    let began = counts.backfills.values().map(|filled| filled.began).min().expect("there is one");
    let ended = counts.backfills.values().map(|filled| filled.ended.expect("it has ended").0).max();
    ended.expect("there is one").since(began).as_secs_f64()
}

#[test]
fn every_discovery_brings_replicas_up_to_date() {
    for discovery in Discovery::ALL {
        let spec = Spec { discovery, ..spec() };
        let counts = counts(&spec, 1, Executor::Sequential, 1);
        let filled = counts.backfills[&(0, 0)];
        let tally = filled.ended.expect("it has ended").1;
        println!(
            "{discovery:?}: {:.2} s, differing {}, discovered after {:?}, {tally:?}, {} messages, {} bytes",
            span(&counts),
            filled.differing,
            filled.discovered.map(|(at, by)| (at.since(filled.began), by)),
            counts.messages,
            counts.sent_bytes
        );
        assert_eq!(tally.recovered, 40, "{discovery:?}");
        let looked_at_all = tally.looked_at >= 2_000;
        assert_eq!(looked_at_all, discovery == Discovery::Scan, "{discovery:?}: {}", tally.looked_at);
    }
}

#[test]
fn executors_agree() {
    let base = Spec {
        objects: 300,
        changes: Changes { writes: Writes::Distinct(20), created: 0.2, deleted: 0.2 },
        ..spec()
    };
    let kinds = [
        base.clone(),
        Spec { groups: 3, devices: 4, down: 2, ..base.clone() },
        Spec { clients: Some(Frequency::from_per_second(20).expect("above zero")), ..base.clone() },
        Spec { log_entries: 1_000, ..base.clone() },
        coded(base.clone()),
        coded(Spec { groups: 4, devices: 8, log_entries: 30, ..base.clone() }),
        Spec { changes: Changes { writes: Writes::Drawn(60), ..base.changes }, ..base },
    ];
    for spec in kinds {
        for discovery in Discovery::ALL {
            let spec = Spec { discovery, ..spec.clone() };
            let alone = counts(&spec, 5, Executor::Sequential, 1);
            for (executor, workers) in
                [(Executor::Check, 1), (Executor::Conservative, 2), (Executor::Optimistic, 2)]
            {
                assert_eq!(counts(&spec, 5, executor, workers), alone, "{executor}: {spec:?}");
            }
        }
    }
}

#[test]
fn a_log_that_reaches_back_needs_no_backfill() {
    let spec = Spec { log_entries: 100, ..spec() };
    let counts = counts(&spec, 2, Executor::Sequential, 1);
    assert!(counts.backfills.is_empty(), "{counts:?}");
    assert_eq!(counts.recovered_by_log, 40);
}

#[test]
fn bitmaps_mark_what_was_written() {
    let spec = Spec { discovery: Discovery::Bitmap, ..spec() };
    let layouts = Layouts::new(spec.groups, spec.objects, Seed(1));
    let outage = Outage::new(&spec, &layouts, Seed(1), &|| false).expect("nobody stops it");
    let marked = |device: usize| {
        let dirty = outage.devices[device].groups[&0].replica.durable().summary.dirty().expect("it is kept");
        (dirty.since, dirty.ranges.marked())
    };
    println!("{:?} {:?} {:?}", marked(0), marked(1), marked(2));
    assert_eq!(marked(0), (1, 0));
    assert!((35..=40).contains(&marked(1).1), "{:?}", marked(1));
}

/// An object of a 4+2 code is read from four disks, a quarter from each, and a quarter is written: the time
/// is that of a disk that seeks once per object, and a quarter of the bytes sent goes to the target.
#[test]
fn a_coded_pool_reads_four_shards_for_each_that_it_writes() {
    for discovery in Discovery::ALL {
        let spec = coded(Spec { discovery, object_bytes: 4 << 20, ..spec() });
        let shard = 1 << 20;
        assert_eq!((spec.held_bytes(), spec.replicas_min()), (shard, 5));
        let layouts = Layouts::new(spec.groups, spec.objects, Seed(1));
        let outage = Outage::new(&spec, &layouts, Seed(1), &|| false).expect("nobody stops it");
        let options = RunOptions { seed: Seed(1), ..RunOptions::default() };
        let outcome = run(&Backfill::new(&spec, &outage), options).expect("it runs");
        let counts: Counts = outcome.merged_statistics();
        let tally = counts.backfills[&(0, 0)].ended.expect("it has ended").1;
        assert_eq!((tally.recovered, tally.recovered_bytes), (40, 40 * shard), "{discovery:?}");
        let moved = |at: usize| match &outcome.entities[at] {
            Entity::Device(device) => (device.recovery_read, device.recovery_written),
            other => panic!("entity {at} is {other:?}"),
        };
        let all: Vec<(u64, u64)> = (0..6).map(moved).collect();
        let source = (40 * shard, 0);
        assert_eq!(all, [(0, 40 * shard), source, source, source, source, (0, 0)], "{discovery:?}");
        // Three shards to the primary and one from it.
        let objects = 4 * 40 * shard;
        assert!((objects..objects + objects / 50).contains(&counts.sent_bytes), "{}", counts.sent_bytes);
    }
}

#[test]
fn a_code_needs_one_more_than_its_data_shards() {
    let least = |replicas, data_shards| Spec { replicas, data_shards, ..spec() }.replicas_min();
    assert_eq!([least(3, 1), least(6, 4), least(11, 8), least(3, 2), least(5, 4)], [1, 5, 9, 2, 4]);
}
