//! Plans: the order of tasks, keys, and invalid plans.

use serde_json::json;

use super::*;

fn point(key: &str, value: Value) -> PointSpec {
    let parts = KeyParts {
        study: "queue",
        scenario_hash: &format!("{key}={value}"),
        input_hashes: &[],
        seed: 7,
        results_version: 1,
    };
    PointSpec {
        settings: vec![(key.to_owned(), value.clone())],
        scenario: json!({ "x": value }),
        key: PointKey::new(&parts),
    }
}

fn header() -> Header {
    Header {
        study: "queue".to_owned(),
        title: "Queues".to_owned(),
        results_version: 1,
        seed: 7,
        scenario: json!({ "study": "queue" }),
        scenario_hash: "abc".to_owned(),
    }
}

fn plan(replicates: u32, points: Vec<PointSpec>) -> Result<Plan, PlanError> {
    Plan::new(header(), replicates, Vec::new(), points)
}

#[test]
fn tasks_go_point_by_point() {
    let plan = plan(2, vec![point("x", json!(1)), point("x", json!(2))]).unwrap();
    let tasks: Vec<_> = plan.tasks().map(|task| (task.point, task.replicate)).collect();
    assert_eq!(tasks, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(plan.task_count(), tasks.len());
}

#[test]
fn labels_read_like_a_scenario() {
    let mut spec = point("cluster.link_rate", json!("10Gbit/s"));
    spec.settings.push(("servers".to_owned(), json!(8)));
    insta::assert_snapshot!(spec.label(), @"cluster.link_rate = 10Gbit/s, servers = 8");
    insta::assert_snapshot!(spec.short_label(), @"link_rate=10Gbit/s, servers=8");
    let mut twice = spec.clone();
    twice.settings.push(("clients.link_rate".to_owned(), json!("1Gbit/s")));
    insta::assert_snapshot!(twice.short_label(), @"cluster.link_rate=10Gbit/s, servers=8, clients.link_rate=1Gbit/s");
    let plan = plan(9, vec![spec]).unwrap();
    insta::assert_snapshot!(plan.describe(Task { point: 0, replicate: 8 }), @"replicate 8 of point 1 (cluster.link_rate = 10Gbit/s, servers = 8)");
}

#[test]
fn a_key_names_everything_a_result_depends_on() {
    let base =
        KeyParts { study: "queue", scenario_hash: "s", input_hashes: &[], seed: 1, results_version: 1 };
    let one = ["a".to_owned()];
    let two = ["a".to_owned(), "b".to_owned()];
    let others = [
        KeyParts { study: "put", ..base },
        KeyParts { scenario_hash: "t", ..base },
        KeyParts { input_hashes: &one, ..base },
        KeyParts { input_hashes: &two, ..base },
        KeyParts { seed: 2, ..base },
        KeyParts { results_version: 2, ..base },
    ];
    let mut keys: Vec<_> = others.iter().map(PointKey::new).collect();
    keys.push(PointKey::new(&base));
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), others.len() + 1);
    assert_eq!(PointKey::new(&base), PointKey::new(&base.clone()));
}

#[test]
fn more_replicates_keep_the_campaign() {
    let points = || vec![point("x", json!(1)), point("x", json!(2))];
    assert_eq!(plan(2, points()).unwrap().key(), plan(30, points()).unwrap().key());
    let reversed = points().into_iter().rev().collect();
    assert_ne!(plan(2, points()).unwrap().key(), plan(2, reversed).unwrap().key());
}

#[test]
fn a_plan_survives_json() {
    let plan = plan(3, vec![point("x", json!(0.1)), point("x", json!("a"))]).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn what_cannot_be_planned_says_why() {
    let message = |plan: Result<Plan, PlanError>| plan.unwrap_err().to_string();
    let same = vec![point("x", json!(1)), point("x", json!(2)), point("x", json!(1))];
    insta::assert_snapshot!(message(plan(1, vec![])), @"the sweep has no points: give every swept key at least one value");
    insta::assert_snapshot!(message(plan(0, vec![point("x", json!(1))])), @"`replicates` is 0, but a mean needs at least 1: set `replicates` to 1 or more");
    insta::assert_snapshot!(message(plan(1, same)), @"points 1 (x = 1) and 3 (x = 1) of the sweep are the same scenario: remove one of the values");
    insta::assert_snapshot!(message(plan(u32::MAX, vec![point("x", json!(1))])), @"1 points of 4294967295 replicates are 4294967295 runs, and the limit is 10000000: sweep over fewer values or split the scenario");
}
