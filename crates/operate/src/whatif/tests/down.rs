//! Devices that are down and in in the exports: the monitors mark them out after `down_out`, unless something
//! keeps them in.

use towtank_report::Answer;

use super::flags::said;
use super::*;

/// The example, of which these devices are down, with more in its osd dump.
fn with_down(down: &[u64], more: &[(&str, serde_json::Value)]) -> Folder {
    let mut folder = example();
    let mut dump: serde_json::Value = serde_json::from_slice(&folder.0["osd_dump.json"]).unwrap();
    for osd in dump["osds"].as_array_mut().unwrap() {
        if down.iter().any(|id| osd["osd"] == *id) {
            osd["up"] = 0.into();
        }
    }
    more.iter().for_each(|(key, value)| dump[*key] = value.clone());
    folder.0.insert("osd_dump.json".to_owned(), dump.to_string().into_bytes());
    folder
}

fn down(text: &str) -> (Outcome, Answer) {
    said(with_down(&[3], &[]), text)
}

/// What is down and in and not named is marked out like what fails, but for its detection, and the answer
/// says from when its time counts.
#[test]
fn what_is_down_and_in_is_marked_out_after_down_out() {
    let (fails, _) = said(example(), "fail = \"osd.3\"\n");
    let (outcome, answer) = down("");
    for measure in ["moved_objects", "moved_bytes", "written_bytes"] {
        assert_eq!(outcome.measures[measure], fails.measures[measure], "{measure}");
    }
    assert_eq!(outcome.measures["pending_bytes"], fails.measures["moved_bytes"]);
    let [full, named] =
        [&outcome, &fails].map(|outcome| outcome.measures["time_to_full_redundancy_s"].value().unwrap());
    assert!((named - full - 20.0).abs() < 1.0, "{full} s, and {named} s where it is named");
    let (later, _) = down("down_out = \"1h\"");
    let later = later.measures["time_to_full_redundancy_s"].value().unwrap();
    assert!((later - full - 3_000.0).abs() < 1e-6, "{later} s");
    assert!(answer.prose().contains("no export says when they failed"), "{}", answer.prose());
    // The check can fail: who says that nothing is marked out waits.
    let (outcome, _) = down("noout = true");
    assert_eq!(outcome.measures["moved_objects"].value(), Some(0.0));
    assert!(outcome.measures["stuck_objects"].value().unwrap() > 0.0);
}

/// A device that the map says has been down for a while has less time left, and none if it is over: then
/// `noout`, once it is unset, kept it in; and where nothing did, that is said.
#[test]
fn what_has_been_down_for_a_while_is_marked_out_sooner() {
    let (fresh, _) = down("");
    let time = |outcome: &Outcome| outcome.measures["time_to_full_redundancy_s"].value().unwrap();
    let since = |stamp: &str| {
        let known =
            serde_json::json!([{ "osd": 3, "down_stamp": stamp }, { "osd": 4, "down_stamp": "0.000000" }]);
        vec![("modified", "2026-11-26T10:00:00.5+0000".into()), ("osd_xinfo", known)]
    };
    for (stamp, sooner) in [
        ("2026-11-26T10:00:00.500000+0000", 0.0),
        ("2026-11-26T09:56:00.500000+0000", 240.0),
        ("2026-11-26T10:56:00.500000+0100", 240.0),
        ("2026-11-26T10:06:00.500000+0000", 0.0),
        ("2026-11-26T09:50:20.500000+0000", 580.0),
        ("2026-11-25T10:00:00.500000+0000", 597.5),
    ] {
        let (outcome, answer) = said(with_down(&[3], &since(stamp)), "");
        let is_known = answer.prose().contains("down already: osd.3 for");
        // What is later than the map says nothing.
        assert_eq!(is_known, !stamp.contains("T10:06"), "{stamp}: {}", answer.prose());
        assert!((time(&fresh) - time(&outcome) - sooner).abs() < 1e-6, "{stamp}: {}", time(&outcome));
        let is_overdue =
            outcome.warnings.iter().any(|one| one.text.contains("why Ceph has not marked out osd.3"));
        assert_eq!(is_overdue, sooner > 590.0, "{stamp}");
    }
    let (outcome, _) = said(
        with_down(&[3], &since("2026-11-25T10:00:00.5+0000")),
        "set_flag = \"noout\"\nunset_flag = \"noout@5min\"\n",
    );
    // What is asked for begins with a new map, and what is under way does not.
    assert!((time(&fresh) - time(&outcome) - 300.0).abs() < 1.0, "{}", time(&outcome));
    assert!(!outcome.warnings.iter().any(|one| one.text.contains("why Ceph has not marked out")));
}

/// What is down already and is replaced later is detected, and is marked out when its time is over; nothing
/// moves before.
#[test]
fn what_is_down_and_replaced_later_is_marked_out_in_its_time() {
    let known = serde_json::json!([{ "osd": 3, "down_stamp": "2026-11-26T09:56:00.5+0000" }]);
    let since = [("modified", "2026-11-26T10:00:00.5+0000".into()), ("osd_xinfo", known)];
    let (outcome, answer) = said(with_down(&[3], &since), "replace = \"osd.3@1h\"");
    let noticed = &outcome.series["observed"]["noticed"][0];
    assert_eq!((noticed["down_s"].as_f64(), noticed["out_s"].as_f64()), (None, Some(362.3)), "{noticed}");
    let first = outcome.series["observed"]["first_s"].as_f64().unwrap();
    assert!(first > 360.0, "the first object moves at {first} s: {:?}", answer.course);
}

/// `noout` of the map, of the device, of its host and of its class hold it in; each is named with what unsets
/// it. When it is unset the time of the device is over, and it is marked out then.
#[test]
fn noout_of_every_scope_keeps_what_is_down_in_until_it_is_unset() {
    for (flag, words) in [
        ("noout", "`noout` (`ceph osd unset noout`)"),
        ("noout:osd.3", "`noout` of osd.3 (`ceph osd unset-group noout osd.3`)"),
        ("noout:host=h0", "`noout` of host h0 (`ceph osd unset-group noout h0`)"),
        ("noout:class=ssd", "`noout` of the class ssd (`ceph osd unset-group noout ssd`)"),
    ] {
        let set = format!("set_flag = \"{flag}\"\n");
        for (folder, text) in
            [(with_down(&[3], &[]), set.clone()), (example(), format!("{set}fail = \"osd.3\"\n"))]
        {
            let (outcome, _) = said(folder.clone(), &text);
            assert_eq!(outcome.measures["moved_objects"].value(), Some(0.0), "{text}");
            let reason = outcome.measures["time_to_full_redundancy_s"].reason().expect(&text);
            assert!(reason.contains(words), "{text}: {reason}");
            let (outcome, answer) = said(folder, &format!("{text}unset_flag = \"{flag}@2h\""));
            let full = outcome.measures["time_to_full_redundancy_s"].value();
            let full = full.unwrap_or_else(|| panic!("{text}: {}", answer.prose()));
            let moving = outcome.measures["transfer_s"].value().unwrap();
            assert!((full - moving - 7_200.0).abs() < 10.0, "{text}: {full} s, of which {moving} s move");
        }
    }
    // Another host's flag keeps nothing.
    let (outcome, _) = down("set_flag = \"noout:host=h1\"");
    assert!(outcome.measures["moved_objects"].value().unwrap() > 0.0);
}

/// Flags of parts that the exports have are unset with their scope.
#[test]
fn a_flag_of_a_host_in_the_exports_is_unset_at_a_time() {
    let flags = [("crush_node_flags", serde_json::json!({ "h0": ["noout"] }))];
    let (outcome, _) = said(with_down(&[3], &flags), "unset_flag = \"noout:host=h0@2h\"");
    assert!(outcome.measures["time_to_full_redundancy_s"].value().unwrap() > 7_200.0);
    let (outcome, _) = said(with_down(&[3], &flags), "");
    let reason = outcome.measures["time_to_full_redundancy_s"].reason().unwrap();
    assert!(reason.contains("osd.3, which stays in because of `noout` of host h0"), "{reason}");
    let text = format!("{EXAMPLE}unset_flag = \"noout@2h\"");
    let Err(problems) = prepared(&Whatif, with_down(&[3], &flags), &text) else { panic!("it is accepted") };
    assert!(format!("{problems:?}").contains("--unset-flag noout:host=h0"), "{problems:?}");
}

/// A flag of a part that the cluster does not have, and one that only the whole map can have.
#[test]
fn flags_of_parts_that_cannot_be_are_refused() {
    for (text, part) in [
        ("set_flag = \"noout:host=h77\"", "no device or bucket called `h77`"),
        ("set_flag = \"noout:rack=h0\"", "`h0` is of type host, not rack"),
        ("set_flag = \"noout:class=tape\"", "no device class `tape`"),
        ("set_flag = \"norecover:host=h0\"", "a flag of the whole map only"),
        ("set_flag = [\"noout:h0\", \"noout:host=h0@1h\"]", "is set already then"),
        ("set_flag = \"noup:host=h0\"\nreplace = \"osd.3\"", "`noup` of host h0 keeps osd.3"),
        (
            "set_flag = \"noin:osd.3\"\nfail = \"osd.3\"\nreturns = \"osd.3@1h\"\nclient_writes = \"0/s\"",
            "`noin` of osd.3 keeps osd.3 from being marked in",
        ),
    ] {
        let Err(problems) = prepared(&Whatif, example(), &format!("{EXAMPLE}{text}")) else {
            panic!("{text} is accepted");
        };
        assert!(format!("{problems:?}").contains(part), "{text}: {problems:?}");
    }
}

/// `nodown` of what fails is that of the map; where only some of it has the flag, that is named.
#[test]
fn nodown_of_a_device_keeps_it_from_being_marked_down() {
    let (outcome, answer) = said(example(), "set_flag = \"nodown:osd.3\"\nfail = \"osd.3\"\n");
    assert_eq!(outcome.measures["moved_objects"].value(), Some(0.0), "{}", answer.prose());
    assert!(answer.verdict.unwrap().reason().contains("`nodown`"));
    let (outcome, _) = said(example(), "set_flag = \"nodown:osd.4\"\nfail = \"osd.3\"\n");
    assert!(outcome.measures["moved_objects"].value().unwrap() > 0.0);
    // Of one of two, it is not known.
    let (_, answer) = said(example(), "set_flag = \"nodown:osd.3\"\nfail = [\"osd.3\", \"osd.4\"]\n");
    let verdict = answer.verdict.unwrap();
    assert!(verdict.reason().contains("`nodown` of osd.3 keeps some"), "{}", verdict.reason());
    assert_ne!(verdict.status(), towtank_report::Status::Safe);
}

/// What is down already is replaced by an empty device, now or later; before, a later one was refused.
#[test]
fn what_is_down_is_replaced_later() {
    let (now, _) = down("replace = \"osd.3\"");
    for text in ["", "set_flag = \"noout\"\n", "down_out = \"2h\"\n"] {
        let (later, answer) = down(&format!("{text}replace = \"osd.3@1h\""));
        let full = later.measures["time_to_clean_s"].value();
        let full = full.unwrap_or_else(|| panic!("{text}: {}", answer.prose()));
        assert!(full > 3_600.0, "{text}: {full} s");
        if !text.is_empty() {
            // Nothing was marked out before, so all of it is rebuilt in its place.
            let moved = |outcome: &Outcome| outcome.measures["moved_objects"].clone();
            assert_eq!(moved(&later), moved(&now), "{text}");
        }
        assert_eq!(later.measures["groups_short"].value(), Some(0.0), "{text}");
    }
    // What comes back with its data lacks something that no export names.
    let Err(problems) = prepared(
        &Whatif,
        with_down(&[3], &[]),
        &format!("{EXAMPLE}returns = \"osd.3@1h\"\nclient_writes = \"0/s\""),
    ) else {
        panic!("it is accepted");
    };
    assert!(format!("{problems:?}").contains("what it lacks is not known"), "{problems:?}");
}

/// The exports in which osd.3 is down and a group of it waits for it, and another group is in this state.
fn waiting_for_osd_3(other: &str) -> Folder {
    let mut folder = with_down(&[3], &[]);
    let text = crate::exports::samples::unpacked(&folder, "pg_dump.json.gz");
    let mut dump: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut waits = false;
    for group in dump["pg_map"]["pg_stats"].as_array_mut().unwrap() {
        let serves = |osd: &serde_json::Value| *osd == 3;
        if group["acting"].as_array().unwrap().iter().any(serves) {
            for key in ["up", "acting"] {
                group[key].as_array_mut().unwrap().retain(|osd| !serves(osd));
            }
            group["state"] = if waits { "active+undersized+degraded" } else { "down" }.into();
            waits = true;
        }
        if group["pgid"] == "1.5" && !other.is_empty() {
            group["state"] = other.into();
            group["acting"].as_array_mut().unwrap().truncate(1);
        }
    }
    folder.0.insert("pg_dump.json.gz".to_owned(), dump.to_string().into_bytes());
    folder
}

/// Whatever takes away what a `down` group waits for, its data are lost; before, they waited for a device
/// that had been removed.
#[test]
fn what_a_down_group_waits_for_is_lost_however_it_is_taken_away() {
    let of = |text: &str| {
        let (outcome, _) = said(waiting_for_osd_3(""), text);
        ["lost_objects", "unavailable_objects"].map(|measure| outcome.measures[measure].value())
    };
    let [lost, waits] = of("");
    assert_eq!(lost, Some(0.0));
    assert!(waits > Some(0.0));
    for text in ["fail", "remove", "replace"] {
        assert_eq!(of(&format!("{text} = \"osd.3\"")), [waits, Some(0.0)], "{text}");
    }
    assert_eq!(of("replace = \"osd.3@1h\""), [waits, Some(0.0)]);
    // Another device's failure takes nothing away that is down.
    assert_eq!(of("fail = \"osd.13\"\nset_flag = \"norecover\"")[1], waits);
}

/// Whether data of an `incomplete` group are lost is not known: no number of lost objects, no probability.
#[test]
fn incomplete_groups_are_neither_lost_nor_kept() {
    let (outcome, answer) = said(waiting_for_osd_3("incomplete"), "");
    for measure in ["lost_objects", "data_loss_probability_fraction", "time_to_clean_s"] {
        let reason = outcome.measures[measure].reason().expect(measure);
        assert!(reason.contains("`incomplete`"), "{measure}: {reason}");
    }
    assert_eq!(outcome.measures["groups_incomplete_now"].value(), Some(1.0));
    assert_eq!(outcome.measures["groups_lost_now"].value(), Some(0.0));
    assert_eq!(answer.verdict.as_ref().unwrap().status(), towtank_report::Status::NotSafe);
    assert!(!answer.prose().contains("100 %"), "{}", answer.prose());
    // What is lost besides is: the group that waited for osd.3.
    let (outcome, _) = said(waiting_for_osd_3("incomplete"), "fail = \"osd.3\"");
    assert!(outcome.measures["lost_objects"].value() > Some(0.0));
    assert_eq!(outcome.measures["data_loss_probability_fraction"].value(), Some(1.0));
}
