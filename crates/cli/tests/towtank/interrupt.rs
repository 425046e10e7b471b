//! Ctrl-C, SIGTERM and SIGHUP: finished work is kept, the report says that it is partial, and the exit code
//! is 130 within a second.

#![allow(clippy::disallowed_methods, reason = "how long it takes to stop is what is tested")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::tool::{COUNTER, Folder, Said};

/// A run that takes longer than any test waits.
const LONG: &str = "span = \"100000000s\"";

fn long_scenario(name: &str, replicates: u32) -> Folder {
    let folder = Folder::new(name);
    let text = COUNTER
        .replace("span = \"100s\"", LONG)
        .replace("replicates = 3", &format!("replicates = {replicates}"));
    folder.write("long.toml", text);
    folder
}

fn start(folder: &Folder, args: &[&str]) -> Child {
    heeding(folder, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
}

/// A command that receives SIGHUP even if the parent of these tests ignores it, as under `nohup`.
fn heeding(folder: &Folder, args: &[&str]) -> Command {
    if !cfg!(target_os = "linux") {
        return folder.command(args);
    }
    let mut command = Command::new("/usr/bin/env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_towtank")]).args(args);
    command.current_dir(folder.path()).env_clear().env("LANG", "C.UTF-8").stdin(Stdio::null());
    command
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.expect("`kill` is there").success());
}

/// Long enough for the handler to be installed and for some events to be committed.
fn wait_a_moment() {
    thread::sleep(Duration::from_millis(700));
}

/// Versions that are finished are kept, and none begins after the signal.
#[test]
fn finished_versions_are_kept() {
    let folder = Folder::with_counter("interrupted-versions");
    let args = [
        "run",
        "counter.toml",
        "--compare",
        "span=100000000s",
        "--compare",
        "span=50s",
        "--out",
        "o",
        "--quiet",
    ];
    let child = start(&folder, &args);
    wait_a_moment();
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 130, "{said}");
    assert!(
        said.stderr.contains("interrupted: 3 of 9 runs are done; the same command goes on from here"),
        "{said}"
    );
    assert!(folder.path().join("o/a/report.json").exists() && !folder.path().join("o/c").exists(), "{said}");
    // A former fault: the page of a comparison that was stopped had some of the versions, as if it were all.
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("so there is no comparison"), "{said}");
    assert!(!folder.path().join("o/report.html").exists());
    for kept in ["o/a", "o/b"] {
        assert!(folder.path().join(kept).join("campaign.json").exists(), "{kept}");
    }
}

#[test]
fn what_was_committed_is_reported_as_partial() {
    let folder = long_scenario("interrupted", 1);
    let child = start(&folder, &["run", "long.toml", "--format", "json"]);
    wait_a_moment();
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 130, "{}", said.stderr);
    let words = "stopping; press Ctrl-C once more to end at once\n\
                 interrupted: 0 of 1 runs are done; with --out DIR, what is done would be kept\n";
    assert_eq!(said.stderr, words);
    let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(report["partial"], true);
    assert!(report["events"].as_u64() > Some(0));
    assert!(!report["warnings"].as_array().expect("a list").is_empty());
}

/// What is known of a cluster half-way is no answer: no verdict, one line, and no file.
#[test]
fn a_study_of_a_cluster_that_is_stopped_gives_no_answer() {
    let folder = Folder::with_cluster("interrupted-cluster");
    let exports = ["--crush-map", "crush.txt", "--osd-dump", "osd_dump.json", "--pg-dump", "pg_dump.json.gz"];
    for (command, more, hint) in [
        (
            "whatif",
            &["--fail", "host=h1", "--replicates", "200", "--jobs", "1"][..],
            "`towtank preview` says sooner",
        ),
        ("balance", &["--commands", "plan.txt"], "--max-moves 10"),
    ] {
        let child = start(&folder, &[&[command], &exports[..], more].concat());
        wait_a_moment();
        signal(&child, "INT");
        let said = Said::of(child.wait_with_output().expect("it ends"));
        assert_eq!(said.code, 130, "{command}: {}", said.stderr);
        if said.stderr.contains("runs are done") {
            continue;
        }
        assert_eq!(said.stdout, "", "{command}");
        let line = said.stderr.lines().last().unwrap_or_default();
        let is_early = line == "interrupted";
        assert!(is_early || (line.contains("nothing was written") && line.contains(hint)), "{}", said.stderr);
        assert!(!folder.path().join("plan.txt").exists());
    }
}

#[test]
fn the_same_command_goes_on() {
    let folder = Folder::new("goes_on");
    folder.write(
        "short.toml",
        COUNTER.replace("span = \"100s\"", "span = \"20000s\"").replace("replicates = 3", "replicates = 12"),
    );
    let run = ["run", "short.toml", "--out", "o", "--format", "json", "--jobs", "1"];
    let mut child = start(&folder, &run);
    let points = folder.path().join("o/points");
    let stored = || {
        let point = std::fs::read_dir(&points).ok()?.next()?.ok()?.path();
        Some(std::fs::read_dir(point).ok()?.count())
    };
    while stored().unwrap_or(0) < 3 {
        assert!(
            child.try_wait().expect("it can be asked").is_none(),
            "it ended before it could be interrupted"
        );
        thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 130, "{}", said.stderr);
    assert!(said.stderr.contains("runs are done; the same command goes on from here"), "{}", said.stderr);
    let partial: Value = serde_json::from_str(&folder.read("o/report.json")).expect("JSON");
    assert_eq!(partial["partial"], true);
    let again = folder.run(&run);
    assert!(again.stderr.contains("runs were already finished and are kept from `o`"), "{}", again.stderr);
    let whole = folder.run(&["run", "short.toml", "--format", "json"]).data();
    assert_eq!(again.data(), whole);
}

/// Stops a command once it has stored some runs of a scenario in this folder.
fn stopped_amid(folder: &Folder, args: &[&str], out: &str) -> Said {
    let mut child = start(folder, args);
    let points = folder.path().join(out).join("points");
    let stored = || {
        let point = std::fs::read_dir(&points).ok()?.next()?.ok()?.path();
        Some(std::fs::read_dir(point).ok()?.count())
    };
    while stored().unwrap_or(0) < 3 {
        let ended = child.try_wait().expect("it can be asked");
        assert!(ended.is_none(), "it ended before it could be interrupted");
        thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 130, "{}", said.stderr);
    said
}

/// A former fault: means of 38 runs were said to be of 100, and claims were missed by them.
#[test]
fn claims_are_not_judged_by_the_runs_that_were_done() {
    let folder = Folder::new("unjudged");
    let run = ["run", "queue-mm1", "--replicates", "5000", "--jobs", "1", "--verbose", "--out", "o"];
    let said = stopped_amid(&folder, &run, "o");
    let report: Value = serde_json::from_str(&folder.read("o/report.json")).expect("JSON");
    let measures = report["summary"].as_object().expect("measures").values();
    let done = measures.filter_map(|measure| measure["n"].as_u64()).max().expect("some were done");
    let heading = format!("Summary over {done} of 5000 replicates\n");
    assert!(said.stdout.contains(&heading), "{}", said.stdout);
    let claims = report["claims"].as_array().expect("claims");
    assert!(!claims.is_empty() && claims.iter().all(|claim| claim["verdict"] == "not_judged"), "{claims:?}");
    let tally = format!("Claims: {0} of {0} not judged\n", claims.len());
    assert!(said.stdout.contains(&tally), "{}", said.stdout);
    let rows = folder.read("o/claims.csv").matches(",not_judged,").count();
    assert_eq!(rows, claims.len());
    assert!(folder.read("o/report.html").contains("not_judged"));
}

#[test]
fn a_reproduction_that_was_stopped_judges_nothing_of_the_scenario() {
    let folder = Folder::new("unjudged_reproduction");
    let run = ["reproduce", "queue", "--jobs", "1", "--out", "o"];
    let said = stopped_amid(&folder, &run, "o/queue-mm1");
    let report: Value = serde_json::from_str(&folder.read("o/report.json")).expect("JSON");
    let answer = report["answer"]["finding"].as_str().expect("an answer");
    let claims = report["claims"].as_array().expect("claims").len();
    let want = format!("{claims} of {claims} claims are not judged, since runs are missing.");
    assert!(answer.starts_with("Stopped with 0 of ") && answer.ends_with(&want), "{answer}");
    let judged = [" hold", "misses", "miss,"].iter().any(|verdict| said.stdout.contains(verdict));
    assert!(!judged, "{}", said.stdout);
}

/// `timeout` signals its child, and then the whole group.
#[test]
fn a_signal_that_comes_twice_is_one() {
    let folder = long_scenario("echoed", 1);
    let child = start(&folder, &["run", "long.toml", "--format", "json"]);
    wait_a_moment();
    signal(&child, "INT");
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 130, "{}", said.stderr);
    let report: Value = serde_json::from_str(&said.stdout).expect("a report, for it stopped cleanly");
    assert_eq!(report["partial"], true);
}

#[test]
fn all_three_signals_stop_a_run_and_report_it() {
    for name in ["INT", "TERM", "HUP"] {
        let folder = long_scenario("signals", 1);
        let child = start(&folder, &["run", "long.toml", "--format", "json", "--out", "o"]);
        wait_a_moment();
        signal(&child, name);
        let said = Said::of(child.wait_with_output().expect("it ends"));
        assert_eq!(said.code, 130, "{name}: {}", said.stderr);
        let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!(report["partial"], true, "{name}");
        assert!(folder.path().join("o/report.html").exists(), "{name}");
    }
}

/// `nohup` makes the process ignore SIGHUP; the run continues, and SIGTERM still stops it.
#[cfg(target_os = "linux")]
#[test]
fn a_hangup_under_nohup_changes_nothing() {
    let folder = long_scenario("nohup", 1);
    let tool = env!("CARGO_BIN_EXE_towtank");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("trap '' HUP; exec '{tool}' run long.toml --format json")]);
    command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a shell can be run");
    wait_a_moment();
    signal(&child, "HUP");
    wait_a_moment();
    assert!(child.try_wait().expect("it can be asked").is_none(), "SIGHUP ended it");
    signal(&child, "TERM");
    let said = Said::of(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 130, "{}", said.stderr);
    assert_eq!(serde_json::from_str::<Value>(&said.stdout).expect("JSON")["partial"], true);
}

/// Before a run begins there is nothing to report: here the scenario's input never ends.
#[cfg(unix)]
#[test]
fn before_a_run_begins_it_ends_with_130_at_once() {
    for name in ["INT", "TERM", "HUP"] {
        let folder = Folder::new("set_up");
        let mut command = heeding(&folder, &["run", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let stdin = child.stdin.take();
        wait_a_moment();
        signal(&child, name);
        let said = Said::of(child.wait_with_output().expect("it ends"));
        drop(stdin);
        assert_eq!((said.code, said.stderr.as_str()), (130, "interrupted\n"), "{name}");
    }
}

/// A set-up that does not check the flag for longer than a second, with the signal in between.
#[test]
fn what_does_not_stop_is_given_up_in_time() {
    let folder = Folder::new("deaf");
    // A ring of this many points takes seconds; it is built before the flag is checked.
    let study = ["place", "--algorithm", "ring", "--servers", "2000", "--vnodes", "10000", "--keys", "1000"];
    let child = start(&folder, &[&study[..], &["--allow-memory"]].concat());
    wait_a_moment();
    let begun = Instant::now();
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().expect("it ends"));
    let took = begun.elapsed();
    assert_eq!(said.code, 130, "{}", said.stderr);
    let last = "interrupted: what was under way did not stop in time, so it is not reported; none of 1 runs was finished\n";
    assert!(said.stderr.ends_with(last), "{}", said.stderr);
    // A second; on a machine that is busy with other tests up to ten, and another one.
    assert!(took < Duration::from_secs(11), "{took:?}");
}

/// A former fault: a report that takes longer than a second to write was dropped, although all runs had
/// stopped.
#[test]
fn a_long_report_is_written_after_all() {
    let folder = Folder::new("long_report");
    let rates: Vec<String> =
        (1..=1_500).map(|rate| format!("\"{:.3}/s\"", f64::from(rate) / 200.0)).collect();
    let sweep = format!("[sweep]\n\"stations.counter.arrival_rate\" = [{}]\n", rates.join(", "));
    folder.write("wide.toml", COUNTER.replace("span = \"100s\"", "span = \"20s\"") + &sweep);
    let mut child = start(&folder, &["run", "wide.toml", "--out", "o", "--format", "json", "--jobs", "1"]);
    let points = folder.path().join("o/points");
    let stored = || std::fs::read_dir(&points).map_or(0, |points| points.count());
    while stored() < 1_490 {
        assert!(
            child.try_wait().expect("it can be asked").is_none(),
            "it ended before it could be interrupted"
        );
        thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 130, "{}", said.stderr);
    let report: Value = serde_json::from_str(&said.stdout).expect("a report, whatever time it takes");
    assert_eq!(report["partial"], true);
    assert!(folder.path().join("o/report.html").exists());
}

#[test]
fn a_second_one_ends_at_once() {
    let folder = long_scenario("twice", 1000);
    let mut child = start(&folder, &["run", "long.toml"]);
    wait_a_moment();
    signal(&child, "INT");
    let mut words = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    words.read_line(&mut line).expect("text");
    assert_eq!(line, "stopping; press Ctrl-C once more to end at once\n");
    wait_a_moment();
    signal(&child, "INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}
