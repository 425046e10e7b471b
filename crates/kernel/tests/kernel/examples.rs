//! The examples give their answers, the same on every executor.

use towtank_kernel::{Executor, Model, Outcome, RunOptions, run};
use towtank_streams::Seed;
use towtank_testkit::{Shuffle, differences};

#[allow(dead_code, reason = "`main` is for those who run it")]
#[path = "../../examples/barrier.rs"]
mod barrier;
#[allow(dead_code, reason = "`main` is for those who run it")]
#[path = "../../examples/ping.rs"]
mod ping;
#[allow(dead_code, reason = "`main` is for those who run it")]
#[path = "../../examples/undo.rs"]
mod undo;

/// The outcome, after checking that it is the same for all executors and numbers of workers.
fn agreed<M: Model>(model: &M, options: &RunOptions<'_>) -> Outcome<M> {
    let outcome = |executor, workers| {
        run(model, RunOptions { executor, workers, ..options.clone() }).expect("an example runs")
    };
    let want = outcome(Executor::Sequential, 1);
    for executor in Executor::ALL {
        for workers in 1..=if executor.is_parallel() { 3 } else { 1 } {
            let got = outcome(executor, workers);
            assert_eq!(got.digest, want.digest, "{executor} on {workers} workers");
            assert_eq!(differences(&want, &got), [""; 0], "{executor} on {workers} workers");
        }
    }
    want
}

#[test]
fn ping() {
    let outcome = agreed(&ping::Ping { rounds: 10 }, &RunOptions::default());
    assert_eq!(ping::answer(&outcome), "10 round trips take 5ms");
}

#[test]
fn barrier() {
    let (model, options) = (barrier::model(), RunOptions { seed: Seed(7), ..RunOptions::default() });
    let want = agreed(&model, &options);
    assert_eq!(barrier::answer(&model, &want), "664 of 1000 steps were late");
    for executor in [Executor::Conservative, Executor::Optimistic] {
        let options = RunOptions { executor, workers: 3, ..options.clone() };
        let got = Shuffle { seed: 5, delay_max: 10 }.outcome(&model, options).expect("it runs serialised");
        assert_eq!(differences(&want, &got), [""; 0], "{executor}");
    }
}

#[test]
fn undo() {
    let want = agreed(&undo::model(), &undo::options());
    assert_eq!(undo::answer(&want), "the most wanted page was asked for 67 times of 62871");
}
