//! One plan gives one result for all jobs, shards, interruptions and disk faults.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;
use crate::faults::{Fault, FaultyDisk};
use crate::scratch::Scratch;
use crate::{Inputs, Takeover, Writer, examples};

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Broken(&'static str);

fn quiet(_: Progress) {}

fn jobs(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn order<'a>(plan: &'a Plan, store: Option<&'a Store>, stop: &'a Stop, count: usize) -> Order<'a> {
    Order { plan, shard: Shard::WHOLE, jobs: jobs(count), store, stop, progress: &quiet }
}

fn toy(point: &PointSpec, replicate: u32, _: &Stop) -> Result<Outcome, Broken> {
    Ok(examples::outcome(point, replicate))
}

fn open(dir: &Path, plan: &Plan) -> Store {
    Store::open(dir, plan, Takeover::Refuse, Writer::new(Inputs::default())).unwrap()
}

/// The result of an uninterrupted run on one thread: its ledger, and its files.
fn whole(plan: &Plan) -> (Ledger, BTreeMap<PathBuf, Vec<u8>>) {
    let dir = Scratch::new();
    let ran = run(&order(plan, Some(&open(dir.path(), plan)), &Stop::new(), 1), &toy);
    assert!(matches!(ran.end, End::Done));
    (ran.ledger, dir.files())
}

#[test]
fn the_number_of_jobs_never_shows() {
    let plan = examples::plan(&[8, 16, 32], 5);
    let (ledger, files) = whole(&plan);
    for count in [1, 2, 3, 8] {
        let bare = run(&order(&plan, None, &Stop::new(), count), &toy);
        assert_eq!(bare.ledger, ledger, "{count} jobs");
        let dir = Scratch::new();
        let stored = run(&order(&plan, Some(&open(dir.path(), &plan)), &Stop::new(), count), &toy);
        assert_eq!(stored.ledger, ledger, "{count} jobs");
        assert_eq!(dir.files(), files, "{count} jobs");
    }
}

#[test]
fn what_is_done_is_not_done_again() {
    let plan = examples::plan(&[8, 16], 3);
    let dir = Scratch::new();
    let store = open(dir.path(), &plan);
    let first = run(&order(&plan, Some(&store), &Stop::new(), 2), &toy);
    let again = run(&order(&plan, Some(&store), &Stop::new(), 2), &|_: &PointSpec, _, _: &Stop| {
        Err(Broken("nothing was left to do"))
    });
    assert!(matches!(again.end, End::Done));
    assert_eq!((again.reused, &again.ledger), (6, &first.ledger));
}

#[test]
fn a_stopped_outcome_is_shown_and_never_taken_as_finished() {
    let plan = examples::plan(&[8], 3);
    let dir = Scratch::new();
    let store = open(dir.path(), &plan);
    let stop = Stop::new();
    let work = |point: &PointSpec, replicate: u32, stop: &Stop| -> Result<Outcome, Broken> {
        let mut outcome = examples::outcome(point, replicate);
        if replicate == 1 {
            stop.raise();
            outcome.partial = true;
            outcome.measure("span_s", -1.0, "s");
        }
        Ok(outcome)
    };
    let ran = run(&order(&plan, Some(&store), &stop, 1), &work);
    assert!(matches!(ran.end, End::Interrupted));
    assert_eq!(ran.ledger.missing().len(), 2);
    assert_eq!(dir.files().len(), 2, "the plan and replicate 0");
    let resumed = run(&order(&plan, Some(&store), &Stop::new(), 1), &toy);
    assert_eq!(resumed.ledger, whole(&plan).0);
}

#[test]
fn a_failure_names_its_run_and_costs_nobody_elses() {
    let plan = examples::plan(&[8, 16], 3);
    let work = |point: &PointSpec, replicate: u32, _: &Stop| match (point.label().as_str(), replicate) {
        ("servers = 8", 2) => Err(Broken("the queue is longer than 2^32")),
        ("servers = 16", 0) => panic!("time ran backwards"),
        _ => Ok(examples::outcome(point, replicate)),
    };
    for count in [1, 2, 8] {
        let dir = Scratch::new();
        let store = open(dir.path(), &plan);
        let ran = run(&order(&plan, Some(&store), &Stop::new(), count), &work);
        let End::Failed(failures) = &ran.end else { panic!("{count} jobs: {:?}", ran.end) };
        insta::allow_duplicates! {
            insta::assert_snapshot!(failures[0], @"replicate 2 of point 1 (servers = 8) failed: the queue is longer than 2^32");
        }
        assert!(ran.ledger.finished_count() >= 2);
        let resumed = run(&order(&plan, Some(&store), &Stop::new(), count), &toy);
        assert!(resumed.reused >= 2);
        assert_eq!(resumed.ledger, whole(&plan).0);
    }
    let only_panic =
        |_: &PointSpec, _: u32, _: &Stop| -> Result<Outcome, Broken> { panic!("time ran backwards") };
    let ran = run(&order(&examples::plan(&[8], 3), None, &Stop::new(), 1), &only_panic);
    let End::Failed(failures) = ran.end else { panic!() };
    insta::assert_snapshot!(failures[0], @"replicate 0 panicked: time ran backwards; please report this with the scenario and the seed");
}

#[test]
fn a_disk_that_fills_up_keeps_what_is_stored() {
    let plan = examples::plan(&[8, 16], 4);
    let dir = Scratch::new();
    // Opening takes 4 steps (directory, manifest, points), each stored run 3 (directory, file, name).
    let disk = Arc::new(FaultyDisk::new(Fault::FullFrom(14)));
    let writer = Writer::on(disk, Inputs::default());
    let store = Store::open(dir.path(), &plan, Takeover::Refuse, writer).unwrap();
    let ran = run(&order(&plan, Some(&store), &Stop::new(), 1), &toy);
    let End::Failed(failures) = ran.end else { panic!("{:?}", ran.end) };
    let message = dir.hide(&failures[0]).replace(plan.points()[0].key.as_str(), "KEY");
    insta::assert_snapshot!(message, @"replicate 3 of point 1 (servers = 8) is done but not stored: cannot write `DIR/points/KEY/r00003.json`: no storage space; an older file there is unchanged; free some space or write elsewhere, then run the same command again; stored results are kept");
    drop(store);
    let resumed = run(&order(&plan, Some(&open(dir.path(), &plan)), &Stop::new(), 1), &toy);
    assert_eq!(resumed.reused, 3);
    assert_eq!((resumed.ledger, dir.files()), whole(&plan));
}

#[test]
fn damaged_points_are_done_again() {
    let plan = examples::plan(&[8, 16], 2);
    let dir = Scratch::new();
    let ran = run(&order(&plan, Some(&open(dir.path(), &plan)), &Stop::new(), 1), &toy);
    for (name, bytes) in dir.files() {
        if name.starts_with("points") {
            std::fs::write(dir.path().join(name), &bytes[..bytes.len() - 20]).unwrap();
        }
    }
    let again = run(&order(&plan, Some(&open(dir.path(), &plan)), &Stop::new(), 1), &toy);
    assert_eq!((again.reused, again.damaged.len()), (0, 4));
    assert_eq!(again.ledger, ran.ledger);
    assert_eq!(dir.files(), whole(&plan).1);
}

#[test]
fn shards_do_their_part_and_nothing_else() {
    let plan = examples::plan(&[8, 16], 5);
    let dir = Scratch::new();
    let store = open(dir.path(), &plan);
    for number in 1..=3 {
        let shard = Shard::new(number, 3).unwrap();
        let ran = run(&Order { shard, ..order(&plan, Some(&store), &Stop::new(), 2) }, &toy);
        assert!(matches!(ran.end, End::Done), "shard {shard}");
        assert_eq!(ran.reused, 0);
        assert_eq!(ran.ledger.is_complete(), number == 3);
    }
    assert_eq!(dir.files(), whole(&plan).1);
}

#[test]
fn progress_counts_up_to_the_end() {
    let plan = examples::plan(&[8, 16], 4);
    let dir = Scratch::new();
    let store = open(dir.path(), &plan);
    let shard = Shard::new(1, 2).unwrap();
    let _ = run(&Order { shard, ..order(&plan, Some(&store), &Stop::new(), 2) }, &toy);
    let seen = Mutex::new(Vec::new());
    let progress =
        |progress: Progress| seen.lock().unwrap().push((progress.done, progress.total, progress.reused));
    let _ = run(&Order { progress: &progress, ..order(&plan, Some(&store), &Stop::new(), 3) }, &toy);
    assert_eq!(seen.into_inner().unwrap(), [(4, 8, 4), (5, 8, 4), (6, 8, 4), (7, 8, 4), (8, 8, 4)]);
}

/// One session of a campaign, and how it ends early.
#[derive(Clone, Debug)]
enum Sitting {
    /// The user stops it after this many runs have started; the last of them either notices and returns a
    /// partial outcome, or does not.
    Stopped { after: usize, notices: bool, jobs: usize },
    /// The machine dies at this step of the disk.
    Dies { step: u64, jobs: usize },
    /// The power fails after this step, which the disk had acknowledged but only half done.
    Lies { step: u64, jobs: usize },
    /// The disk is full from this step on.
    Full { step: u64, jobs: usize },
    /// Some run fails.
    Fails { at: usize, panics: bool, jobs: usize },
    /// Only one shard is run.
    Part { number: u32, count: u32 },
}

fn sitting() -> impl Strategy<Value = Sitting> {
    let jobs = 1..4_usize;
    prop_oneof![
        (0..12_usize, any::<bool>(), jobs.clone()).prop_map(|(after, notices, jobs)| Sitting::Stopped {
            after,
            notices,
            jobs
        }),
        (0..40_u64, jobs.clone()).prop_map(|(step, jobs)| Sitting::Dies { step, jobs }),
        (0..40_u64, jobs.clone()).prop_map(|(step, jobs)| Sitting::Lies { step, jobs }),
        (0..40_u64, jobs.clone()).prop_map(|(step, jobs)| Sitting::Full { step, jobs }),
        (0..12_usize, any::<bool>(), jobs).prop_map(|(at, panics, jobs)| Sitting::Fails { at, panics, jobs }),
        (1..4_u32).prop_flat_map(|count| (1..=count).prop_map(move |number| Sitting::Part { number, count })),
    ]
}

fn sit(dir: &Path, plan: &Plan, sitting: &Sitting) {
    let fault = match *sitting {
        Sitting::Dies { step, .. } => Fault::DiesAt(step),
        Sitting::Lies { step, .. } => Fault::LiesAt(step),
        Sitting::Full { step, .. } => Fault::FullFrom(step),
        _ => Fault::None,
    };
    let writer = Writer::on(Arc::new(FaultyDisk::new(fault)), Inputs::default());
    let Ok(store) = Store::open(dir, plan, Takeover::Refuse, writer) else { return };
    let begun = AtomicUsize::new(0);
    let stop = Stop::new();
    let work = |point: &PointSpec, replicate: u32, stop: &Stop| {
        let number = begun.fetch_add(1, Ordering::SeqCst);
        let mut outcome = examples::outcome(point, replicate);
        match *sitting {
            Sitting::Stopped { after, notices, .. } if number >= after => {
                stop.raise();
                if notices {
                    outcome = Outcome { partial: true, events: 1, ..Outcome::default() };
                }
            }
            Sitting::Fails { at, panics: false, .. } if number == at => return Err(Broken("no luck")),
            Sitting::Fails { at, panics: true, .. } if number == at => {
                std::panic::resume_unwind(Box::new("no luck"))
            }
            _ => {}
        }
        Ok(outcome)
    };
    let (shard, count) = match *sitting {
        Sitting::Part { number, count } => (Shard::new(number, count).unwrap(), 1),
        Sitting::Stopped { jobs, .. }
        | Sitting::Dies { jobs, .. }
        | Sitting::Lies { jobs, .. }
        | Sitting::Full { jobs, .. }
        | Sitting::Fails { jobs, .. } => (Shard::WHOLE, jobs),
    };
    let _ = run(&Order { shard, ..order(plan, Some(&store), &stop, count) }, &work);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_interruptions_and_a_resume_are_one_run(
        sittings in prop::collection::vec(sitting(), 0..6), points in 1..4_usize, replicates in 1..5_u32, count in 1..4_usize,
    ) {
        let plan = examples::plan(&[8, 16, 32][..points], replicates);
        let dir = Scratch::new();
        for sitting in &sittings {
            sit(dir.path(), &plan, sitting);
        }
        let lies = sittings.iter().filter(|sitting| matches!(sitting, Sitting::Lies { .. })).count();
        let reopened = Store::open(dir.path(), &plan, Takeover::Refuse, Writer::new(Inputs::default()));
        let store = match reopened {
            // Only a disk that acknowledges lost writes can damage the plan; then the user must have it
            // rewritten.
            Err(StoreError::DamagedManifest { .. }) if lies > 0 => {
                Store::open(dir.path(), &plan, Takeover::Force, Writer::new(Inputs::default())).unwrap()
            }
            reopened => reopened.unwrap(),
        };
        let ran = run(&order(&plan, Some(&store), &Stop::new(), count), &toy);
        prop_assert!(matches!(ran.end, End::Done));
        prop_assert!(ran.damaged.len() <= lies, "{:?}", ran.damaged);
        prop_assert_eq!((ran.ledger, dir.files()), whole(&plan));
    }
}
