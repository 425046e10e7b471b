//! Chains of random edits made by both tools: the resulting maps are identical byte for byte, and both refuse
//! the same edits.

use super::tool::{folder, ours, put, theirs, there};
use std::fs;
use std::path::Path;

/// Maps with buckets of one kind each that crushtool edits without reading stray memory, which it does in
/// trees.
const MAPS: [&str; 8] = [
    "h6x4_straw2",
    "h6x4_straw",
    "h6x4_list",
    "class_mixed",
    "class_hosts",
    "cargs_ws3",
    "cargs_ids",
    "deep5",
];
const CHAINS: u64 = 24;
const EDITS_MAX: u64 = 4;

/// A small generator, so that the edits do not change with a library.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// The names in a map's text.
#[derive(Default)]
struct Names {
    devices: Vec<String>,
    /// Types and names.
    buckets: Vec<(String, String)>,
    rules: Vec<String>,
    types: Vec<String>,
}

impl Names {
    fn of(text: &str) -> Names {
        let mut names = Names::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["device", _, name, ..] => names.devices.push(name.to_owned()),
                ["type", _, name] => names.types.push(name.to_owned()),
                ["rule", name, "{"] => names.rules.push(name.to_owned()),
                ["choose_args", ..] => {}
                [kind, name, "{"] => names.buckets.push((kind.to_owned(), name.to_owned())),
                _ => {}
            }
        }
        names
    }
}

fn edit(dice: &mut Dice, names: &Names) -> Vec<String> {
    let device = names.devices[dice.below(names.devices.len())].clone();
    let (_, bucket) = names.buckets[dice.below(names.buckets.len())].clone();
    let weight = dice.pick(&["1", "0.5", "2.25", "0", "7.123"]).to_owned();
    let id = dice.below(40);
    let kind = names.types[dice.below(names.types.len())].clone();
    let rule = format!("new{}", dice.below(3));
    let item = if dice.below(2) == 0 { device.clone() } else { bucket.clone() };
    let words = |list: &[&str]| -> Vec<String> { list.iter().map(|word| (*word).to_owned()).collect() };
    let mut edit = match dice.below(11) {
        0 => words(&["--reweight-item", &item, &weight]),
        1 => words(&["--remove-item", &device]),
        2 => words(&["--remove-item", &bucket]),
        3 | 4 => words(&["--add-item", &(500 + id).to_string(), &weight, &format!("osd.{}", 500 + id)]),
        5 => words(&["--update-item", &id.to_string(), &weight, &format!("osd.{id}")]),
        6 => words(&["--add-bucket", &format!("b{id}"), &kind]),
        7 => words(&["--move", &item]),
        8 => words(&["--create-replicated-rule", &rule, &bucket, &kind]),
        9 => words(&["--create-simple-rule", &rule, &bucket, &kind, dice.pick(&["firstn", "indep"])]),
        _ if dice.below(2) == 0 => words(&["--reweight"]),
        _ => words(&["--remove-rule", names.rules.first().map_or("none", String::as_str)]),
    };
    if matches!(edit[0].as_str(), "--add-item" | "--update-item" | "--add-bucket" | "--move") {
        for _ in 0..=dice.below(2) {
            let (kind, name) = names.buckets[dice.below(names.buckets.len())].clone();
            edit.extend(["--loc".to_owned(), kind, name]);
        }
    }
    if dice.below(6) == 0 {
        edit.extend(words(&["--set-straw-calc-version", "1", "--set-choose-total-tries", "30"]));
    }
    edit
}

/// The map that a tool writes, if any, and its output.
fn written(
    folder: &Path,
    out: &str,
    run: impl FnOnce() -> std::process::Output,
) -> Option<(Vec<u8>, Vec<u8>)> {
    let path = folder.join(out);
    let _ = fs::remove_file(&path);
    let output = run();
    Some((fs::read(path).ok()?, output.stdout))
}

#[test]
fn chains_of_edits_write_the_same_maps() {
    if !there() {
        return;
    }
    let folder = folder("edits");
    let (mut same, mut refused) = (0, 0);
    for seed in 0..CHAINS {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let name = dice.pick(&MAPS);
        put(name, &folder);
        for step in 0..=seed % EDITS_MAX {
            let text = theirs(&folder, &["-d", "map.bin"]).stdout;
            let names = Names::of(&String::from_utf8_lossy(&text));
            if names.devices.is_empty() || names.buckets.is_empty() {
                break;
            }
            let edit = edit(&mut dice, &names);
            let arguments = |out: &'static str| -> Vec<&str> {
                ["-i", "map.bin", "-o", out].into_iter().chain(edit.iter().map(String::as_str)).collect()
            };
            let their = written(&folder, "theirs.bin", || theirs(&folder, &arguments("theirs.bin")));
            let our = written(&folder, "ours.bin", || ours(&folder, &arguments("ours.bin")));
            assert!(our == their, "seed {seed}, step {step}: {name} {}", edit.join(" "));
            match their {
                Some((map, _)) => {
                    fs::write(folder.join("map.bin"), map).expect("a file can be written");
                    same += 1;
                }
                None => refused += 1,
            }
        }
    }
    println!("{same} maps agree, {refused} edits are refused by both");
    assert!(same > 25, "only {same} maps compared");
}

#[test]
fn a_map_may_be_written_over_itself() {
    let folder = folder("in_place");
    put("h6x4_straw2", &folder);
    let before = fs::read(folder.join("map.bin")).expect("the map is there");
    let failed = ours(&folder, &["-i", "map.bin", "-o", "map.bin", "--remove-item", "host1"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(fs::read(folder.join("map.bin")).expect("the map is there") == before);
    assert!(ours(&folder, &["-i", "map.bin", "-o", "map.bin", "--remove-item", "osd.4"]).status.success());
    let left: Vec<_> = fs::read_dir(&folder).expect("the folder is there").flatten().collect();
    assert_eq!(left.len(), 1, "nothing else is left: {left:?}");
    assert!(fs::read(folder.join("map.bin")).expect("the map is there") != before);
}
