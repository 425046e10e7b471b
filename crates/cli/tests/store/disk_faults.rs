//! Disks that fail at one change: the n-th write, sync, rename or truncation of a device fails, is done by
//! half, or is the last before a loss of power, which undoes what was not synced.
//!
//! `disk_faults.c` is loaded before the C library of a daemon of a store of three devices, while clients
//! write. A point is one such fault. After it the daemon is started with a sound disk; when all groups are
//! clean, each object must be what was acknowledged or tried last, and `verify` finds all replicas and trees
//! equal. At every other point the power of all devices is lost at once, so that no other device has what was
//! not synced.
//!
//! `FAULT_POINTS=1000 FAULT_SEED=1 cargo test -p towtank-cli --test store disk_faults -- --nocapture`

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use towtank_store::client::Client;
use towtank_store::control::{Daemon, running};
use towtank_store::settings::Home;

use crate::{Cluster, Said};

const OSDS: u32 = 3;
const WRITERS: u64 = 3;
const OBJECTS: u64 = 12;
/// How long a client waits, also while a device is away.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a fault is waited for: a daemon that changes too little loses its power then.
const FAULT_TIME: Duration = Duration::from_millis(1500);

fn points() -> u64 {
    number("FAULT_POINTS").unwrap_or(12)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
fn mixed(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A chain of draws.
struct Draws(u64);

impl Draws {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = mixed(self.0);
        self.0 % most
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// The compiled library.
fn library(to: &Path) -> PathBuf {
    let path = to.join("disk_faults.so");
    let mut compile = Command::new("cc");
    compile.args(["-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o"]).arg(&path);
    compile
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/store/disk_faults.c"))
        .args(["-ldl", "-lpthread"]);
    let output = compile.output().expect("there is a compiler of C: Rust links with it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

/// What an object may be: what was acknowledged last, and what was tried since.
type Record = BTreeMap<String, Vec<Option<Vec<u8>>>>;

/// The clients' load: each writes its own objects.
struct Load {
    home: Home,
    record: Mutex<Record>,
    acknowledged: Mutex<u64>,
    /// Held for reading during a write, and for writing while all pause.
    gate: RwLock<()>,
    sizes: &'static [usize],
    ends: AtomicBool,
}

impl Load {
    fn write_until_end(&self, writer: u64, seed: u64) {
        let mut draws = Draws(seed ^ writer << 32);
        let mut client = Client::reach(&self.home, PATIENCE).expect("the monitor runs");
        while !self.ends.load(Ordering::Relaxed) {
            let _open = self.gate.read().expect("no thread that holds it panics");
            let name = format!("{writer}-{}", draws.below(OBJECTS));
            let size = draws.one_of(self.sizes);
            let data = mixed(draws.0).to_le_bytes().repeat(size / 8 + 1);
            let done = |with: Option<Vec<u8>>, is_acknowledged: bool| {
                let mut record = self.record.lock().expect("no thread that holds it panics");
                let may_be = record.entry(name.clone()).or_insert_with(|| vec![None]);
                if is_acknowledged {
                    may_be.clear();
                    *self.acknowledged.lock().expect("no thread that holds it panics") += 1;
                }
                may_be.push(with);
            };
            if draws.below(8) == 0 {
                done(None, false);
                if client.remove(&name).is_ok() {
                    done(None, true);
                }
            } else {
                done(Some(data.clone()), false);
                if client.put(&name, &BTreeMap::new(), &data).is_ok() {
                    done(Some(data), true);
                }
            }
        }
    }

    /// The objects that are not what they may be. Nobody may write.
    fn wrong(&self) -> Vec<String> {
        let mut client = Client::reach(&self.home, PATIENCE).expect("the monitor runs");
        let record = self.record.lock().expect("no thread that holds it panics");
        let wrong = record.iter().filter_map(|(name, may_be)| {
            let found = match client.get(name) {
                Ok(found) => found.map(|object| object.data),
                Err(error) => return Some(format!("{name}: {error}")),
            };
            let words = |data: &Option<Vec<u8>>| data.as_ref().map(|data| (data.len(), data[..8].to_vec()));
            let may = may_be.iter().map(words).collect::<Vec<_>>();
            (!may_be.contains(&found)).then(|| format!("{name} is {:?} and may be {may:?}", words(&found)))
        });
        wrong.collect()
    }
}

/// A fault of a disk, as the library takes it.
struct Fault {
    kind: &'static str,
    loses: &'static str,
    at: u64,
    lasts: u64,
    after: u64,
    lies: bool,
}

impl Fault {
    fn drawn(draws: &mut Draws) -> Fault {
        let kind = draws.one_of(&["kill", "kill", "kill", "eio", "enospc", "short"]);
        // Most are soon after the start or within it, some while tables are written and merged.
        let most = draws.one_of(&[30, 60, 120, 120, 240, 1_000]);
        Fault {
            kind,
            loses: draws.one_of(&["nothing", "data", "all", "all", "torn"]),
            at: 1 + draws.below(most),
            lasts: draws.one_of(&[1, 1, 5, 50]),
            after: 1 + draws.below(60),
            lies: false,
        }
    }

    fn words(&self) -> String {
        let Fault { kind, loses, at, lasts, after, .. } = self;
        format!("{kind} at change {at} for {lasts}, power {after} later, loses {loses}")
    }
}

/// A store whose devices fail.
struct Scene {
    cluster: Cluster,
    library: PathBuf,
    home: Home,
}

impl Scene {
    fn new(name: &str) -> Scene {
        let flags = ["--osds", "3", "--groups", "2", "--grace", "1s", "--log-entries", "100"];
        let cluster = Cluster::up(name, &flags);
        let home = Home::at(&cluster.0);
        Scene { library: library(&cluster.0), home, cluster }
    }

    fn power(&self) -> PathBuf {
        self.cluster.0.join("power-is-lost")
    }

    /// Starts daemons anew, all but one of them on disks that only lose power with it.
    fn start_all_with(&self, osds: &BTreeSet<u32>, fault: &Fault) {
        let with_it = Fault { kind: "kill", at: 0, ..*fault };
        std::thread::scope(|scope| {
            for osd in osds {
                let fault = if Some(osd) == osds.last() { fault } else { &with_it };
                self.cluster.run(&["osd", "kill", &osd.to_string()]);
                scope.spawn(move || self.start_with(*osd, fault));
            }
        });
    }

    /// Starts a daemon on a disk with this fault; whether it came up is not asked.
    fn start_with(&self, osd: u32, fault: &Fault) {
        let mut command = self.cluster.command(&["osd", "start", &osd.to_string()]);
        command.env("LD_PRELOAD", &self.library).env("FAULT_DIR", self.cluster.0.join(format!("osd.{osd}")));
        command.env("FAULT_KIND", fault.kind).env("FAULT_LOSES", fault.loses);
        command.env("FAULT_LOG", self.cluster.0.join("faults.log")).env("FAULT_POWER", self.power());
        for (name, value) in [("AT", fault.at), ("FOR", fault.lasts), ("AFTER", fault.after)] {
            command.env(format!("FAULT_{name}"), value.to_string());
        }
        if fault.lies {
            command.env("FAULT_LIES", ".jnl");
        }
        command.output().expect("the command can be run");
    }

    fn runs(&self, osd: u32) -> Option<u32> {
        running(&self.home, Daemon::Osd(osd))
    }

    /// Waits until the daemons have ended, and lets them lose their power if nothing happens.
    fn wait_for_end(&self, osds: &BTreeSet<u32>) {
        let began = now();
        while osds.iter().any(|osd| self.runs(*osd).is_some()) {
            // Who met an error may have ended before it was to lose its power.
            let is_over = osds.iter().any(|osd| self.runs(*osd).is_none());
            if is_over || began.elapsed() > FAULT_TIME {
                fs::write(self.power(), "").expect("it can be written");
            }
            if began.elapsed() > 2 * FAULT_TIME {
                for pid in osds.iter().filter_map(|osd| self.runs(*osd)) {
                    let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // Without it who starts next would lose its power too.
        let _ = fs::remove_file(self.power());
    }

    /// What is not as it should be once all devices are back and the groups are clean.
    fn wrong_after(&self, osds: &BTreeSet<u32>, load: &Load) -> Vec<String> {
        let start = |osd: &u32| self.cluster.run(&["osd", "start", &osd.to_string()]);
        let said: Vec<Said> = std::thread::scope(|scope| {
            let starts: Vec<_> = osds.iter().map(|osd| scope.spawn(move || start(osd))).collect();
            starts.into_iter().map(|start| start.join().expect("it does not panic")).collect()
        });
        if said.iter().any(|said| said.code != 0) {
            return said.into_iter().map(|said| said.stderr).filter(|words| !words.is_empty()).collect();
        }
        let _closed = load.gate.write().expect("no thread that holds it panics");
        let said = self.cluster.run(&["status", "--watch", "--fail-unless-clean"]);
        if said.code != 0 {
            return vec![format!("not clean: {}{}", said.stdout, said.stderr)];
        }
        let mut wrong = load.wrong();
        let said = self.cluster.run(&["verify"]);
        if said.code != 0 {
            wrong.push(format!("verify: {}{}", said.stdout, said.stderr));
        }
        wrong
    }

    /// Runs clients during `during`; what they had acknowledged, and what they tried.
    fn with_load<T>(&self, seed: u64, sizes: &'static [usize], during: impl FnOnce(&Load) -> T) -> (T, u64) {
        let load = Load {
            home: self.home.clone(),
            record: Mutex::default(),
            acknowledged: Mutex::default(),
            gate: RwLock::default(),
            sizes,
            ends: AtomicBool::new(false),
        };
        let done = std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let load = &load;
                scope.spawn(move || load.write_until_end(writer, seed));
            }
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| during(&load)));
            load.ends.store(true, Ordering::Relaxed);
            done
        });
        let acknowledged = *load.acknowledged.lock().expect("no thread that holds it panics");
        (done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), acknowledged)
    }
}

#[test]
fn a_disk_that_fails_at_any_change_loses_nothing() {
    let seed = number("FAULT_SEED").unwrap_or(1);
    let scene = Scene::new(&format!("disk-faults-{seed}"));
    let ((), acknowledged) = scene.with_load(seed, &[9, 700, 5_000, 60_000, 300_000], |load| {
        for point in 0..points() {
            let mut draws = Draws(mixed(seed).wrapping_add(point));
            let fault = Fault::drawn(&mut draws);
            let osds: BTreeSet<u32> = if point % 2 == 0 {
                (0..OSDS).collect()
            } else {
                BTreeSet::from([draws.below(u64::from(OSDS)) as u32])
            };
            scene.start_all_with(&osds, &fault);
            scene.wait_for_end(&osds);
            let wrong = scene.wrong_after(&osds, load);
            println!("point {point} of seed {seed}, {osds:?}: {}", fault.words());
            assert!(wrong.is_empty(), "point {point} of seed {seed}, {}: {wrong:#?}", fault.words());
        }
    });
    assert!(acknowledged > points(), "only {acknowledged} writes were acknowledged");
    let log = fs::read_to_string(scene.cluster.0.join("faults.log")).expect("daemons have ended");
    println!(
        "{acknowledged} acknowledged writes; {} ends of daemons",
        log.lines().filter(|line| !line.starts_with(' ')).count()
    );
    assert!(log.lines().any(|line| line.starts_with("  ")), "no end has undone anything: {log}");
}

/// Two of three disks say that all is synced, and lose it; the third device is away.
#[test]
fn disks_that_lose_what_they_had_synced_are_noticed() {
    let scene = Scene::new("disk-lies");
    // So little is in the journals alone. Of what is in tables, the store notices that the journals lack it.
    let (wrong, _) = scene.with_load(1, &[9, 700], |load| {
        scene.cluster.run(&["osd", "kill", "2"]).done();
        let osds = BTreeSet::from([0, 1]);
        let fault = Fault { kind: "kill", loses: "all", at: 0, lasts: 1, after: 1, lies: true };
        scene.start_all_with(&osds, &fault);
        scene.wait_for_end(&osds);
        scene.wrong_after(&BTreeSet::from([0, 1, 2]), load)
    });
    assert!(wrong.iter().any(|words| words.contains("and may be")), "no lost object is noticed: {wrong:#?}");
}
