//! Ctrl-C: what is done is kept, the report says that it is partial, and the shell sees 130.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

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
    folder.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.expect("`kill` is there").success());
}

/// Long enough for the handler to stand and for some events to be committed.
fn wait_a_moment() {
    thread::sleep(Duration::from_millis(700));
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

#[test]
fn the_same_command_goes_on() {
    let folder = Folder::new("goes_on");
    folder.write(
        "short.toml",
        COUNTER.replace("span = \"100s\"", "span = \"20000s\"").replace("replicates = 3", "replicates = 40"),
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
    assert!(again.stderr.contains("runs were done already and kept from `o`"), "{}", again.stderr);
    let whole = folder.run(&["run", "short.toml", "--format", "json"]).data();
    assert_eq!(again.data(), whole);
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
