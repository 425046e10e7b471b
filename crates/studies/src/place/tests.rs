//! The study against slow counting, closed forms and its own invariants.

use towtank_placement::algorithms::{Algorithm, Arrangement, Cluster, ServerId, Weight};
use towtank_report::Verdict;
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;

use super::observed::Observed;
use super::scenario::Scenario;
use super::*;
use crate::{PointResult, Prepared, Study};

fn check(text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let outline =
        Document::parse(&Source::file("place.toml", format!("study = \"place\"\n{text}")))?.outline()?;
    Place.check(outline.points()[0].draft())
}

fn run(text: &str, replicate: u32) -> Outcome {
    let prepared = check(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    let context = RunContext::alone(Seed(3).replicate(replicate), replicate);
    prepared.run(&context).unwrap()
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    outcome.measures[measure].value().unwrap_or_else(|| panic!("{measure} is missing"))
}

#[test]
fn every_algorithm_places_objects_and_groups() {
    for algorithm in Algorithm::ALL {
        for items in ["keys = 3000", "groups = 500"] {
            let text = format!("algorithm = \"{}\"\nservers = 18\n{items}\nvnodes = 16", algorithm.name());
            let outcome = run(&text, 0);
            assert_eq!(outcome, run(&text, 0), "{text}");
            assert_ne!(outcome.series, run(&text, 1).series, "{text}: replicates differ");
            let observed: Observed = serde_json::from_value(outcome.series["observed"].clone()).unwrap();
            let placed = if items.starts_with('k') { 3000 } else { 500 };
            assert_eq!(observed.loads.iter().sum::<u64>(), 3 * placed, "{text}: every copy is somewhere");
            assert_eq!(observed.rebuilt.len(), 17, "{text}");
            let rebuilt: u64 = observed.rebuilt.iter().sum();
            assert_eq!(rebuilt as f64, value(&outcome, "failure_lost"), "{text}: every lost copy is rebuilt");
        }
    }
}

/// At least one move for each copy that the last server held, and exactly that where the algorithm guarantees
/// the minimum; CRUSH with firstn also moves some copies that only change places: up to one in eight here.
#[test]
fn what_leaves_moves_once() {
    use towtank_placement::algorithms::guarantees::Movement;
    for algorithm in Algorithm::ALL {
        let text = format!("algorithm = \"{}\"\nservers = 18\nkeys = 2000\nvnodes = 16", algorithm.name());
        let outcome = run(&text, 0);
        let moved = value(&outcome, "moved_fraction") * 6000.0;
        let lost = value(&outcome, "failure_lost");
        assert!(moved > lost - 0.5, "{text}: {moved} moved, {lost} were lost");
        let with = Arrangement { vnodes: 16, groups: 1, slots: 65_537, replicas: 3, seed: 1 };
        let promised = algorithm.set_up(&Cluster::equal(18), &with).unwrap().guarantees().on_remove;
        let more = if algorithm.name().starts_with("crush") { lost * 0.125 } else { 0.0 };
        if promised == Movement::Minimal {
            assert!(moved <= lost + more + 0.5, "{text}: {moved} moved, {lost} were lost");
        }
    }
}

/// CRUSH draws independently, so its loads are binomial: the deviation lies within a factor that chance
/// allows.
#[test]
fn crush_is_as_even_as_independent_draws() {
    let ratios: Vec<f64> = (0..10)
        .map(|replicate| {
            let outcome = run("algorithm = \"crush-straw2\"\nservers = 50\nkeys = 20000", replicate);
            value(&outcome, "load_deviation") / value(&outcome, "load_deviation_binomial")
        })
        .collect();
    let mean = ratios.iter().sum::<f64>() / 10.0;
    assert!((0.9..1.1).contains(&mean), "{mean}: {ratios:?}");
}

#[test]
fn weights_and_changes_are_understood() {
    let scenario = |text: &str| -> Scenario {
        serde_json::from_value(
            check(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}")).resolved(),
        )
        .unwrap()
    };
    let heavy = scenario("servers = 5\nheavy_servers = 2\nheavy_weight = 1.5\nchange = \"halve\"");
    let weights =
        |cluster: &Cluster| (0..5).map(|id| cluster.weight(ServerId(id)).as_f64()).collect::<Vec<f64>>();
    assert_eq!(weights(&heavy.cluster()), [1.5, 1.5, 1.0, 1.0, 1.0]);
    assert_eq!(weights(&heavy.cluster_after()), [1.5, 1.5, 1.0, 1.0, 0.5]);
    let more = scenario("servers = 5\nchange = \"add\"").cluster_after();
    assert_eq!((more.ids(), more.weight(ServerId(5))), (6, Weight::ONE));
}

#[test]
fn mistakes_are_told() {
    let told = |text: &str| {
        let Err(problems) = check(text) else { panic!("{text} was accepted") };
        let each = problems.iter().map(|problem| {
            format!("{}\n  hint: {}", problem.message(), problem.next_step().unwrap_or_default())
        });
        each.collect::<Vec<_>>().join("\n")
    };
    let all = [
        told("algorithm = \"rign\""),
        told("servers = 3"),
        told("servers = 4\nheavy_servers = 5"),
        told("heavy_servers = 2\nheavy_weight = -1.0"),
        told("algorithm = \"ring\"\nservers = 16384\nvnodes = 65536"),
        told("algorithm = \"negotiating\"\nservers = 6\nreplicas = 2"),
        told("keys = 0"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    `algorithm` is "rign", but it must be "crush-straw2", "crush-straw", "crush-vring", "ring", "multiring", "rendezvous", "jump", "maglev", "static-modulo", "two-choice", "xor", "two-d" or "negotiating"
      hint: did you mean "ring"?
    `replicas` is 3, but only 2 servers with a weight are left after the change
      hint: set `replicas` to at most 2, or add servers
    `heavy_servers` is 5, but there are only 4 servers
      hint: set it to at most `servers`
    `heavy_weight` is -1, but it must lie between 0 and 1000
      hint: weights are relative to 1, that of the other servers
    `vnodes` is 65536, which makes up to 2147483648 positions
      hint: at most 100000000 fit; use fewer
    negotiating cannot be set up: 6 servers are too few for one group of 9: add servers or use smaller groups
      hint: change `servers`, or choose another algorithm
    `keys` is 0, but it must be from 1 to 1000000000
      hint: set `keys` to a value from 1 to 1000000000
    "#);
}

#[test]
fn the_published_failure_is_within_the_seeds() {
    let text = include_str!("../../../../scenarios/papers/rebuild-groups.toml");
    let outline = Document::parse(&Source::file("rebuild-groups.toml", text)).unwrap().outline().unwrap();
    let prepared = Place.check(outline.points()[0].draft()).unwrap();
    let one = |replicate| {
        let context = RunContext::alone(Seed(1).replicate(replicate), replicate);
        prepared.run(&context).unwrap()
    };
    let outcomes: Vec<Outcome> = (0..60).map(one).collect();
    let scenario = prepared.resolved();
    let presentation =
        Place.present(&[PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes }]);
    let verdicts: Vec<(&str, Verdict)> =
        presentation.claims.iter().map(|claim| (claim.name.as_str(), claim.verdict)).collect();
    let holds = ["failed_server_groups", "rebuilt_max", "rebuilt_none"].map(|name| (name, Verdict::Holds));
    assert_eq!(verdicts, holds, "{:#?}", presentation.claims);
    let ids: Vec<&str> = presentation.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["loads", "balance", "peers", "rebuild", "moved"]);
}

#[test]
fn shipped_scenarios_are_legal() {
    assert!(crate::shipped::check_all(&Place) >= 2);
}

/// A former bug: where no copy needs to move, the whole answer was left out.
#[test]
fn a_change_that_need_not_move_anything_has_an_answer() {
    let text = "algorithm = \"rendezvous\"\nservers = 3\nreplicas = 3\nchange = \"halve\"\nkeys = 1000";
    let prepared = check(text).unwrap_or_else(|problems| panic!("{problems:?}"));
    let outcomes = [run(text, 0)];
    let point = PointResult { settings: &[], scenario: &prepared.resolved(), outcomes: &outcomes };
    insta::assert_snapshot!(Place.present(&[point]).answer, @"rendezvous: the standard deviation of load is 0 % of the expected load (0 % with independent draws), and the change moves 0 % of the copies, where none need to move.");
    assert_eq!(outcomes[0].measures["moved_over_minimum"].reason(), Some("no copy needs to move"));
}

/// A former bug: the hint asked for no replicas at all.
#[test]
fn the_last_server_cannot_be_removed() {
    let Err(problems) = check("servers = 1\nreplicas = 1") else { panic!("it was taken") };
    let problem = problems.iter().next().unwrap();
    assert_eq!(
        problem.message(),
        "`replicas` is 1, but only 0 servers with a weight are left after the change"
    );
    assert_eq!(problem.next_step(), Some("add servers, or choose another `change` than `remove`"));
}
