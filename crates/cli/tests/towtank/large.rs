//! A cluster of 960 devices and 30,720 groups: what a change moves, by `towtank whatif` and by Ceph's own
//! `osdmaptool`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::tool::Folder;

/// Shards by group.
type Groups = BTreeMap<String, Vec<i64>>;

/// The exports of the cluster, with one object of 4 MiB in each group.
fn cluster(name: &str, placed: &str) -> Option<Folder> {
    let folder = Folder::new(name);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/large-cluster.sh");
    let made = Command::new(script).arg(folder.path()).args(["1", placed]).output().expect("bash can be run");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    if said.contains("is not installed") {
        eprintln!("skipped: {}", said.trim());
        return None;
    }
    assert!(made.status.success(), "{said}");
    Some(folder)
}

fn tool(folder: &Folder, program: &str, args: &[&str]) -> String {
    let made = Command::new(program).args(args).current_dir(folder.path()).output();
    let made = made.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(made.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).expect("it prints text")
}

/// Where osdmaptool puts the groups.
fn groups(folder: &Folder, map: &str, more: &[&str]) -> Groups {
    let usual = [map, "--mark-up-in", "--test-map-pgs-dump", "--pool", "1"];
    let dump = tool(folder, "osdmaptool", &[&usual, more].concat());
    let group = |line: &str| {
        let (group, rest) = line.split_once('\t')?;
        let devices = rest.strip_prefix('[')?.split_once(']')?.0;
        let devices = devices.split(',').map(|id| id.parse().expect("a device has a number"));
        Some((group.to_owned(), devices.collect()))
    };
    let groups: Groups = dump.lines().filter_map(group).collect();
    assert_eq!(groups.len(), 30_720);
    groups
}

/// The same osdmap with another CRUSH map, in `changed.osdmap`.
fn import(folder: &Folder, text: &str) {
    folder.write("changed.txt", text);
    tool(folder, "crushtool", &["-c", "changed.txt", "-o", "changed.crush"]);
    fs::copy(folder.path().join("osdmap"), folder.path().join("changed.osdmap")).expect("it can be copied");
    tool(folder, "osdmaptool", &["changed.osdmap", "--import-crush", "changed.crush"]);
}

/// Where the groups are with another CRUSH map.
fn with_map(folder: &Folder, text: &str) -> Groups {
    import(folder, text);
    groups(folder, "changed.osdmap", &[])
}

/// Shards that get another device, and groups with such shards.
fn moved(before: &Groups, after: &Groups) -> (u64, u64) {
    let of = |(group, devices): (&String, &Vec<i64>)| {
        devices.iter().filter(|device| !before[group].contains(device)).count() as u64
    };
    let each: Vec<u64> = after.iter().map(of).collect();
    (each.iter().sum(), each.iter().filter(|count| **count > 0).count() as u64)
}

/// Measures by towtank.
fn measured<const N: usize>(folder: &Folder, change: &[&str], names: [&str; N]) -> [u64; N] {
    let usual =
        ["whatif", "--crush-map", "crush.txt", "--osd-dump", "osd_dump.json", "--pg-dump", "pg_dump.json"];
    let more = ["--osd-df", "osd_df.json", "--quiet", "--format", "csv"];
    let said = folder.run(&[&usual, change, &more].concat()).data();
    names.map(|name| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(','));
        let value =
            line.and_then(|rest| rest.split(',').next()).unwrap_or_else(|| panic!("no {name}: {said}"));
        value.parse::<f64>().expect("it is a number") as u64
    })
}

/// The same shards and groups by towtank.
fn asked(folder: &Folder, change: &[&str]) -> (u64, u64) {
    let [bytes, groups] = measured(folder, change, ["moved_bytes", "moved_groups"]);
    (bytes >> 22, groups)
}

/// The host without its devices, out of the text of a map.
fn without(crush: &str, host: &str) -> String {
    let (front, rest) = crush.split_once(&format!("host {host} {{")).expect("the map has the host");
    let (_, rest) = rest.split_once("}\n").expect("a bucket ends");
    let kept = rest.split_inclusive('\n').filter(|line| !line.contains(&format!("item {host} ")));
    front.to_owned() + &kept.collect::<String>()
}

fn agree(folder: &Folder, change: &[&str], before: &Groups, after: &Groups) {
    let want = moved(before, after);
    assert!(want.0 > 50, "{change:?} moves {} shards only", want.0);
    assert_eq!(asked(folder, change), want, "{change:?}");
}

#[test]
fn what_moves_is_what_osdmaptool_moves() {
    let Some(folder) = cluster("large", "5") else { return };
    let crush = folder.read("crush.txt");
    let before = groups(&folder, "osdmap", &[]);
    let light = crush.replace("item osd.500 weight 3.638", "item osd.500 weight 1.800");
    let light = light.replace("item host41 weight 43.656", "item host41 weight 41.818");
    let removed = without(&crush, "host7");
    let after = |text: &str| with_map(&folder, text);
    for (change, after) in [
        (["--mark-out", "osd.3"], groups(&folder, "osdmap", &["--mark-out", "3"])),
        (["--fail", "osd.700"], groups(&folder, "osdmap", &["--mark-out", "700"])),
        (["--crush-reweight", "osd.500=1.8"], after(&light)),
        // osdmaptool gives devices of weight 0 a weight of 1. A draw of straw2 depends on no other item, so a
        // host of weight 0 is as good as none.
        (["--drain", "host=host7"], after(&removed)),
        (["--remove", "host=host7"], after(&removed)),
        (["--after-map", "changed.txt"], after(&removed)),
    ] {
        agree(&folder, &change, &before, &after);
    }
    // A count that is off by one shard is noticed.
    let mut wrong = groups(&folder, "osdmap", &["--mark-out", "3"]);
    let stays = wrong.iter_mut().find(|(group, devices)| before[*group] == **devices);
    stays.expect("some group stays").1[0] = 959;
    assert_ne!(moved(&before, &wrong), asked(&folder, &["--mark-out", "osd.3"]));
}

/// The step of the pool's own rule that chooses devices, and that of the rule `by_osd`.
const STEPS: [&str; 2] = ["step chooseleaf firstn 0 type host", "step chooseleaf firstn 0 type osd"];

/// The text of a map with a second rule, which is the first with another step, and with another name and id.
fn with_second(crush: &str, name: &str, step: &str) -> String {
    let (_, rule) = crush.split_once("rule replicated_rule {").expect("the map has a rule");
    let (rule, _) = rule.split_once('}').expect("a rule ends");
    let own = STEPS.iter().find(|step| rule.contains(**step)).expect("it chooses devices");
    let rule = rule.replace("id 0\n", "id 1\n").replace(own, step);
    format!("{crush}rule {name} {{{rule}}}\n")
}

/// osdmaptool cannot set the rule of a pool, so there the pool's own rule gets the steps of the other.
#[test]
fn another_rule_moves_what_osdmaptool_moves() {
    let Some(folder) = cluster("large-rule", "5") else { return };
    let crush = folder.read("crush.txt");
    let before = groups(&folder, "osdmap", &[]);
    let after = with_map(&folder, &crush.replace(STEPS[0], STEPS[1]));
    folder.write("crush.txt", with_second(&crush, "by_osd", STEPS[1]));
    agree(&folder, &["--rule", "rbd=by_osd"], &before, &after);
    assert_eq!(asked(&folder, &["--rule", "rbd=replicated_rule"]), (0, 0), "the rule that it has");
}

/// Mappings that are made for copies on any three devices, when the pool gets a rule by host: the monitors
/// drop those that put two copies into one host, and others that no longer do anything.
#[test]
fn another_rule_drops_the_mappings_that_osdmaptool_drops() {
    let Some(folder) = cluster("large-rule-upmap", "5") else { return };
    let by_host = folder.read("crush.txt");
    let by_osd = by_host.replace(STEPS[0], STEPS[1]);
    import(&folder, &by_osd);
    fs::rename(folder.path().join("changed.osdmap"), folder.path().join("osdmap")).expect("it can be moved");
    let usual =
        ["osdmap", "--mark-up-in", "--upmap", "mappings", "--upmap-deviation", "1", "--upmap-max", "200"];
    tool(&folder, "osdmaptool", &[&usual[..], &["--save"]].concat());
    let before = groups(&folder, "osdmap", &[]);
    let dump = tool(&folder, "osdmaptool", &["osdmap", "--mark-up-in", "--dump", "json"]);
    let dump = &dump[dump.find('{').expect("it is JSON")..];
    let dump: Value = serde_json::from_str(dump).expect("it is JSON");
    let mapped = dump["pg_upmap_items"].as_array().expect("mappings are a list").len();
    folder.write("osd_dump.json", dump.to_string());
    follow(&folder, &before);
    import(&folder, &by_host);
    let after = groups(&folder, "changed.osdmap", &["--upmap-cleanup", "dropped"]);
    let commands = folder.read("dropped");
    let dropped = commands.lines().filter(|line| line.contains("pg-upmap-items")).count();
    assert!((1..mapped).contains(&dropped), "{dropped} of {mapped} mappings are dropped");
    folder.write("crush.txt", with_second(&by_osd, "by_host", STEPS[0]));
    let change = ["--rule", "rbd=by_host"];
    let found = measured(&folder, &change, ["upmaps_dropped"]);
    assert_eq!(found, [dropped as u64]);
    agree(&folder, &change, &before, &after);
}

#[test]
fn explicit_mappings_move_what_osdmaptool_moves() {
    let Some(folder) = cluster("large-upmap", "5") else { return };
    let before = groups(&folder, "osdmap", &[]);
    let usual =
        ["osdmap", "--mark-up-in", "--upmap", "mappings", "--upmap-deviation", "1", "--upmap-max", "100"];
    tool(&folder, "osdmaptool", &[&usual[..], &["--save"]].concat());
    let commands = folder.read("mappings");
    let mappings = commands.lines().filter_map(|line| line.strip_prefix("ceph osd pg-upmap-items "));
    let change: Vec<&str> = mappings.flat_map(|mapping| ["--upmap-items", mapping]).collect();
    agree(&folder, &change, &before, &groups(&folder, "osdmap", &[]));
}

#[test]
fn a_split_moves_what_osdmaptool_moves() {
    let Some(folder) = cluster("large-split", "4") else { return };
    let Some(whole) = cluster("large-whole", "5") else { return };
    let (before, after) = (groups(&folder, "osdmap", &[]), groups(&whole, "osdmap", &[]));
    agree(&folder, &["--pgp-num", "rbd=30720"], &before, &after);
}

/// Puts the groups of `pg_dump.json` on these devices.
fn follow(folder: &Folder, groups: &Groups) {
    let mut dump: Value = serde_json::from_str(&folder.read("pg_dump.json")).expect("it is JSON");
    for group in dump["pg_map"]["pg_stats"].as_array_mut().expect("groups are a list") {
        let devices = &groups[group["pgid"].as_str().expect("it has a name")];
        for role in ["up", "acting"] {
            group[role] = devices.clone().into();
            group[format!("{role}_primary")] = devices[0].into();
        }
    }
    folder.write("pg_dump.json", dump.to_string());
}

#[test]
fn a_new_host_takes_what_osdmaptool_moves() {
    let Some(folder) = cluster("large-add", "5") else { return };
    let after = groups(&folder, "osdmap", &[]);
    let crush = without(&folder.read("crush.txt"), "host79");
    let before = with_map(&folder, &crush);
    folder.write("crush.txt", crush);
    let mut dump: Value = serde_json::from_str(&folder.read("osd_dump.json")).expect("it is JSON");
    dump["max_osd"] = 948.into();
    dump["osds"].as_array_mut().expect("devices are a list").truncate(948);
    folder.write("osd_dump.json", dump.to_string());
    follow(&folder, &before);
    agree(&folder, &["--add-host", "host79=12x3.638@root"], &before, &after);
}
