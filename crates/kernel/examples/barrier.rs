//! How often does the slowest of eight workers make the others wait for more than 20 ms? A model with a
//! barrier, a timer, random draws, statistics and an audit.
//!
//! Run it with `cargo run -p towtank-kernel --example barrier`.

use serde::{Deserialize, Serialize};
use towtank_kernel::prelude::*;

/// Workers that do one step each and wait for each other at a barrier. Entity 0 is the barrier; the others
/// are workers.
pub struct Steps {
    /// The number of workers.
    pub workers: u32,
    /// The number of steps of each worker.
    pub steps: u32,
    /// The duration of a step.
    pub work: distributions::Exponential,
}

/// If there are several kinds of entities, the state is an enum. Everything that may be sent between
/// processes implements serde's traits.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub enum Entity {
    /// The barrier.
    Barrier(Barrier),
    /// A worker.
    Worker {
        /// The number of steps done.
        done: u32,
    },
}

/// The state of the barrier.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct Barrier {
    passed: u32,
    waiting: u32,
    /// Set when the first worker arrives, cancelled when the last one does.
    patience: Option<TimerId>,
}

/// The events of the model.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// To a worker from itself: its step is done.
    Done,
    /// To the barrier: a worker has arrived.
    Here,
    /// To the barrier from itself: a worker has waited too long.
    Late,
    /// To a worker: all workers have arrived.
    Go,
}

/// The statistics. Samples of events that are undone never get here, so nothing has to be undone.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// The number of steps that made a worker wait too long.
    pub late: u64,
}

impl Statistics for Counts {
    /// A sample: one step was late.
    type Sample = ();

    fn add(&mut self, (): ()) {
        self.late += 1;
    }

    fn merge(&mut self, other: &Counts) {
        self.late += other.late;
    }
}

const BARRIER: EntityId = EntityId(0);
const MESSAGE: SimSpan = SimSpan::from_us(100);
const PATIENCE: SimSpan = SimSpan::from_ms(20);
/// Draws are keyed by purpose: a new purpose elsewhere changes no value here.
const WORK: Purpose = Purpose(1);

impl Steps {
    fn work(&self, context: &mut Context<'_, Self>) {
        let span = self.work.sample_span(&mut context.draws(WORK));
        // An entity may send to itself after any delay.
        context.send(context.me(), span, Event::Done);
    }

    fn at_barrier(&self, barrier: &mut Barrier, context: &mut Context<'_, Self>) {
        barrier.waiting += 1;
        if barrier.waiting == 1 {
            barrier.patience = Some(context.set_timer(PATIENCE, Event::Late));
        }
        if barrier.waiting < self.workers {
            return;
        }
        if let Some(timer) = barrier.patience.take() {
            // Has no effect if the timer has fired.
            context.cancel(timer);
        }
        barrier.waiting = 0;
        barrier.passed += 1;
        if barrier.passed < self.steps {
            (1..=self.workers).for_each(|worker| context.send(EntityId(worker), MESSAGE, Event::Go));
        }
    }
}

impl Model for Steps {
    type Entity = Entity;
    type Event = Event;
    type Undo = ();
    type Statistics = Counts;
    type Output = ();

    fn entities(&self) -> u32 {
        1 + self.workers
    }

    fn links(&self) -> Links {
        // Class 0 is the barrier, class 1 the workers, which do not send to each other.
        let classes = (0..self.entities()).map(|id| u16::from(id > 0)).collect();
        Links::by_class(classes).join(0, 1, MESSAGE).join(1, 0, MESSAGE)
    }

    fn create(&self, id: EntityId) -> Entity {
        if id == BARRIER { Entity::Barrier(Barrier::default()) } else { Entity::Worker { done: 0 } }
    }

    fn start(&self, entity: &mut Entity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        if let Entity::Worker { .. } = entity {
            self.work(context);
        }
        Ok(())
    }

    fn handle(
        &self,
        entity: &mut Entity,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        match (entity, event) {
            (Entity::Barrier(barrier), Event::Here) => self.at_barrier(barrier, context),
            (Entity::Barrier(_), Event::Late) => context.record(()),
            (Entity::Worker { done }, Event::Done) => {
                *done += 1;
                context.send(BARRIER, MESSAGE, Event::Here);
            }
            (Entity::Worker { .. }, Event::Go) => self.work(context),
            (_, event) => return Err(format!("{event:?} makes no sense here").into()),
        }
        Ok(())
    }

    /// A law that must hold at the end of every run: each worker has done every step that was passed.
    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        let steps = |entity: &Entity| match entity {
            Entity::Barrier(barrier) => barrier.passed,
            Entity::Worker { done } => *done,
        };
        match committed.entities.iter().find(|entity| steps(entity) != self.steps) {
            Some(entity) => Err(format!("{entity:?} has not seen {} steps", self.steps).into()),
            None => Ok(()),
        }
    }
}

/// Eight workers, a thousand steps of 10 ms on average.
pub fn model() -> Steps {
    let work = distributions::Exponential::with_mean_span(SimSpan::from_ms(10));
    Steps { workers: 8, steps: 1_000, work: work.expect("10 ms are more than nothing") }
}

/// The answer, from the outcome of a run.
pub fn answer(model: &Steps, outcome: &Outcome<Steps>) -> String {
    format!("{} of {} steps were late", outcome.merged_statistics().late, model.steps)
}

fn main() -> Result<(), RunError> {
    let model = model();
    println!("{}", answer(&model, &run(&model, RunOptions { seed: Seed(7), ..RunOptions::default() })?));
    Ok(())
}
