//! Checks that a model works with workers that share nothing: everything passed between them is serialised to
//! text and read back.

use towtank_kernel::{Ended, Executor, Outcome, Portable, RunError, RunOptions};

use crate::{Shuffle, differences};

/// Runs a model again with separate workers, once as a crew and once as members built one by one,
/// conservatively and optimistically, and compares with its previous outcome. Returns the number of events
/// that passed between workers.
///
/// # Errors
/// The differences, or why a run failed; with the line that replays it.
pub fn travels<M: Portable>(model: &M, options: &RunOptions<'_>, want: &Outcome<M>) -> Result<u64, String> {
    let mut messages = 0;
    for executor in [Executor::Conservative, Executor::Optimistic] {
        for (workers, delay_max) in [(2, 3), (4, 12)] {
            let replay =
                format!("{executor} on {workers} workers, packets delayed by up to {delay_max} steps");
            let options = RunOptions { executor, workers, batch: 32, gvt_interval: 4, ..options.clone() };
            let shuffle = Shuffle { seed: u64::from(workers), delay_max };
            let got = if workers == 2 {
                shuffle.outcome(model, options)
            } else {
                of_members(model, &options, shuffle)
            };
            let got = got.map_err(|error| format!("{error}; {replay}"))?;
            let lost = differences(want, &got);
            if !lost.is_empty() {
                return Err(format!("{} came out otherwise; {replay}", lost.join(", ")));
            }
            messages += got.run.messages;
        }
    }
    Ok(messages)
}

fn of_members<M: Portable>(
    model: &M,
    options: &RunOptions<'_>,
    shuffle: Shuffle,
) -> Result<Outcome<M>, RunError> {
    let models = vec![model; options.workers as usize];
    match shuffle.run_members(&models, options)?.swap_remove(0)? {
        Some(Ended::Outcome(outcome)) => Ok(*outcome),
        _ => shuffle.outcome(model, options.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use towtank_kernel::prelude::*;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
    struct Postman<const KEEPS: bool> {
        #[serde(skip_serializing_if = "lost::<KEEPS>", default)]
        carried: u32,
    }

    #[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
    struct Letter<const KEEPS: bool> {
        #[serde(skip_serializing_if = "lost::<KEEPS>", default)]
        stamps: u32,
    }

    fn lost<const KEEPS: bool>(_: &u32) -> bool {
        !KEEPS
    }

    /// Four entities pass messages round. With the parameters, a field of their states or of the messages is
    /// lost in transfer, on purpose.
    struct Round<const STATE: bool, const EVENT: bool>;

    const HOP: SimSpan = SimSpan::from_us(5);

    impl<const STATE: bool, const EVENT: bool> Model for Round<STATE, EVENT> {
        type Entity = Postman<STATE>;
        type Event = Letter<EVENT>;
        type Undo = ();
        type Statistics = ();
        type Output = ();

        fn entities(&self) -> u32 {
            4
        }

        fn links(&self) -> Links {
            Links::all(HOP)
        }

        fn create(&self, _id: EntityId) -> Self::Entity {
            Postman { carried: 0 }
        }

        fn start(&self, _: &mut Self::Entity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
            context.send(context.me(), SimSpan::ZERO, Letter { stamps: 1 });
            Ok(())
        }

        fn handle(
            &self,
            postman: &mut Self::Entity,
            letter: &Self::Event,
            context: &mut Context<'_, Self>,
        ) -> Result<(), Fault> {
            postman.carried += letter.stamps;
            let next = EntityId((context.me().0 + 1) % 4);
            context.send(next, HOP, Letter { stamps: letter.stamps + 1 });
            Ok(())
        }
    }

    fn travelled<const STATE: bool, const EVENT: bool>() -> Result<u64, String> {
        let (model, end) = (Round::<STATE, EVENT>, Some(SimTime::from_ns(200_000)));
        let options = RunOptions { end, ..RunOptions::default() };
        travels(&model, &options, &run(&model, options.clone()).expect("it runs"))
    }

    #[test]
    fn what_travels_whole_is_the_same() {
        assert!(travelled::<true, true>().expect("nothing is lost") > 0, "nothing travelled");
    }

    #[test]
    fn a_field_of_a_state_that_does_not_travel_is_noticed() {
        let lost = travelled::<false, true>().expect_err("a field is lost");
        assert!(lost.starts_with("entities came out otherwise"), "{lost}");
    }

    #[test]
    fn a_field_of_an_event_that_does_not_travel_is_noticed() {
        let lost = travelled::<true, false>().expect_err("a field is lost");
        assert!(lost.starts_with("digest, entities"), "{lost}");
    }
}
