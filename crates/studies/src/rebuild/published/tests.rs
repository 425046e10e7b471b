//! Each claim is judged on numbers that agree with it and on numbers that do not.

use serde_json::json;
use towtank_report::{Outcome, Verdict};

use super::*;
use crate::rebuild::Rebuild;
use crate::{PointResult, Points, Study};

const GIB: f64 = 1_073_741_824.0;

/// A point with a number of servers: the rate of each survivor and the share of the ideal, per seed.
struct Point {
    scenario: serde_json::Value,
    outcomes: Vec<Outcome>,
}

impl Point {
    fn new(servers: u32, groups: Option<u32>, rates: &[f64], share: f64) -> Point {
        let placement = if groups.is_some() { "crush-straw" } else { "crush-vring" };
        let scenario = json!({ "servers": servers, "placement": placement, "groups": groups });
        Point::of(scenario, servers, rates, share)
    }

    fn of(scenario: serde_json::Value, servers: u32, rates: &[f64], share: f64) -> Point {
        let survivors = f64::from(servers - 1);
        let outcome = |(seed, rate): (usize, &f64)| {
            let mut outcome = Outcome::default();
            outcome.measure("aggregate_rate_bytes_per_s", rate * survivors * GIB, "bytes/s");
            outcome.measure("rate_per_survivor_bytes_per_s", rate * GIB, "bytes/s");
            outcome.measure("ideal_share", share + 0.001 * seed as f64, "fraction");
            outcome.measure("ideal_rate_bytes_per_s", rate * survivors * GIB / share, "bytes/s");
            let groups = scenario["groups"].as_u64().unwrap_or(9_999);
            outcome.measure("servers_writing", groups as f64 / 128.0, "servers");
            let observed = json!({
                "failed": ["server 1"], "bottleneck": null, "resources": [], "servers": [], "traffic": null,
                "progress": [], "rebuilt": 0, "unfinished": 0, "below": [], "found": "", "asked": 0, "grouped": false,
            });
            outcome.series.insert("observed".to_owned(), observed);
            outcome
        };
        Point { outcomes: rates.iter().enumerate().map(outcome).collect(), scenario }
    }
}

fn judge(points: &[Point]) -> Vec<Claim> {
    let results: Vec<PointResult<'_>> = points
        .iter()
        .map(|point| PointResult { settings: &[], scenario: &point.scenario, outcomes: &point.outcomes })
        .collect();
    let read = Points::of(&results);
    let views: Vec<View<'_>> = read.iter().map(View::of).collect();
    assert_eq!(views.len(), points.len(), "all points can be read");
    claims(&views)
}

fn verdict(claims: &[Claim], name: &str) -> Verdict {
    let found = claims.iter().find(|claim| claim.name == name);
    found
        .unwrap_or_else(|| {
            panic!("no claim {name} among {:?}", claims.iter().map(|claim| &claim.name).collect::<Vec<_>>())
        })
        .verdict
}

const EVEN: [f64; 5] = [0.400, 0.401, 0.399, 0.4005, 0.3995];
const WIDE: [f64; 5] = [0.20, 0.26, 0.15, 0.22, 0.17];

fn published(objects_1024: &[f64], groups_1024: &[f64], shares: (f64, f64)) -> Vec<Claim> {
    judge(&[
        Point::new(64, Some(4_096), &WIDE, 0.5),
        Point::new(64, None, &EVEN, 0.98),
        Point::new(1_024, Some(4_096), groups_1024, shares.1),
        Point::new(1_024, None, objects_1024, shares.0),
    ])
}

#[test]
fn each_claim_holds_for_numbers_like_the_papers_and_misses_for_others() {
    let low = [0.02, 0.021, 0.03, 0.012, 0.02];
    let right = published(&EVEN, &low, (0.97, 0.1));
    for name in [
        "objects_faster_1024",
        "objects_steadier_1024",
        "linear_scaling_64_to_1024",
        "groups_fall_behind_64_to_1024",
    ] {
        assert_eq!(verdict(&right, name), Verdict::Holds, "{name}");
    }
    // A tenth slower on many servers than on few.
    let slow: Vec<f64> = EVEN.iter().map(|rate| 0.9 * rate).collect();
    assert_eq!(verdict(&published(&slow, &low, (0.97, 0.1)), "linear_scaling_64_to_1024"), Verdict::Misses);
    // Groups and objects are exchanged.
    let exchanged = published(&low, &EVEN, (0.1, 0.97));
    for name in ["objects_faster_1024", "objects_steadier_1024", "groups_fall_behind_64_to_1024"] {
        assert_eq!(verdict(&exchanged, name), Verdict::Misses, "{name}");
    }
}

#[test]
fn a_single_seed_decides_no_comparison() {
    let claims = published(&EVEN[..1], &[0.02], (0.97, 0.1));
    for name in ["objects_faster_1024", "objects_steadier_1024", "groups_fall_behind_64_to_1024"] {
        assert_eq!(verdict(&claims, name), Verdict::CannotTell, "{name}");
    }
}

#[test]
fn the_headline_is_fitted_and_shows_whether_it_would_hold() {
    let headline = |rates: &[f64]| {
        let claims = published(rates, &WIDE, (0.97, 0.1));
        let claim = claims.into_iter().find(|claim| claim.name == "headline_rate_1024").unwrap();
        assert_eq!(claim.verdict, Verdict::Fitted);
        claim.would_be
    };
    let near: Vec<f64> = EVEN.iter().map(|rate| rate * 410.0 / 1_023.0 / 0.4).collect();
    assert_eq!(headline(&near), Some(Verdict::Holds));
    assert_eq!(headline(&near.iter().map(|rate| rate * 0.886).collect::<Vec<_>>()), Some(Verdict::Misses));
}

#[test]
fn data_sets_and_peers_are_judged_by_their_ratios() {
    let data = |name: &str, factor: f64| {
        let scenario = json!({ "servers": 64, "placement": "crush-vring", "population": { "preset": name } });
        Point::of(scenario, 64, &EVEN.map(|rate| rate * factor), 0.9)
    };
    let judged =
        |factor: f64| verdict(&judge(&[data("1000-genomes", factor), data("mira", 1.0)]), "mira_slower_64");
    assert_eq!(judged(2.0), Verdict::Holds);
    assert_eq!(judged(1.3), Verdict::Misses);
    let peers = |factors: [f64; 3]| {
        let of =
            |(groups, factor): (u32, f64)| Point::new(64, Some(groups), &EVEN.map(|rate| rate * factor), 0.9);
        let points = [128, 512, 2_048].into_iter().zip(factors).map(of).collect::<Vec<_>>();
        verdict(&judge(&points), "more_peers_higher_rate")
    };
    assert_eq!(peers([1.0, 2.0, 3.0]), Verdict::Holds);
    assert_eq!(peers([1.0, 3.0, 2.0]), Verdict::Misses);
    assert_eq!(peers([1.0, 2.0, 2.0]), Verdict::CannotTell);
}

/// Points that never become safe come first in the answer of a sweep, and none is omitted.
#[test]
fn what_does_not_become_safe_comes_first() {
    let mut points: Vec<Point> = (0..7).map(|groups| Point::new(64, Some(groups), &EVEN, 0.9)).collect();
    for outcome in points.iter_mut().flat_map(|point| &mut point.outcomes) {
        outcome.measure("time_to_full_redundancy_s", 60.0, "s");
    }
    points[5].outcomes[1].missing("time_to_full_redundancy_s", "s", "7 objects are lost");
    for outcome in &mut points[6].outcomes {
        outcome.missing("time_to_full_redundancy_s", "s", "9 objects have no valid target left");
    }
    let results: Vec<PointResult<'_>> = points
        .iter()
        .map(|point| PointResult { settings: &[], scenario: &point.scenario, outcomes: &point.outcomes })
        .collect();
    let answer = Rebuild.present(&results).answer;
    let first = answer
        .find("in 1 of 5 replicates redundancy is not fully restored: 7 objects are lost")
        .expect(&answer);
    let second =
        answer.find("redundancy is not fully restored: 9 objects have no valid target left").expect(&answer);
    let safe = answer.find("1 min at").expect(&answer);
    assert!(first < second && second < safe, "{answer}");
    let one = Rebuild.present(&results[5..6]).answer;
    assert!(one.starts_with("in 1 of 5 replicates redundancy is not fully restored"), "{one}");
}
