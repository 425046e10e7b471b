//! The study against Ceph's own tools, against a slow oracle, and on exports as irregular as real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use towtank_ceph::LaidOut;
use towtank_placement::crush::pools::{FULL, PgId, Placer};
use towtank_placement::crush::{NONE, RuleKind};
use towtank_scenario::{Document, Setting, Source};
use towtank_streams::Seed;

use super::moves::DeviceMoves;
use super::safety::Safety;
use super::*;
use crate::exports::samples::{self, Folder};
use towtank_study::{PointResult, StopAsked, Study};

mod limits;
mod rule;

fn usual() -> BTreeMap<String, Vec<u8>> {
    samples::example().0
}

const USUAL: &str = samples::EXAMPLE;

fn draft_case(files: BTreeMap<String, Vec<u8>>, text: &str) -> Result<Case, Problems> {
    let text = format!("study = \"preview\"\n{text}");
    let document = Document::parse(&Source::file("preview.toml", text))?.with_files(Arc::new(Folder(files)));
    let outline = document.outline()?;
    let draft = outline.points()[0].draft();
    Case::of(&draft.read::<Scenario>()?, draft)
}

fn case(changes: &str) -> Case {
    draft_case(usual(), &format!("{USUAL}{changes}"))
        .unwrap_or_else(|problems| panic!("{changes}: {problems:?}"))
}

fn moves(case: &Case) -> Moves {
    let context = RunContext::alone(Seed(1), 0);
    Moves::of(case, &context).unwrap().unwrap()
}

fn outcome(case: &Case) -> Outcome {
    let replicate = observed::replicate(case, moves(case));
    towtank_study::outcome::<Preview>(replicate, &observed::measures()).unwrap()
}

fn answer(case: &Case) -> String {
    let outcomes = [outcome(case)];
    let scenario = serde_json::json!({});
    Preview.present(&[PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes }]).answer.prose()
}

/// A group of a golden file: `1.2f [3,1,2] 3`, with tabs between.
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

/// `osdmaptool` gives the groups after the change, and the explicit mappings that the monitors drop. Its dump
/// is made before the dropping, so groups of dropped mappings are left out.
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

/// The same results from the definition: group by group, with sets and sums, and no shared code.
fn oracle(case: &Case) -> (u64, u64, u64) {
    let (before, after) = (
        Placer::new(&case.before.map, &case.before.overlay),
        Placer::new(&case.after.map, &case.after.overlay),
    );
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
            held.iter()
                .filter(|id| **id != NONE)
                .for_each(|id| *surplus.entry(*id).or_default() -= i128::from(shard));
            target
                .iter()
                .filter(|id| **id != NONE)
                .for_each(|id| *surplus.entry(*id).or_default() += i128::from(shard));
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
        (device.clone(), 0..=10u32)
            .prop_map(|(id, tenths)| format!("reweight = \"osd.{id}={}\"", f64::from(tenths) / 10.0)),
        (device, 0..=40u32)
            .prop_map(|(id, tenths)| format!("crush_reweight = \"osd.{id}={}\"", f64::from(tenths) / 10.0)),
        prop_oneof!["legacy", "bobtail", "firefly", "jewel"]
            .prop_map(|name| format!("tunables = \"{name}\"")),
        (1..6u32).prop_map(|count| format!("add_host = \"h9={count}x2.5:hdd\"")),
        (1..=256u32).prop_map(|count| format!("pgp_num = \"rbd={count}\"")),
        another_rule(),
        (another_rule(), 0..16u32).prop_map(|(rule, id)| format!("{rule}\nmark_out = \"osd.{id}\"")),
    ]
}

fn another_rule() -> impl Strategy<Value = String> {
    let of_rbd = prop_oneof!["by_osd", "flash", "two_hosts", "one_device", "2"];
    prop_oneof![of_rbd.prop_map(|rule| format!("rbd={rule}")), Just("archive=shards_by_osd".to_owned())]
        .prop_map(|text| format!("rule = \"{text}\""))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn moves_are_those_of_the_definition(changes in change()) {
        let case = rule::ruled_case(&changes);
        let found = moves(&case);
        let (moved, groups, minimum) = oracle(&case);
        prop_assert_eq!((found.moved_bytes, found.moved_groups, found.minimum_bytes()), (moved, groups, minimum));
        prop_assert!(minimum <= moved);
        prop_assert_eq!(found.flows.iter().map(|flow| flow.2).sum::<u64>(), moved);
        prop_assert_eq!(found.devices.values().map(|device| device.in_bytes).sum::<u64>(), moved);
        prop_assert_eq!(found.devices.values().map(|device| device.present_bytes).sum::<u64>(), found.stored_bytes);
    }

    /// A split divides bytes as it divides hashes, and the total stays the same.
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
    let answers: Vec<String> = [
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
    insta::assert_snapshot!(answers.join("\n"), @"
    Safe: no group is short of copies or without a device, and no device is above a limit of fill. no change: 0/288 (0.00 %) groups, 0 B/30.03 TiB (0.0 %) bytes to move; the least possible is 0 B.
    At risk: osd.4 would be 91.6 % full with all that is to move there, above backfillfull (90 %). osd.5 out: 77/288 (26.74 %) groups, 2.598 TiB/30.03 TiB (8.7 %) bytes to move; the least possible is 2.463 TiB.
    At risk: osd.6 would be 93.6 % full with all that is to move there, above backfillfull (90 %), and 1 more above nearfull. osd.5 removed: 120/288 (41.67 %) groups, 4.81 TiB/30.03 TiB (16.0 %) bytes to move; the least possible is 2.615 TiB.
    Safe: no group is short of copies or without a device, and no device is above a limit of fill. osd.6 reweighted to 0.8: 3/288 (1.04 %) groups, 109.8 GiB/30.03 TiB (0.4 %) bytes to move; the least possible is 109.8 GiB.
    Safe: no group is short of copies or without a device, and no device is above a limit of fill. osd.6 of weight 3.2: 11/288 (3.82 %) groups, 452.5 GiB/30.03 TiB (1.5 %) bytes to move; the least possible is 347.5 GiB.
    Safe: no group is short of copies or without a device, and no device is above a limit of fill. archive with 64 groups: 32/320 (10.00 %) groups, 1.774 TiB/30.03 TiB (5.9 %) bytes to move; the least possible is 407.3 GiB.
    Safe: no group is short of copies or without a device, and no device is above a limit of fill. archive with 64 groups, archive with pgp_num 64: 32/320 (10.00 %) groups, 1.774 TiB/30.03 TiB (5.9 %) bytes to move; the least possible is 407.3 GiB.
    Safe: no group is short of copies or without a device, and no device is above a limit of fill. archive with 16 groups: 16/288 (5.56 %) groups, 1.739 TiB/30.03 TiB (5.8 %) bytes to move; the least possible is 600.7 GiB.
    Safe: no group is short of copies or without a device, and no device is above a limit of fill. host h9 added with osd.16, osd.17, osd.18, osd.19: 204/288 (70.83 %) groups, 9.088 TiB/30.03 TiB (30.3 %) bytes to move; the least possible is 6.83 TiB.
    Safe: no group is short of copies or without a device, and no device is above a limit of fill. tunables legacy: 119/288 (41.32 %) groups, 5.142 TiB/30.03 TiB (17.1 %) bytes to move; the least possible is 955.7 GiB.
    Not safe: 288 groups would have fewer than `min_size` devices by the map, and would take writes only while those that hold them now stay up. default removed: 0/288 (0.00 %) groups, 0 B/30.03 TiB (0.0 %) bytes to move; the least possible is 0 B.
    ");
}

#[test]
fn removing_everything_is_an_answer() {
    let case = case("remove = \"root=default\"");
    let found = moves(&case);
    assert_eq!((found.moved_bytes, found.safety.on_old_devices, found.groups), (0, 288, 288));
    assert!(
        case.after.map.bucket(-1).is_some_and(|root| root.items.is_empty()),
        "rules start from the root, so it stays"
    );
}

#[test]
fn mistakes_are_refused_with_what_is_near() {
    let refusal = |files: BTreeMap<String, Vec<u8>>, text: &str| {
        let problems = draft_case(files, text).expect_err(text);
        let each = problems.iter().map(|problem| {
            format!("{}\n  hint: {}", problem.message(), problem.next_step().unwrap_or_default())
        });
        each.collect::<Vec<_>>().join("\n")
    };
    let changed = |changes: &str| refusal(usual(), &format!("{USUAL}{changes}"));
    let with = |name: &str, bytes: &[u8]| {
        let mut files = usual();
        files.insert(name.to_owned(), bytes.to_vec());
        refusal(files, USUAL)
    };
    let osd_dump = String::from_utf8(usual()["osd_dump.json"].clone()).unwrap();
    let all = [
        refusal(usual(), ""),
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
    insta::assert_snapshot!(all.join("\n"), @r#"
    `crush_map` is missing
      hint: name the file that `ceph osd getcrushmap -o FILE` wrote: --crush-map FILE, or crush_map = "FILE"; or set `report` to the output of `ceph report`
    `mark_out` is "osd.55": there is no device or bucket called `osd.55`
      hint: the devices are osd.0 to osd.15
    `remove` is "host=h9": there is no device or bucket called `h9`
      hint: those that there are: h3, h2, h1, h0, default, osd.0, osd.1, osd.2, osd.3, osd.4, osd.5, osd.6, …
    `remove` is "rack=h1": `h1` is of type host, not rack
      hint: write `host=h1`
    `reweight` is "osd.1=3": the override is 3, but overrides go from 0 to 1
      hint: for the weight in the map, usually the size in TiB, use `crush_reweight`
    `reweight` is "osd.1": there is no `=` in it
      hint: write it as in `osd.7=0.8`
    `crush_reweight` is "h1=3": `h1` is a bucket, not a device
      hint: name a device, such as osd.0
    `pg_num` is "rdb=512": there is no pool called `rdb`
      hint: did you mean `rbd`?
    `pgp_num` is "rbd=512": pool `rbd` has only 256 groups, so its `pgp_num` cannot be 512
      hint: raise `pg_num` too, at the same time or before: --pg-num rbd=512
    `pg_num` is "rbd=5000000": Ceph refuses 5000000 groups of a pool, more than 65536 (`mon_max_pool_pg_num`)
      hint: set at most 65536
    `add_host` is "h9=4x3.6": the devices of the map are of several classes: hdd, ssd
      hint: set the class of the new devices: `h9=4x3.6:hdd`
    `add_host` is "h9=4": it lacks the number and weight of the devices
      hint: write it as in `h9=4x3.6:ssd@rack1`
    `add_host` is "h1=4x1:hdd": `h1` is item -3 of the map already
      hint: choose another name
    `tunables`: there is no profile called `jewl`
      hint: did you mean `jewel`?
    `pg_dump.json.gz`: `pg_ready`: the manager had not heard from every device when it was made
      hint: wait until `ceph pg dump -f json` says "pg_ready": true, and export it again
    `pg_dump.json.gz`: the file contains no JSON
      hint: it should be the output of `ceph pg dump -f json`
    `osd_dump.json`: `pools[1].crush_rule`: pool `archive` has rule 7, which `crush.txt` lacks
      hint: export both at the same time; the rules of the map are 0 (replicated_rule), 1 (coded)
    `osd_dump.json`: `pools[1].erasure_code_profile`: pool `archive` has profile `k2m2`, but `erasure_code_profiles` has no `k` for it
      hint: export it again, in full: shards are 1/k of the data
    `osd_dump.json`: `pools[0].pg_num`: it is 0, but a pool has at least 1 placement group
      hint: export `osd_dump` again, or correct it
    `osd_dump.json`: `osds[0].weight`: a number is missing, nan or infinite (line 6, column 36)
      hint: it should be the output of `ceph osd dump -f json`
    `crush.txt`: line 1, column 15: found `}`, but expected `type`
      hint: export `crush_map` again, or correct it
    "#);
}

#[test]
fn real_exports_are_read_with_what_to_know() {
    let files = || {
        let whole = ["crushmap.bin", "osd_dump.json", "pg_dump.json.gz", "osd_df.json", "report.json.gz"];
        samples::live(&[&whole[..], &["degraded_osd_dump.json.gz", "degraded_pg_dump.json.gz"]].concat()).0
    };
    let healthy =
        "crush_map = \"crushmap.bin\"\nosd_dump = \"osd_dump.json\"\npg_dump = \"pg_dump.json.gz\"\n";
    let degraded = "crush_map = \"crushmap.bin\"\nosd_dump = \"degraded_osd_dump.json.gz\"\npg_dump = \"degraded_pg_dump.json.gz\"\n";
    let shown = |text: &str| {
        let case = draft_case(files(), text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        let mut lines = vec![answer(&case)];
        lines.extend(outcome(&case).warnings.iter().map(|warning| format!("  {}", warning.text)));
        lines.join("\n")
    };
    let all = [
        shown(&format!("{healthy}mark_out = \"osd.2\"")),
        shown(&format!("{degraded}mark_out = \"osd.2\"")),
        shown(&format!("{degraded}add_host = \"h9=1x1@default\"")),
        shown("report = \"report.json.gz\"\nosd_df = \"osd_df.json\"\nadd_host = \"h9=1x1@default\""),
        shown("report = \"report.json.gz\"\npg_dump = \"degraded_pg_dump.json.gz\""),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    At risk: 65 groups would be short of copies. osd.2 out: 0/65 (0.00 %) groups, 0 B/6 GiB (0.0 %) bytes to move; the least possible is 0 B.
      2 pools of `osd_dump.json`, such as `device_health_metrics`, take writes with a single copy (`min_size` 1): what was written then is lost with that device
    At risk: 76 groups would be short of copies (76 now). osd.2 out: 0/76 (0.00 %) groups, 0 B/4.105 GiB (0.0 %) bytes to move; the least possible is 0 B.
      6 pools of `degraded_osd_dump.json.gz`, such as `device_health_metrics`, take writes with a single copy (`min_size` 1): what was written then is lost with that device
      75 of 76 groups in `degraded_pg_dump.json.gz` are degraded: their missing copies are counted as bytes to move where the map has a device for them
      76 of 76 groups in `degraded_pg_dump.json.gz` are undersized: they have fewer copies than their pool requires; what the map has a device for is counted as bytes to move
    Not safe: 50 groups would be short of copies (76 now). host h9 added with osd.3: 60/76 (78.95 %) groups, 1.618 GiB/4.105 GiB (39.4 %) bytes to move; the least possible is 1.618 GiB.
      6 pools of `degraded_osd_dump.json.gz`, such as `device_health_metrics`, take writes with a single copy (`min_size` 1): what was written then is lost with that device
      75 of 76 groups in `degraded_pg_dump.json.gz` are degraded: their missing copies are counted as bytes to move where the map has a device for them
      76 of 76 groups in `degraded_pg_dump.json.gz` are undersized: they have fewer copies than their pool requires; what the map has a device for is counted as bytes to move
      osd.2 is down and in: groups wait for it, and `noout` keeps it in, so nothing of these moves until it is unset; --mark-out osd.2 shows what moves then
    At risk: 14 groups have all copies or shards on one host, and would be lost with it. host h9 added with osd.3: 51/65 (78.46 %) groups, 1.594 GiB/6 GiB (26.6 %) bytes to move; the least possible is 1.594 GiB.
      2 pools of `report.json.gz`, such as `device_health_metrics`, take writes with a single copy (`min_size` 1): what was written then is lost with that device
      there is no `pg_dump`, so all groups of a pool are assumed to have the same size and to be served where the map and its temporary mappings (`pg_temp`) have them
    Unknown: 65 groups are short of copies now; 65 groups have all copies or shards on one host, and would be lost with it; 65 groups belong elsewhere by the map than by `pg_dump`: were they exported at different times? no change: 65/65 (100.00 %) groups, 2 GiB/4 GiB (50.0 %) bytes to move; the least possible is 2 GiB.
      2 pools of `report.json.gz`, such as `device_health_metrics`, take writes with a single copy (`min_size` 1): what was written then is lost with that device
      `degraded_pg_dump.json.gz` has 1 group of pool 3, which the osd dump lacks: left out
      `degraded_pg_dump.json.gz` has 1 group of pool 4, which the osd dump lacks: left out
      `degraded_pg_dump.json.gz` has 1 group of pool 5, which the osd dump lacks: left out
      `degraded_pg_dump.json.gz` has 8 groups of pool 6, which the osd dump lacks: left out
      75 of 76 groups in `degraded_pg_dump.json.gz` are degraded: their missing copies are counted as bytes to move where the map has a device for them
      76 of 76 groups in `degraded_pg_dump.json.gz` are undersized: they have fewer copies than their pool requires; what the map has a device for is counted as bytes to move
      nothing is changed; data that moves is already in transit
      65 groups belong elsewhere by `crush_map` and `osd_dump` than by `pg_dump`, such as 1.0: were they exported at different times?
    ");
}

/// A fault that was mended: 58 groups were short of copies, and the answer said only that 0 B are to move.
#[test]
fn groups_short_of_copies_come_before_what_moves() {
    let files =
        || samples::live(&["crushmap.bin", "degraded_osd_dump.json.gz", "degraded_pg_dump.json.gz"]).0;
    let degraded = "crush_map = \"crushmap.bin\"\nosd_dump = \"degraded_osd_dump.json.gz\"\npg_dump = \"degraded_pg_dump.json.gz\"\n";
    let case = draft_case(files(), degraded).unwrap();
    let answer = answer(&case);
    assert!(
        answer.starts_with("Not safe: 76 groups would be short of copies (76 now). no change: "),
        "{answer}"
    );
    let outcome = outcome(&case);
    let value = |name: &str| outcome.measures[name].value();
    assert_eq!((value("groups_short_now"), value("groups_short")), (Some(76.0), Some(76.0)));
    assert_eq!((value("groups_below_min_size"), value("groups_inactive_now")), (Some(0.0), Some(0.0)));
}

/// The example with one text of its osd dump replaced.
fn planted(from: &str, to: &str, changes: &str) -> Case {
    let mut files = usual();
    let dump = String::from_utf8(files["osd_dump.json"].clone()).unwrap();
    assert!(dump.contains(from), "{from}");
    files.insert("osd_dump.json".to_owned(), dump.replace(from, to).into_bytes());
    draft_case(files, &format!("{USUAL}{changes}")).unwrap()
}

/// A fault that was mended: a device at 91.6 % was not mentioned.
#[test]
fn a_device_above_backfillfull_comes_before_what_moves() {
    let text = answer(&case("mark_out = \"osd.5\""));
    assert!(
        text.starts_with("At risk: osd.4 would be 91.6 % full with all that is to move there, above backfillfull (90 %). osd.5 out: 77/288"),
        "{text}"
    );
    let ratios = "\"backfillfull_ratio\": 0";
    let text = answer(&planted(ratios, "\"backfillfull_ratio\": 0.92", "mark_out = \"osd.5\""));
    assert!(
        text.starts_with("At risk: osd.4 would be 91.6 % full, above nearfull (85 %). osd.5 out: 77/288"),
        "{text}"
    );
}

#[test]
fn groups_that_only_old_devices_serve_are_named() {
    let asked = |verb: &str| {
        let text = format!("{verb} = [\"host=h2\", \"host=h3\"]");
        planted("\"min_size\":2", "\"min_size\":3", &text)
    };
    // Two hosts hold no three copies of a group; what is up serves on until it is switched off.
    for verb in ["remove", "mark_out"] {
        let case = asked(verb);
        let outcome = outcome(&case);
        let count = |measure: &str| outcome.measures[measure].value().unwrap();
        let counts = ["groups_on_old_devices", "groups_below_min_size"].map(count);
        assert!(counts[0] >= 256.0 && counts[1] == 0.0, "{verb}: {counts:?}");
        let text = answer(&case);
        assert!(
            text.contains("would take writes only while those that hold them now stay up"),
            "{verb}: {text}"
        );
    }
}

#[test]
fn unsafe_changes_of_a_sweep_come_before_the_best_one() {
    let cases = [case("mark_out = \"osd.7\""), case("mark_out = \"osd.5\"")];
    let outcomes = cases.each_ref().map(|case| [outcome(case)]);
    let settings = ["osd.7", "osd.5"].map(|device| [("mark_out".to_owned(), serde_json::json!(device))]);
    let scenario = serde_json::json!({});
    let points: Vec<PointResult<'_>> = settings
        .iter()
        .zip(&outcomes)
        .map(|(settings, outcomes)| PointResult { settings, scenario: &scenario, outcomes })
        .collect();
    let text = Preview.present(&points).answer.prose();
    let front = "At risk: mark out osd.5: osd.4 would be 91.6 % full with all that is to move there, above backfillfull (90 %). mark out osd.5 is at risk or not safe. mark out osd.7 moves least";
    assert!(text.starts_with(front), "{text}");
}

#[test]
fn flags_may_be_repeated() {
    let mut document = Document::of_study("preview", Vec::new()).with_files(Arc::new(Folder(usual())));
    for (name, value) in [
        ("crush-map", "crush.txt"),
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
    let document =
        Document::parse(&Source::file("preview.toml", format!("study = \"preview\"\n{USUAL}"))).unwrap();
    let outline = document.with_files(Arc::new(Folder(usual()))).outline().unwrap();
    let prepared = Preview.check(outline.points()[0].draft()).unwrap();
    let stop = AtomicBool::new(true);
    let context = RunContext { stop: StopAsked::by(&stop), ..RunContext::alone(Seed(1), 0) };
    let outcome = prepared.run(&context).unwrap();
    assert!(outcome.partial && outcome.measures["moved_bytes"].value().is_none());
}

/// Keys are made in a fixed order, so two that set one thing differently cannot both be meant.
#[test]
fn changes_that_contradict_each_other_are_refused() {
    let refused = |changes: &str| -> String {
        let refused = draft_case(usual(), &format!("{USUAL}{changes}")).map(|_| ());
        refused.expect_err(changes).iter().map(ToString::to_string).collect()
    };
    for (changes, want) in [
        ("mark_out = 'osd.5'\nreweight = 'osd.5=1'", "the override of osd.5 is also set by `mark_out`"),
        ("mark_out = 'host=h1'\nreweight = 'osd.5=0.5'", "the override of osd.5 is also set by `mark_out`"),
        ("reweight = ['osd.5=0.5', 'osd.5=0.6']", "the override of osd.5 is also set by `reweight`"),
        ("crush_reweight = ['osd.5=1', 'osd.5=2']", "the weight of osd.5 is also set"),
        ("pg_num = ['rbd=512', 'rbd=256']", "`pg_num` of pool `rbd` is also set"),
        ("mark_out = 'osd.5'\nremove = 'osd.5'", "`osd.5` is not in the map any more"),
    ] {
        let found = refused(changes);
        assert!(found.contains(want), "{changes}: {found}");
    }
    for changes in [
        "mark_out = ['osd.5', 'host=h1']",
        "reweight = ['osd.5=0.5', 'osd.6=0.5']\nmark_out = 'osd.7'\ncrush_reweight = 'osd.5=1'",
        "pg_num = 'rbd=512'\npgp_num = 'rbd=512'",
        "reweight = ['osd.5=0.5', 'osd.5=0.5']",
    ] {
        case(changes);
    }
}

/// A fault that was mended: an answer was safe although a flag kept all of it from moving.
#[test]
fn what_a_flag_keeps_from_moving_is_not_safe() {
    let with = |flags: &str, change: &str| {
        answer(&planted("\"flags\": \"\"", &format!("\"flags\": \"{flags}\""), change))
    };
    let change = "reweight = \"osd.7=0.9\"";
    for (flags, words) in [
        ("nobackfill", "nothing of this moves while `nobackfill` is set"),
        ("norecover,nobackfill", "nothing of this moves while `norecover` and `nobackfill` are set"),
        ("norebalance", "of this, what lacks no copy stays where it is while `norebalance` is set"),
    ] {
        let text = with(flags, change);
        assert!(text.starts_with("At risk: ") && text.contains(words), "{flags}: {text}");
        // Where nothing is to move, nothing is kept from it.
        let text = with(flags, "");
        assert!(text.starts_with("Safe") && !text.contains("while"), "{flags}: {text}");
    }
    assert!(!answer(&case(change)).contains("while"));
}

/// A fault that was mended: nothing was to move, beside missing copies that counted as bytes to move.
#[test]
fn groups_that_wait_for_a_device_are_said_to_wait() {
    let files = samples::live(&["crushmap.bin", "degraded_osd_dump.json.gz", "degraded_pg_dump.json.gz"]).0;
    let degraded = "crush_map = \"crushmap.bin\"\nosd_dump = \"degraded_osd_dump.json.gz\"\npg_dump = \"degraded_pg_dump.json.gz\"\n";
    let warnings = draft_case(files, degraded).unwrap().warnings;
    let says = |words: &str| warnings.iter().any(|warning| warning.text.contains(words));
    assert!(
        says("osd.2 is down and in: groups wait for it, and `noout` keeps it in, so nothing of these moves"),
        "{warnings:?}"
    );
    assert!(
        says("their missing copies are counted as bytes to move where the map has a device"),
        "{warnings:?}"
    );
    assert!(case("").warnings.iter().all(|warning| !warning.text.contains("down and in")));
}
