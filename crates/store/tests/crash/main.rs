//! A transaction is durable as a whole or not at all, whenever the process or the machine stops.
//!
//! Writes take the same path as in a daemon: the protocol, the tables of objects, the log with tree and
//! sketch, one commit. Either a child process ends at the n-th step; or the journal on disk is truncated,
//! torn and filled with holes at points spread over the last transaction. The state after reopening the disk
//! must be one of the states between two transactions, and no acknowledged write may be missing.
//!
//! `CRASH_POINTS=1000 cargo test -p towtank-store --test crash -- --nocapture` tests that many points of each
//! kind.

mod device;
mod journal;
mod tails;

use std::path::{Path, PathBuf};
use std::process::Command;

use device::{Device, State};
use towtank_store::crash::CRASH_AT;

/// The default number of points of each kind.
const POINTS: usize = 100;

/// The number of writes of a child: each has some twenty steps.
fn writes() -> u64 {
    (points() / 20).max(10) as u64
}

/// The error reported if the tree panics while it reads a journal.
const ASSERTED: &str = "the tree panics";

/// The environment variable with a child's directory.
const CHILD: &str = "TOWTANK_CRASH_CHILD";

fn points() -> usize {
    std::env::var("CRASH_POINTS").map_or(POINTS, |points| points.parse().expect("a number"))
}

/// An empty directory, in memory if the system has a RAM disk at `/dev/shm`.
fn folder(name: &str) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let root = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    let path = root.join(format!("towtank-crash-{}-{name}", std::process::id()));
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("a directory of ours can be removed");
    }
    std::fs::create_dir_all(&path).expect("a directory can be made");
    path
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory can be made");
    for entry in std::fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("it can be listed");
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else if journal::is_journal(&path) {
            journal::write(&target, &journal::read(&path));
        } else {
            std::fs::copy(&path, &target).expect("it can be copied");
        }
    }
}

/// The child process: it writes, and reports what is durable. Without the environment variable this test does
/// nothing.
#[test]
fn child() {
    let Ok(directory) = std::env::var(CHILD) else { return };
    let mut device = Device::open(Path::new(&directory));
    for number in 1..=writes() {
        device.write(number);
        towtank_store::crash::point();
        println!("acknowledged {number}");
        towtank_store::crash::point();
    }
    println!("survived");
}

/// Runs a child on a copy of a disk; returns how many writes it acknowledged, and whether it finished.
fn run_child(directory: &Path, crash_at: usize) -> (usize, bool) {
    let mut command = Command::new(std::env::current_exe().expect("a test knows itself"));
    command.args(["--exact", "child", "--nocapture"]);
    let output = command.env(CHILD, directory).env(CRASH_AT, crash_at.to_string()).output();
    let text = String::from_utf8_lossy(&output.expect("a child can be run").stdout).into_owned();
    (text.matches("acknowledged").count(), text.contains("survived"))
}

/// All states between transactions, beginning with the one before all writes.
fn states(base: &Path) -> Vec<State> {
    let whole = folder("whole");
    copy(base, &whole);
    let mut device = Device::open(&whole);
    let mut states = vec![device.state()];
    for number in 1..=writes() {
        device.write(number);
        states.push(device.state());
    }
    drop(device);
    std::fs::remove_dir_all(&whole).expect("a directory of ours can be removed");
    states
}

#[test]
fn a_process_that_ends_at_any_step_leaves_whole_transactions() {
    let (base, scene) = (folder("base"), folder("scene"));
    Device::open(&base).fill();
    let states = states(&base);
    let survives = |steps: usize| {
        copy(&base, &scene);
        let (_, survived) = run_child(&scene, steps);
        std::fs::remove_dir_all(&scene).expect("a directory of ours can be removed");
        survived
    };
    // The number of steps of a child: first a power of two that it survives, then by bisection.
    let mut last = 1;
    while !survives(last) {
        last *= 2;
    }
    let mut least = last / 2;
    while least + 1 < last {
        let middle = least.midpoint(last);
        if survives(middle) { last = middle } else { least = middle }
    }
    let points = points();
    let (mut crashed, mut seen) = (0, std::collections::BTreeSet::new());
    for at in (0..points).map(|point| 1 + point * (last - 1) / points) {
        copy(&base, &scene);
        let (acknowledged, survived) = run_child(&scene, at);
        let state = Device::open(&scene).state();
        let is = states.iter().position(|known| *known == state);
        let is = is.unwrap_or_else(|| panic!("a crash at step {at} leaves part of a transaction: {state:?}"));
        assert!(is >= acknowledged, "a crash at step {at} loses write {acknowledged}: {is} are there");
        assert!(is <= acknowledged + 1, "{is} writes are there, and {acknowledged} were acknowledged");
        crashed += usize::from(!survived);
        seen.insert(is);
        std::fs::remove_dir_all(&scene).expect("a directory of ours can be removed");
    }
    println!("{crashed} of {points} children crashed, of {last} steps; {} states were left", seen.len());
    assert_eq!(crashed, points, "some children came to their end");
    assert!(seen.len() as u64 > writes() / 2, "{seen:?}");
    std::fs::remove_dir_all(&base).expect("a directory of ours can be removed");
}

/// The disk before and after one more transaction, with the journal; its first `before` bytes are those
/// before the transaction.
struct Torn {
    base: PathBuf,
    states: [State; 2],
    before: usize,
    journal: Vec<u8>,
}

impl Torn {
    fn new(name: &str) -> Torn {
        let base = folder(name);
        let mut device = Device::open(&base);
        device.fill();
        (1..5).for_each(|number| device.write(number));
        let first = device.state();
        let before = journal::read(&journal::of(&base)).len();
        device.write(5);
        let states = [first, device.state()];
        drop(device);
        let journal = journal::read(&journal::of(&base));
        assert!(journal.len() > before + 1_000, "a transaction is longer: {before} to {}", journal.len());
        Torn { base, states, before, journal }
    }

    /// Opens the disk with another journal, and returns the index of the resulting state.
    fn state_with(&self, journal: &[u8]) -> Result<usize, String> {
        let scene = folder("torn-scene");
        copy(&self.base, &scene);
        journal::write(&journal::of(&scene), journal);
        let open = || Device::try_open(&scene).map(|mut device| device.state());
        // In debug builds the tree has an assertion on the data it reads.
        let opened = std::panic::catch_unwind(open).unwrap_or_else(|_| Err(ASSERTED.to_owned()));
        std::fs::remove_dir_all(&scene).expect("a directory of ours can be removed");
        let state = opened?;
        self.states.iter().position(|known| *known == state).ok_or(format!("part of it: {state:?}"))
    }
}

/// A crash of the machine leaves a prefix of what was written, or some blocks of it.
#[test]
fn a_journal_that_is_torn_anywhere_leaves_whole_transactions() {
    let torn = Torn::new("torn");
    let length = torn.journal.len() - torn.before;
    assert_eq!(torn.state_with(&torn.journal), Ok(1), "the whole journal");
    assert_eq!(torn.state_with(&torn.journal[..torn.before]), Ok(0), "none of the last transaction");
    let points = points();
    let (mut faults, mut asserted) = (Vec::new(), 0);
    for cut in (0..points).map(|point| torn.before + point * length / points) {
        // The rest is missing, or has its former content, which is zeros.
        match torn.state_with(&torn.journal[..cut]) {
            Ok(0) => {}
            Err(why) if why == ASSERTED && cfg!(debug_assertions) => asserted += 1,
            other => faults.push(format!("cut at {} of {length}: {other:?}", cut - torn.before)),
        }
        // A block in the middle was not written, although all others were.
        let mut holed = torn.journal.clone();
        let end = holed.len().min(cut + 512);
        holed[cut..end].fill(0);
        match torn.state_with(&holed) {
            Ok(_) => {}
            Err(why) if why == ASSERTED && cfg!(debug_assertions) => asserted += 1,
            other => faults.push(format!("a hole at {} of {length}: {other:?}", cut - torn.before)),
        }
    }
    let (count, some) = (faults.len(), &faults[..faults.len().min(5)]);
    println!(
        "{points} cuts and {points} holes in a transaction of {length} bytes, {count} faults, {asserted} assertions"
    );
    assert!(faults.is_empty(), "{count} faults: {some:#?}");
    // Damage of an earlier transaction is not the result of a crash: acknowledged data must not be lost
    // silently.
    let mut damaged = torn.journal.clone();
    damaged[torn.before - 40] ^= 1;
    let refused = torn.state_with(&damaged);
    assert!(refused.is_err(), "an acknowledged transaction is damaged, and the disk is opened: {refused:?}");
    std::fs::remove_dir_all(&torn.base).expect("a directory of ours can be removed");
}

/// Each start cut one more byte from it: a start that fails changes nothing.
#[test]
fn a_damaged_journal_is_not_damaged_further() {
    let torn = Torn::new("damaged");
    let mut damaged = torn.journal.clone();
    damaged[torn.before - 40] ^= 1;
    let scene = folder("damaged-scene");
    copy(&torn.base, &scene);
    journal::write(&journal::of(&scene), &damaged);
    for start in 0..3 {
        let open = || Device::try_open(&scene).map(drop);
        let opened = std::panic::catch_unwind(open).unwrap_or_else(|_| Err(ASSERTED.to_owned()));
        assert!(opened.is_err(), "start {start}: an acknowledged transaction is damaged");
        assert!(journal::read(&journal::of(&scene)) == damaged, "start {start} ({opened:?}) changed it");
    }
    for folder in [&scene, &torn.base] {
        std::fs::remove_dir_all(folder).expect("a directory of ours can be removed");
    }
}

/// The check covers each part of a transaction, so it detects one that is applied in part.
#[test]
fn part_of_a_transaction_is_noticed() {
    let base = folder("part");
    Device::open(&base).fill();
    let states = states(&base);
    for leaves_out in device::Part::ALL {
        let scene = folder("part-scene");
        copy(&base, &scene);
        let mut device = Device::open(&scene);
        device.write_but(1, leaves_out);
        drop(device);
        let state = Device::try_open(&scene).map(|mut device| device.state());
        assert!(
            state.is_err() || state.as_ref().is_ok_and(|state| !states.contains(state)),
            "a write without {leaves_out:?} is taken for a whole one"
        );
        std::fs::remove_dir_all(&scene).expect("a directory of ours can be removed");
    }
    std::fs::remove_dir_all(&base).expect("a directory of ours can be removed");
}

/// A daemon killed while it creates its tables starts again; tables that were completed are never created
/// again.
#[test]
fn a_disk_that_was_not_made_whole_is_made_anew() {
    let base = folder("making");
    let marker = PathBuf::from(format!("{}.making", base.display()));
    Device::open(&base).fill();
    assert!(!marker.exists(), "it is made");
    let mut filled = Device::open(&base);
    let state = filled.state();
    drop(filled);
    assert!(Device::open(&base).state() == state, "it is not made anew");
    // Tables without their list, as a crash leaves them.
    std::fs::write(&marker, "").expect("a file can be written");
    let journal = journal::of(&base);
    std::fs::remove_file(journal).expect("a file of ours can be removed");
    assert!(Device::open(&base).state() != state && !marker.exists(), "it is empty");
    Device::open(&base).fill();
    std::fs::remove_dir_all(&base).expect("a directory of ours can be removed");
}
