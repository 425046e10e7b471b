//! Comparisons: what is paired, what counts as different, and the notes in the report.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use towtank_report::text::{Rest, Style, brief};
use towtank_report::{Axis, CurvePoint, Draw, Figure, Kind, LineSeries, Outcome, Standing, Status, Warning};

use super::{CompareError, Measure, Report, Side, load_side};
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
    Side { points, ..Side::new(name, assembled.report) }
}

/// Two results compared, without words for keys.
fn compare(a: &Side, b: &Side) -> Result<Report, CompareError> {
    several(&[a, b])
}

fn several(sides: &[&Side]) -> Result<Report, CompareError> {
    let sides: Vec<Side> = sides.iter().map(|side| (*side).clone()).collect();
    super::compare(&sides, &|_| None)
}

fn toy(name: &str, plan: &Plan) -> Side {
    side_of(name, plan, true, examples::outcome)
}

/// The screen of a report, at a width.
fn screen(report: &Report, width: usize) -> String {
    brief(report, Style { colour: false, width }, Rest::OF_COMMAND)
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
    check(&[1.0, 2.0], &[f64::NAN, f64::NAN], 7, true, "no value");
}

/// A former bug: a report compared with itself, without its runs, was reported as not clearly different.
#[test]
fn reports_with_equal_digests_are_equal() {
    let side = |name: &str, last: f64| of_values(name, 7, &[1.0, 5.0, last], false);
    let same = compare(&side("A", 9.0), &side("B", 9.0)).unwrap();
    assert_eq!(same.answer.finding, "B is the same result as A.");
    let other = compare(&side("A", 9.0), &side("B", 9.1)).unwrap();
    insta::assert_snapshot!(other.answer.prose(), @"X: B and A are tied (5.033 s against 5 s, which may be chance). Also: B against A, of 1 value: 1 tied.");
}

/// A former bug: what neither side has was reported as missing on one side.
#[test]
fn what_is_missing_on_both_sides_is_counted_as_such() {
    let (some, none) = ([1.0, 2.0], [f64::NAN, f64::NAN]);
    let answer = |a: &[f64], b: &[f64]| {
        compare(&of_values("A", 7, a, true), &of_values("B", 7, b, true)).unwrap().answer.prose()
    };
    insta::assert_snapshot!(answer(&none, &none), @"B is the same result as A.");
    insta::assert_snapshot!(answer(&some, &none), @"X: no value in B, 1.5 s in A. Also: B has no x: the computation gave no finite number. Also: B against A, of 1 value: 1 without a value on one side.");
    insta::assert_snapshot!(answer(&none, &some), @"X: 1.5 s in B, no value in A. Also: A has no x: the computation gave no finite number. Also: B against A, of 1 value: 1 without a value on one side.");
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
    insta::assert_snapshot!(report.answer.prose(), @"after is equal to before in all 4 values. Also: after against before, of 4 values: 4 equal.");
    insta::assert_snapshot!(Warning::texts(report.warnings.clone()).join("\n"), @"
    before has points that after does not have: `servers=8`
    after has points that before does not have: `servers=64`
    ");
    insta::assert_snapshot!(screen(&report, 80), @"
    after is equal to before in all 4 values.

    What              Before               After
    servers           8, 16, 32            64, 32, 16
    Span, servers=16  62.5 (32 to 120) ms  62.5 (32 to 120) ms, same
    Span, servers=32  31.25 (16 to 60) ms  31.25 (16 to 60) ms, same

    also        after against before, of 4 values: 4 equal
    note        before has points that after does not have: `servers=8`
    note        after has points that before does not have: `servers=64`
    report      --verbose shows 2 measures, 4 tables; --out DIR writes the page
    ");
    insta::assert_snapshot!(towtank_report::csv::render(&report.tables[1]), @r#"
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
    insta::assert_snapshot!(Warning::texts(report.warnings.clone()).join("\n"), @"
    B is partial: not all of its runs are done
    they are results of different studies (toy in A, other in B): measures of one name may mean different things
    they were made by different versions of Towtank (0.1.0 in A, 9.9.9 in B)
    the seeds differ (7 in A, 9 in B): replicates cannot be paired, so the noise of both adds up
    the numbers of replicates differ (3 in A, 4 in B)
    A has measures that B does not have: `only_a`
    ");
    let changes = report.tables.iter().find(|table| table.id() == "scenario_changes").unwrap();
    insta::assert_snapshot!(towtank_report::csv::render(changes), @"
    key,a,b,meaning
    rate,1GiB/s,2GiB/s,
    ");
    // Results of one study say that its model changed; those of two studies have versions of their own.
    b.report.study = "toy".to_owned();
    let texts = Warning::texts(compare(&a, &b).unwrap().warnings);
    assert!(
        texts.contains(
            &"the results versions differ (1 in A, 2 in B): the model itself changed between them".to_owned()
        ),
        "{texts:?}"
    );
    let mut hashed = toy("B", &examples::plan(&[8], 3));
    hashed.report.scenario_hash = "another".to_owned();
    let report = compare(&toy("A", &examples::plan(&[8], 3)), &hashed).unwrap();
    insta::assert_snapshot!(Warning::texts(report.warnings).join("\n"), @"
    the scenarios of A and B are equal, but the contents of their input files differ
    A and B are the same result: their digests are equal
    ");
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let message = |a: &Side, b: &Side| compare(a, b).unwrap_err().to_string();
    let (sweep, single) = (toy("A", &examples::plan(&[8, 16], 1)), toy("B", &examples::plan(&[8], 1)));
    insta::assert_snapshot!(message(&sweep, &single), @"A sweeps over `servers` and B over nothing, and they have no point in common; compare results that share some values");
    let mut other = of_values("B", 7, &[1.0], true);
    other.report.study = "put".to_owned();
    insta::assert_snapshot!(message(&single, &other), @"B is a result of the study `toy` and B of `put`, and they have no measure in common; compare results of one study");
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
    insta::assert_snapshot!(message(&other), @"cannot use `DIR/other.json`: the report is of layout `towtank-report/9`, but this version reads `towtank-report/2`; use the version that wrote it, or run its scenario again");
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

/// A result of a recovery, made up: its verdict, times, bytes and curve.
fn recovery(name: &str, called: &str, verdict: Option<Status>, clean: Option<f64>) -> Side {
    let plan = examples::plan(&[8], 1);
    let mut side = side_of(name, &plan, true, |_, _| Outcome::default());
    side.called = called.to_owned();
    let report = &mut side.report;
    report.digest = Some(format!("{name}{clean:?}"));
    report.scenario["queue"] = serde_json::json!({ "profile": called });
    report.headline = Some("time_to_clean_s".to_owned());
    report.main_figure = Some("progress".to_owned());
    report.titles.insert("time_to_clean_s".to_owned(), "Time until all groups are clean".to_owned());
    report.answer.measures = ["time_to_clean_s", "moved_bytes", "lost_objects"].map(str::to_owned).into();
    report.answer.verdict = verdict.map(|verdict| Standing::new(verdict, "so it is"));
    report.answer.finding = format!("{called} is done.");
    let time = clean.map_or_else(
        || Measure::missing("s", 0, "12 objects have no target device"),
        |clean| Measure::new(clean, "s", 1),
    );
    report.summary.insert("time_to_clean_s".to_owned(), time);
    report.summary.insert("moved_bytes".to_owned(), Measure::new(4096.0, "bytes", 1));
    report.summary.insert("lost_objects".to_owned(), Measure::new(0.0, "objects", 1));
    let points = [0.0, 0.5, 1.0].map(|part| CurvePoint::new(part * clean.unwrap_or(9.0), part));
    let line = LineSeries { name: "written".to_owned(), points: points.into(), draw: Draw::Line };
    let kind = Kind::Line {
        x: Axis::linear("time", "s"),
        y: Axis::linear("done", "fraction"),
        series: vec![line],
        references: Vec::new(),
    };
    let (title, caption) = ("Progress".to_owned(), String::new());
    report.figures = vec![Figure::new("progress", title, caption, kind)];
    side
}

#[test]
fn the_answer_says_what_is_sooner_and_what_is_not_safe() {
    let safe = Some(Status::Safe);
    let a = recovery("A", "wpq", safe, Some(2310.0));
    let b = recovery("B", "balanced", safe, Some(1572.0));
    let c = recovery("C", "none", Some(Status::NotSafe), None);
    let two = compare(&a, &b).unwrap();
    insta::assert_snapshot!(two.answer.prose(), @"All groups are clean 12.3 min sooner in B than in A (26.2 min against 38.5 min). Also: B against A, of 3 values: 1 different, 2 equal.");
    let words = |key: &str| (key == "queue.profile").then(|| "Profile of mClock".to_owned());
    let three = super::compare(&[a.clone(), b.clone(), c.clone()], &words).unwrap();
    insta::assert_snapshot!(screen(&three, 80), @"
    All groups are clean 12.3 min sooner in B than in A (26.2 min against 38.5 min);
    no value in C; C is not safe, A is safe.

    What                             A             B                  C
    result                           wpq           balanced           none
    Profile of mClock                wpq           balanced           none
    verdict                          safe          safe               not safe
    Time until all groups are clean  38.5 min      26.2 min, -32 %    none
    Moved                            4 KiB         4 KiB, same        4 KiB, same
    finding                          wpq is done.  balanced is done.  none is done.

    also        C has no time until all groups are clean: 12 objects have no target
                device
    also        B against A, of 3 values: 1 different, 2 equal
    also        C against A, of 3 values: 2 equal, 1 without a value on one side
    report      --verbose shows 6 measures, 4 tables; --out DIR writes the page
    ");
    insta::assert_snapshot!(screen(&three, 60), @"
    All groups are clean 12.3 min sooner in B than in A (26.2
    min against 38.5 min); no value in C; C is not safe, A is
    safe.

    What                  A         B                C
    result                wpq       balanced         none
    Profile of mClock     wpq       balanced         none
    verdict               safe      safe             not safe
    Time until all        38.5 min  26.2 min, -32 %  none
    groups are clean
    Moved                 4 KiB     4 KiB, same      4 KiB, same
    … 1 more row

    also        C has no time until all groups are clean: 12
                objects have no target device
    also        B against A, of 3 values: 1 different, 2 equal
    also        C against A, of 3 values: 2 equal, 1 without a
                value on one side
    report      --verbose shows the rest of the answer, 6
                measures, 4 tables; --out DIR writes the page
    ");
    // From the other end.
    insta::assert_snapshot!(several(&[&c, &b, &a]).unwrap().answer.finding, @"Time until all groups are clean: 26.2 min in B, no value in C; 38.5 min in A; B and A are safe, C is not safe.");
    insta::assert_snapshot!(several(&[&c, &c]).unwrap().answer.finding, @"C is the same result as C.");
}

#[test]
fn many_results_become_rows() {
    let names: Vec<String> = ('A'..='L').map(String::from).collect();
    let clean = |at: usize| 100.0 + f64::from(u32::try_from(at).unwrap());
    let sides: Vec<Side> = names
        .iter()
        .enumerate()
        .map(|(at, name)| recovery(name, &format!("run {at}"), Some(Status::Safe), Some(clean(at))))
        .collect();
    let all: Vec<&Side> = sides.iter().collect();
    insta::assert_snapshot!(screen(&several(&all).unwrap(), 60), @"
    All groups are clean 1 s later in B than in A (1.683 min
    against 1.667 min); 2 s later in C (1.7 min); 3 s later in D
    (1.717 min); 4 s later in E (1.733 min); and 7 more results.

       result  queue.profile  verdict  Time until all groups are
                                       clean
    A  run 0   run 0          safe     1.667 min
    B  run 1   run 1          safe     1.683 min, +1 %
    C  run 2   run 2          safe     1.7 min, +2 %
    D  run 3   run 3          safe     1.717 min, +3 %
    E  run 4   run 4          safe     1.733 min, +4 %
    F  run 5   run 5          safe     1.75 min, +5 %
    G  run 6   run 6          safe     1.767 min, +6 %
    H  run 7   run 7          safe     1.783 min, +7 %
    I  run 8   run 8          safe     1.8 min, +8 %
    J  run 9   run 9          safe     1.817 min, +9 %
    K  run 10  run 10         safe     1.833 min, +10 %
    L  run 11  run 11         safe     1.85 min, +11 %
    report      --verbose shows 33 measures, 4 tables; --out DIR
                writes the page
    ");
    let error = |count: usize| several(&vec![&sides[0]; count]).unwrap_err().to_string();
    insta::assert_snapshot!(error(1), @"1 results are given, but 2 to 26 can be compared; name a directory or `report.json` for each");
    assert!(error(27).starts_with("27 results are given"));
    assert!(several(&vec![&sides[0]; 26]).is_ok());
}

#[test]
fn curves_of_one_figure_are_laid_over_each_other() {
    let sides = [("A", 10.0), ("B", 20.0)].map(|(name, clean)| recovery(name, "x y", None, Some(clean)));
    let report = several(&[&sides[0], &sides[1]]).unwrap();
    assert_eq!(report.main_figure.as_deref(), Some("progress"));
    let Kind::Line { series, .. } = &report.figures[0].kind else { panic!("lines stay lines") };
    assert_eq!(series.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["A: x y", "B: x y"]);
    assert_eq!(series[1].points[2].x.get(), Some(20.0));
    // On another axis they would lie about each other.
    let mut other = sides[1].clone();
    let Kind::Line { x, .. } = &mut other.report.figures[0].kind else { panic!("lines stay lines") };
    "ms".clone_into(&mut x.unit);
    assert!(several(&[&sides[0], &other]).unwrap().figures.iter().all(|figure| figure.id != "progress"));
}

#[test]
fn what_is_no_result_of_runs_is_refused() {
    let a = toy("A", &examples::plan(&[8], 1));
    let comparison = Side { called: "both".to_owned(), ..Side::new("B", compare(&a, &a).unwrap()) };
    let empty = Side::new("B", Report { study: "reproduce".to_owned(), ..Report::default() });
    insta::assert_snapshot!(compare(&a, &comparison).unwrap_err(), @"B: both is a comparison, whose numbers are differences; name the results that it compares");
    insta::assert_snapshot!(compare(&a, &empty).unwrap_err(), @"B, a report of `reproduce`, has no measures to compare; name results of `towtank run` or of a study");
}

/// Why differences break their law: those of each result against the first are those of the two alone, and
/// the other way round they have the other sign.
fn broken(all: &Report, two: &Report, back: &Report, name: &str) -> Option<String> {
    for (measure, found) in &two.summary {
        let Some(named) = all.summary.get(&format!("{measure}[{name}]")) else {
            return Some(format!("{measure} of {name} is missing"));
        };
        if named != found {
            return Some(format!("{measure} of {name} is another among several"));
        }
        let other = &back.summary[measure];
        let minus = |one: Option<f64>| one.map(|value| 0.0 - value);
        let turned = other.interval().map(|(low, high)| (0.0 - high, 0.0 - low));
        if minus(other.value()) != found.value().map(|value| value + 0.0) || turned != found.interval() {
            return Some(format!("{measure} of {name} is not the negative of the other way round"));
        }
    }
    None
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

    #[test]
    fn each_of_several_is_compared_as_if_alone(
        values in prop::collection::vec(prop::collection::vec(prop_oneof![8 => -1e3..1e3_f64, 1 => Just(f64::NAN)], 1..6), 2..6),
        kept in any::<bool>(),
        other_seed in any::<bool>(),
    ) {
        let sides: Vec<Side> = values
            .iter()
            .enumerate()
            .map(|(at, values)| {
                let seed = if other_seed && at % 2 == 1 { 8 } else { 7 };
                of_values(&name(at), seed, values, kept)
            })
            .collect();
        // One measure of two results has the name that it has in each of several.
        let all: Vec<&Side> = sides.iter().collect();
        let several = match several(&[&all[..], &[all[0]]].concat()) {
            Ok(several) => several,
            Err(error) => panic!("{error}"),
        };
        for side in &sides[1..] {
            let (two, back) = (compare(&sides[0], side).unwrap(), compare(side, &sides[0]).unwrap());
            prop_assert_eq!(broken(&several, &two, &back, &side.name), None);
        }
        let itself = compare(&sides[0], &sides[0]).unwrap();
        prop_assert!(itself.summary.values().all(|measure| measure.value().is_none_or(|value| value == 0.0)));
    }
}

fn name(at: usize) -> String {
    char::from(b'A' + u8::try_from(at).unwrap()).to_string()
}

#[test]
fn a_wrong_sign_and_a_wrong_name_are_found() {
    let [a, b, c] = [("A", 1.0), ("B", 2.0), ("C", 4.0)]
        .map(|(name, value)| of_values(name, 7, &[value, value + 1.0], true));
    let all = several(&[&a, &b, &c]).unwrap();
    let (two, back) = (compare(&a, &b).unwrap(), compare(&b, &a).unwrap());
    assert_eq!(broken(&all, &two, &back, "B"), None);
    let found = |all: &Report, two: &Report, back: &Report| broken(all, two, back, "B").unwrap_or_default();
    assert_eq!(found(&all, &two, &two), "x of B is not the negative of the other way round");
    assert_eq!(found(&two, &two, &back), "x of B is missing");
    let mut swapped = all.clone();
    let other = swapped.summary["x[C]"].clone();
    swapped.summary.insert("x[B]".to_owned(), other);
    assert_eq!(found(&swapped, &two, &back), "x of B is another among several");
}
