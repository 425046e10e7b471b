//! The table against values that were written by hand from Ceph's source, each with planted faults; the page
//! against the table.

use super::value::Disk::{Hdd, Ssd};
use super::*;

/// The rules that [`BY_HAND`] has, in its order.
const RULES: [Rule; 14] = [
    Rule::Queue,
    Rule::Mclock,
    Rule::DefaultProfile,
    Rule::Shares(Profile::Balanced),
    Rule::Backfills(Queue::Mclock),
    Rule::Active(Queue::Mclock, Hdd),
    Rule::Active(Queue::Mclock, Ssd),
    Rule::Cost(Hdd),
    Rule::Shards(Hdd),
    Rule::ShardReads,
    Rule::IdleItems,
    Rule::Resets,
    Rule::GroupsTarget,
    Rule::GroupsMax,
];

/// Shares of `balanced`: clients, recovery and best effort, each with reservation, weight and limit.
const OLD: &str = "clients 40 % / 1 / 100 %; recovery 40 % / 1 / 150 %; best effort 20 % / 2 / –";
const BYTES: &str = "clients 50 % / 1 / –; recovery 50 % / 1 / –; best effort 0 % / 1 / 90 %";
const FIXED: &str = "clients 50 % / 1 / –; recovery 50 % / 1 / –; best effort 5 % / 2 / 90 %";

const PER_OPERATION: &str = "(250000 + 52 × bytes) / 10000000, rounded, at least 1";
const LARGER: &str = "the larger of bytes and bandwidth / IOPS";
const SUM: &str = "bytes + bandwidth / IOPS";
const OPERATIONS: &str = "operations";
const THIRD: &str = "operations, with lower limits of recovery";
const FIRST: &str = "at once, before all queues";
const CLASS: &str = "by the priority of the group: recovery or best effort";
const BACK: &str = "taken back";
const UNLESS: &str = "taken back, but for `osd_mclock_override_recovery_settings`";
const WPQ: &str = "`wpq`";
const MCLOCK: &str = "`mclock_scheduler`";
const CLIENTS: &str = "`high_client_ops`";
const ALIKE: &str = "`balanced`";

/// Versions with what each rule is in them, written from the sources that the rows name.
#[rustfmt::skip]
const BY_HAND: [(&str, [&str; RULES.len()]); 13] = [
    ("15.2.17", [WPQ, OPERATIONS, CLIENTS, OLD, "1,000", "1,000", "1,000", PER_OPERATION, "5", FIRST, "no", BACK, "100", "250"]),
    ("16.2.15", [WPQ, OPERATIONS, CLIENTS, OLD, "1,000", "1,000", "1,000", PER_OPERATION, "5", FIRST, "no", BACK, "100", "250"]),
    ("17.2.5", [MCLOCK, OPERATIONS, CLIENTS, OLD, "1,000", "1,000", "1,000", PER_OPERATION, "5", FIRST, "no", BACK, "100", "250"]),
    ("17.2.6", [MCLOCK, THIRD, CLIENTS, OLD, "3", "10", "20", PER_OPERATION, "5", FIRST, "no", BACK, "100", "250"]),
    ("17.2.7", [MCLOCK, "bytes", ALIKE, BYTES, "1", "3", "10", LARGER, "5", FIRST, "yes", UNLESS, "100", "250"]),
    ("18.2.0", [MCLOCK, "bytes", ALIKE, BYTES, "1", "3", "10", SUM, "5", FIRST, "yes", UNLESS, "100", "250"]),
    ("18.2.4", [MCLOCK, "bytes", ALIKE, BYTES, "1", "3", "10", LARGER, "5", FIRST, "yes", UNLESS, "100", "250"]),
    ("18.2.5", [MCLOCK, "bytes", ALIKE, BYTES, "1", "3", "10", LARGER, "1", FIRST, "yes", UNLESS, "100", "250"]),
    ("19.2.0", [MCLOCK, "bytes", ALIKE, BYTES, "1", "3", "10", LARGER, "5", FIRST, "yes", UNLESS, "100", "250"]),
    ("19.2.1", [MCLOCK, "bytes", ALIKE, BYTES, "1", "3", "10", LARGER, "1", FIRST, "yes", UNLESS, "100", "250"]),
    ("20.2.3", [MCLOCK, "bytes", ALIKE, BYTES, "1", "3", "10", LARGER, "1", FIRST, "yes", UNLESS, "100", "250"]),
    ("20.2.4", [MCLOCK, "bytes", ALIKE, FIXED, "1", "3", "10", LARGER, "1", CLASS, "yes", UNLESS, "100", "250"]),
    ("21.1.0", [MCLOCK, "bytes", ALIKE, FIXED, "1", "3", "10", LARGER, "1", CLASS, "yes", UNLESS, "200", "500"]),
];

fn release(text: &str) -> Release {
    Release::assumed(text.parse().expect("a version"))
}

/// The versions of the list that the rows do not have right.
fn wrong(rows: &[Row]) -> Vec<&'static str> {
    let is =
        |rule: &Rule, version: &str| row_of(rows, *rule, release(version)).map(|row| row.value.to_string());
    let differs = |(version, wanted): &&(&'static str, [&str; RULES.len()])| {
        RULES.iter().zip(wanted).any(|(rule, wanted)| is(rule, version).as_deref() != Some(*wanted))
    };
    BY_HAND.iter().filter(differs).map(|(version, _)| *version).collect()
}

#[test]
fn the_table_has_what_was_written_by_hand() {
    assert_eq!(wrong(ROWS), [""; 0]);
}

/// Each row of each version, planted with the value of another row or left out, and each border between two
/// rows moved by one version.
#[test]
fn a_wrong_row_is_found() {
    for (version, _) in BY_HAND {
        for rule in RULES {
            let at = ROWS.iter().position(|row| row.rule == rule && row.covers(release(version))).unwrap();
            let mut rows = ROWS.to_vec();
            rows[at].value = Value::Words("planted");
            assert!(wrong(&rows).contains(&version), "{version}, {rule:?}");
            rows.remove(at);
            assert!(wrong(&rows).contains(&version), "{version}, {rule:?}, left out");
        }
    }
    for border in ["17.2.6", "17.2.7", "18.2.5", "19.2.1", "20.2.4"] {
        let border = release(border);
        let before = Release { patch: border.patch - 1, ..border };
        let mut rows = ROWS.to_vec();
        for row in &mut rows {
            row.from = if row.from == border { before } else { row.from };
            row.before = if row.before == border { before } else { row.before };
        }
        assert!(wrong(&rows).iter().any(|version| release(version) == before), "{border}");
    }
}

/// Rules of a version that have no row, or more than one.
fn ambiguous(rows: &[Row], release: Release) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for row in ROWS {
        if !rules.contains(&row.rule) {
            rules.push(row.rule);
        }
    }
    rules.retain(|rule| row_of(rows, *rule, release).is_none());
    rules
}

fn versions() -> impl Iterator<Item = Release> {
    let [oldest, newest] = MODELLED;
    let patches = |major: u32, minor: u32| (0..30).map(move |patch| Release::new(major, minor, patch));
    (oldest..=newest).flat_map(move |major| (0..4).flat_map(move |minor| patches(major, minor)))
}

#[test]
fn each_version_has_one_row_of_each_rule() {
    for release in versions() {
        assert_eq!(ambiguous(ROWS, release), [], "{release}");
    }
    // A row twice, and rows that end too late or too early.
    for at in 0..ROWS.len() {
        let mut rows = ROWS.to_vec();
        rows.push(rows[at]);
        assert!(versions().any(|release| ambiguous(&rows, release) == [ROWS[at].rule]), "twice: {at}");
        let mut rows = ROWS.to_vec();
        rows[at].from.patch += 1;
        assert!(versions().any(|release| ambiguous(&rows, release) == [ROWS[at].rule]), "late: {at}");
    }
}

#[test]
fn a_part_of_a_version_is_its_newest_and_others_are_the_nearest() {
    let of = |text: &str| release(text).to_string();
    for (known, want) in [
        ("17", "17.2.9"),
        ("18", "18.2.7"),
        ("18.2", "18.2.7"),
        ("18.1", "18.1.0"),
        ("18.2.5", "18.2.5"),
        ("17.2.30", "17.2.30"),
        ("14.2.22", "15.0.0"),
        ("14", "15.0.0"),
        ("22", "21.1.0"),
        ("22.2.1", "21.1.0"),
    ] {
        assert_eq!(of(known), want, "{known}");
    }
    let said = |text: &str| outside(text.parse().unwrap()).map(|warning| warning.text);
    assert_eq!(said("15"), None);
    assert_eq!(said("21.1.0"), None);
    assert_eq!(
        said("21.9.9").as_deref(),
        Some("the rules of Ceph 21 were read at 21.1.0: they are assumed for Ceph 21.9.9")
    );
    assert_eq!(
        said("14.2.22").as_deref(),
        Some(
            "Ceph 14.2.22 is older than the releases that are modelled (15 to 21): Ceph 15 is assumed; --ceph says another one"
        )
    );
    assert!(said("22.2.0").unwrap().contains("newer"));
}

/// Lines of the answer: where versions differ, and where numbers are not known; with the queue that matters.
#[test]
fn what_is_assumed_of_a_release_is_said() {
    let of = |text: &str, queue| -> Vec<String> {
        let line = |line: Line| format!("{} ({})", line.text, line.change.unwrap_or_default());
        said(text.parse().unwrap(), queue).into_iter().map(line).collect()
    };
    for (known, want) in [
        ("17", "Ceph 17.2.9, the newest version of 17 that is modelled (--ceph 17.2.6)"),
        ("18", "Ceph 18.2.7, the newest version of 18 that is modelled (--ceph 18.2.4)"),
        ("18.2", "Ceph 18.2.7, the newest version of 18.2 that is modelled (--ceph 18.2.4)"),
        ("19", "Ceph 19.2.3, the newest version of 19 that is modelled (--ceph 19.2.0)"),
        ("20", "Ceph 20.2.4, the newest version of 20 that is modelled (--ceph 20.2.3)"),
        (
            "17.2.6",
            "Ceph 17.2.6: the numbers of its profiles are not known, so those of 17.2.5 are taken (--ceph)",
        ),
    ] {
        assert_eq!(of(known, None), [want]);
        assert_eq!(of(known, Some(Queue::Wpq)), [""; 0], "WPQ is alike in all");
    }
    for known in ["15", "16", "21", "16.2.15", "17.2.5", "17.2.7", "18.2.5", "14", "22"] {
        assert_eq!(of(known, None), [""; 0], "{known}");
        assert_eq!(of(known, Some(Queue::Mclock)), [""; 0], "{known}");
    }
}

#[test]
fn a_release_is_read_as_it_is_written() {
    let read = |text: &str| serde_json::from_str::<CephRelease>(text);
    for (text, want) in [
        ("18", "18"),
        ("\"18\"", "18"),
        ("\"18.2.5\"", "\"18.2.5\""),
        ("18.2", "\"18.2\""),
        ("\"17.2.6\"", "\"17.2.6\""),
        ("\"reef\"", "18"),
    ] {
        assert_eq!(serde_json::to_string(&read(text).unwrap()).unwrap(), want);
    }
    for text in ["-1", "\"Reef\"", "\"nautilus\"", "\"18.2.5.1\"", "null", "[18]"] {
        assert!(read(text).is_err(), "{text}");
    }
}

/// The versions that a row holds for, in words.
fn span(row: &Row) -> String {
    let [oldest, newest] = MODELLED;
    let name = |release: Release| match release {
        Release { major, minor: 0, patch: 0 } => major.to_string(),
        release => release.to_string(),
    };
    let last = match row.before {
        Release { major, minor: 0, patch: 0 } if row.from.patch > 0 => format!("{}.x", major - 1),
        Release { major, minor: 0, patch: 0 } => (major - 1).to_string(),
        Release { major, minor, patch } => Release::new(major, minor, patch - 1).to_string(),
    };
    let from = name(row.from);
    match (row.from.major == oldest, row.before.major > newest) {
        (true, true) => "all".to_owned(),
        (false, true) => format!("from {from}"),
        (true, false) => format!("to {last}"),
        (false, false) if from == last => from,
        (false, false) => format!("{from} to {last}"),
    }
}

/// The table as the page has it.
fn page(rows: &[Row]) -> String {
    let mut text =
        "| option or rule | releases | value | source | modelled |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    let mut before = None;
    for row in rows {
        let rule = if before == Some(row.rule) { String::new() } else { row.rule.to_string() };
        before = Some(row.rule);
        text += &format!("| {rule} | {} | {} | {} | {} |\n", span(row), row.value, row.source, row.modelled);
    }
    text
}

#[test]
fn the_guide_has_this_table() {
    let guide = include_str!("../../../../docs/ceph.md");
    let wanted = page(ROWS);
    assert!(guide.contains(&wanted), "docs/ceph.md lacks this table:\n{wanted}");
    let mut rows = ROWS.to_vec();
    rows[0].source = "planted";
    assert!(!guide.contains(&page(&rows)), "a row that differs is found");
}
