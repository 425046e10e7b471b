//! Loaded state equals the saved state, or the state that follows from the objects, under any settings.

use std::path::PathBuf;

use proptest::prelude::*;
use towtank_replication::{Discovery, Objects};

use super::*;
use crate::content;
use crate::engine::{Engine, Sync};
use crate::objects::View;
use crate::settings::Settings;

/// A separate directory, which is removed after the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("towtank-saved-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn config(discovery: Discovery, leaf_bits: u8, sketch_cells: u32) -> Config {
    Settings { discovery, leaf_bits, sketch_cells, groups: 1, ..Settings::default() }.config(0)
}

fn version(counter: u64) -> Version {
    Version { epoch: 3, counter }
}

/// Writes or removes an object, and updates the summaries, as the protocol does.
fn change(
    durable: &mut Durable,
    totals: &mut Totals,
    id: u64,
    counter: u64,
    transaction: &mut Transaction<'_>,
) {
    let name = format!("object {id}");
    let key = crate::names::address(&name, 1).key;
    let mut view = View::new(transaction, 0, totals);
    let before = view.look_up(key).map(|listed| listed.version);
    if counter.is_multiple_of(5) && before.is_some() {
        view.remove(key);
        durable.summary.update(key, before, None);
    } else {
        view.put(key, version(counter), content::encode(&name, &BTreeMap::new(), &counter.to_le_bytes()));
        durable.summary.update(key, before, Some(version(counter)));
    }
}

/// The summary built from the objects.
fn expected(config: &Config, engine: &Engine) -> Summary {
    let mut transaction = engine.begin();
    let all = versions(0, &mut transaction).expect("the disk can be read");
    Summary::of_objects(config, all)
}

fn settings() -> impl Strategy<Value = (Discovery, u8, u32)> {
    let discovery = (0..Discovery::ALL.len()).prop_map(|place| Discovery::ALL[place]);
    (discovery, prop_oneof![Just(4_u8), Just(9)], prop_oneof![Just(64_u32), Just(300)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever settings a store had before, it starts with the tree and the sketch of its objects.
    #[test]
    fn summaries_are_those_of_the_objects_under_any_settings(
        rounds in prop::collection::vec((settings(), prop::collection::vec(0_u64..60, 0..40)), 1..6),
    ) {
        let directory = Directory::new("settings");
        let engine = Engine::open(&directory.0, Sync::Never).expect("a directory can be made");
        let mut counter = 0;
        let mut kept: Option<(Bitmap, Config)> = None;
        for ((discovery, leaf_bits, cells), changes) in rounds {
            let config = config(discovery, leaf_bits, cells);
            let mut transaction = engine.begin();
            let loaded = Saved::load(0, &config, &mut transaction).expect("it is sound");
            let is_new = loaded.is_none();
            let (mut saved, mut durable, mut totals) =
                loaded.unwrap_or_else(|| (Saved::nothing(0), Durable::new(&config), Totals::default()));
            prop_assert!(durable.summary.sums_up_as(&expected(&config, &engine)), "{config:?}");
            let dirty = durable.summary.dirty().map(|dirty| dirty.ranges.clone());
            prop_assert_eq!(dirty.is_some(), discovery == Discovery::Bitmap);
            if let Some(dirty) = dirty.filter(|_| !is_new) {
                let same = kept.as_ref().filter(|(_, before)| before.shape == config.shape);
                prop_assert_eq!(dirty, same.map_or_else(|| Bitmap::of_all(config.shape), |(bitmap, _)| bitmap.clone()));
            }
            for id in changes {
                counter += 1;
                change(&mut durable, &mut totals, id, counter, &mut transaction);
            }
            saved.save(&mut durable, totals, &mut transaction);
            transaction.commit().expect("the disk can be written");
            kept = durable.summary.dirty().map(|dirty| (dirty.ranges.clone(), config));
        }
    }
}

/// A log with a reverted write, and what a replica has never had, are loaded as they were, however far the
/// log was trimmed.
#[test]
fn a_revert_is_loaded_as_it_was_saved() {
    use towtank_replication::{Change, RequestId};
    let directory = Directory::new("revert");
    let engine = Engine::open(&directory.0, Sync::Never).expect("a directory can be made");
    let config = config(Discovery::Merkle, 4, 64);
    let (mut saved, mut durable) = (Saved::nothing(0), Durable::new(&config));
    let request = RequestId { client: 1, number: 2 };
    let entry = |counter: u64, change, request| {
        let prior = (counter == 3).then(|| version(2));
        Entry { version: version(counter), prior, key: Key { position: 1, id: 1 }, change, request }
    };
    let other = |number| RequestId { client: 2, number };
    let mut entries = vec![entry(1, Change::Write, other(1)), entry(2, Change::Write, request)];
    entries.push(entry(3, Change::Revert(None), request));
    entries.extend((4..8).map(|counter| entry(counter, Change::Write, other(counter))));
    durable.never_had = (2..5).map(|counter| (Key { position: 1, id: 1 }, version(counter))).collect();
    for (step, entry) in entries.into_iter().enumerate() {
        durable.log.append(entry);
        if step > 2 {
            durable.log.trim(version(step as u64 - 2), 9);
            durable.never_had.pop_first();
        }
        let mut transaction = engine.begin();
        saved.save(&mut durable, Totals::default(), &mut transaction);
        transaction.commit().expect("the disk can be written");
        let loaded = Saved::load(0, &config, &mut engine.begin()).expect("it is sound");
        let (_, loaded, _) = loaded.expect("it is there");
        assert_eq!((&loaded.log, &loaded.never_had), (&durable.log, &durable.never_had), "step {step}");
        assert_eq!(loaded.log.find(request), (step == 1).then(|| version(2)), "step {step}");
    }
}

/// Planted faults: a change that does not reach the summaries, and an old tree that is taken for the current
/// one.
#[test]
fn a_summary_that_misses_a_change_is_noticed() {
    let directory = Directory::new("planted");
    let engine = Engine::open(&directory.0, Sync::Never).expect("a directory can be made");
    let config = config(Discovery::Merkle, 4, 64);
    let (mut saved, mut durable, mut totals) = (Saved::nothing(0), Durable::new(&config), Totals::default());
    let mut transaction = engine.begin();
    (1..9).for_each(|counter| change(&mut durable, &mut totals, counter, counter, &mut transaction));
    saved.save(&mut durable, totals, &mut transaction);
    transaction.commit().expect("the disk can be written");
    assert!(durable.summary.sums_up_as(&expected(&config, &engine)));
    let mut transaction = engine.begin();
    let mut unheard = Durable::new(&config);
    change(&mut unheard, &mut totals, 77, 77, &mut transaction);
    saved.save(&mut durable, totals, &mut transaction);
    transaction.commit().expect("the disk can be written");
    let (_, loaded, _) =
        Saved::load(0, &config, &mut engine.begin()).expect("it is sound").expect("it is there");
    assert!(!loaded.summary.sums_up_as(&expected(&config, &engine)), "the tree does not know of object 77");
}
