//! Backfills of replicas that were away: each discovery looks at and sends what differs; interrupted
//! backfills continue where they stopped, and take the time that their pauses imply.

use std::collections::BTreeSet;

use proptest::prelude::*;
use towtank_merkle::Subspace;
use towtank_replication::objects::Size;
use towtank_replication::{
    Config, Cursor, DeviceId, Discovery, GroupId, Holder, Key, Lot, Note, Objects, Operation, Outcome,
    Planted, Request, Reserver, Tally, Token, Version,
};
use towtank_units::SimSpan;

use crate::stale_replica::{self, Cluster, object};

fn config(discovery: Discovery) -> Config {
    let mut config = Config::new(3, Subspace::WHOLE, 8).expect("few leaves");
    config.discovery = discovery;
    config.sketch_cells = 1024;
    config.scan_max = 16;
    config.scan_min = 4;
    (config.log_entries_min, config.log_entries_max, config.log_trim_min) = (1, 2, 1);
    config
}

fn cluster(config: Config, objects: u32) -> Cluster {
    let all: Vec<(Key, Size)> = (0..objects).map(|number| (object(number), Size(1000))).collect();
    Cluster::new(config, 4, &all)
}

fn write(cluster: &mut Cluster, number: u32) {
    cluster.ask(object(number), Operation::Write(Size(700)));
    cluster.run();
}

fn state(cluster: &Cluster, device: usize) -> BTreeSet<(Key, Version)> {
    cluster.devices[device].1.iter().map(|(key, version, _)| (key, version)).collect()
}

/// Objects that the two devices do not have in the same version.
fn differing(cluster: &Cluster, ours: usize, theirs: usize) -> BTreeSet<Key> {
    let (ours, theirs) = (state(cluster, ours), state(cluster, theirs));
    ours.symmetric_difference(&theirs).map(|(key, _)| *key).collect()
}

fn recovered(cluster: &Cluster, target: u32) -> Vec<Key> {
    let of_target = |note: &Note| match note {
        Note::Recovered { key, to, .. } if *to == DeviceId(target) => Some(*key),
        _ => None,
    };
    cluster.notes.iter().filter_map(|(_, note)| of_target(note)).collect()
}

fn tally(cluster: &Cluster, of: u32) -> Tally {
    let of_target = |note: &Note| match note {
        Note::BackfillEnded { target, tally } if *target == DeviceId(of) => Some(*tally),
        _ => None,
    };
    cluster.notes.iter().rev().find_map(|(_, note)| of_target(note)).expect("the backfill ended")
}

fn assert_clean(cluster: &Cluster, devices: &[usize]) {
    for device in devices {
        assert_eq!(state(cluster, *device), state(cluster, devices[0]), "{device} differs");
        let (_, _, reserver) = &cluster.devices[*device];
        assert_eq!(reserver.held(Lot::Local) + reserver.held(Lot::Remote), 0, "{device} holds a slot");
    }
    let view = cluster.devices[devices[0]].0.view();
    assert!(view.is_clean && view.serves, "{view:?}");
}

/// The objects written and deleted while a device is away.
#[derive(Clone, Debug)]
struct Away {
    written: Vec<u32>,
    deleted: Vec<u32>,
}

fn away() -> impl Strategy<Value = Away> {
    let numbers = |most| proptest::collection::vec(0..140_u32, 0..most);
    (numbers(40), numbers(10)).prop_map(|(written, deleted)| Away { written, deleted })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_sent_is_what_differs(away in away(), discovery in 0..5_usize) {
        let discovery = Discovery::ALL[discovery];
        let config = config(discovery);
        let mut cluster = cluster(config, 120);
        cluster.set_up(&[0, 1]);
        away.written.iter().for_each(|number| write(&mut cluster, *number));
        for number in &away.deleted {
            cluster.ask(object(*number), Operation::Delete);
            cluster.run();
        }
        // So many writes that the log does not reach back.
        (200..204).for_each(|number| write(&mut cluster, number));
        let differing = differing(&cluster, 0, 2);
        let here: BTreeSet<Key> = state(&cluster, 0).iter().map(|(key, _)| *key).collect();
        let leaf = |key: &Key| config.shape.leaf_of(key.at());
        let leaves: BTreeSet<usize> = differing.iter().map(leaf).collect();
        cluster.set_up(&[0, 1, 2]);

        let sent: Vec<Key> = recovered(&cluster, 2);
        let want: Vec<Key> = differing.intersection(&here).copied().collect();
        let sorted: Vec<Key> = sent.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        prop_assert_eq!(&sorted, &want);
        prop_assert_eq!(sent.len(), want.len(), "an object was sent twice");
        let tally = tally(&cluster, 2);
        prop_assert_eq!(tally.removed as usize, differing.len() - want.len());
        let in_leaves = here.iter().filter(|key| leaves.contains(&leaf(key))).count() as u64;
        match discovery {
            Discovery::Scan => prop_assert_eq!(tally.looked_at, here.len() as u64),
            Discovery::Sketch => prop_assert_eq!(tally.looked_at, differing.len() as u64),
            Discovery::Merkle | Discovery::MerkleLevels => prop_assert_eq!(tally.looked_at, in_leaves),
            // An object that was created and deleted leaves a mark and no difference.
            Discovery::Bitmap => prop_assert!(tally.looked_at >= in_leaves),
        }
        assert_clean(&cluster, &[0, 1, 2]);
    }

    #[test]
    fn a_backfill_that_is_stopped_goes_on(stop in 1..400_usize, discovery in 0..5_usize) {
        let mut config = config(Discovery::ALL[discovery]);
        (config.log_entries_min, config.log_entries_max) = (4, 4);
        let mut cluster = cluster(config, 120);
        cluster.set_up(&[0, 1]);
        (0..60).for_each(|number| write(&mut cluster, number * 2));
        // Device 2 returns for `stop` events, and leaves again.
        let before = recovered(&cluster, 2).len();
        cluster.begin(&[0, 1, 2]);
        for _ in 0..stop {
            cluster.step();
        }
        cluster.set_up(&[0, 1]);
        let cursor = cluster.devices[2].0.durable().cursor;
        let left = differing(&cluster, 0, 2).len();
        cluster.notes.clear();
        cluster.set_up(&[0, 1, 2]);
        prop_assert_eq!(before, 0);
        prop_assert_eq!(recovered(&cluster, 2).len(), left, "what was sent is not sent again");
        let resumed = cluster.notes.iter().find_map(|(_, note)| match note {
            Note::BackfillBegan { resumed, .. } => Some(*resumed),
            _ => None,
        });
        // The primary's log has not been trimmed further, so a backfill that has begun is resumed.
        let has_begun = cursor != Cursor::End;
        prop_assert_eq!(resumed == Some(true), has_begun);
        assert_clean(&cluster, &[0, 1, 2]);
    }
}

#[test]
fn writes_during_a_backfill_reach_the_target() {
    for discovery in Discovery::ALL {
        let mut cluster = cluster(config(discovery), 120);
        cluster.set_up(&[0, 1]);
        (0..40).for_each(|number| write(&mut cluster, number * 3));
        cluster.begin(&[0, 1, 2]);
        let mut number = 0;
        while cluster.step() {
            number += 1;
            if number % 7 == 0 && number < 1000 {
                let operation = if number % 3 == 0 { Operation::Delete } else { Operation::Write(Size(9)) };
                cluster.ask(object(number % 130), operation);
            }
        }
        assert_clean(&cluster, &[0, 1, 2]);
        assert!(cluster.outcomes.values().any(|outcome| matches!(outcome, Outcome::Done(_))));
    }
}

#[test]
fn two_targets_and_a_new_one_are_filled() {
    for discovery in Discovery::ALL {
        let mut cluster = cluster(Config { size_min: 1, ..config(discovery) }, 100);
        cluster.set_up(&[0]);
        (0..30).for_each(|number| write(&mut cluster, number));
        cluster.set_up(&[1, 0, 2]);
        assert_clean(&cluster, &[1, 0, 2]);
        assert_eq!((tally(&cluster, 1).recovered, tally(&cluster, 2).recovered), (30, 30), "{discovery:?}");
    }
}

#[test]
fn a_replica_that_the_log_reaches_is_not_backfilled() {
    let config = Config { log_entries_min: 100, log_entries_max: 100, ..config(Discovery::Merkle) };
    let mut cluster = cluster(config, 50);
    cluster.set_up(&[0, 1]);
    (0..30).for_each(|number| write(&mut cluster, number));
    cluster.set_up(&[0, 1, 2]);
    assert!(!cluster.notes.iter().any(|(_, note)| matches!(note, Note::BackfillBegan { .. })));
    assert!(cluster.notes.iter().any(|(_, note)| *note == Note::LogRecoveryBegan { objects: 30 }));
    assert_eq!(recovered(&cluster, 2).len(), 30);
    assert_clean(&cluster, &[0, 1, 2]);
}

#[test]
fn a_part_of_a_backfill_that_was_stopped_is_thrown_away() {
    // A target whose slot was revoked had the first part of an object; then the object became smaller and
    // arrived in one part.
    let config = Config { chunk_bytes: 500, ..config(Discovery::Scan) };
    let mut cluster = cluster(config, 20);
    cluster.devices[2].2 = Reserver::new(1).preempting();
    cluster.set_up(&[0, 1]);
    (0..20).for_each(|number| write(&mut cluster, number));
    cluster.begin(&[0, 1, 2]);
    while cluster.devices[2].1.staged() == 0 {
        assert!(cluster.step(), "no part has arrived");
    }
    let other = Holder { group: GroupId(9), token: Token(0) };
    let request = Request { holder: other, lot: Lot::Remote, priority: 255, bytes: 0 };
    cluster.reserve(2, |reserver, verdicts| reserver.request(request, verdicts));
    cluster.run();
    assert_eq!(cluster.devices[0].0.view().targets, 1, "the slot is another's");
    for number in 0..20 {
        cluster.ask(object(number), Operation::Write(Size(9)));
    }
    cluster.run();
    cluster.reserve(2, |reserver, verdicts| reserver.release(Lot::Remote, other, verdicts));
    cluster.run();
    assert_clean(&cluster, &[0, 1, 2]);
    assert_eq!(cluster.devices[2].1.staged(), 0);
}

#[test]
fn a_target_that_is_to_be_filled_anew_gives_what_it_alone_has() {
    let mut config = config(Discovery::Merkle);
    (config.size, config.size_min, config.log_entries_max) = (2, 1, 4);
    let mut cluster = cluster(config, 20);
    cluster.set_up(&[0]);
    write(&mut cluster, 5);
    // Device 1 learns of the write, and device 0 leaves before it has sent the object.
    cluster.begin(&[0, 1]);
    while cluster.devices[1].0.durable().missing.is_empty() {
        assert!(cluster.step(), "device 1 follows");
    }
    cluster.set_up(&[1]);
    assert!(cluster.notes.iter().any(|(_, note)| *note == Note::Unfound { key: object(5) }));
    (10..18).for_each(|number| write(&mut cluster, number));
    // The log has moved on, and a new backfill of device 0 begins; then another interval begins.
    cluster.begin(&[1, 0]);
    while cluster.devices[0].0.durable().is_complete() {
        assert!(cluster.step(), "device 0 is to be filled");
    }
    cluster.set_up(&[1, 0]);
    assert_clean(&cluster, &[1, 0]);
    let (_, objects, _) = &cluster.devices[1];
    assert_eq!(objects.look_up(object(5)).map(|listed| listed.size), Some(700), "the write is there");
}

#[test]
fn large_objects_go_in_parts() {
    let config = Config { chunk_bytes: 64, ..config(Discovery::Scan) };
    let mut cluster = cluster(config, 20);
    cluster.set_up(&[0, 1]);
    (0..20).for_each(|number| write(&mut cluster, number));
    cluster.set_up(&[0, 1, 2]);
    assert_clean(&cluster, &[0, 1, 2]);
    let (_, objects, _) = &cluster.devices[2];
    assert_eq!(objects.look_up(object(3)).map(|listed| listed.size), Some(700));
    assert_eq!(objects.staged(), 0);
}

#[test]
fn rests_give_the_time_of_a_backfill() {
    // The small Ceph cluster took 27.4 s for 260 operations with its default pause of 0.1 s: 250 objects and
    // 10 batches.
    let mut config = config(Discovery::Scan);
    config.sleep = SimSpan::from_ms(100);
    config.scan_max = 512;
    let mut cluster = cluster(config, 5_000);
    cluster.set_up(&[0, 1]);
    (0..250).for_each(|number| write(&mut cluster, number * 20));
    cluster.set_up(&[0, 1, 2]);
    let at = |is: fn(&Note) -> bool| cluster.notes.iter().find(|(_, note)| is(note)).map(|(at, _)| *at);
    let began = at(|note| matches!(note, Note::BackfillBegan { .. })).expect("it began");
    let ended = at(|note| matches!(note, Note::BackfillEnded { .. })).expect("it ended");
    let seconds = ended.since(began).as_secs_f64();
    assert!((25.5..27.5).contains(&seconds), "{seconds} s for 260 operations");
    assert_eq!((tally(&cluster, 2).batches, tally(&cluster, 2).recovered), (10, 250));
}

fn discovered_by(cluster: &Cluster) -> Vec<Discovery> {
    let by = |note: &Note| match note {
        Note::Discovered { by, .. } => Some(*by),
        _ => None,
    };
    cluster.notes.iter().filter_map(|(_, note)| by(note)).collect()
}

#[test]
fn a_sketch_that_overflows_gives_way_to_the_trees() {
    let config = Config { sketch_cells: 16, sketch_first_cells: 4, ..config(Discovery::Sketch) };
    let mut cluster = cluster(config, 100);
    cluster.set_up(&[0, 1]);
    (0..50).for_each(|number| write(&mut cluster, number));
    cluster.set_up(&[0, 1, 2]);
    assert_eq!(discovered_by(&cluster), [Discovery::MerkleLevels]);
    assert_eq!(tally(&cluster, 2).recovered, 50);
    assert_clean(&cluster, &[0, 1, 2]);
}

#[test]
fn a_bitmap_that_began_at_another_time_gives_way_to_a_scan() {
    let mut cluster = cluster(config(Discovery::Bitmap), 60);
    cluster.set_up(&[0, 1]);
    (0..20).for_each(|number| write(&mut cluster, number));
    cluster.set_up(&[0, 1, 2]);
    assert_eq!(discovered_by(&cluster), [Discovery::Bitmap], "all three were clean together");
    cluster.set_up(&[0, 1]);
    (0..20).for_each(|number| write(&mut cluster, number));
    // Device 3 was absent then. Now the group is clean without device 2, and new bitmaps begin.
    cluster.set_up(&[0, 1, 3]);
    (20..30).for_each(|number| write(&mut cluster, number));
    cluster.set_up(&[0, 1, 2]);
    assert_eq!(discovered_by(&cluster)[1..], [Discovery::Scan, Discovery::Scan]);
    assert_eq!(tally(&cluster, 2).recovered, 30);
    assert_clean(&cluster, &[0, 1, 2]);
}

#[test]
fn equal_replicas_are_found_by_their_roots() {
    for discovery in [Discovery::Merkle, Discovery::MerkleLevels, Discovery::Sketch] {
        let mut cluster = cluster(config(discovery), 60);
        cluster.set_up(&[0, 1]);
        // Objects are created and removed again: the log has moved on, and nothing differs.
        for number in 100..110 {
            write(&mut cluster, number);
            cluster.ask(object(number), Operation::Delete);
            cluster.run();
        }
        cluster.set_up(&[0, 1, 2]);
        let tally = tally(&cluster, 2);
        assert_eq!((tally.looked_at, tally.recovered, tally.removed), (0, 0, 0), "{discovery:?}");
        assert!(tally.exchanged_bytes < 200, "{} bytes for two roots", tally.exchanged_bytes);
        assert_clean(&cluster, &[0, 1, 2]);
    }
}

#[test]
fn a_full_target_is_asked_again() {
    let mut cluster = cluster(config(Discovery::Merkle), 40);
    cluster.set_up(&[0, 1]);
    (0..10).for_each(|number| write(&mut cluster, number));
    let reserver = Reserver::new(1).full_at(100);
    cluster.devices[2].2 = reserver;
    cluster.devices[2].2.set_used(200);
    cluster.begin(&[0, 1, 2]);
    for _ in 0..200 {
        cluster.step();
    }
    assert!(cluster.notes.iter().any(|(_, note)| *note == Note::TargetFull { target: DeviceId(2) }));
    assert_eq!(cluster.devices[0].0.view().targets, 1);
    cluster.devices[2].2.set_used(0);
    cluster.run();
    assert_clean(&cluster, &[0, 1, 2]);
}

#[test]
fn below_the_least_number_of_replicas_nothing_is_taken() {
    let mut cluster = cluster(config(Discovery::Scan), 10);
    cluster.set_up(&[0]);
    let request = cluster.ask(object(1), Operation::Write(Size(5)));
    cluster.run();
    assert_eq!(cluster.outcomes.get(&request), None, "one of three is fewer than two");
    cluster.set_up(&[0, 2]);
    assert_eq!(
        cluster.outcomes.get(&request),
        Some(&Outcome::Retry),
        "whoever serves next must be asked again"
    );
}

/// A group of 4 data and 2 parity shards: an object at a device stands for the device's shard.
fn coded(discovery: Discovery) -> Config {
    Config { size: 6, size_min: 5, data_shards: 4, ..config(discovery) }
}

fn coded_cluster(config: Config, objects: u32) -> Cluster {
    let all: Vec<(Key, Size)> = (0..objects).map(|number| (object(number), Size(1000))).collect();
    Cluster::new(config, 6, &all)
}

const ALL_SIX: [u32; 6] = [0, 1, 2, 3, 4, 5];

/// Every shard that a target receives is decoded from four others, one of which is the primary's own: three
/// are sent to the primary, and the decoded one is sent from it.
#[test]
fn a_shard_is_made_from_as_many_as_make_up_an_object() {
    for discovery in Discovery::ALL {
        for away in 0..6_u32 {
            let mut cluster = coded_cluster(coded(discovery), 60);
            let stayed: Vec<u32> = ALL_SIX.into_iter().filter(|device| *device != away).collect();
            cluster.set_up(&stayed);
            (0..20).for_each(|number| write(&mut cluster, number));
            cluster.moved.clear();
            let mut back = stayed.clone();
            back.push(away);
            cluster.set_up(&back);
            assert_clean(&cluster, &back.iter().map(|device| *device as usize).collect::<Vec<_>>());
            assert_eq!(tally(&cluster, away).recovered, 20, "{discovery:?}");
            assert_eq!(tally(&cluster, away).recovered_bytes, 20 * 700);
            let read: u64 = cluster.moved.values().map(|moved| moved.read).sum();
            assert_eq!(read, 4 * 20 * 700, "{discovery:?}: {:?}", cluster.moved);
            let asked = stayed[..4].iter().all(|source| cluster.moved[source].read == 20 * 700);
            assert!(asked, "the first acting replicas are asked: {:?}", cluster.moved);
            assert_eq!(cluster.moved[&away].written, 20 * 700);
        }
    }
}

/// The same if the log reaches back, if two devices are away, and if shards are larger than a message may be.
#[test]
fn shards_are_made_by_the_log_for_two_and_in_parts() {
    for (log, chunk) in [(100, 1 << 20), (2, 1 << 20), (2, 300)] {
        let (log_entries_min, log_entries_max) = (log.min(50), log);
        let config = Config {
            log_entries_min,
            log_entries_max,
            size_min: 4,
            chunk_bytes: chunk,
            ..coded(Discovery::Merkle)
        };
        let mut cluster = coded_cluster(config, 60);
        cluster.set_up(&[1, 2, 4, 5]);
        (0..20).for_each(|number| write(&mut cluster, number));
        cluster.moved.clear();
        cluster.set_up(&[1, 2, 4, 5, 0, 3]);
        assert_clean(&cluster, &[1, 2, 4, 5, 0, 3]);
        let by_log = !cluster.notes.iter().any(|(_, note)| matches!(note, Note::BackfillBegan { .. }));
        assert_eq!(by_log, log == 100);
        let sum = |of: fn(&stale_replica::Moved) -> u64| cluster.moved.values().map(of).sum::<u64>();
        assert_eq!((sum(|it| it.read), sum(|it| it.written)), (4 * 40 * 700, 40 * 700), "log of {log}");
    }
}

/// A primary that misses its own shard decodes it from others; with too few of them, the object is unfound
/// until another replica returns.
#[test]
fn a_primary_makes_its_own_shard_and_knows_when_it_cannot() {
    let config =
        Config { log_entries_min: 100, log_entries_max: 100, size_min: 4, ..coded(Discovery::Merkle) };
    let mut cluster = coded_cluster(config, 20);
    cluster.set_up(&[1, 2, 3, 4]);
    (0..5).for_each(|number| write(&mut cluster, number));
    // Device 0 has the log's head by now and is the primary, and of the four devices with a shard of these
    // objects only three are present.
    cluster.set_up(&[0, 1, 2, 3, 5]);
    let unfound = |cluster: &Cluster| {
        cluster.notes.iter().filter(|(_, note)| matches!(note, Note::Unfound { .. })).count()
    };
    assert!(unfound(&cluster) >= 5, "three shards of four are there");
    assert!(!cluster.devices[0].0.view().is_clean);
    cluster.notes.clear();
    cluster.set_up(&[0, 1, 2, 3, 4, 5]);
    assert_eq!(unfound(&cluster), 0);
    assert_clean(&cluster, &[0, 1, 2, 3, 4, 5]);
    assert_eq!(recovered(&cluster, 0).len(), 5, "its own");
    assert_eq!(recovered(&cluster, 5).len(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whichever device is away, and whatever is written, deleted and interrupted, all positions end with the
    /// same versions.
    #[test]
    fn coded_groups_end_equal(
        away in away(), gone in 0..6_u32, stop in 1..300_usize, discovery in 0..Discovery::ALL.len(),
        chunk in prop::sample::select(vec![200_u64, 1 << 20]),
    ) {
        let config = Config { chunk_bytes: chunk, ..coded(Discovery::ALL[discovery]) };
        let mut cluster = coded_cluster(config, 120);
        let stayed: Vec<u32> = ALL_SIX.into_iter().filter(|device| *device != gone).collect();
        cluster.set_up(&stayed);
        away.written.iter().for_each(|number| write(&mut cluster, *number));
        for number in &away.deleted {
            cluster.ask(object(*number), Operation::Delete);
            cluster.run();
        }
        let back: Vec<u32> = stayed.iter().copied().chain([gone]).collect();
        cluster.begin(&back);
        for _ in 0..stop {
            cluster.step();
        }
        cluster.set_up(&stayed);
        (0..9).for_each(|number| write(&mut cluster, number * 5));
        cluster.begin(&back);
        let mut number = 0;
        while cluster.step() {
            number += 1;
            if number % 11 == 0 && number < 600 {
                cluster.ask(object(number % 130), Operation::Write(Size(9)));
            }
        }
        assert_clean(&cluster, &back.iter().map(|device| *device as usize).collect::<Vec<_>>());
    }
}

/// A check detects decoding from k - 1 shards: it reads less than the bytes written require.
#[test]
fn a_shard_from_too_few_is_noticed() {
    let config = Config { planted: Some(Planted::GathersTooFew), ..coded(Discovery::Scan) };
    let mut cluster = coded_cluster(config, 20);
    cluster.set_up(&[0, 1, 2, 3, 4]);
    (0..8).for_each(|number| write(&mut cluster, number));
    cluster.moved.clear();
    cluster.set_up(&ALL_SIX);
    let sum = |of: fn(&stale_replica::Moved) -> u64| cluster.moved.values().map(of).sum::<u64>();
    assert_ne!(sum(|it| it.read), 4 * sum(|it| it.written));
}
