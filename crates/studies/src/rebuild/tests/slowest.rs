//! Which replicate is looked at, and what its figures say, on results set by hand and on small runs.

use serde_json::json;
use towtank_report::Outcome;

use towtank_recovery::observed::{Observed, ServerSeen};
use towtank_recovery::slowest::{FLOWS_MAX, Runs, Slowest};
use towtank_report::{Figure, Kind, Num};
use towtank_study::{PointResult, Points};

use super::outcome;
use crate::rebuild::Rebuild;
use crate::rebuild::view::View;

const GIB: f64 = 1_073_741_824.0;

/// Three survivors: server 0 with one peer, server 1 with three, server 3 with none.
fn observed(replicate: u32, transfer_s: f64) -> serde_json::Value {
    let server = |(number, passed, peers, active_s, rebuilt): (u32, u64, u32, f64, u64)| {
        json!({
            "server": number, "sent": passed, "received": 0, "read": 0, "written": 0, "disk_busy": 0.0,
            "sending_busy": 0.0, "receiving_busy": 0.0, "rebuilt": rebuilt, "groups": rebuilt / 10, "peers": peers,
            "active_s": active_s, "held": 100 + u64::from(number),
        })
    };
    let servers = [(0, 40, 1, 2.0, 20), (1, 80, 3, 2.0, 70), (3, 0, 0, 0.0, 0)].map(server);
    json!({
        "replicate": replicate, "transfer_s": transfer_s, "failed": ["server 2"], "bottleneck": null, "resources": [],
        "servers": servers, "traffic": { "labels": ["0", "1"], "matrix": [[0, 40], [80, 0]] }, "progress": [],
        "rebuilt": 0, "unfinished": 0, "below": [], "found": "drawn from the exact distribution of the placement",
        "asked": 0, "grouped": true, "held_in": "groups",
    })
}

fn point(times: &[f64]) -> Vec<Outcome> {
    let one = |(replicate, &time): (u32, &f64)| {
        let mut outcome = Outcome::default();
        outcome.series.insert("observed".to_owned(), observed(replicate, time));
        outcome
    };
    (0..).zip(times).map(one).collect()
}

/// Asks about the slowest replicate of points, each with a number of servers and its outcomes.
fn with<T>(points: &[(u32, Vec<Outcome>)], ask: impl FnOnce(&Slowest<'_, '_>) -> T) -> T {
    let scenarios: Vec<serde_json::Value> =
        points.iter().map(|point| json!({ "servers": point.0, "groups": 12 })).collect();
    let settings: Vec<Vec<(String, serde_json::Value)>> =
        points.iter().map(|point| vec![("servers".to_owned(), json!(point.0))]).collect();
    let results: Vec<PointResult<'_>> = (0..points.len())
        .map(|at| PointResult {
            settings: if points.len() > 1 { &settings[at] } else { &[] },
            scenario: &scenarios[at],
            outcomes: &points[at].1,
        })
        .collect();
    let read: Points<'_, Rebuild> = Points::of(&results);
    let views: Vec<View<'_>> = read.iter().map(View::of).collect();
    let runs: Vec<Runs<'_>> = views.iter().map(View::runs).collect();
    ask(&Slowest::of(&runs).expect("there are replicates"))
}

#[test]
fn it_is_the_slowest_replicate_of_the_slowest_point() {
    // The third point has the single longest replicate, and the second is slower on average.
    let points = [(4, point(&[5.0, 6.0])), (8, point(&[8.0, 9.0, 8.5])), (16, point(&[1.0, 12.0]))];
    with(&points, |slowest| {
        assert_eq!((slowest.seen.replicate, slowest.seen.transfer_s), (1, 9.0));
        assert_eq!(
            slowest.which(),
            " in replicate 1 with 8 servers, the slowest of one of the slowest points (tied)"
        );
    });
    with(&[(4, point(&[5.0, 6.0, 6.0]))], |slowest| {
        assert_eq!(slowest.which(), " in replicate 1, one of the slowest", "the first of equals");
    });
    with(&[(4, point(&[5.0]))], |slowest| assert_eq!(slowest.which(), ""));
    with(&[(4, point(&[5.0])), (8, point(&[6.0]))], |slowest| {
        assert_eq!(
            slowest.which(),
            " with 8 servers, one of the slowest points, as one run of each cannot tell them apart"
        );
    });
}

fn figure(id: &str) -> Figure {
    let figures = with(&[(4, point(&[5.0, 6.0]))], |slowest| slowest.figures());
    figures.into_iter().find(|figure| figure.id == id).expect("it is drawn")
}

fn traffic(points: &[(u32, Vec<Outcome>)]) -> (String, Vec<String>, String) {
    let figures = with(points, |slowest| slowest.figures());
    let Figure { kind, caption, .. } =
        figures.into_iter().find(|figure| figure.id == "traffic").expect("it is drawn");
    let Kind::Chord { name, others, .. } = kind else { panic!("they are flows") };
    (name, others.into_iter().map(|other| other.name).collect(), caption)
}

#[test]
fn any_replicate_can_be_chosen_and_the_slowest_is_first() {
    let (name, others, caption) = traffic(&[(4, point(&[5.0, 90.0, 6.5]))]);
    assert_eq!(name, "replicate 1, the slowest: 1.5 min");
    assert_eq!(others, ["replicate 0: 5 s", "replicate 2: 6.5 s"]);
    assert!(
        caption.contains("Any of the 3 replicates can be chosen; the slowest is shown first."),
        "{caption}"
    );
    let (name, others, caption) = traffic(&[(4, point(&[5.0]))]);
    assert_eq!((name.as_str(), others.len()), ("", 0));
    assert!(caption.starts_with("Bytes sent between ranges of servers. An arc"), "{caption}");
    let (_, others, caption) = traffic(&[(4, point(&[5.0, 6.0])), (8, point(&[9.0, 8.0]))]);
    assert_eq!(others, ["replicate 1: 8 s"]);
    assert!(caption.contains("with 8 servers, one of the slowest points (tied). Any of the 2"), "{caption}");
}

/// Two servers more than the bound allows for each of the replicates.
#[test]
fn of_too_many_flows_three_replicates_are_kept_and_it_is_said() {
    let mut outcomes = point(&[5.0, 3.0, 9.0, 4.0, 8.0]);
    let servers = 102;
    let labels: Vec<String> = (0..servers).map(|server| server.to_string()).collect();
    let traffic_of = |from: u64| json!({ "labels": labels, "matrix": vec![vec![from; servers]; servers] });
    for (at, outcome) in (1..).zip(&mut outcomes) {
        outcome.series.get_mut("observed").expect("it has it")["traffic"] = traffic_of(at);
    }
    assert!(outcomes.len() * servers * servers > FLOWS_MAX && 4 * servers * servers < FLOWS_MAX);
    let (name, others, caption) = traffic(&[(4, outcomes.clone())]);
    assert_eq!(name, "replicate 2, the slowest: 9 s");
    assert_eq!(others, ["replicate 0, the median: 5 s", "replicate 1, the fastest: 3 s"]);
    assert!(
        caption.contains("Of the 5 replicates, the slowest, which is shown first, the median"),
        "{caption}"
    );
    outcomes.pop();
    assert_eq!(traffic(&[(4, outcomes)]).1.len(), 3, "four replicates are below the bound");
}

#[test]
fn copies_and_groups_are_drawn_over_their_means() {
    let Figure { kind, caption, .. } = figure("rebuilt");
    let Kind::Bar { series, categories, .. } = kind else { panic!("they are bars") };
    assert_eq!(categories, ["0", "1", "3"]);
    let of = |at: usize| (series[at].name.as_str(), series[at].values.clone());
    let values = |values: [f64; 3]| values.map(Num::from).to_vec();
    assert_eq!(of(0), ("copies or shards (mean 30.0)", values([20.0 / 30.0, 70.0 / 30.0, 0.0])));
    assert_eq!(of(1), ("groups (mean 3.0)", values([2.0 / 3.0, 7.0 / 3.0, 0.0])));
    let said = " in replicate 1, the slowest, over the mean. Of 9 groups in all, server 1 rebuilt the most, 7; servers that rebuilt none: 1.";
    assert!(caption.ends_with(said), "{caption}");
}

#[test]
fn who_took_no_part_has_no_rate() {
    let Figure { kind, caption, .. } = figure("peers");
    let Kind::Line { series, .. } = kind else { panic!("they are points") };
    let places: Vec<(Option<f64>, Option<f64>)> =
        series[0].points.iter().map(|point| (point.x.get(), point.y.get().map(|rate| rate * GIB))).collect();
    assert_eq!(places, [(Some(1.0), Some(20.0)), (Some(3.0), Some(40.0))]);
    assert!(caption.ends_with("Spearman's rank correlation is 1.00."), "{caption}");
}

#[test]
fn what_was_held_is_drawn_or_said_to_be_missing() {
    let Figure { kind, caption, .. } = figure("evenness");
    let Kind::Ecdf { series, .. } = kind else { panic!("they are distributions") };
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["groups held before", "traffic while data move"]);
    assert!(caption.contains("held 1.02 times the mean before; the busiest has 2.00 times"), "{caption}");
    let mut outcomes = point(&[5.0]);
    let observed = outcomes[0].series.get_mut("observed").and_then(|seen| seen.as_object_mut()).unwrap();
    observed.remove("held_in");
    let figures = with(&[(4, outcomes)], |slowest| slowest.figures());
    let figure = figures.into_iter().find(|figure| figure.id == "evenness").expect("the traffic is drawn");
    let Kind::Ecdf { series, .. } = figure.kind else { panic!("they are distributions") };
    assert_eq!(series.len(), 1);
    let said = "What servers held before is missing: the lost objects were drawn from the exact distribution of the placement";
    assert!(figure.caption.contains(said), "{}", figure.caption);
}

/// Real runs: what servers held and took adds up, in groups, by looking up every object, and by draws.
#[test]
fn what_servers_held_and_took_adds_up() {
    let seen = |more: &str| -> Observed {
        let outcome = outcome(&format!("servers = 8\nper_server = \"2GiB\"\n{more}"), 3);
        serde_json::from_value(outcome.series["observed"].clone()).expect("it came out of this type")
    };
    let sum = |seen: &Observed, of: fn(&ServerSeen) -> u64| seen.servers.iter().map(of).sum::<u64>();
    let groups = seen("placement = \"crush-straw\"\ngroups = 40");
    assert_eq!(groups.held_in.as_deref(), Some("groups"));
    let gone = 3 * 40 - sum(&groups, |server| server.held.expect("all groups are placed"));
    let rebuilt = sum(&groups, |server| server.groups.expect("there are groups"));
    assert_eq!(rebuilt, gone, "each group of the failed server has one new server");
    let asked = seen("placement = \"rendezvous\"\nlost_set = \"enumerate\"");
    assert_eq!(asked.held_in.as_deref(), Some("bytes"));
    let held = sum(&asked, |server| server.held.expect("all objects are placed"));
    assert_eq!((held + asked.rebuilt) % 3, 0, "each object has three copies of one size");
    assert!(
        held > 5 * asked.rebuilt && held < 9 * asked.rebuilt,
        "seven servers hold {held}, one held {}",
        asked.rebuilt
    );
    assert!(asked.servers.iter().all(|server| server.groups.is_none() && server.rebuilt > 0));
    let drawn = seen("lost_set = \"draw\"");
    assert_eq!(drawn.held_in, None);
    for seen in [groups, asked, drawn] {
        assert_eq!(sum(&seen, |server| server.sent), sum(&seen, |server| server.received));
        assert!(seen.servers.iter().all(|server| (server.traffic() > 0) == (server.peers > Some(0))));
        assert!(seen.servers.iter().all(|server| server.active_s <= seen.transfer_s + 1e-9));
    }
}
