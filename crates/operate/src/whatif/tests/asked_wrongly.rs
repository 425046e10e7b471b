//! Questions about clusters in bad states whose answers were wrong, each with what is true.

use towtank_report::{Answer, Status};

use super::flags::answered;
use super::real::with_down;
use super::*;

/// Eight devices with 32 groups of three copies, and these devices down; so much of each is used. The first
/// group has another state.
fn cluster(down: &[i32], used: f64, state: Option<&str>) -> Folder {
    let Folder(mut files) = with_down(4, down);
    let mut groups: serde_json::Value = serde_json::from_slice(&files["pgs"]).unwrap();
    for group in groups.as_array_mut().unwrap() {
        if group["acting"].as_array().unwrap().len() < 3 {
            group["state"] = "active+undersized+degraded".into();
        }
    }
    state.into_iter().for_each(|state| groups[0]["state"] = state.into());
    files.insert("pgs".to_owned(), groups.to_string().into_bytes());
    let node = |osd: u32| format!(r#"{{"id":{osd},"kb":1000000,"kb_used":{}}}"#, used * 1e6);
    let nodes: Vec<String> = (0..8).map(node).collect();
    files.insert("df".to_owned(), format!(r#"{{"nodes":[{}]}}"#, nodes.join(",")).into_bytes());
    Folder(files)
}

const KEYS: &str = "crush_map = \"map\"\nosd_dump = \"osds\"\npg_dump = \"pgs\"\nosd_df = \"df\"\n";

fn asked(folder: Folder, keys: &str) -> (Outcome, Answer) {
    answered(folder, &format!("{KEYS}{keys}"))
}

fn status(answer: &Answer) -> Status {
    answer.verdict.as_ref().unwrap().status()
}

/// What is down and replaced later is no device that `nodown` keeps from being marked down.
#[test]
fn a_replacement_of_what_is_down_names_no_flag() {
    for keys in ["replace = \"osd.2@5min\"", "replace = \"osd.2@1h\""] {
        let (seen, answer) = asked(cluster(&[2], 0.4, None), keys);
        assert_eq!(status(&answer), Status::AtRisk, "{}", answer.prose());
        assert!(!answer.prose().contains("nodown"), "{}", answer.prose());
        assert!(value(&seen, "time_to_clean_s") > 0.0);
    }
    let (_, answer) = asked(cluster(&[2], 0.4, None), "set_flag = \"nodown\"\nfail = \"osd.1\"");
    assert!(answer.prose().contains("nodown"), "{}", answer.prose());
}

/// A new device has nothing of what the old one held.
#[test]
fn a_replacement_begins_empty() {
    let (seen, _) = asked(cluster(&[2], 0.89, None), "replace = \"osd.2@5min\"");
    assert_eq!(value(&seen, "stuck_objects"), 0.0);
    let (other, _) = asked(cluster(&[2], 0.89, None), "replace = \"osd.2\"");
    assert_eq!(value(&other, "stuck_objects"), 0.0);
    // Another device has no room for more.
    let (other, _) = asked(cluster(&[2], 0.9, None), "down_out = \"10s\"");
    assert!(value(&other, "stuck_objects") > 0.0);
}

/// What is down fails no more, at a later time; without one, its data do not come back, and it is marked out
/// in its time.
#[test]
fn what_is_down_does_not_fail_later() {
    for keys in ["fail = \"osd.2@1h\"", "fail = \"osd.2@1h\"\nreplace = \"osd.2@2h\""] {
        let found = prepared(&Whatif, cluster(&[2], 0.4, None), &format!("{KEYS}{keys}"))
            .err()
            .expect("it is refused");
        assert!(format!("{found:?}").contains("it is down in the exports already"), "{found:?}");
    }
    let end = |keys: &str| value(&asked(cluster(&[2], 0.4, None), keys).0, "time_to_clean_s");
    let (said, unsaid) = (end("fail = \"osd.2\""), end(""));
    assert!((said - unsaid).abs() < 1.0, "its recovery begins with a map: {said} and {unsaid}");
    assert_ne!(end("fail = \"osd.2\"\ndown_out = \"1h\""), end(""));
}

/// A group that peers does so for seconds; one in a state that says nothing may stay in it.
#[test]
fn groups_that_peer_keep_no_time_from_being_said() {
    let of = |state: &str| {
        let (seen, answer) = asked(cluster(&[], 0.4, Some(state)), "mark_out = \"osd.2\"");
        (status(&answer), seen.measures["time_to_clean_s"].value().is_some(), answer.prose())
    };
    for state in ["peering", "remapped+peering", "activating"] {
        let (verdict, is_timed, prose) = of(state);
        assert_eq!((verdict, is_timed), (Status::AtRisk, true), "{state}: {prose}");
        assert!(prose.contains("1 group peers now"), "{prose}");
    }
    assert!(!of("creating").1);
    assert_eq!(of("down+peering").0, Status::NotSafe);
}

/// Groups were whole before a device was replaced, and all bytes were there.
#[test]
fn a_replacement_of_a_whole_cluster_is_not_its_state_before() {
    let (seen, answer) = asked(cluster(&[], 0.4, None), "replace = \"osd.2\"");
    assert_eq!(
        (value(&seen, "groups_short_now"), status(&answer)),
        (0.0, Status::Safe),
        "{}",
        answer.prose()
    );
    let share = value(&seen, "moved_fraction");
    let failed = value(&asked(cluster(&[], 0.4, None), "fail = \"osd.2\"").0, "moved_fraction");
    assert!((share - failed).abs() < 1e-9, "{share} and {failed}");
    assert!(value(&asked(cluster(&[2], 0.4, None), "").0, "groups_short_now") > 0.0);
}

/// Nothing to copy is not the same as clean.
#[test]
fn groups_that_are_not_clean_are_counted() {
    let of = |state: &str| asked(cluster(&[], 0.4, Some(state)), "").1.prose();
    assert!(of("active+clean").contains("all groups are active+clean"), "{}", of("active+clean"));
    for state in ["active", "active+recovering"] {
        assert!(of(state).contains("1 group is not active+clean"), "{}", of(state));
    }
}

/// A pool of one copy is never safe from its device.
#[test]
fn a_single_copy_is_at_risk_for_ever() {
    let Folder(mut files) = cluster(&[], 0.4, None);
    let mut dump: serde_json::Value = serde_json::from_slice(&files["osds"]).unwrap();
    dump["pools"][0]["size"] = 1.into();
    files.insert("osds".to_owned(), dump.to_string().into_bytes());
    let mut groups: serde_json::Value = serde_json::from_slice(&files["pgs"]).unwrap();
    for group in groups.as_array_mut().unwrap() {
        for of in ["up", "acting"] {
            group[of].as_array_mut().unwrap().truncate(1);
        }
    }
    files.insert("pgs".to_owned(), groups.to_string().into_bytes());
    let (seen, answer) = asked(Folder(files), "");
    let loss = &seen.measures["data_loss_probability_fraction"];
    assert!(loss.reason().unwrap_or_default().contains("nothing else has"), "{loss:?}");
    assert!(!answer.prose().contains("until 0 s"), "{}", answer.prose());
}
