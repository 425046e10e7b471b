//! Exports that Ceph does not write are refused, with the file, the key, the limit and what to do; those that
//! it writes in other forms are read; those of different times are named.

use serde_json::{Value as Json, json};
use towtank_report::Status;

use super::flags::said;
use super::*;

/// The example with its osd dump and its dump of groups changed.
fn edited(dump: impl FnOnce(&mut Json), groups: impl FnOnce(&mut Vec<Json>)) -> Folder {
    let mut folder = example();
    let mut osds: Json = serde_json::from_slice(&folder.0["osd_dump.json"]).unwrap();
    dump(&mut osds);
    let text = crate::exports::samples::unpacked(&folder, "pg_dump.json.gz");
    let mut all: Json = serde_json::from_str(&text).unwrap();
    groups(all["pg_map"]["pg_stats"].as_array_mut().unwrap());
    folder.0.insert("osd_dump.json".to_owned(), osds.to_string().into_bytes());
    folder.0.insert("pg_dump.json.gz".to_owned(), all.to_string().into_bytes());
    folder
}

fn refusal(folder: Folder) -> String {
    let Err(problems) = prepared(&Whatif, folder, EXAMPLE) else { panic!("it is accepted") };
    let all = problems.iter().map(|problem| format!("{}; {:?}", problem.message(), problem));
    all.collect::<Vec<_>>().join("\n")
}

/// The first group with a key of another value.
fn group(key: &str, value: Json) -> Folder {
    edited(|_| {}, |groups| groups[0][key] = value)
}

#[test]
fn groups_that_ceph_does_not_write_are_refused() {
    for (folder, parts) in [
        (
            group("acting", json!([13, 13, 13])),
            ["has osd.13 twice, and a group has each device once", "acting", "export it again"],
        ),
        (group("up", json!([13, 2, 13])), ["has osd.13 twice", "up", "export it again"]),
        (
            group("acting", json!([0, 1, 2, 3, 4, 5])),
            [
                "`acting` of group",
                "has 6 devices, more than the 3 of pool `rbd` (`size`)",
                "at the same time",
            ],
        ),
        (
            group("acting", json!([0, 5, 99])),
            ["has osd.99, which `osd_dump.json` lacks", "pg_dump.json.gz", "at the same time"],
        ),
        (
            group("acting", json!([])),
            ["is `active+clean` and has no device", "pg_map.pg_stats[0].acting", "export it again"],
        ),
        (
            edited(|_| {}, |groups| groups[0]["stat_sum"]["num_bytes"] = json!(1e300)),
            ["more than a sum of 64 bits holds", "num_bytes", "pg_dump.json.gz"],
        ),
    ] {
        let refused = refusal(folder);
        parts.iter().for_each(|part| assert!(refused.contains(part), "{part}: {refused}"));
    }
}

#[test]
fn osd_dumps_that_ceph_does_not_write_are_refused() {
    let dump = |key: &'static str, value: Json| edited(|dump| dump[key] = value, |_| {});
    for (folder, parts) in [
        (dump("flags", json!(7)), ["words separated by `,`, or a list of words", "flags"]),
        (dump("flags", json!(["noout", 7])), ["expected a string", "flags"]),
        (dump("backfillfull_ratio", json!(90)), ["90 is not between 0 and 1", "backfillfull_ratio"]),
        (dump("full_ratio", json!("0.95")), ["invalid type: string", "full_ratio"]),
        (dump("require_osd_release", json!(14)), ["invalid type: integer", "require_osd_release"]),
    ] {
        let refused = refusal(folder);
        parts.iter().for_each(|part| assert!(refused.contains(part), "{part}: {refused}"));
    }
}

/// The flags of a map stand in a word, in a list, or in `flags_set` alone: each form keeps what fails in.
#[test]
fn flags_are_read_in_each_of_their_forms() {
    for (key, value) in [
        ("flags", json!("sortbitwise,noout")),
        ("flags", json!(["sortbitwise", "noout"])),
        ("flags_set", json!(["noout", "sortbitwise"])),
    ] {
        let folder = edited(|dump| dump[key] = value.clone(), |_| {});
        let (outcome, _) = said(folder, "fail = \"osd.3\"");
        assert_eq!(outcome.measures["moved_objects"].value(), Some(0.0), "{key} {value}");
    }
    let (outcome, _) = said(example(), "fail = \"osd.3\"");
    assert!(outcome.measures["moved_objects"].value() > Some(0.0));
}

/// A pool that takes no writes is in the first line; a flag of a pool that is not known is named.
#[test]
fn flags_of_pools_are_named() {
    let pool = |flags: &'static str| edited(|dump| dump["pools"][0]["flags_names"] = flags.into(), |_| {});
    let (_, full) = said(pool("hashpspool,full"), "");
    let verdict = full.verdict.unwrap();
    assert_eq!(verdict.status(), Status::NotSafe);
    assert!(verdict.reason().starts_with("pool `rbd` has the flag `full`"), "{}", verdict.reason());
    let (_, quota) = said(pool("hashpspool,full,full_quota"), "");
    assert!(quota.verdict.unwrap().reason().contains("full by its quota"));
    let (outcome, _) = said(pool("hashpspool,nofuture"), "");
    assert!(outcome.warnings.iter().any(|one| one.text.contains("`nofuture`")), "{:?}", outcome.warnings);
    let (_, usual) = said(pool("hashpspool,selfmanaged_snaps"), "");
    assert_eq!(usual.verdict.unwrap().status(), Status::Safe);
}

/// A temporary mapping of the map that the dump of groups does not follow: the two are of different times.
#[test]
fn temporary_mappings_that_the_dump_does_not_follow_are_named() {
    let temporary = |osds: Json| {
        edited(
            |dump| dump["pg_temp"] = json!([{ "pgid": "1.5", "osds": osds }]),
            |groups| {
                let group = groups.iter_mut().find(|group| group["pgid"] == "1.5").unwrap();
                group["acting"] = json!([1, 4, 8]);
                group["acting_primary"] = json!(1);
                group["state"] = json!("active+remapped+backfilling");
            },
        )
    };
    let (_, alike) = said(temporary(json!([1, 4, 8])), "");
    assert!(!alike.verdict.unwrap().reason().contains("pg_temp"));
    let (_, apart) = said(temporary(json!([1, 4, 12])), "");
    let verdict = apart.verdict.unwrap();
    assert_eq!(verdict.status(), Status::Unknown, "{}", verdict.reason());
    assert!(verdict.reason().contains("1 group is served elsewhere by the temporary mappings"));
}

/// Ceph's sums have a sign, and are negative where its statistics are wrong; counts of devices have none.
#[test]
fn negative_sums_are_named_and_negative_counts_refused() {
    let folder = edited(|_| {}, |groups| groups[0]["stat_sum"]["num_objects"] = json!(-5));
    let (outcome, _) = said(folder, "");
    let named = outcome.warnings.iter().any(|one| one.text.contains("1 group with negative sums, such as"));
    assert!(named, "{:?}", outcome.warnings);
    let mut folder = example();
    let text = crate::exports::samples::unpacked(&folder, "pg_dump.json.gz");
    let mut dump: Json = serde_json::from_str(&text).unwrap();
    dump["pg_map"]["osd_stats"][0]["kb_used"] = json!(-1);
    folder.0.insert("pg_dump.json.gz".to_owned(), dump.to_string().into_bytes());
    let refused = refusal(folder);
    assert!(refused.contains("-1 is negative, and a count is 0 at least"), "{refused}");
}

/// Values that contradict each other are named in the answer of the study, each in its words.
#[test]
fn values_that_contradict_each_other_are_named() {
    let of = |folder: Folder| {
        let (outcome, _) = said(folder, "");
        outcome.warnings.into_iter().map(|warning| warning.text).collect::<Vec<_>>().join("\n")
    };
    let usual = of(example());
    for (folder, words) in [
        (edited(|dump| dump["pools"][0]["min_size"] = json!(9), |_| {}), "`min_size` 9, above its `size` 3"),
        (edited(|dump| dump["full_ratio"] = json!(0.8), |_| {}), "out of order (OSD_OUT_OF_ORDER_FULL)"),
        (group("acting_primary", json!(99)), "whose `acting_primary` is not in `acting`, such as"),
    ] {
        let said = of(folder);
        assert!(said.contains(words) && !usual.contains(words), "{words}: {said}");
    }
}
