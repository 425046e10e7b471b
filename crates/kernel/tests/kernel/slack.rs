//! A model with slack: conservative workers wait for each other less often, the result is the same, and a
//! broken promise is detected.

use proptest::prelude::*;
use towtank_kernel::{Context, EntityId, Executor, Fault, Links, Model, Outcome, RunError, RunOptions, run};
use towtank_streams::{Purpose, Seed, Uniform};
use towtank_units::{SimSpan, SimTime};

const LEAST: u64 = 5;

/// Packers: a parcel is packed in several steps, each taking time, and then goes to another packer.
#[derive(Clone, Debug)]
struct Packers {
    count: u32,
    /// The duration of the longest step.
    longest: u64,
    /// By how much the promised slack exceeds the truth.
    boast: u64,
    /// Whether the model promises slack.
    knows: bool,
}

/// The remaining steps, and the duration of each.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
struct Parcel {
    steps: u8,
    each: u64,
}

impl Model for Packers {
    type Entity = u64;
    type Event = Parcel;
    type Undo = ();
    type Statistics = ();
    type Output = ();

    fn entities(&self) -> u32 {
        self.count
    }

    fn links(&self) -> Links {
        Links::all(SimSpan::from_ns(LEAST))
    }

    fn create(&self, _: EntityId) -> u64 {
        0
    }

    fn start(&self, _: &mut u64, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        let me = context.me();
        for each in 1..4 {
            context.send(me, SimSpan::from_ns(each), Parcel { steps: each as u8, each: each * 7 });
        }
        Ok(())
    }

    fn handle(&self, done: &mut u64, parcel: &Parcel, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        *done += parcel.each;
        let each = SimSpan::from_ns(parcel.each);
        if parcel.steps > 0 {
            context.send(context.me(), each, Parcel { steps: parcel.steps - 1, ..*parcel });
            return Ok(());
        }
        let mut draws = context.draws(Purpose(1));
        let to = EntityId(draws.below(u64::from(self.count)) as u32);
        let next = Parcel { steps: draws.below(4) as u8, each: 1 + draws.below(self.longest) };
        context.send(to, each.saturating_add(SimSpan::from_ns(LEAST)), next);
        Ok(())
    }

    fn slack(&self, _: EntityId, parcel: &Parcel) -> SimSpan {
        SimSpan::from_ns((u64::from(parcel.steps) + 1) * parcel.each + LEAST + self.boast)
    }

    fn usual_slack(&self) -> SimSpan {
        SimSpan::from_ns(if self.knows { self.longest } else { 0 })
    }
}

fn packers(count: u32, longest: u64) -> Packers {
    Packers { count, longest, boast: 0, knows: true }
}

fn go(model: &Packers, executor: Executor, workers: u32, seed: u64) -> Result<Outcome<Packers>, RunError> {
    let end = Some(SimTime::from_ns(20_000));
    run(model, RunOptions { seed: Seed(seed), end, executor, workers, ..RunOptions::default() })
}

#[test]
fn who_knows_more_waits_less_often() {
    let knows = packers(40, 500);
    let guesses = Packers { knows: false, ..knows.clone() };
    let [few, many] = [&knows, &guesses].map(|model| go(model, Executor::Conservative, 2, 1).unwrap());
    assert_eq!(few.digest, many.digest);
    assert!(few.run.windows * 3 < many.run.windows, "{} of {}", few.run.windows, many.run.windows);
}

#[test]
fn a_promise_that_is_not_kept_is_found() {
    let boasts = Packers { boast: 40, ..packers(40, 500) };
    for (executor, workers) in [(Executor::Check, 1), (Executor::Conservative, 2)] {
        let error = go(&boasts, executor, workers, 1).map(|_| ()).expect_err("the slack is too large");
        assert!(matches!(error, RunError::ShortSlack { .. }), "{error}");
        assert!(error.to_string().ends_with("promise less for the event that caused it"), "{error}");
    }
    go(&boasts, Executor::Sequential, 1, 1).expect("nobody looks where nothing depends on it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn workers_never_show(count in 2u32..30, longest in 1u64..2_000, seed: u64, workers in 2u32..5) {
        let model = packers(count, longest);
        let want = go(&model, Executor::Sequential, 1, seed).unwrap().digest;
        prop_assert_eq!(go(&model, Executor::Check, 1, seed).unwrap().digest, want);
        prop_assert_eq!(go(&model, Executor::Conservative, workers, seed).unwrap().digest, want);
        prop_assert_eq!(go(&model, Executor::Optimistic, workers, seed).unwrap().digest, want);
    }
}
