//! The study of the example: registered from outside, run over a sweep, and reported like any other.

#[path = "../../examples/first_failure.rs"]
mod example;

use example::{FirstFailure, answer};
use towtank::{Document, Options, Registry, Wanted, reproduce, run};

fn registry() -> Registry {
    Registry::builtin().with(&FirstFailure).expect("no other study is called so")
}

const FIFTY: &str = "study = \"first-failure\"\ndisks = 50\nlifetime = \"200y\"\n";

#[test]
fn its_report_agrees_with_theory_at_each_point_of_a_sweep() {
    let report = answer().expect("the example runs");
    assert_eq!(report.study, "first-failure");
    assert_eq!(report.title, "How long until the first of many disks fails");
    assert_eq!(report.glossary["first_failure"], "time until the first disk fails");
    let expected: Vec<f64> = report.tables[0].rows().iter().map(|row| number(&row[1])).collect();
    assert_eq!(report.points.len(), expected.len());
    for (point, expected) in report.points.iter().zip(expected) {
        let found = &point.summary["first_failure"];
        // The scatter of a mean of 100 exponential times is a tenth of it; four times that is met by chance
        // once in 16,000.
        let mean = found.value().expect("there is a mean");
        assert!((mean / expected - 1.0).abs() < 0.4, "{}: {mean} s, expected {expected} s", point.label);
        assert_eq!(found.n(), 100);
    }
}

fn number(cell: &towtank_report::Cell) -> f64 {
    match cell {
        towtank_report::Cell::Number(number) => number.as_f64().expect("it is finite"),
        other => panic!("{other:?} is no number"),
    }
}

#[test]
fn only_a_registry_that_has_it_knows_it() {
    let document = || Document::parse(FIFTY).expect("it is TOML");
    let unknown = document().check(&Registry::builtin()).err().expect("it is not registered");
    insta::assert_snapshot!(unknown, @"there is no study called `first-failure`");
    assert!(document().check(&registry()).is_ok());
}

#[test]
fn its_problems_have_places_and_next_steps() {
    let mut document = Document::parse(FIFTY).expect("it is TOML");
    document.set("lifetime", "0s").expect("the key exists");
    let problems = document.check(&registry()).err().expect("the lifetime is too short");
    let problem = problems.iter().next().expect("there is one");
    insta::assert_snapshot!(problem, @"`lifetime` is 0, but it must be longer");
    insta::assert_snapshot!(problem.next_step().expect("there is one"), @r#"take it from the data sheet, as in "200y""#);
    assert_eq!(problem.place().map(|place| place.text().to_owned()), Some("0s".to_owned()));
}

#[test]
fn its_gates_are_judged() {
    let mut document = Document::parse(FIFTY).expect("it is TOML");
    document.fail_if("first_failure < 1s");
    document.fail_if("first_failure > 1s");
    let scenario = document.check(&registry()).expect("nothing is wrong");
    let ran = run(&scenario, &Options::default(), &()).expect("it runs");
    let unmet: Vec<&str> = ran.unmet.iter().map(|unmet| unmet.gate.as_str()).collect();
    assert_eq!(unmet, ["--fail-if 'first_failure > 1s'"]);
}

#[test]
fn what_has_published_nothing_reproduces_nothing() {
    let names = ["first-failure".to_owned()];
    let wanted = Wanted { names: &names, ..Wanted::default() };
    let refused = reproduce(&registry(), wanted, &Options::default(), &()).map(|report| report.claims);
    let refused = refused.expect_err("there is nothing to reproduce").to_string();
    assert!(refused.contains("no published results of the study `first-failure` are known"), "{refused}");
}

/// `docs/writing-a-study.md` quotes a piece of the example; line breaks may differ.
#[test]
fn the_guide_quotes_what_is_written() {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let example = squeeze(include_str!("../../examples/first_failure.rs"));
    let guide = include_str!("../../../../docs/writing-a-study.md");
    let pieces: Vec<&str> =
        guide.split("```rs\n").skip(1).map(|rest| rest.split("```").next().unwrap_or(rest)).collect();
    assert_eq!(pieces.len(), 1);
    for piece in pieces {
        assert!(example.contains(&squeeze(piece)), "no longer in the example:\n{piece}");
    }
}
