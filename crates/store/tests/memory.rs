//! The memory of a device does not grow with its objects: all that is kept of one is on disk.
//!
//! A binary of its own, because memory is that of a whole process. `STORE_OBJECTS=1000000 cargo test -p
//! towtank-store --test memory -- --nocapture` writes that many, and prints the memory at each step.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::path::Path;

use towtank_replication::{Objects as _, Version};
use towtank_store::content;
use towtank_store::engine::{Engine, Sync};
use towtank_store::names::address;
use towtank_store::objects::{Totals, View};

/// The number of objects in a transaction.
const AT_ONCE: u64 = 128;

/// The most bytes that each further object may take, with what the allocator and the cache of the tree still
/// take.
const GROWTH_MAX: f64 = 60.0;

/// Bytes of memory of this process that are no files.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it has memory");
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kib * 1024.0
}

/// Writes objects with the numbers `from..to`, and passes each name on.
fn write(engine: &Engine, totals: &mut Totals, from: u64, to: u64, mut keep: impl FnMut(String, Version)) {
    for first in (from..to).step_by(AT_ONCE as usize) {
        let mut transaction = engine.begin();
        for number in first..to.min(first + AT_ONCE) {
            let name = format!("a directory/object {number:07}");
            let mut view = View::new(&mut transaction, 0, totals);
            let version = Version { epoch: 1, counter: number + 1 };
            view.put(address(&name, 1).key, version, content::encode(&name, &Default::default(), &[7; 100]));
            keep(name, version);
        }
        transaction.commit().expect("the disk can be written");
    }
}

/// Bytes that each object takes beyond the first half, at the most. Tables in memory are full by then.
fn growth(count: u64, mut keep: impl FnMut(String, Version)) -> f64 {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory");
    let _ = std::fs::remove_dir_all(&directory);
    let engine = Engine::open(&directory, Sync::Never).expect("a disk can be made");
    let (mut totals, part) = (Totals::default(), count / 20);
    let (mut first, mut most) = (0.0, 0.0_f64);
    for step in 1..=20 {
        write(&engine, &mut totals, (step - 1) * part, step * part, &mut keep);
        println!("{} objects: {:.0} MB", totals.objects, memory() / 1e6);
        if step <= 10 {
            first = memory().max(first);
        } else {
            most = memory().max(most);
        }
    }
    drop(engine);
    std::fs::remove_dir_all(&directory).expect("a directory of ours can be removed");
    (most - first) / (10 * part) as f64
}

#[test]
fn objects_are_kept_on_disk_alone() {
    let count = std::env::var("STORE_OBJECTS").map_or(200_000, |count| count.parse().expect("a number"));
    let bytes = growth(count, |_, _| ());
    assert!(bytes < GROWTH_MAX, "each object takes {bytes} bytes");
    // Planted: a device that has the names and versions of all in memory.
    let mut known = BTreeMap::new();
    let bytes = growth(count, |name, version| drop(known.insert(name.clone(), (name, version))));
    assert!(bytes > GROWTH_MAX, "each object takes {bytes} bytes");
}
