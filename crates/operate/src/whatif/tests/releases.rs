//! What versions of Ceph make of the same change, and what the answer says of the version.

use serde_json::Value as Json;
use towtank_report::{Answer, Label};

use super::*;
use crate::exports::samples::{live, unpacked};

/// The outcome of a scenario, and its answer.
fn answered(folder: Folder, text: &str) -> (Outcome, Answer) {
    let prepared = prepared(&Whatif, folder, text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    let outcome = prepared.run(&RunContext::alone(Seed(3), 0)).unwrap();
    let (outcomes, scenario) = ([outcome.clone()], prepared.resolved());
    let point = PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes };
    (outcome, Whatif.present(&[point]).answer)
}

/// The lines of an answer with this label.
fn lines(answer: &Answer, label: Label) -> Vec<&str> {
    answer.lines.iter().filter(|line| line.label == label).map(|line| line.text.as_str()).collect()
}

/// The time for which data of the example cluster move when a disk is to hold less.
fn took(version: &str) -> f64 {
    let text =
        format!("{EXAMPLE}reweight = \"osd.4=0.95\"\nspeed_spread = \"0%\"\nceph_release = \"{version}\"");
    value(&outcome(&Whatif, example(), &text), "time_to_clean_s")
}

/// The mClock of 17.2.7 is that of 18, before 18.2.5 with the same shards; that of 17.2.6 is another one.
/// Were a border between them elsewhere, two of these times would be alike that must not be, or the other
/// way.
#[test]
fn versions_with_the_same_rows_take_the_same_time() {
    let [second, third, bytes, sum, larger, one_shard, five, one] =
        ["17.2.5", "17.2.6", "17.2.7", "18.2.0", "18.2.4", "18.2.5", "19.2.0", "19.2.1"].map(took);
    assert_eq!([bytes, one_shard], [larger, one]);
    assert_eq!(five, larger, "19.2.0 has the shards of 18.2.4");
    assert_eq!(third, second, "the profiles of 17.2.6 are taken from 17.2.5, and they limit this");
    let mut all = [third, bytes, sum, one_shard];
    all.sort_by(f64::total_cmp);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
}

/// The report of a small cluster with other versions of its daemons.
fn report(devices: [&str; 3], monitor: &str) -> Folder {
    let mut folder = live(&["report.json.gz"]);
    let mut report: Json = serde_json::from_str(&unpacked(&folder, "report.json.gz")).unwrap();
    report["version"] = monitor.into();
    let entries = report["osd_metadata"].as_array_mut().expect("a list of devices");
    for (entry, version) in entries.iter_mut().zip(devices) {
        entry["ceph_version"] = version.into();
    }
    folder.0.insert("report.json".to_owned(), report.to_string().into_bytes());
    folder
}

/// The release in what a scenario becomes, and the warnings of the run.
fn of_report(devices: [&str; 3], monitor: &str, keys: &str) -> (Json, String) {
    let text = format!("report = \"report.json\"\nfail = \"osd.0\"\n{keys}");
    let prepared = prepared(&Whatif, report(devices, monitor), &text).unwrap();
    let outcome = prepared.run(&RunContext::alone(Seed(3), 1)).unwrap();
    let release = outcome.series["observed"]["paced"]["release"].clone();
    (release, Warning::texts(outcome.warnings).join("; "))
}

const REEF: &str = "ceph version 18.2.4 (5dd24139a1eada541a3bc16b6941c5dde975e26d) reef (stable)";

#[test]
fn a_report_says_which_versions_run() {
    let (release, warnings) = of_report([REEF; 3], "18.2.7", "");
    assert_eq!(release, "18.2.4", "that of the devices and not of the monitor");
    assert!(!warnings.contains("devices run"), "{warnings}");
    let other = "ceph version 18.2.7-1-g5dd2413 (5dd2413) reef (stable)";
    let (release, warnings) = of_report([REEF, other, REEF], "18.2.7", "");
    assert_eq!(release, "18.2.4");
    assert!(warnings.contains("devices run Ceph 18.2.4 to 18.2.7: 18.2.4 is assumed"), "{warnings}");
    assert_eq!(of_report(["", "Development", ""], "19.2.1", "").0, "19.2.1", "else that of the monitor");
    assert_eq!(of_report([""; 3], "", "").0, 16, "else what the osd dump requires");
    let (release, warnings) = of_report([REEF; 3], "18.2.4", "ceph_release = 17");
    assert_eq!(release, 17, "or what the user says");
    assert!(!warnings.contains("devices run"), "{warnings}");
    let mimic = "ceph version 13.2.10 (564bdc4) mimic (stable)";
    let (_, warnings) = of_report([mimic; 3], "13.2.10", "");
    let older = "Ceph 13.2.10 is older than the releases that are modelled (15 to 21): Ceph 15 is assumed";
    assert!(warnings.contains(older), "{warnings}");
}

/// Without versions the name of the release counts; of one that is not modelled, the nearest one.
#[test]
fn the_name_of_a_release_says_what_it_is() {
    let of = |name: &str| {
        let mut folder = report([""; 3], "");
        let mut report: Json = serde_json::from_slice(&folder.0["report.json"]).unwrap();
        report["osdmap"]["require_osd_release"] = name.into();
        folder.0.insert("report.json".to_owned(), report.to_string().into_bytes());
        let ran = outcome(&Whatif, folder, "report = \"report.json\"\nfail = \"osd.0\"\n");
        let release = ran.series["observed"]["paced"]["release"].clone();
        (release, Warning::texts(ran.warnings).join("; "))
    };
    for (name, want, said) in [
        ("octopus", 15, ""),
        ("reef", 18, ""),
        ("umbrella", 21, ""),
        ("nautilus", 15, "`nautilus` is older than the releases that are modelled: Ceph 15 is assumed"),
        ("vampire", 21, "the newest known one is assumed, Ceph 21"),
    ] {
        let (release, warnings) = of(name);
        assert_eq!(release, want, "{name}");
        assert!(warnings.contains(said), "{warnings}");
        assert_eq!(warnings.contains("is assumed"), !said.is_empty(), "{warnings}");
    }
}

/// Where only the release is known, the answer says which version of it is assumed, and how to say another.
#[test]
fn the_version_that_is_assumed_is_said() {
    let asked = |keys: &str| {
        let (_, answer) = answered(example(), &format!("{EXAMPLE}reweight = \"osd.4=0.95\"\n{keys}"));
        let lines = answer.lines.into_iter().filter(|line| line.label == Label::Assumed);
        lines.map(|line| format!("{} {}", line.text, line.change.unwrap_or_default())).collect::<String>()
    };
    let newest = "Ceph 18.2.7, the newest version of 18 that is modelled --ceph 18.2.4";
    assert!(asked("ceph_release = 18").contains(newest), "{}", asked("ceph_release = 18"));
    for known in ["ceph_release = \"18.2.7\"", "ceph_release = 18\nqueue = \"wpq\"", "ceph_release = 16"] {
        assert!(!asked(known).contains("newest version"), "{known}");
    }
    assert!(asked("ceph_release = \"17.2.6\"").contains("the numbers of its profiles are not known"));
    // The cluster has a coded pool.
    let warnings = |version: &str| {
        let text = format!("{EXAMPLE}reweight = \"osd.4=0.95\"\nceph_release = \"{version}\"");
        Warning::texts(outcome(&Whatif, example(), &text).warnings).join("; ")
    };
    assert!(warnings("20.2.4").contains("reads of shards wait in the queues of Ceph 20.2.4"));
    assert!(!warnings("20.2.3").contains("reads of shards wait"));
    let other = warnings("14.2.22");
    assert!(other.contains("Ceph 14.2.22 is older than the releases that are modelled"), "{other}");
}

/// A fault that was mended: limits of recovery were advised that daemons with mClock take back.
#[test]
fn limits_that_daemons_take_back_are_not_advised_alone() {
    let tried = |keys: &str| {
        let text = format!("{FOUR}mark_out = \"osd.3\"\n{keys}");
        let (outcome, answer) = answered(four(&[[0, 1, 3], [1, 2, 3]], None), &text);
        let kept = outcome.series["observed"]["work"]["tried"].clone();
        let changes =
            kept.as_array().unwrap().iter().map(|tried| tried["change"].as_str().unwrap().to_owned());
        (changes.collect::<Vec<String>>(), lines(&answer, Label::Try).join("; "))
    };
    let limits = |changes: &[String]| -> Vec<String> {
        changes.iter().filter(|change| change.contains("max_")).cloned().collect()
    };
    let (changes, said) = tried("ceph_release = \"18.2.4\"");
    let both = "osd_mclock_override_recovery_settings = true, ";
    assert!(!limits(&changes).is_empty(), "{changes:?}");
    assert!(limits(&changes).iter().all(|change| change.starts_with(both)), "{changes:?}");
    assert!(!said.contains("`max_backfills") && !said.contains("`recovery_max_active"), "{said}");
    let (changes, _) = tried("ceph_release = \"17.2.5\"\nqueue = \"mclock\"\nmax_backfills = 1");
    assert_eq!(limits(&changes), [""; 0], "17.2.5 sets its own again");
    let (changes, _) = tried("queue = \"wpq\"");
    assert!(limits(&changes).contains(&"max_backfills = 4".to_owned()), "{changes:?}");
}
