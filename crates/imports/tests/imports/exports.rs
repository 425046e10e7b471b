//! Exports of a real cluster (Ceph 16.2.15; three devices, healthy and with one down), and the errors for
//! damaged ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use towtank_imports::ceph::{read_map, read_osd_df, read_osd_dump, read_pg_dump, read_report};
use towtank_imports::{File, ImportError};
use towtank_placement::crush::pools::{PgId, Placer};
use towtank_placement::crush::{RuleKind, binary};

fn bytes(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/exports").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn file<'a>(name: &'a str, bytes: &'a [u8]) -> File<'a> {
    File { name, bytes }
}

#[test]
fn every_form_of_a_map_is_the_same_map() {
    let read = |name: &str| read_map(file(name, &bytes(name))).unwrap().value;
    let want = bytes("crushmap.bin");
    for name in ["crushmap.bin", "crushmap.txt", "osd_crush_dump.json"] {
        assert_eq!(binary::write(&read(name)), want, "{name}");
    }
    let report = read_report(file("report", &bytes("report.json.gz"))).unwrap().value;
    assert_eq!(binary::write(&report.map), want, "report");
}

/// Multi-step-retry rules, in the three forms of a map, and in the words of `ceph osd crush dump` of Squid.
#[test]
fn rules_of_squid_are_the_same_in_every_form() {
    let text = String::from_utf8(bytes("crushmap.txt")).unwrap();
    let (head, rest) = text.split_once("# rules").unwrap();
    let rule = "rule wide {\n id 7\n type msr_indep\n step set_msr_descents 9\n step set_msr_collision_tries 8\n \
                step take default\n step choosemsr 2 type host\n step choosemsr 0 type osd\n step emit\n}\n\
                rule copies {\n id 8\n type msr_firstn\n step take default\n step choosemsr 3 type osd\n step emit\n}\n";
    let text = format!("tunable msr_descents 50\n{head}{rule}{rest}");
    let map = read_map(file("text", text.as_bytes())).unwrap().value;
    let want = binary::write(&map);
    assert_eq!(binary::write(&read_map(file("binary", &want)).unwrap().value), want);
    let mut json = String::new();
    towtank_placement::crush::dump(&map, &mut json).unwrap();
    assert_eq!(binary::write(&read_map(file("dump", json.as_bytes())).unwrap().value), want);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let steps = r#"[{"op": "set_msr_descents", "num": 9}, {"op": "set_msr_collision_tries", "num": 8},
        {"op": "take", "item": -1, "item_name": "default"}, {"op": "choosemsr", "num": 2, "type": "host"},
        {"op": "choosemsr", "num": 0, "type": "osd"}, {"op": "emit"}]"#;
    let wide = json["rules"].as_array().unwrap().iter().find(|rule| rule["rule_id"] == 7).unwrap();
    assert_eq!(wide["type"], 5);
    assert_eq!(wide["steps"], serde_json::from_str::<serde_json::Value>(steps).unwrap());
    let tunables = &json["tunables"];
    for (name, value) in [("msr_descents", 50), ("msr_collision_tries", 100), ("has_msr_rules", 1)] {
        assert_eq!(tunables[name], value, "{name}");
    }
    assert_eq!(tunables["minimum_required_version"], "squid");
}

/// Versions that cannot be read, or that one of several daemons lacks, are said; those of all are not.
#[test]
fn versions_that_cannot_be_read_are_said() {
    let mut text = String::new();
    GzDecoder::new(&bytes("report.json.gz")[..]).read_to_string(&mut text).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let notes = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut report = report.clone();
        change(&mut report["osd_metadata"]);
        let text = report.to_string();
        read_report(file("report", text.as_bytes())).unwrap().notes
    };
    assert_eq!(notes(&|_| ()), Vec::<String>::new());
    let of_one = notes(&|all| all[1]["ceph_version"] = "nonsense".into());
    assert!(of_one[0].contains("can be read for osd.1 (`nonsense`)"), "{of_one:?}");
    let of_two = notes(&|all| {
        all[1]["ceph_version"] = "vampire".into();
        all[2].as_object_mut().unwrap().remove("ceph_version");
    });
    assert!(of_two[0].contains("for osd.1 and 1 more (`vampire`)"), "{of_two:?}");
    let all = |all: &mut serde_json::Value| {
        let all = all.as_array_mut().unwrap().iter_mut();
        all.for_each(|one| drop(one.as_object_mut().unwrap().remove("ceph_version")));
    };
    assert_eq!(notes(&all), Vec::<String>::new());
}

#[test]
fn groups_are_where_the_map_puts_them() {
    let map = read_map(file("map", &bytes("crushmap.bin"))).unwrap().value;
    for (dump, groups, count) in [
        ("osd_dump.json", "pg_dump.json.gz", 65),
        ("degraded_osd_dump.json.gz", "degraded_pg_dump.json.gz", 76),
    ] {
        let dump = read_osd_dump(file(dump, &bytes(dump))).unwrap().value;
        let groups = read_pg_dump(file(groups, &bytes(groups))).unwrap().value;
        assert_eq!((groups.groups.len(), groups.devices.len(), groups.ready), (count, 3, Some(true)));
        let overlay = dump.overlay();
        let placer = Placer::new(&map, &overlay);
        for stat in &groups.groups {
            let pool = dump.pools.iter().find(|pool| pool.id == stat.group.pool).unwrap();
            let placed = placer.place(&pool.placed(), stat.group.seed);
            assert_eq!(
                (placed.up.devices, placed.acting.devices),
                (stat.up.clone(), stat.acting.clone()),
                "{}",
                stat.group
            );
        }
    }
}

#[test]
fn pools_and_fill_are_read() {
    let dump = read_osd_dump(file("dump", &bytes("osd_dump.json"))).unwrap().value;
    let pool = &dump.pools[1];
    assert_eq!(
        (pool.name.as_str(), pool.kind(), pool.pg_num, pool.size),
        ("bench", RuleKind::Replicated, 64, 3)
    );
    assert_eq!(dump.data_shards("default"), Some(2));
    assert_eq!(dump.data_shards("none"), None);
    let fill = read_osd_df(file("df", &bytes("osd_df.json"))).unwrap().value;
    assert_eq!((fill.len(), fill[2].size_bytes, fill[2].used_bytes), (3, 8 << 30, 3_075_268 * 1024));
}

#[test]
fn a_dump_may_have_only_groups() {
    let group = r#"{"pgid":"2.1f","state":"active+clean+remapped","stat_sum":{"num_bytes":7},"up":[1,2147483647],"acting":[1,-1],"acting_primary":1}"#;
    for text in [
        format!("[{group}]"),
        format!("dumped pgs\n{{\"pg_ready\":false,\"pg_stats\":[{group}]}}"),
        format!("{{\"pg_map\":{{\"pg_stats\":[{group}]}}}}"),
    ] {
        let dump = read_pg_dump(file("pgs", text.as_bytes())).unwrap().value;
        let [stat] = &dump.groups[..] else { panic!("{text}") };
        assert_eq!(stat.group, PgId { pool: 2, seed: 31 });
        assert_eq!((stat.up.as_slice(), &stat.up), ([1, i32::MAX].as_slice(), &stat.acting));
        assert!(stat.is("remapped") && !stat.is("remap"));
    }
}

#[test]
fn damage_is_reported_with_file_and_key() {
    let dump = String::from_utf8(bytes("osd_dump.json")).unwrap();
    let refusal = |text: &str| match read_osd_dump(file("osd_dump.json", text.as_bytes())) {
        Ok(_) => panic!("it was read"),
        Err(ImportError { .. }) => {
            read_osd_dump(file("osd_dump.json", text.as_bytes())).unwrap_err().to_string()
        }
    };
    let crush: serde_json::Value = serde_json::from_slice(&bytes("osd_crush_dump.json")).unwrap();
    let crush = crush.to_string();
    let map = |text: &str| read_map(file("crush.json", text.as_bytes())).unwrap_err().to_string();
    let all = [
        refusal("{}"),
        refusal(&dump[..3000]),
        refusal(&dump.replacen("\"crush_rule\":0", "\"crush_rule\":-1", 1)),
        refusal(&dump.replacen("\"size\":3", "\"size\":300", 1)),
        refusal(&dump.replacen("\"osd\":0", "\"osd\":3000000000", 1)),
        refusal(&dump.replacen("\"osd\":0", "\"osd\":1", 1)),
        refusal(&dump.replacen("\"weight\":1", "\"weight\":inf", 1)),
        refusal(&dump.replacen("\"pg_upmap\":[]", "\"pg_upmap\":[{\"pgid\":\"2\",\"osds\":[]}]", 1)),
        map(&crush.replace("choose_firstn", "choose_msr")),
        map(&crush.replace("\"alg\":\"straw2\"", "\"alg\":\"straw3\"")),
        map(&crush.replacen("\"id\":-2,\"name\"", "\"id\":-1,\"name\"", 1)),
        map("nothing of the kind"),
        read_map(file("osdmap.bin", &[8, 7, 0xff, 0xfe])).unwrap_err().to_string(),
        read_pg_dump(file("pg.json", b"{\"pg_ready\":true}")).unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    `osd_dump.json`: missing field `pools` (line 1, column 2)
    `osd_dump.json`: `pools[1].?`: it ends too early: EOF while parsing a string (line 1, column 2999)
    `osd_dump.json`: `pools[0].crush_rule`: invalid value: integer `-1`, expected u32 (line 1, column 884)
    `osd_dump.json`: `pools[0].size`: 300 is not a pool size; sizes go from 1 to 255
    `osd_dump.json`: `osds[0].osd`: 3000000000 is not a device id; ids go from 0 to 999999 (line 1, column 3855)
    `osd_dump.json`: `osds[1].osd`: 1 is also the id of `osds[0]`
    `osd_dump.json`: `osds[0].weight`: a number is missing, nan or infinite (line 1, column 3920)
    `osd_dump.json`: `pg_upmap[0].pgid`: "2" is not a placement group, such as "2.3f" (line 1, column 7259)
    `crush.json`: `rules[0]`: Towtank does not support the step "choose_msr", and placements without it would be wrong
    `crush.json`: `buckets[0]`: "straw3" is not a bucket algorithm
    `crush.json`: `buckets[1]`: -1 is already used, or is not a bucket id
    `crush.json`: line 1, column 12: found `the`, but expected `{`
    `osdmap.bin`: it is neither text nor a binary CRUSH map
    `pg.json`: it has neither `pg_map` nor `pg_stats`
    "#);
}

/// The groups of a pool whose split groups still lie together (`pg_num` 512, `pgp_num` 256), with explicit
/// mappings, replicated and erasure-coded, with all devices in and with one out, lie where `osdmaptool
/// --test-map-pgs-dump` of 16.2.15 puts them. The explicit mappings were made by `osdmaptool --upmap`; the
/// dumps by its `--dump json`.
#[test]
fn split_and_mapped_groups_are_where_osdmaptool_has_them() {
    let map = read_map(file("map", &bytes("osdmaptool/crush.txt"))).unwrap().value;
    let unpacked = |name: &str| {
        let mut text = String::new();
        GzDecoder::new(&bytes(name)[..]).read_to_string(&mut text).unwrap();
        text
    };
    for (kind, out, mapped) in [("replicated", 6, 56), ("coded", 13, 58)] {
        let name = format!("osdmaptool/{kind}_osd_dump.json.gz");
        let dump = read_osd_dump(file(&name, &bytes(&name))).unwrap().value;
        let pool = dump.pools[0].placed();
        assert_eq!((pool.pg_num, pool.pgp_num, dump.overlay().upmap_items.len()), (512, 256, mapped));
        for (without, groups) in [(None, "pgs".to_owned()), (Some(out), format!("out_{out}_pgs"))] {
            let mut overlay = dump.overlay();
            if let Some(device) = without {
                overlay.devices[device].weight = 0;
            }
            let placer = Placer::new(&map, &overlay);
            let text = unpacked(&format!("osdmaptool/{kind}_{groups}.txt.gz"));
            assert_eq!(text.lines().count(), 512);
            for (seed, line) in text.lines().enumerate() {
                let up = placer.place(&pool, seed as u32).up;
                let found = format!("1.{seed:x}\t{:?}\t{}", up.devices, up.primary.unwrap()).replace(' ', "");
                assert_eq!(found, line, "{kind}, {without:?} out");
            }
        }
    }
}

/// The output of `ceph osd getmap` is neither a CRUSH map nor JSON: both readers say what to export from it.
/// Other bytes are not mistaken for it.
#[test]
fn a_binary_osd_map_is_refused_with_what_to_export() {
    let map = bytes("osdmap.bin");
    let map_error = read_map(file("osdmap.bin", &map)).unwrap_err();
    let dump_error = read_osd_dump(file("osdmap.bin", &map)).unwrap_err();
    for error in [map_error, dump_error] {
        assert!(error.reason.contains("the binary osd map of `ceph osd getmap`"), "{error}");
        let hint = error.hint.unwrap();
        assert!(hint.contains("--export-crush") && hint.contains("--dump json"), "{hint}");
    }
    for other in [&map[..map.len() - 1], &map[1..], b"\x08\x07"] {
        let error = read_map(file("other.bin", other)).unwrap_err();
        assert!(!error.reason.contains("osd map"), "{error}");
    }
}
