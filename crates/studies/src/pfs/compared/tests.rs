//! Sentences of sweeps with results that are put in by hand: what is distinguished has names, all else has
//! none.

use serde_json::json;
use towtank_report::Outcome;
use towtank_scenario::{Document, Source};
use towtank_streams::Seed;

use super::super::Pfs;
use crate::Study as _;
use towtank_study::{PointResult, Prepared, RunContext};

/// Values of a measure by scheduler and replicate.
type Values<'v> = (&'v str, &'v [&'v [f64]]);

fn prepared(scheduler: &str) -> Box<dyn Prepared> {
    let text = format!(
        "study = \"pfs\"\npreset = \"paper\"\nclients = 4\nfiles = 2\nfile_size = \"1MiB\"\nalone = false\n\
         scheduler = \"{scheduler}\"\n[cache]\ndirect = true\n[applications.batch]\n[applications.users]\n"
    );
    let outline = Document::parse(&Source::file("pfs.toml", text)).and_then(|document| document.outline());
    let outline = outline.unwrap_or_else(|problems| panic!("{problems:?}"));
    Pfs.check(outline.points()[0].draft()).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The answer of a sweep over four schedulers, all alike but for these values.
fn answer(replicates: usize, changed: &[Values<'_>]) -> String {
    let schedulers = ["fifo:8", "sfq:8", "drr:8", "edf:8"];
    let run = prepared("fifo:8").run(&RunContext::alone(Seed(1), 0)).expect("it runs");
    let points: Vec<_> = (0..4)
        .map(|point| {
            let outcomes: Vec<Outcome> = (0..replicates)
                .map(|replicate| {
                    let mut outcome = run.clone();
                    for (measure, values) in changed {
                        let unit = outcome.measures[*measure].unit().to_owned();
                        outcome.measure(*measure, values[point][replicate], &unit);
                    }
                    outcome
                })
                .collect();
            let settings = vec![("scheduler".to_owned(), json!(schedulers[point]))];
            (settings, prepared(schedulers[point]).resolved(), outcomes)
        })
        .collect();
    let results: Vec<PointResult<'_>> = points
        .iter()
        .map(|(settings, scenario, outcomes)| PointResult { settings, scenario, outcomes })
        .collect();
    Pfs.present(&results).answer.prose()
}

const MIB: f64 = 1_048_576.0;

/// A former fault: of four equal schedulers, one was named.
#[test]
fn four_equal_schedulers_have_no_winner() {
    let text = answer(3, &[]);
    assert!(text.starts_with("Throughput is the same at all points, "), "{text}");
    assert!(!text.contains(":8"), "{text}");
    let near: [&[f64]; 4] = [
        &[100.0 * MIB, 101.0 * MIB, 102.0 * MIB],
        &[101.0 * MIB, 100.0 * MIB, 102.5 * MIB],
        &[102.0 * MIB, 100.5 * MIB, 101.0 * MIB],
        &[100.5 * MIB, 101.5 * MIB, 101.0 * MIB],
    ];
    let text = answer(3, &[("throughput_bytes_per_s", &near)]);
    assert_eq!(text, "Throughput is equal within chance, 101 to 101.2 MiB/s.");
}

#[test]
fn a_difference_in_fairness_alone_is_named() {
    let jain: [&[f64]; 4] =
        [&[0.73, 0.731, 0.732], &[0.99, 0.991, 0.99], &[0.991, 0.99, 0.99], &[0.938, 0.939, 0.938]];
    let text = answer(3, &[("jain_index", &jain)]);
    let end = "the largest difference is in Jain's index: 99.03 % with sfq:8 and drr:8 (tied), and \
               73.1 % with fifo:8.";
    assert!(text.starts_with("Throughput is the same at all points, ") && text.ends_with(end), "{text}");
}

/// Throughput differs a little, latencies a lot; an application is named.
#[test]
fn a_difference_in_one_percentile_alone_is_named() {
    let p99: [&[f64]; 4] =
        [&[0.51, 0.511, 0.512], &[1.18, 1.181, 1.182], &[1.18, 1.182, 1.181], &[2.05, 2.051, 2.049]];
    let text = answer(3, &[("latency_p99_s", &p99)]);
    let end = "the largest difference is in the 99th percentile of latency: 0.511 s with fifo:8, and 2.05 s with \
               edf:8.";
    assert!(text.ends_with(end), "{text}");
    let rate: [&[f64]; 4] =
        [&[98.0 * MIB, 98.1 * MIB, 98.0 * MIB], &[100.0 * MIB; 3], &[100.0 * MIB; 3], &[100.0 * MIB; 3]];
    let text = answer(3, &[("latency_p99_s[users]", &p99), ("throughput_bytes_per_s", &rate)]);
    assert_eq!(
        text,
        "Highest throughput with sfq:8, drr:8 and edf:8 (tied): 100 MiB/s; lowest with \
         fifo:8: 98.03 MiB/s. Also: the largest difference is in the 99th percentile of latency of `users`: 0.511 s with \
         fifo:8, and 2.05 s with edf:8."
    );
}

/// A planted counterpart: the same values in one run each have no names.
#[test]
fn one_run_of_each_tells_nothing_apart() {
    let p99: [&[f64]; 4] = [&[0.51], &[1.18], &[1.18], &[2.05]];
    let rate: [&[f64]; 4] = [&[101.7 * MIB], &[101.9 * MIB], &[101.9 * MIB], &[101.9 * MIB]];
    let text = answer(1, &[("latency_p99_s", &p99), ("throughput_bytes_per_s", &rate)]);
    assert_eq!(
        text,
        "Throughput is 101.7 to 101.9 MiB/s, and the 99th percentile of latency 0.51 to 2.05 s: one run of each cannot tell \
         them apart, `--replicates 5` may."
    );
    let text = answer(1, &[]);
    assert!(text.starts_with("Throughput is the same at all points, "), "{text}");
}

/// Chosen among many measures, one whose difference is within chance is not named.
#[test]
fn the_widest_range_within_chance_has_no_names() {
    let p99: [&[f64]; 4] = [&[0.5, 2.0, 1.0], &[1.0, 0.7, 3.0], &[2.0, 0.4, 1.1], &[0.9, 1.9, 2.1]];
    let text = answer(3, &[("latency_p99_s", &p99)]);
    assert!(
        text.contains("within chance too; the widest range is that of the 99th percentile of latency, "),
        "{text}"
    );
    assert!(!text.contains(":8"), "{text}");
}
