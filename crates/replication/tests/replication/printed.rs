//! Runs the example and checks its output.

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
