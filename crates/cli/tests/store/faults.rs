//! Faults of a store: malformed frames, a full disk, groups that move, daemons that do not start, and torture
//! with and without a rule that is broken on purpose.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{Cluster, Said, folder, some_objects};

/// Waits until a condition holds, for at most a minute.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..300 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("{what}: not within a minute");
}

/// The id of a process and its memory in bytes.
fn process(cluster: &Cluster, name: &str) -> (u32, u64) {
    let pid = fs::read_to_string(cluster.0.join(format!("run/{name}.pid"))).expect("it runs");
    let pid: u32 = pid.trim().parse().expect("a number");
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a process has memory");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    (pid, kib << 10)
}

#[test]
fn malformed_frames_do_no_harm() {
    const FRAMES: u64 = 50_000;
    const GROWTH_MOST: u64 = 24 << 20;
    let cluster = Cluster::up("malformed", &["--osds", "3", "--groups", "4"]);
    let objects = some_objects(8, 3);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    for name in ["osd.0", "monitor"] {
        let send = |frames: u64, seed: &str| -> serde_json::Value {
            let frames = frames.to_string();
            let words = ["malformed", name, "--frames", &frames, "--seed", seed];
            serde_json::from_str(&cluster.run(&words).done()).expect("it is JSON")
        };
        send(FRAMES / 10, "1");
        let (pid, before) = process(&cluster, name);
        let sent = send(FRAMES, "2");
        for kind in ["beginnings", "wrong_keys", "packets", "random", "changed", "impossible"] {
            assert!(sent[kind].as_u64().expect("a count") > 0, "{kind}: {sent}");
        }
        assert_eq!(sent["wrong_keys"], sent["wrong_keys_refused"], "{sent}");
        let (same, after) = process(&cluster, name);
        assert_eq!(pid, same, "{name} has ended");
        assert!(after < before + GROWTH_MOST, "{name} has grown from {before} to {after} bytes");
    }
    cluster.wait_until_clean();
    cluster.holds(&objects);
    cluster.verified();
}

#[test]
fn groups_that_moved_are_removed_and_old_maps_forgotten() {
    let flags = ["--osds", "4", "--groups", "8", "--replicas", "2", "--log-entries", "4"];
    let cluster = Cluster::up("moved", &flags);
    let mut objects = some_objects(40, 6);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    // One daemon is down while groups move and maps are forgotten.
    cluster.run(&["osd", "out", "3"]).done();
    cluster.wait_until_clean();
    cluster.run(&["osd", "kill", "3"]).done();
    let held = |osd: usize| cluster.standing()["osds"][osd]["objects"].as_u64();
    for round in 0..3 {
        cluster.run(&["osd", "out", "0"]).done();
        cluster.wait_until_clean();
        wait_until("osd.0 holds nothing", || held(0) == Some(0));
        let changed = some_objects(5, 10 + round);
        changed.iter().for_each(|(name, data)| cluster.put(name, data));
        objects.extend(changed);
        cluster.run(&["osd", "in", "0"]).done();
        cluster.wait_until_clean();
        assert!(held(0) > Some(0), "objects are placed on it again");
    }
    wait_until("old maps are forgotten", || {
        cluster.run(&["osd", "out", "0"]).done();
        cluster.wait_until_clean();
        cluster.run(&["osd", "in", "0"]).done();
        cluster.wait_until_clean();
        cluster.standing()["oldest_map"].as_u64() > Some(10)
    });
    cluster.verified();
    cluster.run(&["osd", "start", "3"]).done();
    cluster.run(&["osd", "in", "3"]).done();
    cluster.wait_until_clean();
    wait_until("it is not a stray any more", || cluster.standing()["osds"][3]["strays"] == 0);
    cluster.wait_until_clean();
    cluster.verified();
    cluster.holds(&objects);
    // Everything is read from disks again.
    cluster.run(&["down"]).done();
    cluster.run(&["up"]).done();
    cluster.verified();
    cluster.holds(&objects);
}

#[test]
fn a_daemon_that_is_started_is_up_or_says_why_not() {
    let cluster = Cluster::up("started", &["--osds", "2", "--groups", "2"]);
    cluster.run(&["osd", "kill", "1"]).done();
    cluster.run(&["osd", "start", "1"]).done();
    assert_eq!(cluster.standing()["osds"][1]["up"], true, "it returned when the daemon was up");
    cluster.run(&["osd", "stop", "1"]).done();
    fs::write(cluster.0.join("osd.1/version"), "of no version").expect("a file can be written");
    let said = cluster.run(&["osd", "start", "1"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("osd.1 has ended"), "{}", said.stderr);
    assert!(said.stderr.contains("log/osd.1.log"), "{}", said.stderr);
}

/// How tests may mount: in namespaces of their own, or as root. `None` where neither is possible.
fn mounter() -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["unshare", "-rm"], &["unshare", "-m"]];
    ways.into_iter().find(|way| {
        let mount = "mount -t tmpfs -o size=1M tmpfs /mnt";
        let output = Command::new(way[0]).args(&way[1..]).args(["sh", "-c", mount]).output();
        output.is_ok_and(|output| output.status.success())
    })
}

/// Reruns a test of this file where it may mount; returns whether it already may.
fn is_where_mounts_are(test: &str) -> bool {
    const INSIDE: &str = "TOWTANK_MAY_MOUNT";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let Some(way) = mounter() else {
        let words = "this machine allows no mounts (neither `unshare -rm` nor `unshare -m`)";
        assert!(std::env::var_os("CI").is_none(), "{words}: full disks cannot be checked");
        println!("not checked: {words}");
        return false;
    };
    let mut command = Command::new(way[0]);
    command.args(&way[1..]).arg(std::env::current_exe().expect("a test knows itself"));
    let output = command.args(["--exact", test, "--nocapture"]).env(INSIDE, "1").output();
    let output = output.expect("it was just run");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

/// An in-memory file system, for the disk of a daemon that does not run yet.
fn mount(at: &Path, size: &str) {
    fs::create_dir_all(at).expect("a directory can be made");
    let size = format!("size={size}");
    let output = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output();
    let output = output.expect("mount can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const LARGE: usize = 4 << 20;

fn large(number: usize) -> (String, Vec<u8>) {
    // Incompressible bytes.
    let mut state = number as u64 + 1;
    let data = (0..LARGE).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    });
    (format!("large {number:03}"), data.collect())
}

/// Writes an object from a file; returns the command's output.
fn put_large(cluster: &Cluster, number: usize) -> crate::Said {
    let (name, data) = large(number);
    let file = cluster.0.join("large");
    fs::write(&file, data).expect("a file can be written");
    cluster.run(&["put", &name, file.to_str().expect("it is text"), "--timeout", "20s"])
}

#[test]
fn a_full_disk_is_reported_and_takes_writes_again() {
    if !is_where_mounts_are("faults::a_full_disk_is_reported_and_takes_writes_again") {
        return;
    }
    let cluster = Cluster(folder("full"));
    mount(&cluster.0.join("osd.2"), "256M");
    cluster.run(&["up", "--osds", "3", "--groups", "2"]).done();
    // A write that is refused at first may succeed after tables are merged; finally the disk stays full.
    let (mut count, mut status) = (0, String::new());
    while !status.contains("is full") {
        assert!(count < 64, "64 objects of 4 MiB do not fit in 256 MiB");
        let said = put_large(&cluster, count);
        if said.code == 0 {
            count += 1;
            continue;
        }
        assert!(said.stderr.contains("osd.2 is full: remove objects"), "{}", said.stderr);
        std::thread::sleep(Duration::from_secs(4));
        status = cluster.run(&["status"]).done();
    }
    assert!(count > 8, "only {count} objects of 4 MiB were taken");
    assert!(status.contains("HEALTH_ERR") && status.contains("osd.2 is full"), "{status}");
    assert_eq!(cluster.standing()["osds"][2]["full"], true);
    let (name, data) = large(count / 2);
    assert!(cluster.get(&name) == data, "what is there is read");
    for number in 0..count {
        cluster.run(&["rm", &large(number).0]).done();
    }
    wait_until("writes are taken again", || put_large(&cluster, 0).code == 0);
    cluster.wait_until_clean();
    assert!(!cluster.run(&["status"]).done().contains("is full"));
    assert!(cluster.get(&large(0).0) == large(0).1);
    cluster.verified();
}

#[test]
fn a_backfill_that_does_not_fit_waits() {
    if !is_where_mounts_are("faults::a_backfill_that_does_not_fit_waits") {
        return;
    }
    const COUNT: usize = 50;
    let cluster = Cluster(folder("no-room"));
    mount(&cluster.0.join("osd.2"), "256M");
    cluster.run(&["up", "--osds", "3", "--groups", "1", "--log-entries", "4", "--grace", "3s"]).done();
    cluster.run(&["osd", "stop", "2"]).done();
    for number in 0..COUNT {
        put_large(&cluster, number).done();
    }
    cluster.run(&["osd", "start", "2"]).done();
    let pid = process(&cluster, "osd.2").0;
    let primary_says = || {
        let logs = ["log/osd.0.log", "log/osd.1.log"].map(|log| fs::read_to_string(cluster.0.join(log)));
        logs.into_iter().flatten().any(|log| log.contains("TargetFull"))
    };
    wait_until("the target refuses", primary_says);
    assert!(cluster.get(&large(1).0) == large(1).1, "all is served meanwhile");
    for number in 1..COUNT {
        cluster.run(&["rm", &large(number).0]).done();
    }
    cluster.wait_until_clean();
    assert_eq!(process(&cluster, "osd.2").0, pid, "it has not ended");
    cluster.verified();
    assert!(cluster.get(&large(0).0) == large(0).1);
}

fn torture(name: &str, more: &[&str]) -> (i32, serde_json::Value) {
    let cluster = Cluster(folder(name));
    let dir = cluster.0.to_str().expect("it is text").to_owned();
    let words = ["torture", "--format", "json", "--dir", &dir];
    let said = cluster.run(&[&words, more].concat());
    let report = serde_json::from_str(&said.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", said.stdout, said.stderr));
    (said.code, report)
}

/// Daemons are killed, stopped, paused, disconnected and started under load, and replicas damaged; the guide
/// shows a longer run.
#[test]
fn torture_loses_nothing() {
    let (code, report) = torture("torture", &["--minutes", "2", "--seed", "3", "--log-entries", "20"]);
    assert_eq!(
        (code, &report["lost_writes"], &report["linearizable"]),
        (0, &0.into(), &true.into()),
        "{report:#}"
    );
    for counted in
        ["acknowledged_writes", "reads", "kills", "restarts", "partitions", "rounds", "answers_lost"]
    {
        assert!(report[counted].as_u64().expect("it is a number") > 0, "{counted}: {report:#}");
    }
    assert_eq!(report["corruptions"], report["corruptions_repaired"], "{report:#}");
}

/// The operations of a history: of clients, and the reads at the ends of rounds.
fn counts(history: &Path) -> serde_json::Value {
    let text = fs::read_to_string(history).expect("it is there");
    let (mut writes, mut reads, mut last, mut rounds) = (0, 0, 0, 0);
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
        assert!(line["called_ns"].as_u64() <= line["answered_ns"].as_u64(), "{line}");
        rounds = rounds.max(line["round"].as_u64().expect("it has one"));
        match (line["kind"].as_str().expect("it has one"), line["client"].is_null()) {
            ("write", false) => writes += u64::from(line["value"].is_u64()),
            ("remove", false) => writes += u64::from(line["value"].is_null()),
            ("read", false) => reads += 1,
            ("read", true) => last += 1,
            _ => panic!("{line}"),
        }
    }
    serde_json::json!([writes, reads, last, rounds])
}

#[test]
fn the_history_of_torture_has_what_the_summary_counts() {
    let history = folder("torture-history").with_extension("jsonl");
    let path = history.to_str().expect("it is text");
    let words = ["--minutes", "0.2", "--seed", "4", "--objects", "10", "--history", path];
    let (code, report) = torture("torture-recorded", &words);
    assert_eq!(code, 0, "{report:#}");
    let rounds = report["rounds"].as_u64().expect("it is a number");
    let want =
        serde_json::json!([report["acknowledged_writes"], report["reads"], 10 * rounds, report["rounds"]]);
    assert_eq!(counts(&history), want, "{report:#}");
    // A line that is gone shows.
    let text = fs::read_to_string(&history).expect("it is there");
    let (first, rest) = text.split_once('\n').expect("there are lines");
    fs::write(&history, rest).expect("it can be written");
    assert_ne!(counts(&history), want, "without {first}");
    fs::write(&history, &text).expect("it can be written");
    // A run that is refused leaves the history of another as it was, and one whose history cannot be made
    // leaves no cluster.
    let used = Cluster(Path::new(env!("CARGO_TARGET_TMPDIR")).join("store/torture-recorded"));
    let said = used.run(&["torture", "--dir", used.0.to_str().expect("it is text"), "--history", path]);
    assert!(said.code != 0 && fs::read_to_string(&history).expect("it is there") == text, "{}", said.stderr);
    let new = Cluster(folder("torture-unrecorded"));
    let nowhere = ["--history", "/nonexistent/history.jsonl"];
    let said = new.run(&[&["torture", "--dir", new.0.to_str().expect("it is text")], &nowhere[..]].concat());
    assert!(said.code == 2 && said.stderr.contains("--history cannot be written"), "{}", said.stderr);
    assert!(!new.0.exists(), "no cluster was made");
    fs::remove_file(&history).expect("it is there");
}

/// The checker notices a rule that is broken on purpose. A run ends when it is noticed: mostly within a
/// minute, but this depends on the machine. The random schedules of the protocol's tests notice these rules
/// and the others each time.
fn is_noticed(planted: &str, more: &[&str], shows: impl Fn(&serde_json::Value) -> bool) {
    let words = ["--minutes", "4", "--seed", "5", "--planted", planted];
    let (code, report) = torture(&format!("torture-{planted}"), &[&words, more].concat());
    assert_eq!(code, 1, "{report:#}");
    assert!(shows(&report), "{report:#}");
}

#[test]
fn torture_notices_a_wrong_tree() {
    let words = "tree and sketch do not match its objects";
    is_noticed("tree-misses-recovery", &[], |report| report["faults"].to_string().contains(words));
}

#[test]
fn torture_notices_lost_writes() {
    let is_lost = |report: &serde_json::Value| {
        report["lost_writes"].as_u64() > Some(0) || report["linearizable"] == false
    };
    // A lost object that a log names leaves its group without a copy to recover from.
    let is_missed = |report: &serde_json::Value| report["faults"].to_string().contains("are not clean");
    is_noticed("answers-early", &[], |report| is_lost(report) || is_missed(report));
}

#[test]
fn torture_notices_requests_that_are_done_twice() {
    is_noticed("forgets-requests", &[], |report| report["linearizable"] == false);
}

/// Torture that is interrupted by so many signals, half a second apart, once its daemons run.
fn interrupted(cluster: &Cluster, signals: u32) -> Said {
    let mut command = cluster.command(&["torture", "--minutes", "30", "--format", "json", "--dir"]);
    command.arg(&cluster.0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the command can be run");
    let daemons = ["monitor", "osd.0", "osd.1", "osd.2"];
    wait_until("all daemons run", || {
        daemons.iter().all(|name| cluster.0.join(format!("run/{name}.pid")).exists())
    });
    for _ in 0..signals {
        std::thread::sleep(Duration::from_millis(500));
        // The command has ended by itself if this fails, which its exit code tells.
        let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGINT);
    }
    Said::of(&child.wait_with_output().expect("it ends"))
}

/// A round that was interrupted took longer than half a minute on a busy machine: then nothing was reported,
/// and the daemons went on.
#[test]
fn interrupted_torture_reports_what_it_found() {
    let cluster = Cluster(folder("interrupted"));
    let said = interrupted(&cluster, 1);
    assert_eq!(said.code, 130, "{}", said.stderr);
    let found: serde_json::Value = serde_json::from_str(&said.stdout).expect("it is JSON");
    assert_eq!((&found["lost_writes"], &found["rounds"]), (&0.into(), &1.into()), "{found}");
    assert!(cluster.run(&["down"]).stderr.contains("nothing runs"));
}

#[test]
fn abandoned_torture_says_how_to_end_its_daemons() {
    let cluster = Cluster(folder("abandoned"));
    let said = interrupted(&cluster, 2);
    assert_eq!((said.code, said.stdout.as_str()), (130, ""), "{}", said.stderr);
    let hint = format!("end daemons that still run: towtank store down --dir {}", cluster.0.display());
    assert!(said.stderr.contains(&hint), "{}", said.stderr);
    assert!(cluster.run(&["down"]).stderr.contains("has ended"));
}
