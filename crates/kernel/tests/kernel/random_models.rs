//! Generated models on every executor, with threads and with a seeded transport that delays and reorders.

use proptest::prelude::*;
use towtank_kernel::{Ended, EntityId, Executor, Outcome, RunError, RunOptions, RunStatistics, UndoBy, run};
use towtank_streams::Seed;
use towtank_testkit::{Fatal, Flaw, RandomModel, Shuffle, differences};
use towtank_units::SimTime;

fn options(end: u64, executor: Executor, workers: u32) -> RunOptions<'static> {
    RunOptions { seed: Seed(3), end: Some(SimTime::from_ns(end)), executor, workers, ..RunOptions::default() }
}

fn sequential(model: &RandomModel, end: u64) -> Outcome<RandomModel> {
    run(model, options(end, Executor::Sequential, 1)).expect("a model without faults runs")
}

fn assert_same(want: &Outcome<RandomModel>, got: &Outcome<RandomModel>, replay: &str) {
    assert_eq!(differences(want, got), [""; 0], "{replay}");
    assert_eq!(got.in_flight.len() as u64, want.pending, "{replay}");
}

/// Runs on a shuffled crew, restarting with clones if the executor asks for it.
fn shuffled(
    model: &RandomModel,
    options: RunOptions<'_>,
    shuffle: Shuffle,
) -> Result<Outcome<RandomModel>, RunError> {
    shuffle.outcome(model, options)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_model_one_result(
        seed in 0u64..1_000_000,
        shuffle in 0u64..1_000_000,
        workers in 1u32..9,
        batch in 1u32..40,
        gvt_interval in 1u32..10,
        history_max in prop_oneof![Just(1u32), 2u32..40, Just(1 << 16)],
        delay_max in prop_oneof![Just(0u64), 1u64..60],
        clone in any::<bool>(),
    ) {
        let replay = format!(
            "replay: towtank {} model {seed} shuffle {shuffle} workers {workers} batch {batch} gvt {gvt_interval} history {history_max} delay {delay_max} clone {clone}",
            env!("CARGO_PKG_VERSION"),
        );
        let model = RandomModel::new(seed);
        let end = 600;
        let want = sequential(&model, end);
        let checked = run(&model, options(end, Executor::Check, 1));
        assert_same(&want, &checked.expect("the model is reversible"), &replay);
        for executor in [Executor::Conservative, Executor::Optimistic] {
            let undo = Some(if clone { UndoBy::Clone } else { UndoBy::Inverse });
            let options = RunOptions { batch, gvt_interval, history_max, undo, ..options(end, executor, workers) };
            let got = shuffled(&model, options, Shuffle { seed: shuffle, delay_max });
            assert_same(&want, &got.unwrap_or_else(|error| panic!("{error}; {replay}")), &replay);
        }
    }

    #[test]
    fn one_model_one_error(seed in 0u64..1_000_000, shuffle in 0u64..1_000_000, workers in 1u32..6, at in 0u32..12, kind in 0u8..3, clone in any::<bool>()) {
        let replay = format!(
            "replay: towtank {} model {seed} shuffle {shuffle} workers {workers} at {at} kind {kind} clone {clone}",
            env!("CARGO_PKG_VERSION"),
        );
        let mut model = RandomModel::new(seed);
        let fatal = [Fatal::Fault(at), Fatal::Panic(at), Fatal::ShortLink(at)][usize::from(kind)];
        model.fatal = Some((EntityId(0), fatal));
        let end = 400;
        hush();
        let want = run(&model, options(end, Executor::Sequential, 1)).map(|outcome| outcome.digest);
        for executor in [Executor::Conservative, Executor::Optimistic] {
            let undo = clone.then_some(UndoBy::Clone);
            let options = RunOptions { batch: 7, undo, ..options(end, executor, workers) };
            let got = shuffled(&model, options, Shuffle { seed: shuffle, delay_max: 20 }).map(|outcome| outcome.digest);
            assert_eq!(&got, &want, "{executor}; {replay}");
        }
    }
}

/// Suppresses the messages of planted panics.
fn hush() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"a planted panic") {
                before(info);
            }
        }));
    });
}

/// Regression test: a failed event was undone, and the inverses of earlier events were applied to the state
/// that it had left.
#[test]
fn no_inverse_is_applied_to_what_a_fault_left_behind() {
    let mut model = RandomModel::new(764_707);
    model.fatal = Some((EntityId(0), Fatal::ShortLink(6)));
    let want = run(&model, options(400, Executor::Sequential, 1)).map(|outcome| outcome.digest);
    for shuffle in (0..20).chain([597_836]) {
        let options = RunOptions { batch: 7, ..options(400, Executor::Optimistic, 2) };
        let got =
            shuffled(&model, options, Shuffle { seed: shuffle, delay_max: 20 }).map(|outcome| outcome.digest);
        assert_eq!(got, want, "shuffle {shuffle}");
    }
}

/// Regression test: a cancelled event with the key of a fault waited behind it, so global virtual time never
/// passed the fault, and the run never ended.
#[test]
fn a_cancelled_event_with_the_key_of_a_fault_does_not_hide_it() {
    for (seed, shuffle, workers, at) in [(965_162, 355_210, 4, 7), (228_038, 128_224, 3, 8)] {
        let mut model = RandomModel::new(seed);
        model.fatal = Some((EntityId(0), Fatal::Panic(at)));
        let want = run(&model, options(400, Executor::Sequential, 1)).map(|outcome| outcome.digest);
        let options = RunOptions { batch: 7, ..options(400, Executor::Optimistic, workers) };
        let got =
            shuffled(&model, options, Shuffle { seed: shuffle, delay_max: 20 }).map(|outcome| outcome.digest);
        assert_eq!(got, want, "model {seed}");
    }
}

#[test]
fn threads_give_the_same_result() {
    for seed in 0..12 {
        let model = RandomModel::new(seed);
        let want = sequential(&model, 2_000);
        for executor in [Executor::Conservative, Executor::Optimistic] {
            for workers in [1, 2, 3, 8] {
                let options = RunOptions { batch: 16, gvt_interval: 2, ..options(2_000, executor, workers) };
                let got = run(&model, options).expect("a model without faults runs");
                assert_same(&want, &got, &format!("replay: model {seed} {executor} workers {workers}"));
            }
        }
    }
}

/// Checks that every important path was taken: otherwise equal digests prove little.
#[test]
fn every_kind_of_rollback_happened() {
    let mut sum = RunStatistics::default();
    let (mut forgiven, mut dropped, mut throttled) = (0, 0, 0);
    for seed in 0..60 {
        let model = RandomModel::new(seed);
        let bound = if seed % 3 == 0 { 8 } else { 1 << 16 };
        let options = RunOptions {
            batch: 30,
            gvt_interval: 4,
            history_max: bound,
            undo: Some(UndoBy::Clone),
            ..options(1_000, Executor::Optimistic, 3)
        };
        let run = shuffled(&model, options, Shuffle { seed, delay_max: 30 }).expect("it runs").run;
        sum.primary_rollbacks += run.primary_rollbacks;
        sum.secondary_rollbacks += run.secondary_rollbacks;
        sum.anti_messages += run.anti_messages;
        sum.cancelled_before += run.cancelled_before;
        sum.cancelled_after += run.cancelled_after;
        sum.cancelled_early += run.cancelled_early;
        forgiven += run.faults_forgiven;
        dropped += run.timers_dropped;
        throttled += run.throttled;
    }
    assert!(sum.primary_rollbacks > 0, "no primary rollback: {sum:?}");
    assert!(sum.secondary_rollbacks > 0, "no secondary rollback: {sum:?}");
    assert!(sum.anti_messages > 0, "no anti-message: {sum:?}");
    assert!(sum.cancelled_before > 0, "no event was cancelled before it was executed: {sum:?}");
    assert!(sum.cancelled_after > 0, "no event was cancelled after it was executed: {sum:?}");
    assert!(sum.cancelled_early > 0, "no anti-message came before its event: {sum:?}");
    assert!(forgiven > 0, "no panic of speculation was forgiven");
    assert!(dropped > 0, "no timer was cancelled");
    assert!(throttled > 0, "the memory bound never held a worker back");
}

#[test]
fn a_wrong_inverse_is_caught() {
    let mut model = RandomModel::new(5);
    model.flaw = Some(Flaw::WrongInverse);
    let error = run(&model, options(1_000, Executor::Check, 1)).expect_err("the flaw must be found");
    assert!(matches!(&error, RunError::Irreversible { what, .. } if what == "the state"), "{error}");
}

#[test]
fn hidden_state_is_caught() {
    let mut model = RandomModel::new(5);
    model.flaw = Some(Flaw::HiddenState);
    let error = run(&model, options(1_000, Executor::Check, 1)).expect_err("the flaw must be found");
    assert!(
        matches!(&error, RunError::Irreversible { what, .. } if what == "the re-executed state"),
        "{error}"
    );
}

#[test]
fn a_wrong_inverse_shows_in_the_digest() {
    let mut found = false;
    for seed in 0..20 {
        let mut model = RandomModel::new(seed);
        let want = sequential(&model, 1_000).digest;
        model.flaw = Some(Flaw::WrongInverse);
        let options =
            RunOptions { batch: 30, undo: Some(UndoBy::Inverse), ..options(1_000, Executor::Optimistic, 3) };
        found |= match (Shuffle { seed, delay_max: 30 }).run(&model, options) {
            Ok(Ended::Outcome(outcome)) => outcome.digest != want,
            Ok(Ended::Restart(_)) => false,
            Err(_) => true,
        };
    }
    assert!(found, "no run noticed the wrong inverse");
}
