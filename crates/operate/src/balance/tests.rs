//! The study on the cluster of the guides: its numbers by a definition of their own, measures by hand, and
//! what users get wrong. The laws of the answer are tested in the crate `ceph`, on a thousand clusters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use towtank_ceph::GroupStates;
use towtank_ceph::balance::{Cause, CauseKind, Room};
use towtank_kernel::Executor;
use towtank_placement::crush::pools::Placer;
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;

use super::observed::{AfterLoss, Command, Device, Fits, Safety, Staged};
use super::plan_time::PlanTime;
use super::*;
use crate::exports::samples::{self, EXAMPLE, Folder, example};
use crate::whatif::time_alone::Time;
use towtank_study::testing::by_hand;
use towtank_study::{PointResult, Prepared, StopAsked, Study};

mod changing;

fn prepared(folder: Folder, text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let text = format!("study = \"balance\"\n{text}");
    let document = Document::parse(&Source::file("balance.toml", text))?.with_files(Arc::new(folder));
    let outline = document.outline()?;
    Balance.check(outline.points()[0].draft())
}

fn usual(more: &str) -> Box<dyn Prepared> {
    prepared(example(), &format!("{EXAMPLE}{more}")).unwrap_or_else(|problems| panic!("{more}: {problems:?}"))
}

fn outcome(more: &str) -> Outcome {
    usual(more).run(&RunContext::alone(Seed(1), 0)).unwrap()
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    let found = &outcome.measures[measure];
    found.value().unwrap_or_else(|| panic!("{measure} is missing: {:?}", found.reason()))
}

fn ready(more: &str) -> Ready {
    let text = format!("study = \"balance\"\n{EXAMPLE}{more}");
    let document =
        Document::parse(&Source::file("balance.toml", text)).unwrap().with_files(Arc::new(example()));
    let outline = document.outline().unwrap();
    let draft = outline.points()[0].draft();
    Ready::check(draft.read::<Scenario>().unwrap(), draft).unwrap()
}

fn kept(more: &str) -> Kept {
    observed::seen(&ready(more), &RunContext::alone(Seed(1), 0)).unwrap().unwrap()
}

/// What fits now, by a loop over all groups and devices, with the reference placement.
#[test]
fn what_fits_is_that_of_the_definition() {
    let (ready, kept) = (ready(""), kept(""));
    let cluster = &ready.cluster;
    let placer = Placer::new(&cluster.map, &cluster.overlay);
    for (pool, result) in cluster.pools.iter().zip(&kept.pools) {
        let mut growth: BTreeMap<i32, f64> = BTreeMap::new();
        for seed in 0..pool.placed.pg_num {
            for id in placer.place(&pool.placed, seed).up.devices {
                // The numbers of groups are powers of two here, so all groups grow alike.
                *growth.entry(id).or_default() +=
                    1.0 / f64::from(pool.placed.pg_num) / f64::from(pool.data_shards);
            }
        }
        let rooms = growth.iter().map(|(id, growth)| {
            let using = cluster.fill[id];
            (0.95 * using.size_bytes as f64 - using.used_bytes as f64) / growth
        });
        let want = rooms.fold(f64::INFINITY, f64::min);
        let found = result.fits.now.bytes;
        assert!((want - found).abs() < 1e-9 * want, "{}: {found}, but {want} by definition", pool.name);
        assert!(result.fits.balanced >= found && result.fits.planned.bytes >= found);
    }
}

/// After the loss of a host as a preview of taking it out sees it.
#[test]
fn a_loss_is_that_of_a_preview() {
    let loss = kept("").whole.unwrap().after_loss.unwrap();
    let text = format!("study = \"preview\"\n{EXAMPLE}mark_out = \"host={}\"", loss.host);
    let document =
        Document::parse(&Source::file("preview.toml", text)).unwrap().with_files(Arc::new(example()));
    let outline = document.outline().unwrap();
    let prepared = crate::preview::Preview.check(outline.points()[0].draft()).unwrap();
    let seen = prepared.run(&RunContext::alone(Seed(1), 0)).unwrap();
    let (found, want) = (loss.fill.unwrap().0, value(&seen, "fill_max_after"));
    assert!((found - want).abs() < 1e-9, "{found}, but a preview says {want}");
    assert_eq!(loss.groups_short as f64, value(&seen, "groups_short"));
}

#[test]
fn neither_executors_nor_workers_change_anything() {
    let prepared = usual("max_moves = 5");
    let want = prepared.run(&RunContext::alone(Seed(1), 0)).unwrap();
    for (executor, workers, seed) in
        [(Executor::Conservative, 2, 1), (Executor::Optimistic, 8, 1), (Executor::Sequential, 1, 9)]
    {
        let context = RunContext { executor, workers, ..RunContext::alone(Seed(seed), 3) };
        assert_eq!(prepared.run(&context).unwrap(), want, "{executor:?} with {workers} workers, seed {seed}");
    }
}

#[test]
fn the_resolved_scenario_asks_the_same() {
    let prepared = usual("destination = [\"host=h1\", \"osd.3\"]\nrecovery_rate = \"50MB/s\"");
    let resolved: Scenario = serde_json::from_value(prepared.resolved()).unwrap();
    assert_eq!((resolved.max_moves, resolved.stages), (100, 4));
    assert_eq!(serde_json::to_value(&resolved).unwrap(), prepared.resolved());
}

#[test]
fn limits_of_the_plan_hold() {
    let few = kept("max_moves = 5\nstages = 2");
    let moves: Vec<u64> = few.stages.iter().map(|stage| stage.shards).collect();
    assert_eq!(moves, [2, 3], "stages differ by at most one move");
    let none = kept("max_moves = 0");
    assert!(none.stages.is_empty() && none.commands.is_empty());
    let to = kept("destination = [\"osd.8\"]");
    assert!(!to.commands.is_empty());
    assert!(to.commands.iter().all(|command| command.text.contains(" 8")), "{:?}", to.commands);
    // Half the rate, twice the time.
    let time = |rate: &str| value(&outcome(&format!("recovery_rate = \"{rate}\"")), "plan_time_at_least_s");
    assert!((time("50MB/s") - 2.0 * time("100MB/s")).abs() < 1e-6);
    assert!((time("190MB/s") - value(&outcome(""), "plan_time_at_least_s")).abs() < 1e-6);
}

#[test]
fn what_is_wrong_is_refused() {
    let error = |more: &str| match prepared(example(), &format!("{EXAMPLE}{more}")) {
        Err(problems) => format!("{problems:?}"),
        Ok(_) => panic!("{more}: nothing is wrong"),
    };
    assert!(error("destination = \"osd.77\"").contains("no device or bucket called `osd.77`"));
    assert!(error("destination = \"rack=h1\"").contains("write `host=h1`"));
    assert!(error("stages = 0").contains("stages"));
    assert!(error("recovery_rate = \"0B/s\"").contains("recovery_rate"));
}

/// What balance says of a report alone.
fn of_report(folder: Folder, name: &str) -> (Outcome, String) {
    let prepared = prepared(folder, &format!("report = \"{name}\"")).unwrap_or_else(|all| panic!("{all:?}"));
    let seen = prepared.run(&RunContext::alone(Seed(1), 0)).unwrap();
    let outcomes = [seen.clone()];
    let scenario = prepared.resolved();
    let presentation =
        Balance.present(&[PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes }]);
    (seen, presentation.answer.prose())
}

/// A report without the sizes of devices: nothing of it is taken as 0.
#[test]
fn what_a_report_lacks_is_not_known() {
    let mut folder = samples::live(&["report.json.gz"]);
    let text = crate::exports::samples::unpacked(&folder, "report.json.gz");
    folder.0.insert("report.json".to_owned(), text.replace("bluestore_bdev_size", "unknown").into_bytes());
    let (seen, answer) = of_report(folder, "report.json");
    for measure in ["max_device_fill", "usable_bytes", "added_by_rule"] {
        assert_eq!(seen.measures[measure].value(), None, "{measure}");
    }
    assert_eq!(seen.measures["groups_lost_now"].value(), Some(0.0), "it has the states of groups");
    assert!(answer.starts_with("Unknown: the sizes and the fill of the devices are not known"), "{answer}");
}

/// With the sizes, the fill is estimated: 3,075,268 of 8,388,608 KiB on the fullest device, says `osd df`.
#[test]
fn a_report_gives_an_estimate_of_the_fill() {
    let (seen, _) = of_report(samples::live(&["report.json.gz"]), "report.json.gz");
    let fill = value(&seen, "max_device_fill");
    assert!((fill - 3_075_268.0 / 8_388_608.0).abs() < 0.002, "{fill}");
    assert!(value(&seen, "usable_bytes") > 0.0);
    let warned =
        seen.warnings.iter().any(|warning| warning.text.contains("it is estimated from their sizes"));
    assert!(warned, "{:?}", seen.warnings);
}

#[test]
fn a_stopped_run_says_so() {
    let stop = AtomicBool::new(true);
    let context = RunContext { stop: StopAsked::by(&stop), ..RunContext::alone(Seed(1), 0) };
    let outcome = usual("").run(&context).unwrap();
    assert!(outcome.partial && outcome.measures["max_device_fill"].value().is_none());
}

fn by_hand_seen() -> Seen {
    let device = |now: f64, ideal: f64, after: f64, shards_now: u64, shards_after: u64| Device {
        shards: (70, 60.0, shards_after),
        bytes: (500, 400.0, 450),
        shards_now,
        fill_now: Some(now),
        fill: Some((now, ideal, after)),
        reported: true,
        ..Device::default()
    };
    let kinds = [
        CauseKind::EvenFill,
        CauseKind::Overheads,
        CauseKind::Rule,
        CauseKind::CrushWeights,
        CauseKind::Reweights,
        CauseKind::Draws,
        CauseKind::TooFewGroups,
        CauseKind::SizesBetweenPools,
        CauseKind::SizesWithinPools,
        CauseKind::Upmaps,
        CauseKind::UnderWay,
        CauseKind::NotExplained,
    ];
    let cause = |(at, kind): (u32, CauseKind)| Cause {
        kind,
        added: Some(f64::from(at) / 100.0),
        fill: 0.5,
        device: None,
    };
    let room = |bytes| Room { bytes, device: None };
    let after_loss = AfterLoss { host: String::new(), room: room(1_100.0), fill: None, groups_short: 0 };
    let whole =
        Fits { now: room(2_000.0), balanced: 5_000.0, planned: room(2_500.0), after_loss: Some(after_loss) };
    let stage = |shards, bytes, time_s| Staged {
        shards,
        bytes,
        time_s,
        slowest: String::new(),
        fill: None,
        fits: (0.0, 0.0),
    };
    let safety = Safety {
        states: GroupStates {
            stated: 1,
            inactive: 31,
            lost: 32,
            incomplete: 97,
            unknown: 33,
            ..GroupStates::default()
        },
        short: 34,
        pending_bytes: 35,
        upmaps: (36, 37, 38),
        ..Safety::default()
    };
    Seen {
        kept: Kept {
            devices: vec![device(0.61, 0.52, 0.57, 77, 74), device(0.5, 0.55, 0.4, 60, 79)],
            causes: (1..).zip(kinds).map(cause).collect(),
            whole: Some(whole),
            stages: vec![stage(3, 300, 4.0), stage(2, 200, 6.5)],
            moved_groups: 4,
            safety,
            time: PlanTime::Known(Time { clean_s: 11.5, range_s: [9.5, 14.5] }),
            ..Kept::default()
        },
    }
}

#[test]
fn each_measure_has_its_own_value() {
    let expected = [
        ("max_device_fill", 0.61),
        ("fill_max_ideal", 0.55),
        ("fill_max_after", 0.57),
        ("fill_even", 0.01),
        ("added_by_overheads", 0.02),
        ("added_by_rule", 0.03),
        ("added_by_crush_weights", 0.04),
        ("added_by_reweights", 0.05),
        ("added_by_draws", 0.06),
        ("added_by_too_few_groups", 0.07),
        ("added_by_sizes_between_pools", 0.08),
        ("added_by_sizes_within_pools", 0.09),
        ("added_by_upmaps", 0.10),
        ("added_by_moves_under_way", 0.11),
        ("not_explained", 0.12),
        ("usable_bytes", 2_000.0),
        ("usable_bytes_balanced", 5_000.0),
        ("usable_bytes_after_plan", 2_500.0),
        ("usable_bytes_after_loss", 1_100.0),
        ("usable_bytes_lost", 3_000.0),
        ("moved_bytes", 500.0),
        ("moved_shards", 5.0),
        ("moved_groups", 4.0),
        ("plan_time_at_least_s", 10.5),
        ("plan_time_s", 11.5),
        ("plan_time_low_s", 9.5),
        ("plan_time_high_s", 14.5),
        ("upmaps", 36.0),
        ("upmaps_dropped", 37.0),
        ("upmaps_to_fuller", 38.0),
        ("stored_bytes", 1_000.0),
        ("pending_bytes", 35.0),
        ("device_groups_max_before", 77.0),
        ("device_groups_max_after", 79.0),
        ("groups_short_now", 34.0),
        ("groups_inactive_now", 31.0),
        ("groups_lost_now", 32.0),
        ("groups_incomplete_now", 97.0),
        ("groups_unknown_now", 33.0),
    ];
    by_hand::hold(measures::measures, &by_hand_seen(), &expected);
}

#[test]
fn a_plan_of_a_cluster_that_whatif_refuses_has_no_time_but_a_reason() {
    let time = |outcome: &Outcome| {
        let time = &outcome.measures["plan_time_s"];
        time.value().ok_or_else(|| time.reason().unwrap_or_default().to_owned())
    };
    let known = time(&outcome("")).unwrap();
    assert!(known > 60.0, "{known}");
    assert_eq!(time(&outcome("max_moves = 0\n")), Ok(0.0));
    let Folder(mut files) = example();
    let dump = String::from_utf8(files["osd_dump.json"].clone()).unwrap();
    let other = dump.replace(r#""plugin": "jerasure""#, r#""plugin": "lrc""#);
    assert_ne!(other, dump);
    files.insert("osd_dump.json".to_owned(), other.into_bytes());
    let refused = prepared(Folder(files), EXAMPLE).unwrap().run(&RunContext::alone(Seed(1), 0)).unwrap();
    let reason = time(&refused).unwrap_err();
    assert!(reason.contains("has the code `lrc`"), "{reason}");
}
