//! A transport that serialises, delays and reorders, and a driver that steps workers in a seeded order on one thread.

use serde::Serialize;
use serde::de::DeserializeOwned;
use towtank_kernel::{Crew, Ended, Model, Packet, RunError, RunOptions, Step, Transport};
use towtank_streams::{Draws, Purpose, Seed, Uniform};

const DRIVE: Purpose = Purpose(0);

/// How workers are driven.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    /// Where all choices come from.
    pub seed: u64,
    /// The most steps a packet stays in flight.
    pub delay_max: u64,
}

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

impl<M> Transport<M> for Port<'_>
where
    M: Model,
    Packet<M>: Serialize + DeserializeOwned,
{
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
    /// When the workers make no progress any more: a deadlock of the executor.
    pub fn run<M>(&self, model: &M, options: RunOptions<'_>) -> Result<Ended<M>, RunError>
    where
        M: Model,
        Packet<M>: Serialize + DeserializeOwned,
    {
        let mut crew = Crew::new(model, options)?;
        let draws = Draws::new(Seed(self.seed), 0, 0);
        let mut network = Network { draws, now: 0, delay_max: self.delay_max, flying: Vec::new() };
        let mut finished = vec![false; crew.len()];
        let mut idle = 0u64;
        while finished.iter().any(|done| !done) {
            let me = network.draws.of(DRIVE).below(crew.len() as u64) as usize;
            network.now += 1;
            if finished[me] {
                continue;
            }
            match crew.step(me, &mut Port { network: &mut network, me }) {
                Step::Worked => idle = 0,
                Step::Waiting => idle += 1,
                Step::Finished => finished[me] = true,
            }
            let patience = 1_000 * (self.delay_max + 1) * crew.len() as u64;
            assert!(
                idle < patience,
                "no worker has made progress for {idle} steps; {} packets in flight",
                network.flying.len()
            );
        }
        crew.finish()
    }
}
