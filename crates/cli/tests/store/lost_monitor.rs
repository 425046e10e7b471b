//! A monitor's directory that is lost, and made anew from what the devices know.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use towtank_store::rebuilding::{Ask, Outcome, rebuild};
use towtank_store::settings::Home;

use crate::identity::copy;
use crate::{Cluster, some_objects};

impl Cluster {
    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.at(from), self.at(to)).expect("it is there");
    }

    fn lose_monitor(&self) {
        fs::remove_dir_all(self.at("monitor")).expect("it is there");
    }

    /// What is said when the monitor is made anew.
    fn rebuilt(&self, flags: &[&str]) -> String {
        let said = self.run(&[&["rebuild-monitor"], flags].concat());
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        said.stderr
    }

    /// Kills the monitor alone.
    fn kill_monitor(&self) {
        let pid = fs::read_to_string(self.at("run/monitor.pid")).expect("it runs");
        let killed = Command::new("kill").args(["-9", pid.trim()]).status().expect("there is a shell");
        assert!(killed.success());
        let ended = |_: &u32| {
            std::thread::sleep(Duration::from_millis(50));
            self.run(&["status"]).code != 0
        };
        assert!((0..200).any(|look| ended(&look)), "it still answers");
    }

    /// Starts the monitor alone, so that daemons can be started one by one.
    fn start_monitor(&self) {
        let log = fs::File::create(self.at("log/monitor.log")).expect("it can be made");
        let mut command = self.command(&["daemon", "monitor", "--dir"]);
        let child = command.arg(&self.0).stdout(log.try_clone().expect("it is open")).stderr(log).spawn();
        let pid = child.expect("it can be run").id().to_string();
        fs::write(self.at("run/monitor.pid"), pid).expect("it can be written");
        let answers = |_: &u32| {
            std::thread::sleep(Duration::from_millis(50));
            self.run(&["status"]).code == 0
        };
        assert!((0..200).any(|look| answers(&look)), "the monitor does not answer");
    }
}

/// Writes nonsense into the files of a directory, except its identity.
fn rot(directory: &Path) {
    for entry in fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            rot(&path);
        } else if path.file_name().is_some_and(|name| name != "identity.json") {
            let length = fs::metadata(&path).expect("it is there").len().max(16);
            fs::write(&path, vec![0xa5; length as usize]).expect("it can be written");
        }
    }
}

/// The second version is acknowledged by 0 and 1 alone.
#[test]
fn groups_wait_for_the_same_devices_as_before() {
    let cluster = Cluster::up("rebuilt", &["--osds", "3", "--groups", "4", "--grace", "1s"]);
    let mut objects = some_objects(8, 1);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.put("it", b"first");
    cluster.run(&["osd", "stop", "2"]).done();
    cluster.put("it", b"second");
    cluster.run(&["osd", "stop", "0"]).done();
    let said = cluster.refused(&["rebuild-monitor"], 1);
    assert!(said.contains("monitor of the cluster in") && said.contains("store down"), "{said}");
    cluster.run(&["osd", "stop", "1"]).done();
    cluster.run(&["down"]).done();
    let said = cluster.refused(&["rebuild-monitor"], 2);
    assert!(said.contains("is in order") && said.contains("nothing is done"), "{said}");
    cluster.lose_monitor();
    let said = cluster.refused(&["up"], 1);
    assert!(said.contains("maps of the monitor are missing") && said.contains("rebuild-monitor"), "{said}");
    let said = cluster.rebuilt(&[]);
    assert!(said.contains("made from osd.0, osd.1, osd.2"), "{said}");
    cluster.start_monitor();
    assert_eq!(cluster.standing()["osds"][0]["up"], false);
    cluster.run(&["osd", "start", "2"]).done();
    assert_eq!(cluster.reads("it"), None, "2 has only the first version");
    cluster.run(&["osd", "start", "0"]).done();
    assert_eq!(cluster.get("it"), b"second");
    cluster.run(&["osd", "start", "1"]).done();
    cluster.wait_until_clean();
    objects.insert("it".to_owned(), b"second".to_vec());
    cluster.holds(&objects);
    cluster.verified();
    // Twice, after more has happened.
    cluster.run(&["osd", "stop", "1"]).done();
    cluster.put("it", b"third");
    cluster.run(&["down"]).done();
    for _ in 0..2 {
        cluster.lose_monitor();
        cluster.rebuilt(&[]);
    }
    cluster.run(&["up"]).done();
    objects.insert("it".to_owned(), b"third".to_vec());
    cluster.holds(&objects);
    cluster.verified();
}

#[test]
fn who_cannot_be_read_is_named_and_given_up_only_on_request() {
    let cluster = Cluster::up("rebuilt-0", &["--osds", "3", "--groups", "2", "--grace", "1s"]);
    let other = Cluster::up("rebuilt-1", &["--osds", "3", "--groups", "2", "--grace", "1s"]);
    other.run(&["down"]).done();
    let objects = some_objects(6, 3);
    objects.iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.run(&["down"]).done();
    copy(&cluster.at("osd.0"), &cluster.at("older"));
    cluster.run(&["up"]).done();
    cluster.run(&["down"]).done();
    cluster.lose_monitor();
    let hint = "rebuild-monitor --without 0` gives it up";
    let refused = |why: &str| {
        let said = cluster.refused(&["rebuild-monitor"], 1);
        assert!(said.contains("osd.0") && said.contains(why) && said.contains(hint), "{said}");
        assert!(!cluster.at("monitor").exists() && !cluster.at("monitor.rebuilt").exists());
    };
    cluster.rename("osd.0", "kept");
    refused("its directory is missing");
    copy(&other.at("osd.0"), &cluster.at("osd.0"));
    refused("of another cluster");
    cluster.remove_osd(0);
    cluster.rename("older", "osd.0");
    refused("is an older copy");
    cluster.remove_osd(0);
    copy(&cluster.at("kept"), &cluster.at("osd.0"));
    rot(&cluster.at("osd.0"));
    refused("cannot be read");
    let said = cluster.refused(&["rebuild-monitor", "--without", "9"], 2);
    assert!(said.contains("there is no osd.9"), "{said}");
    // Nothing that it alone may know: it was never without another.
    cluster.rebuilt(&["--without", "0"]);
    cluster.run(&["up", "--wait", "2s"]);
    let said = cluster.refused(&["osd", "start", "0"], 1);
    assert!(said.contains("declared lost"), "{said}");
    cluster.holds(&objects);
    cluster.run(&["osd", "replace", "0"]).done();
    cluster.wait_until_clean();
    cluster.holds(&objects);
    cluster.verified();
}

/// All files of a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// One byte of a device is wrong: it is named, or what is needed was read in spite of it.
#[test]
fn a_device_with_a_wrong_byte_is_named_or_read() {
    let cluster = Cluster::up("rebuilt-4", &["--osds", "2", "--groups", "1", "--grace", "1s"]);
    some_objects(6, 3).iter().for_each(|(name, data)| cluster.put(name, data));
    cluster.run(&["down"]).done();
    cluster.lose_monitor();
    copy(&cluster.0, &cluster.0.with_extension("sound"));
    let (mut draws, mut named, mut read) = (Draws(5), 0, 0);
    for _ in 0..40 {
        fs::remove_dir_all(&cluster.0).expect("it is there");
        copy(&cluster.0.with_extension("sound"), &cluster.0);
        let all = files(&cluster.at("osd.0"));
        let file = &all[draws.below(all.len() as u64) as usize];
        let mut bytes = fs::read(file).expect("it is there");
        // What was allocated and not written is zeros.
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let Some(at) = (used > 0).then(|| draws.below(used as u64) as usize) else { continue };
        bytes[at] ^= 1 << draws.below(8);
        fs::write(file, bytes).expect("it can be written");
        match rebuild(&Home::at(&cluster.0), &Ask::default()) {
            Ok(Outcome::Done { devices, .. }) => {
                assert_eq!(devices, [0, 1]);
                read += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("osd.0"), "{}: {error}", file.display());
                named += 1;
            }
            other => panic!("{}: {other:?}", file.display()),
        }
    }
    assert!(named > 0 && read > 0, "{named} named, {read} read");
    fs::remove_dir_all(cluster.0.with_extension("sound")).expect("it is there");
}

#[test]
fn what_a_device_may_have_had_alone_is_said_before_it_is_given_up() {
    let flags = ["--osds", "2", "--replicas", "2", "--groups", "1", "--grace", "1s"];
    let cluster = Cluster::up("rebuilt-2", &flags);
    cluster.put("it", b"first");
    cluster.run(&["osd", "stop", "1"]).done();
    cluster.put("it", b"second");
    cluster.run(&["osd", "stop", "0"]).done();
    cluster.run(&["osd", "start", "1"]).done();
    assert_eq!(cluster.reads("it"), None, "0 has had it alone");
    cluster.run(&["down"]).done();
    cluster.lose_monitor();
    cluster.remove_osd(0);
    let said = cluster.refused(&["rebuild-monitor", "--without", "0"], 2);
    assert!(
        said.contains("without osd.0 the cluster may lose what group 0 acknowledged since map"),
        "{said}"
    );
    assert!(said.contains("without any other after map") && said.contains("--without 0 --yes"), "{said}");
    assert!(!cluster.at("monitor").exists());
    let said = cluster.rebuilt(&["--without", "0", "--yes-i-know"]);
    assert!(said.contains("may lose what group 0"), "{said}");
    cluster.start_monitor();
    cluster.run(&["osd", "start", "1"]).done();
    assert_eq!(cluster.get("it"), b"first", "what was said, and no more");
    cluster.run(&["osd", "replace", "0"]).done();
    cluster.wait_until_clean();
    cluster.verified();
}

#[test]
fn a_copy_of_the_monitor_is_moved_aside_and_does_not_lead_again() {
    let flags = ["--osds", "2", "--replicas", "2", "--groups", "2", "--grace", "1s"];
    let cluster = Cluster::up("rebuilt-3", &flags);
    cluster.put("it", b"kept");
    assert_eq!(cluster.run(&["osd", "add"]).done(), "osd.2\n");
    cluster.wait_until_clean();
    cluster.run(&["down"]).done();
    copy(&cluster.at("monitor"), &cluster.at("stale"));
    cluster.run(&["up"]).done();
    cluster.run(&["osd", "out", "1"]).done();
    cluster.wait_until_clean();
    cluster.run(&["down"]).done();
    cluster.rename("monitor", "lost");
    cluster.rename("stale", "monitor");
    let said = cluster.rebuilt(&[]);
    assert!(said.contains("monitor.old-1") && cluster.at("monitor.old-1").exists(), "{said}");
    // Neither the older copy nor the one that was lost leads now: the devices know the new map.
    for former in ["lost", "monitor.old-1"] {
        cluster.rename("monitor", "new");
        copy(&cluster.at(former), &cluster.at("monitor"));
        let said = cluster.refused(&["up"], 1);
        assert!(said.contains("monitor/ is an older copy") && said.contains("rebuild-monitor"), "{said}");
        cluster.run(&["down"]).done();
        cluster.lose_monitor();
        cluster.rename("new", "monitor");
    }
    cluster.run(&["up"]).done();
    let standing = cluster.standing();
    assert_eq!((&standing["osds"][1]["in"], &standing["osds"][2]["in"]), (&false.into(), &true.into()));
    assert_eq!(cluster.get("it"), b"kept");
    cluster.verified();
}

/// A monitor that was restored from an older copy led daemons that knew later maps.
#[test]
fn daemons_that_run_go_on_without_an_older_monitor() {
    let flags = ["--osds", "3", "--replicas", "2", "--groups", "2", "--grace", "1s"];
    let cluster = Cluster::up("older-monitor", &flags);
    cluster.put("it", b"kept");
    cluster.kill_monitor();
    copy(&cluster.at("monitor"), &cluster.at("stale"));
    cluster.start_monitor();
    cluster.run(&["osd", "out", "1"]).done();
    cluster.wait_until_clean();
    cluster.kill_monitor();
    cluster.rename("monitor", "newest");
    cluster.rename("stale", "monitor");
    cluster.start_monitor();
    let is_older = |_: &u32| {
        std::thread::sleep(Duration::from_millis(50));
        cluster.standing()["monitor_older"].is_string()
    };
    assert!((0..100).any(|look| is_older(&look)), "{}", cluster.standing());
    let said = cluster.run(&["status"]);
    assert!(
        said.stdout.contains("HEALTH_ERR") && said.stdout.contains("is an older copy"),
        "{}",
        said.stdout
    );
    let said = cluster.refused(&["osd", "in", "1"], 1);
    assert!(said.contains("is an older copy") && said.contains("rebuild-monitor"), "{said}");
    // They have not ended, and go on with the one that is right.
    cluster.kill_monitor();
    cluster.lose_monitor();
    cluster.rename("newest", "monitor");
    cluster.start_monitor();
    cluster.wait_until_clean();
    assert_eq!(cluster.standing()["osds"][1]["in"], false);
    assert_eq!(cluster.get("it"), b"kept");
    cluster.verified();
}

/// A generator of numbers (splitmix64), so that a course is drawn from its number alone.
struct Draws(u64);

impl Draws {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }
}

/// A cluster, and what an object may be: what was acknowledged last, and what was tried since.
struct Course {
    cluster: Cluster,
    osds: u64,
    may_be: BTreeSet<Vec<u8>>,
    written: u64,
}

impl Course {
    fn begins(name: &str, osds: u64, replicas: u64) -> Course {
        let (osds_text, replicas) = (osds.to_string(), replicas.to_string());
        let flags = [
            "--osds",
            &osds_text,
            "--replicas",
            &replicas,
            "--groups",
            "2",
            "--grace",
            "1s",
            "--log-entries",
            "4",
        ];
        let cluster = Cluster::up(name, &flags);
        let mut course = Course { cluster, osds, may_be: BTreeSet::new(), written: 0 };
        course.writes();
        course
    }

    fn writes(&mut self) {
        self.written += 1;
        let data = format!("version {}", self.written).into_bytes();
        let file = self.cluster.at("data");
        fs::write(&file, &data).expect("it can be written");
        let file = file.to_str().expect("it is text");
        if self.cluster.run(&["put", "it", file, "--timeout", "2s"]).code == 0 {
            self.may_be.clear();
        }
        self.may_be.insert(data);
    }

    fn step(&mut self, draws: &mut Draws) {
        let osd = draws.below(self.osds).to_string();
        // A command that is refused in the present state changes nothing.
        match draws.below(12) {
            0..=1 => drop(self.cluster.run(&["osd", "stop", &osd])),
            2 => drop(self.cluster.run(&["osd", "kill", &osd])),
            3..=5 => drop(self.cluster.run(&["osd", "start", &osd])),
            6 => drop(self.cluster.run(&["osd", "out", &osd])),
            7 => drop(self.cluster.run(&["osd", "in", &osd])),
            8 => drop(self.cluster.run(&["osd", "replace", &osd])),
            _ => self.writes(),
        }
    }

    fn reads(&self) -> Result<bool, String> {
        match self.cluster.reads("it") {
            None => Ok(false),
            Some(found) if self.may_be.contains(&found) => Ok(true),
            Some(found) => Err(format!("read {}", String::from_utf8_lossy(&found))),
        }
    }

    /// Loses the monitor, and has the devices come back one by one: whatever is read must be right, and once
    /// all are back it must be there.
    fn comes_back(&self, order: &[u64], planted: Option<u32>) -> Result<(), String> {
        self.cluster.run(&["down"]).done();
        self.cluster.lose_monitor();
        let ask = Ask { planted, ..Ask::default() };
        match rebuild(&Home::at(&self.cluster.0), &ask) {
            Ok(Outcome::Done { .. }) => {}
            other => return Err(format!("{other:?}")),
        }
        self.cluster.start_monitor();
        for osd in order {
            let said = self.cluster.run(&["osd", "start", &osd.to_string()]);
            if said.code != 0 {
                return Err(said.stderr);
            }
            self.reads()?;
        }
        // No group serves if all are out.
        for osd in order {
            self.cluster.run(&["osd", "in", &osd.to_string()]).done();
        }
        let is_there = (0..20).map(|_| self.reads()).find(|read| *read != Ok(false));
        is_there.unwrap_or_else(|| Err("nothing is read".to_owned()))?;
        let said = self.cluster.run(&["up"]);
        if said.code != 0 {
            return Err(said.stderr);
        }
        self.reads()?;
        let said = self.cluster.run(&["verify"]);
        if said.code == 0 { Ok(()) } else { Err(said.stdout) }
    }
}

/// The courses that are drawn; more with `PROPTEST_CASES`.
const COURSES: u64 = 4;

#[test]
fn drawn_courses_lose_nothing_with_the_monitor() {
    let more = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    for number in 0..more.unwrap_or(COURSES) {
        let mut draws = Draws(number);
        let osds = 2 + draws.below(3);
        let replicas = 2 + draws.below(osds.min(3) - 1);
        let mut course = Course::begins("drawn", osds, replicas);
        for _ in 0..4 + draws.below(10) {
            course.step(&mut draws);
        }
        let mut order: Vec<u64> = (0..osds).collect();
        (1..order.len()).for_each(|at| order.swap(at, draws.below(at as u64 + 1) as usize));
        assert_eq!(course.comes_back(&order, None), Ok(()), "course {number}, {osds} devices, {order:?}");
    }
}

/// What 0 alone knows is left out: then 1 does not wait for it.
#[test]
fn a_monitor_made_without_what_one_device_knows_is_noticed() {
    for (name, planted) in [("left-out", Some(0)), ("not-left-out", None)] {
        let mut course = Course::begins(name, 2, 2);
        course.cluster.run(&["osd", "stop", "1"]).done();
        course.writes();
        course.cluster.run(&["osd", "stop", "0"]).done();
        let came = course.comes_back(&[1, 0], planted);
        let expected = if planted.is_some() { Err("read version 1".to_owned()) } else { Ok(()) };
        assert_eq!(came, expected);
    }
}
