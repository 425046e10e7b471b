//! Multi-step-retry rules: cases worked by hand, laws with violations that they catch, the fast mapper
//! against the definition, and the binary and text forms of a map.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use crate::golden_set::present;
use crate::random_map::{Dice, random_map};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use towtank_placement::crush::pools::{Device, Overlay, Placer, Pool};
use towtank_placement::crush::reference::{self, Question};
use towtank_placement::crush::text::{compile, print};
use towtank_placement::crush::{
    Ask, Lanes, Map, Mapper, Mappings, MsrFault, NONE, Rule, RuleKind, Setting, Step, Workspace, binary,
};

const IN: u32 = 0x1_0000;

/// Three hosts below one root, all weights 1, with an `msr_indep` rule 0 and an `msr_firstn` rule 1.
fn three_hosts(devices: usize, steps: &str) -> Map {
    let mut text = String::new();
    for id in 0..3 * devices {
        writeln!(text, "device {id} osd.{id}").unwrap();
    }
    text.push_str("type 0 osd\ntype 1 host\ntype 2 root\n");
    for host in 0..3 {
        writeln!(text, "host host{host} {{ id -{} alg straw2", host + 2).unwrap();
        for id in host * devices..(host + 1) * devices {
            writeln!(text, "item osd.{id} weight 1").unwrap();
        }
        text.push_str("}\n");
    }
    text.push_str("root r { id -1 alg straw2 item host0 item host1 item host2 }\n");
    for (id, kind) in ["msr_indep", "msr_firstn"].iter().enumerate() {
        writeln!(text, "rule r{id} {{ id {id} type {kind} step take r {steps} step emit }}").unwrap();
    }
    compile(&text).unwrap()
}

/// The result of the definition, which the fast mapper must share.
fn place(map: &Map, rule: usize, x: u32, result_max: usize, out: &[usize]) -> Vec<i32> {
    let mut weights = vec![IN; usize::try_from(map.max_devices).unwrap()];
    for &device in out {
        weights[device] = 0;
    }
    place_with(map, rule, x, result_max, &weights)
}

fn place_with(map: &Map, rule: usize, x: u32, result_max: usize, weights: &[u32]) -> Vec<i32> {
    let want = reference::do_rule(map, rule, Question { x, result_max, weights, choose_args: None });
    let mapper = map.compile().unwrap();
    let (mut workspace, mut found) = (Workspace::default(), Vec::new());
    mapper.do_rule(Ask { rule, x, result_max, weights, pool: 0 }, &mut workspace, &mut found);
    assert_eq!(found, want, "rule {rule}, input {x}");
    want
}

/// Both rules of a map, with and without devices that are out.
fn check_both(map: &Map, (x, result_max): (u32, usize), out: &[usize], indep: &[i32], firstn: &[i32]) {
    assert_eq!(place(map, 0, x, result_max, out), indep, "msr_indep with {out:?} out");
    assert_eq!(place(map, 1, x, result_max, out), firstn, "msr_firstn with {out:?} out");
}

/// Worked by hand. Two hosts of three, two devices in each, four positions; input 0. All weights are equal,
/// so a bucket gives the item with the greatest of the 16 bits of hash(input, item, r); these were computed
/// outside of this program. r is (4 × pass + stride) × 65,536 + try.
///
/// | pass | stride | try | r | host 0, 1, 2 | gives |
/// | --- | --- | --- | ---: | --- | --- |
/// | 0 | 0 | 0 | 0 | 1098, 29931, **54856** | host2 |
/// | 0 | 1 | 0 | 65536 | 44629, **50017**, 22235 | host1 |
/// | 1 | 0 | 0 | 262144 | 11167, 20653, **57047** | host2 |
/// | 2 | 0 | 0 | 524288 | **23832**, 14193, 20892 | host0 |
///
/// | in | pass | position in the stride | try | r | its four devices | gives |
/// | --- | --- | --- | --- | ---: | --- | --- |
/// | host2 | 0 | 0 | 0 | 0 | **54820**, 17270, 17932, 18574 | osd.8 |
/// | host2 | 0 | 1 | 0 | 65536 | **52386**, 6616, 38072, 38195 | osd.8 |
/// | host2 | 0 | 1 | 1 | 65537 | **59211**, 2756, 20354, 16967 | osd.8 |
/// | host2 | 0 | 1 | 2 | 65538 | 29298, 33421, 17287, **45500** | osd.11 |
/// | host1 | 0 | 0 | 0 | 0 | 38796, 15237, 58916, **61620** | osd.7 |
/// | host1 | 0 | 1 | 0 | 65536 | **50679**, 29193, 44061, 46364 | osd.4 |
/// | host2 | 1 | 0 | 0 | 262144 | 30605, 48774, 48228, **60866** | osd.11 |
/// | host2 | 1 | 1 | 0 | 327680 | 36531, **63570**, 13811, 14991 | osd.9 |
/// | host0 | 2 | 0 | 0 | 524288 | 12363, 4294, **57287**, 43732 | osd.2 |
/// | host0 | 2 | 1 | 0 | 589824 | 32492, 40523, 2828, **50017** | osd.3 |
#[test]
fn two_hosts_of_two_devices_worked_by_hand() {
    let map = three_hosts(4, "step choosemsr 2 type host step choosemsr 2 type osd");
    // Stride 0 is host2: osd.8, then two collisions with it, then osd.11. Stride 1 is host1: osd.7 and osd.4.
    check_both(&map, (0, 4), &[], &[8, 11, 7, 4], &[8, 11, 7, 4]);
    // osd.8 is out, so both positions of host2 draw it and stay empty; pass 1 draws host2 again, as nothing
    // else uses it: osd.11 and osd.9. By order of finding, those of host1 come first.
    check_both(&map, (0, 4), &[8], &[11, 9, 7, 4], &[7, 4, 11, 9]);
    // All of host2 is out: passes 0 and 1 draw it in vain and forget it, pass 2 draws host0.
    check_both(&map, (0, 4), &[8, 9, 10, 11], &[2, 3, 7, 4], &[7, 4, 2, 3]);
    // Only osd.8 of host2 is in. It has position 0, and position 1 draws osd.8 twice, then osd.11, which is
    // out. Pass 1 may draw host2 again, since this stride itself uses it: osd.9, out. Pass 2 draws host0,
    // where position 1 draws osd.3: a stride of two hosts.
    check_both(&map, (0, 4), &[9, 10, 11], &[8, 3, 7, 4], &[8, 7, 4, 3]);
}

/// Worked by hand like the case above. Three hosts of three, one device in each, three positions; input 4.
/// r is (3 × pass + stride) × 65,536 + try; the position within a stride is always 0.
///
/// | pass | stride | try | r | host 0, 1, 2 | gives |
/// | --- | --- | --- | ---: | --- | --- |
/// | 0 | 0 | 0 | 0 | **56360**, 12465, 55028 | host0 |
/// | 0 | 1 | 0 | 65536 | 1236, **38547**, 16508 | host1 |
/// | 0 | 2 | 0 | 131072 | **54676**, 38444, 44365 | host0 |
/// | 0 | 2 | 1 | 131073 | 34057, 41464, **55099** | host2 |
/// | 1 | 1 | 0 | 262144 | **12401**, 7776, 999 | host0 |
/// | 1 | 1 | 1 | 262145 | **56632**, 55662, 39702 | host0 |
/// | 1 | 1 | 2 | 262146 | 8912, **60032**, 36364 | host1 |
///
/// | in | pass | r | its two devices | gives |
/// | --- | --- | ---: | --- | --- |
/// | host0 | 0 | 0 | 21810, **32692** | osd.1 |
/// | host1 | 0 | 0 | **31391**, 29187 | osd.2 |
/// | host2 | 0 | 0 | 19191, **55497** | osd.5 |
/// | host1 | 1 | 196608 | 6709, **12198** | osd.3 |
#[test]
fn three_hosts_of_one_device_worked_by_hand() {
    let map = three_hosts(2, "step choosemsr 3 type host step choosemsr 1 type osd");
    // Stride 2 draws host0, which stride 0 uses, and then host2.
    check_both(&map, (4, 3), &[], &[1, 2, 5], &[1, 2, 5]);
    // Pass 1 draws host0 twice, which stride 0 uses, and then host1 again, where osd.3 is in.
    check_both(&map, (4, 3), &[2], &[1, 3, 5], &[1, 5, 3]);
    // Nothing of host0 is in. In pass 0 it still collides, so stride 2 is host2 as before. No pass finds
    // another host for stride 0, because the strides beside it use both.
    check_both(&map, (4, 3), &[0, 1], &[NONE, 2, 5], &[2, 5]);
}

/// Worked by hand from the first draws of the case above: `choosemsr 0` is as many as are requested, here
/// two, and one of three positions stays without a block that fills it.
#[test]
fn a_count_of_0_and_a_second_block_worked_by_hand() {
    let mut map = three_hosts(2, "step choosemsr 3 type host step choosemsr 1 type osd");
    let choose = |count, kind| Step::ChooseMsr { count, kind };
    // Host0 gives osd.1 for r = 0. Then position 1 is drawn with the same r, as its block begins anew: osd.1
    // again, since blocks do not know of each other.
    let twice = [Step::Take(-2), choose(1, 0), Step::Emit, Step::Take(-2), choose(1, 0), Step::Emit];
    map.rules[0].as_mut().unwrap().steps = twice.to_vec();
    map.rules[1].as_mut().unwrap().steps = vec![Step::Take(-1), choose(0, 1), choose(1, 0), Step::Emit];
    check_both(&map, (4, 3), &[], &[1, 1, NONE], &[1, 2, 5]);
}

/// What a law about a result says that it breaks.
#[derive(Debug, PartialEq)]
enum Broken {
    /// A device is there twice.
    Twice,
    /// A bucket of a step's type has more leaves than one stride.
    Crowded,
    /// A bucket serves two strides of the same range.
    Shared,
    /// A stride changed although none of its devices went out, or a device that is out is there.
    Moved,
    /// A position is empty although its host has another device that is in and unused.
    Hole,
    /// A result of `indep` is shorter than requested.
    Length,
}

/// The bucket of type `kind` around each device, in a map whose devices have one parent each.
fn around(map: &Map, kind: i32) -> BTreeMap<i32, i32> {
    let parent = |item: i32| map.each_bucket().find(|bucket| bucket.items.contains(&item));
    let above = |device: i32| {
        let mut at = parent(device)?;
        while i32::from(at.kind) != kind {
            at = parent(at.id)?;
        }
        Some((device, at.id))
    };
    (0..map.max_devices).filter_map(above).collect()
}

/// The laws of a rule with one block: its steps as (number of strides, positions of a stride, type).
fn broken(map: &Map, levels: &[(usize, usize, i32)], placed: &[i32], by_position: bool) -> Option<Broken> {
    let real: Vec<i32> = placed.iter().copied().filter(|&device| device != NONE).collect();
    if real.iter().collect::<BTreeSet<_>>().len() < real.len() {
        return Some(Broken::Twice);
    }
    for &(strides, length, kind) in levels.iter().filter(|level| level.2 > 0) {
        let holders = around(map, kind);
        let mut leaves: BTreeMap<i32, usize> = BTreeMap::new();
        real.iter().for_each(|device| *leaves.entry(holders[device]).or_default() += 1);
        if leaves.values().any(|&leaves| leaves > length) {
            return Some(Broken::Crowded);
        }
        for range in placed.chunks(strides * length).filter(|_| by_position) {
            let mut serves: BTreeMap<i32, usize> = BTreeMap::new();
            for (number, stride) in range.chunks(length).enumerate() {
                for device in stride.iter().filter(|&&device| device != NONE) {
                    if *serves.entry(holders[device]).or_insert(number) != number {
                        return Some(Broken::Shared);
                    }
                }
            }
        }
    }
    None
}

/// Six racks or fewer, with hosts and devices of various weights, and one rule of three steps.
fn racks(dice: &mut Dice) -> (Map, Vec<(usize, usize, i32)>) {
    let mut text = String::new();
    let (mut buckets, mut root) = (String::new(), "root r { id -1 alg straw2\n".to_owned());
    let (mut devices, mut hosts) = (0, 0);
    for rack in 0..2 + dice.below(4) {
        let mut items = format!("rack rack{rack} {{ alg straw2\n");
        for _ in 0..1 + dice.below(4) {
            writeln!(buckets, "host h{hosts} {{ alg straw2").unwrap();
            for _ in 0..1 + dice.below(4) {
                writeln!(text, "device {devices} osd.{devices}").unwrap();
                writeln!(buckets, "item osd.{devices} weight {}", dice.pick(&["1", "2", "0.5"])).unwrap();
                devices += 1;
            }
            buckets.push_str("}\n");
            writeln!(items, "item h{hosts}").unwrap();
            hosts += 1;
        }
        writeln!(buckets, "{items}}}").unwrap();
        writeln!(root, "item rack{rack}").unwrap();
    }
    let counts = [1 + dice.below(3), 1 + dice.below(3), 1 + dice.below(3)];
    let [a, b, c] = counts;
    let mut map = format!(
        "{text}type 0 osd\ntype 1 host\ntype 2 rack\ntype 3 root\n{buckets}{root}}}\nrule x {{ id 0 type msr_indep \
         step take r step choosemsr {a} type rack step choosemsr {b} type host step choosemsr {c} type osd step emit }}\n"
    );
    let rule = map[map.rfind("rule x").unwrap()..].to_owned();
    map.push_str(&rule.replace("rule x { id 0 type msr_indep", "rule y { id 1 type msr_firstn"));
    (compile(&map).unwrap(), vec![(a, b * c, 2), (b, c, 1), (c, 1, 0)])
}

#[test]
fn drawn_rules_keep_failure_domains_apart() {
    let mut full = 0;
    for seed in 1..=400 {
        let mut dice = Dice(seed);
        let (map, levels) = racks(&mut dice);
        let weights: Vec<u32> = (0..map.max_devices).map(|_| dice.pick(&[IN, IN, IN, 0x8000, 0])).collect();
        let result_max = 1 + dice.below(12);
        for x in 0..12 {
            let found = place_with(&map, 0, x, result_max, &weights);
            assert_eq!(broken(&map, &levels, &found, true), None, "seed {seed}, input {x}: {found:?}");
            assert_eq!(found.len(), result_max);
            full += usize::from(!found.contains(&NONE));
            let found = place_with(&map, 1, x, result_max, &weights);
            assert_eq!(broken(&map, &levels, &found, false), None, "seed {seed}, input {x}: {found:?}");
        }
    }
    assert!(full > 500, "only {full} results without holes");
}

#[test]
fn what_breaks_a_law_is_found() {
    let map = three_hosts(4, "step choosemsr 2 type host step choosemsr 2 type osd");
    let levels = [(2, 2, 1), (2, 1, 0)];
    assert_eq!(broken(&map, &levels, &[8, 11, 7, 4], true), None);
    // As if devices of other strides were not compared; as if the host of another stride could be drawn.
    assert_eq!(broken(&map, &levels, &[8, 8, 7, 4], true), Some(Broken::Twice));
    assert_eq!(broken(&map, &levels, &[8, 11, 9, 4], false), Some(Broken::Crowded));
    assert_eq!(broken(&map, &levels, &[8, NONE, 9, 4], true), Some(Broken::Shared));
    // As if positions of one stride were found in another order, the device were still in, its position
    // stayed empty, and the hole were closed.
    let law = |before: &[i32], after: &[i32], out: i32| replaced(&map, before, after, &[out]);
    assert_eq!(law(&[8, 11, 7, 4], &[11, 9, 7, 4], 8), None);
    assert_eq!(law(&[8, 11, 7, 4], &[11, 9, 4, 7], 8), Some(Broken::Moved));
    assert_eq!(law(&[8, 11, 7, 4], &[8, 11, 7, 4], 8), Some(Broken::Moved));
    assert_eq!(law(&[8, 11, 7, 4], &[NONE, 11, 7, 4], 8), Some(Broken::Hole));
    assert_eq!(law(&[8, 11, 7, 4], &[11, 7, 4], 8), Some(Broken::Length));
}

/// Devices of one host went out, of which no other host can take the place, or another that no stride uses:
/// strides of two positions without them are as before, and positions are empty only if nothing is left.
fn replaced(map: &Map, before: &[i32], after: &[i32], out: &[i32]) -> Option<Broken> {
    if after.len() < before.len() {
        return Some(Broken::Length);
    }
    if after.iter().any(|device| out.contains(device)) {
        return Some(Broken::Moved);
    }
    let hosts = around(map, 1);
    for (old, new) in before.chunks(2).zip(after.chunks(2)) {
        if !old.iter().any(|device| out.contains(device)) {
            if old != new {
                return Some(Broken::Moved);
            }
            continue;
        }
        let host = hosts.get(old.iter().find(|&&device| device != NONE)?)?;
        let left = hosts.iter().filter(|(device, of)| *of == host && !out.contains(device)).count();
        if new.iter().filter(|&&device| device != NONE).count() < left.min(2) {
            return Some(Broken::Hole);
        }
    }
    None
}

/// All three hosts are in use, so a device that goes out can only be replaced in its own host, and is.
#[test]
fn a_device_that_is_out_is_replaced_in_its_host() {
    let map = three_hosts(4, "step choosemsr 3 type host step choosemsr 2 type osd");
    let mut holes = 0;
    for x in 0..300 {
        let before = place(&map, 0, x, 6, &[]);
        assert!(!before.contains(&NONE), "input {x}: {before:?}");
        for lost in 1..=4 {
            let first = (before[x as usize % 6] / 4 * 4) as usize;
            let out: Vec<usize> = (first..first + lost).collect();
            let after = place(&map, 0, x, 6, &out);
            let gone: Vec<i32> = out.iter().map(|&device| device as i32).collect();
            assert_eq!(replaced(&map, &before, &after, &gone), None, "input {x}: {before:?} to {after:?}");
            let empty = after.iter().filter(|&&device| device == NONE).count();
            assert_eq!(empty, lost.saturating_sub(2), "input {x}, {lost} of 4 out: {after:?}");
            holes += empty;
            let in_order = place(&map, 1, x, 6, &out);
            assert_eq!(in_order.len(), 6 - empty, "a shorter list, without holes");
        }
    }
    assert_eq!(holes, 900);
}

/// The two-step rule that multi-step retry was made to replace leaves holes where it does not.
#[test]
fn a_usual_rule_of_two_steps_breaks_what_this_one_keeps() {
    let mut map = three_hosts(2, "step choosemsr 2 type host step choosemsr 2 type osd");
    let rule = map.rules[1].as_mut().unwrap();
    rule.kind = RuleKind::Erasure;
    let mode = towtank_placement::crush::Mode::Indep;
    let choose = |count, kind| Step::Choose { mode, leaf: false, count, kind };
    rule.steps = vec![Step::Take(-1), choose(2, 1), choose(2, 0), Step::Emit];
    let holes = |rule: usize| {
        let holed = |x| place(&map, rule, x, 4, &[0, 1]).contains(&NONE);
        (0..200).filter(|&x| holed(x)).count()
    };
    assert_eq!(holes(0), 0);
    assert!(holes(1) > 100, "{}", holes(1));
}

/// Adds rules of all forms to a drawn map; returns the number of the first.
fn add_rules(map: &mut Map, dice: &mut Dice) -> usize {
    let from = |least| map.each_bucket().filter(move |bucket| bucket.kind >= least).map(|bucket| bucket.id);
    let (takes, upper): (Vec<i32>, Vec<i32>) = (from(1).collect(), from(3).collect());
    if dice.one_in(3) {
        map.tunables.msr_descents = dice.below(20) as u32;
        map.tunables.msr_collision_tries = 1 + dice.below(9) as u32;
    }
    let first = map.rules.len();
    for number in 0..3 {
        let mut steps = Vec::new();
        if dice.one_in(3) {
            steps.push(Step::Set(Setting::MsrDescents, dice.below(30) as i32));
        }
        if dice.one_in(3) {
            steps.push(Step::Set(Setting::MsrCollisionTries, dice.below(12) as i32));
        }
        for _ in 0..1 + dice.below(2) {
            let any = dice.one_in(4);
            steps.push(Step::Take(dice.pick(if any { &takes } else { &upper })));
            let kinds: &[i32] = match dice.below(8) {
                0..=2 => &[2, 1, 0],
                3..=4 => &[1, 0],
                5 => &[0],
                // Forms that Ceph runs, and that find nothing.
                6 => &[2, 1],
                _ => &[0, 1, 0],
            };
            let choose = |&kind| Step::ChooseMsr { count: dice.below(4) as i32, kind };
            steps.extend(kinds.iter().map(choose));
            steps.push(Step::Emit);
        }
        let id = (first + number) as u8;
        let kind = if dice.one_in(2) { RuleKind::MsrIndep } else { RuleKind::MsrFirstn };
        map.rules.push(Some(Rule { ruleset: id, kind, min_size: 1, max_size: 100, steps }));
        map.rule_names.insert(i32::from(id), format!("retrying{number}"));
    }
    first
}

/// A drawn map with usual rules and three multi-step-retry rules; the number of the first of these; weights.
fn drawn(seed: u64) -> (Map, usize, Vec<u32>) {
    let random = random_map(seed);
    let mut map = compile(&random.text).unwrap();
    let mut weights = present(&map);
    for &(device, weight) in &random.reweights {
        if let Some(slot) = weights.get_mut(device) {
            *slot = (weight * 65_536.0) as u32;
        }
    }
    let first = add_rules(&mut map, &mut Dice(seed ^ 0x0035_5253));
    (map, first, weights)
}

#[test]
fn the_fast_mapper_agrees_with_the_definition() {
    let (mut compared, mut devices) = (0, 0);
    let (mut workspace, mut found, mut one) = <(Workspace, Mappings, Vec<i32>)>::default();
    for seed in 1..=600 {
        let (map, first, weights) = drawn(seed);
        let mut dice = Dice(seed ^ 0xa9ee);
        let mapper = Mapper::new(&map, dice.pick(&Lanes::available())).unwrap();
        let choose_args = map.choose_args_for(0);
        for rule in 0..map.rules.len() {
            let result_max = dice.below(9);
            let start = dice.next() as u32;
            let inputs: Vec<u32> = (0..20).map(|at| start.wrapping_add(at)).collect();
            let ask = Ask { rule, x: 0, result_max, weights: &weights, pool: 0 };
            mapper.map_all(ask, &inputs, &mut workspace, &mut found);
            for (&x, found) in inputs.iter().zip(found.iter()) {
                let question = Question { x, result_max, weights: &weights, choose_args };
                let want = reference::do_rule(&map, rule, question);
                mapper.do_rule(Ask { x, ..ask }, &mut workspace, &mut one);
                assert_eq!((found, &one[..]), (&want[..], &want[..]), "seed {seed}, rule {rule}, input {x}");
                compared += 1;
                devices += if rule < first { 0 } else { want.iter().filter(|&&item| item != NONE).count() };
            }
        }
    }
    assert!(compared > 40_000 && devices > 20_000, "{compared} mappings, {devices} devices");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn binary_and_text_keep_such_rules(seed: u64) {
        let (mut map, ..) = drawn(seed);
        map.finalize();
        let read = binary::read(&binary::write(&map)).unwrap();
        prop_assert_eq!(&read.rules, &map.rules);
        prop_assert_eq!(&read, &map);
        let text = print(&map).unwrap();
        let again = compile(&text).unwrap();
        prop_assert_eq!(&again.rules, &map.rules);
        prop_assert_eq!(again.tunables, map.tunables);
        prop_assert_eq!(print(&again).unwrap(), text);
    }
}

/// Pools of the kind that a rule serves get devices, and others get none, as in Ceph 19.
#[test]
fn pools_use_the_rules_for_their_kind() {
    let map = three_hosts(2, "step choosemsr 3 type host step choosemsr 1 type osd");
    let overlay = Overlay { devices: vec![Device::IN; 6], ..Overlay::default() };
    let placer = Placer::new(&map, &overlay);
    for (kind, rule, want) in [
        (RuleKind::Erasure, 0, 3),
        (RuleKind::Replicated, 1, 3),
        (RuleKind::Erasure, 1, 0),
        (RuleKind::Replicated, 0, 0),
    ] {
        let pool = Pool { id: 1, kind, size: 3, rule, pg_num: 8, pgp_num: 8, hashpspool: true };
        let up = placer.place(&pool, 5).up.devices;
        assert_eq!(up.iter().filter(|&&device| device != NONE).count(), want, "{kind:?} by rule {rule}");
        let mapper = map.compile().unwrap();
        let all = placer.place_all(&pool, &[5], &mapper, &mut Workspace::default());
        assert_eq!(all[0].up.devices, up);
    }
}

/// The bytes by the description: the two tunables at the very end, type 5, operations 14 to 16.
#[test]
fn the_binary_form_is_that_of_ceph_19() {
    let steps = "step choosemsr 2 type host step choosemsr 0 type osd";
    let mut map = three_hosts(2, steps);
    map.rules.truncate(1);
    map.tunables.msr_descents = 7;
    let rule = map.rules[0].as_mut().unwrap();
    rule.steps.insert(0, Step::Set(Setting::MsrDescents, 9));
    rule.steps.insert(1, Step::Set(Setting::MsrCollisionTries, 8));
    let bytes = binary::write(&map);
    assert_eq!(bytes[bytes.len() - 8..], [7, 0, 0, 0, 100, 0, 0, 0]);
    let words = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut rule = words(&[6]);
    rule.extend([0, 5, 1, 100]);
    rule.extend(words(&[14, 9, 0, 15, 8, 0, 1, -1, 0, 16, 2, 1, 16, 0, 0, 4, 0, 0]));
    assert!(bytes.windows(rule.len()).any(|window| window == rule));
    // Without such rules and with usual tunables, the map ends as before Squid.
    map.rules.clear();
    map.tunables.msr_descents = 100;
    let bytes = binary::write(&map);
    assert!(!bytes.ends_with(&[100, 0, 0, 0, 100, 0, 0, 0]));
    let with_defaults = [&bytes[..], &[100, 0, 0, 0, 100, 0, 0, 0]].concat();
    assert_eq!(binary::read(&with_defaults).unwrap(), binary::read(&bytes).unwrap());
}

#[test]
fn the_text_form_is_that_of_ceph_19() {
    let mut map = three_hosts(2, "step choosemsr 2 type host step choosemsr 0 type osd");
    map.rules.truncate(1);
    map.tunables.msr_collision_tries = 20;
    let text = print(&map).unwrap();
    assert!(text.contains("tunable msr_collision_tries 20\n") && !text.contains("msr_descents"), "{text}");
    let rule = "rule r0 {\n\tid 0\n\ttype msr_indep\n\tstep take r\n\tstep choosemsr 2 type host\n\
                \tstep choosemsr 0 type osd\n\tstep emit\n}\n";
    assert!(text.contains(rule), "{text}");
}

#[test]
fn rules_of_another_form_find_nothing_and_say_why() {
    let map = three_hosts(2, "step choosemsr 2 type host step choosemsr 1 type osd");
    let choose = |count, kind| Step::ChooseMsr { count, kind };
    let fault = |steps: &[Step]| {
        let mut map = map.clone();
        map.rules[0].as_mut().unwrap().steps = steps.to_vec();
        let fault = map.msr_fault(0);
        let found = place(&map, 0, 0, 3, &[]);
        assert_eq!(found.is_empty(), fault.is_some(), "{steps:?}: {found:?}");
        fault
    };
    assert_eq!(fault(&[Step::Take(-1), choose(2, 1), choose(1, 0), Step::Emit]), None);
    let wanted = "choosemsr` or `emit";
    let step = |number, wanted| Some(MsrFault::Step { number, wanted });
    assert_eq!(fault(&[Step::Take(-1), choose(2, 1), Step::Take(-2)]), step(3, wanted));
    assert_eq!(fault(&[choose(2, 1), Step::Emit]), step(1, "take"));
    assert_eq!(fault(&[Step::Set(Setting::ChooseTries, 5)]), step(1, "take"));
    assert_eq!(fault(&[Step::Take(-1), Step::Emit]), Some(MsrFault::Empty { number: 2 }));
    assert_eq!(fault(&[Step::Take(-1), choose(2, 0)]), Some(MsrFault::Open));
    assert_eq!(fault(&[Step::Take(2), choose(2, 0)]), Some(MsrFault::Take { number: 1, item: 2 }));
    assert_eq!(fault(&[Step::Take(-9), choose(2, 0)]), Some(MsrFault::Take { number: 1, item: -9 }));
    assert_eq!(fault(&[Step::Take(-1), choose(-1, 0)]), Some(MsrFault::Count { number: 2, count: -1 }));
    let tries = fault(&[Step::Set(Setting::MsrDescents, -1), Step::Take(-1), choose(1, 0), Step::Emit]);
    assert_eq!(
        tries.map(|fault| fault.to_string()).as_deref(),
        Some("`msr_descents` is 4294967295, but Towtank supports at most 1000")
    );
    // These forms Ceph runs, but they fill no position.
    let mut map = map.clone();
    for levels in [[choose(2, 1), choose(1, 1)], [choose(1, 0), choose(1, 0)]] {
        map.rules[0].as_mut().unwrap().steps = vec![Step::Take(-1), levels[0], levels[1], Step::Emit];
        assert_eq!(map.msr_fault(0), Some(MsrFault::Leaf { block: 1 }));
        assert_eq!(place(&map, 0, 0, 3, &[]), [NONE; 3]);
    }
    // No pass at all is a form that Ceph runs.
    assert_eq!(fault(&[Step::Set(Setting::MsrDescents, 0), Step::Take(-1), choose(1, 0), Step::Emit]), None);
}
