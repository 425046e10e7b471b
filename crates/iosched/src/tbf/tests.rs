//! Tokens and deadlines computed by hand, from section 3.1 of the study's reference (TBF).

use super::*;
use crate::trial::{at, given, ms, push, request};
use crate::{About, FlowSpec};

fn rule(name: &str, rate: u64) -> Rule {
    Rule { name: name.to_owned(), rate, ..Rule::default() }
}

fn for_flow(name: &str, flow: u32, rate: u64) -> Rule {
    Rule { flows: Some(BTreeSet::from([FlowId(flow)])), ..rule(name, rate) }
}

fn tbf(default_rate: u64) -> Tbf<u32> {
    Tbf::new(None, ClassBy::FLOW, rule("default", default_rate))
}

/// Rate 10, depth 3: three go at once; then one every 100 ms. 250 ms later there are floor(2.5) = 2 tokens,
/// and the half is lost.
#[test]
fn tokens_by_hand() {
    let mut tbf = tbf(10);
    (0..9).for_each(|item| push(&mut tbf, 0, 1, item));
    assert_eq!((given(&mut tbf, ms(0)), tbf.wake_at()), (vec![0, 1, 2], Some(ms(100))));
    assert_eq!((given(&mut tbf, ms(99)), tbf.wake_at()), (vec![], Some(ms(100))));
    assert_eq!((given(&mut tbf, ms(100)), tbf.wake_at()), (vec![3], Some(ms(200))));
    assert_eq!((given(&mut tbf, ms(350)), tbf.wake_at()), (vec![4, 5], Some(ms(450))));
    // After a long time there are no more tokens than the depth.
    assert_eq!(given(&mut tbf, ms(5_000)), [6, 7, 8]);
}

/// A real-time rule keeps the half, and is not capped.
#[test]
fn real_time_keeps_the_remainder() {
    let mut tbf = Tbf::new(None, ClassBy::FLOW, Rule { realtime: true, ..rule("default", 10) });
    (0..12).for_each(|item| push(&mut tbf, 0, 1, item));
    assert_eq!(given(&mut tbf, ms(0)), [0, 1, 2]);
    assert_eq!((given(&mut tbf, ms(250)), tbf.wake_at()), (vec![3, 4], Some(ms(300))));
    assert_eq!(given(&mut tbf, ms(300)), [5]);
    assert_eq!(given(&mut tbf, ms(800)), [6, 7, 8, 9, 10]);
}

/// The class with the earliest deadline blocks all others, even one with tokens: Lustre's rule.
#[test]
fn the_earliest_deadline_holds_the_others_up() {
    let mut tbf = tbf(2);
    tbf.start(at(0), 0, for_flow("fast", 1, 10)).unwrap();
    (0..4).for_each(|item| push(&mut tbf, 0, 1, item));
    // The slow class spends its depth at 0; its deadline is 500 ms.
    assert_eq!(given(&mut tbf, at(0)), [0, 1, 2]);
    tbf.arrive(ms(420), request(1, 1, 10));
    assert_eq!((given(&mut tbf, ms(420)), tbf.wake_at()), (vec![], Some(ms(500))));
    assert_eq!(given(&mut tbf, ms(500)), [3, 10]);
}

#[test]
fn the_first_rule_that_matches_holds() {
    let mut tbf: Tbf<u32> = tbf(1);
    tbf.start(at(0), 0, for_flow("b", 1, 20)).unwrap();
    tbf.start(at(0), 9, rule("all", 30)).unwrap();
    tbf.start(at(0), 0, for_flow("a", 2, 10)).unwrap();
    let names: Vec<&str> = tbf.rules().iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "all"]);
    (0..4).for_each(|flow| push(&mut tbf, flow, 1, flow));
    let rates: Vec<u64> = tbf.classes.values().map(|queue| queue.rate).collect();
    assert_eq!(rates, [30, 20, 10, 30]);
    tbf.change(at(0), "all", 40, Some(0)).unwrap();
    assert!(tbf.classes.values().all(|queue| queue.rate == 40));
    tbf.stop(at(0), "all").unwrap();
    let rates: Vec<u64> = tbf.classes.values().map(|queue| queue.rate).collect();
    assert_eq!(rates, [1, 20, 10, 1]);
    tbf.change(at(0), "default", 7, None).unwrap();
    assert_eq!(tbf.classes.values().map(|queue| queue.rate).max(), Some(20));
    assert_eq!(given(&mut tbf, at(0)).len(), 4);
}

/// A class that waits under a slow rule goes as soon as the rule is made faster, and a new wake-up is
/// requested.
#[test]
fn a_rule_that_is_changed_holds_at_once() {
    let mut tbf = tbf(1);
    (0..5).for_each(|item| push(&mut tbf, 0, 1, item));
    assert_eq!((given(&mut tbf, at(0)), tbf.wake_at()), (vec![0, 1, 2], Some(ms(1_000))));
    tbf.change(ms(100), "default", 100, None).unwrap();
    assert_eq!(
        (tbf.wake_at(), given(&mut tbf, ms(100)), tbf.wake_at()),
        (Some(ms(100)), vec![], Some(ms(110)))
    );
    assert_eq!(given(&mut tbf, ms(110)), [3]);
}

#[test]
fn classes_by_client_and_access() {
    let about = |client, access| About { client, access, ..About::default() };
    let class_by = ClassBy { flow: false, client: true, access: true };
    let mut tbf = Tbf::new(None, class_by, Rule { depth: 1, ..rule("default", 1) });
    let clients = Some(BTreeSet::from([4]));
    let writes = Rule { clients, access: Some(Access::Write), depth: 2, ..rule("writes", 1) };
    tbf.start(at(0), 0, writes).unwrap();
    for (item, (client, access)) in (0..).zip([(4, Access::Read), (4, Access::Write), (5, Access::Write)]) {
        tbf.arrive(at(0), request(0, 1, 2 * item).about(about(client, access)));
        tbf.arrive(at(0), request(0, 1, 2 * item + 1).about(about(client, access)));
    }
    let depths: Vec<u64> = tbf.classes.values().map(|queue| queue.depth).collect();
    assert_eq!(depths, [1, 2, 1]);
    // All have the same deadline: each goes once, in turn, until the first of them lacks a token.
    assert_eq!(given(&mut tbf, at(0)), [0, 2, 4]);
    assert_eq!(given(&mut tbf, ms(1_000)), [1, 3, 5]);
}

#[test]
fn flows_with_a_rate_have_a_rule_each() {
    let spec = |rate, burst| FlowSpec { rate, burst, ..FlowSpec::default() };
    let flows = Flows::new(vec![spec(5, 0), spec(0, 0), spec(6, 9)]);
    let tbf: Tbf<u32> = Tbf::by_flow(None, 4, false, &flows);
    let rules: Vec<_> = tbf.rules().iter().map(|rule| (rule.name.as_str(), rule.rate, rule.depth)).collect();
    assert_eq!((rules, tbf.default.depth), (vec![("flow0", 5, 4), ("flow2", 6, 9)], 4));
}

#[test]
fn errors_say_the_next_step() {
    let mut tbf: Tbf<u32> = tbf(1);
    tbf.start(at(0), 0, rule("a", 1)).unwrap();
    let said: Vec<String> = [
        tbf.start(at(0), 0, rule("a", 2)),
        tbf.start(at(0), 0, rule("b", 0)),
        tbf.change(at(0), "c", 1, None),
        tbf.change(at(0), "default", 1, Some(0)),
        tbf.stop(at(0), "default"),
    ]
    .into_iter()
    .map(|result| result.unwrap_err().to_string())
    .collect();
    assert_eq!(
        said,
        [
            "rule `a` already exists: change it, or start one with another name",
            "rule `b` has a rate or depth of 0, so its classes would wait forever: set it to at least 1",
            "there is no rule `c`: the rules are `a`",
            "the default rule `default` is always last: change its rate, or start a rule before it",
            "the default rule `default` is always last: change its rate, or start a rule before it",
        ]
    );
}

#[test]
#[should_panic(expected = "classes with a deadline, and that wait")]
fn a_class_that_lost_its_deadline_is_noticed() {
    let mut tbf = Tbf::by_flow(None, 3, false, &Flows::equal(2));
    (0..4).for_each(|item| crate::trial::push(&mut tbf, item % 2, 10, item));
    tbf.by_deadline.pop_last();
    let _ = crate::trial::served(&mut tbf);
}
