//! The accepted gates, the problems of others, and their judgement.

use proptest::prelude::*;

use super::*;

fn known() -> [Known<'static>; 9] {
    [
        Known { formerly: Some("waiting"), ..Known::new("wait_mean", "s") },
        Known::new("utilisation", "fraction"),
        Known::new("throughput", "jobs/s"),
        Known::new("moved", "bytes"),
        Known::new("measured", "fraction"),
        Known::new("fill", "share"),
        Known::new("error", ""),
        Known { never: Some("there are no clients"), ..Known::new("client_wait", "s") },
        Known { no_interval: Some("it is a maximum"), ..Known::new("busiest", "fraction") },
    ]
}

fn judge(text: &str) -> Judgement {
    let gate = Gate::parse("--fail-if", text, &known()).expect(text);
    gate.judge(|name| match name {
        "wait_mean" => {
            Some(Reading { value: Some(0.004), low: Some(0.003), high: Some(0.005), reason: None })
        }
        "utilisation" => Some(Reading { value: Some(0.9), ..Reading::default() }),
        "measured" => Some(Reading {
            value: Some(0.9),
            reason: Some("it was measured once".to_owned()),
            ..Reading::default()
        }),
        "moved" => Some(Reading { reason: Some("nothing was moved".to_owned()), ..Reading::default() }),
        _ => None,
    })
}

fn problems_of(text: &str) -> String {
    let problems = Gate::parse("--fail-if", text, &known()).expect_err(text);
    let tell = |problem: &Problem| {
        let place = problem.place().expect("every problem of an expression has a place");
        let column = place.line_and_column().1 - 1;
        let carets = "^".repeat(place.text().chars().count().max(1));
        let source = place.source().text();
        let hint = problem.next_step().unwrap_or("-");
        format!("{}\n{source}\n{}{carets}\n{hint}", problem.message(), " ".repeat(column))
    };
    problems.iter().map(tell).collect::<Vec<_>>().join("\n")
}

#[test]
fn comparisons_are_judged_in_the_measures_unit() {
    for (text, met) in [
        ("wait_mean > 5ms", true),
        ("wait_mean > 3ms", false),
        ("wait_mean > 0.003", false),
        ("wait_mean.high >= 5 ms", false),
        ("wait_mean.low < 3000us", true),
        ("wait_mean > 3ms and utilisation > 95%", true),
        ("wait_mean > 3ms or utilisation > 95%", false),
        // `and` binds tighter: true or (false and false).
        ("wait_mean > 3ms or wait_mean > 5ms and utilisation > 95%", false),
        ("(wait_mean > 3ms or wait_mean > 5ms) and utilisation > 95%", true),
        ("utilisation == 0.9", false),
        ("utilisation != 90%", true),
        ("wait_mean<=0", true),
    ] {
        assert_eq!(judge(text) == Judgement::Met, met, "{text}");
    }
}

/// A measure of one of several items, named in brackets; `.low` or `.high` comes after them.
#[test]
fn a_measure_may_be_of_one_of_several() {
    let known = [Known::new("share[batch_2]", "fraction")];
    let judge = |text: &str| {
        let gate = Gate::parse("--fail-if", text, &known).expect(text);
        gate.judge(|name| {
            (name == "share[batch_2]").then(|| Reading {
                value: Some(0.4),
                low: Some(0.3),
                ..Reading::default()
            })
        })
    };
    assert_eq!(judge("share[batch_2] > 50%"), Judgement::Met);
    assert!(matches!(judge("share[batch_2].low < 0.35 and share[batch_2] < 0.9"), Judgement::NotMet(_)));
    for wrong in ["share[batch_3] > 1", "share > 1", "share[batch_2 > 1", "share[] > 1"] {
        assert!(Gate::parse("--fail-if", wrong, &known).is_err(), "{wrong}");
    }
}

#[test]
fn a_gate_says_why_it_is_not_met() {
    let why = |text: &str| match judge(text) {
        Judgement::NotMet(reasons) => reasons.join("\n"),
        Judgement::Met => "met".to_owned(),
    };
    insta::assert_snapshot!(why("wait_mean > 3ms or utilisation > 80%"), @"
    `wait_mean` is 0.004 s, which is > 3ms
    `utilisation` is 0.9, which is > 80%
    ");
    insta::assert_snapshot!(why("moved > 1GiB or wait_mean > 1h"), @"`moved` has no value: nothing was moved");
    insta::assert_snapshot!(why("utilisation.low > 0.2"), @"`utilisation.low` has no value: an interval takes at least 2 replicates");
    insta::assert_snapshot!(why("measured.high > 0.2"), @"`measured.high` has no value: it was measured once");
    insta::assert_snapshot!(why("throughput > 2/s"), @"`throughput` has no value");
}

#[test]
fn mistakes_point_at_the_word() {
    insta::assert_snapshot!(problems_of("wait_mena > 3ms"), @r"
    unknown measure `wait_mena`
    --fail-if 'wait_mena > 3ms'
               ^^^^^^^^^
    did you mean `wait_mean`?
    ");
    insta::assert_snapshot!(problems_of("waiting > 3ms"), @r"
    `waiting` is called `wait_mean` here
    --fail-if 'waiting > 3ms'
               ^^^^^^^
    write `wait_mean`
    ");
    insta::assert_snapshot!(problems_of("wait_mean > 3GiB and latency < 1s"), @r"
    `wait_mean` is measured in s, and `GiB` is not a unit for it
    --fail-if 'wait_mean > 3GiB and latency < 1s'
                           ^^^^
    write one of ns, us, ms, s, min, h, d, or no unit
    unknown measure `latency`
    --fail-if 'wait_mean > 3GiB and latency < 1s'
                                    ^^^^^^^
    the measures are wait_mean, utilisation, throughput, moved, measured, fill, error, client_wait, busiest
    ");
    insta::assert_snapshot!(problems_of("wait_mean = 3ms"), @"
    `=` is unexpected here
    --fail-if 'wait_mean = 3ms'
                         ^
    write `==` to compare
    ");
    insta::assert_snapshot!(problems_of("wait_mean > 3ms && utilisation > 1"), @"
    `&&` is unexpected here
    --fail-if 'wait_mean > 3ms && utilisation > 1'
                               ^^
    write `and`
    ");
    insta::assert_snapshot!(problems_of("wait_mean > 3ms utilisation > 1"), @"
    there is more text after the end of the expression
    --fail-if 'wait_mean > 3ms utilisation > 1'
                               ^^^^^^^^^^^
    join comparisons with `and` or `or`
    ");
    insta::assert_snapshot!(problems_of("(wait_mean > 3ms"), @"
    a parenthesis is not closed
    --fail-if '(wait_mean > 3ms'
                               ^
    close it with `)`
    ");
    insta::assert_snapshot!(problems_of("wait_mean > 3ms)"), @"
    there is a `)` without a `(`
    --fail-if 'wait_mean > 3ms)'
                              ^
    remove it
    ");
    insta::assert_snapshot!(problems_of("3ms < wait_mean"), @"
    a comparison begins with a measure, not with a number
    --fail-if '3ms < wait_mean'
               ^^^
    reverse it: `wait_mean > 2ms`
    ");
    insta::assert_snapshot!(problems_of("wait_mean"), @"
    `wait_mean` is not compared with a limit
    --fail-if 'wait_mean'
                        ^
    write one of < <= > >= == != and a limit
    ");
    insta::assert_snapshot!(problems_of("wait_mean > fast"), @"
    the limit must be a number
    --fail-if 'wait_mean > fast'
                           ^^^^
    write a number, with a unit or without: `2ms`, `0.95`, `95%`
    ");
    insta::assert_snapshot!(problems_of("wait_mean.max > 1"), @"
    `.max` is not a part of a measure
    --fail-if 'wait_mean.max > 1'
               ^^^^^^^^^^^^^
    write `.low` or `.high` for the ends of the 95 % interval, nothing for the mean
    ");
    insta::assert_snapshot!(problems_of("wait_mean > 1.2.3"), @"
    `1.2.3` is not a number
    --fail-if 'wait_mean > 1.2.3'
                           ^^^^^
    write digits, with a point before any decimals
    ");
    insta::assert_snapshot!(problems_of(""), @"
    a comparison is missing
    --fail-if ''
               ^
    write a measure, a comparison and a limit: `wait_mean > 2ms`
    ");
    insta::assert_snapshot!(problems_of("not wait_mean > 1"), @"
    `not` is unexpected here
    --fail-if 'not wait_mean > 1'
               ^^^
    write `and` and `or` in lower case; reverse a comparison instead of using `not`
    ");
    insta::assert_snapshot!(problems_of("wait_mean > 1e999s"), @"
    1e999s is too large
    --fail-if 'wait_mean > 1e999s'
                           ^^^^^^
    write a smaller limit
    ");
}

/// Reports show shares in percent, so `utilisation > 75` was written for 75 %, and was met by every share.
#[test]
fn a_percentage_without_its_sign_is_refused() {
    insta::assert_snapshot!(problems_of("utilisation > 75"), @"
    `utilisation` is a share of one, so 75 without a unit is 7500 %
    --fail-if 'utilisation > 75'
                             ^^
    write `75%` or `0.75`
    ");
    insta::assert_snapshot!(problems_of("fill > 80 and measured < 12.5"), @"
    `fill` is a share of one, so 80 without a unit is 8000 %
    --fail-if 'fill > 80 and measured < 12.5'
                      ^^
    write `80%` or `0.8`, or `8000%` if that is meant
    `measured` is a share of one, so 12.5 without a unit is 1250 %
    --fail-if 'fill > 80 and measured < 12.5'
                                        ^^^^
    write `12.5%` or `0.125`
    ");
    insta::assert_snapshot!(problems_of("utilisation > 1"), @"
    `utilisation` is a share of one, so 1 without a unit is 100 %
    --fail-if 'utilisation > 1'
                             ^
    write `1%` or `0.01`
    ");
    insta::assert_snapshot!(problems_of("utilisation < -3"), @"
    `utilisation` is a share of 0 to 1, never -3
    --fail-if 'utilisation < -3'
                             ^^
    write a percentage such as 95%, or a fraction of one without a unit
    ");
    for right in [
        "utilisation > 75%",
        "utilisation > 0.75",
        "utilisation.high >= 1",
        "utilisation >= 1",
        "fill > 1",
        "fill > 120%",
        "fill < -0.1",
        "wait_mean > 75",
    ] {
        assert!(Gate::parse("--fail-if", right, &known()).is_ok(), "{right}");
    }
}

/// Such gates were accepted, and then failed every run or none.
#[test]
fn a_gate_that_does_not_depend_on_the_run_is_refused() {
    insta::assert_snapshot!(problems_of("utilisation > 150%"), @"
    `utilisation > 150%` is never true: `utilisation` is a share from 0 to 100 %
    --fail-if 'utilisation > 150%'
                             ^^^^
    write a limit that some values exceed and others do not
    ");
    insta::assert_snapshot!(problems_of("wait_mean.low >= 0ms"), @"
    `wait_mean.low >= 0ms` is always true: `wait_mean.low` is never negative
    --fail-if 'wait_mean.low >= 0ms'
                                ^^^
    write a limit that some values exceed and others do not
    ");
    for wrong in [
        "wait_mean < 0",
        "wait_mean > -1s",
        "moved == -1",
        "moved != -1B",
        "throughput <= -2/s",
        "utilisation.high > 100%",
        "utilisation <= 100%",
        "utilisation >= 0%",
        "wait_mean > 3ms and utilisation < 0%",
    ] {
        assert!(Gate::parse("--fail-if", wrong, &known()).is_err(), "{wrong}");
    }
    for right in [
        "wait_mean <= 0",
        "moved > 0",
        "moved == 0",
        "utilisation < 100%",
        "utilisation == 100%",
        "error < -3",
    ] {
        assert!(Gate::parse("--fail-if", right, &known()).is_ok(), "{right}");
    }
}

#[test]
fn a_gate_on_what_a_scenario_cannot_have_is_refused() {
    insta::assert_snapshot!(problems_of("client_wait > 3ms"), @"
    `client_wait` has no value in this scenario: there are no clients
    --fail-if 'client_wait > 3ms'
               ^^^^^^^^^^^
    name another measure, or change the scenario
    ");
    insta::assert_snapshot!(problems_of("busiest.high > 80%"), @"
    the mean of `busiest` has no interval: it is a maximum
    --fail-if 'busiest.high > 80%'
               ^^^^^^^^^^^^
    compare the mean: `busiest`
    ");
    assert!(Gate::parse("--fail-if", "busiest > 80%", &known()).is_ok());
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = Gate::parse("--fail-if", &text, &known());
    }

    #[test]
    fn no_row_of_words_panics(words in prop::collection::vec(prop::sample::select(vec![
        "wait_mean", ".low", ".", "<", ">=", "==", "=", "!", "(", ")", "and", "or", "3", "-", "1e", "ms", "%", "é", "_",
    ]), 0..40)) {
        let _ = Gate::parse("--fail-if", &words.concat(), &known());
        let _ = Gate::parse("--fail-if", &words.join(" "), &known());
    }

    #[test]
    fn the_negated_operator_judges_the_other_way(value in -1e6f64..1e6, limit in -1e6f64..1e6) {
        let judge = |operator: &str| {
            let text = format!("error {operator} {limit}");
            let gate = Gate::parse("--fail-if", &text, &known()).expect("well-formed");
            gate.judge(|_| Some(Reading { value: Some(value), ..Reading::default() })) == Judgement::Met
        };
        for (operator, negated) in [("<", ">="), (">", "<="), ("==", "!=")] {
            prop_assert_ne!(judge(operator), judge(negated));
        }
    }
}

/// A goal reports how far a value is from its limit, as a fraction of the limit.
#[test]
fn a_miss_is_a_part_of_the_limit() {
    let miss = |text: &str, value: Option<f64>| {
        let gate = Gate::parse("--goal", text, &known()).expect("well-formed");
        gate.miss(|_| Some(Reading { value, ..Reading::default() }))
    };
    assert_eq!(miss("wait_mean < 2", Some(1.0)), 0.0);
    assert_eq!(miss("wait_mean < 2", Some(3.0)), 0.5);
    assert_eq!(miss("wait_mean > 4", Some(3.0)), 0.25);
    assert!(miss("wait_mean < 2", Some(2.0)) > 0.0);
    assert_eq!(miss("wait_mean < 2 and wait_mean < 1", Some(3.0)), 2.0);
    assert_eq!(miss("wait_mean < 2 or wait_mean < 1", Some(3.0)), 0.5);
    assert_eq!(miss("wait_mean < 2", None), f64::INFINITY);
    let gate = Gate::parse("--goal", "wait_mean < 2 or wait_mean >= 7", &known()).expect("well-formed");
    assert_eq!(gate.sides(), [("wait_mean", true), ("wait_mean", false)]);
}
