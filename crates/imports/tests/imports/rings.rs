//! Rings that Swift wrote: every partition's devices and handoffs, against those that Swift's own `Ring`
//! returns. `tests/rings/make.sh` makes the rings and `golden.json` with swift-ring-builder of Swift 2.38.3.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::path::PathBuf;

use serde_json::Value;
use towtank_imports::File;
use towtank_imports::swift::read_ring;
use towtank_placement::swift::{Device, Ring};

fn bytes(path: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn ring(path: &str) -> Ring {
    let read = read_ring(File { name: path, bytes: &bytes(path) }).unwrap_or_else(|error| panic!("{error}"));
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    read.value
}

fn golden() -> Value {
    serde_json::from_slice(&bytes("tests/rings/golden.json")).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

/// The first difference between a ring and what Swift says of it.
fn differs(ring: &Ring, golden: &Value) -> Option<String> {
    let device = |entry: &Option<Device>| match entry {
        Some(device) => serde_json::json!([device.region, device.zone, device.ip, device.name]),
        None => Value::Null,
    };
    let devices: Value = ring.devices().iter().map(device).collect();
    if devices != golden["devices"] {
        return Some(format!("devices: {devices}"));
    }
    if golden["part_power"] != ring.part_power()
        || (ring.replicas() - golden["replicas"].as_f64().unwrap()).abs() > 1e-9
    {
        return Some(format!("part power {}, {} replicas", ring.part_power(), ring.replicas()));
    }
    golden["parts"].as_array().unwrap().iter().find_map(|line| {
        let partition = line[0].as_u64().unwrap() as usize;
        let primaries: Vec<u32> = ring.primaries(partition).collect();
        let handoffs = ring.handoffs(partition, usize::MAX);
        let same = primaries == ids(&line[1]) && handoffs == ids(&line[2]);
        (!same).then(|| format!("partition {partition}: {primaries:?}, then {handoffs:?}; Swift says {line}"))
    })
}

#[test]
fn every_partition_is_where_swift_says() {
    let golden = golden();
    for name in ["zones", "zones_after", "zones_v2", "fraction"] {
        let ring = ring(&format!("tests/rings/{name}.ring.gz"));
        assert_eq!(
            golden[name]["parts"].as_array().unwrap().len(),
            ring.partitions(),
            "{name}: all are compared"
        );
        assert_eq!(differs(&ring, &golden[name]), None, "{name}");
    }
    for name in ["object", "object-after"] {
        let ring = ring(&format!("../../docs/examples/swift/{name}.ring.gz"));
        assert_eq!(differs(&ring, &golden[name]), None, "{name}");
    }
}

#[test]
fn a_planted_difference_is_found() {
    let ring = ring("tests/rings/zones.ring.gz");
    let mut golden = golden()["zones"].take();
    let (first, second) = (golden["parts"][77][2][0].take(), golden["parts"][77][2][1].take());
    golden["parts"][77][2][0] = second;
    golden["parts"][77][2][1] = first;
    let found = differs(&ring, &golden).unwrap();
    assert!(found.starts_with("partition 77: "), "{found}");
}

#[test]
fn both_versions_of_the_format_hold_the_same_ring() {
    assert_eq!(ring("tests/rings/zones.ring.gz"), ring("tests/rings/zones_v2.ring.gz"));
    assert_ne!(ring("tests/rings/zones.ring.gz"), ring("tests/rings/zones_after.ring.gz"));
}

/// Rings of more than 65,536 partitions are searched in steps; `make.sh` has the same formulas.
#[test]
fn handoffs_of_a_large_ring_are_those_of_swift() {
    let device = |at: u32| {
        Some(Device {
            region: 1 + at / 30,
            zone: 1 + at / 10 % 3,
            ip: format!("10.0.{}.{}", at / 10, at % 10 / 3),
            name: format!("d{at}"),
        })
    };
    let row = |row: u64| {
        let of = |part: u64| (((part * (row + 3) * 2_654_435_761) >> 7) % 20 + 20 * row) as u32;
        (0..1 << 18).map(of).collect()
    };
    let ring = Ring::new((0..60).map(device).collect(), (0..3).map(row).collect()).unwrap();
    let golden = golden();
    let lines = golden["large"].as_array().unwrap();
    assert!(lines.len() > 50);
    for line in lines {
        let partition = line[0].as_u64().unwrap() as usize;
        assert_eq!(ring.handoffs(partition, 12), ids(&line[1]), "partition {partition}");
    }
}
