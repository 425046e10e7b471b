//! Tests of the fast mapper for cases that the random maps of the integration tests do not reach.

use super::*;
use crate::crush::reference;
use crate::crush::reference::Question;
use crate::crush::text::compile;
use std::fmt::Write;

/// Compares all answers of both mappers on a flat map of `count` devices.
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
    let weights = vec![0x1_0000; count];
    for lanes in Lanes::available() {
        let mapper = Mapper::new(&map, lanes).unwrap();
        let (mut workspace, mut out) = (Workspace::default(), Vec::new());
        for x in 0..200 {
            for rule in 0..2 {
                let ask = Ask { rule, x, result_max: 5, weights: &weights, pool: 0 };
                mapper.do_rule(ask, &mut workspace, &mut out);
                let question = Question { x, result_max: 5, weights: &weights, choose_args: None };
                assert_eq!(out, reference::do_rule(&map, rule, question), "{lanes:?} {alg} {count} x {x}");
            }
        }
    }
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
