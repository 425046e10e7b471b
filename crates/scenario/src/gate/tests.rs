//! What gates accept, what they say, and how they judge.

use proptest::prelude::*;

use super::*;

const KNOWN: [Known<'static>; 4] = [
    Known { name: "wait_mean", unit: "s" },
    Known { name: "utilisation", unit: "fraction" },
    Known { name: "throughput", unit: "jobs/s" },
    Known { name: "moved", unit: "bytes" },
];

fn judge(text: &str) -> Judgement {
    let gate = Gate::parse("--fail-if", text, &KNOWN).expect(text);
    gate.judge(|name| match name {
        "wait_mean" => {
            Some(Reading { value: Some(0.004), low: Some(0.003), high: Some(0.005), reason: None })
        }
        "utilisation" => Some(Reading { value: Some(0.9), ..Reading::default() }),
        "moved" => Some(Reading { reason: Some("nothing was moved".to_owned()), ..Reading::default() }),
        _ => None,
    })
}

fn told(text: &str) -> String {
    let problems = Gate::parse("--fail-if", text, &KNOWN).expect_err(text);
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
        ("wait_mean<-1", true),
    ] {
        assert_eq!(judge(text) == Judgement::Met, met, "{text}");
    }
}

#[test]
fn a_gate_says_why_it_is_not_met() {
    let why = |text: &str| match judge(text) {
        Judgement::NotMet(reasons) => reasons.join("\n"),
        Judgement::Met => "met".to_owned(),
    };
    insta::assert_snapshot!(why("wait_mean > 3ms or utilisation > 80%"), @r"
    `wait_mean` is 0.004 s, which is > 3ms
    `utilisation` is 0.9 fraction, which is > 80%
    ");
    insta::assert_snapshot!(why("moved > 1GiB or wait_mean > 1h"), @"`moved` has no value: nothing was moved");
    insta::assert_snapshot!(why("utilisation.low > 2"), @"`utilisation.low` has no value: an interval takes at least 2 replicates");
    insta::assert_snapshot!(why("throughput > 2/s"), @"`throughput` has no value");
}

#[test]
fn mistakes_point_at_the_word() {
    insta::assert_snapshot!(told("wait_mena > 3ms"), @r"
    unknown measure `wait_mena`
    --fail-if 'wait_mena > 3ms'
               ^^^^^^^^^
    did you mean `wait_mean`?
    ");
    insta::assert_snapshot!(told("wait_mean > 3GiB and latency < 1s"), @r"
    `wait_mean` is measured in s, and `GiB` is no unit for it
    --fail-if 'wait_mean > 3GiB and latency < 1s'
                           ^^^^
    write one of ns, us, ms, s, min, h, d, or no unit
    unknown measure `latency`
    --fail-if 'wait_mean > 3GiB and latency < 1s'
                                    ^^^^^^^
    the measures are wait_mean, utilisation, throughput, moved
    ");
    insta::assert_snapshot!(told("wait_mean = 3ms"), @"");
    insta::assert_snapshot!(told("wait_mean > 3ms && utilisation > 1"), @"");
    insta::assert_snapshot!(told("wait_mean > 3ms utilisation > 1"), @"");
    insta::assert_snapshot!(told("(wait_mean > 3ms"), @"");
    insta::assert_snapshot!(told("wait_mean > 3ms)"), @"");
    insta::assert_snapshot!(told("3ms < wait_mean"), @"");
    insta::assert_snapshot!(told("wait_mean"), @"");
    insta::assert_snapshot!(told("wait_mean > fast"), @"");
    insta::assert_snapshot!(told("wait_mean.max > 1"), @"");
    insta::assert_snapshot!(told("wait_mean > 1.2.3"), @"");
    insta::assert_snapshot!(told(""), @"");
    insta::assert_snapshot!(told("not wait_mean > 1"), @"");
    insta::assert_snapshot!(told("wait_mean > 1e999s"), @"");
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = Gate::parse("--fail-if", &text, &KNOWN);
    }

    #[test]
    fn no_row_of_words_panics(words in prop::collection::vec(prop::sample::select(vec![
        "wait_mean", ".low", ".", "<", ">=", "==", "=", "!", "(", ")", "and", "or", "3", "-", "1e", "ms", "%", "é", "_",
    ]), 0..40)) {
        let _ = Gate::parse("--fail-if", &words.concat(), &KNOWN);
        let _ = Gate::parse("--fail-if", &words.join(" "), &KNOWN);
    }

    #[test]
    fn the_negated_operator_judges_the_other_way(value in -1e6f64..1e6, limit in -1e6f64..1e6) {
        let judge = |operator: &str| {
            let text = format!("wait_mean {operator} {limit}");
            let gate = Gate::parse("--fail-if", &text, &KNOWN).expect("well-formed");
            gate.judge(|_| Some(Reading { value: Some(value), ..Reading::default() })) == Judgement::Met
        };
        for (operator, negated) in [("<", ">="), (">", "<="), ("==", "!=")] {
            prop_assert_ne!(judge(operator), judge(negated));
        }
    }
}
