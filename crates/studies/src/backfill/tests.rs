//! The study against closed forms, its own invariants, and deliberately wrong rules.

use towtank_report::{Outcome, Step, Verdict};
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;

use super::scenario::{Settled, methods};
use super::*;
use towtank_study::{PointResult, Prepared, Study};

fn check(text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let source = Source::file("backfill.toml", format!("study = \"backfill\"\n{text}"));
    let outline = Document::parse(&source)?.outline()?;
    Backfill.check(outline.points()[0].draft())
}

fn outcome(text: &str, seed: u64) -> Outcome {
    let prepared = check(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    prepared.run(&RunContext::alone(Seed(seed), 0)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    let found = outcome.measures.get(measure).unwrap_or_else(|| panic!("no {measure}"));
    found.value().unwrap_or_else(|| panic!("{measure} is missing: {:?}", found.reason()))
}

/// 5.2 ms per object looked at and 0.135 s per object recovered, with a sleep after each batch: the total is
/// their sum, plus only messages.
#[test]
fn a_scan_takes_what_its_steps_take() {
    for (objects, stale, percent) in [(10_000, 100, 1), (20_000, 2_000, 10)] {
        let text = format!("discovery = \"scan\"\nobjects_per_group = {objects}\nstale = \"{percent}%\"");
        let outcome = outcome(&text, 1);
        let batches = f64::from(objects).div_euclid(512.0) + 1.0;
        let expected = 0.0052 * f64::from(objects) + 0.135 * f64::from(stale) + 0.1 * batches;
        let time = value(&outcome, "backfill_s");
        assert!((time / expected - 1.0).abs() < 0.01, "{time} s, {expected} s expected");
        assert_eq!(value(&outcome, "objects_recovered"), f64::from(stale));
        assert_eq!(value(&outcome, "objects_looked_at"), f64::from(objects));
    }
}

/// Trees look at the stale objects and at the others in the same ranges: as many as independent draws give.
#[test]
fn trees_look_at_what_shares_a_range_with_something_stale() {
    let text = "discovery = \"merkle\"\nobjects_per_group = 50000\nstale = \"1%\"\nranges = 16384";
    let mean = (0..4).map(|seed| value(&outcome(text, seed), "objects_looked_at")).sum::<f64>() / 4.0;
    let expected = towtank_merkle::sizing::objects_to_look_at(50_000.0, 16_384.0, 500.0);
    // The count of one draw has a standard deviation of about 40.
    assert!((mean - expected).abs() < 4.0 * 40.0 / 2.0, "{mean}, {expected} expected");
}

/// Every discovery copies and removes the same objects; more precise ones look at fewer.
#[test]
fn discoveries_agree_on_what_is_stale() {
    let text = "discovery = \"scan,bitmap,merkle,merkle-levels,sketch\"\nobjects_per_group = 3000\nstale = \"4%\"\n\
                created = \"25%\"\ndeleted = \"25%\"\nranges = 1024\ndown = 2\ngroups = 3\ndevices = 4";
    let outcome = outcome(text, 3);
    let of = |method: &str, measure: &str| value(&outcome, &format!("{method}_{measure}"));
    for method in ["scan", "bitmap", "merkle", "merkle_levels", "sketch"] {
        let changed = of(method, "objects_recovered") + of(method, "objects_removed");
        assert_eq!(changed, of(method, "objects_stale"), "{method}");
        assert!(of(method, "objects_removed") > 0.0, "{method}");
        assert!(of(method, "objects_looked_at") <= of("scan", "objects_looked_at"), "{method}");
        assert!(of(method, "backfill_s") <= of("scan", "backfill_s"), "{method}");
    }
    assert!(of("sketch", "objects_looked_at") < of("merkle", "objects_looked_at"));
    assert_eq!(of("merkle", "objects_looked_at"), of("merkle_levels", "objects_looked_at"));
    assert_eq!(of("scan", "share_of_scan"), 1.0);
}

/// In a pool of 4+2 each discovery recovers the same shards, and each shard that is written takes four that
/// are read. Looking costs the same as with copies, since versions are the same at all positions.
#[test]
fn coded_pools_read_as_many_shards_as_make_an_object() {
    let text = "discovery = \"scan,bitmap,merkle,merkle-levels,sketch\"\nobjects_per_group = 2000\nstale = \"4%\"\n\
                deleted = \"25%\"\nranges = 1024\nobject_size = \"1MiB\"";
    let (copies, coded) = (outcome(text, 3), outcome(&format!("{text}\nec = \"4+2\""), 3));
    for method in ["scan", "bitmap", "merkle", "merkle_levels", "sketch"] {
        let of = |outcome: &Outcome, measure: &str| value(outcome, &format!("{method}_{measure}"));
        for measure in ["objects_stale", "objects_recovered", "objects_removed", "objects_looked_at"] {
            assert_eq!(of(&coded, measure), of(&copies, measure), "{method}: {measure}");
        }
        let shard = f64::from(1 << 18);
        assert_eq!(of(&coded, "recovery_read_bytes"), 4.0 * shard * of(&coded, "objects_recovered"));
        assert!(!copies.measures.contains_key(&format!("{method}_recovery_read_bytes")));
    }
}

/// The rows of the thesis with 5,000 objects: only recovery takes time.
#[test]
fn cached_objects_are_looked_at_for_free() {
    let time = |cached: u32| {
        let text = format!(
            "discovery = \"scan\"\nobjects_per_group = 5000\nstale = \"10%\"\ncached_objects = {cached}"
        );
        value(&outcome(&text, 1), "backfill_s")
    };
    assert!((time(5_000) / 68.5 - 1.0).abs() < 0.01, "{}", time(5_000));
    assert!((time(4_999) / 94.5 - 1.0).abs() < 0.01, "{}", time(4_999));
}

#[test]
fn what_cannot_be_is_refused() {
    let refusal = |text: &str| match check(text) {
        Ok(_) => panic!("{text} was taken"),
        Err(problems) => {
            let lines = problems.iter().map(|problem| {
                format!("{}\n  hint: {}", problem.message(), problem.next_step().unwrap_or("none"))
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    };
    let all = [
        refusal("ranges = 1000"),
        refusal("discovery = \"scan,merkel\""),
        refusal("discovery = \"scan,scan\""),
        refusal("down = 3"),
        refusal("devices = 2"),
        refusal("outage = \"1h\""),
        refusal("stale = \"1%\"\noutage = \"1h\"\nwrites_per_second = \"10/s\""),
        refusal("stale = \"120%\""),
        refusal("created = \"60%\"\ndeleted = \"60%\""),
        refusal("object_size = \"2GiB\""),
        refusal("stale = \"1%\"\nstale_objects = 10"),
        refusal("stale_objects = 60000"),
        refusal("outage = \"100h\"\nwrites_per_second = \"1000/s\""),
        refusal("client_writes = \"40/s\"\nobject_size = \"10MiB\""),
        // The primary of one group sends five shards of 5 MB per write.
        refusal("client_writes = \"8/s\"\nobject_size = \"20MB\"\nec = \"4+2\"\ndevices = 8\ngroups = 1"),
        refusal("ec = \"4+2\"\nreplicas = 3"),
        refusal("ec = \"4\""),
        refusal("ec = \"1+2\""),
        refusal("ec = \"4+2\"\ndown = 2"),
        refusal("ec = \"4+2\"\ndevices = 5"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    `ranges` is 1000, but a tree has a power of two of leaves
      hint: use 1024 or 512
    `discovery` names `merkel`, which is not a method
      hint: did you mean `merkle`?
    `discovery` names `scan` twice
      hint: name it once
    `down` is 3, but at least one of 3 replicas must have stayed up to know what changed
      hint: set at most 2
    `replicas` is 3, but there are only 2 devices
      hint: set more `devices`, or fewer `replicas`
    `outage` has an effect only together with `writes_per_second`
      hint: set `writes_per_second` too, or `stale` in place of both
    `stale` and `outage` both set how many objects changed
      hint: leave one of them out
    `stale` is 120%, more than 100%
      hint: set it to at most 100%
    `created` (60%) and `deleted` (60%) add up to more than 100%
      hint: the rest of the changes modifies objects in place
    `object_size` is 2GiB, but it must lie from 1B to 1GiB
      hint: the thesis has 1KiB
    `stale_objects` and `stale` both set how many objects changed
      hint: leave one of them out
    `stale_objects` is 60000, but a group has 50000 objects
      hint: lower it, or raise `objects_per_group`
    `outage` and `writes_per_second` make 360000000 writes, and each is done before the run
      hint: the limit is 50000000; set `stale` in place of them
    `client_writes` is 40/s, which alone keeps a disk or a NIC busy for 671 % of the time
      hint: set at most 4.172/s, which leaves 30 % to a backfill; or set more `devices`, or faster disks and NICs
    `client_writes` is 8/s, which alone keeps a disk or a NIC busy for 160 % of the time
      hint: set at most 3.500/s, which leaves 30 % to a backfill; or set more `devices`, or faster disks and NICs
    `replicas` and `ec` both set the redundancy
      hint: leave one of them out
    `ec` is `4`, which is not an erasure code
      hint: write data and parity shards, such as "4+2": at least 2 data shards, at most 64 together
    `ec` is `1+2`, which is not an erasure code
      hint: write data and parity shards, such as "4+2": at least 2 data shards, at most 64 together
    `down` is 2, but a group of 6 shards needs 5 of them to accept writes
      hint: set at most 1
    an object has 6 shards, but there are only 5 devices
      hint: set more `devices`, or fewer shards
    "#);
}

#[test]
fn names_of_discoveries_are_read_back() {
    let all: Vec<&str> =
        towtank_backfill::Discovery::ALL.into_iter().map(towtank_backfill::Discovery::name).collect();
    let read = methods(&all.join(" , ")).expect("all are known");
    assert_eq!(read, towtank_backfill::Discovery::ALL);
    assert_eq!(methods("merkle_levels").map(|found| found.len()), Ok(1));
}

fn claims(text: &str, replicates: u64) -> Vec<towtank_report::Claim> {
    let prepared = check(text).expect("it is sound");
    let outcomes: Vec<Outcome> = (0..replicates)
        .map(|seed| prepared.run(&RunContext::alone(Seed(seed), 0)).expect("it runs"))
        .collect();
    let point = PointResult { settings: &[], scenario: &prepared.resolved(), outcomes: &outcomes };
    Backfill.present(&[point]).claims
}

/// A former fault: where trees alone were asked for, their time was judged as that of the published scan.
#[test]
fn a_claim_about_scans_needs_a_scan() {
    let of = |discovery: &str| claims(&PUBLISHED.replace("scan,merkle", discovery), 1);
    let has = |claims: &[towtank_report::Claim]| claims.iter().any(|claim| claim.name.starts_with("table_2"));
    assert!(has(&of("scan")) && has(&of("scan,merkle")));
    assert!(!has(&of("merkle")));
}

/// What is wrong with the course of a backfill, by its measures.
fn disorder(course: &[Step], outcome: &Outcome) -> Option<String> {
    let at = |step: &Step| step.at_s.get().expect("each step has a time");
    let (first, last) = (course.first()?, course.last()?);
    let find = |words: &str| course.iter().find(|step| step.what.contains(words)).map(at);
    let taken = find("backfill ends").zip(find("backfill begins")).map(|(end, begin)| end - begin);
    let wrong = [
        (at(first) != 0.0, "it does not begin with the return"),
        (!course.is_sorted_by(|one, next| at(one) <= at(next)), "its steps are not in order"),
        (at(last) != value(outcome, "clean_s"), "it does not end when all is clean"),
        (
            taken.is_none_or(|taken| (taken - value(outcome, "backfill_s")).abs() > 1.0),
            "the backfill takes another time",
        ),
    ];
    wrong.into_iter().find_map(|(wrong, what)| wrong.then(|| what.to_owned()))
}

#[test]
fn the_course_has_the_times_of_the_measures() {
    for text in [
        "discovery = \"merkle\"\nobjects_per_group = 5000",
        "discovery = \"scan\"\nobjects_per_group = 3000\ndown = 2\ngroups = 3\ndevices = 4",
    ] {
        let (prepared, outcome) = (check(text).expect("it is sound"), outcome(text, 2));
        let outcomes = [outcome.clone()];
        let point = PointResult { settings: &[], scenario: &prepared.resolved(), outcomes: &outcomes };
        let course = Backfill.present(&[point]).answer.course;
        assert!(course.len() >= 3, "{course:?}");
        assert_eq!(disorder(&course, &outcome), None, "{course:?}");
        // Planted: steps in another order, and one that is late.
        let mut turned = course.clone();
        turned.swap(1, 2);
        assert!(disorder(&turned, &outcome).is_some());
        let mut late = course.clone();
        late.last_mut().expect("it has steps").at_s = towtank_report::Num::from(1e6);
        assert!(disorder(&late, &outcome).is_some());
    }
    // Several discoveries have several courses, of which none is shown.
    let text = "objects_per_group = 2000";
    let (prepared, outcomes) = (check(text).expect("it is sound"), [outcome(text, 2)]);
    let point = PointResult { settings: &[], scenario: &prepared.resolved(), outcomes: &outcomes };
    assert!(Backfill.present(&[point]).answer.course.is_empty());
}

const PUBLISHED: &str =
    "discovery = \"scan,merkle\"\nobjects_per_group = 50000\nstale = \"1%\"\nranges = 16384";

/// The published set-up is judged. With a wrong rule (trees of a single range skip nothing) its claim misses,
/// and a set-up that is not in the thesis is not judged.
#[test]
fn claims_can_miss_and_are_of_the_published_set_up_alone() {
    let verdict = |claims: &[towtank_report::Claim], name: &str| {
        claims.iter().find(|claim| claim.name == name).map(|claim| claim.verdict)
    };
    let published = claims(PUBLISHED, 3);
    assert_eq!(verdict(&published, "figure_19_quarter"), Some(Verdict::Holds), "{published:#?}");
    assert_eq!(verdict(&published, "table_2_50k_1pct"), Some(Verdict::Fitted));
    assert!(claims(&PUBLISHED.replace("16384", "2048"), 1).is_empty());
    assert!(claims(&format!("{PUBLISHED}\nlook_cost = \"3ms\""), 1).is_empty());
    // The same numbers with trees that skip nothing.
    let mut prepared: Vec<Outcome> = Vec::new();
    let ready = check(PUBLISHED).expect("it is sound");
    for seed in 0..3 {
        let mut outcome = ready.run(&RunContext::alone(Seed(seed), 0)).expect("it runs");
        let scan = outcome.measures["scan_backfill_s"].clone();
        outcome.measures.insert("merkle_backfill_s".to_owned(), scan);
        outcome.measure("merkle_share_of_scan", 1.0 + 0.001 * seed as f64, "ratio");
        prepared.push(outcome);
    }
    let point = PointResult { settings: &[], scenario: &ready.resolved(), outcomes: &prepared };
    let broken = Backfill.present(&[point]).claims;
    assert_eq!(verdict(&broken, "figure_19_quarter"), Some(Verdict::Misses));
}

/// Times that grow with the group satisfy the claims of figure 17; a scan that costs nothing makes them miss.
#[test]
fn claims_of_a_thousand_objects_can_miss() {
    let ready = |objects: u32| {
        let text = format!(
            "discovery = \"scan,merkle\"\nobjects_per_group = {objects}\nstale_objects = 1000\nranges = 1024"
        );
        check(&text).expect("it is sound")
    };
    let judged = |scan_is_free: bool| {
        let sizes = [5_000, 10_000, 20_000, 100_000].map(ready);
        let outcomes: Vec<Vec<Outcome>> = sizes
            .iter()
            .map(|ready| {
                let run = |seed| {
                    let mut outcome = ready.run(&RunContext::alone(Seed(seed), 0)).expect("it runs");
                    if scan_is_free {
                        outcome.measure("scan_backfill_s", 135.0 - 0.1 * seed as f64, "s");
                    }
                    outcome
                };
                (0..3).map(run).collect()
            })
            .collect();
        let resolved: Vec<_> = sizes.iter().map(|ready| ready.resolved()).collect();
        let points: Vec<PointResult<'_>> = resolved
            .iter()
            .zip(&outcomes)
            .map(|(scenario, outcomes)| PointResult { settings: &[], scenario, outcomes })
            .collect();
        Backfill.present(&points).claims
    };
    let verdict = |claims: &[towtank_report::Claim], name: &str| {
        claims.iter().find(|claim| claim.name == name).map(|claim| claim.verdict)
    };
    let sound = judged(false);
    for name in ["figure_17_checking", "figure_17_grows"] {
        assert_eq!(verdict(&sound, name), Some(Verdict::Holds), "{sound:#?}");
    }
    let broken = judged(true);
    assert_eq!(verdict(&broken, "figure_17_checking"), Some(Verdict::Misses), "{broken:#?}");
}

#[test]
fn a_resolved_scenario_reads_back_to_itself() {
    for text in [
        "",
        "outage = \"1h\"\nwrites_per_second = \"10/s\"\ngroups = 4",
        "stale_objects = 17",
        "preset = \"ceph16-loopback\"\ndiscovery = \"sketch\"",
        "ec = \"4+2\"",
    ] {
        let resolved = check(text).expect("it is sound").resolved();
        let settled: Settled = serde_json::from_value(resolved.clone()).expect("it reads back");
        let again = toml::to_string(&settled).expect("it goes into text");
        assert_eq!(check(&again).expect("it is sound").resolved(), resolved, "{text}");
    }
}

#[test]
fn a_plan_is_worked_out() {
    let given: Vec<(&'static str, String)> = plan::PLAN
        .flags
        .iter()
        .filter(|flag| !flag.default.is_empty())
        .map(|flag| (flag.name, flag.default.to_owned()))
        .collect();
    let answer = (plan::PLAN.answer)(&towtank_study::Given(&given)).expect("its defaults are possible");
    assert_eq!(answer.data["leaves"], 16_384);
    assert!((answer.data["ranges_filled"].as_f64().expect("a number") - 23_500.0).abs() < 50.0);
    let figures: Vec<&str> = answer.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(figures, ["outages", "memory", "occupancy", "objects_per_range"]);
    assert!(answer.data["discovery"]["merkle_levels"]["bytes"].as_f64().expect("a number") > 0.0);
    insta::assert_snapshot!(answer.text, @r#"
    Use 16384 leaves per group: 250,000 objects fill 23,493 ranges. Trees take 260.1 KiB per group and 32.51 MiB per device.
    After the outage, 26,601 of 250,000 objects of a group are stale (10.6 %), from 28,125 writes; they lie in 13,153 of the ranges.

    Cost of finding them, for one group:
      scan           250,000 objects compared  11.44 MiB sent  21.67 min
      bitmap         205,950 objects compared   9.43 MiB sent  17.85 min
      merkle         205,950 objects compared  9.553 MiB sent  17.85 min
      merkle-levels  205,950 objects compared  9.595 MiB sent  17.85 min
      sketch          26,601 objects compared   1.22 MiB sent  2.306 min
      rebuilt        250,000 objects compared  7.153 MiB sent  21.67 min

    Not included: queues at disks and NICs, copies of stale objects, and recovery sleeps. `towtank backfill` simulates them.
    "#);
    let wrong = |flag: &'static str, value: &str| {
        let mut given = given.clone();
        given.retain(|(name, _)| *name != flag);
        given.push((flag, value.to_owned()));
        let problems = (plan::PLAN.answer)(&towtank_study::Given(&given)).expect_err("it is impossible");
        problems.iter().map(|problem| problem.message().to_owned()).collect::<Vec<_>>().join("; ")
    };
    let coded = |more: &[(&'static str, &str)]| {
        let mut given = given.clone();
        given.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        (plan::PLAN.answer)(&towtank_study::Given(&given))
    };
    let six = coded(&[("ec", "4+2"), ("devices", "12")]).expect("a code is possible");
    assert_eq!(six.data["replicas"], 6);
    let per_device =
        |answer: &towtank_study::Output| answer.data["groups_per_device"].as_f64().expect("a number");
    assert!((per_device(&six) - 128.0 * 6.0 / 12.0).abs() < 1e-9, "{}", per_device(&six));
    for wrong in [&[("ec", "4+2"), ("replicas", "3")][..], &[("ec", "4+2"), ("devices", "5")], &[("ec", "4")]]
    {
        assert!(coded(wrong).is_err(), "{wrong:?}");
    }
    let all = [
        wrong("groups", "0"),
        wrong("groups", "many"),
        wrong("ranges", "1000"),
        wrong("outage", "1"),
        wrong("devices", "2"),
        wrong("writes-per-second", "-3"),
        wrong("look-cost", "soon"),
    ];
    assert_eq!(
        all,
        [
            "--groups is 0",
            "--groups is `many`, which is not valid",
            "--ranges is 1000, but a tree has a power of two of leaves, at most 2^24",
            "--outage is `1`, which is not valid",
            "--devices is 2, but 3 copies need as many devices",
            "--writes-per-second is -3",
            "--look-cost is `soon`, which is not valid",
        ]
    );
}

/// A former bug: where nothing changed in the outage, the time of a backfill was reported as not known.
#[test]
fn an_outage_without_changes_needs_no_backfill() {
    let answer = |text: &str| {
        let prepared = check(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        let outcomes = [outcome(text, 1)];
        let point = PointResult { settings: &[], scenario: &prepared.resolved(), outcomes: &outcomes };
        Backfill.present(&[point]).answer.prose()
    };
    assert_eq!(
        answer("stale = \"0%\""),
        "Safe: all groups become clean in every replicate. No backfill is needed: the log covers the outage, and no object changed in it."
    );
}
