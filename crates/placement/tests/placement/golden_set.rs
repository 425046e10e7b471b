//! The golden maps and mappings of Ceph 16.2.15, in the form that the tests read.
//!
//! Mappings are stored as digests: SHA-256 over the lines `x,osds` of every (map, test, rule, number of
//! replicas); ten tests also store their rows. Source: crushtool, osdmaptool and a monitor of Debian's Ceph
//! 16.2.15, run once; see `docs/measurements/crush-oracle.md`.
#![allow(dead_code)]

use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use towtank_placement::crush::{Map, NONE, hash};

/// One file of the set, unpacked.
pub fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut out = Vec::new();
    GzDecoder::new(file).read_to_end(&mut out).expect("it cannot fail here");
    out
}

/// One text file of the set.
pub fn text(name: &str) -> String {
    String::from_utf8(bytes(name)).expect("it cannot fail here")
}

/// One JSON file of the set.
pub fn json(name: &str) -> Value {
    serde_json::from_slice(&bytes(name)).expect("it cannot fail here")
}

/// A test of the set: a map, device weights, inputs.
pub struct Case {
    pub map: String,
    pub name: String,
    pub inputs: std::ops::RangeInclusive<u32>,
    pub pool: Option<u32>,
    pub reweights: Vec<(usize, f32)>,
    pub blocks: Vec<Block>,
    pub rows_kept: bool,
}

/// The mappings of one rule for one number of replicas.
pub struct Block {
    pub rule: usize,
    pub numrep: usize,
    pub rows: usize,
    pub sha256: String,
}

impl Case {
    /// The actual input of `x`: with a pool, both are hashed.
    pub fn input(&self, x: u32) -> u32 {
        self.pool.map_or(x, |pool| hash::hash2(x, pool))
    }

    /// The weight at which each device is in, as in crushtool's `--test`.
    pub fn weights(&self, map: &Map) -> Vec<u32> {
        let mut weights = present(map);
        for &(device, weight) in &self.reweights {
            if let Some(slot) = weights.get_mut(device) {
                *slot = ((weight * 65_536.0) as i32).clamp(0, 65_536) as u32;
            }
        }
        weights
    }
}

/// Every device in a bucket is in; the others are out.
pub fn present(map: &Map) -> Vec<u32> {
    let mut weights = vec![0; map.max_devices as usize];
    for &item in map.each_bucket().flat_map(|bucket| &bucket.items) {
        if item >= 0 {
            weights[item as usize] = 0x1_0000;
        }
    }
    weights
}

/// The devices of one row, in the format of the golden files.
pub fn row(devices: &[i32]) -> String {
    let words: Vec<String> =
        devices.iter().map(|&device| if device == NONE { "-".into() } else { device.to_string() }).collect();
    words.join(" ")
}

/// Every map of the set, with its tests.
pub fn maps() -> Vec<(String, bool, Vec<Case>)> {
    let manifest = json("manifest.json");
    let entry = |map: &Value| {
        let name = map["name"].as_str().expect("it cannot fail here").to_owned();
        let cases = map["tests"]
            .as_array()
            .expect("it cannot fail here")
            .iter()
            .map(|test| case(&name, test))
            .collect();
        (name, map["built"].as_bool().expect("it cannot fail here"), cases)
    };
    manifest.as_array().expect("it cannot fail here").iter().map(entry).collect()
}

fn case(map: &str, test: &Value) -> Case {
    let number = |value: &Value| {
        u32::try_from(value.as_i64().expect("it cannot fail here") & 0xffff_ffff)
            .expect("it cannot fail here")
    };
    let reweight = |pair: &Value| {
        (
            pair[0].as_u64().expect("it cannot fail here") as usize,
            pair[1].as_f64().expect("it cannot fail here") as f32,
        )
    };
    let block = |block: &Value| Block {
        rule: block["rule"].as_u64().expect("it cannot fail here") as usize,
        numrep: block["numrep"].as_u64().expect("it cannot fail here") as usize,
        rows: block["rows"].as_u64().expect("it cannot fail here") as usize,
        sha256: block["sha256"].as_str().expect("it cannot fail here").to_owned(),
    };
    Case {
        map: map.to_owned(),
        name: test["name"].as_str().expect("it cannot fail here").to_owned(),
        inputs: number(&test["min_x"])..=number(&test["max_x"]),
        pool: test["pool_id"].as_i64().map(|pool| pool as u32),
        reweights: test["reweights"].as_array().expect("it cannot fail here").iter().map(reweight).collect(),
        blocks: test["blocks"].as_array().expect("it cannot fail here").iter().map(block).collect(),
        rows_kept: test["rows_kept"].as_bool().expect("it cannot fail here"),
    }
}
