//! Compares random maps with the real crushtool: binary form, text form, and mappings. The fast mapper
//! computes them, on one of its instruction sets per map, and the reference for every sixty-fourth input.
//!
//! Runs if crushtool 16.2 is installed (Debian: `ceph-base`), and reports if it is not; with `CI=true` its
//! absence is a failure. `TOWTANK_CRUSHTOOL_MAPS` sets the number of maps (16), `TOWTANK_CRUSHTOOL_SEED`
//! the first seed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use crate::golden_set::present;
use crate::random_map::{Dice, RandomMap, random_map};
use std::path::{Path, PathBuf};
use std::process::Command;
use towtank_placement::crush::text::{compile, print};
use towtank_placement::crush::{Ask, Lanes, Map, Mapper, Workspace, binary, hash, reference};

fn crushtool() -> Option<()> {
    let found = Command::new("crushtool")
        .arg("--version")
        .output()
        .or_else(|_| Command::new("crushtool").arg("-h").output());
    if found.is_ok() {
        return Some(());
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "crushtool is missing: install Debian's ceph-base");
    println!("skipped: crushtool is not installed (Debian: ceph-base)");
    None
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().map_or(usual, |text| text.parse().expect("it cannot fail here"))
}

/// A temporary directory, removed when dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("towtank-crushtool-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("it cannot fail here");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(args: &[&str]) -> String {
    let output = Command::new("crushtool").args(args).output().expect("it cannot fail here");
    assert!(
        output.status.success(),
        "crushtool {}: {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("it cannot fail here")
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("it cannot fail here")
}

#[test]
fn random_maps_agree_with_crushtool() {
    if crushtool().is_none() {
        return;
    }
    let maps = number("TOWTANK_CRUSHTOOL_MAPS", 16);
    let first = number("TOWTANK_CRUSHTOOL_SEED", 1);
    let place = Place::new();
    let cases: u64 = (first..first + maps).map(|seed| compare(seed, &place)).sum();
    println!("{cases} (map, rule, x, replicas) cases on {maps} maps from seed {first} on, no mismatch");
    assert!(cases > 0);
}

/// Compares the map of a seed; returns the number of mappings compared.
fn compare(seed: u64, place: &Place) -> u64 {
    let random = random_map(seed);
    let (source, target) = (place.file("map.txt"), place.file("map.bin"));
    std::fs::write(&source, &random.text).expect("it cannot fail here");
    run(&["-c", text_of(&source), "-o", text_of(&target)]);
    let theirs = std::fs::read(&target).expect("it cannot fail here");
    let ours = compile(&random.text).unwrap_or_else(|why| panic!("seed {seed}: {why}\n{}", random.text));
    let first = binary::write(&ours).iter().zip(&theirs).position(|(our, their)| our != their);
    assert!(
        binary::write(&ours) == theirs,
        "seed {seed}: binary maps differ, first at byte {first:?}\n{}",
        random.text
    );
    let read = binary::read(&theirs).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    let printed = run(&["-d", text_of(&target)]);
    for (our, their) in print(&read).expect("it cannot fail here").lines().zip(printed.lines()) {
        assert_eq!(our, their, "seed {seed}: texts differ");
    }
    assert_eq!(print(&read).expect("it cannot fail here"), printed, "seed {seed}");
    mappings(seed, &random, &read, &target)
}

fn mappings(seed: u64, random: &RandomMap, map: &Map, target: &Path) -> u64 {
    let mut dice = Dice(seed ^ 0x5eed);
    let min_x = dice.pick(&[0, 0, 1_000, 2_000_000_000]);
    let inputs = dice.pick(&[512u32, 2_048, 4_096]);
    let pool = dice.one_in(4).then(|| dice.below(100) as u32);
    let mut args: Vec<String> =
        ["-i", text_of(target), "--test", "--show-mappings"].map(String::from).to_vec();
    args.extend(["--min-x".into(), min_x.to_string(), "--max-x".into(), (min_x + inputs - 1).to_string()]);
    args.extend(pool.iter().flat_map(|pool| ["--pool-id".into(), pool.to_string()]));
    let mut weights = present(map);
    for &(device, weight) in &random.reweights {
        args.extend(["--weight".into(), device.to_string(), weight.to_string()]);
        if let Some(slot) = weights.get_mut(device) {
            *slot = (weight * 65_536.0) as u32;
        }
    }
    let arguments: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = run(&arguments);
    let mut lines = output.lines().filter(|line| line.starts_with("CRUSH rule"));
    if weights.iter().all(|&weight| weight == 0) && lines.clone().next().is_none() {
        // Crushtool maps nothing if no device is in.
        return 0;
    }
    let mut compared = 0;
    let lanes = dice.pick(&Lanes::available());
    let mapper = Mapper::new(map, lanes).expect("it cannot fail here");
    let (mut workspace, mut devices) = (Workspace::default(), Vec::new());
    for rule in 0..random.rules {
        // Without `--num-rep`, crushtool runs every number of replicas that the rule allows.
        for result_max in 1..=usize::from(map.rule(rule).expect("it cannot fail here").max_size) {
            for x in min_x..min_x + inputs {
                let line = lines.next().unwrap_or_else(|| {
                    panic!(
                        "seed {seed}, rule {rule}: crushtool printed too little\n{}\n{args:?}",
                        random.text
                    )
                });
                let input = pool.map_or(x, |pool| hash::hash2(x, pool));
                mapper.do_rule(
                    Ask { rule, x: input, result_max, weights: &weights, pool: 0 },
                    &mut workspace,
                    &mut devices,
                );
                // The reference is slow, so it computes only a part of the mappings.
                if x % 64 == 0 {
                    let choose_args = map.choose_args_for(0);
                    let question =
                        reference::Question { x: input, result_max, weights: &weights, choose_args };
                    assert_eq!(devices, reference::do_rule(map, rule, question), "seed {seed}, {lanes:?}");
                }
                let words: Vec<String> = devices.iter().map(i32::to_string).collect();
                let ours = format!("CRUSH rule {rule} x {x} [{}]", words.join(","));
                assert_eq!(ours, line, "seed {seed}, {result_max} replicas\n{}\n{args:?}", random.text);
                compared += 1;
            }
        }
    }
    compared
}
