//! Names are unique, values appear under their own names, and reasons for missing values are kept.

use super::*;

/// Two counts, to define measures on.
struct Counted {
    came: u32,
    left: Option<u32>,
}

type Row = Measure<Counted>;

fn rows() -> Vec<Row> {
    vec![
        Row::new("came", "jobs", "jobs that came", |seen| Ok(f64::from(seen.came))),
        Row::new("left", "jobs", "jobs that left", |seen| {
            seen.left.map(f64::from).ok_or_else(|| "nobody counted".to_owned())
        }),
    ]
}

fn recorded(measures: &[Row], seen: Result<&Counted, &str>) -> Result<Outcome, StudyError> {
    let mut outcome = Outcome::default();
    record(&mut outcome, measures, seen).map(|()| outcome)
}

#[test]
fn a_value_comes_under_the_name_of_its_row_wherever_the_row_stands() {
    let seen = Counted { came: 3, left: Some(2) };
    let mut turned = rows();
    turned.reverse();
    for measures in [rows(), turned] {
        let outcome = recorded(&measures, Ok(&seen)).unwrap();
        assert_eq!(outcome.measures["came"].value(), Some(3.0));
        assert_eq!(outcome.measures["left"].value(), Some(2.0));
    }
}

#[test]
fn what_is_missing_says_why() {
    let outcome = recorded(&rows(), Ok(&Counted { came: 3, left: None })).unwrap();
    assert_eq!(outcome.measures["left"].reason(), Some("nobody counted"));
    let outcome = recorded(&rows(), Err("it was stopped")).unwrap();
    assert!(outcome.measures.values().all(|measure| measure.reason() == Some("it was stopped")));
}

#[test]
fn what_does_not_apply_is_left_out() {
    let mut measures = rows();
    let last = measures.pop().unwrap();
    measures.push(last.only_where(|seen| seen.left.is_some()));
    let names = |seen| recorded(&measures, seen).unwrap().measures.len();
    assert_eq!(names(Ok(&Counted { came: 3, left: None })), 1);
    assert_eq!(names(Ok(&Counted { came: 3, left: Some(1) })), 2);
}

#[test]
fn two_rows_of_one_name_are_an_error() {
    let mut measures = rows();
    measures.push(Row::new("came", "jobs", "the same again", |_| Ok(1.0)));
    let error = recorded(&measures, Ok(&Counted { came: 3, left: None })).unwrap_err();
    assert_eq!(error.to_string(), "two measures are called `came`");
}

#[test]
fn a_row_of_a_method_is_named_and_titled_with_it() {
    let row =
        |prefix: &str| specs(vec![Row::under(prefix, "wait_mean_s", "s", "how long jobs wait", |_| Ok(1.0))]);
    let found = |prefix: &str| row(prefix).iter().map(|spec| (spec.name, spec.title)).collect::<Vec<_>>();
    assert_eq!(found("merkle_levels_"), [("merkle_levels_wait_mean_s", "Mean wait, merkle-levels")]);
    assert_eq!(found(""), [("wait_mean_s", "Mean wait")]);
}

#[test]
fn a_row_without_a_title_of_its_own_is_titled_by_its_name() {
    let rows = vec![
        Row::new("wait_mean_s", "s", "how long jobs wait", |_| Ok(1.0)),
        Row::new("came_jobs", "jobs", "jobs that came", |_| Ok(1.0)).titled("Came in jobs"),
    ];
    let titles: Vec<&str> = specs(rows).iter().map(|spec| spec.title).collect();
    assert_eq!(titles, ["Mean wait", "Came in jobs"]);
    assert_eq!(title::fault(titles[1], "jobs"), Some("it repeats the unit of its value"));
}
