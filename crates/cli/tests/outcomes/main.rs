//! Every built-in scenario gives the recorded numbers, so that moving code does not change results.
//!
//! Two hashes per scenario: one of the visible results (summary, points, tables, figures, claims, warnings),
//! and one of the digests, which also change when the fields of a state move. Each scenario is a test of its
//! name; the file on record has the names, so this has no harness.
//!
//! A new scenario is recorded by a line with its name and settings, and a run with `TOWTANK_RECORD=1`. Such a
//! run compares nothing; its last act is to write the file, once, with new results in the lines of all
//! scenarios that it ran (`-- NAME` selects). From the first release on, a changed number must be listed in
//! *Results changed*.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Trial};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

const ON_RECORD: &str = include_str!("on-record.txt");

/// New results by the name of the scenario, from a run that records them.
type Recorded = Arc<Mutex<BTreeMap<String, Row>>>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let recorded = std::env::var_os("TOWTANK_RECORD").map(|_| Recorded::default());
    let mut rows: Vec<Row> = lines_on_record().map(Row::read).collect();
    // The longest first, so that the threads end at about the same time.
    rows.sort_by_key(|row| std::cmp::Reverse(row.events.parse::<u64>().unwrap_or(0)));
    let mut tests: Vec<Trial> = rows.into_iter().map(|row| test_of(row, recorded.clone())).collect();
    tests.push(check("every_built_in_scenario_is_on_record", every_built_in_scenario_is_on_record));
    tests.push(check("what_moves_is_noticed", what_moves_is_noticed));
    tests.push(check("a_scenario_that_moved_fails_its_test", a_scenario_that_moved_fails_its_test));
    let conclusion = libtest_mimic::run(&arguments, tests);
    if let Some(recorded) = recorded {
        record(&recorded.lock().unwrap());
    }
    conclusion.exit_code()
}

fn check(name: &str, panics: fn()) -> Trial {
    Trial::test(name, move || {
        panics();
        Ok(())
    })
}

fn test_of(row: Row, recorded: Option<Recorded>) -> Trial {
    Trial::test(row.name.clone(), move || {
        let now = row.run();
        match recorded {
            Some(recorded) => _ = recorded.lock().unwrap().insert(row.name, now),
            None => row.compare(&now)?,
        }
        Ok(())
    })
}

fn lines_on_record() -> impl Iterator<Item = &'static str> {
    ON_RECORD.lines().filter(|line| !line.starts_with('#'))
}

/// Writes the file with these results in place of the old ones, in the same order.
fn record(recorded: &BTreeMap<String, Row>) {
    if recorded.is_empty() {
        return;
    }
    let line_of = |line: &str| match line.split('|').next().and_then(|name| recorded.get(name)) {
        Some(row) => row.write(),
        None => line.to_owned(),
    };
    let text = ON_RECORD.lines().fold(String::new(), |text, line| text + &line_of(line) + "\n");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outcomes/on-record.txt");
    std::fs::write(file, text).unwrap();
}

/// One line: the scenario and its results.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: String,
    settings: String,
    events: String,
    numbers: String,
    digests: String,
}

impl Row {
    fn read(line: &str) -> Row {
        let mut fields = line.split('|').map(str::to_owned);
        let mut field = || fields.next().unwrap_or_else(|| panic!("`{line}` has fewer than five fields"));
        Row { name: field(), settings: field(), events: field(), numbers: field(), digests: field() }
    }

    fn write(&self) -> String {
        [&*self.name, &self.settings, &self.events, &self.numbers, &self.digests].join("|")
    }

    /// The same line from a new run.
    fn run(&self) -> Row {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towtank"));
        command.env_clear().args(["run", &self.name, "--format", "json", "--quiet"]);
        self.settings.split(' ').for_each(|setting| {
            command.args(["--set", setting]);
        });
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        let report: Json = serde_json::from_slice(&output.stdout).unwrap();
        let (events, numbers, digests) = fingerprint(&report);
        Row { events, numbers, digests, ..self.clone() }
    }

    /// Fails where the new run differs.
    fn compare(&self, now: &Row) -> Result<(), String> {
        if self == now { Ok(()) } else { Err(format!("was {}\nis  {}", self.write(), now.write())) }
    }
}

/// Events, and the hashes of numbers and digests.
fn fingerprint(report: &Json) -> (String, String, String) {
    let mut points = report["points"].as_array().unwrap().clone();
    let of_points = points.iter_mut().map(|point| point.as_object_mut().unwrap().shift_remove("digest"));
    let digests: Vec<Json> =
        std::iter::once(Some(report["digest"].clone())).chain(of_points).flatten().collect();
    let numbers: Vec<&Json> =
        ["answer", "summary", "tables", "figures", "claims", "warnings"].map(|part| &report[part]).into();
    let numbers = serde_json::to_string(&(numbers, points)).unwrap();
    (report["events"].to_string(), hash(&numbers), hash(&serde_json::to_string(&digests).unwrap()))
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes())[..8].iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

fn every_built_in_scenario_is_on_record() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = BTreeSet::new();
    for folder in [folder.clone(), folder.join("papers")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "toml") {
                files.insert(path.file_stem().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let recorded: BTreeSet<String> = lines_on_record().map(|line| Row::read(line).name).collect();
    assert_eq!(recorded, files);
    assert_eq!(recorded.len(), lines_on_record().count(), "a scenario has two lines");
}

/// A number changed in its last digit, one more event, or a changed digest: each shows, and only where it
/// should.
fn what_moves_is_noticed() {
    let report = serde_json::json!({
        "answer": "", "events": 7, "digest": "d", "tables": [], "figures": [], "claims": [], "warnings": [],
        "summary": { "rate": { "value": 0.1 } },
        "points": [{ "label": "a", "digest": "e" }],
    });
    let (events, numbers, digests) = fingerprint(&report);
    let mut other = report.clone();
    other["summary"]["rate"]["value"] = serde_json::json!(0.100_000_000_000_000_02);
    assert!(fingerprint(&other).1 != numbers && fingerprint(&other).2 == digests);
    let mut other = report.clone();
    other["points"][0]["digest"] = "f".into();
    assert!(fingerprint(&other).1 == numbers && fingerprint(&other).2 != digests);
    let mut other = report;
    other["events"] = 8.into();
    assert_ne!(fingerprint(&other).0, events);
}

fn a_scenario_that_moved_fails_its_test() {
    let row = Row::read("put|replicates=1|7|a|d");
    assert_eq!(row.compare(&row), Ok(()));
    for moved in ["put|replicates=1|8|a|d", "put|replicates=1|7|b|d", "put|replicates=1|7|a|e"] {
        let want = format!("was put|replicates=1|7|a|d\nis  {moved}");
        assert_eq!(row.compare(&Row::read(moved)), Err(want));
    }
}
