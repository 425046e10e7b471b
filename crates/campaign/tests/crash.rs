//! A campaign that is killed repeatedly, and one whose files may not grow: with real processes and a real
//! disk.
//!
//! The child processes run this test program, selected by an environment variable.

#![allow(clippy::unwrap_used, reason = "a test, and what helps it")]

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;
use towtank_campaign::{
    End, Header, Inputs, KeyParts, Ledger, Order, Plan, PointKey, PointSpec, Progress, ReportFile, Shard,
    Stop, Store, StoreError, Takeover, Writer, assemble, run,
};
use towtank_report::{Outcome, SweepAxis};

const DIR: &str = "TOWTANK_CRASH_TEST_DIR";
const SLOW: &str = "TOWTANK_CRASH_TEST_SLOW";

fn plan() -> Plan {
    let point = |servers: u32| PointSpec {
        settings: vec![("servers".to_owned(), json!(servers))],
        scenario: json!({ "servers": servers }),
        key: PointKey::new(&KeyParts {
            study: "toy",
            scenario_hash: &servers.to_string(),
            input_hashes: &[],
            seed: 1,
            results_version: 1,
        }),
    };
    let header = Header {
        study: "toy".to_owned(),
        title: "Toy".to_owned(),
        results_version: 1,
        seed: 1,
        scenario: json!({}),
        scenario_hash: "toy".to_owned(),
    };
    let axis = SweepAxis { key: "servers".to_owned(), values: vec![json!(8), json!(16), json!(32)] };
    Plan::new(header, 6, vec![axis], [8, 16, 32].map(point).to_vec()).unwrap()
}

/// A pure function of point and replicate, of about five thousand bytes, so that a file can be cut in the
/// middle.
fn outcome(point: &PointSpec, replicate: u32) -> Outcome {
    let servers = point.scenario["servers"].as_f64().unwrap();
    let mut outcome = Outcome::default();
    let value = (f64::from(replicate) + 1.0).sqrt() / servers;
    outcome.measure("span_s", value, "s");
    let samples: Vec<f64> = (1..250).map(|index| value / f64::from(index)).collect();
    outcome.series.insert("samples".to_owned(), json!(samples));
    outcome
}

fn open(dir: &Path) -> Result<Store, StoreError> {
    Store::open(dir, &plan(), Takeover::Refuse, Writer::new(Inputs::default()))
}

/// Runs the campaign in `dir` to its end or its first failure, and writes a report.
fn run_in(dir: &Path, slow: bool) -> Result<String, String> {
    let plan = plan();
    let store = open(dir).map_err(|error| error.to_string())?;
    let order = Order {
        plan: &plan,
        shard: Shard::WHOLE,
        jobs: NonZeroUsize::new(2).unwrap(),
        store: Some(&store),
        stop: &Stop::new(),
        progress: &|_: Progress| (),
    };
    let ran = run(&order, &|point: &PointSpec, replicate, _: &Stop| -> Result<Outcome, String> {
        if slow {
            sleep(Duration::from_millis(5));
        }
        Ok(outcome(point, replicate))
    });
    match ran.end {
        End::Done => {
            let json = assemble(&plan, ran.ledger, "sequential").report.to_json();
            let file = ReportFile { name: "report.json".to_owned(), bytes: json.clone().into_bytes() };
            store.write_report(&[file]).map_err(|error| error.to_string())?;
            Ok(json)
        }
        End::Interrupted => Err("interrupted".to_owned()),
        End::Failed(failures) => Err(failures[0].to_string()),
    }
}

/// The body of the child processes of the tests below. Without the directory that they set, it does nothing.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else { return };
    if let Err(message) = run_in(&dir, std::env::var_os(SLOW).is_some()) {
        eprintln!("child: {message}");
        std::process::exit(1);
    }
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("towtank-crash-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.0.clone()];
        while let Some(dir) = open.pop() {
            for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    open.push(path);
                } else if !path.ends_with("campaign.lock") {
                    found.insert(path.strip_prefix(&self.0).unwrap().to_owned(), fs::read(&path).unwrap());
                }
            }
        }
        found
    }

    /// Number of point files in place.
    fn stored(&self) -> usize {
        let points = self.0.join("points");
        let dirs = fs::read_dir(points).into_iter().flatten().map(|entry| entry.unwrap().path());
        let names = dirs.flat_map(|dir| fs::read_dir(dir).into_iter().flatten());
        names
            .filter(|name| name.as_ref().is_ok_and(|n| n.file_name().to_string_lossy().starts_with('r')))
            .count()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn spawn(dir: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child"]).env(DIR, dir).env(SLOW, "1");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_campaign_killed_again_and_again_gives_the_same_bytes() {
    let (calm, killed) = (Scratch::new("calm"), Scratch::new("killed"));
    run_in(&calm.0, false).unwrap();
    let total = plan().task_count();
    let mut kills = 0;
    for goal in [1, 4, 5, 9, 14] {
        let mut child = spawn(&killed.0);
        // The exact moment is up to the machine; the conditions must hold at each.
        while killed.stored() < goal && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(300));
        }
        // `kill` is SIGKILL on Unix: the child executes nothing after it.
        child.kill().unwrap();
        kills += usize::from(!child.wait().unwrap().success());
        let mut ledger = Ledger::new(&plan());
        let store = open(&killed.0).expect("the lock went with its holder");
        assert_eq!(store.load(&mut ledger), [], "no kill leaves a damaged file");
        assert_eq!(ledger.finished_count(), killed.stored());
    }
    assert!(kills >= 3, "only {kills} kills met a child at work");
    assert!(killed.stored() < total || kills < 5);
    let resumed = run_in(&killed.0, false).unwrap();
    assert_eq!(killed.files(), calm.files());
    assert_eq!(resumed.as_bytes(), calm.files()[Path::new("report.json")]);
}

#[test]
fn a_second_process_is_refused_while_the_first_is_at_work() {
    let dir = Scratch::new("busy");
    let mut child = spawn(&dir.0);
    while dir.stored() < 1 {
        assert!(child.try_wait().unwrap().is_none(), "the child ended early");
        sleep(Duration::from_micros(300));
    }
    let refused = open(&dir.0).err();
    child.kill().unwrap();
    child.wait().unwrap();
    let message = refused.expect("the child holds the directory").to_string();
    assert!(message.contains(&format!("(process {})", child.id())), "{message}");
}

/// The system itself cuts a write short: no file may grow past a limit (`ulimit -f`).
#[test]
#[cfg(unix)]
fn a_write_that_the_system_cuts_short_leaves_the_old_file() {
    let dir = Scratch::new("limit");
    run_in(&dir.0, false).unwrap();
    let whole = dir.files();
    let points: Vec<_> = whole.keys().filter(|name| name.starts_with("points")).collect();
    fs::remove_file(dir.0.join(points[4])).unwrap();
    let before = dir.files();
    // 4 blocks of 512 or 1024 bytes, depending on the shell: either is less than a point file (about 5500
    // bytes).
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" --exact child --nocapture";
    let exe = std::env::current_exe().unwrap();
    let limited = Command::new("sh").args(["-c", script]).arg(exe).env(DIR, &dir.0).output().unwrap();
    let words = String::from_utf8(limited.stderr).unwrap();
    assert!(!limited.status.success(), "{words}");
    assert!(words.contains("is done but not stored: cannot write"), "{words}");
    assert!(words.contains("File too large") && words.contains("ulimit -f"), "{words}");
    assert_eq!(dir.files(), before, "nothing was harmed, and no half file was left");
    run_in(&dir.0, false).unwrap();
    assert_eq!(dir.files(), whole);
}

/// A read-only directory gives an error that names it, and a hint.
#[test]
#[cfg(unix)]
fn a_read_only_directory_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Scratch::new("read-only");
    fs::set_permissions(&dir.0, fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write anywhere; then there is nothing to test.
    if fs::write(dir.0.join("probe"), "").is_ok() {
        return;
    }
    let message = open(&dir.0).err().expect("it may not be written to").to_string();
    fs::set_permissions(&dir.0, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(message.contains("choose a directory that you may write to"), "{message}");
}
