//! Flags of a cluster, now and as planned: each stops what it stops in Ceph, and nothing is safe that it
//! keeps from being rebuilt.

use towtank_report::{Answer, Status};

use super::*;

/// The measures and the answer with these flags in the osd dump.
fn with(flags: &str, text: &str) -> (Outcome, Answer) {
    let mut folder = example();
    let dump = String::from_utf8(folder.0["osd_dump.json"].clone()).unwrap();
    let planted = dump.replace("\"flags\": \"\"", &format!("\"flags\": \"{flags}\""));
    assert!(flags.is_empty() || planted != dump, "the dump takes other flags");
    folder.0.insert("osd_dump.json".to_owned(), planted.into_bytes());
    said(folder, text)
}

/// The measures and the answer of exports with the names of the example.
pub(super) fn said(folder: Folder, text: &str) -> (Outcome, Answer) {
    answered(folder, &format!("{EXAMPLE}{text}"))
}

/// The measures and the answer.
pub(super) fn answered(folder: Folder, text: &str) -> (Outcome, Answer) {
    let prepared = prepared(&Whatif, folder, text).unwrap_or_else(|all| panic!("{all:?}"));
    let outcome = prepared.run(&RunContext::alone(Seed(3), 1)).unwrap();
    let (outcomes, scenario) = ([outcome.clone()], prepared.resolved());
    let point = towtank_study::PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes };
    (outcome, Whatif.present(&[point]).answer)
}

fn status(answer: &Answer) -> Status {
    answer.verdict.as_ref().unwrap().status()
}

const FAILS: &str = "fail = \"osd.13\"\n";

/// What lacks a copy is not rebuilt under `norecover` and `nobackfill`, and the answer says what unsetting
/// does.
#[test]
fn nothing_is_safe_that_a_flag_keeps_from_being_rebuilt() {
    let (free, _) = with("", FAILS);
    let clean = free.measures["time_to_clean_s"].value().expect("it becomes clean");
    for flag in ["norecover", "nobackfill"] {
        let (outcome, answer) = with(flag, FAILS);
        assert_eq!(status(&answer), Status::NotSafe, "{flag}: {}", answer.prose());
        for measure in ["time_to_clean_s", "time_to_full_redundancy_s", "data_loss_probability_fraction"] {
            let reason = outcome.measures[measure].reason().expect(measure);
            assert!(reason.contains(flag), "{flag}: {measure}: {reason}");
        }
        assert_eq!(outcome.measures["halted_objects"], free.measures["moved_objects"], "{flag}");
        let prose = answer.prose();
        assert!(prose.contains(&format!("`ceph osd unset {flag}`: all groups are clean after")), "{prose}");
    }
    // In force for an hour, it delays what moves by the hour.
    let (later, answer) = with("norecover", &format!("{FAILS}unset_flag = \"norecover@2h\""));
    let late = later.measures["time_to_clean_s"].value().expect("it becomes clean");
    let moving = free.measures["transfer_s"].value().unwrap();
    assert!(late > 7_200.0 && late < 7_200.0 + 1.05 * moving, "{late} s, and {clean} s: {}", answer.prose());
    // The check can fail: without a flag it is clean.
    assert_eq!(free.measures["halted_objects"].value(), Some(0.0));
}

/// `norebalance` stops what is only misplaced, and not what lacks a copy.
#[test]
fn norebalance_stops_what_lacks_nothing() {
    let reweight = "crush_reweight = \"osd.3=2.0\"\n";
    let (outcome, answer) = with("norebalance", reweight);
    assert_eq!(outcome.measures["moved_objects"].value(), Some(0.0), "{}", answer.prose());
    assert!(outcome.measures["time_to_clean_s"].reason().unwrap().contains("norebalance"));
    assert_eq!(status(&answer), Status::AtRisk, "{}", answer.prose());
    // Of a failure, what lacks a copy is rebuilt; a survivor that would only move stays where it is.
    let (outcome, _) = with("norebalance", FAILS);
    let (free, _) = with("", FAILS);
    let [held, all] = [&outcome, &free].map(|outcome| outcome.measures["moved_objects"].value().unwrap());
    let halted = outcome.measures["halted_objects"].value().unwrap();
    assert!(halted > 0.0 && held + halted == all, "{held} and {halted} of {all}");
    assert!(outcome.measures["time_to_full_redundancy_s"].value().is_some());
    assert!(outcome.measures["time_to_clean_s"].reason().unwrap().contains("norebalance"));
}

/// A device that fails under `nodown` is not marked down: requests to its groups wait.
#[test]
fn what_is_never_marked_down_is_never_rebuilt() {
    let (outcome, answer) = with("nodown", FAILS);
    assert_eq!(status(&answer), Status::NotSafe, "{}", answer.prose());
    assert!(answer.verdict.unwrap().reason().contains("`nodown`"));
    assert!(outcome.measures["time_to_full_redundancy_s"].reason().unwrap().contains("`nodown`"));
    let (outcome, _) = with("nodown", &format!("{FAILS}unset_flag = \"nodown@1h\""));
    assert!(outcome.measures["time_to_clean_s"].value().unwrap() > 3_600.0 + 600.0);
}

/// A maintenance: `noout` is set, a host is away, and comes back; or it stays away until `noout` is unset.
#[test]
fn a_maintenance_is_planned_with_noout() {
    let set = "set_flag = \"noout\"\nfail = \"osd.13\"\n";
    let (outcome, answer) = with("", set);
    assert_ne!(status(&answer), Status::Safe, "{}", answer.prose());
    assert_eq!(outcome.measures["moved_objects"].value(), Some(0.0));
    let (outcome, _) = with("", &format!("{set}unset_flag = \"noout@2h\""));
    let full = outcome.measures["time_to_full_redundancy_s"].value().expect("it is marked out then");
    assert!(full > 7_200.0, "{full} s");
    let back = format!("{set}unset_flag = \"noout@1h\"\nreturns = \"osd.13@40min\"\nclient_writes = \"0/s\"");
    let (outcome, _) = with("", &back);
    let full = outcome.measures["time_to_full_redundancy_s"].value().expect("it is back");
    assert!((2_400.0..2_500.0).contains(&full), "{full} s");
}

#[test]
fn a_flag_of_one_device_keeps_it_in() {
    let mut folder = example();
    let dump = String::from_utf8(folder.0["osd_dump.json"].clone()).unwrap();
    let mut dump: serde_json::Value = serde_json::from_str(&dump).unwrap();
    dump["crush_node_flags"] = serde_json::json!({ "osd.13": ["noout"] });
    folder.0.insert("osd_dump.json".to_owned(), dump.to_string().into_bytes());
    let prepared =
        prepared(&Whatif, folder, &format!("{EXAMPLE}{FAILS}")).unwrap_or_else(|all| panic!("{all:?}"));
    let outcome = prepared.run(&RunContext::alone(Seed(3), 1)).unwrap();
    assert_eq!(outcome.measures["moved_objects"].value(), Some(0.0));
    assert!(outcome.measures["time_to_full_redundancy_s"].reason().is_some());
}

/// Clients that are paused wait; what is not known is named; what has no effect is not mentioned.
#[test]
fn other_flags_are_named_or_have_no_effect() {
    let (_, answer) = with("pauserd,pausewr", "");
    assert_eq!(status(&answer), Status::NotSafe, "{}", answer.prose());
    let (outcome, _) = with("nofuture", "");
    assert!(
        outcome.warnings.iter().any(|warning| warning.text.contains("`nofuture`")),
        "{:?}",
        outcome.warnings
    );
    let (outcome, _) = with("sortbitwise,noscrub,nodeep-scrub", "");
    assert!(outcome.warnings.iter().all(|warning| !warning.text.contains("scrub")), "{:?}", outcome.warnings);
}

#[test]
fn flags_that_cannot_be_are_refused() {
    for (text, part) in [
        ("set_flag = \"nobackfil\"", "did you mean `nobackfill`"),
        ("set_flag = \"noscrub\"", "has no effect on what is answered here"),
        ("unset_flag = \"noout\"", "is not set then"),
        ("set_flag = [\"noout\", \"noout@1h\"]", "is set already then"),
        ("set_flag = \"noup\"\nreplace = \"osd.3\"", "keeps osd.3 from being marked up"),
        (
            "set_flag = \"noin\"\nfail = \"osd.3\"\nreturns = \"osd.3@1h\"\nclient_writes = \"0/s\"",
            "marked in",
        ),
        ("set_flag = \"noup\"\nadd_host = \"h9=4x3.6:hdd@default\"", "new devices take no data"),
        ("set_flag = \"pause\"\nclient_load = \"100/s\"", "clients are paused"),
    ] {
        let refusal = refused(text);
        assert!(refusal.to_lowercase().contains(part), "{text}: {refusal}");
    }
}
