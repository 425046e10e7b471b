//! Directories: who may write there, what is rejected, and the effect of damage.

use std::fs;
use std::sync::Arc;

use super::*;
use crate::faults::{Fault, FaultyDisk};
use crate::scratch::Scratch;
use crate::{Inputs, examples};

fn open(dir: &Path, plan: &Plan) -> Result<Store, StoreError> {
    Store::open(dir, plan, Takeover::Refuse, Writer::new(Inputs::default()))
}

fn open_by_force(dir: &Path, plan: &Plan) -> Result<Store, StoreError> {
    Store::open(dir, plan, Takeover::Force, Writer::new(Inputs::default()))
}

fn file(name: &str) -> ReportFile {
    ReportFile { name: name.to_owned(), bytes: b"{}".to_vec() }
}

fn fill(store: &Store) {
    for task in store.plan().tasks() {
        let outcome = examples::outcome(&store.plan().points()[task.point], task.replicate);
        store.save(task, &outcome).unwrap();
    }
}

fn filled(dir: &Path, plan: &Plan) {
    fill(&open(dir, plan).unwrap());
}

fn loaded(dir: &Path, plan: &Plan) -> (usize, Vec<Damaged>) {
    let store = open(dir, plan).unwrap();
    let mut ledger = Ledger::new(plan);
    let damaged = store.load(&mut ledger);
    (ledger.finished_count(), damaged)
}

#[test]
fn what_is_stored_is_there_again() {
    let dir = Scratch::new();
    let out = dir.path().join("deep/out");
    let plan = examples::plan(&[8, 16], 3);
    filled(&out, &plan);
    let store = open(&out, &plan).unwrap();
    let mut ledger = Ledger::new(&plan);
    assert_eq!(store.load(&mut ledger), []);
    let points = ledger.into_points();
    for (spec, point) in plan.points().iter().zip(points) {
        let want: Vec<_> = (0..3).map(|replicate| examples::outcome(spec, replicate)).collect();
        assert_eq!(point.outcomes, want);
    }
}

#[test]
fn two_writers_are_refused() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8], 1);
    let first = open(dir.path(), &plan).unwrap();
    let error = open(dir.path(), &plan).err().unwrap();
    let message = dir.hide(&error).replace(&std::process::id().to_string(), "PID");
    insta::assert_snapshot!(message, @"`DIR` is being written by another run (process PID); wait for it, or choose another directory");
    open_by_force(dir.path(), &plan).err().expect("`--force` is about contents, not about other writers");
    drop(first);
    open(dir.path(), &plan).unwrap();
}

#[test]
fn another_campaign_is_refused_in_words() {
    let dir = Scratch::new();
    filled(dir.path(), &examples::plan_with_seed(&[8, 16], 2, 7));
    let before = dir.files();
    let refuse = |plan: &Plan| dir.hide(&open(dir.path(), plan).err().unwrap());
    insta::assert_snapshot!(refuse(&examples::plan_with_seed(&[8, 16], 2, 9)), @"`DIR` holds the results of another campaign (key cce88762b88baabdac260283483d999b, this one is caaf6b60588e403a7bafe01f26a37425): seed is 7 there and 9 here; choose another directory, or take this one over with `--force`");
    insta::assert_snapshot!(refuse(&examples::plan_with_seed(&[8, 16, 32], 2, 7)), @"`DIR` holds the results of another campaign (key cce88762b88baabdac260283483d999b, this one is 06f948e52ef95ec46fbcc5d3d7b3e7c3): `servers[2]` is absent there and 32 here; choose another directory, or take this one over with `--force`");
    insta::assert_snapshot!(refuse(&examples::plan_with_seed(&[1, 2, 3, 4], 2, 8)), @"`DIR` holds the results of another campaign (key cce88762b88baabdac260283483d999b, this one is d4a84fd1bce3bc5c0bd78917497b18e0): seed is 7 there and 8 here, `servers[0]` is 8 there and 1 here, `servers[1]` is 16 there and 2 here, and 2 more differences; choose another directory, or take this one over with `--force`");
    assert_eq!(dir.files(), before, "a refusal changes nothing");
}

#[test]
fn force_takes_over_and_keeps_what_fits() {
    let dir = Scratch::new();
    filled(dir.path(), &examples::plan(&[8, 16], 2));
    let wider = examples::plan(&[4, 8, 32], 2);
    let store = open_by_force(dir.path(), &wider).unwrap();
    let mut ledger = Ledger::new(&wider);
    assert_eq!(store.load(&mut ledger), []);
    let missing: Vec<_> = ledger.missing().into_iter().map(|task| task.point).collect();
    assert_eq!(missing, [0, 0, 2, 2], "the point of 8 servers is there, under its new number");
    drop(store);
    open(dir.path(), &wider).unwrap();
}

#[test]
fn more_replicates_add_to_what_is_there() {
    let dir = Scratch::new();
    filled(dir.path(), &examples::plan(&[8], 2));
    assert_eq!(loaded(dir.path(), &examples::plan(&[8], 5)), (2, vec![]));
    assert_eq!(loaded(dir.path(), &examples::plan(&[8], 1)), (1, vec![]));
}

#[test]
fn a_directory_of_other_things_is_refused() {
    let dir = Scratch::new();
    dir.file("thesis.tex", "");
    let scenario = dir.file("queue.toml", "");
    let plan = examples::plan(&[8], 1);
    insta::assert_snapshot!(dir.hide(&open(dir.path(), &plan).err().unwrap()), @"`DIR` holds files but no campaign (`queue.toml` and 1 more); choose a new or an empty directory, or write into this one with `--force`");
    assert_eq!(dir.files().len(), 2, "a refusal leaves nothing behind");
    assert!(!dir.path().join("campaign.lock").exists());
    open_by_force(dir.path(), &plan).unwrap();

    let beside = Scratch::new();
    let scenario = fs::copy(scenario, beside.path().join("queue.toml"))
        .map(|_| beside.path().join("queue.toml"))
        .unwrap();
    let writer = Writer::new(Inputs::new([scenario]));
    Store::open(beside.path(), &plan, Takeover::Refuse, writer).expect("its own scenario may lie there");
}

#[test]
fn damaged_points_are_reported_and_nothing_else_is_lost() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8, 16], 3);
    filled(dir.path(), &plan);
    let path = |point, replicate| point_path(dir.path(), &plan, Task { point, replicate });
    let whole = fs::read(path(0, 0)).unwrap();
    fs::write(path(0, 0), &whole[..whole.len() / 2]).unwrap();
    fs::write(path(0, 1), "").unwrap();
    let changed = String::from_utf8(fs::read(path(0, 2)).unwrap()).unwrap().replace("1002", "1003");
    fs::write(path(0, 2), changed).unwrap();
    fs::write(path(1, 0), &whole).unwrap();
    fs::copy(path(1, 2), path(1, 1)).unwrap();
    let (found, damaged) = loaded(dir.path(), &plan);
    assert_eq!(found, 1);
    let words: Vec<_> = damaged.iter().map(|damage| damage.why.clone()).collect();
    insta::assert_snapshot!(words.join("\n"), @"
    it is not a complete point file (EOF while parsing an object at line 1 column 245)
    it is not a complete point file (EOF while parsing a value at line 1 column 0)
    its checksum does not match its contents
    it belongs to key bab9805bc749bf633cbfc9a622ea458a
    it belongs to replicate 2
    ");
    insta::assert_snapshot!(dir.hide(&damaged[4]), @"`DIR/points/17f9886db1dd125cb1e10d266993f823/r00001.json` is damaged: it belongs to replicate 2");
}

#[test]
fn a_damaged_plan_is_refused_until_forced() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8], 2);
    filled(dir.path(), &plan);
    dir.file("campaign.json", "{\"towtank_campaign\":1,\"key\":\"");
    insta::assert_snapshot!(dir.hide(&open(dir.path(), &plan).err().unwrap()), @"`DIR/campaign.json` cannot be used: it is not a complete campaign file (EOF while parsing a string at line 1 column 29); choose another directory, or write it anew with `--force`, which keeps the points that fit");
    drop(open_by_force(dir.path(), &plan).unwrap());
    assert_eq!(loaded(dir.path(), &plan), (2, vec![]), "the points still fit");
}

#[test]
fn an_input_is_never_written_over() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8], 1);
    for name in ["campaign.json", "campaign.lock"] {
        let out = Scratch::new();
        let input = out.file(name, "precious");
        let writer = Writer::new(Inputs::new([&input]));
        let error = Store::open(out.path(), &plan, Takeover::Force, writer).err().unwrap();
        assert!(error.to_string().contains("would overwrite the input"), "{name}: {error}");
        assert_eq!(fs::read_to_string(&input).unwrap(), "precious");
    }
    let input = dir.file("report.json", "precious");
    let store = Store::open(dir.path(), &plan, Takeover::Refuse, Writer::new(Inputs::new([&input]))).unwrap();
    insta::assert_snapshot!(dir.hide(&store.write_report(&[file("report.json")]).unwrap_err()), @"writing `DIR/report.json` would overwrite the input `DIR/report.json`; choose another place for the results");
    assert_eq!(fs::read_to_string(&input).unwrap(), "precious");
    store.may_write("report.json").unwrap_err();
    store.may_write("report.html").unwrap();
    store.write_report(&[file("report.html")]).unwrap();
}

#[test]
fn the_litter_of_a_killed_run_is_removed() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8], 1);
    filled(dir.path(), &plan);
    let clean = dir.files();
    dir.file(".report.json.towtank-tmp", "half");
    let beside = point_path(dir.path(), &plan, Task { point: 0, replicate: 0 });
    fs::write(beside.with_file_name(".r00000.json.towtank-tmp"), "half").unwrap();
    assert_eq!(loaded(dir.path(), &plan), (1, vec![]));
    assert_eq!(dir.files(), clean);
}

#[test]
fn a_full_disk_shows_before_the_first_run() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8], 1);
    let writer = Writer::on(Arc::new(FaultyDisk::new(Fault::FullFrom(1))), Inputs::default());
    let error = Store::open(dir.path(), &plan, Takeover::Refuse, writer).err().unwrap();
    insta::assert_snapshot!(dir.hide(&error), @"cannot write `DIR/campaign.json`: no storage space; an older file there is unchanged; free some space or write elsewhere, then run the same command again; stored results are kept");
}

#[test]
fn a_file_in_the_place_of_the_directory_says_so() {
    let dir = Scratch::new();
    let file = dir.file("out", "");
    insta::assert_snapshot!(dir.hide(&open(&file, &examples::plan(&[8], 1)).err().unwrap()), @"cannot make the directory `DIR/out`: File exists (os error 17); a part of the path is a file, not a directory: choose another path");
    insta::assert_snapshot!(dir.hide(&open(&file.join("x"), &examples::plan(&[8], 1)).err().unwrap()), @"cannot make the directory `DIR/out/x`: Not a directory (os error 20); a part of the path is a file, not a directory: choose another path");
}

#[test]
#[should_panic(expected = "a stopped run is not a result")]
fn a_stopped_run_is_never_stored() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8], 1);
    let store = open(dir.path(), &plan).unwrap();
    let stopped = Outcome { partial: true, ..examples::outcome(&plan.points()[0], 0) };
    let _ = store.save(Task { point: 0, replicate: 0 }, &stopped);
}

#[test]
#[should_panic(expected = "cannot be a file of a report")]
fn a_report_file_stays_in_its_directory() {
    let dir = Scratch::new();
    let _ = open(dir.path(), &examples::plan(&[8], 1)).unwrap().write_report(&[file("../report.json")]);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_directory_of_results_does_not_hang() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8], 2);
    filled(dir.path(), &plan);
    let point = point_path(dir.path(), &plan, Task { point: 0, replicate: 1 });
    let pipe = |path: &Path| {
        let _ = fs::remove_file(path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    pipe(&point);
    let (finished, damaged) = loaded(dir.path(), &plan);
    assert_eq!(finished, 1);
    insta::assert_snapshot!(damaged[0].why, @"it is not a plain file");
    pipe(&point.with_file_name(".r00001.json.towtank-tmp"));
    filled(dir.path(), &plan);
    assert_eq!(loaded(dir.path(), &plan), (2, vec![]));
    let manifest = dir.path().join(manifest::NAME);
    pipe(&manifest);
    let error = open(dir.path(), &plan).err().unwrap();
    insta::assert_snapshot!(dir.hide(&error), @"`DIR/campaign.json` cannot be used: it is not a plain file; choose another directory, or write it anew with `--force`, which keeps the points that fit");
    drop(open_by_force(dir.path(), &plan).unwrap());
    assert_eq!(loaded(dir.path(), &plan), (2, vec![]));
}

#[cfg(unix)]
#[test]
fn a_temporary_name_that_is_a_link_is_not_written_through() {
    let dir = Scratch::new();
    let precious = dir.file("precious", "years");
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink(&precious, out.join(".report.json.towtank-tmp")).unwrap();
    Writer::new(Inputs::default()).replace_report(&out, &[file("report.json")]).unwrap();
    assert_eq!(fs::read_to_string(precious).unwrap(), "years");
}
