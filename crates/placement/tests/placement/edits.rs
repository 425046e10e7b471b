//! Edits of buckets that few maps have, as `crushtool --remove-item` of Ceph 16.2.15 makes them and `-d`
//! prints them. Edits of all kinds on random maps are compared with the tool itself in the tests of the
//! command.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use towtank_placement::crush::text::{compile, print};

const TREE: &str = "\
tunable choose_local_tries 0
tunable choose_local_fallback_tries 0
tunable choose_total_tries 50
tunable chooseleaf_descend_once 1
tunable chooseleaf_vary_r 1
tunable chooseleaf_stable 1
tunable straw_calc_version 1
tunable allowed_bucket_algs 62
device 0 osd.0
device 1 osd.1
device 2 osd.2
device 3 osd.3
device 4 osd.4
type 0 osd
type 1 root
root default {
  id -1
  alg tree
  hash 0
  item osd.0 weight 1.000
  item osd.1 weight 2.000
  item osd.2 weight 3.000
  item osd.3 weight 4.000
  item osd.4 weight 5.000
}
";

/// The weight of the bucket and its items, after these are removed in turn.
fn without(removed: &[&str]) -> Vec<String> {
    let mut map = compile(TREE).unwrap();
    removed.iter().for_each(|name| map.remove_item(name).unwrap());
    let text = print(&map).unwrap();
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| line.starts_with("item ") || line.starts_with("# weight"))
        .map(str::to_owned)
        .collect()
}

/// The leaves keep their places. That of a removed one stays, as device 0 without weight, unless it is the
/// last.
#[test]
fn leaves_of_a_tree_keep_their_places() {
    assert_eq!(
        without(&["osd.1"]),
        [
            "# weight 13.000",
            "item osd.0 weight 1.000 pos 0",
            "item osd.0 weight 0.000 pos 1",
            "item osd.2 weight 3.000 pos 2",
            "item osd.3 weight 4.000 pos 3",
            "item osd.4 weight 5.000 pos 4"
        ]
    );
    assert_eq!(
        without(&["osd.4"]),
        [
            "# weight 10.000",
            "item osd.0 weight 1.000 pos 0",
            "item osd.1 weight 2.000 pos 1",
            "item osd.2 weight 3.000 pos 2",
            "item osd.3 weight 4.000 pos 3"
        ]
    );
    assert_eq!(
        without(&["osd.3", "osd.4"]),
        [
            "# weight 6.000",
            "item osd.0 weight 1.000 pos 0",
            "item osd.1 weight 2.000 pos 1",
            "item osd.2 weight 3.000 pos 2"
        ]
    );
}
