//! Bad input, and states in which no time is known: each has its text.

use super::*;

const TWO: &str = "report = [\"one\", \"two\"]";

/// Sets what is missing in the sums of a report.
fn degraded(report: &mut Json, copies: u64) {
    let sum = &mut report["pool_sum"]["stat_sum"];
    sum["num_objects_degraded"] = copies.into();
    sum["num_objects_misplaced"] = 0.into();
}

/// Two reports, of which the second is changed.
fn two(change: impl FnOnce(&mut Json)) -> Folder {
    with(&[("one", report(1, |_| ())), ("two", report(2, change))])
}

/// The third report alone, changed.
fn alone(change: impl FnOnce(&mut Json)) -> (Outcome, String) {
    answered(with(&[("one", report(3, change))]), "report = \"one\"")
}

/// The states of the groups of a report.
fn states(report: &mut Json, states: &[(&str, u64)]) {
    let rows: Vec<Json> = states.iter().map(|(state, num)| json!({"state": state, "num": num})).collect();
    report["num_pg_by_state"] = rows.into();
}

fn osd(report: &mut Json, number: usize) -> &mut Json {
    &mut report["osdmap"]["osds"][number]
}

#[test]
fn files_that_do_not_fit_together_are_refused() {
    let other = |report: &mut Json| report["osdmap"]["fsid"] = "00000000-1111-2222-3333-444444444444".into();
    let said = refused(two(other), TWO);
    assert!(said.contains("is of the cluster") && said.contains("(`fsid`)"), "{said}");
    let at = time(1);
    let said = refused(two(|report| report["timestamp"] = at.as_str().into()), TWO);
    assert!(said.contains("`one` and `two` are of the same time, 2026-11-28T17:0"), "{said}");
    let older = number(1, "epoch") - 1;
    let said = refused(two(|report| report["osdmap"]["epoch"] = older.into()), TWO);
    assert!(said.contains("times go back"), "{said}");
    let said = refused(two(|report| report["timestamp"] = "".into()), TWO);
    assert!(said.contains("is not a time"), "{said}");
    // As Ceph 14 writes it.
    let said = refused(two(|report| report["timestamp"] = "2026-11-28 17:07:00.615886".into()), TWO);
    assert!(said.contains("the time of `two` has no zone: it is of Ceph before 15"), "{said}");
    let said = refused(with(&[("one", Vec::new())]), "report = \"one\"");
    assert!(said.contains("one"), "{said}");
    let said = refused(with(&[]), "report = \"3.pg_dump.json.gz\"");
    assert!(said.contains("is a dump of groups, and no report"), "{said}");
    assert_eq!(refused(with(&[]), ""), "`report` is missing");
    let said = refused(with(&[]), "report = \"4.report.json.gz\"");
    assert!(said.contains("cannot read `4.report.json.gz`"), "{said}");
    let negative = |report: &mut Json| report["pool_sum"]["stat_sum"]["num_objects_degraded"] = (-3).into();
    assert!(refused(two(negative), TWO).contains("it has -3 degraded objects"));
}

/// Groups that lack copies on devices that served them before: nothing else is left.
fn by_log(number: usize, copies: u64, groups: u64) -> Vec<u8> {
    report(number, |report| {
        report["osdmap"]["pg_temp"] = json!([]);
        report["num_pg_by_osd"] = json!([]);
        degraded(report, copies);
        let state = if copies == 0 { "active+recovering" } else { "active+recovering+degraded" };
        states(report, &[("active+clean", 33 - groups), (state, groups)]);
    })
}

#[test]
fn groups_that_recover_by_their_log_go_on_as_counted() {
    let both = |was, left| with(&[("one", by_log(2, was, 12)), ("two", by_log(3, left, 8))]);
    let (seen, words) = answered(both(900, 300), TWO);
    assert!(words.contains("groups recover by their log, 600 copies in"), "{words}");
    let [clean, low, high] =
        ["time_to_clean_s", "time_to_clean_low_s", "time_to_clean_high_s"].map(|name| value(&seen, name));
    // The mean of all primaries is the least.
    let mean = 300.0 / value(&seen, "copied_per_s");
    assert!(mean < clean && low < clean && clean < high, "{low} {clean} {high}, {mean}");
    assert!(value(&seen, "time_to_full_redundancy_s") < clean);
    assert_eq!(value(&seen, "time_to_min_size_s"), 0.0);
    assert!(reason(&seen, "slowdown").contains("no assumed speed"));

    // At the end their state says for some seconds that they recover.
    let (seen, words) = answered(with(&[("one", by_log(3, 0, 1))]), "report = \"one\"");
    assert!(words.contains("nothing is left to copy"), "{words}");
    assert!(value(&seen, "time_to_clean_s") > 0.0 && value(&seen, "time_to_clean_high_s") <= 10.0, "{words}");

    // One report says nothing of their speed, and neither do two where nothing was copied.
    let (seen, _) = answered(with(&[("one", by_log(3, 300, 8))]), "report = \"one\"");
    let why = reason(&seen, "time_to_clean_s");
    assert!(why.starts_with("8 groups recover by the log") && why.contains("there is one report"), "{why}");
    let (_, words) = answered(both(300, 300), TWO);
    assert!(words.contains("no time until all groups are clean") && !words.contains("clean in"), "{words}");
    // A flag stops them.
    let stopped = |report: &mut Json| report["osdmap"]["flags"] = "sortbitwise,norecover".into();
    let change = |bytes: Vec<u8>| {
        let mut report: Json = serde_json::from_slice(&bytes).unwrap();
        stopped(&mut report);
        report.to_string().into_bytes()
    };
    let files = with(&[("one", change(by_log(2, 900, 12))), ("two", change(by_log(3, 300, 8)))]);
    let (_, words) = answered(files, TWO);
    assert!(!words.contains("clean in"), "{words}");
}

fn time(of: usize) -> String {
    let text = report(of, |_| ());
    let report: Json = serde_json::from_slice(&text).unwrap();
    report["timestamp"].as_str().unwrap().to_owned()
}

fn number(of: usize, key: &str) -> u64 {
    let report: Json = serde_json::from_slice(&report(of, |_| ())).unwrap();
    report["osdmap"][key].as_u64().unwrap()
}

/// Counts of the first report: what was left then.
fn left(of: usize) -> u64 {
    let report: Json = serde_json::from_slice(&report(of, |_| ())).unwrap();
    let count = |key: &str| report["pool_sum"]["stat_sum"][key].as_u64().unwrap();
    count("num_objects_degraded") + count("num_objects_misplaced")
}

/// The second report, so many seconds after the first.
fn later(report: &mut Json, seconds: u32) {
    let text = time(1);
    let (minute, rest) = (&text[14..16], &text[17..19]);
    let at = minute.parse::<u32>().unwrap() * 60 + rest.parse::<u32>().unwrap() + seconds;
    report["timestamp"] = format!("{}{:02}:{:02}{}", &text[..14], at / 60, at % 60, &text[19..]).into();
}

#[test]
fn what_stands_still_or_grows_has_no_time() {
    let stands = |copies: u64| {
        answered(
            two(|report| {
                degraded(report, copies);
                later(report, 60);
            }),
            TWO,
        )
    };
    let (seen, words) = stands(left(1));
    let begins =
        "no time until all groups are clean: nothing was copied in the 1 min since 2026-11-28T17:07:08.3Z";
    assert!(words.starts_with(begins), "{words}");
    assert!(reason(&seen, "time_to_clean_s").contains("nothing was copied"));
    let (_, words) = stands(left(1) + 100);
    assert!(words.contains("what is left has grown in the 1 min since"), "{words}");
    // One that falls has a time, and so does one whose reports are too close to tell.
    assert!(value(&stands(left(1) / 2).0, "time_to_clean_s") > 0.0);
    let close = two(|report| {
        degraded(report, left(1));
        later(report, 8);
    });
    let (seen, words) = answered(close, TWO);
    assert!(value(&seen, "time_to_clean_s") > 0.0 && words.contains("too few to say"), "{words}");
}

#[test]
fn what_else_happened_between_the_reports_is_said() {
    let happened = |change: &dyn Fn(&mut Json), text: &str| {
        let (seen, words) = answered(two(|report| change(report)), TWO);
        assert!(words.contains("something else changed since the report before"), "{words}");
        let said: Vec<String> = seen.warnings.iter().map(|warning| warning.text.clone()).collect();
        assert!(said.iter().any(|said| said.contains(text)), "{text}: {said:?}");
    };
    happened(
        &|report| {
            osd(report, 4)["up"] = 0.into();
            osd(report, 4)["state"] = json!(["exists"]);
        },
        "osd.4 went down",
    );
    happened(&|report| osd(report, 4)["up_from"] = 46.into(), "osd.4 was restarted");
    happened(&|report| osd(report, 4)["weight"] = 0.5.into(), "osd.4 has another weight");
    happened(
        &|report| {
            let flags = report["osdmap"]["flags"].as_str().unwrap().to_owned() + ",noout";
            report["osdmap"]["flags"] = flags.into();
            report["osdmap"]["flags_set"].as_array_mut().unwrap().push("noout".into());
        },
        "`noout` was set",
    );
    // Nothing else happened.
    let (seen, _) = answered(two(|_| ()), TWO);
    assert!(!seen.warnings.iter().any(|warning| warning.text.contains("reports from before that")));
}

#[test]
fn a_flag_that_stops_it_is_named_with_what_unsets_it() {
    for flag in ["norecover", "nobackfill"] {
        let (seen, words) = alone(|report| {
            let flags = report["osdmap"]["flags"].as_str().unwrap().to_owned() + "," + flag;
            report["osdmap"]["flags"] = flags.into();
            report["osdmap"]["flags_set"].as_array_mut().unwrap().push(flag.into());
        });
        let why = reason(&seen, "time_to_clean_s");
        assert!(why.contains(flag), "{why}");
        assert!(words.contains(&format!("ceph osd unset {flag}")), "{words}");
    }
}

#[test]
fn what_leaves_no_time_is_the_reason() {
    let clean = 30;
    let with_state = |state: &str| alone(|report| states(report, &[("active+clean", clean), (state, 3)]));
    for (state, text) in [
        ("active+undersized+degraded+remapped+backfill_toofull", "for room (`backfill_toofull`)"),
        ("unknown", "the state of 3 groups is not known"),
        ("active+recovery_unfound+undersized+degraded+remapped", "unfound"),
        ("incomplete", "incomplete"),
        ("active+recovering+degraded", "no group is undersized or inactive by their states"),
    ] {
        let (seen, words) = with_state(state);
        let why = reason(&seen, "time_to_clean_s");
        assert!(why.contains(text), "{state}: {why}");
        assert!(words.to_lowercase().starts_with("no time until all groups are clean"), "{words}");
    }
    // A device that is down and stays in: its groups wait for it.
    let (seen, _) = alone(|report| {
        let stays = osd(report, 4);
        stays["up"] = 0.into();
        stays["state"] = json!(["exists"]);
        let flags = report["osdmap"]["flags"].as_str().unwrap().to_owned() + ",noout";
        report["osdmap"]["flags"] = flags.into();
        report["osdmap"]["flags_set"].as_array_mut().unwrap().push("noout".into());
    });
    let why = reason(&seen, "time_to_clean_s");
    assert!(!why.is_empty(), "{why}");
}

#[test]
fn a_clean_cluster_has_nothing_to_wait_for() {
    let (seen, words) = alone(|report| {
        states(report, &[("active+clean", 33)]);
        report["osdmap"]["pg_temp"] = json!([]);
        report["num_pg_by_osd"] = json!([]);
        degraded(report, 0);
        report["num_pg_by_osd"] = json!([]);
    });
    assert_eq!(value(&seen, "time_to_clean_s"), 0.0);
    assert!(
        words.to_lowercase().starts_with(
            "nothing to wait for: all groups are active+clean at 2026-11-28T17:07".to_lowercase().as_str()
        ),
        "{words}"
    );
    // One group that peers is not clean.
    let (seen, words) = alone(|report| {
        states(report, &[("active+clean", 32), ("peering", 1)]);
        report["osdmap"]["pg_temp"] = json!([]);
        report["num_pg_by_osd"] = json!([]);
        degraded(report, 0);
        report["num_pg_by_osd"] = json!([]);
    });
    assert!(
        value(&seen, "time_to_clean_s") > 0.0 && words.contains("1 group is between two states"),
        "{words}"
    );
}

/// Sums that are guesses after a split are named.
#[test]
fn guesses_of_sizes_are_named() {
    let mut dump: Json = serde_json::from_str(&unpacked(&recorded(), "3.pg_dump.json.gz")).unwrap();
    for group in dump["pg_map"]["pg_stats"].as_array_mut().unwrap() {
        group["stats_invalid"] = true.into();
    }
    let folder = with(&[("pgs", dump.to_string().into_bytes())]);
    let (seen, _) = answered(folder, "report = \"3.report.json.gz\"\npg_dump = \"pgs\"");
    assert!(seen.warnings.iter().any(|warning| warning.text.contains("`stats_invalid`")));
}
