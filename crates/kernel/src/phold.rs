//! PHOLD, the standard benchmark of parallel simulation: logical processes that answer each event with one
//! more.
//!
//! The workload is that of ROSS's bundled model (github.com/ROSS-org/ROSS, `models/phold`), in our units:
//! each process starts with a number of events to itself; each event draws whether it goes to another
//! process, to which, and when: a constant look-ahead plus an exponential delay, with a total mean of `mean`.
//! Two deliberate differences: events past the end are created and kept, and each process folds the key of
//! every event it commits into its state, so that a wrong order or a wrong undo shows in the result.

use towtank_streams::{Purpose, Uniform, mix};
use towtank_units::SimSpan;

use crate::context::Context;
use crate::error::{Fault, RunError};
use crate::key::EntityId;
use crate::links::Links;
use crate::model::{Model, UndoBy};
use crate::{Outcome, Prepared, RunOptions};

const REMOTE: Purpose = Purpose(0);
const DELAY: Purpose = Purpose(1);
const START: Purpose = Purpose(2);

/// The benchmark's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phold {
    /// The number of logical processes.
    pub processes: u32,
    /// The number of initial events of each process.
    pub start_events: u32,
    /// The probability that an event goes to a process drawn from all.
    pub remote: f64,
    /// The constant part of every delay.
    pub look_ahead: SimSpan,
    /// The mean of the whole delay.
    pub mean: SimSpan,
    /// The number of dependent integer steps per event, which represent a model's own work.
    pub work: u32,
}

/// One logical process: the fold of the keys it has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Process(pub u64);

impl Phold {
    /// [`prepare`](crate::prepare) for this model. The executors are compiled in this crate, in one part, so
    /// that what is measured does not depend on the settings of the crate that measures.
    ///
    /// # Errors
    /// As [`prepare`](crate::prepare).
    pub fn prepare<'m, 'o>(&'m self, options: RunOptions<'o>) -> Result<Prepared<'m, 'o, Phold>, RunError> {
        crate::prepare(self, options)
    }

    /// [`Prepared::run`] for this model, compiled in this crate.
    ///
    /// # Errors
    /// As [`Prepared::run`].
    pub fn run(prepared: Prepared<'_, '_, Phold>) -> Result<Outcome<Phold>, RunError> {
        prepared.run()
    }

    fn delay(&self, uniform: &mut impl Uniform) -> SimSpan {
        let mean = (self.mean.as_ns() - self.look_ahead.as_ns()) as f64;
        self.look_ahead.saturating_add(SimSpan::from_ns_f64_floor(mean * uniform.unit_exponential()))
    }
}

impl Model for Phold {
    type Entity = Process;
    type Event = ();
    type Undo = u64;
    type Statistics = ();
    type Output = ();

    const UNDO: UndoBy = UndoBy::Inverse;

    fn entities(&self) -> u32 {
        self.processes
    }

    fn links(&self) -> Links {
        Links::all(self.look_ahead)
    }

    fn create(&self, id: EntityId) -> Process {
        Process(u64::from(id.0))
    }

    fn start(&self, _process: &mut Process, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        for _ in 0..self.start_events {
            let delay = self.delay(&mut context.draws(START));
            context.send(context.me(), delay, ());
        }
        Ok(())
    }

    // Always inlined, as in the loops that it is compared with: then the context need not lie in memory.
    #[inline(always)]
    fn handle(&self, process: &mut Process, (): &(), context: &mut Context<'_, Self>) -> Result<u64, Fault> {
        let before = process.0;
        let key = context.key();
        let place = (u64::from(key.origin.0) << 32) | u64::from(key.step);
        let mut folded = mix(
            before ^ key.at.as_ns() ^ 0x2545_f491_4f6c_dd1d,
            place ^ key.sequence.rotate_left(20) ^ 0x9e37_79b9_7f4a_7c15,
        );
        for _ in 0..self.work {
            // Shift and product alternate, because the compiler would fold a chain of products into one.
            folded = (folded ^ (folded >> 32)).wrapping_mul(6_364_136_223_846_793_005);
        }
        process.0 = folded;
        let mut to = context.me();
        let mut choice = context.draws(REMOTE);
        if choice.unit_f64() <= self.remote {
            to = EntityId(choice.below(u64::from(self.processes)) as u32);
        }
        let delay = self.delay(&mut context.draws(DELAY));
        context.send(to, delay, ());
        Ok(before)
    }

    #[inline]
    fn undo(&self, process: &mut Process, (): &(), before: u64) {
        process.0 = before;
    }

    fn describe(&self, id: EntityId) -> String {
        format!("process {id}")
    }
}
