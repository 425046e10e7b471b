//! Maps objects to groups and groups to devices, compared with a live monitor and osdmaptool of Ceph 16.2.15.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use crate::golden_set::{bytes, json, text};
use serde_json::Value;
use std::collections::BTreeMap;
use towtank_placement::crush::objects::{ObjectKey, stable_mod};
use towtank_placement::crush::pools::{Device, FULL, Overlay, PgId, Placed, Placer, Pool};
use towtank_placement::crush::{NONE, RuleKind, binary};

fn number(value: &Value) -> i64 {
    value.as_i64().expect("it cannot fail here")
}

fn pools(dump: &Value) -> Vec<Pool> {
    let pool = |pool: &Value| Pool {
        id: number(&pool["pool"]),
        kind: RuleKind::from_number(number(&pool["type"]) as u8),
        size: number(&pool["size"]) as u32,
        rule: number(&pool["crush_rule"]) as u32,
        pg_num: number(&pool["pg_num"]) as u32,
        pgp_num: number(&pool["pg_placement_num"]) as u32,
        hashpspool: number(&pool["flags"]) & 1 == 1,
    };
    dump["pools"].as_array().expect("it cannot fail here").iter().map(pool).collect()
}

fn overlay(dump: &Value) -> Overlay {
    let fixed = |value: &Value| (value.as_f64().expect("it cannot fail here") * f64::from(FULL)) as u32;
    let device = |osd: &Value| Device {
        exists: true,
        up: number(&osd["up"]) == 1,
        weight: fixed(&osd["weight"]),
        primary_affinity: fixed(&osd["primary_affinity"]),
    };
    let devices = dump["osds"].as_array().expect("it cannot fail here").iter().map(device).collect();
    for key in ["pg_upmap", "pg_upmap_items", "pg_temp", "primary_temp"] {
        assert_eq!(dump[key].as_array().map_or(0, Vec::len), 0, "the dump has {key}");
    }
    Overlay { devices, ..Overlay::default() }
}

/// A placement as osdmaptool prints it: `[1,2,3], p1`.
fn words(placed: &Placed) -> String {
    let devices: Vec<String> = placed.devices.iter().map(i32::to_string).collect();
    format!("([{}], p{})", devices.join(","), placed.primary.unwrap_or(-1))
}

#[test]
fn every_group_of_both_clusters_is_where_osdmaptool_has_it() {
    let mut compared = 0;
    for name in ["A", "B"] {
        let map = binary::read(&bytes(&format!("objmap/{name}.crush.bin"))).expect("it cannot fail here");
        let dump = json(&format!("objmap/{name}.osdmap_marked_up_in.json"));
        let pools: BTreeMap<i64, Pool> = pools(&dump).into_iter().map(|pool| (pool.id, pool)).collect();
        let overlay = overlay(&dump);
        let placer = Placer::new(&map, &overlay);
        for line in text(&format!("objmap/{name}.pgs_dump_all.txt")).lines() {
            let Some((group, rest)) = line.split_once(" raw ") else { continue };
            let (pool, seed) = group.split_once('.').expect("it cannot fail here");
            let seed = u32::from_str_radix(seed, 16).expect("it cannot fail here");
            let placed = placer.place(&pools[&pool.parse::<i64>().expect("it cannot fail here")], seed);
            let ours =
                format!("{} up {} acting {}", words(&placed.raw), words(&placed.up), words(&placed.acting));
            assert_eq!(ours, rest.replace("NONE", &NONE.to_string()), "cluster {name}, group {group}");
            compared += 1;
        }
    }
    assert!(compared > 2_500, "only {compared} groups compared");
}

#[test]
fn every_object_is_in_the_group_that_the_monitor_names() {
    let dump = json("objmap/A.osdmap_marked_up_in.json");
    let pools: BTreeMap<i64, Pool> = pools(&dump).into_iter().map(|pool| (pool.id, pool)).collect();
    let mut compared = 0;
    for row in records(&text("objmap/objects.csv")).iter().skip(1) {
        let [pool_name, id, namespace, object, raw, group] = row.as_slice() else { panic!("{row:?}") };
        let key = ObjectKey { namespace, key: object };
        let hash = u32::from_str_radix(raw.split_once('.').expect("it cannot fail here").1, 16)
            .expect("it cannot fail here");
        assert_eq!(key.hash(), hash, "{pool_name} {namespace} {object:?}");
        let id = id.parse().expect("it cannot fail here");
        let pool = pools.get(&id).copied().unwrap_or_else(|| panic!("pool {id}"));
        let ours = pool.group_of(key);
        assert_eq!(ours, PgId { pool: id, seed: stable_mod(hash, pool.pg_num) });
        assert_eq!(&ours.to_string(), group, "{object:?}");
        compared += 1;
    }
    assert!(compared > 3_000, "only {compared} objects compared");
}

/// The records of a CSV file; names in it may contain commas, quotes and line breaks.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted && letters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            other => field.push(other),
        }
    }
    rows
}
