//! The study against Ceph's own tools, against a slow oracle, and on exports as messy as real ones are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::scenario::{Document, Files, Setting, Source};
use kernel::Executor;
use placement::crush::pools::{PgId, Placer};
use placement::crush::{NONE, RuleKind};
use proptest::prelude::*;
use streams::Seed;

use super::*;

/// The example of the guide, beside files that a test makes up.
#[derive(Debug)]
struct Folder(BTreeMap<String, Vec<u8>>);

fn example(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cluster");
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What real clusters exported.
fn export(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../imports/tests/exports");
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

fn usual() -> BTreeMap<String, Vec<u8>> {
    ["crush.txt", "osd_dump.json", "pg_dump.json.gz"].map(|name| (name.to_owned(), example(name))).into()
}

const USUAL: &str = "map = \"crush.txt\"\nosd_dump = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n";

fn draft_case(files: BTreeMap<String, Vec<u8>>, text: &str) -> Result<Case, Problems> {
    let text = format!("study = \"preview\"\n{text}");
    let document = Document::parse(&Source::file("preview.toml", text))?.with_files(Arc::new(Folder(files)));
    let outline = document.outline()?;
    let draft = outline.points()[0].draft();
    draft.read::<Scenario>()?.case(draft)
}

fn case(changes: &str) -> Case {
    draft_case(usual(), &format!("{USUAL}{changes}")).unwrap_or_else(|problems| panic!("{changes}: {problems:?}"))
}

fn moves(case: &Case) -> Moves {
    let context = RunContext {
        seed: Seed(1),
        replicate: 0,
        executor: Executor::Sequential,
        workers: 1,
        stop: &AtomicBool::new(false),
        progress: &|_| {},
        notice: &|_| {},
    };
    Moves::of(case, &context).unwrap().unwrap()
}

fn answer(case: &Case) -> String {
    let outcomes = [moves(case).outcome(case)];
    let scenario = serde_json::Value::Null;
    present::present(&[PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes }]).answer
}

/// A group of a golden file: `1.2f	[3,1,2]	3`.
fn golden_groups(text: &str) -> BTreeMap<PgId, (Vec<i32>, i32)> {
    let of = |line: &str| {
        let mut fields = line.split('\t');
        let (group, devices, primary) = (fields.next()?, fields.next()?, fields.next()?);
        let (pool, seed) = group.split_once('.')?;
        let group = PgId { pool: pool.parse().ok()?, seed: u32::from_str_radix(seed, 16).ok()? };
        let ids = devices.trim_matches(['[', ']']).split(',').map(|id| id.parse().unwrap());
        Some((group, (ids.collect(), primary.trim().parse().unwrap())))
    };
    text.lines().filter_map(of).collect()
}

/// `osdmaptool` says where groups are after the change, and which explicit mappings the monitors drop. Its dump is made
/// before the dropping, so groups of dropped mappings are left out.
#[test]
fn groups_go_where_osdmaptool_says() {
    for (changes, golden) in [
        ("mark_out = \"osd.5\"", include_str!("golden/mark-out-5.txt")),
        ("crush_reweight = \"osd.1=1.0\"", include_str!("golden/crush-reweight-1.txt")),
        ("remove = \"host=h2\"", include_str!("golden/remove-h2.txt")),
    ] {
        let case = case(changes);
        let want = golden_groups(golden);
        assert_eq!(want.len(), 256, "{changes}");
        let dropped: BTreeSet<String> = golden
            .lines()
            .filter_map(|line| line.strip_prefix("ceph osd rm-pg-upmap-items "))
            .map(str::to_owned)
            .collect();
        let gone: BTreeSet<String> = case
            .before
            .overlay
            .upmap_items
            .keys()
            .filter(|group| !case.after.overlay.upmap_items.contains_key(*group))
            .map(ToString::to_string)
            .collect();
        assert_eq!(gone, dropped, "{changes}");
        let placer = Placer::new(&case.after.map, &case.after.overlay);
        let pool = case.after.pools.iter().find(|pool| pool.placed.id == 1).unwrap().placed;
        for (group, (devices, primary)) in want {
            if !dropped.contains(&group.to_string()) {
                let found = placer.place(&pool, group.seed).up;
                assert_eq!((found.devices, found.primary), (devices, Some(primary)), "{changes}: {group}");
            }
        }
    }
}

/// The same from the definition: group by group, by sets and sums, with nothing shared.
fn oracle(case: &Case) -> (u64, u64, u64) {
    let (before, after) =
        (Placer::new(&case.before.map, &case.before.overlay), Placer::new(&case.after.map, &case.after.overlay));
    let (mut moved, mut groups) = (0, 0);
    let mut surplus: BTreeMap<i32, i128> = BTreeMap::new();
    for (old, new) in case.before.pools.iter().zip(&case.after.pools) {
        for (seed, group) in (0u32..).zip(&old.groups) {
            let shard = group.bytes.div_ceil(u64::from(old.data_shards));
            let held = group.acting.clone().unwrap_or_else(|| before.place(&old.placed, seed).acting.devices);
            let target = after.place(&new.placed, seed).up.devices;
            let new_ones = if old.placed.kind == RuleKind::Erasure {
                target.iter().zip(&held).filter(|(to, from)| **to != NONE && to != from).count()
            } else {
                target.iter().filter(|to| !held.contains(to)).count()
            };
            moved += new_ones as u64 * shard;
            groups += u64::from(new_ones > 0);
            held.iter().filter(|id| **id != NONE).for_each(|id| *surplus.entry(*id).or_default() -= i128::from(shard));
            target.iter().filter(|id| **id != NONE).for_each(|id| *surplus.entry(*id).or_default() += i128::from(shard));
        }
    }
    (moved, groups, surplus.values().filter(|more| **more > 0).sum::<i128>() as u64)
}

fn change() -> impl Strategy<Value = String> {
    let device = 0..16u32;
    prop_oneof![
        device.clone().prop_map(|id| format!("mark_out = \"osd.{id}\"")),
        (0..4u32).prop_map(|host| format!("mark_out = \"host=h{host}\"")),
        device.clone().prop_map(|id| format!("remove = \"osd.{id}\"")),
        (0..4u32).prop_map(|host| format!("remove = [\"host=h{host}\"]")),
        (device.clone(), 0..=10u32).prop_map(|(id, tenths)| format!("reweight = \"osd.{id}={}\"", f64::from(tenths) / 10.0)),
        (device, 0..=40u32).prop_map(|(id, tenths)| format!("crush_reweight = \"osd.{id}={}\"", f64::from(tenths) / 10.0)),
        prop_oneof!["legacy", "bobtail", "firefly", "jewel"].prop_map(|name| format!("tunables = \"{name}\"")),
        (1..6u32).prop_map(|count| format!("add_host = \"h9={count}x2.5:hdd\"")),
        (1..=256u32).prop_map(|count| format!("pgp_num = \"rbd={count}\"")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn moves_are_those_of_the_definition(changes in change()) {
        let case = case(&changes);
        let found = moves(&case);
        let (moved, groups, minimum) = oracle(&case);
        prop_assert_eq!((found.moved_bytes, found.moved_groups, found.minimum_bytes()), (moved, groups, minimum));
        prop_assert!(minimum <= moved);
        prop_assert_eq!(found.flows.iter().map(|flow| flow.2).sum::<u64>(), moved);
        prop_assert_eq!(found.devices.values().map(|device| device.in_bytes).sum::<u64>(), moved);
        prop_assert_eq!(found.devices.values().map(|device| device.present_bytes).sum::<u64>(), found.stored_bytes);
    }

    /// A split divides bytes as it divides hashes, and makes and loses none.
    #[test]
    fn a_split_keeps_every_byte(pg_num in 256..1500u32) {
        let case = case(&format!("pg_num = \"rbd={pg_num}\""));
        let found = moves(&case);
        prop_assert_eq!(found.groups, u64::from(pg_num) + 32);
        prop_assert_eq!(found.stored_bytes, moves(&self::case("")).stored_bytes);
    }
}

#[test]
fn words_tell_groups_bytes_and_the_least() {
    let told: Vec<String> = [
        "",
        "mark_out = \"osd.5\"",
        "remove = \"osd.5\"",
        "reweight = \"osd.6=0.8\"",
        "crush_reweight = \"osd.6=3.2\"",
        "pg_num = \"archive=64\"",
        "pg_num = \"archive=64\"\npgp_num = \"archive=64\"",
        "pg_num = \"archive=16\"",
        "add_host = \"h9=4x3.638:hdd@default\"",
        "tunables = \"legacy\"",
        "remove = \"default\"",
    ]
    .map(|changes| answer(&case(changes)))
    .into();
    insta::assert_snapshot!(told.join("\n"), @"");
}

#[test]
fn removing_everything_is_an_answer() {
    let case = case("remove = \"root=default\"");
    let found = moves(&case);
    assert_eq!((found.moved_bytes, found.groups_homeless, found.groups), (0, 288, 288));
    assert!(case.after.map.bucket(-1).is_some_and(|root| root.items.is_empty()), "rules start from the root, so it stays");
}

#[test]
fn mistakes_are_told_with_what_is_near() {
    let told = |files: BTreeMap<String, Vec<u8>>, text: &str| {
        let problems = draft_case(files, text).expect_err(text);
        let each = problems.iter().map(|problem| {
            format!("{}\n  hint: {}", problem.message(), problem.next_step().unwrap_or_default())
        });
        each.collect::<Vec<_>>().join("\n")
    };
    let changed = |changes: &str| told(usual(), &format!("{USUAL}{changes}"));
    let with = |name: &str, bytes: &[u8]| {
        let mut files = usual();
        files.insert(name.to_owned(), bytes.to_vec());
        told(files, USUAL)
    };
    let osd_dump = String::from_utf8(example("osd_dump.json")).unwrap();
    let all = [
        told(usual(), ""),
        changed("mark_out = \"osd.55\""),
        changed("remove = \"host=h9\""),
        changed("remove = \"rack=h1\""),
        changed("reweight = \"osd.1=3\""),
        changed("reweight = \"osd.1\""),
        changed("crush_reweight = \"h1=3\""),
        changed("pg_num = \"rdb=512\""),
        changed("pgp_num = \"rbd=512\""),
        changed("pg_num = \"rbd=5000000\""),
        changed("add_host = \"h9=4x3.6\""),
        changed("add_host = \"h9=4\""),
        changed("add_host = \"h1=4x1:hdd\""),
        changed("tunables = \"jewl\""),
        with("pg_dump.json.gz", b"{\"pg_ready\":false,\"pg_map\":{\"pg_stats\":[]}}"),
        with("pg_dump.json.gz", b"dumped all\n"),
        with("osd_dump.json", osd_dump.replace("\"crush_rule\":1", "\"crush_rule\":7").as_bytes()),
        with("osd_dump.json", osd_dump.replace("\"k\": \"2\"", "\"k\": \"two\"").as_bytes()),
        with("osd_dump.json", osd_dump.replace("\"pg_num\":256", "\"pg_num\":0").as_bytes()),
        with("osd_dump.json", osd_dump.replace("\"weight\":1,", "\"weight\":nan,").as_bytes()),
        with("crush.txt", b"rule r { id 0 }"),
    ];
    insta::assert_snapshot!(all.join("\n"), @"");
}

#[test]
fn real_exports_are_read_with_what_to_know() {
    let files = || -> BTreeMap<String, Vec<u8>> {
        ["crushmap.bin", "osd_dump.json", "pg_dump.json.gz", "osd_df.json", "report.json.gz"]
            .into_iter()
            .chain(["degraded_osd_dump.json.gz", "degraded_pg_dump.json.gz"])
            .map(|name| (name.to_owned(), export(name)))
            .collect()
    };
    let healthy = "map = \"crushmap.bin\"\nosd_dump = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n";
    let degraded =
        "map = \"crushmap.bin\"\nosd_dump = \"degraded_osd_dump.json.gz\"\npg_dump = \"degraded_pg_dump.json.gz\"\n";
    let told = |text: &str| {
        let case = draft_case(files(), text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        let mut lines = vec![answer(&case)];
        lines.extend(moves(&case).outcome(&case).warnings.iter().map(|warning| format!("  {warning}")));
        lines.join("\n")
    };
    let all = [
        told(&format!("{healthy}mark_out = \"osd.2\"")),
        told(&format!("{degraded}mark_out = \"osd.2\"")),
        told(&format!("{degraded}add_host = \"h9=1x1@default\"")),
        told("report = \"report.json.gz\"\nosd_df = \"osd_df.json\"\nadd_host = \"h9=1x1@default\""),
        told("report = \"report.json.gz\"\npg_dump = \"degraded_pg_dump.json.gz\""),
    ];
    insta::assert_snapshot!(all.join("\n"), @"");
}

#[test]
fn flags_may_be_repeated() {
    let mut document = Document::of_study("preview", Vec::new()).with_files(Arc::new(Folder(usual())));
    for (name, value) in [
        ("map", "crush.txt"),
        ("osd-dump", "osd_dump.json"),
        ("pg-dump", "pg_dump.json.gz"),
        ("mark-out", "[\"osd.1\",\"osd.2\"]"),
        ("reweight", "osd.7=0.8"),
    ] {
        let key = FLAGS.iter().find(|flag| flag.name == name).unwrap().key.parse().unwrap();
        document.set(Setting::of_flag(&format!("--{name}"), &key, value).unwrap()).unwrap();
    }
    let outline = document.outline().unwrap();
    let prepared = Preview.check(outline.points()[0].draft()).unwrap();
    assert_eq!(prepared.resolved()["mark_out"], serde_json::json!(["osd.1", "osd.2"]));
    assert_eq!(prepared.resolved()["reweight"], "osd.7=0.8");
}

#[test]
fn a_stopped_run_says_so() {
    let document = Document::parse(&Source::file("preview.toml", format!("study = \"preview\"\n{USUAL}"))).unwrap();
    let outline = document.with_files(Arc::new(Folder(usual()))).outline().unwrap();
    let prepared = Preview.check(outline.points()[0].draft()).unwrap();
    let context = RunContext {
        seed: Seed(1),
        replicate: 0,
        executor: Executor::Sequential,
        workers: 1,
        stop: &AtomicBool::new(true),
        progress: &|_| {},
        notice: &|_| {},
    };
    let outcome = prepared.run(&context).unwrap();
    assert!(outcome.partial && outcome.measures["moved_bytes"].value().is_none());
}
