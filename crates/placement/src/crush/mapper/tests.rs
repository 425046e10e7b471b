//! Tests of the fast mapper for cases that the random maps of the integration tests do not reach.

use super::*;
use crate::crush::map::Step;
use crate::crush::reference;
use crate::crush::reference::Question;
use crate::crush::text::compile;
use std::fmt::Write;

/// Compares all answers of both mappers, one by one and together.
fn agree_on(map: &Map, weights: &[u32], what: &str) {
    let inputs: Vec<u32> = (0..200).collect();
    let mappers: Vec<Mapper> =
        Lanes::available().into_iter().map(|lanes| Mapper::new(map, lanes).unwrap()).collect();
    let (mut workspace, mut out, mut found) = <(Workspace, Vec<ItemId>, Mappings)>::default();
    for rule in (0..map.rules.len()).filter(|&rule| map.rule(rule).is_some()) {
        let question = |x| Question { x, result_max: 5, weights, choose_args: None };
        let wanted: Vec<Vec<ItemId>> =
            inputs.iter().map(|&x| reference::do_rule(map, rule, question(x))).collect();
        for mapper in &mappers {
            let lanes = mapper.lanes();
            let ask = Ask { rule, x: 0, result_max: 5, weights, pool: 0 };
            mapper.map_all(ask, &inputs, &mut workspace, &mut found);
            for ((&x, want), together) in inputs.iter().zip(&wanted).zip(found.iter()) {
                mapper.do_rule(Ask { x, ..ask }, &mut workspace, &mut out);
                assert_eq!(out, *want, "{lanes:?} {what} rule {rule} x {x}");
                assert_eq!(together, want, "{lanes:?} {what} rule {rule} x {x}, together");
            }
        }
    }
}

/// The same on a flat map of `count` devices.
fn agree(alg: &str, count: usize, weight: impl Fn(usize) -> f64) {
    let mut text = String::from("tunable choose_total_tries 50\ntunable chooseleaf_stable 1\n");
    for id in 0..count {
        writeln!(text, "device {id} osd.{id}").unwrap();
    }
    writeln!(text, "type 0 osd\ntype 1 root\nroot r {{ id -1 alg {alg}").unwrap();
    for id in 0..count {
        writeln!(text, "item osd.{id} weight {:.5}", weight(id)).unwrap();
    }
    text.push_str("}\nrule a { id 0 type replicated min_size 1 max_size 10 step take r step choose firstn 0 type osd step emit }\n");
    text.push_str("rule b { id 1 type erasure min_size 1 max_size 10 step take r step choose indep 0 type osd step emit }\n");
    let map = compile(&text).unwrap();
    agree_on(&map, &vec![0x1_0000; count], &format!("{alg} {count}"));
}

#[test]
fn sizes_around_the_width_of_a_vector_agree() {
    for alg in ["uniform", "list", "straw", "straw2"] {
        for count in [1, 2, 15, 16, 17, 31, 32, 33, 130] {
            agree(alg, count, |_| 1.0);
        }
    }
}

#[test]
fn weights_of_all_sizes_agree() {
    for alg in ["list", "straw", "straw2"] {
        agree(alg, 50, |id| (id % 7) as f64);
        agree(alg, 50, |id| if id == 3 { 100.0 } else { 0.00002 });
        agree(alg, 50, |id| 99.0 + id as f64 / 64.0);
        agree(alg, 20, |_| 0.0);
    }
}

#[test]
fn a_ring_bucket_agrees() {
    agree("vring", 9, |id| 1.0 + (id % 3) as f64);
}

/// Two levels of hosts below a root, with rules of every mode for the types of all of them.
fn hosts() -> Map {
    let mut text = String::from("tunable choose_total_tries 50\ntunable chooseleaf_stable 1\n");
    for id in 0..24 {
        writeln!(text, "device {id} osd.{id}").unwrap();
    }
    text.push_str("type 0 osd\ntype 1 host\ntype 2 root\n");
    for host in 0..6 {
        writeln!(text, "host h{host} {{ id -{} alg straw2", 2 + host).unwrap();
        for id in 0..4 {
            writeln!(text, "item osd.{} weight 1.000", 4 * host + id).unwrap();
        }
        text.push_str("}\n");
    }
    text.push_str("root r { id -1 alg straw2\n");
    for host in 0..6 {
        writeln!(text, "item h{host} weight 4.000").unwrap();
    }
    text.push_str("}\n");
    let mut id = 0;
    for mode in ["firstn", "indep"] {
        for step in ["choose", "chooseleaf"] {
            for kind in ["osd", "host", "root"] {
                writeln!(text, "rule r{id} {{ id {id} type replicated min_size 1 max_size 10 step take r step {step} {mode} 0 type {kind} step emit }}").unwrap();
                id += 1;
            }
        }
    }
    compile(&text).unwrap()
}

/// Ceph's tools do not make such maps, but a binary map may be one.
#[test]
fn buckets_of_the_type_of_devices_agree() {
    let mut map = hosts();
    agree_on(&map, &[0x1_0000; 24], "hosts");
    map.buckets[2].as_mut().unwrap().kind = 0;
    agree_on(&map, &[0x1_0000; 24], "a host of type 0");
    for tries in [2, 5] {
        map.tunables.choose_local_tries = tries;
        map.tunables.choose_local_fallback_tries = 7 - tries;
        agree_on(&map, &[0x1_0000; 24], "a host of type 0, tried again");
    }
}

#[test]
fn types_that_no_item_has_agree() {
    for kind in [-1, i32::MIN, i32::MAX, 7] {
        let mut map = hosts();
        for step in map.rules.iter_mut().flatten().flat_map(|rule| &mut rule.steps) {
            if let Step::Choose { kind: sought, .. } = step {
                *sought = kind;
            }
        }
        agree_on(&map, &[0x1_0000; 24], &format!("type {kind}"));
    }
}

/// Devices that are out, weighted in between, or beyond the greatest known.
#[test]
fn devices_that_are_partly_in_agree() {
    let weights: Vec<u32> = (0..20).map(|id| [0x1_0000, 0, 0x8000, 1, 0xffff, 0x2_0000][id % 6]).collect();
    let mut map = hosts();
    agree_on(&map, &weights, "weights");
    map.max_devices = 20;
    agree_on(&map, &weights, "fewer devices");
}

/// Two racks of two hosts of two devices, some of which have a class, with what is added to each text.
fn racks(more_of_host: &str, more_of_rack: &str) -> Map {
    let mut text = String::from("device 0 osd.0 class hdd\ndevice 1 osd.1 class hdd\n");
    for id in 2..8 {
        writeln!(text, "device {id} osd.{id} class ssd").unwrap();
    }
    text.push_str("type 0 osd\ntype 1 host\ntype 2 rack\ntype 3 root\n");
    for host in 0..4 {
        let more = if host == 3 { more_of_host } else { "" };
        let (first, second) = (2 * host, 2 * host + 1);
        writeln!(text, "host h{host} {{ id -{} alg straw2", 10 + host).unwrap();
        writeln!(text, "item osd.{first} weight 1.000\nitem osd.{second} weight 1.000\n{more}}}").unwrap();
    }
    for rack in 0..2 {
        let more = if rack == 1 { more_of_rack } else { "" };
        let (first, second) = (2 * rack, 2 * rack + 1);
        writeln!(text, "rack k{rack} {{ id -{} alg straw2", 20 + rack).unwrap();
        writeln!(text, "item h{first} weight 2.000\nitem h{second} weight 2.000\n{more}}}").unwrap();
    }
    text.push_str("root r { id -30 alg straw2\nitem k0 weight 4.000\nitem k1 weight 4.000\n}\n");
    for (id, (from, step)) in [
        ("r", "chooseleaf firstn 0 type host"),
        ("r class ssd", "choose firstn 0 type osd"),
        ("r", "choose indep 2 type rack step chooseleaf indep 2 type host"),
        ("r", "choose firstn 2 type host step chooseleaf firstn 2 type osd"),
    ]
    .into_iter()
    .enumerate()
    {
        writeln!(text, "rule r{id} {{ id {id} type replicated min_size 1 max_size 10 step take {from} step {step} step emit }}").unwrap();
    }
    compile(&text).unwrap()
}

/// As after `ceph osd crush link`: two replicas must not be on one device.
#[test]
fn what_is_below_two_buckets_agrees() {
    for (more_of_host, more_of_rack, several) in [
        ("", "", false),
        ("item osd.0 weight 1.000\n", "", true),
        ("item osd.6 weight 1.000\n", "", true),
        ("", "item h0 weight 2.000\n", true),
        ("item osd.2 weight 1.000\nitem osd.4 weight 1.000\n", "item h1 weight 2.000\n", true),
    ] {
        let map = racks(more_of_host, more_of_rack);
        let mapper = Mapper::new(&map, Lanes::detect()).unwrap();
        let what = format!("{more_of_host} {more_of_rack}");
        assert_eq!(mapper.has_several_ways, several, "{what}");
        agree_on(&map, &[0x1_0000; 8], &what);
    }
}
