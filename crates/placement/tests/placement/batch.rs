//! Compares mapping many inputs at once with the definition, on thousands of random maps.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use crate::golden_set::present;
use crate::random_map::{Dice, random_map};
use towtank_placement::crush::reference::{self, Question};
use towtank_placement::crush::text::compile;
use towtank_placement::crush::{Ask, Lanes, Map, Mapper, Mappings, Workspace, binary};

/// The first input whose mapping differs from the definition, with both results.
fn first_difference(
    map: &Map,
    rule: usize,
    (inputs, result_max, weights): (&[u32], usize, &[u32]),
    found: &Mappings,
) -> Option<(u32, Vec<i32>, Vec<i32>)> {
    let choose_args = map.choose_args_for(0);
    inputs.iter().zip(found.iter()).find_map(|(&x, found)| {
        let want = reference::do_rule(map, rule, Question { x, result_max, weights, choose_args });
        (found != want).then(|| (x, found.to_vec(), want))
    })
}

/// Compares all rules of the map of a seed on every instruction set; returns the number of mappings.
fn compare(seed: u64, workspaces: &mut [Workspace]) -> usize {
    let random = random_map(seed);
    let map = compile(&random.text).unwrap_or_else(|why| panic!("seed {seed}: {why}\n{}", random.text));
    let mut dice = Dice(seed ^ 0xba7c);
    let mut weights = present(&map);
    for &(device, weight) in &random.reweights {
        if let Some(slot) = weights.get_mut(device) {
            *slot = (weight * 65_536.0) as u32;
        }
    }
    let mut compared = 0;
    let mut found = Mappings::default();
    for (lanes, workspace) in Lanes::available().into_iter().zip(workspaces) {
        let mapper = Mapper::new(&map, lanes).unwrap();
        for rule in 0..random.rules {
            // As few inputs as leave lanes empty, and as many as go through every place of a batch.
            let count = dice.pick(&[1, 7, 33, 65, 130]);
            let first = dice.next() as u32;
            let inputs: Vec<u32> = (0..count).map(|at| first.wrapping_add(at)).collect();
            let result_max = dice.below(7);
            let ask = Ask { rule, x: 0, result_max, weights: &weights, pool: 0 };
            mapper.map_all(ask, &inputs, workspace, &mut found);
            let differs = first_difference(&map, rule, (&inputs, result_max, &weights), &found);
            assert_eq!(differs, None, "seed {seed}, {lanes:?}, rule {rule}\n{}", random.text);
            compared += inputs.len();
        }
    }
    compared
}

#[test]
fn batches_on_random_maps_agree_with_the_definition() {
    let mut workspaces = vec![Workspace::default(); Lanes::available().len()];
    let compared: usize = (1..=2_500).map(|seed| compare(seed, &mut workspaces)).sum();
    println!("{compared} mappings agree");
    assert!(compared > 100_000, "only {compared} mappings compared");
}

/// More inputs than are under way at once, so that places are taken again.
#[test]
fn long_batches_agree_with_the_definition() {
    let mut workspace = Workspace::default();
    for seed in 1..=40 {
        let random = random_map(seed);
        let map = compile(&random.text).unwrap();
        let weights = present(&map);
        let mapper = Mapper::new(&map, Lanes::detect()).unwrap();
        let inputs: Vec<u32> = (0..1_500).collect();
        let mut found = Mappings::default();
        let ask = Ask { rule: 0, x: 0, result_max: 3, weights: &weights, pool: 0 };
        mapper.map_all(ask, &inputs, &mut workspace, &mut found);
        assert_eq!(first_difference(&map, 0, (&inputs, 3, &weights), &found), None, "seed {seed}");
    }
}

/// A lane that keeps the item of the lane beside it, as one does that ignores its mask, is found.
#[test]
fn a_lane_that_answers_for_its_neighbour_is_found() {
    let random = random_map(3);
    let map = compile(&random.text).unwrap();
    let weights = present(&map);
    let mapper = Mapper::new(&map, Lanes::detect()).unwrap();
    let inputs: Vec<u32> = (0..200).collect();
    let ask = Ask { rule: 0, x: 0, result_max: 3, weights: &weights, pool: 0 };
    let (mut workspace, mut found) = (Workspace::default(), Mappings::default());
    let choose_args = map.choose_args_for(0);
    let of = |x| reference::do_rule(&map, 0, Question { x, result_max: 3, weights: &weights, choose_args });
    let planted = (1..200).find(|&x| of(x) != of(x - 1)).unwrap();
    let mut mistaken = inputs.clone();
    mistaken[planted as usize] = planted - 1;
    mapper.map_all(ask, &mistaken, &mut workspace, &mut found);
    let first = first_difference(&map, 0, (&inputs, 3, &weights), &found);
    assert_eq!(first.map(|(x, ..)| x), Some(planted));
}

/// A place that keeps the result of the input that had it before, as one does that is not cleared, is found.
#[test]
fn a_place_that_keeps_the_input_before_is_found() {
    let random = random_map(3);
    let map = compile(&random.text).unwrap();
    let weights = present(&map);
    let mapper = Mapper::new(&map, Lanes::detect()).unwrap();
    let inputs: Vec<u32> = (0..1_000).collect();
    let ask = Ask { rule: 0, x: 0, result_max: 3, weights: &weights, pool: 0 };
    let (mut workspace, mut found) = (Workspace::default(), Mappings::default());
    mapper.map_all(ask, &inputs, &mut workspace, &mut found);
    assert_eq!(first_difference(&map, 0, (&inputs, 3, &weights), &found), None);
    // Results of the last inputs are those of inputs further in front.
    let kept: Vec<u32> = inputs.iter().map(|&x| if x < 900 { x } else { x - 256 }).collect();
    mapper.map_all(ask, &kept, &mut workspace, &mut found);
    let first = first_difference(&map, 0, (&inputs, 3, &weights), &found).unwrap().0;
    assert!((900..1_000).contains(&first), "input {first}");
}

/// Far more results than usual, with the lists of items of all inputs under way near their limit.
#[test]
fn many_replicas_agree_with_the_definition() {
    let (mut workspace, mut found) = (Workspace::default(), Mappings::default());
    let inputs: Vec<u32> = (0..20).collect();
    for seed in 1..=15 {
        let random = random_map(seed);
        let map = compile(&random.text).unwrap();
        let weights = present(&map);
        let mapper = Mapper::new(&map, Lanes::detect()).unwrap();
        for (rule, result_max) in (0..random.rules).flat_map(|rule| [(rule, 20), (rule, 150)]) {
            let ask = Ask { rule, x: 0, result_max, weights: &weights, pool: 0 };
            mapper.map_all(ask, &inputs, &mut workspace, &mut found);
            let differs = first_difference(&map, rule, (&inputs, result_max, &weights), &found);
            assert_eq!(differs, None, "seed {seed}, rule {rule}, {result_max} replicas");
        }
    }
}

/// The definition gives every golden mapping, so that it stands for them here.
#[test]
fn batches_on_golden_maps_agree_with_the_definition() {
    let (mut workspace, mut found) = (Workspace::default(), Mappings::default());
    for (name, ..) in crate::golden_set::maps() {
        let map = binary::read(&crate::golden_set::bytes(&format!("maps/{name}.bin"))).unwrap();
        let weights = present(&map);
        let inputs: Vec<u32> = (0..300).collect();
        for lanes in Lanes::available() {
            let mapper = Mapper::new(&map, lanes).unwrap();
            for rule in (0..map.rules.len()).filter(|&rule| map.rule(rule).is_some()) {
                let ask = Ask { rule, x: 0, result_max: 3, weights: &weights, pool: 0 };
                mapper.map_all(ask, &inputs, &mut workspace, &mut found);
                let differs = first_difference(&map, rule, (&inputs, 3, &weights), &found);
                assert_eq!(differs, None, "{name}, {lanes:?}, rule {rule}");
            }
        }
    }
}
