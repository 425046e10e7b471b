//! The number of inputs per second that CRUSH maps, compared with crushtool on the same maps, in turns, by
//! processor time.
//!
//! `cargo bench -p towtank-placement --bench crush -- [runs] [part of a case's name]`; with the name
//! `golden`, every golden map with all its rules (or those whose names contain a third word), where the
//! target is 4 times crushtool's rate from three levels on. Crushtool is run as in the published figures
//! (`--test --show-utilization`), minus the time that it takes for one input. Without crushtool only our
//! rates are shown.
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on may panic")]

use std::fmt::Write;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use towtank_placement::crush::tester::present_weights;
use towtank_placement::crush::text::compile;
use towtank_placement::crush::{Ask, Lanes, Map, Mapper, Mappings, Workspace, binary};

struct Case {
    name: &'static str,
    map: Map,
    replicas: usize,
    /// The number of inputs for crushtool, which takes about a second for them.
    inputs: u32,
}

fn flat(alg: &str, count: usize, weight: impl Fn(usize) -> f64) -> Map {
    let mut text = String::from(TUNABLES);
    for id in 0..count {
        writeln!(text, "device {id} osd.{id}").expect("it cannot fail here");
    }
    writeln!(text, "type 0 osd\ntype 1 root\nroot r {{ id -1 alg {alg}").expect("it cannot fail here");
    for id in 0..count {
        writeln!(text, "item osd.{id} weight {:.3}", weight(id)).expect("it cannot fail here");
    }
    text.push_str("}\nrule a { id 0 type replicated min_size 1 max_size 10 step take r step choose firstn 0 type osd step emit }\n");
    compile(&text).expect("it cannot fail here")
}

const TUNABLES: &str = "tunable choose_local_tries 0\ntunable choose_local_fallback_tries 0\ntunable choose_total_tries 50\ntunable chooseleaf_descend_once 1\ntunable chooseleaf_vary_r 1\ntunable chooseleaf_stable 1\ntunable straw_calc_version 1\n";

/// 100 racks of ten hosts of ten devices.
fn racks() -> Map {
    let mut text = String::from(TUNABLES);
    for id in 0..10_000 {
        writeln!(text, "device {id} osd.{id}").expect("it cannot fail here");
    }
    text.push_str("type 0 osd\ntype 1 host\ntype 2 rack\ntype 3 root\n");
    for host in 0..1_000 {
        writeln!(text, "host h{host} {{ alg straw2").expect("it cannot fail here");
        (0..10).for_each(|at| {
            writeln!(text, "item osd.{} weight 1", host * 10 + at).expect("it cannot fail here")
        });
        text.push_str("}\n");
    }
    for rack in 0..100 {
        writeln!(text, "rack r{rack} {{ alg straw2").expect("it cannot fail here");
        (0..10).for_each(|at| {
            writeln!(text, "item h{} weight 10", rack * 10 + at).expect("it cannot fail here")
        });
        text.push_str("}\n");
    }
    text.push_str("root r { alg straw2\n");
    (0..100).for_each(|rack| writeln!(text, "item r{rack} weight 100").expect("it cannot fail here"));
    text.push_str("}\nrule a { id 0 type replicated min_size 1 max_size 10 step take r step chooseleaf firstn 0 type host step emit }\n");
    compile(&text).expect("it cannot fail here")
}

fn cases() -> Vec<Case> {
    let odd = |id: usize| [1.819, 3.638, 7.277, 9.095][id % 4] + id as f64 / 1_000.0;
    let case = |name, map, replicas, inputs| Case { name, map, replicas, inputs };
    vec![
        case("flat straw2, 1000 devices of one weight", flat("straw2", 1_000, |_| 1.0), 3, 8_000),
        case("flat straw2, 1000 devices of many weights", flat("straw2", 1_000, odd), 3, 8_000),
        case("straw2, 100 x 10 x 10, chooseleaf host", racks(), 3, 40_000),
        case("flat straw, 64 devices of one weight", flat("straw", 64, |_| 1.0), 3, 150_000),
        case("flat straw, 64 devices of many weights", flat("straw", 64, odd), 3, 150_000),
        case("flat list, 1000 devices", flat("list", 1_000, |_| 1.0), 3, 15_000),
        case("flat tree, 64 devices", flat("tree", 64, |_| 1.0), 1, 600_000),
        case("flat uniform, 1000 devices", flat("uniform", 1_000, |_| 1.0), 3, 300_000),
    ]
}

/// The number of inputs that are mapped at once.
const BLOCK: u32 = 4_096;

/// The processor time of this thread, in seconds.
fn own_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells processor time");
    text.split(' ').next().and_then(|word| word.parse::<f64>().ok()).expect("the first word is a number")
        / 1e9
}

/// The processor time of the child processes that this one has waited for, in seconds.
fn children_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux tells processor time");
    let after_name = text.rsplit(')').next().expect("the name is in brackets");
    let ticks = |at: usize| after_name.split_whitespace().nth(at).and_then(|word| word.parse::<f64>().ok());
    (ticks(13).expect("user time") + ticks(14).expect("system time")) / 100.0
}

fn ours(case: &Case, lanes: Lanes) -> f64 {
    let mapper = Mapper::new(&case.map, lanes).expect("it cannot fail here");
    let weights = vec![0x1_0000; case.map.max_devices as usize];
    let (mut workspace, mut found) = (Workspace::default(), Mappings::default());
    let ask = Ask { rule: 0, x: 0, result_max: case.replicas, weights: &weights, pool: 0 };
    let (mut done, start) = (0u32, own_seconds());
    loop {
        let inputs: Vec<u32> = (done..done + BLOCK).collect();
        mapper.map_all(ask, &inputs, &mut workspace, &mut found);
        black_box(&found);
        done += BLOCK;
        let seconds = own_seconds() - start;
        if seconds > 0.4 {
            return f64::from(done) / seconds;
        }
    }
}

fn crushtool(path: &str, replicas: usize, inputs: u32) -> Option<f64> {
    let start = children_seconds();
    let status = Command::new("crushtool")
        .args(["-i", path, "--test", "--show-utilization", "--num-rep", &replicas.to_string()])
        .args(["--min-x", "0", "--max-x", &(inputs - 1).to_string()])
        .output()
        .ok()?
        .status;
    assert!(status.success(), "crushtool failed");
    Some(children_seconds() - start)
}

/// The golden maps with their names.
fn golden_maps() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/maps");
    let mut maps = Vec::new();
    for file in std::fs::read_dir(folder).expect("the golden maps are there").flatten() {
        let name = file.file_name().into_string().expect("the names are text");
        if let Some(name) = name.strip_suffix(".bin.gz") {
            let mut bytes = Vec::new();
            let packed = std::fs::File::open(file.path()).expect("it was listed");
            flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).expect("it is packed by gzip");
            maps.push((name.to_owned(), bytes));
        }
    }
    maps.sort();
    maps
}

/// Mappings per second over all rules in turn, with three replicas.
fn ours_by_all_rules(map: &Map, lanes: Lanes) -> f64 {
    let mapper = Mapper::new(map, lanes).expect("a golden map is sound");
    let weights = present_weights(map).expect("a golden map is small");
    let rules: Vec<usize> = (0..map.rules.len()).filter(|&rule| map.rule(rule).is_some()).collect();
    let (mut workspace, mut found) = (Workspace::default(), Mappings::default());
    let (mut done, start) = (0u32, own_seconds());
    loop {
        let inputs: Vec<u32> = (done..done + BLOCK).collect();
        for &rule in &rules {
            let ask = Ask { rule, x: 0, result_max: 3, weights: &weights, pool: 0 };
            mapper.map_all(ask, &inputs, &mut workspace, &mut found);
            black_box(&found);
        }
        done += BLOCK;
        let seconds = own_seconds() - start;
        if seconds > 0.15 {
            return f64::from(done) * rules.len() as f64 / seconds;
        }
    }
}

/// The number of levels of a map, devices included.
fn levels(map: &Map) -> usize {
    fn below(map: &Map, id: i32) -> usize {
        let Some(bucket) = map.bucket(id) else { return 1 };
        1 + bucket.items.iter().map(|&item| below(map, item)).max().unwrap_or(1)
    }
    map.each_bucket().map(|bucket| below(map, bucket.id)).max().unwrap_or(1)
}

/// As many inputs as take crushtool over 0.3 s, because its processor time is measured in hundredths of a
/// second; none without crushtool.
fn inputs_for_crushtool(file: &str) -> Option<u32> {
    let mut inputs = 4_096;
    while crushtool(file, 3, inputs)? < 0.3 {
        inputs *= 2;
    }
    Some(inputs)
}

/// Prints every golden map as a row of a table, and the least ratio at the end; without crushtool our rates,
/// in thousand mappings per second.
fn golden(runs: usize, part: &str, path: &Path) {
    let file = path.to_str().expect("a temporary path is text");
    let mut ratios = Vec::new();
    let paths = Lanes::available();
    let names: Vec<String> = paths.iter().map(|lanes| format!("{lanes:?}").to_lowercase()).collect();
    println!("| map | levels | crushtool | Towtank | {} |", names.join(" | "));
    println!("| --- | ---: | ---: | ---: |{}", " ---: |".repeat(paths.len()));
    for (name, bytes) in golden_maps().into_iter().filter(|(name, _)| name.contains(part)) {
        let map = binary::read(&bytes).expect("a golden map is sound");
        let rules = map.rules.iter().flatten().count() as f64;
        std::fs::write(path, &bytes).expect("it cannot fail here");
        let inputs = inputs_for_crushtool(file);
        let mut own: Vec<Vec<f64>> = paths.iter().map(|_| Vec::new()).collect();
        let mut theirs = Vec::new();
        for _ in 0..runs {
            for (own, &lanes) in own.iter_mut().zip(&paths) {
                own.push(ours_by_all_rules(&map, lanes));
            }
            if let Some(inputs) = inputs
                && let (Some(all), Some(one)) = (crushtool(file, 3, inputs), crushtool(file, 3, 1))
            {
                theirs.push(f64::from(inputs) * rules / (all - one).max(0.01));
            }
        }
        let own: Vec<f64> = own.into_iter().map(median).collect();
        let levels = levels(&map);
        if theirs.is_empty() {
            let each: Vec<String> = own.iter().map(|own| format!("{:.1}", own / 1e3)).collect();
            println!("| `{name}` | {levels} | | | {} |", each.join(" | "));
            continue;
        }
        let theirs = median(theirs);
        let fastest = own.last().expect("the portable path is always there");
        let each: Vec<String> = own.iter().map(|own| format!("{:.1}", own / theirs)).collect();
        println!(
            "| `{name}` | {levels} | {:.1} | {:.1} | {} |",
            theirs / 1e3,
            fastest / 1e3,
            each.join(" | ")
        );
        ratios.push((fastest / theirs, name));
    }
    ratios.sort_by(|left, right| left.0.total_cmp(&right.0));
    for (ratio, name) in ratios.iter().take(3) {
        println!("least: {ratio:.1} on {name}");
    }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let runs: usize = words.first().and_then(|word| word.parse().ok()).unwrap_or(3);
    let part = words.get(1).cloned().unwrap_or_default();
    let path = std::env::temp_dir().join(format!("towtank-bench-crush-{}.bin", std::process::id()));
    if part == "golden" {
        golden(runs, words.get(2).map_or("", String::as_str), &path);
    }
    for case in cases().iter().filter(|case| case.name.contains(&part)) {
        std::fs::write(&path, binary::write(&case.map)).expect("it cannot fail here");
        let file = path.to_str().expect("a temporary path is text");
        let mut rates: Vec<(Lanes, Vec<f64>)> =
            Lanes::available().into_iter().map(|lanes| (lanes, Vec::new())).collect();
        let mut theirs = Vec::new();
        for _ in 0..runs {
            for (lanes, rates) in &mut rates {
                rates.push(ours(case, *lanes));
            }
            if let (Some(all), Some(one)) =
                (crushtool(file, case.replicas, case.inputs), crushtool(file, case.replicas, 1))
            {
                theirs.push(f64::from(case.inputs) / (all - one).max(0.01));
            }
        }
        println!("{}, {} replicas", case.name, case.replicas);
        let theirs = (!theirs.is_empty()).then(|| median(theirs));
        if let Some(theirs) = theirs {
            println!("  crushtool {theirs:12.0} mappings/s");
        }
        for (lanes, rates) in rates {
            let rate = median(rates);
            let times = theirs.map_or(String::new(), |theirs| format!("  {:.1} x", rate / theirs));
            println!("  {:9} {rate:12.0} mappings/s{times}", format!("{lanes:?}").to_lowercase());
        }
    }
    let _ = std::fs::remove_file(path);
}
