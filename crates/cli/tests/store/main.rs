//! `towtank store` as users run it: processes on loopback, each test with a cluster of its own. A binary of
//! its own, since clusters agree within seconds of real time, and tests that compute would delay them.

mod disk_faults;
mod doors;
mod faults;
mod identity;
mod lost_monitor;
mod metrics;
mod s3;
mod simulate;
mod tails;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A cluster that is ended with its test.
struct Cluster(PathBuf);

struct Said {
    stdout: String,
    stderr: String,
    code: i32,
}

impl Said {
    fn of(output: &Output) -> Said {
        Said {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    fn done(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self.stdout
    }
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("store").join(name);
    if path.exists() {
        // Files of processes of a killed run are still present.
        let _ =
            Command::new(env!("CARGO_BIN_EXE_towtank")).args(["store", "down", "--dir"]).arg(&path).output();
        fs::remove_dir_all(&path).expect("the cluster of an earlier run can be removed");
    }
    path
}

impl Cluster {
    fn up(name: &str, flags: &[&str]) -> Cluster {
        let cluster = Cluster(folder(name));
        cluster.run(&[&["up"], flags].concat()).done();
        cluster
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towtank"));
        command.arg("store").args(words).env("TOWTANK_STORE", &self.0);
        command
    }

    fn run(&self, words: &[&str]) -> Said {
        Said::of(&self.command(words).output().expect("the command can be run"))
    }

    fn put(&self, name: &str, data: &[u8]) {
        let mut command = self.command(&["put", name, "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command can be run");
        child.stdin.take().expect("it is piped").write_all(data).expect("it reads");
        Said::of(&child.wait_with_output().expect("it ends")).done();
    }

    fn get(&self, name: &str) -> Vec<u8> {
        let output = self.command(&["get", name]).output().expect("the command can be run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    fn wait_until_clean(&self) {
        let said = self.run(&["status", "--watch", "--fail-unless-clean"]);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    }

    fn standing(&self) -> serde_json::Value {
        serde_json::from_str(&self.run(&["status", "--format", "json"]).done()).expect("it is JSON")
    }

    fn verified(&self) {
        let said = self.run(&["verify"]);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    }

    fn holds(&self, objects: &BTreeMap<String, Vec<u8>>) {
        let names: Vec<String> = self.run(&["ls"]).done().lines().map(str::to_owned).collect();
        assert_eq!(names, objects.keys().cloned().collect::<Vec<_>>());
        for (name, data) in objects {
            assert!(self.get(name) == *data, "{name} is not as it was written");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.run(&["down"]);
    }
}

fn some_objects(count: u64, round: u8) -> BTreeMap<String, Vec<u8>> {
    (0..count)
        .map(|number| (format!("object {number:03}"), vec![round ^ number as u8; 100 * number as usize]))
        .collect()
}

#[test]
fn objects_go_in_and_come_out() {
    let cluster = Cluster::up("objects", &["--osds", "3", "--groups", "8"]);
    let mut objects = some_objects(12, 1);
    objects.insert("large".to_owned(), (0..10_000_000_u32).map(|at| (at >> 8) as u8).collect());
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.holds(&objects);
    // Rewritten, removed, and with attributes.
    cluster.put("object 003", b"another");
    objects.insert("object 003".to_owned(), b"another".to_vec());
    cluster.run(&["rm", "object 004", "object 005", "there is none"]).done();
    objects.retain(|name, _| name != "object 004" && name != "object 005");
    cluster.holds(&objects);
    assert_eq!(cluster.run(&["ls", "object 00"]).done().lines().count(), 8);
    let listed = |prefix: &str| -> serde_json::Value {
        let text = cluster.run(&["ls", prefix, "--format", "json"]).done();
        let rows = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(text, format!("{rows:#}\n"));
        rows
    };
    let names = ["object 000", "object 001", "object 002"];
    assert_eq!(
        listed("object 00").as_array().expect("rows")[..3].iter().map(|row| &row["name"]).collect::<Vec<_>>(),
        names
    );
    assert_eq!(listed("there is none"), serde_json::json!([]));
    let file = cluster.0.join("a file");
    fs::write(&file, "words").expect("a file can be written");
    cluster.run(&["put", "named", file.to_str().expect("it is text"), "--attribute", "kind=note"]).done();
    let stat: serde_json::Value =
        serde_json::from_str(&cluster.run(&["stat", "named", "--format", "json"]).done())
            .expect("it is JSON");
    assert_eq!((&stat["bytes"], &stat["attributes"]["kind"]), (&5.into(), &"note".into()), "{stat}");
    cluster.run(&["get", "named", file.to_str().expect("it is text")]).done();
    assert_eq!(fs::read(&file).expect("it was written"), b"words");
    cluster.verified();
}

#[test]
fn a_killed_daemon_catches_up() {
    let cluster = Cluster::up("killed", &["--osds", "3", "--groups", "4"]);
    let mut objects = some_objects(10, 1);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.run(&["osd", "kill", "1"]).done();
    // The monitor does not know yet that it is down: writes wait until it does, and are not lost.
    objects.extend(some_objects(5, 2));
    some_objects(5, 2).iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.run(&["rm", "object 009"]).done();
    objects.remove("object 009");
    // Groups without writes may still be peering.
    let standing = (0..200)
        .map(|_| cluster.standing())
        .find(|standing| standing["health"] != "HEALTH_ERR")
        .expect("all groups serve without the daemon");
    assert_eq!(standing["health"], "HEALTH_WARN", "{standing}");
    assert_eq!(standing["osds"][1]["up"], false, "{standing}");
    cluster.holds(&objects);
    cluster.run(&["osd", "start", "1"]).done();
    cluster.wait_until_clean();
    cluster.verified();
    cluster.holds(&objects);
}

/// A client never receives a damaged replica, whether of the primary or of another daemon.
#[test]
fn damaged_copies_are_made_good() {
    let cluster = Cluster::up("damaged", &["--osds", "3", "--groups", "4"]);
    let objects = some_objects(8, 5);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    for osd in ["0", "1"] {
        cluster.run(&["osd", "stop", osd]).done();
        // Half of the objects on each: every object has a sound replica.
        for name in objects.keys().skip(osd.parse().expect("a number")).step_by(2) {
            cluster.run(&["damage", osd, name]).done();
        }
        cluster.run(&["osd", "start", osd]).done();
        cluster.wait_until_clean();
    }
    assert_eq!(cluster.run(&["verify"]).code, 1, "damaged copies are noticed");
    cluster.holds(&objects);
    let scrubbed = cluster.run(&["scrub"]).done();
    assert!(!scrubbed.contains(" 0 damaged"), "nobody reads copies that are not the primary's: {scrubbed}");
    std::thread::sleep(std::time::Duration::from_secs(1));
    cluster.wait_until_clean();
    cluster.verified();
    cluster.holds(&objects);
}

#[test]
fn all_killed_at_once_lose_nothing() {
    let cluster = Cluster::up("all-killed", &["--osds", "4", "--groups", "8"]);
    let objects = some_objects(20, 7);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    for osd in ["0", "1", "2", "3"] {
        cluster.run(&["osd", "kill", osd]).done();
    }
    cluster.run(&["down"]).done();
    assert_eq!(cluster.run(&["ls"]).code, 1, "nobody answers");
    cluster.run(&["up"]).done();
    cluster.verified();
    cluster.holds(&objects);
}

/// A log of four entries does not reach back to the missed writes: every discovery method brings the replica
/// up to date, and those with a summary examine fewer objects than a scan.
#[test]
fn every_discovery_backfills() {
    let looked: BTreeMap<&str, u64> = std::thread::scope(|scope| {
        ["scan", "bitmap", "merkle", "merkle-levels", "sketch"]
            .map(|discovery| (discovery, scope.spawn(move || looked_at_in_a_backfill(discovery))))
            .into_iter()
            .map(|(discovery, run)| (discovery, run.join().expect("its backfill is as it should be")))
            .collect()
    });
    let scan = looked["scan"];
    assert!(scan > 12, "{looked:?}");
    assert!(looked.iter().all(|(discovery, seen)| *discovery == "scan" || *seen < scan), "{looked:?}");
    assert_eq!(looked["sketch"], 12, "{looked:?}");
}

/// How many objects the replicas of a small cluster look at, to backfill one that missed twelve writes.
fn looked_at_in_a_backfill(discovery: &str) -> u64 {
    let flags =
        ["--osds", "3", "--groups", "1", "--log-entries", "4", "--grace", "20s", "--discovery", discovery];
    let cluster = Cluster::up(&format!("backfill-{discovery}"), &flags);
    cluster.run(&["bench", "--time", "2s", "--clients", "8", "--keep"]).done();
    // A bitmap covers the writes since the last interval in which the group became clean.
    cluster.run(&["osd", "stop", "1"]).done();
    cluster.run(&["osd", "start", "1"]).done();
    cluster.wait_until_clean();
    cluster.run(&["osd", "stop", "2"]).done();
    let changed = some_objects(12, 3);
    changed.iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.run(&["osd", "start", "2"]).done();
    cluster.wait_until_clean();
    cluster.verified();
    let osds = cluster.standing();
    let sum =
        |key: &str| osds["osds"].as_array().into_iter().flatten().filter_map(|osd| osd[key].as_u64()).sum();
    let (backfills, recovered, seen): (u64, u64, u64) =
        (sum("backfills"), sum("recovered"), sum("looked_at"));
    assert_eq!((backfills, recovered), (1, 12), "{discovery}: {osds}");
    seen
}

#[test]
fn a_lost_device_is_made_good_elsewhere() {
    let cluster =
        Cluster::up("elsewhere", &["--osds", "4", "--groups", "8", "--replicas", "2", "--grace", "3s"]);
    let objects = some_objects(16, 9);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.run(&["osd", "kill", "0"]).done();
    cluster.run(&["osd", "out", "0"]).done();
    cluster.wait_until_clean();
    cluster.verified();
    cluster.holds(&objects);
    assert_eq!(cluster.run(&["osd", "add"]).done(), "osd.4\n");
    cluster.wait_until_clean();
    cluster.verified();
    cluster.holds(&objects);
    let standing = cluster.standing();
    assert!(standing["osds"][4]["objects"].as_u64().expect("it reports") > 0, "{standing}");
}

/// Newly enabled trees, sketches and bitmaps are built from the existing objects.
#[test]
fn a_cluster_takes_other_settings() {
    let cluster = Cluster::up("settings", &["--groups", "2", "--discovery", "scan", "--log-entries", "2"]);
    let mut objects = some_objects(20, 1);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    let said = cluster.run(&["up", "--discovery", "sketch"]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("settings are read when daemons start"), "{}", said.stderr);
    for (round, settings) in [
        &["--discovery", "merkle", "--ranges", "256"][..],
        &[
            "--discovery",
            "sketch",
            "--scheduler",
            "mclock:8",
            "--client-weight",
            "4",
            "--recovery-limit",
            "500",
        ],
        &["--discovery", "bitmap", "--scheduler", "sfq:4", "--recovery-weight", "2"],
        &["--discovery", "merkle", "--ranges", "1024"],
    ]
    .into_iter()
    .enumerate()
    {
        cluster.run(&["down"]).done();
        cluster.run(&[&["up"], settings].concat()).done();
        cluster.run(&["osd", "stop", "2"]).done();
        for (name, data) in some_objects(8, 2 + round as u8) {
            cluster.put(&name, &data);
            objects.insert(name, data);
        }
        cluster.run(&["osd", "start", "2"]).done();
        cluster.wait_until_clean();
        cluster.verified();
        cluster.holds(&objects);
    }
    let said = cluster.run(&["up", "--groups", "4"]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("--groups is for a new cluster"), "{}", said.stderr);
}

/// The smallest experiment: everything is measured, predicted and reported; a rerun does not measure again.
#[test]
fn an_experiment_measures_and_predicts() {
    let directory = folder("experiment");
    let mut words =
        vec!["experiment", "backfill", "--objects", "300,600", "--stale", "20%", "--ranges", "64"];
    let place = directory.to_str().expect("it is text").to_owned();
    words.extend(["--dir", &place, "--format", "json"]);
    let cluster = Cluster(directory.join("work"));
    let report = |words: &[&str]| -> serde_json::Value {
        serde_json::from_str(&cluster.run(words).done()).expect("it is JSON")
    };
    let first = report(&words);
    let table = first["tables"][0]["rows"].as_array().expect("there are rows");
    // Four methods on two sizes, and the backfill of one object.
    assert_eq!(table.len(), 2 * 4 + 1, "{first}");
    let column = |name: &str| {
        let columns = first["tables"][0]["columns"].as_array().expect("there are columns");
        columns.iter().position(|column| column["name"] == name).expect("there is such a column")
    };
    for row in table {
        let at = |name: &str| &row[column(name)];
        assert_eq!(at("objects_recovered").as_f64(), at("stale").as_f64(), "{row}");
        let seconds = at("backfill_s").as_f64().expect("it was measured");
        assert!(seconds > 0.0 && at("predicted_s").as_f64().is_some_and(|seconds| seconds > 0.0), "{row}");
        let looked_at = at("objects_looked_at").as_f64().expect("it was counted");
        let (stale, all) = (at("stale").as_f64().expect("known"), at("objects").as_f64().expect("known"));
        let least_most = match at("discovery").as_str() {
            Some("scan") => (all, all),
            Some("sketch") => (stale, stale),
            _ => (stale, all),
        };
        assert!((least_most.0..=least_most.1).contains(&looked_at), "{row}");
    }
    assert!(first["summary"]["median_error"]["value"].is_number(), "{first}");
    // The measurements are kept; a gate that is not met is reported.
    let again = report(&words);
    assert_eq!(again["tables"], first["tables"]);
    words.extend(["--fail-if", "startup_s < 1000s"]);
    let said = cluster.run(&words);
    assert_eq!(said.code, 3, "{}", said.stderr);
    let said = cluster.run(&["experiment", "backfill", "--dir", &place, "--fit-on", "17:1%"]);
    assert!(said.code == 2 && said.stderr.contains("no point of this experiment"), "{}", said.stderr);
    let said = cluster.run(&["experiment", "backfill", "--dir", &place, "--objects", "10", "--stale", "1%"]);
    assert!(said.code == 2 && said.stderr.contains("less than two objects"), "{}", said.stderr);
    let words = ["experiment", "backfill", "--dir", &place, "--objects", "40", "--stale", "5%,6%"];
    let said = cluster.run(&words);
    let one = "--stale has 5 % and 6 %, and both are 2 of 40 objects";
    assert!(said.code == 2 && said.stderr.contains(one), "{}", said.stderr);
}

#[test]
fn what_cannot_be_done_is_said() {
    let nowhere = Cluster(folder("nowhere"));
    let refusal = |words: &[&str]| {
        let said = nowhere.run(words);
        let place = nowhere.0.display().to_string();
        format!("{}: {}", said.code, said.stderr.replace(&place, "DIR"))
    };
    let all = [
        refusal(&["status"]),
        refusal(&["up", "--osds", "2", "--replicas", "3"]),
        refusal(&["up", "--ranges", "1000"]),
        refusal(&["up", "--osds", "0"]),
        refusal(&["put", "", "-"]),
        refusal(&["daemon", "nobody"]),
        refusal(&["torture", "--dir", "tortured", "--faults", "kill,move"]),
    ];
    insta::assert_snapshot!(all.join("\n"));
    let cluster = Cluster::up("refusals", &["--osds", "1", "--replicas", "1", "--groups", "1"]);
    let refusal = |words: &[&str]| {
        let said = cluster.run(words);
        let place = cluster.0.display().to_string();
        let text: String =
            said.stderr.replace(&place, "DIR").chars().filter(|sign| !sign.is_ascii_digit()).collect();
        format!("{}: {text}", said.code)
    };
    let all = [
        refusal(&["up", "--groups", "4"]),
        refusal(&["get", "nothing"]),
        refusal(&["stat", "nothing"]),
        refusal(&["put", "a", "/nonexistent"]),
        refusal(&["put", "a", "-", "--attribute", "word"]),
        refusal(&["osd", "start", "0"]),
        refusal(&["osd", "start", "9"]),
        refusal(&["osd", "stop", "9"]),
        refusal(&["osd", "out", "9"]),
    ];
    insta::assert_snapshot!(all.join("\n"));
}
