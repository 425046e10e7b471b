//! What is printed for users: the example's output, names and counts.

use towtank_replication::objects::{Memory, Size};
use towtank_replication::{Discovery, Key, Objects, Version};

use crate::stale_replica;

#[test]
fn each_way_sends_what_differs_and_the_sketch_looks_at_no_more() {
    let want = "\
5000 objects, 50 written while a replica was away
Scan:          5000 looked at,  50 sent,      0 bytes to find out in 0 ms,  129 ms in all
Bitmap:          50 looked at,  50 sent,   2068 bytes to find out in 0 ms,   19 ms in all
Merkle:          50 looked at,  50 sent, 131127 bytes to find out in 0 ms,   19 ms in all
MerkleLevels:    50 looked at,  50 sent,   9009 bytes to find out in 0 ms,   19 ms in all
Sketch:          50 looked at,  50 sent,   2783 bytes to find out in 0 ms,   18 ms in all
";
    assert_eq!(stale_replica::answer(5_000, 50), want);
}

/// Scenarios and command lines are written with these.
#[test]
fn each_discovery_has_the_name_that_scenarios_give_it() {
    let names = ["scan", "bitmap", "merkle", "merkle-levels", "sketch"];
    assert_eq!(Discovery::ALL.map(Discovery::name), names);
    assert_eq!(names.map(Discovery::named), Discovery::ALL.map(Some));
    assert_eq!(Discovery::named("scan "), None);
}

#[test]
fn a_memory_counts_its_objects() {
    let mut memory = Memory::new();
    assert!(memory.is_empty());
    for id in 0..3 {
        memory.put(Key::of_hash(7, id), Version::ZERO, Size(10));
    }
    memory.stage(Key::of_hash(7, 9), 0, Size(5));
    assert_eq!((memory.len(), memory.staged(), memory.bytes()), (3, 1, 30));
    memory.remove(Key::of_hash(7, 1));
    assert_eq!(memory.len(), 2);
}
