//! Weight sets (`choose_args`) after an edit, as crushtool 16.2.15 writes them;
//! `crates/cli/tests/towtank/crush` compares drawn ones with it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use towtank_placement::crush::edit::{EditError, Location};
use towtank_placement::crush::text::{compile, print};
use towtank_placement::crush::{Map, slot_of};

/// Two hosts with two devices each below a root; the devices have classes if `classes` says so.
fn map(classes: bool, sets: &str) -> Map {
    let device = |id| format!("device {id} osd.{id}{}\n", if classes { " class hdd" } else { "" });
    let host = |at: usize, id: usize| {
        format!(
            "host h{at} {{\n id -{id}\n alg straw2\n hash 0\n item osd.{} weight 1.000\n item osd.{} weight 1.000\n}}\n",
            2 * at,
            2 * at + 1
        )
    };
    let rule = "rule r {\n id 0\n type replicated\n min_size 1\n max_size 10\n step take root\n step chooseleaf firstn 0 type host\n step emit\n}\n";
    let devices: String = (0..4).map(device).collect();
    let text = format!(
        "{devices}type 0 osd\ntype 1 host\ntype 2 top\n{}{}top root {{\n id -3\n alg straw2\n hash 0\n item h0 weight 2.000\n item h1 weight 2.000\n}}\n{rule}choose_args 0 {{\n{sets}}}\n",
        host(0, 1),
        host(1, 2)
    );
    compile(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn set(bucket: i32, weights: &[&str], ids: &str) -> String {
    let lists: String = weights.iter().map(|list| format!("[ {list} ]\n")).collect();
    let sets = if weights.is_empty() { String::new() } else { format!("weight_set [\n{lists}]\n") };
    let ids = if ids.is_empty() { String::new() } else { format!("ids [ {ids} ]\n") };
    format!("{{\nbucket_id {bucket}\n{sets}{ids}}}\n")
}

/// The weight sets of a bucket after an edit, in whole units.
fn sets(map: &Map, name: &str) -> Vec<Vec<u32>> {
    let slot = slot_of(map.item_id(name).unwrap()).unwrap() as u32;
    let arg = map.choose_args[&0].get(&slot).cloned().unwrap_or_default();
    arg.weight_sets.iter().map(|weights| weights.iter().map(|weight| weight >> 16).collect()).collect()
}

fn at(kind: &str, name: &str) -> Location {
    [(kind.to_owned(), name.to_owned())].into()
}

/// Regression test: a bucket with ids alone counted as one whose weights Ceph leaves alone.
#[test]
fn a_bucket_with_ids_alone_gets_weights_where_those_below_change() {
    let mut map = map(false, &(set(-1, &["3 4", "5 6"], "") + &set(-3, &[], "70 80")));
    map.reweight_item("osd.0", 2.0).unwrap();
    assert_eq!(sets(&map, "h0"), [[2, 4], [2, 6]]);
    assert_eq!(sets(&map, "root"), [[6, 2], [8, 2]]);
    assert!(print(&map).unwrap().contains("ids [ 70 80 ]"));
}

#[test]
fn an_entry_of_ids_alone_goes_with_its_last_id() {
    let mut map = map(false, &set(-2, &[], "7 8"));
    map.remove_item("osd.2").unwrap();
    assert_eq!(map.choose_args[&0].len(), 1);
    map.remove_item("osd.3").unwrap();
    assert_eq!(map.choose_args[&0].len(), 0);
}

/// Regression test: the shadow of an outer bucket has the sums of its shadows below only in the last set.
/// Ceph starts to add again at each set.
#[test]
fn a_shadow_has_the_sum_of_the_last_set_alone() {
    let all = set(-1, &["3 4", "5 6"], "") + &set(-2, &["1 1", "2 2"], "") + &set(-3, &["7 2", "11 4"], "");
    let mut map = map(true, &all);
    map.reweight().unwrap();
    assert_eq!(sets(&map, "h0~hdd"), [[3, 4], [5, 6]]);
    assert_eq!(sets(&map, "root~hdd"), [[0, 0], [11, 4]]);
}

/// In these cases crushtool overwrites its memory, reads stray memory, or fails an assertion.
#[test]
fn what_crushtool_cannot_do_is_refused() {
    let two = set(-1, &["3 4", "5 6"], "");
    let plain = map(false, &two);
    let refused = plain.check_new_buckets(&at("host", "h9"));
    assert!(matches!(refused, Err(EditError::NewBucketSets { positions: 2, .. })), "{refused:?}");
    assert_eq!(plain.check_new_buckets(&at("host", "h0")), Ok(()));
    let one = map(false, &set(-1, &["3 4"], ""));
    assert_eq!(one.check_new_buckets(&at("host", "h9")), Ok(()));

    // The root has two sets, and the shadow of h0 in it one.
    let mut unequal = map(true, &(set(-1, &["3 4"], "") + &set(-3, &["7 2", "11 4"], "")));
    let refused = unequal.remove_item("osd.3");
    assert!(matches!(refused, Err(EditError::ShadowSets { positions: 2, fewer: 1, .. })), "{refused:?}");
    // The other way round, all weights that are asked for are there.
    let mut fewer = map(true, &(set(-1, &["3 4", "5 6"], "") + &set(-3, &["7 2"], "")));
    assert_eq!(fewer.remove_item("osd.3"), Ok(()));

    // A move removes first, makes the shadows again, and then adds. Where any bucket has weights in the set,
    // the removal gives weights to all.
    let mut missing = map(true, &set(-1, &[], "7 8"));
    let refused = missing.move_item("osd.0", &at("host", "h1"));
    assert!(matches!(refused, Err(EditError::EmptySets { .. })), "{refused:?}");
    let mut whole = map(true, &set(-1, &["3 4"], ""));
    assert_eq!(whole.move_item("osd.0", &at("host", "h1")), Ok(()));
}

/// Changes of their own, after each of which the map is finished, as it is where Ceph writes and reads it.
#[test]
fn changes_one_by_one_are_not_refused() {
    let mut map = map(true, &set(-1, &[], "7 8"));
    for name in ["osd.0", "osd.2", "osd.3"] {
        map.remove_item(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        map.finalize();
    }
    map.add_item(0, 1.0, "osd.0", &at("host", "h1")).unwrap();
}
