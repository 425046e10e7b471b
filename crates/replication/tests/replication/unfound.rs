//! Writes whose only copy is damaged before anybody else has it: the group gives them up if nobody can know
//! of them, and waits if somebody might.

use crate::stale_replica::{Cluster, object};
use towtank_merkle::Subspace;
use towtank_replication::objects::Size;
use towtank_replication::{
    Config, Discovery, Key, Note, Objects, Operation, Outcome, Planted, RequestId, Version,
};

const OLD: u64 = 1000;
const NEW: u64 = 700;

fn config() -> Config {
    let mut config = Config::new(3, Subspace::WHOLE, 8).expect("few leaves");
    config.discovery = Discovery::Merkle;
    (config.log_entries_min, config.log_entries_max, config.log_trim_min) = (2, 3, 1);
    config
}

fn cluster(config: Config) -> Cluster {
    let all: Vec<(Key, Size)> = (0..20).map(|number| (object(number), Size(OLD))).collect();
    Cluster::new(config, 4, &all)
}

/// Sends changes to device 0, which applies them and is cut off before anybody else has them.
fn interrupted(cluster: &mut Cluster, changes: &[(u32, Operation<Size>)]) -> Vec<RequestId> {
    let head = |cluster: &Cluster| cluster.devices[0].0.durable().log.head().counter;
    let before = head(cluster);
    let ask = |(number, operation): &(u32, Operation<Size>)| cluster.ask(object(*number), operation.clone());
    let requests: Vec<RequestId> = changes.iter().map(ask).collect();
    while head(cluster) < before + changes.len() as u64 {
        assert!(cluster.step(), "device 0 takes the changes");
    }
    cluster.set_up(&[0]);
    requests
}

/// Damages a device's copy; the device notices it in the interval that begins next.
fn damage(cluster: &mut Cluster, device: usize, number: u32) {
    let (replica, objects, _) = &mut cluster.devices[device];
    replica.lose(object(number), objects);
}

fn size(cluster: &Cluster, device: usize, number: u32) -> Option<u64> {
    cluster.devices[device].1.look_up(object(number)).map(|listed| listed.size)
}

fn read(cluster: &mut Cluster, number: u32) -> Option<Option<(Version, Size)>> {
    let request = cluster.ask(object(number), Operation::Read);
    cluster.run();
    match cluster.outcomes.get(&request) {
        Some(Outcome::Read { found, .. }) => Some(*found),
        _ => None,
    }
}

fn assert_clean(cluster: &Cluster, devices: &[usize]) {
    let state = |device: usize| {
        let objects = cluster.devices[device].1.iter();
        objects.map(|(key, version, _)| (key, version)).collect::<Vec<_>>()
    };
    for device in devices {
        assert_eq!(state(*device), state(devices[0]), "{device} differs");
    }
    let view = cluster.devices[devices[0]].0.view();
    assert!(view.is_clean && view.serves, "{view:?}");
}

fn is_reverted(cluster: &Cluster, number: u32) -> bool {
    let is = |note: &Note| matches!(note, Note::Reverted { key, .. } if *key == object(number));
    cluster.notes.iter().any(|(_, note)| is(note))
}

fn is_unfound(cluster: &Cluster, number: u32) -> bool {
    cluster.notes.iter().any(|(_, note)| *note == Note::Unfound { key: object(number) })
}

/// A write that only device 0 has had, in whose log it is, and of which it loses the bytes.
fn lost_write(config: Config) -> (Cluster, RequestId) {
    let mut cluster = cluster(config);
    let requests = interrupted(&mut cluster, &[(5, Operation::Write(Size(NEW)))]);
    damage(&mut cluster, 0, 5);
    (cluster, requests[0])
}

/// A repeated request, and its outcome.
fn repeat(cluster: &mut Cluster, request: RequestId, operation: Operation<Size>) -> Option<Outcome<Size>> {
    cluster.outcomes.remove(&request);
    cluster.repeat(request, object(5), operation);
    cluster.run();
    cluster.outcomes.get(&request).cloned()
}

/// The store was tortured like this: a write is applied by its primary only, the primary crashes, the log
/// that names the write is that of all, and the bytes are damaged.
#[test]
fn a_write_that_nobody_confirmed_and_nobody_has_is_given_up() {
    let (mut cluster, request) = lost_write(config());
    cluster.set_up(&[0, 1, 2]);
    let found = read(&mut cluster, 5);
    assert_eq!(found.flatten().map(|(_, size)| size), Some(Size(OLD)), "the value before");
    assert_clean(&cluster, &[0, 1, 2]);
    assert!(!is_unfound(&cluster, 5) && is_reverted(&cluster, 5));
    // The client repeats its request: it is executed anew, and once.
    let undone = Version { epoch: 2, counter: 21 };
    let first = repeat(&mut cluster, request, Operation::Write(Size(NEW)));
    assert!(matches!(first, Some(Outcome::Done(version)) if version > undone), "{first:?}");
    (6..12).for_each(|number| {
        cluster.ask(object(number), Operation::Write(Size(1)));
        cluster.run();
    });
    cluster.set_up(&[0, 1, 2]);
    assert_eq!(repeat(&mut cluster, request, Operation::Write(Size(NEW))), first);
    assert_eq!([0, 1, 2].map(|device| size(&cluster, device, 5)), [Some(NEW); 3]);
}

/// Two changes in a row are undone one after the other.
#[test]
fn several_changes_of_one_object_are_given_up_one_by_one() {
    let mut cluster = cluster(config());
    let write = |number, size| (number, Operation::Write(Size(size)));
    interrupted(&mut cluster, &[write(5, NEW), write(30, NEW), write(5, NEW + 1)]);
    damage(&mut cluster, 0, 5);
    damage(&mut cluster, 0, 30);
    cluster.set_up(&[0, 1, 2]);
    assert_clean(&cluster, &[0, 1, 2]);
    let reverted = cluster.notes.iter().filter(|(_, note)| matches!(note, Note::Reverted { .. })).count();
    assert_eq!(reverted, 3);
    assert_eq!([5, 30].map(|number| size(&cluster, 0, number)), [Some(OLD), None], "30 was new");
}

/// An older copy that is damaged while a newer version is missing leaves the newer version missing.
#[test]
fn a_damaged_old_copy_does_not_change_what_is_missing() {
    let (mut cluster, _) = lost_write(Config { size_min: 3, ..config() });
    cluster.set_up(&[0, 1]);
    assert!(is_unfound(&cluster, 5), "two replicas of three serve nobody, and revert nothing");
    damage(&mut cluster, 1, 5);
    cluster.set_up(&[0, 1, 2]);
    assert_clean(&cluster, &[0, 1, 2]);
    assert_eq!(size(&cluster, 1, 5), Some(OLD));
}

/// All replicas of an interval may have had a write: one of them is away, and is waited for.
#[test]
fn a_write_that_may_have_been_confirmed_is_waited_for() {
    let run = |planted: Option<Planted>| {
        let config = Config { planted, log_entries_min: 50, log_entries_max: 50, ..config() };
        let mut cluster = cluster(config);
        cluster.set_up(&[0, 1]);
        let request = cluster.ask(object(5), Operation::Write(Size(NEW)));
        cluster.run();
        assert!(matches!(cluster.outcomes[&request], Outcome::Done(_)));
        damage(&mut cluster, 0, 5);
        cluster.set_up(&[0, 2]);
        let (found, unfound) = (read(&mut cluster, 5), is_unfound(&cluster, 5));
        assert_eq!(cluster.devices[0].0.view().unfound, usize::from(unfound));
        cluster.set_up(&[0, 1, 2]);
        assert_clean(&cluster, &[0, 1, 2]);
        (found, unfound, size(&cluster, 0, 5))
    };
    assert_eq!(run(None), (None, true, Some(NEW)));
    let (found, ..) = run(Some(Planted::RevertsAnything));
    assert_eq!(found.flatten().map(|(_, size)| size), Some(Size(OLD)), "an acknowledged write is lost");
}

/// Until the others have it, nobody learns of a write that only one device has had: neither who repeats the
/// request nor who reads.
#[test]
fn a_write_of_one_device_is_not_shown() {
    let shown = |planted: Option<Planted>, repeats: bool| {
        let mut cluster = cluster(Config { planted, ..config() });
        let request = interrupted(&mut cluster, &[(5, Operation::Write(Size(NEW)))])[0];
        cluster.begin(&[0, 1, 2]);
        let asked = if repeats {
            cluster.outcomes.remove(&request);
            cluster.repeat(request, object(5), Operation::Write(Size(NEW)));
            request
        } else {
            cluster.ask(object(5), Operation::Read)
        };
        loop {
            let others = [1, 2].map(|device| size(&cluster, device, 5));
            let outcome = cluster.outcomes.get(&asked).filter(|outcome| **outcome != Outcome::Retry);
            if outcome.is_some() {
                return others;
            }
            assert!(cluster.step(), "it is answered in the end");
        }
    };
    for repeats in [false, true] {
        assert_eq!(shown(None, repeats), [Some(NEW); 2], "repeats: {repeats}");
        assert_ne!(shown(Some(Planted::ConfirmsEarly), repeats), [Some(NEW); 2], "repeats: {repeats}");
    }
}

/// What one replica missed while it was away is shown without waiting for it: two others had it.
#[test]
fn a_write_that_was_confirmed_is_shown_at_once() {
    let config = Config { log_entries_min: 50, log_entries_max: 50, active_max: 1, ..config() };
    let mut cluster = cluster(config);
    cluster.set_up(&[0, 1]);
    for number in 0..20 {
        cluster.ask(object(number), Operation::Write(Size(NEW)));
    }
    cluster.run();
    cluster.begin(&[0, 1, 2]);
    let asked = cluster.ask(object(19), Operation::Read);
    while !matches!(cluster.outcomes.get(&asked), Some(Outcome::Read { .. })) {
        assert!(cluster.step(), "it is answered");
    }
    assert!(!cluster.devices[0].0.view().is_clean);
    assert_eq!(size(&cluster, 2, 19), Some(OLD), "it was answered before device 2 has it");
}

/// A crash at any point of a revert leaves the value before, or reverts again; never a mixture.
#[test]
fn a_revert_that_is_interrupted_anywhere_ends() {
    for steps in 0..60 {
        for stays in [&[0_u32, 1, 2][..], &[1, 2], &[1, 0]] {
            let (mut cluster, request) = lost_write(config());
            cluster.begin(&[0, 1, 2]);
            for _ in 0..steps {
                cluster.step();
            }
            cluster.set_up(stays);
            let before = read(&mut cluster, 5).flatten().map(|(_, size)| size);
            assert_eq!(before, Some(Size(OLD)), "{steps} steps, then {stays:?}");
            cluster.set_up(&[0, 1, 2]);
            assert_clean(&cluster, &[0, 1, 2]);
            let again = repeat(&mut cluster, request, Operation::Write(Size(NEW)));
            assert!(matches!(again, Some(Outcome::Done(_))), "{again:?}");
            assert_eq!([0, 1, 2].map(|device| size(&cluster, device, 5)), [Some(NEW); 3]);
        }
    }
}
