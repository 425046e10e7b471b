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

/// Three hosts below a root, and up to three choose_args: buckets without an entry, with ids, and with weight
/// sets of one to three positions.
fn map_with_sets(dice: &mut Dice, classes: bool) -> String {
    let mut text = String::from("tunable choose_total_tries 50\ntunable straw_calc_version 1\n");
    text += "tunable allowed_bucket_algs 54\n";
    let devices = 3 + dice.below(5);
    for id in 0..devices {
        let class = if classes { dice.pick(&["", " class hdd", " class ssd"]) } else { "" };
        text += &format!("device {id} osd.{id}{class}\n");
    }
    text += "type 0 osd\ntype 1 host\ntype 2 root\n";
    let mut sizes = Vec::new();
    for host in 0..3 {
        let items: Vec<usize> = (0..devices).filter(|id| id % 3 == host).collect();
        text += &format!("host h{host} {{\n id -{}\n alg straw2\n hash 0\n", host + 1);
        items.iter().for_each(|id| text += &format!(" item osd.{id} weight 1.500\n"));
        text += "}\n";
        sizes.push(items.len());
    }
    sizes.push(3);
    text += "root top {\n id -4\n alg straw2\n hash 0\n";
    (0..3).for_each(|host| text += &format!(" item h{host}\n"));
    text += "}\nrule r {\n id 0\n type replicated\n min_size 1\n max_size 10\n step take top\n";
    text += " step chooseleaf firstn 0 type host\n step emit\n}\n";
    for index in 0..1 + dice.below(3) {
        text += &format!("choose_args {index} {{\n");
        for (at, &size) in sizes.iter().enumerate() {
            let (sets, ids) = (dice.below(4), dice.below(3) == 0);
            if sets == 0 && !ids {
                continue;
            }
            text += &format!("{{\n bucket_id -{}\n", at + 1);
            let mut list = |of: &mut dyn FnMut(&mut Dice) -> String| -> String {
                let all: Vec<String> = (0..size).map(|_| of(dice)).collect();
                format!("[ {} ]\n", all.join(" "))
            };
            if sets > 0 {
                text += " weight_set [\n";
                (0..sets).for_each(|_| {
                    text += &list(&mut |dice: &mut Dice| dice.pick(&["0.000", "1.000", "2.500"]).to_owned());
                });
                text += " ]\n";
            }
            if ids {
                text += &format!(
                    " ids {}",
                    list(&mut |dice: &mut Dice| (dice.below(900) as i64 - 450).to_string())
                );
            }
            text += "}\n";
        }
        text += "}\n";
    }
    text
}

/// What we refuse because crushtool crashes there, or reads stray memory.
const REFUSED: [&str; 3] = ["overwrites its memory", "reads stray memory", "fails an assertion"];

/// Regression test: entries of ids alone, and the sums of several sets in shadow trees, differed.
/// `EDITS=3000` draws more maps.
#[test]
fn edits_of_maps_with_several_weight_sets_write_the_same_maps() {
    if !there() {
        return;
    }
    let folder = folder("weight_sets");
    let count = std::env::var("EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let (mut same, mut refused, mut impossible) = (0, 0, 0);
    for seed in 0..count {
        let mut dice = Dice(u64::wrapping_mul(seed + 1, 0x9e37_79b9_7f4a_7c15));
        let text = map_with_sets(&mut dice, seed % 2 == 1);
        fs::write(folder.join("map.txt"), &text).expect("a file can be written");
        let names = Names::of(&text);
        let compiled =
            |out: &'static str| -> Vec<&str> { ["-c", "map.txt", "-o", out].into_iter().collect() };
        let their = written(&folder, "theirs.bin", || theirs(&folder, &compiled("theirs.bin")));
        let our = written(&folder, "ours.bin", || ours(&folder, &compiled("ours.bin")));
        let (Some((map, _)), Some((own, _))) = (&their, &our) else { panic!("seed {seed}: {text}") };
        assert!(map == own, "seed {seed}: compiled\n{text}");
        fs::write(folder.join("map.bin"), map).expect("a file can be written");
        for step in 0..3 {
            let edit = edit(&mut dice, &names);
            let arguments = |out: &'static str| -> Vec<&str> {
                ["-i", "map.bin", "-o", out].into_iter().chain(edit.iter().map(String::as_str)).collect()
            };
            let mut own = None;
            let our = written(&folder, "ours.bin", || {
                let output = ours(&folder, &arguments("ours.bin"));
                own = Some(output.clone());
                output
            });
            let own = own.expect("it ran");
            let said = String::from_utf8_lossy(&own.stderr).into_owned();
            if REFUSED.iter().any(|why| said.contains(why)) {
                assert_eq!(own.status.code(), Some(2));
                impossible += 1;
                break;
            }
            let their = written(&folder, "theirs.bin", || theirs(&folder, &arguments("theirs.bin")));
            assert!(our == their, "seed {seed}, step {step}: {}\n{said}\n{text}", edit.join(" "));
            match their {
                Some((map, _)) => {
                    fs::write(folder.join("map.bin"), map).expect("a file can be written");
                    same += 1;
                }
                None => refused += 1,
            }
        }
    }
    println!(
        "{same} maps agree, {refused} edits are refused by both, {impossible} as crushtool cannot make them"
    );
    assert!(same > count, "only {same} maps compared");
}

/// Regression test: of two layers of one name, the rule names the type of the upper one, as a name of a type
/// means the greatest id.
#[test]
fn layers_of_one_name_are_built_as_crushtool_builds_them() {
    if !there() {
        return;
    }
    let folder = folder("layers");
    for layers in [
        "host straw2 2 host straw2 0",
        "host straw2 2 rack straw2 2 host straw2 0",
        "osd straw2 2 root straw2 0",
        "host straw2 0 host1 straw2 0",
    ] {
        let arguments = |out: &'static str| -> Vec<&str> {
            ["-o", out, "--build", "--num_osds", "8"].into_iter().chain(layers.split(' ')).collect()
        };
        let their = written(&folder, "theirs.bin", || theirs(&folder, &arguments("theirs.bin")));
        let our = written(&folder, "ours.bin", || ours(&folder, &arguments("ours.bin")));
        assert!(their.is_some() && our.map(|our| our.0) == their.map(|their| their.0), "{layers}");
    }
    // Two buckets of one name, whose text does not compile: crushtool writes it, and we refuse it.
    let twice =
        ours(&folder, &["-o", "o.bin", "--build", "--num_osds", "8", "a", "straw2", "2", "a", "straw2", "2"]);
    assert_eq!(twice.status.code(), Some(2));
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
