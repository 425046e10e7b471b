//! Comparisons: what is paired, what counts as different, and the notes in the report.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use towtank_report::Outcome;

use super::*;
use crate::scratch::Scratch;
use crate::{Inputs, Ledger, Plan, ReportFile, Store, Takeover, Writer, assemble, examples};

/// A side whose replicates measure `x` as given, at one point.
fn of_values(name: &str, seed: u64, values: &[f64], kept: bool) -> Side {
    let plan = examples::plan_with_seed(&[8], u32::try_from(values.len()).unwrap(), seed);
    side_of(name, &plan, kept, |_, replicate| {
        let mut outcome = Outcome::default();
        outcome.measure("x", values[replicate as usize], "s");
        outcome
    })
}

fn side_of(name: &str, plan: &Plan, kept: bool, outcome: impl Fn(&crate::PointSpec, u32) -> Outcome) -> Side {
    let mut ledger = Ledger::new(plan);
    for task in plan.tasks() {
        ledger.enter(task, outcome(&plan.points()[task.point], task.replicate));
    }
    let assembled = assemble(plan, ledger, "sequential");
    let points = kept.then_some(assembled.points);
    Side { name: name.to_owned(), report: assembled.report, points, notes: Vec::new() }
}

fn toy(name: &str, plan: &Plan) -> Side {
    side_of(name, plan, true, examples::outcome)
}

fn cell(report: &Report, table: &str, column: &str) -> String {
    let table = report.tables.iter().find(|candidate| candidate.id() == table).unwrap();
    let at = table.columns().iter().position(|candidate| candidate.name == column).unwrap();
    serde_json::to_string(&table.rows()[0][at]).unwrap()
}

#[test]
fn verdicts_follow_the_intervals() {
    let check = |a: &[f64], b: &[f64], seed_b: u64, kept: bool, want: &str| {
        let report = compare(&of_values("A", 7, a, kept), &of_values("B", seed_b, b, kept)).unwrap();
        assert_eq!(
            cell(&report, "comparison", "b_against_a"),
            format!("\"{want}\""),
            "{a:?} {b:?} {seed_b} {kept}"
        );
    };
    // Pairing removes noise that both sides share.
    check(&[1.0, 5.0, 9.0], &[1.1, 5.12, 9.11], 7, true, "higher");
    check(&[1.0, 5.0, 9.0], &[0.9, 4.88, 8.89], 7, true, "lower");
    check(&[1.0, 5.0, 9.0], &[1.1, 5.12, 9.11], 7, false, "unclear");
    check(&[1.0, 5.0, 9.0], &[1.1, 5.12, 9.11], 8, true, "unclear");
    check(&[1.0, 5.0, 9.0], &[2.0, 4.0, 9.5], 7, true, "unclear");
    check(&[1.0, 1.1, 1.2], &[5.0, 5.1, 5.2], 8, false, "higher");
    check(&[1.0, 5.0, 9.0], &[1.0, 5.0, 9.0], 7, true, "equal");
    check(&[1.0], &[1.0], 7, true, "equal");
    check(&[1.0], &[2.0], 7, true, "no interval");
    check(&[1.0, 2.0], &[f64::NAN, f64::NAN], 7, true, "no value");
}

/// A former bug: a report compared with itself, without its runs, was reported as not clearly different.
#[test]
fn reports_with_equal_digests_are_equal() {
    let side = |name: &str, last: f64| of_values(name, 7, &[1.0, 5.0, last], false);
    let same = compare(&side("A", 9.0), &side("B", 9.0)).unwrap();
    assert_eq!(same.answer.finding, "B against A, of 1 value: 1 equal.");
    let other = compare(&side("A", 9.0), &side("B", 9.1)).unwrap();
    assert_eq!(other.answer.finding, "B against A, of 1 value: 1 not clearly different.");
}

/// A former bug: what neither side has was reported as missing on one side.
#[test]
fn what_is_missing_on_both_sides_is_counted_as_such() {
    let (some, none) = ([1.0, 2.0], [f64::NAN, f64::NAN]);
    let answer = |a: &[f64], b: &[f64]| {
        compare(&of_values("A", 7, a, true), &of_values("B", 7, b, true)).unwrap().answer.finding
    };
    assert_eq!(answer(&none, &none), "B against A, of 1 value: 1 without a value on both sides.");
    assert_eq!(answer(&some, &none), "B against A, of 1 value: 1 without a value on one side.");
}

#[test]
fn the_paired_interval_is_that_of_the_differences() {
    let a = of_values("A", 7, &[1.0, 2.0, 3.0, 4.0, 5.0], true);
    let b = of_values("B", 7, &[7.0, 10.0, 13.0, 16.0, 19.0], true);
    let report = compare(&a, &b).unwrap();
    // The differences are 6, 8, 10, 12, 14: mean 10, half width 2.776445 · √(10 / 5).
    let x = &report.summary["x"];
    let (low, high) = x.interval().unwrap();
    assert_eq!((x.value(), x.n(), x.unit()), (Some(10.0), 5, "s"));
    assert!((low - 6.073_514).abs() < 1e-5 && (high - 13.926_486).abs() < 1e-5, "{low} {high}");
    assert_eq!(cell(&report, "comparison", "ratio"), (13.0 / 3.0).to_string());
    assert_eq!(cell(&report, "intervals", "pairs"), "5");
}

#[test]
fn a_ratio_to_zero_and_units_that_differ_have_no_number() {
    let zero = compare(&of_values("A", 7, &[0.0], true), &of_values("B", 7, &[1.0], true)).unwrap();
    assert_eq!(cell(&zero, "comparison", "ratio"), r#"{"value":null,"reason":"A is zero"}"#);
    let plan = examples::plan(&[8], 1);
    let other = side_of("B", &plan, true, |_, _| {
        let mut outcome = Outcome::default();
        outcome.measure("x", 5.0, "bytes");
        outcome
    });
    let report = compare(&of_values("A", 7, &[1.0], true), &other).unwrap();
    assert_eq!(report.summary["x"].reason(), Some("A is in `s`, B in `bytes`"));
}

#[test]
fn a_sweep_is_compared_where_it_overlaps() {
    let (a, b) = (examples::plan(&[8, 16, 32], 5), examples::plan(&[64, 32, 16], 5));
    let report = compare(&toy("before", &a), &toy("after", &b)).unwrap();
    let labels: Vec<_> = report.points.iter().map(|point| point.label.as_str()).collect();
    assert_eq!(labels, ["servers=16", "servers=32"]);
    assert_eq!(report.sweep[0].values, [16, 32]);
    // The common points have the same scenario and seed, so nothing differs.
    assert!(report.points.iter().all(|point| point.summary["span_s"].value() == Some(0.0)));
    insta::assert_snapshot!(report.answer.prose(), @"B against A, of 4 values: 4 equal.");
    insta::assert_snapshot!(Warning::texts(report.warnings).join("\n"), @r#"
    the scenarios differ in `servers[0]`, `servers[1]`, `servers[2]`
    only before has the points `servers=8`
    only after has the points `servers=64`
    "#);
    insta::assert_snapshot!(towtank_report::csv::render(&report.tables[0]), @r#"
    servers,measure,unit,a,b,difference,ratio,b_against_a
    16,span_s,s,0.0625,0.0625,0,1,equal
    16,lost_bytes,bytes,1000000000000000000,1000000000000000000,0,1,equal
    32,span_s,s,0.03125,0.03125,0,1,equal
    32,lost_bytes,bytes,1000000000000000000,1000000000000000000,0,1,equal
    "#);
    assert_eq!(report.figures.len(), 2);
}

#[test]
fn readers_learn_what_else_differs() {
    let mut a = toy("A", &examples::plan_with_seed(&[8], 3, 7));
    let mut b = toy("B", &examples::plan_with_seed(&[8], 4, 9));
    b.report.results_version = 2;
    b.report.towtank = "9.9.9".to_owned();
    b.report.partial = true;
    b.report.study = "other".to_owned();
    b.report.scenario["rate"] = serde_json::json!("2GiB/s");
    a.report.summary.insert("only_a".to_owned(), Measure::new(1.0, "", 3));
    a.report.towtank = "0.1.0".to_owned();
    let report = compare(&a, &b).unwrap();
    insta::assert_snapshot!(Warning::texts(report.warnings).join("\n"), @r#"
    the studies differ (toy in A, other in B)
    the results versions differ (1 in A, 2 in B): the model itself changed between them
    they were made by different versions of Towtank (0.1.0 in A, 9.9.9 in B)
    B is partial: not all of its runs are done
    the seeds differ (7 in A, 9 in B): replicates cannot be paired, so the noise of both adds up
    the numbers of replicates differ (3 in A, 4 in B)
    the scenarios differ in `rate`
    only A has the measures `only_a`
    "#);
    insta::assert_snapshot!(towtank_report::csv::render(&report.tables[2]), @r#"
    key,a,b
    rate,1GiB/s,2GiB/s
    "#);
    let mut hashed = toy("B", &examples::plan(&[8], 3));
    hashed.report.scenario_hash = "another".to_owned();
    let report = compare(&toy("A", &examples::plan(&[8], 3)), &hashed).unwrap();
    insta::assert_snapshot!(Warning::texts(report.warnings).join("\n"), @r#"
    the scenarios are equal, but the contents of their input files differ
    the two are the same result: their digests are equal
    "#);
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let message = |a: &Side, b: &Side| compare(a, b).unwrap_err().to_string();
    let (sweep, single) = (toy("A", &examples::plan(&[8, 16], 1)), toy("B", &examples::plan(&[8], 1)));
    insta::assert_snapshot!(message(&sweep, &single), @"A sweeps over `servers` and B over nothing, and they have no point in common: compare results that share some values");
    let mut other = of_values("B", 7, &[1.0], true);
    other.report.study = "put".to_owned();
    insta::assert_snapshot!(message(&single, &other), @"B is a result of the study `toy` and B of `put`, and they have no measure in common: compare results of one study");
}

fn stored(dir: &Path, plan: &Plan, report: Option<&Report>) {
    let store = Store::open(dir, plan, Takeover::Refuse, Writer::new(Inputs::default())).unwrap();
    for task in plan.tasks() {
        store.save(task, &examples::outcome(&plan.points()[task.point], task.replicate)).unwrap();
    }
    if let Some(report) = report {
        let bytes = report.to_json().into_bytes();
        store.write_report(&[ReportFile { name: "report.json".to_owned(), bytes }]).unwrap();
    }
}

#[test]
fn a_side_is_a_directory_or_a_report() {
    let dir = Scratch::new();
    let plan = examples::plan(&[8, 16], 3);
    let want = toy("A", &plan);
    let (full, bare) = (dir.path().join("full"), dir.path().join("bare"));
    stored(&full, &plan, Some(&want.report));
    assert_eq!(load_side(&full, "A").unwrap(), want);
    let alone = load_side(&full.join("report.json"), "A").unwrap();
    assert_eq!(alone, Side { points: None, ..want.clone() });
    stored(&bare, &plan, None);
    let assembled = load_side(&bare, "A").unwrap();
    assert_eq!((&assembled.points, &assembled.report.points), (&want.points, &want.report.points));
    insta::assert_snapshot!(assembled.notes.join("\n"), @"A has no report yet: its means were taken from its stored runs");
    // A former bug: runs whose plan is damaged were left out without a word.
    let plan_file = full.join("campaign.json");
    let whole = fs::read(&plan_file).unwrap();
    fs::write(&plan_file, &whole[..whole.len() / 2]).unwrap();
    let damaged = load_side(&full, "A").unwrap();
    assert_eq!((damaged.report, damaged.points), (want.report.clone(), None));
    insta::assert_snapshot!(damaged.notes.join("\n"), @"`campaign.json` of A cannot be used (it is not a complete campaign file (EOF while parsing an object at line 1 column 299)), so its runs are left out and replicates are not paired");
    fs::write(&plan_file, &whole).unwrap();
    // A report that does not match its runs is used without them.
    let mut old = want.report.clone();
    old.digest = Some("old".to_owned());
    fs::write(full.join("report.json"), old.to_json()).unwrap();
    let stale = load_side(&full, "A").unwrap();
    assert_eq!((stale.report, stale.points), (old, None));
    insta::assert_snapshot!(stale.notes.join("\n"), @"the runs stored with the report of A do not belong to it and were left out");
}

#[test]
fn a_path_without_a_result_says_so() {
    let dir = Scratch::new();
    let message = |path: &Path| dir.hide(&load_side(path, "A").unwrap_err());
    let broken = dir.file("broken.json", "{\"schema\":");
    let other = dir.file("other.json", "{\"schema\":\"towtank-report/9\"}");
    insta::assert_snapshot!(message(dir.path()), @"`DIR` holds neither a `report.json` nor a campaign; name a directory given to `--out`");
    insta::assert_snapshot!(message(&dir.path().join("absent")), @"cannot read `DIR/absent`: No such file or directory (os error 2); name a directory given to `--out`, or a `report.json`");
    insta::assert_snapshot!(message(&broken), @"cannot use `DIR/broken.json`: not a report: EOF while parsing a value at line 1 column 10; is it the `report.json` of a run?");
    insta::assert_snapshot!(message(&other), @"cannot use `DIR/other.json`: the report is of layout `towtank-report/9`, but this version reads `towtank-report/2`; use the version that wrote it");
}

#[test]
fn a_comparison_is_a_report_like_any_other() {
    let report = compare(
        &toy("A", &examples::plan(&[8, 16], 3)),
        &toy("B", &examples::plan_with_seed(&[8, 16], 3, 8)),
    )
    .unwrap();
    assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
    let page = towtank_report::html::render(&report);
    assert!(page.contains("compared"));
    assert!(towtank_report::csv::files(&report).len() >= 3);
}

proptest! {
    #[test]
    fn the_other_way_round_is_the_negative(pairs in prop::collection::vec((-1e3..1e3_f64, -1e3..1e3_f64), 1..12), kept in any::<bool>()) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let (a, b) = (of_values("A", 7, &a, kept), of_values("B", 7, &b, kept));
        let there = compare(&a, &b).unwrap().summary["x"].clone();
        let back = compare(&b, &a).unwrap().summary["x"].clone();
        prop_assert_eq!(there.value().unwrap(), -back.value().unwrap());
        prop_assert_eq!(there.interval(), back.interval().map(|(low, high)| (-high, -low)));
    }

    #[test]
    fn a_result_compared_with_itself_is_equal(values in prop::collection::vec(any::<f64>(), 1..12)) {
        let a = of_values("A", 7, &values, true);
        let report = compare(&a, &a).unwrap();
        let finite = values.iter().any(|value| value.is_finite());
        let want = if finite { "\"equal\"" } else { "\"no value\"" };
        prop_assert_eq!(cell(&report, "comparison", "b_against_a"), want);
    }
}
