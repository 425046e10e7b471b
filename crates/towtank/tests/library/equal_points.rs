//! No study names one of several points that are equal as the best or the worst.
//!
//! Each study presents three points with the same outcomes, and again with the same outcomes in another
//! order, so that their means are equal but replicates differ. Whatever it says of one of them in its answer
//! must then be said of all.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use towtank_report::{Answer, Outcome};
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;

use towtank_study::{PointResult, Presentation, RunContext, Study, check, named};

use crate::cluster;

/// A small scenario of each study.
const SCENARIOS: [(&str, &str); 11] = [
    ("queue", "span = \"200s\"\n[stations.desk]\nservice_rate = \"1/s\"\narrival_rate = \"0.6/s\""),
    ("put", "protocol = \"replicast-m\"\ngateways = 4\nservers = 18\nwarm_up = \"1ms\"\nduration = \"2ms\""),
    ("backfill", "discovery = \"scan, merkle\"\nobjects_per_group = 200\nstale = \"10%\""),
    ("rebuild", "servers = 8\nper_server = \"1GiB\"\ngroups = 40"),
    (
        "capacity-sim",
        "servers = 4\ndepth = 2\nwarm_up = \"200us\"\nduration = \"1ms\"\ntrip = \"20us\"\nsize = \"64KiB\"",
    ),
    ("preview", "mark_out = \"osd.3\""),
    ("whatif", "mark_out = \"osd.3\""),
    ("balance", ""),
    ("eta", "report = [\"1.report.json.gz\", \"3.report.json.gz\"]"),
    ("place", "servers = 8\nkeys = 500"),
    (
        "pfs",
        "clients = 2\nservers = 2\nfile_size = \"1MiB\"\nrequest_size = \"256KiB\"\nworkload = \"mix\"\nscheduler = \"sfq:4\"",
    ),
];

/// The names of the points.
const PLACES: [&str; 3] = ["Aarhus", "Bergen", "Cadiz"];

/// The resolved scenario, and the outcomes of three replicates.
fn ran(study: &'static dyn Study, text: &str) -> (serde_json::Value, Vec<Outcome>) {
    let exports = ["preview", "whatif", "balance"].contains(&study.name());
    let exports = if exports { cluster::KEYS } else { "" };
    let text = format!("study = \"{}\"\n{exports}{text}", study.name());
    let document = Document::parse(&Source::file("equals.toml", text.clone())).unwrap();
    let document = document.with_files(Arc::new(cluster::folder()));
    let checked =
        check(towtank::studies(), document).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    let prepared = &checked.points()[0].prepared;
    let run = |replicate| {
        let context = RunContext::alone(Seed(7).replicate(replicate), replicate);
        prepared.run(&context).unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    (prepared.resolved(), (0..3).map(run).collect())
}

/// Presents three points whose outcomes are these, turned by `turn` from one point to the next.
fn presented(
    present: &dyn Fn(&[PointResult<'_>]) -> Presentation,
    (scenario, outcomes): &(serde_json::Value, Vec<Outcome>),
    turn: usize,
) -> Presentation {
    let settings: Vec<Vec<(String, serde_json::Value)>> =
        PLACES.iter().map(|place| vec![("place".to_owned(), (*place).into())]).collect();
    let turned: Vec<Vec<Outcome>> = (0..PLACES.len())
        .map(|at| {
            let mut outcomes = outcomes.clone();
            let by = at * turn % outcomes.len();
            outcomes.rotate_left(by);
            outcomes
        })
        .collect();
    let points: Vec<PointResult<'_>> = settings
        .iter()
        .zip(&turned)
        .map(|(settings, outcomes)| PointResult { settings, scenario, outcomes })
        .collect();
    present(&points)
}

/// What is wrong with an answer about points that are equal: some are named more often than others.
fn unequal(shown: &Presentation) -> Option<String> {
    let counts = PLACES.map(|place| shown.answer.prose().matches(place).count());
    (counts.iter().min() != counts.iter().max()).then(|| format!("{counts:?} in {:?}", shown.answer.prose()))
}

#[test]
fn no_study_names_one_of_equal_points() {
    for (name, text) in SCENARIOS {
        let study = named(towtank::studies(), name).unwrap();
        let found = ran(study, text);
        for turn in [0, 1] {
            let shown = presented(&|points| study.present(points), &found, turn);
            assert!(!shown.answer.prose().is_empty(), "{name} says nothing");
            assert_eq!(unequal(&shown), None, "{name}, turned by {turn}");
        }
    }
}

/// An answer as they were before: the point with the least mean, or the first of equals.
#[test]
fn an_answer_that_picks_the_least_mean_is_caught() {
    let study = named(towtank::studies(), "queue").unwrap();
    let found = ran(study, SCENARIOS[0].1);
    let careless = |points: &[PointResult<'_>]| {
        let mean =
            |point: &PointResult<'_>| towtank_study::points::values(point, "wait_mean").iter().sum::<f64>();
        let best = points.iter().min_by(|left, right| mean(left).total_cmp(&mean(right))).unwrap();
        Presentation {
            answer: Answer::of(format!("Waits are shortest in {}.", best.settings[0].1)),
            ..Presentation::default()
        }
    };
    for turn in [0, 1] {
        assert!(unequal(&presented(&careless, &found, turn)).is_some());
    }
}

/// What a study keeps of a replicate can be read back, and one that lacks any field that it needs is noticed.
#[test]
fn a_stored_point_that_cannot_be_read_is_noticed() {
    for (name, text) in SCENARIOS {
        let study = named(towtank::studies(), name).unwrap();
        let (scenario, outcomes) = ran(study, text);
        let settings = [("place".to_owned(), serde_json::Value::from("Aarhus"))];
        let unreadable = |scenario: &serde_json::Value, outcomes: &[Outcome]| {
            study.unreadable(&[PointResult { settings: &settings, scenario, outcomes }])
        };
        assert_eq!(unreadable(&scenario, &outcomes), None, "{name}");
        let found = unreadable(&"planted".into(), &outcomes).unwrap();
        assert!(found.starts_with("the resolved scenario of the point with place = Aarhus: "), "{found}");
        let mut damaged = outcomes.clone();
        let series = damaged[1].series.values_mut().next().unwrap();
        *series = "planted".into();
        let found = unreadable(&scenario, &damaged).unwrap();
        assert!(
            found.starts_with("the results of replicate 1 of the point with place = Aarhus: "),
            "{found}"
        );
        damaged[1].series.clear();
        assert_eq!(unreadable(&scenario, &damaged), None, "{name}: it observed nothing");
    }
}
