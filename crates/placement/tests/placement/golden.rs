//! Checks every golden map and mapping of Ceph 16.2.15.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use crate::golden_set::{Case, maps, row};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use towtank_placement::crush::{Ask, Lanes, Map, Mapper, Workspace, binary, reference};

/// A function that computes a mapping: the reference, or the fast mapper on one of its paths.
type Answer = dyn FnMut(usize, u32, usize, &[u32]) -> Vec<i32>;

fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Checks a case; returns the number of rows compared.
fn check(case: &Case, map: &Map, answer: &mut Answer) -> usize {
    let weights = case.weights(map);
    let mut compared = 0;
    for block in &case.blocks {
        let mut text = String::new();
        let mut rows = 0;
        for x in case.inputs.clone() {
            let devices = answer(block.rule, case.input(x), block.numrep, &weights);
            writeln!(text, "{},{}", x as i32, row(&devices)).expect("it cannot fail here");
            rows += 1;
        }
        let at =
            format!("map {}, test {}, rule {}, {} replicas", case.map, case.name, block.rule, block.numrep);
        assert_eq!(rows, block.rows, "{at}: rows");
        if case.rows_kept {
            check_rows(case, block.rule, block.numrep, &text, &at);
        }
        assert_eq!(hex(&text), block.sha256, "{at}: at least one row differs");
        compared += rows;
    }
    compared
}

fn check_rows(case: &Case, rule: usize, numrep: usize, ours: &str, at: &str) {
    let golden = crate::golden_set::text(&format!("rows/{}.csv", case.name));
    let theirs = golden.lines().skip(1).filter_map(|line| {
        let mut words = line.splitn(4, ',');
        let (x, r, n, osds) = (words.next()?, words.next()?, words.next()?, words.next()?);
        (r.parse() == Ok(rule) && n.parse() == Ok(numrep)).then(|| format!("{x},{osds}"))
    });
    for (want, got) in theirs.zip(ours.lines()) {
        assert_eq!(got, want, "{at}");
    }
}

#[test]
fn the_definition_gives_every_golden_mapping() {
    let (mut files, mut rows) = (0, 0);
    for (name, _, cases) in maps() {
        let map = binary::read(&crate::golden_set::bytes(&format!("maps/{name}.bin")))
            .expect("it cannot fail here");
        let args = map.choose_args_for(0).cloned();
        for case in cases {
            let mut by_definition = {
                let (map, args) = (map.clone(), args.clone());
                move |rule: usize, x: u32, result_max: usize, weights: &[u32]| {
                    let question = reference::Question { x, result_max, weights, choose_args: args.as_ref() };
                    reference::do_rule(&map, rule, question)
                }
            };
            rows += check(&case, &map, &mut by_definition);
            files += 1;
        }
    }
    println!("{rows} rows of {files} tests agree");
    assert!(rows > 490_000, "only {rows} rows compared");
}

/// The fast mapper on every instruction set that this machine has.
#[test]
fn the_mapper_gives_every_golden_mapping() {
    for lanes in Lanes::available() {
        let mut rows = 0;
        for (name, _, cases) in maps() {
            let map = binary::read(&crate::golden_set::bytes(&format!("maps/{name}.bin")))
                .expect("it cannot fail here");
            let mapper = Mapper::new(&map, lanes).expect("it cannot fail here");
            let mut workspace = Workspace::default();
            let mut fast = move |rule: usize, x: u32, result_max: usize, weights: &[u32]| {
                let mut out = Vec::new();
                mapper.do_rule(Ask { rule, x, result_max, weights, pool: 0 }, &mut workspace, &mut out);
                out
            };
            for case in &cases {
                rows += check(case, &map, &mut fast);
            }
        }
        println!("{lanes:?}: {rows} rows agree");
        assert!(rows > 490_000, "only {rows} rows compared");
    }
}

#[test]
fn every_golden_binary_is_written_back_byte_for_byte() {
    for (name, ..) in maps() {
        let bytes = crate::golden_set::bytes(&format!("maps/{name}.bin"));
        let map = binary::read(&bytes).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(binary::write(&map) == bytes, "{name}");
    }
}
