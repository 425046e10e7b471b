//! A transport that serialises, delays and reorders, and a driver that steps workers in a seeded order on one
//! thread.

use towtank_kernel::{
    Again, Crew, Ended, Executor, Member, Outcome, Packet, Portable, RunError, RunOptions, Step, Transport,
    UndoBy, run,
};
use towtank_streams::{Draws, Purpose, Seed, Uniform};

const DRIVE: Purpose = Purpose(0);

/// The number of steps after which a run counts as endless: 45 times those of the longest run of the kernel's
/// tests.
const STEPS_MAX: u64 = 100_000_000;

/// The parameters of the driver.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    /// The seed of all choices.
    pub seed: u64,
    /// The most steps a packet stays in flight.
    pub delay_max: u64,
}

/// The result of a member of a crew.
pub type MemberEnd<M> = Result<Option<Ended<M>>, RunError>;

/// All packets in flight.
struct Network {
    draws: Draws,
    now: u64,
    delay_max: u64,
    flying: Vec<Flight>,
}

struct Flight {
    due: u64,
    to: usize,
    bytes: Vec<u8>,
}

/// One worker's end of the network.
struct Port<'a> {
    network: &'a mut Network,
    me: usize,
}

impl<M: Portable> Transport<M> for Port<'_> {
    fn send(&mut self, to: usize, packet: Packet<M>) {
        let bytes = serde_json::to_vec(&packet).expect("a packet can be written");
        let delay = self.network.draws.of(DRIVE).below(self.network.delay_max + 1);
        self.network.flying.push(Flight { due: self.network.now + delay, to, bytes });
    }

    fn receive(&mut self) -> Option<Packet<M>> {
        let Network { now, flying, draws, .. } = &mut *self.network;
        let due: Vec<usize> =
            (0..flying.len()).filter(|&at| flying[at].to == self.me && flying[at].due <= *now).collect();
        if due.is_empty() {
            return None;
        }
        let chosen = due[draws.of(DRIVE).below(due.len() as u64) as usize];
        let flight = flying.swap_remove(chosen);
        Some(serde_json::from_slice(&flight.bytes).expect("what was written can be read"))
    }
}

impl Shuffle {
    /// Runs a model with a parallel executor, all workers on this thread.
    ///
    /// # Errors
    /// As the run itself.
    ///
    /// # Panics
    /// When the workers make no progress any more, or go on without end: a deadlock or livelock of the
    /// executor.
    pub fn run<M: Portable>(&self, model: &M, options: RunOptions<'_>) -> Result<Ended<M>, RunError> {
        let mut crew = Crew::new(model, options)?;
        self.drive(STEPS_MAX, crew.len(), |me, port| crew.step(me, port));
        crew.finish()
    }

    /// The same with one member for each of `models`, built one by one, as if each ran in its own process.
    /// Returns the result of each.
    ///
    /// # Errors
    /// When a member cannot be built.
    ///
    /// # Panics
    /// As [`Shuffle::run`].
    pub fn run_members<M: Portable>(
        &self,
        models: &[&M],
        options: &RunOptions<'_>,
    ) -> Result<Vec<MemberEnd<M>>, RunError> {
        let options = RunOptions { workers: models.len() as u32, ..options.clone() };
        let models = models.iter().copied().enumerate();
        let members = models.map(|(me, model)| Crew::member(model, options.clone(), me));
        let mut members = members.collect::<Result<Vec<_>, _>>()?;
        self.drive(STEPS_MAX, members.len(), |me, port| members[me].step(port));
        Ok(members.into_iter().map(Member::finish).collect())
    }

    /// The outcome, after a second run in another way if the first one asks for a restart.
    ///
    /// # Errors
    /// As the run itself.
    ///
    /// # Panics
    /// As [`Shuffle::run`].
    pub fn outcome<M: Portable>(&self, model: &M, options: RunOptions<'_>) -> Result<Outcome<M>, RunError> {
        match self.run(model, options.clone())? {
            Ended::Outcome(outcome) => Ok(*outcome),
            Ended::Restart(Again::WithClones) => {
                assert!(options.undo != Some(UndoBy::Clone), "clones can undo every event");
                self.outcome(model, RunOptions { undo: Some(UndoBy::Clone), ..options })
            }
            Ended::Restart(Again::InSequence(_)) => {
                run(model, RunOptions { executor: Executor::Sequential, workers: 1, ..options })
            }
        }
    }

    /// Steps workers in a seeded order until all have finished. A worker that waits is not stepped again
    /// before a packet has arrived for it, as threads that sleep are not. More than `steps_max` steps are a
    /// livelock.
    fn drive(&self, steps_max: u64, count: usize, mut step: impl FnMut(usize, &mut Port<'_>) -> Step) {
        let draws = Draws::new(Seed(self.seed), 0, 0);
        let mut network = Network { draws, now: 0, delay_max: self.delay_max, flying: Vec::new() };
        let (mut finished, mut asleep) = (vec![false; count], vec![false; count]);
        let mut idle = 0u64;
        while finished.iter().any(|done| !done) {
            let me = network.draws.of(DRIVE).below(count as u64) as usize;
            network.now += 1;
            if finished[me] || (asleep[me] && !network.has_for(me, network.now)) {
                let stuck = |one: usize| finished[one] || (asleep[one] && !network.has_for(one, u64::MAX));
                assert!(
                    !(0..count).all(stuck),
                    "every worker sleeps, and no packet is in flight to wake one"
                );
                continue;
            }
            let did = step(me, &mut Port { network: &mut network, me });
            finished[me] = did == Step::Finished;
            asleep[me] = did == Step::Waiting;
            idle = if did == Step::Worked { 0 } else { idle + 1 };
            let patience = 1_000 * (self.delay_max + 1) * count as u64;
            assert!(
                idle < patience,
                "no worker has made progress for {idle} steps; {} packets in flight",
                network.flying.len()
            );
            assert!(network.now < steps_max, "the workers have not finished after {steps_max} steps");
        }
    }
}

impl Network {
    /// Whether a packet has arrived for a worker at a time.
    fn has_for(&self, me: usize, now: u64) -> bool {
        self.flying.iter().any(|flight| flight.to == me && flight.due <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "every worker sleeps, and no packet is in flight to wake one")]
    fn a_worker_that_waits_for_nothing_is_noticed() {
        let mut left = 3;
        Shuffle { seed: 1, delay_max: 0 }.drive(100, 2, |me, _| {
            left -= u32::from(me == 0);
            if me == 0 && left > 0 { Step::Worked } else { Step::Waiting }
        });
    }

    #[test]
    #[should_panic(expected = "the workers have not finished after 100 steps")]
    fn workers_that_go_on_without_end_are_noticed() {
        Shuffle { seed: 1, delay_max: 0 }.drive(100, 2, |_, _| Step::Worked);
    }
}
