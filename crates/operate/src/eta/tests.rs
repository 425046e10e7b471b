//! The study on reports of a real recovery (Ceph 16.2.15), on bad states made from them, and on recoveries
//! whose truth is a run of the model with other constants.

use serde_json::{Value as Json, json};
use std::sync::Arc;
use towtank_report::Outcome;
use towtank_scenario::{Document, Source};
use towtank_streams::{Seed, Uniform as _};
use towtank_study::{PointResult, Study};

use super::*;
use crate::exports::samples::{Folder, files, unpacked};
use crate::real::factors::Factors;
use crate::whatif::orders::BETWEEN_EVENTS;

mod split;
mod states;
mod truth;

/// The recorded reports, and the seconds that were left at each until all groups were seen to be clean.
const LEFT_S: [f64; 3] = [76.7, 55.5, 38.9];

fn recorded() -> Folder {
    files(
        "../../docs/examples/underway",
        &["1.report.json.gz", "2.report.json.gz", "3.report.json.gz", "3.pg_dump.json.gz"],
    )
}

/// A recorded report, changed.
fn report(number: usize, change: impl FnOnce(&mut Json)) -> Vec<u8> {
    let mut report =
        serde_json::from_str(&unpacked(&recorded(), &format!("{number}.report.json.gz"))).unwrap();
    change(&mut report);
    report.to_string().into_bytes()
}

/// Files by name, with the recorded ones beside them.
fn with(files: &[(&str, Vec<u8>)]) -> Folder {
    let Folder(mut all) = recorded();
    all.extend(files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())));
    Folder(all)
}

fn outline(folder: Folder, text: &str) -> Result<Box<dyn towtank_study::Prepared>, Problems> {
    let text = format!("study = \"eta\"\n{text}");
    let document = Document::parse(&Source::file("asked.toml", text))?.with_files(Arc::new(folder));
    let outline = document.outline()?;
    Study::check(&Eta, outline.points()[0].draft())
}

/// The outcome, and the answer.
fn answered(folder: Folder, text: &str) -> (Outcome, String) {
    let prepared = outline(folder, text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    let outcome = prepared.run(&RunContext::alone(Seed(3), 0)).unwrap();
    let outcomes = [outcome.clone()];
    let scenario = prepared.resolved();
    let point = PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes };
    let answer = Study::present(&Eta, &[point]).answer;
    (outcome, answer.prose())
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    let found = &outcome.measures[measure];
    found.value().unwrap_or_else(|| panic!("{measure} is missing: {:?}", found.reason()))
}

fn reason(outcome: &Outcome, measure: &str) -> String {
    outcome.measures[measure].reason().unwrap_or_else(|| panic!("{measure} has a value")).to_owned()
}

/// What is wrong with a scenario.
fn refused(folder: Folder, text: &str) -> String {
    match outline(folder, text) {
        Ok(_) => panic!("{text} is taken"),
        Err(problems) => {
            problems.iter().map(|problem| problem.message().to_owned()).collect::<Vec<_>>().join("; ")
        }
    }
}

const ALL: &str = "report = [\"1.report.json.gz\", \"2.report.json.gz\", \"3.report.json.gz\"]\n";

/// A real recovery of 99 s: what was said in the middle of it holds what happened.
#[test]
fn a_real_recovery_ends_in_the_range_that_is_said() {
    let text = |count: usize| {
        let named: Vec<String> = (1..=count).map(|number| format!("\"{number}.report.json.gz\"")).collect();
        format!("report = [{}]", named.join(", "))
    };
    for (count, left) in (1..=3).zip(LEFT_S) {
        let (seen, words) = answered(recorded(), &text(count));
        let [clean, low, high] =
            ["time_to_clean_s", "time_to_clean_low_s", "time_to_clean_high_s"].map(|name| value(&seen, name));
        assert!((clean - left).abs() <= 0.3 * left, "{count} reports: {clean} s, and {left} s were left");
        assert!(low <= clean && clean <= high, "{count} reports: {clean} s in {low} to {high} s");
        assert_eq!(words.contains("speed measured"), count > 1, "{words}");
        assert_eq!(words.contains("speeds are assumed"), count == 1, "{words}");
        assert!(value(&seen, "time_to_full_redundancy_s") <= clean);
        assert_eq!(value(&seen, "time_to_min_size_s"), 0.0);
    }
    // The order in which reports are named does not count.
    let turned = "report = [\"3.report.json.gz\", \"1.report.json.gz\", \"2.report.json.gz\"]";
    assert_eq!(answered(recorded(), turned).0.measures, answered(recorded(), ALL).0.measures);
    // A dump says how far each group has come.
    let (seen, _) = answered(recorded(), &format!("{ALL}pg_dump = \"3.pg_dump.json.gz\""));
    assert!((value(&seen, "time_to_clean_s") - LEFT_S[2]).abs() <= 0.2 * LEFT_S[2]);
}

/// The scale where what took one of these times in the model lasted so long.
fn scale_of(times: &[f64], seconds: f64) -> [f64; 3] {
    super::scale::likely(times, super::scale::Around { seconds, share: BETWEEN_EVENTS }, 0.2)
}

/// The scale holds what is true in four cases of five, and does not where the earlier report is ignored.
#[test]
fn a_scale_that_is_measured_holds_the_true_one() {
    let (mut inside, mut ignored, mut all) = (0, 0, 0);
    for number in 0..200 {
        let mut draws = towtank_streams::Draws::new(Seed(number), 0, number);
        let mut draws = draws.of(towtank_streams::Purpose(1));
        let mut uniform = || draws.next_u64() as f64 / u64::MAX as f64;
        let times: Vec<f64> = (0..17).map(|_| 100.0 * (0.9 + 0.2 * uniform())).collect();
        // A quarter to four times as long as assumed.
        let scale = (2.0 * (uniform() - 0.5) * 4.0_f64.ln()).exp();
        let lasted =
            scale * times[number as usize % 17] * (0.95 + 0.1 * uniform()) + 5.0 * (uniform() - uniform());
        let [_, low, high] = scale_of(&times, lasted);
        inside += u32::from((low..=high).contains(&scale));
        ignored += u32::from((1.0 - 0.2..=1.0 + 0.2).contains(&scale));
        all += 1;
    }
    assert!(inside * 5 >= all * 4, "{inside} of {all}");
    assert!(ignored * 5 < all * 2, "what is assumed holds {ignored} of {all}");
    // Little time between the reports says little: what is assumed counts then.
    let [few, ..] = scale_of(&[5.0], 10.0);
    let [many, ..] = scale_of(&[500.0], 1_000.0);
    assert!(few < many && (many - 2.0).abs() < 0.2, "{few} {many}");
}
