//! What moves alone: the same answer as `preview`, and no key about time.

use super::*;
use crate::preview::Preview;

fn asked(text: &str) -> String {
    format!("{EXAMPLE}moves_only = true\n{text}")
}

#[test]
fn moves_alone_are_those_of_a_preview() {
    for change in [
        "",
        "mark_out = \"osd.6\"",
        "changes = [\"crush-reweight osd.6=2.91\", \"drain host=h1\"]",
        "tunables = \"firefly\"",
        "upmap_items = \"1.7 osd.3 osd.5\"",
        "remove = \"host=h2\"\npg_num = \"rbd=512\"",
    ] {
        let ours = prepared(&WhatifStudy, example(), &asked(change));
        let theirs = prepared(&Preview, example(), &format!("{EXAMPLE}{change}"));
        let (ours, theirs) = match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(ours), Err(theirs)) => {
                let messages = |problems: &Problems| {
                    problems.iter().map(|problem| problem.message().to_owned()).collect::<Vec<_>>()
                };
                assert_eq!(messages(&ours), messages(&theirs), "{change}");
                continue;
            }
            (ours, theirs) => panic!("{change}: {} and {}", ours.is_ok(), theirs.is_ok()),
        };
        let run = |point: &dyn Prepared| point.run(&RunContext::alone(Seed(3), 1)).unwrap();
        let outcomes = [run(&*ours), run(&*theirs)];
        assert_eq!(outcomes[0], outcomes[1], "{change}");
        let present = |study: &dyn Study, point: &dyn Prepared, outcome: &Outcome| {
            let (scenario, outcomes) = (point.resolved(), std::slice::from_ref(outcome));
            study.present(&[PointResult { settings: &[], scenario: &scenario, outcomes }]).answer.prose()
        };
        let answer = present(&WhatifStudy, &*ours, &outcomes[0]);
        assert_eq!(answer, present(&Preview, &*theirs, &outcomes[1]), "{change}");
        assert!(answer.contains("bytes to move"), "{answer}");
        let mut resolved = ours.resolved();
        assert_eq!(resolved.as_object_mut().unwrap().remove("moves_only"), Some(true.into()));
        assert_eq!(resolved, theirs.resolved(), "{change}");
    }
}

#[test]
fn a_key_about_time_is_refused_where_only_moves_are_asked() {
    let refused = |text: &str| -> Vec<String> {
        let problems = prepared(&WhatifStudy, example(), &asked(text)).err().expect(text);
        let words = |problem: &towtank_scenario::Problem| {
            format!("{} ({})", problem.message(), problem.next_step().unwrap_or_default())
        };
        problems.iter().map(words).collect()
    };
    let fails = "`fail`: what fails moves nothing at once: its data are rebuilt elsewhere when it is marked out (write mark-out in its place for what moves then, or leave out moves_only)";
    assert_eq!(refused("fail = \"osd.3\""), [fails]);
    assert_eq!(refused("changes = [\"mark-out osd.1\", \"fail osd.3\"]"), [fails]);
    insta::assert_snapshot!(refused("replace = \"osd.3\"").join("\n"), @"`replace`: what comes back or is replaced leaves the map as it is, so that nothing moves in the end (leave out moves_only: how long it takes to fill is another question)");
    let swept = prepared(&WhatifStudy, example(), &format!("{EXAMPLE}moves_only = false")).err().unwrap();
    assert!(swept.iter().next().unwrap().message().contains("would mix two kinds of results"));
    insta::assert_snapshot!(refused("disk_read = \"1GB/s\"").join("\n"), @"`disk_read` is about time or risk, and `moves_only` answers neither (leave out one of them)");
    insta::assert_snapshot!(refused("mark_out = \"osd.3@2h\"").join("\n"), @r#"`mark_out` has "osd.3@2h": only what moves in the end is answered here, so that its time has no effect (leave the time out; `towtank whatif` without moves_only says how long it takes)"#);
}

/// Each key of the scenario either is about moves, or is refused with `moves_only`.
#[test]
fn no_key_is_without_effect() {
    let keys = |study: &dyn Study| -> Vec<String> {
        study.schema().to_value()["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let of_moves = keys(&Preview);
    let all = keys(&WhatifStudy);
    assert!(of_moves.iter().all(|key| all.contains(key)), "{of_moves:?}");
    let others: Vec<&String> = all.iter().filter(|key| !of_moves.contains(key)).collect();
    for key in others.into_iter().filter(|key| *key != "moves_only") {
        // Any value of its kind will do; a wrong kind is refused too, with another message.
        for value in
            ["\"1s\"", "\"1/s\"", "\"1MiB\"", "\"1MB/s\"", "\"1%\"", "1", "true", "\"hdd\"", "\"wpq\""]
        {
            assert!(prepared(&WhatifStudy, example(), &asked(&format!("{key} = {value}"))).is_err(), "{key}");
        }
    }
}

#[test]
fn a_gate_on_time_is_refused_where_only_moves_are_asked() {
    let scenario = serde_json::json!({ "moves_only": true });
    let lacks = |scenario: &serde_json::Value, measure: &str| WhatifStudy.lacks(scenario, measure);
    assert!(lacks(&scenario, "time_to_clean_s").unwrap().contains("`moves_only` is set"));
    assert_eq!(lacks(&scenario, "moved_shards"), None);
    let plain =
        prepared(&WhatifStudy, example(), &format!("{EXAMPLE}mark_out = \"osd.6\"")).unwrap().resolved();
    assert!(lacks(&plain, "moved_shards").unwrap().contains("set `moves_only`"));
    assert_eq!(lacks(&plain, "time_to_clean_s"), None);
}

#[test]
fn points_of_both_kinds_are_not_presented_together() {
    let resolved = |text: &str| prepared(&WhatifStudy, example(), text).unwrap().resolved();
    let scenarios = [resolved(&asked("")), resolved(EXAMPLE)];
    let point = |at: usize| PointResult { settings: &[], scenario: &scenarios[at], outcomes: &[] };
    assert_eq!(WhatifStudy.unreadable(&[point(0), point(0)]), None);
    assert_eq!(WhatifStudy.unreadable(&[point(1)]), None);
    assert!(WhatifStudy.unreadable(&[point(0), point(1)]).unwrap().contains("differs from point to point"));
}
