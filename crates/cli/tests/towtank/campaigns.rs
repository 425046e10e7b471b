//! Directories of results: going on where it stopped, parts, and two results side by side.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::tool::Folder;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn what_is_done_is_not_done_again() {
    let folder = Folder::with_counter("resume");
    folder.run(&["run", "counter.toml", "--out", "o", "--replicates", "2"]).data();
    let more = folder.run(&["run", "counter.toml", "--out", "o", "--format", "json"]);
    assert_snapshot!(more.stderr, @"
    note: 2 runs were done already and kept from `o`
    report: o/report.html
    ");
    assert_eq!(more.data(), folder.run(&["run", "counter.toml", "--format", "json"]).data());
}

#[test]
fn a_damaged_run_is_done_again() {
    let folder = Folder::with_counter("damaged");
    let whole = folder.run(&["run", "counter.toml", "--out", "o", "--format", "json"]).data();
    let point = fs::read_dir(folder.path().join("o/points"))
        .expect("points")
        .next()
        .expect("one")
        .expect("one")
        .path();
    fs::write(point.join("r00001.json"), "{").expect("it can be damaged");
    let again = folder.run(&["run", "counter.toml", "--out", "o", "--format", "json"]);
    assert!(again.stderr.contains("r00001.json` is damaged: "), "{}", again.stderr);
    assert!(
        again.stderr.contains("its run was done again\nnote: 2 runs were done already"),
        "{}",
        again.stderr
    );
    assert_eq!(again.data(), whole);
}

#[test]
fn parts_join_to_the_whole() {
    let folder = Folder::with_counter("parts");
    let part = |number: u32, out: &str| {
        folder.run(&["run", "counter.toml", "--shard", &format!("{number}/2"), "--out", out])
    };
    assert_snapshot!(part(1, "one"), @"
    part 1/2 is done: 2 of its 2 runs are in `one`; `towtank merge` joins the parts
    exit 0
    ");
    let half = folder.run(&["merge", "one", "--format", "csv", "--quiet"]);
    assert_eq!(half.code, 1);
    assert_snapshot!(half.stderr, @"missing: replicate 1");
    assert_eq!(part(2, "two").code, 0);
    let merged = folder.run(&["merge", "one", "two", "--out", "all", "--format", "json"]).data();
    let whole = folder.run(&["run", "counter.toml", "--format", "json"]).data();
    assert_eq!(merged, whole);
    assert_eq!(folder.read("all/report.json"), whole);
    let again = folder.run(&["run", "counter.toml", "--out", "all", "--format", "json"]);
    assert_eq!(again.stderr, "note: 3 runs were done already and kept from `all`\nreport: all/report.html\n");
    assert_snapshot!(folder.run(&["merge", "one", "counter.toml"]), @"
    error: cannot read `counter.toml/campaign.json`: Not a directory
    hint: check that it is there and that you may read it
    exit 1
    ");
    folder.run(&["run", "counter.toml", "--seed", "2", "--out", "other", "--quiet"]).data();
    let other = folder.run(&["merge", "one", "other"]);
    assert_eq!(other.code, 2);
    assert!(other.stderr.contains("seed is 1 in the first and 2 in the second"), "{}", other.stderr);
}

#[test]
fn two_results_compare() {
    let folder = Folder::with_counter("compare");
    folder.run(&["run", "counter.toml", "--out", "one", "--quiet"]).data();
    folder
        .run(&["run", "counter.toml", "--set", "stations.counter.servers=2", "--out", "two", "--quiet"])
        .data();
    let report = json(&folder.run(&["compare", "one", "two", "--format", "json"]).data());
    assert_eq!(report["study"], "compare");
    assert!(report["summary"]["wait_mean"]["high"].as_f64() < Some(0.0), "two servers wait less: {report}");
    let text = folder.run(&["compare", "one/report.json", "two", "--out", "both"]);
    assert!(text.stdout.contains("wait_mean"), "{}", text.stdout);
    assert_eq!(text.stderr, "report: both/report.html\n");
    assert_snapshot!(folder.run(&["compare", "one", "absent"]), @"
    error: cannot read `absent`: No such file or directory
    hint: name a directory given to `--out`, or a `report.json`
    exit 2
    ");
    assert_snapshot!(folder.run(&["compare", "one", "counter.toml"]), @"
    error: cannot use `counter.toml`: not a report: expected value at line 1 column 1
    exit 2
    ");
}

#[test]
fn a_result_never_overwrites_an_input() {
    let folder = Folder::with_counter("overwrite");
    fs::create_dir(folder.path().join("o")).expect("a folder can be made");
    fs::rename(folder.path().join("counter.toml"), folder.path().join("o/report.json"))
        .expect("it can be moved");
    let before = folder.read("o/report.json");
    let said = folder.run(&["run", "o/report.json", "--out", "o"]);
    assert_snapshot!(said.stderr, @"error: writing `o/report.json` would overwrite the input `o/report.json`: choose another place for the results");
    assert_eq!(said.code, 2);
    assert_eq!(folder.read("o/report.json"), before);
}
