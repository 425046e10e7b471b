//! Directories of results: resuming, shards, and the comparison of two results.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::tool::{COUNTER, Folder};

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn what_is_done_is_not_done_again() {
    let folder = Folder::with_counter("resume");
    folder.run(&["run", "counter.toml", "--out", "o", "--replicates", "2"]).data();
    let more = folder.run(&["run", "counter.toml", "--out", "o", "--format", "json"]);
    assert_snapshot!(more.stderr, @"
    note: 2 runs were already finished and are kept from `o`
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
        again.stderr.contains("its run is repeated\nnote: 2 runs were already finished"),
        "{}",
        again.stderr
    );
    assert_eq!(again.data(), whole);
}

/// Of 120 cycles, 23 left tables of the partial report beside the final one: a part of a sweep has
/// figures and tables that one of its points alone does not have.
#[test]
fn nothing_of_a_partial_report_lies_beside_the_whole_one() {
    let folder = Folder::with_counter("stale");
    let sweep = COUNTER.replace("replicates = 3", "replicates = 1")
        + "\n[sweep]\n\"stations.counter.servers\" = [1, 2]\n";
    folder.write("sweep.toml", sweep);
    folder.run(&["run", "sweep.toml", "--out", "o"]).data();
    folder.write("o/notes.csv", "mine");
    let names = || -> Vec<String> {
        let entries = fs::read_dir(folder.path().join("o")).expect("a directory");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    };
    let before = names();
    folder.run(&["run", "counter.toml", "--out", "o", "--force"]).data();
    let after = names();
    assert!(after.contains(&"notes.csv".to_owned()), "{after:?}");
    folder.run(&["run", "counter.toml", "--out", "fresh"]).data();
    let report = |dir: &str| {
        let entries = fs::read_dir(folder.path().join(dir)).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
        let mut names: Vec<String> =
            names.filter(|name| name.ends_with(".csv") && name != "notes.csv").collect();
        names.sort();
        names
    };
    assert_eq!(report("o"), report("fresh"));
    assert!(before.iter().any(|name| !after.contains(name)), "the sweep had a file of its own: {before:?}");
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_lock_is_refused_and_its_target_kept() {
    let folder = Folder::with_counter("lock");
    fs::create_dir(folder.path().join("o")).expect("a directory");
    folder.write("thesis.txt", "years");
    std::os::unix::fs::symlink("../thesis.txt", folder.path().join("o/campaign.lock")).expect("a link");
    assert_snapshot!(folder.run(&["run", "counter.toml", "--out", "o"]), @"
    error: `o/campaign.lock` is a link, where the lock of a run should be: nothing is written there
    hint: move it away, or choose another directory
    exit 2
    ");
    assert_eq!(folder.read("thesis.txt"), "years");
}

/// A histogram whose count exceeded that of its buckets: `merge` searched for a quantile in vain, and
/// panicked.
#[test]
fn a_forged_point_does_not_break_a_merge() {
    let folder = Folder::with_counter("forged");
    folder.run(&["run", "counter.toml", "--out", "o"]).data();
    let point =
        fs::read_dir(folder.path().join("o/points")).expect("points").next().expect("one").expect("one");
    for entry in fs::read_dir(point.path()).expect("a directory") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("text");
        fs::write(&path, forged(&text)).expect("it can be written");
    }
    let said = folder.run(&["merge", "o", "--format", "json"]);
    assert!(!said.stderr.contains("panicked"), "{}", said.stderr);
    assert!([0, 1, 2].contains(&said.code), "{said}");
}

/// A point file whose first histogram counts ten times as many values, with the correct checksum.
fn forged(text: &str) -> String {
    let file: Value = serde_json::from_str(text).expect("JSON");
    let (head, rest) = text.split_once("\"outcome\":").expect("an outcome");
    let outcome = rest.trim_end().strip_suffix('}').expect("the end");
    let (before, after) = outcome.split_once("\"first\":").expect("a histogram");
    let at = before.rfind("\"count\":").expect("its count") + "\"count\":".len();
    let outcome = format!("{}9{}\"first\":{after}", &before[..at], &before[at..]);
    let mut print = Sha256::new();
    let replicate = file["replicate"].as_u64().expect("a number").to_le_bytes();
    let key = file["key"].as_str().expect("text").as_bytes();
    for part in [&b"towtank point file 1"[..], key, &replicate, outcome.as_bytes()] {
        print.update((part.len() as u64).to_le_bytes());
        print.update(part);
    }
    let checksum: String = print.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let old = file["checksum"].as_str().expect("text");
    format!("{}\"outcome\":{outcome}}}\n", head.replace(old, &checksum))
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
    assert_eq!(
        again.stderr,
        "note: 3 runs were already finished and are kept from `all`\nreport: all/report.html\n"
    );
    assert_snapshot!(folder.run(&["merge", "one", "two", "all", "--format", "csv"]).stderr, @"
    note: these runs are in more than one part, with equal results:
    double: replicates 0, 2 in `one` and `all`
    double: replicate 1 in `two` and `all`
    ");
    assert_snapshot!(folder.run(&["merge", "one", "two", "--out", "./two", "--force"]), @r"
    error: `./two` is one of the parts, which must not be changed
    hint: name another directory with --out
    exit 2
    ");
    assert_snapshot!(folder.run(&["merge", "one", "counter.toml"]), @"
    error: `counter.toml` holds no campaign
    hint: name a directory that was given to `--out`
    exit 2
    ");
    folder.run(&["run", "counter.toml", "--seed", "2", "--out", "other", "--quiet"]).data();
    let other = folder.run(&["merge", "one", "other"]);
    assert_eq!(other.code, 2);
    assert!(other.stderr.contains("seed is 1 in the first and 2 in the second"), "{}", other.stderr);
}

#[test]
fn gates_are_about_the_whole() {
    let folder = Folder::with_counter("gates_of_parts");
    let part = |number: u32, out: &str, more: &[&str]| {
        let shard = format!("{number}/2");
        folder.run(&[&["run", "counter.toml", "--shard", &shard, "--out", out, "--quiet"], more].concat())
    };
    assert_snapshot!(part(1, "one", &["--fail-if", "wait_mean > 1us"]), @"
    error: a gate cannot be evaluated on part 1/2: it applies to the whole campaign
    hint: pass it to the command that joins the parts: towtank merge DIR… --fail-if 'wait_mean > 1us'
    exit 2
    ");
    assert!(!folder.path().join("one").exists(), "it is refused before anything runs");
    part(1, "one", &[]).data();
    let gate = ["--format", "csv", "--fail-if", "wait_mean > 1us"];
    let half = folder.run(&[&["merge", "one"], &gate[..]].concat());
    assert_eq!(half.code, 1);
    assert_snapshot!(half.stderr, @"
    missing: replicate 1
    not judged: a gate is about the whole, and runs are missing
    ");
    part(2, "two", &[]).data();
    let whole = folder.run(&[&["merge", "one", "two"], &gate[..]].concat());
    assert_eq!(whole.code, 3);
    assert!(
        whole.stderr.starts_with("gate not met: --fail-if 'wait_mean > 1us'\n  `wait_mean` is "),
        "{whole}"
    );
    let met = folder.run(&["merge", "one", "two", "--format", "csv", "--fail-if", "wait_mean > 1h"]);
    assert_eq!((met.code, met.stderr.as_str()), (0, ""));
    assert_snapshot!(folder.run(&["merge", "one", "two", "--fail-if", "wait > 1h"]), @"
    error: unknown measure `wait`
      --> --fail-if 'wait > 1h'
                     ^^^^
    hint: did you mean `waiting_mean`, `wait_share`, `wait_mean` or `wait_p99`?
    exit 2
    ");
}

#[test]
fn what_cannot_be_stored_is_no_run_to_replay() {
    let folder = Folder::with_counter("unstored");
    folder.run(&["run", "counter.toml", "--out", "o", "--replicates", "1", "--quiet"]).data();
    let points = folder.path().join("o/points");
    let point = fs::read_dir(&points).expect("points").next().expect("one").expect("one").path();
    fs::remove_dir_all(&point).expect("it can be removed");
    fs::write(&point, "in the way").expect("a file can be written");
    assert_snapshot!(folder.run(&["run", "counter.toml", "--out", "o", "--jobs", "1", "--quiet"]).without_keys(), @"
    error: replicate 0 is done but not stored: cannot make the directory `o/points/KEY`: file exists
    hint: a part of the path is a file, not a directory: choose another path
    exit 1
    ");
}

#[test]
fn a_report_of_something_else_replaces_none() {
    let folder = Folder::with_counter("replaces");
    folder.run(&["run", "counter.toml", "--out", "o", "--quiet"]).data();
    assert_snapshot!(folder.run(&["compare", "o", "o/report.json", "--out", "o"]), @"
    error: `o` holds the runs of a campaign, whose report this one would replace
    hint: choose another directory
    exit 2
    ");
    assert_snapshot!(folder.run(&["reproduce", "queue-mm1", "--out", "o"]), @"
    error: `o` holds the runs of a campaign, whose report this one would replace
    hint: choose another directory
    exit 2
    ");
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
    assert!(text.stdout.starts_with("Mean wait: "), "{}", text.stdout);
    assert!(text.stdout.contains("\nreport      both/report.html; --verbose shows "), "{}", text.stdout);
    assert_eq!(text.stderr, "");
    assert_snapshot!(folder.run(&["compare", "one", "absent"]), @"
    error: cannot read `absent`: no such file or directory
    hint: name a directory given to `--out`, or a `report.json`
    exit 2
    ");
    assert_snapshot!(folder.run(&["compare", "one", "counter.toml"]), @"
    error: cannot use `counter.toml`: not a report: expected value at line 1 column 1
    hint: is it the `report.json` of a run?
    exit 2
    ");
}

#[test]
fn several_results_compare_with_the_first() {
    let folder = Folder::with_counter("several");
    for (servers, dir) in [("1", "one"), ("2", "two"), ("3", "more/two")] {
        let set = format!("stations.counter.servers={servers}");
        folder.run(&["run", "counter.toml", "--set", &set, "--out", dir, "--quiet"]).data();
    }
    let several = ["compare", "one", "two", "more/two", "two/report.json"];
    assert_snapshot!(folder.run(&several), @"
    Mean wait: 82.29 ms less in B than in A (6.614 ms against 88.91 ms, a difference of 24.84 to 139.7
    ms); 88.58 ms less in C (0.3268 ms); 82.29 ms less in D (6.614 ms).

    What                A                    B                    C                   D
    result              one                  two                  two                 two
    Number of servers   1                    2                    3                   2
    Mean wait           88.91 (46 to 171)    6.614 (5.5 to 8)     0.3268 (0.07 to     6.614 (5.5 to 8)
                        ms                   ms, -93 %, better    1.5) ms, -100 %,    ms, -93 %, better
                                                                  better
    Jobs, mean          0.9189 (0.7 to 1.2)  0.5373 (0.5 to       0.5068 (0.46 to     0.5373 (0.5 to
                        jobs                 0.58) jobs, -42 %,   0.56) jobs, -45 %,  0.58) jobs, -42 %,
                                             lower                lower               lower
    Waiting jobs, mean  0.4361 (0.25 to      0.03262 (0.027 to    0.001641 (0.00032   0.03262 (0.027 to
                        0.77) jobs           0.039) jobs, -93 %,  to 0.0083) jobs,    0.039) jobs, -93
                                             lower                -100 %, lower       %, lower
    Utilisation         48.28 (42 to 54) %   25.23 (23 to 27) %,  16.84 (15 to 19)    25.23 (23 to 27)
                                             -48 %, lower         %, -65 %, lower     %, -48 %, lower
    Throughput          4.93 (4.4 to 5.5)    4.937 (4.4 to 5.5)   4.937 (4.4 to 5.5)  4.937 (4.4 to 5.5)
                        jobs/s               jobs/s, tied         jobs/s, tied        jobs/s, tied
    … 4 more rows
    also        B against A, of 12 values: 7 lower, 5 tied
    also        C against A, of 12 values: 7 lower, 5 tied
    also        D against A, of 12 values: 7 lower, 5 tied
    report      --verbose shows the rest of the answer, 36 measures, 4 tables; --out DIR writes the page
    --
    exit 0
    ");
    let report = json(&folder.run(&[&several[..], &["--format", "json"]].concat()).data());
    let two = json(&folder.run(&["compare", "one", "more/two", "--format", "json"]).data());
    assert_eq!(report["summary"]["wait_mean[C]"], two["summary"]["wait_mean"]);
    assert!(report["summary"]["wait_mean[B]"]["high"].as_f64() < Some(0.0), "{report}");
    assert_snapshot!(folder.run(&["compare", "one"]), @"
    error: 2 values required by '<RUN> <RUN>...'; only 1 was provided

    Usage: towtank compare [OPTIONS] <RUN> <RUN>...

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn what_cannot_be_compared_is_refused_with_its_name_and_a_next_step() {
    let folder = Folder::with_counter("refused");
    folder.run(&["run", "counter.toml", "--out", "one", "--quiet"]).data();
    let place = ["place", "--servers", "9", "--groups", "64", "--out", "other", "--quiet"];
    assert_eq!(folder.run(&place).code, 0, "{}", folder.run(&place));
    folder.run(&["compare", "one", "one", "--out", "both", "--quiet"]).data();
    let report = folder.read("one/report.json");
    folder.write("old.json", report.replace("towtank-report/2", "towtank-report/1"));
    for (other, want) in
        [("other", "no measure in common"), ("both", "is a comparison"), ("old.json", "of layout")]
    {
        let said = folder.run(&["compare", "one", "one", other]);
        assert_eq!(said.code, 2, "{other}: {said}");
        assert!(said.stderr.contains(want) && said.stderr.contains("hint: "), "{other}: {said}");
    }
}

#[test]
fn a_scenario_is_run_in_several_versions_and_compared() {
    let folder = Folder::with_counter("versions");
    let compared = [
        "run",
        "counter.toml",
        "--compare",
        "stations.counter.servers=2",
        "--compare",
        "stations.counter.servers=2, stations.counter.service_rate=20/s",
        "--out",
        "all",
        "--quiet",
    ];
    assert_snapshot!(folder.run(&compared), @"
    Mean wait: 82.29 ms less in B than in A (6.614 ms against 88.91 ms, a difference of 24.84 to 139.7
    ms); 87.98 ms less in C (0.9245 ms).

    What                      A                         B                        C
    result                    as given                  stations.counter.        stations.counter.
                                                        servers=2                servers=2,
                                                                                 stations.counter.
                                                                                 service_rate=20/s
    Number of servers         1                         2                        2
    Mean rate at which one    10/s                      10/s                     20/s
    busy server finishes
    jobs
    Mean wait                 88.91 (46 to 171) ms      6.614 (5.5 to 8) ms,     0.9245 (0.4 to 2.2) ms,
                                                        -93 %, better            -99 %, better
    Jobs, mean                0.9189 (0.7 to 1.2) jobs  0.5373 (0.5 to 0.58)     0.2518 (0.23 to 0.28)
                                                        jobs, -42 %, lower       jobs, -73 %, lower
    Waiting jobs, mean        0.4361 (0.25 to 0.77)     0.03262 (0.027 to        0.004519 (0.0021 to
                              jobs                      0.039) jobs, -93 %,      0.0095) jobs, -99 %,
                                                        lower                    lower
    … 6 more rows

    also        B against A, of 12 values: 7 lower, 5 tied
    also        C against A, of 12 values: 7 lower, 5 tied
    report      all/report.html; --verbose shows the rest of the answer, 24 measures, 4 tables
    --
    exit 0
    ");
    let gate = |gate: &str| folder.run(&[&compared[..], &["--fail-if", gate]].concat());
    let unmet = gate("utilisation > 30 %");
    assert_eq!(unmet.code, 3, "{unmet}");
    assert_snapshot!(unmet.stderr, @"
    gate not met: --fail-if 'utilisation > 30 %'
      A (as given): `utilisation` is 0.4828274185033334, which is > 30%
    ");
    assert_eq!(gate("utilisation > 99 %").code, 0);
    // Each version is that of `--set`, in a directory that can be compared and resumed.
    let set = ["run", "counter.toml", "--set", "stations.counter.servers=2", "--format", "json", "--quiet"];
    assert_eq!(json(&folder.run(&set).data())["digest"], json(&folder.read("all/b/report.json"))["digest"]);
    let again = folder.run(&["compare", "all/a", "all/b", "--format", "json"]);
    let report = json(&folder.read("all/report.json"));
    assert_eq!(json(&again.data())["summary"]["wait_mean"], report["summary"]["wait_mean[B]"]);
    let resumed = folder.run(&compared[..compared.len() - 1]);
    assert!(resumed.stderr.contains("3 runs were already finished and are kept from `all/b`"), "{resumed}");
}

#[test]
fn a_version_that_cannot_be_run_is_refused_before_any_runs() {
    let folder = Folder::with_counter("no-version");
    let refused = |compare: &[&str]| {
        let said = folder.run(&[&["run", "counter.toml", "--out", "o"][..], compare].concat());
        assert!(!folder.path().join("o").exists(), "{said}");
        said
    };
    assert_snapshot!(refused(&["--compare", "stations.counter.servers=2", "--compare", "spam=1s"]), @"
    error: unknown key `spam`
      --> --compare spam=1s
                    ^^^^
    hint: did you mean `span`?
    exit 2
    ");
    assert_snapshot!(refused(&["--compare", "span=1s, span=2s"]), @"
    error: `--compare span=1s` and `--compare span=2s` set `span` to different values
      --> --compare span=2s
                         ^^
    hint: keep one of them
    exit 2
    ");
    assert_snapshot!(refused(&["--compare", "span"]), @"
    error: `span` has no value
      --> --compare span
                    ^^^^
    hint: write --compare span=value
    exit 2
    ");
    assert_eq!(refused(&["--compare", "span=1s", "--shard", "1/2"]).code, 2);
    folder.run(&["run", "counter.toml", "--out", "single", "--quiet"]).data();
    let taken = folder.run(&["run", "counter.toml", "--compare", "span=50s", "--out", "single", "--quiet"]);
    assert!(taken.code == 2 && taken.stderr.contains("holds the runs of a campaign"), "{taken}");
}

#[test]
fn a_result_never_overwrites_an_input() {
    let folder = Folder::with_counter("overwrite");
    fs::create_dir(folder.path().join("o")).expect("a folder can be made");
    fs::rename(folder.path().join("counter.toml"), folder.path().join("o/report.json"))
        .expect("it can be moved");
    let before = folder.read("o/report.json");
    let said = folder.run(&["run", "o/report.json", "--out", "o"]);
    assert_snapshot!(said.stderr, @"
    error: writing `o/report.json` would overwrite the input `o/report.json`
    hint: choose another place for the results
    ");
    assert_eq!(said.code, 2);
    assert_eq!(folder.read("o/report.json"), before);
    let points = folder.path().join("o/points");
    let stored = fs::read_dir(points).map_or(0, |points| points.count());
    assert_eq!(stored, 0, "it is reported before the runs, not after them");
}
