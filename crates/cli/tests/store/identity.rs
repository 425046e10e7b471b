//! Directories of devices that are missing, empty, older, swapped or of another cluster; devices that are
//! lost, replaced and removed; other names of a cluster's directory; and daemons that leave.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::{Cluster, Said, some_objects};

impl Cluster {
    pub(crate) fn remove_osd(&self, osd: u32) {
        fs::remove_dir_all(self.0.join(format!("osd.{osd}"))).expect("it is there");
    }

    /// What is said to a command that is refused, in one line.
    pub(crate) fn refused(&self, words: &[&str], code: i32) -> String {
        let said = self.run(words);
        assert_eq!(said.code, code, "{words:?}: {}{}", said.stdout, said.stderr);
        said.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether an object is read within some seconds.
    pub(crate) fn reads(&self, name: &str) -> Option<Vec<u8>> {
        let output = self.command(&["get", name, "--timeout", "3s"]).output().expect("it can be run");
        output.status.success().then_some(output.stdout)
    }

    /// Waits until the monitor has noticed that a daemon that was killed is down.
    fn notices(&self, osd: usize) {
        let is_down = |_: &u32| {
            std::thread::sleep(Duration::from_millis(100));
            self.standing()["osds"][osd]["up"] == false
        };
        assert!((0..300).any(|look| is_down(&look)), "osd.{osd} counts as up");
    }

    /// Waits until all groups serve.
    pub(crate) fn serves(&self) {
        let serves = |_: &u32| {
            std::thread::sleep(Duration::from_millis(100));
            self.standing()["groups_unavailable"] == 0
        };
        assert!((0..300).any(|look| serves(&look)), "some group does not serve");
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    let said = Command::new("cp").arg("-a").args([from, to]).output().expect("it can be run");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

/// The second version is acknowledged by 0 and 1 alone. Before devices had an identity, the empty directory
/// of 0 let the group go on with the first version, and 1 was rolled back when it returned: `HEALTH_OK`.
#[test]
fn an_empty_directory_testifies_nothing() {
    let cluster = Cluster::up("empty", &["--osds", "3", "--groups", "2", "--grace", "1s"]);
    cluster.put("it", b"first");
    cluster.run(&["osd", "stop", "2"]).done();
    cluster.put("it", b"second");
    cluster.run(&["osd", "kill", "0"]).done();
    cluster.run(&["osd", "kill", "1"]).done();
    (0..2).for_each(|osd| cluster.notices(osd));
    cluster.remove_osd(0);
    cluster.run(&["osd", "start", "2"]).done();
    assert_eq!(cluster.reads("it"), None, "2 alone has not heard of all");
    let said = cluster.refused(&["osd", "start", "0"], 1);
    assert!(said.contains("there is nothing in") && said.contains("osd replace 0"), "{said}");
    // The daemon itself does not begin with an empty directory either.
    fs::create_dir(cluster.0.join("osd.0")).expect("it can be made");
    let dir = cluster.0.to_str().expect("it is text");
    let said = cluster.refused(&["daemon", "osd.0", "--dir", dir], 1);
    assert!(said.contains("there is nothing in"), "{said}");
    // A new directory in its place is let in only as a new device, which knows of nothing.
    let said = cluster.refused(&["osd", "replace", "0"], 2);
    assert!(said.contains("may lose what group") && said.contains("osd.1, which is away"), "{said}");
    cluster.run(&["osd", "replace", "0", "--yes-i-know"]).done();
    assert_eq!(cluster.reads("it"), None, "1 may come back with more");
    cluster.run(&["osd", "start", "1"]).done();
    assert_eq!(cluster.get("it"), b"second");
    cluster.wait_until_clean();
    cluster.verified();
    assert_eq!(cluster.get("it"), b"second");
}

/// The objects of the third were deleted: two empty directories agreed that there were none.
#[test]
fn missing_directories_are_not_made_again() {
    let cluster = Cluster::up("missing", &["--osds", "3", "--groups", "2", "--grace", "1s"]);
    let objects = some_objects(6, 4);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.run(&["down"]).done();
    let aside = cluster.0.join("aside");
    fs::create_dir(&aside).expect("it can be made");
    let away = |osd: u32| {
        let name = format!("osd.{osd}");
        fs::rename(cluster.0.join(&name), aside.join(&name)).expect("it is there");
    };
    (0..2).for_each(away);
    let said = cluster.refused(&["up"], 1);
    assert!(said.contains("osd.0: there is nothing in") && said.contains("osd.1: there"), "{said}");
    assert!(said.contains("osd replace 0"), "{said}");
    assert!(!cluster.0.join("osd.0").exists(), "nothing was made");
    assert_eq!(cluster.standing()["health"], "HEALTH_ERR");
    assert_eq!(cluster.reads("object 003"), None, "the third waits");
    cluster.run(&["down"]).done();
    // A file system that is not mounted.
    away(2);
    let said = cluster.refused(&["up"], 1);
    assert!(said.contains("osd.2: there is nothing in"), "{said}");
    assert_eq!(cluster.standing()["health"], "HEALTH_ERR");
    cluster.run(&["down"]).done();
    for osd in 0..3 {
        let name = format!("osd.{osd}");
        fs::rename(aside.join(&name), cluster.0.join(&name)).expect("it is there");
    }
    cluster.run(&["up"]).done();
    cluster.holds(&objects);
    // Two that are really lost are made good from the third.
    cluster.run(&["down"]).done();
    (0..2).for_each(|osd| cluster.remove_osd(osd));
    cluster.refused(&["up"], 1);
    for osd in ["0", "1"] {
        // While the third has not reported, it is not known to know all.
        cluster.run(&["osd", "replace", osd, "--yes-i-know"]).done();
    }
    cluster.wait_until_clean();
    cluster.holds(&objects);
    cluster.verified();
}

#[test]
fn what_was_lost_is_told_first_and_does_not_come_back() {
    let cluster = Cluster::up("lost", &["--osds", "3", "--groups", "1", "--grace", "1s"]);
    cluster.put("it", b"first");
    let said = cluster.refused(&["osd", "lost", "1"], 1);
    assert!(said.contains("osd.1 counts as up"), "{said}");
    cluster.run(&["osd", "stop", "2"]).done();
    cluster.put("it", b"second");
    cluster.run(&["osd", "stop", "0"]).done();
    cluster.run(&["osd", "stop", "1"]).done();
    cluster.run(&["osd", "start", "2"]).done();
    let said = cluster.refused(&["osd", "lost", "0"], 2);
    assert!(said.contains("group 0 acknowledged since map") && said.contains("osd.1"), "{said}");
    cluster.run(&["osd", "lost", "0", "--yes-i-know"]).done();
    assert_eq!(cluster.reads("it"), None, "1 may come back");
    let said = cluster.refused(&["osd", "lost", "1"], 2);
    assert!(said.contains("no other device may have it"), "{said}");
    cluster.run(&["osd", "lost", "1", "--yes-i-know"]).done();
    for osd in ["0", "1"] {
        let said = cluster.refused(&["osd", "start", osd], 1);
        assert!(said.contains("was declared lost"), "{said}");
    }
    let status = cluster.run(&["status"]).done();
    assert!(status.contains("osd.1 was declared lost; `towtank store osd replace 1`"), "{status}");
    for osd in ["0", "1"] {
        cluster.run(&["osd", "replace", osd]).done();
    }
    cluster.wait_until_clean();
    assert_eq!(cluster.get("it"), b"first", "what was told, and no more");
    cluster.verified();
    // The old directories were kept, and are not let in.
    cluster.run(&["osd", "stop", "0"]).done();
    cluster.remove_osd(0);
    fs::rename(cluster.0.join("osd.0.old-1"), cluster.0.join("osd.0")).expect("it was kept");
    let said = cluster.refused(&["osd", "start", "0"], 1);
    assert!(said.contains("was declared lost"), "{said}");
}

#[test]
fn directories_that_belong_elsewhere_are_refused() {
    let cluster = Cluster::up("elsewhere-0", &["--osds", "3", "--groups", "2", "--grace", "1s"]);
    let other = Cluster::up("elsewhere-1", &["--osds", "3", "--groups", "2", "--grace", "1s"]);
    cluster.put("it", b"ours");
    other.put("it", b"theirs");
    other.run(&["down"]).done();
    cluster.run(&["osd", "stop", "0"]).done();
    cluster.run(&["osd", "stop", "1"]).done();
    let at = |name: &str| cluster.0.join(name);
    let rename = |from: &str, to: &str| fs::rename(at(from), at(to)).expect("it is there");
    rename("osd.0", "kept");
    rename("osd.1", "osd.0");
    rename("kept", "osd.1");
    let said = cluster.refused(&["osd", "start", "0"], 1);
    assert!(said.contains("holds osd.1") && said.contains("move the directories back"), "{said}");
    rename("osd.0", "kept");
    rename("osd.1", "osd.0");
    rename("kept", "osd.1");
    rename("osd.0", "kept");
    copy(&other.0.join("osd.0"), &at("osd.0"));
    let said = cluster.refused(&["osd", "start", "0"], 1);
    assert!(said.contains("holds osd.0 of another cluster"), "{said}");
    cluster.remove_osd(0);
    // A copy from before its last start.
    rename("kept", "osd.0");
    copy(&at("osd.0"), &at("copy"));
    cluster.run(&["osd", "start", "0"]).done();
    cluster.run(&["osd", "stop", "0"]).done();
    rename("osd.0", "newest");
    rename("copy", "osd.0");
    let said = cluster.refused(&["osd", "start", "0"], 1);
    assert!(said.contains("is an older copy"), "{said}");
    cluster.remove_osd(0);
    rename("newest", "osd.0");
    cluster.run(&["osd", "start", "0"]).done();
    cluster.run(&["osd", "start", "1"]).done();
    cluster.wait_until_clean();
    assert_eq!(cluster.get("it"), b"ours");
    cluster.verified();
}

#[test]
fn a_monitor_without_its_maps_is_refused() {
    let cluster = Cluster::up("no-monitor", &["--osds", "2", "--groups", "2", "--grace", "1s"]);
    cluster.put("it", b"kept");
    cluster.run(&["down"]).done();
    copy(&cluster.0.join("monitor"), &cluster.0.join("older"));
    cluster.run(&["up"]).done();
    cluster.run(&["down"]).done();
    fs::rename(cluster.0.join("monitor"), cluster.0.join("newest")).expect("it is there");
    let said = cluster.refused(&["up"], 1);
    assert!(said.contains("the maps of the monitor are missing"), "{said}");
    // One with older maps than the devices does not lead.
    fs::rename(cluster.0.join("older"), cluster.0.join("monitor")).expect("it is there");
    let said = cluster.refused(&["up"], 1);
    assert!(said.contains("has ended") && said.contains("monitor/ is an older copy"), "{said}");
    cluster.run(&["down"]).done();
    fs::remove_dir_all(cluster.0.join("monitor")).expect("it is there");
    fs::rename(cluster.0.join("newest"), cluster.0.join("monitor")).expect("it is there");
    cluster.run(&["up"]).done();
    assert_eq!(cluster.get("it"), b"kept");
    cluster.verified();
}

#[test]
fn devices_are_added_replaced_and_removed() {
    let flags = ["--osds", "3", "--groups", "4", "--replicas", "2", "--grace", "1s"];
    let cluster = Cluster::up("devices", &flags);
    let objects = some_objects(12, 8);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    assert_eq!(cluster.run(&["osd", "add"]).done(), "osd.3\n");
    cluster.wait_until_clean();
    cluster.run(&["osd", "stop", "1"]).done();
    // The others have all that was acknowledged: nothing is lost, and nothing is to be accepted.
    cluster.serves();
    cluster.run(&["osd", "replace", "1"]).done();
    assert!(cluster.0.join("osd.1.old-1").exists(), "the old directory is kept");
    cluster.wait_until_clean();
    cluster.holds(&objects);
    cluster.run(&["osd", "out", "3"]).done();
    cluster.wait_until_clean();
    cluster.run(&["osd", "stop", "3"]).done();
    cluster.serves();
    cluster.run(&["osd", "rm", "3"]).done();
    assert_eq!(cluster.standing()["osds"].as_array().map(Vec::len), Some(3));
    cluster.wait_until_clean();
    assert_eq!(cluster.run(&["osd", "add"]).done(), "osd.3\n");
    cluster.wait_until_clean();
    cluster.holds(&objects);
    cluster.verified();
    cluster.run(&["down"]).done();
    cluster.run(&["up"]).done();
    cluster.holds(&objects);
}

/// The ids of the processes of a cluster, by its files.
fn pids(cluster: &Cluster) -> Vec<String> {
    let read = |name: &str| fs::read_to_string(cluster.0.join(format!("run/{name}.pid"))).expect("it runs");
    ["monitor", "osd.0", "osd.1"].map(read).to_vec()
}

/// A second set of processes was started, which took the pid files over, and `down` left the first.
#[test]
fn another_name_of_the_directory_is_the_same_cluster() {
    let cluster = Cluster::up("names", &["--osds", "2", "--groups", "1"]);
    let link = cluster.0.join("link");
    symlink(&cluster.0, &link).expect("a link can be made");
    let before = pids(&cluster);
    let detour = cluster.0.join("run/../../names");
    let by = |name: &Path, words: &[&str]| -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towtank"));
        command.arg("store").args(words).env("TOWTANK_STORE", name);
        Said::of(&command.output().expect("it can be run"))
    };
    for name in [&link, &detour] {
        by(name, &["up"]).done();
        assert_eq!(pids(&cluster), before, "{}", name.display());
    }
    // A daemon that is started beside the first, without its pid file, ends at once.
    for daemon in ["monitor", "osd.0"] {
        let said = by(&link, &["daemon", daemon]);
        assert!(said.code == 1 && said.stderr.contains("is already running"), "{}", said.stderr);
        fs::rename(cluster.0.join(format!("run/{daemon}.pid")), cluster.0.join("pid")).expect("it is there");
        let said = by(&detour, &["up"]);
        assert!(said.code == 1 && said.stderr.contains("is already running"), "{}", said.stderr);
        fs::rename(cluster.0.join("pid"), cluster.0.join(format!("run/{daemon}.pid"))).expect("it is there");
    }
    assert_eq!(pids(&cluster), before);
    by(&link, &["down"]).done();
    for pid in before {
        // Whoever adopted it may not have collected its status.
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z"), "{pid} runs on: {stat}");
    }
}

/// In 9 of 25 stops the daemon registered again after it had left.
#[test]
fn a_daemon_that_stops_stays_down() {
    let cluster = Cluster::up("stops", &["--osds", "3", "--groups", "2", "--grace", "60s"]);
    for round in 0..25 {
        cluster.run(&["osd", "stop", "1"]).done();
        // It may have asked before it ended.
        std::thread::sleep(Duration::from_millis(100));
        let standing = cluster.standing();
        assert_eq!(standing["osds"][1]["up"], false, "stop {round}: {standing}");
        cluster.run(&["osd", "start", "1"]).done();
    }
    let log = fs::read_to_string(cluster.0.join("log/monitor.log")).expect("it has said something");
    let up: Vec<bool> = log
        .lines()
        .filter_map(|line| line.split_once("up [").filter(|_| line.starts_with("map ")))
        .map(|(_, up)| up.trim_end_matches(']').split(", ").any(|osd| osd == "1"))
        .collect();
    let registered = up.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    assert_eq!(registered, 1 + 25, "as often as it was started");
    cluster.wait_until_clean();
    cluster.verified();
}
