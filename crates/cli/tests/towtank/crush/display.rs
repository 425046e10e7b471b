//! All output about every golden map, compared byte for byte.

use super::tool::{folder, maps, ours, put, theirs, there};
use std::fs;

/// The flags for each map; `--min-rep` and `--max-rep` are in the issue, and crushtool 16.2 lacks them.
const QUESTIONS: [&[&str]; 8] = [
    &["-d", "map.bin"],
    &["-i", "map.bin", "--tree"],
    &["-i", "map.bin", "--dump"],
    &["-i", "map.bin", "--show-location", "3"],
    &["-i", "map.bin", "--test", "--show_utilization", "--num-rep", "3", "--min-x", "5", "--max-x", "260"],
    &[
        "-i",
        "map.bin",
        "--test",
        "--show-bad-mappings",
        "--show-statistics",
        "--x",
        "9",
        "--weight",
        "1",
        "0.4",
    ],
    &["-i", "map.bin", "--test", "--show-mappings", "--pool-id", "7", "--num-rep", "2", "--rule", "0"],
    &["-i", "map.bin", "--test", "--show-choose-tries", "--num-rep", "3", "--min-x", "0", "--max-x", "99"],
];

#[test]
fn every_golden_map_is_shown_as_crushtool_shows_it() {
    if !there() {
        return;
    }
    let folder = folder("display");
    let mut compared = 0;
    for name in maps() {
        put(&name, &folder);
        for question in QUESTIONS {
            let (our, their) = (ours(&folder, question), theirs(&folder, question));
            // Where crushtool crashes, our tool only must not crash.
            if their.status.code().is_none() {
                assert!(our.status.success(), "{name} {question:?}");
                continue;
            }
            assert_eq!(our.status.code(), their.status.code(), "{name} {question:?}");
            let texts = [our, their].map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            let differs = texts[0].lines().zip(texts[1].lines()).find(|(our, their)| our != their);
            assert!(texts[0] == texts[1], "{name} {question:?}: first {differs:?}");
            compared += 1;
        }
    }
    println!("{compared} outputs agree");
    assert!(compared > 450, "only {compared} outputs compared");
}

#[test]
fn tables_are_crushtools() {
    if !there() {
        return;
    }
    let (left, right) = (folder("tables_ours"), folder("tables_theirs"));
    for name in ["h6x4_straw2", "ec_6hosts", "class_mixed"] {
        put(name, &left);
        put(name, &right);
        let question = ["-i", "map.bin", "--test", "--output-csv", "--num-rep", "3", "--weight", "2", "0.25"];
        assert!(ours(&left, &question).status.success());
        assert!(theirs(&right, &question).status.success());
        for file in fs::read_dir(&right).expect("the folder is there").flatten() {
            let want = fs::read(file.path()).expect("a file can be read");
            let got = fs::read(left.join(file.file_name())).unwrap_or_default();
            assert!(got == want, "{name}: {}", file.path().display());
        }
    }
}

#[test]
fn comparisons_are_crushtools() {
    if !there() {
        return;
    }
    let folder = folder("compare");
    put("h6x4_straw2", &folder);
    let other = ["-i", "map.bin", "--reweight-item", "osd.3", "9", "-o", "other.bin"];
    assert!(ours(&folder, &other).status.success());
    for file in ["map.bin", "other.bin"] {
        let question = ["-i", "map.bin", "--compare", file, "--num-rep", "3"];
        let (our, their) = (ours(&folder, &question), theirs(&folder, &question));
        assert_eq!((our.status.code(), our.stdout), (their.status.code(), their.stdout), "{file}");
    }
}

#[test]
fn maps_are_built_as_crushtool_builds_them() {
    if !there() {
        return;
    }
    let folder = folder("build");
    for layers in [
        "host straw2 4 rack straw 2 root straw2 0",
        "host uniform 3 root list 0",
        "host tree 5 row straw2 2",
        "root straw2 0",
    ] {
        let mut question = vec!["--build", "--num_osds", "22"];
        question.extend(layers.split(' '));
        question.extend(["-o", "built.bin"]);
        assert!(theirs(&folder, &question).status.success(), "{layers}");
        let want = fs::read(folder.join("built.bin")).expect("crushtool wrote it");
        assert!(ours(&folder, &question).status.success(), "{layers}");
        assert!(fs::read(folder.join("built.bin")).expect("towtank wrote it") == want, "{layers}");
    }
}
