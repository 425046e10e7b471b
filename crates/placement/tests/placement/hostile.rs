//! Round trips of random maps, and truncated, corrupted or invented input: no panic, and no mapping that does
//! not end.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use crate::random_map::random_map;
use proptest::prelude::*;
use towtank_placement::crush::tester::{Show, TestPlan, check_devices, test};
use towtank_placement::crush::text::{compile, print};
use towtank_placement::crush::{binary, check};

/// Levels of two buckets, each containing both of the level below: 2 to the number of levels paths lead up.
fn lattice(levels: usize, weight: f64) -> String {
    let mut text = String::from("device 0 osd.0\ntype 0 osd\ntype 1 level\n");
    for level in 0..levels {
        for side in ["a", "b"] {
            let below = |side| match level {
                0 => "item osd.0 weight 1\n".to_owned(),
                _ => format!("item {side}{} weight {weight}\n", level - 1),
            };
            let both = if level == 0 { below("a") } else { below("a") + &below("b") };
            text.push_str(&format!("level {side}{level} {{\nalg straw2\n{both}}}\n"));
        }
    }
    text
}

/// Regression test: such a map made `--tree`, `--reweight-item` and others run practically for ever, as it
/// does crushtool.
#[test]
fn buckets_held_in_very_many_places_are_refused() {
    let refused = |text: &str| compile(text).map(drop).map_err(|error| error.reason);
    assert_eq!(refused(&lattice(9, 0.001)), Ok(()));
    let said = refused(&lattice(30, 0.001)).expect_err("2^29 ways");
    assert!(said.contains("over 1000 paths lead up from bucket"), "{said}");
    let devices: String = (0..2_000).map(|id| format!("item d{id} weight 0.001\n")).collect();
    let named: String = (0..2_000).map(|id| format!("device {id} d{id}\n")).collect();
    let mut wide = lattice(9, 0.001).replace("device 0 osd.0\n", &named);
    wide = wide.replace("item osd.0 weight 1\n", &devices);
    let said = refused(&wide).expect_err("most items listed 511 times");
    assert!(said.contains("4032 items has"), "{said}");
}

/// A map just within the limit is changed quickly.
#[test]
fn changes_of_shared_buckets_end() {
    let mut map = compile(&lattice(9, 0.001)).expect("it cannot fail here");
    map.reweight_item("osd.0", 0.001).expect("it cannot fail here");
    let mut tree = String::new();
    towtank_placement::crush::tree(&map, &mut tree).expect("it cannot fail here");
    assert_eq!(tree.lines().count(), 1 + 2 * (511 + 256));
    map.remove_item("osd.0").expect("it cannot fail here");
}

/// Regression test: with 2^32 tries, a rule that cannot succeed ran for hours.
#[test]
fn tries_that_no_real_map_has_are_refused() {
    let three_of_one =
        "device 0 osd.0\ntype 0 osd\ntype 1 root\nroot r {\nid -1\nalg straw2\nitem osd.0 weight 1\n}\n";
    let rule = |step: &str| {
        format!(
            "{three_of_one}rule all {{\nid 0\ntype replicated\n{step}step take r\nstep choose firstn 0 type osd\nstep emit\n}}\n"
        )
    };
    let ends = |text: &str| {
        let map = compile(text).expect("it is a map");
        let plan = TestPlan { min_rep: Some(3), max_rep: Some(3), ..TestPlan::default() };
        let show = Show { statistics: true, ..Show::default() };
        test(&map, &plan, show, &mut String::new()).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(ends(&rule("")), Ok(()));
    assert_eq!(
        ends(&format!("tunable choose_local_tries 10000\n{}", rule("step set_choose_tries 10000\n"))),
        Ok(())
    );
    for (tunable, step, what) in [
        ("tunable choose_local_tries 4294967295\n", "", "choose_local_tries"),
        ("tunable choose_local_fallback_tries 10001\n", "", "choose_local_fallback_tries"),
        ("tunable choose_total_tries 2000000000\n", "", "choose_total_tries"),
        ("", "step set_choose_tries 10001\n", "set_choose_tries"),
        ("", "step set_chooseleaf_tries 2147483647\n", "set_chooseleaf_tries"),
    ] {
        let said = ends(&format!("{tunable}{}", rule(step))).expect_err(what);
        assert!(said.starts_with(&format!("`{what}` is ")), "{said}");
    }
}

/// Regression test: a map of 751 bytes was dumped as 1.4 GB, with an object for each id up to the greatest.
#[test]
fn ids_that_stand_for_nothing_are_not_listed_by_the_million() {
    let map = |last: i32| {
        compile(&format!("device 0 osd.0\ndevice {last} osd.1\ntype 0 osd\ntype 1 root\n"))
            .expect("it is a map")
    };
    assert!(check_devices(&map(100_000)).is_ok());
    let said = check_devices(&map(100_003)).expect_err("holes").to_string();
    assert!(said.contains("go up to 100003, but only 2 are devices"), "{said}");
    assert!(check_devices(&map(16_000_000)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_to_binary_to_text_to_binary(seed: u64) {
        let map = compile(&random_map(seed).text).expect("it cannot fail here");
        let bytes = binary::write(&map);
        let read = binary::read(&bytes).expect("it cannot fail here");
        prop_assert_eq!(binary::write(&read), bytes);
        let text = print(&read).expect("it cannot fail here");
        let again = compile(&text).expect("it cannot fail here");
        prop_assert_eq!(print(&binary::read(&binary::write(&again)).expect("it cannot fail here")).expect("it cannot fail here"), text);
    }

    #[test]
    fn a_cut_binary_is_refused_or_read(seed in 0u64..64, part in 0.0..1.0f64) {
        let bytes = binary::write(&compile(&random_map(seed).text).expect("it cannot fail here"));
        let cut = (bytes.len() as f64 * part) as usize;
        let _ = binary::read(&bytes[..cut]);
    }

    #[test]
    fn a_flipped_binary_is_refused_or_sound(seed in 0u64..64, flips in prop::collection::vec((any::<prop::sample::Index>(), 0u32..8), 1..8)) {
        let mut bytes = binary::write(&compile(&random_map(seed).text).expect("it cannot fail here"));
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if let Ok(map) = binary::read(&bytes) {
            prop_assert_eq!(check(&map), Ok(()));
            let _ = print(&map);
            let again = binary::read(&binary::write(&map)).expect("it cannot fail here");
            prop_assert_eq!(again, map);
        }
    }

    #[test]
    fn made_up_bytes_are_refused_or_read(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = 0x0001_0000u32.to_le_bytes().to_vec();
        bytes.extend(tail);
        let _ = binary::read(&bytes);
    }

    #[test]
    fn a_damaged_text_is_refused_or_compiles(seed in 0u64..64, at in any::<prop::sample::Index>(), with in "[ -~\n]{0,6}", cut in 0usize..12) {
        let text = random_map(seed).text;
        let at = at.index(text.len());
        let damaged = format!("{}{with}{}", &text[..at], &text[(at + cut).min(text.len())..]);
        if let Ok(map) = compile(&damaged) {
            prop_assert_eq!(check(&map), Ok(()));
            let _ = print(&map);
        }
    }
}
