//! Laws of outages and runs over random clusters: what changed, which devices hold what, and the statistics
//! of a run.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use towtank_backfill::{
    AWAY, BACK, Backfill, Changes, Costs, Counts, Device, Discovery, Entity, Layouts, Outage, Spec, Writes,
};
use towtank_devices::DiskClock;
use towtank_kernel::{RunOptions, Statistics as _, run};
use towtank_replication::Work;
use towtank_streams::Seed;
use towtank_units::{Bytes, SimSpan, SimTime};

use crate::{disk, rate};

/// A small cluster: copies or a code, with one or more devices away.
fn specs() -> impl Strategy<Value = Spec> {
    let shape = (2..5_u32, 0..3_u32, 1..5_u32, any::<bool>(), 0..3_u32);
    let load = (1..120_u32, 0..121_u32, 0.0..0.5_f64, 0.0..0.5_f64, 0..5_usize, 0..8_u8, 1..40_u32);
    (shape, load).prop_map(|((replicas, more, groups, is_coded, away), load)| {
        let (objects, changed, created, deleted, discovery, leaf_bits, log_entries) = load;
        let (replicas, data_shards) = if is_coded { (replicas + 2, replicas) } else { (replicas, 1) };
        let spec = Spec {
            groups,
            devices: replicas + more,
            replicas,
            data_shards,
            down: 1,
            objects,
            object_bytes: 1_000,
            changes: Changes { writes: Writes::Distinct(changed.min(objects)), created, deleted },
            discovery: Discovery::ALL[discovery],
            leaf_bits,
            sketch_cells: 64,
            log_entries,
            slots: 1,
            active: 2,
            sleep: SimSpan::ZERO,
            batch: 16,
            costs: Costs { look: SimSpan::from_us(50), recovery: SimSpan::from_ms(1), ..Costs::default() },
            disk: disk(),
            nic: rate(125_000_000),
            latency: SimSpan::from_us(100),
            clients: None,
            planted: None,
        };
        let most = spec.replicas - spec.replicas_min();
        Spec { down: 1 + away % most.max(1), ..spec }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The number of a group determines its devices: distinct ones, with those that stayed first and in
    /// order.
    #[test]
    fn groups_lie_where_their_numbers_say(spec in specs()) {
        let touched: BTreeSet<u32> = spec.touched().collect();
        for group in 0..spec.groups {
            let (up, stayed) = (spec.up(group), spec.stayed(group));
            prop_assert_eq!(up.len(), spec.replicas as usize);
            prop_assert_eq!(up.iter().collect::<BTreeSet<_>>().len(), up.len(), "a device twice: {:?}", up);
            prop_assert!(up.iter().all(|device| device.0 < spec.devices));
            prop_assert_eq!(&up[..stayed.len()], &stayed[..], "who stayed leads");
            prop_assert!(stayed.len() as u32 >= spec.replicas_min(), "the group took writes meanwhile");
            prop_assert_eq!(touched.contains(&group), stayed.len() < up.len());
        }
        let share = spec.expected_changes();
        prop_assert!((0.0..=f64::from(spec.objects)).contains(&share), "{} of {}", share, spec.objects);
        prop_assert!(spec.held_bytes() * u64::from(spec.data_shards) >= spec.object_bytes);
        prop_assert!((spec.held_bytes() - 1) * u64::from(spec.data_shards) < spec.object_bytes);
        prop_assert!(spec.data_shards <= spec.replicas_min() && spec.replicas_min() <= spec.replicas);
    }

    /// An outage leaves the devices that were away unchanged, and the others equal to each other.
    #[test]
    fn an_outage_changes_what_it_says(spec in specs(), seed in 0..1_000_u64) {
        let layouts = Layouts::new(spec.groups, spec.objects, Seed(seed));
        let outage = Outage::new(&spec, &layouts, Seed(seed), &|| false).expect("nobody stops it");
        prop_assert_eq!(outage.devices.len(), spec.devices as usize);
        prop_assert!(Outage::new(&spec, &layouts, Seed(seed), &|| true).is_none() || spec.touched().count() == 0);
        let Writes::Distinct(changed) = spec.changes.writes else { panic!("objects are counted") };
        for group in spec.touched() {
            let differing = outage.differing[&group];
            // A new object differs, and so does the object that was drawn for the change, which stays
            // unchanged.
            prop_assert!(differing <= u64::from(changed), "{} of {} changes differ", differing, changed);
            prop_assert_eq!(differing == 0, changed == 0);
            let held = |device: &towtank_replication::DeviceId| &outage.devices[device.0 as usize].groups[&group];
            let stayed = spec.stayed(group);
            for device in spec.up(group) {
                let durable = held(&device).replica.durable();
                prop_assert!(durable.missing.is_empty() && durable.is_complete());
                let epoch = if spec.was_away(device) { 1 } else { AWAY };
                prop_assert_eq!(durable.epoch, epoch, "and now comes {}", BACK);
                if spec.was_away(device) {
                    prop_assert_eq!(held(&device).overlay.len(), 0);
                    prop_assert_eq!(durable.log.head(), layouts.last_version());
                } else {
                    prop_assert_eq!(&held(&device).overlay, &held(&stayed[0]).overlay);
                    prop_assert_eq!(durable.log.head(), held(&stayed[0]).replica.durable().log.head());
                    prop_assert!(durable.log.len() <= 2 * spec.log_entries as usize + 1);
                }
            }
        }
    }

    /// The statistics of a run: every touched group becomes clean once, after its backfills, which recover
    /// and remove what differed; devices write what they recovered, and read as many shards as that needs.
    #[test]
    fn a_run_accounts_for_what_differed(spec in specs(), seed in 0..1_000_u64) {
        let layouts = Layouts::new(spec.groups, spec.objects, Seed(seed));
        let outage = Outage::new(&spec, &layouts, Seed(seed), &|| false).expect("nobody stops it");
        let options = RunOptions { seed: Seed(seed), ..RunOptions::default() };
        let outcome = run(&Backfill::new(&spec, &outage), options).expect("it runs");
        let counts: Counts = outcome.merged_statistics();
        prop_assert_eq!(outcome.pending, 0);
        prop_assert_eq!(counts.clean.keys().copied().collect::<Vec<u32>>(), spec.touched().collect::<Vec<u32>>());
        prop_assert!(counts.clean.values().all(|at| *at <= outcome.now));
        prop_assert_eq!((counts.down, counts.retried, counts.waited.count()), (0, 0, 0));
        prop_assert!(counts.sent_bytes > counts.messages, "a message has a head");
        let mut recovered = counts.recovered_by_log;
        for ((group, target), filled) in &counts.backfills {
            let (ended, tally) = filled.ended.expect("it has ended");
            prop_assert!(spec.was_away(towtank_replication::DeviceId(*target)), "only who was away is filled");
            prop_assert!(filled.began <= ended && ended <= counts.clean[group]);
            prop_assert!(filled.discovered.is_none_or(|(at, _)| filled.began <= at && at <= ended));
            prop_assert_eq!(tally.recovered + tally.removed, outage.differing[group]);
            prop_assert_eq!(tally.recovered_bytes, tally.recovered * spec.held_bytes());
            prop_assert!(tally.looked_at.max(tally.looked_at_by_target) >= tally.recovered);
            let all = u64::from(spec.objects) + outage.differing[group];
            prop_assert!(tally.looked_at <= all && tally.looked_at_by_target <= all);
            recovered += tally.recovered;
        }
        let (mut read, mut written) = (0, 0);
        for entity in &outcome.entities {
            if let Entity::Device(device) = entity {
                (read, written) = (read + device.recovery_read, written + device.recovery_written);
                prop_assert!(device.asked.is_empty());
            }
        }
        prop_assert_eq!(written, recovered * spec.held_bytes());
        prop_assert_eq!(read, u64::from(spec.data_shards) * written);
    }
}

/// Each kind of work takes the sum of its steps, one after the other on each resource: lookups run beside the
/// disk, recoveries before it.
#[test]
fn work_takes_what_its_parts_take() {
    let spec = Spec { costs: Costs { look: SimSpan::from_us(50), ..Costs::default() }, ..one_spec() };
    let costs = Costs { recovery: SimSpan::from_ms(3), ..spec.costs };
    let clock = DiskClock::new(spec.disk.clone(), Bytes::new(1_500_000));
    let mut device = Device::new(1);
    let at = |ms: f64| SimTime::from_ns((ms * 1e6) as u64);
    let mut done = |work: Work| device.work(SimTime::ZERO, work, &costs, &clock);
    // 12.5 ms for a seek and 10 ms for 1.5 MB at 150 MB/s.
    assert_eq!(done(Work::Read { bytes: 1_500_000, is_recovery: true }), at(22.5));
    assert_eq!(done(Work::Look { objects: 4 }), at(0.2), "looking waits for no disk");
    assert_eq!(done(Work::Look { objects: 0 }), at(0.2));
    assert_eq!(done(Work::Apply { bytes: 1_500_000, is_recovery: false }), at(45.0));
    // The recovery step runs while the disk is busy.
    assert_eq!(done(Work::Apply { bytes: 1_500_000, is_recovery: true }), at(67.5));
    assert_eq!(done(Work::Apply { bytes: 0, is_recovery: true }), at(80.0));
    assert_eq!((device.recovery_read, device.recovery_written), (1_500_000, 1_500_000));
    assert_eq!(device.disk.seeks, 4);
    assert_eq!(device.recovering.busy, SimSpan::from_ms(6));
    assert_eq!(device.looking.busy, SimSpan::from_us(200));
    assert_eq!(device.disk.lane.busy, SimSpan::from_ms(80));
    assert_eq!((device.out.lane.busy, device.inward.lane.busy), (SimSpan::ZERO, SimSpan::ZERO));
}

/// Statistics of entities give the same result when merged in any order.
#[test]
fn counts_are_joined_in_any_order() {
    let spec = Spec { groups: 4, discovery: Discovery::Merkle, ..one_spec() };
    let layouts = Layouts::new(spec.groups, spec.objects, Seed(2));
    let outage = Outage::new(&spec, &layouts, Seed(2), &|| false).expect("nobody stops it");
    let outcome = run(&Backfill::new(&spec, &outage), RunOptions::default()).expect("it runs");
    let joined = |statistics: &mut dyn Iterator<Item = &Counts>| {
        statistics.fold(Counts::default(), |mut all, one| {
            all.merge(one);
            all
        })
    };
    let forward = joined(&mut outcome.statistics.iter());
    assert_eq!(forward, joined(&mut outcome.statistics.iter().rev()));
    assert_eq!(forward, outcome.merged_statistics());
    assert!(!forward.backfills.is_empty() && forward.messages > 0);
}

fn one_spec() -> Spec {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let drawn = specs().new_tree(&mut runner).expect("a spec can be drawn").current();
    Spec { replicas: 3, data_shards: 1, devices: 4, down: 1, objects: 50, log_entries: 2, ..drawn }
}
