//! Claims are made only for published set-ups: each changed setting removes them.

use towtank_report::{Claim, Outcome};
use towtank_streams::Seed;

use super::*;
use crate::{place::Place, put::Put, rebuild::Rebuild};
use towtank_study::{PointResult, RunContext};

const OF_PAPERS: [&dyn Study; 3] = [&Rebuild, &Put, &Place];

#[test]
fn every_published_scenario_of_a_paper_has_its_text() {
    for study in OF_PAPERS {
        for name in study.published() {
            assert!(TEXTS.iter().any(|(text, _)| text == name), "`{name}` of {} has no text", study.name());
        }
        assert!(!points_of(study).is_empty());
    }
}

#[test]
fn a_published_point_is_published_and_any_changed_setting_is_not() {
    for study in OF_PAPERS {
        for point in points_of(study).iter() {
            assert!(is_published(study, point, &[]));
            let Json::Object(keys) = point else { panic!("{point}") };
            for key in keys.keys() {
                let mut changed = point.clone();
                changed[key] = Json::from("planted");
                assert!(!is_published(study, &changed, &[]), "{}: {key}", study.name());
                assert!(is_published(study, &changed, &[key.as_str()]), "{}: {key} apart", study.name());
            }
        }
    }
}

/// Outcomes of a small run, in the form in which a study reads them.
fn outcomes(study: &dyn Study, text: &str, seeds: u32) -> Vec<Outcome> {
    let document = Document::parse(&Source::file("small.toml", text)).unwrap();
    let outline = document.outline().unwrap();
    let prepared = study.check(outline.points()[0].draft()).unwrap_or_else(|_| panic!("{text}"));
    let one = |replicate| {
        let context = RunContext::alone(Seed(1).replicate(replicate), replicate);
        prepared.run(&context).unwrap()
    };
    (0..seeds).map(one).collect()
}

/// The claims of a study about these outcomes, presented as those of these points.
fn claims(study: &dyn Study, points: &[Json], outcomes: &[Outcome]) -> Vec<Claim> {
    let results: Vec<PointResult<'_>> =
        points.iter().map(|scenario| PointResult { settings: &[], scenario, outcomes }).collect();
    study.present(&results).claims
}

/// Asserts that there are claims at the published points, and none with any of the changed settings.
fn check(study: &dyn Study, points: &[Json], outcomes: &[Outcome], planted: &[(&str, Json)]) {
    assert!(!claims(study, points, outcomes).is_empty(), "{} claims nothing", study.name());
    for (key, value) in planted {
        let mut changed = points.to_vec();
        for point in &mut changed {
            assert_ne!(point[*key], *value, "{key} is no change");
            point[*key] = value.clone();
        }
        let found = claims(study, &changed, outcomes);
        assert!(found.is_empty(), "{} with {key} = {value}: {found:#?}", study.name());
    }
}

fn named(study: &dyn Study, name: &str) -> Vec<Json> {
    let (_, text) = TEXTS.iter().find(|(text, _)| *text == name).unwrap();
    resolve(study, name, text)
}

#[test]
fn rebuilds_of_another_set_up_claim_nothing() {
    let small =
        "study = \"rebuild\"\npreset = \"paper\"\nservers = 8\nper_server = \"256MiB\"\nfail = \"server\"";
    let planted = [
        ("disk_read", Json::from("10MB/s")),
        ("per_server", Json::from("1TiB")),
        ("replicas", Json::from(2)),
        ("ec", Json::from("4+2")),
    ];
    check(&Rebuild, &named(&Rebuild, "rebuild-64"), &outcomes(&Rebuild, small, 3), &planted);
}

#[test]
fn puts_of_another_set_up_claim_nothing() {
    let small = "study = \"put\"\nprotocol = \"uch-ccp,replicast-m,replicast-h\"\nfidelity = \"surge\"\ngateways = 6\n\
         servers = 18\nchunk = \"16KiB\"\ndisk = \"400MiB/s\"\nduration = \"1ms\"";
    let planted = [
        ("gateways", Json::from(7)),
        ("in_flight", Json::from(2)),
        ("seed_of_nothing", Json::from(1)),
        ("warm_up", Json::from("1ms")),
    ];
    check(&Put, &named(&Put, "put-6x18"), &outcomes(&Put, small, 10), &planted);
}

#[test]
fn one_protocol_of_a_published_set_up_is_still_published() {
    let one = "study = \"put\"\nprotocol = \"uch-ccp\"\nfidelity = \"surge\"\ngateways = 6\nservers = 18\n\
               chunk = \"16KiB\"\ndisk = \"400MiB/s\"\nduration = \"1ms\"";
    let mut points = named(&Put, "put-6x18");
    points[0]["protocol"] = Json::from("uch-ccp");
    assert_eq!(claims(&Put, &points, &outcomes(&Put, one, 10)).len(), 3);
}

#[test]
fn places_of_another_set_up_claim_nothing() {
    let small = "study = \"place\"\nalgorithm = \"crush-straw\"\nservers = 8\ngroups = 64\nreplicas = 3\n\
                 change = \"remove\"";
    let planted = [("keys", Json::from(1_000)), ("heavy_weight", Json::from(3.0)), ("vnodes", Json::from(7))];
    check(&Place, &named(&Place, "rebuild-groups"), &outcomes(&Place, small, 40), &planted);
}

/// If a study names a published scenario whose text is not listed, it never makes a claim about it.
#[test]
fn every_published_scenario_is_listed() {
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers");
    let is_paper = |name: &str| std::path::Path::new(papers).join(format!("{name}.toml")).exists();
    let listed = |name: &str| TEXTS.iter().any(|(other, _)| *other == name);
    for study in crate::all() {
        for name in study.published().iter().filter(|name| is_paper(name)) {
            assert!(listed(name), "{name} of {}", study.name());
        }
    }
    assert!(!listed("rebuild-thesis"));
}
