//! Means, intervals, digests and warnings, compared with values worked by hand.

use proptest::prelude::*;
use towtank_report::Measurement;

use super::*;
use crate::examples;

fn ledger(plan: &Plan) -> Ledger {
    let mut ledger = Ledger::new(plan);
    for task in plan.tasks() {
        ledger.enter(task, examples::outcome(&plan.points()[task.point], task.replicate));
    }
    ledger
}

/// One point whose replicates measure `x` as given.
fn of_values(values: &[Option<f64>]) -> Assembled {
    let plan = examples::plan(&[8], u32::try_from(values.len()).unwrap());
    let mut ledger = Ledger::new(&plan);
    for (task, value) in plan.tasks().zip(values) {
        let mut outcome = Outcome::default();
        match value {
            Some(value) => outcome.measure("x", *value, "s"),
            None => outcome.missing("x", "s", "nobody came"),
        }
        ledger.enter(task, outcome);
    }
    assemble(&plan, ledger, "sequential")
}

#[test]
fn a_mean_has_its_interval() {
    // Mean 10, s² = 10, half width 2.776445 · √(10 / 5) = 3.926486, on a logarithmic scale:
    // 10·exp(∓0.3926486).
    let report = of_values(&[6.0, 8.0, 10.0, 12.0, 14.0].map(Some)).report;
    let x = &report.summary["x"];
    assert_eq!((x.value(), x.n(), x.unit()), (Some(10.0), 5, "s"));
    let (low, high) = x.interval().unwrap();
    assert!((low - 6.752_659_7).abs() < 1e-6 && (high - 14.808_979_6).abs() < 1e-6, "{low} {high}");
    assert!(report.warnings.is_empty() && !report.partial);
}

#[test]
fn one_replicate_has_no_interval() {
    let x = of_values(&[Some(0.1)]).report.summary["x"].clone();
    assert_eq!((x.value(), x.interval(), x.n()), (Some(0.1), None, 1));
}

#[test]
fn values_that_are_missing_are_reported() {
    let some = of_values(&[Some(1.0), None, Some(3.0), None]).report;
    assert_eq!((some.summary["x"].value(), some.summary["x"].n()), (Some(2.0), 2));
    insta::assert_snapshot!(Warning::texts(some.warnings).join("\n"), @"`x` has no value in 2 of 4 runs (first in replicate 1: nobody came); its means are over the others");
    let none = of_values(&[None, None]).report;
    let x = &none.summary["x"];
    assert_eq!((x.value(), x.n(), x.reason()), (None, 0, Some("nobody came")));
    assert!(none.warnings.is_empty(), "the reason stands at the value itself");
}

#[test]
fn replicates_that_disagree_about_the_unit_have_no_mean() {
    let plan = examples::plan(&[8], 2);
    let mut ledger = Ledger::new(&plan);
    for (task, unit) in plan.tasks().zip(["s", "ms"]) {
        let mut outcome = Outcome::default();
        outcome.measures.insert("x".to_owned(), Measurement::new(1.0, unit));
        ledger.enter(task, outcome);
    }
    let report = assemble(&plan, ledger, "sequential").report;
    insta::assert_snapshot!(report.summary["x"].reason().unwrap(), @"its replicates disagree about the unit: `s` and `ms`");
}

#[test]
fn a_report_says_what_was_run() {
    let plan = examples::plan(&[8, 16], 3);
    let assembled = assemble(&plan, ledger(&plan), "conservative");
    assert_eq!(assembled.points[1].outcomes[2], examples::outcome(&plan.points()[1], 2));
    insta::assert_snapshot!(assembled.report.to_json(), @r#"
    {
      "schema": "towtank-report/2",
      "towtank": "0.1.0",
      "results_version": 1,
      "study": "toy",
      "title": "Toy",
      "answer": {
        "finding": ""
      },
      "scenario": {
        "study": "toy",
        "servers": [
          8,
          16
        ],
        "rate": "1GiB/s"
      },
      "scenario_hash": "toy-[8, 16]",
      "seed": 7,
      "replicates": 3,
      "executor": "conservative",
      "digest": "754decab2e0bfe5f95a017062cb24fce",
      "events": 6006,
      "partial": false,
      "sweep": [
        {
          "key": "servers",
          "values": [
            8,
            16
          ]
        }
      ],
      "summary": {},
      "glossary": {},
      "points": [
        {
          "settings": {
            "servers": 8
          },
          "label": "servers=8",
          "summary": {
            "span_s": {
              "value": 0.08333333333333333,
              "unit": "s",
              "low": 0.024065511881564205,
              "high": 0.2885641692817826,
              "n": 3
            },
            "lost_bytes": {
              "value": 1e+18,
              "unit": "bytes",
              "low": 1e+18,
              "high": 1e+18,
              "n": 2
            }
          },
          "digest": "d162a940210894b1240519834668c8df",
          "partial": false
        },
        {
          "settings": {
            "servers": 16
          },
          "label": "servers=16",
          "summary": {
            "span_s": {
              "value": 0.041666666666666664,
              "unit": "s",
              "low": 0.012032755940782102,
              "high": 0.1442820846408913,
              "n": 3
            },
            "lost_bytes": {
              "value": 1e+18,
              "unit": "bytes",
              "low": 1e+18,
              "high": 1e+18,
              "n": 2
            }
          },
          "digest": "976355dac6c6a4957fb8d177f8483c5f",
          "partial": false
        }
      ],
      "runs": {
        "id": "runs",
        "title": "Runs",
        "about": "A row per replicate.",
        "columns": [
          {
            "name": "servers",
            "unit": "",
            "kind": "number"
          },
          {
            "name": "replicate",
            "unit": "",
            "kind": "number"
          },
          {
            "name": "events",
            "unit": "",
            "kind": "number"
          },
          {
            "name": "partial",
            "unit": "",
            "kind": "flag"
          },
          {
            "name": "span_s",
            "unit": "s",
            "kind": "number"
          },
          {
            "name": "lost_bytes",
            "unit": "bytes",
            "kind": "number"
          }
        ],
        "rows": [
          [
            8,
            0,
            1000,
            false,
            0.041666666666666664,
            {
              "value": null,
              "reason": "no disk failed"
            }
          ],
          [
            8,
            1,
            1001,
            false,
            0.08333333333333333,
            1e+18
          ],
          [
            8,
            2,
            1002,
            false,
            0.125,
            1e+18
          ],
          [
            16,
            0,
            1000,
            false,
            0.020833333333333332,
            {
              "value": null,
              "reason": "no disk failed"
            }
          ],
          [
            16,
            1,
            1001,
            false,
            0.041666666666666664,
            1e+18
          ],
          [
            16,
            2,
            1002,
            false,
            0.0625,
            1e+18
          ]
        ]
      },
      "tables": [],
      "figures": [],
      "claims": [],
      "warnings": [
        {
          "severity": "unknown",
          "text": "`lost_bytes` has no value in 2 of 6 runs (first in replicate 0 at servers = 8: no disk failed); its means are over the others"
        },
        {
          "severity": "note",
          "text": "no disk failed (in 2 of 6 runs, first in replicate 0 at servers = 8)"
        }
      ]
    }
    "#);
}

#[test]
fn without_a_sweep_the_summary_is_the_points() {
    let (one, two) = (examples::plan(&[8], 3), examples::plan(&[8, 16], 3));
    let single = assemble(&one, ledger(&one), "sequential").report;
    let sweep = assemble(&two, ledger(&two), "sequential").report;
    assert!(single.points.is_empty() && sweep.summary.is_empty());
    assert_eq!(single.summary, sweep.points[0].summary);
}

#[test]
fn what_is_not_done_is_reported() {
    let plan = examples::plan(&[8, 16, 32], 2);
    let mut half = Ledger::new(&plan);
    let stopped = |point: usize| Outcome { partial: true, ..examples::outcome(&plan.points()[point], 0) };
    half.enter(Task { point: 0, replicate: 1 }, examples::outcome(&plan.points()[0], 1));
    half.enter(Task { point: 1, replicate: 0 }, stopped(1));
    let report = assemble(&plan, half, "sequential").report;
    insta::assert_snapshot!(Warning::texts(report.warnings).join("\n"), @r#"
    5 of 6 runs are missing or were stopped early
    no run of 1 of 3 points was finished: their values cover only what was committed
    no disk failed (in 1 of 2 runs, first in replicate 0 at servers = 16)
    "#);
    assert!(report.partial && report.points.iter().all(|point| point.partial));
    assert_eq!(report.points[0].summary["span_s"].n(), 1);
    assert!(report.points[2].summary.is_empty() && report.points[2].digest.is_none());

    let one = examples::plan(&[8], 1);
    let mut only = Ledger::new(&one);
    only.enter(Task { point: 0, replicate: 0 }, stopped(0));
    let report = assemble(&one, only, "sequential").report;
    insta::assert_snapshot!(Warning::texts(report.warnings).join("\n"), @r#"
    the run was stopped early: the values cover only what was committed
    no disk failed
    "#);
    assert!(report.summary.contains_key("span_s"));
    assert!(assemble(&one, Ledger::new(&one), "sequential").report.digest.is_none());
}

#[test]
fn a_digest_tells_results_apart_and_nothing_else() {
    let plan = examples::plan(&[8, 16], 2);
    let digest = |ledger: Ledger| assemble(&plan, ledger, "sequential").report.digest.unwrap();
    let base = digest(ledger(&plan));
    assert_eq!(base, assemble(&plan, ledger(&plan), "optimistic").report.digest.unwrap());
    let changed = |change: &dyn Fn(&mut Outcome)| {
        let mut other = Ledger::new(&plan);
        for task in plan.tasks() {
            let mut outcome = examples::outcome(&plan.points()[task.point], task.replicate);
            if (task.point, task.replicate) == (1, 0) {
                change(&mut outcome);
            }
            other.enter(task, outcome);
        }
        digest(other)
    };
    assert_ne!(changed(&|outcome| outcome.digest = Some("other".to_owned())), base);
    let bare = changed(&|outcome| outcome.digest = None);
    let off = changed(&|outcome| {
        outcome.digest = None;
        outcome.measure("span_s", 0.25, "s");
    });
    assert_ne!(bare, off, "without a kernel's digest the values themselves are in it");
}

proptest! {
    /// The interval of the mean, computed by the definition. Values below zero have no other.
    #[test]
    fn means_are_those_of_the_textbook(values in prop::collection::vec(-1e6..-1.0_f64, 2..40)) {
        let report = of_values(&values.iter().copied().map(Some).collect::<Vec<_>>()).report;
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let half = towtank_metrics::student_t_975(values.len() as u64 - 1) * deviation / n.sqrt();
        let (low, high) = report.summary["x"].interval().unwrap();
        prop_assert!((low - (mean - half)).abs() < 1e-6 * half.max(1.0));
        prop_assert!((high - (mean + half)).abs() < 1e-6 * half.max(1.0));
    }
}
