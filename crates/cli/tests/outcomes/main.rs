//! Every built-in scenario gives the recorded numbers, so that moving code does not change results.
//!
//! Two hashes per scenario: one of the visible results (summary, points, tables, figures, claims, warnings),
//! and one of the digests, which also change when the fields of a state move. A new scenario is recorded by
//! running this with `TOWTANK_RECORD=1`; a changed number must be listed in *Results changed*.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

const ON_RECORD: &str = include_str!("on-record.txt");

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
        let (events, numbers, digests) = told(&report);
        Row { events, numbers, digests, ..self.clone() }
    }
}

/// Events, and the hashes of numbers and digests.
fn told(report: &Json) -> (String, String, String) {
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

#[test]
fn built_in_scenarios_give_what_is_on_record() {
    let (words, rows): (Vec<&str>, Vec<&str>) = ON_RECORD.lines().partition(|line| line.starts_with('#'));
    let before: Vec<Row> = rows.into_iter().map(Row::read).collect();
    let after: Vec<Row> = before.iter().map(Row::run).collect();
    if std::env::var_os("TOWTANK_RECORD").is_some() {
        let lines = words.iter().map(|line| (*line).to_owned()).chain(after.iter().map(Row::write));
        let text = lines.fold(String::new(), |text, line| text + &line + "\n");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outcomes/on-record.txt");
        std::fs::write(file, text).unwrap();
        return;
    }
    let moved: Vec<String> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after)
        .map(|(before, after)| format!("was {}\nis  {}", before.write(), after.write()))
        .collect();
    assert!(moved.is_empty(), "these moved:\n{}", moved.join("\n"));
}

#[test]
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
    let rows = ON_RECORD.lines().filter(|line| !line.starts_with('#'));
    let recorded: BTreeSet<String> = rows.map(|line| Row::read(line).name).collect();
    assert_eq!(recorded, files);
}

/// A number changed in its last digit, one more event, or a changed digest: each shows, and only where it
/// should.
#[test]
fn what_moves_is_noticed() {
    let report = serde_json::json!({
        "answer": "", "events": 7, "digest": "d", "tables": [], "figures": [], "claims": [], "warnings": [],
        "summary": { "rate": { "value": 0.1 } },
        "points": [{ "label": "a", "digest": "e" }],
    });
    let (events, numbers, digests) = told(&report);
    let mut other = report.clone();
    other["summary"]["rate"]["value"] = serde_json::json!(0.100_000_000_000_000_02);
    assert!(told(&other).1 != numbers && told(&other).2 == digests);
    let mut other = report.clone();
    other["points"][0]["digest"] = "f".into();
    assert!(told(&other).1 == numbers && told(&other).2 != digests);
    let mut other = report;
    other["events"] = 8.into();
    assert_ne!(told(&other).0, events);
}
