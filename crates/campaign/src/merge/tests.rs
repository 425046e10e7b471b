//! Joined shards equal the whole; parts that do not fit together are rejected.

use std::fs;

use proptest::prelude::*;
use towtank_report::Outcome;

use super::*;
use crate::scratch::Scratch;
use crate::{Inputs, Takeover, Writer, assemble, examples};

fn open(dir: &Path, plan: &Plan) -> Store {
    Store::open(dir, plan, Takeover::Refuse, Writer::new(Inputs::default())).unwrap()
}

/// A directory `name` in `dir` with the runs that `keep` selects by index.
fn part(dir: &Scratch, name: &str, plan: &Plan, keep: impl Fn(usize) -> bool) -> PathBuf {
    let path = dir.path().join(name);
    let store = open(&path, plan);
    for (index, task) in plan.tasks().enumerate() {
        if keep(index) {
            store.save(task, &examples::outcome(&plan.points()[task.point], task.replicate)).unwrap();
        }
    }
    path
}

#[test]
fn parts_of_other_campaigns_are_refused() {
    let dir = Scratch::new();
    let one = part(&dir, "one", &examples::plan_with_seed(&[8], 2, 7), |_| true);
    let other = part(&dir, "other", &examples::plan_with_seed(&[8], 2, 9), |_| true);
    insta::assert_snapshot!(dir.hide(&merge(&[one.clone(), other]).unwrap_err()), @"`DIR/one` (key 9e09c16dda49f59f51bb8c0632be9cb3) and `DIR/other` (key 72c78d450957ae6f1b57ccc11a071370) are parts of different campaigns: seed is 7 in the first and 9 in the second; merge parts of one campaign only");
    insta::assert_snapshot!(dir.hide(&merge(&[]).unwrap_err()), @"there is nothing to merge; name the directories of the parts");
    insta::assert_snapshot!(dir.hide(&merge(&[one.clone(), dir.path().join("one/../one")]).unwrap_err()), @"`DIR/one/../one` is named twice; name every part once");
    insta::assert_snapshot!(dir.hide(&merge(&[one, dir.path().to_owned()]).unwrap_err()), @"`DIR` holds no campaign; name a directory that was given to `--out`");
}

#[test]
fn missing_and_double_runs_are_listed() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8, 16], 6);
    let one = part(&dir, "one", &plan, |index| [0, 1, 6].contains(&index));
    let two = part(&dir, "two", &plan, |index| [1, 6, 7].contains(&index));
    let merged = merge(&[one.clone(), two.clone()]).unwrap();
    insta::assert_snapshot!(merged.missing_in_words().join("\n"), @r#"
    replicates 2-5 of point 1 (servers = 8)
    replicates 2-5 of point 2 (servers = 16)
    "#);
    let tasks: Vec<_> =
        merged.double.iter().map(|(task, dirs)| (task.point, task.replicate, dirs.len())).collect();
    assert_eq!(tasks, [(0, 1, 2), (1, 0, 2)]);
    assert_eq!(merged.double[0].1, [one, two]);
    insta::assert_snapshot!(dir.hide(&merged.double_in_words().join("\n")), @r#"
    replicate 1 of point 1 (servers = 8) in `DIR/one` and `DIR/two`
    replicate 0 of point 2 (servers = 16) in `DIR/one` and `DIR/two`
    "#);
    assert!(assemble(&plan, merged.ledger(), "sequential").report.partial);
}

#[test]
fn copies_that_differ_are_an_error() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8, 16], 2);
    let one = part(&dir, "one", &plan, |_| true);
    let two = part(&dir, "two", &plan, |index| index != 2);
    let odd = Outcome { events: 1, ..examples::outcome(&plan.points()[1], 0) };
    open(&two, &plan).save(Task { point: 1, replicate: 0 }, &odd).unwrap();
    insta::assert_snapshot!(dir.hide(&merge(&[one, two]).unwrap_err()), @"`DIR/one` and `DIR/two` hold different results of replicate 0 of point 2 (servers = 16), where one seed must give one result; find out which is wrong (was a model changed without raising its results version?), remove it, and merge again");
}

#[test]
fn a_damaged_copy_is_no_copy() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8], 2);
    let one = part(&dir, "one", &plan, |_| true);
    let two = part(&dir, "two", &plan, |index| index == 0);
    let path = one.join("points").join(plan.points()[0].key.as_str());
    for name in ["r00000.json", "r00001.json"] {
        fs::write(path.join(name), "{").unwrap();
    }
    let merged = merge(&[one, two]).unwrap();
    assert_eq!(merged.missing, [Task { point: 0, replicate: 1 }]);
    assert_eq!((merged.damaged.len(), merged.double.len()), (2, 0));
}

#[test]
fn parts_of_few_and_many_replicates_join() {
    let dir = Scratch::new();
    let few = part(&dir, "few", &examples::plan(&[8], 2), |_| true);
    let many = part(&dir, "many", &examples::plan(&[8], 5), |index| index >= 2);
    for dirs in [[few.clone(), many.clone()], [many, few]] {
        let merged = merge(&dirs).unwrap();
        assert_eq!((merged.plan().replicates(), merged.missing.len()), (5, 0));
    }
}

#[test]
fn numbers_are_listed_as_people_do() {
    assert_eq!(ranges(&[0, 3, 4, 5, 9, 10]), "0, 3-5, 9-10");
    assert_eq!(ranges(&[]), "");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn parts_joined_are_the_whole(points in 1..4_usize, replicates in 1..5_u32, count in 1..5_usize, extra in 0..5_usize) {
        let plan = examples::plan(&[8, 16, 32][..points], replicates);
        let dir = Scratch::new();
        let whole = part(&dir, "whole", &plan, |_| true);
        let dirs: Vec<_> = (0..count)
            .map(|number| part(&dir, &format!("part{number}"), &plan, |index| index % count == number || index == extra))
            .collect();
        let merged = merge(&dirs).unwrap();
        prop_assert!(merged.missing.is_empty() && merged.damaged.is_empty());
        let into = dir.path().join("into");
        merged.store(&open(&into, &plan)).unwrap();
        let (from_parts, from_whole) = (files(&into), files(&whole));
        prop_assert_eq!(from_parts, from_whole);
        let report = |ledger: Ledger| assemble(&plan, ledger, "sequential").report.to_json();
        let mut ledger = Ledger::new(&plan);
        open(&whole, &plan).load(&mut ledger);
        prop_assert_eq!(report(merged.ledger()), report(ledger));
    }
}

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    crate::scratch::files_below(dir)
}
