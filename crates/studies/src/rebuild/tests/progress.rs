//! The progress of a replicate, from its rebuild to the last trial.

use std::sync::Mutex;

use super::*;
use towtank_study::Progress;

/// Two failures: the second adds to the plan.
const TWICE: &str = "servers = 8\nobjects = 4000\nreplicas = 3\nfail = [\"server=1\", \"server=3@2000s\"]\nrecovery_sleep = \"1s\"";

/// The shares that a replicate reports.
fn shares(executor: Executor, workers: u32, replicate: u32, text: &str) -> Vec<f64> {
    let reported = Mutex::new(Vec::new());
    let ready = complete(text);
    let progress = |progress: Progress| reported.lock().unwrap().push(progress.fraction);
    let context =
        RunContext { executor, workers, progress: &progress, ..RunContext::alone(Seed(3), replicate) };
    ready.run(&context).unwrap();
    reported.into_inner().unwrap()
}

/// What is wrong with the shares of a run with one failure; `None` if nothing is.
fn flaw(shares: &[f64]) -> Option<String> {
    let range = shares.iter().find(|share| !(0.0..=1.0).contains(*share));
    if let Some(share) = range {
        return Some(format!("{share} is not a share"));
    }
    if let Some(pair) = shares.windows(2).find(|pair| pair[1] < pair[0]) {
        return Some(format!("it falls from {} to {}", pair[0], pair[1]));
    }
    let (between, last) = (shares.iter().filter(|share| (0.1..0.9).contains(*share)).count(), shares.last());
    if between < 3 {
        return Some(format!("{between} of {} lie between", shares.len()));
    }
    last.is_none_or(|last| *last < 0.8).then(|| format!("it ends at {last:?}"))
}

#[test]
fn the_share_of_work_rises_to_the_end_on_every_executor() {
    let text = TWICE.replace(", \"server=3@2000s\"", "");
    for (executor, workers) in [
        (Executor::Sequential, 1),
        (Executor::Check, 1),
        (Executor::Conservative, 3),
        (Executor::Optimistic, 3),
    ] {
        // Only replicate 0 tries changes after its rebuild.
        for replicate in [0, 1] {
            let mut reported = shares(executor, workers, replicate, &text);
            if executor == Executor::Optimistic {
                // Speculation may meet a fault that it cannot undo. The run then starts again, with clones.
                let mut most: f64 = 0.0;
                reported.iter_mut().for_each(|share| {
                    most = most.max(*share);
                    *share = most;
                });
            }
            assert_eq!(flaw(&reported), None, "{executor:?}, replicate {replicate}");
        }
    }
}

#[test]
fn a_second_failure_adds_work_that_is_not_done() {
    let reported = shares(Executor::Sequential, 1, 1, TWICE);
    assert!(reported.iter().all(|share| (0.0..=1.0).contains(share)), "{reported:?}");
    assert!(reported.last().is_some_and(|last| *last > 0.8), "{reported:?}");
}

#[test]
fn planted_flaws_of_progress_are_found() {
    let good: Vec<f64> = (0..=20).map(|step| f64::from(step) / 20.0).collect();
    assert_eq!(flaw(&good), None);
    let planted: [Vec<f64>; 5] = [
        good.iter().rev().copied().collect(),
        vec![0.0; 20],
        good.iter().map(|share| share / 3.0).collect(),
        good.iter().map(|share| share * 2.0).collect(),
        vec![0.0, 1.0],
    ];
    for shares in planted {
        assert!(flaw(&shares).is_some(), "{shares:?}");
    }
}
