//! Each claim is judged on numbers that agree with it and on numbers that do not.

use serde_json::json;
use towtank_report::{Outcome, Verdict};

use super::*;
use crate::rebuild::Rebuild;
use towtank_study::{PointResult, Points, Study};

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

/// Groups are compared over the sizes of a cluster only with the published amount of data.
#[test]
fn less_data_than_published_judges_no_sizes() {
    let names = |per_server: &str| {
        let point = |servers: u32, share| {
            let scenario = json!({
                "servers": servers, "placement": "crush-straw", "groups": 4_096, "per_server": per_server,
            });
            Point::of(scenario, servers, &WIDE, share)
        };
        let claims = judge(&[point(16, 0.5), point(4_096, 0.1)]);
        claims.into_iter().map(|claim| claim.name).collect::<Vec<_>>()
    };
    assert_eq!(names("60TiB"), ["groups_fall_behind_16_to_4096"]);
    assert!(names("8TiB").is_empty(), "the paper has no such run");
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
    let other = |servers: u32| {
        let scenario =
            json!({ "servers": servers, "placement": "crush-vring", "population": { "preset": "mira" } });
        Point::of(scenario, servers, &EVEN, 0.9)
    };
    let large =
        [data("1000-genomes", 2.0), data("mira", 1.0), Point::new(1_024, None, &EVEN, 0.9), other(1_024)];
    let names: Vec<String> = judge(&large).into_iter().map(|claim| claim.name).collect();
    assert_eq!(names, ["mira_slower_64"], "other claims are judged where one data set is used");
    let apart = judge(&[data("1000-genomes", 2.0), other(256)]);
    assert!(apart.is_empty(), "data sets on clusters of different sizes are not compared: {apart:?}");
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
    let answer = Rebuild.present(&results).answer.prose();
    let first = answer
        .find("in 1 of 5 replicates redundancy is not fully restored: 7 objects are lost")
        .expect(&answer);
    let second =
        answer.find("redundancy is not fully restored: 9 objects have no valid target left").expect(&answer);
    let count = answer.find("Redundancy is not fully restored at 2 of 7 points").expect(&answer);
    let safe = answer.find("after 1 min with crush-straw, 0 groups").expect(&answer);
    assert!(count < safe && safe < first && first < second, "{answer}");
    let one = Rebuild.present(&results[5..6]).answer.prose();
    assert!(one.starts_with("Not safe: redundancy is not fully restored: 7 objects are lost"), "{one}");
}

/// The rows of the study of queues as measured, in its order: the queue, and seconds, objects per second,
/// operations per second and milliseconds of the client.
const QUEUES: [(&str, [f64; 4]); 5] = [
    ("high_client_ops", [1_409.0, 3.0, 271.0, 235.0]),
    ("balanced", [966.0, 4.0, 248.0, 258.0]),
    ("high_recovery_ops", [747.0, 5.0, 240.0, 265.0]),
    ("wpq", [647.0, 5.8, 308.0, 208.0]),
    ("wpq_boosted", [700.0, 5.0, 146.0, 433.0]),
];

/// The claims of all five rows with these numbers.
fn queues(rows: &[(&str, [f64; 4])]) -> Vec<Claim> {
    let point = |(name, [seconds, rate, operations, latency_ms]): &(&str, [f64; 4])| {
        let mut scenario = json!({
            "preset": "ceph-wpq", "servers": 4, "groups": 64, "placement": "crush-straw2", "client_depth": 64,
            "max_backfills": if *name == "wpq" { 1 } else { 1_000 },
        });
        if !name.starts_with("wpq") {
            (scenario["queue"], scenario["profile"]) = (json!("mclock"), json!(name));
        }
        let mut point = Point::of(scenario, 4, &EVEN, 0.5);
        for (seed, outcome) in point.outcomes.iter_mut().enumerate() {
            let factor = 1.0 + 0.001 * seed as f64;
            outcome.measure("transfer_s", seconds * factor, "s");
            outcome.measure("objects_rebuilt", rate * seconds, "objects");
            outcome.measure("client_operations_per_s", operations * factor, "operations/s");
            outcome.measure("client_write_latency_mean_us", latency_ms * 1e3, "us");
            outcome.measure("client_operations_quiet_per_s", 338.0 * factor, "operations/s");
        }
        point
    };
    judge(&rows.iter().map(point).collect::<Vec<Point>>())
}

/// All claims about queues agree with the numbers of the study itself. Each number that is a fifth too large
/// or too small fails its own claim, and no other but those about the order.
#[test]
fn each_number_of_the_study_of_queues_decides_its_claim() {
    let right = queues(&QUEUES);
    assert_eq!(right.len(), 4 * 4 + 2 + 4 + 1);
    for claim in &right {
        let fitted = claim.name.starts_with("qos_wpq_boosted") || claim.name == "qos_baseline";
        let wanted = if fitted { Verdict::Fitted } else { Verdict::Holds };
        assert_eq!(claim.verdict, wanted, "{}", claim.name);
        assert_eq!(claim.would_be, fitted.then_some(Verdict::Holds), "{}", claim.name);
    }
    for (row, (name, _)) in QUEUES.iter().enumerate().take(4) {
        for (column, what) in ["recovery", "objects", "client", "latency"].into_iter().enumerate() {
            for factor in [0.8, 1.2] {
                let mut rows = QUEUES;
                rows[row].1[column] *= factor;
                let judged = queues(&rows);
                let misses = judged
                    .iter()
                    .filter(|claim| claim.verdict == Verdict::Misses && !claim.name.starts_with("qos_order"));
                let misses: Vec<&str> = misses.map(|claim| claim.name.as_str()).collect();
                assert_eq!(misses, [format!("qos_{name}_{what}")], "{factor}");
            }
        }
    }
}

/// Profiles that are exchanged fail the claims about their order; equal ones fail too.
#[test]
fn the_order_of_profiles_is_exact() {
    let mut rows = QUEUES;
    (rows[0].1, rows[1].1) = (QUEUES[1].1, QUEUES[0].1);
    let order = |what: &str, pair: &str| format!("qos_order_{what}_{pair}");
    for what in ["recovery", "client"] {
        let first = order(what, "high_client_ops_balanced");
        assert_eq!(verdict(&queues(&QUEUES), &first), Verdict::Holds);
        assert_eq!(verdict(&queues(&rows), &first), Verdict::Misses);
        assert_eq!(verdict(&queues(&QUEUES), &order(what, "balanced_high_recovery_ops")), Verdict::Holds);
    }
    rows[1].1 = rows[0].1;
    assert_eq!(verdict(&queues(&rows), &order("client", "high_client_ops_balanced")), Verdict::Misses);
}

/// Runs all points of a published scenario with all its replicates, and judges its claims.
fn published_claims((name, replicates): (&str, u32)) -> Vec<Claim> {
    let path = format!("{}/../../scenarios/papers/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let document = towtank_scenario::Document::parse(&towtank_scenario::Source::file(name, &text)).unwrap();
    let outline = document.outline().unwrap();
    let mut points = Vec::new();
    for point in outline.points() {
        let prepared = Rebuild.check(point.draft()).unwrap_or_else(|_| panic!("{text}"));
        let one = |replicate: u32| {
            let seed = towtank_streams::Seed(1).replicate(replicate);
            // The first replicate would also try changes.
            prepared.run(&towtank_study::RunContext::alone(seed, replicate.max(1))).unwrap()
        };
        let outcomes = (0..replicates).map(one).collect();
        points.push(Point { scenario: prepared.resolved(), outcomes });
    }
    judge(&points)
}

/// What the study of queues says, and what comes out here: the guide has each row, also those that miss.
#[test]
fn the_study_of_queues_stands_beside_the_model() {
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rebuild.md")).unwrap();
    let mut table = String::new();
    for claim in
        [("qos-mclock", 10), ("qos-wpq", 5), ("qos-wpq-boosted", 5)].into_iter().flat_map(published_claims)
    {
        let number = |value: Option<f64>| match value {
            Some(value) if value >= 20.0 => format!("{value:.0}"),
            Some(value) => format!("{value:.2}"),
            None => "none".to_owned(),
        };
        let verdict = match claim.verdict {
            Verdict::Holds => "holds",
            Verdict::Misses => "**misses**",
            Verdict::CannotTell => "cannot tell",
            Verdict::Fitted => "fitted",
            Verdict::NotJudged => "not judged",
        };
        let [ours, low, high] =
            [claim.ours.value, claim.ours.low, claim.ours.high].map(|of| number(of.get()));
        let published = number(claim.published.value.get());
        let name = claim.name.trim_start_matches("qos_");
        table += &format!("| `{name}` | {published} | {ours} ({low} to {high}) | {verdict} |\n");
    }
    assert!(guide.contains(&table), "docs/rebuild.md has other rows; these are right:\n{table}");
}

/// Within a run, the rank correlation of peers and rates must be above 0 with its whole interval.
#[test]
fn active_peers_are_judged_by_their_rank_correlation() {
    let judged = |ranks: [f64; 4]| {
        let mut groups = Point::new(64, Some(4_096), &WIDE[..4], 0.5);
        for (outcome, rank) in groups.outcomes.iter_mut().zip(ranks) {
            outcome.measure("peers_rate_correlation", rank, "");
        }
        verdict(&judge(&[groups, Point::new(64, None, &EVEN, 0.98)]), "active_peers_higher_rate_64")
    };
    assert_eq!(judged([0.5, 0.6, 0.4, 0.55]), Verdict::Holds);
    assert_eq!(judged([-0.5, -0.6, -0.4, -0.55]), Verdict::Misses, "more peers, lower rates");
    assert_eq!(judged([0.5, -0.6, 0.4, -0.3]), Verdict::CannotTell);
    let unknown = [Point::new(64, Some(4_096), &WIDE, 0.5), Point::new(64, None, &EVEN, 0.98)];
    assert_eq!(verdict(&judge(&unknown), "active_peers_higher_rate_64"), Verdict::CannotTell);
    let claims = published(&EVEN, &WIDE, (0.97, 0.1));
    assert!(
        claims.iter().all(|claim| claim.name != "active_peers_higher_rate_64"),
        "it is one of 64 servers alone"
    );
}

#[test]
fn a_pair_streams_at_the_published_rate_or_does_not() {
    let judged = |rate: f64| {
        let scenario = json!({ "servers": 8, "replicas": 7, "groups": 1, "placement": "crush-straw" });
        // The measure is a seventh of it, that of each survivor.
        let rates = [rate / 7.0, 0.999 * rate / 7.0, 1.001 * rate / 7.0];
        verdict(&judge(&[Point::of(scenario, 8, &rates, 0.9)]), "pair_streaming_rate")
    };
    assert_eq!(judged(1.48), Verdict::Holds);
    assert_eq!(judged(1.3), Verdict::Misses);
    assert_eq!(judged(1.7), Verdict::Misses);
}

/// Sizes were chosen to have the published bins: the claims are fitted, and say whether they would hold.
#[test]
fn the_fullest_bins_are_fitted_and_show_whether_they_would_hold() {
    let shown = |id: &str, fullest: f64| {
        let bin = |from: f64| json!({ "from": from, "to": 2.0 * from, "height": if from == fullest { 0.6 } else { 0.2 } });
        let bins = |from: f64| json!([bin(from / 2.0), bin(from), bin(from * 2.0)]);
        let of = |name: &str| json!({ "name": name, "bins": bins(fullest) });
        let axis = json!({ "label": "", "unit": "", "scale": "log" });
        let kind = json!({ "type": "histogram", "x": axis, "y": axis, "series": [of("of all"), of("of bytes")], "references": [] });
        json!({ "figures": [{ "id": id, "title": "", "caption": "", "kind": kind }], "tables": [] })
    };
    let judged = |object: f64, file: f64| {
        let data = |name: &str, shown: serde_json::Value| {
            let scenario =
                json!({ "servers": 64, "placement": "crush-vring", "population": { "preset": name } });
            let mut point = Point::of(scenario, 64, &EVEN, 0.9);
            point.outcomes[0].series.insert("population".to_owned(), shown);
            point
        };
        let mib = 1_048_576.0;
        let claims = judge(&[
            data("1000-genomes", shown("object_sizes", object * mib)),
            data("mira", shown("file_sizes", file * GIB)),
        ]);
        ["genomes_fullest_object_bin", "mira_fullest_file_bin"].map(|name| {
            let claim = claims.iter().find(|claim| claim.name == name).expect(name);
            assert_eq!(claim.verdict, Verdict::Fitted, "{name}");
            claim.would_be.expect("it is fitted")
        })
    };
    assert_eq!(judged(64.0, 256.0), [Verdict::Holds; 2]);
    assert_eq!(judged(32.0, 256.0), [Verdict::Misses, Verdict::Holds]);
    assert_eq!(judged(64.0, 512.0), [Verdict::Holds, Verdict::Misses]);
}
