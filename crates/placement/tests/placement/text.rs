//! Compares text maps with crushtool 16.2.15: compiling, printing, accepted and refused input.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use crate::golden_set::{bytes, json, maps, present, text};
use towtank_placement::crush::text::{compile, print};
use towtank_placement::crush::{Map, binary, reference};

fn read(name: &str) -> Map {
    binary::read(&bytes(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// Compares two texts line by line, so that a failure shows one line rather than two maps.
fn same_text(ours: &str, theirs: &str, at: &str) {
    for (number, (our, their)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(our, their, "{at}, line {}", number + 1);
    }
    assert!(ours == theirs, "{at}: one text is longer");
}

fn same_bytes(ours: &[u8], theirs: &[u8], at: &str) {
    let part = ours.iter().zip(theirs).position(|(our, their)| our != their);
    assert!(
        ours == theirs,
        "{at}: {} bytes against {}, the first difference at {part:?}",
        ours.len(),
        theirs.len()
    );
}

#[test]
fn every_golden_text_compiles_to_its_binary() {
    for (name, built, _) in maps() {
        // The texts of built maps were decompiled, and have only three decimals.
        if built {
            continue;
        }
        let map = compile(&text(&format!("maps/{name}.txt"))).unwrap_or_else(|why| panic!("{name}: {why}"));
        same_bytes(&binary::write(&map), &bytes(&format!("maps/{name}.bin")), &name);
    }
}

#[test]
fn every_golden_binary_prints_as_crushtool_prints_it() {
    for (name, built, _) in maps() {
        let theirs = if built { format!("maps/{name}.txt") } else { format!("maps/{name}.decompiled.txt") };
        let ours = print(&read(&format!("maps/{name}.bin"))).expect("it cannot fail here");
        same_text(&ours, &text(&theirs), &name);
    }
}

#[test]
fn a_printed_map_compiles_to_what_it_prints() {
    for (name, ..) in maps() {
        let once = print(&read(&format!("maps/{name}.bin"))).expect("it cannot fail here");
        let again = compile(&once).unwrap_or_else(|why| panic!("{name}: {why}"));
        same_text(&print(&again).expect("it cannot fail here"), &once, &name);
    }
}

#[test]
fn malformed_texts_are_refused_where_crushtool_refuses_them() {
    for case in json("malformed/expected.json").as_array().expect("it cannot fail here") {
        let name = case["name"].as_str().expect("it cannot fail here");
        let ours = compile(&text(&format!("malformed/{name}.txt")));
        if case["rc"] != 0 {
            let why = ours.expect_err(name);
            assert!(why.line > 0 && why.hint.is_some() || why.reason.contains("expected"), "{name}: {why:?}");
            continue;
        }
        let map = ours.unwrap_or_else(|why| panic!("{name}: {why}"));
        same_text(
            &print(&map).expect("it cannot fail here"),
            case["decompiled"].as_str().expect("it cannot fail here"),
            name,
        );
        for line in case["mappings_numrep2_x0_7"].as_array().expect("it cannot fail here") {
            let line = line.as_str().expect("it cannot fail here");
            assert_eq!(ours_line(&map, line, 2), line, "{name}");
        }
    }
}

/// Our mapping in crushtool's format, for the rule and input in its line.
fn ours_line(map: &Map, theirs: &str, result_max: usize) -> String {
    let words: Vec<&str> = theirs.split(' ').collect();
    let (rule, x): (usize, u32) =
        (words[2].parse().expect("it cannot fail here"), words[4].parse().expect("it cannot fail here"));
    let weights = present(map);
    let question =
        reference::Question { x, result_max, weights: &weights, choose_args: map.choose_args_for(0) };
    let devices: Vec<String> = reference::do_rule(map, rule, question).iter().map(i32::to_string).collect();
    format!("CRUSH rule {rule} x {x} [{}]", devices.join(","))
}

#[test]
fn what_crushtool_made_of_edits_reads_prints_and_maps() {
    let edits = [
        "add_bucket",
        "add_item",
        "create_replicated_rule",
        "create_simple_rule_indep",
        "remove_item",
        "reweight",
        "reweight_item",
        "set_total_tries",
        "update_item_move",
    ];
    for edit in edits {
        let map = read(&format!("mutations/{edit}.bin"));
        same_bytes(&binary::write(&map), &bytes(&format!("mutations/{edit}.bin")), edit);
        same_text(&print(&map).expect("it cannot fail here"), &text(&format!("mutations/{edit}.txt")), edit);
        let mappings = text(&format!("mutations/{edit}.map"));
        for line in mappings.lines().filter(|line| line.starts_with("CRUSH rule")) {
            assert_eq!(ours_line(&map, line, 3), line, "{edit}");
        }
    }
}

#[test]
fn maps_of_a_live_cluster_read_print_and_compile() {
    for name in ["A", "B"] {
        let map = read(&format!("objmap/{name}.crush.bin"));
        same_bytes(&binary::write(&map), &bytes(&format!("objmap/{name}.crush.bin")), name);
        same_text(
            &print(&map).expect("it cannot fail here"),
            &text(&format!("objmap/{name}.crush.txt")),
            name,
        );
    }
}

/// One error, in the form in which the interfaces show it.
fn refused(text: &str) -> String {
    let why = compile(text).expect_err("the text is wrong");
    match &why.hint {
        Some(hint) => format!("{why} (hint: {hint})"),
        None => why.to_string(),
    }
}

const HEAD: &str =
    "device 0 osd.0\ntype 0 osd\ntype 1 root\nroot r {\n\tid -1\n\talg straw2\n\titem osd.0 weight 1\n}\n";

#[test]
fn rules_of_quincy_need_no_sizes() {
    let rule = "rule x {\n\tid 0\n\ttype replicated\n\tstep take r\n\tstep emit\n}\n";
    let map = compile(&format!("{HEAD}{rule}")).expect("it cannot fail here");
    let rule = map.rule(0).expect("it cannot fail here");
    assert_eq!((rule.min_size, rule.max_size), (1, 100));
}

#[test]
fn steps_of_another_type_of_rule_are_refused_by_name_and_line() {
    let rule = "rule x {\n\tid 0\n\ttype msr_indep\n\tstep set_msr_descents 3\n\tstep take r\n\tstep choose indep 0 type osd\n\tstep emit\n}\n";
    assert_eq!(
        refused(&format!("{HEAD}{rule}")),
        "line 14, column 7: the step is `choose`, which rules of this type do not have (hint: multi-step-retry rules have `choosemsr N type T`)"
    );
    let rule =
        "rule x {\n\tid 0\n\ttype erasure\n\tstep take r\n\tstep choosemsr 4 type osd\n\tstep emit\n}\n";
    assert_eq!(
        refused(&format!("{HEAD}{rule}")),
        "line 13, column 7: the step is `choosemsr`, which rules of this type do not have (hint: use `choose` or `chooseleaf`, or make the rule's type `msr_firstn` or `msr_indep`)"
    );
}

#[test]
fn errors_say_where_and_what_to_do() {
    let cases = [
        (
            "tunable choose_maximal_tries 5",
            "line 1, column 9: `choose_maximal_tries` is not a tunable (hint: tunables are choose_local_tries, choose_local_fallback_tries, choose_total_tries, chooseleaf_descend_once, chooseleaf_vary_r, chooseleaf_stable, straw_calc_version, allowed_bucket_algs, msr_descents and msr_collision_tries)",
        ),
        ("device 0 a\ndevice x b", "line 2, column 8: found `x`, but expected a device id"),
        ("device 0", "line 1, column 9: the text ends, but expected the name of a device"),
        (
            "type 1 host\nhost h { id -1 alg straw3 }",
            "line 2, column 20: there is no bucket algorithm `straw3` (hint: use uniform, list, tree, straw or straw2)",
        ),
        (
            "type 1 host\nhost h { alg straw2 item gone }",
            "line 2, column 26: item `gone` of bucket `h` is not defined (hint: add `device N gone` or a bucket of that name)",
        ),
        (
            "host h { ! }",
            "line 1, column 10: `!` is not allowed here (hint: names consist of letters, digits, `_`, `-` and `.`)",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(refused(text), want, "{text}");
    }
}

/// Found by fuzzing: crushtool keeps only whether this tunable is zero.
#[test]
fn descending_once_is_a_switch() {
    for (value, kept) in [("0", 0), ("1", 1), ("2", 1), ("300", 1), ("99999999999999999999", 1)] {
        let map = compile(&format!("tunable chooseleaf_descend_once {value}\n")).unwrap();
        assert_eq!(map.tunables.chooseleaf_descend_once, kept, "{value}");
    }
}

/// From 32768 on, Ceph prints weights of buckets as negative numbers, and accepts them.
#[test]
fn heavy_buckets_print_and_compile() {
    let text = "device 0 osd.0\ntype 0 osd\ntype 1 root\nroot r {\nalg straw2\nitem osd.0 weight 1\n}\n\
        root q {\nalg straw2\nitem r weight 53000\n}\n";
    let map = compile(text).expect("it cannot fail here");
    let printed = print(&map).expect("it cannot fail here");
    assert!(printed.contains("item r weight -12536.000"), "{printed}");
    let again = compile(&printed).expect("it cannot fail here");
    assert_eq!(binary::write(&again), binary::write(&map));
    let refused = compile(&text.replace("53000", "-40000")).expect_err("Ceph never prints it");
    assert_eq!(refused.reason, "bucket `r` has weight -40000");
}
