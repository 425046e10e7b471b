//! Where the method must hold and where it must not, admission, and one digest.

use std::sync::atomic::AtomicBool;

use towtank_kernel::Executor;
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;

use super::*;
use towtank_study::{PointResult, Prepared, StopAsked, Study};

fn check(text: &str) -> Result<Box<dyn Prepared>, Problems> {
    let text = format!("study = \"capacity-sim\"\n{text}");
    let outline = Document::parse(&Source::file("capacity.toml", &text))?.outline()?;
    CapacitySim.check(outline.points()[0].draft())
}

fn run_as(text: &str, executor: Executor, workers: u32) -> Outcome {
    let prepared = check(text).unwrap_or_else(|problems| panic!("{:?}", problems.iter().collect::<Vec<_>>()));
    let context = RunContext { executor, workers, ..RunContext::alone(Seed(1), 0) };
    prepared.run(&context).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn run(text: &str) -> Outcome {
    run_as(text, Executor::Sequential, 1)
}

fn value(outcome: &Outcome, measure: &str) -> f64 {
    outcome.measures[measure].value().unwrap_or_else(|| panic!("{measure} is missing"))
}

/// One disk and no copies: a closed loop keeps the disk busy, so rates are those of the disk, and the costs
/// of a mix add up exactly.
#[test]
fn one_disk_does_what_its_times_say() {
    let outcome = run("servers = 1\nreplicas = 1\nread_overhead = \"10us\"\nwrite_overhead = \"110us\"");
    let bytes_us = 65_536.0 / (400.0 * 1_048_576.0) * 1e6;
    for (measure, overhead) in [("reads_per_second", 10.0), ("writes_per_second", 110.0)] {
        let exact = 1e6 / (bytes_us + overhead);
        assert!((value(&outcome, measure) / exact - 1.0).abs() < 0.002, "{measure}");
    }
    assert!(value(&outcome, "error_worst") < 0.02, "{}", value(&outcome, "error_worst"));
}

#[test]
fn disks_alone_keep_the_constant_and_caches_break_it() {
    let plain = value(&run(""), "error_worst");
    let cached = run("cache_hits = \"95%\"\nlink = \"100Gbit/s\"");
    assert!(plain < 0.05, "{plain}");
    assert!(value(&cached, "error_worst") < 0.08, "hits that cost nothing are only fast reads");
    // Hits load the NICs and writes load the disks, so they hardly compete: a mix exceeds the prediction from
    // the pure mixes.
    let both = run("cache_hits = \"100%\"\ndepth = 64\nlink = \"2Gbit/s\"");
    assert!(value(&both, "error_50") < -0.15, "{}", value(&both, "error_50"));
}

/// The paper explains a small `f_rw` by writes that are acknowledged before all copies are written. That is
/// so where operations wait for latency. Where disks are busy all the time, each write is work for three of
/// them, whenever it is acknowledged.
#[test]
fn early_acknowledgements_make_writes_cheaper_only_where_disks_are_idle() {
    let f_rw = |keys: &str| value(&run(keys), "f_rw");
    let acks = ["\"all\"", "\"majority\"", "1"];
    let idle = acks.map(|ack| {
        let keys =
            "servers = 100\ndepth = 1\ntrip = \"200us\"\nwrite_overhead = \"500us\"\nduration = \"400ms\"";
        f_rw(&format!("{keys}\nack = {ack}"))
    });
    assert!(idle[0] > 1.02 * idle[1] && idle[1] > 1.02 * idle[2], "{idle:?}");
    let busy = acks.map(|ack| f_rw(&format!("depth = 64\nlink = \"100Gbit/s\"\nack = {ack}")));
    for f_rw in busy {
        assert!((f_rw / 3.0 - 1.0).abs() < 0.05, "{busy:?}");
    }
}

#[test]
fn a_budget_keeps_the_target_where_a_limit_does_not() {
    let outcome = run("");
    let (budget, fixed) = (value(&outcome, "budget_deviation"), value(&outcome, "fixed_deviation"));
    assert!(budget < 0.05 && fixed > 2.0 * budget, "{budget} and {fixed}");
    assert!((value(&outcome, "budget_utilisation") - 0.7).abs() < 0.05);
}

/// The executors must agree on a mix of sizes too.
#[test]
fn executor_and_worker_count_never_show_in_a_mix_of_sizes() {
    let small = "servers = 9\nduration = \"3ms\"\nwarm_up = \"1ms\"\ncache_hits = \"30%\"\nmix = \"4KiB:60%:r100,1MiB:40%:r30\"";
    let want = run(small);
    assert!(want.measures["mix_by_capacity_error"].value().is_some());
    for executor in [Executor::Conservative, Executor::Optimistic] {
        assert_eq!(run_as(small, executor, 3), want, "{executor}");
    }
    assert_eq!(run_as(small, Executor::Check, 1), want, "rollback check");
}

#[test]
fn a_mix_of_sizes_has_its_own_tables_and_figure() {
    let text = "duration = \"20ms\"\nmix = \"16KiB:90%:r100,1MiB:10%:r50\"";
    let prepared = check(text).unwrap_or_else(|_| panic!("it is legal"));
    let outcome = run(text);
    let resolved = prepared.resolved();
    let points = [PointResult { settings: &[], scenario: &resolved, outcomes: &[outcome] }];
    let shown = CapacitySim.present(&points);
    let ids: Vec<&str> = shown.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["mixes", "constant", "control"]);
    let tables: Vec<(&str, usize)> =
        shown.tables.iter().map(|table| (table.id(), table.rows().len())).collect();
    assert_eq!(tables, [("mixes", 3), ("mix_shares", 6), ("capacity", 1)]);
    assert_eq!(shown.headline.as_deref(), Some("mix_by_operations_error"));
    assert!(shown.answer.prose().contains("for shares of operations in flight"), "{}", shown.answer.prose());
}

#[test]
fn put_protocols_are_systems_too() {
    let outcome = run("system = \"replicast-m\"\nsize = \"128KiB\"\ndepth = 2\nduration = \"50ms\"");
    assert!(value(&outcome, "f_rw") > 1.5, "{}", value(&outcome, "f_rw"));
    assert!(value(&outcome, "error_worst") < 0.15, "{}", value(&outcome, "error_worst"));
    assert!(outcome.measures["budget_deviation"].value().is_none());
}

#[test]
fn executor_and_worker_count_never_show() {
    let keys = "servers = 9\nduration = \"5ms\"\nwarm_up = \"2ms\"\ncache_hits = \"30%\"\ncontrol = { phase = \"4ms\", window = \"1ms\" }";
    for ack in ["\"all\"", "\"majority\"", "1"] {
        let small = &format!("ack = {ack}\n{keys}");
        let want = run(small);
        for executor in [Executor::Conservative, Executor::Optimistic] {
            for workers in [1, 2, 3] {
                assert_eq!(run_as(small, executor, workers), want, "{executor}, {workers} workers, {ack}");
            }
        }
        assert_eq!(run_as(small, Executor::Check, 1), want, "rollback check, {ack}");
    }
}

#[test]
fn every_refusal_says_what_to_do() {
    let cases = [
        ("system = \"diskz\"", "there is no system called `diskz`", "disks"),
        ("servers = 2", "`servers` is 2, but 3 are needed", "replicas"),
        ("ack = 4", "`ack` is 4, but a write has 3 copies", "majority"),
        ("ack = 0", "`ack` is 0", "majority"),
        ("system = \"uch-ccp\"\nack = 1\nservers = 9", "`ack` is only for", "disks"),
        ("system = \"uch-ccp\"\ncache_hits = \"10%\"", "`cache_hits` is only for", "disks"),
        ("cache_hits = \"110%\"", "`cache_hits` is 110%", "100%"),
        ("control = { target = \"0%\" }", "`control.target` is 0%", "70%"),
        ("control = { reads = [] }", "`control.reads`", ""),
        ("trip = \"0s\"", "`trip` is 0s", "above zero"),
        ("mix = \"16KiB:90%:r100\"", "the shares add up to 90%", "100%"),
        ("mix = \"16KiB\"", "`16KiB` is not a part of a mix", "SIZE:SHARE%"),
        ("mix = \"128MiB:100%:r0\"", "`mix` has operations of 128MiB", "64MiB"),
        ("mix = \"4KiB:50%:r0,4kB:50%:r0\"", "look like one size in two units", "same unit"),
        ("depth = 1\nmix = \"4KiB:99%:r0,1MiB:1%:r0\"", "is less than one", "`depth`"),
        ("system = \"uch-ccp\"\nmix = \"4KiB:100%:r0\"", "`mix` is only for", "disks"),
    ];
    for (text, message, hint) in cases {
        let Err(problems) = check(text) else { panic!("{text} was accepted") };
        let problem = problems.iter().next().unwrap();
        assert!(problem.message().contains(message), "{text}: {}", problem.message());
        assert!(problem.next_step().unwrap_or_default().contains(hint), "{text}: {:?}", problem.next_step());
    }
}

#[test]
fn the_resolved_form_reads_back_and_all_is_shown() {
    let prepared = check("duration = \"20ms\"").unwrap_or_else(|_| panic!("it is legal"));
    let resolved = prepared.resolved();
    let toml = toml::to_string(&resolved).unwrap();
    let again = check(&toml).unwrap_or_else(|_| panic!("{toml}"));
    assert_eq!(again.resolved(), resolved);
    let outcome = run("duration = \"20ms\"");
    let points = [PointResult { settings: &[], scenario: &resolved, outcomes: &[outcome] }];
    let shown = CapacitySim.present(&points);
    let ids: Vec<&str> = shown.figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["constant", "control"]);
    assert!(shown.answer.prose().starts_with("From pure reads"), "{}", shown.answer.prose());
}

/// A fault that was mended: a stopped run was reported as "within 0 %", since missing values counted as 0.
#[test]
fn what_a_stopped_run_did_not_measure_is_missing() {
    for text in ["", "system = \"uch-ccp\"\nservers = 9", "system = \"replicast-m\"\nservers = 9"] {
        let prepared = check(text).unwrap_or_else(|_| panic!("{text}"));
        let stop = AtomicBool::new(true);
        let context = RunContext { stop: StopAsked::by(&stop), ..RunContext::alone(Seed(1), 0) };
        let outcome = prepared.run(&context).unwrap();
        assert!(outcome.partial, "{text}");
        for (name, measure) in &outcome.measures {
            assert_eq!(measure.value(), None, "{text}: {name}");
            assert!(measure.reason().is_some(), "{text}: {name}");
        }
        let resolved = prepared.resolved();
        let points = [PointResult { settings: &[], scenario: &resolved, outcomes: &[outcome] }];
        let shown = CapacitySim.present(&points);
        assert!(shown.answer.prose().contains("is not known"), "{}", shown.answer.prose());
    }
}

#[test]
fn shipped_scenarios_are_legal() {
    assert!(crate::shipped::check_all(&CapacitySim) >= 3);
}

/// With many operations in flight, a fixed warm-up ended before the first of them did, and more writes were
/// counted than the disks can do.
#[test]
fn deep_queues_are_measured_after_their_start() {
    let deep = "servers = 4\nreplicas = 4\ndepth = 200\n";
    let outcome = run(deep);
    let worst = value(&outcome, "error_worst").abs();
    assert!(worst < 0.02, "mixes are {worst} off");
    // Each disk writes a copy of each block.
    let write = 65_536.0 / (400.0 * 1_048_576.0);
    let rate = value(&outcome, "writes_per_second");
    assert!(rate < 1.01 / write, "{rate} writes/s, of which {} are possible", 1.0 / write);
    let scenario = |text: &str| -> Scenario {
        let text = format!("study = \"capacity-sim\"\n{text}");
        let outline = Document::parse(&Source::file("capacity.toml", &text)).unwrap().outline().unwrap();
        outline.points()[0].draft().read().unwrap()
    };
    let too_short = |text: &str| scenario(text).spans(Bytes::from_kib(64), 0.0).too_short;
    assert!(too_short(&format!("{deep}warm_up = \"50ms\"\nduration = \"200ms\"")));
    assert!(!too_short(deep) && !too_short(""));
    // The planted counterpart: what was measured before.
    let early = run(&format!("{deep}warm_up = \"50ms\"\nduration = \"200ms\""));
    assert!(value(&early, "error_worst") > 0.05, "{}", value(&early, "error_worst"));
}

/// Regression test: nine points with the same constants had nine equal bands on each other, one grey block,
/// and one series of 874 % squashed the errors of the others.
#[test]
fn figures_of_several_mixes_can_be_read() {
    let texts = ["16KiB:90%:r100,1MiB:10%:r50", "16KiB:50%:r100,1MiB:50%:r50"]
        .map(|mix| format!("duration = \"20ms\"\nmix = \"{mix}\""));
    let of = |text: &String| {
        let prepared = check(text).unwrap_or_else(|_| panic!("it is legal"));
        let run = |replicate| {
            let context = RunContext::alone(Seed(1).replicate(replicate), replicate);
            prepared.run(&context).unwrap_or_else(|error| panic!("{error}"))
        };
        let outcomes: Vec<Outcome> = (0..3).map(run).collect();
        (prepared.resolved(), outcomes)
    };
    let ran: Vec<_> = texts.iter().map(of).collect();
    let points: Vec<PointResult<'_>> = ran
        .iter()
        .map(|(scenario, outcomes)| {
            let outcomes: &[Outcome] = outcomes;
            PointResult { settings: &[], scenario, outcomes }
        })
        .collect();
    let shown = CapacitySim.present(&points);
    let series = |id: &str| {
        let figure = shown.figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("{id}"));
        let towtank_report::Kind::Line { series, .. } = &figure.kind else { panic!("{id} has no lines") };
        series.clone()
    };
    assert_eq!(series("mixes").len(), 3);
    assert_eq!(series("mixes_mistaken").len(), 1);
    let constants = series("constant");
    assert_eq!(constants.len(), 1, "equal lines are drawn once");
    assert!(constants[0].name.ends_with(" and 1 more"), "{}", constants[0].name);
    assert!(constants[0].points.iter().any(|point| point.low < point.high), "the band of one line is drawn");
}

/// Where bands of different lines overlap, they tell nothing apart, and are left out.
#[test]
fn bands_are_drawn_where_they_are_apart() {
    let line = |low: f64, high: f64| {
        let at = |x: f64, low: f64, high: f64| towtank_report::CurvePoint {
            low: low.into(),
            high: high.into(),
            ..towtank_report::CurvePoint::new(x, low.midpoint(high))
        };
        let points = vec![at(0.0, 100.0, 100.0), at(50.0, low, high)];
        towtank_report::LineSeries { name: String::new(), points, draw: towtank_report::Draw::Line }
    };
    assert!(!present::bands_overlap(&[line(1.0, 2.0)]));
    assert!(!present::bands_overlap(&[line(1.0, 2.0), line(2.5, 3.0)]));
    assert!(present::bands_overlap(&[line(1.0, 2.0), line(2.5, 3.0), line(1.9, 2.1)]));
}
